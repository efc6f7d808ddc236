"""What is kept of a tree between two levels of its growth: the open nodes and their rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]


@dataclass(frozen=True)
class Open:
    """The open nodes of a level: their rows, sorted by node, and what is known of each node."""

    rows: NDArray[np.int32]
    share: Doubles | None  # how much of the row is here; None: all of it
    edges: NDArray[np.int64]
    number: NDArray[np.int64]  # of the node in the tree
    counts: Doubles
    used: NDArray[np.bool_]


@dataclass(frozen=True)
class Children:
    """What a block of split nodes leaves behind, slots and nodes numbered from its own start."""

    child: NDArray[np.int64]
    counts: Doubles
    still: NDArray[np.bool_]  # which children are open
    rows: NDArray[np.int32]  # of the open children
    share: Doubles | None
    sizes: NDArray[np.int64]
    used: NDArray[np.bool_]


#: The nodes of a block that are split, their columns and thresholds, and their children.
Split = tuple[NDArray[np.int64], NDArray[np.int32], Doubles, Children]


def nothing_open(level: Open) -> Open:
    """Return the level without any open node."""
    none = level.number[:0]
    return Open(level.rows[:0], None, np.zeros(1, np.int64), none, level.counts[:0], level.used[:0])


def next_level(made: list[Children], first: int) -> Open:
    """Put what the blocks left behind together as the next level."""
    still = np.concatenate([part.still for part in made])
    share: Doubles | None = None
    if any(part.share is not None for part in made):
        share = np.concatenate(
            [np.ones(len(part.rows)) if part.share is None else part.share for part in made]
        )
    counts = np.concatenate([part.counts for part in made])
    sizes = np.concatenate([part.sizes for part in made])
    return Open(
        np.concatenate([part.rows for part in made]),
        share,
        np.concatenate([[0], np.cumsum(sizes)]),
        first + np.flatnonzero(still),
        counts[still],
        np.concatenate([part.used for part in made]),
    )
