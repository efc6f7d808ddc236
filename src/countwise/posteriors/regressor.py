"""What models that predict a number from kept rows share: reading rows and targets, and a space."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import assert_all_finite, check_consistent_length, column_or_1d

from countwise.counts.metrics import METRICS, SCALES
from countwise.errors import TableError
from countwise.params import Parameter, array, mapping, nothing, number, one_of
from countwise.posteriors.base import TableReader
from countwise.posteriors.keeper import Keeper
from countwise.posteriors.spaces import Wanted, learned_space
from countwise.tables.read import read
from countwise.tables.table import Table

__all__ = ["DISTANCE_PARAMETERS", "KeptRegressor"]

Doubles = NDArray[np.float64]

#: Distances that need no classes.
DISTANCE_PARAMETERS: Mapping[str, Parameter] = {
    "metric": Parameter(
        one_of(*(name for name in METRICS if name not in ("vdm", "hvdm"))), "how far apart rows are"
    ),
    "p": Parameter(number(at_least=1), "exponent of minkowski"),
    "scale": Parameter(one_of(*SCALES) | nothing(), "what a number is divided by"),
    "missing": Parameter(one_of("far", "ignore") | nothing(), "what a missing cell does"),
    "attribute_weights": Parameter(
        mapping() | array() | nothing(), "factors by which axes are stretched"
    ),
}


class KeptRegressor(Keeper, RegressorMixin, TableReader):
    """A scikit-learn regressor that keeps its rows; a model fills in `_settle` and `_answers`."""

    metric: str
    p: float
    scale: str | None
    missing: str | None
    attribute_weights: Any
    nominal: Any
    drop_least = 0.0

    def fit(
        self, X: Any, y: ArrayLike | str | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Keep the rows and the numbers to predict, and learn the space.

        Parameters
        ----------
        X
            A data frame, an array, or a `Table`.
        y
            One number a row, or the name of the column of X that holds them.
        sample_weight
            One weight a row; an integer weight equals repeating the row.
        """
        self._check_parameters()
        table, target = self._measured(X, y)
        rows, weight, heavy = self._weighty(table, sample_weight)
        own = target if heavy is None else target[heavy]
        space, _, notes = learned_space(Wanted.of(self), rows, weight)
        self.notes_ = (*table.notes, *notes)
        return self.keep(rows, weight, space, None, np.ascontiguousarray(own))

    def _measured(self, X: Any, y: Any) -> tuple[Table, Doubles]:
        """The rows without any class, and the numbers to predict."""
        who = type(self).__name__
        if y is None:
            raise TableError(
                f"{who} requires y to be passed, but the target y is None. Pass one number a row, "
                "or the name of the column that holds them."
            )
        if isinstance(y, str):
            table = X if isinstance(X, Table) else read(X, numeric=[y], identifiers="keep")
            target = table.values(y)
            self._go_by_name()
            table = _without(table, y)
        elif isinstance(X, Table):
            self._go_by_name()
            table, target = _without(X, None), y
        else:
            X = self._shaped(X, reset=True)
            target = column_or_1d(y, warn=True)
            first = next(iter(X.values()), []) if isinstance(X, Mapping) else X
            check_consistent_length(first, target)
            table = read(X, nominal=self.nominal, identifiers="keep")
        return table, self._finite(target, len(table))

    def _finite(self, y: Any, rows: int) -> Doubles:
        who = type(self).__name__
        try:
            target = np.asarray(column_or_1d(y, warn=True), dtype=np.float64)
        except ValueError as why:
            raise TableError(
                f"{who}: the numbers to predict must be numbers, one a row, but {why}"
            ) from None
        assert_all_finite(target, input_name="y")
        if len(target) != rows:
            raise TableError(
                f"{who}: there must be one number a row, but {rows} rows and {len(target)} came."
            )
        return target

    def predict(self, X: Any) -> Doubles:
        """Return the number expected for each row."""
        return self._answers(self._rows(X))

    def _answers(self, table: Table) -> Doubles:
        raise NotImplementedError

    def _done_with_unseen(self, policy: str) -> str:
        return "compared as unlike any other"


def _without(table: Table, name: str | None) -> Table:
    """The table without a class and without this column."""
    schema = table.schema.without_target()
    if name is None and schema == table.schema:
        return table
    data = {c.name: table.raw_array(c.name) for c in schema.attributes if c.name != name}
    kept = tuple(column for column in schema if column.name != name)
    if not data:
        raise TableError(
            "Table: at least one column is needed beside the numbers to predict, but none is left."
        )
    return Table(type(schema)(kept), data, table.notes, table.unseen, len(table))
