"""Panda and Garg's search: boundaries are moved at random, then step by step, one at a time.

It is here to be compared with, so it looks at every row it is given. Their program counted all
rows again for each move; here only the rows between the old and the new place of a boundary change
cells.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.discretize.joint_search.sweep import LEAST, Aim, CutSearch, per_row, worth_of_cells
from countwise.discretize.joint_search.time_limit import SearchClock

#: Random moves in a row without success that end the first part, and steps of the second.
PATIENCE, STEPS = 100, 10


def perturb(
    search: CutSearch,
    aim: Aim,
    totals: tuple[float, float],
    clock: SearchClock,
    rng: np.random.Generator,
) -> None:
    """Alternate random perturbation and sequential check until neither finds more (P3, III.F)."""
    if not any(search.cuts):
        return
    moves = _Moves(search, aim)
    rounds = 0
    try:
        while True:
            rounds += 1
            tried = _random(moves, clock, rng)
            found = _sequential(moves, clock)
            clock.note("paper", round=rounds, tried=tried, **per_row(*moves.worth(), totals))
            if not found:
                return
    finally:  # also when the time is over
        search.put_all(moves.cuts)


def _random(moves: _Moves, clock: SearchClock, rng: np.random.Generator) -> int:
    failures, tried = 0, 0
    columns = [at for at, cuts in enumerate(moves.cuts) if cuts]
    while failures < PATIENCE:
        clock.check()
        at = columns[int(rng.integers(len(columns)))]
        place = int(rng.integers(len(moves.cuts[at])))
        low, high = moves.reach(at, place)
        tried += 1
        found = moves.try_values(at, place, [low + (high - low) * float(rng.random())])
        failures = 0 if found else failures + 1
    return tried


def _sequential(moves: _Moves, clock: SearchClock) -> bool:
    found = False
    for at, cuts in enumerate(moves.cuts):
        for place in range(len(cuts)):
            clock.check()
            low, high = moves.reach(at, place)
            steps = [low + (high - low) * step / STEPS for step in range(STEPS + 1)]
            found |= moves.try_values(at, place, steps)
    return found


class _Moves:
    """Cuts of all columns, the place of each row, and the class weights in every cell."""

    def __init__(self, search: CutSearch, aim: Aim) -> None:
        self.aim, self.lines, self.cuts = aim, search.lines, search.copy_cuts()
        self._weight = search.weight
        address, self._strides, cells = search.addresses()
        slots = 2 * search.classes
        #: The place of each row in the table: its cell, its class, and to train or to check by.
        address *= slots
        address += search.label
        self._place = address.astype(np.min_scalar_type(-cells * slots))
        self._table = np.zeros((cells, slots))
        self._table += self._count(slice(None)).reshape(cells, slots)
        self._least = LEAST * aim.largest

    def _count(self, rows: slice | NDArray[np.int32]) -> FloatArray:
        """Return the weight of rows by cell and slot, in one line."""
        weight = self._weight[rows] if len(self._weight) else None
        counted = np.bincount(self._place[rows], weight, self._table.size)
        return counted.astype(np.float64, copy=False)

    def worth(self) -> tuple[float, float]:
        """Return what all cells are worth, in training and in checking."""
        return worth_of_cells(self._table, self.aim)

    def reach(self, at: int, place: int) -> tuple[float, float]:
        """Return the points halfway to the boundaries on either side, or to the column's ends."""
        line, cuts = self.lines[at], self.cuts[at]
        now = line.boundary(cuts[place])
        before = line.boundary(cuts[place - 1]) if place else float(line.values[0])
        after = line.boundary(cuts[place + 1]) if place + 1 < len(cuts) else float(line.values[-1])
        return now + (before / 2 - now / 2), now + (after / 2 - now / 2)

    def try_values(self, at: int, place: int, values: Iterable[float]) -> bool:
        """Move a boundary to the best of some values, if it earns more than where it is."""
        line, cuts = self.lines[at], self.cuts[at]
        low = cuts[place - 1] if place else 0
        high = cuts[place + 1] if place + 1 < len(cuts) else len(line)
        best, most = cuts[place], self._least
        for option in sorted({line.place(value) for value in values}):
            if low < option < high and option != cuts[place] and line.ends[option - 1]:
                more = self._gain_of_move(at, cuts[place], option)
                if more > most:
                    best, most = option, more + self._least
        if best == cuts[place]:
            return False
        self._move(at, cuts[place], best)
        self.cuts[at] = [*cuts[:place], best, *cuts[place + 1 :]]
        return True

    def _changed(self, at: int, old: int, new: int) -> tuple[NDArray[np.intp], FloatArray, int]:
        """Return the cells that rows would leave, their weights, and how far the new cells are."""
        line, step = self.lines[at], int(self._strides[at])
        left = self._count(line.order[min(old, new) : max(old, new)]).reshape(self._table.shape)
        cells = np.flatnonzero(left.any(axis=1))
        # Between the old place and a higher one lie rows that come below the boundary.
        return cells, left[cells], -step if new > old else step

    def _gain_of_move(self, at: int, old: int, new: int) -> float:
        cells, left, step = self._changed(at, old, new)
        before = np.concatenate([self._table[cells], self._table[cells + step]])
        after = before + np.concatenate([-left, left])
        old_worth, new_worth = (worth_of_cells(table, self.aim) for table in (before, after))
        lean = self.aim.lean
        return new_worth[0] - old_worth[0] + lean * (new_worth[1] - old_worth[1])

    def _move(self, at: int, old: int, new: int) -> None:
        cells, left, step = self._changed(at, old, new)
        self._table[cells] -= left
        self._table[cells + step] += left
        rows = self.lines[at].order[min(old, new) : max(old, new)]
        self._place[rows] += step * self._table.shape[1]
