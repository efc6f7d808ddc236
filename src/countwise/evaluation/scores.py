"""Scores of one fold, and intervals from its rows if there is no other fold."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from countwise._typing import FloatArray
from countwise.decisions.confusion import count_cells, precision, recall
from countwise.decisions.expected_gain import earned_by_row, gains_of
from countwise.decisions.gain_matrix import GainMatrix
from countwise.errors import ParameterError, did_you_mean, listing
from countwise.evaluation.intervals import Estimate, effective, of_rows, quantile, wilson
from countwise.evaluation.predictions import Entry, HeldOut, Predictions
from countwise.tables.labels import Label

Scored = str | Callable[..., float]

WIDE = (-math.inf, math.inf)
#: The range of a score; its interval is cut off there.
LIMITS: dict[str, tuple[float, float]] = {
    "accuracy": (0.0, 1.0),
    "balanced_accuracy": (0.0, 1.0),
    "precision": (0.0, 1.0),
    "recall": (0.0, 1.0),
    "log_loss": (0.0, math.inf),
    "brier": (0.0, 2.0),
}
#: No posterior counts as less than this, so that one certain error does not cost an infinite loss.
MIN_POSTERIOR = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class FoldResult:
    """One entry in one fold, ready to be scored."""

    classes: tuple[Label, ...]
    entry: Entry
    fold: HeldOut
    predictions: Predictions
    gain: GainMatrix | None = None

    def mean(self, rows: FloatArray) -> float:
        """Return the weighted mean of one figure a row."""
        return float(np.average(rows, weights=self.fold.weight))


def accuracy(result: FoldResult) -> FloatArray:
    """Return 1 for a right decision and 0 for a wrong one; the chance, where the rule draws."""
    truth, shares = result.fold.truth, result.predictions.shares
    if shares is None:
        return np.asarray(result.predictions.decided == truth, dtype=np.float64)
    chance = shares[np.arange(len(truth)), truth].astype(np.float64)
    return np.asarray(chance / shares.sum(axis=1))


def log_loss(result: FoldResult) -> FloatArray:
    """Return minus the log of the posterior of the true class, of at least `MIN_POSTERIOR`."""
    return -np.log(np.clip(_posterior_of_truth(result), MIN_POSTERIOR, 1.0))


def brier(result: FoldResult) -> FloatArray:
    """Return the squared distance of the posterior from the truth; halved for two classes."""
    posteriors = result.predictions.posteriors.astype(np.float64)
    squares = np.einsum("ij,ij->i", posteriors, posteriors) - 2 * _posterior_of_truth(result) + 1.0
    return np.asarray(squares / 2 if len(result.classes) == 2 else squares)


def _posterior_of_truth(result: FoldResult) -> FloatArray:
    """Return the posterior of the true class; not a number where a model gives labels only."""
    truth = result.fold.truth
    if result.entry.certain:
        return np.full(len(truth), np.nan)
    return result.predictions.posteriors[np.arange(len(truth)), truth].astype(np.float64)


def expected_gain(result: FoldResult) -> FloatArray:
    """Return what the decision earns."""
    if result.gain is None:
        raise ParameterError(
            "Trials: expected_gain needs a gain matrix; got none.",
            hint="Pass `gain=` to evaluate or to score.",
        )
    gains = gains_of(result.gain, result.entry.decisions)
    truth, shares = result.fold.truth, result.predictions.shares
    if shares is None:
        return earned_by_row(gains, truth, result.predictions.decided)
    earned = earned_by_row(gains, truth, shares.astype(np.float64))
    return np.asarray(earned / shares.sum(axis=1))


#: Scores that are means over rows.
ROWS: dict[str, Callable[[FoldResult], FloatArray]] = {
    "accuracy": accuracy,
    "log_loss": log_loss,
    "brier": brier,
    "expected_gain": expected_gain,
}


def count_decisions(result: FoldResult) -> FloatArray:
    """Return the weight of every pair of true class (line) and decision (column)."""
    shape = (len(result.classes), len(result.entry.decisions))
    fold, shares = result.fold, result.predictions.shares
    if shares is None:
        return count_cells(fold.truth, result.predictions.decided, shape, fold.weight)
    return count_cells(fold.truth, shares / shares.sum(axis=1, keepdims=True), shape, fold.weight)


#: Scores read off the table of true classes and decisions: one figure a class.
CELLS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "balanced_accuracy": recall,
    "recall": recall,
    "precision": precision,
}


def score_fold(what: Scored, result: FoldResult, label: Label | None = None) -> float:
    """Score one entry in one fold; of a figure a class, that of `label` or the mean."""
    if callable(what):
        labels = np.asarray(result.classes)
        decisions = np.asarray(result.entry.decisions)
        predicted = result.predictions
        return float(
            what(labels[result.fold.truth], decisions[predicted.decided], predicted.posteriors)
        )
    if what in ROWS:
        return result.mean(ROWS[what](result))
    if what in CELLS:
        by_class = CELLS[what](count_decisions(result))
        if label is not None and what != "balanced_accuracy":
            return float(by_class[_position(label, result.classes)])
        known = by_class[~np.isnan(by_class)]
        return float(known.mean()) if len(known) else float("nan")
    every = [*ROWS, *CELLS]
    rule = f"one of {listing(every, 9)} or a callable"
    raise ParameterError("Trials", "score", rule, what, did_you_mean(what, every).strip())


def _position(label: Any, classes: tuple[Label, ...]) -> int:
    """Return the code of a class."""
    if label not in classes:
        rule = f"one of the classes {listing(classes)}"
        raise ParameterError("Trials", "label", rule, label, did_you_mean(label, classes).strip())
    return classes.index(label)


def estimate_fold(what: Scored, result: FoldResult, label: Any, level: float) -> Estimate:
    """Return a score of one fold with the interval its rows allow: Wilson, Student or normal."""
    value = score_fold(what, result, label)
    weight = result.fold.weight
    rows = len(result.fold.rows)
    if what == "accuracy" and result.predictions.shares is None:
        return wilson(value, effective(rows, weight), level)
    if isinstance(what, str) and what in ROWS:
        return of_rows(ROWS[what](result), weight, level)
    scale = effective(rows, weight) / (rows if weight is None else float(weight.sum()))
    cells = count_decisions(result) * scale
    if what == "balanced_accuracy":
        return _balanced(value, cells, level)
    if what in ("recall", "precision") and label is not None:
        at = _position(label, result.classes)
        size = cells[at].sum() if what == "recall" else cells[:, at].sum()
        return wilson(value, float(size), level)
    return Estimate(value, math.nan, math.nan, (value,), level, "one fold")


def _balanced(value: float, cells: Any, level: float) -> Estimate:
    size = cells.sum(axis=1)
    occurs = size > 0
    share = np.diagonal(cells)[occurs] / size[occurs]
    variance = float(np.sum(share * (1 - share) / size[occurs])) / int(occurs.sum()) ** 2
    half = quantile(level, math.inf) * math.sqrt(variance)
    method = "normal, from the shares of the classes"
    return Estimate(value, value - half, value + half, (value,), level, method)
