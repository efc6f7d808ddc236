"""What one model said about the rows of one test part, and what its rule made of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.decisions.class_prior import class_shares
from countwise.decisions.rules import Argmax, RouletteWheel, Rule
from countwise.errors import ParameterError
from countwise.evaluation.candidates import Candidate
from countwise.tables.labels import Label, plain

Reals = NDArray[np.floating[Any]]
Codes = NDArray[np.unsignedinteger[Any]]

#: With more posteriors than this a model's are kept as single-precision numbers.
MOST_DOUBLES = 5_000_000


@dataclass(frozen=True)
class Part:
    """The rows of one test part: which they are, their true classes, how many rows trained."""

    repeat: int
    fold: int
    rows: NDArray[np.intp]
    truth: Codes
    weight: FloatArray | None
    trained: int


@dataclass(frozen=True)
class Said:
    """A model's posteriors for one test part, before any rule.

    `decided` are the answers of a model whose `predict` need not be the largest posterior;
    `training` are the class shares within the posteriors, one line or one a row; `certain` says
    that the model gives labels only, and the posteriors merely repeat them.
    """

    posteriors: FloatArray
    training: FloatArray
    fit_seconds: float
    predict_seconds: float
    decided: Codes | None = None
    certain: bool = False


@dataclass(frozen=True)
class Piece:
    """Posteriors and decisions for one test part; `shares` where the rule draws."""

    posteriors: Reals
    decided: Codes
    shares: Reals | None
    fit_seconds: float
    predict_seconds: float


@dataclass(frozen=True)
class Entry:
    """One line of a ranking: a model under a rule, and what it said in every test part."""

    name: str
    model: str
    rule: str
    decisions: tuple[Label, ...]
    pieces: tuple[Piece, ...]
    certain: bool = False
    baseline: bool = False

    @property
    def draws(self) -> bool:
        """Whether the rule draws its decisions; scores are then exact expectations."""
        return any(piece.shares is not None for piece in self.pieces)


def entry_of(entrant: Candidate, said: Sequence[Said], classes: Sequence[Label]) -> Entry:
    """Let the entrant's rule decide on what its model said."""
    names = [plain(label) for label in classes]
    rule = None if entrant.rule is None else entrant.rule.bind(names)
    decisions = tuple(names) if rule is None else tuple(map(plain, rule.decisions(names)))
    if list(decisions[: len(names)]) != names:
        raise ParameterError(
            f"evaluate: the decisions of {entrant.name!r} must begin with the classes in their "
            f"order, but they are {decisions!r}. Mend the rule's decisions()."
        )
    single = sum(own.posteriors.size for own in said) > MOST_DOUBLES
    wanted = class_shares(entrant.prior, names, "Decide")
    pieces = tuple(_piece(own, rule, wanted, len(decisions), single) for own in said)
    return Entry(
        entrant.name,
        entrant.learner,
        entrant.words,
        decisions,
        pieces,
        any(own.certain for own in said),
        entrant.baseline,
    )


def _piece(
    said: Said, rule: Rule | None, wanted: FloatArray | None, decisions: int, single: bool
) -> Piece:
    posteriors: Reals = said.posteriors
    if wanted is not None:
        posteriors = _under(said.posteriors, wanted, said.training)
    shares: Reals | None = None
    if rule is None and said.decided is not None:
        decided = said.decided
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
        posteriors = _single(posteriors)
        shares = posteriors if same else None if shares is None else _single(shares)
    return Piece(
        posteriors,
        decided.astype(np.min_scalar_type(decisions)),
        shares,
        said.fit_seconds,
        said.predict_seconds,
    )


def _under(posteriors: FloatArray, prior: FloatArray, training: FloatArray) -> FloatArray:
    """Posteriors under another prior; a class that training never saw stays impossible."""
    known = np.broadcast_to(training, posteriors.shape)
    ratio = np.divide(prior, known, out=np.zeros(posteriors.shape), where=known > 0)
    moved = posteriors * ratio
    lost = moved.sum(axis=1) <= 0
    moved[lost] = ratio[lost] > 0
    return np.asarray(moved / moved.sum(axis=1, keepdims=True))


def _single(figures: Reals) -> Reals:
    if figures.strides[0] == 0:  # one line said of every row stays one line
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


def widened(posteriors: Any, classes: Any, every: Sequence[Label]) -> FloatArray:
    """Return posteriors with a column for every class; classes the model never saw have none."""
    known = [plain(label) for label in classes]
    names = [plain(label) for label in every]
    given = np.asarray(posteriors, dtype=np.float64)
    if known == names:
        return given
    place = [names.index(label) for label in known]
    wide = np.zeros((len(given), len(names)))
    wide[:, place] = given
    return wide
