"""The metrics: spaces learned from the ranges, spreads and class shares of training rows alone.

Numbers differ by their gap, words by 0 or 1 (overlap) or by what their class shares differ
(VDM, Stanfill & Waltz 1986), and Mahalanobis' distance is Euclidean after whitening.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.counts.count_rows import count
from countwise.counts.engines import _numbers
from countwise.counts.plan import Plan
from countwise.errors import ParameterError, did_you_mean, listing
from countwise.models.neighbors.space import STEEP, Axis, Space, from_sums, with_gap
from countwise.notes import Note
from countwise.tables.schema import Column, Schema
from countwise.tables.table import Table

#: Columns whose numbers are no farther apart do not vary.
_NARROWEST = 1e-300
#: No axis is stretched, or shrunk, by more than this.
_STRETCHED = 1e6
#: How far apart rows are; see `learn_space`.
METRICS = (
    "euclidean",
    "manhattan",
    "maximum",
    "minkowski",
    "mahalanobis",
    "overlap",
    "vdm",
    "hvdm",
    "heom",
    "gower",
)
SCALES = ("range", "z")
#: The p of metrics that have one of their own.
POWERS = {
    "euclidean": 2.0,
    "manhattan": 1.0,
    "maximum": math.inf,
    "mahalanobis": 2.0,
    "overlap": 1.0,
    "hvdm": 2.0,
    "heom": 2.0,
    "gower": 1.0,
}
#: A table of distances between levels has at most so many cells; more levels get class axes.
_MOST_CELLS = 1 << 20
#: How far a singular covariance is drawn towards its diagonal.
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
    """Learn from training rows where they are compared."""
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
    """Learn one space for each exponent; what does not depend on exponents is learned once."""
    learner = _Learner(table, metric, scale, sample_weight)
    stretch = np.ones(len(table.schema.attributes))
    if weights is not None:
        stretch = np.asarray(weights, dtype=float)
    ignore = missing == "ignore" or (missing is None and metric == "gower")
    return [learner.space(POWERS.get(metric, float(p)), stretch, ignore) for p in powers]


class _Learner:
    """Ranges, spreads, class shares and covariance of the rows that weigh anything."""

    def __init__(
        self,
        table: Table,
        metric: str,
        scale: str | None,
        sample_weight: FloatArray | None,
    ) -> None:
        if sample_weight is not None and not np.all(sample_weight > 0):
            kept = np.flatnonzero(sample_weight > 0)
            table, sample_weight = table.take(kept), sample_weight[kept]
        self.table, self.metric, self.scale = table, metric, scale
        self.sample_weight = sample_weight
        self.p, self.mass = 2.0, np.zeros(0)
        self.notes: list[Note] = []
        self.ends = {c.name: ends(table.values(c.name)) for c in table.schema.numeric}
        self.spreads: dict[str, tuple[float, float]] = {}
        if scale == "z" or metric in ("hvdm", "mahalanobis"):
            self.spreads = {
                c.name: spread_of(table.values(c.name), sample_weight) for c in table.schema.numeric
            }
        self.shares: dict[str, FloatArray] = {}
        if metric in ("vdm", "hvdm"):
            self.shares = class_shares(table, sample_weight)

    def space(self, p: float, stretch: FloatArray, ignore: bool) -> Space:
        """The space of one exponent."""
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
        # Numbers go first: they are compared fastest, and enough of them spare the rest.
        axes.sort(key=lambda axis: axis.kind != "number")
        total = sum(axis.mass for axis in axes)
        divisor = total if self.metric == "gower" and total > 0 else 1.0
        notes = tuple(self.notes)
        return Space(attributes, tuple(axes), p, ignore, divisor, stretch, whitening, middle, notes)

    def axes(self, place: int, column: Column, stretch: float) -> list[Axis]:
        """The axes of one attribute."""
        if column.kind == "nominal":
            return self._words(place, column, stretch)
        if self.metric == "overlap":
            return self._equal_numbers(place, column, stretch)
        return self._numbers(place, column, stretch)

    def _numbers(self, place: int, column: Column, stretch: float) -> list[Axis]:
        low, high = self.ends[column.name]
        spread = high - low
        deviation = math.sqrt(self.spreads.get(column.name, (0.0, 0.0))[1])
        centre = low + spread / 2
        mass = float(self.mass[place])
        if self.metric == "mahalanobis":
            number = [c.name for c in self.table.schema.numeric].index(column.name)
            far = spread / deviation if deviation > 0 else 0.0
            return [
                Axis(place, "number", mass=0.0, far=0.0, whitened=number),
                Axis(place, "number", 0.0, far, mass, centre),
            ]
        factor, away = number_figures(self.metric, self.scale, stretch, spread, deviation)
        return [Axis(place, "number", float(factor), float(away), mass, centre)]

    def _equal_numbers(self, place: int, column: Column, stretch: float) -> list[Axis]:
        """Numbers as words: equal or not, however large the gap."""
        values = self.table.values(column.name)
        known = np.unique(values[~np.isnan(values)])
        mass = float(self.mass[place])
        return [Axis(place, "differs", stretch, stretch, mass, 0.0, len(known), known)]

    def _words(self, place: int, column: Column, stretch: float) -> list[Axis]:
        mass, width = float(self.mass[place]), column.width
        if column.name not in self.shares:
            return [Axis(place, "differs", stretch, stretch, mass, 0.0, width)]
        classes = self.shares[column.name].shape[1]
        # A level without rows has no shares at all, as Wilson & Martinez have it.
        shares = np.zeros((width + 2, classes))
        shares[:width] = self.shares[column.name]
        far = stretch if self.metric == "hvdm" else stretch * farthest(classes, self.p)
        if len(shares) ** 2 <= _MOST_CELLS:
            figures = stretch * _between(shares, self.p)
            figures[width] = figures[:, width] = far
            return [Axis(place, "table", stretch, far, mass, 0.0, width, figures)]
        # Too many levels for a table: their class shares become axes, a missing cell far in all.
        part = far if math.isinf(self.p) else far / classes ** (1 / self.p)
        shares[width] = np.nan
        return [
            Axis(place, "number", stretch, part, mass / classes, 0.5, 0, shares[:, own].copy())
            for own in range(classes)
        ]

    def whiten(self, wanted: NDArray[np.bool_]) -> tuple[FloatArray, FloatArray]:
        """Rows of the inverse Cholesky factor of the covariance, and the means.

        Missing numbers stand at the mean. A covariance that is singular is drawn towards its
        diagonal, and a column that does not vary, or is not wanted, says nothing.
        """
        names = [column.name for column in self.table.schema.numeric]
        weight = self.sample_weight
        middle = np.array([self.spreads[name][0] for name in names])
        gaps = np.stack([self.table.values(n) - m for n, m in zip(names, middle, strict=True)])
        gaps[np.isnan(gaps)] = 0.0
        gaps[~wanted] = 0.0
        own = np.ones(gaps.shape[1]) if weight is None else weight
        free = max(float(own.sum()) - 1.0, min(float(own.sum()), 1.0))
        covariance = (gaps * own) @ gaps.T / free
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


def class_shares(table: Table, sample_weight: FloatArray | None = None) -> dict[str, FloatArray]:
    """P(class | word) of every level (rows) and class (columns); 0 where a level has no rows."""
    schema = Schema((*table.schema.nominal, table.target_column))
    names = tuple((column.name,) for column in schema.nominal)
    counts = count(table, Plan(names, (), ()), sample_weight=sample_weight)
    made: dict[str, FloatArray] = {}
    for column in schema.nominal:
        cells = counts.table(column.name)[:-1, : column.width].T
        weight = cells.sum(axis=1, keepdims=True)
        made[column.name] = np.divide(cells, weight, out=np.zeros_like(cells), where=weight > 0)
    return made


def masses(stretch: FloatArray, p: float) -> FloatArray:
    """What attributes (the last axis) weigh against each other where some are left out."""
    if math.isinf(p):
        return stretch
    if p <= STEEP:
        return np.asarray(stretch**p)
    # Only their ratios matter; what no double can hold beside the largest still is not nothing.
    top = stretch.max(axis=-1, keepdims=True, initial=0.0)
    share = np.divide(stretch, top, out=np.zeros_like(stretch), where=top > 0) ** p
    return np.where(stretch > 0, np.maximum(share, 1e-300), 0.0)


def stretches(
    who: str, given: Mapping[str, float] | FloatArray | None, attributes: tuple[Column, ...]
) -> FloatArray | None:
    """Read attribute weights: one factor an attribute, by order or by name (others keep 1)."""
    if given is None:
        return None
    names = [column.name for column in attributes]
    if isinstance(given, Mapping):
        for name in given:
            if name not in names:
                raise ParameterError(
                    f"{who}: attribute_weights names {name!r}, which is no attribute."
                    f"{did_you_mean(name, names)} The attributes are {listing(names)}."
                )
        try:
            factors = np.array([float(given.get(name, 1.0)) for name in names])
        except (TypeError, ValueError):
            raise ParameterError(
                f"{who}: attribute_weights must be numbers by the names of attributes, but "
                f"{dict(given)!r} came."
            ) from None
    else:
        factors = np.asarray(given, dtype=np.float64)
    if factors.shape != (len(names),):
        raise ParameterError(
            f"{who}: attribute_weights must hold {len(names)} factors, one an attribute, but an "
            f"array with shape {factors.shape} came. The attributes are {listing(names)}."
        )
    if not np.all(np.isfinite(factors)) or np.any(factors < 0) or not np.any(factors > 0):
        raise ParameterError(
            f"{who}: attribute_weights must be finite, not negative and not all zero, but "
            f"{factors.tolist()} came."
        )
    if factors.max() > _STRETCHED or factors[factors > 0].min() < 1 / _STRETCHED:
        raise ParameterError(
            f"{who}: attribute_weights must be 0 or between {1 / _STRETCHED:g} and "
            f"{_STRETCHED:g}, but {factors.tolist()} came. Multiply them all by one number."
        )
    return factors


def number_figures(
    metric: str,
    scale: str | None,
    stretch: FloatArray | float,
    spread: FloatArray | float,
    deviation: FloatArray | float,
) -> tuple[FloatArray, FloatArray]:
    """By what gaps of a number are multiplied, and how far a missing one is, by what is learned.

    `spread` is the range of the column; spreads and deviations may be those of many columns.
    """
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


def _between(shares: FloatArray, p: float) -> FloatArray:
    """Distances between levels by their class shares."""
    sums = np.zeros((len(shares), len(shares)))
    for own in shares.T:
        gap = np.abs(own[:, None] - own)
        sums = with_gap(sums, gap, p)
    return from_sums(sums, p)


def farthest(classes: int, p: float) -> float:
    """The farthest two words can be: all of one in one class, all of the other in another."""
    if classes < 2:
        return 0.0
    return 1.0 if math.isinf(p) else float(2 ** (1.0 / p))


def ends(values: FloatArray) -> tuple[float, float]:
    """The smallest and the largest known value; noughts where none is known."""
    return _numbers.ends(values)


def spread_of(values: FloatArray, weight: FloatArray | None) -> tuple[float, float]:
    """Mean and sample variance of the known values."""
    known = ~np.isnan(values)
    own = values[known]
    if len(own) and own.min() == own.max():  # rounding must not make equal values vary
        return float(own[0]), 0.0
    given = 1.0 if weight is None else weight[known]
    total = float(len(own) if weight is None else np.sum(given))
    if total <= 0:
        return 0.0, 0.0
    mean = float((own * (given / total)).sum())
    square = float((given * (own - mean) ** 2).sum())
    return mean, square / max(total - 1.0, min(total, 1.0))
