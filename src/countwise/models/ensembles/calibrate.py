"""Calibrate a vote by the scores of rows that were held out.

One temperature says how sure votes may be. Where they tell little the class shares tell more, so
that a power of these may count beside them, as far as it changes no decision.
"""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.counts.row_hash import content_folds, row_keys
from countwise.models.ensembles.members import drop_unseen, find_places
from countwise.numeric import log_softmax, softmax
from countwise.tables.table import Table

#: Each part of the rows is held out once; of more rows only the first part is.
MOST_ROWS = 50_000
#: Temperatures are looked for between these.
_LOWEST, _HIGHEST = 0.1, 1e4
#: The powers of the class shares that are tried.
POWERS = (0.0, 0.25, 0.5, 0.75, 1.0)
#: Mean losses that differ by less are equal.
_EQUAL = 1e-9


def choose_calibration(
    model: Any, table: Table, weight: FloatArray, classes: NDArray[Any], log_shares: FloatArray
) -> tuple[float, float]:
    """Return the temperature and the power of the class shares with which held-out rows lose least.

    `model` is untrained. A row's content is its fold, so that neither the order of the rows nor
    repeating them, instead of weighing them, matters. Where nothing is better they are 1 and 0.
    """
    from sklearn.base import clone

    truth = find_places(table.labels, classes)
    scores, true, weights = [], [], []
    parts = content_folds(row_keys(table, target=True), weight)
    for part in islice(parts, None if len(table) <= MOST_ROWS else 1):
        if len(np.unique(truth[part.rest])) < 2:
            continue
        trained = clone(model).fit(table.take(part.rest), sample_weight=part.rest_weight)
        if not trained.rounds_:
            continue
        place = find_places(trained.classes_, classes)
        some = np.isin(truth[part.out], place)
        known = part.out[some]
        found = np.full((len(known), len(classes)), -np.inf)
        found[:, place] = trained.vote_scores(drop_unseen(table.take(known)))
        scores.append(found)
        true.append(truth[known])
        weights.append(np.asarray(part.out_weight)[some])
    if not scores or not sum(map(len, scores)):
        return 1.0, 0.0
    return best_calibration(
        np.concatenate(scores), np.concatenate(true), np.concatenate(weights), log_shares
    )


def best_calibration(
    scores: FloatArray, truth: NDArray[np.intp], weight: FloatArray, log_shares: FloatArray
) -> tuple[float, float]:
    """Return the temperature and the power of the class shares with the least log loss.

    A power's temperature is the best if all of its offset were kept. The one that is best with what
    is kept of it, which hangs on how far votes lead, suits these rows too closely: on 17 tables,
    each dealt four times, new rows lost .001 more (p .04).
    """
    tried = [
        (best_temperature(scores, truth, weight, power * log_shares), power) for power in POWERS
    ]
    losses = np.array(
        [
            log_loss(calibrated(scores, temperature, power * log_shares), truth, weight)
            for temperature, power in tried
        ]
    )
    return tried[int((losses <= losses.min() + _EQUAL * weight.sum()).argmax())]


def calibrated(scores: FloatArray, temperature: float, offset: FloatArray) -> FloatArray:
    """Return scores divided by the temperature, with the offset as far as it keeps their order."""
    tempered = scores / temperature
    return np.asarray(tempered + kept_offset(tempered, offset))


def kept_offset(scores: FloatArray, offset: FloatArray) -> FloatArray:
    """Return as much of the offset of the classes as leaves the first largest score in front."""
    rows, best = np.arange(len(scores)), scores.argmax(axis=1)
    lead = scores[rows, best][:, None] - scores
    ahead = offset - offset[best][:, None]
    fits = np.divide(lead, ahead, out=np.full(scores.shape, np.inf), where=ahead > 0)
    # A little less than what makes them equal, so that rounding does not decide.
    return np.asarray(np.minimum(0.999 * fits.min(axis=1), 1.0)[:, None] * offset)


def log_loss(scores: FloatArray, truth: NDArray[np.intp], weight: FloatArray) -> float:
    """Return the weighted sum of the log losses of rows."""
    return float(-(weight @ log_softmax(scores)[np.arange(len(truth)), truth]))


def best_temperature(
    scores: FloatArray, truth: NDArray[np.intp], weight: FloatArray, offset: FloatArray
) -> float:
    """Return the temperature with the least log loss beside an offset; 1 if none is better."""
    from scipy.optimize import brentq

    rows = np.arange(len(truth))
    finite = np.where(np.isfinite(scores), scores, 0.0)  # times a probability of 0

    def slope(log_factor: float) -> float:
        """Return the derivative of the loss, which is convex in the factor."""
        expected = (softmax(np.exp(log_factor) * scores + offset) * finite).sum(axis=1)
        return float(weight @ (expected - finite[rows, truth]))

    low, high = -np.log(_HIGHEST), -np.log(_LOWEST)
    if slope(low) >= 0:
        best = low
    elif slope(high) <= 0:
        best = high
    else:
        best = brentq(slope, low, high, xtol=1e-13)
    factor = float(np.exp(best))
    better = log_loss(factor * scores + offset, truth, weight)
    return 1.0 / factor if better < log_loss(scores + offset, truth, weight) else 1.0
