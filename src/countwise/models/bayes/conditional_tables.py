"""Conditional probability tables: an attribute given its parents and the class."""

from __future__ import annotations

import numpy as np

from countwise._typing import FloatArray
from countwise.counts.smoothing import Smoothing
from countwise.models.bayes.score_terms import ZERO

#: How many imagined rows Friedman's back-off spreads by the child's share in all rows.
BACK_OFF = 5.0


def prior_logs(weight: FloatArray) -> FloatArray:
    """Return logs of the class shares; a class never counted has the log of zero."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.maximum(np.log(weight / weight.sum()), ZERO))


def backed_off(counts: FloatArray, total: FloatArray, overall: FloatArray) -> FloatArray:
    """Return Friedman's estimate: shares among few rows are drawn to the share in all rows.

    Friedman, Geiger & Goldszmidt (1997) mix θ(x | pa) = α P(x | pa) + (1 - α) P(x) with
    α = N P(pa) / (N P(pa) + s) and s = 5, where pa are the parents, the class included, and P are
    shares among all N rows. With `counts` = N P(x, pa), `total` = N P(pa) and `overall` = P(x) that
    is (counts + s overall) / (total + s).
    """
    return np.asarray((counts + BACK_OFF * overall) / (total + BACK_OFF))


def _overall(counts: FloatArray) -> FloatArray:
    """Return shares of the child (second axis) in all rows, to be mixed with those of a family."""
    every = counts.sum(axis=(0, *range(2, counts.ndim)), keepdims=True)
    total = every.sum()
    return np.asarray(every / total if total > 0 else every)


def child_figures(table: FloatArray, rule: Smoothing | str) -> FloatArray:
    """Return log shares of a child by its code, its parents' codes and the class, ready to look up.

    `table` has the classes first, then the child, then its parents, each with a missing slot; the
    figures have the child first, a further slot for unseen levels on every axis, and the classes
    last. A missing or unseen child says nothing. Where a parent is missing or unseen the child's
    share among all its values is taken, which keeps to what is known.
    """
    figures = table[:, :-1]
    known = figures
    for axis in range(2, table.ndim):
        every = known.sum(axis=axis, keepdims=True)
        seen = np.take(known, range(known.shape[axis] - 1), axis=axis)
        known = np.concatenate([seen, every, every], axis=axis)
    if isinstance(rule, str):
        shares = backed_off(known, known.sum(axis=1, keepdims=True), _overall(figures))
    else:
        shares = rule.shares(known)
    with np.errstate(divide="ignore"):
        logs = np.maximum(np.log(shares), ZERO)
    # A family no class was ever seen with says nothing when nothing is added to the counts.
    logs[:, (logs <= ZERO).all(axis=0)] = 0.0
    blank = np.zeros((logs.shape[0], 2, *logs.shape[2:]))
    return np.ascontiguousarray(np.moveaxis(np.concatenate([logs, blank], axis=1), 0, -1))
