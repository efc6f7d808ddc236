"""Ranges, spreads and covariance of numeric columns without each row in turn, by subtraction.

Whether a row is left out is a subtraction of its moments from those of all rows. Rows that hold a
good part of a column's spread would leave little but rounding behind; there are few of them (ten
rows cannot each hold more than a tenth), and they are left out by summing up the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.counts.moments import freedom
from countwise.models.neighbors.metrics import (
    ends,
    farthest,
    learn_spaces,
    masses,
    number_figures,
    spread_of,
)
from countwise.models.neighbors.space import Axis, Space, from_sums, with_gap
from countwise.tables.schema import Column
from countwise.tables.table import Table

#: A row that leaves less than this of the squares behind is left out by summing up the others.
_LEAST_LEFT = 0.9
#: A row whose covariance has a direction to itself by more than this is learned without.
_LEAST_FREE = 0.1
#: Correlations with a smaller eigenvalue are too near to singular to be changed by subtraction.
_LEAST_EIGENVALUE = 1e-5


def ends_without(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The smallest and the largest known value without each row."""
    lowest, highest = ends(values)
    low, high = np.full(len(values), lowest), np.full(len(values), highest)
    known = np.sort(values[~np.isnan(values)])
    if len(known) == 1:
        low[values == lowest] = high[values == lowest] = 0.0
    elif len(known) > 1:  # where several rows share an end, the next one is the same
        low[values == lowest] = known[1]
        high[values == highest] = known[-2]
    return low, high


def variance_without(values: FloatArray, weight: FloatArray | None) -> FloatArray:
    """The sample variance of the known values without each row."""
    made = np.full(len(values), spread_of(values, weight)[1])
    known = np.flatnonzero(~np.isnan(values))
    own = np.ones(len(known)) if weight is None else weight[known]
    total = float(own.sum())
    if total <= 0:
        return made
    gap = values[known] - (values[known] * (own / total)).sum()
    # What rounding left in the mean is taken out: it would enter by its first power.
    gap -= (gap * own).sum() / total
    square = float((own * gap * gap).sum())
    left = total - own
    few = left < total / 2
    held = own * gap * gap * (total / np.where(few, total, left))
    made[known] = np.maximum(square - held, 0.0) / freedom(np.where(few, total, left))
    unsure = few | (square - held < _LEAST_LEFT * square)
    for row in known[unsure]:
        others = known[known != row]
        made[row] = spread_of(values[others], None if weight is None else weight[others])[1]
    return made


@dataclass(frozen=True, eq=False)
class Bent:
    """How Mahalanobis' distance changes when a row is left out, in gaps u whitened by all rows.

    Taking a row away takes a multiple of one outer product away from the covariance, so by Sherman
    & Morrison (1950) distance² = shrink² (|u|² + more (along · u)²). `unsure` rows are not told
    that way: nearly all the spread in some direction is theirs.
    """

    shrink: FloatArray
    along: FloatArray
    more: FloatArray
    unsure: NDArray[np.bool_]


def bent_without(space: Space, values: FloatArray, weight: FloatArray | None) -> Bent | None:
    """What leaving out each row does to Mahalanobis' distance; None where it must be learned anew.

    `values` holds the numeric columns (columns × rows). Missing numbers stand at means that move,
    and a covariance that was drawn towards its diagonal, or nearly, is not changed by subtraction.
    """
    if space.whitening is None or space.middle is None or space.notes or np.isnan(values).any():
        return None
    own = np.ones(values.shape[1]) if weight is None else weight
    total = float(own.sum())
    gap = values - space.middle[:, None]
    deviation = np.sqrt((gap * gap * own).sum(axis=1) / freedom(total))
    steepest = np.linalg.norm(space.whitening * deviation, 2)
    if steepest**2 > 1.0 / _LEAST_EIGENVALUE:
        return None
    left = total - own
    few = left < total / 2
    left = np.where(few, total, left)
    along = (space.whitening @ gap).T
    part = own * (total / left) / freedom(total)
    free = 1.0 - part * (along * along).sum(axis=1)
    unsure = few | (free < _LEAST_FREE)
    return Bent(
        np.sqrt(freedom(left) / freedom(total)),
        along,
        part / np.where(unsure, 1.0, free),
        unsure,
    )


Rows = NDArray[np.int64]

#: A row that leaves less than this of a word's weight behind is left out by summing up the others.
_LEAST_WORDS_LEFT = 1e-3


class Words:
    """The words of a column by class, and what leaving out a row does to their distances."""

    def __init__(self, table: Table, column: Column, weight: FloatArray | None) -> None:
        self.width, self.classes = column.width, len(table.classes)
        self._word = table.codes(column.name).astype(np.intp)
        self._label = table.target.astype(np.intp)
        self._weight = np.ones(len(table)) if weight is None else weight
        self._cells = np.zeros((self.width + 2, self.classes))
        known = (self._word < self.width) & (self._label < self.classes)
        np.add.at(self._cells, (self._word[known], self._label[known]), self._weight[known])
        self._shares = _shares(self._cells)
        self._held = np.bincount(self._word, minlength=self.width + 2)
        kinds, kind = np.unique(self._weight, return_inverse=True)
        self._key = (self._word * (self.classes + 1) + self._label) * len(kinds) + kind

    def lines(
        self, rows: Rows, p: float, far: float | None
    ) -> tuple[FloatArray, NDArray[np.int32]]:
        """Lines of distances (to every word, missing and unseen), and which one each row reads.

        The number of a line is never that of the missing word; `far` is how far missing ones are,
        by class shares unless told.
        """
        away = farthest(self.classes, p) if far is None else far
        _, first, line = np.unique(self._key[rows], return_index=True, return_inverse=True)
        made = self._between(rows[first], p)
        made[self._word[rows[first]] == self.width] = away
        made[:, self.width] = away
        number = np.arange(len(first)) + (np.arange(len(first)) >= self.width)
        whole = np.zeros((int(number[-1]) + 1, self.width + 2))
        whole[number] = made
        return whole, number[line].astype(np.int32)

    def _between(self, rows: Rows, p: float) -> FloatArray:
        """The distances of the words of these rows, each without its row, to all others."""
        own = self._without(rows)
        sums = np.zeros((len(rows), self.width + 2))
        for slot in range(self.classes):
            gap = np.abs(own[:, slot, None] - self._shares[:, slot])
            sums = with_gap(sums, gap, p)
        # The same word is without the row as well.
        sums[np.arange(len(rows)), self._word[rows]] = 0.0
        return from_sums(sums, p)

    def _without(self, rows: Rows) -> FloatArray:
        """The class shares of the words of these rows, each without its row."""
        word, label, weight = self._word[rows], self._label[rows], self._weight[rows]
        cells = self._cells[word]
        before = cells.sum(axis=1)
        there = np.flatnonzero((word < self.width) & (label < self.classes))
        left = cells[there, label[there]] - weight[there]
        cells[there, label[there]] = np.where(left > 1e-12 * before[there], left, 0.0)
        after = cells.sum(axis=1)
        for place in np.flatnonzero((after < _LEAST_WORDS_LEFT * before) & (self._held[word] > 1)):
            others = (self._word == word[place]) & (self._label < self.classes)
            others[rows[place]] = False
            cells[place] = np.bincount(
                self._label[others], self._weight[others], minlength=self.classes
            )
        return _shares(cells)


def _shares(cells: FloatArray) -> FloatArray:
    weight = cells.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(cells, weight, out=np.zeros_like(cells), where=weight > 0))


#: Cells of the figures that are held at a time.
_MOST_CELLS = 1 << 22
#: The share of rows whose attribute weights may lie below those of the shared space.
_BELOW = 0.02


@dataclass(frozen=True, eq=False)
class Figures:
    """What the space of each of some rows (ascending) has of its own, axis by axis.

    Stretch, far and mass are those of an `Axis`, `total` is the mass of all axes. Words are
    compared by `lines` of distances to all words, those of a row by the line it is told (`line`),
    times `grow`. Whitened gaps count `more` along `bend`. A row's distances are at least `ratio`
    times those in the shared space, and are divided by `divisor` in the end.
    """

    rows: Rows
    stretch: FloatArray
    far: FloatArray
    mass: FloatArray
    grow: FloatArray
    total: FloatArray
    divisor: FloatArray
    ratio: FloatArray
    lines: tuple[FloatArray | None, ...]
    line: NDArray[np.int32]
    bend: FloatArray | None = None
    more: FloatArray | None = None

    def at(self, rows: Rows) -> NDArray[np.intp]:
        """The places of these rows among those whose figures are here."""
        return np.searchsorted(self.rows, rows)


class LeftOut:
    """What a metric learns from a table without each of its rows.

    `factors` are attribute weights: one an attribute, or a line of them for each row. Rows that
    are `unsure` must be learned without one by one.
    """

    def __init__(
        self,
        table: Table,
        metric: str,
        powers: Sequence[float],
        scale: str | None,
        missing: str | None,
        weight: FloatArray | None,
        factors: FloatArray,
    ) -> None:
        self.metric = metric
        self.factors = np.broadcast_to(factors, (len(table), factors.shape[-1]))
        self._shared = _low(factors)
        self._holes = [_holes(table, place) for place in range(factors.shape[-1])]
        self._scales: dict[int, tuple[FloatArray, FloatArray]] = {}
        self._words: dict[int, Words] = {}
        for place, column in enumerate(table.schema.attributes):
            if column.kind == "nominal":
                if metric in ("vdm", "hvdm"):
                    self._words[place] = Words(table, column, weight)
            elif metric not in ("overlap", "mahalanobis"):
                values = table.values(column.name)
                low, high = ends_without(values)
                deviation = np.zeros(len(values))
                if scale == "z" or metric == "hvdm":
                    deviation = np.sqrt(variance_without(values, weight))
                self._scales[place] = number_figures(metric, scale, 1.0, high - low, deviation)
        used = (self.factors > 0).any(axis=0).astype(float)
        learned = learn_spaces(table, metric, powers, scale, missing, used, weight)
        self.spaces = [self._stretched(space) for space in learned]
        self.unsure = np.zeros(len(table), dtype=bool)
        self._bent: Bent | None = None
        if learned[0].whitening is not None:
            numbers = [table.values(column.name) for column in table.schema.numeric]
            self._bent = bent_without(learned[0], np.stack(numbers), weight)
            self.unsure |= True if self._bent is None else self._bent.unsure

    def _stretched(self, space: Space) -> Space:
        """The space with attribute weights; all words that class shares tell apart have lines."""
        axes: list[Axis] = []
        weighty = masses(self._shared, space.p)
        for axis in space.axes:
            factor, mass = float(self._shared[axis.attribute]), float(weighty[axis.attribute])
            if axis.attribute not in self._words:
                axes.append(
                    replace(
                        axis,
                        stretch=axis.stretch * factor,
                        far=axis.far * factor,
                        mass=axis.mass * mass,
                    )
                )
            elif all(own.attribute != axis.attribute for own in axes):
                width = self._words[axis.attribute].width
                most = max(farthest(self._words[axis.attribute].classes, space.p), 1.0)
                axes.append(Axis(axis.attribute, "table", factor, factor * most, mass, 0.0, width))
        axes.sort(key=lambda axis: axis.kind != "number")
        total = sum(axis.mass for axis in axes)
        divisor = total if self.metric == "gower" and total > 0 else 1.0
        return replace(space, axes=tuple(axes), divisor=divisor, weights=self._shared)

    def chunks(self) -> list[Rows]:
        """Rows whose figures are held together, so that these stay small."""
        wide = sum(own.width + 2 for own in self._words.values())
        size = max(_MOST_CELLS // (wide + 8 * max(len(self._holes), 1)), 64)
        sure = np.flatnonzero(~self.unsure).astype(np.int64)
        return [sure[start : start + size] for start in range(0, len(sure), size)]

    def figures(self, space: Space, rows: Rows) -> Figures:
        """What the spaces without these rows have of their own, beside a space of `spaces`."""
        p, size = space.p, (len(rows), len(space.axes))
        stretch, far, mass, grow = np.zeros(size), np.zeros(size), np.zeros(size), np.ones(size)
        line = np.zeros(size, dtype=np.int32)
        lines: list[FloatArray | None] = []
        weighty = masses(self.factors[rows], p)
        for place, axis in enumerate(space.axes):
            factor = self.factors[rows, axis.attribute]
            stretch[:, place] = far[:, place] = factor
            mass[:, place] = weighty[:, axis.attribute]
            own: FloatArray | None = None
            if axis.attribute in self._words:
                unit = 1.0 if self.metric == "hvdm" else None
                own, line[:, place] = self._words[axis.attribute].lines(rows, p, unit)
                grow[:, place] = factor if space.steep else factor**p
            elif axis.attribute in self._scales:
                scale, away = self._scales[axis.attribute]
                stretch[:, place] = scale[rows] * factor
                far[:, place] = away[rows] * factor
            elif axis.kind == "number":  # whitened, or for cells that whitening misses
                shrink = 1.0 if self._bent is None else self._bent.shrink[rows]
                stretch[:, place] = axis.stretch * shrink
                far[:, place], mass[:, place] = axis.far, axis.mass
            lines.append(own)
        total = mass.sum(axis=1)
        gower = self.metric == "gower"
        divisor = np.where(total > 0, total, 1.0) if gower else np.ones(len(rows))
        ratio = self._ratio(space, stretch, far, mass, rows)
        bend, more = self._bends(space, rows)
        return Figures(
            rows, stretch, far, mass, grow, total, divisor, ratio, tuple(lines), line, bend, more
        )

    def _bends(self, space: Space, rows: Rows) -> tuple[FloatArray | None, FloatArray | None]:
        if self._bent is None:
            return None, None
        bend = np.zeros((len(rows), len(space.axes)))
        for place, axis in enumerate(space.axes):
            if axis.whitened is not None:
                bend[:, place] = self._bent.along[rows, axis.whitened]
        return bend, self._bent.more[rows] * self._bent.shrink[rows] ** 2

    def _ratio(
        self, space: Space, stretch: FloatArray, far: FloatArray, mass: FloatArray, rows: Rows
    ) -> FloatArray:
        """How much nearer than in the shared space rows can be, at worst."""
        ratio = np.full(len(rows), np.inf)
        for place, axis in enumerate(space.axes):
            if axis.stretch > 0:
                ratio = np.minimum(ratio, stretch[:, place] / axis.stretch)
            if axis.far > 0 and self._holes[axis.attribute] and axis.kind == "number":
                ratio = np.minimum(ratio, far[:, place] / axis.far)
        ratio = np.where(np.isfinite(ratio), ratio, 1.0) * (1.0 - 1e-12)
        own = np.array([axis.mass for axis in space.axes])
        if space.ignore and (any(self._holes) or not own.any()):
            # What is left out is made up for by masses, and these are each row's own.
            with np.errstate(divide="ignore", invalid="ignore"):
                least = np.where(own > 0, mass / own, np.inf).min(axis=1)
                most = np.where(mass > 0, mass / own, 0.0).max(axis=1)
                spread = np.nan_to_num(least / most, nan=0.0, posinf=0.0)
            ratio *= (spread > 0) if space.steep else spread ** (1.0 / space.p)
        return ratio


def _low(factors: FloatArray) -> FloatArray:
    """Attribute weights that nearly all rows have at least: what is small rules nobody out."""
    if factors.ndim == 1:
        return factors
    return np.quantile(factors, _BELOW, axis=0, method="lower")


def _holes(table: Table, place: int) -> bool:
    column = table.schema.attributes[place]
    if column.kind == "numeric":
        return bool(np.isnan(table.values(column.name)).any())
    return bool((table.codes(column.name) >= column.width).any())
