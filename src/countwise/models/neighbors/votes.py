"""Votes of the nearest rows: how much each counts, and how ties for the last places are settled.

A row of weight w takes w places among the k, at least one, and its vote weighs w: an integer weight
equals repeating the row. Rows that are equally far share the places that are left, each the same
fraction of its vote, so that neither the order of the rows nor a random draw decides. Distances
within `SAME` of each other, relatively, are equal: sums over columns round by so much.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.errors import ParameterError
from countwise.models.neighbors._votes import Poll, reaches, shares, smooth_all
from countwise.models.neighbors.space import STEEP
from countwise.parallel import in_chunks

Rows = NDArray[np.int64]
Scheme = str | Callable[[FloatArray], FloatArray]

#: Distances that differ by less, relatively, are equal.
SAME = 1e-14
#: Queries whose votes are summed up together.
BLOCK = 1 << 12
#: How much the vote of a neighbor weighs, in the order of the kernel's codes.
SCHEMES = ("uniform", "distance", "squared", "rank", "kernel")


@dataclass(frozen=True, eq=False)
class Voters:
    """The stored rows as voters: what each votes for (columns), and how many places it takes.

    For classes a ballot is the weight of the row, and `label` is the class it is for, one of
    `classes`. For numbers there are two columns, weight × target and weight, whose ratio is a mean.
    """

    ballots: FloatArray
    places: FloatArray
    label: Rows | None = None
    classes: int = 1

    @classmethod
    def of_classes(
        cls, label: NDArray[np.integer], classes: int, weight: FloatArray | None
    ) -> Voters:
        """Return voters of which each votes for its class with its weight."""
        ballots = np.ones(len(label)) if weight is None else weight
        places = ballots if weight is None else np.maximum(weight, 1.0)
        return cls(ballots[:, None], places, label.astype(np.int64, copy=False), classes)

    @property
    def width(self) -> int:
        """How many sums the votes have."""
        return int(self.ballots.shape[1]) * self.classes

    def total(self) -> FloatArray:
        """Return the votes of all rows together."""
        if self.label is None:
            return np.asarray(self.ballots.sum(axis=0))
        return np.bincount(self.label, self.ballots[:, 0], self.classes).astype(np.float64)

    def weight_of(self, votes: FloatArray) -> FloatArray:
        """Return the weight behind each line of votes."""
        return np.asarray(votes[:, -1] if self.label is None else votes.sum(axis=1))

    def take(self, rows: NDArray[np.intp]) -> Voters:
        """Return some of the rows."""
        label = None if self.label is None else self.label.take(rows)
        ballots = self.ballots.take(rows, axis=0)
        plain = label is not None and np.shares_memory(self.ballots, self.places)
        places = ballots[:, 0] if plain else self.places.take(rows)
        return Voters(ballots, places, label, self.classes)


@dataclass(frozen=True, eq=False)
class Nearest:
    """The nearest rows of some queries, nearest first, with their distances."""

    who: Rows
    far: FloatArray
    #: Ballots, and places (last column), of all rows as far as the one that takes the last place,
    #: for queries where the list ended among equals; NaN for the others.
    edge: FloatArray


def tie_bounds(far: FloatArray, p: float) -> tuple[FloatArray, FloatArray]:
    """Return bounds within which powers of distances count as equal to these."""
    slack = SAME * (1.0 if p > STEEP else p)
    return far * (1.0 - slack), far * (1.0 + slack)


def sum_votes(
    nearest: Nearest, voters: Voters, ks: Sequence[float], scheme: Scheme = "uniform"
) -> FloatArray:
    """Return the weighted sums of ballots (queries × k × ballots) for several ascending k."""
    pieces = []
    for poll, many in _polls(nearest, voters, ks, scheme):
        sums = np.empty((len(nearest.who), many, voters.width))

        def add(start: int, stop: int, poll: Poll = poll, sums: FloatArray = sums) -> None:
            poll.sums(start, stop, sums)

        in_chunks(len(sums), BLOCK, add)
        pieces.append(sums)
    return pieces[0] if len(pieces) == 1 else np.concatenate(pieces, axis=1)


def score_votes(
    nearest: Nearest,
    voters: Voters,
    ks: Sequence[float],
    truth: Rows,
    weight: FloatArray,
    scheme: Scheme = "uniform",
    imagined: float = 0.0,
    without: FloatArray | None = None,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the weight decided right, by the largest vote and by a roulette wheel, for each k.

    Third comes the log loss. Imagined votes are spread like the classes of all voters, each query
    left out by so much weight (`without`) where it is one of them.
    """
    # Where no vote weighs anything all count alike; of equal votes the first class wins.
    true = np.ascontiguousarray(truth, dtype=np.int64)
    row_weight = np.ascontiguousarray(weight, dtype=np.float64)
    left_out = np.zeros(len(true)) if without is None else np.ascontiguousarray(without)
    blocks, total = -(-len(true) // BLOCK), voters.total()
    found = []
    for poll, many in _polls(nearest, voters, ks, scheme):
        # One line a block, summed up in order: the number of threads does not show.
        sums = np.zeros((3, blocks, many))

        def add(start: int, stop: int, poll: Poll = poll, sums: FloatArray = sums) -> None:
            lines = sums[:, start // BLOCK]
            poll.verdicts(start, stop, true, row_weight, total, left_out, imagined, *lines)

        in_chunks(len(true), BLOCK, add)
        found.append(sums.sum(axis=1))
    right, expected, loss = np.concatenate(found, axis=1)
    return right, expected, loss


def smooth_fractions(
    fractions: FloatArray, prior: FloatArray, k: float, imagined: float
) -> FloatArray:
    """Add imagined votes, spread like the prior, to fractions of k votes.

    Those beyond the first are evened out among the classes as far as they would change a decision.
    """
    posteriors = np.array(fractions, dtype=np.float64, order="C")
    smooth_all(posteriors, np.ascontiguousarray(prior), k, imagined)
    return posteriors


def normalize_votes(votes: FloatArray) -> FloatArray:
    """Divide each line of votes by its sum; lines without a vote stay as they are."""
    fractions = np.array(votes, dtype=np.float64, order="C")
    shares(fractions)
    return fractions


def _polls(
    nearest: Nearest, voters: Voters, ks: Sequence[float], scheme: Scheme
) -> Iterator[tuple[Poll, int]]:
    """Yield the lists as the kernel reads them, with the number of k it answers."""
    who = np.ascontiguousarray(nearest.who, dtype=np.int64)
    far = np.ascontiguousarray(nearest.far, dtype=np.float64)
    edge = np.ascontiguousarray(nearest.edge, dtype=np.float64)
    ballots = np.ascontiguousarray(voters.ballots, dtype=np.float64)
    places = np.ascontiguousarray(voters.places, dtype=np.float64)
    wanted = np.array(ks, dtype=np.float64)
    lists = (who, far, edge, ballots, places)
    label, classes = voters.label, voters.classes
    if not callable(scheme):
        code = SCHEMES.index(scheme)
        yield Poll(*lists, wanted, code, SAME, label, classes), len(wanted)
        return
    # A function may look at all distances at once, so it is called for each k by itself.
    for place, k in enumerate(wanted):
        reach = np.empty(len(who))
        reaches(who, far, places, k, reach)
        weights = _call_scheme(scheme, far, reach)
        one = wanted[place : place + 1]
        yield Poll(*lists, one, len(SCHEMES), SAME, label, classes, *weights), 1


def _call_scheme(
    scheme: Callable[[FloatArray], FloatArray], far: FloatArray, reach: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return a user's weights, of all distances at once, as scikit-learn calls such a function."""
    distances = np.concatenate([far, reach[:, None]], axis=1)
    weights = np.asarray(scheme(distances))
    sound = weights.dtype.kind in "biuf" and weights.shape == distances.shape
    if not sound or not np.all(np.isfinite(weights)) or np.any(weights < 0):
        raise ParameterError(
            "Neighbors: a function as weights must return one finite weight, not negative, for "
            f"each distance; got an array of {weights.dtype} with shape {weights.shape} for "
            f"distances with shape {distances.shape}, or some weights not finite or below 0."
        )
    both = weights.astype(np.float64)
    return np.ascontiguousarray(both[:, :-1]), np.ascontiguousarray(both[:, -1])
