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
from countwise.counts.room import copies_in_flight, no_room, note_scans, room_of, size_of
from countwise.parallel import threads
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
    if scan.is_certain:
        plan = plan_of(scan.schema)
        check_room(scan, plan)
    if scan.is_certain and keeper is None and adds_in_place(scan, engine):
        counts = _count_in_place(scan, plan, report)
    else:
        folder = BlockCounter(scan, plan_of)
        found = run_pass(
            scan, folder.fold, folder.add, keeper=keeper, progress=report, engine=engine
        )
        counts = finish(scan, found, plan_of)
        if plan_of(scan.schema) not in counts.plan:
            scan.add_note(note_scans(scan, "the columns were looked at before they were counted"))
            return fold_scan(scan, plan_of, checkpoint=checkpoint, progress=progress, engine=engine)
    keep_counts(scan, counts)
    return counts


def adds_in_place(scan: Scan, engine: str | None = None) -> bool:
    """Return whether blocks can be added to counts as they come: here, and none is taken back."""
    is_here = not scan.source.is_remote or (engine or scan.engine) == "stream"
    return is_here and scan.shared is None and scan.on_bad == "refuse"


def check_room(scan: Scan, plan: Plan) -> None:
    """Refuse counts that would take more memory than they may."""
    needed = size_of(plan, scan.schema)
    if needed > room_of(scan):
        columns = f"{len(plan.columns)} columns" if len(plan.columns) > 1 else "a column"
        raise no_room(scan, needed, f"those of {columns}")


def _count_in_place(scan: Scan, plan: Plan, progress: Progress | None) -> Counts:
    """Count rows of a certain schema: threads add up their blocks, then all are added."""
    # Each thread has tables of its own if that takes a quarter of the memory at most.
    number = room_of(scan) // (4 * max(size_of(plan, scan.schema), 1))
    running = [memory.RunningCounts(plan) for _ in range(min(max(number, 1), threads()))]
    places: dict[int, int] = {}

    def fold(block: Block) -> None:
        place = places.setdefault(get_ident(), len(places))
        running[place % len(running)].add(block.table, block.weight)

    run_pass(scan, fold, progress=progress, engine="stream")
    parts = []
    while running:
        one = running.pop()
        parts += [one.counts()] if one.rows else []
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
    """Counts blocks; once a column has too many levels, nothing is counted in this pass.

    Once the counts of so many `parts` of the rows would take too much memory, it counts the classes
    alone, and who asked has to count again when the columns are known.
    """

    scan: Scan
    plan_of: PlanOf
    parts: int = 1
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
        plan = known[1] if known and known[0] is decision else self.plan_of(schema)
        if self.parts > 1 or not self.scan.is_certain:
            needed = size_of(plan, schema) * self.parts * copies_in_flight()
            if needed > room_of(self.scan):
                if self.scan.source.once:
                    raise no_room(self.scan, needed, "those of rows that can be read once")
                plan = Plan()
        self._known = (decision, plan)
        return plan

    @staticmethod
    def add(left: Counts | None, right: Counts | None) -> Counts | None:
        """Add the counts of two parts."""
        if left is None or right is None:
            return None
        if left.plan not in right.plan or right.plan not in left.plan:
            left, right = left.restricted(Plan()), right.restricted(Plan())
        return left + right


def finish(scan: Scan, counts: Counts | None, plan_of: PlanOf) -> Counts:
    """Return the counts of all rows with the levels in the order of the schema.

    Those of the classes alone stay what they are.
    """
    schema = scan.schema
    plan = plan_of(schema)
    if counts is None:
        return Counts.zero(schema, plan)
    return counts.restricted(plan if plan in counts.plan else Plan()).onto(schema)


def find_counts(scan: Scan, plan: Plan) -> Counts | None:
    """Return what was counted before, if it holds what a plan names."""
    counts: Counts | None = scan.memo.get(_COUNTS)
    if counts is None or plan not in counts.plan:
        return None
    return replace(counts.restricted(plan), schema=scan.schema)


def drop_counts(scan: Scan) -> None:
    """Forget what was counted, because nobody will ask again."""
    scan.memo.pop(_COUNTS, None)
    if scan.shared is not None:
        scan.shared.forget()


def keep_counts(scan: Scan, counts: Counts) -> None:
    """Keep counts for those who ask again."""
    scan.memo[_COUNTS] = counts
