"""`evaluate`: let models answer for rows they have not seen, and keep what they said."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from countwise.counts.plan import Plan
from countwise.decisions.gain import Gains
from countwise.errors import ParameterError
from countwise.evaluation import leave_one_out as loo
from countwise.evaluation.cutting import TooFineError, cut_said
from countwise.evaluation.entrants import Learner
from countwise.evaluation.folds import Deal, Seed, Split, folds_of, generator, holdouts_of
from countwise.evaluation.given import given_split
from countwise.evaluation.outcomes import Part, Said
from countwise.evaluation.passes import counted_said, majority_said, pass_over, union_plan
from countwise.evaluation.refits import expected_seconds, refitted
from countwise.evaluation.task import Progress, Task, task_of
from countwise.evaluation.trials import Trials
from countwise.tables.table import Table


def evaluate(
    models: Any,
    data: Any,
    *,
    target: Any = None,
    folds: Any = 10,
    repeats: int = 1,
    holdout: float | None = None,
    leave_one_out: bool = False,
    stratified: bool = True,
    random_state: Seed = 0,
    gain: Gains | None = None,
    sample_weight: ArrayLike | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    max_seconds: float | None = None,
    **read_options: Any,
) -> Trials:
    """Compare models on rows they have not seen, and keep all they said.

    Models that learn from counts are trained by merging: every fold is counted once, for all of
    them together, and the training counts of a fold are the merged counts of the others. The
    posteriors are those of refitting, to the last bit for nominal columns and for numbers cut into
    intervals. Any other classifier is refitted for every fold. A baseline, ``majority``, always
    enters.

    Parameters
    ----------
    models
        One classifier, a list of them, or a mapping from names to classifiers: ours, scikit-learn's
        (see `countwise.evaluation.encoding` for what they get to see), or a `Decide` over either.
        Entrants over the very same estimator share its posteriors.
    data
        A `Table`, or anything `read` takes; further keywords are handed to `read`.
    target
        The class, as in `read`.
    folds
        How many folds; or one fold number a row (a negative one: the row always trains), a
        scikit-learn splitter, or a list of (train, test) indices.
    repeats
        How often the rows are dealt anew.
    holdout
        A share of the rows to set aside instead of folds: 0.3 for 70:30.
    leave_one_out
        Test every row with a model of all the others.
    stratified
        Give every test part the classes in the proportions of the table.
    random_state
        The seed of the deals.
    gain
        A gain matrix, in any form `GainMatrix.of` reads. Models that decide by argmax then enter
        a second time deciding by it, and the ranking is by expected gain.
    sample_weight
        One weight a row of the table, for training and for scores.
    n_jobs
        How many processes refit classifiers that do not learn from counts, as in scikit-learn.
    progress
        Called with steps done, steps in all, and a text.
    max_seconds
        How long it may take, about. Models that learn from counts come first; one that would not
        finish in time is left out whole, and a remark names it.

    Examples
    --------
    >>> import countwise as cw
    >>> from countwise.evaluation.run import evaluate
    >>> trials = evaluate(cw.NaiveBayes(), "sample:iris", folds=5, repeats=2)
    >>> trials.protocol, trials.best
    ('5-fold cross-validation, stratified, 2 repeats', 'NaiveBayes')
    >>> [len(part.rows) for part in trials.parts][:3]
    [30, 30, 30]
    """
    task = task_of("evaluate", models, data, target, gain, sample_weight, n_jobs, read_options)
    if max_seconds is not None:
        if not isinstance(max_seconds, numbers.Real) or not max_seconds > 0:
            raise ParameterError(
                f"evaluate: max_seconds must be a number above 0, or None, but {max_seconds!r} "
                "came."
            )
        task.deadline = perf_counter() + float(max_seconds)
    rng = generator("evaluate", random_state)
    split = _split(task.table, folds, repeats, holdout, leave_one_out, stratified, rng)
    task.expect(progress, split, cut=True)
    if split.kind == "leave-one-out":
        parts, said = _one_by_one(task)
    else:
        parts, said = _by_parts(task, split.deals)
    return task.trials(split, parts, said)


def _split(
    table: Table,
    folds: Any,
    repeats: Any,
    holdout: Any,
    leave_one_out: bool,
    stratified: bool,
    rng: np.random.Generator,
) -> Split:
    if not isinstance(stratified, bool) or not isinstance(leave_one_out, bool):
        raise ParameterError(
            "evaluate: stratified and leave_one_out must be True or False, but "
            f"{stratified!r} and {leave_one_out!r} came."
        )
    if leave_one_out:
        if holdout is not None or repeats != 1:
            raise ParameterError(
                "evaluate: leave_one_out tests every row once, so holdout= and repeats= say "
                f"nothing, but {holdout!r} and {repeats!r} came. Leave them out."
            )
        return Split("leave-one-out", f"leave-one-out over {len(table)} rows", ())
    if holdout is not None:
        return holdouts_of(table, holdout, repeats, stratified, rng)
    if isinstance(folds, numbers.Real):
        return folds_of(table, folds, repeats, stratified, rng)
    if repeats != 1:
        raise ParameterError(
            f"evaluate: folds that are given are not dealt anew, but repeats={repeats!r} came. "
            "Leave it out, or give a splitter that repeats."
        )
    return given_split(table, folds)


def _by_parts(task: Task, deals: Sequence[Deal]) -> tuple[list[Part], dict[str, list[Said]]]:
    """Go through the repeats; rows are sorted by test part once, so that a part is a slice."""
    said: dict[str, list[Said]] = {learner.name: [] for learner in task.learners}
    parts: list[Part] = []
    for repeat, deal in enumerate(deals):
        order, edges = deal.order, deal.edges
        truth = task.table.target[order]
        weight = None if task.weight is None else task.weight[order]
        for fold in range(deal.parts):
            piece = slice(int(edges[fold]), int(edges[fold + 1]))
            own = None if weight is None else weight[piece]
            trained = int(edges[-1]) - (piece.stop - piece.start)
            parts.append(Part(repeat, fold, order[piece], truth[piece], own, trained))
        for name, own_said in _counted(task, deal).items():
            said[name].extend(own_said)
        for learner in task.learners:
            if learner.baseline:
                classes = len(task.table.classes)
                said[learner.name] += majority_said(truth, edges, deal.parts, classes, weight)
    left = [learner for learner in task.others if learner.name not in task.once]
    splits = _splits(deals) if left else []
    for learner, expected in _quickest_first(task, left, splits):
        task.total += len(said[learner.name])  # steps that come a second time
        if task.deadline is not None and perf_counter() + expected > task.deadline:
            task.leave_out(learner)
            continue
        answers_of = refitted(
            learner,
            task.material(learner),
            splits,
            task.weight,
            task.table.classes,
            task.n_jobs,
            task.tick,
            task.deadline,
        )
        if answers_of is None:
            task.leave_out(learner)
        else:
            said[learner.name] = answers_of
    return parts, said


def _quickest_first(
    task: Task, learners: Sequence[Learner], splits: Sequence[tuple[Any, Any]]
) -> list[tuple[Learner, float]]:
    """The models in the order of what they can be expected to take, if time is short."""
    if task.deadline is None:
        return [(learner, 0.0) for learner in learners]
    expected = [
        expected_seconds(own, task.material(own), splits, task.weight, task.table.classes)
        for own in learners
    ]
    order = sorted(range(len(learners)), key=expected.__getitem__)
    return [(learners[at], expected[at]) for at in order]


def _counted(task: Task, deal: Deal) -> dict[str, list[Said]]:
    """What models say that learn from the counts of one pass over a deal."""
    cut = [own for own in task.others if own.cut and own.name not in task.refits]
    if not task.counted and not cut:
        return {}
    plan = union_plan(task.counted, task.table)
    if cut:
        plan |= Plan(grids=tuple(column.name for column in task.table.schema.numeric))
    made = pass_over(task.table, deal, plan, task.weight)
    task.tick("counted once")
    said = counted_said(made, task.counted, task.tick)
    try:
        if cut:
            said |= cut_said(task.table, deal, made, cut, task.weight, task.tick)
            task.once = tuple(own.name for own in cut)
    except TooFineError as why:
        task.refits, task.once = dict.fromkeys([own.name for own in cut], str(why)), ()
    return said


def _splits(deals: Sequence[Deal]) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """The rows to train on and to test, for each part."""
    splits = []
    for deal in deals:
        order, edges = deal.order, deal.edges
        for fold in range(deal.parts):
            train = np.flatnonzero((deal.part != fold) & (deal.part <= deal.parts))
            splits.append((train, order[edges[fold] : edges[fold + 1]]))
    return splits


def _one_by_one(task: Task) -> tuple[list[Part], dict[str, list[Said]]]:
    table, weight = task.table, task.weight
    every = np.arange(len(table))
    parts = [Part(0, 0, every, table.target, weight, len(table) - 1)]
    said: dict[str, list[Said]] = {}
    for learner in list(task.learners):
        if learner.baseline:
            said[learner.name] = [loo.majority(table, weight)]
        elif learner.counted:
            said[learner.name] = [loo.without_each_row(learner.model, table, weight)]
            task.tick(f"{learner.name}, all rows")
        else:
            splits = [(np.delete(every, row), every[row : row + 1]) for row in every]
            answers = refitted(
                learner,
                task.material(learner),
                splits,
                weight,
                table.classes,
                task.n_jobs,
                task.tick,
                task.deadline,
            )
            if answers is None:
                task.leave_out(learner)
            else:
                said[learner.name] = [loo.together(answers)]
    return parts, said
