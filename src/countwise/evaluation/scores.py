"""Scores and intervals where there is one test part only: the rows themselves are the sample."""

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
from countwise.evaluation.predictions import Entry, Part, Piece
from countwise.tables.labels import Label


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


Scored = str | Callable[..., float]

#: Scores of which less is better.
LOWER_IS_BETTER = frozenset({"log_loss", "brier"})
WIDE = (-math.inf, math.inf)
#: Between what a score can lie; its interval is cut off there.
LIMITS: dict[str, tuple[float, float]] = {
    "accuracy": (0.0, 1.0),
    "balanced_accuracy": (0.0, 1.0),
    "precision": (0.0, 1.0),
    "recall": (0.0, 1.0),
    "log_loss": (0.0, math.inf),
    "brier": (0.0, 2.0),
}
#: No posterior is taken as less than this, so that one sure error does not cost an infinite loss.
LEAST = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class View:
    """One entry on one test part, ready to be scored."""

    classes: tuple[Label, ...]
    entry: Entry
    part: Part
    piece: Piece
    gain: GainMatrix | None = None

    def mean(self, rows: FloatArray) -> float:
        """The weighted mean of one figure a row."""
        return float(np.average(rows, weights=self.part.weight))


def accuracy(view: View) -> FloatArray:
    """Whether the decision is the true class, or how often a rule that draws is right."""
    truth, piece = view.part.truth, view.piece
    if piece.shares is not None:
        share = piece.shares[np.arange(len(truth)), truth].astype(np.float64)
        return np.asarray(share / piece.shares.sum(axis=1))
    return np.asarray(piece.decided == truth, dtype=np.float64)


def log_loss(view: View) -> FloatArray:
    """Minus the log of the posterior of the true class, never below the smallest double step."""
    truth = view.part.truth
    if view.entry.certain:
        return np.full(len(truth), np.nan)
    own = view.piece.posteriors[np.arange(len(truth)), truth].astype(np.float64)
    return -np.log(np.clip(own, LEAST, 1.0))


def brier(view: View) -> FloatArray:
    """Squared distance of the posterior from the truth; halved for two classes, as is usual."""
    truth = view.part.truth
    if view.entry.certain:
        return np.full(len(truth), np.nan)
    posteriors = view.piece.posteriors.astype(np.float64)
    own = posteriors[np.arange(len(truth)), truth]
    squares = np.einsum("ij,ij->i", posteriors, posteriors) - 2 * own + 1.0
    return np.asarray(squares / 2 if len(view.classes) == 2 else squares)


def expected_gain(view: View) -> FloatArray:
    """What the decision earns."""
    if view.gain is None:
        raise ParameterError(
            "Trials: expected_gain needs a gain matrix, but none was given. Pass gain= to evaluate "
            "or to score."
        )
    gains = gains_of(view.gain, view.entry.decisions)
    truth, piece = view.part.truth, view.piece
    if piece.shares is None:
        return earned_by_row(gains, truth, piece.decided)
    earned = earned_by_row(gains, truth, piece.shares.astype(np.float64))
    return np.asarray(earned / piece.shares.sum(axis=1))


#: Scores that are means over rows.
ROWS: dict[str, Callable[[View], FloatArray]] = {
    "accuracy": accuracy,
    "log_loss": log_loss,
    "brier": brier,
    "expected_gain": expected_gain,
}


def cells_of(view: View) -> FloatArray:
    """Return the weight of every pair of true class (line) and decision (column)."""
    shape = (len(view.classes), len(view.entry.decisions))
    part, piece = view.part, view.piece
    if piece.shares is None:
        return count_cells(part.truth, piece.decided, shape, part.weight)
    shares = piece.shares / piece.shares.sum(axis=1, keepdims=True)
    return count_cells(part.truth, shares, shape, part.weight)


#: Scores read off the table of true classes and decisions: one figure a class.
CELLS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "balanced_accuracy": recall,
    "recall": recall,
    "precision": precision,
}


def score_named(what: Scored, view: View, label: Label | None = None) -> float:
    """Score one entry on one test part.

    `balanced_accuracy` is the mean recall of the classes that occur; `recall` and `precision` are
    those of the class `label`, or their mean over the classes where they are defined. A callable
    gets the true labels, the decisions and the posteriors.
    """
    if callable(what):
        labels = np.asarray(view.classes)
        decisions = np.asarray(view.entry.decisions)
        truth = labels[view.part.truth]
        return float(what(truth, decisions[view.piece.decided], view.piece.posteriors))
    if what in ROWS:
        return view.mean(ROWS[what](view))
    if what in CELLS:
        by_class = CELLS[what](cells_of(view))
        if label is not None and what != "balanced_accuracy":
            return float(by_class[position(label, view.classes)])
        known = by_class[~np.isnan(by_class)]
        return float(known.mean()) if len(known) else float("nan")
    every = [*ROWS, *CELLS]
    raise ParameterError(
        f"Trials: a score must be one of {listing(every, 9)} or a callable, but {what!r} came."
        f"{did_you_mean(what, every)}"
    )


def position(label: Any, classes: tuple[Label, ...]) -> int:
    """Return where a class stands; refuse what is none."""
    if label not in classes:
        raise ParameterError(
            f"Trials: label must be one of the classes {listing(classes)}, but {label!r} came."
            f"{did_you_mean(label, classes)}"
        )
    return classes.index(label)
