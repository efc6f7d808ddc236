"""Count once: each test part is counted once, and training counts are merges of the others."""

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

from countwise.counts.count import count
from countwise.counts.counts import Counts
from countwise.counts.engines.memory import threads
from countwise.counts.plan import Plan
from countwise.evaluation.entrants import Learner
from countwise.evaluation.folds import Deal
from countwise.evaluation.outcomes import Said, widened
from countwise.tables.table import Table

Doubles = NDArray[np.float64]
Tick = Callable[[str], None]

#: Smaller blocks are done before a thread has begun.
WORTH_THREADS = 20_000


def union_plan(learners: Sequence[Learner], table: Table) -> Plan:
    """What all counted models want counted, together, so that they share one pass."""
    plans: list[Plan] = [learner.model.plan(table.schema) for learner in learners]
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
    weights: Sequence[Doubles | None]
    trained: Sequence[Counts]
    seconds: float

    @property
    def rows(self) -> int:
        """How many rows a part has, on average."""
        return sum(map(len, self.blocks)) // len(self.blocks)


def pass_over(table: Table, deal: Deal, plan: Plan, weight: Doubles | None) -> Pass:
    """Count each part of a deal once."""
    started = perf_counter()
    order = deal.order
    indices = [order[start:stop] for start, stop in pairwise(deal.edges.tolist()) if stop > start]
    weights = [None if weight is None else weight[index] for index in indices]

    def counted(place: int) -> tuple[Table, Counts]:
        block = table.take(indices[place])
        return block, count(block, plan, weight=weights[place])

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
    weight: Doubles | None,
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
