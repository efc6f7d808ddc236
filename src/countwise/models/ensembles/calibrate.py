"""Calibrate a vote: one temperature from the scores of rows that were held out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.counts.row_hash import row_keys
from countwise.models.ensembles.members import drop_unseen, find_places
from countwise.numeric import log_softmax, softmax
from countwise.tables.table import Table

#: Each part of the rows is held out once; of many rows only the first part is.
FOLDS = 5
MOST_ROWS = 50_000
#: Temperatures are looked for between these.
_LOWEST, _HIGHEST = 0.1, 1e4


def choose_temperature(
    model: Any, table: Table, weight: FloatArray, classes: NDArray[Any]
) -> float:
    """Return what to divide the scores of a model by, so that held-out rows lose least.

    `model` is untrained. A row's content is its fold, so that neither the order of the rows nor
    repeating them, instead of weighing them, matters. Where no temperature is better it is 1.
    """
    from sklearn.base import clone

    fold = row_keys(table, target=True) % np.uint64(FOLDS)
    truth = find_places(table.labels, classes)
    scores, true, weights = [], [], []
    for part in range(FOLDS if len(table) <= MOST_ROWS else 1):
        out = np.flatnonzero(fold == part)
        rest = np.flatnonzero(fold != part)
        if not len(out) or len(np.unique(truth[rest])) < 2:
            continue
        trained = clone(model).fit(table.take(rest), sample_weight=weight[rest])
        if not trained.rounds_:
            continue
        place = find_places(trained.classes_, classes)
        known = out[np.isin(truth[out], place)]
        found = np.full((len(known), len(classes)), -np.inf)
        found[:, place] = trained.vote_scores(drop_unseen(table.take(known)))
        scores.append(found)
        true.append(truth[known])
        weights.append(weight[known])
    if not scores or not sum(map(len, scores)):
        return 1.0
    return best_temperature(np.concatenate(scores), np.concatenate(true), np.concatenate(weights))


def best_temperature(scores: FloatArray, truth: NDArray[np.intp], weight: FloatArray) -> float:
    """Return the temperature with the least log loss; 1 if none is better."""
    from scipy.optimize import brentq

    rows = np.arange(len(truth))
    finite = np.where(np.isfinite(scores), scores, 0.0)  # times a probability of 0

    def slope(log_factor: float) -> float:
        """Return the derivative of the loss, which is convex in the factor."""
        expected = (softmax(np.exp(log_factor) * scores) * finite).sum(axis=1)
        return float(weight @ (expected - finite[rows, truth]))

    def loss(factor: float) -> float:
        return float(-(weight @ log_softmax(factor * scores)[rows, truth]))

    low, high = -np.log(_HIGHEST), -np.log(_LOWEST)
    if slope(low) >= 0:
        best = low
    elif slope(high) <= 0:
        best = high
    else:
        best = brentq(slope, low, high, xtol=1e-13)
    factor = float(np.exp(best))
    return 1.0 / factor if loss(factor) < loss(1.0) else 1.0
