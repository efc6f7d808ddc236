"""Weight, mean and squared deviation of a numeric column by class; they merge and subtract.

Of rows with whole weights the sums are kept to the last bit (`ExactSums`), so that mean and squared
deviation are the same in whatever order, parts or engine the rows were counted, and forgetting rows
leaves what the others alone would have given. Fractional weights are summed with rounding.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.errors import CountsError


def freedom(weight: FloatArray | float) -> FloatArray:
    """Return the divisor of a sample variance: weight - 1 from a weight of 2 on."""
    # Weights up to 1 are shares, not numbers of rows: they divide by themselves, and up to 2 by 1.
    return np.maximum(np.minimum(weight, 1.0), np.asarray(weight) - 1.0)


#: Bits of a word, and the exponents and words that sums of doubles can need.
_BITS = 32
_MOST_LOW, _MOST_WORDS = 1152, 160
#: What rounding may do to a difference, as a share of what it is made from.
_EPSILON = 4 * float(np.finfo(np.float64).eps)
#: Above this a sum of whole weights may be rounded.
MOST_EXACT = 2.0**53


@dataclass(frozen=True, eq=False)
class ExactSums:
    """Sums of the numbers of each class, and of their squares, to the last bit.

    ``words`` are two's complement, lowest first: the sum of a class is the whole number of its
    words in the first table times 2^low, that of the squares (second table) times 2^(2 low).

    Examples
    --------
    >>> sums = ExactSums.of(0, [3, 10], [5, 100])
    >>> (sums + sums).whole(0)
    ([6, 20], [10, 200])
    """

    low: int
    words: NDArray[np.uint32]

    @classmethod
    def of(cls, low: int, plain: list[int], squares: list[int]) -> ExactSums:
        """Pack sums that are multiples of 2^low and 2^(2 low) into as few words as they need."""
        spare = [_zeros(n) // _BITS for n in plain if n]
        spare += [_zeros(n) // (2 * _BITS) for n in squares if n]
        words = min(spare, default=0)
        low = low + words * _BITS if spare else 0
        numbers = [n >> (words * _BITS) for n in plain]
        numbers += [n >> (2 * words * _BITS) for n in squares]
        width = max(n.bit_length() for n in numbers) // _BITS + 1 if numbers else 1
        data = b"".join(n.to_bytes(4 * width, "little", signed=True) for n in numbers)
        packed = np.frombuffer(data, dtype="<u4").astype(np.uint32)
        return cls(low, packed.reshape(2, len(plain), width))

    def whole(self, low: int) -> tuple[list[int], list[int]]:
        """Return the sums as multiples of 2^low and 2^(2 low); `low` is at most that of these."""
        width = 4 * self.words.shape[2]
        data = self.words.astype("<u4").tobytes()
        numbers = [
            int.from_bytes(data[at : at + width], "little", signed=True)
            for at in range(0, len(data), width)
        ]
        slots, up = self.words.shape[1], self.low - low
        return [n << up for n in numbers[:slots]], [n << 2 * up for n in numbers[slots:]]

    def compact(self) -> ExactSums:
        """Return the same sums in as few words as they need."""
        return ExactSums.of(self.low, *self.whole(self.low))

    def _with(self, other: ExactSums, sign: int) -> ExactSums:
        low = min(self.low, other.low)
        ours, theirs = self.whole(low), other.whole(low)
        plain, squares = (
            [one + sign * two for one, two in zip(*pair, strict=True)]
            for pair in zip(ours, theirs, strict=True)
        )
        return ExactSums.of(low, plain, squares)

    def __add__(self, other: ExactSums) -> ExactSums:
        return self._with(other, 1)

    def __sub__(self, other: ExactSums) -> ExactSums:
        return self._with(other, -1)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ExactSums):
            return NotImplemented
        return self.low == other.low and np.array_equal(self.words, other.words)

    __hash__ = None  # type: ignore[assignment]

    def figures(self, weight: list[float]) -> tuple[list[float], list[float]]:
        """Return mean and squared deviation of each class, each rounded once."""
        below, above = max(-self.low, 0), max(self.low, 0)
        means, deviations = [], []
        for n, plain, square in zip(weight, *self.whole(self.low), strict=True):
            rows = int(n)
            if rows <= 0:
                means.append(0.0)
                deviations.append(0.0)
                continue
            means.append((plain << above) / (rows << below))
            try:
                away = (rows * square - plain * plain) << 2 * above
                deviations.append(away / (rows << 2 * below))
            except OverflowError:
                deviations.append(np.inf)
        return means, deviations

    def possible(self, weight: list[float]) -> bool:
        """Return whether so many numbers of each class can have these sums."""
        # Squares of n numbers are at least the square of their sum, divided by n.
        return all(
            rows >= 0 and square * int(rows) >= plain * plain and (rows > 0 or not square)
            for rows, plain, square in zip(weight, *self.whole(self.low), strict=True)
        )

    def check(self) -> None:
        """Refuse what no sums could be."""
        if self.words.ndim != 3 or self.words.shape[0] != 2 or self.words.size == 0:
            raise CountsError("ExactSums: there must be two sums for each class.")
        in_range = abs(self.low) <= _MOST_LOW and self.low % _BITS == 0
        if not in_range or not 1 <= self.words.shape[2] <= _MOST_WORDS:
            raise CountsError("ExactSums: sums must lie in the range of numbers.")
        if self != self.compact():
            raise CountsError("ExactSums: sums must take as few words as they need.")


def _zeros(number: int) -> int:
    """Return how many zero bits a number that is not zero ends in."""
    return (number & -number).bit_length() - 1


@dataclass(frozen=True, eq=False)
class Moments:
    """The moments of one numeric column for each class (and for rows without one, the last slot).

    With exact sums, merging is exact. Without them it follows Chan, Golub and LeVeque (1983), and
    is exact but for rounding, whatever the size of the mean against the spread.

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
    exact: ExactSums | None = field(default=None, kw_only=True)

    @classmethod
    def zero(cls, slots: int) -> Moments:
        """Return the moments of no rows."""
        zeros = [0] * slots
        return cls.summed(np.zeros(slots), np.zeros(slots), ExactSums.of(0, zeros, zeros))

    @classmethod
    def summed(cls, weight: FloatArray, missing: FloatArray, exact: ExactSums) -> Moments:
        """Return the moments of rows whose sums are known to the last bit."""
        mean, square = map(np.asarray, exact.figures(weight.tolist()))
        return cls(weight, mean, square, missing, exact=exact)

    def __add__(self, other: Moments) -> Moments:
        weight = self.weight + other.weight
        if self.exact is not None and other.exact is not None and weight.max() < MOST_EXACT:
            exact = self.exact + other.exact
            return Moments.summed(weight, self.missing + other.missing, exact)
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
        if self.exact is not None and other.exact is not None:
            return self._less(other, weight, self.exact - other.exact)
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
            raise _not_counted()
        # One row that is left has no spread; what rounding leaves of it would be taken for one.
        mean_size = np.abs(self.mean) + np.abs(other.mean)
        rounding = _EPSILON * (size + other.weight * np.abs(gap) * mean_size)
        square = np.where(left & (rest > rounding), rest, 0.0)
        untouched = other.weight == 0
        return Moments(
            weight,
            np.where(untouched, self.mean, mean),
            np.where(untouched, self.square, square),
            np.maximum(self.missing - other.missing, 0.0),
        )

    def _less(self, other: Moments, weight: FloatArray, exact: ExactSums) -> Moments:
        """Return what exact sums leave, unless no rows could leave that."""
        missing = self.missing - other.missing
        if np.any(missing < 0) or not exact.possible(weight.tolist()):
            raise _not_counted()
        return Moments.summed(weight, missing, exact)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Moments):
            return NotImplemented
        same = all(map(np.array_equal, self.arrays(), other.arrays()))
        return same and (self.exact is None or other.exact is None or self.exact == other.exact)

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
        arrays = [np.zeros(size) for _ in self.arrays()]
        for wide, array in zip(arrays, self.arrays(), strict=True):
            wide[order] = array
        if self.exact is None:
            return Moments(*arrays)
        words = np.zeros((2, size, self.exact.words.shape[2]), dtype=np.uint32)
        words[:, order] = self.exact.words
        return Moments(*arrays, exact=ExactSums(self.exact.low, words).compact())

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
            # Exact sums of nothing would only be thrown away.
            merged = Moments(*np.zeros((4, self.weight.shape[1])))
            for slot in zip(*(figures[:-1] for figures in self.arrays()), strict=True):
                merged += Moments(*slot)
            return merged.weight, merged.mean, merged.square
        if self.exact is not None:
            total = float(self.weight[:-1].sum())
            parts = [[sum(sums[:-1])] for sums in self.exact.whole(self.exact.low)]
            figures = ExactSums.of(self.exact.low, *parts).figures([total])
            return total, figures[0][0], figures[1][0]
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
        if self.exact is not None:
            self._check_exact(self.exact)

    def _check_exact(self, exact: ExactSums) -> None:
        if exact.words.shape[1] != len(self.weight):
            raise CountsError("Moments: there must be exact sums for each class.")
        if np.any(self.weight != np.floor(self.weight)) or self.weight.max() >= MOST_EXACT:
            raise CountsError("Moments: exact sums must be those of whole weights.")
        if not exact.possible(self.weight.tolist()):
            raise CountsError("Moments: exact sums must be those of so many numbers.")
        if self != Moments.summed(self.weight, self.missing, exact):
            raise CountsError("Moments: means and deviations must be those of the exact sums.")


def _not_counted() -> CountsError:
    return CountsError(
        "Counts: rows can be taken away only once and only if they were counted; got moments "
        "that do not hold them.",
        hint="Check which rows are forgotten",
    )


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
