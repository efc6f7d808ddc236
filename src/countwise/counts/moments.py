"""Weight, mean and squared deviation of a numeric column by class; they merge and subtract."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.errors import CountsError


def freedom(weight: FloatArray | float) -> FloatArray:
    """Return the divisor of a sample variance: weight - 1 from a weight of 2 on."""
    # Weights up to 1 are shares, not numbers of rows: they divide by themselves, and up to 2 by 1.
    return np.maximum(np.minimum(weight, 1.0), np.asarray(weight) - 1.0)


@dataclass(frozen=True, eq=False)
class Moments:
    """The moments of one numeric column for each class (and for rows without one, the last slot).

    Merging follows Chan, Golub and LeVeque (1983); it is exact but for rounding, whatever the
    size of the mean against the spread.

    Examples
    --------
    >>> left = Moments.zero(2)
    >>> left.weight.shape, (left + left).weight.sum()
    ((2,), np.float64(0.0))
    """

    weight: FloatArray
    mean: FloatArray
    square: FloatArray
    missing: FloatArray

    @classmethod
    def zero(cls, slots: int) -> Moments:
        """Return the moments of no rows."""
        return cls(np.zeros(slots), np.zeros(slots), np.zeros(slots), np.zeros(slots))

    def __add__(self, other: Moments) -> Moments:
        weight = self.weight + other.weight
        share = np.divide(other.weight, weight, out=np.zeros_like(weight), where=weight > 0)
        gap = other.mean - self.mean
        # Where one side is empty the other side's figures must come back to the last bit.
        mean = np.where(self.weight > 0, self.mean + gap * share, other.mean)
        square = self.square + other.square + gap * gap * self.weight * share
        square = np.where(self.weight > 0, square, other.square)
        square = np.where(other.weight > 0, square, self.square)
        mean = np.where(other.weight > 0, mean, self.mean)
        return Moments(weight, mean, square, self.missing + other.missing)

    def __sub__(self, other: Moments) -> Moments:
        weight = self.weight - other.weight
        left = weight > 1e-12 * self.weight
        weight = np.where(left, weight, 0.0)
        safe = np.where(left, weight, 1.0)
        mean = np.where(left, self.mean + (self.mean - other.mean) * (other.weight / safe), 0.0)
        gap = other.mean - mean
        spread = gap * gap * weight * other.weight / np.where(self.weight > 0, self.weight, 1.0)
        rest = self.square - other.square - spread
        size = self.square + other.square + spread
        if np.any(self.weight - other.weight < -1e-9 * np.maximum(self.weight, 1.0)) or np.any(
            left & (other.weight > 0) & (rest < -1e-6 * size)
        ):
            raise CountsError(
                "Counts: rows can be taken away only once and only if they were counted; got "
                "moments that do not hold them.",
                hint="Check which rows are forgotten",
            )
        square = np.where(left, np.maximum(rest, 0.0), 0.0)
        untouched = other.weight == 0
        return Moments(
            weight,
            np.where(untouched, self.mean, mean),
            np.where(untouched, self.square, square),
            np.maximum(self.missing - other.missing, 0.0),
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Moments):
            return NotImplemented
        return all(map(np.array_equal, self.arrays(), other.arrays()))

    __hash__ = None  # type: ignore[assignment]

    def close_to(self, other: Moments, tolerance: float = 1e-9) -> bool:
        """Return whether both describe the same rows, but for rounding."""
        # Rounding grows with the size of the values, so the tolerance is relative to that.
        size = np.maximum(np.abs(self.mean), np.abs(other.mean))
        total = np.maximum(self.weight, other.weight)
        spread = np.sqrt(np.maximum(self.square, other.square) / np.maximum(total, 1e-300))
        scale = size + spread
        return bool(
            np.allclose(self.weight, other.weight, rtol=tolerance, atol=tolerance)
            and np.allclose(self.missing, other.missing, rtol=tolerance, atol=tolerance)
            and np.all(np.abs(self.mean - other.mean) <= tolerance * (scale + 1e-300))
            and np.all(
                np.abs(self.square - other.square)
                <= tolerance * total * (spread * scale + tolerance * scale**2) + 1e-300
            )
        )

    def slots(self, order: NDArray[np.intp], size: int) -> Moments:
        """Put the class slots into a longer or reordered class axis."""
        new = Moments.zero(size)
        for wide, array in zip(new.arrays(), self.arrays(), strict=True):
            wide[order] = array
        return new

    def arrays(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Weight, mean, squared deviation and missing weight."""
        return self.weight, self.mean, self.square, self.missing

    def variance(self, sample: bool = True) -> FloatArray:
        """Return the variance by class, over `freedom` (`sample`) or weight; NaN if undefined."""
        divisor = freedom(self.weight) if sample else self.weight
        defined = divisor > 0
        return np.where(defined, self.square / np.where(defined, divisor, 1.0), np.nan)

    def pooled(self) -> tuple[Any, Any, Any]:
        """Return weight, mean and squared deviation of all labelled rows; further axes are kept."""
        if self.weight.ndim > 1:
            merged = Moments.zero(self.weight.shape[1])
            for slot in zip(*(figures[:-1] for figures in self.arrays()), strict=True):
                merged += Moments(*slot)
            return merged.weight, merged.mean, merged.square
        weight, mean, square = 0.0, 0.0, 0.0
        lines = zip(self.weight.tolist(), self.mean.tolist(), self.square.tolist(), strict=True)
        for n, m, s in list(lines)[:-1]:
            if n > 0:
                total = weight + n
                gap = m - mean
                square += s + gap * (gap * (weight * n / total)) if weight > 0 else s
                mean = mean + gap * (n / total) if weight > 0 else m
                weight = total
        return weight, mean, square

    def check(self) -> None:
        """Refuse what no pass over rows could have left behind."""
        if any(figures.shape != self.weight.shape[:1] for figures in self.arrays()):
            raise CountsError("Moments: there must be one figure of each kind for each class.")
        check_amounts("Moments", self.weight)
        check_amounts("Moments", self.missing, slack=True)
        if not np.isfinite(self.mean).all():
            raise CountsError("Moments: every mean must be a finite number.")
        # The squares of numbers beyond 1e154 are infinite; models take that for a flat density.
        if not np.all(self.square >= 0):
            raise CountsError("Moments: every squared deviation must be a number of at least 0.")


#: No weight is larger than this; sums and products of weights then stay finite.
MAX_WEIGHT = 1e150
#: By how much of all weight rounding may let a sum exceed what it is a part of.
SLACK = 1e-6


def check_amounts(who: str, amounts: NDArray[Any], slack: bool = False) -> None:
    """Refuse what is no weight of rows: not finite, too large, or below zero beyond rounding."""
    # One pass each without a mask of the array's size: NaN and infinity show in the extremes.
    low, high = float(amounts.min(initial=0.0)), float(amounts.max(initial=0.0))
    if not low > -np.inf or not high <= MAX_WEIGHT:
        raise CountsError(f"{who}: counts must be finite numbers; got {low:g} to {high:g}.")
    if low < -(SLACK * max(1.0, high) if slack else 0.0):
        raise CountsError(f"{who}: counts must not be below zero; got {low:g}.")
