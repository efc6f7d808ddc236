"""The reference engine: slow, simple NumPy code whose counts all other engines must return."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from countwise.counts.counts import Counts
from countwise.counts.histogram import Grid, keys_of
from countwise.counts.moments import ExactSums, Moments
from countwise.counts.plan import Plan
from countwise.counts.word_counts import WordCounts
from countwise.tables.table import Table
from countwise.tables.words import TextCodes, split_words


def fold(table: Table, plan: Plan, weight: NDArray[np.float64] | None = None) -> Counts:
    """Count the table as the plan says."""
    ones = np.ones(len(table)) if weight is None else weight
    zero = Counts.zero(table.schema, plan)
    classes = np.minimum(table.target.astype(np.intp), table.target_column.width)
    tables = {}
    for names in plan.tables:
        cells = np.zeros_like(zero.tables[names])
        axes = [np.minimum(table.codes(n).astype(np.intp), table.schema[n].width) for n in names]
        np.add.at(cells, (classes, *axes), ones)
        tables[names] = cells
    totals = np.zeros_like(zero.weight)
    np.add.at(totals, classes, ones)
    slots = len(totals)
    return Counts(
        table.schema,
        replace(plan, apart=None),
        len(table),
        totals,
        tables,
        {name: _moments(table.values(name), classes, ones, slots) for name in plan.moments},
        {name: _grid(table.values(name), classes, ones, slots) for name in plan.grids},
        {key: _words(table.texts(key[0]), key[1], classes, ones, slots) for key in plan.words},
    )


def _words(
    texts: TextCodes,
    size: int,
    classes: NDArray[np.intp],
    ones: NDArray[np.float64],
    slots: int,
) -> WordCounts:
    """Count words (or pairs of words) one row after the other."""
    seen, missing = np.zeros(slots), np.zeros(slots)
    rows: dict[tuple[str, int], float] = defaultdict(float)
    times: dict[tuple[str, int], float] = defaultdict(float)
    for text, slot, one in zip(texts.decode(), classes.tolist(), ones.tolist(), strict=True):
        (missing if text is None else seen)[slot] += one
        words = split_words(text or "")
        found = words if size == 1 else [" ".join(pair) for pair in pairwise(words)]
        for word in found if one > 0 else ():
            times[word, slot] += one
        for word in set(found) if one > 0 else ():
            rows[word, slot] += one
    vocabulary = tuple(sorted({word for word, _ in rows}))
    cells = sorted((slot * len(vocabulary) + vocabulary.index(w), w, slot) for w, slot in rows)
    return WordCounts(
        vocabulary,
        np.asarray([key for key, _, _ in cells], dtype=np.int64),
        np.asarray([rows[word, slot] for _, word, slot in cells], dtype=np.float64),
        np.asarray([times[word, slot] for _, word, slot in cells], dtype=np.float64),
        seen,
        missing,
    )


def _moments(
    values: NDArray[np.float64], classes: NDArray[np.intp], ones: NDArray[np.float64], slots: int
) -> Moments:
    weight, mean, square, missing = np.zeros((4, slots))
    seen = ~np.isnan(values) & (ones > 0)
    np.add.at(missing, classes[np.isnan(values)], ones[np.isnan(values)])
    np.add.at(weight, classes[seen], ones[seen])
    if np.array_equal(ones, np.floor(ones)):
        sums = [[Fraction(0)] * slots, [Fraction(0)] * slots]
        for slot, number, times in zip(classes[seen], values[seen], ones[seen], strict=True):
            for power, by_class in enumerate(sums, 1):
                by_class[slot] += int(times) * Fraction(float(number)) ** power
        # No double has a bit below 2^-1088.
        plain, squares = (
            [int(total * 2 ** (1088 * power)) for total in by_class]
            for power, by_class in enumerate(sums, 1)
        )
        return Moments.summed(weight, missing, ExactSums.of(-1088, plain, squares))
    for slot in np.flatnonzero(weight):
        rows = seen & (classes == slot)
        mean[slot] = np.average(values[rows], weights=ones[rows])
        square[slot] = (ones[rows] * (values[rows] - mean[slot]) ** 2).sum()
    return Moments(weight, mean, square, missing)


def _grid(
    values: NDArray[np.float64], classes: NDArray[np.intp], ones: NDArray[np.float64], slots: int
) -> Grid:
    blank = np.isnan(values)
    seen = ~blank & (ones > 0)
    missing = np.zeros(slots)
    np.add.at(missing, classes[blank], ones[blank])
    keys, place = np.unique(keys_of(values[seen]), return_inverse=True)
    table = np.zeros((slots, len(keys)))
    np.add.at(table, (classes[seen], place), ones[seen])
    return Grid(0, keys, table, missing).fitted()
