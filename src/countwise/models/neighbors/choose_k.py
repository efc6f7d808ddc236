"""Choose how many neighbors vote, and by which weights, by leave-one-out log loss.

One search finds the neighbors of every row among the others; the votes of every k come from one
walk through each list. Where a space without a row cannot be found by subtraction (a covariance or
learned attribute weights), the rows are compared in the space of all rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from countwise._typing import FloatArray
from countwise.counts.row_hash import row_keys
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
#: Of more rows, so many are judged.
MOST_ROWS = 5_000
#: Mean losses closer than this are equal: the order of the rows must not decide.
_EQUAL = 1e-9


def choose_k_and_weights(
    model: Neighbors, table: Table, weight: FloatArray | None, space: Space
) -> tuple[int, Scheme]:
    """Return the k and the weights of the least loss; of equal ones the first that are tried."""
    schemes: tuple[Scheme, ...] = SCHEMES if model.weights is None else (model.weights,)
    # A row of weight 3 is three rows, of which one is left out at a time.
    if weight is not None and (repeats := whole_repeats(weight)) is not None:
        table, weight = table.take(np.repeat(np.arange(len(table)), repeats)), None
    ks = [k for k in TRIED if k < len(table)]
    if not ks:
        return 1, schemes[0]
    present, label = np.unique(table.target, return_inverse=True)
    voters = Voters.of_classes(label, len(present), weight)
    rows = np.arange(len(table))
    if len(table) > MOST_ROWS:  # chosen by what is in them, not by where they stand
        rows = np.sort(np.argsort(row_keys(table, target=True), kind="stable")[:MOST_ROWS])
    if must_relearn(model):
        index = Index(Search(space, table), voters)
        found = index.nearest(table.take(rows), ks[-1], rows)
    else:
        powers = (float(model.p),)
        found = nearest_without_each_row(model, table, weight, voters, ks[-1], powers, only=rows)[0]
    judged = np.ones(len(rows)) if weight is None else weight[rows]
    losses = np.stack(
        [
            score_votes(
                found,
                voters,
                ks,
                label[rows],
                judged,
                scheme,
                float(model.smoothing or 0.0),
                judged,
            )[2]
            for scheme in schemes
        ]
    )
    losses /= judged.sum()
    by, at = np.unravel_index(int((losses <= losses.min() + _EQUAL).argmax()), losses.shape)
    return ks[at], schemes[by]
