"""Divide a budget of cells among the columns: how many levels each one gets.

Panda and Garg share a budget of M cells by entropy: a column whose values spread over more of its
range gets more levels (their eq. 11 to 13). Nominal columns come with their levels; the rarest are
folded where they would leave too little for the others, and columns that tell least about the class
are left out where even two levels of each are too many.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import floor, log, prod, sqrt

import numpy as np

from countwise._typing import FloatArray
from countwise.discretize.joint_search._sweep import count_widths
from countwise.discretize.joint_search.rows import Part, Range
from countwise.discretize.joint_search.sweep import Aim, Cuts, CutSearch, Move, View
from countwise.discretize.joint_search.time_limit import SearchClock
from countwise.parallel import in_threads

#: No more levels of equal width than these, whatever the weights sum to.
_MOST_WIDTHS = 1 << 22


def corrected_entropy(counts: FloatArray, correction: str = "miller-madow") -> float:
    """Return the entropy in bits, its bias corrected by the occupied intervals or as printed.

    ``miller-madow`` adds (occupied - 1) / (2 N ln 2) (Miller 1955); ``printed`` adds
    (empty - 1) / (2 N ln 2), as Panda and Garg write it.
    """
    total = float(counts.sum())
    if total <= 0:
        return 0.0
    occupied = counts[counts > 0] / total
    plain = float(-(occupied * np.log2(occupied)).sum())
    if correction == "none":
        return plain
    number = len(occupied) if correction == "miller-madow" else len(counts) - len(occupied)
    return max(plain + (number - 1) / (2 * total * log(2)), 0.0)


def entropies(
    parts: Sequence[Part], places: Sequence[int], ranges: Sequence[Range], correction: str
) -> list[float]:
    """Return the entropy of columns on N/10 levels of equal width (eq. 8 to 11)."""
    total = sum(part.total for part in parts)
    number = max(int(min(total // 10, _MOST_WIDTHS)), 2)

    def measure(place: int) -> float:
        low, high = ranges[place].low, ranges[place].high
        counts = np.zeros(number)
        # Half of the width, twice: the width of the widest columns is no double.
        width = high / 2 - low / 2
        scale = number / 2 / width if width > 0 else 0.0
        for part in parts:
            for rows in part.blocks():
                count_widths(part.column(place, rows), part.weights(rows), low, scale, counts)
        return corrected_entropy(counts, correction)

    return in_threads(measure, places)


def entropy_levels(bits: Sequence[float], budget: float) -> list[int]:
    """Return levels by entropy: the floor of M to the power of a column's part (eq. 12, 13)."""
    total = sum(bits)
    powers = [column / total if total > 0 else 1 / len(bits) for column in bits]
    # A power that is whole but for rounding is that whole number.
    return [max(floor(budget**power + 1e-9), 1) for power in powers]


@dataclass(frozen=True)
class Demand:
    """What a column needs of the budget.

    ``levels`` of a nominal column is how many it has; of a numeric one it is None, and ``bits`` is
    its entropy. ``blank`` says that missing values need a slot, ``merit`` how many bits the column
    tells about the class.
    """

    levels: int | None
    bits: float
    blank: bool
    merit: float


@dataclass(frozen=True)
class Granted:
    """How many levels each column gets (1: left out), and the most a nominal one may keep."""

    levels: tuple[int, ...]
    dropped: tuple[int, ...]


def grant(demands: Sequence[Demand], budget: float) -> Granted:
    """Share the budget: nominal columns first, numeric ones by entropy; drop the least telling."""
    kept = list(range(len(demands)))
    dropped: list[int] = []
    while kept and _least(demands, kept, 2) > budget:
        # Of equal merit the later column goes.
        worst = min(kept, key=lambda at: (demands[at].merit, -at))
        kept.remove(worst)
        dropped.append(worst)
    levels = [1] * len(demands)
    most = _most(demands, kept, budget)
    for at in kept:
        width = demands[at].levels
        if width is not None:
            levels[at] = min(width, most)
    taken = prod(levels[at] + demands[at].blank for at in kept if demands[at].levels is not None)
    numeric = [at for at in kept if demands[at].levels is None]
    shares = entropy_levels([demands[at].bits for at in numeric], budget / taken)
    for at, share in zip(numeric, shares, strict=True):
        levels[at] = max(share - demands[at].blank, 2 if share >= 2 + demands[at].blank else 1)
    _mend(levels, demands, numeric, budget / taken)
    return Granted(tuple(levels), tuple(sorted(dropped)))


def _least(demands: Sequence[Demand], kept: Sequence[int], most: int) -> float:
    """Return the fewest cells these columns need, nominal ones with at most so many levels."""
    cells = 1.0
    for at in kept:
        width = demands[at].levels
        cells *= (2 if width is None else max(min(width, most), 1)) + demands[at].blank
    return cells


def _most(demands: Sequence[Demand], kept: Sequence[int], budget: float) -> int:
    """Return how many levels a nominal column may keep."""
    widest = max((demands[at].levels or 0 for at in kept), default=0)
    low, high = 2, max(widest, 2)
    while low < high:
        between = (low + high + 1) // 2
        fits = _least(demands, kept, between) <= budget
        low, high = (between, high) if fits else (low, between - 1)
    return low


def _mend(
    levels: list[int], demands: Sequence[Demand], numeric: Sequence[int], budget: float
) -> None:
    """Give kept columns two levels each, taking them from the widest, so that all fit."""
    for at in numeric:
        levels[at] = max(levels[at], 2)
    while numeric and prod(levels[at] + demands[at].blank for at in numeric) > budget:
        widest = max(numeric, key=lambda at: (levels[at], at))
        if levels[widest] <= 2:
            break
        levels[widest] -= 1


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
        search.settle(squares, clock, _VISITS)
        _thin(search, squares, budget, clock)
        search.settle(squares, clock, _VISITS)
        cuts = search.copy_cuts()
        clock.note("merit", levels=search.levels(), cells=search.cells())
        if cuts == before:
            break
        before = cuts
        yield cuts
    search.settle(gain, clock, _VISITS)
    yield search.copy_cuts()


def _cost(search: CutSearch, at: int, more: int) -> float:
    """Return the factor by which cells grow, as a logarithm, with another level of a column."""
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
        at = max(promised, key=lambda column: (promised[column], -column))
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
            step = max(view.removals(), key=lambda move: move.more)
            known[at] = (view, step, -step.more / _cost(search, at, -1))
        if not known:
            return
        at = min(known, key=lambda column: (known[column][2], -column))
        view, step, _ = known[at]
        nothing = -step.more <= sqrt(min(view.contexts, len(search)))
        if search.cells() <= budget and not nothing:
            return
        search.accept(at, view, step)
        known.clear()
