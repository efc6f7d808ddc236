"""Bin smoothing: a cell with few rows is combined with the cells around it (Panda and Garg).

Equations 16 to 20: the nearest cells are added, the cell itself first, until they hold k rows;
cells at one distance are added together, so that the order of columns does not matter. Levels of a
numeric column are as far apart as their middles, as fractions of its range; levels of a nominal
column, and missing values, are 1 apart. An empty cell uses its neighbors even where k is 0.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.discretize.joint_search.cell_counts import CellTable
from countwise.discretize.joint_search.cell_grid import Axis, CellGrid
from countwise.models.discrete_bayes._bin_smoothing import nearest_cells, nearest_listed
from countwise.parallel import blocks, in_threads

Levels = NDArray[np.int32]

#: The least weight that counts as a row.
_SOME = 1e-9
#: Axes up to this size get their levels sorted by distance, for every level.
_SORTED = 2048
#: How many cells around one are searched; beyond, the class frequencies are used.
_MOST = 4096
#: Pairs of a queried and an occupied cell that are compared; beyond, margins are used.
_PAIRS = 2_000_000_000
_TOGETHER = 1 << 12
#: With more cells, smoothing is slow, and fewer k are tried.
_MANY_CELLS = 100_000


def candidates(rows: float, cells: int) -> list[float]:
    """Return the k to try: Panda and Garg's j N / (20 M) for j = 0 to 4, or others for few rows."""
    printed = [j * rows / (20 * cells) for j in range(5)]
    if printed[-1] >= 1:
        return printed
    few = (1.0, 3.0, 10.0, 30.0, 100.0) if cells <= _MANY_CELLS else (1.0, 10.0)
    return [0.0, *(k for k in few if k < rows / 2)]


class BinSmoothing:
    """Class weights of any cell of a grid; one with fewer than k rows uses its neighbors, too."""

    def __init__(
        self, table: CellTable, k: float = 0.0, by: str = "rows", equal_volumes: bool = False
    ) -> None:
        self.table, self.k, self.by = table, float(k), by
        self._geometry = Geometry(table.grid, equal_volumes)

    def weights(self, levels: Levels) -> FloatArray:
        """Return the class weights of cells given by their levels, `ANY` allowed."""
        if self.by == "class" and self.k > 0:
            return self._weights_by_class(levels)
        weights = self.plain(levels)
        few = np.flatnonzero(weights.sum(axis=1) < self.enough)
        if len(few):
            weights[few] = self._sum_nearest(np.ascontiguousarray(levels[few]), -1)[0]
        return weights

    def plain(self, levels: Levels) -> FloatArray:
        """Return the counts of cells; where a level may be any, of all cells that agree else."""
        counts = self.table.counts_of(levels)
        known = levels >= 0
        rest = np.flatnonzero(~known.all(axis=1))
        if len(rest):
            patterns, which = np.unique(known[rest], axis=0, return_inverse=True)
            for at, pattern in enumerate(patterns):
                rows = rest[which.reshape(-1) == at]
                counts[rows] = self._margin(levels[rows], np.flatnonzero(pattern))
        return counts

    def _margin(self, levels: Levels, axes: NDArray[np.intp]) -> FloatArray:
        """Return the counts of all cells that agree on these axes."""
        cells = len(self.table)
        if not len(axes):
            return np.broadcast_to(self.table.by_class, (len(levels), len(self.table.by_class)))
        both = np.concatenate([self.table.levels[:, axes], levels[:, axes]])
        _, place = np.unique(both, axis=0, return_inverse=True)
        place = place.reshape(-1)
        sums = np.zeros((int(place.max()) + 1, self.table.counts.shape[1]))
        np.add.at(sums, place[:cells], self.table.counts)
        return np.asarray(sums[place[cells:]])

    def _sum_nearest(self, levels: Levels, which: int) -> tuple[FloatArray, FloatArray]:
        """Return the sums over the nearest cells, and the volume they take."""
        cells, place = self._distinct(levels)
        # Where few cells hold rows, a list of these is faster than a search around the cell.
        thin = which < 0 and len(self.table) ** 2 <= 4 * self.table.grid.cells
        volume = np.ones(len(cells))
        if self._geometry.sorted and not thin and (which >= 0 or (cells >= 0).all()):
            sums, volume = self._geometry.sum_around(cells, self._dense, which, self.enough)
        elif len(cells) * len(self.table) <= _PAIRS:
            sums = self._geometry.sum_listed(cells, self.table, self.enough)
        else:
            sums = self._margins(cells)
        sums[sums.sum(axis=1) <= 0] = self.table.by_class
        return sums[place], volume[place]

    def _distinct(self, levels: Levels) -> tuple[Levels, NDArray[np.intp]]:
        """Return each cell once, and which one every line is; addresses sort faster than lines."""
        grid = self.table.grid
        if grid.direct and (levels >= 0).all():
            _, first, place = np.unique(
                grid.address_of(levels), return_index=True, return_inverse=True
            )
            return np.ascontiguousarray(levels[first]), place.reshape(-1)
        cells, place = np.unique(levels, axis=0, return_inverse=True)
        return cells, place.reshape(-1)

    @property
    def enough(self) -> float:
        """How much a cell must weigh to be used without its neighbors."""
        return max(self.k, _SOME)

    @cached_property
    def _dense(self) -> FloatArray:
        return self.table.dense()

    def _margins(self, levels: Levels) -> FloatArray:
        """Return the counts of ever fewer columns, the last dropped first, until rows suffice."""
        counts = np.zeros((len(levels), self.table.counts.shape[1]))
        waiting = np.arange(len(levels))
        for kept in range(levels.shape[1] - 1, 0, -1):
            found = self._margin(levels[waiting], np.arange(kept))
            counts[waiting] = found
            waiting = waiting[found.sum(axis=1) < self.enough]
            if not len(waiting):
                break
        return counts

    def _weights_by_class(self, levels: Levels) -> FloatArray:
        """Return the density of each class over its neighbors, scaled to sum to one."""
        known = (levels >= 0).all(axis=1)
        weights = np.empty((len(levels), len(self.table.by_class)))
        weights[known] = self._densities[self.table.grid.address_of(levels[known])]
        weights[~known] = self.plain(levels[~known])
        return weights

    @cached_property
    def _densities(self) -> FloatArray:
        """(b / V) v of every cell and class (eq. 18 to 20), scaled."""
        levels = self.table.grid.levels_at(np.arange(self.table.grid.cells))
        volume, densities = self._geometry.volume(levels), self._dense.copy()
        for label in range(densities.shape[1]):
            few = np.flatnonzero(densities[:, label] < self.enough)
            if len(few):
                sums, reached = self._sum_nearest(np.ascontiguousarray(levels[few]), label)
                densities[few, label] = sums[:, label] / reached * volume[few]
        with np.errstate(divide="ignore", invalid="ignore"):
            scale = self.table.by_class / densities.sum(axis=0)
        return densities * np.where(np.isfinite(scale), scale, 0.0)


class Geometry:
    """The middles, widths and distances of the levels of a grid's axes.

    With `equal_volumes` all cells are taken as equally large, wherever their columns are cut.
    """

    def __init__(self, grid: CellGrid, equal_volumes: bool = False) -> None:
        self.grid = grid
        sizes = [axis.size for axis in grid.axes]
        self.sorted = grid.direct and max(sizes, default=0) <= _SORTED
        self._sizes = np.asarray(sizes, np.int32)
        self._places = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self._widths = np.asarray(
            [axis.width if axis.numeric else 0 for axis in grid.axes], np.int32
        )
        middles, widths = zip(*map(_middles, grid.axes), strict=True) if grid.axes else ((), ())
        self._middles = np.concatenate([*middles, np.empty(0)])
        self._volumes = np.concatenate([*widths, np.empty(0)])
        if equal_volumes:
            self._volumes = np.ones_like(self._volumes)
        if self.sorted:
            self._sort()

    def _sort(self) -> None:
        orders, distances, begins, at = [], [], [], 0
        for place, axis in enumerate(self.grid.axes):
            start = self._places[place]
            far = _distances(axis, self._middles[start : start + axis.size])
            order = np.argsort(far, axis=1, kind="stable")
            orders.append(order.astype(np.int32).ravel())
            distances.append(np.take_along_axis(far, order, axis=1).ravel())
            begins.append(at)
            at += far.size
        self._orders = np.concatenate(orders or [np.empty(0, np.int32)])
        self._distances = np.concatenate(distances or [np.empty(0)])
        self._begins = np.asarray(begins, np.int64)

    def volume(self, levels: Levels) -> FloatArray:
        """Return the volume of cells: the product of the widths of their levels."""
        volume = np.ones(len(levels))
        for at in range(levels.shape[1]):
            volume *= self._volumes[self._places[at] + levels[:, at]]
        return volume

    def sum_around(
        self, levels: Levels, counts: FloatArray, which: int, enough: float
    ) -> tuple[FloatArray, FloatArray]:
        """Return sums over the nearest cells of a table with a line a cell, and their volume."""
        sums, reached = np.zeros((len(levels), counts.shape[1])), np.zeros(len(levels))
        strides, places = np.asarray(self.grid.strides, np.int64), self._places
        order = self._begins, self._orders, self._distances
        axes = strides, self._sizes, *order, places, self._volumes
        limits = counts, which, enough, min(_MOST, self.grid.cells)

        def work(part: slice) -> None:
            nearest_cells(levels[part], *axes, *limits, sums[part], reached[part])

        in_threads(work, blocks(len(levels), _TOGETHER))
        return sums, reached

    def sum_listed(self, levels: Levels, table: CellTable, enough: float) -> FloatArray:
        """Return sums over the nearest of the cells that hold rows."""
        sums = np.zeros((len(levels), table.counts.shape[1]))
        cells = table.levels, table.counts, self._widths, self._places, self._middles, enough

        def work(part: slice) -> None:
            nearest_listed(levels[part], *cells, np.empty(len(table)), sums[part])

        in_threads(work, blocks(len(levels), _TOGETHER))
        return sums


def _middles(axis: Axis) -> tuple[FloatArray, FloatArray]:
    """Return the middle of every level as a fraction of the range (NaN: none), and its width."""
    middles, widths = np.full(axis.size, np.nan), np.ones(axis.size)
    if not axis.numeric:
        return middles, widths
    low, high = axis.spans
    whole = axis.high / 2 - axis.low / 2
    if whole > 0:
        middles[: axis.width] = ((low / 2 - axis.low / 2) + (high / 2 - axis.low / 2)) / 2 / whole
        widths[: axis.width] = np.maximum((high / 2 - low / 2) / whole, 1e-12)
    else:
        middles[: axis.width] = 0.0
    return middles, widths


def _distances(axis: Axis, middles: FloatArray) -> FloatArray:
    """Return squared distances of every level (lines, the last for any level) to every other."""
    far = np.abs(middles[:, None] - middles[None, :])
    far = np.where(np.isnan(far), 1.0, far)
    np.fill_diagonal(far, 0.0)
    return np.concatenate([far**2, np.zeros((1, axis.size))])
