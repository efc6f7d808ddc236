"""Idea: choose the penalty of columns by approximate leave-one-out instead of folds.

One fit to all rows gives every row's score without itself to first order (Rad & Maleki 2020).
Two classes, columns only, one penalty for all kinds of parameters.
Run: COUNTWISE_DATA=folder python -m benchmarks.accuracy_ideas.leave_one_out
"""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np

import countwise as cw
from benchmarks.accuracy_ideas.compare import QUICK, compare
from countwise.models.additive import choose
from countwise.models.additive.basis import KINDS
from countwise.models.additive.dual import DualFits
from countwise.models.additive.folds import Validated


def leave_one_out_loss(fits: DualFits, penalty: float) -> float:
    """Return the mean loss of rows that are scored nearly as if they had not been there."""
    rows = fits.rows
    # One score for two classes has half the penalty of two scores.
    penalties = np.full(KINDS, penalty / 2)
    tables, biases = fits.fit_all(
        rows.part(None), (), Validated(0.0, penalties, np.empty(0), ()), 1.0
    )
    starts = np.cumsum([0, *(len(column.counts) for column in fits.space.bins)])
    cells = rows.codes.astype(np.intp) + starts[:-1, None]
    score = tables[cells, 0].sum(axis=0) + biases[0]
    shares = 1 / (1 + np.exp(-score))
    curvature = np.maximum(shares * (1 - shares), 1e-10)
    gram = fits.gram((), penalties)
    solved = np.linalg.solve(gram + np.diag(1 / curvature), gram)
    lever = np.diag(gram) - np.einsum("ij,ji->i", gram, solved)
    left_out = score + lever * (shares - rows.y) / np.maximum(1 - curvature * lever, 1e-3)
    return float(np.logaddexp(0, np.where(rows.y == 1, -left_out, left_out)).mean())


def choose_by_leave_one_out(rows: Any, space: Any, pairs: Any, report: Any) -> choose.Choice:
    """Choose as usual, with the one penalty that leave-one-out likes best."""
    fits = DualFits(rows, space)
    best = min(choose.PENALTIES, key=lambda penalty: leave_one_out_loss(fits, penalty))
    with patch.object(choose, "PENALTIES", (best,)):
        return choose.choose(rows, space, pairs, report)


def both_ways(train: cw.Table, test: cw.Table) -> tuple[np.ndarray, np.ndarray]:
    """Return the probabilities with the penalty chosen by folds and by leave-one-out."""
    with patch("countwise.models.additive.choose._Search.rescale"):
        usual = cw.Additive(pairs=0).fit(train).predict_proba(test)
        with patch("countwise.models.additive.prepare.choose", choose_by_leave_one_out):
            tried = cw.Additive(pairs=0).fit(train).predict_proba(test)
    return usual, tried


if __name__ == "__main__":
    compare(both_ways, [name for name in QUICK if name != "iris"])
