"""Cut several numeric columns together: boundaries move, leave and enter while it earns more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.posteriors.row_blocks import NONE
from countwise.posteriors.sweeping import Aim, Line, Move, View, walk

Doubles = NDArray[np.float64]

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
        weight: Doubles,
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

    def boundaries(self) -> list[Doubles]:
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
