"""Compute the expected gain of a rule exactly, as a sum over rows and decisions.

Expected accuracy and expected gain are linear in f_d(c) (Panda and Garg, eq. 2 and 7), so a rule
that draws, like the roulette wheel, has an accuracy free of the noise of its draws.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from countwise.decisions.gain_matrix import GainMatrix, Gains
from countwise.decisions.rules import ExpectedGain, Rule, checked_posteriors, rule_of
from countwise.errors import GainError, ParameterError, did_you_mean, listing
from countwise.tables.labels import Label, as_array, find, plain, positions
from countwise.tables.weights import weights_or_ones

Reals: TypeAlias = NDArray[np.float64]


def expected_accuracy(
    rule: Rule | Gains,
    posteriors: ArrayLike,
    y: ArrayLike,
    classes: Iterable[Any] | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Judge a rule by how often it is right on average: the mean of f_i[y_i]."""
    who = "expected_accuracy"
    rows, names, bound = _prepare(who, rule, posteriors, classes)
    shares = bound.shares(rows)
    true = _find_classes(who, y, names, len(rows))
    hit = np.where(true >= 0, shares[np.arange(len(rows)), true], 0.0)
    return float(np.average(hit, weights=weights_or_ones(sample_weight, len(rows), who)))


def expected_gain(
    rule: Rule | Gains,
    posteriors: ArrayLike,
    y: ArrayLike,
    gain: Gains | None = None,
    classes: Iterable[Any] | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Judge a rule by what it earns on average on cases whose class is known (eq. 7)."""
    who = "expected_gain"
    rows, names, bound, matrix = _with_gain(who, rule, posteriors, gain, classes)
    true = _find_classes(who, y, names, len(rows))
    if np.any(true < 0):
        label = plain(as_array(y).ravel()[int(np.argmin(true))])
        raise GainError(
            f"{who}: every true label must be one of {listing(names)}; got {label!r}.",
            hint=did_you_mean(label, names).strip() or "Leave such rows out",
        )
    earned = earned_by_row(gains_of(matrix, bound.decisions(names)), true, bound.shares(rows))
    return float(np.average(earned, weights=weights_or_ones(sample_weight, len(rows), who)))


def promised_gain(
    rule: Rule | Gains,
    posteriors: ArrayLike,
    gain: Gains | None = None,
    classes: Iterable[Any] | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return what a rule would earn if the posteriors were true (Panda and Garg, eq. 2)."""
    who = "promised_gain"
    rows, names, bound, matrix = _with_gain(who, rule, posteriors, gain, classes)
    believed = rows / rows.sum(axis=1, keepdims=True)
    table = gains_of(matrix, bound.decisions(names))
    promised = np.sum(bound.shares(rows) * (believed @ table), axis=1)
    return float(np.average(promised, weights=weights_or_ones(sample_weight, len(rows), who)))


def earned_by_row(gains: Reals, true: NDArray[Any], decided: NDArray[Any]) -> Reals:
    """Return what each row earns, by the position of its decision or by its shares of decisions."""
    if decided.ndim == 1:
        return np.asarray(gains[true, decided])
    return np.asarray(np.einsum("ij,ij->i", decided, gains[true]))


def earned_by_cells(gains: Reals, cells: Reals) -> float:
    """Return what a table of true classes and decisions earns (Panda and Garg, eq. 7)."""
    return float(np.sum(cells * gains))


def gains_of(matrix: GainMatrix, decisions: Iterable[Label]) -> Reals:
    """Return the columns of the matrix that belong to these decisions, in their order."""
    columns = []
    for label in map(plain, decisions):
        at = find(label, matrix.decisions, "GainMatrix")
        if at < 0:
            raise GainError(
                "GainMatrix: every decision must be one of its columns, "
                f"{listing(matrix.decisions)}; got {label!r}.",
                hint=did_you_mean(label, matrix.decisions).strip() or "Add a column for it",
            )
        columns.append(at)
    return matrix.values[:, columns]


def _prepare(
    who: str, rule: Rule | Gains, posteriors: ArrayLike, classes: Iterable[Any] | None
) -> tuple[Reals, list[Label], Rule]:
    rows = checked_posteriors(who, posteriors)
    means = rule_of(rule)
    if classes is None and isinstance(means, ExpectedGain) and isinstance(means.gain, GainMatrix):
        classes = means.gain.classes
    labels = range(rows.shape[1]) if classes is None else classes
    names = [plain(label) for label in labels]
    if len(names) != rows.shape[1]:
        raise ParameterError(
            f"{who}: posteriors must have a column for each of {listing(names)}; got "
            f"{rows.shape[1]} columns.",
            hint="Give the classes in the order of the columns",
        )
    return rows, names, means.bind(names)


def _with_gain(
    who: str,
    rule: Rule | Gains,
    posteriors: ArrayLike,
    gain: Gains | None,
    classes: Iterable[Any] | None,
) -> tuple[Reals, list[Label], Rule, GainMatrix]:
    means = rule_of(rule)
    if gain is None:
        if not isinstance(means, ExpectedGain):
            raise ParameterError(
                f"{who}: a rule without a gain matrix needs one; got {means!r}.",
                hint="Give `gain=`",
            )
        gain = means.gain
    if classes is None and isinstance(matrix := ExpectedGain(gain).gain, GainMatrix):
        classes = matrix.classes
    rows, names, bound = _prepare(who, means, posteriors, classes)
    return rows, names, bound, GainMatrix.of(gain, names)


def _find_classes(who: str, y: ArrayLike, names: list[Label], rows: int) -> NDArray[np.intp]:
    true = positions(y, names, who)
    if len(true) != rows:
        raise ParameterError(
            f"{who}: y must have a label for each of the {rows} rows of the posteriors; got "
            f"{len(true)}.",
            hint="Give both for the same cases",
        )
    return true
