"""Ensembles as documents and back: each member as it would be saved alone, and how they vote."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.discretize.cut_points import cut_table
from countwise.errors import StoreError
from countwise.models.ensembles.adaboost import AdaBoost, Round, Rule
from countwise.models.ensembles.bagging import Bagging
from countwise.models.ensembles.members import Member, places_of
from countwise.models.ensembles.vote import Vote
from countwise.store.archive import Archive, Parts, Within
from countwise.store.fields import Fields
from countwise.store.flaws import UnsoundError
from countwise.store.models import columns_from, columns_to, is_model, model_to, notes_from
from countwise.store.plain import to_plain
from countwise.store.schemas import points_from, points_to, schema_from, schema_to
from countwise.store.trees import classes_from
from countwise.tables.schema import Schema, labels_array
from countwise.tables.table import Table, code_type

#: A file has room for so many members.
MOST_MEMBERS = 1000


def is_ensemble(model: Any) -> bool:
    """Whether a model consists of members or of rules."""
    return isinstance(model, Bagging | AdaBoost | Vote)


def ensemble_to(model: Any, remarks: dict[str, Any], parts_of: Callable[[Any], Parts]) -> Parts:
    """Return what a fitted ensemble consists of; `parts_of` says it of a member."""
    members = _members_of(model)
    remarks["model"] = [note.to_dict() for note in model.notes_]
    classes = to_plain(model.classes_.tolist(), "the classes")
    document: dict[str, Any] = {"classes": classes, "seed": model._seed, "members": len(members)}
    arrays: dict[str, NDArray[Any]] = {}
    if isinstance(model, Vote):
        document["names"] = list(model.members_)
        document["weights"] = model.weights_.tolist()
        document["agreement"] = model.agreement_.tolist()
        document["gains"] = None if model._gain is None else model._gain.tolist()
    if isinstance(model, AdaBoost):
        document["shares"] = model._shares.tolist()
        document["rounds"] = [own.to_dict() for own in model.rounds_]
        if model.estimator is None:
            document |= _rules_to(model, arrays)
    documents = {
        "schema.json": schema_to(model.schema_),
        "parameters.json": model_to(model),
        "notes.json": remarks,
        "training.json": columns_to(model),
        "ensemble.json": document,
    }
    for place, member in enumerate(members):
        own = parts_of(member)
        documents |= {f"m{place}/{name}": plain for name, plain in own.documents.items()}
        arrays |= {f"m{place}/{name}": array for name, array in own.arrays.items()}
    target = model.schema_.target
    summary = {
        "classes": classes,
        "target": None if target is None else target.name,
        "columns": [column.name for column in model.schema_.attributes],
        "members": len(members),
    }
    return Parts(type(model).__name__, documents, arrays, summary)


def _members_of(model: Any) -> list[Any]:
    if isinstance(model, AdaBoost) and model.estimator is None:
        return []
    members = [own.model for own in model._trained]
    strange = [own for own in members if not is_model(own)]
    if strange:
        raise StoreError(
            f"save: the members of a {type(model).__name__} must be models of ours to be saved, "
            f"but a {type(strange[0]).__name__} is among them. Take a base of ours."
        )
    if len(members) > MOST_MEMBERS:
        raise StoreError(
            f"save: an ensemble may have up to {MOST_MEMBERS} members to be saved, but this one "
            f"has {len(members)}. Fit fewer."
        )
    return members


def _rules_to(model: AdaBoost, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
    said = [rule.said for rule in model._rules]
    arrays["rules/said.npy"] = np.concatenate([np.empty(0, np.int32), *said]).astype("<i8")
    return {
        "points": points_to(model.cut_points_),
        "rules": [[rule.column, len(rule.said), rule.threshold] for rule in model._rules],
    }


def ensemble_from(archive: Archive | Within, model: Any, member: Callable[[Within], Any]) -> Any:
    """Return the fitted ensemble that a file holds; `model` has its parameters."""
    schema = schema_from(archive.fields("schema.json"))
    document = archive.fields("ensemble.json")
    model.schema_ = schema
    model.classes_ = labels_array(classes_from(document, schema))
    model.notes_ = notes_from(archive.fields("notes.json"))
    model._seed = document.whole("seed", high=2**31)
    columns_from(model, archive.fields("training.json"))
    number = document.whole("members", high=MOST_MEMBERS)
    trained = [_member(member(Within(archive, f"m{place}/")), model) for place in range(number)]
    if isinstance(model, AdaBoost):
        return _boosting_from(archive, document, model, trained)
    if not trained:
        raise UnsoundError("must hold at least one member, but does not")
    model._trained = trained
    models = [own.model for own in trained]
    if isinstance(model, Bagging):
        model.members_ = models
        model._kept = np.arange(0)
        return model
    names = document.texts("names")
    model.weights_ = _numbers(document, "weights", (number,), low=0.0)
    if len(set(names)) != number or not model.weights_.sum() > 0:
        raise UnsoundError("must name each member once and weigh them, but does not")
    model.members_ = dict(zip(names, models, strict=True))
    model.agreement_ = _numbers(document, "agreement", (number, number), low=0.0)
    model._gain = None
    if "gains" in document:
        model._gain = _numbers(document, "gains", (len(model.classes_),) * 2)
    if (model._gain is not None) != (model.how == "gain"):
        raise UnsoundError("must hold gains if it votes by them, and only then")
    return model


def _member(fitted: Any, model: Any) -> Member:
    names = [own.name for own in fitted.schema_.attributes]
    if names != [own.name for own in model.schema_.attributes]:
        raise UnsoundError("has a member that reads other columns than the ensemble")
    try:
        return Member(fitted, places_of(fitted.classes_, model.classes_))
    except KeyError:
        raise UnsoundError("has a member of other classes than the ensemble") from None


def _numbers(
    document: Fields, name: str, shape: tuple[int, ...], low: float | None = None
) -> FloatArray:
    try:
        made = np.array(document.items(name), dtype=np.float64)
    except (TypeError, ValueError):
        made = np.empty(0)
    if (
        made.shape != shape
        or not np.isfinite(made).all()
        or (low is not None and np.any(made < low))
    ):
        raise UnsoundError(f"must hold numbers of shape {shape} under {name!r}, but does not")
    return made


def _boosting_from(
    archive: Archive | Within, document: Fields, model: AdaBoost, trained: list[Member]
) -> AdaBoost:
    model._shares = _numbers(document, "shares", (len(model.classes_),), low=0.0)
    if not np.all(model._shares > 0):
        raise UnsoundError("must hold a positive share of each class, but does not")
    model.rounds_ = tuple(_round(own) for own in document.objects("rounds"))
    model.epsilons_ = np.asarray([own.epsilon for own in model.rounds_])
    model.alphas_ = np.asarray([own.alpha for own in model.rounds_])
    model.cut_points_ = {}
    learned: list[Any] = trained
    if model.estimator is None:
        model.cut_points_ = points_from(document)
        learned = _rules_from(archive, document, model)
    if len(learned) != len(model.rounds_):
        raise UnsoundError("must hold what each round has learned, but does not")
    model._adopt(learned, model.cut_points_)
    return model


def _round(plain: Fields) -> Round:
    epsilon, alpha = plain.any("epsilon"), plain.any("alpha")
    if type(epsilon) is not float or type(alpha) is not float or not 0 <= epsilon < 1:
        raise UnsoundError("must hold an error and a weight for each round, but does not")
    if not 0 <= alpha < 1e6:
        raise UnsoundError("weighs a round beyond all measure")
    column = plain.text("column") if "column" in plain else None
    return Round(epsilon, alpha, column, plain.text("words"))


def _rules_from(archive: Archive | Within, document: Fields, model: AdaBoost) -> list[Rule]:
    schema = _cut_schema(model)
    told = document.items("rules")
    sizes = []
    for own in told:
        if not isinstance(own, list) or len(own) != 3 or not isinstance(own[0], str):
            raise UnsoundError("must hold a column, a size and a threshold for each rule")
        name, size, threshold = own
        if name not in schema or schema[name].kind != "nominal" or size != schema[name].width + 2:
            raise UnsoundError(f"has a rule on {name[:40]!r} that does not fit its column")
        if threshold is not None and (type(threshold) is not int or not 0 <= threshold < size):
            raise UnsoundError("has a threshold that is no place in its column")
        sizes.append(size)
    said = archive.array("rules/said.npy", "<i8", (sum(sizes),))
    if said.size and (said.min() < 0 or said.max() >= len(model.classes_)):
        raise UnsoundError("has rules that answer with no class of its own")
    parts = np.split(said.astype(np.int32), np.cumsum(sizes)[:-1]) if sizes else []
    return [
        Rule(own[0], part, round_.epsilon, own[2])
        for own, part, round_ in zip(told, parts, model.rounds_, strict=True)
    ]


def _cut_schema(model: AdaBoost) -> Schema:
    """The columns as the rules see them."""
    for name in model.cut_points_:
        if name not in model.schema_ or model.schema_[name].kind != "numeric":
            raise UnsoundError(f"cuts {name[:40]!r}, which is no numeric column")
    bare = {
        column.name: np.empty(0, code_type(column.width) if column.coded else np.float64)
        for column in model.schema_
        if column.coded or column.kind == "numeric"
    }
    return cut_table(Table(model.schema_, bare), model.cut_points_).schema
