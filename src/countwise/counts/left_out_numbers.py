"""Ranges, spreads and covariance of numeric columns without each row in turn, by subtraction.

Whether a row is left out is a subtraction of its moments from those of all rows. Rows that hold a
good part of a column's spread would leave little but rounding behind; there are few of them (ten
rows cannot each hold more than a tenth), and they are left out by summing up the others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from countwise.counts.embedding import Space
from countwise.counts.metrics import ends, spread_of
from countwise.counts.moments import freedom

Doubles = NDArray[np.float64]

#: A row that leaves less than this of the squares behind is left out by summing up the others.
_LEAST_LEFT = 0.9
#: A row whose covariance has a direction to itself by more than this is learned without.
_LEAST_FREE = 0.1
#: Correlations with a smaller eigenvalue are too near to singular to be changed by subtraction.
_LEAST_EIGENVALUE = 1e-5


def ends_without(values: Doubles) -> tuple[Doubles, Doubles]:
    """The smallest and the largest known value without each row."""
    lowest, highest = ends(values)
    low, high = np.full(len(values), lowest), np.full(len(values), highest)
    known = np.sort(values[~np.isnan(values)])
    if len(known) == 1:
        low[values == lowest] = high[values == lowest] = 0.0
    elif len(known) > 1:  # where several rows share an end, the next one is the same
        low[values == lowest] = known[1]
        high[values == highest] = known[-2]
    return low, high


def variance_without(values: Doubles, weight: Doubles | None) -> Doubles:
    """The sample variance of the known values without each row."""
    made = np.full(len(values), spread_of(values, weight)[1])
    known = np.flatnonzero(~np.isnan(values))
    own = np.ones(len(known)) if weight is None else weight[known]
    total = float(own.sum())
    if total <= 0:
        return made
    gap = values[known] - (values[known] * (own / total)).sum()
    # What rounding left in the mean is taken out: it would enter by its first power.
    gap -= (gap * own).sum() / total
    square = float((own * gap * gap).sum())
    left = total - own
    few = left < total / 2
    held = own * gap * gap * (total / np.where(few, total, left))
    made[known] = np.maximum(square - held, 0.0) / freedom(np.where(few, total, left))
    unsure = few | (square - held < _LEAST_LEFT * square)
    for row in known[unsure]:
        others = known[known != row]
        made[row] = spread_of(values[others], None if weight is None else weight[others])[1]
    return made


@dataclass(frozen=True, eq=False)
class Bent:
    """How Mahalanobis' distance changes when a row is left out, in gaps u whitened by all rows.

    Taking a row away takes a multiple of one outer product away from the covariance, so by Sherman
    & Morrison (1950) distance² = shrink² (|u|² + more (along · u)²). `unsure` rows are not told
    that way: nearly all the spread in some direction is theirs.
    """

    shrink: Doubles
    along: Doubles
    more: Doubles
    unsure: NDArray[np.bool_]


def bent_without(space: Space, values: Doubles, weight: Doubles | None) -> Bent | None:
    """What leaving out each row does to Mahalanobis' distance; None where it must be learned anew.

    `values` holds the numeric columns (columns × rows). Missing numbers stand at means that move,
    and a covariance that was drawn towards its diagonal, or nearly, is not changed by subtraction.
    """
    if space.whitening is None or space.middle is None or space.notes or np.isnan(values).any():
        return None
    own = np.ones(values.shape[1]) if weight is None else weight
    total = float(own.sum())
    gap = values - space.middle[:, None]
    deviation = np.sqrt((gap * gap * own).sum(axis=1) / freedom(total))
    steepest = np.linalg.norm(space.whitening * deviation, 2)
    if steepest**2 > 1.0 / _LEAST_EIGENVALUE:
        return None
    left = total - own
    few = left < total / 2
    left = np.where(few, total, left)
    along = (space.whitening @ gap).T
    part = own * (total / left) / freedom(total)
    free = 1.0 - part * (along * along).sum(axis=1)
    unsure = few | (free < _LEAST_FREE)
    return Bent(
        np.sqrt(freedom(left) / freedom(total)),
        along,
        part / np.where(unsure, 1.0, free),
        unsure,
    )
