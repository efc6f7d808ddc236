"""Cells with the class weights that fell into them: they add, subtract and are looked up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.discretize.joint_search._sweep import count_cells
from countwise.discretize.joint_search.cell_grid import CellGrid
from countwise.discretize.joint_search.rows import NO_MARKS, Part
from countwise.parallel import in_threads

#: Weight that rounding leaves of a cell whose rows were all forgotten.
_NOTHING = 1e-9
_HANDS = 4


@dataclass(frozen=True)
class CellTable:
    """The cells of a grid that hold rows, in the order of their addresses.

    Examples
    --------
    >>> from countwise.discretize.joint_search.cell_grid import Axis
    >>> grid = CellGrid((Axis("x", np.array([1.5]), None, 2),))
    >>> part = Part((np.array([1.0, 2.0, 3.0]),), np.array([0, 1, 1], np.uint16))
    >>> table = CellTable.count(grid, part, 2)
    >>> table.counts.tolist(), (table + table).total
    ([[1.0, 0.0], [0.0, 2.0]], 6.0)
    """

    grid: CellGrid
    address: NDArray[np.int64]
    levels: NDArray[np.int32]
    counts: FloatArray

    @classmethod
    def count(cls, grid: CellGrid, part: Part, classes: int) -> CellTable:
        """Count rows; those whose value has no level on some axis are left out."""
        return _direct(grid, part, classes) if grid.direct else _listed(grid, part, classes)

    @classmethod
    def of(cls, grid: CellGrid, levels: NDArray[np.int32], counts: FloatArray) -> CellTable:
        """Cells given by their levels, once or several times each."""
        address = grid.address_of(levels)
        found, first, place = np.unique(address, return_index=True, return_inverse=True)
        sums = np.zeros((len(found), counts.shape[1]))
        np.add.at(sums, place.reshape(-1), counts)
        kept = sums.sum(axis=1) > _NOTHING
        return cls(grid, found[kept], levels[first][kept], sums[kept])

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
        """The line of each address; -1 where no row fell."""
        if self._places is not None:
            return self._places[address].astype(np.int64)
        if not len(self):
            return np.full(len(address), -1)
        near = np.minimum(np.searchsorted(self.address, address), len(self) - 1)
        return np.where(self.address[near] == address, near, -1)

    def dense(self) -> FloatArray:
        """A line a cell of the grid."""
        table = np.zeros((self.grid.cells, self.counts.shape[1]))
        table[self.address] = self.counts
        return table

    def __add__(self, other: CellTable) -> CellTable:
        return self._with(other, other.counts)

    def __sub__(self, other: CellTable) -> CellTable:
        return self._with(other, -other.counts)

    def _with(self, other: CellTable, counts: FloatArray) -> CellTable:
        return CellTable.of(
            self.grid,
            np.concatenate([self.levels, other.levels]),
            np.concatenate([self.counts, counts]),
        )


def _columns(part: Part, rows: slice) -> list[NDArray[Any]]:
    return [part.column(at, rows) for at in range(len(part.columns))]


def _direct(grid: CellGrid, part: Part, classes: int) -> CellTable:
    work = list(part.blocks())

    def fold(share: Sequence[slice]) -> FloatArray:
        table = np.zeros((grid.cells, classes))
        for rows in share:
            size = rows.stop - rows.start
            address = grid.addresses(_columns(part, rows), size)
            target, weight = part.target[rows], part.weights(rows)
            lost = (address < 0).view(np.uint8)
            count_cells(address, target, weight, lost if lost.any() else NO_MARKS, table)
        return table

    shares = [work[at::_HANDS] for at in range(min(_HANDS, len(work)))]
    tables = in_threads(fold, shares)
    table = tables[0] if tables else np.zeros((grid.cells, classes))
    for other in tables[1:]:
        table += other
    address = np.flatnonzero(table.sum(axis=1) > 0)
    return CellTable(grid, address, grid.levels_at(address), table[address])


def _listed(grid: CellGrid, part: Part, classes: int) -> CellTable:
    found: list[tuple[NDArray[np.int32], FloatArray]] = []
    for rows in part.blocks():
        size = rows.stop - rows.start
        levels = grid.levels(_columns(part, rows), size)
        _, first, place = np.unique(grid.address_of(levels), return_index=True, return_inverse=True)
        counts = np.zeros((len(first), classes))
        weight = part.weights(rows)
        np.add.at(counts, (place.reshape(-1), part.target[rows]), weight if len(weight) else 1.0)
        found.append((levels[first], counts))
    levels = np.concatenate([own for own, _ in found])
    counts = np.concatenate([own for _, own in found])
    known = (levels >= 0).all(axis=1)
    return CellTable.of(grid, np.ascontiguousarray(levels[known]), counts[known])
