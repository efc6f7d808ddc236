"""The rows that members of an ensemble draw: stored as a seed, drawn again block by block.

A row of weight 3 has three slots, as three rows would have. Slots are dealt to members in blocks of
1024: how many draws fall into each block is drawn first, then where in the block they fall. Blocks
are drawn again whenever they are needed, so that a million members take no room.

Of rows outside memory nobody knows how many there are. Each has a Poisson number of draws, which
follows from a hash of where it is: in any order of rows, and in any part of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from countwise.counts.engines import _resampling
from countwise.errors import CountsError

#: Whole weights stand for repeated rows up to this many of them.
MOST_SLOTS = 1 << 28

LANES: int = _resampling.LANES
SLOTS: int = _resampling.SLOTS

Times = NDArray[np.uint32]


@dataclass(frozen=True, eq=False)
class Draws:
    """The draws of some members from the rows of a table."""

    rows: int
    members: int
    size: int  # how many rows a member draws
    seed: int
    replace: bool
    slots: int
    in_block: NDArray[np.int32]  # blocks × members
    edges: NDArray[np.int64] | None = None  # the first slot of each row; None: one slot a row

    def lanes(self, member: int) -> NDArray[np.int32]:
        """Return how many draws of the members that are served together fall into each block."""
        return np.ascontiguousarray(self.in_block[:, member : member + LANES])

    def times(self, member: int) -> Times:
        """Return how often one member drew each row."""
        return self.between(member, member + 1, 0, self.rows)[:, 0]

    def between(self, first: int, last: int, low: int, high: int) -> Times:
        """Return how often members from `first` to `last` drew the rows from `low` to `high`."""
        times = np.zeros((high - low, last - first), dtype=np.uint32)
        if high <= low:
            return times
        begin, end = (low, high) if self.edges is None else self.edges[[low, high]].tolist()
        for member in range(first, last, LANES):
            some = slice(member, min(member + LANES, last))
            out = np.zeros((high - low, some.stop - some.start), dtype=np.uint32)
            _resampling.multiplicities(
                self.edges,
                begin // SLOTS,
                min(-(-end // SLOTS), len(self.in_block)),
                self.slots,
                self.seed,
                member,
                np.ascontiguousarray(self.in_block[:, some]),
                self.replace,
                low,
                high,
                out,
            )
            times[:, some.start - first : some.stop - first] = out
        return times


@dataclass(frozen=True, eq=False)
class Proportional:
    """Draws with replacement in proportion to weights that are not whole numbers."""

    rows: int
    members: int
    size: int
    seed: int
    weight: NDArray[np.float64]

    def times(self, member: int) -> Times:
        """Return how often one member drew each row."""
        edge = np.cumsum(self.weight)
        ball = np.random.default_rng([self.seed, member]).random(self.size) * edge[-1]
        place = np.searchsorted(edge, ball, side="right")
        last = int(np.flatnonzero(self.weight)[-1])
        found = np.bincount(np.minimum(place, last), minlength=self.rows)
        return found.astype(np.uint32)

    def between(self, first: int, last: int, low: int, high: int) -> Times:
        """Return how often members from `first` to `last` drew the rows from `low` to `high`."""
        return np.stack([self.times(member)[low:high] for member in range(first, last)], axis=1)


def draws_by_hash(
    hashes: NDArray[np.uint64], fraction: float, replace: bool = True
) -> NDArray[np.intp]:
    """Return for each hash a Poisson number with this mean; without `replace` at most one draw."""
    if not replace:
        return ((hashes >> np.uint64(11)) * 2.0**-53 < fraction).astype(np.intp)
    return np.searchsorted(_poisson_edges(fraction), hashes, side="right")


@lru_cache(maxsize=8)
def _poisson_edges(mean: float) -> NDArray[np.uint64]:
    """Return the smallest hashes that stand for 1, 2, 3 … draws."""
    edges: list[int] = []
    chance, below = math.exp(-mean), 0.0
    while (edge := int((below + chance) * 2.0**64)) < 2**64 and edge not in edges:
        edges.append(edge)
        below += chance
        chance *= mean / len(edges)
    return np.array(edges, dtype=np.uint64)


def draws_of(
    rows: int,
    members: int,
    seed: int,
    fraction: float = 1.0,
    replace: bool = True,
    weight: NDArray[np.float64] | None = None,
) -> Draws | Proportional:
    """Let each member draw a fraction of the rows, in proportion to weights where given."""
    # A row of whole weight is drawn from as if it were repeated.
    edges = None
    slots = rows
    if weight is not None and (np.any(weight % 1 != 0) or weight.sum() > MOST_SLOTS):
        if not replace:
            raise CountsError(
                "draws: rows of fractional weight can be drawn only with replacement; got "
                "`replace=False`.",
                hint=("give whole weights", "leave `replace=` out"),
            )
        return Proportional(rows, members, max(1, round(fraction * rows)), seed, weight)
    if weight is not None:
        if rows and weight.min() < 1:
            raise CountsError(
                "draws: whole weights must be at least 1; got rows of weight 0.",
                hint="Leave them out",
            )
        edges = np.concatenate([[0], np.cumsum(weight.astype(np.int64))])
        slots = int(edges[-1])
    size = max(1, round(fraction * slots))
    blocks = -(-slots // SLOTS)
    room = np.full(blocks, SLOTS, dtype=np.int64)
    room[-1] = slots - (blocks - 1) * SLOTS
    dealt = np.empty((blocks, members), dtype=np.int32)
    for member in range(members):
        stream = np.random.default_rng([seed, member])
        if blocks == 1:
            dealt[0, member] = size
        elif replace:
            dealt[:, member] = stream.multinomial(size, room / slots)
        else:
            dealt[:, member] = stream.multivariate_hypergeometric(room, size, method="marginals")
    return Draws(rows, members, size, seed, replace, slots, dealt, edges)
