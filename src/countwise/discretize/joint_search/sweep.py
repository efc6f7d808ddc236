"""Cut several numeric columns together: boundaries move, leave and enter while it earns more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.discretize.joint_search._sweep import sweep
from countwise.discretize.joint_search.rows import NONE

#: Contexts are numbered directly up to so many; beyond, only those that occur are.
_DIRECT = 1 << 20
_MOVES = 200


class CutSearch:
    """Cuts of several columns over one set of rows, and the moves that improve them."""

    def __init__(
        self,
        columns: Sequence[NDArray[Any]],
        fixed: Sequence[tuple[NDArray[Any], int]],
        label: NDArray[np.uint16],
        weight: FloatArray,
        classes: int,
        on_move: Callable[[CutSearch, float, float], None] | None = None,
    ) -> None:
        self.label, self.weight, self.classes, self.on_move = label, weight, classes, on_move
        self.lines = [Line.of(own, label, weight) for own in columns]
        self.fixed = list(fixed)
        self.cuts: list[list[int]] = [[] for _ in self.lines]
        self._levels = [self._level(at) for at in range(len(self.lines))]
        self.value, self.check, self.moves = 0.0, 0.0, 0

    def __len__(self) -> int:
        return len(self.label)

    def put(self, at: int, cuts: Sequence[int]) -> None:
        """Cut a column at these places."""
        self.cuts[at] = sorted(cuts)
        self._levels[at] = self._level(at)

    def put_all(self, cuts: Sequence[Sequence[int]]) -> None:
        """Cut all columns at these places."""
        for at, own in enumerate(cuts):
            self.put(at, own)

    def kept(self) -> list[list[int]]:
        """The cuts as they are now, to come back to."""
        return [list(own) for own in self.cuts]

    def boundaries(self) -> list[FloatArray]:
        """Where the columns are cut, as numbers."""
        return [
            np.array([line.boundary(place) for place in own])
            for line, own in zip(self.lines, self.cuts, strict=True)
        ]

    def levels(self) -> list[int]:
        """How many slabs of numbers each column has."""
        return [len(own) + 1 for own in self.cuts]

    def size(self, at: int) -> int:
        """How many slabs a column has, the one of missing numbers included."""
        return len(self.cuts[at]) + 1 + (len(self.lines[at]) < len(self))

    def cells(self) -> float:
        """How many cells there are, the slabs of missing numbers and fixed columns included."""
        made = 1.0
        for at in range(len(self.lines)):
            made *= self.size(at)
        for _, size in self.fixed:
            made *= size
        return made

    def _level(self, at: int) -> NDArray[np.int32]:
        line = self.lines[at]
        edges = [0, *self.cuts[at], len(line)]
        level = np.full(len(self), len(edges) - 1, np.int32)
        level[line.order] = np.repeat(np.arange(len(edges) - 1, dtype=np.int32), np.diff(edges))
        return level

    def contexts(self, without: int | None = None) -> tuple[NDArray[np.int32], int]:
        """In which cell of the other columns each row is, and how many such cells there are."""
        axes = [(level, self.size(at)) for at, level in enumerate(self._levels) if at != without]
        address, number = np.zeros(len(self), np.int64), 1
        for level, size in [*axes, *self.fixed]:
            if number * size > 1 << 62:
                address, number = _numbered(address)
            address *= size
            address += level
            number *= size
        if number > _DIRECT:
            address, number = _numbered(address)
        return address.astype(np.int32), number

    def view(self, at: int, aim: Aim) -> View:
        """Look at one column in the contexts of the others."""
        line = self.lines[at]
        context, number = self.contexts(at)
        aside = (0.0, 0.0)
        if len(line) < len(self):
            lost = np.ones(len(self), bool)
            lost[line.order] = False
            aside = self._worth(context, number, aim, np.flatnonzero(lost))
        return View(line, self.cuts[at], context[line.order], number, aim, aside)

    def worth(self, aim: Aim) -> tuple[float, float]:
        """What all cells are worth, counted anew: in training and in checking."""
        context, number = self.contexts()
        return self._worth(context, number, aim, np.arange(len(self)))

    def worth_without(self, at: int, aim: Aim) -> tuple[float, float]:
        """What the cells would be worth if a column were left out."""
        context, number = self.contexts(at)
        return self._worth(context, number, aim, np.arange(len(self)))

    def _worth(
        self, context: NDArray[np.int32], number: int, aim: Aim, rows: NDArray[np.intp]
    ) -> tuple[float, float]:
        weight = self.weight[rows] if len(self.weight) else NONE
        none = np.zeros(len(rows), np.uint8)
        line = Line(rows.astype(np.int32), NONE, none, self.label[rows], weight)
        room = np.zeros((number, 4 * self.classes + 5))
        told = walk(line, np.ascontiguousarray(context[rows]), 0, len(rows), aim, 0.0, room)
        return told.value, told.check

    def visit(self, at: int, aim: Aim) -> bool:
        """Move the boundaries of a column while it earns more; say whether any moved."""
        view = self.view(at, aim)
        moved = False
        for _ in range(_MOVES):
            step = view.best_move()
            if step is None:
                break
            moved = True
            self.accept(at, view, step)
        self.value, self.check = view.worth()
        return moved

    def accept(self, at: int, view: View, step: Move) -> None:
        """Take a move."""
        self.moves += 1
        view.cuts = step.cuts
        self.put(at, step.cuts)
        if self.on_move is not None:
            self.on_move(self, step.value, step.check)


def _numbered(address: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
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
    def squares(cls, shares: FloatArray) -> Aim:
        """Pairs of one class, of all rows: what tells all classes apart, whatever they earn."""
        chance = np.full((len(shares), 1), float(np.square(shares).sum()))
        return cls(SQUARES, chance, chance)

    @classmethod
    def information(cls, classes: int) -> Aim:
        """Information about the class, of all rows."""
        return cls(INFORMATION, np.ones((classes, 1)), np.ones((classes, 1)))

    def leaning(self, lean: float) -> Aim:
        """The same aim with another weight of the checking part."""
        return replace(self, lean=lean)


class Swept(NamedTuple):
    """What a walk through a slab told: its worth uncut, and the best place to cut it."""

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
        there = len(order) - int(np.isnan(ordered).sum())
        order, ordered = order[:there], ordered[:there]
        ends = np.zeros(there, np.uint8)
        ends[:-1] = ordered[1:] > ordered[:-1]
        return cls(order, ordered, ends, label[order], weight[order] if len(weight) else NONE)

    def __len__(self) -> int:
        return len(self.order)

    def boundary(self, place: int) -> float:
        """The cut before this row: halfway between its value and the one before."""
        return middle(self.values[place - 1], self.values[place])

    def place(self, boundary: float) -> int:
        """How many rows are at or below a cut."""
        return int(np.searchsorted(self.values, boundary, side="right"))

    def quantiles(self, levels: int) -> list[int]:
        """Places that leave about equal weight between them (P3, eq. 14 and 15)."""
        if len(self) < 2 or levels < 2:
            return []
        total = np.cumsum(self.weight) if len(self.weight) else np.arange(1.0, len(self) + 1)
        wanted = total[-1] * np.arange(1, levels) / levels
        after = np.flatnonzero(self.ends)
        if not len(after):
            return []
        near = np.clip(np.searchsorted(total[after], wanted), 0, len(after) - 1)
        before = np.maximum(near - 1, 0)
        nearer = np.abs(total[after[before]] - wanted) < np.abs(total[after[near]] - wanted)
        return sorted({int(place) + 1 for place in after[np.where(nearer, before, near)]})


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
        self.least = LEAST * max(float(np.abs(aim.train).max()), 1e-12)

    def slab(self, start: int, stop: int) -> Swept:
        """Walk through a slab, or remember what was found."""
        key = (start, stop)
        if key not in self._known:
            self._known[key] = walk(
                self.line, self.context, start, stop, self.aim, self.least, self._room
            )
        return self._known[key]

    def slabs(self) -> list[Swept]:
        """All slabs between the cuts."""
        return [self.slab(start, stop) for start, stop in pairwise(self.edges)]

    @property
    def edges(self) -> list[int]:
        """The cuts between the first row and the last."""
        return [0, *self.cuts, len(self.line)]

    def worth(self) -> tuple[float, float]:
        """What the column's slabs are worth together, in training and in checking."""
        slabs = self.slabs()
        return (
            self.aside[0] + sum(told.value for told in slabs),
            self.aside[1] + sum(told.check for told in slabs),
        )

    def _score(self, told: Swept) -> float:
        return told.value + self.aim.lean * told.check

    def _place(self, told: Swept) -> int:
        """The middle, as numbers go, of the places that earn the most."""
        values = self.line.values
        place = self.line.place(middle(values[told.first], values[told.last + 1]))
        return min(max(place, told.first + 1), told.last + 1)

    def _largest(self, options: list[tuple[float, Swept]]) -> tuple[float, Swept]:
        """The option that earns most; of equal ones, as far as rounding can tell, the first."""
        best = options[0]
        for option in options[1:]:
            if option[0] > best[0] + self.least:
                best = option
        return best

    def insertion(self) -> Move | None:
        """The best place for one more cut; None where there is none."""
        slabs = self.slabs()
        options = [(told.best - self._score(told), told) for told in slabs if told.first >= 0]
        if not options:
            return None
        more, told = self._largest(options)
        value, check = self.worth()
        return Move(
            more,
            sorted([*self.cuts, self._place(told)]),
            value + told.best_value - told.value,
            check + told.best_check - told.check,
        )

    def removals(self) -> list[Move]:
        """What taking each cut away would leave."""
        edges, slabs = self.edges, self.slabs()
        value, check = self.worth()
        made = []
        for at in range(1, len(edges) - 1):
            both = self.slab(edges[at - 1], edges[at + 1])
            one, two = slabs[at - 1], slabs[at]
            made.append(
                Move(
                    self._score(both) - self._score(one) - self._score(two),
                    self.cuts[: at - 1] + self.cuts[at:],
                    value + both.value - one.value - two.value,
                    check + both.check - one.check - two.check,
                )
            )
        return made

    def best_move(self) -> Move | None:
        """Lift a cut and put it where it earns most, anywhere; None where nothing earns more."""
        slabs, edges = self.slabs(), self.edges
        gains = [(told.best - self._score(told), told) for told in slabs if told.first >= 0]
        best: Move | None = None
        for at, lifted in enumerate(self.removals(), start=1):
            own = self.slab(edges[at - 1], edges[at + 1])
            options = [(own.best - self._score(own), own)] if own.first >= 0 else []
            options += [
                pair for pair in gains if pair[1] is not slabs[at - 1] and pair[1] is not slabs[at]
            ]
            if not options:
                continue
            more, told = self._largest(options)
            if lifted.more + more > self.least + (best.more if best else 0.0):
                best = Move(
                    lifted.more + more,
                    sorted({*lifted.cuts, self._place(told)}),
                    lifted.value + told.best_value - told.value,
                    lifted.check + told.best_check - told.check,
                )
        return best


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
    return Swept(
        *sweep(
            context,
            line.label,
            line.weight,
            line.ends,
            start,
            stop,
            aim.train,
            aim.check,
            aim.fallback,
            aim.kind,
            aim.lean,
            slack,
            room,
        )
    )
