"""Spend a budget of cells where it earns most: levels by merit instead of by entropy.

Boundaries enter every column wherever the rows say that something changes, beyond the budget at
first; then those that tell least for the cells they cost leave again, until the rest fits. What a
boundary tells is measured without bias, so one that tells nothing is not taken for one that does.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import log, sqrt

from countwise.posteriors.cut_search import CutSearch
from countwise.posteriors.search_clock import SearchClock
from countwise.posteriors.sweeping import Aim, Move, View

Cuts = list[list[int]]

#: How often boundaries enter and leave again, and how far beyond the budget they may go.
_ROUNDS, _BEYOND = 4, 4.0
_VISITS = 6
#: A boundary tells something if it tells more than this many times what chance may.
_CHANCE = 2.5


def by_merit(
    search: CutSearch, squares: Aim, gain: Aim, budget: float, clock: SearchClock
) -> Iterator[Cuts]:
    """Yield cuts of any number of levels within the budget, those of the last round last.

    Each round's cuts come as they are and after boundaries were moved to earn the most.
    """
    before: Cuts = []
    for _ in range(_ROUNDS):
        _grow(search, squares, max(budget, min(_BEYOND * budget, len(search) / 4)), clock)
        _settle(search, squares, clock)
        _thin(search, squares, budget, clock)
        _settle(search, squares, clock)
        told = search.kept()
        clock.note("merit", levels=search.levels(), cells=search.cells())
        if told == before:
            break
        before = told
        yield told
    _settle(search, gain, clock)
    yield search.kept()


def _cost(search: CutSearch, at: int, more: int) -> float:
    """The factor by which cells grow, as a logarithm, when a column gets another level."""
    size = search.size(at)
    return log((size + 1) / size) if more > 0 else log(size / (size - 1))


def _grow(search: CutSearch, aim: Aim, most: float, clock: SearchClock) -> None:
    """Add the boundary that tells most for the cells it costs, until none tells or fits.

    What an insertion tells is looked up anew only for the column that promises most: it seldom
    rises when other columns are cut.
    """
    promised = dict.fromkeys(range(len(search.lines)), float("inf"))
    fresh: dict[int, tuple[View, Move]] = {}
    while promised:
        clock.check()
        at = max(promised, key=lambda own: (promised[own], -own))
        size = search.size(at)
        if search.cells() / size * (size + 1) > most:
            del promised[at]
        elif at in fresh:
            search.accept(at, *fresh.pop(at))
            fresh.clear()
        else:
            view = search.view(at, aim)
            step = view.insertion()
            if step is None or step.more <= _CHANCE * sqrt(min(view.contexts, len(search))):
                del promised[at]
                continue
            fresh[at] = (view, step)
            promised[at] = step.more / _cost(search, at, 1)


def _thin(search: CutSearch, aim: Aim, budget: float, clock: SearchClock) -> None:
    """Take away what tells least for its cells, while it tells nothing or the cells do not fit."""
    known: dict[int, tuple[View, Move, float]] = {}
    while True:
        clock.check()
        for at in range(len(search.lines)):
            if at in known or not search.cuts[at]:
                continue
            view = search.view(at, aim)
            step = max(view.removals(), key=lambda own: own.more)
            known[at] = (view, step, -step.more / _cost(search, at, -1))
        if not known:
            return
        at = min(known, key=lambda own: (known[own][2], -own))
        view, step, _ = known[at]
        nothing = -step.more <= sqrt(min(view.contexts, len(search)))
        if search.cells() <= budget and not nothing:
            return
        search.accept(at, view, step)
        known.clear()


def _settle(search: CutSearch, aim: Aim, clock: SearchClock) -> None:
    """Visit the columns until none moves."""
    quiet, columns = 0, len(search.lines)
    for visit in range(_VISITS * columns):
        clock.check()
        quiet = 0 if search.visit(visit % columns, aim) else quiet + 1
        if quiet >= columns:
            return
