"""The engine for databases and lazy frames: they group rows, and the groups are counted here.

A GROUP BY result is a small table with weights. It is coded and counted by the very functions that
the rows of a file go through, so marks, blanks, booleans and levels mean the same. Numbers are
grouped where a database can group them by their bits (`number_roads`). What a group cannot tell
exactly (words, joint tables too large to be small, numbers elsewhere) is counted from Arrow batches
of these columns alone, as the engine for files does it.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.counts.counts import Counts
from countwise.counts.engines import memory, stream
from countwise.counts.engines.number_roads import MOST_NUMBERS, NumberRoads, moments_of_cells
from countwise.counts.engines.stream import PlanOf
from countwise.counts.moments import MOST_EXACT
from countwise.counts.plan import Plan
from countwise.errors import ParameterError, TableError
from countwise.progress import Progress
from countwise.tables.code_levels import usable_rows
from countwise.tables.formats.parquet import to_raw_columns
from countwise.tables.raw_columns import Raw
from countwise.tables.scan import Scan, ScanPart
from countwise.tables.scan_pass import run_pass
from countwise.tables.schema import Column, Schema
from countwise.tables.sources.query_source import Cells, QuerySource, Set, Totals
from countwise.tables.sources.score_statement import Levels
from countwise.tables.survey import ColumnSurvey, Survey
from countwise.tables.table import Table

#: Columns are grouped together while they have at most so many groups: a query fewer, and a result
#: that is still small. See benchmarks/bench_pushdown.py.
JOINT_GROUPS = 1 << 12
#: Pairs are summed from the groups of all their columns up to so many groups. With more of them
#: the database needs longer to group rows than the kernel to count them.
PAIR_GROUPS = 1 << 18
#: A column with more levels among the first rows has no small result.
MOST_LEVELS = 4096
_NUMBERS = "numbers"


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

    def read_rows() -> Counts:
        return stream.fold_scan(scan, plan_of, checkpoint=checkpoint, progress=progress)

    if scan.shared is not None:
        plan = plan_of(scan.schema)
        is_known = scan.shared.find(scan, plan) is not None
        if is_known or scan.selected is None or not _is_grouped(scan.alone(), plan):
            # Rows that are chosen one by one, as those of a fold, are told apart by no group.
            return read_rows()
        with scan.turn():
            return fold_scan(scan.alone(), plan_of)
    progress = progress or scan.progress
    numbers = _number_roads(scan)
    done: dict[Asked, Part] = {}
    while True:
        plan = plan_of(scan.first_schema)
        roads = choose_roads(scan, source, plan, numbers)
        source.why_engine = roads.why
        if checkpoint is not None or scan.checkpoint is not None:
            source.why_engine = "rows as Arrow batches, because of the checkpoint"
            return read_rows()
        if not roads.sets:
            return read_rows()
        if numbers.look(scan, source, roads):
            continue
        try:
            done = _count_sets(scan, source, roads, plan, progress, numbers, done)
        except _NotExactError:
            source.why_engine = "rows as Arrow batches, because of their weights"
            return read_rows()
        if len(done) < len(roads.sets):
            continue
        parts = [*done.values()]
        if roads.rest:
            parts.append(_count_rest(scan, roads, plan, progress))
        if scan.is_certain or not scan.settle(_unite(parts, numbers.surveys(source, roads))):
            break
        done = {}
    counts = _assemble(scan, parts, plan_of(scan.schema))
    stream.keep_counts(scan, counts)
    return counts


def _is_grouped(scan: Scan, plan: Plan) -> bool:
    """Return whether the database can group all columns of a plan."""
    source = scan.source
    assert isinstance(source, QuerySource)
    roads = choose_roads(scan, source, plan, _number_roads(scan))
    return bool(roads.sets) and not roads.rest


def _number_roads(scan: Scan) -> NumberRoads:
    """Return what is known of the columns of numbers; what is found out stays with the scan."""
    roads: NumberRoads = scan.memo.setdefault(_NUMBERS, NumberRoads())
    return roads


def group_rows(
    scan: Scan, cuts: Mapping[str, FloatArray]
) -> Iterator[tuple[Table, NDArray[np.int64]]] | None:
    """Return the different rows of a certain scan, and how many there are of each.

    Numbers between two cut points count as equal, and one of them stands for all. None if there may
    be too many different rows, or some columns cannot be grouped.
    """
    source, schema, target = scan.source, scan.decision.schema, scan.decision.schema.target
    assert isinstance(source, QuerySource)
    assert target is not None
    columns = [c for c in schema if not c.left_out and c.kind != "target"]
    plan = Plan(grids=tuple(column.name for column in schema.numeric))
    cells = _number_roads(scan).cells(scan, source, plan, schema.numeric, cuts)
    widths = {c.name: _width(c, source) + 1 for c in columns if _is_small(c, source)}
    for name, cell in cells.items():
        if cell.points is not None or cell.holds_values:
            number = source.widths[name] if cell.points is None else len(cell.points) + 1
            widths[name] = number + 1
    is_grouped = len(widths) == len(columns) and scan.weight is None
    is_grouped &= all(column.when_missing != "drop" for column in columns)
    if not is_grouped or math.prod(widths.values()) * target.width > PAIR_GROUPS:
        return None
    cells = {name: cell for name, cell in cells.items() if cell.points is not None}
    totals = Totals.beside(source.schema.names, None, cells)
    names = tuple(widths)
    coder = GroupCounter(scan.part(names), Plan(), totals, names)

    def code() -> Iterator[tuple[Table, NDArray[np.int64]]]:
        for _, batch in source.groups(target.name, [names], totals, scan.block_rows):
            table, _, rows = coder.code(batch)
            keep, _ = usable_rows(table)
            yield table.take(keep), rows[keep]

    return code()


def read_levels(scan: Scan, names: Sequence[str]) -> dict[str, Levels] | None:
    """Return the code of each value of the class and of some columns; None if some are too many."""
    source, target = scan.source, scan.target_column
    assert isinstance(source, QuerySource)
    schema = scan.decision.schema
    columns = [schema[name] for name in names]
    if not all(_is_small(column, source) and column.when_missing != "drop" for column in columns):
        return None
    totals = Totals.beside(source.schema.names, None, {})
    codes: dict[str, dict[Any, int]] = {name: {} for name in (*names, target.name)}
    sets: list[Set] = [(name,) for name in names] or [()]
    coders = {held: GroupCounter(scan.part(held), Plan(), totals, held) for held in sets}
    for held, batch in source.groups(target.name, sets, totals, scan.block_rows):
        table, *_ = coders[held].code(batch)
        for name in (*held, target.name):
            codes[name] |= dict(zip(batch.column(name).to_pylist(), table.codes(name), strict=True))
    found = {}
    for name, known in codes.items():
        missing = int(known.pop(None, schema[name].width))
        if any(not isinstance(value, bool | int | float | str) for value in known):
            return None
        found[name] = Levels({value: int(code) for value, code in known.items()}, missing)
    return found


class Roads(NamedTuple):
    """Which columns are grouped where they are, which are read, and why."""

    sets: tuple[Set, ...]
    rest: tuple[str, ...]
    why: str
    #: How numbers are grouped that are not grouped by their values.
    cells: Mapping[str, Cells] = {}
    #: Columns of numbers that are surveyed by their extremes.
    extremes: tuple[str, ...] = ()


class Part(NamedTuple):
    """The counts and the survey of some columns."""

    plan: Plan
    counts: Counts | None
    survey: Survey


def choose_roads(scan: Scan, source: QuerySource, plan: Plan, numbers: NumberRoads) -> Roads:
    """Choose a road for every column that the plan names, or that must be surveyed."""
    schema = scan.decision.schema
    named = set(plan.columns)
    needed = [
        column
        for column in scan.reading_schema
        if not column.left_out
        and column.kind != "target"
        and (column.name in named or not scan.is_certain)
    ]
    every = tuple(column.name for column in needed)
    is_cut = source.counts_numbers and scan.cuts is not None
    if scan.first_schema is not schema and not is_cut:
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
    columns = [column for column in needed if column.kind == "numeric"]
    cells = numbers.cells(scan, source, plan, columns, scan.cuts or {})
    for name, cell in cells.items():
        if cell.points is not None:
            small[name] = len(cell.points) + 2
    tables = [names for names in plan.tables if len(names) > 1]
    paired = {name: None for names in tables for name in names}
    sets: list[Set] = []
    if paired:
        widths = {name: small.get(name, PAIR_GROUPS + 1) for name in paired}
        most = PAIR_GROUPS // (classes + 1)
        sets += _sets_of_tables(tables, widths, most, source.counts_numbers)
    single = [name for name in small if name not in paired]
    most = max(JOINT_GROUPS // (classes + 1), 1)
    for places in memory.joint_groups([small[name] for name in single], most):
        sets.append(tuple(single[place] for place in places))
    alone = [name for name in cells if name not in small]
    counted = {*plan.moments, *plan.grids}
    sets += [(name,) for name in alone if cells[name].holds_values or name in counted]
    extremes = [] if scan.is_certain else [n for n in alone if not cells[n].holds_values]
    if extremes and not sets:
        sets.append(())
    grouped = {name for names in sets for name in names} | {*extremes}
    rest = tuple(name for name in every if name not in grouped)
    why = [f"columns by GROUP BY: {len(grouped)}"] if grouped else []
    why += [f"as Arrow batches: {len(rest)}"] if rest else []
    why += ["too many groups for pairs"] if not grouped.issuperset(paired) else []
    cells = {name: cell for name, cell in cells.items() if not cell.holds_values}
    reason = "; ".join(why) or "classes by GROUP BY"
    return Roads(tuple(sets), rest, reason, cells, tuple(extremes))


def _sets_of_tables(
    tables: Sequence[Set], widths: Mapping[str, int], most: int, many: bool
) -> list[Set]:
    """Return sets of columns with at most so many groups each that hold all tables, if there are.

    There is one set, or if there may be `many`, at most as many as columns.
    """
    names = list(widths)
    if math.prod(widths.values()) <= most:
        return [tuple(names)]
    bricks = memory.joint_groups([*widths.values()], math.isqrt(most))
    pairs = [tuple(names[place] for place in (*one, *two)) for one, two in combinations(bricks, 2)]
    for sets in ([*tables], pairs if max(map(len, tables)) == 2 else []) if many else ():
        fits = all(math.prod(widths[name] for name in held) <= most for held in sets)
        if sets and fits and len(sets) <= len(names):
            return sets
    return []


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
    scan: Scan,
    source: QuerySource,
    roads: Roads,
    plan: Plan,
    progress: Progress | None,
    numbers: NumberRoads,
    done: Mapping[Asked, Part],
) -> dict[Asked, Part]:
    """Group the rows by each set of columns that is not done, and count the groups.

    A column of numbers that must be grouped otherwise is left out.
    """
    totals = Totals.beside(source.schema.names, scan.weight, roads.cells)
    target = scan.decision.schema.target
    assert target is not None, "a plan counts by class"
    asked = {names: _asked(names, roads.cells) for names in roads.sets}
    counters = {
        names: GroupCounter(scan.part(names), _within(plan, names), totals, names)
        for names in roads.sets
        if asked[names] not in done
    }
    seen = set[Set]()
    steps = len(counters) + bool(roads.rest)
    for names, batch in source.groups(target.name, [*counters], totals, scan.block_rows):
        counters[names].add(batch)
        seen.add(names)
        if progress is not None:
            progress(len(seen), steps, f"{counters[names].survey.rows:,} rows")
    fresh = {
        names: Part(counter.plan, counter.counts, counter.survey)
        for names, counter in counters.items()
        if numbers.is_exact(counter)
    }
    return {
        key: fresh[names] if names in fresh else done[key]
        for names, key in asked.items()
        if names in fresh or key in done
    }


@dataclass
class GroupCounter:
    """Counts the groups of some columns, batch by batch."""

    part: ScanPart
    plan: Plan
    totals: Totals
    names: Set
    counts: Counts | None = None
    survey: Survey = field(default_factory=Survey)
    schema: Schema | None = None
    has_many: bool = False
    groups: int = 0
    #: Whether these are numbers that are refused, or too many to be listed.
    is_refused: bool = False

    @property
    def number(self) -> str | None:
        """The column of numbers, if these are the groups of one that is not cut."""
        if len(self.names) != 1 or self.part.reading_schema[self.names[0]].kind != "numeric":
            return None
        cell = self.totals.cells.get(self.names[0])
        return self.names[0] if cell is None or cell.points is None else None

    def add(self, batch: Any) -> None:
        """Count the groups of an Arrow batch, each as often as it has rows."""
        self.groups += len(batch)
        if self.is_refused or (self.number is not None and self.groups > MOST_NUMBERS):
            self.is_refused = True
            return
        try:
            self._add(batch)
        except TableError:
            if self.number is None:
                raise
            self.is_refused = True  # whoever reads the rows can say which one is wrong

    def code(self, batch: Any) -> tuple[Table, Mapping[str, Raw], NDArray[np.int64]]:
        """Return the groups of a batch as coded rows and as raw columns, and their numbers."""
        part, decision = self.part, self.part.decision
        if self.schema is None:
            self.schema = part.reading_schema
        names = [column.name for column in decision.schema]
        rows = np.asarray(batch.column(self.totals.rows)).astype(np.int64)
        columns = to_raw_columns(batch, decision.reading(part.options, False), names)
        table = part.code(columns, self.schema, len(rows))
        self.schema = table.schema
        return table, columns, rows

    def _add(self, batch: Any) -> None:
        part, decision = self.part, self.part.decision
        table, columns, rows = self.code(batch)
        weight = rows.astype(np.float64)
        if self.totals.column is not None:
            weight = self._weights(batch, rows)
        keep, _ = usable_rows(table)
        dropped = {} if keep.all() else {str(decision.schema.target.name): _sum(rows[~keep])}  # type: ignore[union-attr]
        if not part.is_certain:
            found = part.survey_block(table, columns, dropped, rows)
            self.survey = self.survey.add(found, part.max_levels)
            self.schema = part.without_many_levels(table.schema)
            most = max(column.width for column in table.schema)
            self.has_many |= most > 2 * part.max_levels
        if self.has_many:
            self.counts = None
            return
        used = table.take(keep)
        used = used if part.change is None else part.change(used)
        counts = self._fold(used, weight[keep], batch, keep)
        counts = replace(counts, rows=_sum(rows[keep]))
        self.counts = counts if self.counts is None else self.counts + counts

    def _fold(
        self, table: Table, weight: FloatArray, batch: Any, keep: NDArray[np.bool_]
    ) -> Counts:
        if not (self.totals.is_summed(self.names) and self.plan.moments):
            return memory.fold(table, self.plan, weight)
        (name,) = self.names
        counts = memory.fold(table, replace(self.plan, moments=()), weight)
        sums = [
            [int(text or 0) for text in np.asarray(batch.column(what), object)[keep]]
            for what in self.totals.sums
        ]
        shift = self.totals.cells[name].shift
        moments = moments_of_cells(table.target, table.values(name), weight, shift, sums, counts)
        return replace(counts, plan=self.plan, moments={name: moments})

    def _weights(self, batch: Any, rows: NDArray[np.int64]) -> FloatArray:
        """Return the weight of each group, if it is that of its rows to the last bit."""
        weight = np.asarray(batch.column(self.totals.weight), np.float64)
        least = np.asarray(batch.column(self.totals.least), np.float64)
        weighed = np.asarray(batch.column(self.totals.weighed), np.int64)
        # Whole numbers that are not negative are added without rounding while sums are below this.
        if not ((weighed == rows).all() and (least >= 0).all() and (weight < MOST_EXACT).all()):
            raise _NotExactError
        return weight


#: A set of columns, and how the bits of its numbers are grouped.
Asked = tuple[Set, tuple[tuple[int, bool], ...]]


def _asked(names: Set, cells: Mapping[str, Cells]) -> Asked:
    return names, tuple((cells[n].shift, cells[n].summed) for n in names if n in cells)


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


def _unite(parts: list[Part], numbers: Mapping[str, ColumnSurvey]) -> Survey:
    """Return one survey of all columns, which were surveyed one after the other."""
    first = parts[0].survey
    columns = {name: column for part in parts for name, column in part.survey.columns.items()}
    for name, column in numbers.items():
        columns[name] = replace(column, missing=first.rows - column.rows)
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
