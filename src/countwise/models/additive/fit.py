"""Fit tables to rows: one minimization, over rows in memory or wherever they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.models.additive._passes import Layout, Solver, add_up, count_cells
from countwise.models.additive.basis import LEVEL, Design
from countwise.models.additive.bins import Codes
from countwise.numeric import softmax
from countwise.parallel import blocks, in_threads

if TYPE_CHECKING:
    from countwise.models.additive.scan_rows import KeptRows, SourceRows

#: Rows and slots of a pass: sums over fixed ranges do not depend on the number of threads.
_RANGE, _MAX_RANGES = 8192, 16
#: From so many table entries a pass on, its ranges run in threads.
_THREADED = 1_000_000
#: Along a path of penalties a search stops when a step lowers the mean loss by less than this.
LOSS_LIMIT = 2e-6
#: The last fit stops when the gradient is this small, relative to that of empty tables; where a
#: pass reads fewer table entries than these, it goes on to the second limit.
SLOPE_LIMIT, _FINE_LIMIT, _FEW_ENTRIES = 1e-6, 1e-9, 200_000
MAX_STEPS = 1000
_LEAST = 1e-12
#: Steps that a search remembers; the last fit more, if they take no more numbers than these.
_MEMORY, _MOST_MEMORY, _REMEMBERED = 10, 40, 4_000_000

#: Called after each step of a search; True ends it.
Watch = Callable[[Solver], bool]
#: The same for the last fit, with the relative gradient to reach.
LastWatch = Callable[[float, Solver], bool]


#: Rows that tables are fitted to, wherever they are.
TrainingRows: TypeAlias = "RowRanges | KeptRows | SourceRows"


@dataclass(frozen=True, eq=False)
class Rows:
    """Coded training rows, ordered by their fold; the first `folds` of them are validated."""

    codes: Codes
    y: NDArray[np.int32]
    weight: FloatArray
    classes: int
    bounds: NDArray[np.int64]
    folds: int

    def __len__(self) -> int:
        return len(self.y)

    @property
    def scores(self) -> int:
        """How many scores a row has: one for each class; two classes share one."""
        return scores_of(self.classes)

    @property
    def unit(self) -> float:
        """The mean weight of a row: penalties are relative to it, so its size changes nothing."""
        return float(self.weight.mean())

    @property
    def validated(self) -> slice:
        """The rows of all folds that are validated."""
        return slice(0, int(self.bounds[self.folds]))

    def part(self, fold: int | None) -> RowRanges:
        """Return all rows but those of a fold, in ranges of a fixed size."""
        parts = [(0, len(self))]
        if fold is not None:
            start, stop = self.bounds[fold : fold + 2].tolist()
            parts = [(0, start), (stop, len(self))]
        # Several folds run in threads already.
        return RowRanges(self, cut_ranges(parts), fold is not None and self.folds > 1)

    def class_weights(self) -> FloatArray:
        """Return the weight of the rows of each class."""
        return np.asarray(np.bincount(self.y, self.weight, minlength=self.classes))


def cut_ranges(parts: Sequence[tuple[int, int]]) -> NDArray[np.int64]:
    """Cut rows into ranges of a fixed size: sums over them do not depend on threads."""
    total = sum(stop - start for start, stop in parts)
    size = max(_RANGE, -(-total // _MAX_RANGES))
    found = [
        (start + part.start, start + part.stop)
        for start, stop in parts
        for part in blocks(stop - start, size)
    ]
    return np.asarray(found, dtype=np.int64).reshape(-1, 2)


@dataclass(frozen=True, eq=False)
class RowRanges:
    """Some rows in memory, as ranges; `in_turn` if a search may not use several threads."""

    rows: Rows
    ranges: NDArray[np.int64]
    in_turn: bool

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return self.rows.classes

    @property
    def slots(self) -> int:
        """In how many slots a pass sums up: they are merged in their order."""
        return len(self.ranges)

    def class_weights(self) -> FloatArray:
        """Return the weight of the rows of each class; those of a fold left out count, too."""
        return self.rows.class_weights()

    def total(self) -> float:
        """Return the weight of the rows."""
        return float(sum(self.rows.weight[a:b].sum() for a, b in self.ranges.tolist()))

    def search(self, solver: Solver, watch: Watch | None) -> None:
        """Search to the end; large passes run in threads, with the same result."""
        rows = self.rows
        entries = len(rows) * (solver.layout.columns + solver.layout.pairs) * rows.scores
        is_small = self.in_turn or entries < _THREADED or len(self.ranges) < 2
        if is_small and watch is None:
            solver.solve(rows.codes, rows.y, rows.weight, self.ranges)
            return
        slots = list(enumerate(self.ranges.tolist()))

        def add(slot: tuple[int, list[int]]) -> None:
            solver.add_rows(slot[0], rows.codes, rows.y, rows.weight, *slot[1])

        run_search(solver, lambda: in_threads(add, slots), watch)

    def count_cells(self, layout: Layout) -> FloatArray:
        """Return the weight of the rows in each cell of all tables."""
        counts = np.zeros(layout.cells)
        for start, stop in self.ranges.tolist():
            count_cells(layout, self.rows.codes, self.rows.weight, start, stop, counts)
        return counts


def run_search(solver: Solver, add_rows: Callable[[], object], watch: Watch | None) -> None:
    """Search to the end: `add_rows` adds all rows to the slots, once a step."""
    going = True
    while going:
        add_rows()
        going = solver.step() and not (watch is not None and watch(solver))


def spread_of(probabilities: FloatArray) -> FloatArray:
    """Return the mean variance of the indicator of each score's class."""
    spread = (probabilities * (1 - probabilities)).mean(axis=0)
    return np.asarray(np.maximum(spread[1:] if len(spread) == 2 else spread, 1e-4))


def scores_of(classes: int) -> int:
    """Return how many scores a row has: one for each class; two classes share one."""
    return 1 if classes == 2 else classes


def start_at_shares(weights: FloatArray, design: Design) -> FloatArray:
    """Return empty tables, and biases that give the shares of the classes."""
    logs = np.log((weights + 0.5) / (weights + 0.5).sum())
    start = np.zeros((design.basis.parameters + 1, scores_of(len(weights))))
    start[0] = logs[1] - logs[0] if len(weights) == 2 else logs
    return start


def fit_parameters(
    rows: TrainingRows,
    design: Design,
    penalties: FloatArray,
    start: FloatArray | None = None,
    *,
    spread: FloatArray | None = None,
    tight: bool = False,
    watch: LastWatch | None = None,
) -> FloatArray:
    """Return biases and parameters that fit the rows, one line each.

    `penalties` has a figure for each kind of parameter. A `tight` search goes on until the
    gradient is next to nothing, or `watch` ends it.
    """
    weights, scores, total = rows.class_weights(), scores_of(rows.classes), rows.total()
    # With one score for two classes, its square is twice the sum of squares of both.
    penalty = penalties[design.kinds] * (0.5 if scores == 1 else 1.0)
    spread = spread_of((weights / weights.sum())[None, :]) if spread is None else spread
    centered, memory = None, _MEMORY
    if tight:
        centered = find_centered(design, rows.count_cells(design.layout))
        spread = np.full(scores, spread.mean())
        many = _REMEMBERED // (scores * (design.basis.parameters + 1))
        memory = min(max(many, _MEMORY), _MOST_MEMORY)
    size = np.concatenate([[total], design.norms])[:, None] * spread
    size[1:] += penalty[:, None]
    bounded = np.repeat(np.concatenate([[False], design.bounded]), scores)
    empty = start_at_shares(weights, design)
    entries = total * (design.layout.columns + design.layout.pairs) * scores
    limit = _FINE_LIMIT if entries < _FEW_ENTRIES else SLOPE_LIMIT

    def search(begin: FloatArray, loss_limit: float, slope_limit: float, steps: int) -> Solver:
        if centered is not None:
            begin = center(begin, penalty, centered)
        solver = Solver(
            design.layout,
            design.basis,
            scores,
            rows.slots,
            (size**-0.5).ravel(),
            penalty,
            bounded.astype(np.uint8),
            np.ascontiguousarray(begin).ravel(),
            loss_limit,
            slope_limit,
            steps,
            memory,
            centered,
        )
        rows.search(solver, None if watch is None or steps == 1 else partial(watch, limit))
        return solver

    if not tight:
        return search(
            empty if start is None else start, LOSS_LIMIT * total, 0.0, MAX_STEPS
        ).solution()
    slope = search(empty, 0.0, 0.0, 1).first_slope
    begin = empty if start is None else start
    return search(begin, -1.0, limit * slope, MAX_STEPS).solution()


def find_centered(design: Design, counts: FloatArray) -> NDArray[np.int64]:
    """Return the parameters of each column of levels in which every row has one."""
    columns = design.layout.columns
    first = [*design.first_parameter.tolist(), design.basis.parameters]
    cells = [*design.first_cell.tolist(), design.basis.cells]
    found = []
    for place in range(columns):
        start, stop = first[place : place + 2]
        rest = counts[cells[place] + stop - start : cells[place + 1]]
        if stop > start and design.kinds[start] == LEVEL and not rest.any():
            found.append((start, stop))
    return np.asarray(found, dtype=np.int64).reshape(-1, 2)


def center(start: FloatArray, penalty: FloatArray, centered: NDArray[np.int64]) -> FloatArray:
    """Return parameters that give all rows the same probabilities, with sums of 0."""
    start = start.copy()
    for first, last in centered.tolist():
        part = start[1 + first : 1 + last]
        mean = penalty[first:last] @ part / penalty[first:last].sum()
        part -= mean
        start[0] += mean
    return start if start.shape[1] == 1 else start - start.mean(axis=1, keepdims=True)


def score_rows(layout: Layout, codes: Codes, tables: FloatArray, bias: FloatArray) -> FloatArray:
    """Return the scores of rows: the bias plus an entry of every table."""
    scores = np.empty((codes.shape[1], len(bias)))

    def work(part: slice) -> None:
        add_up(layout, codes, part.start, part.stop, tables, bias, scores[part])

    in_threads(work, blocks(len(scores), 1 << 16))
    return scores


def to_probabilities(scores: FloatArray) -> FloatArray:
    """Return the probabilities of all classes; one score is the log-odds of the second of two."""
    return softmax(both_sides(scores))


def both_sides(scores: FloatArray) -> FloatArray:
    """Return a score for each class: of one, half for the second class, half against the first."""
    if scores.shape[-1] != 1:
        return scores
    return np.concatenate([scores * -0.5, scores * 0.5], axis=-1)


def predict_range(
    rows: Rows, design: Design, parameters: FloatArray, start: int, stop: int
) -> FloatArray:
    """Return the probabilities of a range of rows."""
    tables = design.basis.tables_of(np.ascontiguousarray(parameters[1:]))
    scores = np.empty((stop - start, rows.scores))
    add_up(design.layout, rows.codes, start, stop, tables, parameters[0].copy(), scores)
    return to_probabilities(scores)


def losses(probabilities: FloatArray, y: NDArray[np.int32]) -> FloatArray:
    """Return minus the log probability of each row's class."""
    return -np.log(np.maximum(probabilities[np.arange(len(y)), y], _LEAST))
