"""Spend a budget of cells where it earns most: levels by merit instead of by entropy."""

from __future__ import annotations

from collections.abc import Iterator
from math import log

from countwise.posteriors.cut_search import CutSearch
from countwise.posteriors.search_clock import SearchClock
from countwise.posteriors.sweeping import Aim, Move, View

__all__ = ["by_merit"]

Cuts = list[list[int]]

_ROUNDS = 30


def by_merit(
    search: CutSearch, squares: Aim, gain: Aim, budget: float, clock: SearchClock
) -> Iterator[Cuts]:
    """Yield cuts of any number of levels within the budget, found in several ways.

    First from the cuts the search has: boundaries that earn least leave, others enter where they
    earn most, in whichever column. Then from nothing: boundaries enter one by one, the one that
    earns most for the cells it costs.
    """
    given = search.kept()
    none: Cuts = [[] for _ in given]
    for start in (given, none):
        search.put_all(start)
        _grow(search, squares, budget, clock)
        _settle(search, squares, clock)
        _exchange(search, squares, budget, clock)
        yield search.kept()
        _settle(search, gain, clock)
        _thin(search, gain, clock)
        _grow(search, gain, budget, clock)
        _exchange(search, gain, budget, clock)
        clock.note("merit", levels=search.levels(), cells=search.cells())
        yield search.kept()


def _fits(search: CutSearch, at: int, budget: float) -> bool:
    size = search.size(at)
    return search.cells() / size * (size + 1) <= budget


def _grow(search: CutSearch, aim: Aim, budget: float, clock: SearchClock) -> None:
    """Add the boundary that earns most for its share of the budget, until none earns or fits.

    What an insertion earns is looked up anew only for the column that promises most: it seldom
    rises when other columns are cut.
    """
    promised: dict[int, float] = dict.fromkeys(range(len(search.lines)), float("inf"))
    fresh: dict[int, tuple[View, Move]] = {}
    settled = search.cells()
    while promised:
        clock.check()
        at = max(promised, key=lambda own: (promised[own], -own))
        if not _fits(search, at, budget):
            del promised[at]
            continue
        if at not in fresh:
            view = search.view(at, aim)
            step = view.insertion()
            if step is None or step.more <= view.least:
                del promised[at]
                continue
            fresh[at] = (view, step)
            levels = len(search.cuts[at]) + 1
            promised[at] = step.more / log((levels + 1) / levels)
            continue
        view, step = fresh[at]
        search.accept(at, view, step)
        fresh.clear()
        if search.cells() >= 4 * settled:
            settled = search.cells()
            for other in range(len(search.lines)):
                search.visit(other, aim)


def _settle(search: CutSearch, aim: Aim, clock: SearchClock) -> None:
    """Visit the columns until none moves."""
    quiet, columns = 0, len(search.lines)
    for visit in range(_ROUNDS * columns):
        clock.check()
        quiet = 0 if search.visit(visit % columns, aim) else quiet + 1
        if quiet >= columns:
            return


def _thin(search: CutSearch, aim: Aim, clock: SearchClock) -> None:
    """Take boundaries away that earn nothing: they cost cells that others may use."""
    for at in range(len(search.lines)):
        clock.check()
        view = search.view(at, aim)
        while view.cuts:
            step = max(view.removals(), key=lambda own: own.more)
            if step.more < -view.least:
                break
            search.accept(at, view, step)


def _exchange(search: CutSearch, aim: Aim, budget: float, clock: SearchClock) -> None:
    """Give the least useful boundary of a column to another one, while that earns more."""
    for _ in range(_ROUNDS):
        if not any(_given(search, at, aim, budget, clock) for at in range(len(search.lines))):
            return
        _settle(search, aim, clock)


def _given(search: CutSearch, at: int, aim: Aim, budget: float, clock: SearchClock) -> bool:
    """Take one boundary from a column and let the others use the room, if that earns more."""
    clock.check()
    before = search.kept()
    view = search.view(at, aim)
    if not view.cuts:
        return False
    value, check = view.worth()
    worth = value + aim.lean * check
    search.accept(at, view, max(view.removals(), key=lambda own: own.more))
    for other in range(len(search.lines)):
        while other != at and _fits(search, other, budget):
            own = search.view(other, aim)
            step = own.insertion()
            if step is None or step.more <= own.least:
                break
            search.accept(other, own, step)
    value, check = search.worth(aim)
    if value + aim.lean * check > worth + view.least:
        return True
    search.put_all(before)
    return False
