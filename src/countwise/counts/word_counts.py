"""Words of a text column by class: in how many rows each occurs, and how many times.

Only the cells that hold a count are kept, so that many classes and many words take little memory.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.counts.moments import SLACK, check_amounts
from countwise.errors import CountsError
from countwise.tables.words import TextCodes

Keys = NDArray[np.int64]
#: Up to so many cells a whole table is filled; beyond, the keys are sorted.
_DENSE = 1 << 22


@dataclass(frozen=True, eq=False)
class WordCounts:
    """Counts of the words of one text column; the last class slot holds rows without a class.

    Attributes
    ----------
    vocabulary
        The words, sorted; some may have no count.
    keys
        The cells that hold a count, rising: class slot × number of words + place of the word.
    rows, times
        By cell, the weight of the rows that hold the word, and that of its occurrences.
    weight, missing
        By class slot, the weight of the rows that have a text, and of those that have none.

    Examples
    --------
    >>> nothing = WordCounts.zero(2)
    >>> (nothing + nothing) == nothing, nothing.table("times").shape
    (True, (2, 0))
    """

    vocabulary: tuple[str, ...]
    keys: Keys
    rows: FloatArray
    times: FloatArray
    weight: FloatArray
    missing: FloatArray

    @classmethod
    def zero(cls, slots: int) -> WordCounts:
        """Return the counts of no rows."""
        return cls((), np.empty(0, np.int64), *(np.zeros(n) for n in (0, 0, slots, slots)))

    @classmethod
    def of(
        cls,
        texts: TextCodes,
        size: int,
        target: NDArray[np.unsignedinteger],
        weight: FloatArray | None,
        slots: int,
    ) -> WordCounts:
        """Count the words of rows, or their runs of `size` words, by class slot."""
        index = texts.texts.index(size)
        codes, slot = np.asarray(texts), target.astype(np.int64)
        ones = np.ones(len(codes)) if weight is None else weight
        starts, at = index.of_rows(codes)
        row = np.repeat(np.arange(len(codes)), np.diff(starts))
        keys = slot[row] * len(index.vocabulary) + index.words[at]
        amounts = (ones[row], ones[row] * index.times[at])
        known = codes >= 0
        seen, missing = (
            np.bincount(slot[some], ones[some], minlength=slots).astype(np.float64)
            for some in (known, ~known)
        )
        cells = slots * len(index.vocabulary)
        return cls(index.vocabulary, *_sum_by_key(keys, amounts, cells), seen, missing)

    def table(self, what: str) -> FloatArray:
        """Return ``rows`` or ``times`` as a whole table, class slots × words."""
        cells = np.zeros(len(self.weight) * len(self.vocabulary))
        cells[self.keys] = getattr(self, what)
        return cells.reshape(len(self.weight), len(self.vocabulary))

    def __add__(self, other: WordCounts) -> WordCounts:
        left, right = _aligned(self, other)
        keys = np.concatenate([left.keys, right.keys])
        amounts = tuple(
            np.concatenate(both) for both in ((left.rows, right.rows), (left.times, right.times))
        )
        cells = len(self.weight) * len(left.vocabulary)
        return WordCounts(
            left.vocabulary,
            *_sum_by_key(keys, amounts, cells),
            self.weight + other.weight,
            self.missing + other.missing,
        )

    def __sub__(self, other: WordCounts) -> WordCounts:
        left, right = _aligned(self, other)
        at = np.searchsorted(left.keys, right.keys)
        inside = at < len(left.keys)
        inside[inside] = left.keys[at[inside]] == right.keys[inside]
        if not inside.all():
            raise _not_counted()
        rows, times = left.rows.copy(), left.times.copy()
        rows[at] = _less(rows[at], right.rows)
        times[at] = _less(times[at], right.times)
        kept = (rows > 0) & (times > 0)
        return WordCounts(
            left.vocabulary,
            left.keys[kept],
            rows[kept],
            times[kept],
            _less(self.weight, other.weight),
            _less(self.missing, other.missing),
        )

    def __eq__(self, other: object) -> bool:
        """Equal counts of equal words, whatever words without a count either side knows."""
        if not isinstance(other, WordCounts):
            return NotImplemented
        left, right = _aligned(self, other)
        return all(map(np.array_equal, left._arrays(), right._arrays()))

    __hash__ = None  # type: ignore[assignment]

    def close_to(self, other: WordCounts, tolerance: float = 1e-9) -> bool:
        """Return whether both count the same rows, but for rounding."""
        left, right = _aligned(self, other)
        return np.array_equal(left.keys, right.keys) and all(
            np.allclose(one, two, rtol=tolerance, atol=tolerance)
            for one, two in zip(left._arrays(), right._arrays(), strict=True)
        )

    def _arrays(self) -> tuple[NDArray[np.generic], ...]:
        return self.keys, self.rows, self.times, self.weight, self.missing

    def slots(self, order: NDArray[np.intp], size: int) -> WordCounts:
        """Put the class slots into a longer or reordered class axis."""
        width = max(len(self.vocabulary), 1)
        keys = order[self.keys // width] * width + self.keys % width
        rising = np.argsort(keys, kind="stable")
        weight, missing = np.zeros(size), np.zeros(size)
        weight[order], missing[order] = self.weight, self.missing
        return WordCounts(
            self.vocabulary, keys[rising], self.rows[rising], self.times[rising], weight, missing
        )

    def compact(self) -> WordCounts:
        """Return the same counts without the words that have none."""
        width = max(len(self.vocabulary), 1)
        used = np.unique(self.keys % width)
        if len(used) == len(self.vocabulary):
            return self
        words = tuple(self.vocabulary[place] for place in used.tolist())
        keys = self.keys // width * len(words) + np.searchsorted(used, self.keys % width)
        return replace(self, vocabulary=words, keys=keys)

    def check(self) -> None:
        """Refuse what no pass over rows could have left behind."""
        if list(self.vocabulary) != sorted(set(self.vocabulary)):
            raise CountsError("WordCounts: the words must be sorted and differ.")
        cells = len(self.weight) * len(self.vocabulary)
        is_rising = self.keys.ndim == 1 and not np.any(np.diff(self.keys) <= 0)
        if not is_rising or (self.keys.size and not 0 <= self.keys[0] <= self.keys[-1] < cells):
            raise CountsError("WordCounts: the cells must be those of classes and words, in order.")
        if not self.rows.shape == self.times.shape == self.keys.shape:
            raise CountsError("WordCounts: every cell must have a number of rows and of times.")
        if self.weight.ndim != 1 or self.missing.shape != self.weight.shape:
            raise CountsError("WordCounts: every class must have a weight.")
        for amounts in (self.rows, self.times, self.weight, self.missing):
            check_amounts("WordCounts", amounts)
        if not (self.rows > 0).all():
            raise CountsError("WordCounts: a word must be in some row of each cell that has it.")
        most = self.weight[self.keys // max(len(self.vocabulary), 1)]
        slack = SLACK * max(1.0, float(self.weight.sum()))
        if np.any(self.rows > most + slack) or np.any(self.rows > self.times + slack):
            raise CountsError("WordCounts: a word must not be in more rows than there are.")


def _sum_by_key(
    keys: Keys, amounts: tuple[FloatArray, ...], cells: int
) -> tuple[Keys, FloatArray, FloatArray]:
    """Sum what belongs to each key; keys whose sum is nothing are left out."""
    if cells <= _DENSE:
        distinct, place, number = np.arange(cells), keys, cells
    else:
        distinct, place = np.unique(keys, return_inverse=True)
        number = len(distinct)
    rows, times = (
        np.bincount(place, some, minlength=number).astype(np.float64) for some in amounts
    )
    kept = np.flatnonzero(rows > 0)
    return distinct[kept].astype(np.int64), rows[kept], times[kept]


def _aligned(left: WordCounts, right: WordCounts) -> tuple[WordCounts, WordCounts]:
    """Return both sides on one vocabulary."""
    if left.vocabulary is right.vocabulary or left.vocabulary == right.vocabulary:
        return left, right
    left, right = left.compact(), right.compact()
    words = tuple(sorted({*left.vocabulary, *right.vocabulary}))
    place = {word: at for at, word in enumerate(words)}
    return _onto(left, words, place), _onto(right, words, place)


def _onto(counts: WordCounts, words: tuple[str, ...], place: dict[str, int]) -> WordCounts:
    width = max(len(counts.vocabulary), 1)
    at = np.asarray([place[word] for word in counts.vocabulary] or [0], dtype=np.int64)
    keys = counts.keys // width * len(words) + at[counts.keys % width]
    return replace(counts, vocabulary=words, keys=keys)


def _less(left: FloatArray, right: FloatArray) -> FloatArray:
    less = left - right
    if np.any(less < -1e-9 * np.maximum(left, 1.0)):
        raise _not_counted()
    # What rounding leaves of fractional weights is nothing.
    return np.where(less <= 1e-12 * left, 0.0, less)


def _not_counted() -> CountsError:
    return CountsError(
        "Counts: rows can be taken away only once and only if they were counted; got words that "
        "were not.",
        hint="Check which rows are forgotten",
    )
