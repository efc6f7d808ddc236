"""Compare models on rows they have not seen: one loop over folds for every protocol."""

from __future__ import annotations

import numbers
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from countwise._typing import FloatArray
from countwise.counts.plan import Plan
from countwise.decisions.gain_matrix import GainMatrix, Gains
from countwise.errors import ParameterError, did_you_mean, listing, shorten
from countwise.evaluation.candidates import Candidate, Learner, list_learners, read_candidates
from countwise.evaluation.column_folds import (
    read_groups,
    read_times,
    split_groups,
    split_time,
    take_columns,
)
from countwise.evaluation.experiment import Experiment, evaluate_sets
from countwise.evaluation.folds import (
    PROTOCOL,
    Fold,
    Repeat,
    Seed,
    Split,
    drop_unlabelled,
    generator,
    holds_several,
    read_rows,
    split_folds,
    split_given,
    split_holdout,
    split_rows,
)
from countwise.evaluation.from_counts import (
    Outputs,
    TooFineError,
    count_blocks,
    exceeds_memory,
    merge_plans,
    predict_counted,
    predict_cut,
    predict_left_out,
    predict_majority,
)
from countwise.evaluation.predictions import MAX_DOUBLES, Entry, HeldOut, Output, apply_rule
from countwise.evaluation.refit import Material, expected_seconds, is_pipeline, prepare_rows, refit
from countwise.evaluation.scanned import evaluate_scan
from countwise.evaluation.scores import find_score
from countwise.evaluation.trials import Trials
from countwise.models import registry
from countwise.notes import Note
from countwise.params import Constraint, Parameter, boolean, check, nothing, number, whole
from countwise.progress import Progress, Steps, open_progress
from countwise.tables.scan import Scan
from countwise.tables.table import Table
from countwise.tables.weights import read_weights

_N_JOBS = Constraint(
    "a whole number other than 0, or None",
    lambda value: value is None or (whole(-(2**31)).admits(value) and value != 0),
)
#: Arguments that are not passed on to the evaluation of one of several data sets.
_OF_SETS = ("models", "data", "progress", "baseline", "read_options")
_PARAMETERS: Mapping[str, Parameter] = {
    **PROTOCOL,
    "leave_one_out": Parameter(boolean(), "whether every row is tested by itself"),
    "max_seconds": Parameter(number(above=0) | nothing(), "about how long it may take"),
}


@dataclass
class Task:
    """The state of an evaluation: the rows, the models, and how far it is."""

    table: Table
    candidates: list[Candidate]
    learners: list[Learner]
    gain: GainMatrix | None
    weight: FloatArray | None
    n_jobs: int | None
    notes: tuple[Note, ...]
    #: What is known of the rows beside the table: groups, times, fold numbers.
    by_row: Mapping[str, Any] = field(default_factory=dict)
    #: The score that ranks; without one the expected gain or the accuracy.
    score: str | None = None
    steps: Steps = field(default_factory=lambda: Steps(None, 0))
    deadline: float | None = None
    #: Models that would not have finished in time.
    late: list[str] = field(default_factory=list)
    materials: dict[str, Material] = field(default_factory=dict)
    #: Why models that might have been counted once were refitted.
    refits: dict[str, str] = field(default_factory=dict)
    #: Models that cut numbers and were counted once all the same.
    cut_once: tuple[str, ...] = ()

    @property
    def counted(self) -> list[Learner]:
        """The models that learn from counts, of which there is room for all folds."""
        return [one for one in self.learners if one.counted and one.name not in self.refits]

    @property
    def others(self) -> list[Learner]:
        """The models that need rows."""
        counted = {one.name for one in self.counted}
        return [one for one in self.learners if one.name not in counted and not one.baseline]

    def material(self, learner: Learner) -> Material:
        """Return the rows as a model takes them, prepared once."""
        if learner.name not in self.materials:
            self.materials[learner.name] = prepare_rows(learner.model, self.table)
        return self.materials[learner.name]

    def leave_out(self, learner: Learner) -> None:
        """Drop a model that would not finish in time, and all candidates that use it."""
        self.learners = [other for other in self.learners if other is not learner]
        names = [one.name for one in self.candidates if one.learner == learner.name]
        self.late += names
        self.candidates = [one for one in self.candidates if one.name not in names]

    def trials(
        self,
        split: Split,
        held_out: Sequence[HeldOut],
        outputs: Mapping[str, Sequence[Output]],
        ratio: float | None = None,
    ) -> Trials:
        """Let every rule decide, and keep the result."""
        classes = self.table.classes
        entries = {
            one.name: apply_rule(one, outputs[one.learner], classes) for one in self.candidates
        }
        ratios = [len(fold.rows) / max(fold.trained, 1) for fold in held_out]
        return Trials(
            tuple(classes),
            tuple(held_out),
            entries,
            split.words,
            float(np.mean(ratios)) if ratio is None else ratio,
            (*self.notes, *split.notes, *_note_results(split, entries, self)),
            self.gain,
            self.score or ("accuracy" if self.gain is None else self.gain.score),
        )


def _note_results(split: Split, entries: Mapping[str, Entry], task: Task) -> list[Note]:
    alone = split.kind == "leave-one-out"
    once = {*(one.name for one in task.counted), *task.cut_once}
    counted = [one.name for one in task.learners if one.name in once]
    unweighted = [
        one.name
        for one in task.others
        if task.weight is not None and task.material(one).weights(one.model, task.weight) is None
    ]
    named = {
        "E03": [name for name, entry in entries.items() if entry.draws],
        "E04": [name for name, entry in entries.items() if entry.certain],
        "E05": [] if alone else counted,
        "E07": [one.name for one in task.others if task.material(one).encoded],
        "E08": unweighted,
        "E15": task.late,
    }
    notes = [Note.of(code, names=shorten(names)) for code, names in named.items() if names]
    for why in dict.fromkeys(task.refits.values()):
        names = [name for name, reason in task.refits.items() if reason == why]
        notes.append(Note.of("E14", names=shorten(names), why=why))
    notes += _note_text(task)
    sizes = [sum(fold.posteriors.size for fold in e.predictions) for e in entries.values()]
    if max(sizes) > MAX_DOUBLES:
        notes.append(Note.of("E06", limit=MAX_DOUBLES))
    if alone or split.n_folds == 1:
        notes.append(Note.of("E09"))
    return notes


def _note_text(task: Task) -> list[Note]:
    """Note which models leave which text columns out."""
    names = [
        one.name
        for one in task.learners
        if not (one.baseline or getattr(one.model, "uses_text", is_pipeline(one.model)))
    ]
    if not names:
        return []
    able = listing([entry.name for entry in registry.models() if entry.counts_words])
    return [
        Note.of("W02", column.name, who=shorten(names), models=able)
        for column in task.table.schema.text
    ]


def prepare_task(
    caller: Callable[..., Any],
    models: Any,
    data: Any,
    target: Any,
    gain: Gains | None,
    sample_weight: ArrayLike | None,
    n_jobs: int | None,
    options: dict[str, Any],
    by_row: Mapping[str, Any] | None = None,
) -> Task:
    """Read the data and the models, and refuse what cannot be evaluated.

    `by_row` holds what is known of the rows beside the table (groups, times, folds), as arrays or
    names of columns; the task keeps it as arrays.
    """
    who = caller.__name__
    known = {name: value for name, value in (by_row or {}).items() if value is not None}
    named = {name: value for name, value in known.items() if isinstance(value, str)}
    check(who, {"n_jobs": Parameter(_N_JOBS, "number of processes")}, {"n_jobs": n_jobs})
    candidates = read_candidates(who, models, None)
    options = _add_nominal(who, candidates, data, options)
    table = read_rows(caller, data, target, _add_named(data, named.values(), options))
    table, taken = take_columns(who, table, named) if named else (table, {})
    weight = read_weights(sample_weight, len(table), who)
    rows, notes = drop_unlabelled(who, table)
    labelled = table.target < table.target_column.width
    if weight is not None and len(rows) != len(table):
        weight = weight[labelled]
    given = {name: value for name, value in known.items() if name not in named}
    arrays = {**_read_by_row(who, given, len(table)), **taken}
    arrays = {name: array[labelled] for name, array in arrays.items()}
    matrix = None if gain is None else GainMatrix.of(gain, table.classes)
    if matrix is not None:
        candidates = read_candidates(who, models, matrix)
        notes += tuple(Note.of("E10", sentence=text) for text in matrix.notes)
    learners = list_learners(candidates, rows.schema)
    every = (*table.notes, *notes)
    return Task(rows, candidates, learners, matrix, weight, n_jobs, every, arrays)


def _add_named(data: Any, named: Collection[str], options: dict[str, Any]) -> dict[str, Any]:
    """Read the columns that say how rows are tested, which may look like identifiers."""
    if isinstance(data, Table) or not named or options.get("nominal") == "all":
        return options
    given = options.get("nominal", ())
    return {**options, "nominal": [*([given] if isinstance(given, str) else given), *named]}


def _read_by_row(who: str, given: Mapping[str, Any], rows: int) -> dict[str, Any]:
    readers = {"groups": read_groups, "time": read_times}
    return {name: readers[name](who, value, rows) for name, value in given.items()}


def _add_nominal(
    who: str, candidates: Sequence[Candidate], data: Any, options: dict[str, Any]
) -> dict[str, Any]:
    """Read columns as nominal where the models say so, they agree and the caller does not."""
    given: list[Any] = [getattr(candidate.model, "nominal", None) for candidate in candidates]
    named = [
        n if isinstance(n, str) else tuple(n) for n in given if hasattr(n, "__len__") and len(n)
    ]
    if not named or "nominal" in options or isinstance(data, Table):
        return options
    if any(set(names) != set(named[0]) for names in named):
        raise ParameterError(
            f"{who}: models that are compared must see the same table; their `nominal=` differ.",
            hint=f"Pass `nominal=` to {who}.",
        )
    return {**options, "nominal": named[0]}


@overload
def evaluate(
    models: Any, data: Mapping[str, str | os.PathLike[str] | Table | Scan], **options: Any
) -> Experiment: ...


@overload
def evaluate(models: Any, data: Any, **options: Any) -> Trials: ...


def evaluate(
    models: Any,
    data: Any,
    *,
    target: Any = None,
    folds: Any = 10,
    groups: Any = None,
    time: Any = None,
    repeats: int = 1,
    holdout: float | None = None,
    leave_one_out: bool = False,
    stratified: bool = True,
    random_state: Seed = 0,
    gain: Gains | None = None,
    score: str | None = None,
    sample_weight: ArrayLike | None = None,
    n_jobs: int | None = None,
    progress: Progress | bool | None = None,
    max_seconds: float | None = None,
    baseline: str | None = None,
    **read_options: Any,
) -> Trials | Experiment:
    """Compare models on rows they have not seen, and keep all their predictions.

    Models that learn from counts are trained by merging: every fold is counted once, for all of
    them together, and the training counts of a fold are the merged counts of the others. The
    posteriors are those of refitting, to the last bit for nominal columns and for numbers cut into
    intervals. Any other classifier is refitted for every fold. A baseline, ``majority``, always
    takes part.

    Parameters
    ----------
    models
        One classifier, a list of them, or a mapping from names to classifiers: ours, scikit-learn's
        (see `countwise.evaluation.refit` for the matrix they are given), or a `Decide` over either.
        Several `Decide` over the very same estimator share its posteriors.
    data
        A `Table`, or anything `read` takes; further keywords are those of `read`. A mapping from
        names to files, samples, frames or tables is several data sets: the result is then an
        `Experiment`. A data set that fails is named there and does not stop the others. For
        several data sets `target`, `folds`, `groups`, `time` and `sample_weight` may be mappings
        by name, too. A `Scan` is evaluated without reading it into memory: the fold of a row
        follows from where the row is, and scores follow from sums over rows.
    target
        The class, as in `read`.
    folds
        The number of folds; or one fold number a row (a negative one: the row always trains), the
        name of a column of them, a scikit-learn splitter, or a list of (train, test) indices.
    groups
        One value a row, or the name of a column: rows of equal value are never in training and
        test at once. The folds are stratified as far as the groups allow.
    time
        One number or date a row, or the name of a column: models are trained on earlier rows and
        tested on later ones. With k folds the rows are cut into k + 1 parts in order of time, and
        each but the first is tested by a model of all parts before it.
    repeats
        How often the rows are dealt anew.
    holdout
        A fraction of the rows to set aside instead of folds: 0.3 for 70:30.
    leave_one_out
        Test every row with a model of all the others.
    stratified
        Give every fold the classes in the proportions of the table.
    random_state
        The random seed of the folds, or a generator, as in scikit-learn.
    gain
        A gain matrix, in any form `GainMatrix.of` reads. Models that decide by argmax are then
        listed a second time deciding by it, and the ranking is by expected gain.
    score
        The score to rank by, one of those of `Trials.score`; if not given, the expected gain with
        a gain matrix, else the accuracy.
    sample_weight
        One weight a row of the table, for training and for scores.
    n_jobs
        The number of processes that refit classifiers, as in scikit-learn.
    progress
        A function that is called with steps done, steps in all and a text; True shows a bar on
        stderr.
    max_seconds
        About how long it may take. Models that learn from counts come first; a model that would
        not finish in time is left out whole, and a note names it. Several data sets share it.
    baseline
        For several data sets: the entry that the others are compared with; the first if not given.

    Examples
    --------
    >>> import countwise as cw
    >>> trials = cw.evaluate(cw.NaiveBayes(), "sample:iris", folds=5, repeats=2)
    >>> trials.protocol, trials.best
    ('5-fold cross-validation, stratified, 2 repeats', 'NaiveBayes')
    >>> [len(fold.rows) for fold in trials.folds][:3]
    [30, 30, 30]
    """
    options = {name: value for name, value in locals().items() if name not in _OF_SETS}
    check("evaluate", _PARAMETERS, options)
    if holds_several(data):
        each: Callable[..., Any] = partial(evaluate, models)
        first = _check_baseline(models, baseline, gain is not None)
        return evaluate_sets(each, data, first, progress, {**options, **read_options})
    if baseline is not None:
        raise ParameterError(
            f"evaluate: baseline is for several data sets; got {baseline!r} with one.",
            hint="Leave out `baseline=`.",
        )
    if score is not None:
        find_score("evaluate", score, gain is not None)
    if isinstance(data, Scan):
        refused = {
            "target": target is not None,
            "time": time is not None,
            "holdout": holdout is not None,
            "leave_one_out": leave_one_out,
            "sample_weight": sample_weight is not None,
            "max_seconds": max_seconds is not None,
            **dict.fromkeys(read_options, True),
        }
        with open_progress("evaluate", progress) as report:
            return evaluate_scan(
                models,
                data,
                folds=folds,
                repeats=repeats,
                random_state=random_state,
                groups=groups,
                gain=gain,
                score=score,
                progress=report,
                refused=refused,
            )
    by_row = {"groups": groups, "time": time, "folds": folds if isinstance(folds, str) else None}
    task = prepare_task(
        evaluate, models, data, target, gain, sample_weight, n_jobs, read_options, by_row
    )
    task.score = score
    if max_seconds is not None:
        task.deadline = perf_counter() + float(max_seconds)
    rng = generator("evaluate", random_state)
    given = task.by_row.get("folds", folds)
    split = _split(task, given, repeats, holdout, leave_one_out, stratified, rng)
    with open_progress("evaluate", progress) as report:
        outputs = predict_folds(task, split, report)
    return task.trials(split, hold_out(task, split), outputs)


def _check_baseline(models: Any, baseline: str | None, gains: bool) -> str:
    """Return the entry that others are compared with, by default the first."""
    names = [candidate.name for candidate in read_candidates("evaluate", models, None)]
    names += [f"{name} by gain" for name in names if gains]
    if baseline is not None and baseline not in names:
        near = did_you_mean(baseline, names).strip()
        rule = f"one of the entries {listing(names, 9)}"
        raise ParameterError("evaluate", "baseline", rule, baseline, near)
    return baseline or names[0]


def _split(
    task: Task,
    folds: Any,
    repeats: int,
    holdout: float | None,
    leave_one_out: bool,
    stratified: bool,
    rng: np.random.Generator,
) -> Split:
    table, groups, times = task.table, task.by_row.get("groups"), task.by_row.get("time")
    counted = isinstance(folds, numbers.Real)
    if times is not None:
        _refuse_with_time(groups is not None, counted, repeats, leave_one_out)
        return split_time("evaluate", table, times, folds, holdout)
    if groups is not None and leave_one_out:
        raise ParameterError(
            "evaluate: leave_one_out tests single rows, and groups stay together; got both.",
            hint="Leave one out, or set `folds=` to the number of groups.",
        )
    if groups is not None and (counted or holdout is not None):
        return split_groups("evaluate", table, groups, folds, holdout, repeats, stratified, rng)
    split = _split_rows(table, folds, groups, repeats, holdout, leave_one_out, stratified, rng)
    dates = [column.name for column in table.schema.attributes if column.dates]
    if dates and split.kind != "given":
        notes = (*split.notes, *(Note.of("E16", name) for name in dates[:1]))
        return replace(split, notes=notes)
    return split


def _refuse_with_time(groups: bool, counted: bool, repeats: int, leave_one_out: bool) -> None:
    if groups or not counted or repeats != 1 or leave_one_out:
        raise ParameterError(
            "evaluate: time orders the rows in one way; it takes a number of folds or a holdout, "
            "without groups, repeats, given folds and leave_one_out.",
            hint="Leave those out, or `time=`.",
        )


def _split_rows(
    table: Table,
    folds: Any,
    groups: Any,
    repeats: int,
    holdout: float | None,
    leave_one_out: bool,
    stratified: bool,
    rng: np.random.Generator,
) -> Split:
    if leave_one_out:
        if holdout is not None or repeats != 1:
            raise ParameterError(
                "evaluate: leave_one_out tests every row once, without holdout and repeats; got "
                f"{holdout!r} and {repeats!r}.",
                hint="Leave out `holdout=` and `repeats=`.",
            )
        return split_rows(table)
    if holdout is not None:
        return split_holdout(table, holdout, repeats, stratified, rng)
    if isinstance(folds, numbers.Real):
        return split_folds("evaluate", table, folds, repeats, stratified, rng)
    if repeats != 1:
        raise ParameterError(
            f"evaluate: repeats must be 1 where the folds are given; got {repeats!r}.",
            hint="Leave out `repeats=`, or give a splitter that repeats.",
        )
    return split_given(table, folds, groups)


def hold_out(task: Task, split: Split) -> list[HeldOut]:
    """Return the tested rows of every fold; leave-one-out is one test of all rows."""

    def hold(repeat: int, fold: int, rows: Any, trained: int) -> HeldOut:
        weight = None if task.weight is None else task.weight[rows]
        return HeldOut(repeat, fold, rows, task.table.target[rows], weight, trained)

    if split.kind == "leave-one-out":
        return [hold(0, 0, np.arange(len(task.table)), len(task.table) - 1)]
    return [
        hold(
            number,
            0 if repeat.tests == "last" else place,
            repeat.blocks[part.test],
            repeat.n_trained(part),
        )
        for number, repeat in enumerate(split.repeats)
        for place, part in enumerate(repeat.parts)
    ]


def predict_folds(task: Task, split: Split, report: Progress | None) -> Outputs:
    """Return the output of every model for every fold, from counts where they suffice."""
    outputs: Outputs = {}
    alone = split.kind == "leave-one-out"
    blocks = max((len(repeat.blocks) for repeat in split.repeats), default=0)
    for learner in [] if alone else task.counted:
        if exceeds_memory(merge_plans([learner], task.table), task.table, blocks):
            task.refits[learner.name] = "tables of all folds together would not fit in memory"
    task.steps = Steps(report, _count_steps(task, split))
    if alone:
        for learner in task.learners:
            output = predict_left_out(learner, task.table, task.weight)
            if output is not None:
                outputs[learner.name] = [output]
                if not learner.baseline:
                    task.steps.advance(f"{learner.name}, all rows")
    else:
        for repeat in split.repeats:
            for name, fresh in _predict_from_counts(task, repeat).items():
                outputs.setdefault(name, []).extend(fresh)
    left = [one for one in task.learners if one.name not in outputs or one.name in task.refits]
    folds = split.folds() if left else []
    task.steps.total = task.steps.done + len(left) * len(folds)
    for learners, expected in _quickest_first(task, left, folds):
        answers = None
        task.steps.new_pace(len(learners))
        if task.deadline is None or perf_counter() + expected <= task.deadline:
            answers = refit(
                learners,
                {learner.name: task.material(learner) for learner in learners},
                folds,
                task.weight,
                task.table.classes,
                task.n_jobs,
                task.steps.advance,
                task.deadline,
            )
        if answers is None:
            task.leave_out(learners[0])
        else:
            joined = {name: [Output.join(given)] for name, given in answers.items() if alone}
            outputs |= joined or answers
    return outputs


def _count_steps(task: Task, split: Split) -> int:
    """Return the number of steps, as far as it is known in advance."""
    counted, others = len(task.counted), len(task.others)
    if split.kind == "leave-one-out":
        return counted + others * split.n_folds
    each = split.repeats[0].tests == "each"
    passes = counted or any(one.cut for one in task.others if each)
    return (counted + others) * split.n_folds + (len(split.repeats) if passes else 0)


def _predict_from_counts(task: Task, repeat: Repeat) -> Outputs:
    """Return the outputs of the models that learn from the counts of one pass over a repeat."""
    table, weight, step = task.table, task.weight, task.steps.advance
    outputs = {
        learner.name: predict_majority(table, repeat, weight)
        for learner in task.learners
        if learner.baseline
    }
    cut = [one for one in task.others if one.cut and one.name not in task.refits]
    cut = cut if repeat.tests == "each" else []
    if not task.counted and not cut:
        return outputs
    plan = merge_plans(task.counted, table)
    if cut:
        plan |= Plan(grids=tuple(column.name for column in table.schema.numeric))
    counted = count_blocks(table, repeat, plan, weight)
    step("counted once")
    outputs |= predict_counted(counted, task.counted, step)
    try:
        if cut:
            outputs |= predict_cut(table, counted, cut, weight, step)
            task.cut_once = tuple(learner.name for learner in cut)
    except TooFineError as why:
        task.refits |= {learner.name: str(why) for learner in cut}
        task.cut_once = ()
    return outputs


def _quickest_first(
    task: Task, learners: Sequence[Learner], folds: Sequence[Fold]
) -> list[tuple[Sequence[Learner], float]]:
    """Return all models together; if time is short one by one, with the seconds expected."""
    if task.deadline is None:
        return [(learners, 0.0)] if learners else []
    classes, weight = task.table.classes, task.weight
    expected: list[tuple[Sequence[Learner], float]] = [
        ([one], expected_seconds(one, task.material(one), folds, weight, classes))
        for one in learners
    ]
    return sorted(expected, key=lambda pair: pair[1])
