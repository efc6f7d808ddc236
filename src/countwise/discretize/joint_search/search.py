"""Boundaries that leave equal weight between them, of all rows: one column in memory at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import ceil
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.counts.information import information_gain, partition_gain
from countwise.discretize.joint_search.cell_budget import Demand, by_merit, entropies, grant
from countwise.discretize.joint_search.cell_grid import ANY, Axis, CellGrid
from countwise.discretize.joint_search.paper_search import perturb
from countwise.discretize.joint_search.refine import Nearby, count_parts
from countwise.discretize.joint_search.rows import NONE, Part, Range, ranges_of
from countwise.discretize.joint_search.sweep import GAIN, Aim, CutSearch, Line, middle
from countwise.discretize.joint_search.time_limit import SearchClock
from countwise.discretize.rare_levels import OTHER
from countwise.errors import ParameterError
from countwise.notes import Note
from countwise.tables.schema import Column

_SIDES: tuple[Literal["left", "right"], ...] = ("left", "right")


def equal_weight(parts: Sequence[Part], at: int, levels: int) -> FloatArray:
    """Where to cut a numeric column so that its levels weigh about the same (P3, eq. 14 and 15).

    What `Line.quantiles` finds, but of a copy of the numbers alone, sorted where it is.
    """
    if any(part.weight is not None for part in parts):
        values = np.concatenate([np.asarray(part.columns[at], np.float64) for part in parts])
        weight = np.concatenate(
            [np.ones(len(part)) if part.weight is None else part.weight for part in parts]
        )
        line = Line.of(values, np.zeros(len(values), np.uint16), weight)
        return np.array([line.boundary(place) for place in line.quantiles(levels)])
    values = np.concatenate([part.columns[at][~np.isnan(part.columns[at])] for part in parts])
    if len(values) < 2 or levels < 2:
        return np.empty(0)
    values.sort()
    wanted = (len(values) * own / levels for own in range(1, levels))
    cuts = {_nearest(values, own) for own in wanted}
    return np.array(sorted(own for own in cuts if own is not None))


def _nearest(values: NDArray[Any], wanted: float) -> float | None:
    """The cut next to so many rows: before or after those that share the value reached there."""
    value = values[min(max(ceil(wanted), 1), len(values)) - 1]
    before, after = (int(np.searchsorted(values, value, side)) for side in _SIDES)
    if after == len(values) or (before > 0 and wanted - before < after - wanted):
        return middle(float(values[before - 1]), float(value)) if before else None
    return middle(float(value), float(values[after]))


Cuts = list[list[int]]

#: Rows of a sample: enough for twenty rows a cell of a usual budget.
SAMPLE = 200_000
_MOST_SAMPLE = 2_000_000
#: How many sampled rows on either side of a boundary are looked at again, of all rows.
_BAND = 128
_WIDENINGS = 4
_PASSES = 100
#: So much more does the checking part weigh where it judges alone.
JUDGE = 1000.0


def sampled(parts: Sequence[Part], most: int, rng: np.random.Generator) -> tuple[Part, bool]:
    """Up to so many rows of all parts, copied into one, and whether these are all there are."""
    total = sum(len(part) for part in parts)
    taken = []
    for part in parts:
        rows = np.arange(len(part))
        if total > most:
            wanted = max(int(most * len(part) / total), 1)
            rows = np.unique(rng.integers(0, len(part), wanted))
        own = part.take(rows)
        checking = np.broadcast_to(np.asarray(own.checking, np.uint8), len(rows))
        taken.append(replace(own, checking=np.ascontiguousarray(checking)))
    weighted = any(part.weight is not None for part in taken)
    whole = Part(
        tuple(
            np.concatenate([part.columns[at] for part in taken])
            for at in range(len(taken[0].columns))
        ),
        np.concatenate([part.target for part in taken]),
        np.concatenate([_weight(part) for part in taken]) if weighted else None,
        np.concatenate([np.asarray(part.checking, np.uint8) for part in taken]),
    )
    return whole, total <= most


def _weight(part: Part) -> FloatArray:
    return np.ones(len(part)) if part.weight is None else part.weight


class BoundarySearch:
    """Boundaries of the numeric axes of a grid, by a method, within a time."""

    def __init__(
        self,
        parts: Sequence[Part],
        axes: Sequence[Axis],
        classes: int,
        aim: Aim,
        totals: tuple[float, float],
        shares: FloatArray,
        clock: SearchClock,
        rng: np.random.Generator,
    ) -> None:
        self.parts, self.axes, self.classes = parts, tuple(axes), classes
        self.aim, self.totals, self.clock, self.rng = aim, totals, clock, rng
        self.moving = [at for at, axis in enumerate(axes) if axis.numeric and axis.width > 1]
        cells = CellGrid(self.axes).cells
        most = int(min(max(SAMPLE, 20 * cells), _MOST_SAMPLE))
        self.sample, self.whole = sampled(parts, most, rng)
        still = [at for at, axis in enumerate(axes) if not axis.numeric and axis.size > 1]
        self.search = CutSearch(
            [self.sample.columns[at] for at in self.moving],
            [(self._still(at), self.axes[at].size) for at in still],
            self.sample.label(slice(None)),
            NONE if self.sample.weight is None else self.sample.weight,
            classes,
        )
        self.squares = Aim.squares(shares)
        self._free = False
        self.start = [
            line.quantiles(self.axes[at].width)
            for at, line in zip(self.moving, self.search.lines, strict=True)
        ]
        self.search.put_all(self.start)

    def _still(self, at: int) -> NDArray[np.int64]:
        return np.maximum(self.axes[at].levels(self.sample.columns[at]), 0)

    def cut(self, boundaries: Sequence[FloatArray]) -> tuple[Axis, ...]:
        """The axes cut at these boundaries, one array a moving axis."""
        axes = list(self.axes)
        for at, own in zip(self.moving, boundaries, strict=True):
            axes[at] = replace(axes[at], edges=own, width=len(own) + 1)
        return tuple(axes)

    def run(self, method: str | None, budget: float | None = None) -> tuple[Axis, ...]:
        """Search, and return the axes; what was found counts also where time runs out.

        With a `budget` the levels are free: as many a column as earn most within it.
        """
        self._tell("start")
        self._best = self.search.kept()
        axes: tuple[Axis, ...] | None = None
        if method is not None and self.moving:
            with self.clock.until_enough():
                if method == "sweep":
                    self._sweep(budget)
                else:
                    perturb(
                        self.search, self._judging(), self._sample_totals(), self.clock, self.rng
                    )
                    self._best = self.search.kept()
                axes = self._refined(method)
        if axes is None:
            self.search.put_all(self._stopped_at(budget))
            axes = self.cut(self.search.boundaries())
        return axes

    def _stopped_at(self, budget: float | None) -> Cuts:
        """The better of the last finished stage and of where the search was ended."""
        if self.clock.stopped is None or (budget is not None and self.search.cells() > budget):
            return self._best
        return self._chosen([self._best, self.search.kept()])

    def notes(self) -> tuple[Note, ...]:
        """What must be said about rows that were not looked at."""
        if CellGrid(self.axes).direct and self.aim.kind == GAIN:
            return ()
        return (
            Note(
                "P11",
                None,
                f"The boundaries were found on {len(self.sample):,} rows drawn from all of them; "
                "the cells are counted on all rows.",
            ),
        )

    def _judging(self) -> Aim:
        return self.aim.leaning(JUDGE if self.totals[1] > 0 else 0.0)

    def _tell(self, stage: str, **facts: Any) -> None:
        if self.aim.kind == GAIN:
            value, check = self.search.worth(self.aim)
            facts |= _gains(value, check, self._sample_totals())
        self.clock.note(stage, cells=self.search.cells(), levels=self.search.levels(), **facts)

    def _sample_totals(self) -> tuple[float, float]:
        checking = np.asarray(self.sample.checking, bool)
        weight = _weight(self.sample)
        return float(weight[~checking].sum()), float(weight[checking].sum())

    def _sweep(self, budget: float | None) -> None:
        """Tell the classes apart first; then earn the most, the checking rows being the judge."""
        found: list[Cuts] = []
        self._passes(self.squares, "squares")
        found.append(self.search.kept())
        self._best = found[-1]
        if self.aim.kind == GAIN:
            self._passes(self._judging(), "gain")
            found.append(self.search.kept())
        else:
            self._passes(self.aim, "information")
            found = [self.search.kept()]
        if budget is not None:
            self.search.put_all(found[0])
            for own in by_merit(self.search, self.squares, self._judging(), budget, self.clock):
                found.append(own)
        self._free = budget is not None
        self._best = self._chosen(found)

    def _passes(self, aim: Aim, stage: str) -> None:
        """Visit columns in turn until none of them moves any more."""
        quiet, columns = 0, len(self.moving)
        for visit in range(_PASSES * columns):
            at = visit % columns
            moves = self.search.moves
            quiet = 0 if self.search.visit(at, aim) else quiet + 1
            if at == columns - 1 or quiet >= columns:
                name = self.axes[self.moving[at]].name
                self._tell(stage, column=name, moves=self.search.moves - moves)
            if quiet >= columns:
                break
            self.clock.check()

    def _chosen(self, found: Sequence[Cuts]) -> Cuts:
        """The cuts that earn most on the checking rows, of all rows where there are more."""
        distinct = [own for at, own in enumerate(found) if own not in found[:at]]
        if len(distinct) == 1:
            return distinct[0]
        return max(distinct, key=self._earned)

    def _earned(self, cuts: Cuts) -> tuple[float, float]:
        self.search.put_all(cuts)
        grid = CellGrid(self.cut(self.search.boundaries()))
        if self.whole or not grid.direct or self.aim.kind != GAIN:
            value, check = self.search.worth(self.aim)
        else:
            value, check = expected_gain_of(count_parts(grid, self.parts, self.classes), self.aim)
        if self.totals[1] > 0:
            return check, value
        # Rows that judge themselves would always vote for more levels.
        return (self.search.worth(self.squares)[0] if self._free else value), value

    def _refined(self, method: str) -> tuple[Axis, ...] | None:
        """Let all rows say where the boundaries are; they were found on a sample."""
        self.search.put_all(self._best)
        axes = self.cut(self.search.boundaries())
        if self.whole or self.aim.kind != GAIN or method != "sweep" or not CellGrid(axes).direct:
            return axes
        aim = self.aim.leaning(1.0 if self.totals[1] > 0 else 0.0)
        width = _BAND
        for _ in range(_WIDENINGS):
            nearby = Nearby(CellGrid(axes), self.parts, self.classes, self._bands(axes, width))
            for _ in range(_PASSES):
                moved = nearby.improve(aim)
                axes = nearby.grid.axes
                if not moved:
                    break
            value, check = expected_gain_of(nearby.table, self.aim)
            self.clock.note(
                "all rows",
                moves=nearby.moves,
                near=nearby.near,
                **_gains(value, check, self.totals),
            )
            if not nearby.at_the_edge():
                break
            width *= 4
        return axes

    def _bands(self, axes: Sequence[Axis], width: int) -> dict[int, FloatArray]:
        """Around every boundary as many sampled rows as `width`, halfway to the next at most."""
        bands = {}
        for at, line in zip(self.moving, self.search.lines, strict=True):
            edges = axes[at].edges
            assert edges is not None
            places = [line.place(float(edge)) for edge in edges]
            if not places:
                continue
            ends = []
            for one, place in enumerate(places):
                before = places[one - 1] if one else -place
                after = places[one + 1] if one + 1 < len(places) else 2 * len(line) - place
                low = max(place - width, (before + place) // 2, 0)
                high = min(place + width, (place + after) // 2, len(line) - 1)
                first = -np.inf if low == 0 else line.values[low]
                ends += [first, max(line.values[high], float(edges[one]), first)]
            bands[at] = np.maximum.accumulate(np.asarray(ends, np.float64))
        return bands


def expected_gain_of(table: FloatArray, aim: Aim) -> tuple[float, float]:
    """What cells × (class, part) are worth in training and in checking, training deciding."""
    return partition_gain(table[:, ::2], aim.train, table[:, 1::2], aim.check, aim.fallback)


def _gains(value: float, check: float, totals: tuple[float, float]) -> dict[str, float | None]:
    return {
        "train": value / totals[0] if totals[0] > 0 else None,
        "validation": check / totals[1] if totals[1] > 0 else None,
    }


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
    shares: FloatArray,
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


def _frequencies(parts: Sequence[Part], at: int, column: Column) -> FloatArray:
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


def kept_levels(column: Column, often: FloatArray, levels: int) -> tuple[Any, ...]:
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
