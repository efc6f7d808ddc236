"""Decision rules: from posteriors to the probability of each decision.

A rule is a function f_d(c) >= 0 that sums to one over the decisions c (Panda and Garg, eq. 2).
`shares` gives that function exactly, row by row; `choose` gives one decision per row.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from countwise.decisions.gain_matrix import GainMatrix, Gains
from countwise.decisions.read_gains import Bare, Rows, grid_from
from countwise.errors import ParameterError, did_you_mean
from countwise.params import Parameter, check, seed
from countwise.tables.labels import Label, Labels, label_array

Reals: TypeAlias = NDArray[np.float64]
Seed: TypeAlias = int | np.random.Generator | np.random.RandomState | None

WORDS = ("argmax", "roulette")
FILES = (".csv", ".tsv", ".json")


class Rule(ABC):
    """Turn posteriors into decisions; the parent of every rule, and of your own.

    A rule of your own needs `shares` only. It should be a frozen dataclass, so that it can be
    copied, compared and shown.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> from countwise.decisions.rules import Rule, checked_posteriors
    >>> @dataclass(frozen=True)
    ... class Coin(Rule):
    ...     def shares(self, posteriors):
    ...         rows = checked_posteriors("Coin", posteriors)
    ...         return np.full(rows.shape, 1 / rows.shape[1])
    >>> Coin().shares([[0.9, 0.1]])
    array([[0.5, 0.5]])
    """

    @abstractmethod
    def shares(self, posteriors: ArrayLike) -> Reals:
        """Return f_d(c): a row per case, a column per decision, each row summing to one."""

    def choose(self, posteriors: ArrayLike) -> NDArray[np.intp]:
        """Return one decision per case, as a position among `decisions`."""
        return np.asarray(np.argmax(self.shares(posteriors), axis=1), dtype=np.intp)

    def decisions(self, classes: Iterable[Any]) -> Labels:
        """Return the labels of the decisions, given those of the posteriors' columns."""
        return label_array(classes)

    def bind(self, classes: Iterable[Any]) -> Rule:
        """Return the rule for posteriors whose columns are these classes, in this order."""
        return self

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences worth showing beside the rule's decisions."""
        return ()


@dataclass(frozen=True)
class Argmax(Rule):
    """Decide for the most probable class; the first one if several are.

    Examples
    --------
    >>> from countwise.decisions.rules import Argmax
    >>> Argmax().shares([[0.2, 0.8], [0.5, 0.5]])
    array([[0., 1.],
           [1., 0.]])
    """

    def shares(self, posteriors: ArrayLike) -> Reals:
        """Return one for the most probable class and zero for the others."""
        return _one_hot(checked_posteriors("Argmax", posteriors))


@dataclass(frozen=True)
class RouletteWheel(Rule):
    """Draw the class with the probability the model gives it, to vote without favorites.

    The probabilistic voting of Liu, Gegov and Cocea (2016): W_i = P_i / sum P. Their worked
    example, P = (1/18, 2/9), prints W = (0.5463, 0.4537) after a slip in a product; it is
    (0.2, 0.8).

    Parameters
    ----------
    random_state
        The seed of the draws. With a whole number every call repeats the same draws; a
        ``Generator`` or ``RandomState`` moves on from call to call; None is different every time.

    Examples
    --------
    >>> from countwise.decisions.rules import RouletteWheel
    >>> wheel = RouletteWheel(random_state=0)
    >>> wheel.shares([[1 / 18, 2 / 9]])
    array([[0.2, 0.8]])
    >>> wheel.choose([[0.2, 0.8]] * 5)
    array([1, 1, 0, 0, 1])
    """

    random_state: Seed = None

    def __post_init__(self) -> None:
        """Refuse what cannot seed a stream."""
        parameters = {"random_state": Parameter(seed(), "the seed of the draws")}
        check("RouletteWheel", parameters, {"random_state": self.random_state})

    def shares(self, posteriors: ArrayLike) -> Reals:
        """Return the posteriors, each row divided by its sum."""
        rows = checked_posteriors("RouletteWheel", posteriors)
        return np.asarray(rows / rows.sum(axis=1, keepdims=True), dtype=np.float64)

    def choose(self, posteriors: ArrayLike) -> NDArray[np.intp]:
        """Draw one decision per case."""
        wheel = np.cumsum(self.shares(posteriors), axis=1)
        stream = self.random_state
        if not isinstance(stream, np.random.RandomState):
            stream = np.random.default_rng(stream)
        ball = stream.random(len(wheel)) * wheel[:, -1]
        # "<=" so that a class of share zero is never drawn, even by a ball at exactly zero
        return np.asarray(np.sum(wheel <= ball[:, np.newaxis], axis=1), dtype=np.intp)


@dataclass(frozen=True)
class ExpectedGain(Rule):
    """Decide for what earns most on average under the posterior: the Bayes decision rule.

    Panda and Garg, eq. 3 to 5: the decision k with the greatest sum over j of
    e(c_j, c_k) P(c_j | d); the first one if several are.

    Parameters
    ----------
    gain
        A `GainMatrix` or anything `GainMatrix.of` reads. Rows of numbers without labels are taken
        in the order of the posteriors' columns, rows true. A matrix with labels meets the
        columns by name in `bind`, which `Decide` calls; unbound, the columns must be in the
        matrix's own order.

    Examples
    --------
    >>> from countwise.decisions.rules import ExpectedGain
    >>> rule = ExpectedGain({"bad": {"bad": 1, "good": -5}, "good": {"bad": -1, "good": 1}})
    >>> rule.choose([[0.3, 0.7], [0.2, 0.8]])
    array([0, 1])
    """

    # In a file a text must never be taken for the path of another.
    gain: Gains = field(metadata={"saved": GainMatrix | Rows})

    def __post_init__(self) -> None:
        """Read the matrix now, so that a wrong one is refused where it is given."""
        if not isinstance(self.gain, GainMatrix):
            grid = grid_from(self.gain)
            gain: GainMatrix | Rows
            if isinstance(grid, Bare):
                # Rows of numbers wait for the classes; placeholders show whether they are numbers.
                extra = "no decision" if len(grid.cells[0]) == len(grid.cells) + 1 else None
                gain = GainMatrix(tuple(range(len(grid.cells))), grid.cells, extra).rows
            else:
                gain = GainMatrix.of(grid)
            object.__setattr__(self, "gain", gain)

    def shares(self, posteriors: ArrayLike) -> Reals:
        """Return one for the decision that earns most and zero for the others."""
        gains = self.gain.values if isinstance(self.gain, GainMatrix) else np.array(self.gain)
        rows = checked_posteriors("ExpectedGain", posteriors)
        if rows.shape[1] != gains.shape[0]:
            raise ParameterError(
                f"ExpectedGain: the posteriors must have a column for each of the {gains.shape[0]} "
                f"classes of the gain matrix; got {rows.shape[1]} columns.",
                hint="Give the gains of these classes",
            )
        return _one_hot(rows @ gains)

    def decisions(self, classes: Iterable[Any]) -> Labels:
        """Return the classes, and the decision not to decide if the matrix has one."""
        names = classes if isinstance(classes, np.ndarray) else list(classes)
        return label_array(names, GainMatrix.of(self.gain, names).no_decision)

    def bind(self, classes: Iterable[Label]) -> ExpectedGain:
        """Return the rule with the matrix in the order of these classes."""
        return ExpectedGain(GainMatrix.of(self.gain, classes))

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes of the gain matrix."""
        return self.gain.notes if isinstance(self.gain, GainMatrix) else ()


def rule_of(rule: Rule | Gains) -> Rule:
    """Return the rule a user means: a rule, a word, or a gain matrix (or its path) to earn by."""
    if isinstance(rule, Rule):
        return rule
    if isinstance(rule, str):
        if rule in WORDS:
            return Argmax() if rule == "argmax" else RouletteWheel()
        if not rule.lower().endswith(FILES) and not os.path.isfile(rule):
            raise ParameterError(
                "Decide",
                "rule",
                "'argmax', 'roulette', a rule, a gain matrix or the path of one",
                rule,
                did_you_mean(rule, WORDS).strip(),
            )
    elif rule is None or callable(rule):
        words = "'argmax', 'roulette', a rule such as Argmax() or a gain matrix"
        raise ParameterError("Decide", "rule", words, rule, "Give an instance of a rule")
    return ExpectedGain(rule)


def checked_posteriors(who: str, posteriors: ArrayLike) -> Reals:
    """Return posteriors, which need not sum to one; refuse what no decision can be made from."""
    try:
        rows = np.asarray(posteriors, dtype=np.float64)
    except (TypeError, ValueError):
        rows = np.empty(0)
    if rows.ndim != 2 or rows.shape[1] == 0:
        raise ParameterError(
            f"{who}: posteriors must be numbers with a row per case and a column per class; got "
            f"the shape {np.shape(rows)}.",
            hint="Give a table such as predict_proba returns",
        )
    sound = np.isfinite(rows).all(axis=1) & (rows >= 0).all(axis=1) & (rows.sum(axis=1) > 0)
    if not sound.all():
        at = int(np.argmin(sound))
        raise ParameterError(
            f"{who}: posteriors must be finite, at least 0 and not all 0 in a row; got "
            f"{rows[at].tolist()} in row {at}.",
            hint="Look at the model that gave them",
        )
    return rows


def _one_hot(scores: Reals) -> Reals:
    shares = np.zeros(scores.shape)
    shares[np.arange(len(scores)), np.argmax(scores, axis=1)] = 1.0
    return shares
