"""The engine for rows in memory: chunks are counted in threads by compiled code, then merged.

Tables of single columns are not counted one by one: columns are put together into joint tables of
at most `JOINT_CELLS` cells, so that a row costs one increment for several columns, and the single
tables are sums over the joint one. Of few rows every two columns are counted directly.
Chunk borders depend on the number of rows alone, and chunks are merged in order, so the result does
not depend on the number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.counts.counts import Counts, sum_out
from countwise.counts.engines import _kernels, _pairs
from countwise.counts.histogram import MOST_CELLS, Grid
from countwise.counts.moments import MOST_EXACT, ExactSums, Moments
from countwise.counts.plan import Plan
from countwise.counts.word_counts import WordCounts
from countwise.errors import CountsError, listing
from countwise.parallel import blocks, in_threads, threads
from countwise.tables.table import Table, code_type

Pair = tuple[str, str]

#: Rows a task folds before its counts are merged.
CHUNK = 1 << 19
#: A joint table of several columns stays within the processor's nearest caches.
JOINT_CELLS = 8192
#: More cells than this in one table would not fit in memory in several copies.
MOST_TABLE_CELLS = 1 << 27
#: Up to so many rows each pair of columns is counted by itself: joint tables of several columns
#: would cost more to sum than to fill.
DIRECT_ROWS = 1 << 15
#: Joint tables that are added up block by block have at most this many cells, or pairs are counted
#: by themselves.
MOST_JOINT_CELLS = 1 << 24
#: Fewer increments than this are done before a thread has begun.
_WORTH_A_THREAD = 1 << 22


def fold(table: Table, plan: Plan, weight: FloatArray | None = None) -> Counts:
    """Count the table as the plan says."""
    if len(table) == 0:
        return Counts.zero(table.schema, plan)
    paired = count_pairs(table, pairs_to_count(table, plan), weight)
    jobs = Jobs(table, without_tables(plan, paired), weight)
    parts = in_threads(jobs.chunk, blocks(len(table), CHUNK))
    joint = [reduce(np.add, pieces) for pieces in zip(*(part[0] for part in parts), strict=True)]
    moments = [reduce(Moments.__add__, p) for p in zip(*(part[1] for part in parts), strict=True)]
    grids = [reduce(Grid.__add__, p) for p in zip(*(part[2] for part in parts), strict=True)]
    words = count_words(table, plan, weight)
    return _gather(jobs, plan, len(table), joint, moments, grids, words, paired)


def _gather(
    jobs: Jobs,
    plan: Plan,
    rows: int,
    joint: Sequence[FloatArray],
    moments: Sequence[Moments],
    grids: Sequence[Grid],
    words: dict[tuple[str, int], WordCounts],
    paired: Mapping[Any, FloatArray],
) -> Counts:
    """Return counts from tables of pairs and from joint tables, of which the others are sums."""
    whole = dict(zip(jobs.groups, map(without_unseen, joint[1:]), strict=True))
    return Counts(
        jobs.table.schema,
        replace(plan, apart=None),
        rows,
        without_unseen(joint[0]),
        {
            names: paired[names]
            if names in paired
            else np.ascontiguousarray(sum_out(whole[jobs.inside[names]], jobs.inside[names], names))
            for names in plan.tables
        },
        dict(zip(plan.moments, moments, strict=True)),
        dict(zip(plan.grids, grids, strict=True)),
        words,
    )


class RunningCounts:
    """Counts of one block after the other, of one schema and plan, added up in place.

    Several threads may add blocks. Joint tables of several columns may take a dozen times what
    those of pairs do; where that is much, pairs are counted by themselves.
    """

    def __init__(self, plan: Plan, most_joint: int = MOST_JOINT_CELLS) -> None:
        self.plan, self.rows, self._most_joint = plan, 0, most_joint
        self._lock = Lock()
        self._jobs: Jobs | None = None
        self._layout: Layout | None = None
        self._joint: list[FloatArray] = []
        self._pairs: _PairTables | None = None
        self._rest: tuple[list[Moments], list[Grid], dict[tuple[str, int], WordCounts]]

    def add(self, table: Table, weight: FloatArray | None = None) -> None:
        """Count a block of rows."""
        with self._lock:
            if self._layout is None:
                self._layout = self._begin(table)
        jobs = Jobs(table, self.plan, weight, self._layout)
        moments, grids = jobs.numbers(0, len(table))
        words = count_words(table, self.plan, weight)
        with self._lock:
            jobs.tally(0, len(table), self._joint)
            if self._pairs is not None:
                self._pairs.add(table, weight)
            if self._jobs is not None:
                moments = [one + two for one, two in zip(self._rest[0], moments, strict=True)]
                grids = [one + two for one, two in zip(self._rest[1], grids, strict=True)]
                words = {key: self._rest[2][key] + part for key, part in words.items()}
            self._jobs, self._rest = jobs, (moments, grids, words)
            self.rows += len(table)

    def _begin(self, table: Table) -> Layout:
        """Lay out the tables by the first block."""
        layout = Layout(table, self.plan)
        pairs = [names for names in self.plan.tables if len(names) == 2]
        if pairs and sum(map(math.prod, layout.shapes)) > self._most_joint:
            self._pairs = _PairTables(table, pairs)
            layout = Layout(table, without_tables(self.plan, pairs))
        self._joint = [np.zeros(shape) for shape in layout.shapes]
        return layout

    def counts(self) -> Counts:
        """Return the counts of all blocks."""
        assert self._jobs is not None
        paired = {} if self._pairs is None else self._pairs.tables()
        return _gather(self._jobs, self.plan, self.rows, self._joint, *self._rest, paired)


def without_tables(plan: Plan, tables: Collection[tuple[str, ...]]) -> Plan:
    """Return the rest of a plan."""
    left_out = set(tables)
    return replace(plan, tables=tuple(names for names in plan.tables if names not in left_out))


def count_words(
    table: Table, plan: Plan, weight: FloatArray | None
) -> dict[tuple[str, int], WordCounts]:
    """Count the words of text columns."""
    slots = table.target_column.width + 1
    # A class that the schema does not know is counted as none.
    target = np.minimum(table.target, slots - 1)
    return {
        (name, size): WordCounts.of(table.texts(name), size, target, weight, slots)
        for name, size in plan.words
    }


class Layout:
    """Joint groups of columns by which a plan is counted, with their shapes and strides."""

    def __init__(self, table: Table, plan: Plan) -> None:
        self.slots = table.target_column.width + 2
        #: By table of the plan, the joint group that it is summed from.
        self.inside = _cover(table, plan)
        self.groups = list(dict.fromkeys(self.inside.values()))
        self.shapes = [self._shape(table, names) for names in ((), *self.groups)]
        self.strides = [
            [math.prod(shape[axis + 1 :]) for axis in range(len(shape))] for shape in self.shapes
        ]

    def _shape(self, table: Table, names: tuple[str, ...]) -> tuple[int, ...]:
        shape = (self.slots, *(table.schema[name].width + 2 for name in names))
        cells = math.prod(shape)
        if cells > MOST_TABLE_CELLS:
            raise CountsError(
                f"count: a table must have at most {MOST_TABLE_CELLS} cells; got {cells} for the "
                f"joint table of {listing(names)}.",
                hint="Fold rare levels or count fewer columns",
            )
        return shape


class Jobs:
    """What every chunk of one fold shares; `layout` is that of other rows of the same schema."""

    def __init__(
        self, table: Table, plan: Plan, weight: FloatArray | None, layout: Layout | None = None
    ) -> None:
        self.table, self.plan, self.weight = table, plan, weight
        # Sums of fractions are rounded; whole weights give sums to the last bit.
        self.exact = weight is None or whole_weights(weight)
        self.layout = layout = Layout(table, plan) if layout is None else layout
        self.inside, self.groups, self.slots = layout.inside, layout.groups, layout.slots
        self.target = _kernels.Axes([table.target], [1])
        codes = {name: table.codes(name) for name in {n for names in self.groups for n in names}}
        self.axes = [
            (_kernels.Axes([table.target, *(codes[name] for name in names)], strides), shape)
            for names, strides, shape in zip(
                ((), *self.groups), layout.strides, layout.shapes, strict=True
            )
        ]

    def chunk(self, rows: slice) -> tuple[list[FloatArray], list[Moments], list[Grid]]:
        """Fold a block of rows."""
        joint = [np.zeros(shape) for _, shape in self.axes]
        self.tally(rows.start, rows.stop, joint)
        return joint, *self.numbers(rows.start, rows.stop)

    def tally(self, start: int, stop: int, joint: Sequence[FloatArray]) -> None:
        """Add a block of rows to the joint tables."""
        for (axes, _), table in zip(self.axes, joint, strict=True):
            if self.weight is None:
                _kernels.tally(axes, start, stop, table.reshape(-1))
            else:
                _kernels.tally_weighted(axes, self.weight, start, stop, table.reshape(-1))

    def numbers(self, start: int, stop: int) -> tuple[list[Moments], list[Grid]]:
        """Fold the numeric columns of a block of rows."""
        moments = [self._moments(name, start, stop) for name in self.plan.moments]
        return moments, [self._grid(name, start, stop) for name in self.plan.grids]

    def _moments(self, name: str, start: int, stop: int) -> Moments:
        values = self.table.values(name)
        weight, mean, square, missing = np.zeros((4, self.slots - 1))
        if self.exact:
            from countwise.counts.engines import _exact

            found = _exact.exact_sums(
                values, self.target, self.weight, start, stop, weight, missing
            )
            return Moments.summed(weight, missing, ExactSums(*found).compact())
        given = self.weight
        _kernels.moments(values, self.target, given, start, stop, weight, mean, square, missing)
        return Moments(weight, mean, square, missing)

    def _grid(self, name: str, start: int, stop: int) -> Grid:
        shift, keys, cells, missing = _kernels.fine_grid(
            self.table.values(name),
            self.target,
            self.weight,
            start,
            stop,
            self.slots,
            MOST_CELLS,
            0,
        )
        missing[-2] += missing[-1]
        cells[-2] += cells[-1]
        return Grid(shift, keys, np.ascontiguousarray(cells[:-1]), missing[:-1])


def _cover(table: Table, plan: Plan) -> dict[tuple[str, ...], tuple[str, ...]]:
    """Return for every table of the plan the joint table it is summed from."""
    # Paired columns form bricks of a few: the joint table of two bricks holds every pair across
    # and within them. Single columns are joined as far as the cache allows.
    width = {c.name: c.width + 2 for c in table.schema.nominal}
    base = table.target_column.width + 2
    most = max(4, JOINT_CELLS // base)
    paired = list(dict.fromkeys(n for names in plan.tables if len(names) == 2 for n in names))
    bricks = joint_groups([width[name] for name in paired], int((2 * most) ** 0.5))
    brick_of = {paired[place]: at for at, brick in enumerate(bricks) for place in brick}
    columns = [tuple(paired[place] for place in brick) for brick in bricks]
    inside: dict[tuple[str, ...], tuple[str, ...]] = {}
    for names in plan.tables:
        if len(names) == 2:
            one, two = sorted(brick_of[name] for name in names)
            inside[names] = columns[one] if one == two else columns[one] + columns[two]
        elif len(names) > 2:
            inside[names] = names
    held: dict[str, tuple[str, ...]] = {}
    for joint in inside.values():
        for name in joint:
            held.setdefault(name, joint)
    rest = [names[0] for names in plan.tables if len(names) == 1 and names[0] not in held]
    for group in joint_groups([width[name] for name in rest], most):
        joint = tuple(rest[place] for place in group)
        held.update(dict.fromkeys(joint, joint))
    return {names: inside[names] if len(names) > 1 else held[names[0]] for names in plan.tables}


def joint_groups(widths: Sequence[int], most: int) -> list[list[int]]:
    """Group axes of these widths, in order, while the joint table has at most `most` cells."""
    groups: list[list[int]] = []
    cells = 0
    for place, width in enumerate(widths):
        if groups and cells * width <= most:
            groups[-1].append(place)
            cells *= width
        else:
            groups.append([place])
            cells = width
    return groups


def whole_weights(weight: FloatArray) -> bool:
    """Return whether every weight is a whole number, and so is their sum."""
    return bool(np.all(weight == np.floor(weight)) and weight.sum() < MOST_EXACT)


def without_unseen(table: NDArray[Any], axes: int | None = None) -> NDArray[Any]:
    """Add the slot of unseen levels to the missing slot, on every axis or the first `axes`.

    The sums are written into the table that is given.
    """
    for axis in range(table.ndim if axes is None else axes):
        front = table.swapaxes(0, axis)
        front[-2] += front[-1]
        table = front[:-1].swapaxes(0, axis)
    return np.ascontiguousarray(table)


def pairs_to_count(table: Table, plan: Plan) -> list[Pair]:
    """Return the pairs of a plan that are counted directly: all if rows are few, else none.

    A pair whose table would have more than `MOST_TABLE_CELLS` is left to those who refuse it.
    """
    if len(table) > DIRECT_ROWS:
        return []
    width = {column.name: column.width + 2 for column in table.schema if column.coded}
    most = MOST_TABLE_CELLS // (table.target_column.width + 2)
    pairs = [(names[0], names[1]) for names in plan.tables if len(names) == 2]
    return [pair for pair in pairs if width[pair[0]] * width[pair[1]] <= most]


class _Coded:
    """Rows as the kernels take them: one line of codes a column, unseen counted as missing."""

    def __init__(self, table: Table, names: Sequence[str], weight: FloatArray | None) -> None:
        self.slots = table.target_column.width + 1
        self.target = np.minimum(table.target, self.slots - 1).astype(np.uint32)
        self.width = np.array([table.schema[name].width + 1 for name in names], dtype=np.uint32)
        kind = code_type(int(self.width.max(initial=1)) - 1)
        self.codes = np.empty((len(names), len(table)), dtype=kind)
        for line, name, width in zip(self.codes, names, self.width.tolist(), strict=True):
            np.minimum(table.codes(name), width - 1, out=line, casting="unsafe")
        self.weight = None if weight is None else np.ascontiguousarray(weight)

    def split(self, pairs: NDArray[np.int64]) -> list[slice]:
        """Return the pairs in blocks, several only where threads are worth it."""
        work = len(pairs) * len(self.target)
        number = 4 * threads() if work > _WORTH_A_THREAD and threads() > 1 else 1
        return blocks(len(pairs), -(-len(pairs) // number))


class _PairTables:
    """The tables of pairs of columns, class × one × other, in one array."""

    def __init__(self, table: Table, pairs: Sequence[Sequence[str]]) -> None:
        self._pairs = [(one, two) for one, two in pairs]
        self._names = list(dict.fromkeys(name for pair in pairs for name in pair))
        place = {name: at for at, name in enumerate(self._names)}
        self._ends = np.array([(place[one], place[two]) for one, two in pairs], dtype=np.int64)
        self._slots = table.target_column.width + 1
        width = np.array([table.schema[name].width + 1 for name in self._names], dtype=np.int64)
        self._shapes = width[self._ends]
        self._edges = np.concatenate([[0], np.cumsum(self._slots * self._shapes.prod(axis=1))])
        self._cells = np.zeros(int(self._edges[-1]))

    def add(self, table: Table, weight: FloatArray | None) -> None:
        """Count rows of the same schema."""
        coded = _Coded(table, self._names, weight)

        def fill(block: slice) -> None:
            _pairs.count_pairs(
                coded.codes, coded.target, coded.weight, coded.width, coded.slots,
                self._ends[block], self._edges[block], self._cells,
            )  # fmt: skip

        in_threads(fill, coded.split(self._ends))

    def tables(self) -> dict[Pair, FloatArray]:
        """Return the table of each pair."""
        edges, shapes = self._edges.tolist(), self._shapes.tolist()
        return {
            pair: self._cells[edges[at] : edges[at + 1]].reshape(self._slots, *shapes[at])
            for at, pair in enumerate(self._pairs)
        }


def count_pairs(
    table: Table, pairs: Sequence[Pair], weight: FloatArray | None = None
) -> dict[Pair, FloatArray]:
    """Return the table of each pair of columns; they share one array."""
    if not pairs:
        return {}
    counted = _PairTables(table, pairs)
    counted.add(table, weight)
    return counted.tables()


def measure_pairs(
    table: Table, columns: Sequence[str], weight: FloatArray | None = None
) -> FloatArray:
    """Return the conditional information of every two columns, and keep none of their tables."""
    shared = np.zeros((len(columns), len(columns)))
    lower = np.tril_indices(len(columns), k=-1)
    ends = np.stack(lower, axis=1).astype(np.int64)
    if not len(ends) or not len(table):
        return shared
    coded = _Coded(table, columns, weight)
    bits = np.empty(len(ends))

    def measure(block: slice) -> None:
        _pairs.measure_pairs(
            coded.codes, coded.target, coded.weight, coded.width, coded.slots, ends[block],
            bits[block],
        )  # fmt: skip

    in_threads(measure, coded.split(ends))
    shared[lower] = bits
    return shared + shared.T
