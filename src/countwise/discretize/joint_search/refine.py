"""Move boundaries found on a sample to the best place for all rows, using only rows nearby.

Rows outside of a band around every boundary cannot cross one as long as boundaries stay in their
bands. They are counted once; only the rows inside are kept and moved, so that every step is exact
on all rows although it touches few of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.discretize.joint_search.cell_counts import count_direct
from countwise.discretize.joint_search.cell_grid import CellGrid
from countwise.discretize.joint_search.rows import NONE, Part
from countwise.discretize.joint_search.sweep import Aim, Line, walk


@dataclass
class _Band:
    """One boundary that may move, and the rows it may pass, in order."""

    axis: int
    place: int
    line: Line
    rows: NDArray[np.intp]


class Nearby:
    """The boundaries of a grid, all rows counted, and the rows near a boundary."""

    def __init__(
        self,
        grid: CellGrid,
        parts: Sequence[Part],
        classes: int,
        bands: Mapping[int, FloatArray],
    ) -> None:
        self.grid, self.classes, self.moves = grid, classes, 0
        self.table, near = count_direct(grid, parts, classes, bands=bands)
        self.near = sum(len(part) for part in near)
        self._bands: list[_Band] = []
        if not near:
            return
        rows = Part.join(near)
        self._label, self._weight = rows.slots(slice(None)), rows.weights(slice(None))
        self._address = grid.addresses(rows.columns, len(rows))
        for axis, ends in bands.items():
            values = np.asarray(rows.columns[axis], np.float64)
            for place, (low, high) in enumerate(ends.reshape(-1, 2).tolist()):
                inside = np.flatnonzero((values > low) & (values <= high))
                weight = self._weight[inside] if len(self._weight) else NONE
                line = Line.of(values[inside], self._label[inside], weight)
                self._bands.append(_Band(axis, place, line, inside))

    def improve(self, aim: Aim) -> list[tuple[float, float]]:
        """Let every boundary go where it earns most within its band.

        Returns what each move earned, in training and in checking.
        """
        moves = [self._shift(band, aim) for band in self._bands]
        return [move for move in moves if move is not None]

    def _shift(self, band: _Band, aim: Aim) -> tuple[float, float] | None:
        line, rows = band.line, band.rows[band.line.order]
        if len(line) < 2:
            return None
        stride, now = self.grid.strides[band.axis], self._place(band)
        level = np.full(len(line), band.place + 1, np.int64)
        level[:now] = band.place
        left = self._address[rows] - (level - band.place) * stride
        contexts, context = np.unique(left, return_inverse=True)
        context = context.reshape(-1).astype(np.int32)
        room, half = np.zeros((len(contexts), 4 * self.classes + 5)), 2 * self.classes + 2
        _load(room[:, : half - 2], self.table[contexts])
        _load(room[:, half : 2 * half - 2], self.table[contexts + stride])
        # The rows of the band leave the cells they are in; the walk brings them back.
        slot, weight = _slots(line, self.classes), _weights(line)
        np.subtract.at(room, (context, (level - band.place) * half + slot), weight)
        before = room.copy()
        slack = 1e-9 * aim.largest
        found = walk(line, context, 0, len(line), aim, slack, room)
        if found.first < 0:
            return None
        place = line.middle_place(found.first, found.last + 1)
        value, check = _worth_at(before, line, context, now, aim)
        if found.best <= value + aim.lean * check + slack * 100:
            return None
        self._move(band, rows, level, place)
        return found.best_value - value, found.best_check - check

    def _move(
        self, band: _Band, rows: NDArray[np.intp], level: NDArray[np.int64], place: int
    ) -> None:
        after = np.full(len(level), band.place + 1, np.int64)
        after[:place] = band.place
        changed = np.flatnonzero(after != level)
        moved = rows[changed]
        weight = self._weight[moved] if len(self._weight) else np.ones(len(moved))
        np.subtract.at(self.table, (self._address[moved], self._label[moved]), weight)
        self._address[moved] += (after[changed] - level[changed]) * self.grid.strides[band.axis]
        np.add.at(self.table, (self._address[moved], self._label[moved]), weight)
        edges = self._edges(band).copy()
        edges[band.place] = band.line.boundary(place)
        axes = list(self.grid.axes)
        axes[band.axis] = replace(axes[band.axis], edges=edges)
        self.grid = CellGrid(tuple(axes))
        self.moves += 1

    def _edges(self, band: _Band) -> FloatArray:
        edges = self.grid.axes[band.axis].edges
        assert edges is not None
        return edges

    def _place(self, band: _Band) -> int:
        """Return how many rows of the band are left of its boundary."""
        return band.line.place(float(self._edges(band)[band.place]))

    def at_the_edge(self) -> bool:
        """Return whether a boundary is so close to the end of its band that it may go on."""
        for band in self._bands:
            room = len(band.line) // 16
            if len(band.line) > 32 and not room < self._place(band) < len(band.line) - room:
                return True
        return False


def _load(room: FloatArray, lines: FloatArray) -> None:
    """Bring table lines (class, part) to the order of the kernel: training, then checking."""
    classes = lines.shape[1] // 2
    room[:, :classes] = lines[:, ::2]
    room[:, classes:] = lines[:, 1::2]


def _slots(line: Line, classes: int) -> NDArray[np.int64]:
    """Return where the kernel keeps the weight of each row."""
    return (line.label & 1).astype(np.int64) * classes + (line.label >> 1)


def _weights(line: Line) -> FloatArray:
    return line.weight if len(line.weight) else np.ones(len(line))


def _worth_at(
    room: FloatArray, line: Line, context: NDArray[np.int32], now: int, aim: Aim
) -> tuple[float, float]:
    """Return what the cells are worth with the boundary where it is, by a walk that ends there."""
    ends = np.zeros(len(line), np.uint8)
    if 0 < now < len(line):
        ends[now - 1] = 1
    elif now:
        # All rows of the band are on the left: put them there; a walk without a stop tells.
        slot, half = _slots(line, len(aim.train)), 2 * len(aim.train) + 2
        np.add.at(room, (context, slot), _weights(line))
        np.subtract.at(room, (context, half + slot), _weights(line))
    found = walk(replace(line, ends=ends), context, 0, len(line), aim, 0.0, room)
    if 0 < now < len(line):
        return found.best_value, found.best_check
    return found.value, found.check
