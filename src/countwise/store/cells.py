"""Grids of cells as documents and arrays, and back, so that no forged one leads outside of it."""

from __future__ import annotations

from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from countwise.discretize.joint_search.cell_counts import CellTable
from countwise.discretize.joint_search.cell_grid import Axis, CellGrid
from countwise.discretize.joint_search.search import nominal_axis
from countwise.errors import CountwiseError
from countwise.models.discrete_bayes.cell_model import CellClassifier
from countwise.store.archive import Archive, Parts, Within
from countwise.store.checks import check_amounts
from countwise.store.fields import Fields
from countwise.store.flaws import UnsoundError
from countwise.store.models import columns_from, columns_to, model_to, notes_from
from countwise.store.plain import from_plain, label_from, to_plain
from countwise.store.schemas import schema_from, schema_to
from countwise.tables.schema import Column, Level, Schema, labels_array, level_key

#: Levels of an axis are numbered by 32 bits.
_MOST_NUMBER = 2**31 - 1
#: What a search left behind: shown, never computed with.
_TOLD = ("gain_", "history_", "smoothing_table_")


def cells_to(model: Any, remarks: dict[str, Any]) -> Parts:
    """Return what a fitted model of cells consists of."""
    table: CellTable = model.cells_
    remarks["model"] = [note.to_dict() for note in model.notes_]
    seed = model.random_state
    bare = clone(model).set_params(
        progress=None, random_state=seed if isinstance(seed, int | np.integer) else None
    )
    document = {
        "axes": [_axis_to(axis, model) for axis in table.grid.axes],
        "classes": to_plain(model.classes_.tolist(), "the classes"),
        "named": to_plain(list(getattr(model, "_named", ())), "the classes"),
        "cells": len(table),
        "smoothing": model.smoothing_,
        "dropped": list(model.dropped_),
        "start": [own.tolist() for own in model.start_boundaries_],
        "told": {name: to_plain(getattr(model, name), name) for name in _TOLD},
    }
    documents = {
        "schema.json": schema_to(model.schema_),
        "parameters.json": model_to(bare),
        "notes.json": remarks,
        "training.json": columns_to(model),
        "cells.json": document,
    }
    arrays: dict[str, NDArray[Any]] = {
        "cells/levels.npy": table.levels.astype("<i8"),
        "cells/counts.npy": np.ascontiguousarray(table.counts, dtype="<f8"),
    }
    target = model.schema_.target
    summary = {
        "weight": table.total,
        "classes": document["classes"],
        "class_shares": (table.by_class / table.total).tolist(),
        "target": None if target is None else target.name,
        "columns": [axis.name for axis in table.grid.axes],
        "cells": len(table),
        "levels": [axis.width for axis in table.grid.axes],
    }
    return Parts(type(model).__name__, documents, arrays, summary)


def _axis_to(axis: Axis, model: Any) -> dict[str, Any]:
    kept = model.kept_levels_.get(axis.name)
    return {
        "name": axis.name,
        "points": None if axis.edges is None else axis.edges.tolist(),
        "kept": None if kept is None else to_plain(list(kept), "kept levels"),
        "blank": bool(axis.blank),
        "low": axis.low,
        "high": axis.high,
    }


def cells_from(archive: Archive | Within, model: Any) -> CellClassifier:
    """Return the fitted model of cells that a file holds; `model` has its parameters."""
    schema = schema_from(archive.fields("schema.json"))
    document = archive.fields("cells.json")
    classes = _classes(document.items("classes"), schema)
    dropped = tuple(document.texts("dropped"))
    kept: dict[str, tuple[Level, ...]] = {}
    given = document.objects("axes")
    columns = schema.attributes
    if [own.text("name") for own in given] != [column.name for column in columns]:
        raise UnsoundError("has other axes than its schema has columns")
    axes = [
        _axis_from(own, column, column.name in dropped, kept)
        for own, column in zip(given, columns, strict=True)
    ]
    number = document.whole("cells", high=2**40)
    levels = archive.array("cells/levels.npy", "<i8", (number, len(axes)))
    counts = archive.array("cells/counts.npy", "<f8", (number, len(classes)))
    check_amounts(counts, "its cells", 0.0)
    sizes = np.asarray([axis.size for axis in axes], np.int64)
    if levels.size and ((levels < 0) | (levels >= sizes)).any():
        raise UnsoundError("holds cells outside of its grid")
    if not counts.size or counts.sum() <= 0:
        raise UnsoundError("holds no rows in its cells")
    table = CellTable.of(CellGrid(tuple(axes)), levels.astype(np.int32), counts.copy())
    if len(table) != number:
        raise UnsoundError("holds a cell twice, or without rows")
    model.schema_, model.classes_ = schema, labels_array(classes)
    model.notes_ = notes_from(archive.fields("notes.json"))
    model.kept_levels_, model.dropped_ = kept, dropped
    named = tuple(label_from(own, "classes") for own in document.items("named"))
    if named:
        model._named = named
    model.smoothing_ = _number(document, "smoothing")
    _tell(model, document)
    columns_from(model, archive.fields("training.json"))
    try:
        model._settle(table)
    except (CountwiseError, ValueError) as why:
        raise UnsoundError(f"holds no sound grid ({str(why)[:200]})") from None
    made: CellClassifier = model
    return made


def _tell(model: Any, document: Fields) -> None:
    """What the search told: of the right kind, or refused."""
    told = document.inner("told")
    for name, kind in zip(_TOLD, (dict, list, list), strict=True):
        own = from_plain(told.any(name), name)
        if not isinstance(own, kind):
            raise UnsoundError(f"must hold a {kind.__name__} under {name!r}, but does not")
        setattr(model, name, own)
    start = document.items("start")
    if any(not isinstance(own, list) or any(type(p) is not float for p in own) for own in start):
        raise UnsoundError("must hold numbers where its search started, but does not")
    model.start_boundaries_ = [np.array(own, dtype=np.float64) for own in start]


def _classes(plain: list[Any], schema: Schema) -> list[Level]:
    """Labels of the class column, in its order."""
    target = schema.target
    if target is None:
        raise UnsoundError("holds cells of classes, but its schema names no class")
    classes = [label_from(own, "classes") for own in plain]
    places = [target.place(label) for label in classes]
    if not classes or -1 in places or places != sorted(set(places)):
        raise UnsoundError("names classes that its schema does not have, or not in their order")
    return classes


def _axis_from(
    given: Fields, column: Column, dropped: bool, kept: dict[str, tuple[Level, ...]]
) -> Axis:
    blank = given.flag("blank")
    if column.kind == "numeric":
        points = given.items("points")
        if any(type(point) is not float for point in points) or points != sorted(set(points)):
            raise UnsoundError(f"must hold rising points to cut {column.name[:40]!r} at")
        low, high = _number(given, "low"), _number(given, "high")
        edges = np.array(points, dtype=np.float64)
        return Axis(column.name, edges, None, len(points) + 1, blank, low, high)
    if dropped:
        return Axis(column.name, None, np.zeros(column.width + 2, np.int64), 1)
    own: tuple[Level, ...] | None = None
    if "kept" in given:
        own = tuple(label_from(level, "kept levels") for level in given.items("kept"))
        known = {level_key(level) for level in column.levels}
        if any(level_key(level) not in known for level in own) or not own:
            raise UnsoundError(f"keeps levels that {column.name[:40]!r} does not have")
        kept[column.name] = own
    return nominal_axis(column, own, blank)


def _number(given: Fields, name: str) -> float:
    value = given.any(name)
    if type(value) not in (int, float) or not isfinite(value):
        raise UnsoundError(f"must hold a finite number under {name!r}, but does not")
    return float(value)
