"""Count once where numbers are cut anew for every test part.

The cuts of each part are learned from fine counts of its training rows, merged from those of the
other parts. Pairs of columns are then counted once, on the cut points of all parts together: every
part's own intervals are unions of those, so its counts are sums of cells, from which the tested
rows are taken away. For whole weights that is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
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
from countwise.evaluation.folds import Deal
from countwise.evaluation.predictions import Said, widened
from countwise.parallel import threads
from countwise.tables.table import Table

Points = dict[str, FloatArray]
#: How numbers are cut: the method and the number of intervals.
Way = tuple[str, int]


class TooFineError(Exception):
    """Counting once does not pay or is not exact, for the reason given; refit instead."""


@dataclass(frozen=True)
class _Cutting:
    """The rows of all parts counted on all cut points, and the cut points of each part."""

    made: Pass
    total: Counts
    fine: Points
    points: dict[Way, list[Points]]

    def training(self, way: Way, part: int) -> Counts:
        """The counts of the rows outside a part, in the intervals learned from them."""
        own = self.points[way][part]
        block = cut_table(self.made.blocks[part], own)
        tested = count(block, Plan.pairs(block.schema), sample_weight=self.made.weights[part])
        return collapse_cuts(self.total, self.fine, own) - tested


def cut_said(
    table: Table,
    deal: Deal,
    made: Pass,
    learners: Sequence[Learner],
    weight: FloatArray | None,
    tick: Tick,
) -> dict[str, list[Said]]:
    """Train and ask models that count pairs of cut columns, for each part of a deal.

    `made` holds the fine counts of the numeric columns. Raises `TooFineError` if the models had
    better be refitted.
    """
    started = perf_counter()
    if weight is not None and np.any(weight != np.floor(weight)):
        raise TooFineError("weights are not whole numbers, of which sums are exact")
    ways: dict[Way, list[Learner]] = {}
    for learner in learners:
        ways.setdefault((learner.model.cuts, int(learner.model.bins)), []).append(learner)
    cutting = _cut(table, deal, made, tuple(ways), weight)
    shared = made.seconds + (perf_counter() - started) / (deal.parts * len(learners))
    jobs = [(way, part) for way in ways for part in range(deal.parts)]

    def answered(job: tuple[Way, int]) -> list[Said]:
        way, part = job
        begun = perf_counter()
        training = cutting.training(way, part)
        own = shared + (perf_counter() - begun) / len(ways[way])
        points, block = cutting.points[way][part], made.blocks[part]
        return [
            asked(
                lambda model: model.fit_cut(training, points, table),
                learner.model,
                training,
                block,
                own,
            )
            for learner in ways[way]
        ]

    said: dict[str, list[Said]] = {learner.name: [] for learner in learners}
    with side_by_side(made.rows) as mapped:
        for (way, part), answers in zip(jobs, mapped(answered, jobs), strict=True):
            for learner, answer in zip(ways[way], answers, strict=True):
                said[learner.name].append(answer)
                tick(f"{learner.name}, part {part + 1} of {deal.parts}")
    return said


def _cut(
    table: Table, deal: Deal, made: Pass, ways: Sequence[Way], weight: FloatArray | None
) -> _Cutting:
    numeric = tuple(column.name for column in table.schema.numeric)

    def cut(job: tuple[Way, int]) -> Points:
        way, part = job
        grids = made.trained[part].grids
        return {name: cut_points(grids[name], *way) for name in numeric}

    jobs = [(way, part) for way in ways for part in range(deal.parts)]
    with side_by_side(made.rows) as mapped:
        every = list(mapped(cut, jobs))
    fine = {n: np.unique(np.concatenate([own[n] for own in every])) for n in numeric}
    _refuse_large(table, [*every, fine])
    order = deal.order
    if len(order) < len(table):
        table, weight = table.take(order), None if weight is None else weight[order]
    whole = cut_table(table, fine)
    total = count(whole, Plan.pairs(whole.schema), sample_weight=weight)
    points = {way: every[at * deal.parts : (at + 1) * deal.parts] for at, way in enumerate(ways)}
    return _Cutting(made, total, fine, points)


def _refuse_large(table: Table, cuts: Sequence[Points]) -> None:
    """Refuse cuts whose tables would not fit, of one part or of all together."""
    nominal = [column.width for column in table.schema.nominal]
    classes = table.target_column.width
    most = rare_levels.MOST_PAIR_CELLS
    for place, own in enumerate(cuts):
        last = place == len(cuts) - 1
        widths = nominal + [len(points) + 1 for points in own.values()]
        if width_limit(widths, classes, most // 2 if last else most) is not None:
            raise TooFineError("the cut points of all parts together make tables too large")


Tick = Callable[[str], None]

#: Smaller blocks are done before a thread has begun.
WORTH_THREADS = 20_000


def union_plan(learners: Sequence[Learner], table: Table) -> Plan:
    """What all counted models want counted, together, so that they share one pass."""
    plans: list[Plan] = [learner.model.counts_needed(table.schema) for learner in learners]
    return reduce(Plan.__or__, plans, Plan())


def without_each(parts: Sequence[Counts], tested: int) -> list[Counts]:
    """Return, for each of the first `tested` parts, the merged counts of all the others.

    Merges run from both ends and meet, so that k parts cost about 3 k merges, not k².
    """
    after: list[Counts | None] = [None]
    for part in reversed(parts[1:]):
        after.append(_merged(part, after[-1]))
    after.reverse()
    before: Counts | None = None
    trained = []
    for place in range(tested):
        both = _merged(before, after[place])
        if both is not None:
            trained.append(both)
        before = _merged(before, parts[place])
    return trained


@dataclass(frozen=True)
class Pass:
    """The rows of a deal, counted part by part in one pass.

    `blocks` are the parts (those that always train last), `trained` for each tested part the merged
    counts of all the others, `seconds` what that took for each tested part.
    """

    blocks: Sequence[Table]
    weights: Sequence[FloatArray | None]
    trained: Sequence[Counts]
    seconds: float

    @property
    def rows(self) -> int:
        """How many rows a part has, on average."""
        return sum(map(len, self.blocks)) // len(self.blocks)


def pass_over(table: Table, deal: Deal, plan: Plan, weight: FloatArray | None) -> Pass:
    """Count each part of a deal once."""
    started = perf_counter()
    order = deal.order
    indices = [order[start:stop] for start, stop in pairwise(deal.edges.tolist()) if stop > start]
    weights = [None if weight is None else weight[index] for index in indices]

    def counted(place: int) -> tuple[Table, Counts]:
        block = table.take(indices[place])
        return block, count(block, plan, sample_weight=weights[place])

    with side_by_side(len(order) // len(indices)) as mapped:
        blocks, counts = zip(*mapped(counted, range(len(indices))), strict=True)
    trained = without_each(counts, deal.parts)
    return Pass(blocks, weights, trained, (perf_counter() - started) / deal.parts)


def counted_said(made: Pass, learners: Sequence[Learner], tick: Tick) -> dict[str, list[Said]]:
    """Train counted models from what one pass has counted, and ask them about each part.

    The seconds of the pass are shared out evenly among the test parts. Large parts are worked on
    side by side, so that their seconds may overlap.
    """
    parts = len(made.trained)
    jobs = [(learner, place) for place in range(parts) for learner in learners]
    said: dict[str, list[Said]] = {learner.name: [] for learner in learners}
    with side_by_side(made.rows) as mapped:
        answers = mapped(
            lambda job: said_by(
                job[0].model, made.trained[job[1]], made.blocks[job[1]], made.seconds
            ),
            jobs,
        )
        for (learner, place), answer in zip(jobs, answers, strict=True):
            said[learner.name].append(answer)
            tick(f"{learner.name}, part {place + 1} of {parts}")
    return said


@contextmanager
def side_by_side(rows: int) -> Iterator[Callable[..., Iterator[Any]]]:
    """Give a `map` that works in threads where blocks of so many rows are worth it."""
    if rows < WORTH_THREADS or threads() == 1:
        yield map
        return
    with ThreadPoolExecutor(threads()) as pool:
        yield pool.map


def said_by(model: Any, training: Counts, block: Table, shared: float) -> Said:
    """Learn from counts and answer for the rows of one block."""
    return asked(lambda own: own.fit_counts(training), model, training, block, shared)


def asked(
    fit: Callable[[Any], Any], model: Any, training: Counts, block: Table, shared: float
) -> Said:
    """Let a copy of a model learn, and ask it about the rows of one block."""
    started = perf_counter()
    fitted = fit(clone(model))
    learned = perf_counter()
    posteriors = widened(fitted.predict_proba(block), fitted.classes_, block.classes)
    ended = perf_counter()
    told = getattr(fitted, "class_prior_", None)
    shares = training.weight[:-1] / training.total
    if told is not None:
        shares = widened(told[None, :], fitted.classes_, block.classes)[0]
    return Said(posteriors, shares, shared + learned - started, ended - learned)


def majority_said(
    truth: NDArray[Any],
    edges: NDArray[np.intp],
    parts: int,
    classes: int,
    weight: FloatArray | None,
) -> list[Said]:
    """What the baseline says: the class shares of the training rows, of every row the same."""
    started = perf_counter()
    counts = np.zeros((len(edges) - 1, classes))
    for at in range(len(counts)):
        piece = slice(edges[at], edges[at + 1])
        given = None if weight is None else weight[piece]
        counts[at] = np.bincount(truth[piece], given, minlength=classes)
    said = []
    for at in range(parts):
        others = np.delete(counts, at, axis=0).sum(axis=0)
        shares = others / others.sum()
        lines = np.broadcast_to(shares, (int(edges[at + 1] - edges[at]), classes))
        said.append(Said(lines, shares, (perf_counter() - started) / parts, 0.0))
    return said


def _merged(left: Counts | None, right: Counts | None) -> Counts | None:
    if left is None:
        return right
    return left if right is None else left + right


def leave_one_out(model: Any, table: Table, weight: FloatArray | None = None) -> Said | None:
    """Return the posteriors of every row by the model of all other rows, if it can tell them."""
    ask = getattr(model, "leave_one_out", None)
    started = perf_counter()
    posteriors = None if ask is None else ask(table, weight)
    if posteriors is None:
        return None
    # The prior within the posteriors: the one the model was given, else the other rows' shares.
    shares = np.zeros_like(posteriors)
    present = np.flatnonzero(np.bincount(table.target, weight, minlength=posteriors.shape[1]) > 0)
    prior = getattr(model, "prior", None)
    others = _class_weights_without_each_row(table, weight)[:, present]
    classes = [table.classes[code] for code in present.tolist()]
    shares[:, present] = prior_of(prior, others.T, classes, type(model).__name__).T
    return Said(posteriors, shares, perf_counter() - started, 0.0)


def _class_weights_without_each_row(table: Table, weight: FloatArray | None) -> FloatArray:
    given = np.ones(len(table)) if weight is None else weight
    counts = np.bincount(table.target, given, minlength=len(table.classes))
    lines: FloatArray = np.tile(counts.astype(np.float64), (len(table), 1))
    lines[np.arange(len(table)), table.target] -= given
    return lines


def majority(table: Table, weight: FloatArray | None) -> Said:
    """The class shares of all other rows, for every row."""
    lines = _class_weights_without_each_row(table, weight)
    lines /= lines.sum(axis=1, keepdims=True)
    return Said(lines, lines, 0.0, 0.0)


def together(answers: Sequence[Said]) -> Said:
    """Put the answers for single rows below each other."""
    decided = [own.decided for own in answers if own.decided is not None]
    return Said(
        np.concatenate([own.posteriors for own in answers]),
        np.stack([own.training for own in answers]),
        sum(own.fit_seconds for own in answers),
        sum(own.predict_seconds for own in answers),
        np.concatenate(decided) if decided else None,
        answers[0].certain,
    )
