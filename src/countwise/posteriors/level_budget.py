"""How many levels each column gets, so that all cells together stay within a budget.

Panda and Garg share a budget of M cells by entropy: a column whose values spread over more of its
range gets more levels (their eq. 11 to 13). Nominal columns come with their levels; the rarest are
folded where they would leave too little for the others, and columns that tell least about the class
are left out where even two levels of each are too many.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, log, prod

import numpy as np
from numpy.typing import NDArray

from countwise.posteriors._quantize import count_widths
from countwise.posteriors.row_blocks import Part, Range, in_threads

Doubles = NDArray[np.float64]


#: No more levels of equal width than these, whatever the weights sum to.
_MOST_WIDTHS = 1 << 22


def corrected_entropy(counts: Doubles, correction: str = "miller-madow") -> float:
    """Entropy in bits with its bias corrected: by the occupied intervals, or as eq. 11 prints it.

    ``miller-madow`` adds (occupied - 1) / (2 N ln 2) (Miller 1955); ``printed`` adds
    (empty - 1) / (2 N ln 2), as Panda and Garg write it.
    """
    total = float(counts.sum())
    if total <= 0:
        return 0.0
    share = counts[counts > 0] / total
    plain = float(-(share * np.log2(share)).sum())
    if correction == "none":
        return plain
    number = len(share) if correction == "miller-madow" else len(counts) - len(share)
    return max(plain + (number - 1) / (2 * total * log(2)), 0.0)


def entropies(
    parts: Sequence[Part], places: Sequence[int], ranges: Sequence[Range], correction: str
) -> list[float]:
    """Entropy of columns on N/10 levels of equal width (eq. 8 to 11)."""
    total = sum(part.total for part in parts)
    number = max(int(min(total // 10, _MOST_WIDTHS)), 2)

    def of(place: int) -> float:
        low, high = ranges[place].low, ranges[place].high
        counts = np.zeros(number)
        # Half of the width, twice: the width of the widest columns is no double.
        width = high / 2 - low / 2
        scale = number / 2 / width if width > 0 else 0.0
        for part in parts:
            for rows in part.blocks():
                count_widths(part.column(place, rows), part.weights(rows), low, scale, counts)
        return corrected_entropy(counts, correction)

    return in_threads(of, list(places))


def entropy_levels(bits: Sequence[float], budget: float) -> list[int]:
    """Levels by entropy: the floor of M to the power of a column's share (eq. 12 and 13)."""
    total = sum(bits)
    if not bits:
        return []
    shares = [own / total for own in bits] if total > 0 else [1 / len(bits)] * len(bits)
    # A power that is whole but for rounding is that whole number.
    return [max(floor(budget**share + 1e-9), 1) for share in shares]


@dataclass(frozen=True)
class Demand:
    """What a column asks of the budget.

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
        own = demands[at].levels
        if own is not None:
            levels[at] = min(own, most)
    taken = prod(_size(levels[at], demands[at]) for at in kept if demands[at].levels is not None)
    numeric = [at for at in kept if demands[at].levels is None]
    shares = entropy_levels([demands[at].bits for at in numeric], budget / taken)
    for at, share in zip(numeric, shares, strict=True):
        levels[at] = max(share - demands[at].blank, 2 if share >= 2 + demands[at].blank else 1)
    _mend(levels, demands, numeric, budget / taken)
    return Granted(tuple(levels), tuple(sorted(dropped)))


def _size(levels: int, demand: Demand) -> int:
    return levels + demand.blank


def _least(demands: Sequence[Demand], kept: Sequence[int], most: int) -> float:
    """The fewest cells these columns need, nominal ones with at most so many levels."""
    made = 1.0
    for at in kept:
        own = demands[at].levels
        made *= _size(2 if own is None else max(min(own, most), 1), demands[at])
    return made


def _most(demands: Sequence[Demand], kept: Sequence[int], budget: float) -> int:
    """How many levels a nominal column may keep."""
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
    while numeric and prod(_size(levels[at], demands[at]) for at in numeric) > budget:
        widest = max(numeric, key=lambda at: (levels[at], at))
        if levels[widest] <= 2:
            break
        levels[widest] -= 1
