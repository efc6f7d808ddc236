"""Learning curves: the same test rows, and growing training sets."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from countwise.decisions.gain_matrix import Gains
from countwise.errors import ParameterError
from countwise.evaluation.evaluate import hold_out, predict_folds, prepare_task
from countwise.evaluation.folds import (
    PROTOCOL,
    Repeat,
    Seed,
    Split,
    deal,
    describe_holdout,
    generator,
    group_rows,
    n_tested,
    proportions,
    split_folds,
)
from countwise.evaluation.intervals import Estimate
from countwise.evaluation.scanned_curve import trace_scan
from countwise.evaluation.scores import Scored
from countwise.evaluation.trials import Trials, align_columns
from countwise.notes import Note
from countwise.params import Parameter, check, fraction, nothing, whole
from countwise.progress import Progress, open_progress
from countwise.tables.scan import Scan
from countwise.tables.table import Table

#: Up to so many rows a curve is the mean of so many repeats.
REPEATS = ((20_000, 10), (200_000, 3))
_PARAMETERS: Mapping[str, Parameter] = {
    **PROTOCOL,
    "repeats": Parameter(whole(at_least=1) | nothing(), "how often the rows are dealt anew"),
    "holdout": Parameter(fraction(), "fraction of the rows set aside for testing"),
    "test_rows": Parameter(whole(at_least=1), "the most rows to test in a repeat"),
}


@dataclass(frozen=True, repr=False, eq=False)
class Curve:
    """Trials at growing numbers of training rows; `learning_curve` returns one.

    Intervals over repeats are corrected for their common rows as in `Trials`, with tested rows over
    all other rows as the ratio at every size: at the full size that is Nadeau and Bengio's.

    Attributes
    ----------
    sizes
        The numbers of training rows; of a scan their means over the training sets, as counted.
    trials
        One `Trials` a size, on the same tested rows.
    protocol
        How rows were set aside, in words.
    notes
        Notes on the data and the protocol.

    Examples
    --------
    >>> import countwise as cw
    >>> curve = cw.learning_curve(cw.NaiveBayes(), "sample:votes", points=[20, 100, 300])
    >>> curve
    <Curve: 2 entries at 3 sizes from 20 to 300 rows, hold-out 70:30, stratified, 10 repeats>
    >>> [round(point.value, 2) for point in curve.score("accuracy", "majority")]
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
        """The score shown unless another is named."""
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
        return [t.score(what, model, label=label, gain=gain, level=level) for t in self.trials]

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
            for line, point in zip(lines, self.score(chosen, name), strict=True):
                line[name] = str(point)
        head = f"{chosen.replace('_', ' ')} by training rows; {self.protocol}; 95 % intervals"
        return "\n".join([head, align_columns(lines, ["rows", *self.names]), *map(str, self.notes)])


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
    groups: str | None = None,
    random_state: Seed = 0,
    gain: Gains | None = None,
    sample_weight: ArrayLike | None = None,
    n_jobs: int | None = None,
    progress: Progress | bool | None = None,
    **read_options: Any,
) -> Curve:
    """Measure how scores grow with the number of training rows (Smart, Leh and Marsh, fig. 5).

    In every repeat the tested rows stay the same and each training set holds the one before it.
    Models that learn from counts get running merges: each training row is counted once a repeat.

    Parameters
    ----------
    models, data, target, gain, sample_weight, n_jobs, progress
        As in `evaluate`; further keywords are those of `read`. A `Scan` is not read into memory:
        where a row is on the curve follows from where it is in its file.
    points
        The number of sizes, spaced evenly on a logarithmic scale; or the sizes themselves, in rows
        or as fractions (up to 1) of the training rows. Of a `Scan` they are fractions, a number of
        them spaced from a thousandth on; a size is the number of rows that was counted.
    holdout
        The fraction of the rows set aside for testing.
    folds
        Test on folds instead, each against growing parts of the others.
    repeats
        How often the rows are dealt anew; if not given 10, 3 beyond 20 000 rows and 1 beyond
        200 000 (1 with folds and for a `Scan`).
    test_rows
        The most rows to test in a repeat; a note says when there were more.
    stratified
        Keep the classes in the proportions of the table, in the tested rows and at every size;
        the rows of a `Scan` cannot be stratified.
    groups
        For a `Scan`: a column whose equal values stay together, as in `evaluate`.
    random_state
        The random seed of the repeats, or a generator, as in scikit-learn.

    Examples
    --------
    >>> import countwise as cw
    >>> curve = cw.learning_curve(cw.NaiveBayes(), "sample:iris", points=3, repeats=5)
    >>> curve.sizes
    (10, 32, 105)
    """
    who = "learning_curve"
    check(who, _PARAMETERS, locals())
    if isinstance(data, Scan):
        refused = {
            "target": target is not None,
            "sample_weight": sample_weight is not None,
            **dict.fromkeys(read_options, True),
        }
        with open_progress(who, progress) as report:
            found = trace_scan(
                models,
                data,
                points=points,
                holdout=holdout,
                folds=folds,
                repeats=repeats or 1,
                test_rows=test_rows,
                random_state=random_state,
                groups=groups,
                gain=gain,
                progress=report,
                refused=refused,
            )
        return Curve(*found)
    if groups is not None:
        raise ParameterError(
            "learning_curve: `groups=` is for rows outside memory; got rows in memory.",
            hint=("leave it out", "pass cw.scan(source, target=…)"),
        )
    task = prepare_task(
        learning_curve, models, data, target, gain, sample_weight, n_jobs, read_options
    )
    table, rng = task.table, generator(who, random_state)
    usual = next((times for most, times in REPEATS if len(table) <= most), 1)
    times = repeats or (usual if folds is None else 1)
    if folds is None:
        aside, words = n_tested(holdout, len(table)), describe_holdout(holdout, stratified, times)
        sizes = read_sizes(points, len(table) - aside, len(table.classes))
        grown = grow_from_holdout(table, min(aside, test_rows), sizes, times, stratified, rng)
        notes: tuple[Note, ...] = ()
    else:
        split = split_folds(who, table, folds, times, stratified, rng)
        aside, words, notes = -(-len(table) // folds), split.words, split.notes
        sizes = read_sizes(points, len(table) - aside, len(table.classes))
        grown = grow_from_folds(table, split, sizes, test_rows, stratified, rng)
    split = Split("folds", words, tuple(grown))
    with open_progress(who, progress) as report:
        outputs = predict_folds(task, split, report)
    held_out = hold_out(task, split)
    tested = float(np.mean([fold.tested for fold in held_out]))
    ratio = tested / max(len(table) - tested, 1)
    trials = tuple(
        task.trials(
            split,
            held_out[at :: len(sizes)],
            {name: output[at :: len(sizes)] for name, output in outputs.items()},
            ratio,
        )
        for at in range(len(sizes))
    )
    notes = (*notes, *_note_limits(len(grown), sizes, points, aside, test_rows))
    every = dict.fromkeys([*trials[-1].notes, *notes])
    return Curve(tuple(sizes), trials, words, tuple(every))


def grow_from_holdout(
    table: Table,
    tested: int,
    sizes: Sequence[int],
    repeats: int,
    stratified: bool,
    rng: np.random.Generator,
) -> list[Repeat]:
    """Set rows aside anew in every repeat and deal the others into slices."""
    steps = [tested, *np.diff([0, *sizes]).tolist()]
    parts = [*steps, len(table) - sum(steps)]
    grown = []
    for _ in range(repeats):
        pattern = proportions(parts, table, stratified, rng)
        test, *slices = group_rows(deal(pattern, table, stratified, rng), len(sizes) + 1)
        grown.append(Repeat((*slices, test), 1, "last"))
    return grown


def grow_from_folds(
    table: Table,
    split: Split,
    sizes: Sequence[int],
    most: int,
    stratified: bool,
    rng: np.random.Generator,
) -> list[Repeat]:
    """Test on each fold (on `most` rows of it), and deal the rows of the others into slices."""
    grown = []
    for train, test in split.folds():
        inner = table.take(train)
        steps = np.diff([0, *sizes]).tolist()
        pattern = proportions([*steps, len(train) - sizes[-1]], inner, stratified, rng)
        slices = group_rows(deal(pattern, inner, stratified, rng), len(sizes))
        if len(test) > most:
            test = np.sort(rng.choice(test, most, replace=False))
        grown.append(Repeat((*(train[rows] for rows in slices), test), 1, "last"))
    return grown


def read_sizes(points: Any, rows: int, classes: int) -> tuple[int, ...]:
    """Return the training sizes a user means, ascending, each once."""
    if whole(at_least=2).admits(points):
        least = min(max(10, 2 * classes), rows)
        spaced = np.geomspace(least, rows, int(points))
        return tuple(np.unique(np.round(spaced).astype(int)).tolist())
    try:
        few = isinstance(points, numbers.Integral)  # a number of points, but below 2
        given = np.unique(np.asarray([] if few else points, dtype=np.float64))
    except (TypeError, ValueError):
        given = np.empty(0)
    if not given.size or not np.all(np.isfinite(given)) or given[0] <= 0:
        rule = "a number of points of at least 2, sizes in rows, or fractions up to 1"
        raise ParameterError("learning_curve", "points", rule, points)
    sizes = np.unique(np.maximum(np.round(given * rows if given[-1] <= 1 else given), 1))
    if sizes[-1] > rows:
        raise ParameterError(
            "learning_curve",
            "points",
            f"at most the number of training rows, {rows}",
            int(sizes[-1]),
            ("Give smaller sizes", "a smaller `holdout=`"),
        )
    return tuple(sizes.astype(int).tolist())


def _note_limits(
    repeats: int, sizes: Sequence[int], points: Any, aside: int, most: int
) -> list[Note]:
    notes = []
    if aside > most:
        notes.append(Note.of("E11", tested=most, held_out=aside))
    if isinstance(points, int | np.integer) and len(sizes) < points:
        notes.append(Note.of("E12", sizes=len(sizes), points=points, rows=sizes[-1]))
    if repeats == 1:
        notes.append(Note.of("E13"))
    return notes
