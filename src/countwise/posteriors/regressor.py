"""What models that predict a number from kept rows share: reading rows and targets, and a space."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import assert_all_finite, column_or_1d

from countwise.counts.metrics import METRICS, SCALES
from countwise.errors import TableError
from countwise.params import Parameter, array, infinity, mapping, nothing, number, one_of
from countwise.posteriors.base import TableReader, check_lengths, in_our_family, sized, weighty
from countwise.posteriors.keeper import Keeper
from countwise.posteriors.spaces import Wanted, learned_space
from countwise.tables.read import read
from countwise.tables.table import Table

Doubles = NDArray[np.float64]

#: Targets beyond this are divided by a power of two, which loses nothing.
_LARGE = 1e100
#: Distances that need no classes.
DISTANCE_PARAMETERS: Mapping[str, Parameter] = {
    "metric": Parameter(
        one_of(*(name for name in METRICS if name not in ("vdm", "hvdm"))), "how far apart rows are"
    ),
    "p": Parameter(number(at_least=1) | infinity(), "exponent of minkowski"),
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
    _unit: float

    def fit(
        self, X: Any, y: ArrayLike | str | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Keep the rows and the numbers to predict, and learn the space.

        `y` is one number a row, or the name of the column of X that holds them.
        """
        self._check_parameters()
        table, target = self._measured(X, y)
        rows, weight, heavy, _ = weighty(type(self).__name__, table, sample_weight)
        own = target if heavy is None else target[heavy]
        space, _, notes = learned_space(Wanted.of(self), rows, weight)
        self.notes_ = (*table.notes, *notes)
        return self.keep(rows, weight, space, None, np.ascontiguousarray(own), heavy)

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
            with in_our_family(who):
                target = column_or_1d(y, warn=True)
            check_lengths(who, len(sized(X)), len(target))
            table = read(X, nominal=self.nominal, identifiers="keep")
        return table, self._finite(target, len(table))

    def _finite(self, y: Any, rows: int) -> Doubles:
        who = type(self).__name__
        given = np.asarray(y)
        if given.dtype.kind in "Mmc":
            raise TableError(
                f"{who}: the numbers to predict must be plain numbers, but {given.dtype} came. "
                "Convert them, to days or to a size for instance."
            )
        try:
            target = np.asarray(column_or_1d(y, warn=True), dtype=np.float64)
        except (TypeError, ValueError) as why:
            raise TableError(
                f"{who}: the numbers to predict must be numbers, one a row, but {why}. Convert "
                "them, or leave out the rows that have none."
            ) from None
        with in_our_family(who):
            assert_all_finite(target, input_name="y")
        check_lengths(who, rows, len(target))
        return target

    def predict(self, X: Any) -> Doubles:
        """Return the number expected for each row."""
        with np.errstate(over="ignore"):
            answers = self._answers(self._rows(X)) * self._unit
        # A plane may rise beyond what a double holds.
        return np.nan_to_num(answers, copy=False)

    def _answers(self, table: Table) -> Doubles:
        """The answers in units of the targets that `_small_targets` gave."""
        raise NotImplementedError

    def _small_targets(self) -> Doubles:
        """The targets in a unit in which no sum of them overflows; usual ones as they are."""
        given = np.zeros(len(self.rows_)) if self.target_ is None else self.target_
        largest = float(np.abs(given).max(initial=0.0))
        self._unit = 2.0 ** (math.frexp(largest)[1] - 1) if largest > _LARGE else 1.0
        return given if self._unit == 1.0 else given / self._unit

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
