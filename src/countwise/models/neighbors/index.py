"""What every model of kept rows shares: a space, a search, and the votes of the nearest rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.models.neighbors.search import Search
from countwise.models.neighbors.space import Space
from countwise.models.neighbors.votes import Electorate, Found, Scheme, beyond, voted
from countwise.tables.table import Table

Rows = NDArray[np.int64]

#: Queries whose lists are held at a time.
BLOCK = 1 << 14


class Kept:
    """Kept rows in a space, with what each votes for."""

    def __init__(self, space: Space, table: Table, electorate: Electorate) -> None:
        self.space, self.table, self.electorate = space, table, electorate
        self.search = Search(space, table)

    def votes(self, rows: Table, k: int, scheme: Scheme = "uniform") -> FloatArray:
        """Sum up the ballots of the k nearest rows."""
        sums = [
            voted(self.found(part, k), self.electorate, float(k), scheme)
            for part in rows.blocks(BLOCK)
        ]
        return np.concatenate(sums) if sums else np.zeros((0, self.electorate.width))

    def found(self, rows: Table, k: int, skip: Rows | None = None) -> Found:
        """Find the k nearest rows, and how many more are as far as the last of them."""
        return found_rows(self.search, self.electorate, rows, k, skip)


def found_rows(
    search: Search, electorate: Electorate, rows: Table, k: int, skip: Rows | None = None
) -> Found:
    """Find the k nearest rows of each query, and what is just as far as the last of them."""
    there = search.rows - (0 if skip is None else 1)
    size = min(k, there)
    more = min(k + 1, there)
    who, powers = search.nearest(rows, more, skip)
    edge = np.full((len(rows), electorate.width + 1), np.nan)
    low, high = beyond(powers[:, size - 1], search.space.p)
    if more > size:
        tied = np.flatnonzero(powers[:, size] <= high)
        if len(tied):
            edge[tied] = _edge(
                search,
                electorate,
                rows.take(tied),
                low[tied],
                high[tied],
                None if skip is None else skip[tied],
            )
    far = search.rooted(powers[:, :size], skip)
    return Found(np.ascontiguousarray(who[:, :size]), far, edge)


def _edge(
    search: Search,
    electorate: Electorate,
    rows: Table,
    low: FloatArray,
    high: FloatArray,
    skip: Any,
) -> FloatArray:
    """Ballots and places of all rows whose power of the distance lies within the bounds."""
    label, places = electorate.label, electorate.places
    if label is not None:
        weight = electorate.ballots[:, 0]
        sums = search.tally(rows, low, high, label, weight, electorate.width, skip)
        if np.shares_memory(weight, places) or np.array_equal(weight, places):
            return np.concatenate([sums, sums.sum(axis=1, keepdims=True)], axis=1)
        columns, others = [sums], [places]
    else:
        columns, others = [], [*electorate.ballots.T, places]
    one = np.zeros(search.rows, dtype=np.int64)
    for own in others:
        column = np.ascontiguousarray(own)
        columns.append(search.tally(rows, low, high, one, column, 1, skip))
    return np.concatenate(columns, axis=1)
