"""Votes of the nearest rows: who has a say, how much, and what happens where places run out.

A row of weight w takes w places among the k, at least one, and its vote weighs w: an integer weight
equals repeating the row. Rows that are equally far share the places that are left, each the same
part of its vote, so that neither the order of the rows nor a random draw decides. Distances within
`SAME` of each other, relatively, are equal: that is what rounding can do to a sum over columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.errors import ParameterError
from countwise.models.neighbors._votes import Poll, reaches, shares
from countwise.models.neighbors.space import STEEP
from countwise.parallel import in_chunks

Rows = NDArray[np.int64]
Scheme = str | Callable[[FloatArray], FloatArray]

#: Distances that differ by less, relatively, are equal.
SAME = 1e-14
#: Queries whose votes are summed up together.
BLOCK = 1 << 12
#: How much a neighbour's vote weighs, in the order of the kernel's codes.
SCHEMES = ("uniform", "distance", "squared", "rank", "kernel")


@dataclass(frozen=True, eq=False)
class Electorate:
    """The kept rows as voters: what each votes for (columns), and how many places it takes.

    For classes a ballot is the row's weight, and `label` says which of the `classes` it is for; for
    numbers there are two columns, weight × target and weight, whose ratio is a mean.
    """

    ballots: FloatArray
    places: FloatArray
    label: Rows | None = None
    classes: int = 1

    @classmethod
    def of_classes(cls, label: Rows, classes: int, weight: FloatArray | None) -> Electorate:
        """Rows that vote for their class with their weight."""
        own = np.ones(len(label)) if weight is None else weight
        places = own if weight is None else np.maximum(own, 1.0)
        return cls(own[:, None], places, label, classes)

    @property
    def width(self) -> int:
        """How many sums the votes have."""
        return int(self.ballots.shape[1]) * self.classes

    def total(self) -> FloatArray:
        """The votes of all rows together."""
        if self.label is None:
            return np.asarray(self.ballots.sum(axis=0))
        return np.bincount(self.label, self.ballots[:, 0], self.classes).astype(np.float64)

    def take(self, rows: NDArray[np.intp]) -> Electorate:
        """Some of the rows."""
        label = None if self.label is None else self.label.take(rows)
        ballots = self.ballots.take(rows, axis=0)
        places = ballots[:, 0] if self._plain else self.places.take(rows)
        return Electorate(ballots, places, label, self.classes)

    @property
    def _plain(self) -> bool:
        """Whether places and weights are the same array."""
        return self.label is not None and np.shares_memory(self.ballots, self.places)


@dataclass(frozen=True, eq=False)
class Found:
    """The nearest rows of some queries, nearest first, with their distances.

    `edge` holds the ballots (columns) and places (last column) of all rows that are as far as the
    last one listed, for queries where the list ended among equals; NaN for the others.
    """

    who: Rows
    far: FloatArray
    edge: FloatArray


def beyond(far: FloatArray, p: float) -> tuple[FloatArray, FloatArray]:
    """Bounds within which powers of distances count as equal to these."""
    slack = SAME * (1.0 if p > STEEP else p)
    return far * (1.0 - slack), far * (1.0 + slack)


def voted(found: Found, electorate: Electorate, k: float, scheme: Scheme = "uniform") -> FloatArray:
    """Return the sum of ballots of each query's k nearest rows, weighted by the scheme."""
    return voted_by_k(found, electorate, (k,), scheme)[:, 0]


def voted_by_k(
    found: Found, electorate: Electorate, ks: Sequence[float], scheme: Scheme = "uniform"
) -> FloatArray:
    """Return the sums of ballots (queries × k × ballots) of several k, ascending, off one list."""
    pieces = []
    for poll, many in _polls(found, electorate, ks, scheme):
        sums = np.empty((len(found.who), many, electorate.width))
        in_chunks(len(sums), BLOCK, partial(_summed, poll, sums))
        pieces.append(sums)
    return pieces[0] if len(pieces) == 1 else np.concatenate(pieces, axis=1)


def verdicts(
    found: Found,
    electorate: Electorate,
    ks: Sequence[float],
    truth: Rows,
    weight: FloatArray,
    scheme: Scheme = "uniform",
) -> tuple[FloatArray, FloatArray]:
    """Return, for several k, ascending, how much weight the largest vote decides right.

    The second figure is what a roulette wheel over the votes gets right on average. Where no vote
    weighs anything all neighbours have the same say; of equal votes the first class has it.
    """
    true = np.ascontiguousarray(truth, dtype=np.int64)
    own = np.ascontiguousarray(weight, dtype=np.float64)
    blocks = -(-len(true) // BLOCK)
    right, hoped = [], []
    for poll, many in _polls(found, electorate, ks, scheme):
        # One line a block, summed up in order: the number of threads does not show.
        hits, hopes = np.zeros((blocks, many)), np.zeros((blocks, many))
        in_chunks(len(true), BLOCK, partial(_judged, poll, true, own, hits, hopes))
        right.append(hits.sum(axis=0))
        hoped.append(hopes.sum(axis=0))
    return np.concatenate(right), np.concatenate(hoped)


def shares_of_votes(votes: FloatArray) -> FloatArray:
    """Divide each line of votes by its sum; lines without a vote stay as they are."""
    made = np.array(votes, dtype=np.float64, order="C")
    shares(made)
    return made


def _polls(
    found: Found, electorate: Electorate, ks: Sequence[float], scheme: Scheme
) -> Iterator[tuple[Poll, int]]:
    """The lists as the kernel reads them, with so many of the k in turn."""
    who = np.ascontiguousarray(found.who, dtype=np.int64)
    far = np.ascontiguousarray(found.far, dtype=np.float64)
    edge = np.ascontiguousarray(found.edge, dtype=np.float64)
    ballots = np.ascontiguousarray(electorate.ballots, dtype=np.float64)
    places = np.ascontiguousarray(electorate.places, dtype=np.float64)
    wanted = np.array(ks, dtype=np.float64)
    label, classes = electorate.label, electorate.classes
    if not callable(scheme):
        code = SCHEMES.index(scheme)
        yield Poll(who, far, edge, ballots, places, wanted, code, SAME, label, classes), len(wanted)
        return
    # A function may look at all it is given, so it is asked for each k as if there were no other.
    for place, k in enumerate(wanted):
        reach = np.empty(len(who))
        reaches(who, far, places, k, reach)
        own, at_reach = _own(scheme, far, reach)
        one = wanted[place : place + 1]
        code = len(SCHEMES)
        yield (
            Poll(who, far, edge, ballots, places, one, code, SAME, label, classes, own, at_reach),
            1,
        )


def _summed(poll: Poll, sums: FloatArray, start: int, stop: int) -> None:
    poll.sums(start, stop, sums)


def _judged(
    poll: Poll,
    truth: Rows,
    weight: FloatArray,
    right: FloatArray,
    hoped: FloatArray,
    start: int,
    stop: int,
) -> None:
    block = start // BLOCK
    poll.verdicts(start, stop, truth, weight, right[block], hoped[block])


def _own(
    scheme: Callable[[FloatArray], FloatArray], far: FloatArray, reach: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """A user's weights, of all distances at once, as scikit-learn asks them."""
    asked = np.concatenate([far, reach[:, None]], axis=1)
    made = np.asarray(scheme(asked))
    both = made.astype(np.float64) if made.dtype.kind in "biuf" else np.empty(0)
    if both.shape != asked.shape or not np.all(np.isfinite(both)) or np.any(both < 0):
        raise ParameterError(
            "Neighbors: a function as weights must return one finite weight, not negative, for "
            f"each distance, but an array of {made.dtype} with shape {made.shape} came for "
            f"distances with shape {asked.shape}, or some weights are not finite or below 0."
        )
    return np.ascontiguousarray(both[:, :-1]), np.ascontiguousarray(both[:, -1])
