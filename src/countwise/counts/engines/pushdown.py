"""The engine for databases and lazy frames: they group rows, and the groups are counted here.

A GROUP BY result is a small table with weights. It is coded and counted by the very functions that
the rows of a file go through, so marks, blanks, booleans and levels mean the same. What a group
cannot tell exactly (moments and fine grids of numbers, words, joint tables too large to be small)
is counted from Arrow batches of these columns alone, as the engine for files does it.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.counts.counts import Counts
from countwise.counts.engines import memory, stream
from countwise.counts.engines.stream import PlanOf
from countwise.counts.moments import MOST_EXACT
from countwise.counts.plan import Plan
from countwise.errors import ParameterError, TableError
from countwise.progress import Progress
from countwise.tables.code_levels import usable_rows
from countwise.tables.formats.parquet import to_raw_columns
from countwise.tables.scan import Scan, ScanPart
from countwise.tables.scan_pass import run_pass
from countwise.tables.schema import Column, Schema
from countwise.tables.sources.query_source import QuerySource, Set, Totals
from countwise.tables.survey import Survey

#: Columns are grouped together while they have at most so many groups: a query fewer, and a result
#: that is still small. See benchmarks/bench_pushdown.py.
JOINT_GROUPS = 1 << 12
#: Pairs are summed from the groups of all their columns up to so many groups. With more of them
#: the database needs longer to group rows than the kernel to count them.
PAIR_GROUPS = 1 << 18
#: A column with more levels among the first rows has no small result.
MOST_LEVELS = 4096


def fold_scan(
    scan: Scan,
    plan_of: PlanOf,
    *,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Counts:
    """Count the rows of a scan as the plan for its schema says, where they are if that is exact."""
    source = scan.source
    if not isinstance(source, QuerySource):
        raise ParameterError(
            f"count: the engine 'pushdown' counts rows of a database or a lazy frame; got "
            f"{source.what}.",
            hint="Leave `engine=` out",
        )
    if scan.is_certain:
        known = stream.find_counts(scan, plan_of(scan.schema))
        if known is not None:
            return known
    if scan.shared is not None:
        # Some of the rows, as those of a fold, are chosen one by one: no group tells them apart.
        return stream.fold_scan(scan, plan_of, checkpoint=checkpoint, progress=progress)
    progress = progress or scan.progress
    while True:
        plan = plan_of(scan.first_schema)
        roads = choose_roads(scan, source, plan)
        if checkpoint is not None or scan.checkpoint is not None:
            roads = Roads((), roads.rest, "rows as Arrow batches, because of the checkpoint")
        source.why_engine = roads.why
        if not roads.sets:
            return stream.fold_scan(scan, plan_of, checkpoint=checkpoint, progress=progress)
        try:
            parts = [*_count_sets(scan, source, roads, plan, progress)]
        except _NotExactError:
            roads = Roads((), roads.rest, "rows as Arrow batches, because of their weights")
            source.why_engine = roads.why
            return stream.fold_scan(scan, plan_of, checkpoint=checkpoint, progress=progress)
        if roads.rest:
            parts.append(_count_rest(scan, roads, plan, progress))
        if scan.is_certain or not scan.settle(_unite(parts)):
            break
    counts = _assemble(scan, parts, plan_of(scan.schema))
    stream.keep_counts(scan, counts)
    return counts


class Roads(NamedTuple):
    """Which columns are grouped where they are, which are read, and why."""

    sets: tuple[Set, ...]
    rest: tuple[str, ...]
    why: str


class Part(NamedTuple):
    """The counts and the survey of some columns."""

    plan: Plan
    counts: Counts | None
    survey: Survey


def choose_roads(scan: Scan, source: QuerySource, plan: Plan) -> Roads:
    """Choose a road for every column that the plan names, or that must be surveyed."""
    schema = scan.decision.schema
    reading = schema if scan.is_certain else scan.decision.reading_schema
    named = set(plan.columns)
    needed = [
        column
        for column in reading
        if not column.left_out
        and column.kind != "target"
        and (column.name in named or not scan.is_certain)
    ]
    every = tuple(column.name for column in needed)
    if scan.first_schema is not schema:
        return Roads((), every, "rows as Arrow batches, because they are recoded")
    if any(column.when_missing == "drop" for column in schema.attributes):
        return Roads((), every, "rows as Arrow batches, because some are dropped")
    if scan.weight is not None and not source.is_whole(scan.weight):
        return Roads((), every, "rows as Arrow batches, because weights may be fractions")
    target = scan.decision.schema.target
    classes = 0 if target is None else _width(target, source)
    small = {
        column.name: _width(column, source) + 1 for column in needed if _is_small(column, source)
    }
    paired = {name: None for names in plan.tables if len(names) > 1 for name in names}
    sets: list[Set] = []
    if paired:
        groups = math.prod(small.get(name, PAIR_GROUPS) for name in paired) * (classes + 1)
        if groups <= PAIR_GROUPS:
            sets.append(tuple(paired))
    single = [name for name in small if name not in paired]
    most = max(JOINT_GROUPS // (classes + 1), 1)
    for places in memory.joint_groups([small[name] for name in single], most):
        sets.append(tuple(single[place] for place in places))
    grouped = {name for names in sets for name in names}
    rest = tuple(name for name in every if name not in grouped)
    why = [f"columns by GROUP BY: {len(grouped)}"] if grouped else []
    why += [f"as Arrow batches: {len(rest)}"] if rest else []
    why += ["too many groups for pairs"] if not grouped.issuperset(paired) else []
    return Roads(tuple(sets), rest, "; ".join(why))


def _is_small(column: Column, source: QuerySource) -> bool:
    is_plain = column.kind == "nominal" and not column.part_of
    return is_plain and _width(column, source) <= MOST_LEVELS


def _width(column: Column, source: QuerySource) -> int:
    return max(column.width, source.widths.get(column.name, 0))


def _within(plan: Plan, names: Set) -> Plan:
    """Return what a plan counts of these columns alone."""
    held = set(names)
    return Plan(
        tuple(key for key in plan.tables if held.issuperset(key)),
        tuple(name for name in plan.moments if name in held),
        tuple(name for name in plan.grids if name in held),
        tuple(key for key in plan.words if key[0] in held),
    )


def _count_sets(
    scan: Scan, source: QuerySource, roads: Roads, plan: Plan, progress: Progress | None
) -> Iterator[Part]:
    """Group the rows by each set of columns and count the groups."""
    totals = Totals.beside(source.schema.names, scan.weight)
    target = scan.decision.schema.target
    assert target is not None, "a plan counts by class"
    counters = {
        names: GroupCounter(scan.part(names), _within(plan, names), totals) for names in roads.sets
    }
    done = set[Set]()
    steps = len(roads.sets) + bool(roads.rest)
    for names, batch in source.groups(target.name, roads.sets, totals, scan.block_rows):
        counters[names].add(batch)
        done.add(names)
        if progress is not None:
            progress(len(done), steps, f"{counters[names].survey.rows:,} rows")
    for counter in counters.values():
        yield Part(counter.plan, counter.counts, counter.survey)


@dataclass
class GroupCounter:
    """Counts the groups of some columns, batch by batch."""

    part: ScanPart
    plan: Plan
    totals: Totals
    counts: Counts | None = None
    survey: Survey = field(default_factory=Survey)
    schema: Schema | None = None
    has_many: bool = False

    def add(self, batch: object) -> None:
        """Count the groups of an Arrow batch, each as often as it has rows."""
        part, decision = self.part, self.part.decision
        if self.schema is None:
            self.schema = decision.schema if part.is_certain else decision.reading_schema
        names = [column.name for column in decision.schema]
        rows = np.asarray(batch.column(self.totals.rows)).astype(np.int64)  # type: ignore[attr-defined]
        weight = rows.astype(np.float64)
        if self.totals.column is not None:
            weight = self._weights(batch, rows)
        columns = to_raw_columns(batch, decision.reading(part.options, False), names)
        table = part.code(columns, self.schema, len(rows))
        keep, _ = usable_rows(table)
        dropped = {} if keep.all() else {str(decision.schema.target.name): _sum(rows[~keep])}  # type: ignore[union-attr]
        self.schema = table.schema
        if not part.is_certain:
            found = part.survey_block(table, columns, dropped, rows)
            self.survey = self.survey.add(found, part.max_levels)
            self.schema = part.without_many_levels(table.schema)
            most = max(column.width for column in table.schema)
            self.has_many |= most > 2 * part.max_levels
        if self.has_many:
            self.counts = None
            return
        counts = memory.fold(table.take(keep), self.plan, weight[keep])
        counts = replace(counts, rows=_sum(rows[keep]))
        self.counts = counts if self.counts is None else self.counts + counts

    def _weights(self, batch: Any, rows: NDArray[np.int64]) -> FloatArray:
        """Return the weight of each group, if it is that of its rows to the last bit."""
        weight = np.asarray(batch.column(self.totals.weight), np.float64)
        least = np.asarray(batch.column(self.totals.least), np.float64)
        weighed = np.asarray(batch.column(self.totals.weighed), np.int64)
        # Whole numbers that are not negative are added without rounding while sums are below this.
        if not ((weighed == rows).all() and (least >= 0).all() and (weight < MOST_EXACT).all()):
            raise _NotExactError
        return weight


class _NotExactError(Exception):
    """A database cannot add up these weights exactly, or some are none."""


def _sum(rows: NDArray[np.int64]) -> int:
    return int(rows.sum())


def _count_rest(scan: Scan, roads: Roads, plan: Plan, progress: Progress | None) -> Part:
    """Count columns from Arrow batches."""
    part, some = scan.part(roads.rest), _within(plan, roads.rest)
    counter = stream.BlockCounter(part, lambda schema: some)
    was_certain = part.is_certain
    counts = run_pass(part, counter.fold, counter.add)
    if progress is not None:
        steps = len(roads.sets) + 1
        progress(steps, steps, "rows read")
    return Part(some, counts, Survey() if was_certain else part.survey)


def _unite(parts: list[Part]) -> Survey:
    """Return one survey of all columns, which were surveyed one after the other."""
    first = parts[0].survey
    columns = {name: column for part in parts for name, column in part.survey.columns.items()}
    return Survey(first.rows, columns, first.dropped)


def _assemble(scan: Scan, parts: list[Part], plan: Plan) -> Counts:
    """Return the counts of all columns together, with the levels of the certain schema."""
    schema = scan.schema
    found = []
    for part in parts:
        names = tuple(name for name in part.plan.columns if name in plan.columns)
        some = _within(plan, names)
        found.append(
            Counts.zero(schema, some)
            if part.counts is None
            else part.counts.restricted(some).onto(schema)
        )
    first = found[0]
    for other in found:
        if other.rows != first.rows or not np.array_equal(other.weight, first.weight):
            raise TableError(
                f"scan: the rows of {scan.source.what} changed while they were counted.",
                hint="Count again, or count a copy",
            )
    tables = {key: table for counts in found for key, table in counts.tables.items()}
    return Counts(
        schema,
        replace(plan, apart=None),
        first.rows,
        first.weight,
        {key: tables[key] for key in plan.tables},
        {name: part for counts in found for name, part in counts.moments.items()},
        {name: part for counts in found for name, part in counts.grids.items()},
        {key: part for counts in found for key, part in counts.words.items()},
    )
