"""Trials as people read them: ranked records, a sentence, a text, plain data."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from countwise.decisions.confusion import Confusion
from countwise.decisions.gain_matrix import GainMatrix, Gains
from countwise.errors import ParameterError, did_you_mean, listing
from countwise.evaluation.intervals import Estimate, corrected, of_rows
from countwise.evaluation.predictions import Entry, Part
from countwise.evaluation.scores import (
    LIMITS,
    ROWS,
    WIDE,
    Scored,
    View,
    cells_of,
    estimate_of_one,
    score_named,
)
from countwise.notes import Note
from countwise.tables.labels import Label

if TYPE_CHECKING:
    pass


#: The scores a summary shows beside the one it ranks by.
SUMMARY = ("accuracy", "balanced_accuracy", "log_loss", "brier")


def summary_of(trials: Trials, level: float) -> list[dict[str, Any]]:
    """Return one flat record an entry, the best first."""
    lines = []
    for name, entry in trials.entries.items():
        line: dict[str, Any] = {"model": name, "rule": entry.rule, "baseline": entry.baseline}
        for what in _scores(trials):
            plain = trials.score(what, name, level=level).to_dict()
            line[what] = plain["value"]
            line[f"{what}_low"], line[f"{what}_high"] = plain["low"], plain["high"]
        line["fit_seconds"] = float(np.mean([piece.fit_seconds for piece in entry.pieces]))
        line["predict_seconds"] = float(np.mean([piece.predict_seconds for piece in entry.pieces]))
        lines.append(line)
    key = trials.ranked_by
    lines.sort(key=lambda line: (-line[key], line["log_loss"] or math.inf, line["baseline"]))
    return [{"rank": place, **line} for place, line in enumerate(lines, 1)]


def verdict_of(trials: Trials, level: float) -> str:
    """Compare the first with the best entry of every other model."""
    ranked = [trials.entries[line["model"]] for line in summary_of(trials, level)]
    leader = ranked[0]
    rivals: dict[str, Entry] = {}
    for entry in ranked:
        if entry.model != leader.model:
            rivals.setdefault(entry.model, entry)
    baseline = next((entry.name for entry in rivals.values() if entry.baseline), None)
    return sentence(
        leader.name,
        [entry.name for entry in rivals.values()],
        leader.name if leader.baseline else baseline,
        lambda other: trials.difference(leader.name, other, trials.ranked_by, level=level),
        trials.ranked_by,
    )


def text_of(trials: Trials, level: float) -> str:
    """Return the ranking, the verdict and the notes as text."""
    key = trials.ranked_by
    shown = [key, f"{key}_low", f"{key}_high", *(what for what in SUMMARY if what != key)]
    columns = ["rank", "model", "rule", *shown, "fit_seconds", "predict_seconds"]
    head = f"{trials.protocol}; {100 * level:g} % intervals"
    table = table_of(summary_of(trials, level), columns)
    return "\n".join([head, table, verdict_of(trials, level), *map(str, trials.notes)])


def plain_of(trials: Trials) -> dict[str, Any]:
    """Return everything but the single rows as plain data."""
    names = trials.names
    return {
        "protocol": trials.protocol,
        "classes": list(trials.classes),
        "gain": None if trials.gain is None else [list(row) for row in trials.gain.rows],
        "parts": [
            {"repeat": p.repeat, "fold": p.fold, "tested": len(p.rows), "trained": p.trained}
            for p in trials.parts
        ],
        "ranked_by": trials.ranked_by,
        "summary": trials.summary(),
        "verdict": trials.verdict(),
        "scores": {
            what: {name: own.to_dict() for name, own in trials.score(what).items()}
            for what in _scores(trials)
        },
        "by_class": {name: trials.by_class(name) for name in names},
        "confusion": {name: trials.confusion(name).to_dict() for name in names},
        "times": {
            name: {kind: list(seconds) for kind, seconds in own.items()}
            for name, own in trials.times.items()
        },
        "notes": [note.to_dict() for note in trials.notes],
    }


def _scores(trials: Trials) -> tuple[str, ...]:
    return SUMMARY if trials.gain is None else ("expected_gain", *SUMMARY)


def sentence(
    leader: str,
    others: Sequence[str],
    baseline: str | None,
    difference: Callable[[str], Estimate],
    score: str,
) -> str:
    """Say whom the leader is ahead of, by how much, and from whom it cannot be told apart.

    `difference` gives the leader's advantage over another entry with its interval.
    """
    words = score.replace("_", " ")
    if not others:
        return f"{leader} was the only entry: there is nothing to compare it with."
    gaps = {name: difference(name) for name in others}
    behind = [name for name in others if gaps[name].low > 0]
    level = [name for name in others if name not in behind]
    ahead = _ahead(leader, behind, gaps, words)
    if leader == baseline:
        return (
            f"No model does better than {leader} in {words}: the attributes did not help"
            f"{_apart(level)}."
        )
    if baseline is not None and baseline in level:
        gap = gaps[baseline]
        return (
            f"{leader} leads in {words}, but the data do not show that it beats {baseline}: the "
            f"difference is {_figures(gap)}."
        )
    if not level:
        return f"{ahead}."
    if not behind:
        return f"{leader} leads in {words}, but {_cannot(leader, level)}."
    return f"{ahead}; {_cannot('it', level)}."


def _ahead(leader: str, behind: Sequence[str], gaps: dict[str, Estimate], words: str) -> str:
    if not behind:
        return ""
    nearest = min(behind, key=lambda name: gaps[name].value)
    more = f", the nearest of them, {nearest}, by" if len(behind) > 1 else " by"
    return f"{leader} is ahead of {_joined(behind)} in {words}{more} {_figures(gaps[nearest])}"


def _cannot(who: str, level: Sequence[str]) -> str:
    if len(level) == 1:
        return f"{who} and {level[0]} cannot be told apart on these rows"
    return f"{who} cannot be told apart from {_joined(level)} on these rows"


def _apart(level: Sequence[str]) -> str:
    return f", and {_cannot('it', level)}" if level else ""


def _joined(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]


def _figures(gap: Estimate) -> str:
    return f"{gap.value:.3g} ({100 * gap.level:g} % interval {gap.low:.3g} to {gap.high:.3g})"


def table_of(lines: Sequence[dict[str, Any]], columns: Sequence[str]) -> str:
    """Lay lines out in columns; numbers with four digits, what is unknown as a dash."""
    cells = [[_shown(line[name]) for name in columns] for line in lines]
    heads = [name.replace("_", " ") for name in columns]
    widths = [max(len(row[at]) for row in [heads, *cells]) for at in range(len(columns))]
    left = [isinstance(lines[0][name], str) if lines else True for name in columns]

    def laid(row: Sequence[str]) -> str:
        parts = [
            cell.ljust(width) if to_left else cell.rjust(width)
            for cell, width, to_left in zip(row, widths, left, strict=True)
        ]
        return "  ".join(parts).rstrip()

    return "\n".join([laid(heads), *map(laid, cells)])


def _shown(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True, repr=False, eq=False)
class Trials:
    """What every entry said about every tested row; scores, intervals and words follow from it.

    `evaluate` makes one. An entry is a model under a rule: ``NaiveBayes``, or ``NaiveBayes by
    gain``. Scores are means over the test parts, as scikit-learn's `cross_validate` has them;
    intervals are those of `countwise.evaluation.intervals`.

    Attributes
    ----------
    classes
        The class labels; posteriors and codes are in their order.
    parts
        The test parts: rows, true codes, weights.
    entries
        The entries by name: posteriors, decisions and seconds for each test part.
    protocol
        How rows were set aside, in words.
    ratio
        Tested rows over training rows, for the corrected variance.
    notes
        What should be known about the data and the protocol.
    gain
        The gain matrix, or None.

    Examples
    --------
    >>> import countwise as cw
    >>> from countwise.evaluation.evaluate import evaluate
    >>> trials = evaluate(cw.NaiveBayes(), "sample:votes", folds=10)
    >>> trials
    <Trials: 2 entries, 435 rows, 10-fold cross-validation, stratified>
    >>> trials.best
    'NaiveBayes'
    >>> round(trials.score("accuracy", "NaiveBayes").value, 2)
    0.9
    """

    classes: tuple[Label, ...]
    parts: tuple[Part, ...]
    entries: dict[str, Entry]
    protocol: str
    ratio: float
    notes: tuple[Note, ...] = ()
    gain: GainMatrix | None = None

    def __repr__(self) -> str:
        rows = len(np.unique(np.concatenate([part.rows for part in self.parts])))
        return f"<Trials: {len(self.entries)} entries, {rows} rows, {self.protocol}>"

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the entries."""
        return tuple(self.entries)

    @property
    def ranked_by(self) -> str:
        """The score that ranks: expected gain if a gain matrix was given, else accuracy."""
        return "accuracy" if self.gain is None else "expected_gain"

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
            ``precision``, ``recall``, or a callable that takes true labels, decisions and
            posteriors of one test part and returns a number.
        model
            The name of an entry; all entries without it.
        label
            For precision and recall: the class; without it the mean over the classes.
        gain
            For the expected gain: another matrix than the one evaluated with.
        level
            Of the interval.

        Examples
        --------
        >>> import countwise as cw
        >>> from countwise.evaluation.evaluate import evaluate
        >>> trials = evaluate(cw.NaiveBayes(), "sample:votes")
        >>> print(trials.score("recall", "NaiveBayes", label="republican"))
        0.9165 (0.8571 to 0.976)
        """
        if model is None:
            return {
                name: self.score(what, name, label=label, gain=gain, level=level)
                for name in self.entries
            }
        _check_level(level)
        views = list(self._views(model, gain))
        if len(views) == 1:
            return estimate_of_one(what, views[0], label, level)
        values = [score_named(what, view, label) for view in views]
        return corrected(values, self.ratio, level).within(*LIMITS.get(str(what), WIDE))

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
        """Return by how much one entry exceeds another, test part by test part on the same rows.

        The interval is of this one pair; with many pairs some will seem to differ by chance.

        Examples
        --------
        >>> import countwise as cw
        >>> from countwise.evaluation.evaluate import evaluate
        >>> trials = evaluate(cw.NaiveBayes(), "sample:votes")
        >>> print(trials.difference("NaiveBayes", "majority"))
        0.2874 (0.2609 to 0.3139)
        """
        _check_level(level)
        pairs = list(zip(self._views(first, gain), self._views(second, gain), strict=True))
        if len(pairs) == 1 and isinstance(what, str) and what in ROWS:
            left, right = pairs[0]
            return of_rows(ROWS[what](left) - ROWS[what](right), left.part.weight, level)
        gaps = [
            score_named(what, left, label) - score_named(what, right, label)
            for left, right in pairs
        ]
        return corrected(gaps, self.ratio, level)

    @property
    def best(self) -> str:
        """The entry that ranks first."""
        return str(self.summary()[0]["model"])

    def summary(self, level: float = 0.95) -> list[dict[str, Any]]:
        """Return one flat record an entry, the best first; None where a figure is not defined.

        Each score has three fields, such as ``accuracy``, ``accuracy_low`` and ``accuracy_high``;
        seconds are means over the test parts, fitting and predicting apart.
        """
        return summary_of(self, level)

    def verdict(self, level: float = 0.95) -> str:
        """Say in one sentence what the data support.

        Examples
        --------
        >>> import countwise as cw
        >>> from countwise.evaluation.evaluate import evaluate
        >>> evaluate(cw.NaiveBayes(), "sample:votes").verdict()
        'NaiveBayes is ahead of majority in accuracy by 0.287 (95 % interval 0.261 to 0.314).'
        """
        return verdict_of(self, level)

    def confusion(self, model: str) -> Confusion:
        """Return the true classes against the decisions of all test parts together."""
        views = list(self._views(model, None))
        cells = np.sum([cells_of(view) for view in views], axis=0)
        joint = cells / cells.sum()
        decisions = views[0].entry.decisions
        return Confusion(self.classes, decisions, _lines(cells), _lines(joint))

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
        """Seconds of fitting and of predicting, apart, for every entry and test part."""
        return {
            name: {
                "fit": tuple(piece.fit_seconds for piece in entry.pieces),
                "predict": tuple(piece.predict_seconds for piece in entry.pieces),
            }
            for name, entry in self.entries.items()
        }

    def rows(self, model: str) -> Iterator[dict[str, Any]]:
        """Yield one record a tested row: where it stood, its class, the decision, the posteriors.

        Examples
        --------
        >>> import countwise as cw
        >>> from countwise.evaluation.evaluate import evaluate
        >>> sorted(next(evaluate(cw.NaiveBayes(), "sample:iris").rows("NaiveBayes")))
        ['decided', 'fold', 'posteriors', 'repeat', 'row', 'true', 'weight']
        """
        for view in self._views(model, None):
            weight: Any = view.part.weight
            for at, row in enumerate(view.part.rows.tolist()):
                yield {
                    "repeat": view.part.repeat,
                    "fold": view.part.fold,
                    "row": row,
                    "true": self.classes[view.part.truth[at]],
                    "decided": view.entry.decisions[view.piece.decided[at]],
                    "posteriors": view.piece.posteriors[at].tolist(),
                    "weight": 1.0 if weight is None else float(weight[at]),
                }

    def posteriors(self, model: str) -> NDArray[np.float64]:
        """Return the posteriors of all test parts, one below the other, as the parts list rows."""
        return np.concatenate([p.posteriors for p in self._entry(model).pieces]).astype(np.float64)

    def to_dict(self) -> dict[str, Any]:
        """Return plain, JSON-able data: everything but the single rows (see `rows`)."""
        return plain_of(self)

    def describe(self, level: float = 0.95) -> str:
        """Return the ranking, the verdict and the notes as text."""
        return text_of(self, level)

    def _entry(self, model: str) -> Entry:
        if model not in self.entries:
            raise ParameterError(
                f"Trials: there is no entry {model!r}.{did_you_mean(model, self.entries)} The "
                f"entries are {listing(self.entries, 9)}."
            )
        return self.entries[model]

    def _views(self, model: str, gain: Gains | None) -> Iterator[View]:
        entry = self._entry(model)
        matrix = self.gain if gain is None else GainMatrix.of(gain, self.classes)
        for part, piece in zip(self.parts, entry.pieces, strict=True):
            yield View(self.classes, entry, part, piece, matrix)


def _check_level(level: float) -> None:
    if not isinstance(level, float) or not 0 < level < 1:
        raise ParameterError(
            f"Trials: level must be a number between 0 and 1, such as 0.95, but {level!r} came."
        )


def _lines(table: NDArray[np.float64]) -> tuple[tuple[float, ...], ...]:
    rows: Sequence[Sequence[float]] = table.tolist()
    return tuple(tuple(row) for row in rows)
