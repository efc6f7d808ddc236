"""The engine for rows outside memory: pieces are counted in threads and merged in order.

Blocks of a piece are counted by the engine for rows in memory. Sums of counts do not depend on the
order, so the result is that of all rows at once, to the last bit, whatever the size of blocks, the
number of threads and the order of pieces.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from threading import get_ident
from typing import Any

from countwise.counts.checkpoint import Checkpoint
from countwise.counts.counts import Counts
from countwise.counts.engines import memory
from countwise.counts.plan import Plan
from countwise.progress import Progress
from countwise.tables.scan import Block, Scan
from countwise.tables.scan_pass import run_pass
from countwise.tables.schema import Schema

PlanOf = Callable[[Schema], Plan]
_COUNTS = "counts"


def fold_scan(
    scan: Scan,
    plan_of: PlanOf,
    *,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    engine: str = "stream",
) -> Counts:
    """Count the rows of a scan as the plan for its schema says; what it counted is kept."""
    if scan.is_certain:
        known = find_counts(scan, plan_of(scan.schema))
        if known is not None:
            return known
    if scan.shared is not None:
        shared: Counts = scan.shared.count(scan, plan_of(scan.schema))
        keep_counts(scan, shared)
        return shared
    keeper = _keeper(scan, plan_of, checkpoint)
    report = progress or scan.progress
    is_here = not scan.source.is_remote or engine == "stream"
    if scan.is_certain and keeper is None and scan.on_bad == "refuse" and is_here:
        counts = _count_in_place(scan, plan_of(scan.schema), report)
    else:
        folder = BlockCounter(scan, plan_of)
        found = run_pass(
            scan, folder.fold, folder.add, keeper=keeper, progress=report, engine=engine
        )
        counts = finish(scan, found, plan_of)
    keep_counts(scan, counts)
    return counts


def _count_in_place(scan: Scan, plan: Plan, progress: Progress | None) -> Counts:
    """Count rows of a certain schema: each thread adds up its blocks, then all are added."""
    running: dict[int, memory.RunningCounts] = {}

    def fold(block: Block) -> None:
        running.setdefault(get_ident(), memory.RunningCounts(plan)).add(block.table, block.weight)

    run_pass(scan, fold, progress=progress, engine="stream")
    parts = [running.pop(thread).counts() for thread in list(running)]
    return Counts.sum(parts).onto(scan.schema) if parts else Counts.zero(scan.schema, plan)


def _keeper(
    scan: Scan, plan_of: PlanOf, checkpoint: str | os.PathLike[str] | None
) -> Checkpoint | None:
    if checkpoint is not None:
        return Checkpoint(os.fspath(checkpoint), scan, plan_of)
    if scan.checkpoint is None:
        return None
    return Checkpoint(scan.checkpoint, scan, plan_of, scan.passes)


@dataclass
class BlockCounter:
    """Counts blocks; once a column has too many levels, nothing is counted in this pass."""

    scan: Scan
    plan_of: PlanOf
    _known: tuple[Any, Plan] | None = None

    def fold(self, block: Block) -> Counts | None:
        """Count a block of rows."""
        table, scan = block.table, self.scan
        if not scan.is_certain:
            most = max((column.width for column in table.schema.nominal), default=0)
            if most > 2 * scan.max_levels:
                return None
        return memory.fold(table, self._plan(table.schema), block.weight)

    def _plan(self, schema: Schema) -> Plan:
        # A pass has one decision and so one plan; levels do not matter to it.
        decision, known = self.scan.decision, self._known
        if known is None or known[0] is not decision:
            known = self._known = (decision, self.plan_of(schema))
        return known[1]

    @staticmethod
    def add(left: Counts | None, right: Counts | None) -> Counts | None:
        """Add the counts of two parts."""
        return None if left is None or right is None else left + right


def finish(scan: Scan, counts: Counts | None, plan_of: PlanOf) -> Counts:
    """Return the counts of all rows with the levels in the order of the schema."""
    schema = scan.schema
    plan = plan_of(schema)
    if counts is None:
        return Counts.zero(schema, plan)
    return counts.restricted(plan).onto(schema)


def find_counts(scan: Scan, plan: Plan) -> Counts | None:
    """Return what was counted before, if it holds what a plan names."""
    counts: Counts | None = scan.memo.get(_COUNTS)
    if counts is None or plan not in counts.plan:
        return None
    return replace(counts.restricted(plan), schema=scan.schema)


def keep_counts(scan: Scan, counts: Counts) -> None:
    """Keep counts for those who ask again."""
    scan.memo[_COUNTS] = counts
