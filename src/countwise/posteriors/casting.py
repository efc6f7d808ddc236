"""How posteriors become votes: whole ones for the largest, the posterior itself, or one drawn.

A vote is a count: votes divided by their sum are a posterior, and its argmax is the majority.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from countwise.counts.row_keys import uniforms

Doubles = NDArray[np.float64]

#: What a member may do with its posterior.
CASTS = ("majority", "mean", "roulette")


def cast(
    posteriors: Doubles, how: str, keys: NDArray[np.uint64] | None, seed: int, member: int
) -> Doubles:
    """Return one member's vote for each row, rows × classes, each row summing to one."""
    if how == "mean":
        return posteriors
    if how == "roulette":
        assert keys is not None  # whoever draws has keys
        return drawn(posteriors, uniforms(keys, seed, member))
    return whole_votes(posteriors)


def whole_votes(scores: Doubles, slack: float = 0.0) -> Doubles:
    """Return one for the first largest of each row, nought for the others.

    Scores that differ by no more than `slack` are taken as equal.
    """
    votes = np.zeros(scores.shape)
    near = scores >= scores.max(axis=1, keepdims=True) - slack
    votes[np.arange(len(scores)), near.argmax(axis=1)] = 1.0
    return votes


def drawn(posteriors: Doubles, ball: Doubles) -> Doubles:
    """Return one for the class on whose part of the wheel the ball of each row falls."""
    wheel = np.cumsum(posteriors, axis=1)
    place = (wheel <= (ball * wheel[:, -1])[:, None]).sum(axis=1)
    votes = np.zeros(posteriors.shape)
    votes[np.arange(len(votes)), np.minimum(place, posteriors.shape[1] - 1)] = 1.0
    return votes
