"""Stored rows in a space: the k nearest of each query, and their votes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.models.neighbors.search import Search
from countwise.models.neighbors.votes import Nearest, Scheme, Voters, sum_votes, tie_bounds
from countwise.tables.table import Table

Rows = NDArray[np.int64]

#: Queries whose lists are held at a time.
BLOCK = 1 << 14


@dataclass(frozen=True, eq=False)
class Index:
    """A search among stored rows, and what each of them votes for."""

    search: Search
    voters: Voters

    def sum_votes(self, rows: Table, k: int, scheme: Scheme = "uniform") -> FloatArray:
        """Sum up the ballots of the k nearest rows; where none weighs anything, all alike."""
        sums = [
            sum_votes(self.nearest(block, k), self.voters, (float(k),), scheme)[:, 0]
            for block in rows.blocks(BLOCK)
        ]
        votes = np.concatenate(sums) if sums else np.zeros((0, self.voters.width))
        silent = np.flatnonzero(~(self.voters.weight_of(votes) > 0))
        if len(silent) and scheme != "uniform":
            votes[silent] = self.sum_votes(rows.take(silent), k)
        return votes

    def nearest(self, rows: Table, k: int, skip: Rows | None = None) -> Nearest:
        """Find the k nearest rows of each query, and what is just as far as the k-th place."""
        available = self.search.rows - (0 if skip is None else 1)
        size = min(k, available)
        more = min(k + 1, available)
        who, powers = self.search.nearest(rows, more, skip)
        edge = np.full((len(rows), self.voters.width + 1), np.nan)
        reach = powers[np.arange(len(powers)), self._last_place(who[:, :size], k)]
        low, high = tie_bounds(reach, self.search.space.p)
        if more > size:
            tied = np.flatnonzero(powers[:, size] <= high)
            if len(tied):
                skipped = None if skip is None else skip[tied]
                edge[tied] = self._sum_ties(rows.take(tied), low[tied], high[tied], skipped)
        far = self.search.space.to_distances(powers[:, :size])
        return Nearest(np.ascontiguousarray(who[:, :size]), far, edge)

    def _last_place(self, who: Rows, k: int) -> NDArray[np.intp]:
        """Return which listed row takes the last of k places; heavy rows take several."""
        last = np.full(len(who), who.shape[1] - 1)
        if self.voters.places.max(initial=1.0) <= 1.0:
            return last
        full = np.cumsum(self.voters.places[who], axis=1) >= k - 1e-9
        return np.where(full[:, -1], full.argmax(axis=1), last)

    def _sum_ties(
        self, rows: Table, low: FloatArray, high: FloatArray, skip: Rows | None
    ) -> FloatArray:
        """Sum up ballots and places of all rows whose power of the distance is within bounds."""
        search, voters = self.search, self.voters
        columns: list[FloatArray] = []
        others = [*voters.ballots.T, voters.places]
        if voters.label is not None:
            weight = voters.ballots[:, 0]
            sums = search.tally(rows, low, high, voters.label, weight, voters.width, skip)
            if np.shares_memory(weight, voters.places) or np.array_equal(weight, voters.places):
                return np.concatenate([sums, sums.sum(axis=1, keepdims=True)], axis=1)
            columns, others = [sums], [voters.places]
        one = np.zeros(search.rows, dtype=np.int64)
        for values in others:
            column = np.ascontiguousarray(values)
            columns.append(search.tally(rows, low, high, one, column, 1, skip))
        return np.concatenate(columns, axis=1)
