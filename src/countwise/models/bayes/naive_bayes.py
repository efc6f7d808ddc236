"""Naive Bayes, and the equivalent logistic regression if all classes share their variances.

With one variance a column for all classes, the log of a normal density is linear in the value but
for a part that all classes share: P(c | x) is a softmax of w₀ + Σ w x with w = μ/σ² and, in w₀, the
log prior less Σ μ²/2σ² (Mitchell 1997; Kuo's slides). A nominal column adds its log share.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from countwise._typing import FloatArray
from countwise.counts.count_rows import count
from countwise.counts.counts import Counts
from countwise.counts.plan import Plan
from countwise.counts.smoothing import Laplace, Smoothing, a_smoothing, smoothing_of
from countwise.decisions.class_prior import PRIOR_CONSTRAINT, PRIOR_HELP, prior_of
from countwise.discretize.cut_points import (
    BINS_HELP,
    MAX_BINS,
    METHODS,
    cut_counts,
    cut_points,
    cut_table,
)
from countwise.discretize.recode import Recode
from countwise.errors import CountsError, ParameterError, did_you_mean, listing
from countwise.models.bayes.counted import CUTS_HELP, CountedModel
from countwise.models.bayes.score_terms import (
    ZERO,
    GaussianTerm,
    KernelTerm,
    ScoreTerms,
    TableTerm,
    Term,
    estimate_normal,
    floored_logs,
    presence_logs,
)
from countwise.notes import Note
from countwise.numeric import logs_of, softmax
from countwise.params import boolean, derived, mapping, names, number, one_of, parameter, whole
from countwise.tables.scan import Scan
from countwise.tables.schema import Schema
from countwise.tables.table import Table

if TYPE_CHECKING:
    from countwise.models.bayes.leave_one_out import LeftOut
    from countwise.models.bayes.words import WordsTerm
    from countwise.models.explanation import Coefficient, Explanation
    from countwise.models.views import Coefficients, View


@dataclass(frozen=True, eq=False)
class LogisticWeights:
    """Weights of a softmax: by class, a slope a numeric column, a figure a level of a nominal one.

    Attributes
    ----------
    classes
        The labels, in the order of all arrays.
    prior
        Log priors.
    slopes
        By numeric column, what a unit adds to each class.
    offsets
        By numeric column, what its presence adds: -μ²/2σ².
    figures
        By nominal column, levels (missing and unseen last) × classes.

    Examples
    --------
    >>> import countwise as cw
    >>> iris = cw.read("sample:iris")
    >>> model = cw.NaiveBayes(numeric="gaussian", variance="shared").fit(iris)
    >>> weights = model.to_logistic()
    >>> bool(np.allclose(weights.posteriors(iris), model.predict_proba(iris)))
    True
    """

    classes: tuple[Any, ...]
    schema: Schema
    prior: FloatArray
    slopes: Mapping[str, FloatArray]
    offsets: Mapping[str, FloatArray]
    figures: Mapping[str, FloatArray]

    @property
    def intercept(self) -> FloatArray:
        """w₀ of each class, for rows that miss no number."""
        return np.asarray(self.prior + sum(self.offsets.values(), np.zeros_like(self.prior)))

    def scores(self, table: Table) -> FloatArray:
        """Return w₀ + Σ w x, rows × classes; a column that a row misses adds nothing."""
        scores = np.tile(self.prior, (len(table), 1))
        for name, slope in self.slopes.items():
            values = table.values(name)
            known = ~np.isnan(values)
            scores[known] += values[known, None] * slope + self.offsets[name]
        for name, figures in self.figures.items():
            scores += figures[table.codes(name)]
        return scores

    def posteriors(self, table: Table) -> FloatArray:
        """Return the softmax of the scores."""
        return softmax(self.scores(table))

    def divided_by(self, temperature: float) -> LogisticWeights:
        """Return all weights divided by a number, as those of a calibrated model are."""
        return replace(
            self,
            prior=self.prior / temperature,
            slopes={name: slope / temperature for name, slope in self.slopes.items()},
            offsets={name: offset / temperature for name, offset in self.offsets.items()},
            figures={name: lines / temperature for name, lines in self.figures.items()},
        )

    @property
    def coefficients(self) -> tuple[Coefficient, ...]:
        """Every weight by class, column and level; of two classes those of the second."""
        from countwise.models.explanation import Coefficient

        weights: list[tuple[str | None, str | None, FloatArray]] = [(None, None, self.intercept)]
        weights += [(name, None, slope) for name, slope in self.slopes.items()]
        for name, figures in self.figures.items():
            levels = zip(self.schema[name].levels, figures, strict=False)
            weights += [(name, str(level), line) for level, line in levels]
        two = len(self.classes) == 2
        return tuple(
            Coefficient(label, name, level, float(by_class[place] - (by_class[0] if two else 0.0)))
            for place, label in enumerate(self.classes)
            if place or not two
            for name, level, by_class in weights
        )

    def view(self) -> Coefficients:
        """Return the weights as the coefficients of a linear model, the largest first."""
        from countwise.models.views import Coefficients, Term

        by_term: dict[tuple[str | None, str | None], list[float]] = {}
        for weight in self.coefficients:
            by_term.setdefault((weight.column, weight.level), []).append(weight.value)
        intercept = tuple(by_term.pop((None, None)))
        terms = [
            Term(str(column), level, tuple(values), tuple(values))
            for (column, level), values in by_term.items()
        ]
        terms.sort(key=lambda term: -max(map(abs, term.values)))
        labels = tuple(str(label) for label in self.classes)
        note = (
            "The logistic regression that this naive Bayes is: a level, or one unit of a number, "
            "adds its coefficient to the log-odds."
        )
        return Coefficients(
            labels[1:] if len(labels) == 2 else labels, intercept, tuple(terms), note
        )


def logistic_weights(
    classes: tuple[Any, ...], schema: Schema, model: ScoreTerms
) -> LogisticWeights:
    """Read the weights off the terms of a naive Bayes whose variances are shared."""
    slopes, offsets, figures = {}, {}, {}
    for term in model.terms:
        name = term.columns[0]
        if isinstance(term, GaussianTerm):
            slopes[name] = term.mean / term.variance
            offsets[name] = term.weight - term.mean**2 / (2 * term.variance)
        elif isinstance(term, TableTerm):
            figures[name] = term.figures
    return LogisticWeights(classes, schema, model.base.copy(), slopes, offsets, figures)


#: What numbers can be taken as.
ESTIMATES = ("gaussian", "kernel", "cuts", "quantizer")


class NaiveBayes(CountedModel):
    """Classify rows of mixed columns by Bayes' rule, taking the attributes as independent.

    Numbers are cut into intervals (Fayyad & Irani 1993). The cuts are found from the counts: rows
    that are added, forgotten or merged move them as a new fit would. Numbers can also be normal
    densities (sample variance, as Kuo's slides have it) or kernel estimates (John & Langley 1995).
    Missing values are left out of the counts and of the product (Stefanowski's rule), or are a
    value of their own. The words of text columns are counted, too (see `text`).

    Examples
    --------
    Stefanowski's new day (sunny, cool, high, windy), without smoothing: 0.205 against 0.795.

    >>> import countwise as cw
    >>> weather = cw.read("sample:weather")
    >>> model = cw.NaiveBayes(smoothing=0).fit(weather)
    >>> day = {"outlook": ["sunny"], "temperature": ["cool"], "humidity": ["high"],
    ...        "windy": ["TRUE"]}
    >>> dict(zip(model.classes_.tolist(), model.predict_proba(day)[0].round(3).tolist()))
    {'no': 0.795, 'yes': 0.205}
    """

    smoothing: float | str | Smoothing | None = parameter(
        a_smoothing(),
        "pseudo-count added to every count (0 or None: no smoothing), the name of a rule, or "
        "a Laplace or MEstimate object",
        default=1.0,
        kw_only=False,
    )
    numeric: str | Mapping[str, str] = parameter(
        one_of(*ESTIMATES) | mapping(),
        "how numeric columns are modeled: 'gaussian' or 'kernel' densities, 'cuts' (intervals "
        "found for each column by itself) or 'quantizer' (intervals found for all columns "
        "together in fit). A mapping chooses for each column; those it does not name are cut",
        default="cuts",
    )
    prior: str | Mapping[Any, float] | ArrayLike = parameter(
        PRIOR_CONSTRAINT, PRIOR_HELP, default="empirical"
    )
    combine: str = parameter(
        one_of("bayes", "posteriors"),
        "'bayes' computes P(c) Π P(x|c). 'posteriors' computes Π P(c|x), as Liu, Gegov and Cocea "
        "do; this equals 'bayes' with P(c) raised to the power of the number of attributes",
        default="bayes",
    )
    when_missing: str = parameter(
        one_of("omit", "value"),
        "'omit' leaves missing cells out; 'value' treats missing as a level of its own",
        default="omit",
    )
    unseen: str = parameter(
        one_of("ignore", "smooth", "error"),
        "treatment of a level that did not occur in training: 'ignore' leaves the attribute out, "
        "'smooth' gives the level the smoothed probability of a level with count zero, 'error' "
        "raises an error",
        default="ignore",
    )
    variance: str = parameter(
        one_of("sample", "population", "shared"),
        "'sample' divides the squared deviations by n - 1, 'population' by n. 'shared' pools them "
        "over all K classes and divides by n - K; the model is then a logistic regression (see "
        "to_logistic)",
        default="sample",
    )
    min_deviation: float | str = parameter(
        number(at_least=0) | one_of("precision", "weka"),
        "the least standard deviation of a normal density: 'precision', the mean gap between "
        "neighboring values of the column, so that a class whose values hardly vary does not "
        "decide alone; 'weka', a sixth of it; or a number (0: exact densities)",
        default="precision",
    )
    bandwidth: str | float = parameter(
        one_of("silverman", "scott") | number(above=0),
        "bandwidth of kernel densities: the rule of 'silverman' or 'scott', or a number",
        default="silverman",
    )
    cuts: str = parameter(one_of(*METHODS), CUTS_HELP, default="auto")
    bins: int = parameter(whole(at_least=2, at_most=MAX_BINS), BINS_HELP, default=10)

    _vocabularies: dict[str, Any] = derived()
    text: str = parameter(
        one_of("multinomial", "bernoulli"),
        "how words of a text are used: 'multinomial' counts every occurrence of a word, "
        "'bernoulli' uses only whether the text contains each known word",
        default="multinomial",
    )
    bigrams: bool = parameter(
        boolean(), "whether pairs of adjacent words are also counted", default=False
    )
    min_rows: int = parameter(
        whole(at_least=1), "a word is used if at least this many rows contain it", default=1
    )
    max_words: int = parameter(
        whole(at_least=1),
        "largest number of words of a text column; the most frequent ones are used",
        default=100_000,
    )
    stop_words: Any = parameter(
        one_of("english") | names("a list of words", single=False),
        "words to leave out of texts, or 'english' for the usual English ones; pairs that contain "
        "such a word are left out, too",
        default=(),
    )

    def _learn_recode(self, table: Table | Scan, weight: FloatArray | None) -> Recode:
        if isinstance(self.numeric, Mapping):
            names = [column.name for column in table.schema.numeric]
            for name in self.numeric:
                if name not in names:
                    raise ParameterError(
                        f"NaiveBayes: numeric names {name!r}, which is no numeric column."
                        f"{did_you_mean(name, names)} The numeric columns are {listing(names)}."
                    )
        return Recode.learn(table, weight, "quantizer", columns=self._together(table.schema))

    def _together(self, schema: Schema) -> list[str]:
        """Return the columns that are cut by the joint search."""
        return [c.name for c in schema.numeric if self.estimate(c.name) == "quantizer"]

    def fit_counts(self, counts: Counts) -> Self:
        """Learn from counts made elsewhere; more than the plan asks for is welcome."""
        for name in self._together(counts.schema) if isinstance(counts, Counts) else ():
            raise CountsError(
                f"NaiveBayes: numeric='quantizer' needs the rows; got counts of {name!r}. "
                "Call fit(table), or use numeric='cuts'."
            )
        return super().fit_counts(counts)

    def counts_needed(self, schema: Schema) -> Plan | None:
        """Count every attribute by class: tables, moments, fine grids for kernels and cuts.

        None if a column is cut by the joint search, which needs the rows.
        """
        if self._together(schema):
            return None
        normal = tuple(c.name for c in schema.numeric if self.estimate(c.name) == "gaussian")
        fine = tuple(
            c.name
            for c in schema.numeric
            if self.estimate(c.name) != "gaussian" or isinstance(self.min_deviation, str)
        )
        sizes = (1, 2) if self.bigrams else (1,)
        words = tuple((column.name, size) for column in schema.text for size in sizes)
        return Plan(tuple((c.name,) for c in schema.nominal), normal, fine, words)

    def _leave_one_out(self, table: Table, weight: FloatArray | None) -> FloatArray | None:
        """Return the posteriors of every row by the model of all others, one look-up a row.

        Cuts by 'mdl' and 'auto' are found anew without each row. Row by row where a row changes
        more than that: with other cuts, words beyond `max_words`, posteriors multiplied, rows
        without weight, or terms of a subclass.
        """
        plan = self.counts_needed(table.schema)
        weightless = weight is not None and bool((weight <= 0).any())
        other_terms = type(self).terms is not NaiveBayes.terms
        other_cuts = self.cuts not in ("mdl", "auto") and any(
            self.estimate(column.name) == "cuts" for column in table.schema.numeric
        )
        row_by_row = weightless or other_terms or other_cuts or self.combine != "bayes"
        if plan is None or row_by_row:
            return super()._leave_one_out(table, weight)
        from countwise.models.bayes.leave_one_out import posteriors_without_each_row

        counts = count(table, plan, sample_weight=weight)
        fitted = clone(self).fit_counts(counts)
        if not fitted._words_change_alone:
            return super()._leave_one_out(table, weight)
        posteriors, unsure = posteriors_without_each_row(fitted, table, weight)
        posteriors[unsure] = self._without_rows(table, counts, weight, unsure.tolist())
        return posteriors

    def _scores_without(self, left_out: LeftOut) -> FloatArray | None:
        other_terms = type(self).terms is not NaiveBayes.terms
        if other_terms or self.combine != "bayes" or not self._words_change_alone:
            return None
        from countwise.models.bayes.leave_one_out import naive_bayes_scores

        return naive_bayes_scores(self, left_out)

    def _view_counts(self, counts: Counts) -> Counts:
        self.cut_points_ = {
            column.name: cut_points(counts.grids[column.name], self.cuts, self.bins)
            for column in counts.schema.numeric
            if self.estimate(column.name) == "cuts"
        }
        seen = cut_counts(counts, self.cut_points_) if self.cut_points_ else counts
        self.cut_points_ |= self.recode_.cut_points
        return seen

    def _view(self, table: Table) -> Table:
        return cut_table(table, self.cut_points_) if self.cut_points_ else table

    def estimate(self, name: str) -> str:
        """Return what the numbers of a column are taken as."""
        if isinstance(self.numeric, str):
            return self.numeric
        estimate = self.numeric.get(name, "cuts")
        if estimate not in ESTIMATES:
            rule = f"one of {listing(ESTIMATES)}"
            raise ParameterError("NaiveBayes", f"numeric[{name!r}]", rule, estimate)
        return estimate

    def terms(self, counts: Counts) -> ScoreTerms:
        """Return the prior and one term an attribute."""
        self.class_prior_ = prior_of(
            self.prior, self.by_class(counts.weight), self.classes_, "NaiveBayes"
        )
        base = floored_logs(self.class_prior_)
        zeros = np.zeros_like(base)
        base, weight = (zeros, base) if self._multiplies_posteriors else (base, zeros)
        terms: list[Term] = []
        self._vocabularies = {}
        for column in counts.schema.attributes:
            if column.kind == "nominal":
                terms.append(self._table_term(column.name, counts, weight))
            elif column.kind == "text":
                terms.append(self._words_term(column.name, counts, weight))
            elif self.estimate(column.name) == "kernel":
                terms.append(self._kernel_term(column.name, counts, weight))
            else:
                terms.append(self._gaussian_term(column.name, counts, weight))
        return ScoreTerms(base, terms)

    @property
    def _multiplies_posteriors(self) -> bool:
        return self.combine == "posteriors"

    def _table_term(self, name: str, counts: Counts, weight: FloatArray) -> TableTerm:
        every = self.by_class(counts.table(name))
        known = every if self.when_missing == "value" else every[:, :-1]
        rule = smoothing_of(self.smoothing)
        logs = floored_logs(rule.shares(known))
        new = floored_logs(rule.with_unseen(known)[:, -1:])
        # A level no class was ever seen with says nothing when nothing is added to the counts.
        never = (logs <= ZERO).all(axis=0)
        logs[:, never] = 0.0
        blank = np.zeros((len(every), 1))
        omitted = [blank] if self.when_missing == "omit" else []
        smooth = self.unseen == "smooth" and not (new <= ZERO).all()
        figures = np.concatenate([logs, *omitted, new if smooth else blank], axis=1).T
        if self._multiplies_posteriors:
            if self.when_missing == "omit":
                weight = weight + self._log_present(known.sum(axis=1), every[:, -1])
            figures = _normalize(figures + weight)
            figures[np.append(never, [True] * len(omitted) + [not smooth])] = 0.0
        return TableTerm((name,), np.ascontiguousarray(figures))

    def _gaussian_term(self, name: str, counts: Counts, weight: FloatArray) -> GaussianTerm:
        moments, points = counts.moments[name], np.zeros(1)
        if isinstance(self.min_deviation, str):
            grid = counts.grids[name]
            points = grid.points[grid.table[:-1].any(axis=0)]
        least = self.least_deviation(np.ptp(points) if len(points) else 0.0, len(points))
        mean, variance = estimate_normal(moments, self._present, self.variance, least)
        present, absent = self._presence(
            self.by_class(moments.weight), self.by_class(moments.missing), weight
        )
        normalize = self._multiplies_posteriors
        return GaussianTerm((name,), mean, variance, weight + present, absent, normalize)

    def least_deviation(
        self, width: float | FloatArray, number: int | NDArray[np.intp]
    ) -> FloatArray:
        """Return the least deviation of a column of this range and so many distinct values."""
        if not isinstance(self.min_deviation, str):
            return np.asarray(float(self.min_deviation))
        parts = 6 if self.min_deviation == "weka" else 1
        gap = np.asarray(width) / parts / np.maximum(np.asarray(number) - 1, 1)
        return np.asarray(np.where(np.asarray(number) > 1, gap, 0.0))

    def _kernel_term(self, name: str, counts: Counts, weight: FloatArray) -> KernelTerm:
        from countwise.models.bayes.kernel_density import density_of

        grid = counts.grids[name]
        points, table = grid.points, self.by_class(grid.table)
        everywhere = table.sum(axis=0)
        # No bump is narrower than a sixth of the usual gap between values: they were rounded so.
        seen_at = points[everywhere > 0]
        least = float(np.median(np.diff(seen_at / 6))) if len(seen_at) > 1 else 1.0
        densities = []
        for counted in table:
            share = counted if counted.sum() > 0 else everywhere
            filled = share > 0
            densities.append(density_of(points[filled], share[filled], self.bandwidth, least))
        present, absent = self._presence(table.sum(axis=1), self.by_class(grid.missing), weight)
        normalize = self._multiplies_posteriors
        return KernelTerm((name,), tuple(densities), weight + present, absent, normalize)

    def _words_term(self, name: str, counts: Counts, weight: FloatArray) -> WordsTerm:
        from countwise.models.bayes.stop_words import stop_list
        from countwise.models.bayes.words import (
            Vocabulary,
            WordsTerm,
            bernoulli_logs,
            join,
            multinomial_logs,
        )

        kept = Vocabulary.choose(
            counts, name, self.min_rows, self.max_words, stop_list(self.stop_words)
        )
        self._vocabularies[name] = kept
        rule, seen = smoothing_of(self.smoothing), counts.words[name, 1]
        by_class = self.by_class(seen.weight), self.by_class(seen.missing)
        present, absent = self._presence(*by_class, weight)
        figures, base = np.zeros((len(kept.places), len(self.classes_))), present
        what = "rows" if self.text == "bernoulli" else "times"
        cells = self.by_class(join(counts, name, kept.sizes, what))[:, kept.places]
        if self.text == "bernoulli":
            held, lacking = bernoulli_logs(cells, self.by_class(seen.weight)[:, None], rule)
            figures, base = (held - lacking).T, present + lacking.sum(axis=1)
        elif len(kept.places):
            figures = multinomial_logs(cells, rule).T
        return WordsTerm(
            (name,),
            tuple(zip(kept.sizes, kept.words(counts), strict=True)),
            np.ascontiguousarray(figures),
            base,
            absent,
            self.text == "bernoulli",
            weight if self._multiplies_posteriors else None,
        )

    @property
    def _words_change_alone(self) -> bool:
        """Whether a row changes no figures but those of its words and of its class."""
        if any(kept.is_cut for kept in self._vocabularies.values()):
            return False
        rule = smoothing_of(self.smoothing)
        # Some rules smooth a class by what is known of the others.
        looks_across = rule.by == "classes" if isinstance(rule, Laplace) else rule.p == "overall"
        return not (self._vocabularies and self.text == "bernoulli" and looks_across)

    def _family_notes(self) -> tuple[Note, ...]:
        return tuple(
            Note.of("W03", name, words=kept.found, kept=len(kept.places))
            for name, kept in self._vocabularies.items()
            if kept.is_cut
        )

    def _build_explanation(self, table: Table, parts: FloatArray, joint: FloatArray) -> Explanation:
        why = super()._build_explanation(table, parts, joint)
        if table.schema.text:
            from countwise.models.bayes.words import name_words

            why = name_words(why, table, self._model.terms)
        if not self._multiplies_posteriors or not (silent := self._is_silent(joint)).any():
            return why
        # The prior of rows without any value has no place in the base, which all rows share.
        last = np.where(silent[:, None], self._silent_scores, 0.0)[:, None, :]
        return replace(
            why,
            attributes=(*why.attributes, "prior"),
            values=tuple((*line, "") for line in why.values),
            parts=np.concatenate([why.parts, last], axis=1),
        )

    def _presence(
        self, seen: FloatArray, missing: FloatArray, weight: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return log shares of present and of missing cells by class, where they count."""
        if self.when_missing == "omit":
            zeros = np.zeros(len(self.classes_))
            present = self._log_present(seen, missing) if self._multiplies_posteriors else zeros
            return present, zeros
        present, absent = presence_logs(seen, missing, smoothing_of(self.smoothing))
        if self._multiplies_posteriors and absent.any():
            absent = _normalize((absent + weight)[None, :])[0]
        return present, absent

    def _log_present(self, seen: FloatArray, missing: FloatArray) -> FloatArray:
        """Return by class the log share of rows that have a value.

        The prior times this share is P(c) among the rows with a value: missing cells then change
        no P(c | x).
        """
        if not smoothing_of(self.smoothing).share(np.zeros(1), np.ones(1), 2).any():
            some = seen
        else:  # no class is ruled out: one without any value counts as one row
            some = np.where(seen > 0, seen, np.minimum(missing, 1.0))
        every = seen + missing
        share = np.divide(some, every, out=np.ones_like(every), where=every > 0)
        return floored_logs(share)

    @property
    def sum_of_terms(self) -> ScoreTerms | None:
        """The prior and the terms whose sum is the score of a row; None if there is more to it."""
        return None if self._multiplies_posteriors else super().sum_of_terms

    def _raw_scores(self, table: Table) -> FloatArray:
        scores = super()._raw_scores(table)
        if self._multiplies_posteriors:
            # No attribute adds anything: the prior is left.
            scores[np.all(scores == 0.0, axis=1)] = self._silent_scores
        return scores

    @property
    def _silent_scores(self) -> FloatArray:
        if not self._multiplies_posteriors:
            return super()._silent_scores
        return logs_of(self.class_prior_)

    def _best(self, table: Table) -> NDArray[np.int64]:
        if self._multiplies_posteriors:
            return np.asarray(self._raw_scores(table).argmax(axis=1))
        return super()._best(table)

    def to_logistic(self) -> LogisticWeights:
        """Return the weights of the logistic regression that this model is, in closed form.

        Numbers must be normal with one variance for all classes (``variance="shared"``).

        Examples
        --------
        >>> import countwise as cw
        >>> model = cw.NaiveBayes(numeric="gaussian", variance="shared", min_deviation=0)
        >>> model = model.fit([[0.0], [2.0], [3.0], [5.0]], [*"aabb"])
        >>> [round(weight.value, 3) for weight in model.to_logistic().coefficients]
        [-3.75, 1.5]
        """
        check_is_fitted(self, "counts_")
        kinds = {self.estimate(column.name) for column in self.schema_.numeric}
        plain = self.combine == "bayes" and self.when_missing == "omit" and not kinds - {"gaussian"}
        if not plain or (kinds and self.variance != "shared"):
            raise ParameterError(
                "NaiveBayes: log-odds are linear only with variance='shared', numeric='gaussian', "
                f"combine='bayes' and when_missing='omit'; got {self!r}.",
                hint="Fit it with numeric='gaussian' and variance='shared' (on the command line "
                "--param numeric=gaussian --param variance=shared).",
            )
        for column in self.schema_.text:
            raise ParameterError(
                "NaiveBayes: logistic weights are those of nominal and numeric columns; "
                f"{column.name!r} is text. Leave it out with `drop=`."
            )
        weights = logistic_weights(tuple(self.classes_.tolist()), self.schema_, self._model)
        return weights.divided_by(self.temperature_)

    def views(self) -> Sequence[View]:
        """Return the probability tables and the densities."""
        from countwise.models.bayes.views import naive_bayes_views

        check_is_fitted(self, "counts_")
        return naive_bayes_views(self)


def _normalize(joint: FloatArray) -> FloatArray:
    """Normalize log figures over the classes (columns), keeping the logs of zero."""
    top = joint.max(axis=1, keepdims=True)
    total = top + np.log(np.exp(np.maximum(joint - top, -745.0)).sum(axis=1, keepdims=True))
    return np.where(joint <= ZERO / 2, ZERO, joint - total)
