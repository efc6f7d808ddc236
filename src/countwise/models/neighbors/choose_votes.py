"""Choose by leave-one-out log loss how many neighbors vote, how, and beside how many imagined.

One search finds the neighbors of every row among the others; the votes of every k come from one
walk through each list. Where a space without a row cannot be found by subtraction (a covariance or
learned attribute weights), the rows are compared in the space of all rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.models.choose_smoothing import AMOUNTS, FEWEST_ROWS, some_rows, sorted_keys
from countwise.models.neighbors.index import Index
from countwise.models.neighbors.leave_one_out import must_relearn, nearest_without_each_row
from countwise.models.neighbors.search import Search
from countwise.models.neighbors.space import Space
from countwise.models.neighbors.votes import SCHEMES, Scheme, Voters, score_votes
from countwise.tables.table import Table
from countwise.tables.weights import whole_repeats

if TYPE_CHECKING:
    from countwise.models.neighbors.classifier import Neighbors

#: The numbers of neighbors that are tried.
TRIED = (1, 2, 3, 4, 5, 7, 10, 14, 20, 28, 40)
#: Of more rows, so many are judged, among the others of so many.
MOST_ROWS, SEARCHED_ROWS = 5_000, 50_000
#: Mean losses closer than this are equal: the order of the rows must not decide.
_EQUAL = 1e-9


def choose_votes(
    model: Neighbors, table: Table, weight: FloatArray | None, space: Space
) -> tuple[int, Scheme, float]:
    """Return the k, the weights and the imagined votes of the least loss, where they are to choose.

    Of equal ones the first that are tried are taken.
    """
    # A row of weight 3 is three rows, of which one is left out at a time.
    repeats = None if weight is None else whole_repeats(weight)
    total = len(table) if repeats is None else int(repeats.sum())
    number, amount = model.n_neighbors, model.smoothing
    ks = [k for k in TRIED if k < total] or [1] if number == "auto" else [int(number)]
    schemes: tuple[Scheme, ...] = (model.weights or "uniform",)
    if number == "auto" and model.weights is None:
        schemes = SCHEMES
    amounts: tuple[float, ...] = (model.usual_smoothing,)
    if amount != "auto":
        amounts = (float(amount),)
    elif total >= FEWEST_ROWS:
        amounts = AMOUNTS
    if len(ks) * len(schemes) * len(amounts) == 1 or total < 2:
        return ks[0], schemes[0], amounts[0]
    if total > SEARCHED_ROWS:
        table, weight = some_rows(table, weight, repeats, SEARCHED_ROWS)
        if repeats is not None and weight is not None:
            repeats = whole_repeats(weight)
    if repeats is not None:
        table, weight = table.take(np.repeat(np.arange(len(table)), repeats)), None
    rows = _judged_rows(table)
    present, label = np.unique(table.target, return_inverse=True)
    voters = Voters.of_classes(label, len(present), weight)
    if must_relearn(model):
        index = Index(Search(space, table), voters)
        found = index.nearest(table.take(rows), ks[-1], rows)
    else:
        powers = (float(model.p),)
        found = nearest_without_each_row(model, table, weight, voters, ks[-1], powers, only=rows)[0]
    judged = np.ones(len(rows)) if weight is None else weight[rows]
    truth = label[rows]
    losses = np.array(
        [
            [
                score_votes(found, voters, ks, truth, judged, scheme, imagined, judged)[2]
                for imagined in amounts
            ]
            for scheme in schemes
        ]
    )
    losses /= judged.sum()
    first = int((losses <= losses.min() + _EQUAL).argmax())
    by, beside, at = np.unravel_index(first, losses.shape)
    return ks[at], schemes[by], amounts[beside]


def _judged_rows(table: Table) -> NDArray[np.int64]:
    """Return all rows, or some that follow from what is in them, not from where they stand."""
    if len(table) <= MOST_ROWS:
        return np.arange(len(table))
    order = np.argsort(sorted_keys(table), kind="stable")
    return np.sort(order[np.arange(MOST_ROWS) * len(order) // MOST_ROWS])
