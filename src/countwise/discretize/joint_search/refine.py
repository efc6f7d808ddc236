"""Bring boundaries found on a sample to where all rows want them, looking only at rows nearby.

Rows outside of a band around every boundary cannot cross one as long as boundaries stay in their
bands. They are counted once; only the rows inside are kept and moved, so that every step is exact
on all rows although it touches few of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.counts.information import partition_gain
from countwise.discretize.joint_search._sweep import add_banded, count_cells
from countwise.discretize.joint_search.cell_grid import CellGrid
from countwise.discretize.joint_search.rows import NO_MARKS, NONE, Part
from countwise.discretize.joint_search.sweep import Aim, Line, middle, walk
from countwise.parallel import in_threads

Bands = dict[int, FloatArray]


def count_parts(grid: CellGrid, parts: Sequence[Part], classes: int) -> FloatArray:
    """Count all rows: cells × (class, part). The grid must be direct."""
    return gather(grid, parts, classes, {})[0]


def gather(
    grid: CellGrid, parts: Sequence[Part], classes: int, bands: Bands
) -> tuple[FloatArray, list[Part]]:
    """Count all rows, and copy those inside of a band (by axis: its ends, one after the other)."""
    work = [(part, rows) for part in parts for rows in part.blocks()]
    hands = 4
    shares = [work[at::hands] for at in range(min(hands, len(work)))]

    def fold(share: list[tuple[Part, slice]]) -> tuple[FloatArray, list[Part]]:
        table, near = np.zeros((grid.cells, 2 * classes)), []
        for part, rows in share:
            size = rows.stop - rows.start
            address, marks = np.zeros(size, np.int64), np.zeros(size, np.uint8)
            for at, (axis, stride) in enumerate(zip(grid.axes, grid.strides, strict=True)):
                column = part.column(at, rows)
                if axis.edges is None or not len(bands.get(at, ())):
                    axis.add(column, stride, address, grid.lost)
                    continue
                blank = axis.width if axis.blank else grid.lost
                add_banded(column, axis.edges, bands[at], stride, blank, address, marks)
            lost = (address < 0).view(np.uint8)
            skip = lost if lost.any() else NO_MARKS
            count_cells(address, part.label(rows), part.weights(rows), skip, table)
            found = np.flatnonzero(marks > lost)
            if len(found):
                near.append(part.take(rows.start + found))
        return table, near

    made = in_threads(fold, shares)
    table = made[0][0] if made else np.zeros((grid.cells, 2 * classes))
    for other, _ in made[1:]:
        table += other
    return table, [part for _, near in made for part in near]


@dataclass
class _Band:
    """One boundary that may move, and the rows it may pass, in order."""

    axis: int
    place: int
    line: Line
    rows: NDArray[np.intp]
    inside: tuple[float, float]


class Nearby:
    """The boundaries of a grid, all rows counted, and the rows near a boundary."""

    def __init__(
        self,
        grid: CellGrid,
        parts: Sequence[Part],
        classes: int,
        bands: Bands,
        on_move: Callable[[Nearby, float, float], None] | None = None,
    ) -> None:
        self.grid, self.classes, self.on_move = grid, classes, on_move
        self.table, near = gather(grid, parts, classes, bands)
        self.moves = 0
        self.near = len(near)
        if not near:
            self._bands: list[_Band] = []
            return
        columns = [
            np.concatenate([part.columns[at] for part in near]) for at in range(len(grid.axes))
        ]
        label = np.concatenate([part.label(slice(None)) for part in near])
        weighted = any(part.weight is not None for part in near)
        weight = np.concatenate([_weights(part) for part in near]) if weighted else NONE
        self._label, self._weight = label, weight
        self._address = grid.addresses(columns, len(label))
        self.near = len(label)
        self._bands = []
        for at, ends in bands.items():
            values = np.asarray(columns[at], np.float64)
            for place in range(len(ends) // 2):
                low, high = float(ends[2 * place]), float(ends[2 * place + 1])
                rows = np.flatnonzero((values > low) & (values <= high))
                own = weight[rows] if weighted else NONE
                line = Line.of(values[rows], label[rows], own)
                self._bands.append(_Band(at, place, line, rows, (low, high)))

    def worth(self, aim: Aim) -> tuple[float, float]:
        """What all cells are worth, in training and in checking."""
        train, check = self.table[:, ::2], self.table[:, 1::2]
        return partition_gain(train, aim.train, check, aim.check, aim.fallback)

    def improve(self, aim: Aim) -> bool:
        """Let every boundary go where it earns most within its band; say whether any moved."""
        moved = False
        for band in self._bands:
            moved |= self._shift(band, aim)
        return moved

    def _shift(self, band: _Band, aim: Aim) -> bool:
        line, rows = band.line, band.rows[band.line.order]
        if len(line) < 2:
            return False
        axis, stride = self.grid.axes[band.axis], self.grid.strides[band.axis]
        assert axis.edges is not None
        now = line.place(float(axis.edges[band.place]))
        level = np.full(len(line), band.place + 1, np.int64)
        level[:now] = band.place
        left = self._address[rows] - (level - band.place) * stride
        contexts, context = np.unique(left, return_inverse=True)
        context = context.reshape(-1).astype(np.int32)
        room, half = np.zeros((len(contexts), 4 * self.classes + 5)), 2 * self.classes + 2
        _load(room[:, : half - 2], self.table[contexts])
        _load(room[:, half : 2 * half - 2], self.table[contexts + stride])
        _unload(room, half, context, level - band.place, line)
        before = room.copy()
        slack = 1e-9 * max(float(np.abs(aim.train).max()), 1e-12)
        told = walk(line, context, 0, len(line), aim, slack, room)
        if told.first < 0:
            return False
        values = line.values
        cut = middle(values[told.first], values[told.last + 1])
        place = min(max(line.place(cut), told.first + 1), told.last + 1)
        here = _at(before, line, context, now, aim)
        if told.best <= here[0] + aim.lean * here[1] + slack * 100:
            return False
        self._move(band, rows, level, place, line.boundary(place))
        if self.on_move is not None:
            self.on_move(self, told.best_value - here[0], told.best_check - here[1])
        return True

    def _move(
        self,
        band: _Band,
        rows: NDArray[np.intp],
        level: NDArray[np.int64],
        place: int,
        boundary: float,
    ) -> None:
        stride = self.grid.strides[band.axis]
        after = np.full(len(level), band.place + 1, np.int64)
        after[:place] = band.place
        changed = np.flatnonzero(after != level)
        own = rows[changed]
        weight = self._weight[own] if len(self._weight) else np.ones(len(own))
        np.subtract.at(self.table, (self._address[own], self._label[own]), weight)
        self._address[own] += (after[changed] - level[changed]) * stride
        np.add.at(self.table, (self._address[own], self._label[own]), weight)
        axis = self.grid.axes[band.axis]
        assert axis.edges is not None
        edges = axis.edges.copy()
        edges[band.place] = boundary
        axes = list(self.grid.axes)
        axes[band.axis] = replace(axis, edges=edges)
        self.grid = CellGrid(tuple(axes))
        self.moves += 1

    def at_the_edge(self) -> bool:
        """Whether a boundary came close to the end of its band, so that it may want to go on."""
        for band in self._bands:
            edges = self.grid.axes[band.axis].edges
            assert edges is not None
            place = band.line.place(float(edges[band.place]))
            room = len(band.line) // 16
            if len(band.line) > 32 and not room < place < len(band.line) - room:
                return True
        return False


def _weights(part: Part) -> FloatArray:
    return np.ones(len(part)) if part.weight is None else part.weight


def _load(room: FloatArray, lines: FloatArray) -> None:
    """Bring table lines (class, part) to the order of the kernel: training, then checking."""
    classes = lines.shape[1] // 2
    room[:, :classes] = lines[:, ::2]
    room[:, classes:] = lines[:, 1::2]


def _unload(
    room: FloatArray, half: int, context: NDArray[np.int32], side: NDArray[np.int64], line: Line
) -> None:
    """Take the rows of the band out of the cells they are in; the walk brings them back."""
    classes = half // 2 - 1
    slot = (line.label & 1).astype(np.int64) * classes + (line.label >> 1)
    weight = line.weight if len(line.weight) else np.ones(len(line))
    np.subtract.at(room, (context, side * half + slot), weight)


def _at(
    before: FloatArray, line: Line, context: NDArray[np.int32], now: int, aim: Aim
) -> tuple[float, float]:
    """What the cells are worth with the boundary where it is: a walk that may stop only there."""
    ends = np.zeros(len(line), np.uint8)
    if 0 < now < len(line):
        ends[now - 1] = 1
        told = walk(replace(line, ends=ends), context, 0, len(line), aim, 0.0, before)
        return told.best_value, told.best_check
    if now == 0:
        told = walk(replace(line, ends=ends), context, 0, len(line), aim, 0.0, before)
        return told.value, told.check
    half = 2 * len(aim.train) + 2
    slot = (line.label & 1).astype(np.int64) * len(aim.train) + (line.label >> 1)
    weight = line.weight if len(line.weight) else np.ones(len(line))
    # All rows of the band are on the left: put them there; walking no row tells the worth.
    room = before
    np.add.at(room, (context, slot), weight)
    np.subtract.at(room, (context, half + slot), weight)
    told = walk(replace(line, ends=ends), context, 0, len(line), aim, 0.0, room)
    return told.value, told.check
