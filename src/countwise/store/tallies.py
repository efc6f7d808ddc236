"""Counts as arrays with an index to read them by, and back."""

from __future__ import annotations

import math
import re
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from countwise.counts.counts import Counts
from countwise.counts.histogram import Grid
from countwise.counts.moments import Moments
from countwise.counts.plan import Plan
from countwise.store.archive import Kind, axes_of
from countwise.store.checks import check_counts
from countwise.store.fields import Fields
from countwise.store.flaws import UnsoundError
from countwise.tables.schema import Schema

#: Up to so many arrays each get a member of their own; more of them share one.
FEW = 2000

_STATISTICS = ["weight", "mean", "square", "missing"]
_KINDS: dict[Kind, str] = {"<f8": "doubles", "<i8": "integers"}


class Arrays(Protocol):
    """Where arrays are read from."""

    def array(self, name: str, kind: Kind, shape: tuple[int, ...]) -> NDArray[Any]:
        """Return the array of this name, kind and shape, or refuse."""

    def length(self, name: str) -> int:
        """Return how many numbers an array of one axis is said to hold."""


class Shelf:
    """Puts arrays down under names a person can read, and says where each one lies."""

    def __init__(self, together: bool) -> None:
        self._together = together
        self._parts: dict[Kind, list[NDArray[Any]]] = {"<f8": [], "<i8": []}
        self._filled: dict[Kind, int] = {"<f8": 0, "<i8": 0}
        self._own: dict[str, NDArray[Any]] = {}

    def put(self, what: str, label: str, array: NDArray[Any], kind: Kind = "<f8") -> Any:
        """Keep an array; return what the index says about its place."""
        array = np.ascontiguousarray(array, dtype=kind)
        if self._together:
            at = self._filled[kind]
            self._parts[kind].append(array.reshape(-1))
            self._filled[kind] += array.size
            return {"array": _shared(kind), "from": at}
        word = re.sub(r"[^A-Za-z0-9]+", "_", label)[:24].strip("_")
        name = f"counts/{what}_{len(self._own) + 1:04d}" + (f"_{word}" if word else "") + ".npy"
        self._own[name] = array
        return name

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return every array by the name of its member."""
        shared = {_shared(k): np.concatenate(parts) for k, parts in self._parts.items() if parts}
        return {**self._own, **shared}


def counts_to(
    counts: Counts, together: bool = False
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the index of some counts and their arrays, each its own unless `together`."""
    many = len(counts.plan.tables) + 2 * len(counts.plan.grids) > FEW
    shelf = Shelf(together=many or together)
    index: dict[str, Any] = {"rows": counts.rows}
    index["class_weight"] = shelf.put("class_weight", "", counts.weight)
    index["tables"] = [
        {"columns": list(names), **_laid(shelf, "table", "_by_".join(names), counts.tables[names])}
        for names in counts.plan.tables
    ]
    if counts.plan.moments:
        every = [counts.moments[name] for name in counts.plan.moments]
        stacked = np.array([[m.weight, m.mean, m.square, m.missing] for m in every])
        index["moments"] = {
            "columns": list(counts.plan.moments),
            "statistics": _STATISTICS,
            "array": shelf.put("moments", "", stacked),
        }
    index["grids"] = [_grid_to(shelf, name, counts.grids[name]) for name in counts.plan.grids]
    return index, shelf.arrays()


def counts_from(index: Fields, schema: Schema, arrays: Arrays) -> Counts:
    """Read counts back; every shape follows from the schema and is checked before it is read."""
    target = schema.target
    if target is None:
        raise UnsoundError("holds counts by class, but its schema names no class")
    slots = target.width + 1
    tables: dict[tuple[str, ...], NDArray[Any]] = {}
    for entry in index.objects("tables"):
        names = _columns(entry, schema, "nominal")
        shape = (slots, *(schema[name].width + 1 for name in names))
        if names in tables:
            raise UnsoundError(f"holds the table of {list(names)} twice")
        tables[names] = _taken(arrays, entry, shape)
    moments = _moments_from(index, schema, arrays, slots)
    grids: dict[str, Grid] = {}
    for entry in index.objects("grids"):
        name = entry.text("column")
        _known(name, schema, "numeric")
        if name in grids:
            raise UnsoundError(f"holds the grid of {name!r} twice")
        grids[name] = _grid_from(arrays, entry, slots)
    weight = _fetched(arrays, index.any("class_weight"), "<f8", (slots,))
    rows = index.whole("rows", low=-(2**62))
    plan = Plan(tuple(tables), tuple(moments), tuple(grids))
    counts = Counts(schema, plan, rows, weight, tables, moments, grids)
    check_counts(counts)
    return counts


def _shared(kind: Kind) -> str:
    return f"counts/all_{_KINDS[kind]}.npy"


def _laid(shelf: Shelf, what: str, label: str, array: NDArray[Any]) -> dict[str, Any]:
    """Put an array down as it lies in memory; see `axes_of`."""
    axes = axes_of(array)
    plain = {"array": shelf.put(what, label, array.transpose(axes))}
    return plain if axes == tuple(range(array.ndim)) else {**plain, "axes": list(axes)}


def _taken(arrays: Arrays, entry: Fields, shape: tuple[int, ...]) -> NDArray[Any]:
    axes = entry.items("axes") if "axes" in entry else list(range(len(shape)))
    if any(type(axis) is not int for axis in axes) or sorted(axes) != list(range(len(shape))):
        raise UnsoundError(f"must name each axis once in {entry.where}, but does not")
    stored = tuple(shape[axis] for axis in axes)
    return _fetched(arrays, entry.any("array"), "<f8", stored).transpose(np.argsort(axes))


def _fetched(arrays: Arrays, place: Any, kind: Kind, shape: tuple[int, ...]) -> NDArray[Any]:
    if isinstance(place, str):
        return arrays.array(place, kind, shape)
    fields = Fields(place, "the index of counts")
    start, size, name = fields.whole("from"), math.prod(shape), fields.text("array")
    whole = arrays.length(name)
    if start + size > whole:
        raise UnsoundError(f"ends too early in {name!r}")
    return arrays.array(name, kind, (whole,))[start : start + size].reshape(shape).copy()


def _moments_from(index: Fields, schema: Schema, arrays: Arrays, slots: int) -> dict[str, Moments]:
    if "moments" not in index:
        return {}
    entry = index.inner("moments")
    names = _columns(entry, schema, "numeric")
    if entry.items("statistics") != _STATISTICS:
        raise UnsoundError(f"must hold the statistics {_STATISTICS} in {entry.where}")
    stacked = _fetched(arrays, entry.any("array"), "<f8", (len(names), len(_STATISTICS), slots))
    return {name: Moments(*map(np.copy, own)) for name, own in zip(names, stacked, strict=True)}


def _grid_to(shelf: Shelf, name: str, grid: Grid) -> dict[str, Any]:
    return {
        "column": name,
        "shift": grid.shift,
        "most": grid.most,
        "cells": len(grid.keys),
        "keys": shelf.put("grid_keys", name, grid.keys, "<i8"),
        **_laid(shelf, "grid", name, grid.table),
        "missing": grid.missing.tolist(),
    }


def _grid_from(arrays: Arrays, entry: Fields, slots: int) -> Grid:
    cells = entry.whole("cells", high=2**40)
    missing = entry.items("missing")
    if len(missing) != slots or any(type(value) is not float for value in missing):
        raise UnsoundError(f"must hold {slots} numbers under 'missing' of {entry.where}")
    return Grid(
        entry.whole("shift", high=63),
        _fetched(arrays, entry.any("keys"), "<i8", (cells,)),
        _taken(arrays, entry, (slots, cells)),
        np.array(missing, dtype=np.float64),
        entry.whole("most", low=2, high=2**40),
    )


def _columns(entry: Fields, schema: Schema, kind: str) -> tuple[str, ...]:
    names = tuple(entry.texts("columns"))
    for name in names:
        _known(name, schema, kind)
    if len(set(names)) != len(names):
        raise UnsoundError(f"names a column twice in {entry.where}")
    return names


def _known(name: str, schema: Schema, kind: str) -> None:
    if name not in schema or schema[name].kind != kind:
        raise UnsoundError(f"counts column {name[:40]!r}, which is no {kind} column of its schema")
