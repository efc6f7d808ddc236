"""Schemas as documents and back, and how a model's input becomes the columns it counts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.counts.cuts import cut_table
from countwise.errors import StoreError
from countwise.store.fields import Fields
from countwise.store.flaws import UnsoundError
from countwise.store.plain import label_from, to_plain
from countwise.tables.schema import Column, Schema
from countwise.tables.table import Table, code_type

__all__ = ["cuts_from", "cuts_to", "schema_from", "schema_to"]


def schema_to(schema: Schema) -> dict[str, Any]:
    """Return a schema as plain data, its levels with their types.

    Examples
    --------
    >>> schema_to(Schema((Column("windy", "nominal", (False, True)),)))
    {'columns': [{'name': 'windy', 'kind': 'nominal', 'levels': [False, True]}]}
    """
    columns = []
    for column in schema:
        plain = column.to_dict()
        if column.levels:
            plain["levels"] = to_plain(list(column.levels), f"the levels of {column.name!r}")
        columns.append(plain)
    return {"columns": columns}


def schema_from(document: Fields) -> Schema:
    """Read a schema back.

    Examples
    --------
    >>> schema = Schema((Column("windy", "nominal", (False, True)),))
    >>> schema_from(Fields(schema_to(schema), "schema.json")) == schema
    True
    """
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


def cuts_to(model: Any) -> dict[str, Any] | None:
    """Return how a model cuts numbers before it counts them; None if it counts rows as they come.

    Examples
    --------
    >>> import countwise as cw
    >>> cuts_to(cw.NaiveBayes().fit(cw.read("sample:weather"))) is None
    True
    """
    if model.schema_ == model.counts_.schema:
        return None
    points = getattr(model, "cut_points_", {})
    if not _lead_to(model.schema_, points, model.counts_.schema):
        raise StoreError(
            f"save: the columns of this {type(model).__name__} must be those it counted, but they "
            "are not. Fit it again."
        )
    plain = {name: own.tolist() for name, own in points.items()}
    return {"input": schema_to(model.schema_), "points": [[k, own] for k, own in plain.items()]}


def cuts_from(document: Fields, counted: Schema) -> tuple[Schema, dict[str, NDArray[np.float64]]]:
    """Return the schema of the rows a model takes and the points where it cuts their numbers."""
    schema = schema_from(document.inner("input"))
    points: dict[str, NDArray[np.float64]] = {}
    for pair in document.items("points"):
        if not isinstance(pair, list) or len(pair) != 2 or not isinstance(pair[0], str):
            raise UnsoundError("must hold a column and its points in 'cuts.json', but does not")
        own = pair[1] if isinstance(pair[1], list) else [None]
        if any(type(point) is not float for point in own) or own != sorted(set(own)):
            raise UnsoundError(f"must hold rising points to cut {pair[0][:40]!r} at, but does not")
        points[pair[0]] = np.array(own, dtype=np.float64)
    if not _lead_to(schema, points, counted):
        raise UnsoundError("cuts its input into other columns than it counts")
    return schema, points


def _lead_to(schema: Schema, points: dict[str, NDArray[np.float64]], counted: Schema) -> bool:
    """Whether rows of a schema, cut at these points, have the columns that were counted."""
    if any(name not in schema or schema[name].kind != "numeric" for name in points):
        return False
    bare = {
        column.name: np.empty(0, code_type(column.width) if column.coded else np.float64)
        for column in schema
        if column.coded or column.kind == "numeric"
    }
    return cut_table(Table(schema, bare), points).schema.columns == counted.columns
