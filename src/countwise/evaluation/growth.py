"""Growing training sets: rows dealt into slices, each size the running merge of those before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from countwise.counts.count import count
from countwise.counts.counts import Counts
from countwise.evaluation.folds import Deal, deal, proportions
from countwise.evaluation.outcomes import Part, Said
from countwise.evaluation.passes import said_by, side_by_side, union_plan
from countwise.evaluation.refits import refitted
from countwise.evaluation.task import Task
from countwise.tables.table import Table

Rows = NDArray[np.intp]
#: What every learner said at every size, round by round.
Answers = dict[str, list[list[Said]]]


@dataclass(frozen=True)
class Round:
    """One repeat (or fold): the tested rows, and the rows each size adds to the one before."""

    tested: Rows
    slices: tuple[Rows, ...]

    @classmethod
    def of(cls, part: NDArray[np.unsignedinteger], steps: int) -> Round:
        """Number 0 is tested, 1 to `steps` train one after the other, what is beyond stays out."""
        order = np.argsort(part, kind="stable")
        edges = np.concatenate([[0], np.cumsum(np.bincount(part, minlength=steps + 1))])
        pieces = [order[edges[at] : edges[at + 1]] for at in range(steps + 1)]
        return cls(pieces[0], tuple(pieces[1:]))

    def trained(self, step: int) -> Rows:
        """The rows of a size, as they stand in the table."""
        return np.sort(np.concatenate(self.slices[: step + 1]))


def holdout_rounds(
    table: Table,
    aside: int,
    sizes: Sequence[int],
    repeats: int,
    most: int,
    stratified: bool,
    rng: np.random.Generator,
) -> list[Round]:
    """Set rows aside anew in every repeat and deal the others into slices."""
    tested = min(aside, most)
    steps = [tested, *np.diff([0, *sizes]).tolist()]
    parts = [*steps, len(table) - sum(steps)]
    rounds = []
    for _ in range(repeats):
        pattern = proportions(parts, table, stratified, rng)
        rounds.append(Round.of(deal(pattern, table, stratified, rng), len(sizes)))
    return rounds


def fold_rounds(
    table: Table,
    deals: Sequence[Deal],
    sizes: Sequence[int],
    most: int,
    stratified: bool,
    rng: np.random.Generator,
) -> list[Round]:
    """Test on each fold, and deal the rows of the others into slices."""
    rounds = []
    for own in deals:
        for fold in range(own.parts):
            pool, tested = np.flatnonzero(own.part != fold), np.flatnonzero(own.part == fold)
            inner = table.take(pool)
            steps = np.diff([0, *sizes]).tolist()
            pattern = proportions([*steps, len(pool) - sizes[-1]], inner, stratified, rng)
            made = Round.of(deal(pattern + np.uint8(1), inner, stratified, rng), len(sizes))
            if len(tested) > most:
                tested = np.sort(rng.choice(tested, most, replace=False))
            rounds.append(Round(tested, tuple(pool[piece] for piece in made.slices)))
    return rounds


def grown(
    task: Task, rounds: Sequence[Round], sizes: Sequence[int]
) -> tuple[list[list[Part]], Answers]:
    """Return, for every size, the test parts and what each model said in each round."""
    steps = range(len(sizes))
    parts: list[list[Part]] = [[] for _ in steps]
    said: Answers = {learner.name: [[] for _ in steps] for learner in task.learners}
    for place, own in enumerate(rounds):
        truth = task.table.target[own.tested]
        weight = None if task.weight is None else task.weight[own.tested]
        for step in steps:
            parts[step].append(Part(place, 0, own.tested, truth, weight, sizes[step]))
        if task.counted:
            _counted(task, own, said)
        for learner in task.learners:
            if learner.baseline:
                for step, answer in enumerate(_majority(task, own)):
                    said[learner.name][step].append(answer)
    for learner in task.others:
        splits = [(own.trained(step), own.tested) for own in rounds for step in steps]
        answers = refitted(
            learner,
            task.material(learner),
            splits,
            task.weight,
            task.table.classes,
            task.n_jobs,
            task.tick,
        )
        for at, answer in enumerate(answers or ()):
            said[learner.name][at % len(sizes)].append(answer)
    return parts, said


def _counted(task: Task, own: Round, said: Answers) -> None:
    """Count each slice once; the counts of a size are those before it and its slice."""
    plan = union_plan(task.counted, task.table)

    def counted(index: Rows) -> tuple[Counts, float]:
        started = perf_counter()
        weight = None if task.weight is None else task.weight[index]
        made = count(task.table.take(index), plan, weight=weight)
        return made, perf_counter() - started

    block = task.table.take(own.tested)
    running: Counts | None = None
    seconds = 0.0
    grown_counts: list[tuple[Counts, float]] = []
    with side_by_side(max(len(own.tested), sum(map(len, own.slices)))) as mapped:
        for fresh, took in mapped(counted, own.slices):
            running = fresh if running is None else running + fresh
            seconds += took
            grown_counts.append((running, seconds))
        task.tick("counted once")
        jobs = [(step, learner) for step in range(len(grown_counts)) for learner in task.counted]
        answers = mapped(
            lambda job: said_by(
                job[1].model, grown_counts[job[0]][0], block, grown_counts[job[0]][1]
            ),
            jobs,
        )
        for (step, learner), answer in zip(jobs, answers, strict=True):
            said[learner.name][step].append(answer)
            task.tick(f"{learner.name}, size {step + 1} of {len(grown_counts)}")


def _majority(task: Task, own: Round) -> list[Said]:
    classes = len(task.table.classes)
    running = np.zeros(classes)
    answers = []
    for index in own.slices:
        weight = None if task.weight is None else task.weight[index]
        running = running + np.bincount(task.table.target[index], weight, minlength=classes)
        shares = running / running.sum()
        answers.append(Said(np.broadcast_to(shares, (len(own.tested), classes)), shares, 0.0, 0.0))
    return answers
