"""Search several columns together: move, remove and add boundaries while the aim improves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.counts.information import partition_gain
from countwise.discretize.cut_points import equal_frequency
from countwise.discretize.joint_search._sweep import sweep
from countwise.discretize.joint_search.cell_grid import DIRECT
from countwise.discretize.joint_search.rows import NONE
from countwise.discretize.joint_search.time_limit import SearchClock
from countwise.errors import ParameterError

#: Contexts are numbered directly up to so many; beyond, only those that occur are.
_DIRECT = 1 << 20
_MOVES = 200

#: By column, the places before which it is cut.
Cuts = list[list[int]]


class CutSearch:
    """Cuts of several columns over one set of rows, and the moves that improve them."""

    def __init__(
        self,
        columns: Sequence[NDArray[Any]],
        fixed: Sequence[tuple[NDArray[Any], int]],
        label: NDArray[np.uint16],
        weight: FloatArray,
        classes: int,
    ) -> None:
        self.label, self.weight, self.classes = label, weight, classes
        self.lines = [Line.of(column, label, weight) for column in columns]
        self.fixed = list(fixed)
        self.cuts: Cuts = [[] for _ in self.lines]
        self._levels = [self._level(at) for at in range(len(self.lines))]
        self.moves = 0

    def __len__(self) -> int:
        return len(self.label)

    def put(self, at: int, cuts: Sequence[int]) -> None:
        """Cut a column at these places."""
        self.cuts[at] = sorted(cuts)
        self._levels[at] = self._level(at)

    def put_all(self, cuts: Sequence[Sequence[int]]) -> None:
        """Cut all columns at these places."""
        for at, places in enumerate(cuts):
            self.put(at, places)

    def copy_cuts(self) -> Cuts:
        """Return the cuts as they are now, to come back to."""
        return [list(places) for places in self.cuts]

    def boundaries(self) -> list[FloatArray]:
        """Return where the columns are cut, as numbers."""
        return [
            np.array([line.boundary(place) for place in places])
            for line, places in zip(self.lines, self.cuts, strict=True)
        ]

    def levels(self) -> list[int]:
        """Return how many slabs of numbers each column has."""
        return [len(places) + 1 for places in self.cuts]

    def size(self, at: int) -> int:
        """Return how many slabs a column has, the one of missing numbers included."""
        return len(self.cuts[at]) + 1 + (len(self.lines[at]) < len(self))

    def cells(self) -> float:
        """Return how many cells there are, those of missing numbers and fixed columns included."""
        sizes = [self.size(at) for at in range(len(self.lines))]
        return prod([*sizes, *(size for _, size in self.fixed)], start=1.0)

    def _level(self, at: int) -> NDArray[np.int32]:
        line = self.lines[at]
        edges = [0, *self.cuts[at], len(line)]
        level = np.full(len(self), len(edges) - 1, np.int32)
        level[line.order] = np.repeat(np.arange(len(edges) - 1, dtype=np.int32), np.diff(edges))
        return level

    def contexts(self, without: int | None = None) -> tuple[NDArray[np.int32], int]:
        """Return in which cell of the other columns each row is, and how many cells there are."""
        axes = [(level, self.size(at)) for at, level in enumerate(self._levels) if at != without]
        address, number = np.zeros(len(self), np.int64), 1
        for level, size in [*axes, *self.fixed]:
            if number * size > 1 << 62:
                address, number = _renumber(address)
            address *= size
            address += level
            number *= size
        if number > _DIRECT:
            address, number = _renumber(address)
        return address.astype(np.int32), number

    def addresses(self) -> tuple[NDArray[np.int64], list[int], int]:
        """Return the cell of each row, by column the distance of neighboring cells, and all cells.

        There must be a table with a line for each of them.
        """
        sizes = [self.size(at) for at in range(len(self.lines))] + [size for _, size in self.fixed]
        if prod(sizes) > DIRECT:
            raise ParameterError(
                f"search='paper' keeps a table of all cells, at most {DIRECT:,}; got "
                f"{prod(sizes):,}.",
                hint="Lower budget=, or use search='sweep'",
            )
        strides = [prod(sizes[place + 1 :]) for place in range(len(sizes))]
        address = np.zeros(len(self), np.int64)
        for level, stride in zip(
            [*self._levels, *(level for level, _ in self.fixed)], strides, strict=True
        ):
            address += level * np.int64(stride)
        return address, strides[: len(self.lines)], prod(sizes)

    def view(self, at: int, aim: Aim) -> View:
        """Look at one column in the contexts of the others."""
        line = self.lines[at]
        context, number = self.contexts(at)
        aside = (0.0, 0.0)
        if len(line) < len(self):
            missing = np.ones(len(self), bool)
            missing[line.order] = False
            aside = self._worth(context, number, aim, np.flatnonzero(missing))
        return View(line, self.cuts[at], context[line.order], number, aim, aside)

    def worth(self, aim: Aim) -> tuple[float, float]:
        """Return what all cells are worth, counted anew: in training and in checking."""
        context, number = self.contexts()
        return self._worth(context, number, aim, np.arange(len(self)))

    def _worth(
        self, context: NDArray[np.int32], number: int, aim: Aim, rows: NDArray[np.intp]
    ) -> tuple[float, float]:
        weight = self.weight[rows] if len(self.weight) else NONE
        none = np.zeros(len(rows), np.uint8)
        line = Line(rows.astype(np.int32), NONE, none, self.label[rows], weight)
        room = np.zeros((number, 4 * self.classes + 5))
        found = walk(line, np.ascontiguousarray(context[rows]), 0, len(rows), aim, 0.0, room)
        return found.value, found.check

    def visit(self, at: int, aim: Aim) -> bool:
        """Move the boundaries of a column while it earns more; return whether any moved."""
        view, before = self.view(at, aim), self.moves
        for _ in range(_MOVES):
            step = view.best_move()
            if step is None:
                break
            self.accept(at, view, step)
        return self.moves > before

    def settle(
        self,
        aim: Aim,
        clock: SearchClock,
        rounds: int,
        tell: Callable[[int, int], None] | None = None,
    ) -> None:
        """Visit columns in turn until none moves any more; the time is checked between visits.

        `tell` is called after each round with the last column visited and its moves.
        """
        quiet, columns = 0, len(self.lines)
        for visit in range(rounds * columns):
            at, before = visit % columns, self.moves
            quiet = 0 if self.visit(at, aim) else quiet + 1
            if tell is not None and (at == columns - 1 or quiet >= columns):
                tell(at, self.moves - before)
            if quiet >= columns:
                return
            clock.check()

    def accept(self, at: int, view: View, step: Move) -> None:
        """Take a move."""
        self.moves += 1
        view.cuts = step.cuts
        self.put(at, step.cuts)


def _renumber(address: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    """Number the addresses that occur, in their order."""
    found, place = np.unique(address, return_inverse=True)
    return place.reshape(-1).astype(np.int64), len(found)


#: What a cell is worth: the gain of its best decision; the weight of pairs of rows of one class,
#: free of bias (Gini's index); the information about the class.
GAIN, SQUARES, INFORMATION = 0, 1, 2

#: A move must earn more than this share of a row.
LEAST = 1e-7


@dataclass(frozen=True)
class Aim:
    """What cuts are to earn: gains by class and decision, of training and of checking rows.

    A place scores its value in training plus `lean` times its checking value, where training
    decides for each cell and the checking rows are paid by that decision. A cell without training
    rows takes decision `fallback`.
    """

    kind: int
    train: FloatArray
    check: FloatArray
    lean: float = 0.0
    fallback: int = 0

    @classmethod
    def squares(cls, fractions: FloatArray) -> Aim:
        """Pairs of one class, of all rows: what tells all classes apart, whatever they earn."""
        chance = np.full((len(fractions), 1), float(np.square(fractions).sum()))
        return cls(SQUARES, chance, chance)

    @classmethod
    def information(cls, classes: int) -> Aim:
        """Information about the class, of all rows."""
        return cls(INFORMATION, np.ones((classes, 1)), np.ones((classes, 1)))

    @property
    def largest(self) -> float:
        """The largest gain or loss of a row, to compare what is earned with."""
        return max(float(np.abs(self.train).max()), 1e-12)

    def leaning(self, lean: float) -> Aim:
        """Return the same aim with another weight of the checking part."""
        return replace(self, lean=lean)

    def worth(self, table: FloatArray) -> tuple[float, float]:
        """Return what cells × (class, part) earn in training and in checking, training deciding."""
        return partition_gain(table[:, ::2], self.train, table[:, 1::2], self.check, self.fallback)


def per_row(value: float, check: float, totals: tuple[float, float]) -> dict[str, float | None]:
    """Return what a row earns in training and in checking; None where there are no rows."""
    return {
        "train": value / totals[0] if totals[0] > 0 else None,
        "validation": check / totals[1] if totals[1] > 0 else None,
    }


class Swept(NamedTuple):
    """What a walk through a slab finds: its worth uncut, and the best place to cut it."""

    value: float
    check: float
    best: float
    best_value: float
    best_check: float
    first: int
    last: int


@dataclass(frozen=True)
class Line:
    """The rows of a numeric column in order, those without a number left out."""

    order: NDArray[np.int32]
    values: FloatArray
    ends: NDArray[np.uint8]
    label: NDArray[np.uint16]
    weight: FloatArray

    @classmethod
    def of(cls, values: NDArray[Any], label: NDArray[np.uint16], weight: FloatArray) -> Line:
        """Sort a column."""
        order = np.argsort(values, kind="stable").astype(np.int32)
        ordered = np.ascontiguousarray(values[order], dtype=np.float64)
        known = len(order) - int(np.isnan(ordered).sum())
        order, ordered = order[:known], ordered[:known]
        ends = np.zeros(known, np.uint8)
        ends[:-1] = ordered[1:] > ordered[:-1]
        return cls(order, ordered, ends, label[order], weight[order] if len(weight) else NONE)

    def __len__(self) -> int:
        return len(self.order)

    def boundary(self, place: int) -> float:
        """Return the cut before this row: halfway between its value and the one before."""
        return middle(self.values[place - 1], self.values[place])

    def place(self, boundary: float) -> int:
        """Return how many rows are at or below a cut."""
        return int(np.searchsorted(self.values, boundary, side="right"))

    def middle_place(self, first: int, last: int) -> int:
        """Return the cut in the middle, as numbers go, of two rows and after the first of them."""
        place = self.place(middle(self.values[first], self.values[last]))
        return min(max(place, first + 1), last)

    def quantiles(self, levels: int) -> list[int]:
        """Return places that leave about equal weight between them (P3, eq. 14 and 15)."""
        reached = np.cumsum(self.weight) if len(self.weight) else None
        return list(equal_frequency(self.values, levels, reached).tolist())


def middle(low: float, high: float) -> float:
    """Return a number between two, halfway; the lower one where no other lies between."""
    between = float(low + (high / 2 - low / 2))
    return between if low <= between < high else float(low)


class Move(NamedTuple):
    """A step that earns more: by how much, the cuts after it, and what the column is worth then."""

    more: float
    cuts: list[int]
    value: float
    check: float


class View:
    """One column, its rows in order, each in its context: slabs are walked once and remembered."""

    def __init__(
        self,
        line: Line,
        cuts: list[int],
        context: NDArray[np.int32],
        number: int,
        aim: Aim,
        aside: tuple[float, float] = (0.0, 0.0),
    ) -> None:
        self.line, self.cuts, self.aim, self.aside = line, list(cuts), aim, aside
        self.context, self.contexts = context, number
        self._room = np.zeros((number, 4 * len(aim.train) + 5))
        self._known: dict[tuple[int, int], Swept] = {}
        self.least = LEAST * aim.largest

    def slab(self, start: int, stop: int) -> Swept:
        """Walk through a slab, or remember what was found."""
        key = (start, stop)
        if key not in self._known:
            self._known[key] = walk(
                self.line, self.context, start, stop, self.aim, self.least, self._room
            )
        return self._known[key]

    def slabs(self) -> list[Swept]:
        """Walk through all slabs between the cuts."""
        return [self.slab(start, stop) for start, stop in pairwise(self.edges)]

    @property
    def edges(self) -> list[int]:
        """The cuts between the first row and the last."""
        return [0, *self.cuts, len(self.line)]

    def worth(self) -> tuple[float, float]:
        """Return what the column's slabs are worth together, in training and in checking."""
        slabs = self.slabs()
        return (
            self.aside[0] + sum(slab.value for slab in slabs),
            self.aside[1] + sum(slab.check for slab in slabs),
        )

    def _score(self, slab: Swept) -> float:
        return slab.value + self.aim.lean * slab.check

    def _place(self, slab: Swept) -> int:
        """Return the middle, as numbers go, of the places that earn the most."""
        return self.line.middle_place(slab.first, slab.last + 1)

    def _largest(self, options: list[tuple[float, Swept]]) -> tuple[float, Swept]:
        """Return the option that earns most; of equal ones, but for rounding, the first."""
        best = options[0]
        for option in options[1:]:
            if option[0] > best[0] + self.least:
                best = option
        return best

    def insertion(self) -> Move | None:
        """Find the best place for one more cut; None where there is none."""
        options = self._options(self.slabs())
        if not options:
            return None
        more, slab = self._largest(options)
        value, check = self.worth()
        return Move(
            more,
            sorted([*self.cuts, self._place(slab)]),
            value + slab.best_value - slab.value,
            check + slab.best_check - slab.check,
        )

    def _options(self, slabs: Sequence[Swept]) -> list[tuple[float, Swept]]:
        """Return the slabs that can be cut, with what the best cut earns."""
        return [(slab.best - self._score(slab), slab) for slab in slabs if slab.first >= 0]

    def removals(self) -> list[Move]:
        """Return what taking each cut away would leave."""
        edges, slabs = self.edges, self.slabs()
        value, check = self.worth()
        moves = []
        for at in range(1, len(edges) - 1):
            both = self.slab(edges[at - 1], edges[at + 1])
            one, two = slabs[at - 1], slabs[at]
            moves.append(
                Move(
                    self._score(both) - self._score(one) - self._score(two),
                    self.cuts[: at - 1] + self.cuts[at:],
                    value + both.value - one.value - two.value,
                    check + both.check - one.check - two.check,
                )
            )
        return moves

    def best_move(self) -> Move | None:
        """Lift a cut and put it where it earns most, anywhere; None where nothing earns more."""
        slabs, edges = self.slabs(), self.edges
        others = self._options(slabs)
        best: Move | None = None
        for at, lifted in enumerate(self.removals(), start=1):
            joined = self.slab(edges[at - 1], edges[at + 1])
            options = self._options([joined])
            options += [o for o in others if o[1] is not slabs[at - 1] and o[1] is not slabs[at]]
            if not options:
                continue
            more, slab = self._largest(options)
            if lifted.more + more > self.least + (best.more if best else 0.0):
                best = Move(
                    lifted.more + more,
                    sorted({*lifted.cuts, self._place(slab)}),
                    lifted.value + slab.best_value - slab.value,
                    lifted.check + slab.best_check - slab.check,
                )
        return best


def worth_of_cells(table: FloatArray, aim: Aim) -> tuple[float, float]:
    """Return what cells × (class, part) are worth in training and in checking, by any aim."""
    cells, slots = np.nonzero(table)
    weight = table[cells, slots]
    none, order = np.zeros(len(cells), np.uint8), np.arange(len(cells), dtype=np.int32)
    line = Line(order, NONE, none, slots.astype(np.uint16), weight)
    room = np.zeros((len(table), 2 * table.shape[1] + 5))
    found = walk(line, cells.astype(np.int32), 0, len(cells), aim, 0.0, room)
    return found.value, found.check


def walk(
    line: Line,
    context: NDArray[np.int32],
    start: int,
    stop: int,
    aim: Aim,
    slack: float,
    room: FloatArray,
) -> Swept:
    """Walk a boundary through rows start to stop of a line."""
    rows = line.label, line.weight, line.ends, start, stop
    worth = aim.train, aim.check, aim.fallback, aim.kind, aim.lean
    return Swept(*sweep(context, *rows, *worth, slack, room))
