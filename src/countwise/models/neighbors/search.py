"""The exact neighbor search: tiles of rows for the kernels, and a k-d tree in few dimensions.

SciPy's k-d tree only proposes neighbors, because it rounds differently: every row that it does not
list is at least as far as the last one listed, but for rounding. Where that does not settle which
rows are nearest, as among ties, the scan over all rows decides.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from countwise._typing import FloatArray
from countwise.counts.engines import _numbers
from countwise.models.neighbors._search import Asked, Kernel, Members
from countwise.models.neighbors.space import STEEP, Axis, Space, from_sums
from countwise.parallel import blocks, in_chunks, threads
from countwise.tables.table import Table

Rows = NDArray[np.int64]

#: Measured: with more axes too many branches must be searched, unless rows are very many.
MOST_AXES = 5
MOST_AXES_OF_MANY = 7
_MANY_ROWS = 1_000_000
_LEAST_ROWS = 10_000
#: A tree holds a copy of the rows; larger tables are not copied.
_MOST_CELLS = 1 << 24
#: A scan answers this many queries, times log2(rows) and threads, while a tree is built.
_QUERIES = 100


def is_tree_faster(space: Space, holes: bool, rows: int, queries: int, k: int) -> bool:
    """Return whether a tree beats a scan: few numeric axes, many rows, many queries so far."""
    axes = len(space.axes)
    few = axes <= (MOST_AXES if rows < _MANY_ROWS else MOST_AXES_OF_MANY) and k <= 64
    if rows < _LEAST_ROWS or not few or holes or space.ignore or rows * axes > _MOST_CELLS:
        return False
    if STEEP < space.p < math.inf:  # the tree would take powers that no double holds
        return False
    if queries < _QUERIES * math.log2(rows) * threads():
        return False
    return all(axis.kind == "number" for axis in space.axes)


class KDTree:
    """A k-d tree over the coordinates of the stored rows."""

    def __init__(
        self, cells: list[NDArray[Any]], center: FloatArray, stretch: FloatArray, p: float
    ) -> None:
        self._center, self._stretch, self._p = center, stretch, p
        rows = self._coordinates(cells)
        self._tree = cKDTree(rows, balanced_tree=False)
        self._reach = max(float(rows.max(initial=0.0)), -float(rows.min(initial=0.0)))

    def _coordinates(self, cells: list[NDArray[Any]]) -> FloatArray:
        axes = zip(cells, self._center, self._stretch, strict=True)
        coordinates = np.empty((len(cells[0]), len(cells)))
        for place, (values, middle, factor) in enumerate(axes):
            np.multiply(values - middle, factor, out=coordinates[:, place])
        return coordinates

    def propose(self, cells: list[NDArray[Any]], size: int) -> tuple[Rows, FloatArray]:
        """Return the nearest rows by the tree, and how far all others are at least."""
        queries = self._coordinates(cells)
        far, who = self._tree.query(queries, k=size, p=self._p, workers=threads())
        last = np.asarray(far).reshape(len(queries), size)[:, -1]
        reach = self._reach + np.abs(queries).max(axis=1, initial=0.0)
        return (
            np.asarray(who).reshape(len(queries), size).astype(np.int64),
            last * (1.0 - 1e-9) - 1e-12 * reach,
        )


LANES = 64
#: Queries that are searched for together, while the tiles stay in the cache.
BLOCK = 128
#: Queries that a tree answers together.
TREE_BLOCK = 1 << 14
#: Rows that become tiles at a time, so that intermediate arrays stay small.
CHUNK = 1 << 18
#: Rows that are compared with the members of a condensed set together.
BATCH = 1 << 10
#: Comparisons that are worth the start of a thread.
LEAST_PAIRS = 1 << 17
_UNIT = 2.0**-24
#: Queries whose distances may be a smaller fraction of the shared ones are not sieved.
_LEAST_RATIO = 1e-3
#: The least fraction of the mass of all axes that the sieve gives to one.
_LEAST_FRACTION = 1e-30
_NUMBER, _HOLES, _DIFFERS, _TABLE, _MAXIMUM = 0, 1, 2, 3, 1000


@dataclass(frozen=True, eq=False)
class RowSpaces:
    """How the spaces of some stored rows (ascending) differ from the shared one, axis by axis."""

    rows: Rows
    stretch: FloatArray  # as of an `Axis`
    far: FloatArray
    ratio: FloatArray  # distances of a row are at least so many times those in the shared space
    lines: tuple[FloatArray | None, ...]  # distances to all levels
    line: NDArray[np.int32]  # which line holds the distances of a row


class Search:
    """Stored rows in a space, ready to be searched."""

    def __init__(self, space: Space, table: Table) -> None:
        self.space, self.rows = space, len(table)
        self._cells = space.cells(table)
        self._layout()
        self._tiles = self._tile()
        self._kernels: dict[bool, Kernel] = {}
        self._tree: KDTree | None = None
        self._served = 0
        self._row_spaces: RowSpaces | None = None

    def with_row_spaces(self, row_spaces: RowSpaces) -> Search:
        """Return a search of stored rows that skip themselves, each in its own space."""
        other = copy.copy(self)
        other._row_spaces = row_spaces
        return other

    def with_power(self, space: Space) -> Search:
        """Return the search of the same tiles in a space that differs in its exponent alone."""
        other = copy.copy(self)
        other.space = space
        other._measure()
        return other

    def _layout(self) -> None:
        """Set what each axis needs beside its cells: center, unit and reach."""
        axes = self.space.axes
        self._center = np.array([axis.center if axis.kind == "number" else 0.0 for axis in axes])
        away, holes = np.empty(len(axes)), np.empty(len(axes), dtype=np.uint8)
        _numbers.reach(_columns(axes, self._cells), self._center, away, holes)
        self._most = [_reach(axis, far) for axis, far in zip(axes, away.tolist(), strict=True)]
        self._unit = max([far for far in self._most if 0 < far < math.inf], default=1.0)
        self._measure()
        self._factor = np.array([axis.stretch for axis in axes]) / self._unit
        self._holes = holes.astype(bool)
        blank = any(
            axis.kind != "number" and bool((cells == axis.width).any())
            for axis, cells in zip(axes, self._cells, strict=True)
        )
        self._whole = not blank and not self._holes.any()

    def _measure(self) -> None:
        """Set what depends on the exponent: its code, and how far the axes reach."""
        self._power = _power(self.space.p)
        reach = [
            far if axis.kind == "number" else _reach(axis, 0.0)
            for axis, far in zip(self.space.axes, self._most, strict=True)
        ]
        self._reach = np.array(reach) / self._unit

    def _tile(self) -> NDArray[np.float32]:
        axes = self.space.axes
        tiles = np.zeros((-(-self.rows // LANES), len(axes), LANES), dtype=np.float32)
        _numbers.tile(_columns(axes, self._cells), self._center, self._factor, tiles)
        for place, (axis, cells) in enumerate(zip(axes, self._cells, strict=True)):
            if axis.kind == "number":
                continue
            for start in range(0, self.rows, CHUNK):
                codes = cells[start : start + CHUNK]
                flat = np.zeros(-(-len(codes) // LANES) * LANES, dtype=np.float32)
                flat[: len(codes)] = codes
                tiles[start // LANES :][: len(flat) // LANES, place] = flat.reshape(-1, LANES)
        return tiles

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is rebuilt on demand, also in copies: kernels and the tree."""
        return {**self.__dict__, "_kernels": {}, "_tree": None, "_served": 0}

    def _kernel(self, holes: bool) -> Kernel:
        """Return the compiled search; `holes` where queries miss numbers of complete columns."""
        if holes not in self._kernels:
            self._kernels[holes] = self._build_kernel(holes)
        return self._kernels[holes]

    def _build_kernel(self, holes: bool) -> Kernel:
        space, axes, p = self.space, self.space.axes, self.space.p
        kinds = {"differs": _DIFFERS, "table": _TABLE}
        kind = [
            kinds.get(axis.kind, _HOLES if incomplete or holes else _NUMBER)
            for axis, incomplete in zip(axes, self._holes, strict=True)
        ]
        mass = np.array([axis.mass for axis in axes])
        far = np.array([axis.far for axis in axes])
        tables = [axis.figures if axis.kind == "table" else None for axis in axes]
        if self._row_spaces is not None:
            tables = list(self._row_spaces.lines)
        steps = len(axes) + (2 if space.steep else 2 * p) + 8
        return Kernel(
            power=self._power,
            p=p if p < math.inf else 0.0,
            ignore=space.ignore,
            total=space.total,
            kind=np.array(kind, dtype=np.int8),
            far=_raise(far / self._unit, p).astype(np.float32),
            mass=_to_fractions(mass),
            stretch=np.array([axis.stretch for axis in axes]),
            exact_far=far,
            exact_mass=mass,
            width=np.array([axis.width + 2 for axis in axes], dtype=np.int32),
            columns=_columns(axes, self._cells),
            tables=[None if lines is None else _raise(lines, p) for lines in tables],
            narrow=[
                None if lines is None else _raise(lines / self._unit, p).astype(np.float32)
                for lines in tables
            ],
            tiles=self._tiles,
            rows=self.rows,
            unit=self._unit,
            slack=4 * steps * _UNIT,
            whole=self._whole,
        )

    def _queries(self, rows: Table, skip: Rows | None = None) -> tuple[Asked, bool]:
        """Return a block of queries as the kernel reads them, and whether numbers are missing."""
        axes, cells = self.space.axes, self.space.cells(rows)
        narrow = np.zeros((len(rows), len(axes)), dtype=np.float32)
        codes = np.zeros((len(rows), len(axes)), dtype=np.int32)
        size = np.zeros((len(rows), len(axes)))
        columns = _columns(axes, cells)
        holes = _numbers.ask(columns, self._center, self._factor, narrow, size)
        for place, (axis, values) in enumerate(zip(axes, cells, strict=True)):
            if axis.kind != "number":
                narrow[:, place] = codes[:, place] = values
        error, plain = self._bounds(size)
        if self._row_spaces is None or skip is None:
            return Asked(columns, narrow, codes, error, plain, np.ones(len(rows))), holes
        row_spaces = self._row_spaces
        at = np.searchsorted(row_spaces.rows, skip)
        for place, axis in enumerate(axes):
            if axis.kind == "table":
                blank = self.space.ignore & (codes[:, place] == axis.width)
                codes[:, place] = np.where(blank, axis.width, row_spaces.line[at, place])
        ratio = row_spaces.ratio[at]
        # A ratio near zero rules no row out.
        plain |= ratio < _LEAST_RATIO
        power = 1.0 if self.space.steep else self.space.p
        loose = np.maximum(ratio, _LEAST_RATIO) ** -power
        mass = np.tile([axis.mass for axis in axes], (len(rows), 1))
        total = np.full(len(rows), self.space.total)
        figures = (row_spaces.stretch[at], row_spaces.far[at], mass, np.ones(mass.shape), total)
        return Asked(columns, narrow, codes, error, plain, loose, figures), holes

    def _bounds(self, size: FloatArray) -> tuple[FloatArray, NDArray[np.uint8]]:
        """Return the error of single precision, and for which queries it is of no use at all."""
        p, axes = self.space.p, max(len(self.space.axes), 1)
        power = 1.0 if self.space.steep else p
        cap = min((1e36 / axes) ** (1.0 / power) - 1.0, 1e6)
        plain = ~(size <= cap).all(axis=1) | bool(np.any(self._reach > cap))
        moved = 1.01 * _UNIT * (np.minimum(size, cap) + np.minimum(self._reach, cap))
        if self.space.steep:
            error = moved.max(axis=1, initial=0.0)
        else:
            error = (moved**p).sum(axis=1) ** (1.0 / p)
        error = error + (axes * 2.0**-126) ** (1.0 / power)
        if self.space.ignore and not self.space.steep:
            masses = [axis.mass for axis in self.space.axes if axis.mass > 0]
            error = error * (self.space.total / min(masses, default=1.0)) ** (1.0 / power)
        return np.ascontiguousarray(error), plain.astype(np.uint8)

    def nearest(self, rows: Table, k: int, skip: Rows | None = None) -> tuple[Rows, FloatArray]:
        """Return the k nearest rows of each query, in order, and the powers of their distances."""
        who = np.empty((len(rows), k), dtype=np.int64)
        far = np.empty((len(rows), k))
        skipped = _skipped(rows, skip)
        left = self._search_tree(rows, k, skipped, who, far)
        if left is None:
            return self._scan(rows, k, skipped)
        if len(left):
            who[left], far[left] = self._scan(rows.take(left), k, skipped[left])
        return who, far

    def _search_tree(
        self, rows: Table, k: int, skip: Rows, who: Rows, far: FloatArray
    ) -> NDArray[np.intp] | None:
        """Fill in what a tree settles; return the other queries, or None where a scan is faster."""
        holes = bool(self._holes.any())
        self._served += len(rows)
        if k + 2 > self.rows or not is_tree_faster(self.space, holes, self.rows, self._served, k):
            return None
        axes = self.space.axes
        if self._tree is None:
            stretch = np.array([axis.stretch for axis in axes])
            self._tree = KDTree(self._cells, self._center, stretch, self.space.p)
        left = []
        for part in blocks(len(rows), TREE_BLOCK):
            block = rows.take(part)
            queries, blank = self._queries(block, skip[part])
            if blank:  # missing numbers have no place in a tree
                left.append(np.arange(part.start, part.stop))
                continue
            names, beyond = self._tree.propose(self.space.cells(block), k + 2)
            # A tree names no row where its distances are infinite.
            powers = np.full(names.shape, np.inf)
            self._kernel(False).pairs(queries, names, powers)
            powers[names == skip[part, None]] = np.inf
            order = np.lexsort((names, powers), axis=1)[:, :k]
            who[part] = np.take_along_axis(names, order, axis=1)
            far[part] = np.take_along_axis(powers, order, axis=1)
            if self._row_spaces is not None:
                at = np.searchsorted(self._row_spaces.rows, skip[part])
                beyond = beyond * self._row_spaces.ratio[at]
            sure = from_sums(far[part, -1], self.space.p) < beyond
            left.append(part.start + np.flatnonzero(~sure))
        return np.concatenate(left)

    def _scan(self, rows: Table, k: int, skip: Rows) -> tuple[Rows, FloatArray]:
        who = np.empty((len(rows), k), dtype=np.int64)
        far = np.empty((len(rows), k))

        def find(start: int, stop: int) -> None:
            part = slice(start, stop)
            queries, holes = self._queries(rows.take(part), skip[part])
            self._kernel(holes).nearest(queries, who[part], far[part], skip[part])

        in_chunks(len(rows), BLOCK, find)
        return who, far

    def tally(
        self,
        rows: Table,
        low: FloatArray,
        high: FloatArray,
        label: Rows,
        weight: FloatArray,
        labels: int,
        skip: Rows | None = None,
    ) -> FloatArray:
        """Sum up the weight of each label among rows whose power of the distance is in bounds."""
        sums = np.zeros((len(rows), labels))
        skipped = _skipped(rows, skip)

        def add(start: int, stop: int) -> None:
            part = slice(start, stop)
            queries, holes = self._queries(rows.take(part), skipped[part])
            self._kernel(holes).tally(
                queries, low[part], high[part], label, weight, skipped[part], sums[part]
            )

        in_chunks(len(rows), BLOCK, add)
        return sums

    def condense(
        self, table: Table, order: Rows, label: Rows, same: float
    ) -> tuple[Rows, int, int]:
        """Return rows whose nearest classifies all rows right (Hart 1968), passes and conflicts."""
        queries, holes = self._queries(table)
        kernel = self._kernel(holes)
        members = Members(kernel, label, same)
        inside = np.zeros(self.rows, dtype=bool)
        passes = conflicts = 0
        with ThreadPoolExecutor(threads()) as pool:
            before = -1
            met = dict.fromkeys(range(0, self.rows, BATCH), 0)
            while len(members) > before:
                before, passes = len(members), passes + 1
                # Rows are compared with all earlier members together, then among themselves in
                # turn: the same comparisons in the same order as one by one.
                for part in blocks(self.rows, BATCH):
                    rows = order[part][~inside[order[part]]]
                    known = len(members)
                    self._approach(pool, kernel, queries, members, rows, known - met[part.start])
                    met[part.start] = known
                    conflicts += kernel.settle(queries, members, rows)
                    inside[members.since(known)] = True
        return members.since(0), passes, conflicts

    def condense_fast(
        self, table: Table, seeds: Rows, label: Rows, same: float
    ) -> tuple[Rows, int, int]:
        """Return rows as `condense` does, grown from seeds in rounds (Angiulli 2005)."""
        # Every member adds the nearest of the rows nearest to it that are of another class.
        queries, holes = self._queries(table)
        kernel = self._kernel(holes)
        members = Members(kernel, label, same)
        inside = np.zeros(self.rows, dtype=bool)
        every = np.arange(self.rows, dtype=np.int64)
        fresh, rounds = seeds, 0
        with ThreadPoolExecutor(threads()) as pool:
            while len(fresh):
                rounds += 1
                inside[fresh] = True
                kernel.welcome(members, fresh)
                self._approach(pool, kernel, queries, members, every, len(fresh))
                wrong = np.flatnonzero((members.pure == 0) & ~inside)
                nearest, near = members.nearest[wrong], members.near[wrong]
                wrong = wrong[np.lexsort((wrong, near, nearest))]
                first = np.concatenate([[True], np.diff(members.nearest[wrong]) != 0])[: len(wrong)]
                fresh = np.sort(wrong[first]).astype(np.int64)
        return members.since(0), rounds, int(np.count_nonzero(inside & (members.pure == 0)))

    def _approach(
        self,
        pool: ThreadPoolExecutor,
        kernel: Kernel,
        queries: Asked,
        members: Members,
        rows: Rows,
        fresh: int,
    ) -> None:
        """Compare rows with the members they have not met, about `fresh` ones, on every core."""
        if threads() == 1 or len(rows) * fresh < LEAST_PAIRS:
            kernel.approach(queries, members, rows)
            return

        def approach(part: slice) -> None:
            kernel.approach(queries, members, rows[part])

        list(pool.map(approach, blocks(len(rows), -(-len(rows) // (2 * threads())))))

    def parts(self, rows: Table, who: Rows) -> FloatArray:
        """Return what each attribute adds to these distances (see `Space.parts`)."""
        return self.space.parts(*self._pairs(rows, who))

    def gaps(self, rows: Table, who: Rows) -> FloatArray:
        """Return how far these rows are in each attribute alone."""
        return self.space.gaps(*self._pairs(rows, who))

    def _pairs(self, rows: Table, who: Rows) -> tuple[list[NDArray[Any]], list[NDArray[Any]]]:
        queries = [np.broadcast_to(cells[:, None], who.shape) for cells in self.space.cells(rows)]
        return [cells[who] for cells in self._cells], queries


def searches(spaces: Sequence[Space], table: Table) -> Iterator[Search]:
    """Yield a search for each space in turn; spaces that differ in p alone share the tiles."""
    search: Search | None = None
    for space in spaces:
        if search is not None and np.array_equal(search.space.weights, space.weights):
            search = search.with_power(space)
        else:
            search = Search(space, table)
        yield search


def _skipped(rows: Table, skip: Rows | None) -> Rows:
    return np.full(len(rows), -1) if skip is None else np.asarray(skip, dtype=np.int64)


def _power(p: float) -> int:
    """Return the code of an exponent: whole ones and halves are multiplied out, others raised."""
    if p > STEEP:
        return _MAXIMUM
    if p == int(p):
        return int(p)
    if 2 * p == int(2 * p):
        return -int(2 * p)
    return 0


def _raise(figures: FloatArray, p: float) -> FloatArray:
    return np.ascontiguousarray(figures if p > STEEP or p == 1 else figures**p)


def _to_fractions(mass: FloatArray) -> NDArray[np.float32]:
    """Return masses as fractions of their sum, for the sieve."""
    # Those too small for single precision are rounded up, which rules out no row.
    total = float(mass.sum())
    fraction = mass / total if total > 0 else mass
    return np.where(mass > 0, np.maximum(fraction, _LEAST_FRACTION), 0.0).astype(np.float32)


def _columns(axes: tuple[Axis, ...], cells: list[NDArray[Any]]) -> list[FloatArray | None]:
    """Return the cells of number axes; None for those of codes."""
    return [
        np.ascontiguousarray(values, dtype=np.float64) if axis.kind == "number" else None
        for axis, values in zip(axes, cells, strict=True)
    ]


def _reach(axis: Axis, away: float) -> float:
    """Return the largest figure on an axis; of codes, the largest distance."""
    if axis.kind == "differs":
        return axis.stretch
    if axis.kind == "table":
        return axis.far if axis.figures is None else float(axis.figures.max(initial=0.0))
    return max(axis.far, away * axis.stretch)
