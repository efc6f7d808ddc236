"""Models that count attributes together: numbers are cut, and rare levels folded, before counting.

Tables of two columns grow with the product of their levels. Where all of them together would not
fit in memory, the rare levels of the widest columns become one level (numbers are cut into fewer
intervals), and a note says so.

The cuts and folds are learned once, in `fit` (or the first `partial_fit`), from counts of those
rows; later rows are counted in the same intervals, so that `partial_fit`, `forget` and `merge` stay
sums. Two models merge only if they cut and fold alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from countwise._typing import FloatArray
from countwise.counts.count_rows import count
from countwise.counts.counts import Counts, merge_schemas
from countwise.counts.histogram import Grid
from countwise.counts.plan import Plan
from countwise.discretize.cut_points import METHODS, cut_points, cut_table
from countwise.discretize.rare_levels import (
    fold_table,
    frequent_levels,
    too_many_columns,
    width_limit,
)
from countwise.discretize.recode import CUT_NOTES, searched_cuts
from countwise.errors import CountsError, TableError
from countwise.models.bayes.counted import CountedModel
from countwise.notes import Note
from countwise.params import fitted, one_of, parameter, whole
from countwise.tables.schema import Level, Schema
from countwise.tables.table import Table
from countwise.tables.weights import read_weights

if TYPE_CHECKING:
    from countwise.models.views import View


class JointClassifier(CountedModel):
    """A counted classifier of nominal columns and of numbers cut into intervals."""

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
    cut_points_: dict[str, FloatArray] = fitted("by numeric column, where it is cut")
    kept_levels_: dict[str, tuple[Level, ...]] = fitted(
        "by column with too many levels, those that are told apart"
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

    def _wishes(self) -> dict[str, Any]:
        return {"nominal": self.nominal, "identifiers": "keep"}

    def _prepare(self, table: Table, sample_weight: ArrayLike | None) -> None:
        weight = read_weights(sample_weight, len(table), type(self).__name__)
        numeric = tuple(column.name for column in table.schema.numeric)
        grids: Mapping[str, Grid] = {}
        if numeric:
            grids = count(table, Plan(grids=numeric), sample_weight=weight).grids
        self._cut_notes: tuple[Note, ...] = ()
        if self.numeric == "quantizer":
            self.cut_points_, self._cut_notes = searched_cuts(table, numeric, weight)
        else:
            self.cut_points_ = {n: cut_points(grids[n], self.cuts, self.bins) for n in numeric}
        self.kept_levels_ = {}
        self._coarser: tuple[str, ...] = ()
        widths = [column.width for column in table.schema.nominal]
        widths += [len(points) + 1 for points in self.cut_points_.values()]
        classes = table.target_column.width
        limit = width_limit(widths, classes)
        if limit is None:
            return
        if too_many_columns(widths, classes):
            raise TableError(
                f"{type(self).__name__}: every two columns are counted together, but tables of "
                f"{len(widths)} columns do not fit in memory. Choose columns with table.select."
            )
        self._coarser = tuple(n for n, own in self.cut_points_.items() if len(own) >= limit)
        for name in self._coarser:
            method = self.cuts if self.cuts == "width" else "frequency"
            self.cut_points_[name] = cut_points(grids[name], method, limit)
        plan = Plan(tuple((column.name,) for column in table.schema.nominal))
        self.kept_levels_ = frequent_levels(count(table, plan, sample_weight=weight), limit)

    def _fold_notes(self, before: Sequence[Note]) -> tuple[Note, ...]:
        """What to say about tables made smaller; `before` are the notes so far."""
        why = ", so that tables of two columns fit in memory"
        folded = [
            Note.of("P01", name, levels=len(levels), why=why)
            for name, levels in self.kept_levels_.items()
        ]
        coarser = [Note.of("P03", name, why=why) for name in self._coarser]
        return (*folded, *coarser, *getattr(self, "_cut_notes", ()))

    def _coded(self, table: Table) -> Table:
        table = cut_table(table, self.cut_points_) if self.cut_points_ else table
        return fold_table(table, self.kept_levels_) if self.kept_levels_ else table

    def _view(self, table: Table) -> Table:
        return self._coded(table)

    def _loses_levels(self, name: str, counts: Counts) -> bool:
        # The levels that stay beside the folded ones were chosen once.
        return name not in self.kept_levels_ and super()._loses_levels(name, counts)

    def _input_schema(self, counts: Counts, table: Table | None) -> Schema:
        if not self.cut_points_ and not self.kept_levels_:
            return counts.schema
        known = self.schema_ if table is None else table.schema
        # What is neither cut nor folded is counted as it comes, so both know the same levels.
        return known.with_columns(
            counts.schema[column.name]
            for column in known
            if column.coded and column.name not in self.kept_levels_
        )

    def fit_counts(self, counts: Counts) -> Self:
        """Learn from counts of nominal columns made elsewhere."""
        if counts.schema.numeric:
            lost = counts.schema.numeric[0].name
            raise CountsError(
                f"{type(self).__name__}: attributes are counted together, so numbers must be cut "
                f"before counting, but {lost!r} is numeric. Cut the table, or call fit(table)."
            )
        self.cut_points_, self.kept_levels_, self._coarser = {}, {}, ()
        self._cut_notes = ()
        return super().fit_counts(counts)

    def fit_cut(self, counts: Counts, points: Mapping[str, FloatArray], table: Table) -> Self:
        """Learn from counts of a table whose numbers were cut at these points.

        What `fit` would do with rows of `table` that have these counts and these cuts.
        """
        self._check_parameters()
        self._named = ()
        self.cut_points_, self.kept_levels_, self._coarser = dict(points), {}, ()
        self._match_columns_by_name()
        self._given = {c.name: c.levels for c in table.schema if c.coded}
        return self._learn(counts.restricted(self._plan(counts.schema)), table)

    def _learn(self, counts: Counts, table: Table | None = None) -> Self:
        before = getattr(self, "notes_", ())
        super()._learn(counts, table)
        self.notes_ = (
            *(n for n in self.notes_ if n.code not in ("P01", "P02", "P03", *CUT_NOTES)),
            *self._fold_notes(before),
        )
        return self

    def learned(self) -> dict[str, Any]:
        """What beside the counts makes the model what it is, as plain data, for the store."""
        return {
            "schema": self.schema_.to_dict(),
            "cut_points": {name: points.tolist() for name, points in self.cut_points_.items()},
            "kept_levels": {name: list(levels) for name, levels in self.kept_levels_.items()},
            "coarser": list(self._coarser),
        }

    def restore(self, counts: Counts, learned: Mapping[str, Any]) -> Self:
        """Become the model that these counts and `learned` describe."""
        self._check_parameters()
        self.cut_points_ = {
            name: np.asarray(points, dtype=np.float64)
            for name, points in learned["cut_points"].items()
        }
        self.kept_levels_ = {name: tuple(own) for name, own in learned["kept_levels"].items()}
        self._coarser = tuple(learned["coarser"])
        self._cut_notes = tuple(n for n in getattr(self, "notes_", ()) if n.code in CUT_NOTES)
        self._given = {c.name: c.levels for c in counts.schema if c.coded}
        self.schema_ = Schema.from_dict(learned["schema"])
        self._match_columns_by_name()
        return self._learn(counts.restricted(self._plan(counts.schema)))

    def merge(self, other: CountedModel) -> Self:
        """Add what another model of the same kind and the same cuts has counted."""
        check_is_fitted(self, "counts_")
        theirs = getattr(other, "cut_points_", {})
        mine = self.cut_points_
        if type(other) is type(self) and (
            mine.keys() != theirs.keys()
            or any(not np.array_equal(mine[name], theirs[name]) for name in mine)
            or self.kept_levels_ != getattr(other, "kept_levels_", {})
        ):
            raise CountsError(
                f"{type(self).__name__}: only models that cut numbers and fold levels alike merge. "
                "Cut the tables first, with the same intervals."
            )
        if (mine or self.kept_levels_) and type(other) is type(self):
            self.schema_ = merge_schemas(self.schema_, other.schema_)
        return super().merge(other)

    def __add__(self, other: object) -> Self:
        """Return a new model of the rows of both."""
        if not isinstance(other, CountedModel):
            return NotImplemented
        return copy(self).merge(other)

    def _dependencies(self) -> Mapping[str, Sequence[tuple[str, float]]] | None:
        """Each attribute with its parents and the bits they share; None without such a graph."""
        return None

    def views(self) -> Sequence[View]:
        """Return the graph of dependencies, if there is one, and the probability tables."""
        from countwise.models.bayes.views import joint_views

        check_is_fitted(self, "counts_")
        return joint_views(self, self._dependencies())
