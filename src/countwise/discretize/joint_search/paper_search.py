"""Panda and Garg's search: boundaries are moved at random, then step by step, one at a time.

It is here to be compared with. What a moved boundary earns is computed from the cells it touches,
which their program did by counting all rows again.
"""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import numpy as np

from countwise.discretize.joint_search.sweep import Aim, CutSearch, View, per_row
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
    columns = [at for at in range(len(search.lines)) if search.cuts[at]]
    if not columns:
        return
    rounds, views = 0, cache(partial(search.view, aim=aim))  # kept until a boundary moves
    while True:
        rounds += 1
        tried = _random(search, columns, views, clock, rng)
        found = _sequential(search, columns, views, clock)
        value, check = search.worth(aim)
        clock.note("paper", round=rounds, tried=tried, **per_row(value, check, totals))
        if not found:
            return


def _random(
    search: CutSearch,
    columns: list[int],
    views: Any,
    clock: SearchClock,
    rng: np.random.Generator,
) -> int:
    failures, tried = 0, 0
    while failures < PATIENCE:
        clock.check()
        at = columns[int(rng.integers(len(columns)))]
        place = int(rng.integers(len(search.cuts[at])))
        low, high = _reach(search, at, place)
        tried += 1
        found = _try(search, at, place, [low + (high - low) * float(rng.random())], views)
        failures = 0 if found else failures + 1
    return tried


def _sequential(search: CutSearch, columns: list[int], views: Any, clock: SearchClock) -> bool:
    found = False
    for at in columns:
        for place in range(len(search.cuts[at])):
            clock.check()
            low, high = _reach(search, at, place)
            steps = [low + (high - low) * step / STEPS for step in range(STEPS + 1)]
            found |= _try(search, at, place, steps, views)
    return found


def _reach(search: CutSearch, at: int, place: int) -> tuple[float, float]:
    """Return the points halfway to the boundaries on either side, or to the ends of the column."""
    line, cuts = search.lines[at], search.cuts[at]
    now = line.boundary(cuts[place])
    before = line.boundary(cuts[place - 1]) if place else float(line.values[0])
    after = line.boundary(cuts[place + 1]) if place + 1 < len(cuts) else float(line.values[-1])
    return now + (before / 2 - now / 2), now + (after / 2 - now / 2)


def _try(search: CutSearch, at: int, place: int, values: list[float], views: Any) -> bool:
    """Move a boundary to the best of some values, if it earns more than where it is."""
    line, cuts = search.lines[at], search.cuts[at]
    low = cuts[place - 1] if place else 0
    high = cuts[place + 1] if place + 1 < len(cuts) else len(line)
    view = views(at)
    options = sorted({line.place(value) for value in values})
    best, most = cuts[place], _score(view, low, cuts[place], high)
    for option in options:
        if not (low < option < high and line.ends[option - 1]):
            continue
        score = _score(view, low, option, high)
        if score > most + view.least:
            best, most = option, score
    if best == cuts[place]:
        return False
    search.put(at, [*cuts[:place], best, *cuts[place + 1 :]])
    search.moves += 1
    views.cache_clear()
    return True


def _score(view: View, low: int, place: int, high: int) -> float:
    """Return what two slabs score; only their rows are looked at."""
    left, right = view.slab(low, place), view.slab(place, high)
    return left.value + right.value + view.aim.lean * (left.check + right.check)
