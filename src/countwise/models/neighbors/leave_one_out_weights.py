"""How many bits each attribute tells about the class without each row in turn, from counts.

For words, leaving a row out takes its weight from one cell of a table of counts. For numbers it
also moves the borders of ten equally full intervals, which are read off running sums.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.counts.histogram import MOST_CELLS, keys_of
from countwise.discretize.cut_points import cut_borders
from countwise.tables.table import Table

Places = NDArray[np.intp]

#: Rows that are left out together.
_TOGETHER = 1 << 14
#: Its powers mix numbers so that lines that differ fall apart.
_ODD = np.int64(6364136223846793005)


def gains_without(table: Table, weight: FloatArray | None = None, bins: int = 10) -> FloatArray:
    """The information gain of each attribute (columns) without each row (rows)."""
    own = np.ones(len(table)) if weight is None else weight
    target, classes = table.target.astype(np.intp), len(table.classes)
    made = np.zeros((len(table), len(table.schema.attributes)))
    for place, column in enumerate(table.schema.attributes):
        if column.kind == "nominal":
            words = table.codes(column.name).astype(np.intp)
            made[:, place] = _words(words, target, own, column.width, classes)
        else:
            values = table.values(column.name)
            made[:, place] = _numbers(values, target, own, classes, bins)
    return made


def _words(
    words: Places, target: Places, weight: FloatArray, width: int, classes: int
) -> FloatArray:
    known = (words < width) & (target < classes)
    seen = np.zeros((classes, width))
    np.add.at(seen, (target[known], words[known]), weight[known])
    made = np.full(len(words), _bits(seen.T[None])[0])
    total = seen.sum()
    if not total:
        return made
    # In shares of all rows: the bits do not depend on the unit, and rounding stays small.
    seen, own = seen / total, weight[known] / total
    by_class, by_word = seen.sum(axis=1), seen.sum(axis=0)
    label, word = target[known], words[known]
    left = _less(1.0, own)
    sums = _log(left)
    for cells, at in ((by_class, label), (by_word, word)):
        sums -= _log(cells).sum() - _log(cells[at]) + _log(_less(cells[at], own))
    one = seen[label, word]
    sums += _log(seen).sum() - _log(one) + _log(_less(one, own))
    made[known] = np.divide(sums, left, out=np.zeros_like(sums), where=left > 0)
    return made


def _numbers(
    values: FloatArray, target: Places, weight: FloatArray, classes: int, bins: int
) -> FloatArray:
    """Bits of a number cut into equally full intervals, learned anew without each row."""
    known = np.flatnonzero(~np.isnan(values))
    keys = keys_of(values[known])
    # As many cells as a grid may hold, and one more: the row left out may be the only one in it.
    shift, finer = _shift(keys, MOST_CELLS), _shift(keys, MOST_CELLS + 1)
    label, own = target[known], weight[known]
    cut = _Cut(keys, shift, label, own, classes, bins)
    made = np.full(len(values), cut.whole())
    made[known] = cut.without()
    if finer < shift:
        _, at, size = np.unique(keys >> finer, return_inverse=True, return_counts=True)
        alone = np.flatnonzero(size[at] == 1)
        made[known[alone]] = _Cut(keys, finer, label, own, classes, bins).without()[alone]
    return made


def _shift(keys: NDArray[np.int64], most: int) -> int:
    """How many bits are dropped until there are at most so many cells."""
    order, shift = np.sort(keys), 0
    while len(keys) > most and 1 + np.count_nonzero(np.diff(order >> shift)) > most:
        shift += 1
    return shift


class _Cut:
    """The cells of a fine grid by class, and the ten intervals they make without some row."""

    def __init__(
        self, keys: NDArray[np.int64], shift: int, label: Places, weight: FloatArray, classes: int,
        bins: int,
    ) -> None:  # fmt: skip
        self.labelled = label < classes
        self.label, self.weight = label[self.labelled], weight[self.labelled]
        self.bins, self.rows = bins, len(label)
        cells, at = np.unique(keys[self.labelled] >> shift, return_inverse=True)
        self.at = at.astype(np.intp)
        seen = np.zeros((len(cells), classes))
        np.add.at(seen, (self.at, self.label), self.weight)
        self.size = seen.sum(axis=1)
        self.reached = np.cumsum(self.size)
        self.below = np.concatenate([np.zeros((1, classes)), np.cumsum(seen, axis=0)])
        self.last = cut_borders(cells, shift)

    def whole(self) -> float:
        """The bits of all rows: as if a row without weight were left out."""
        if len(self.size) < 2:
            return 0.0
        nothing = np.zeros(1, dtype=np.intp)
        return float(self._gain(nothing, nothing, np.zeros(1))[0])

    def without(self) -> FloatArray:
        """The bits without each row."""
        made = np.full(self.rows, self.whole())
        if len(self.size) < 2:
            return made
        parts = [
            self._gain(self.at[part], self.label[part], self.weight[part])
            for part in (
                slice(start, start + _TOGETHER) for start in range(0, len(self.at), _TOGETHER)
            )
        ]
        made[self.labelled] = np.concatenate(parts) if parts else made[:0]
        return made

    def _gain(self, at: Places, label: Places, weight: FloatArray) -> FloatArray:
        """The bits without rows in these cells, one at a time.

        Most rows leave the same intervals behind, but for one count: these are worked out once.
        """
        ends, gone = self._ends(at, weight)
        where = (at[:, None] > self.last[ends]).sum(axis=1)
        lines = np.column_stack([ends, where, label, gone, weight.view(np.int64)])
        first, same = _alike(lines)
        bits = self._bits(ends[first], where[first], label[first], weight[first])
        bits[len(self.size) - gone[first] < 2] = 0.0  # one value is one interval
        return bits[same]

    def _bits(self, ends: Places, where: Places, label: Places, weight: FloatArray) -> FloatArray:
        counts = np.zeros((len(ends), ends.shape[1] + 2, self.below.shape[1]))
        counts[:, 1:-1], counts[:, -1] = self.below[self.last[ends] + 1], self.below[-1]
        cells = np.diff(counts, axis=1)
        cells[np.arange(len(ends)), where, label] -= weight
        cells[cells <= 1e-12 * self.reached[-1]] = 0.0
        return _bits(cells)

    def _ends(self, at: Places, weight: FloatArray) -> tuple[Places, NDArray[np.bool_]]:
        """The last cell of each interval but the last, as `cut_points` finds them."""
        gone = _less(self.size[at], weight) <= 0
        many = len(self.size) - gone
        kinds, kind = np.unique(weight, return_inverse=True)
        wanted = (self.reached[-1] - kinds)[:, None] * np.arange(1, self.bins) / self.bins
        # Cells from the row's on hold its weight less; a cell that holds no other row is not there.
        early = np.searchsorted(self.reached, wanted)[kind]
        late = np.searchsorted(self.reached, wanted + kinds[:, None])[kind]
        wanted = wanted[kind]
        late = np.maximum(late, (at + gone)[:, None]) - gone[:, None]
        after = np.where(early < at[:, None], early, late)
        after = np.clip(after, 0, np.maximum(many - 2, 0)[:, None])
        before = np.maximum(after - 1, 0)
        gaps = [np.abs(self._reached(own, at, gone, weight) - wanted) for own in (before, after)]
        chosen = np.where(gaps[0] < gaps[1], before, after)
        chosen = chosen + (gone[:, None] & (chosen >= at[:, None]))
        return np.minimum(chosen, len(self.size) - 2), gone

    def _reached(
        self, cell: Places, at: Places, gone: NDArray[np.bool_], weight: FloatArray
    ) -> FloatArray:
        """The weight up to a cell, numbered without the one that is gone."""
        later = cell >= at[:, None]
        place = np.minimum(cell + (gone[:, None] & later), len(self.reached) - 1)
        return self.reached[place] - np.where(later, weight[:, None], 0.0)


def _alike(lines: NDArray[np.int64]) -> tuple[Places, Places]:
    """The first of all lines that are alike, and which of these each line is."""
    mixed = lines @ (_ODD ** np.arange(1, lines.shape[1] + 1, dtype=np.int64))
    _, first, same = np.unique(mixed, return_index=True, return_inverse=True)
    if np.array_equal(lines[first][same], lines):
        return first, same
    every = np.arange(len(lines))  # two that differ fell together, which hardly ever happens
    return every, every


def _less(cells: FloatArray | float, own: FloatArray) -> FloatArray:
    """What is left of cells; what rounding alone leaves is nothing."""
    left = cells - own
    return np.where(left > 1e-12 * np.asarray(cells), left, 0.0)


def _log(cells: FloatArray) -> FloatArray:
    """What counts are times their logarithm, and nought for nought."""
    return cells * np.log2(cells, out=np.zeros_like(cells), where=cells > 0)


def _bits(cells: FloatArray) -> FloatArray:
    """Information gains of a stack of tables of counts: stack × values × classes."""
    total = cells.sum(axis=(1, 2), keepdims=True)
    share = np.divide(cells, total, out=np.zeros_like(cells), where=total > 0)
    inside = _log(share).sum(axis=(1, 2))
    return np.asarray(
        inside - _log(share.sum(axis=1)).sum(axis=1) - _log(share.sum(axis=2)).sum(axis=1)
    )
