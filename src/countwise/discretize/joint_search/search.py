"""Find the grid of cells: the number of levels within a budget, and the best boundaries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.counts.information import information_gain
from countwise.discretize.cut_points import equal_frequency, interval_codes
from countwise.discretize.joint_search.cell_budget import Demand, by_merit, entropies, grant
from countwise.discretize.joint_search.cell_counts import count_direct
from countwise.discretize.joint_search.cell_grid import ANY, Axis, CellGrid
from countwise.discretize.joint_search.paper_search import perturb
from countwise.discretize.joint_search.refine import Nearby
from countwise.discretize.joint_search.rows import NONE, Part, Range, SearchTask, ranges_of
from countwise.discretize.joint_search.sweep import (
    GAIN,
    Aim,
    Cuts,
    CutSearch,
    Line,
    middle,
    per_row,
)
from countwise.discretize.rare_levels import kept_levels
from countwise.errors import ParameterError
from countwise.notes import Note
from countwise.params import Constraint, fraction, nothing, number, one_of, parameter, seed
from countwise.tables.estimator import DeclaredEstimator
from countwise.tables.schema import Column


def _levels() -> Constraint:
    def admits(value: Any) -> bool:
        if isinstance(value, str | bytes | Mapping) or not isinstance(value, Sequence | np.ndarray):
            return False
        try:
            widths = np.asarray(value)
        except ValueError:
            return False
        whole = widths.size == 0 or (widths.dtype.kind in "iu" and int(widths.min()) >= 1)
        return widths.ndim == 1 and whole

    return Constraint(
        "a list of whole numbers, one for each numeric column", admits, bad=([0, 3], 7.5, [1.5])
    )


class SearchParameters(DeclaredEstimator):
    """The parameters of every estimator that searches boundaries."""

    levels: str | Sequence[int] = parameter(
        one_of("entropy", "merit") | _levels(),
        "how the budget is divided among the columns: by 'entropy' (eq. 11 to 13), by 'merit' "
        "(boundaries go where they are most useful on validation rows), or as a list with the "
        "number of levels of each numeric column",
        default="entropy",
    )
    search: str | None = parameter(
        one_of("sweep", "paper") | nothing(),
        "how boundaries are found: 'sweep' (see docs/discrete-bayes.md), 'paper' (the paper's "
        "random moves, then single steps), or None (no search: all levels of a column have equal "
        "weight, eq. 14 and 15)",
        default="sweep",
    )
    validation: float = parameter(
        fraction(zero=True),
        "fraction of the rows held out to evaluate boundaries, if there are at least 1 000 rows; "
        "after the search they are counted, too. 0: boundaries are evaluated on the training rows",
        default=0.3,
    )
    rounding: str = parameter(
        one_of("floor", "ceil"),
        "how the levels of eq. 13 are rounded: 'floor', or 'ceil' (the paper allows both). With "
        "'ceil' the columns with the most levels lose some until the cells fit the budget",
        default="floor",
    )
    correction: str = parameter(
        one_of("miller-madow", "printed", "none"),
        "bias correction of the entropies: 'miller-madow', 'printed' (eq. 11 exactly as printed) "
        "or 'none'",
        default="miller-madow",
    )
    max_seconds: float | None = parameter(
        number(at_least=0) | nothing(),
        "time limit of the search; the best boundaries so far are then used",
        default=None,
    )
    random_state: Any = parameter(
        seed(),
        "random seed of the sample, the held-out rows and the paper's search",
        default=0,
    )


#: Rows of a sample: enough for twenty rows a cell of a usual budget.
SAMPLE = 200_000
_MOST_SAMPLE = 2_000_000
#: How many sampled rows on either side of a boundary are looked at again, of all rows.
_BAND = 128
_WIDENINGS = 4
_PASSES = 100
#: So much more does the checking part weigh where it judges alone.
JUDGE = 1000.0
_WHY = ", so that all cells stay within the budget"
#: Rows from which the merit of columns is judged, and intervals a number is cut into for it.
_JUDGED, _INTERVALS = 50_000, 16


def equal_weight(parts: Sequence[Part], at: int, levels: int) -> FloatArray:
    """Cut a numeric column so that its levels weigh about the same (P3, eq. 14 and 15).

    Without weights only the numbers are copied.
    """
    known = [~np.isnan(part.columns[at]) for part in parts]
    values = np.concatenate([p.columns[at][rows] for p, rows in zip(parts, known, strict=True)])
    reached = None
    if any(part.weight is not None for part in parts):
        weight = [part.weight_or_ones[rows] for part, rows in zip(parts, known, strict=True)]
        order = np.argsort(values, kind="stable")
        values, reached = values[order], np.cumsum(np.concatenate(weight)[order])
    else:
        values.sort()
    places = equal_frequency(values, levels, reached)
    return np.array([middle(float(values[place - 1]), float(values[place])) for place in places])


def draw_sample(parts: Sequence[Part], most: int, rng: np.random.Generator) -> tuple[Part, bool]:
    """Copy up to so many rows of all parts into one; return also whether these are all rows."""
    total = sum(len(part) for part in parts)
    taken = []
    for part in parts:
        rows = np.arange(len(part))
        if total > most:
            rows = np.unique(rng.integers(0, len(part), max(int(most * len(part) / total), 1)))
        taken.append(part.take(rows))
    return Part.join(taken), total <= most


class BoundarySearch:
    """Boundaries of the numeric axes of a grid, by a method, within a time."""

    def __init__(self, task: SearchTask, axes: Sequence[Axis], aim: Aim) -> None:
        self.task, self.axes, self.aim, self.clock = task, tuple(axes), aim, task.clock
        self.judged = task.totals[1] > 0
        self.moving = [at for at, axis in enumerate(axes) if axis.numeric and axis.width > 1]
        most = int(min(max(SAMPLE, 20 * CellGrid(self.axes).cells), _MOST_SAMPLE))
        if task.options.search == "paper":  # it is compared with, so it looks at every row
            most = sum(len(part) for part in task.parts)
        self.sample, self.whole = draw_sample(task.parts, most, task.rng)
        fixed = [at for at, axis in enumerate(axes) if not axis.numeric and axis.size > 1]
        self.search = CutSearch(
            [self.sample.columns[at] for at in self.moving],
            [(self._levels(at), self.axes[at].size) for at in fixed],
            self.sample.slots(slice(None)),
            NONE if self.sample.weight is None else self.sample.weight,
            task.classes,
        )
        checking = np.asarray(self.sample.checking, bool)
        weight = self.sample.weight_or_ones
        self.sample_totals = float(weight[~checking].sum()), float(weight[checking].sum())
        self.squares = Aim.squares(task.fractions)
        self._free = False
        given = self.sample
        if len(task.parts) > len(task.given):
            given = given.take(np.flatnonzero(~checking))
        #: Where the search begins, by moving axis: equal weight of the training rows.
        self.start = [equal_weight([given], at, self.axes[at].width) for at in self.moving]
        self.search.put_all(
            [
                [line.place(edge) for edge in edges.tolist()]
                for line, edges in zip(self.search.lines, self.start, strict=True)
            ]
        )

    def _levels(self, at: int) -> NDArray[np.int64]:
        return np.maximum(self.axes[at].levels(self.sample.columns[at]), 0)

    def cut(self, boundaries: Sequence[FloatArray]) -> tuple[Axis, ...]:
        """Return the axes cut at these boundaries, one array a moving axis."""
        axes = list(self.axes)
        for at, edges in zip(self.moving, boundaries, strict=True):
            axes[at] = replace(axes[at], edges=edges, width=len(edges) + 1)
        return tuple(axes)

    def run(self, method: str | None, budget: float | None = None) -> tuple[Axis, ...]:
        """Search, and return the axes; what was found counts also where time runs out.

        With a `budget` the levels are free: as many a column as earn most within it.
        """
        self._note("start")
        self._best = self.search.copy_cuts()
        axes: tuple[Axis, ...] | None = None
        if method is not None and self.moving:
            with self.clock.until_enough():
                if method == "sweep":
                    self._sweep(budget)
                else:
                    judge, rng = self._judge, self.task.rng
                    perturb(self.search, judge, self.sample_totals, self.clock, rng)
                    self._best = self.search.copy_cuts()
                axes = self._refine(method)
        if axes is None:
            self.search.put_all(self._stopped_at(budget))
            axes = self.cut(self.search.boundaries())
        return axes

    def _stopped_at(self, budget: float | None) -> Cuts:
        """Return the better of the last finished stage and of where the search was ended."""
        if self.clock.stopped is None or (budget is not None and self.search.cells() > budget):
            return self._best
        return self._choose([self._best, self.search.copy_cuts()])

    def notes(self) -> tuple[Note, ...]:
        """Return the note on rows that were not looked at."""
        if CellGrid(self.axes).direct and self.aim.kind == GAIN:
            return ()
        return (Note.of("P11", rows=len(self.sample)),)

    @property
    def _judge(self) -> Aim:
        return self.aim.leaning(JUDGE if self.judged else 0.0)

    def _note(self, stage: str, **facts: Any) -> None:
        if self.aim.kind == GAIN:
            facts |= per_row(*self.search.worth(self.aim), self.sample_totals)
        self.clock.note(stage, cells=self.search.cells(), levels=self.search.levels(), **facts)

    def _sweep(self, budget: float | None) -> None:
        """Tell the classes apart first; then earn the most, the checking rows being the judge."""
        self._settle(self.squares, "squares")
        self._best = self.search.copy_cuts()
        found = [self._best]
        if self.aim.kind == GAIN:
            self._settle(self._judge, "gain")
            found.append(self.search.copy_cuts())
        else:
            self._settle(self.aim, "information")
            found = [self.search.copy_cuts()]
        if budget is not None:
            self.search.put_all(found[0])
            found += by_merit(self.search, self.squares, self._judge, budget, self.clock)
        self._free = budget is not None
        self._best = self._choose(found)

    def _settle(self, aim: Aim, stage: str) -> None:
        self.search.settle(aim, self.clock, _PASSES, partial(self._note_moves, stage))

    def _note_moves(self, stage: str, at: int, moves: int) -> None:
        self._note(stage, column=self.axes[self.moving[at]].name, moves=moves)

    def _choose(self, found: Sequence[Cuts]) -> Cuts:
        """Return the cuts that earn most on the checking rows, of all rows where there are more."""
        distinct = [cuts for at, cuts in enumerate(found) if cuts not in found[:at]]
        return distinct[0] if len(distinct) == 1 else max(distinct, key=self._earned)

    def _earned(self, cuts: Cuts) -> tuple[float, float]:
        self.search.put_all(cuts)
        grid = CellGrid(self.cut(self.search.boundaries()))
        if self.whole or not grid.direct or self.aim.kind != GAIN:
            value, check = self.search.worth(self.aim)
        else:
            value, check = self.aim.worth(count_direct(grid, self.task.parts, self.task.classes)[0])
        if self.judged:
            return check, value
        # Rows that judge themselves would always vote for more levels.
        return (self.search.worth(self.squares)[0] if self._free else value), value

    def _refine(self, method: str) -> tuple[Axis, ...] | None:
        """Let all rows say where the boundaries are; they were found on a sample."""
        self.search.put_all(self._best)
        axes = self.cut(self.search.boundaries())
        if self.whole or self.aim.kind != GAIN or method != "sweep" or not CellGrid(axes).direct:
            return axes
        aim, task, width = self.aim.leaning(1.0 if self.judged else 0.0), self.task, _BAND
        for _ in range(_WIDENINGS):
            nearby = Nearby(CellGrid(axes), task.parts, task.classes, self._bands(axes, width))
            for _ in range(_PASSES):
                moved = nearby.improve(aim)
                axes = nearby.grid.axes
                if not moved:
                    break
            earned = per_row(*self.aim.worth(nearby.table), task.totals)
            self.clock.note("all rows", moves=nearby.moves, near=nearby.near, **earned)
            if not nearby.at_the_edge():
                break
            width *= 4
        return axes

    def _bands(self, axes: Sequence[Axis], width: int) -> dict[int, FloatArray]:
        """Return the ends of as many sampled rows as `width` around every boundary.

        A band reaches halfway to the next boundary at most.
        """
        bands = {}
        for at, line in zip(self.moving, self.search.lines, strict=True):
            edges = axes[at].edges
            assert edges is not None
            places = [line.place(edge) for edge in edges.tolist()]
            if not places:
                continue
            ends = []
            around = [-places[0], *places, 2 * len(line) - places[-1]]
            for edge, before, place, after in zip(
                edges.tolist(), around, places, around[2:], strict=False
            ):
                low = max(place - width, (before + place) // 2, 0)
                high = min(place + width, (place + after) // 2, len(line) - 1)
                first = -np.inf if low == 0 else line.values[low]
                ends += [first, max(line.values[high], edge, first)]
            bands[at] = np.maximum.accumulate(np.asarray(ends, np.float64))
        return bands


@dataclass(frozen=True)
class Quantized:
    """The axes found, those it started from, the levels nominal columns kept, and notes."""

    axes: tuple[Axis, ...]
    start: tuple[Axis, ...]
    kept: dict[str, tuple[Any, ...]]
    dropped: tuple[str, ...]
    notes: tuple[Note, ...]


def quantize(task: SearchTask, budget: float, aim: Aim) -> Quantized:
    """Make the axes of a grid of at most `budget` cells for the columns of a task."""
    given, columns, options = task.given, task.columns, task.options
    ranges = ranges_of(given, columns)
    if np.isinf(budget):
        every = tuple(
            _every_level(given, at, column, ranges[at]) for at, column in enumerate(columns)
        )
        return Quantized(every, every, {}, (), ())
    levels, dropped = _share_levels(task, ranges, budget)
    kept = {}
    for at, column in enumerate(columns):
        if column.kind != "numeric" and 1 < levels[at] < column.width:
            weight = np.sum([part.tally(at, column.width + 2) for part in given], axis=0)
            kept[column.name] = kept_levels(column, weight[:-2], levels[at])
    axes = [
        _axis(column, levels[at], kept.get(column.name), ranges[at])
        for at, column in enumerate(columns)
    ]
    notes = [Note.of("P01", name, levels=len(some), why=_WHY) for name, some in kept.items()]
    notes += [Note.of("P10", name, bits=max(merit, 0.0)) for name, merit in dropped.items()]
    search = BoundarySearch(task, axes, aim)
    start = search.cut(search.start)
    if options.search is None and not search.whole:
        start = search.cut([equal_weight(given, at, axes[at].width) for at in search.moving])
        task.clock.note("start", levels=[axis.width for axis in start if axis.numeric])
        return Quantized(start, start, kept, tuple(dropped), tuple(notes))
    found = search.run(options.search, budget if options.levels == "merit" else None)
    if options.search is None:
        found = start
    if not search.whole and options.search is not None and search.moving:
        notes += search.notes()
    return Quantized(found, start, kept, tuple(dropped), tuple(notes))


def _share_levels(
    task: SearchTask, ranges: Sequence[Range], budget: float
) -> tuple[list[int], dict[str, float]]:
    """Return how many levels each column gets, and the merit of the columns left out, by name."""
    columns, options = task.columns, task.options
    numeric = [at for at, column in enumerate(columns) if column.kind == "numeric"]
    stated = None if isinstance(options.levels, str) else [int(width) for width in options.levels]
    if stated is not None and len(stated) != len(numeric):
        rule = f"one number for each of the {len(numeric)} numeric columns"
        raise ParameterError(type(options).__name__, "levels", rule, stated)
    bits = [0.0] * len(numeric)
    if stated is None:
        bits = entropies(task.given, numeric, ranges, options.correction)
    entropy = dict(zip(numeric, bits, strict=True))
    size = [2.0 if column.kind == "numeric" else max(column.width, 1) for column in columns]
    merit = [0.0] * len(columns)
    cells = prod(width + found.blank for width, found in zip(size, ranges, strict=True))
    if cells > budget:
        merit = _merits(task)
    demands = [
        Demand(
            None if at in entropy else max(column.width, 1),
            entropy.get(at, 0.0),
            ranges[at].blank,
            merit[at],
        )
        for at, column in enumerate(columns)
    ]
    granted = grant(demands, budget, options.rounding)
    levels = list(granted.levels)
    if stated is None:
        return levels, {columns[at].name: merit[at] for at in granted.dropped}
    for at, width in zip(numeric, stated, strict=True):
        levels[at] = width
    return levels, {}


def _merits(task: SearchTask) -> list[float]:
    """Return the bits each column alone tells about the class, less what chance would tell."""
    rows, _ = draw_sample(task.given, _JUDGED, task.rng)
    weight, merits = rows.weight_or_ones, []
    for values, column in zip(rows.columns, task.columns, strict=True):
        if column.kind == "numeric":
            line = Line.of(values, rows.target, NONE if rows.weight is None else weight)
            cuts = np.array([line.boundary(place) for place in line.quantiles(_INTERVALS)])
            place = interval_codes(cuts, values)
        else:
            place = values.astype(np.intp)
        table = np.zeros((task.classes, int(place.max()) + 1))
        np.add.at(table, (rows.target, place), weight)
        taken = int((table.sum(axis=0) > 0).sum())
        chance = (taken - 1) * (task.classes - 1) / (2 * float(weight.sum()) * np.log(2))
        merits.append(round(information_gain(table) - chance, 9))
    return merits


def _axis(column: Column, levels: int, kept: tuple[Any, ...] | None, found: Range) -> Axis:
    if column.kind == "numeric":
        blank = found.blank and levels > 1
        return Axis(column.name, np.empty(0), None, levels, blank, found.low, found.high)
    if levels <= 1 and column.width > 1:
        return Axis(column.name, None, np.zeros(column.width + 2, np.int64), 1)
    return nominal_axis(column, kept, found.blank)


def nominal_axis(column: Column, kept: tuple[Any, ...] | None, blank: bool) -> Axis:
    """Make the axis of a nominal column: all its levels, or the kept ones and one for the rest."""
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


def _every_level(parts: Sequence[Part], at: int, column: Column, found: Range) -> Axis:
    """Make a level for every value: no budget, no search."""
    if column.kind != "numeric":
        return nominal_axis(column, None, found.blank)
    values = np.unique(np.concatenate([np.unique(part.columns[at]) for part in parts]))
    values = values[~np.isnan(values)].astype(np.float64)
    edges = np.array([middle(low, high) for low, high in pairwise(values.tolist())])
    return Axis(column.name, edges, None, len(edges) + 1, found.blank, found.low, found.high)
