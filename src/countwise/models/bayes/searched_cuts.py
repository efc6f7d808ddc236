"""Cuts of numbers found by the joint search of `Quantizer`, for models that count intervals.

The search needs the rows, not their counts. So the cuts are found once, in `fit` or the first
`partial_fit`, and later rows are counted in the same intervals; cross-validation refits each part.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from countwise._typing import FloatArray
from countwise.counts.counts import Counts, merge_schemas
from countwise.discretize.cut_points import cut_table
from countwise.discretize.recode import CUT_NOTES
from countwise.errors import CountsError
from countwise.models.bayes.counted import CountedModel
from countwise.notes import Note
from countwise.params import derived
from countwise.tables.schema import Schema
from countwise.tables.table import Table


class KeepsCuts(CountedModel):
    """A counted classifier some of whose numbers are cut before counting, once and for all."""

    _searched: Mapping[str, FloatArray] = derived()
    _cut_notes: tuple[Note, ...] = derived()

    def _coded(self, table: Table) -> Table:
        return cut_table(table, self._searched) if self._searched else table

    def _input_schema(self, counts: Counts, table: Table | None) -> Schema:
        if not self._searched:
            return counts.schema
        known = self.schema_ if table is None else table.schema
        return known.with_columns(counts.schema[own.name] for own in known if own.coded)

    def _learn(self, counts: Counts, table: Table | None = None) -> Self:
        super()._learn(counts, table)
        told = [note for note in self._cut_notes if note not in self.notes_]
        self.notes_ = (*self.notes_, *told)
        return self

    def fit_counts(self, counts: Counts) -> Self:
        """Learn from counts made elsewhere; more than the plan asks for is welcome."""
        self._searched, self._cut_notes = {}, ()
        return super().fit_counts(counts)

    def learned(self) -> dict[str, Any]:
        """What beside the counts makes the model what it is, as plain data, for the store."""
        if not self._searched:
            return {}
        return {
            "schema": self.schema_.to_dict(),
            "cut_points": {name: points.tolist() for name, points in self._searched.items()},
        }

    def restore(self, counts: Counts, learned: Mapping[str, Any]) -> Self:
        """Become the model that these counts and `learned` describe."""
        if not learned:
            return super().restore(counts, learned)
        self._check_parameters()
        self._searched = {
            name: np.asarray(points, dtype=np.float64)
            for name, points in learned["cut_points"].items()
        }
        self._cut_notes = tuple(own for own in self.notes_ if own.code in CUT_NOTES)
        self.schema_ = Schema.from_dict(learned["schema"])
        self._match_columns_by_name()
        self._given = {own.name: own.levels for own in counts.schema if own.coded}
        return self._learn(counts.restricted(self._plan(counts.schema)))

    def merge(self, other: CountedModel) -> Self:
        """Add what another model of the same kind and the same cuts has counted."""
        check_is_fitted(self, "counts_")
        if isinstance(other, type(self)):
            mine, theirs = self._searched, getattr(other, "_searched", {})
            if mine.keys() != theirs.keys() or any(
                not np.array_equal(mine[name], theirs[name]) for name in mine
            ):
                raise CountsError(
                    f"{type(self).__name__}: only models that cut numbers alike merge, but these "
                    "found different boundaries. Fit one model, and add the other rows with "
                    "partial_fit."
                )
            if mine:
                self.schema_ = merge_schemas(self.schema_, other.schema_)
        return super().merge(other)

    def __add__(self, other: object) -> Self:
        """Return a new model of the rows of both."""
        if self._searched and isinstance(other, CountedModel):
            return copy(self).merge(other)
        return super().__add__(other)
