"""Scores of one fold, and their intervals if there is only one fold.

A score is a mean over rows (accuracy, log loss), a figure of the confusion matrix (F1, kappa) or an
area under ROC curves. Each is also written as one figure a row: for a mean the figures themselves,
for the others those of the linear approximation at the tested rows (the delta method). The mean of
the figures is the score, and their variance gives the interval of one fold.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any

import numpy as np

from countwise._typing import FloatArray
from countwise.decisions.confusion import count_cells, precision, recall
from countwise.decisions.expected_gain import earned_by_row, gains_of
from countwise.decisions.gain_matrix import GainMatrix
from countwise.errors import ParameterError, did_you_mean, listing
from countwise.evaluation.auc import (
    Area,
    Duel,
    PosteriorBins,
    hand_till,
    measure_rows,
    one_class,
    one_vs_rest,
)
from countwise.evaluation.intervals import Estimate, effective, of_moments, of_rows, wilson
from countwise.evaluation.predictions import Entry, HeldOut, Predictions, Tally
from countwise.tables.labels import Label

Scored = str | Callable[..., float]

#: No posterior counts as less than this, so that one certain error does not cost an infinite loss.
MIN_POSTERIOR = float(np.finfo(np.float64).eps)
#: The cells of a histogram of posteriors, at most.
MOST_CELLS = 1 << 16
#: The step by which a share of the confusion matrix is changed to see how a score answers.
_STEP = 1e-6


@dataclass(frozen=True)
class FoldResult:
    """One entry in one fold, ready to be scored."""

    classes: tuple[Label, ...]
    entry: Entry
    fold: HeldOut
    predictions: Predictions
    gain: GainMatrix | None = None
    #: The sums over the rows, if the rows are scanned; the predictions are then empty.
    tally: Tally | None = None

    def mean(self, rows: FloatArray) -> float:
        """Return the weighted mean of one figure a row."""
        return float(np.average(rows, weights=self.fold.weight))


def join_folds(results: Sequence[FoldResult]) -> FoldResult:
    """Return the folds of the first repeat, which share no rows, as one."""
    first = results[0]
    some = [result for result in results if result.fold.repeat == first.fold.repeat]
    if first.tally is not None:
        return replace(first, tally=add_tallies([one.tally for one in some if one.tally]))
    weights = [result.fold.weight for result in some if result.fold.weight is not None]
    shares = [result.predictions.shares for result in some if result.predictions.shares is not None]
    fold = replace(
        first.fold,
        rows=np.concatenate([result.fold.rows for result in some]),
        truth=np.concatenate([result.fold.truth for result in some]),
        weight=np.concatenate(weights) if weights else None,
    )
    predictions = replace(
        first.predictions,
        posteriors=np.concatenate([result.predictions.posteriors for result in some]),
        decided=np.concatenate([result.predictions.decided for result in some]),
        shares=np.concatenate(shares) if shares else None,
    )
    return replace(first, fold=fold, predictions=predictions)


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
    gains = gains_of(_matrix(result), result.entry.decisions)
    truth, shares = result.fold.truth, result.predictions.shares
    if shares is None:
        return earned_by_row(gains, truth, result.predictions.decided)
    earned = earned_by_row(gains, truth, shares.astype(np.float64))
    return np.asarray(earned / shares.sum(axis=1))


def _matrix(result: FoldResult) -> GainMatrix:
    if result.gain is None:
        raise ParameterError(
            "Trials: expected_gain needs a gain matrix; got none.",
            hint="Pass `gain=` to evaluate or to score.",
        )
    return result.gain


def expected_cost(result: FoldResult) -> FloatArray:
    """Return what the decision of each row costs: the gain that it earns, negated."""
    return -expected_gain(result)


def top_k(result: FoldResult, k: int) -> FloatArray:
    """Return 1 where the true class is among the k likeliest; equal ones rank in class order."""
    if result.entry.certain:
        return np.full(len(result.fold.truth), np.nan)
    order = np.argsort(-result.predictions.posteriors, axis=1, kind="stable")[:, :k]
    hits = (order == result.fold.truth[:, None]).any(axis=1)
    return np.asarray(hits, dtype=np.float64)


def tally_rows(result: FoldResult, room: int = MOST_CELLS) -> Tally:
    """Return the sums over rows that scores of scanned rows follow from.

    A histogram of posteriors is among them if that many cells are enough for it.
    """
    weight = result.fold.weight
    weights = np.ones(len(result.fold.truth)) if weight is None else weight
    sums = {}
    for name in TALLIED:
        rows = SCORES[name].rows
        assert rows is not None
        figures = rows(result)
        # Plain sums: blocks are tallied in threads, and those of a BLAS would wait for each other.
        weighted = weights * figures
        sums[name] = (float(weighted.sum()), float((weighted * figures).sum()))
    squares = float((weights * weights).sum())
    posteriors, truth = result.predictions.posteriors, result.fold.truth
    bins = None if result.entry.certain else PosteriorBins.of(posteriors, truth, weights, room)
    return Tally(count_decisions(result), sums, len(weights), squares, bins)


def add_tallies(tallies: Sequence[Tally]) -> Tally:
    """Return the tally of several parts together."""
    return reduce(Tally.__add__, tallies)


def _tallied_moments(
    what: str, score: Score, result: FoldResult, tally: Tally
) -> tuple[float, float]:
    """Return the mean of a figure a row, and of its square, from sums over rows."""
    if score.area is not None and tally.posteriors is not None:
        return tally.posteriors.measure(score.area(tally.cells.sum(axis=1)))[:2]
    if what in TALLIED:
        plain, squared = tally.sums[what]
    elif what in _FROM_CELLS:
        figures = np.eye(*tally.cells.shape)
        if what != "accuracy":
            gains = gains_of(_matrix(result), result.entry.decisions)
            figures = gains if what == "expected_gain" else -gains
        plain, squared = (
            float(np.sum(tally.cells * figures)),
            float(np.sum(tally.cells * figures**2)),
        )
    else:
        raise rows_not_kept(what)
    return plain / tally.weight, squared / tally.weight


def check_tallied(what: str) -> None:
    """Refuse a score that does not follow from sums over rows."""
    score = find_score("evaluate", what)
    if score.rows is not None and what not in (*TALLIED, *_FROM_CELLS):
        raise rows_not_kept(what)


def rows_not_kept(what: str) -> ParameterError:
    """Return the refusal of what needs the predictions of single rows."""
    return ParameterError(
        f"Trials: {what} needs the predictions of single rows, which are not kept when rows are "
        "scanned.",
        hint="Read the rows with `read`, or score a part of them.",
    )


def count_decisions(result: FoldResult) -> FloatArray:
    """Return the weight of every pair of true class (line) and decision (column)."""
    if result.tally is not None:
        return result.tally.cells
    shape = (len(result.classes), len(result.entry.decisions))
    fold, shares = result.fold, result.predictions.shares
    if shares is None:
        return count_cells(fold.truth, result.predictions.decided, shape, fold.weight)
    return count_cells(fold.truth, shares / shares.sum(axis=1, keepdims=True), shape, fold.weight)


def f1(cells: FloatArray) -> FloatArray:
    """Return for each class the harmonic mean of precision and recall; NaN without any row."""
    both = cells.sum(axis=1) + cells.sum(axis=0)[: len(cells)]
    hits = 2 * np.diagonal(cells)
    return np.asarray(np.divide(hits, both, out=np.full(len(cells), np.nan), where=both > 0))


def _macro(by_class: Callable[[FloatArray], FloatArray]) -> Callable[[FloatArray], float]:
    """Return the mean over the classes that occur or are decided, as scikit-learn takes it."""

    def mean(cells: FloatArray) -> float:
        occurs = (cells.sum(axis=1) > 0) | (cells.sum(axis=0)[: len(cells)] > 0)
        return float(np.nan_to_num(by_class(cells))[occurs].mean()) if occurs.any() else math.nan

    return mean


def _weighted(by_class: Callable[[FloatArray], FloatArray]) -> Callable[[FloatArray], float]:
    """Return the mean over the classes by the weight of their rows."""

    def mean(cells: FloatArray) -> float:
        sizes = cells.sum(axis=1)
        return float(np.nan_to_num(by_class(cells)) @ sizes / sizes.sum())

    return mean


def _balanced_accuracy(cells: FloatArray) -> float:
    by_class = recall(cells)
    known = by_class[~np.isnan(by_class)]
    return float(known.mean()) if len(known) else math.nan


def kappa(cells: FloatArray) -> float:
    """Return the agreement beyond chance (Cohen 1960); NaN where chance alone agrees always."""
    true, decided = cells.sum(axis=1), cells.sum(axis=0)
    total = true.sum()
    chance = float(true @ decided[: len(true)]) / total
    return float((np.trace(cells) - chance) / (total - chance)) if chance < total else math.nan


def mcc(cells: FloatArray) -> float:
    """Return the correlation of truth and decision (Gorodkin 2004); 0 if either is constant."""
    true, decided = cells.sum(axis=1), cells.sum(axis=0)
    total = true.sum()
    together = np.trace(cells) * total - true @ decided[: len(true)]
    spread = (total * total - true @ true) * (total * total - decided @ decided)
    return float(together / math.sqrt(spread)) if spread > 0 else 0.0


def _measure_area(score: Score, result: FoldResult) -> Area:
    """Return an area with one figure a row; not a number where a model gives labels only."""
    assert score.area is not None
    fold = result.fold
    if result.entry.certain:
        return math.nan, np.full(len(fold.truth), np.nan)
    weight = np.ones(len(fold.truth)) if fold.weight is None else fold.weight
    posteriors = result.predictions.posteriors
    sizes = np.bincount(fold.truth, weight, posteriors.shape[1]).astype(np.float64)
    return measure_rows(posteriors, fold.truth, weight, score.area(sizes))


def bound_areas(tally: Tally) -> float:
    """Return the most by which an area from a tally may be wrong; not a number without areas."""
    if tally.posteriors is None:
        return math.nan
    sizes = tally.cells.sum(axis=1)
    kinds = [score.area for score in SCORES.values() if score.area is not None]
    errors = [tally.posteriors.measure(area(sizes))[2] for area in kinds]
    error = max((error for error in errors if error > 0), default=0.0)
    digits = 10.0 ** (math.floor(math.log10(error)) - 1) if error > 0 else 1.0
    return math.ceil(error / digits) * digits  # two digits, rounded up


@dataclass(frozen=True)
class Score:
    """What a score is called and says, its range, and one of three ways to compute it."""

    words: str
    meaning: str
    limits: tuple[float, float] = (0.0, 1.0)
    lower_is_better: bool = False
    #: One figure a row, of which the score is the mean.
    rows: Callable[[FoldResult], FloatArray] | None = None
    #: A figure of the confusion matrix, and the same for every class by itself.
    cells: Callable[[FloatArray], float] | None = None
    by_class: Callable[[FloatArray], FloatArray] | None = None
    #: Whether it needs a gain matrix and has its unit.
    by_gains: bool = False
    #: What an area compares, for these weights of the classes.
    area: Callable[[FloatArray], list[Duel]] | None = None

    @property
    def phrase(self) -> str:
        """The name within a sentence: "log loss", "AUC", "F1"."""
        kept = self.words[1:2].isupper() or self.words[1:2].isdigit()
        return self.words if kept else self.words[:1].lower() + self.words[1:]


#: Scores that are means over rows and do not follow from the confusion matrix.
TALLIED = ("log_loss", "brier")
#: Means over rows that follow from the confusion matrix.
_FROM_CELLS = ("accuracy", "expected_gain", "expected_cost")

_LOSS = (0.0, math.inf)
_SIGNED = (-1.0, 1.0)

#: Every score by name; `find_score` adds top_2, top_3, ….
SCORES: dict[str, Score] = {
    "accuracy": Score("Accuracy", "fraction of the rows decided correctly", rows=accuracy),
    "balanced_accuracy": Score(
        "Balanced accuracy", "mean of the recalls of all classes", cells=_balanced_accuracy
    ),
    "log_loss": Score(
        "Log loss",
        "mean negative log posterior of the true class; lower is better",
        _LOSS,
        True,
        rows=log_loss,
    ),
    "brier": Score(
        "Brier score",
        "mean squared error of the posteriors; lower is better",
        (0.0, 2.0),
        True,
        rows=brier,
    ),
    "expected_gain": Score(
        "Gain per row",
        "mean gain of a decision, by the gain matrix",
        (-math.inf, math.inf),
        rows=expected_gain,
        by_gains=True,
    ),
    "expected_cost": Score(
        "Cost per row",
        "mean cost of a decision, by the cost matrix; lower is better",
        (-math.inf, math.inf),
        True,
        rows=expected_cost,
        by_gains=True,
    ),
    "auc": Score(
        "AUC",
        "probability that a row of a class gets a higher posterior of it than another row; "
        "mean over the classes",
        area=one_vs_rest,
    ),
    "auc_weighted": Score(
        "AUC, weighted",
        "area under the ROC curve of each class against the others, weighted by class size",
        area=partial(one_vs_rest, by_size=True),
    ),
    "auc_hand_till": Score(
        "AUC, Hand–Till",
        "mean area under the ROC curves of all pairs of classes",
        area=hand_till,
    ),
    "f1": Score(
        "F1",
        "harmonic mean of precision and recall; mean over the classes",
        cells=_macro(f1),
        by_class=f1,
    ),
    "f1_weighted": Score(
        "F1, weighted", "F1 of the classes, weighted by class size", cells=_weighted(f1)
    ),
    "precision": Score(
        "Precision",
        "fraction of the rows decided as a class that are of it; mean over the classes",
        cells=_macro(precision),
        by_class=precision,
    ),
    "precision_weighted": Score(
        "Precision, weighted",
        "precision of the classes, weighted by class size",
        cells=_weighted(precision),
    ),
    "recall": Score(
        "Recall",
        "fraction of the rows of a class that are decided so; mean over the classes",
        cells=_macro(recall),
        by_class=recall,
    ),
    "recall_weighted": Score(
        "Recall, weighted",
        "recall of the classes, weighted by class size",
        cells=_weighted(recall),
    ),
    "kappa": Score("Kappa", "agreement beyond chance (Cohen)", _SIGNED, cells=kappa),
    "mcc": Score("MCC", "correlation of true class and decision (Matthews)", _SIGNED, cells=mcc),
}


def find_score(who: str, name: Any, gains: bool = True) -> Score:
    """Return the score of a name, or refuse the name; expected gain and cost need `gains`."""
    if name in SCORES and SCORES[name].by_gains and not gains:
        raise ParameterError(f"{who}: {name} needs a gain matrix; got none.", hint="Pass `gain=`.")
    if name in SCORES:
        return SCORES[name]
    top = re.fullmatch(r"top_([1-9][0-9]{0,3})", str(name))
    if top:
        k = int(top[1])
        meaning = f"fraction of the rows whose class is among the {k} likeliest"
        return Score(f"Top-{k} accuracy", meaning, rows=lambda result: top_k(result, k))
    rule = f"one of {listing([*SCORES, 'top_2'], 20)}"
    near = did_you_mean(str(name).replace("-", "_"), SCORES)
    raise ParameterError(who, "score", rule, name, near.strip())


def score_fold(what: Scored, result: FoldResult, label: Label | None = None) -> float:
    """Score one entry in one fold; of a figure a class, that of `label` or the mean."""
    if result.tally is not None and callable(what):
        raise rows_not_kept("a function")
    if callable(what):
        labels = np.asarray(result.classes)
        decisions = np.asarray(result.entry.decisions)
        predicted = result.predictions
        return float(
            what(labels[result.fold.truth], decisions[predicted.decided], predicted.posteriors)
        )
    score = _of_class(find_score("Trials", what), result, label)
    if score.cells is not None:
        return score.cells(count_decisions(result))
    if result.tally is not None:
        return _tallied_moments(what, score, result, result.tally)[0]
    if score.rows is not None:
        return result.mean(score.rows(result))
    return _measure_area(score, result)[0]


def figures_by_row(what: str, result: FoldResult, label: Label | None = None) -> FloatArray:
    """Return one figure a row, with the score as their mean and the variance of the score."""
    score = _of_class(find_score("Trials", what), result, label)
    if score.rows is not None:
        return score.rows(result)
    if score.area is not None:
        return _measure_area(score, result)[1]
    assert score.cells is not None
    return _linear_figures(score.cells, result)


def _of_class(score: Score, result: FoldResult, label: Label | None) -> Score:
    """Return the score of one class by itself, if one is named and the score has one."""
    if label is None or (score.by_class is None and score is not SCORES["auc"]):
        return score
    at, by_class = _position(label, result.classes), score.by_class
    if by_class is None:
        return replace(score, area=partial(one_class, at=at))
    return replace(score, cells=lambda cells: float(by_class(cells)[at]))


def _linear_figures(score: Callable[[FloatArray], float], result: FoldResult) -> FloatArray:
    """Return by how much each row moves a figure of the confusion matrix, plus the figure."""
    figures = _cell_figures(score, count_decisions(result))
    truth, drawn = result.fold.truth, result.predictions.shares
    if drawn is None:
        return np.asarray(figures[truth, result.predictions.decided])
    moved = np.einsum("ij,ij->i", figures[truth], drawn / drawn.sum(axis=1, keepdims=True))
    return np.asarray(moved)


def _cell_figures(score: Callable[[FloatArray], float], cells: FloatArray) -> FloatArray:
    """Return the figure of a row in each cell of the confusion matrix; see `_linear_figures`."""
    shares = cells / cells.sum()
    slopes = np.zeros(cells.shape)
    for cell in zip(*np.nonzero(shares), strict=True):
        step = min(_STEP, shares[cell] / 2)
        more, less = shares.copy(), shares.copy()
        more[cell] += step
        less[cell] -= step
        slopes[cell] = (score(more) - score(less)) / (2 * step)
    return np.asarray(score(shares) + slopes - float(np.sum(slopes * shares)))


def _figure_moments(
    what: str, result: FoldResult, tally: Tally, label: Label | None
) -> tuple[float, float]:
    """Return mean and mean square of one figure a row, for a score of any kind."""
    score = _of_class(find_score("Trials", what), result, label)
    if score.cells is None:
        return _tallied_moments(what, score, result, tally)
    figures, shares = _cell_figures(score.cells, tally.cells), tally.cells / tally.weight
    return float(np.sum(shares * figures)), float(np.sum(shares * figures**2))


def _position(label: Any, classes: tuple[Label, ...]) -> int:
    """Return the code of a class."""
    if label not in classes:
        rule = f"one of the classes {listing(classes)}"
        raise ParameterError("Trials", "label", rule, label, did_you_mean(label, classes).strip())
    return classes.index(label)


def estimate_fold(what: Scored, result: FoldResult, label: Any, level: float) -> Estimate:
    """Return a score of one fold with the interval its rows allow: Wilson's for fractions, or t."""
    value = score_fold(what, result, label)
    if callable(what) or math.isnan(value):
        return Estimate(value, math.nan, math.nan, (value,), level, "one fold")
    weight, rows, tally = result.fold.weight, len(result.fold.rows), result.tally
    size = effective(rows, weight) if tally is None else tally.size
    if what == "accuracy" and result.predictions.shares is None:
        return wilson(value, size, level)
    if what in ("recall", "precision") and label is not None:
        at = _position(label, result.classes)
        cells = count_decisions(result)
        cells = cells * (size / cells.sum())
        decided = cells[at].sum() if what == "recall" else cells[:, at].sum()
        return wilson(value, float(decided), level)
    if tally is not None:
        return of_moments(*_figure_moments(what, result, tally, label), size, level)
    interval = of_rows(figures_by_row(what, result, label), weight, level)
    return replace(interval, value=value, values=(value,))
