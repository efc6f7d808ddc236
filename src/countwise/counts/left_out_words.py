"""Distances between words by their class shares, without each row in turn.

Leaving a row out changes the class shares of its own word and of no other. Who asks for the
distances from that row needs one line of the table of all words alone, and rows that hold the same
word, have the same class and weigh the same need the same one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from countwise.counts.embedding import from_sums, with_gap
from countwise.counts.metrics import farthest
from countwise.tables.schema import Column
from countwise.tables.table import Table

Doubles = NDArray[np.float64]
Rows = NDArray[np.int64]

#: A row that leaves less than this of a word's weight behind is left out by summing up the others.
_LEAST_LEFT = 1e-3


class Words:
    """The words of a column by class, and what leaving out a row does to their distances."""

    def __init__(self, table: Table, column: Column, weight: Doubles | None) -> None:
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

    def lines(self, rows: Rows, p: float, far: float | None) -> tuple[Doubles, NDArray[np.int32]]:
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

    def _between(self, rows: Rows, p: float) -> Doubles:
        """The distances of the words of these rows, each without its row, to all others."""
        own = self._without(rows)
        sums = np.zeros((len(rows), self.width + 2))
        for slot in range(self.classes):
            gap = np.abs(own[:, slot, None] - self._shares[:, slot])
            sums = with_gap(sums, gap, p)
        # The same word is without the row as well.
        sums[np.arange(len(rows)), self._word[rows]] = 0.0
        return from_sums(sums, p)

    def _without(self, rows: Rows) -> Doubles:
        """The class shares of the words of these rows, each without its row."""
        word, label, weight = self._word[rows], self._label[rows], self._weight[rows]
        cells = self._cells[word]
        before = cells.sum(axis=1)
        there = np.flatnonzero((word < self.width) & (label < self.classes))
        left = cells[there, label[there]] - weight[there]
        cells[there, label[there]] = np.where(left > 1e-12 * before[there], left, 0.0)
        after = cells.sum(axis=1)
        for place in np.flatnonzero((after < _LEAST_LEFT * before) & (self._held[word] > 1)):
            others = (self._word == word[place]) & (self._label < self.classes)
            others[rows[place]] = False
            cells[place] = np.bincount(
                self._label[others], self._weight[others], minlength=self.classes
            )
        return _shares(cells)


def _shares(cells: Doubles) -> Doubles:
    weight = cells.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(cells, weight, out=np.zeros_like(cells), where=weight > 0))
