"""Fit tables to rows: one minimization, and paths of penalties over validation folds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.models.additive._passes import Layout, Solver, add_up
from countwise.models.additive.basis import Design
from countwise.models.additive.bins import Codes
from countwise.numeric import softmax
from countwise.parallel import blocks, in_threads

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
        return 1 if self.classes == 2 else self.classes

    @property
    def validated(self) -> slice:
        """The rows of all folds that are validated."""
        return slice(0, int(self.bounds[self.folds]))

    def ranges(self, fold: int | None) -> NDArray[np.int64]:
        """Return all rows but those of a fold, in ranges of a fixed size."""
        parts = [(0, len(self))]
        if fold is not None:
            start, stop = self.bounds[fold : fold + 2].tolist()
            parts = [(0, start), (stop, len(self))]
        total = sum(stop - start for start, stop in parts)
        size = max(_RANGE, -(-total // _MAX_RANGES))
        found = [
            (start + part.start, start + part.stop)
            for start, stop in parts
            for part in blocks(stop - start, size)
        ]
        return np.asarray(found, dtype=np.int64).reshape(-1, 2)

    def classspread_of(self) -> FloatArray:
        """Return the variance of the indicator of each score's class."""
        shares = np.bincount(self.y, self.weight, minlength=self.classes) / self.weight.sum()
        return spread_of(shares[None, :])


def spread_of(probabilities: FloatArray) -> FloatArray:
    """Return the mean variance of the indicator of each score's class."""
    spread = (probabilities * (1 - probabilities)).mean(axis=0)
    return np.asarray(np.maximum(spread[1:] if len(spread) == 2 else spread, 1e-4))


def start_at_shares(rows: Rows, design: Design) -> FloatArray:
    """Return empty tables, and biases that give the shares of the classes."""
    counts = np.bincount(rows.y, rows.weight, minlength=rows.classes)
    logs = np.log((counts + 0.5) / (counts + 0.5).sum())
    start = np.zeros((design.basis.parameters + 1, rows.scores))
    start[0] = logs[1] - logs[0] if rows.scores == 1 else logs
    return start


def fit_parameters(
    rows: Rows,
    design: Design,
    penalties: FloatArray,
    start: FloatArray | None = None,
    *,
    fold: int | None = None,
    spread: FloatArray | None = None,
    tight: bool = False,
) -> FloatArray:
    """Return biases and parameters that fit all rows but those of a fold, one line each.

    `penalties` has a figure for each kind of parameter. A `tight` search goes on until the
    gradient is next to nothing.
    """
    ranges = rows.ranges(fold)
    total = float(sum(rows.weight[a:b].sum() for a, b in ranges.tolist()))
    # With one score for two classes, its square is twice the sum of squares of both.
    penalty = penalties[design.kinds] * (0.5 if rows.scores == 1 else 1.0)
    spread = rows.classspread_of() if spread is None else spread
    size = np.concatenate([[total], design.norms])[:, None] * spread
    size[1:] += penalty[:, None]
    bounded = np.repeat(np.concatenate([[False], design.bounded]), rows.scores)
    start = start_at_shares(rows, design) if start is None else start

    def search(begin: FloatArray, loss_limit: float, slope_limit: float, steps: int) -> Solver:
        solver = Solver(
            design.layout,
            design.basis,
            rows.scores,
            len(ranges),
            (size**-0.5).ravel(),
            penalty,
            bounded.astype(np.uint8),
            np.ascontiguousarray(begin).ravel(),
            loss_limit,
            slope_limit,
            steps,
        )
        # Several folds run in threads already.
        _run(solver, rows, ranges, in_turn=fold is not None and rows.folds > 1)
        return solver

    if not tight:
        return search(start, LOSS_LIMIT * total, 0.0, MAX_STEPS).solution()
    empty = search(start_at_shares(rows, design), 0.0, 0.0, 1).first_slope
    limit = _FINE_LIMIT if _entries(rows, design.layout) < _FEW_ENTRIES else SLOPE_LIMIT
    return search(start, -1.0, limit * empty, MAX_STEPS).solution()


def _entries(rows: Rows, layout: Layout) -> int:
    """Return how many table entries a pass reads."""
    return len(rows) * (layout.columns + layout.pairs) * rows.scores


def _run(solver: Solver, rows: Rows, ranges: NDArray[np.int64], in_turn: bool) -> None:
    """Search to the end; unless `in_turn`, large passes run in threads, with the same result."""
    codes, y, weight = rows.codes, rows.y, rows.weight
    if in_turn or _entries(rows, solver.layout) < _THREADED or len(ranges) < 2:
        solver.solve(codes, y, weight, ranges)
        return
    slots = list(enumerate(ranges.tolist()))
    going = True
    while going:
        in_threads(lambda slot: solver.add_rows(slot[0], codes, y, weight, *slot[1]), slots)
        going = solver.step()


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
