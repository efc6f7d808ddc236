"""Schemas as documents and back, and how a model's input becomes the columns it counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from countwise._typing import FloatArray
from countwise.discretize.cut_points import cut_table
from countwise.discretize.rare_levels import fold_table
from countwise.errors import StoreError
from countwise.store.fields import Fields
from countwise.store.flaws import UnsoundError
from countwise.store.plain import label_from, to_plain
from countwise.tables.schema import Column, Level, Schema, level_key
from countwise.tables.table import Table, code_type


def schema_to(schema: Schema) -> dict[str, Any]:
    """Return a schema as plain data, its levels with their types."""
    columns = []
    for column in schema:
        plain = column.to_dict()
        if column.levels:
            plain["levels"] = to_plain(list(column.levels), f"the levels of {column.name!r}")
        columns.append(plain)
    return {"columns": columns}


def schema_from(document: Fields) -> Schema:
    """Read a schema back."""
    columns = []
    for entry in document.objects("columns"):
        plain = dict(entry.plain)
        name = entry.text("name")
        if "levels" in plain:
            plain["levels"] = [label_from(own, "levels") for own in entry.items("levels")]
        if "missing" in plain:
            entry.texts("missing")
        if "dates" in plain:
            entry.flag("dates")
        if "decimal" in plain and len(entry.text("decimal")) != 1:
            raise UnsoundError(f"must hold one sign as the decimal mark of {name[:40]!r}")
        columns.append(Column.from_dict(plain))
    return Schema(tuple(columns))


class Input(NamedTuple):
    """How a model's rows become what it counts: their columns, the cuts, the levels that stay."""

    schema: Schema
    points: Mapping[str, FloatArray]
    kept: Mapping[str, tuple[Level, ...]]
    coarser: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return what a model's `restore` takes."""
        return {
            "schema": self.schema.to_dict(),
            "cut_points": {name: own.tolist() for name, own in self.points.items()},
            "kept_levels": {name: list(own) for name, own in self.kept.items()},
            "coarser": list(self.coarser),
        }


def cuts_to(model: Any) -> dict[str, Any] | None:
    """Return how a model cuts numbers and folds rare levels before it counts, or None."""
    if model.schema_ == model.counts_.schema:
        return None
    points = getattr(model, "cut_points_", {})
    kept = getattr(model, "kept_levels_", {})
    if not _lead_to(model.schema_, points, kept, model.counts_.schema):
        raise StoreError(
            f"save: the columns of this {type(model).__name__} must be those it counted, but they "
            "are not. Fit it again."
        )
    return {
        "input": schema_to(model.schema_),
        "points": points_to(points),
        "kept": [[name, to_plain(list(own), "kept levels")] for name, own in kept.items()],
        "coarser": list(getattr(model, "_coarser", ())),
    }


def points_to(points: Mapping[str, FloatArray]) -> list[list[Any]]:
    """Return the points where columns are cut, each with its column."""
    return [[name, own.tolist()] for name, own in points.items()]


def points_from(document: Fields) -> dict[str, FloatArray]:
    """Read the points back: rising, finite, each column once."""
    points: dict[str, FloatArray] = {}
    for name, own in _pairs(document, "points"):
        if any(type(point) is not float for point in own) or own != sorted(set(own)):
            raise UnsoundError(f"must hold rising points to cut {name[:40]!r} at, but does not")
        points[name] = np.array(own, dtype=np.float64)
    return points


def cuts_from(document: Fields, counted: Schema) -> Input:
    """Return how rows become the columns that were counted."""
    schema = schema_from(document.inner("input"))
    points = points_from(document)
    # A file written before levels were folded names none.
    kept = {
        name: tuple(label_from(level, "kept levels") for level in own)
        for name, own in (_pairs(document, "kept") if "kept" in document else ())
    }
    coarser = tuple(document.texts("coarser")) if "coarser" in document else ()
    if not set(coarser) <= set(points) or len(set(coarser)) != len(coarser):
        raise UnsoundError("says of columns that it does not cut that they are cut into fewer")
    if not _lead_to(schema, points, kept, counted):
        raise UnsoundError("cuts its input into other columns than it counts")
    return Input(schema, points, kept, coarser)


def _pairs(document: Fields, field: str) -> list[tuple[str, list[Any]]]:
    """Columns, each once, with a list each."""
    pairs = document.items(field)
    for pair in pairs:
        if not isinstance(pair, list) or list(map(type, pair)) != [str, list]:
            raise UnsoundError(f"must hold a column and a list under {field!r} of {document.where}")
    if len({name for name, _ in pairs}) != len(pairs):
        raise UnsoundError(f"names a column twice under {field!r} of {document.where}")
    return [(name, own) for name, own in pairs]


def _lead_to(
    schema: Schema,
    points: Mapping[str, FloatArray],
    kept: Mapping[str, tuple[Level, ...]],
    counted: Schema,
) -> bool:
    """Whether rows of a schema, cut and folded like this, have the columns that were counted."""
    if any(name not in schema or schema[name].kind != "numeric" for name in points):
        return False
    for name, levels in kept.items():
        if name not in schema or schema[name].kind != "nominal":
            return False
        if any(level_key(level) not in schema[name].places for level in levels):
            return False
    bare = {
        column.name: np.empty(0, code_type(column.width) if column.coded else np.float64)
        for column in schema
        if column.coded or column.kind == "numeric"
    }
    made = fold_table(cut_table(Table(schema, bare), points), kept).schema
    same = len(made) == len(counted) and all(
        one.same_levels(two) for one, two in zip(made, counted, strict=True)
    )
    return same and made.columns == counted.columns
