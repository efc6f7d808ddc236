"""Growing training sets: rows dealt into slices, each size the running merge of those before."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from countwise.counts.count_rows import count
from countwise.counts.counts import Counts
from countwise.decisions.gain_matrix import Gains
from countwise.errors import ParameterError
from countwise.evaluation.evaluate import Progress, Task, task_of
from countwise.evaluation.folds import (
    Deal,
    Seed,
    Split,
    deal,
    folds_of,
    generator,
    proportions,
    tested_rows,
)
from countwise.evaluation.from_counts import said_by, side_by_side, union_plan
from countwise.evaluation.intervals import Estimate
from countwise.evaluation.predictions import Part, Said
from countwise.evaluation.refit import refitted
from countwise.evaluation.scores import Scored
from countwise.evaluation.trials import Trials, table_of
from countwise.notes import Note
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
        made = count(task.table.take(index), plan, sample_weight=weight)
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


#: Up to so many rows a curve is the mean of so many repeats.
REPEATS = ((20_000, 10), (200_000, 3))


@dataclass(frozen=True, repr=False, eq=False)
class Curve:
    """Trials at growing numbers of training rows; `learning_curve` makes one.

    Intervals over repeats are corrected for their common rows as in `Trials`, with tested rows over
    all other rows as the ratio at every size: at the full size that is Nadeau and Bengio's.

    Attributes
    ----------
    sizes
        The numbers of training rows.
    trials
        One `Trials` a size, on the same tested rows.
    protocol
        How rows were set aside, in words.
    notes
        What should be known about the data and the protocol.

    Examples
    --------
    >>> import countwise as cw
    >>> from countwise.evaluation.learning_curve import learning_curve
    >>> curve = learning_curve(cw.NaiveBayes(), "sample:votes", points=[20, 100, 300])
    >>> curve
    <Curve: 2 entries at 3 sizes from 20 to 300 rows, hold-out 70:30, stratified, 10 repeats>
    >>> [round(own.value, 2) for own in curve.score("accuracy", "majority")]
    [0.62, 0.62, 0.62]
    """

    sizes: tuple[int, ...]
    trials: tuple[Trials, ...]
    protocol: str
    notes: tuple[Note, ...] = ()

    def __repr__(self) -> str:
        return (
            f"<Curve: {len(self.names)} entries at {len(self.sizes)} sizes from {self.sizes[0]} to "
            f"{self.sizes[-1]} rows, {self.protocol}>"
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the entries."""
        return self.trials[0].names

    @property
    def ranked_by(self) -> str:
        """The score shown unless another is asked for."""
        return self.trials[0].ranked_by

    def score(
        self,
        what: Scored,
        model: str,
        *,
        label: Any = None,
        gain: Gains | None = None,
        level: float = 0.95,
    ) -> list[Estimate]:
        """Score one entry at every size; the arguments are those of `Trials.score`."""
        return [own.score(what, model, label=label, gain=gain, level=level) for own in self.trials]

    def records(self, what: Scored | None = None, level: float = 0.95) -> list[dict[str, Any]]:
        """Return one record an entry and size: figure, interval, values of the repeats, seconds."""
        chosen = self.ranked_by if what is None else what
        name_of = chosen if isinstance(chosen, str) else getattr(chosen, "__name__", "score")
        return [
            {
                "model": name,
                "size": size,
                "score": name_of,
                **trials.score(chosen, name, level=level).to_dict(),
                "fit_seconds": float(np.mean(trials.times[name]["fit"])),
                "predict_seconds": float(np.mean(trials.times[name]["predict"])),
            }
            for name in self.names
            for size, trials in zip(self.sizes, self.trials, strict=True)
        ]

    def to_dict(self, scores: Sequence[str] = ()) -> dict[str, Any]:
        """Return plain, JSON-able data: the records of some scores, protocol and notes."""
        wanted = tuple(scores) or (self.ranked_by,)
        return {
            "protocol": self.protocol,
            "sizes": list(self.sizes),
            "scores": list(wanted),
            "records": [line for what in wanted for line in self.records(what)],
            "notes": [note.to_dict() for note in self.notes],
        }

    def describe(self, what: str | None = None) -> str:
        """Return the curve as text: one line a size, one column an entry."""
        chosen = self.ranked_by if what is None else what
        lines: list[dict[str, Any]] = [{"rows": size} for size in self.sizes]
        for name in self.names:
            for line, own in zip(lines, self.score(chosen, name), strict=True):
                line[name] = str(own)
        head = f"{chosen.replace('_', ' ')} by training rows; {self.protocol}; 95 % intervals"
        return "\n".join([head, table_of(lines, ["rows", *self.names]), *map(str, self.notes)])


def learning_curve(
    models: Any,
    data: Any,
    *,
    target: Any = None,
    points: int | ArrayLike = 20,
    holdout: float = 0.3,
    folds: int | None = None,
    repeats: int | None = None,
    test_rows: int = 20_000,
    stratified: bool = True,
    random_state: Seed = 0,
    gain: Gains | None = None,
    sample_weight: ArrayLike | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    **read_options: Any,
) -> Curve:
    """Show how scores grow with the number of training rows (Smart, Leh and Marsh, fig. 5).

    In every repeat the tested rows stay the same and each training set holds the one before it.
    Models that learn from counts get running merges: each training row is counted once a repeat.

    Parameters
    ----------
    models, data, target, gain, sample_weight, n_jobs, progress
        As in `evaluate`; further keywords are handed to `read`.
    points
        How many sizes, spaced evenly on a logarithmic scale; or the sizes themselves, as numbers
        of rows or as shares (up to 1) of the training rows.
    holdout
        The share of rows set aside for testing.
    folds
        Test on folds instead, each against growing parts of the others.
    repeats
        How often the rows are dealt anew; if not given 10, 3 beyond 20 000 rows and 1 beyond
        200 000 (1 with folds).
    test_rows
        No more rows than these are tested in a repeat; the notes say when that matters.
    stratified
        Keep the classes in the proportions of the table, in the tested rows and at every size.
    random_state
        The seed of the deals.

    Examples
    --------
    >>> import countwise as cw
    >>> from countwise.evaluation.learning_curve import learning_curve
    >>> curve = learning_curve(cw.NaiveBayes(), "sample:iris", points=3, repeats=5)
    >>> curve.sizes
    (10, 32, 105)
    """
    who = "learning_curve"
    task = task_of(who, models, data, target, gain, sample_weight, n_jobs, read_options)
    rng = generator(who, random_state)
    _whole("test_rows", test_rows)
    times = _repeats(repeats, len(task.table), folds)
    if folds is None:
        aside = tested_rows(who, holdout, len(task.table))
        sizes = sizes_of(points, len(task.table) - aside, len(task.table.classes))
        rounds = holdout_rounds(task.table, aside, sizes, times, test_rows, stratified, rng)
        words = f"hold-out {100 * (1 - holdout):g}:{100 * holdout:g}"
        words += ", stratified" if stratified else ""
        words += f", {times} repeats" if times > 1 else ""
        split = Split("holdout", words, ())
    else:
        split = folds_of(task.table, folds, times, stratified, rng)
        aside = -(-len(task.table) // folds)
        sizes = sizes_of(points, len(task.table) - aside, len(task.table.classes))
        rounds = fold_rounds(task.table, split.deals, sizes, test_rows, stratified, rng)
    notes = _notes(task, rounds, sizes, points, aside, test_rows)
    return _curve(task, split, rounds, sizes, progress, notes)


def _curve(
    task: Task,
    split: Split,
    rounds: Sequence[Round],
    sizes: Sequence[int],
    progress: Progress | None,
    notes: tuple[Note, ...],
) -> Curve:
    task.progress = progress
    steps = len(task.counted) + len(task.others)
    task.total = len(rounds) * (steps * len(sizes) + bool(task.counted))
    parts, said = grown(task, rounds, sizes)
    tested = float(np.mean([len(own.tested) for own in rounds]))
    ratio = tested / max(len(task.table) - tested, 1)
    own_split = Split("folds" if len(rounds) > 1 else "holdout", split.words, split.deals)
    trials = tuple(
        task.trials(own_split, parts[at], {name: own[at] for name, own in said.items()}, ratio)
        for at in range(len(sizes))
    )
    every = dict.fromkeys([*trials[-1].notes, *split.notes, *notes])
    return Curve(tuple(sizes), trials, split.words, tuple(every))


def sizes_of(points: Any, rows: int, classes: int) -> tuple[int, ...]:
    """Return the training sizes a user means, ascending, each once."""
    if isinstance(points, numbers.Integral) and not isinstance(points, bool):
        if points < 2:
            raise ParameterError(
                "learning_curve: points must be at least 2, or a list of sizes, but "
                f"{points!r} came."
            )
        least = min(max(10, 2 * classes), rows)
        spaced = np.geomspace(least, rows, int(points))
        return tuple(np.unique(np.round(spaced).astype(int)).tolist())
    try:
        given = np.unique(np.asarray(points, dtype=np.float64))
    except (TypeError, ValueError):
        given = np.empty(0)
    if not given.size or not np.all(np.isfinite(given)) or given[0] <= 0:
        raise ParameterError(
            "learning_curve: points must be a number of points, sizes in rows or shares up to 1, "
            f"but {points!r} came."
        )
    sizes = np.unique(np.maximum(np.round(given * rows if given[-1] <= 1 else given), 1))
    if sizes[-1] > rows:
        raise ParameterError(
            f"learning_curve: no size may exceed the {rows} training rows, but {sizes[-1]:g} came. "
            "Give smaller sizes, or a smaller holdout."
        )
    return tuple(sizes.astype(int).tolist())


def _repeats(repeats: Any, rows: int, folds: Any) -> int:
    if repeats is not None:
        _whole("repeats", repeats)
        return int(repeats)
    if folds is not None:
        return 1
    return next((times for most, times in REPEATS if rows <= most), 1)


def _whole(name: str, value: Any) -> None:
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < 1:
        raise ParameterError(
            f"learning_curve: {name} must be a whole number of at least 1, but {value!r} came."
        )


def _notes(
    task: Task, rounds: Sequence[Round], sizes: Sequence[int], points: Any, aside: int, most: int
) -> tuple[Note, ...]:
    notes = []
    if aside > most:
        notes.append(Note.of("E11", tested=most, held_out=aside))
    if isinstance(points, int | np.integer) and len(sizes) < points:
        notes.append(Note.of("E12", sizes=len(sizes), points=points, rows=sizes[-1]))
    if len(rounds) == 1:
        notes.append(Note.of("E13"))
    return tuple(notes)
