"""The base of models that count attributes together; rows are recoded before they are counted.

The recode is learned once, in `fit` (or the first `partial_fit`); later rows are counted in the
same intervals, so that `partial_fit`, `forget` and `merge` stay sums.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

from sklearn.utils.validation import check_is_fitted

from countwise._typing import FloatArray
from countwise.counts.counts import Counts
from countwise.counts.plan import Plan
from countwise.counts.smoothing import Smoothing, smoothing_of
from countwise.discretize.cut_points import METHODS
from countwise.discretize.rare_levels import width_limit
from countwise.discretize.recode import Recode
from countwise.errors import CountsError
from countwise.models.bayes.conditional_tables import child_figures, prior_logs
from countwise.models.bayes.counted import CountedModel
from countwise.models.bayes.score_terms import ScoreTerms, TableTerm
from countwise.params import one_of, parameter, whole
from countwise.tables.schema import Level, Schema
from countwise.tables.table import Table

if TYPE_CHECKING:
    from countwise.models.views import View


class JointClassifier(CountedModel):
    """A counted model of every two attributes, the numeric ones cut into intervals.

    The parameters, cut points and views that TAN, AODE and KDB share.
    """

    smoothing: Any  # each model says which it takes
    cuts: str = parameter(
        one_of(*METHODS),
        "how numbers are cut into intervals before counting, from the training rows alone: equal "
        "'width', equal 'frequency', 'two-way', or 'mdl' (Fayyad & Irani 1993)",
        default="width",
    )
    bins: int = parameter(
        whole(at_least=2), "how many intervals 'width' and 'frequency' make", default=10
    )
    unseen: str = parameter(
        one_of("ignore", "error"),
        "what a level that training never saw does: 'ignore' leaves the attribute out, 'error' "
        "refuses the rows",
        default="ignore",
    )
    numeric: str = parameter(
        one_of("cuts", "quantizer"),
        "'cuts' cuts each column by itself; 'quantizer' searches all boundaries together, once, "
        "in fit (see Quantizer)",
        default="cuts",
    )

    def counts_needed(self, schema: Schema) -> Plan | None:
        """Count every two attributes by class; None if some are numeric or tables too large."""
        target, widths = schema.target, [column.width for column in schema.nominal]
        if schema.numeric or (target is not None and width_limit(widths, target.width) is not None):
            return None
        return self._plan(schema)

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

    def _learn_recode(self, table: Table, weight: FloatArray | None) -> Recode:
        method = "quantizer" if self.numeric == "quantizer" else self.cuts
        recode = Recode.learn(table, weight, method, self.bins)
        return recode.for_pairs(table, weight, self.cuts, type(self).__name__)

    def fit_counts(self, counts: Counts) -> Self:
        """Learn from counts of nominal columns made elsewhere."""
        for column in counts.schema.numeric:
            raise CountsError(
                f"{type(self).__name__}: attributes are counted together, so numbers must be cut "
                f"before counting; {column.name!r} is numeric. Cut the table, or call fit(table)."
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

    def _dependencies(self) -> Mapping[str, Sequence[tuple[str, float]]] | None:
        """Return each attribute's parents and the bits they share; None without such a graph."""
        return None

    def views(self) -> Sequence[View]:
        """Return the graph of dependencies, if there is one, and the probability tables."""
        from countwise.models.bayes.views import joint_views

        check_is_fitted(self, "counts_")
        return joint_views(self, self._dependencies())
