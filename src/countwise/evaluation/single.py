"""Scores and intervals where there is one test part only: the rows themselves are the sample."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from countwise.evaluation.intervals import Estimate, effective, of_rows, quantile, wilson
from countwise.evaluation.scores import (
    LIMITS,
    ROWS,
    WIDE,
    Scored,
    View,
    cells_of,
    position,
    score_named,
)


def estimate_of_one(what: Scored, view: View, label: Any, level: float) -> Estimate:
    """Return a score of one test part with the interval its rows allow.

    Accuracy, and precision and recall of a class, are shares: Wilson. Log loss, Brier score and
    gain are means over rows: Student. Balanced accuracy is a mean of shares: the normal interval
    of their variances. Anything else has no interval.
    """
    return _estimate(what, view, label, level).within(*LIMITS.get(str(what), WIDE))


def _estimate(what: Scored, view: View, label: Any, level: float) -> Estimate:
    value = score_named(what, view, label)
    weight = view.part.weight
    rows = len(view.part.rows)
    if what == "accuracy" and view.piece.shares is None:
        return wilson(value, effective(rows, weight), level)
    if isinstance(what, str) and what in ROWS:
        return of_rows(ROWS[what](view), weight, level)
    scale = effective(rows, weight) / (rows if weight is None else float(weight.sum()))
    cells = cells_of(view) * scale
    if what == "balanced_accuracy":
        return _balanced(value, cells, level)
    if what in ("recall", "precision") and label is not None:
        at = position(label, view.classes)
        size = cells[at].sum() if what == "recall" else cells[:, at].sum()
        return wilson(value, float(size), level)
    return Estimate(value, math.nan, math.nan, (value,), level, "one test part")


def _balanced(value: float, cells: Any, level: float) -> Estimate:
    size = cells.sum(axis=1)
    own = size > 0
    share = np.diagonal(cells)[own] / size[own]
    variance = float(np.sum(share * (1 - share) / size[own])) / int(own.sum()) ** 2
    half = quantile(level, math.inf) * math.sqrt(variance)
    method = "normal, from the shares of the classes"
    return Estimate(value, value - half, value + half, (value,), level, method)
