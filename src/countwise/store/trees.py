"""Decision trees as arrays and back, so that no forged one leads a row astray or around in circles.

A tree is flat: nodes are numbered from the root, a child has a higher number than its parent, and
no depth is too deep. The levels of its columns are those of the schema; they are not stored twice.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.discretize.cut_points import interval_names
from countwise.errors import StoreError
from countwise.models.tree.id3 import TreeClassifier
from countwise.store.archive import Archive, Parts, Within
from countwise.store.checks import SLACK, check_amounts
from countwise.store.fields import Fields
from countwise.store.flaws import UnsoundError
from countwise.store.models import columns_from, columns_to, model_to, notes_from
from countwise.store.plain import label_from, to_plain
from countwise.store.schemas import points_from, points_to, schema_from, schema_to
from countwise.tables.schema import Level, Schema

#: Nodes, columns and slots are numbered by 32 bits.
_MOST_NUMBER = 2**31 - 1


def tree_to(model: Any, remarks: dict[str, Any]) -> Parts:
    """Return what a fitted tree consists of."""
    tree, pruning = model.tree_, model.pruning_
    if _levels(tree.columns, model.schema_, model.cut_points_) != list(tree.levels):
        raise StoreError(
            f"save: the columns of this {type(model).__name__} must be those of its tree, but they "
            "are not. Fit it again."
        )
    remarks["model"] = [note.to_dict() for note in model.notes_]
    document = {
        "columns": list(tree.columns),
        "classes": to_plain(list(tree.classes), "the classes"),
        "points": points_to(model.cut_points_),
        "nodes": len(tree),
        "slots": len(tree.child),
        "pruning": None if pruning is None else to_plain(pruning.to_dict(), "pruning"),
    }
    documents = {
        "schema.json": schema_to(model.schema_),
        "parameters.json": model_to(model),
        "notes.json": remarks,
        "training.json": columns_to(model),
        "tree.json": document,
    }
    arrays: dict[str, NDArray[Any]] = {
        "tree/feature.npy": tree.feature.astype("<i8"),
        "tree/threshold.npy": np.ascontiguousarray(tree.threshold, dtype="<f8"),
        "tree/child.npy": tree.child.astype("<i8"),
        "tree/counts.npy": np.ascontiguousarray(tree.counts, dtype="<f8"),
    }
    target = model.schema_.target
    summary = {
        "weight": float(tree.weight[0]),
        "classes": document["classes"],
        "class_shares": (tree.counts[0] / tree.weight[0]).tolist(),
        "target": None if target is None else target.name,
        "columns": list(tree.columns),
        "nodes": len(tree),
        "leaves": tree.leaves,
        "depth": tree.depth,
    }
    return Parts(type(model).__name__, documents, arrays, summary)


def tree_from(archive: Archive | Within, model: Any) -> TreeClassifier:
    """Return the fitted tree that a file holds; `model` has its parameters."""
    schema = schema_from(archive.fields("schema.json"))
    document, training = archive.fields("tree.json"), archive.fields("training.json")
    classes = classes_from(document, schema)
    columns, points = document.texts("columns"), points_from(document)
    if any(name not in columns for name in points):
        raise UnsoundError("cuts columns that its tree does not have")
    plain = {
        "parameters": model.get_params(deep=False),
        "schema": schema.to_dict(),
        "classes": classes,
        "cut_points": points,
        "tree": {
            "columns": columns,
            "levels": _levels(columns, schema, points),
            "classes": classes,
            **_arrays(archive, document, len(classes)),
        },
        "pruning": _pruning(document),
        "notes": [note.to_dict() for note in notes_from(archive.fields("notes.json"))],
        "features_in": None,
        "feature_names_in": None,
    }
    try:
        made: TreeClassifier = type(model).from_dict(plain)
    except StoreError as why:
        raise UnsoundError(f"holds no sound tree ({str(why)[:200]})") from None
    _check_weights(made)
    columns_from(made, training)
    return made


def classes_from(document: Fields, schema: Schema) -> list[Level]:
    """Labels of the class column, in its order."""
    target = schema.target
    if target is None:
        raise UnsoundError("holds a model of classes, but its schema names no class")
    classes = [label_from(own, "classes") for own in document.items("classes")]
    places = [target.place(label) for label in classes]
    if not classes or -1 in places or places != sorted(set(places)):
        raise UnsoundError("names classes that its schema does not have, or not in their order")
    return classes


def _levels(columns: Any, schema: Schema, points: Any) -> list[tuple[Level, ...] | None]:
    """The levels a tree's columns have by schema and cuts; None for numbers that stay numbers."""
    levels: list[tuple[Level, ...] | None] = []
    for name in columns:
        if name not in schema or schema[name].kind not in ("nominal", "numeric"):
            raise UnsoundError(f"asks for column {name[:40]!r}, which its schema does not have")
        if name in points:
            levels.append(interval_names(points[name]))
        else:
            levels.append(schema[name].levels if schema[name].coded else None)
    return levels


def _arrays(archive: Archive | Within, document: Fields, classes: int) -> dict[str, Any]:
    nodes = document.whole("nodes", low=1, high=_MOST_NUMBER)
    slots = document.whole("slots", high=_MOST_NUMBER)
    feature = archive.array("tree/feature.npy", "<i8", (nodes,))
    child = archive.array("tree/child.npy", "<i8", (slots,))
    for own in (feature, child):
        if own.size and (own.min() < -1 or own.max() > _MOST_NUMBER):
            raise UnsoundError("numbers nodes or columns beyond all bounds in its tree")
    counts = archive.array("tree/counts.npy", "<f8", (nodes, classes))
    check_amounts(counts, "the nodes of its tree", 0.0)
    threshold = archive.array("tree/threshold.npy", "<f8", (nodes,))
    return {"feature": feature, "child": child, "threshold": threshold, "counts": counts}


def _pruning(document: Fields) -> dict[str, Any] | None:
    if "pruning" not in document:
        return None
    told = document.inner("pruning")
    numbers = [told.any(name) for name in told.plain]
    if any(type(number) not in (int, float) for number in numbers):
        raise UnsoundError("must hold numbers under 'pruning', but does not")
    return told.plain


def _check_weights(model: TreeClassifier) -> None:
    """Refuse children that weigh more than their parent: shares of rows would grow on the way."""
    tree = model.tree_
    below = np.bincount(tree.parent[1:], tree.weight[1:], len(tree))
    if np.any(below > tree.weight * (1 + SLACK)):
        raise UnsoundError("holds nodes that weigh more than the node above them")
