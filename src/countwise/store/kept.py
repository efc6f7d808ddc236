"""Models that keep rows: the rows as arrays, the space they are compared in as a document."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.errors import CountwiseError
from countwise.models.neighbors.space import Space
from countwise.store.archive import Archive, Parts, Within
from countwise.store.flaws import UnsoundError
from countwise.store.models import columns_from, columns_to, model_to, notes_from
from countwise.store.plain import to_plain
from countwise.store.schemas import schema_from, schema_to
from countwise.tables.schema import Schema
from countwise.tables.table import Table, code_type

_MOST_ROWS = 2**40


def kept_to(model: Any, remarks: dict[str, Any]) -> Parts:
    """Return what a fitted model of kept rows consists of."""
    table, schema = model.rows_, model.rows_.schema
    remarks["model"] = [note.to_dict() for note in model.notes_]
    coded = [column.name for column in schema if column.coded]
    arrays: dict[str, NDArray[Any]] = {
        "rows/codes.npy": _stacked([table.codes(name) for name in coded], len(table), "<i8"),
        "rows/numbers.npy": _stacked(
            [table.values(column.name) for column in schema.numeric], len(table), "<f8"
        ),
    }
    if model.sample_weight_ is not None:
        arrays["rows/weight.npy"] = np.ascontiguousarray(model.sample_weight_, dtype="<f8")
    if model.target_ is not None:
        arrays["rows/target.npy"] = np.ascontiguousarray(model.target_, dtype="<f8")
    relevance = model.relevance_
    documents = {
        "schema.json": schema_to(schema),
        "parameters.json": model_to(model),
        "notes.json": remarks,
        "training.json": columns_to(model),
        "space.json": {
            "rows": len(table),
            "weighted": model.sample_weight_ is not None,
            "numbers_to_predict": model.target_ is not None,
            "relevance": None if relevance is None else relevance.tolist(),
            "extras": to_plain(model.extras(), "what was learned"),
            "space": model.space_.to_dict(),
        },
    }
    return Parts(type(model).__name__, documents, arrays, _summary(model, table))


def _stacked(columns: list[NDArray[Any]], rows: int, kind: str) -> NDArray[Any]:
    if not columns:
        return np.zeros((0, rows), dtype=kind)
    return np.stack([column.astype(kind) for column in columns])


def _summary(model: Any, table: Table) -> dict[str, Any]:
    target = table.schema.target
    told: dict[str, Any] = {
        "rows": len(table),
        "target": None if target is None else target.name,
        "columns": [column.name for column in table.schema.attributes],
    }
    if target is not None:
        weight = model.sample_weight_
        shares = np.bincount(table.target, weight, len(table.classes))
        told["weight"] = float(shares.sum())
        told["classes"] = to_plain(list(table.classes), "the classes")
        told["class_shares"] = (shares / shares.sum()).tolist()
    return told


def kept_from(archive: Archive | Within, model: Any) -> Any:
    """Return the fitted model that a file holds; `model` has its parameters."""
    schema = schema_from(archive.fields("schema.json"))
    told = archive.fields("space.json")
    rows = told.whole("rows", low=1, high=_MOST_ROWS)
    table = _table(archive, schema, rows)
    weight = None
    if told.any("weighted") is True:
        weight = archive.array("rows/weight.npy", "<f8", (rows,))
        if not np.all(np.isfinite(weight)) or weight.min(initial=1.0) <= 0:
            raise UnsoundError("holds weights of rows that are not positive numbers")
    target = None
    if told.any("numbers_to_predict") is True:
        target = archive.array("rows/target.npy", "<f8", (rows,))
        if not np.all(np.isfinite(target)):
            raise UnsoundError("holds numbers to predict that are none")
    try:
        space = Space.from_dict(told.inner("space").plain, schema.attributes)
        relevance = told.any("relevance") if "relevance" in told else None
        worth = None if relevance is None else np.asarray(relevance, dtype=np.float64)
        model.notes_ = notes_from(archive.fields("notes.json"))
        model.keep(table, weight, space, worth, target)
        model.restore_extras(told.inner("extras").plain)
    except (KeyError, TypeError, ValueError, IndexError, OverflowError, CountwiseError) as why:
        raise UnsoundError(f"holds no sound space ({str(why)[:200]})") from None
    columns_from(model, archive.fields("training.json"))
    return model


def _table(archive: Archive | Within, schema: Schema, rows: int) -> Table:
    coded = [column for column in schema if column.coded]
    codes = archive.array("rows/codes.npy", "<i8", (len(coded), rows))
    numbers = archive.array("rows/numbers.npy", "<f8", (len(schema.numeric), rows))
    if np.isinf(numbers).any():
        raise UnsoundError("holds numbers without end in its rows")
    data: dict[str, NDArray[Any]] = {}
    for column, own in zip(coded, codes, strict=True):
        # A class is always known; a cell may be missing.
        most = column.width - (1 if column.kind == "target" else 0)
        if own.size and (own.min() < 0 or own.max() > most):
            raise UnsoundError(f"holds codes that {column.name[:40]!r} does not have")
        data[column.name] = own.astype(code_type(column.width))
    for column, values in zip(schema.numeric, numbers, strict=True):
        data[column.name] = np.ascontiguousarray(values)
    return Table.from_arrays(schema, data, (), None, rows)
