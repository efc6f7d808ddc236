"""Trials: the predictions of every model in every fold, and the scores that follow from them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import Any, Literal, get_args, overload

import numpy as np

from countwise._typing import FloatArray
from countwise.decisions.confusion import Confusion, as_cells
from countwise.decisions.gain_matrix import GainMatrix, Gains
from countwise.errors import ParameterError, did_you_mean, listing
from countwise.evaluation.intervals import LEVEL, Estimate, corrected, of_rows
from countwise.evaluation.predictions import Entry, HeldOut
from countwise.evaluation.scores import (
    FoldResult,
    Scored,
    count_decisions,
    estimate_fold,
    figures_by_row,
    find_score,
    join_folds,
    rows_not_kept,
    score_fold,
)
from countwise.notes import Note
from countwise.params import Parameter, check, nothing, one_of
from countwise.show_rows import html_table
from countwise.tables.labels import Label

#: The scores a summary shows beside the one it ranks by.
SUMMARY = ("accuracy", "balanced_accuracy", "log_loss", "brier")
#: Libraries of frames, the first one installed first.
Backend = Literal["pandas", "polars", "pyarrow"]
_BACKEND = {"backend": Parameter(one_of(*get_args(Backend)) | nothing(), "library of the frame")}


def compose_verdict(
    leader: str,
    others: Sequence[str],
    baseline: str | None,
    difference: Callable[[str], Estimate],
    score: str,
    unit: str = "",
) -> str:
    """Return a sentence: whom the leader is ahead of, by how much, and whom it ties with."""
    if not others:
        return f"{leader} was the only entry: there is nothing to compare it with."
    gaps = {name: difference(name) for name in others}
    behind = [name for name in others if gaps[name].low > 0]
    tied = [name for name in others if name not in behind]
    if leader == baseline:
        also = f", and {_name_tied('it', tied)}" if tied else ""
        return f"No model does better than {leader} in {score}: the attributes did not help{also}."
    if baseline is not None and baseline in tied:
        return (
            f"{leader} leads in {score}, but the data do not show that it beats {baseline}: the "
            f"difference is {_quote_gap(gaps[baseline], unit)}."
        )
    if not behind:
        return f"{leader} leads in {score}, but {_name_tied(leader, tied)}."
    nearest = min(behind, key=lambda name: gaps[name].value)
    more = f", the nearest of them, {nearest}, by" if len(behind) > 1 else " by"
    gap = _quote_gap(gaps[nearest], unit)
    ahead = f"{leader} is ahead of {_join(behind)} in {score}{more} {gap}"
    return f"{ahead}; {_name_tied('it', tied)}." if tied else f"{ahead}."


def _compare_yardstick(name: str, gap: Estimate, unit: str) -> str:
    """Return a sentence on the best yardstick; `gap` is the leader's score minus its score."""
    if gap.low > 0:
        return f"The best yardstick, {name}, is behind by {_quote_gap(gap, unit)}."
    if gap.high < 0:
        ahead = _quote_gap(gap.negated(), unit)
        return f"The best yardstick, {name}, which cannot be saved, does better by {ahead}."
    return f"The best yardstick, {name}, is not significantly better or worse."


def _name_tied(who: str, tied: Sequence[str]) -> str:
    if len(tied) == 1:
        return f"{who} and {tied[0]} cannot be told apart on these rows"
    return f"{who} cannot be told apart from {_join(tied)} on these rows"


def _join(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]


def _quote_gap(gap: Estimate, unit: str) -> str:
    value = f"{gap.value:.3g} {unit}".rstrip()
    if math.isnan(gap.low):
        return value
    return f"{value} ({100 * gap.level:g} % interval {gap.low:.3g} to {gap.high:.3g})"


def align_columns(lines: Sequence[dict[str, Any]], columns: Sequence[str]) -> str:
    """Return lines in aligned columns; numbers with four digits, an unknown value as a dash."""
    cells = [[_to_text(line[name]) for name in columns] for line in lines]
    heads = [name.replace("_", " ") for name in columns]
    widths = [max(len(row[at]) for row in [heads, *cells]) for at in range(len(columns))]
    left = [isinstance(lines[0][name], str) if lines else True for name in columns]

    def align(row: Sequence[str]) -> str:
        parts = [
            cell.ljust(width) if to_left else cell.rjust(width)
            for cell, width, to_left in zip(row, widths, left, strict=True)
        ]
        return "  ".join(parts).rstrip()

    return "\n".join([align(heads), *map(align, cells)])


def _to_text(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True, repr=False, eq=False)
class Trials:
    """The predictions of every entry for every tested row, with scores, intervals and a verdict.

    `evaluate` returns one. An entry is a model under a rule: ``NaiveBayes``, or ``NaiveBayes by
    gain``. Scores are means over the folds, as scikit-learn's `cross_validate` has them; intervals
    are those of `countwise.evaluation.intervals`.

    Attributes
    ----------
    classes
        The class labels; posteriors and codes are in their order.
    folds
        The tested rows of every fold: which they are, true codes, weights.
    entries
        The entries by name: posteriors, decisions and seconds for each fold.
    protocol
        How rows were set aside, in words.
    ratio
        Tested rows over training rows, for the corrected variance.
    notes
        Notes on the data and the protocol.
    gain
        The gain matrix, or None.
    ranked_by
        The score that ranks.

    Examples
    --------
    >>> import countwise as cw
    >>> trials = cw.evaluate(cw.NaiveBayes(), "sample:votes", folds=10)
    >>> trials
    <Trials: 2 entries, 435 rows, 10-fold cross-validation, stratified>
    >>> trials.best
    'NaiveBayes'
    >>> round(trials.score("accuracy", "NaiveBayes").value, 2)
    0.9
    """

    classes: tuple[Label, ...]
    folds: tuple[HeldOut, ...]
    entries: dict[str, Entry]
    protocol: str
    ratio: float
    notes: tuple[Note, ...] = ()
    gain: GainMatrix | None = None
    ranked_by: str = "accuracy"
    #: Scores by name and entry, computed once: ranking, verdict, page and frame ask for the same.
    _found: dict[tuple[object, ...], Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<Trials: {len(self.entries)} entries, {self.tested} rows, {self.protocol}>"

    def __str__(self) -> str:
        return self.describe()

    def _repr_html_(self) -> str:
        columns = self._columns()
        rows = [[line[name] for name in columns] for line in self.summary()]
        heads = [name.replace("_", " ") for name in columns]
        return html_table(heads, rows, f"{self.protocol}; 95 % intervals", self.verdict())

    @property
    def is_scan(self) -> bool:
        """Whether the rows were scanned, so that only sums over rows are kept."""
        return any(fold.scanned is not None for fold in self.folds)

    @property
    def has_areas(self) -> bool:
        """Whether ROC curves are known: of scanned rows, unless there are very many classes."""
        tallies = [tally for entry in self.entries.values() for tally in entry.tallies]
        return all(tally.posteriors is not None for tally in tallies)

    @property
    def tested(self) -> int:
        """How many different rows were tested."""
        if self.is_scan:
            first = self.folds[0].repeat
            return sum(fold.tested for fold in self.folds if fold.repeat == first)
        return len(np.unique(np.concatenate([fold.rows for fold in self.folds])))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the entries."""
        return tuple(self.entries)

    @property
    def best(self) -> str:
        """The entry that ranks first."""
        return str(self.summary()[0]["model"])

    def rank_by(self, score: str) -> Trials:
        """Return the same trials, ranked by another score of `score`.

        Examples
        --------
        >>> import countwise as cw
        >>> trials = cw.evaluate([cw.NaiveBayes(), cw.TAN()], "sample:votes")
        >>> trials.best, trials.rank_by("log_loss").best
        ('TAN', 'TAN')
        """
        find_score("Trials", score, self.gain is not None)
        return replace(self, ranked_by=score)

    @overload
    def score(
        self,
        what: Scored,
        model: str,
        *,
        label: Any = ...,
        gain: Gains | None = ...,
        level: float = ...,
    ) -> Estimate: ...

    @overload
    def score(
        self,
        what: Scored = ...,
        model: None = ...,
        *,
        label: Any = ...,
        gain: Gains | None = ...,
        level: float = ...,
    ) -> dict[str, Estimate]: ...

    def score(
        self,
        what: Scored = "accuracy",
        model: str | None = None,
        *,
        label: Any = None,
        gain: Gains | None = None,
        level: float = 0.95,
    ) -> Estimate | dict[str, Estimate]:
        """Score one entry, or all of them by name.

        Parameters
        ----------
        what
            ``accuracy``, ``balanced_accuracy``, ``log_loss``, ``brier``, ``expected_gain``,
            ``expected_cost`` (the same negated, the default if the matrix holds costs),
            ``auc`` (one class against the others), ``auc_weighted``, ``auc_hand_till``, ``f1``,
            ``precision``, ``recall``, ``f1_weighted``, ``precision_weighted``,
            ``recall_weighted``, ``kappa``, ``mcc``, ``top_2`` (or another number); or a callable
            that takes true labels, decisions and posteriors of one fold and returns a number.
        model
            The name of an entry; all entries without it.
        label
            For AUC, F1, precision and recall: the class; without it the mean over the classes.
        gain
            For the expected gain or cost: another matrix than that of `evaluate`.
        level
            The confidence of the interval.

        Examples
        --------
        >>> import countwise as cw
        >>> trials = cw.evaluate(cw.NaiveBayes(), "sample:votes")
        >>> print(trials.score("recall", "NaiveBayes", label="republican"))
        0.9165 (0.8571 to 0.976)
        """
        if model is None:
            return {
                name: self.score(what, name, label=label, gain=gain, level=level)
                for name in self.entries
            }
        check("Trials", LEVEL, {"level": level})
        self._entry(model)
        if not isinstance(what, str) or label is not None or gain is not None:
            return self._estimate(what, model, label, gain, level)
        key = (what, model, level)
        if key not in self._found:
            self._found[key] = self._estimate(what, model, None, None, level)
        found: Estimate = self._found[key]
        return found

    def _estimate(
        self, what: Scored, model: str, label: Any, gain: Gains | None, level: float
    ) -> Estimate:
        results = list(self._results(model, gain))
        if len(results) == 1:
            estimate = estimate_fold(what, results[0], label, level)
        else:
            values = self._fold_scores(what, model, label, gain)
            estimate = corrected(values, self.ratio, level)
            if math.isnan(estimate.low):
                # Folds that all score the same say nothing about the spread; the rows do.
                by_row = estimate_fold(what, join_folds(results), label, level)
                # An area under the curve of all folds together is not the mean of theirs.
                moved = estimate.value - by_row.value
                estimate = replace(
                    by_row,
                    value=estimate.value,
                    values=estimate.values,
                    low=by_row.low + moved,
                    high=by_row.high + moved,
                )
        if isinstance(what, str):
            estimate = estimate.within(*find_score("Trials", what).limits)
        return estimate

    def _fold_scores(
        self, what: Scored, model: str, label: Any = None, gain: Gains | None = None
    ) -> list[float]:
        """Score an entry in every fold."""
        if not isinstance(what, str) or label is not None or gain is not None:
            return [score_fold(what, result, label) for result in self._results(model, gain)]
        key = (what, model)
        if key not in self._found:
            self._found[key] = [score_fold(what, result) for result in self._results(model, None)]
        found: list[float] = self._found[key]
        return found

    def difference(
        self,
        first: str,
        second: str,
        what: Scored = "accuracy",
        *,
        label: Any = None,
        gain: Gains | None = None,
        level: float = 0.95,
    ) -> Estimate:
        """Return by how much one entry exceeds another, fold by fold on the same rows.

        The interval is of this one pair; with many pairs some will seem to differ by chance.

        Examples
        --------
        >>> import countwise as cw
        >>> trials = cw.evaluate(cw.NaiveBayes(), "sample:votes")
        >>> print(trials.difference("NaiveBayes", "majority"))
        0.2874 (0.2609 to 0.3139)
        """
        check("Trials", LEVEL, {"level": level})
        pair = (self._fold_scores(what, name, label, gain) for name in (first, second))
        gaps = [one - other for one, other in zip(*pair, strict=True)]
        estimate = corrected(gaps, self.ratio, level)
        if math.isnan(estimate.low) and isinstance(what, str) and not self.is_scan:
            left, right = (join_folds(list(self._results(name, gain))) for name in (first, second))
            figures = figures_by_row(what, left, label) - figures_by_row(what, right, label)
            by_row = of_rows(figures, left.fold.weight, level)
            return replace(by_row, value=estimate.value, values=estimate.values)
        return estimate

    def improvement(self, first: str, second: str, level: float = 0.95) -> Estimate:
        """Return by how much one entry is better than another in the score that ranks."""
        gap = self.difference(first, second, self.ranked_by, level=level)
        return gap.negated() if find_score("Trials", self.ranked_by).lower_is_better else gap

    def summary(self, level: float = 0.95) -> list[dict[str, Any]]:
        """Return one flat record an entry, the best first; None where a figure is not defined.

        Yardsticks, which cannot be saved or explained, follow the ranking and have no rank.

        Each score has three fields, such as ``accuracy``, ``accuracy_low`` and ``accuracy_high``;
        seconds are means over the folds, fitting and predicting apart.
        """
        lines = []
        for name, entry in self.entries.items():
            line: dict[str, Any] = {
                "model": name,
                "rule": entry.rule,
                "baseline": entry.baseline,
                "yardstick": entry.yardstick,
            }
            for what in self._scores():
                figures = self.score(what, name, level=level).to_dict()
                line[what] = figures["value"]
                line[f"{what}_low"], line[f"{what}_high"] = figures["low"], figures["high"]
            for kind, seconds in self.times[name].items():
                line[f"{kind}_seconds"] = float(np.mean(seconds))
            lines.append(line)
        key = self.ranked_by
        sign = 1 if find_score("Trials", key).lower_is_better else -1

        def place(line: dict[str, Any]) -> tuple[bool, float, float, bool]:
            figure = math.inf if line[key] is None else sign * line[key]
            return line["yardstick"], figure, line["log_loss"] or math.inf, line["baseline"]

        lines.sort(key=place)
        return [
            {"rank": None if line["yardstick"] else place, **line}
            for place, line in enumerate(lines, 1)
        ]

    def verdict(self, level: float = 0.95) -> str:
        """Say in one sentence what the data support.

        Examples
        --------
        >>> import countwise as cw
        >>> cw.evaluate(cw.NaiveBayes(), "sample:votes").verdict()
        'NaiveBayes is ahead of majority in accuracy by 0.287 (95 % interval 0.261 to 0.314).'
        """
        entries = [self.entries[line["model"]] for line in self.summary(level)]
        ranked = [entry for entry in entries if not entry.yardstick]
        leader = ranked[0]
        rivals: dict[str, Entry] = {}  # the best entry of every other model
        for entry in ranked:
            if entry.model != leader.model:
                rivals.setdefault(entry.model, entry)
        baseline = next((entry.name for entry in rivals.values() if entry.baseline), None)

        def difference(other: str) -> Estimate:
            return self.improvement(leader.name, other, level)

        verdict = compose_verdict(
            leader.name,
            [entry.name for entry in rivals.values()],
            leader.name if leader.baseline else baseline,
            difference,
            find_score("Trials", self.ranked_by).phrase,
            self.unit,
        )
        yardstick = next((entry.name for entry in entries if entry.yardstick), None)
        if yardstick is None:
            return verdict
        return f"{verdict} {_compare_yardstick(yardstick, difference(yardstick), self.unit)}"

    @property
    def unit(self) -> str:
        """The unit of the score that ranks: that of the gains, or nothing."""
        ranked = find_score("Trials", self.ranked_by)
        return self.gain.unit if self.gain and ranked.by_gains else ""

    def confusion(self, model: str) -> Confusion:
        """Return the true classes against the decisions of all folds together."""
        cells = np.sum([count_decisions(result) for result in self._results(model, None)], axis=0)
        decisions = self._entry(model).decisions
        return Confusion(self.classes, decisions, as_cells(cells), as_cells(cells / cells.sum()))

    def by_class(self, model: str, level: float = 0.95) -> list[dict[str, Any]]:
        """Return precision, recall and weight of every class, with intervals."""
        weights = self.confusion(model).counts.sum(axis=1)
        return [
            {
                "class": label,
                "weight": float(weight),
                "precision": self.score("precision", model, label=label, level=level).to_dict(),
                "recall": self.score("recall", model, label=label, level=level).to_dict(),
            }
            for label, weight in zip(self.classes, weights, strict=True)
        ]

    @property
    def times(self) -> dict[str, dict[str, tuple[float, ...]]]:
        """Seconds of fitting and of predicting, apart, for every entry and fold."""
        return {
            name: {
                "fit": tuple(fold.fit_seconds for fold in entry.timed),
                "predict": tuple(fold.predict_seconds for fold in entry.timed),
            }
            for name, entry in self.entries.items()
        }

    def rows(self, model: str) -> Iterator[dict[str, Any]]:
        """Yield one record a tested row: its number, its class, the decision, the posteriors.

        Examples
        --------
        >>> import countwise as cw
        >>> sorted(next(cw.evaluate(cw.NaiveBayes(), "sample:iris").rows("NaiveBayes")))
        ['decided', 'fold', 'posteriors', 'repeat', 'row', 'true', 'weight']
        """
        if self.is_scan:
            raise rows_not_kept("rows")
        for result in self._results(model, None):
            fold, predicted = result.fold, result.predictions
            for at, row in enumerate(fold.rows.tolist()):
                yield {
                    "repeat": fold.repeat,
                    "fold": fold.fold,
                    "row": row,
                    "true": self.classes[fold.truth[at]],
                    "decided": result.entry.decisions[predicted.decided[at]],
                    "posteriors": predicted.posteriors[at].tolist(),
                    "weight": 1.0 if fold.weight is None else float(fold.weight[at]),
                }

    def posteriors(self, model: str) -> FloatArray:
        """Return the posteriors of all folds, one below the other, as the folds list rows."""
        if self.is_scan:
            raise rows_not_kept("posteriors")
        posteriors = [fold.posteriors for fold in self._entry(model).predictions]
        return np.concatenate(posteriors).astype(np.float64)

    def to_frame(self, scores: Sequence[str] = (), backend: Backend | None = None) -> Any:
        """Return the scores as a data frame with one row per model, fold and score.

        Parameters
        ----------
        scores
            Names of scores, as in `score`; those of `summary` if none are given.
        backend
            ``pandas``, ``polars`` or ``pyarrow``; the first of them that is installed if not given.
            pyarrow always is.

        Returns
        -------
        A frame of that library with the columns ``model``, ``rule``, ``repeat``, ``fold``,
        ``score`` and ``value``; a value that is not defined is missing.

        Examples
        --------
        >>> import countwise as cw
        >>> trials = cw.evaluate(cw.NaiveBayes(), "sample:iris", folds=5)
        >>> frame = trials.to_frame(["accuracy"], backend="polars")
        >>> frame.columns
        ['model', 'rule', 'repeat', 'fold', 'score', 'value']
        >>> frame.shape
        (10, 6)
        """
        import narwhals as nw

        check("Trials.to_frame", _BACKEND, {"backend": backend})
        backends: tuple[Backend, ...] = get_args(Backend)
        library = backend or next(name for name in backends if find_spec(name))
        if not find_spec(str(library)):
            raise ParameterError(
                f"Trials.to_frame: {library} is not installed.",
                hint=f"Install {library}, or leave out `backend=`.",
            )
        chosen = tuple(scores) or self._scores()
        records = [
            (name, entry.rule, fold.repeat, fold.fold, score, self._fold_scores(score, name)[at])
            for name, entry in self.entries.items()
            for at, fold in enumerate(self.folds)
            for score in chosen
        ]
        columns = zip(*records, strict=True)
        names = ("model", "rule", "repeat", "fold", "score", "value")
        data = {name: list(column) for name, column in zip(names, columns, strict=True)}
        data["value"] = [None if math.isnan(value) else value for value in data["value"]]
        return nw.from_dict(data, backend=library).to_native()

    def to_dict(self) -> dict[str, Any]:
        """Return plain, JSON-able data: everything but the single rows (see `rows`)."""
        return {
            "protocol": self.protocol,
            "classes": list(self.classes),
            "gain": None if self.gain is None else [list(row) for row in self.gain.rows],
            "folds": [
                {
                    "repeat": fold.repeat,
                    "fold": fold.fold,
                    "tested": fold.tested,
                    "trained": fold.trained,
                }
                for fold in self.folds
            ],
            "ranked_by": self.ranked_by,
            "summary": self.summary(),
            "verdict": self.verdict(),
            "scores": {
                what: {name: estimate.to_dict() for name, estimate in self.score(what).items()}
                for what in self._scores()
            },
            "by_class": {name: self.by_class(name) for name in self.names},
            "confusion": {name: self.confusion(name).to_dict() for name in self.names},
            "times": {
                name: {kind: list(seconds) for kind, seconds in times.items()}
                for name, times in self.times.items()
            },
            "notes": [note.to_dict() for note in self.notes],
        }

    def describe(self, level: float = 0.95) -> str:
        """Return the ranking, the verdict and the notes as text."""
        head = f"{self.protocol}; {100 * level:g} % intervals"
        table = align_columns(self.summary(level), self._columns())
        return "\n".join([head, table, self.verdict(level), *map(str, self.notes)])

    def _scores(self) -> tuple[str, ...]:
        """Return the scores of a summary, each once."""
        further = () if self.gain is None else (self.gain.score,)
        if self.ranked_by not in (*further, *SUMMARY):
            further = (self.ranked_by, *further)
        return (*further, *SUMMARY)

    def _columns(self) -> list[str]:
        """Return the fields of a summary that people see."""
        key = self.ranked_by
        scores = [key, f"{key}_low", f"{key}_high", *(what for what in SUMMARY if what != key)]
        return ["rank", "model", "rule", *scores, "fit_seconds", "predict_seconds"]

    def _entry(self, model: str) -> Entry:
        if model not in self.entries:
            raise ParameterError(
                f"Trials: there is no entry {model!r}.{did_you_mean(model, self.entries)} The "
                f"entries are {listing(self.entries, 9)}."
            )
        return self.entries[model]

    def _results(self, model: str, gain: Gains | None) -> Iterator[FoldResult]:
        entry = self._entry(model)
        matrix = self.gain if gain is None else GainMatrix.of(gain, self.classes)
        tallies = entry.tallies or [None] * len(self.folds)
        for fold, predictions, tally in zip(self.folds, entry.predictions, tallies, strict=True):
            yield FoldResult(self.classes, entry, fold, predictions, matrix, tally)
