"""Learning curves: how much more rows would help, from running merges of counts."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from countwise.decisions.gain import Gains
from countwise.errors import ParameterError
from countwise.evaluation.folds import Seed, Split, folds_of, generator, tested_rows
from countwise.evaluation.growth import Round, fold_rounds, grown, holdout_rounds
from countwise.evaluation.intervals import Estimate
from countwise.evaluation.scores import Scored
from countwise.evaluation.task import Progress, Task, task_of
from countwise.evaluation.trials import Trials
from countwise.evaluation.verdict import table_of
from countwise.tables.notes import Note

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
    >>> from countwise.evaluation.curves import learning_curve
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
    >>> from countwise.evaluation.curves import learning_curve
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
        text = (
            f"{most} rows were tested in a repeat, at random, of the {aside} set aside; raise "
            "test_rows= for narrower intervals."
        )
        notes.append(Note("E11", None, text))
    if isinstance(points, int | np.integer) and len(sizes) < points:
        text = f"{len(sizes)} sizes, not {points}: {sizes[-1]} training rows allow no more."
        notes.append(Note("E12", None, text))
    if len(rounds) == 1:
        text = "One repeat: intervals are those of the tested rows alone."
        notes.append(Note("E13", None, text))
    return tuple(notes)
