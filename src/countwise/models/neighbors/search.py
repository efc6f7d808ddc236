"""Rows in few dimensions in a k-d tree (SciPy's), which proposes neighbours for the exact search.

The tree rounds differently than the search, so its lists are taken for what they are: whoever is
beyond a list is at least as far as its last row, but for rounding. Where that does not settle who
the neighbours are, as among ties, the search decides by itself.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from countwise._typing import FloatArray
from countwise.counts.engines import _numbers
from countwise.models.neighbors._search import Asked, Kernel, Members
from countwise.models.neighbors.leave_one_out_space import Figures
from countwise.models.neighbors.space import STEEP, Axis, Space, from_sums
from countwise.parallel import in_chunks, threads
from countwise.tables.table import Table

Rows = NDArray[np.int64]

#: Measured: with more axes too many branches have to be looked into, unless rows are very many.
MOST_AXES = 5
MOST_AXES_OF_MANY = 7
_MANY_ROWS = 1_000_000
_LEAST_ROWS = 10_000
#: A tree keeps the rows once more; larger tables are not copied again.
_MOST_CELLS = 1 << 24
#: Queries, times the doublings of rows and the threads, that a scan answers while a tree is built.
_QUERIES = 100


def worth_it(space: Space, holes: bool, rows: int, queries: int, k: int) -> bool:
    """Whether a tree finds neighbours sooner than a scan: few numeric axes, many rows and queries.

    Building a tree takes the time in which a scan answers some thousand queries, so it pays when
    as many `queries` were asked, the present ones with all before.
    """
    axes = len(space.axes)
    few = axes <= (MOST_AXES if rows < _MANY_ROWS else MOST_AXES_OF_MANY) and k <= 64
    if rows < _LEAST_ROWS or not few or holes or space.ignore or rows * axes > _MOST_CELLS:
        return False
    if STEEP < space.p < math.inf:  # the tree would take powers that no double holds
        return False
    if queries < _QUERIES * math.log2(rows) * threads():
        return False
    return all(axis.kind == "number" for axis in space.axes)


class Branches:
    """A tree over the coordinates of the kept rows."""

    def __init__(
        self, cells: list[NDArray[Any]], centre: FloatArray, stretch: FloatArray, p: float
    ) -> None:
        self._centre, self._stretch, self._p = centre, stretch, p
        rows = self._placed(cells)
        self._tree = cKDTree(rows, balanced_tree=False)
        self._reach = max(float(rows.max(initial=0.0)), -float(rows.min(initial=0.0)))

    def _placed(self, cells: list[NDArray[Any]]) -> FloatArray:
        columns = zip(cells, self._centre, self._stretch, strict=True)
        made = np.empty((len(cells[0]), len(cells)))
        for place, (own, middle, factor) in enumerate(columns):
            np.multiply(own - middle, factor, out=made[:, place])
        return made

    def proposed(self, cells: list[NDArray[Any]], size: int) -> tuple[Rows, FloatArray]:
        """Return the nearest rows by the tree, and how far everybody else is at least."""
        asked = self._placed(cells)
        far, who = self._tree.query(asked, k=size, p=self._p, workers=threads())
        last = np.asarray(far).reshape(len(asked), size)[:, -1]
        reach = self._reach + np.abs(asked).max(axis=1, initial=0.0)
        return (
            np.asarray(who).reshape(len(asked), size).astype(np.int64),
            last * (1.0 - 1e-9) - 1e-12 * reach,
        )


LANES = 64
#: Queries that are searched for together, while the tiles stay in the cache.
BLOCK = 128
#: Queries that a tree is asked for together.
TREE_BLOCK = 1 << 14
#: Rows that become tiles at a time, so that what is in between stays small.
CHUNK = 1 << 18
#: Rows that are compared with the members of a condensed set together.
BATCH = 1 << 10
#: Comparisons that are worth the start of a thread.
LEAST_PAIRS = 1 << 17
_UNIT = 2.0**-24
#: Queries whose distances may be less than this part of the shared ones are not sieved.
_LEAST_RATIO = 1e-3
#: Of the mass of all axes, what the sieve takes the lightest one for at least.
_LEAST_SHARE = 1e-30
_NUMBER, _HOLES, _DIFFERS, _TABLE, _MAXIMUM = 0, 1, 2, 3, 1000


class Search:
    """Training rows in a space, ready to be asked for the nearest."""

    def __init__(self, space: Space, table: Table) -> None:
        self.space, self.rows = space, len(table)
        self._cells = space.cells(table)
        self._layout()
        self._tiles = self._tiled()
        self._kernels: dict[bool, Kernel] = {}
        self._tree: Branches | None = None
        self._served = 0
        self._figures: Figures | None = None

    def leaving_out(self, figures: Figures) -> Search:
        """Return the search of the same rows, each query in the space without the row it skips.

        Queries must then be kept rows that skip themselves, and have their figures.
        """
        made = copy.copy(self)
        made._figures = figures
        return made

    def with_power(self, space: Space) -> Search:
        """Return the search of the same rows in a space that differs in its exponent alone.

        Both share the tiles: an exponent does not move the rows.
        """
        made = copy.copy(self)
        made.space = space
        made._measure()
        return made

    def _layout(self) -> None:
        """What each axis needs beside its cells: centre, unit, far and tables."""
        axes = self.space.axes
        self._centre = np.array([axis.centre if axis.kind == "number" else 0.0 for axis in axes])
        away, holes = np.empty(len(axes)), np.empty(len(axes), dtype=np.uint8)
        _numbers.reach(_columns(axes, self._cells), self._centre, away, holes)
        self._most = [_reach(axis, own) for axis, own in zip(axes, away.tolist(), strict=True)]
        self._unit = max([r for r in self._most if 0 < r < math.inf], default=1.0)
        self._measure()
        self._factor = np.array([axis.stretch for axis in axes]) / self._unit
        self._holes = holes.astype(bool)
        blank = any(
            a.kind != "number" and bool((c == a.width).any())
            for a, c in zip(axes, self._cells, strict=True)
        )
        self._whole = not blank and not self._holes.any()

    def _measure(self) -> None:
        """What depends on the exponent: its code, and how far the axes reach."""
        self._power = _power(self.space.p)
        reach = [
            own if axis.kind == "number" else _reach(axis, 0.0)
            for axis, own in zip(self.space.axes, self._most, strict=True)
        ]
        self._reach = np.array(reach) / self._unit

    def _tiled(self) -> NDArray[np.float32]:
        axes = self.space.axes
        tiles = np.zeros((-(-self.rows // LANES), len(axes), LANES), dtype=np.float32)
        _numbers.tile(_columns(axes, self._cells), self._centre, self._factor, tiles)
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
        """Leave out what is made again where it is needed, also in copies: kernels and the tree."""
        return {**self.__dict__, "_kernels": {}, "_tree": None, "_served": 0}

    def _kernel(self, holes: bool) -> Kernel:
        """The compiled search; `holes` where queries miss numbers that every kept row has."""
        if holes not in self._kernels:
            self._kernels[holes] = self._made(holes)
        return self._kernels[holes]

    def _made(self, holes: bool) -> Kernel:
        space, axes, p = self.space, self.space.axes, self.space.p
        kinds = {"differs": _DIFFERS, "table": _TABLE}
        kind = [
            kinds.get(axis.kind, _HOLES if own or holes else _NUMBER)
            for axis, own in zip(axes, self._holes, strict=True)
        ]
        mass = np.array([axis.mass for axis in axes])
        far = np.array([axis.far for axis in axes])
        tables = [None if own is None else _raised(own, p) for own in self._lines()]
        small = [
            None if own is None else np.ascontiguousarray(_raised(own * size, p), dtype=np.float32)
            for own, size in zip(self._lines(), self._sizes(), strict=True)
        ]
        steps = len(axes) + (2 if space.steep else 2 * p) + 8
        return Kernel(
            power=self._power,
            p=p if p < math.inf else 0.0,
            ignore=space.ignore,
            total=space.total,
            kind=np.array(kind, dtype=np.int8),
            far=_raised(far / self._unit, p).astype(np.float32),
            mass=_portions(mass),
            stretch=np.array([axis.stretch for axis in axes]),
            exact_far=far,
            exact_mass=mass,
            width=np.array([axis.width + 2 for axis in axes], dtype=np.int32),
            columns=_columns(axes, self._cells),
            tables=tables,
            narrow=small,
            tiles=self._tiles,
            rows=self.rows,
            unit=self._unit,
            slack=4 * steps * _UNIT,
            whole=self._whole,
        )

    def _lines(self) -> list[FloatArray | None]:
        """The lines of distances that words are compared by."""
        if self._figures is not None:
            return list(self._figures.lines)
        return [axis.figures if axis.kind == "table" else None for axis in self.space.axes]

    def _sizes(self) -> list[float]:
        """By what the lines are multiplied in the tiles: theirs have no weights of attributes."""
        if self._figures is None:
            return [1.0 / self._unit] * len(self.space.axes)
        return [axis.stretch / self._unit for axis in self.space.axes]

    def _asked(self, rows: Table, skip: Rows | None = None) -> tuple[Asked, bool]:
        """A block of queries as the kernel reads them, and whether numbers are missing."""
        axes, cells = self.space.axes, self.space.cells(rows)
        narrow = np.zeros((len(rows), len(axes)), dtype=np.float32)
        codes = np.zeros((len(rows), len(axes)), dtype=np.int32)
        size = np.zeros((len(rows), len(axes)))
        columns = _columns(axes, cells)
        holes = _numbers.ask(columns, self._centre, self._factor, narrow, size)
        for place, (axis, own) in enumerate(zip(axes, cells, strict=True)):
            if axis.kind != "number":
                narrow[:, place] = codes[:, place] = own
        error, plain = self._bounds(size)
        if self._figures is None or skip is None:
            return Asked(columns, narrow, codes, error, plain, np.ones(len(rows))), holes
        return self._asked_alone(self._figures, skip, columns, narrow, codes, error, plain), holes

    def _asked_alone(
        self,
        own: Figures,
        skip: Rows,
        columns: list[FloatArray | None],
        narrow: NDArray[np.float32],
        codes: NDArray[np.int32],
        error: FloatArray,
        plain: NDArray[np.uint8],
    ) -> Asked:
        """Queries each of which has a space of its own."""
        at = own.at(skip)
        for place, axis in enumerate(self.space.axes):
            if axis.kind == "table":
                blank = self.space.ignore & (codes[:, place] == axis.width)
                codes[:, place] = np.where(blank, axis.width, own.line[at, place])
        ratio = own.ratio[at]
        # A ratio of nought, or nearly, rules nobody out.
        plain |= ratio < _LEAST_RATIO
        power = 1.0 if self.space.steep else self.space.p
        loose = np.maximum(ratio, _LEAST_RATIO) ** -power
        figures = (own.stretch[at], own.far[at], own.mass[at], own.grow[at], own.total[at])
        bent = None
        if own.bend is not None and own.more is not None:
            bent = (own.bend[at], own.more[at])
        return Asked(columns, narrow, codes, error, plain, loose, figures, bent)

    def _bounds(self, size: FloatArray) -> tuple[FloatArray, NDArray[np.uint8]]:
        """By how much single figures can be off, and which queries they cannot serve at all."""
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
        """Return the k nearest rows of each query, and the p-th powers of their distances.

        Equally far rows come in the order of their numbers. `skip` names one row a query that is
        not to be found, or -1.
        """
        who = np.empty((len(rows), k), dtype=np.int64)
        far = np.empty((len(rows), k))
        given = _none(len(rows)) if skip is None else np.asarray(skip, dtype=np.int64)
        left = self._by_tree(rows, k, given, who, far)
        if left is not None:
            if len(left):
                who[left], far[left] = self._by_scan(rows.take(left), k, given[left])
            return who, far
        return self._by_scan(rows, k, given)

    def _by_tree(
        self, rows: Table, k: int, skip: Rows, who: Rows, far: FloatArray
    ) -> NDArray[np.intp] | None:
        """Fill in what a tree settles, where it is worth growing; return the queries left over."""
        holes = bool(self._holes.any())
        self._served += len(rows)
        if not worth_it(self.space, holes, self.rows, self._served, k) or k + 2 > self.rows:
            return None
        axes = self.space.axes
        if self._tree is None:
            stretch = np.array([axis.stretch for axis in axes])
            self._tree = Branches(self._cells, self._centre, stretch, self.space.p)
        left = []
        for start in range(0, len(rows), TREE_BLOCK):
            part = slice(start, min(start + TREE_BLOCK, len(rows)))
            block = rows.take(part)
            asked, blank = self._asked(block, skip[part])
            if blank:  # missing numbers have no place in a tree
                left.append(np.arange(part.start, part.stop))
                continue
            names, beyond = self._tree.proposed(self.space.cells(block), k + 2)
            # A tree names nobody where its distances are infinite.
            powers = np.full(names.shape, np.inf)
            self._kernel(False).pairs(asked, names, powers)
            powers[names == skip[part, None]] = np.inf
            order = np.lexsort((names, powers), axis=1)[:, :k]
            who[part] = np.take_along_axis(names, order, axis=1)
            far[part] = np.take_along_axis(powers, order, axis=1)
            if self._figures is not None:
                beyond = beyond * self._figures.ratio[self._figures.at(skip[part])]
            sure = from_sums(far[part, -1], self.space.p) < beyond
            left.append(start + np.flatnonzero(~sure))
        return np.concatenate(left)

    def _by_scan(self, rows: Table, k: int, given: Rows) -> tuple[Rows, FloatArray]:
        who = np.empty((len(rows), k), dtype=np.int64)
        far = np.empty((len(rows), k))

        def found(start: int, stop: int) -> None:
            part = slice(start, stop)
            asked, holes = self._asked(rows.take(part), given[part])
            self._kernel(holes).nearest(asked, who[part], far[part], given[part])

        in_chunks(len(rows), BLOCK, found)
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
        """Sum up the weights of each label among rows whose power of the distance is within bounds.

        Lists of neighbours end somewhere; how many more rows are just as far is asked here.
        """
        sums = np.zeros((len(rows), labels))
        given = _none(len(rows)) if skip is None else np.asarray(skip, dtype=np.int64)

        def added(start: int, stop: int) -> None:
            part = slice(start, stop)
            asked, holes = self._asked(rows.take(part), given[part])
            self._kernel(holes).tally(
                asked, low[part], high[part], label, weight, given[part], sums[part]
            )

        in_chunks(len(rows), BLOCK, added)
        return sums

    def rooted(self, powers: FloatArray, skip: Rows | None = None) -> FloatArray:
        """Turn what `nearest` found into distances."""
        if self._figures is None or skip is None:
            return self.space.rooted(powers)
        whole = self.space.rooted(powers) * self.space.divisor
        return np.asarray(whole / self._figures.divisor[self._figures.at(skip)][:, None])

    def condense(
        self, table: Table, order: Rows, label: Rows, same: float
    ) -> tuple[Rows, int, int]:
        """Return rows that get all rows right by the nearest of them (Hart 1968).

        `table` holds the kept rows themselves. Also told are the number of passes, and how many
        of the returned rows equal one of another class.
        """
        asked, holes = self._asked(table)
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
                for part in _blocks(self.rows, BATCH):
                    rows = order[part][~inside[order[part]]]
                    known = len(members)
                    self._told(pool, kernel, asked, members, rows, known - met[part.start])
                    met[part.start] = known
                    conflicts += kernel.settle(asked, members, rows)
                    inside[members.since(known)] = True
        return members.since(0), passes, conflicts

    def condense_fast(
        self, table: Table, seeds: Rows, label: Rows, same: float
    ) -> tuple[Rows, int, int]:
        """Return rows that get all rows right, grown from the seeds (Angiulli 2005).

        As `condense` does, with the number of rounds. In each round every member takes in, of the
        rows that are nearest to it but of another class, the one that is nearest to it.
        """
        asked, holes = self._asked(table)
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
                self._told(pool, kernel, asked, members, every, len(fresh))
                wrong = np.flatnonzero((members.pure == 0) & ~inside)
                nearest, near = members.nearest[wrong], members.near[wrong]
                wrong = wrong[np.lexsort((wrong, near, nearest))]
                first = np.concatenate([[True], np.diff(members.nearest[wrong]) != 0])[: len(wrong)]
                fresh = np.sort(wrong[first]).astype(np.int64)
        return members.since(0), rounds, int(np.count_nonzero(inside & (members.pure == 0)))

    def _told(
        self,
        pool: ThreadPoolExecutor,
        kernel: Kernel,
        asked: Asked,
        members: Members,
        rows: Rows,
        fresh: int,
    ) -> None:
        """Tell rows of the members they have not met, some `fresh` ones, on every core."""
        if threads() == 1 or len(rows) * fresh < LEAST_PAIRS:
            kernel.approach(asked, members, rows)
            return

        def told(part: slice) -> None:
            kernel.approach(asked, members, rows[part])

        list(pool.map(told, _blocks(len(rows), -(-len(rows) // (2 * threads())))))

    def parts(self, rows: Table, who: Rows) -> FloatArray:
        """Return what each attribute adds to these distances (see `Space.parts`)."""
        return self.space.parts(*self._paired(rows, who))

    def gaps(self, rows: Table, who: Rows) -> FloatArray:
        """Return how far these rows are in each attribute alone."""
        return self.space.gaps(*self._paired(rows, who))

    def _paired(self, rows: Table, who: Rows) -> tuple[list[NDArray[Any]], list[NDArray[Any]]]:
        spread = [np.broadcast_to(own[:, None], who.shape) for own in self.space.cells(rows)]
        return [cells[who] for cells in self._cells], spread


def searches(spaces: Sequence[Space], table: Table) -> Iterator[Search]:
    """Lay out the rows in each space in turn; spaces that differ in p alone share the tiles."""
    made: Search | None = None
    for space in spaces:
        if made is not None and np.array_equal(made.space.weights, space.weights):
            made = made.with_power(space)
        else:
            made = Search(space, table)
        yield made


def _blocks(queries: int, size: int) -> Iterator[slice]:
    for start in range(0, queries, size):
        yield slice(start, min(start + size, queries))


def _none(queries: int) -> Rows:
    return np.full(queries, -1, dtype=np.int64)


def _power(p: float) -> int:
    """The code of an exponent: whole ones and halves are multiplied out, others raised."""
    if p > STEEP:
        return _MAXIMUM
    if p == int(p):
        return int(p)
    if 2 * p == int(2 * p):
        return -int(2 * p)
    return 0


def _raised(figures: FloatArray, p: float) -> FloatArray:
    return np.ascontiguousarray(figures if p > STEEP or p == 1 else figures**p)


def _portions(mass: FloatArray) -> NDArray[np.float32]:
    """Masses as shares of all of them, for the sieve.

    Shares too small for a single figure are told larger than they are: rows are then rescaled too
    little, and none is ruled out for that.
    """
    total = float(mass.sum())
    share = mass / total if total > 0 else mass
    return np.where(mass > 0, np.maximum(share, _LEAST_SHARE), 0.0).astype(np.float32)


def _columns(axes: tuple[Axis, ...], cells: list[NDArray[Any]]) -> list[FloatArray | None]:
    """The cells of number axes; None for those of codes."""
    return [
        np.ascontiguousarray(own, dtype=np.float64) if axis.kind == "number" else None
        for axis, own in zip(axes, cells, strict=True)
    ]


def _reach(axis: Axis, away: float) -> float:
    """The largest figure on an axis; of codes, the largest distance."""
    if axis.kind == "differs":
        return axis.stretch
    if axis.kind == "table":
        return axis.far if axis.figures is None else float(axis.figures.max(initial=0.0))
    return max(axis.far, away * axis.stretch)
