"""Count once: each test part is counted once, and training counts are merges of the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
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
from countwise.evaluation.outcomes import Said, widened
from countwise.tables.table import Table

__all__ = ["asked", "counted_said", "majority_said", "said_by", "union_plan", "without_each"]

Doubles = NDArray[np.float64]
Tick = Callable[[str], None]

#: Smaller blocks are done before a thread has begun.
WORTH_THREADS = 20_000


def union_plan(learners: Sequence[Learner], table: Table) -> Plan:
    """What all counted models want counted, together, so that they share one pass."""
    plans: list[Plan] = [learner.model.plan(table.schema) for learner in learners]
    return reduce(Plan.__or__, plans)


def without_each(parts: Sequence[Counts], tested: int) -> list[Counts]:
    """Return, for each of the first `tested` parts, the merged counts of all the others.

    Merges run from both ends and meet, so that k parts cost about 3 k merges, not k².

    Examples
    --------
    >>> import countwise as cw
    >>> table = cw.read("sample:weather")
    >>> parts = cw.count_groups(table, groups=[0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1])
    >>> without_each(parts, 3)[1] == parts[0] + parts[2]
    True
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


def counted_said(
    table: Table,
    order: NDArray[np.intp],
    edges: NDArray[np.intp],
    parts: int,
    learners: Sequence[Learner],
    weight: Doubles | None,
    tick: Tick,
) -> dict[str, list[Said]]:
    """Train and ask counted models on the rows of each part, `order[edges[i] : edges[i + 1]]`.

    The seconds of the one pass are shared out evenly among the test parts. Large parts are worked
    on side by side, so that their seconds may overlap.
    """
    started = perf_counter()
    plan = union_plan(learners, table)
    indices = [order[start:stop] for start, stop in pairwise(edges.tolist()) if stop > start]

    def counted(index: NDArray[np.intp]) -> tuple[Table, Counts]:
        block = table.take(index)
        return block, count(block, plan, weight=None if weight is None else weight[index])

    with side_by_side(len(order) // len(indices)) as mapped:
        blocks, counts = zip(*mapped(counted, indices), strict=True)
        trained = without_each(counts, parts)
        shared = (perf_counter() - started) / parts
        tick("counted once")
        jobs = [(learner, place) for place in range(parts) for learner in learners]
        answers = mapped(
            lambda job: said_by(job[0].model, trained[job[1]], blocks[job[1]], shared), jobs
        )
        said: dict[str, list[Said]] = {learner.name: [] for learner in learners}
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
