"""What should be said beside the figures of an evaluation, each remark with a code."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from countwise._typing import FloatArray
from countwise.counts.plan import Plan
from countwise.decisions.gain_matrix import GainMatrix, Gains
from countwise.errors import ParameterError
from countwise.evaluation import from_counts as loo
from countwise.evaluation.candidates import Candidate, Learner, entrants_of, learners_of
from countwise.evaluation.folds import (
    Deal,
    Seed,
    Split,
    folds_of,
    generator,
    given_split,
    holdouts_of,
    usable,
)
from countwise.evaluation.from_counts import (
    TooFineError,
    counted_said,
    cut_said,
    majority_said,
    pass_over,
    union_plan,
)
from countwise.evaluation.predictions import MOST_DOUBLES, Entry, Part, Said, entry_of
from countwise.evaluation.refit import Material, expected_seconds, material_of, refitted
from countwise.evaluation.trials import Trials
from countwise.notes import Note
from countwise.tables.read import read
from countwise.tables.table import Table
from countwise.tables.weights import read_weights

if TYPE_CHECKING:
    pass


def remarks(split: Split, entries: Mapping[str, Entry], task: Task) -> Iterator[Note]:
    """Yield the remarks an evaluation calls for."""
    draws = [name for name, entry in entries.items() if entry.draws]
    if draws:
        yield Note.of("E03", names=_all(draws))
    certain = [name for name, entry in entries.items() if entry.certain]
    if certain:
        yield Note.of("E04", names=_all(certain))
    once = [own.name for own in task.learners if own.counted or own.name in task.once]
    if once and split.kind != "leave-one-out":
        names = once
        yield Note.of("E05", names=_all(names))
    for why in dict.fromkeys(task.refits.values()):
        names = [name for name, own in task.refits.items() if own == why]
        yield Note.of("E14", names=_all(names), why=why)
    big = any(sum(p.posteriors.size for p in e.pieces) > MOST_DOUBLES for e in entries.values())
    if big:
        yield Note.of("E06", limit=MOST_DOUBLES)
    encoded = [own.name for own in task.others if task.material(own).encoded]
    if encoded:
        yield Note.of("E07", names=_all(encoded))
    unweighted = [
        own.name
        for own in task.others
        if task.weight is not None and task.material(own).weights(own.model, task.weight) is None
    ]
    if unweighted:
        yield Note.of("E08", names=_all(unweighted))
    if task.left_out:
        yield Note.of("E15", names=", ".join(task.left_out))
    if split.tests == 1 or split.kind == "leave-one-out":
        yield Note.of("E09")


def _all(names: list[str]) -> str:
    return ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")


#: Called with steps done, steps in all, and a text.
Progress = Callable[[int, int, str], None]


@dataclass
class Task:
    """What an evaluation works on: the table, who enters, and whom to tell how far it is."""

    table: Table
    entrants: list[Candidate]
    learners: list[Learner]
    gain: GainMatrix | None
    weight: FloatArray | None
    n_jobs: int | None
    notes: tuple[Note, ...]
    progress: Progress | None = None
    total: int = 0
    done: int = 0
    deadline: float | None = None
    left_out: list[str] = field(default_factory=list)
    materials: dict[str, Material] = field(default_factory=dict)
    #: Why models that might have been counted once were refitted.
    refits: dict[str, str] = field(default_factory=dict)
    #: Models that cut numbers and were counted once all the same.
    once: tuple[str, ...] = ()

    @property
    def counted(self) -> list[Learner]:
        """Those who learn from counts."""
        return [learner for learner in self.learners if learner.counted]

    @property
    def others(self) -> list[Learner]:
        """Those who are refitted."""
        return [own for own in self.learners if not own.counted and not own.baseline]

    def expect(
        self, progress: Progress | None, split: Split, times: int = 1, cut: bool = False
    ) -> None:
        """Say how many steps there will be; `cut` if models that cut numbers are counted once."""
        self.progress = progress
        tests = split.tests * times
        if split.kind == "leave-one-out":
            self.total = len(self.counted) + len(self.others) * len(self.table)
            return
        self.total = (len(self.counted) + len(self.others)) * tests
        once = bool(self.counted) or (cut and any(learner.cut for learner in self.others))
        self.total += len(split.deals) if once else 0

    def leave_out(self, learner: Learner) -> None:
        """Let a model out that would not finish in time, with all who decide on what it says."""
        self.learners = [own for own in self.learners if own is not learner]
        self.left_out += [own.name for own in self.entrants if own.learner == learner.name]
        self.entrants = [own for own in self.entrants if own.learner != learner.name]

    def tick(self, text: str) -> None:
        """Tell that a step is done."""
        self.done += 1
        if self.progress is not None:
            self.progress(self.done, self.total, text)

    def material(self, learner: Learner) -> Material:
        """The rows as this model takes them, made once."""
        if learner.name not in self.materials:
            self.materials[learner.name] = material_of(learner.model, self.table)
        return self.materials[learner.name]

    def trials(
        self,
        split: Split,
        parts: Sequence[Part],
        said: dict[str, list[Said]],
        ratio: float | None = None,
    ) -> Trials:
        """Let every rule decide, and keep the result."""
        classes = self.table.classes
        entries = {e.name: entry_of(e, said[e.learner], classes) for e in self.entrants}
        shares = [len(part.rows) / max(part.trained, 1) for part in parts]
        notes = (*self.notes, *split.notes, *remarks(split, entries, self))
        return Trials(
            tuple(classes),
            tuple(parts),
            entries,
            split.words,
            float(np.mean(shares)) if ratio is None else ratio,
            notes,
            self.gain,
        )


def task_of(
    who: str,
    models: Any,
    data: Any,
    target: Any,
    gain: Gains | None,
    sample_weight: ArrayLike | None,
    n_jobs: int | None,
    read_options: dict[str, Any],
) -> Task:
    """Read the data, check who enters, and refuse what cannot be evaluated."""
    named = entrants_of(who, models, None)
    table = (
        data
        if isinstance(data, Table) and not read_options and target is None
        else read(data, target=target, **_wishes(who, named, data, read_options))
    )
    weight = read_weights(sample_weight, len(table), who)
    rows, notes = usable(who, table)
    if weight is not None and len(rows) != len(table):
        weight = weight[table.target < table.target_column.width]
    matrix = None if gain is None else GainMatrix.of(gain, table.classes)
    if n_jobs is not None and (not isinstance(n_jobs, numbers.Integral) or n_jobs == 0):
        raise ParameterError(
            f"{who}: n_jobs must be a whole number other than 0, or None, but {n_jobs!r} came."
        )
    entrants = named if matrix is None else entrants_of(who, models, matrix)
    said = tuple(Note.of("E10", sentence=text) for text in (matrix.notes if matrix else ()))
    return Task(
        rows,
        entrants,
        learners_of(entrants, rows.schema),
        matrix,
        weight,
        n_jobs,
        (*table.notes, *notes, *said),
    )


def _wishes(
    who: str, entrants: Sequence[Candidate], data: Any, read_options: dict[str, Any]
) -> dict[str, Any]:
    """Read as the models ask for, where they agree and the caller did not say."""
    wanted: list[Any] = [getattr(entrant.model, "nominal", None) for entrant in entrants]
    asked = [own if isinstance(own, str) else tuple(own) for own in wanted if _some(own)]
    if not asked or "nominal" in read_options or isinstance(data, Table):
        return read_options
    if any(set(other) != set(asked[0]) for other in asked):
        raise ParameterError(
            f"{who}: models that are compared see the same table, but their nominal= differ. Pass "
            f"nominal= to {who}."
        )
    return {**read_options, "nominal": asked[0]}


def _some(names: Any) -> bool:
    return hasattr(names, "__len__") and len(names) > 0


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
        (see `countwise.evaluation.refit` for what they get to see), or a `Decide` over either.
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
    >>> from countwise.evaluation.evaluate import evaluate
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
        elif (answer := loo.leave_one_out(learner.model, table, weight)) is not None:
            said[learner.name] = [answer]
            task.total -= 0 if learner.counted else len(table) - 1
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
