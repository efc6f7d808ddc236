"""The spaces of all rows, each learned without its row, as figures beside one shared space.

Leaving one row out changes little: the scales of numbers by a subtraction, the class shares of the
row's own words and no others, the covariance by one outer product. So rows need not be moved for
each of them. They stand in the shared space of all rows, and a pair is compared by the figures of
the row that asks; how much nearer that can make anybody is known, so the search can rule out rows
in the shared space.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from countwise.counts.embedding import Axis, Space
from countwise.counts.left_out_numbers import (
    Bent,
    bent_without,
    ends_without,
    variance_without,
)
from countwise.counts.left_out_words import Words
from countwise.counts.metrics import farthest, learn_spaces, masses, number_figures
from countwise.tables.table import Table

Doubles = NDArray[np.float64]
Rows = NDArray[np.int64]

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
    stretch: Doubles
    far: Doubles
    mass: Doubles
    grow: Doubles
    total: Doubles
    divisor: Doubles
    ratio: Doubles
    lines: tuple[Doubles | None, ...]
    line: NDArray[np.int32]
    bend: Doubles | None = None
    more: Doubles | None = None

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
        weight: Doubles | None,
        factors: Doubles,
    ) -> None:
        self.metric = metric
        self.factors = np.broadcast_to(factors, (len(table), factors.shape[-1]))
        self._shared = _low(factors)
        self._holes = [_holes(table, place) for place in range(factors.shape[-1])]
        self._scales: dict[int, tuple[Doubles, Doubles]] = {}
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
        lines: list[Doubles | None] = []
        weighty = masses(self.factors[rows], p)
        for place, axis in enumerate(space.axes):
            factor = self.factors[rows, axis.attribute]
            stretch[:, place] = far[:, place] = factor
            mass[:, place] = weighty[:, axis.attribute]
            own: Doubles | None = None
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

    def _bends(self, space: Space, rows: Rows) -> tuple[Doubles | None, Doubles | None]:
        if self._bent is None:
            return None, None
        bend = np.zeros((len(rows), len(space.axes)))
        for place, axis in enumerate(space.axes):
            if axis.whitened is not None:
                bend[:, place] = self._bent.along[rows, axis.whitened]
        return bend, self._bent.more[rows] * self._bent.shrink[rows] ** 2

    def _ratio(
        self, space: Space, stretch: Doubles, far: Doubles, mass: Doubles, rows: Rows
    ) -> Doubles:
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


def _low(factors: Doubles) -> Doubles:
    """Attribute weights that nearly all rows have at least: what is small rules nobody out."""
    if factors.ndim == 1:
        return factors
    return np.quantile(factors, _BELOW, axis=0, method="lower")


def _holes(table: Table, place: int) -> bool:
    column = table.schema.attributes[place]
    if column.kind == "numeric":
        return bool(np.isnan(table.values(column.name)).any())
    return bool((table.codes(column.name) >= column.width).any())
