"""Training rows without copies: arrays of numbers stay what and where they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.errors import TableError
from countwise.posteriors.row_blocks import BLOCK
from countwise.tables.notes import Note
from countwise.tables.read import read
from countwise.tables.schema import Column, Level, Schema
from countwise.tables.table import Table

#: Whole-numbered labels within so wide a range are coded by looking up.
_NEAR = 1 << 15
#: The code of a row without a class.
UNKNOWN = 65_535


@dataclass(frozen=True)
class Labelled:
    """Columns as they came, class codes, and the schema that explains both."""

    schema: Schema
    columns: tuple[NDArray[Any], ...]
    target: NDArray[np.uint16]
    notes: tuple[Note, ...] = ()

    def __len__(self) -> int:
        return len(self.target)


def is_plain(X: Any, nominal: Any) -> bool:
    """Whether rows are an array of single or double numbers, none of them codes."""
    return (
        isinstance(X, np.ndarray)
        and not isinstance(X, np.ma.MaskedArray)
        and X.ndim == 2
        and X.dtype in (np.float32, np.float64)
        and (nominal is None or (not isinstance(nominal, str) and len(nominal) == 0))
    )


def from_array(X: NDArray[Any], labels: NDArray[Any]) -> Labelled:
    """Take an array of numbers as it is."""
    levels, codes = coded_labels(labels)
    columns = [Column(f"x{at + 1}", "numeric") for at in range(X.shape[1])]
    schema = Schema((*columns, Column("class", "target", levels)))
    return Labelled(schema, tuple(X[:, at] for at in range(X.shape[1])), codes)


def coded_labels(labels: NDArray[Any]) -> tuple[tuple[Level, ...], NDArray[np.uint16]]:
    """The distinct labels in order, and the place of each row's among them."""
    if labels.dtype.kind in "iu" and len(labels):
        low, high = int(labels.min()), int(labels.max())
        if high - low < _NEAR:
            return _looked_up(labels, low, high)
    table = read(np.zeros((len(labels), 1), np.float32), target=labels)
    if len(table) != len(labels):
        raise TableError("fit: every row needs a class, but some labels are missing. Drop those.")
    return table.classes, table.target.astype(np.uint16)


def _looked_up(
    labels: NDArray[Any], low: int, high: int
) -> tuple[tuple[Level, ...], NDArray[np.uint16]]:
    seen = np.zeros(high - low + 1, np.int64)
    blocks = [slice(at, at + BLOCK) for at in range(0, len(labels), BLOCK)]
    for rows in blocks:
        seen += np.bincount(labels[rows].astype(np.int64) - low, minlength=len(seen))
    there = np.flatnonzero(seen)
    place = np.zeros(len(seen), np.uint16)
    place[there] = np.arange(len(there))
    codes = np.empty(len(labels), np.uint16)
    for rows in blocks:
        codes[rows] = place[labels[rows].astype(np.int64) - low]
    return tuple((there + low).tolist()), codes


def from_table(table: Table) -> Labelled:
    """Take the columns of a table with classes; a row without one gets the code `UNKNOWN`."""
    known = table.target < table.target_column.width
    target = np.where(known, table.target, UNKNOWN).astype(np.uint16)
    return Labelled(table.schema, columns_of(table), target, table.notes)


def columns_of(table: Table) -> tuple[NDArray[Any], ...]:
    """The attribute columns of a table, in the order of its schema."""
    return tuple(table.raw_array(column.name) for column in table.schema.attributes)


def weights_kept(
    rows: Labelled, weight: NDArray[np.float64] | None
) -> tuple[Labelled, NDArray[np.float64] | None]:
    """The rows that weigh something and have a class, with their weights."""
    kept = rows.target != UNKNOWN
    if weight is not None:
        kept &= weight > 0
    if kept.all():
        return rows, weight
    columns = tuple(column[kept] for column in rows.columns)
    some = Labelled(rows.schema, columns, rows.target[kept], rows.notes)
    return some, None if weight is None else weight[kept]
