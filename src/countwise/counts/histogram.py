"""A fine histogram of a numeric column by class; any two histograms can be merged exactly.

A double, read as an integer that sorts the same way, is cut into cells by dropping its last `shift`
bits. Cells of one shift are made of whole cells of the next lower one, so histograms of any two
shifts merge exactly on the coarser of them, on any machine, without knowing the range of the data.
The shift is the smallest for which at most `most` cells are occupied: up to that many distinct
values the grid holds each value itself, and beyond it about the same relative precision everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from countwise.counts.moments import check_amounts
from countwise.errors import CountsError

#: How many occupied cells a fine grid may have before it halves its resolution.
MOST_CELLS = 4096

#: The middle of a cell is at most this: a table holds no larger number.
_LARGEST = 1e145
_FLIP = np.int64(0x7FFFFFFFFFFFFFFF)


def keys_of(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Map doubles to integers that sort as they do."""
    bits = (np.ascontiguousarray(values, dtype=np.float64) + 0.0).view(np.int64)
    return np.where(bits >= 0, bits, bits ^ _FLIP)


def values_of(keys: NDArray[np.int64]) -> NDArray[np.float64]:
    """Undo `keys_of`."""
    return np.where(keys >= 0, keys, keys ^ _FLIP).astype(np.int64).view(np.float64)


@dataclass(frozen=True, eq=False)
class Grid:
    """Counts of a numeric column on a fine dyadic grid: (classes + 1) rows, one column a cell.

    Examples
    --------
    >>> grid = Grid(0, keys_of(np.array([1.0, 2.5])), np.array([[3.0, 1.0]]), np.zeros(1))
    >>> grid.points
    array([1. , 2.5])
    >>> (grid + grid).table
    array([[6., 2.]])
    """

    shift: int
    keys: NDArray[np.int64]
    table: NDArray[np.float64]
    missing: NDArray[np.float64]
    most: int = MOST_CELLS

    @classmethod
    def zero(cls, slots: int, most: int = MOST_CELLS) -> Grid:
        """Return the grid of no rows."""
        return cls(0, np.empty(0, np.int64), np.zeros((slots, 0)), np.zeros(slots), most)

    @property
    def exact(self) -> bool:
        """Whether each cell holds one value rather than a range of them."""
        return self.shift == 0

    @property
    def lower(self) -> NDArray[np.float64]:
        """The lowest value of each cell."""
        return values_of(self.keys << self.shift)

    @property
    def upper(self) -> NDArray[np.float64]:
        """The highest value of each cell."""
        top = (self.keys << self.shift) + ((np.int64(1) << self.shift) - 1)
        return values_of(np.minimum(top, keys_of(np.array([np.finfo(float).max]))[0]))

    @property
    def points(self) -> NDArray[np.float64]:
        """The value that stands for each cell: the value itself, or the middle of the cell."""
        return self.lower if self.exact else self.lower / 2 + self.upper / 2

    def coarser(self, shift: int) -> Grid:
        """Return the grid with cells of this shift; a finer one is refused."""
        if shift < self.shift:
            raise CountsError(f"Grid: shift must be at least {self.shift}; got {shift}.")
        if shift == self.shift:
            return self
        return _sum_equal(self, shift, self.keys >> (shift - self.shift), self.table)

    def fitted(self) -> Grid:
        """Return the finest coarsening with at most `most` occupied cells."""
        shift, keys = self.shift, self.keys
        while len(keys) > self.most:
            shift += 1
            keys = keys >> 1
            keys = keys[_first_of_each(keys)]
        return self.coarser(shift)

    def __add__(self, other: Grid) -> Grid:
        left, right = _aligned(self, other)
        keys = np.concatenate([left.keys, right.keys])
        # Both are sorted, which this sort makes use of.
        order = np.argsort(keys, kind="stable")
        table = np.concatenate([left.table, right.table], axis=1)[:, order]
        missing = self.missing + other.missing
        joined = Grid(left.shift, keys[order], table, missing, min(self.most, other.most))
        return _sum_equal(joined, left.shift, joined.keys, table).fitted()

    def __sub__(self, other: Grid) -> Grid:
        negative = Grid(other.shift, other.keys, -other.table, -other.missing, other.most)
        grid = self + negative
        size = max(float(self.table.sum()), 1.0)
        if np.any(grid.table < -1e-9 * size) or np.any(grid.missing < -1e-9 * size):
            raise CountsError(
                "Counts: rows can be taken away only once and only if they were counted; got a "
                "grid below zero.",
                hint="Check which rows are forgotten",
            )
        table = np.where(grid.table <= 1e-12 * size, 0.0, grid.table)
        full = np.any(table > 0, axis=0)
        missing = np.maximum(grid.missing, 0.0)
        return Grid(grid.shift, grid.keys[full], table[:, full], missing, grid.most)

    def __eq__(self, other: object) -> bool:
        """Equal counts on the coarser of both grids."""
        if not isinstance(other, Grid):
            return NotImplemented
        left, right = _aligned(self, other)
        return (
            np.array_equal(left.keys, right.keys)
            and np.array_equal(left.table, right.table)
            and np.array_equal(left.missing, right.missing)
        )

    __hash__ = None  # type: ignore[assignment]

    def close_to(self, other: Grid, tolerance: float = 1e-9) -> bool:
        """Return whether both describe the same rows, but for rounding."""
        gap = self + Grid(other.shift, other.keys, -other.table, -other.missing, other.most)
        size = max(float(np.abs(self.table).sum()), float(np.abs(other.table).sum()), 1.0)
        left = float(np.abs(gap.table).sum()) + float(np.abs(gap.missing).sum())
        return left <= tolerance * size

    def slots(self, order: NDArray[np.intp], size: int) -> Grid:
        """Put the class slots into a longer or reordered class axis."""
        table, missing = np.zeros((size, len(self.keys))), np.zeros(size)
        table[order], missing[order] = self.table, self.missing
        return Grid(self.shift, self.keys, table, missing, self.most)

    def check(self) -> None:
        """Refuse what no pass over rows could have left behind."""
        keys = self.keys
        if keys.ndim != 1 or self.missing.ndim != 1:
            raise CountsError("Grid: cells and missing rows must stand in a line each.")
        if self.table.shape != (len(self.missing), len(keys)):
            raise CountsError("Grid: there must be one count for each class and cell.")
        check_amounts("Grid", self.table, slack=True)
        check_amounts("Grid", self.missing, slack=True)
        if np.any(keys[1:] <= keys[:-1]):
            raise CountsError("Grid: cells must rise; some are out of order.")
        if not 0 <= self.shift <= 63 or np.any((keys << self.shift) >> self.shift != keys):
            raise CountsError("Grid: a number must fall into each cell; none falls into some.")
        if self.most < 2 or len(keys) > self.most:
            raise CountsError(f"Grid: there must be at most {self.most} cells; got {len(keys)}.")
        with np.errstate(all="ignore"):
            sound = bool((np.abs(self.points) <= _LARGEST).all())
        if not sound:
            raise CountsError("Grid: cells must hold finite numbers; some lie beyond all numbers.")


def _aligned(left: Grid, right: Grid) -> tuple[Grid, Grid]:
    shift = max(left.shift, right.shift)
    return left.coarser(shift), right.coarser(shift)


def _first_of_each(keys: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which of sorted keys differ from the one before."""
    return np.append([True], keys[1:] != keys[:-1])[: len(keys)]


def _sum_equal(grid: Grid, shift: int, keys: NDArray[np.int64], table: NDArray[np.float64]) -> Grid:
    """Return a grid of sorted keys, with the counts of equal ones added up."""
    first = _first_of_each(keys)
    distinct = keys[first]
    if len(distinct) == len(keys):
        return Grid(shift, keys, table, grid.missing, grid.most)
    place = np.cumsum(first) - 1
    total = np.zeros((table.shape[0], len(distinct)))
    for slot in range(table.shape[0]):
        total[slot] = np.bincount(place, weights=table[slot], minlength=len(distinct))
    return Grid(shift, distinct, total, grid.missing, grid.most)
