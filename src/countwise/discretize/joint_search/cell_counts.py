"""Class weights of cells, counted and looked up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.counts.moments import check_amounts
from countwise.discretize.joint_search._sweep import add_banded, count_cells
from countwise.discretize.joint_search.cell_grid import CellGrid
from countwise.discretize.joint_search.rows import NO_MARKS, NONE, Part
from countwise.parallel import in_threads

#: Weight that rounding leaves of a cell whose rows were all forgotten.
_NOTHING = 1e-9
#: Tables that are filled side by side.
_TABLES = 4


@dataclass(frozen=True)
class CellTable:
    """The cells of a grid that hold rows, in the order of their addresses.

    Examples
    --------
    >>> from countwise.discretize.joint_search.cell_grid import Axis
    >>> grid = CellGrid((Axis("x", np.array([1.5]), None, 2),))
    >>> part = Part((np.array([1.0, 2.0, 3.0]),), np.array([0, 1, 1], np.uint16))
    >>> table = CellTable.count(grid, [part], 2)
    >>> table.counts.tolist(), table.total
    ([[1.0, 0.0], [0.0, 2.0]], 3.0)
    """

    grid: CellGrid
    address: NDArray[np.int64]
    levels: NDArray[np.int32]
    counts: FloatArray

    @classmethod
    def count(
        cls, grid: CellGrid, parts: Sequence[Part], classes: int, checking: bool = False
    ) -> CellTable:
        """Count rows by class; those whose value has no level on some axis are left out.

        With `checking` each class has two columns: rows to train on, and rows to check by.
        """
        if not grid.direct:
            return _count_listed(grid, parts, classes, checking)
        table, _ = count_direct(grid, parts, classes, checking)
        address = np.flatnonzero(table.sum(axis=1) > 0)
        return cls(grid, address, grid.levels_at(address), table[address])

    @classmethod
    def of(cls, grid: CellGrid, levels: NDArray[np.int32], counts: FloatArray) -> CellTable:
        """Make a table of cells given by their levels, once or several times each."""
        address = grid.address_of(levels)
        found, first, place = np.unique(address, return_index=True, return_inverse=True)
        sums = np.zeros((len(found), counts.shape[1]))
        np.add.at(sums, place.reshape(-1), counts)
        kept = sums.sum(axis=1) > _NOTHING
        return cls(grid, found[kept], levels[first][kept], sums[kept])

    def check(self) -> None:
        """Refuse cells outside of the grid, twice the same cell, and cells without rows."""
        sizes = np.asarray([axis.size for axis in self.grid.axes], np.int64)
        if self.levels.shape != (len(self), len(sizes)) or self.counts.shape[:1] != (len(self),):
            raise ValueError("every cell must have a level on each axis, and class weights")
        if self.counts.ndim != 2 or not len(self):
            raise ValueError("there must be cells with class weights")
        if self.levels.size and ((self.levels < 0) | (self.levels >= sizes)).any():
            raise ValueError("cells must lie within the grid")
        if not np.array_equal(self.address, self.grid.address_of(self.levels)) or np.any(
            np.diff(self.address) <= 0
        ):
            raise ValueError("every cell must occur once, in the order of its address")
        check_amounts("Cells", self.counts)
        if not np.all(self.counts.sum(axis=1) > 0):
            raise ValueError("every cell must hold rows")

    def __len__(self) -> int:
        return len(self.address)

    @property
    def total(self) -> float:
        """The weight of all rows."""
        return float(self.counts.sum())

    @cached_property
    def by_class(self) -> FloatArray:
        """The weight of each class."""
        return np.asarray(self.counts.sum(axis=0))

    @cached_property
    def _places(self) -> NDArray[np.int32] | None:
        if not self.grid.direct:
            return None
        places = np.full(self.grid.cells, -1, np.int32)
        places[self.address] = np.arange(len(self), dtype=np.int32)
        return places

    def find(self, address: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the line of each address; -1 where no row fell."""
        if self._places is not None:
            return self._places[address].astype(np.int64)
        if not len(self):
            return np.full(len(address), -1)
        near = np.minimum(np.searchsorted(self.address, address), len(self) - 1)
        return np.where(self.address[near] == address, near, -1)

    def find_levels(self, levels: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return the line of cells given by levels; -1 where no row fell or a level is `ANY`."""
        place = np.full(len(levels), -1, np.int64)
        known = (levels >= 0).all(axis=1)
        place[known] = self.find(self.grid.address_of(levels[known]))
        return place

    def counts_of(self, levels: NDArray[np.int32]) -> FloatArray:
        """Return the class weights of cells given by levels; zero where `find_levels` has none."""
        place = self.find_levels(levels)
        counts = np.zeros((len(levels), self.counts.shape[1]))
        counts[place >= 0] = self.counts[place[place >= 0]]
        return counts

    def dense(self) -> FloatArray:
        """Return a table with a line for every cell of the grid."""
        table = np.zeros((self.grid.cells, self.counts.shape[1]))
        table[self.address] = self.counts
        return table


def count_direct(
    grid: CellGrid,
    parts: Sequence[Part],
    classes: int,
    checking: bool = True,
    bands: Mapping[int, FloatArray] | None = None,
) -> tuple[FloatArray, list[Part]]:
    """Count rows into a table with a line a cell, and copy those inside of a band.

    Bands are given by axis: the ends of each, one after the other.
    """
    work = [(part, rows) for part in parts for rows in part.blocks()]
    shape = grid.cells, classes * (1 + checking)

    def fold(blocks: Sequence[tuple[Part, slice]]) -> tuple[FloatArray, list[Part]]:
        table, near = np.zeros(shape), []
        for part, rows in blocks:
            size = rows.stop - rows.start
            address, marks = np.zeros(size, np.int64), np.zeros(size, np.uint8)
            for place, (axis, stride) in enumerate(zip(grid.axes, grid.strides, strict=True)):
                column, ends = part.column(place, rows), (bands or {}).get(place, NONE)
                if axis.edges is None or not len(ends):
                    axis.add(column, stride, address, grid.no_cell)
                    continue
                blank = axis.width if axis.blank else grid.no_cell
                add_banded(column, axis.edges, ends, stride, blank, address, marks)
            outside = (address < 0).view(np.uint8)
            skip = outside if outside.any() else NO_MARKS
            count_cells(address, part.slots(rows, checking), part.weights(rows), skip, table)
            inside = np.flatnonzero(marks > outside)
            if len(inside):
                near.append(part.take(rows.start + inside))
        return table, near

    folded = in_threads(fold, [work[at::_TABLES] for at in range(min(_TABLES, len(work)))])
    table = folded[0][0] if folded else np.zeros(shape)
    for other, _ in folded[1:]:
        table += other
    return table, [part for _, near in folded for part in near]


def _count_listed(grid: CellGrid, parts: Sequence[Part], classes: int, checking: bool) -> CellTable:
    """Count rows where only the cells that occur can be kept."""
    width = classes * (1 + checking)
    levels, counts = [np.empty((0, len(grid.axes)), np.int32)], [np.empty((0, width))]
    for part in parts:
        for rows in part.blocks():
            columns = [part.column(place, rows) for place in range(len(part.columns))]
            block = grid.levels(columns, rows.stop - rows.start)
            _, first, place = np.unique(
                grid.address_of(block), return_index=True, return_inverse=True
            )
            sums, weight = np.zeros((len(first), width)), part.weights(rows)
            slots = part.slots(rows, checking)
            np.add.at(sums, (place.reshape(-1), slots), weight if len(weight) else 1.0)
            levels.append(block[first])
            counts.append(sums)
    every = np.concatenate(levels)
    known = (every >= 0).all(axis=1)
    return CellTable.of(grid, np.ascontiguousarray(every[known]), np.concatenate(counts)[known])
