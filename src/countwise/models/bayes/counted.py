"""Models that learn from counts: training is counting, and counts add and subtract."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from countwise._typing import FloatArray
from countwise.counts.count_rows import count
from countwise.counts.counts import Counts, merge_schemas
from countwise.counts.plan import Plan
from countwise.counts.smoothing import Smoothing, smoothing_of
from countwise.discretize.cut_points import BINS_HELP, MAX_BINS, METHODS
from countwise.discretize.recode import RECODE_NOTES, Recode
from countwise.errors import CountsError, ParameterError, PrecisionWarning, listing
from countwise.models.base import Classifier, check_scan, leave_out_text
from countwise.models.bayes.score_terms import (
    ZERO,
    ScoreTerms,
    TableTerm,
    child_figures,
    prior_logs,
)
from countwise.notes import Note
from countwise.numeric import logs_of, softmax
from countwise.params import derived, fitted, nothing, one_of, parameter, whole
from countwise.tables.scan import Scan
from countwise.tables.schema import Column, Level, Schema, labels_array
from countwise.tables.table import Table
from countwise.tables.weights import read_weights

if TYPE_CHECKING:
    from countwise.models.bayes.leave_one_out import LeftOut
    from countwise.models.explanation import Explanation
    from countwise.models.views import View


#: What the parameter `cuts` says, of models that cut numeric columns.
CUTS_HELP = (
    "how 'numeric=\"cuts\"' chooses intervals: equal 'width', equal 'frequency', 'two-way' "
    "(the single most informative cut), 'mdl' (Fayyad & Irani 1993) or 'auto': 'mdl', and "
    "where it finds no cut in a column that tells something, the best single cut or equal "
    "frequency, by leave-one-out"
)


class CountedModel(Classifier):
    """A classifier that needs nothing but counts.

    A model names what it wants counted (`counts_needed`), perhaps how rows are recoded before
    (`_learn_recode`), and turns counts into a prior and terms (`terms`). Everything else follows:
    `fit`, `partial_fit`, `forget`, `merge`, `fit_counts`, prediction, explanation and evaluation
    from counts, on weighted rows, missing values and unseen levels.
    """

    calibrate: str | None = parameter(
        nothing() | one_of("auto"),
        "'auto' divides the log scores by one temperature, learned in fit from rows scored without "
        "themselves, if that makes the probabilities better; the most probable class stays the "
        "same. None leaves probabilities as they are. Models made from counts alone are not "
        "calibrated",
        default="auto",
    )
    takes_scans = True
    counts_: Counts = fitted("what was counted")
    temperature_: float = fitted("what log scores are divided by; 1 leaves them as they are")
    recode_: Recode = fitted("how rows are recoded before they are counted")
    _named: tuple[Level, ...] = fitted()
    _given: dict[str, tuple[Level, ...]] = fitted()
    _present: NDArray[np.intp] = derived()
    _model: ScoreTerms = derived()

    def counts_needed(self, schema: Schema) -> Plan | None:
        """Return what to count for this model; None where it needs the rows of such a table."""
        raise NotImplementedError

    def terms(self, counts: Counts) -> ScoreTerms:
        """Return the prior and the terms that these counts (of the known classes) imply."""
        raise NotImplementedError

    def leave_one_out(self, table: Table, weight: FloatArray | None = None) -> FloatArray | None:
        """Return the posteriors of every row by the model of the counts without that row.

        With ``calibrate="auto"`` they have one temperature, that of the model of all rows. Rows
        without any evidence keep the prior.
        """
        posteriors = self._leave_one_out(table, weight)
        if posteriors is None or self.calibrate is None:
            return posteriors
        model = clone(self).fit(table, sample_weight=weight)
        if model.temperature_ == 1.0:
            return posteriors
        tempered = softmax(logs_of(posteriors) / model.temperature_)
        silent = model._is_silent(model._raw_scores(table))
        return np.where(silent[:, None], posteriors, tempered)

    def _leave_one_out(self, table: Table, weight: FloatArray | None) -> FloatArray | None:
        """Return the posteriors of every row without it, at temperature 1."""
        plan = self.counts_needed(table.schema)
        if plan is None:
            return None
        counts = count(table, plan, sample_weight=weight)
        return self._without_rows(table, counts, weight, range(len(table)))

    def _without_rows(
        self, table: Table, counts: Counts, weight: FloatArray | None, rows: Iterable[int]
    ) -> FloatArray:
        """Return the posteriors of some rows, each by a model fitted to the counts without it."""
        posteriors = [np.zeros((0, len(table.classes)))]
        for row in rows:
            single = table.take(slice(row, row + 1))
            weight_of_one = None if weight is None else weight[row : row + 1]
            others = counts - count(single, counts.plan, sample_weight=weight_of_one)
            model = clone(self).fit_counts(others)
            line = np.zeros((1, len(table.classes)))
            line[:, model._present] = model.predict_proba(single)
            posteriors.append(line)
        return np.concatenate(posteriors)

    def _plan(self, schema: Schema) -> Plan:
        """Return what to count of rows as this model codes them, whether or not it saw rows."""
        plan = self.counts_needed(schema)
        if plan is None:
            raise CountsError(
                f"{type(self).__name__}: counts do not suffice for these columns. Call fit(table)."
            )
        return plan

    def fit(
        self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Count the rows and learn from the counts."""
        self.check_parameters()
        if isinstance(X, Scan):
            return self._fit_scan(X, y, sample_weight)
        table = self._read_training(X, y)
        self._begin(X, table, sample_weight)
        self._learn(self._count(table, sample_weight), table)
        weight = read_weights(sample_weight, len(table), type(self).__name__)
        return self.learn_temperature(table, weight)

    def _fit_scan(self, scan: Scan, y: Any, sample_weight: ArrayLike | None) -> Self:
        """Count rows outside memory: once, or twice if numbers are cut by what was counted."""
        check_scan(self, scan, y, sample_weight)
        from countwise.models.bayes.leave_one_out import MOST_ROWS
        from countwise.tables.scan_sample import draw

        # Rows for the temperature must be the same ones whenever they are drawn.
        calibrates = self.calibrate is not None and not scan.source.once and scan.source.stable_rows
        if calibrates:
            scan.expect_sample(MOST_ROWS)
        # The first scan finds out what the columns are, and counts what most models need.
        count(scan, self._first_plan)
        rows = leave_out_text(self, scan)
        self._named = ()
        self._given = {column.name: column.levels for column in rows.schema if column.coded}
        self.recode_ = self._learn_recode(rows, None)
        seen = self.recode_.apply(rows)
        self._learn(count(seen, self._plan), rows)
        return self.learn_temperature(*draw(rows, MOST_ROWS)) if calibrates else self

    def _first_plan(self, schema: Schema) -> Plan:
        """Return what the first scan of rows outside memory counts."""
        schema = schema if self.uses_text else schema.without_text()
        plan = self.counts_needed(schema)
        return Plan.each(schema, numeric="grid") if plan is None else plan

    def _begin(self, X: Any, table: Table, sample_weight: ArrayLike | None) -> None:
        """Learn from the first rows what must be known before counting."""
        weight = read_weights(sample_weight, len(table), type(self).__name__)
        self._named = ()
        self._given = _given_levels(X, table)
        self.recode_ = self._learn_recode(table, weight)

    def _learn_recode(self, table: Table | Scan, weight: FloatArray | None) -> Recode:
        """Learn how rows are recoded before they are counted."""
        return Recode()

    def fit_counts(self, counts: Counts) -> Self:
        """Learn from counts made elsewhere; more than the plan asks for is welcome."""
        self.check_parameters()
        if not isinstance(counts, Counts):
            raise CountsError(
                f"{type(self).__name__}: fit_counts takes Counts; got a {type(counts).__name__}. "
                "Call fit for rows."
            )
        if counts.total <= 0:
            raise CountsError(
                f"{type(self).__name__}: at least one row with a class must be counted; got none."
            )
        return self._take_counts(counts, counts.schema, Recode())

    def _take_counts(
        self, counts: Counts, schema: Schema, recode: Recode, table: Table | None = None
    ) -> Self:
        """Learn from counts of rows of this schema that were recoded like this."""
        restricted = counts.restricted(self._plan(counts.schema))
        if not self.uses_text:
            schema = schema.without_text()
            restricted = replace(restricted, schema=restricted.schema.without_text())
        self._match_columns_by_name()
        self.schema_, self.recode_, self._named, self.notes_ = schema, recode, (), ()
        self._given = {column.name: column.levels for column in schema if column.coded}
        return self._learn(restricted, table)

    def after_load(self) -> None:
        """Learn again from the counts, by the arithmetic that `fit` used."""
        counts = self.counts_
        if counts.total <= 0:
            raise CountsError(f"{type(self).__name__}: at least one row must be counted; got none.")
        if any(label not in counts.classes for label in self._named):
            raise CountsError(f"{type(self).__name__}: every named class must be in the schema.")
        recoded = self.recode_.apply_to_schema(self.schema_)
        if recoded.columns != counts.schema.columns or not all(
            map(Column.same_levels, recoded, counts.schema)
        ):
            raise CountsError(
                f"{type(self).__name__}: the recoded columns must be those that were counted."
            )
        temperature, notes = self.temperature_, self.notes_
        if not 1e-3 < temperature < 1e3:
            raise CountsError(f"{type(self).__name__}: the temperature must be an ordinary number.")
        self._learn(counts.restricted(self._plan(counts.schema)))
        self.temperature_, self.notes_ = temperature, notes

    def file_summary(self) -> dict[str, Any]:
        """Return what `describe` tells of a saved model first."""
        counts = self.counts_
        summary = {"rows": counts.rows, **self._class_summary(counts.weight[self._present])}
        return summary | ({"temperature": self.temperature_} if self.calibrate else {})

    def partial_fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Add rows to what was counted; new levels and classes may appear at any time.

        `classes` may name classes that are still to come; they are in ``classes_`` from then on.
        """
        self.check_parameters()
        known = self.schema_ if hasattr(self, "counts_") else None
        table = self._read_training(X, y, known=known)
        if known is None:
            self._begin(X, table, sample_weight)
        fresh = self._count(table, sample_weight)
        if known is not None:
            fresh = self.counts_ + fresh
        if classes is not None:
            fresh = _with_classes(fresh, np.unique(np.asarray(classes)))
            self._named = tuple(fresh.classes)
        return self._learn(fresh, table)

    def forget(
        self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Take rows away again; they must have been counted before.

        Levels that only the forgotten rows held are forgotten too, unless the first rows had
        a schema that knew them. With whole weights the result is the model of the rows that stay,
        to the last bit. With fractional ones a `PrecisionWarning` says where rounding may have
        consumed what is left of a numeric column.
        """
        check_is_fitted(self, "counts_")
        table = self._read_training(X, y, known=self.schema_)
        less = self.counts_ - self._count(table, sample_weight)
        if less.total <= 0:
            raise CountsError(
                f"{type(self).__name__}: at least one row must stay; all were to be forgotten."
            )
        # The levels that stay beside the folded ones were chosen once.
        kept = {
            name: levels
            for name, levels in self._given.items()
            if name in less.schema and name not in self.recode_.kept_levels
        }
        target = less.schema.target
        if target is not None and target.name in kept:
            kept[target.name] = (*kept[target.name], *self._named)
        less = less.without_levels(kept)
        self._warn_of_rounding(self.counts_, less)
        return self._learn(less)

    def _warn_of_rounding(self, before: Counts, after: Counts) -> None:
        rounded = [
            name
            for name, left in after.moments.items()
            if left.exact is None
            and np.any(
                (left.weight[:-1] > 1)
                & (left.square[:-1] < 1e-9 * before.moments[name].square.max())
            )
        ]
        if rounded:
            warnings.warn(
                f"{type(self).__name__}: what is left of the spread of {listing(rounded)} may be "
                "lost in rounding. Fit the rows that stay if it matters.",
                PrecisionWarning,
                stacklevel=3,
            )

    def merge(self, other: CountedModel) -> Self:
        """Add what another model of the same kind has counted, as if its rows were these."""
        check_is_fitted(self, "counts_")
        if type(other) is not type(self):
            raise CountsError(
                f"{type(self).__name__}: only models of one kind merge; got a "
                f"{type(other).__name__}."
            )
        check_is_fitted(other, "counts_")
        if self.recode_ != other.recode_:
            raise CountsError(
                f"{type(self).__name__}: only models that cut numbers and fold levels alike merge; "
                "these learned different intervals.",
                hint="Fit one model, and add the other rows with partial_fit, or cut the tables "
                "first",
            )
        self._check_merge(other)
        if self.recode_:
            self.schema_ = merge_schemas(self.schema_, other.schema_)
        self._named = tuple({*self._named, *other._named})
        return self._learn(self.counts_ + other.counts_)

    def _check_merge(self, other: Self) -> None:
        """Refuse another model whose counts do not add to those of this one."""

    def __add__(self, other: object) -> Self:
        """Return a new model of the rows of both."""
        if not isinstance(other, CountedModel):
            return NotImplemented
        return copy(self).merge(other)

    def _count(self, table: Table, sample_weight: ArrayLike | None) -> Counts:
        who = type(self).__name__
        weight = read_weights(sample_weight, len(table), who)
        seen = self.recode_.apply(table)
        counts = count(seen, self._plan(seen.schema), sample_weight=weight)
        if counts.total <= 0:
            raise ParameterError(f"{who}: the sample weights must not all be zero.")
        return counts

    def _learn(self, counts: Counts, table: Table | Scan | None = None) -> Self:
        self.counts_ = counts = counts.without_unused_words()
        known = self.schema_ if table is None else table.schema
        self.schema_ = self.recode_.input_schema(known, counts.schema)
        named = set(self._named)
        present = [
            place
            for place, label in enumerate(counts.classes)
            if counts.weight[place] > 0 or label in named
        ]
        self.classes_ = labels_array([counts.classes[place] for place in present])
        self._present = np.asarray(present, dtype=np.intp)
        self._model = self.terms(self._view_counts(counts))
        before = self.notes_ if table is None else table.notes
        self.notes_ = (
            *(
                note
                for note in before
                if note.code not in (*RECODE_NOTES, "P02", "P04", "P05", "P06", "W03")
            ),
            *self.recode_.notes,
            *self._family_notes(),
            *((Note.of("P05"),) if self.calibrate else ()),
        )
        self.temperature_ = 1.0
        return self

    def learn_temperature(
        self,
        table: Table,
        weight: FloatArray | None = None,
        counted: NDArray[np.intp] | None = None,
    ) -> Self:
        """Learn the temperature from the rows that were counted, if the model is to have one.

        They are all rows of the table, or those at the places `counted`.
        """
        if self.calibrate is None:
            return self
        from countwise.models.bayes.leave_one_out import (
            MOST_ROWS,
            LeftOut,
            find_temperature,
            sample_rows,
        )

        self.notes_ = tuple(note for note in self.notes_ if note.code not in ("P05", "P06"))
        if len(self.classes_) < 2:
            return self
        rows, given = sample_rows(table, weight, counted)
        if len(rows) == MOST_ROWS < self.counts_.rows:
            note = Note.of("P06", rows=len(rows), total=self.counts_.rows)
            self.notes_ = (*self.notes_, note)
        left_out = LeftOut(self._view(rows), self._view_counts(self.counts_), np.minimum(given, 1))
        scores = self._scores_without(left_out)
        if scores is not None:
            self.temperature_ = find_temperature(
                np.ascontiguousarray(scores.T), left_out.truth, given
            )
        return self

    def _scores_without(self, left_out: LeftOut) -> FloatArray | None:
        """Return the scores of rows, each without itself (classes × rows).

        Cuts and structure are those of the model. None where counts do not suffice to score them.
        """
        return None

    def _family_notes(self) -> tuple[Note, ...]:
        """Return remarks on dependencies (P02, P04) and words left out (W03)."""
        return ()

    def _view_counts(self, counts: Counts) -> Counts:
        """Return the counts as the model sees them; here cuts are learned from counts."""
        return counts

    def _view(self, table: Table) -> Table:
        """Return the rows as the model sees them."""
        return self.recode_.apply(table)

    def by_class(self, array: FloatArray) -> FloatArray:
        """Return the part of an array by class that belongs to ``classes_``."""
        return array[self._present]

    def _scores(self, table: Table) -> FloatArray:
        scores = self._raw_scores(table)
        if self.temperature_ != 1.0:
            # Rows without any evidence keep the prior as it is.
            silent = np.flatnonzero(self._is_silent(scores))
            kept = scores[silent]
            scores /= self.temperature_
            scores[silent] = kept
        return scores

    @property
    def sum_of_terms(self) -> ScoreTerms | None:
        """The prior and the terms whose sum is the score of a row; None if there is more to it."""
        return None if self.recode_.kept_levels else self._model

    @property
    def _silent_scores(self) -> FloatArray:
        """The raw scores, by class, of a row that no attribute says anything about."""
        return np.where(self._model.base <= ZERO / 2, -np.inf, self._model.base)

    def _is_silent(self, scores: FloatArray) -> NDArray[np.bool_]:
        """Return which rows (of raw scores) no attribute says anything about."""
        silent = np.ones(len(scores), dtype=bool)
        for column, figure in zip(scores.T, self._silent_scores, strict=True):
            silent &= column == figure
        return silent

    def _raw_scores(self, table: Table) -> FloatArray:
        """Return the scores of rows at temperature 1."""
        table = self._view(table)
        scores = self._model.scores(table)
        is_zero = scores <= ZERO / 2
        # Of most tables nothing is impossible, and asking row by row is slow.
        if is_zero.any():
            impossible = np.flatnonzero(is_zero.all(axis=1))
            if len(impossible):
                scores[impossible] = self._rescue(table.take(impossible))
            scores[scores <= ZERO / 2] = -np.inf
        return scores

    def _best(self, table: Table) -> NDArray[np.int64]:
        table = self._view(table)
        best, top = self._model.best(table)
        impossible = np.flatnonzero(top <= ZERO / 2)
        if len(impossible):
            best[impossible] = self._rescue(table.take(impossible)).argmax(axis=1)
        return best

    def _rescue(self, table: Table) -> FloatArray:
        """Score rows that no class allows: the classes with the fewest impossible values stay.

        That is the limit of ever less smoothing; without it such a row would have no posterior.
        """
        parts = np.concatenate(
            [
                np.broadcast_to(self._model.base, (len(table), 1, len(self.classes_))),
                self._model.parts(table),
            ],
            axis=1,
        )
        is_zero = parts <= ZERO / 2
        times = is_zero.sum(axis=1)
        rest = np.where(is_zero, 0.0, parts).sum(axis=1)
        return np.where(times == times.min(axis=1, keepdims=True), rest, ZERO)

    def explain(self, X: Any) -> Explanation:
        """Return what each attribute adds to the answer for each row; the parts sum to it."""
        rows = self._rows(X)
        table = self._view(rows)
        raw = self._raw_scores(rows)
        return self._temper(self._build_explanation(table, self._model.parts(table), raw))

    def _temper(self, why: Explanation) -> Explanation:
        """Return an explanation of raw scores at the model's temperature.

        The parts are divided by it, and what the prior loses or gains is one more part.
        """
        if self.temperature_ == 1.0:
            return why
        silent = self._is_silent(why.joint)
        rest = (1 / self.temperature_ - 1) * np.where(np.isfinite(why.base), why.base, 0.0)
        last = np.where(silent[:, None], 0.0, rest)[:, None, :]
        text = f"temperature {self.temperature_:.3g}"
        return replace(
            why,
            attributes=(*why.attributes, "calibration"),
            values=tuple(
                (*line, "" if quiet else text)
                for line, quiet in zip(why.values, silent.tolist(), strict=True)
            ),
            parts=np.concatenate([why.parts / self.temperature_, last], axis=1),
            joint=np.where(silent[:, None], why.joint, why.joint / self.temperature_),
        )

    def views(self) -> Sequence[View]:
        """Return the class fractions and the tables of the attributes that were counted."""
        from countwise.models.bayes.views import counted_views

        check_is_fitted(self, "counts_")
        return counted_views(self)

    def _build_explanation(self, table: Table, parts: FloatArray, joint: FloatArray) -> Explanation:
        from countwise.models.explanation import Explanation

        terms = self._model.terms
        return Explanation(
            classes=tuple(self.classes_.tolist()),
            attributes=tuple(" | ".join(term.columns) for term in terms),
            values=tuple(
                tuple(" | ".join(table.cell_text(name, row) for name in t.columns) for t in terms)
                for row in range(len(table))
            ),
            base=self._model.base.copy(),
            parts=parts,
            joint=joint,
        )


def _given_levels(X: Any, table: Table) -> dict[str, tuple[Level, ...]]:
    """Return the levels known before the first rows: all of a table's, none of a frame's."""
    return {c.name: c.levels if isinstance(X, Table) else () for c in table.schema if c.coded}


def _with_classes(counts: Counts, classes: NDArray[Any]) -> Counts:
    """Widen the class axis by labels that have not occurred yet."""
    target = counts.schema.target
    if target is None:
        return counts
    given = tuple(classes.tolist())
    unknown = [label for label in target.levels if label not in given]
    if unknown:
        raise ParameterError(
            f"partial_fit: y may hold only the labels in classes; got {listing(unknown)} too."
        )
    schema = counts.schema.with_columns([target.with_levels(given)])
    return Counts.zero(merge_schemas(schema, counts.schema), counts.plan) + counts


class JointClassifier(CountedModel):
    """A counted model of every two attributes, the numeric ones cut into intervals.

    The parameters, cut points and views that TAN, AODE and KDB share.
    """

    smoothing: Any  # each model says which it takes
    _keeps_tree = False  # whether it can do with the tables of each attribute and its parents
    cuts: str = parameter(one_of(*METHODS), CUTS_HELP, default="auto")
    bins: int = parameter(whole(at_least=2, at_most=MAX_BINS), BINS_HELP, default=10)
    unseen: str = parameter(
        one_of("ignore", "error"),
        "treatment of a level that did not occur in training: 'ignore' leaves the attribute out, "
        "'error' raises an error",
        default="ignore",
    )
    numeric: str = parameter(
        one_of("cuts", "quantizer"),
        "how numeric columns are cut into intervals: 'cuts' cuts each column by itself, "
        "'quantizer' cuts all columns together in fit (see Quantizer)",
        default="cuts",
    )

    def counts_needed(self, schema: Schema) -> Plan | None:
        """Count every two attributes by class; None if some are numeric or tables too large."""
        from countwise.discretize.rare_levels import width_limit

        target, widths = schema.target, [column.width for column in schema.nominal]
        if schema.numeric or (target is not None and width_limit(widths, target.width) is not None):
            return None
        return Plan.pairs(schema)

    def _plan(self, schema: Schema) -> Plan:
        return Plan.pairs(schema)

    @property
    def cuts_suffice(self) -> bool:
        """Whether counts of every two columns are all the model needs once numbers are cut."""
        return self.numeric == "cuts"

    @property
    def cut_points_(self) -> Mapping[str, FloatArray]:
        """The cut points of numeric columns."""
        return self.recode_.cut_points

    @property
    def kept_levels_(self) -> Mapping[str, tuple[Level, ...]]:
        """The levels that were kept apart, of columns with too many of them."""
        return self.recode_.kept_levels

    def _learn_recode(self, table: Table | Scan, weight: FloatArray | None) -> Recode:
        method = "quantizer" if self.numeric == "quantizer" else self.cuts
        recode = Recode.learn(table, weight, method, self.bins)
        return recode.for_pairs(table, weight, self.cuts, type(self).__name__, self._keeps_tree)

    def fit_counts(self, counts: Counts) -> Self:
        """Learn from counts of nominal columns made elsewhere."""
        for column in counts.schema.numeric:
            raise CountsError(
                f"{type(self).__name__}: attributes are counted together, so numbers must be cut "
                f"before counting; {column.name!r} is numeric.",
                hint="Count without numeric columns (drop=, on the command line --drop), cut them "
                "first, or fit the rows themselves",
            )
        return super().fit_counts(counts)

    def fit_cut(self, counts: Counts, points: Mapping[str, FloatArray], table: Table) -> Self:
        """Learn from counts of a table whose numbers were cut at these points.

        What `fit` would do with rows of `table` that have these counts and these cuts.
        """
        self.check_parameters()
        return self._take_counts(counts, table.schema, Recode(dict(points)), table)

    def _rule(self) -> Smoothing | str:
        return "back-off" if self.smoothing == "back-off" else smoothing_of(self.smoothing)

    def _score_families(self, counts: Counts, families: Iterable[Sequence[str]]) -> ScoreTerms:
        """Return the prior and one table a family: an attribute with those it depends on."""
        rule = self._rule()
        tables = [(tuple(family), self.by_class(counts.table(*family))) for family in families]
        terms = [TableTerm(family, child_figures(table, rule)) for family, table in tables]
        return ScoreTerms(prior_logs(self.by_class(counts.weight)), terms)

    def _scores_without(self, left_out: LeftOut) -> FloatArray | None:
        scores = logs_of(left_out.class_weights())
        for term in self._model.terms:
            scores += left_out.log_shares(term.columns, self._rule())
        return scores

    def _dependencies(self) -> Mapping[str, Sequence[tuple[str, float]]] | None:
        """Return each attribute's parents and the bits they share; None without such a graph."""
        return None

    def views(self) -> Sequence[View]:
        """Return the graph of dependencies, if there is one, and the probability tables."""
        from countwise.models.bayes.views import joint_views

        check_is_fitted(self, "counts_")
        return joint_views(self, self._dependencies())
