"""Training rows where they lie: columns are not copied, and are walked through in blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.discretize.joint_search._sweep import column_range
from countwise.errors import TableError
from countwise.notes import Note
from countwise.parallel import in_threads
from countwise.tables.read import read
from countwise.tables.schema import Column, Level, Schema
from countwise.tables.table import Table

#: Rows that are worked on together: their addresses stay in the processor's cache.
BLOCK = 1 << 16
#: No weights, no marks: what kernels take where there are none.
NONE: FloatArray = np.empty(0)
NO_MARKS: NDArray[np.uint8] = np.empty(0, np.uint8)


@dataclass(frozen=True)
class Part:
    """Rows with their classes: to train on, to check by, or marked row by row.

    Columns are numbers (single or double, NaN is missing) or codes of levels; any stride will do.
    """

    columns: tuple[NDArray[Any], ...]
    target: NDArray[np.uint16]
    weight: FloatArray | None = None
    checking: NDArray[np.uint8] | bool = False

    def __len__(self) -> int:
        return len(self.target)

    @property
    def total(self) -> float:
        """The weight of all rows."""
        return float(len(self)) if self.weight is None else float(self.weight.sum())

    def label(self, rows: slice | NDArray[np.intp]) -> NDArray[np.uint16]:
        """Twice the class, and one more for rows to check by: the slot of a row in a table."""
        made = self.target[rows] << np.uint16(1)
        checking = self.checking
        if isinstance(checking, np.ndarray):
            made |= checking[rows]
        elif checking:
            made |= np.uint16(1)
        return np.asarray(made, dtype=np.uint16)

    def weights(self, rows: slice | NDArray[np.intp]) -> FloatArray:
        """The weights of some rows; none if they all weigh one."""
        return NONE if self.weight is None else np.ascontiguousarray(self.weight[rows])

    def column(self, place: int, rows: slice | NDArray[np.intp]) -> NDArray[Any]:
        """Some rows of a column, as single or double numbers, or as codes."""
        own = self.columns[place][rows]
        return own if own.dtype.kind != "f" or own.dtype.itemsize in (4, 8) else own.astype(float)

    def blocks(self) -> Iterator[slice]:
        """The rows in blocks."""
        for start in range(0, len(self), BLOCK):
            yield slice(start, min(start + BLOCK, len(self)))

    def take(self, rows: NDArray[np.intp]) -> Part:
        """Some rows, copied."""
        checking = self.checking
        return Part(
            tuple(np.ascontiguousarray(self.column(j, rows)) for j in range(len(self.columns))),
            self.target[rows],
            None if self.weight is None else self.weight[rows],
            checking[rows] if isinstance(checking, np.ndarray) else checking,
        )


@dataclass(frozen=True)
class Range:
    """The least and the largest number of a column, and whether some are missing."""

    low: float
    high: float
    blank: bool


def ranges_of(parts: Sequence[Part], numeric: Sequence[bool]) -> list[Range]:
    """Range of every numeric column over all parts, in one pass; nominal ones get a dummy."""

    def of(place: int) -> Range:
        if not numeric[place]:
            return Range(0.0, 0.0, False)
        low, high, blank = np.inf, -np.inf, False
        for part in parts:
            for rows in part.blocks():
                one, two, gaps = column_range(part.column(place, rows))
                low, high, blank = min(low, one), max(high, two), blank or gaps > 0
        return Range(low, high, blank) if low <= high else Range(0.0, 0.0, blank)

    return in_threads(of, range(len(numeric)))


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


#: Fewer rows than this are too few to hold some out: the training rows judge themselves.
LEAST_CHECKED = 1000


def held_out(part: Part, share: float, rng: np.random.Generator) -> Part:
    """Mark a share of the rows to check by; none where that would leave too few."""
    if share <= 0 or part.total < LEAST_CHECKED:
        return part
    marks = np.empty(len(part), np.uint8)
    for block in part.blocks():
        size = block.stop - block.start
        marks[block] = rng.random(size, dtype=np.float32) < share
    return Part(part.columns, part.target, part.weight, marks)


def seeded(seed: Any) -> np.random.Generator:
    """A generator of random numbers from a seed of any kind."""
    if isinstance(seed, np.random.RandomState):
        return np.random.default_rng(seed.randint(0, 2**31 - 1, size=4))
    return np.random.default_rng(seed)


def tally(part: Part, by_class: FloatArray) -> None:
    """Add the rows of a part by class, training and checking rows apart."""
    classes = by_class.shape[1]
    for rows in part.blocks():
        weight = part.weights(rows)
        own = np.bincount(
            part.label(rows), weights=weight if len(weight) else None, minlength=2 * classes
        )
        by_class += own.reshape(classes, 2).T
