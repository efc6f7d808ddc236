"""Training rows of the search, read in blocks without copying columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.discretize.joint_search._sweep import column_range
from countwise.discretize.joint_search.time_limit import SearchClock
from countwise.errors import TableError
from countwise.notes import Note
from countwise.parallel import blocks, in_threads
from countwise.progress import Progress
from countwise.tables.read import read
from countwise.tables.schema import Column, Level, Schema
from countwise.tables.table import Table

if TYPE_CHECKING:
    from countwise.discretize.joint_search.search import SearchParameters

#: Rows that are worked on together: their addresses stay in the processor's cache.
BLOCK = 1 << 16
#: No weights, no marks: what kernels take where there are none.
NONE: FloatArray = np.empty(0)
NO_MARKS: NDArray[np.uint8] = np.empty(0, np.uint8)
#: Fewer rows than this are too few to hold some out: the training rows judge themselves.
LEAST_CHECKED = 1000
#: Whole-numbered labels within so wide a range are coded by looking up.
_NEAR = 1 << 15
#: The code of a row without a class.
UNKNOWN = 65_535


def as_kernel_column(column: NDArray[Any]) -> NDArray[Any]:
    """Return codes as they are, and numbers as single or double, as the kernels take them."""
    if column.dtype.kind != "f" or column.dtype in (np.float32, np.float64):
        return column
    return column.astype(np.float64)


@dataclass(frozen=True)
class Part:
    """Rows with their classes: to train on, to check by, or marked row by row.

    Columns are numbers (single or double, NaN is missing) or codes of levels, of any stride.
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

    def slots(self, rows: slice, checking: bool = True) -> NDArray[np.uint16]:
        """Return the classes of rows; with `checking` twice the class, plus one to check by."""
        target = self.target[rows]
        if not checking:
            return target
        marks = self.checking[rows] if isinstance(self.checking, np.ndarray) else self.checking
        return np.asarray((target << np.uint16(1)) | np.uint16(marks), dtype=np.uint16)

    def weights(self, rows: slice) -> FloatArray:
        """Return the weights of some rows; none if they all weigh one."""
        return NONE if self.weight is None else np.ascontiguousarray(self.weight[rows])

    @property
    def weight_or_ones(self) -> FloatArray:
        """One weight a row."""
        return np.ones(len(self)) if self.weight is None else self.weight

    def column(self, place: int, rows: slice | NDArray[np.intp]) -> NDArray[Any]:
        """Return some rows of a column, as single or double numbers, or as codes."""
        return as_kernel_column(self.columns[place][rows])

    def blocks(self) -> list[slice]:
        """Return the rows in blocks."""
        return blocks(len(self), BLOCK)

    def tally(self, place: int, width: int) -> FloatArray:
        """Return the weight of each code of a nominal column."""
        weight = np.zeros(width)
        for rows in self.blocks():
            weight += np.bincount(self.columns[place][rows], self._weight(rows), width)
        return weight

    def by_class(self, classes: int) -> FloatArray:
        """Return the weight of each class (columns), of training and of checking rows (rows)."""
        weight = np.zeros(2 * classes)
        for rows in self.blocks():
            weight += np.bincount(self.slots(rows), self._weight(rows), 2 * classes)
        return weight.reshape(classes, 2).T

    def _weight(self, rows: slice) -> FloatArray | None:
        return None if self.weight is None else self.weight[rows]

    def take(self, rows: NDArray[np.intp]) -> Part:
        """Copy some rows."""
        checking = self.checking
        return Part(
            tuple(np.ascontiguousarray(self.column(j, rows)) for j in range(len(self.columns))),
            self.target[rows],
            None if self.weight is None else self.weight[rows],
            checking[rows] if isinstance(checking, np.ndarray) else checking,
        )

    def hold_out(self, fraction: float, rng: np.random.Generator) -> Part:
        """Mark a fraction of the rows to check by; none where that would leave too few."""
        if fraction <= 0 or self.total < LEAST_CHECKED:
            return self
        marks = np.empty(len(self), np.uint8)
        for rows in self.blocks():
            marks[rows] = rng.random(rows.stop - rows.start, dtype=np.float32) < fraction
        return replace(self, checking=marks)

    @staticmethod
    def join(parts: Sequence[Part]) -> Part:
        """Put several parts together, the rows to check by marked."""
        weighted = any(part.weight is not None for part in parts)
        marks = [np.broadcast_to(np.uint8(part.checking), len(part)) for part in parts]
        return Part(
            tuple(
                np.concatenate(column) for column in zip(*(p.columns for p in parts), strict=True)
            ),
            np.concatenate([part.target for part in parts]),
            np.concatenate([part.weight_or_ones for part in parts]) if weighted else None,
            np.concatenate(marks),
        )


class SearchTask:
    """The rows of a search, some of them held out to judge by, its random numbers and its clock."""

    def __init__(
        self,
        options: SearchParameters,
        rows: Part,
        columns: Sequence[Column],
        classes: int,
        hold_out: bool,
        judge: Part | None = None,
        progress: Progress | None = None,
    ) -> None:
        seed: Any = options.random_state
        if isinstance(seed, np.random.RandomState):
            seed = seed.randint(0, 2**31 - 1, size=4)
        self.options, self.rng = options, np.random.default_rng(seed)
        self.clock = SearchClock(options.max_seconds, progress)
        self.columns, self.classes = tuple(columns), classes
        if judge is None and hold_out:
            rows = rows.hold_out(options.validation, self.rng)
        self.parts = [rows] if judge is None else [rows, judge]
        #: The weight of each class, of training and of checking rows.
        self.by_class = np.sum([part.by_class(classes) for part in self.parts], axis=0)
        #: The weight of the training and of the checking rows.
        self.totals = (float(self.by_class[0].sum()), float(self.by_class[1].sum()))
        self.fractions = self.by_class.sum(axis=0) / self.by_class.sum()


@dataclass(frozen=True)
class Range:
    """The least and the largest number of a column, and whether some are missing."""

    low: float
    high: float
    blank: bool


def ranges_of(parts: Sequence[Part], columns: Sequence[Column]) -> list[Range]:
    """Return the range of every column over all parts, in one pass; of a nominal one only gaps."""

    def find_range(place: int) -> Range:
        column = columns[place]
        if column.kind != "numeric":
            gaps = (part.columns[place] == column.width for part in parts)
            return Range(0.0, 0.0, any(bool(gap.any()) for gap in gaps))
        low, high, blank = np.inf, -np.inf, False
        for part in parts:
            for rows in part.blocks():
                least, largest, missing = column_range(part.column(place, rows))
                low, high, blank = min(low, least), max(high, largest), blank or missing > 0
        return Range(low, high, blank) if low <= high else Range(0.0, 0.0, blank)

    return in_threads(find_range, range(len(columns)))


@dataclass(frozen=True)
class Labelled:
    """Columns as they were given, class codes, and the schema that explains both."""

    schema: Schema
    columns: tuple[NDArray[Any], ...]
    target: NDArray[np.uint16]
    notes: tuple[Note, ...] = ()

    def __len__(self) -> int:
        return len(self.target)


def is_plain(X: Any, nominal: Any) -> bool:
    """Return whether rows are an array of single or double numbers, none of them codes."""
    return (
        isinstance(X, np.ndarray)
        and not isinstance(X, np.ma.MaskedArray)
        and X.ndim == 2
        and X.dtype in (np.float32, np.float64)
        and (nominal is None or (not isinstance(nominal, str) and len(nominal) == 0))
    )


def from_array(X: NDArray[Any], labels: NDArray[Any]) -> Labelled:
    """Take an array of numbers as it is."""
    levels, codes = code_labels(labels)
    columns = [Column(f"x{number}", "numeric") for number in range(1, X.shape[1] + 1)]
    schema = Schema((*columns, Column("class", "target", levels)))
    return Labelled(schema, tuple(X.T), codes)


def code_labels(labels: NDArray[Any]) -> tuple[tuple[Level, ...], NDArray[np.uint16]]:
    """Return the distinct labels in order, and the place of each row's among them."""
    if labels.dtype.kind in "iu" and len(labels):
        low, high = int(labels.min()), int(labels.max())
        if high - low < _NEAR:
            return _look_up(labels, low, high)
    table = read(np.zeros((len(labels), 1), np.float32), target=labels)
    if len(table) != len(labels):
        raise TableError(
            f"fit: every row must have a class; got {len(labels) - len(table)} missing labels.",
            hint="Drop those rows",
        )
    return table.classes, table.target.astype(np.uint16)


def _look_up(
    labels: NDArray[Any], low: int, high: int
) -> tuple[tuple[Level, ...], NDArray[np.uint16]]:
    seen = np.zeros(high - low + 1, np.int64)
    for rows in blocks(len(labels), BLOCK):
        seen += np.bincount(labels[rows].astype(np.int64) - low, minlength=len(seen))
    present = np.flatnonzero(seen)
    place = np.zeros(len(seen), np.uint16)
    place[present] = np.arange(len(present))
    codes = np.empty(len(labels), np.uint16)
    for rows in blocks(len(labels), BLOCK):
        codes[rows] = place[labels[rows].astype(np.int64) - low]
    return tuple((present + low).tolist()), codes


def from_table(table: Table) -> Labelled:
    """Take the columns of a table with classes; a row without one gets the code `UNKNOWN`."""
    known = table.target < table.target_column.width
    target = np.where(known, table.target, UNKNOWN).astype(np.uint16)
    columns = tuple(table.raw_array(column.name) for column in table.schema.attributes)
    return Labelled(table.schema, columns, target, table.notes)


def keep_weighted(rows: Labelled, weight: FloatArray | None) -> tuple[Labelled, FloatArray | None]:
    """Return the rows that weigh something and have a class, with their weights."""
    kept = rows.target != UNKNOWN
    if weight is not None:
        kept &= weight > 0
    if kept.all():
        return rows, weight
    columns = tuple(column[kept] for column in rows.columns)
    some = Labelled(rows.schema, columns, rows.target[kept], rows.notes)
    return some, None if weight is None else weight[kept]
