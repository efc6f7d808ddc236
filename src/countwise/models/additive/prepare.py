"""Before the fit: order and sample training rows, learn bins, and choose tables and penalties."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.counts.row_hash import row_keys, scattered, uniforms
from countwise.models.additive.basis import find_knots
from countwise.models.additive.bins import ColumnBins, class_counts, learn_bins
from countwise.models.additive.choose import Choice, Report, choose
from countwise.models.additive.fit import Rows, scores_of
from countwise.models.additive.space import Space
from countwise.models.additive.words import code_columns, learn_words
from countwise.tables.scan import Scan
from countwise.tables.table import Table
from countwise.tables.weights import whole_repeats

#: Beyond so many rows, penalties and pairs are chosen on a sample of as many.
SAMPLE_ROWS = 50_000
#: What a cell of sampled rows takes, with those that are drawn until there are better ones.
_SAMPLED_CELL_BYTES = 16
#: Large tables with so few table entries a pass are validated by five folds, like small ones.
_CHEAP_ENTRIES = 200_000


@dataclass(frozen=True, eq=False)
class Prepared:
    """What is known before the last fit: bins, possible tables, the choice, and its rows."""

    bins: Sequence[ColumnBins]
    space: Space
    choice: Choice
    rows: Rows


def prepare(
    table: Table,
    y: NDArray[np.int32],
    weight: FloatArray,
    classes: int,
    directions: Sequence[int],
    *,
    max_bins: int,
    pairs: int | str,
    total: int,
    report: Report,
) -> Prepared | None:
    """Choose on rows in their order, some or all of `total` ones; None if there is one class."""
    names = [column.name for column in table.schema.attributes if column.kind != "text"]
    bins = [learn_bins(table, name, y, weight, classes, max_bins) for name in names]
    for column in table.schema.text:
        bins += learn_words(table, column.name, weight, total)
    if classes == 1:
        return None
    directions = [*directions, *[0] * (len(bins) - len(names))]
    codes = code_columns(bins, table)
    even = weight / weight.mean()
    knots = [
        find_knots(column, class_counts(code.astype(np.intp), y, even, column.width + 2, classes))
        for column, code in zip(bins, codes, strict=True)
    ]
    space = Space.learn(bins, knots, directions, 2 * len(table) / classes)
    rows = deal_rows(codes, y, weight, classes)
    choice = choose(rows, space, pairs, report, sampled=needs_sample(total))
    return Prepared(bins, space, choice, rows)


def order_columns(table: Table, weight: FloatArray | None) -> Table:
    """Return the table with its columns in an order that follows from their content alone.

    Sums of many numbers depend on their order in the last digits, and a search that stops short of
    the optimum depends on them. So the same columns in another order must be added up in this one.
    """
    repeats = None if weight is None else whole_repeats(weight)
    marks: dict[str, int] = {}
    for column in table.schema.attributes:
        keys = row_keys(table, target=True, names=[column.name])
        if repeats is not None:
            keys = keys * repeats.astype(np.uint64)
        elif weight is not None:
            keys = (keys ^ weight.view(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        marks[column.name] = int(keys.sum(dtype=np.uint64))
    return table.in_order(sorted(marks, key=lambda name: marks[name]))


def order_rows(
    table: Table, weight: FloatArray | None, seed_: int
) -> tuple[NDArray[np.intp], FloatArray]:
    """Return the rows in an order that follows from their content and the seed, and weights.

    Whole weights become repeated rows. If all rows of a class are there a multiple of so many
    times, each so many copies become one row of that weight: with copies of one row in several
    folds, validation would reward learning by heart.
    """
    keys = row_keys(table, target=True)
    order = np.argsort(keys, kind="stable")
    if weight is not None and (repeats := whole_repeats(weight)) is not None:
        order, weight = np.repeat(order, repeats[order]), None
    if weight is not None:
        weights = weight[order]
    else:
        order, weights = _join_copies(order, keys, table.target)
    drawn = uniforms(scattered(keys[order]), seed_, 0)
    dealt = np.argsort(drawn, kind="stable")
    return order[dealt], weights[dealt]


def _join_copies(
    order: NDArray[np.intp], keys: NDArray[np.uint64], y: NDArray[Any]
) -> tuple[NDArray[np.intp], FloatArray]:
    """Return rows that are ordered by their keys, and weights; some stand for several copies."""
    ordered = keys[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    copies = np.diff(starts, append=len(order))
    classes = y[order[starts]]
    joined = np.ones(int(classes.max(initial=0)) + 1, dtype=np.intp)
    for label in np.unique(classes).tolist():
        of_class = copies[classes == label]
        if len(of_class) > 1:  # a class of one row is in the training rows of a fold or is not
            joined[label] = np.gcd.reduce(of_class)
    taken = np.arange(len(order)) - np.repeat(starts, copies)
    kept = order[taken % joined[y[order]] == 0]
    return kept, joined[y[kept]].astype(np.float64)


def needs_sample(rows: int) -> bool:
    """Return whether there are so many rows that a sample of them is enough to choose."""
    return rows > SAMPLE_ROWS


def expect_sample(scan: Scan, seed_: int) -> None:
    """Let the first scan draw rows that nearly always hold a sample of each class.

    They are twice as many as the sample has, unless that is too much for the memory of the scan.
    """
    rows = 2 * SAMPLE_ROWS
    if rows * len(scan.first_schema) * _SAMPLED_CELL_BYTES <= scan.memory:
        scan.expect_sample(rows, seed_)


def sample_sizes(counts: NDArray[np.int64]) -> NDArray[np.intp]:
    """Return how many rows of each class a sample has, given those of all rows."""
    share = SAMPLE_ROWS / max(int(counts.sum()), 1)
    wanted = np.minimum(np.ceil(counts * share), counts)
    return np.asarray(wanted, dtype=np.intp)


def first_rows(y: NDArray[np.int32], classes: int) -> NDArray[np.intp]:
    """Return the first rows of each class, as many as its share of the sample."""
    counts = np.bincount(y, minlength=classes)
    wanted = sample_sizes(counts)
    by_class = np.argsort(y, kind="stable")
    starts = np.cumsum(counts) - counts
    places = [by_class[a : a + many] for a, many in zip(starts, wanted, strict=True)]
    return np.sort(np.concatenate(places))


def deal_rows(
    codes: NDArray[np.uint16], y: NDArray[np.int32], weight: FloatArray, classes: int
) -> Rows:
    """Deal the rows of each class to folds in turn: ten, five, or one fifth against the rest.

    One fifth judges noisily, so it does so only where five folds would take long.
    """
    rows = len(y)
    number = 10 if rows < 500 and len(codes) * classes <= 1000 else 5
    by_class = np.argsort(y, kind="stable")
    fold = np.empty(rows, dtype=np.intp)
    fold[by_class] = np.arange(rows) % number
    order = np.argsort(fold, kind="stable")
    bounds = np.searchsorted(fold[order], np.arange(number + 1)).astype(np.int64)
    one = rows >= 5000 and rows * len(codes) * scores_of(classes) > _CHEAP_ENTRIES
    if one:
        bounds = np.asarray([0, bounds[1], rows], dtype=np.int64)
    return Rows(
        np.ascontiguousarray(codes[:, order]),
        y[order],
        weight[order],
        classes,
        bounds,
        1 if one else number,
    )
