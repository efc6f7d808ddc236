"""Trials: all that models said about rows they had not seen, so that any score can be added."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from countwise.decisions.confusion import Confusion
from countwise.decisions.gain import GainMatrix, Gains
from countwise.decisions.labels import Label
from countwise.errors import ParameterError, did_you_mean, listing
from countwise.evaluation.intervals import Estimate, corrected, of_rows
from countwise.evaluation.outcomes import Entry, Part
from countwise.evaluation.ranking import plain_of, summary_of, text_of, verdict_of
from countwise.evaluation.scores import LIMITS, ROWS, WIDE, Scored, View, cells_of, score_named
from countwise.evaluation.single import estimate_of_one
from countwise.tables.notes import Note


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
    >>> from countwise.evaluation.run import evaluate
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
        >>> from countwise.evaluation.run import evaluate
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
        >>> from countwise.evaluation.run import evaluate
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
        >>> from countwise.evaluation.run import evaluate
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
        >>> from countwise.evaluation.run import evaluate
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
