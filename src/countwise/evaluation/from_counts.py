"""Predictions of models that learn from counts: each block of rows is counted once.

Where numbers are cut into intervals, the cut points of each fold are learned from fine counts of
its training rows. Pairs of columns are then counted once, on the cut points of all folds together:
the intervals of every fold are unions of those, so its counts are sums of cells, from which the
tested rows are subtracted. For whole weights that is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from math import prod
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.base import clone

from countwise._typing import FloatArray
from countwise.counts.count_rows import count
from countwise.counts.counts import Counts
from countwise.counts.plan import Plan
from countwise.decisions.class_prior import prior_of
from countwise.discretize import rare_levels
from countwise.discretize.cut_points import collapse_cuts, cut_points, cut_table
from countwise.discretize.rare_levels import width_limit
from countwise.evaluation.candidates import Learner
from countwise.evaluation.folds import Repeat
from countwise.evaluation.predictions import Output, widen
from countwise.parallel import threads
from countwise.tables.table import Table

Outputs = dict[str, list[Output]]
Points = dict[str, FloatArray]
#: How numbers are cut: the method and the number of intervals.
Method = tuple[str, int]
Step = Callable[[str], None]

#: Tables of all folds together may have this many cells: half a gigabyte.
MOST_FOLD_CELLS = 1 << 26
#: Smaller blocks are done before a thread has begun.
MIN_ROWS_FOR_THREADS = 20_000


class TooFineError(Exception):
    """Counting once does not pay or is not exact, for the reason given; refit instead."""


@dataclass(frozen=True)
class CountedRepeat:
    """The blocks of a repeat, and for each fold the merged counts of the rows it trains on."""

    table: Table
    weight: FloatArray | None
    repeat: Repeat
    blocks: Sequence[Table]
    weights: Sequence[FloatArray | None]
    training: Sequence[Counts]
    seconds: Sequence[float]

    def calibrate(self, model: Any, place: int) -> Any:
        """Let a model of a fold's counts learn from its rows what counts cannot tell.

        That is the temperature, so that the evaluated model is the one that `fit` gives.
        """
        learn = getattr(model, "learn_temperature", None)
        if learn is None or model.calibrate is None:
            return model
        rows = self.repeat.training_rows(self.repeat.parts[place])
        return learn(self.table, self.weight, rows)


@contextmanager
def map_blocks(repeat: Repeat) -> Iterator[Callable[..., Iterator[Any]]]:
    """Give a `map` that works in threads where the blocks of a repeat are large enough."""
    if max(map(len, repeat.blocks)) < MIN_ROWS_FOR_THREADS or threads() == 1:
        yield map
        return
    with ThreadPoolExecutor(threads()) as pool:
        yield pool.map


def exceeds_memory(plan: Plan, table: Table, blocks: int) -> bool:
    """Return whether the tables of so many blocks and of their sums would take too much memory."""
    width = {column.name: column.width + 1 for column in table.schema if column.coded}
    cells = sum(prod(width[name] for name in names) for names in plan.tables)
    # Counts of each block, sums from both ends, and what each fold trains on.
    return 4 * blocks * (len(table.classes) + 1) * cells > MOST_FOLD_CELLS


def merge_plans(learners: Sequence[Learner], table: Table) -> Plan:
    """Return what all counted models need counted, so that they share one pass."""
    plans: list[Plan] = [learner.model.counts_needed(table.schema) for learner in learners]
    return reduce(Plan.__or__, plans, Plan())


def count_blocks(
    table: Table, repeat: Repeat, plan: Plan, weight: FloatArray | None
) -> CountedRepeat:
    """Count each block of a repeat that some fold trains on, once."""
    weights = [None if weight is None else weight[rows] for rows in repeat.blocks]
    trained = set(repeat.trained)

    def count_block(at: int) -> tuple[Table, Counts | None, float]:
        started = perf_counter()
        block = table.take(repeat.blocks[at])
        counts = count(block, plan, sample_weight=weights[at]) if at in trained else None
        return block, counts, perf_counter() - started

    with map_blocks(repeat) as mapped:
        counted = list(mapped(count_block, range(len(repeat.blocks))))
    blocks = [block for block, _, _ in counted]
    training = repeat.sum_training({at: counted[at][1] for at in trained})
    # What is counted once for several tests is shared among them.
    seconds = repeat.sum_training({at: counted[at][2] / repeat.tested for at in trained})
    return CountedRepeat(table, weight, repeat, blocks, weights, training, seconds)


def predict_counted(counted: CountedRepeat, learners: Sequence[Learner], step: Step) -> Outputs:
    """Train counted models on the counts of each fold, and predict its tested rows."""
    parts = counted.repeat.parts
    jobs = [(place, learner) for place in range(len(parts)) for learner in learners]

    def predict(job: tuple[int, Learner]) -> Output:
        place, learner = job
        block, training = counted.blocks[parts[place].test], counted.training[place]
        model, seconds = clone(learner.model), counted.seconds[place]

        def fit() -> Any:
            return counted.calibrate(model.fit_counts(training), place)

        return _fit_and_predict(fit, training, block, seconds)

    outputs: Outputs = {learner.name: [] for learner in learners}
    with map_blocks(counted.repeat) as mapped:
        for (place, learner), output in zip(jobs, mapped(predict, jobs), strict=True):
            outputs[learner.name].append(output)
            step(f"{learner.name}, fold {place + 1} of {len(parts)}")
    return outputs


def _fit_and_predict(
    fit: Callable[[], Any], training: Counts, block: Table, seconds: float
) -> Output:
    """Fit a model and predict the rows of a block; counting took it so many seconds."""
    started = perf_counter()
    model = fit()
    seconds += perf_counter() - started
    return predict_rows(model, block, training.weight[:-1] / training.total, seconds)


def predict_rows(model: Any, block: Table, shares: FloatArray, fit_seconds: float) -> Output:
    """Predict the rows of a block by a model of rows with these class shares."""
    started = perf_counter()
    posteriors = widen(model.predict_proba(block), model.classes_, block.classes)
    seconds = perf_counter() - started
    prior = getattr(model, "class_prior_", None)
    if prior is not None:
        shares = widen(prior[None, :], model.classes_, block.classes)[0]
    return Output(posteriors, shares, fit_seconds, seconds)


def predict_cut(
    table: Table,
    counted: CountedRepeat,
    learners: Sequence[Learner],
    weight: FloatArray | None,
    step: Step,
) -> Outputs:
    """Train models on pairs of cut columns, for each fold, and predict its tested rows."""
    started = perf_counter()
    if weight is not None and np.any(weight != np.floor(weight)):
        raise TooFineError("weights are not whole numbers, so their sums are not exact")
    methods: dict[Method, list[Learner]] = {}
    for learner in learners:
        methods.setdefault((learner.model.cuts, int(learner.model.bins)), []).append(learner)
    folds = range(counted.repeat.n_folds)
    jobs = [(method, place) for method in methods for place in folds]

    def learn(job: tuple[Method, int]) -> Points:
        grids = counted.training[job[1]].grids
        return {one.name: cut_points(grids[one.name], *job[0]) for one in table.schema.numeric}

    with map_blocks(counted.repeat) as mapped:
        cuts = dict(zip(jobs, mapped(learn, jobs), strict=True))
    total, fine = _count_on_all_cuts(table, counted.repeat, list(cuts.values()), weight)
    shared = (perf_counter() - started) / (len(folds) * len(learners))

    def predict(job: tuple[Method, int]) -> list[Output]:
        begun = perf_counter()
        points, block = cuts[job], counted.blocks[job[1]]
        tested = cut_table(block, points)
        training = collapse_cuts(total, fine, points, tested.schema) - count(
            tested, Plan.pairs(tested.schema), sample_weight=counted.weights[job[1]]
        )
        group = methods[job[0]]
        seconds = counted.seconds[job[1]] + shared + (perf_counter() - begun) / len(group)

        def predict_one(model: Any) -> Output:
            def fit() -> Any:
                return counted.calibrate(model.fit_cut(training, points, table), job[1])

            return _fit_and_predict(fit, training, block, seconds)

        return [predict_one(clone(learner.model)) for learner in group]

    outputs: Outputs = {learner.name: [] for learner in learners}
    with map_blocks(counted.repeat) as mapped:
        for (method, place), answers in zip(jobs, mapped(predict, jobs), strict=True):
            for learner, output in zip(methods[method], answers, strict=True):
                outputs[learner.name].append(output)
                step(f"{learner.name}, fold {place + 1} of {len(folds)}")
    return outputs


def _count_on_all_cuts(
    table: Table, repeat: Repeat, cuts: Sequence[Points], weight: FloatArray | None
) -> tuple[Counts, Points]:
    """Count the rows of all blocks on the cut points of all folds together."""
    fine = {
        column.name: np.unique(np.concatenate([points[column.name] for points in cuts]))
        for column in table.schema.numeric
    }
    nominal = [column.width for column in table.schema.nominal]
    limits = [rare_levels.MOST_PAIR_CELLS] * len(cuts) + [rare_levels.MOST_PAIR_CELLS // 2]
    for points, most in zip([*cuts, fine], limits, strict=True):
        widths = nominal + [len(bounds) + 1 for bounds in points.values()]
        if width_limit(widths, table.target_column.width, most) is not None:
            raise TooFineError("the cut points of all folds together make tables too large")
    rows = np.concatenate(repeat.blocks)
    if len(rows) < len(table):
        table, weight = table.take(rows), None if weight is None else weight[rows]
    whole = cut_table(table, fine)
    return count(whole, Plan.pairs(whole.schema), sample_weight=weight), fine


def predict_majority(table: Table, repeat: Repeat, weight: FloatArray | None) -> list[Output]:
    """Return the class shares of the training rows, the same for every tested row."""
    counts = {at: _class_weights(table, weight, repeat.blocks[at]) for at in repeat.trained}
    outputs = []
    for part, training in zip(repeat.parts, repeat.sum_training(counts), strict=True):
        shares = training / training.sum()
        lines = np.broadcast_to(shares, (len(repeat.blocks[part.test]), len(shares)))
        outputs.append(Output(lines, shares, 0.0, 0.0))
    return outputs


def _class_weights(table: Table, weight: FloatArray | None, rows: Any = slice(None)) -> FloatArray:
    given = None if weight is None else weight[rows]
    return np.bincount(table.target[rows], given, minlength=len(table.classes)).astype(np.float64)


def predict_left_out(
    learner: Learner, table: Table, weight: FloatArray | None = None
) -> Output | None:
    """Return the posteriors of every row by the model of all other rows; None if it must refit."""
    others = np.tile(_class_weights(table, weight), (len(table), 1))
    others[np.arange(len(table)), table.target] -= 1.0 if weight is None else weight
    if learner.baseline:
        others /= others.sum(axis=1, keepdims=True)
        return Output(others, others, 0.0, 0.0)
    ask = getattr(learner.model, "leave_one_out", None)
    started = perf_counter()
    posteriors = None if ask is None else ask(table, weight)
    if posteriors is None:
        return None
    # The prior within the posteriors: the one the model was given, else the other rows' shares.
    shares = np.zeros_like(posteriors)
    present = np.flatnonzero(_class_weights(table, weight) > 0)
    prior = getattr(learner.model, "prior", None)
    classes = [table.classes[code] for code in present.tolist()]
    name = type(learner.model).__name__
    shares[:, present] = prior_of(prior, others[:, present].T, classes, name).T
    return Output(posteriors, shares, perf_counter() - started, 0.0)
