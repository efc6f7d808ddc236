"""What a saved thing consists of, and the thing again from what a file holds."""

from __future__ import annotations

from typing import Any

from countwise.counts.counts import Counts
from countwise.decisions.decide import Decide
from countwise.decisions.gain_matrix import GainMatrix
from countwise.errors import StoreError, listing
from countwise.models.bayes.counted import CountedModel
from countwise.models.discrete_bayes.cell_model import CellClassifier
from countwise.models.linear.base import MatrixModel
from countwise.models.neighbors.base import StoredRowsModel
from countwise.models.tree.id3 import TreeClassifier
from countwise.store.archive import Archive, Parts, Within
from countwise.store.cells import cells_from, cells_to
from countwise.store.checks import check_counts
from countwise.store.decided import decide_from, decide_to
from countwise.store.ensembles import ensemble_from, ensemble_to, is_ensemble
from countwise.store.families import families_from, families_to
from countwise.store.flaws import UnsoundError
from countwise.store.kept import kept_from, kept_to
from countwise.store.matrices import matrix_from, matrix_to
from countwise.store.models import (
    UPGRADE,
    classes_in,
    is_model,
    learned,
    model_names,
    model_to,
    prototype,
    training_to,
)
from countwise.store.plain import from_plain, to_plain
from countwise.store.schemas import Input, cuts_from, cuts_to, schema_from, schema_to
from countwise.store.tallies import counts_from, counts_to
from countwise.store.trees import tree_from, tree_to
from countwise.tables.schema import Schema

#: What a file may hold beside the models.
OTHERS = ("Decide", "Counts", "Schema", "GainMatrix")
#: What a fitted model has, one of these.
_FITTED = ("counts_", "tree_", "rows_", "cells_", "layers_", "members_", "rounds_")


def parts_of(thing: Any, notes: Any = None) -> Parts:
    """Return what a thing consists of, or refuse to save it."""
    remarks: dict[str, Any] = {"saved_with": to_plain(notes, "notes")}
    if isinstance(thing, Schema):
        documents = {"schema.json": schema_to(thing), "notes.json": remarks}
        return Parts("Schema", documents, summary=_columns_in(thing))
    if isinstance(thing, GainMatrix):
        gain = {"gain": to_plain(thing, "the gain matrix")}
        summary = {"classes": to_plain(list(thing.classes), "classes"), "says": thing.sentences()}
        documents = {"parameters.json": gain, "notes.json": remarks}
        return Parts("GainMatrix", documents, summary=summary)
    if isinstance(thing, Counts):
        return _counted("Counts", thing, {"notes.json": remarks})
    decided = type(thing) is Decide and hasattr(thing, "model_")
    model = thing.model_ if decided else thing
    if not is_model(model) or not any(hasattr(model, name) for name in _FITTED):
        raise _refusal(thing, model)
    parts = _model_parts(model, remarks)
    if not decided:
        return parts
    documents = {**parts.documents, "decide.json": decide_to(thing)}
    return Parts("Decide", documents, parts.arrays, {"over": parts.kind, **parts.summary})


def _model_parts(model: Any, remarks: dict[str, Any], together: bool = False) -> Parts:
    if isinstance(model, TreeClassifier):
        return tree_to(model, remarks)
    if isinstance(model, StoredRowsModel):
        return kept_to(model, remarks)
    if isinstance(model, CellClassifier):
        return cells_to(model, remarks)
    if isinstance(model, MatrixModel):
        return matrix_to(model, remarks)
    if is_ensemble(model):
        return ensemble_to(model, remarks, lambda own: _model_parts(own, {}, together=True))
    remarks["model"] = [note.to_dict() for note in model.notes_]
    documents = {
        "parameters.json": model_to(model),
        "notes.json": remarks,
        "training.json": training_to(model),
        "cuts.json": cuts_to(model),
        "families.json": families_to(model),
    }
    there = {name: document for name, document in documents.items() if document is not None}
    return _counted(type(model).__name__, model.counts_, there, together)


def _refusal(thing: Any, model: Any) -> StoreError:
    name = type(model).__name__
    if is_model(model) or type(model) is Decide:
        return StoreError(
            f"save: a model must be fitted to be saved, but this {name} is not. Call fit first."
        )
    came = f"a Decide over a {name}" if model is not thing else f"a {name}"
    cure = "Give one of these."
    if isinstance(model, CountedModel):
        cure = "Save its counts_, and give them to fit_counts after loading."
    elif hasattr(model, "predict"):
        cure = "For models of other libraries use their own ways, such as skops or joblib."
    elif hasattr(thing, "cut_points_"):
        cure = "Its cut_points_ are plain numbers by column: keep them as JSON, or save a model."
    elif hasattr(thing, "schema") and hasattr(thing, "notes"):
        cure = "Save its schema or its counts; rows belong in a CSV or Parquet file."
    return StoreError(
        f"save: what can be saved are {listing((*model_names(), *OTHERS), 20)}, but {came} came. "
        f"{cure}"
    )


def _counted(kind: str, counts: Counts, documents: dict[str, Any], together: bool = False) -> Parts:
    try:
        check_counts(counts)
    except UnsoundError as why:
        raise StoreError(
            f"save: only sound counts can be saved, but this {kind} {why.what}. Count anew."
        ) from None
    index, arrays = counts_to(counts, together)
    documents = {"schema.json": schema_to(counts.schema), **documents, "counts.json": index}
    summary = {"rows": counts.rows, **classes_in(counts), **_columns_in(counts.schema)}
    return Parts(kind, documents, arrays, summary)


def _columns_in(schema: Schema) -> dict[str, Any]:
    target = schema.target
    return {
        "target": None if target is None else target.name,
        "nominal": len(schema.nominal),
        "numeric": len(schema.numeric),
        "columns": [column.name for column in schema.attributes],
    }


def rebuilt(archive: Archive) -> Any:
    """Return the thing a file holds, a model learned again from its counts."""
    kind = archive.kind
    if kind not in model_names() and kind not in OTHERS:
        known = listing((*model_names(), *OTHERS), 20)
        raise UnsoundError(
            f"holds a {kind[:40]!r}, which this countwise does not know; it knows {known}", UPGRADE
        )
    if kind == "GainMatrix":
        gain = from_plain(archive.fields("parameters.json").any("gain"), "the gain matrix")
        if not isinstance(gain, GainMatrix):
            raise UnsoundError("must hold a gain matrix, but does not")
        return gain
    if kind in ("Schema", "Counts"):
        schema = schema_from(archive.fields("schema.json"))
        return schema if kind == "Schema" else _counts(archive, schema)
    given = archive.fields("parameters.json")
    if kind != "Decide" and given.text("model") != kind:
        raise UnsoundError(f"says it holds a {kind}, but its parameters are of another model")
    model = _model(archive, prototype(given))
    return decide_from(archive.fields("decide.json"), model) if kind == "Decide" else model


def _counts(archive: Archive | Within, schema: Schema) -> Counts:
    return counts_from(archive.fields("counts.json"), schema, archive)


def _model(archive: Archive | Within, model: Any) -> Any:
    """A fitted model from one that has its parameters."""
    model._check_parameters()
    if isinstance(model, TreeClassifier):
        return tree_from(archive, model)
    if isinstance(model, StoredRowsModel):
        return kept_from(archive, model)
    if isinstance(model, CellClassifier):
        return cells_from(archive, model)
    if isinstance(model, MatrixModel):
        return matrix_from(archive, model)
    if is_ensemble(model):
        return ensemble_from(archive, model, _member)
    schema = schema_from(archive.fields("schema.json"))
    cut = cuts_from(archive.fields("cuts.json"), schema) if "cuts.json" in archive else None
    learnt = (cut or Input(schema, {}, {}, ())).to_dict()
    if hasattr(model, "k"):
        learnt["families"] = families_from(archive.fields("families.json"), schema, model.k)
    training, notes = archive.fields("training.json"), archive.fields("notes.json")
    return learned(model, _counts(archive, schema), learnt, training, notes)


def _member(archive: Within) -> Any:
    """A member of an ensemble, from its own documents."""
    return _model(archive, prototype(archive.fields("parameters.json")))
