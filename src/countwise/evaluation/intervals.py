"""Confidence intervals of scores.

Folds of one table share training rows, so their scores are not independent and the usual standard
error is too small. Nadeau and Bengio (2003, *Inference for the generalization error*, Machine
Learning 52, eq. 9) take the variance of a mean over J folds as

    (1 / J + n_test / n_train) s²,

with s² the sample variance of the J scores, and Student's t with J - 1 degrees of freedom. It was
derived for repeated hold-outs; for cross-validation, whose tested rows are disjoint, it is the
usual and rather cautious choice (Bouckaert and Frank 2004). Where there is one fold only
(leave-one-out, a single hold-out), the rows themselves are the sample: Wilson's interval (1927) for
fractions, a t interval for means. The same is done where all folds have the same score: they say
nothing about how far a score may be off, and an interval of width zero is none. Those intervals
speak of these rows and one training set; they leave out that other training rows would have given
another model.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from countwise._typing import FloatArray
from countwise.params import Parameter, fraction

#: The parameter `level` of everything that has an interval.
LEVEL: dict[str, Parameter] = {"level": Parameter(fraction(), "confidence of intervals")}


@dataclass(frozen=True)
class Estimate:
    """A figure, its interval, and the values of the folds it comes from.

    Examples
    --------
    >>> print(Estimate(0.9, 0.86, 0.94, (0.88, 0.92), 0.95, "of 2 folds"))
    0.9 (0.86 to 0.94)
    """

    value: float
    low: float
    high: float
    values: tuple[float, ...]
    level: float
    method: str

    def __str__(self) -> str:
        if math.isnan(self.low):
            return f"{self.value:.4g}"
        return f"{self.value:.4g} ({self.low:.4g} to {self.high:.4g})"

    def within(self, least: float, most: float) -> Estimate:
        """Return the estimate with its interval cut off where the score itself ends."""
        low = self.low if math.isnan(self.low) else max(self.low, least)
        high = self.high if math.isnan(self.high) else min(self.high, most)
        return replace(self, low=low, high=high)

    def negated(self) -> Estimate:
        """Return the estimate of the same figure with the other sign."""
        values = tuple(-value for value in self.values)
        return replace(self, value=-self.value, low=-self.high, high=-self.low, values=values)

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers; None for what is not known."""

        def known(value: float) -> float | None:
            return None if math.isnan(value) else value

        figures = {name: known(getattr(self, name)) for name in ("value", "low", "high")}
        return vars(self) | figures | {"values": list(map(known, self.values))}


def corrected(values: Sequence[float], ratio: float, level: float = 0.95) -> Estimate:
    """Return the mean over folds (NaN left out) with Nadeau and Bengio's corrected t interval."""
    known = np.asarray([value for value in values if not math.isnan(value)], dtype=np.float64)
    method = f"corrected t over {len(known)} folds (Nadeau and Bengio 2003)"
    if len(known) < 2:
        only = float(known[0]) if len(known) else math.nan
        return Estimate(only, math.nan, math.nan, tuple(values), level, "one fold")
    mean = float(known.mean())
    spread = float(known.var(ddof=1)) * (1.0 / len(known) + ratio)
    half = quantile(level, len(known) - 1) * math.sqrt(spread)
    return around(mean, half, tuple(values), level, method)


def around(
    value: float, half: float, values: tuple[float, ...], level: float, method: str
) -> Estimate:
    """Return an estimate with an interval on both sides; without one where its width is zero."""
    if half > 1e-9 * max(abs(value), 1e-9):
        return Estimate(value, value - half, value + half, values, level, method)
    return Estimate(value, math.nan, math.nan, values, level, "all values are the same")


def wilson(share: float, size: float, level: float = 0.95) -> Estimate:
    """Return a fraction of so many independent rows with Wilson's interval."""
    if not size > 0 or math.isnan(share):
        return Estimate(share, math.nan, math.nan, (share,), level, "no rows")
    z = quantile(level, math.inf)
    scale = 1.0 + z * z / size
    middle = (share + z * z / (2 * size)) / scale
    half = z / scale * math.sqrt(share * (1 - share) / size + z * z / (4 * size * size))
    # Rounding must not push the fraction itself out of its interval.
    low, high = min(share, max(0.0, middle - half)), max(share, min(1.0, middle + half))
    return Estimate(share, low, high, (share,), level, f"Wilson over {size:g} rows")


def of_rows(rows: FloatArray, weight: FloatArray | None, level: float = 0.95) -> Estimate:
    """Return the mean of one figure a row with its t interval; weights are not repeats."""
    mean = float(np.average(rows, weights=weight))
    spread = float(np.average((rows - mean) ** 2, weights=weight))
    return _of_spread(mean, spread, effective(len(rows), weight), level)


def of_moments(mean: float, mean_square: float, size: float, level: float = 0.95) -> Estimate:
    """Return the mean of one figure a row with its t interval, from sums over the rows."""
    return _of_spread(mean, max(mean_square - mean * mean, 0.0), size, level)


def _of_spread(mean: float, spread: float, size: float, level: float) -> Estimate:
    if size <= 1:
        return Estimate(mean, math.nan, math.nan, (mean,), level, "one row")
    half = quantile(level, size - 1) * math.sqrt(spread / (size - 1))
    return around(mean, half, (mean,), level, f"t over {size:g} rows")


def effective(rows: int, weight: FloatArray | None) -> float:
    """Return how many equally weighted rows these are worth (Kish): (Σw)² / Σw²."""
    if weight is None:
        return float(rows)
    squares = float(weight @ weight)
    return float(weight.sum()) ** 2 / squares if squares > 0 else 0.0


def quantile(level: float, freedom: float) -> float:
    """Return the point a t variable stays within, on both sides, with this probability."""
    from scipy.special import stdtrit  # slow to import

    finite = min(freedom, 1e12)
    return float(stdtrit(finite, 0.5 + level / 2))
