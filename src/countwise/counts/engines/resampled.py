"""Count the rows that the members of an ensemble draw, 64 members in one pass.

A pass adds, for each row, the members' draws as one vector to the cell the row falls in. Rows are
not copied, and what the members drew is made block by block within the pass. Groups of columns are
taken together as far as their tables stay in the caches; further groups get a further pass.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.counts.counts import Counts, sum_out
from countwise.counts.engines import _resampling
from countwise.counts.engines.memory import Jobs, without_unseen
from countwise.counts.moments import Moments
from countwise.counts.plan import Plan
from countwise.counts.resampling import LANES, Draws
from countwise.parallel import blocks, in_threads, threads
from countwise.tables.table import Table

#: Blocks of slots that a thread folds before its tables are merged.
_PART = 256
#: Cells that are filled together: with 64 members they take 24 MB.
_CELLS = 1 << 16
#: A joint table with more cells than this is counted member by member.
_MOST_CELLS = 1 << 19
_MOST_CLASSES = 250

Cells = NDArray[np.uint32]


def in_one_pass(table: Table, plan: Plan) -> bool:
    """Return whether members can be counted together: no fine grids, no table too large."""
    if plan.grids or plan.words or table.target_column.width > _MOST_CLASSES:
        return False
    jobs = Jobs(table, plan, None)
    return all(math.prod(shape) <= _MOST_CELLS for _, shape in jobs.axes)


def fold_resampled(table: Table, plan: Plan, draws: Draws) -> list[Counts]:
    """Count, for every member, the rows it has drawn."""
    jobs = Jobs(table, plan, None)
    counted: list[Counts] = []
    for member in range(0, draws.members, LANES):
        counted += _Pass(jobs, draws, member).counts()
    return counted


class _Pass:
    """The members from `member` on, up to 64 of them."""

    def __init__(self, jobs: Jobs, draws: Draws, member: int) -> None:
        self.jobs, self.draws, self.member = jobs, draws, member
        self.in_block = draws.lanes(member)
        self.members = self.in_block.shape[1]

    def counts(self) -> list[Counts]:
        """Return the counts of each member."""
        jobs, plan = self.jobs, self.jobs.plan
        whole: list[Cells] = []
        moments: list[list[Moments]] = []
        for place, some in enumerate(_batches([shape for _, shape in jobs.axes])):
            columns = plan.moments if place == 0 else ()
            tables, folded = self._fold(some, columns)
            whole += tables
            moments = folded if place == 0 else moments
        tables = [
            without_unseen(cells.reshape(*shape, LANES)[..., : self.members], len(shape))
            for cells, (_, shape) in zip(whole, jobs.axes, strict=True)
        ]
        inside = dict(zip(jobs.groups, tables[1:], strict=True))
        # The members are the last axis of every table.
        sums = {
            names: np.ascontiguousarray(sum_out(inside[joint], (*joint, ""), (*names, "")))
            for names, joint in jobs.inside.items()
        }
        schema, bare = jobs.table.schema, replace(plan, apart=None)
        return [
            Counts(
                schema,
                bare,
                self.draws.size,
                tables[0][..., at].astype(np.float64),
                {names: table[..., at].astype(np.float64) for names, table in sums.items()},
                {name: column[at] for name, column in zip(plan.moments, moments, strict=True)},
                {},
            )
            for at in range(self.members)
        ]

    def _fold(
        self, some: Sequence[int], columns: Sequence[str]
    ) -> tuple[list[Cells], list[list[Moments]]]:
        """Fold some groups and numeric columns; parts are merged in order."""
        found: tuple[list[Cells], list[FloatArray]] | None = None
        parts = blocks(len(self.in_block), _PART)
        # As many parts at a time as there are threads, so that few tables wait to be merged.
        for window in blocks(len(parts), threads()):
            folded = in_threads(lambda part: self._part(part, some, columns), parts[window])
            for tables, moments in folded:
                if found is None:
                    found = tables, moments
                    continue
                for total, more in zip(found[0], tables, strict=True):
                    total += more
                for merged, more_moments in zip(found[1], moments, strict=True):
                    _merge(merged, more_moments)
        assert found is not None  # there is at least one block
        return found[0], [self._moments(stacked) for stacked in found[1]]

    def _part(
        self, part: slice, some: Sequence[int], columns: Sequence[str]
    ) -> tuple[list[Cells], list[FloatArray]]:
        jobs, draws = self.jobs, self.draws
        axes = [jobs.axes[place] for place in some]
        tables = [np.zeros((math.prod(shape), LANES), dtype=np.uint32) for _, shape in axes]
        moments = [np.zeros((4, jobs.slots, LANES)) for _ in columns]
        _resampling.tally_resampled(
            [codes for codes, _ in axes],
            draws.edges,
            part.start,
            part.stop,
            draws.slots,
            draws.seed,
            self.member,
            self.in_block,
            draws.replace,
            tables,
            [jobs.table.values(name) for name in columns],
            jobs.target,
            moments,
        )
        return tables, moments

    def _moments(self, stacked: FloatArray) -> list[Moments]:
        kept = stacked[:, :-1].copy()
        _merge(kept[:, -1:], stacked[:, -1:])
        return [
            Moments(*(np.ascontiguousarray(array[:, at]) for array in kept))
            for at in range(self.members)
        ]


def _batches(shapes: Sequence[tuple[int, ...]]) -> list[list[int]]:
    """Put groups together, in order, while their tables stay within the caches."""
    batches: list[list[int]] = [[]]
    cells = 0
    for place, shape in enumerate(shapes):
        if batches[-1] and cells + math.prod(shape) > _CELLS:
            batches.append([])
            cells = 0
        batches[-1].append(place)
        cells += math.prod(shape)
    return batches


def _merge(moments: FloatArray, more: FloatArray) -> None:
    """Merge weight, mean, square and missing into the first (Chan et al. 1983)."""
    n, m = moments[0], more[0]
    total = n + m
    share = np.divide(m, total, out=np.zeros_like(total), where=total > 0)
    gap = more[1] - moments[1]
    moments[2] += more[2] + gap * gap * n * share
    moments[1] += gap * share
    moments[0] = total
    moments[3] += more[3]
