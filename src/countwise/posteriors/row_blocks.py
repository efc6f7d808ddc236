"""Training rows where they lie: columns are not copied, and are walked through in blocks."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from countwise.posteriors._quantize import column_range

Doubles = NDArray[np.float64]
Made = TypeVar("Made")

#: Rows that are worked on together: their addresses stay in the processor's cache.
BLOCK = 1 << 16
#: No weights, no marks: what kernels take where there are none.
NONE: Doubles = np.empty(0)
NO_MARKS: NDArray[np.uint8] = np.empty(0, np.uint8)


@dataclass(frozen=True)
class Part:
    """Rows with their classes: to train on, to check by, or marked row by row.

    Columns are numbers (single or double, NaN is missing) or codes of levels; any stride will do.
    """

    columns: tuple[NDArray[Any], ...]
    target: NDArray[np.uint16]
    weight: Doubles | None = None
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

    def weights(self, rows: slice | NDArray[np.intp]) -> Doubles:
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


def in_threads(work: Callable[[Any], Made], items: Sequence[Any]) -> list[Made]:
    """Do the same work on several items, on all processors; kernels let go of the lock."""
    hands = min(len(items), os.cpu_count() or 1)
    if hands < 2:
        return [work(item) for item in items]
    with ThreadPoolExecutor(hands) as pool:
        return list(pool.map(work, items))
