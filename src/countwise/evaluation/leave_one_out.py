"""Leave-one-out: each row is answered by the model of all other rows, from total minus row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.counts.count import count
from countwise.counts.counts import Counts
from countwise.evaluation.outcomes import Said
from countwise.evaluation.passes import said_by
from countwise.posteriors.bayes_leave_one_out import (
    naive_bayes_without_each_row,
    terms_are_separate,
)
from countwise.posteriors.naive_bayes import NaiveBayes
from countwise.tables.table import Table

Doubles = NDArray[np.float64]


def without_each_row(model: Any, table: Table, weight: Doubles | None = None) -> Said:
    """Return the posteriors of every row by the model of all other rows."""
    started = perf_counter()
    counts = count(table, model.plan(table.schema), weight=weight)
    rows: Sequence[int] = range(len(table))
    shape = (len(table), len(table.classes))
    posteriors, shares = np.zeros(shape), np.zeros(shape)
    weighty = weight is None or bool((weight > 0).all())
    if type(model) is NaiveBayes and weighty and terms_are_separate(model, table.schema):
        posteriors, shares, still_open = naive_bayes_without_each_row(model, table, counts, weight)
        rows = still_open.tolist()
    posteriors[rows], shares[rows] = _row_by_row(model, table, counts, weight, rows)
    return Said(posteriors, shares, perf_counter() - started, 0.0)


def majority(table: Table, weight: Doubles | None) -> Said:
    """The class shares of all other rows, for every row."""
    given = np.ones(len(table)) if weight is None else weight
    counts = np.bincount(table.target, given, minlength=len(table.classes))
    lines: Doubles = np.tile(counts.astype(np.float64), (len(table), 1))
    lines[np.arange(len(table)), table.target] -= given
    lines /= lines.sum(axis=1, keepdims=True)
    return Said(lines, lines, 0.0, 0.0)


def together(answers: Sequence[Said]) -> Said:
    """Put the answers for single rows below each other."""
    decided = [own.decided for own in answers if own.decided is not None]
    return Said(
        np.concatenate([own.posteriors for own in answers]),
        np.stack([own.training for own in answers]),
        sum(own.fit_seconds for own in answers),
        sum(own.predict_seconds for own in answers),
        np.concatenate(decided) if decided else None,
        answers[0].certain,
    )


def _row_by_row(
    model: Any, table: Table, counts: Counts, weight: Doubles | None, rows: Iterable[int]
) -> tuple[Doubles, Doubles]:
    said = []
    for row in rows:
        one = table.take(slice(row, row + 1))
        own = None if weight is None else weight[row : row + 1]
        said.append(said_by(model, counts - count(one, counts.plan, weight=own), one, 0.0))
    none = np.zeros((0, len(table.classes)))
    posteriors = np.concatenate([none, *(own.posteriors for own in said)])
    return posteriors, np.concatenate([none, *(own.training[None, :] for own in said)])
