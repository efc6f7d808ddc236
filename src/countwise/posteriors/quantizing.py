"""From rows to a grid: levels within the budget, then boundaries that earn most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.counts.folding import OTHER
from countwise.counts.measures import information_gain
from countwise.errors import ParameterError
from countwise.posteriors.boundary_search import BoundarySearch, sampled
from countwise.posteriors.cell_grid import ANY, Axis
from countwise.posteriors.equal_weight import equal_weight
from countwise.posteriors.level_budget import Demand, entropies, grant
from countwise.posteriors.row_blocks import NONE, Part, Range, ranges_of
from countwise.posteriors.search_clock import SearchClock
from countwise.posteriors.sweeping import Aim, Line, middle
from countwise.tables.notes import Note
from countwise.tables.schema import Column

Doubles = NDArray[np.float64]

#: Rows from which the merit of columns is judged, and intervals a number is cut into for it.
_JUDGED, _INTERVALS = 50_000, 16


@dataclass(frozen=True)
class Wishes:
    """How a grid is wanted: cells at most, levels by which rule, boundaries by which search."""

    budget: float
    levels: str | Sequence[int]
    correction: str
    search: str | None


@dataclass(frozen=True)
class Quantized:
    """The axes found, those it started from, what nominal columns kept, and remarks."""

    axes: tuple[Axis, ...]
    start: tuple[Axis, ...]
    kept: dict[str, tuple[Any, ...]]
    dropped: tuple[str, ...]
    notes: tuple[Note, ...]


def quantize(
    parts: Sequence[Part],
    columns: Sequence[Column],
    classes: int,
    wishes: Wishes,
    aim: Aim,
    totals: tuple[float, float],
    shares: Doubles,
    clock: SearchClock,
    rng: np.random.Generator,
    who: str,
) -> Quantized:
    """Make the axes of a grid for these columns from these rows."""
    numeric = [column.kind == "numeric" for column in columns]
    ranges = ranges_of(parts, numeric)
    if np.isinf(wishes.budget):
        every = tuple(_every_level(parts, columns, ranges))
        return Quantized(every, every, {}, (), ())
    levels, dropped = _levels(parts, columns, classes, ranges, wishes, rng, who)
    axes: list[Axis] = []
    kept: dict[str, tuple[Any, ...]] = {}
    notes: list[Note] = []
    for at, column in enumerate(columns):
        axis, own = _axis(parts, at, column, levels[at], ranges[at])
        axes.append(axis)
        if own is not None:
            kept[column.name] = own
            notes.append(_folded(column.name, len(own)))
    notes += [_left_out(columns[at].name, merit) for at, merit in dropped]
    hunt = BoundarySearch(parts, axes, classes, aim, totals, shares, clock, rng)
    start = hunt.cut(hunt.search.boundaries())
    if wishes.search is None and not hunt.whole:
        start = hunt.cut([equal_weight(parts, at, axes[at].width) for at in hunt.moving])
        clock.note("start", levels=[axis.width for axis in start if axis.numeric])
        names = tuple(columns[at].name for at, _ in dropped)
        return Quantized(start, start, kept, names, tuple(notes))
    free = wishes.budget if wishes.levels == "merit" else None
    found = hunt.run(wishes.search, free)
    if not hunt.whole and wishes.search is not None and hunt.moving:
        notes += hunt.notes()
    names = tuple(columns[at].name for at, _ in dropped)
    return Quantized(found, start, kept, names, tuple(notes))


def _levels(
    parts: Sequence[Part],
    columns: Sequence[Column],
    classes: int,
    ranges: Sequence[Range],
    wishes: Wishes,
    rng: np.random.Generator,
    who: str,
) -> tuple[list[int], list[tuple[int, float]]]:
    """Levels by column, and the columns left out with their merit."""
    numeric = [at for at, column in enumerate(columns) if column.kind == "numeric"]
    given = None if isinstance(wishes.levels, str) else [int(own) for own in wishes.levels]
    if given is not None and len(given) != len(numeric):
        raise ParameterError(
            f"{who}: levels must hold one number for each of the {len(numeric)} numeric columns, "
            f"but {len(given)} came."
        )
    bits = dict.fromkeys(numeric, 0.0)
    if given is None:
        told = entropies(parts, numeric, ranges, wishes.correction)
        bits = dict(zip(numeric, told, strict=True))
    blank = [_has_blank(parts, at, column, ranges[at]) for at, column in enumerate(columns)]
    size = [2.0 if c.kind == "numeric" else max(c.width, 1) for c in columns]
    crowded = float(np.prod([own + gap for own, gap in zip(size, blank, strict=True)]))
    merit = [0.0] * len(columns)
    if crowded > wishes.budget:
        merit = _merits(parts, columns, classes, rng)
    demands = [
        Demand(
            None if at in bits else max(column.width, 1), bits.get(at, 0.0), blank[at], merit[at]
        )
        for at, column in enumerate(columns)
    ]
    granted = grant(demands, wishes.budget)
    levels = list(granted.levels)
    if given is not None:
        for at, own in zip(numeric, given, strict=True):
            levels[at] = own
        return levels, []
    return levels, [(at, merit[at]) for at in granted.dropped]


def _has_blank(parts: Sequence[Part], at: int, column: Column, found: Range) -> bool:
    if column.kind == "numeric":
        return found.blank
    return any(bool((part.columns[at] == column.width).any()) for part in parts)


def _merits(
    parts: Sequence[Part], columns: Sequence[Column], classes: int, rng: np.random.Generator
) -> list[float]:
    """Bits each column alone tells about the class, less what chance would tell."""
    rows, _ = sampled(parts, _JUDGED, rng)
    weight = np.ones(len(rows)) if rows.weight is None else rows.weight
    made = []
    for at, column in enumerate(columns):
        values = rows.columns[at]
        if column.kind == "numeric":
            line = Line.of(values, rows.target, NONE if rows.weight is None else weight)
            cuts = np.array([line.boundary(own) for own in line.quantiles(_INTERVALS)])
            place = np.searchsorted(cuts, values)
            place[np.isnan(values)] = len(cuts) + 1
        else:
            place = values.astype(np.int64)
        table = np.zeros((classes, int(place.max()) + 1))
        np.add.at(table, (rows.target, place), weight)
        taken = int((table.sum(axis=0) > 0).sum())
        chance = (taken - 1) * (classes - 1) / (2 * float(weight.sum()) * np.log(2))
        made.append(round(information_gain(table) - chance, 9))
    return made


def _axis(
    parts: Sequence[Part], at: int, column: Column, levels: int, found: Range
) -> tuple[Axis, tuple[Any, ...] | None]:
    if column.kind == "numeric":
        blank = found.blank and levels > 1
        return Axis(column.name, np.empty(0), None, levels, blank, found.low, found.high), None
    if levels <= 1 and column.width > 1:
        return Axis(column.name, None, np.zeros(column.width + 2, np.int64), 1), None
    own = None
    if levels < column.width:
        own = kept_levels(column, _frequencies(parts, at, column), levels)
    blank = any(bool((part.columns[at] == column.width).any()) for part in parts)
    return nominal_axis(column, own, blank), own


def _frequencies(parts: Sequence[Part], at: int, column: Column) -> Doubles:
    often = np.zeros(column.width + 2)
    for part in parts:
        for rows in part.blocks():
            weight = part.weights(rows)
            own = np.bincount(
                part.columns[at][rows],
                weights=weight if len(weight) else None,
                minlength=len(often),
            )
            often += own
    return often[: column.width]


def kept_levels(column: Column, often: Doubles, levels: int) -> tuple[Any, ...]:
    """The most frequent levels, one place left for all others; of equal ones the first."""
    often = often.copy()
    if OTHER in column.levels:
        often[column.levels.index(OTHER)] = -1.0
    chosen = np.sort(np.argsort(-often, kind="stable")[: max(levels - 1, 1)])
    return tuple(column.levels[place] for place in chosen)


def nominal_axis(column: Column, kept: tuple[Any, ...] | None, blank: bool) -> Axis:
    """The axis of a nominal column: all its levels, or the kept ones and one for the rest."""
    width = column.width if kept is None else len(kept) + 1
    lookup = np.empty(column.width + 2, np.int64)
    if kept is None:
        lookup[:-2] = np.arange(column.width)
        lookup[-1] = ANY
    else:
        places = {column.place(level): at for at, level in enumerate(kept)}
        lookup[:-2] = [places.get(at, width - 1) for at in range(column.width)]
        lookup[-1] = width - 1
    lookup[-2] = width if blank else ANY
    return Axis(column.name, None, lookup, max(width, 1), blank)


def _every_level(
    parts: Sequence[Part], columns: Sequence[Column], ranges: Sequence[Range]
) -> list[Axis]:
    """A level for every value there is: no budget, no search."""
    axes = []
    for at, (column, found) in enumerate(zip(columns, ranges, strict=True)):
        if column.kind != "numeric":
            axes.append(nominal_axis(column, None, _has_blank(parts, at, column, found)))
            continue
        values = np.unique(np.concatenate([np.unique(part.columns[at]) for part in parts]))
        values = values[~np.isnan(values)].astype(np.float64)
        edges = np.array([middle(low, high) for low, high in pairwise(values.tolist())])
        axes.append(
            Axis(column.name, edges, None, len(edges) + 1, found.blank, found.low, found.high)
        )
    return axes


def _folded(name: str, number: int) -> Note:
    return Note(
        "P01",
        name,
        f"Column {name!r}: only its {number} most frequent levels are told apart, so that all "
        "cells stay within the budget; the others are one level.",
    )


def _left_out(name: str, merit: float) -> Note:
    return Note(
        "P10",
        name,
        f"Column {name!r} is left out: the budget allows two levels only to columns that tell more "
        f"about the class than its {max(merit, 0.0):.3g} bits.",
    )
