"""One temperature for the scores of a counted model, from rows scored without themselves.

Naive Bayes and its relatives count shared evidence twice, and are too sure of themselves. Divided
by one number, the temperature, their scores keep their order, and the probabilities become honest.
The number is found by leave-one-out: every row is scored by the counts without it. The cuts and the
structure of the model stay as they are, and nothing is fitted again.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.numeric import log_softmax, softmax
from countwise.tables.table import Table

#: From larger tables so many rows are taken, evenly spaced: one number needs no more.
MOST_ROWS = 5_000
#: One hopeless row must not decide: no class is taken to be farther behind the best than this.
CAP = 20.0
#: The log loss of all rows must fall by more than this; by chance it falls by a half.
LEAST_GAIN = 2.0
#: Temperatures outside of this range are not looked for.
_COLDEST, _HOTTEST = 0.2, 50.0
_STEPS = 60


def sample_rows(
    table: Table, weight: FloatArray | None, rows: NDArray[np.intp] | None
) -> tuple[Table, FloatArray]:
    """Return rows with a class and a weight, evenly spaced if there are many, and their weights."""
    given = np.ones(len(table)) if weight is None else weight
    useful = (table.target < table.target_column.width) & (given > 0)
    rows = np.flatnonzero(useful) if rows is None else rows[useful[rows]]
    if len(rows) > MOST_ROWS:
        rows = rows[np.linspace(0, len(rows) - 1, MOST_ROWS).astype(np.intp)]
    return (table if len(rows) == len(table) else table.take(rows)), given[rows]


def find_temperature(scores: FloatArray, truth: NDArray[np.intp], weight: FloatArray) -> float:
    """Return the temperature with the least log loss of these scores, or 1 if it gains too little.

    `scores` (rows × classes) are log probabilities of rows left out. Rows of a class that is
    impossible without them say nothing about the temperature.

    Examples
    --------
    >>> scores = np.log([[0.999, 0.001], [0.001, 0.999]] * 50)
    >>> truth = np.array([0, 1] * 40 + [1, 0] * 10)
    >>> round(find_temperature(scores, truth, np.ones(100)), 2)
    4.98
    """
    possible = np.isfinite(scores[np.arange(len(scores)), truth])
    scores, truth, weight = scores[possible], truth[possible], weight[possible]
    if not len(scores):
        return 1.0
    # Weights may be shares that sum to one: there are at least as many rows as lines.
    weight = weight * max(1.0, len(weight) / float(weight.sum()))
    behind = np.maximum(scores - scores.max(axis=1, keepdims=True), -CAP)
    true = behind[np.arange(len(truth)), truth]

    def slope(share: float) -> float:
        expected = (softmax(behind * share) * behind).sum(axis=1)
        return float((weight * (expected - true)).sum())

    # The loss is convex in one over the temperature: its slope changes sign once.
    low, high = 1 / _HOTTEST, 1 / _COLDEST
    for _ in range(_STEPS):
        middle = (low * high) ** 0.5
        if middle in (low, high):
            break
        low, high = (middle, high) if slope(middle) < 0 else (low, middle)
    best = (low * high) ** 0.5
    loss = [-(weight * log_softmax(behind * share)[np.arange(len(truth)), truth]).sum()
            for share in (1.0, best)]  # fmt: skip
    return float(1 / best) if loss[0] - loss[1] > LEAST_GAIN else 1.0


def temper_left_out(posteriors: FloatArray, table: Table, weight: FloatArray | None) -> FloatArray:
    """Return posteriors of rows left out at the temperature that they themselves have."""
    given = np.ones(len(table)) if weight is None else weight
    with np.errstate(divide="ignore"):
        scores = np.log(posteriors)
    known = (table.target < posteriors.shape[1]) & (given > 0)
    temperature = find_temperature(scores[known], table.target[known].astype(np.intp), given[known])
    return posteriors if temperature == 1.0 else softmax(scores / temperature)
