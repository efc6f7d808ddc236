"""Bin smoothing: a cell with too few rows asks the cells around it (Panda and Garg, eq. 16 to 20).

The nearest cells are taken, the cell itself first, until they hold k rows; cells at one distance
are taken together, so that nothing hangs on the order of columns. Levels of a numeric column are as
far apart as their middles, in shares of the column's range; levels of a nominal one, and missing
values, are 1 apart. A cell that no row fell into asks its neighbours even where k is 0.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.discretize.joint_search.cell_counts import CellTable
from countwise.discretize.joint_search.cell_grid import Axis, CellGrid
from countwise.models.discrete_bayes._bin_smoothing import nearest_cells, nearest_listed
from countwise.parallel import in_threads

Levels = NDArray[np.int32]

#: The least that counts as having found a row.
_SOME = 1e-9
#: Axes up to this size get their levels sorted by distance, for every level.
_SORTED = 2048
#: How many cells around one are looked at before the class shares must do.
_MOST = 4096
#: Pairs of an asked and an occupied cell that are compared; of more, margins answer.
_PAIRS = 2_000_000_000
_TOGETHER = 1 << 12

_MANY_CELLS = 100_000


def candidates(rows: float, cells: int) -> list[float]:
    """Panda and Garg's list for k: j N / (20 M) for j = 0 to 4; few rows get another list."""
    printed = [j * rows / (20 * cells) for j in range(5)]
    if printed[-1] >= 1:
        return printed
    # Looking around costs more the more cells there are: then fewer k are tried.
    few = (1.0, 3.0, 10.0, 30.0, 100.0) if cells <= _MANY_CELLS else (1.0, 10.0)
    return [0.0, *(k for k in few if k < rows / 2)]


class BinSmoothing:
    """Class weights of any cell of a grid; one with fewer than k rows uses its neighbors, too."""

    def __init__(self, table: CellTable, k: float = 0.0, by: str = "rows") -> None:
        self.table, self.k, self.by = table, float(k), by
        self._scale: FloatArray | None = None
        self._geometry = Geometry(table.grid)

    def weights(self, levels: Levels) -> FloatArray:
        """Class weights of cells given by their levels, `ANY` allowed; what an asked cell is worth.

        Posteriors are these weights, each class multiplied by prior / share, and normalised.
        """
        if self.by == "class" and self.k > 0:
            return self._by_class(levels)
        made = self.plain(levels)
        few = np.flatnonzero(made.sum(axis=1) < self._enough)
        if len(few):
            made[few] = self._around(np.ascontiguousarray(levels[few]), -1)[0]
        return made

    def plain(self, levels: Levels) -> FloatArray:
        """What fell into cells; where a level may be any, what fell into all that agree else."""
        made = np.zeros((len(levels), self.table.counts.shape[1]))
        known = levels >= 0
        sure = known.all(axis=1)
        place = np.full(len(levels), -1, np.int64)
        place[sure] = self.table.find(self.table.grid.address_of(levels[sure]))
        made[place >= 0] = self.table.counts[place[place >= 0]]
        unsure = np.flatnonzero(~sure)
        if len(unsure):
            patterns, which = np.unique(known[unsure], axis=0, return_inverse=True)
            for at, pattern in enumerate(patterns):
                rows = unsure[which.reshape(-1) == at]
                made[rows] = self._margin(levels[rows], np.flatnonzero(pattern))
        return made

    def _margin(self, levels: Levels, axes: NDArray[np.intp]) -> FloatArray:
        """What fell into all cells that agree on these axes."""
        own = len(self.table)
        if not len(axes):
            return np.broadcast_to(self.table.by_class, (len(levels), len(self.table.by_class)))
        both = np.concatenate([self.table.levels[:, axes], levels[:, axes]])
        _, place = np.unique(both, axis=0, return_inverse=True)
        place = place.reshape(-1)
        sums = np.zeros((int(place.max()) + 1, self.table.counts.shape[1]))
        np.add.at(sums, place[:own], self.table.counts)
        return np.asarray(sums[place[own:]])

    def _around(self, levels: Levels, which: int) -> tuple[FloatArray, FloatArray]:
        """Sums over the nearest cells, and the volume they take."""
        asked, place = self._distinct(levels)
        # Where few cells hold rows, looking through those is quicker than looking around.
        thin = which < 0 and len(self.table) ** 2 <= 4 * self.table.grid.cells
        if self._geometry.sorted and not thin and (which >= 0 or (asked >= 0).all()):
            sums, volume = self._geometry.nearest(asked, self._dense, which, self._enough)
        elif len(asked) * len(self.table) <= _PAIRS:
            sums = self._geometry.listed(asked, self.table, self._enough)
            volume = np.ones(len(asked))
        else:
            sums, volume = self._margins(asked), np.ones(len(asked))
        lost = sums.sum(axis=1) <= 0
        sums[lost] = self.table.by_class
        return sums[place], volume[place]

    def _distinct(self, levels: Levels) -> tuple[Levels, NDArray[np.intp]]:
        """Each asked cell once, and which one every line is; addresses sort faster than lines."""
        grid = self.table.grid
        if grid.direct and (levels >= 0).all():
            _, first, place = np.unique(
                grid.address_of(levels), return_index=True, return_inverse=True
            )
            return np.ascontiguousarray(levels[first]), place.reshape(-1)
        asked, place = np.unique(levels, axis=0, return_inverse=True)
        return asked, place.reshape(-1)

    @property
    def _enough(self) -> float:
        return max(self.k, _SOME)

    @property
    def _dense(self) -> FloatArray:
        if not hasattr(self, "_filled"):
            self._filled = self.table.dense()
        return self._filled

    def _margins(self, levels: Levels) -> FloatArray:
        """Cells are too many to compare: leave out one column after the other, the last first."""
        made = np.zeros((len(levels), self.table.counts.shape[1]))
        waiting = np.arange(len(levels))
        for kept in range(levels.shape[1] - 1, 0, -1):
            found = self._margin(levels[waiting], np.arange(kept))
            made[waiting] = found
            waiting = waiting[found.sum(axis=1) < self._enough]
            if not len(waiting):
                break
        return made

    def _by_class(self, levels: Levels) -> FloatArray:
        """The density of each class over its own neighbourhood, scaled so that it sums to one."""
        if self._scale is None:
            every = self.table.grid.levels_at(np.arange(self.table.grid.cells))
            self._density = self._densities(every)
            with np.errstate(divide="ignore", invalid="ignore"):
                scale = self.table.by_class / self._density.sum(axis=0)
            self._scale = np.where(np.isfinite(scale), scale, 0.0)
        known = (levels >= 0).all(axis=1)
        made = np.empty((len(levels), len(self._scale)))
        address = self.table.grid.address_of(levels[known])
        made[known] = self._density[address] * self._scale
        rest = np.flatnonzero(~known)
        if len(rest):
            made[rest] = self.plain(levels[rest])
        return made

    def _densities(self, levels: Levels) -> FloatArray:
        """(b / V) v of every class (eq. 18 to 20), before it is scaled."""
        volume = self._geometry.volume(levels)
        made = np.empty((len(levels), self.table.counts.shape[1]))
        address = self.table.grid.address_of(levels)
        for own in range(made.shape[1]):
            there = self._dense[address, own]
            made[:, own] = there
            few = np.flatnonzero(there < self._enough)
            if len(few):
                sums, reached = self._around(np.ascontiguousarray(levels[few]), own)
                made[few, own] = sums[:, own] / reached * volume[few]
        return made


class Geometry:
    """Where the levels of a grid's axes lie, how wide they are, and how far apart."""

    def __init__(self, grid: CellGrid) -> None:
        self.grid = grid
        sizes = [axis.size for axis in grid.axes]
        self.sorted = grid.direct and max(sizes, default=0) <= _SORTED
        self._sizes = np.asarray(sizes, np.int32)
        self._places = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self._widths = np.asarray(
            [axis.width if axis.numeric else 0 for axis in grid.axes], np.int32
        )
        both = [_middles(axis) for axis in grid.axes]
        self._centres = np.concatenate([own for own, _ in both] or [np.empty(0)])
        self._volumes = np.concatenate([own for _, own in both] or [np.empty(0)])
        if self.sorted:
            self._sort()

    def _sort(self) -> None:
        orders, distances, begins, at = [], [], [], 0
        for place, axis in enumerate(self.grid.axes):
            start = self._places[place]
            far = _distances(axis, self._centres[start : start + axis.size])
            order = np.argsort(far, axis=1, kind="stable")
            orders.append(order.astype(np.int32).ravel())
            distances.append(np.take_along_axis(far, order, axis=1).ravel())
            begins.append(at)
            at += far.size
        self._orders = np.concatenate(orders or [np.empty(0, np.int32)])
        self._distances = np.concatenate(distances or [np.empty(0)])
        self._begins = np.asarray(begins, np.int64)

    def volume(self, levels: Levels) -> FloatArray:
        """The volume of cells: the product of the widths of their levels."""
        made = np.ones(len(levels))
        for at in range(levels.shape[1]):
            made *= self._volumes[self._places[at] + levels[:, at]]
        return made

    def nearest(
        self, levels: Levels, counts: FloatArray, which: int, enough: float
    ) -> tuple[FloatArray, FloatArray]:
        """Sums over the nearest cells of a table with a line a cell, and their volume."""
        sums, reached = np.zeros((len(levels), counts.shape[1])), np.zeros(len(levels))
        strides = np.asarray(self.grid.strides, np.int64)

        def work(start: int) -> None:
            own = slice(start, start + _TOGETHER)
            nearest_cells(
                levels[own],
                strides,
                self._sizes,
                self._begins,
                self._orders,
                self._distances,
                self._places,
                self._volumes,
                counts,
                which,
                enough,
                min(_MOST, self.grid.cells),
                sums[own],
                reached[own],
            )

        in_threads(work, range(0, len(levels), _TOGETHER))
        return sums, reached

    def listed(self, levels: Levels, table: CellTable, enough: float) -> FloatArray:
        """Sums over the nearest of the cells that hold rows."""
        sums = np.zeros((len(levels), table.counts.shape[1]))

        def work(start: int) -> None:
            own = slice(start, start + _TOGETHER)
            nearest_listed(
                levels[own],
                table.levels,
                table.counts,
                self._widths,
                self._places,
                self._centres,
                enough,
                np.empty(len(table)),
                sums[own],
            )

        in_threads(work, range(0, len(levels), _TOGETHER))
        return sums


def _middles(axis: Axis) -> tuple[FloatArray, FloatArray]:
    """The middle of every level in shares of the range (NaN: it has none), and its width."""
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
    """Squared distances of every level (lines, the last for any level) to every other."""
    far = np.abs(middles[:, None] - middles[None, :])
    far = np.where(np.isnan(far), 1.0, far)
    np.fill_diagonal(far, 0.0)
    return np.concatenate([far**2, np.zeros((1, axis.size))])
