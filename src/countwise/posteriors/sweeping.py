"""The best cuts of numeric columns, found by walking boundaries through sorted rows.

The columns are cut together: a cell is a slab of every column. While one column is looked at, the
others only say in which context a row is; what all slabs are worth is a sum over slabs, and one
walk through the rows of a slab tells what cutting it in two would earn, at every place at once. So
a boundary can be lifted and put back where it earns most, anywhere in its column.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from countwise.posteriors._quantize import sweep
from countwise.posteriors.row_blocks import NONE

Doubles = NDArray[np.float64]

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
    train: Doubles
    check: Doubles
    lean: float = 0.0
    fallback: int = 0

    @classmethod
    def squares(cls, shares: Doubles) -> Aim:
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
    values: Doubles
    ends: NDArray[np.uint8]
    label: NDArray[np.uint16]
    weight: Doubles

    @classmethod
    def of(cls, values: NDArray[Any], label: NDArray[np.uint16], weight: Doubles) -> Line:
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
    room: Doubles,
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
