"""Predictions of one model for the rows of one fold, and the decisions of its rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.decisions.class_prior import class_shares, corrected
from countwise.decisions.rules import Argmax, RouletteWheel, Rule
from countwise.errors import ParameterError
from countwise.evaluation.auc import PosteriorBins
from countwise.evaluation.candidates import Candidate
from countwise.evaluation.folds import Rows
from countwise.tables.labels import Label, plain

Reals = NDArray[np.floating[Any]]
Codes = NDArray[np.unsignedinteger[Any]]

#: With more posteriors than this a model's are kept as single-precision numbers.
MAX_DOUBLES = 5_000_000


@dataclass(frozen=True)
class HeldOut:
    """The tested rows of a fold: their true classes, their weights, how many rows trained.

    Of rows that are scanned only their number is kept, `scanned`.
    """

    repeat: int
    fold: int
    rows: Rows
    truth: Codes
    weight: FloatArray | None
    trained: int
    scanned: int | None = None

    @property
    def tested(self) -> int:
        """How many rows were tested."""
        return len(self.rows) if self.scanned is None else self.scanned

    @classmethod
    def of_scan(cls, repeat: int, fold: int, tested: int, trained: int) -> HeldOut:
        """Return a fold whose rows are not kept."""
        nothing = np.empty(0, dtype=np.uint8)
        return cls(repeat, fold, np.empty(0, dtype=np.int64), nothing, None, trained, tested)


@dataclass(frozen=True)
class Output:
    """A model's posteriors for one fold, before any rule."""

    posteriors: FloatArray
    training: FloatArray  # the class shares within the posteriors, one line or one a row
    fit_seconds: float
    predict_seconds: float
    decided: Codes | None = None  # where `predict` need not be the largest posterior
    certain: bool = False  # the model gives labels only, which the posteriors repeat

    @classmethod
    def join(cls, outputs: Sequence[Output]) -> Output:
        """Put the outputs for single rows below each other."""
        decided = [output.decided for output in outputs if output.decided is not None]
        return cls(
            np.concatenate([output.posteriors for output in outputs]),
            np.stack([output.training for output in outputs]),
            sum(output.fit_seconds for output in outputs),
            sum(output.predict_seconds for output in outputs),
            np.concatenate(decided) if decided else None,
            outputs[0].certain,
        )


@dataclass(frozen=True)
class Predictions:
    """Posteriors and decisions for one fold; `shares` where the rule draws."""

    posteriors: Reals
    decided: Codes
    shares: Reals | None
    fit_seconds: float
    predict_seconds: float


@dataclass(frozen=True)
class Tally:
    """What is kept of the predictions for one fold if its rows are scanned: sums over rows.

    `cells` holds the weight of every pair of true class and decision. `sums` holds for each score
    the weighted sum of its figures and of their squares. `posteriors` is their histogram, if there
    is room for one.
    """

    cells: FloatArray
    sums: Mapping[str, tuple[float, float]]
    rows: int
    #: The sum of the squared weights.
    squares: float
    posteriors: PosteriorBins | None = None
    fit_seconds: float = 0.0
    predict_seconds: float = 0.0

    @property
    def weight(self) -> float:
        """The weight of all rows."""
        return float(self.cells.sum())

    @property
    def size(self) -> float:
        """How many equally weighted rows these are worth."""
        return self.weight**2 / self.squares if self.squares > 0 else 0.0

    def __add__(self, other: Tally) -> Tally:
        sums = {
            name: (plain + other.sums[name][0], squared + other.sums[name][1])
            for name, (plain, squared) in self.sums.items()
        }
        bins = None
        if self.posteriors is not None and other.posteriors is not None:
            bins = self.posteriors + other.posteriors
        return Tally(
            self.cells + other.cells,
            sums,
            self.rows + other.rows,
            self.squares + other.squares,
            bins,
            self.fit_seconds + other.fit_seconds,
            self.predict_seconds + other.predict_seconds,
        )


@dataclass(frozen=True)
class Entry:
    """One line of a ranking: a model under a rule, and its predictions in every fold.

    An entry has `tallies` instead of predictions if its rows are scanned.
    """

    name: str
    model: str
    rule: str
    decisions: tuple[Label, ...]
    predictions: tuple[Predictions, ...]
    certain: bool = False
    baseline: bool = False
    yardstick: bool = False
    tallies: tuple[Tally, ...] = ()

    @property
    def timed(self) -> Sequence[Predictions | Tally]:
        """What was measured of each fold, with its seconds."""
        return self.tallies or self.predictions

    @property
    def draws(self) -> bool:
        """Whether the rule draws its decisions; scores are then exact expectations."""
        return any(fold.shares is not None for fold in self.predictions)


def apply_rule(candidate: Candidate, outputs: Sequence[Output], classes: Sequence[Label]) -> Entry:
    """Let the rule of a candidate decide on the outputs of its model."""
    names = [plain(label) for label in classes]
    rule = None if candidate.rule is None else candidate.rule.bind(names)
    decisions = tuple(names) if rule is None else tuple(map(plain, rule.decisions(names)))
    if list(decisions[: len(names)]) != names:
        raise ParameterError(
            f"evaluate: the decisions of {candidate.name!r} must begin with the classes in their "
            f"order; got {decisions!r}.",
            hint="Correct the rule's decisions().",
        )
    single = sum(output.posteriors.size for output in outputs) > MAX_DOUBLES
    prior = class_shares(candidate.prior, names, "Decide")
    return Entry(
        candidate.name,
        candidate.learner,
        candidate.rule_name,
        decisions,
        tuple(_decide(output, rule, prior, len(decisions), single) for output in outputs),
        any(output.certain for output in outputs),
        candidate.baseline,
        candidate.yardstick,
    )


def _decide(
    output: Output, rule: Rule | None, prior: FloatArray | None, decisions: int, single: bool
) -> Predictions:
    posteriors: Reals = output.posteriors
    if prior is not None:
        # A class that training never saw stays impossible.
        training = output.training
        ratio = np.divide(prior, training, out=np.zeros(training.shape), where=training > 0)
        posteriors = corrected(output.posteriors, ratio)
    shares: Reals | None = None
    if rule is None and output.decided is not None:
        decided = output.decided
    elif rule is None or isinstance(rule, Argmax):
        decided = largest(posteriors)
    elif isinstance(rule, RouletteWheel):
        decided, shares = largest(posteriors), posteriors
    else:
        shares = rule.shares(posteriors)
        decided = largest(shares)
        if np.all((shares == 0) | (shares == 1)):
            shares = None
    if single:
        same = shares is posteriors
        posteriors = _to_single(posteriors)
        shares = posteriors if same else None if shares is None else _to_single(shares)
    codes = decided.astype(np.min_scalar_type(decisions))
    return Predictions(posteriors, codes, shares, output.fit_seconds, output.predict_seconds)


def _to_single(figures: Reals) -> Reals:
    if figures.strides[0] == 0:  # one line for all rows stays one line
        return np.broadcast_to(figures[:1].astype(np.float32), figures.shape)
    return figures.astype(np.float32)


def largest(figures: Reals) -> Codes:
    """Return the column of the first largest figure of each row."""
    kind = np.min_scalar_type(figures.shape[1])
    if figures.shape[1] > 8:
        return np.asarray(figures.argmax(axis=1).astype(kind))
    # Column by column is several times faster than argmax along rows this short.
    best = np.zeros(len(figures), dtype=kind)
    top = figures[:, 0]
    for column in range(1, figures.shape[1]):
        better = figures[:, column] > top
        if column == 1:
            best = better.astype(kind)
        else:
            best[better] = column
        if column + 1 < figures.shape[1]:
            top = np.maximum(top, figures[:, column])
    return best


def widen(posteriors: Any, classes: Any, every: Sequence[Label]) -> FloatArray:
    """Return posteriors with a column for every class: 0 for a class the model never saw."""
    known = [plain(label) for label in classes]
    names = [plain(label) for label in every]
    given = np.asarray(posteriors, dtype=np.float64)
    if known == names:
        return given
    wide = np.zeros((len(given), len(names)))
    wide[:, [names.index(label) for label in known]] = given
    return wide
