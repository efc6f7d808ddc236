"""Metrics: spaces learned from ranges, deviations and class probabilities of training rows."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.counts.count_rows import count
from countwise.counts.engines import _numbers
from countwise.counts.moments import freedom
from countwise.counts.plan import Plan
from countwise.models.neighbors.space import STEEP, Axis, Space, add_gap, from_sums
from countwise.notes import Note
from countwise.tables.schema import Column, Schema
from countwise.tables.table import Table

#: A column whose numbers are no farther apart does not vary.
_NARROWEST = 1e-300
#: The metrics, and their exponents; None is one to choose.
_EXPONENTS = {
    "euclidean": 2.0,
    "manhattan": 1.0,
    "maximum": math.inf,
    "minkowski": None,
    "mahalanobis": 2.0,
    "overlap": 1.0,
    "vdm": None,
    "hvdm": 2.0,
    "heom": 2.0,
    "gower": 1.0,
}
METRICS = tuple(_EXPONENTS)
#: The exponents of the metrics that fix theirs.
POWERS = {name: power for name, power in _EXPONENTS.items() if power is not None}
SCALES = ("range", "z")
#: The largest table of distances between levels; columns of more levels get an axis a class.
_MOST_CELLS = 1 << 20
#: The weight of the diagonal in a singular covariance.
_SHRINK = 0.01
_SINGULAR = 1e-10


def learn_space(
    table: Table,
    metric: str = "euclidean",
    p: float = 2.0,
    scale: str | None = "range",
    missing: str | None = None,
    weights: FloatArray | None = None,
    sample_weight: FloatArray | None = None,
) -> Space:
    """Learn the space of a metric from training rows."""
    return learn_spaces(table, metric, (p,), scale, missing, weights, sample_weight)[0]


def learn_spaces(
    table: Table,
    metric: str,
    powers: Sequence[float],
    scale: str | None = "range",
    missing: str | None = None,
    weights: FloatArray | None = None,
    sample_weight: FloatArray | None = None,
) -> list[Space]:
    """Learn one space for each exponent; what all share is learned once."""
    learner = _Learner(table, metric, scale, sample_weight)
    stretch = np.ones(len(table.schema.attributes))
    if weights is not None:
        stretch = np.asarray(weights, dtype=float)
    ignore = missing == "ignore" or (missing is None and metric == "gower")
    return [learner.space(POWERS.get(metric, float(p)), stretch, ignore) for p in powers]


class _Learner:
    """Ranges, spreads, class probabilities and covariance of the rows of positive weight."""

    def __init__(
        self,
        table: Table,
        metric: str,
        scale: str | None,
        sample_weight: FloatArray | None,
    ) -> None:
        if sample_weight is not None and not np.all(sample_weight > 0):
            heavy = np.flatnonzero(sample_weight > 0)
            table, sample_weight = table.take(heavy), sample_weight[heavy]
        self.table, self.metric, self.scale = table, metric, scale
        self.sample_weight = sample_weight
        self.p, self.mass = 2.0, np.zeros(0)
        self.notes: list[Note] = []
        self.ends = {c.name: ends(table.values(c.name)) for c in table.schema.numeric}
        self.spreads: dict[str, tuple[float, float]] = {}
        if scale == "z" or metric in ("hvdm", "mahalanobis"):
            self.spreads = {
                c.name: mean_and_variance(table.values(c.name), sample_weight)
                for c in table.schema.numeric
            }
        self.probabilities: dict[str, FloatArray] = {}
        if metric in ("vdm", "hvdm"):
            self.probabilities = class_probabilities(table, sample_weight)

    def space(self, p: float, stretch: FloatArray, ignore: bool) -> Space:
        """Return the space of one exponent."""
        self.p, self.mass = p, masses(stretch, p)
        attributes = self.table.schema.attributes
        axes: list[Axis] = []
        for place, column in enumerate(attributes):
            if stretch[place] > 0:
                axes += self.axes(place, column, float(stretch[place]))
        whitening = middle = None
        if self.metric == "mahalanobis" and self.spreads:
            kinds = [column.kind == "numeric" for column in attributes]
            whitening, middle = self.whiten(stretch[kinds] > 0)
        # Numbers go first: they are compared fastest, and often suffice to rule a row out.
        axes.sort(key=lambda axis: axis.kind != "number")
        total = sum(axis.mass for axis in axes)
        divisor = total if self.metric == "gower" and total > 0 else 1.0
        notes = tuple(self.notes)
        return Space(attributes, tuple(axes), p, ignore, divisor, stretch, whitening, middle, notes)

    def axes(self, place: int, column: Column, stretch: float) -> list[Axis]:
        """Return the axes of one attribute."""
        if column.kind == "nominal":
            return self._levels(place, column, stretch)
        if self.metric == "overlap":
            return self._equal_numbers(place, column, stretch)
        return self._numbers(place, column, stretch)

    def _numbers(self, place: int, column: Column, stretch: float) -> list[Axis]:
        low, high = self.ends[column.name]
        spread = high - low
        deviation = math.sqrt(self.spreads.get(column.name, (0.0, 0.0))[1])
        center = low + spread / 2
        mass = float(self.mass[place])
        if self.metric == "mahalanobis":
            number = [c.name for c in self.table.schema.numeric].index(column.name)
            far = spread / deviation if deviation > 0 else 0.0
            return [
                Axis(place, "number", mass=0.0, far=0.0, whitened=number),
                Axis(place, "number", 0.0, far, mass, center),
            ]
        factor, away = number_figures(self.metric, self.scale, stretch, spread, deviation)
        return [Axis(place, "number", float(factor), float(away), mass, center)]

    def _equal_numbers(self, place: int, column: Column, stretch: float) -> list[Axis]:
        """Return the axis of numbers that are equal or not, however large the gap."""
        values = self.table.values(column.name)
        known = np.unique(values[~np.isnan(values)])
        mass = float(self.mass[place])
        return [Axis(place, "differs", stretch, stretch, mass, 0.0, len(known), known)]

    def _levels(self, place: int, column: Column, stretch: float) -> list[Axis]:
        mass, width = float(self.mass[place]), column.width
        if column.name not in self.probabilities:
            return [Axis(place, "differs", stretch, stretch, mass, 0.0, width)]
        classes = self.probabilities[column.name].shape[1]
        # A level without rows has probabilities of zero, as in Wilson & Martinez.
        probabilities = np.zeros((width + 2, classes))
        probabilities[:width] = self.probabilities[column.name]
        far = stretch if self.metric == "hvdm" else stretch * farthest(classes, self.p)
        if len(probabilities) ** 2 <= _MOST_CELLS:
            figures = stretch * _distances(probabilities, self.p)
            figures[width] = figures[:, width] = far
            return [Axis(place, "table", stretch, far, mass, 0.0, width, figures)]
        # Too many levels for a table: each class becomes an axis, and a missing cell is far in all.
        part = far if math.isinf(self.p) else far / classes ** (1 / self.p)
        probabilities[width] = np.nan
        return [
            Axis(place, "number", stretch, part, mass / classes, 0.5, 0, of_class.copy())
            for of_class in probabilities.T
        ]

    def whiten(self, used: NDArray[np.bool_]) -> tuple[FloatArray, FloatArray]:
        """Return the inverse Cholesky factor of the covariance, and the means."""
        # Missing numbers are taken as the mean; columns constant or not used get a factor of zero.
        names = [column.name for column in self.table.schema.numeric]
        weight = self.sample_weight
        middle = np.array([self.spreads[name][0] for name in names])
        gaps = np.stack([self.table.values(n) - m for n, m in zip(names, middle, strict=True)])
        gaps[np.isnan(gaps)] = 0.0
        gaps[~used] = 0.0
        row_weight = np.ones(gaps.shape[1]) if weight is None else weight
        covariance = (gaps * row_weight) @ gaps.T / freedom(float(row_weight.sum()))
        deviation = np.sqrt(np.diag(covariance))
        varies = deviation > 0
        safe = np.where(varies, deviation, 1.0)
        correlation = covariance / safe[:, None] / safe
        correlation[~varies] = correlation[:, ~varies] = 0.0
        correlation[~varies, ~varies] = 1.0
        if np.linalg.eigvalsh(correlation).min() < _SINGULAR:
            correlation = (1 - _SHRINK) * correlation + _SHRINK * np.eye(len(names))
            self.notes.append(Note.of("N01", shrinkage=_SHRINK))
        inverse = np.linalg.inv(np.linalg.cholesky(correlation))
        return np.asarray(inverse * np.where(varies, 1.0 / safe, 0.0)), middle


def class_probabilities(
    table: Table, sample_weight: FloatArray | None = None
) -> dict[str, FloatArray]:
    """Return P(class | level) of every level (rows) and class (columns); 0 for unused levels."""
    schema = Schema((*table.schema.nominal, table.target_column))
    names = tuple((column.name,) for column in schema.nominal)
    counts = count(table, Plan(names, (), ()), sample_weight=sample_weight)
    return {
        column.name: to_fractions(counts.table(column.name)[:-1, : column.width].T)
        for column in schema.nominal
    }


def to_fractions(cells: FloatArray) -> FloatArray:
    """Divide each line by its sum; a line of zeros stays."""
    total = cells.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(cells, total, out=np.zeros_like(cells), where=total > 0))


def masses(stretch: FloatArray, p: float) -> FloatArray:
    """Return the weights of attributes (the last axis) relative to each other."""
    if math.isinf(p):
        return stretch
    if p <= STEEP:
        return np.asarray(stretch**p)
    # Only their ratios matter; one too small for a double beside the largest still is not zero.
    top = stretch.max(axis=-1, keepdims=True, initial=0.0)
    fraction = np.divide(stretch, top, out=np.zeros_like(stretch), where=top > 0) ** p
    return np.where(stretch > 0, np.maximum(fraction, 1e-300), 0.0)


def number_figures(
    metric: str,
    scale: str | None,
    stretch: FloatArray | float,
    spread: FloatArray | float,
    deviation: FloatArray | float,
) -> tuple[FloatArray, FloatArray]:
    """Return the factor of a number's gaps, and how far a missing number is."""
    wide = np.asarray(spread, dtype=np.float64)
    units = {"range": wide, "z": np.asarray(deviation), None: np.ones_like(wide)}
    fixed = {"hvdm": 4 * np.asarray(deviation), "heom": wide, "gower": wide}
    unit = fixed[metric] if metric in fixed else units[scale]
    far = np.zeros_like(wide) + stretch
    if metric not in fixed:
        far = np.divide(far * wide, unit, out=np.zeros_like(wide), where=unit > 0)
    # A column so narrow that nothing divides by it does not vary.
    room = np.zeros_like(wide)
    return np.divide(stretch, unit, out=room, where=unit > _NARROWEST), far


def _distances(probabilities: FloatArray, p: float) -> FloatArray:
    """Return the distances between levels by their class probabilities."""
    sums = np.zeros((len(probabilities), len(probabilities)))
    for of_class in probabilities.T:
        sums = add_gap(sums, np.abs(of_class[:, None] - of_class), p)
    return from_sums(sums, p)


def farthest(classes: int, p: float) -> float:
    """Return the largest distance of two levels: each holds rows of one class, not the same."""
    if classes < 2:
        return 0.0
    return 1.0 if math.isinf(p) else float(2 ** (1.0 / p))


def ends(values: FloatArray) -> tuple[float, float]:
    """Return the smallest and the largest known value; zeros where none is known."""
    return _numbers.ends(values)


def mean_and_variance(values: FloatArray, weight: FloatArray | None) -> tuple[float, float]:
    """Return the mean and the sample variance of the known values."""
    known = ~np.isnan(values)
    present = values[known]
    if len(present) and present.min() == present.max():  # rounding must not make them vary
        return float(present[0]), 0.0
    present_weight = 1.0 if weight is None else weight[known]
    total = float(len(present) if weight is None else np.sum(present_weight))
    if total <= 0:
        return 0.0, 0.0
    mean = float((present * (present_weight / total)).sum())
    square = float((present_weight * (present - mean) ** 2).sum())
    return mean, square / float(freedom(total))
