"""Votes of the nearest rows: who has a say, how much, and what happens where places run out.

A row of weight w takes w places among the k, at least one, and its vote weighs w: an integer weight
equals repeating the row. Rows that are equally far share the places that are left, each the same
part of its vote, so that neither the order of the rows nor a random draw decides. Distances within
`SAME` of each other, relatively, are equal: that is what rounding can do to a sum over columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from countwise.errors import ParameterError

__all__ = ["SAME", "SCHEMES", "Electorate", "Found", "beyond", "voted"]

Doubles = NDArray[np.float64]
Rows = NDArray[np.int64]
Scheme = str | Callable[[Doubles], Doubles]

#: Distances that differ by less, relatively, are equal.
SAME = 1e-14
#: How much a neighbour's vote weighs.
SCHEMES = ("uniform", "distance", "squared", "rank", "kernel")


@dataclass(frozen=True, eq=False)
class Electorate:
    """The kept rows as voters: what each votes for (columns), and how many places it takes.

    For classes a row votes with its weight in the column of its class; for numbers there are two
    columns, weight × target and weight, whose ratio is a mean.
    """

    ballots: Doubles
    places: Doubles

    @property
    def width(self) -> int:
        """How many columns a ballot has."""
        return int(self.ballots.shape[1])


@dataclass(frozen=True, eq=False)
class Found:
    """The nearest rows of some queries, nearest first, with their distances.

    `edge` holds the ballots (columns) and places (last column) of all rows that are as far as the
    last one listed, for queries where the list ended among equals; NaN for the others.
    """

    who: Rows
    far: Doubles
    edge: Doubles


def beyond(far: Doubles, p: float) -> tuple[Doubles, Doubles]:
    """Bounds within which powers of distances count as equal to these.

    Examples
    --------
    >>> low, high = beyond(np.array([4.0]), 2.0)
    >>> bool(low[0] < 4.0 < high[0])
    True
    """
    slack = SAME * (1.0 if math.isinf(p) else p)
    return far * (1.0 - slack), far * (1.0 + slack)


def voted(found: Found, electorate: Electorate, k: float, scheme: Scheme = "uniform") -> Doubles:
    """Return the sum of ballots of each query's k nearest rows, weighted by the scheme.

    Examples
    --------
    Two rows equally far share the second place:

    >>> voters = Electorate(np.eye(3), np.ones(3))
    >>> found = Found(np.array([[0, 1, 2]]), np.array([[1.0, 2.0, 2.0]]), np.full((1, 4), np.nan))
    >>> voted(found, voters, 2).tolist()
    [[1.0, 0.5, 0.5]]
    """
    places = electorate.places[found.who]
    taken = np.cumsum(places, axis=1)
    # The place at which k is reached; lists that are too short end with their last row.
    last = np.minimum((taken < k - 1e-9).sum(axis=1), found.who.shape[1] - 1)
    line = np.arange(len(last))
    reach = found.far[line, last]
    with np.errstate(invalid="ignore"):
        nearer = found.far < (reach * (1.0 - SAME))[:, None]
        tied = ~nearer & (found.far <= (reach * (1.0 + SAME))[:, None])
    inside = (places * nearer).sum(axis=1)
    open_end = tied[:, -1] & ~np.isnan(found.edge[:, -1])
    equals = np.where(open_end, found.edge[:, -1], (places * tied).sum(axis=1))
    left = np.maximum(k - inside, 0.0)
    share = np.minimum(np.divide(left, equals, out=np.zeros_like(left), where=equals > 0), 1.0)
    value, at_reach = _values(found.far, reach, nearer, tied, places, inside, equals, k, scheme)
    say = np.where(nearer, value, 0.0)
    # Where all equals are in the list they vote one by one, otherwise by their sum.
    say = say + np.where(tied & ~open_end[:, None], (share * at_reach)[:, None], 0.0)
    sums = np.einsum("qk,qkc->qc", say, electorate.ballots[found.who])
    edge = np.where(open_end[:, None], found.edge[:, :-1], 0.0)
    return np.asarray(sums + (share * at_reach)[:, None] * edge)


def _values(
    far: Doubles,
    reach: Doubles,
    nearer: NDArray[np.bool_],
    tied: NDArray[np.bool_],
    places: Doubles,
    inside: Doubles,
    equals: Doubles,
    k: float,
    scheme: Scheme,
) -> tuple[Doubles, Doubles]:
    """What a vote weighs by the distance: of nearer rows, and of those at the reach."""
    if callable(scheme):
        return _own(scheme, far, reach)
    if scheme == "uniform":
        return np.ones_like(far), np.ones_like(reach)
    if scheme == "rank":
        return _ranked(far, nearer, places, inside, equals, k)
    if scheme == "kernel":
        with np.errstate(invalid="ignore", divide="ignore"):
            ratio = np.where(reach[:, None] > 0, far / reach[:, None], 0.0)
        bumps = np.exp(-0.5 * np.where(np.isfinite(ratio), ratio, 1.0) ** 2)
        return bumps, np.full_like(reach, math.exp(-0.5))
    return _inverse(far, reach, 1 if scheme == "distance" else 2)


def _inverse(far: Doubles, reach: Doubles, power: int) -> tuple[Doubles, Doubles]:
    """1/d or 1/d², relative to the nearest: rows at distance 0 alone vote where there are any."""
    nearest = far[:, 0]
    with np.errstate(invalid="ignore", divide="ignore"):
        value = np.where(far > 0, (nearest[:, None] / far) ** power, 1.0)
        at_reach = np.where(reach > 0, (nearest / reach) ** power, 1.0)
    # Everything is infinitely far: nobody is nearer than anybody else.
    return np.nan_to_num(value, nan=1.0), np.nan_to_num(at_reach, nan=1.0)


def _ranked(
    far: Doubles,
    nearer: NDArray[np.bool_],
    places: Doubles,
    inside: Doubles,
    equals: Doubles,
    k: float,
) -> tuple[Doubles, Doubles]:
    """The first place weighs k, the next k - 1 and so on; equals share what their places weigh."""
    before = np.cumsum(places, axis=1) - places
    start, stop = before.copy(), before + places
    size = far.shape[1]
    with np.errstate(invalid="ignore"):
        same = far[:, 1:] <= far[:, :-1] * (1.0 + SAME)
    for at in range(1, size):
        start[:, at] = np.where(same[:, at - 1], start[:, at - 1], start[:, at])
    for at in range(size - 2, -1, -1):
        stop[:, at] = np.where(same[:, at], stop[:, at + 1], stop[:, at])
    value = _steps(start, stop, k)
    filled = np.minimum(equals, k - inside)
    at_reach = _steps(inside, inside + filled, k)
    return np.where(nearer, value, 0.0), at_reach


def _steps(start: Doubles, stop: Doubles, k: float) -> Doubles:
    """The mean weight of the places from start to stop."""

    def total(t: Doubles) -> Doubles:
        return k * t - t * (t - 1.0) / 2.0

    width = stop - start
    return np.divide(
        total(stop) - total(start), width, out=np.full_like(width, 1.0), where=width > 0
    )


def _own(
    scheme: Callable[[Doubles], Doubles], far: Doubles, reach: Doubles
) -> tuple[Doubles, Doubles]:
    """A user's weights, of all distances at once, as scikit-learn asks them."""
    asked = np.concatenate([far, reach[:, None]], axis=1)
    both = np.asarray(scheme(asked), dtype=np.float64)
    if both.shape != asked.shape or not np.all(np.isfinite(both)) or np.any(both < 0):
        raise ParameterError(
            "Neighbors: a function as weights must return one finite weight, not negative, for "
            f"each distance, but an array with shape {both.shape} came for distances with shape "
            f"{asked.shape}, or some weights are not finite or below 0."
        )
    return both[:, :-1], both[:, -1]
