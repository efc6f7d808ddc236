"""What models that keep rows share: the rows, their weights, the space, and how they come back."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import assert_all_finite, check_is_fitted, column_or_1d

from countwise._typing import FloatArray
from countwise.errors import TableError
from countwise.models.base import Classifier
from countwise.models.neighbors.explanation import (
    NeighborExplanation,
    Neighborhood,
    explained,
    neighborhood,
)
from countwise.models.neighbors.fit_space import Wanted, learned_space
from countwise.models.neighbors.index import Kept
from countwise.models.neighbors.metrics import METRICS, SCALES
from countwise.models.neighbors.space import Space
from countwise.models.neighbors.votes import Electorate, shares_of_votes
from countwise.params import (
    array,
    derived,
    fitted,
    infinity,
    mapping,
    nothing,
    number,
    one_of,
    parameter,
)
from countwise.tables.estimator import (
    TableEstimator,
    as_table_error,
    check_lengths,
    drop_zero_weight,
    n_rows_of,
)
from countwise.tables.read import read
from countwise.tables.schema import Column
from countwise.tables.table import Table

if TYPE_CHECKING:
    from countwise.models.views import View

Rows = NDArray[np.int64]


#: Any exponent of a distance; with an infinite one the largest difference alone is left.
POWER = number(at_least=1) | infinity()


class StoredRowsModel(TableEstimator):
    """A model whose memory is rows: ``rows_`` in ``space_``, and what else each of them brings.

    A model fills in `_settle`, which makes it ready to be asked.
    """

    metric: str = parameter(
        one_of(*METRICS),
        "'euclidean', 'manhattan', 'maximum', 'minkowski', 'mahalanobis', 'overlap', 'vdm', "
        "'hvdm', 'heom' or 'gower'; see neighbors.metrics.learn_space",
        default="euclidean",
    )
    p: float = parameter(
        POWER,
        "the exponent of 'minkowski' and 'vdm', at least 1; infinity takes the largest "
        "difference alone",
        default=2.0,
    )
    scale: str | None = parameter(
        one_of(*SCALES) | nothing(),
        "what a number is divided by: its 'range', its standard deviation ('z'), or nothing",
        default="range",
    )
    when_missing: str | None = parameter(
        one_of("far", "ignore") | nothing(),
        "a missing cell is as 'far' as its column reaches, or is left out ('ignore') and the "
        "others rescaled; None: far, but ignored by 'gower'",
        default=None,
    )
    attribute_weights: Any = parameter(
        one_of("information", "relief") | mapping() | array() | nothing(),
        "factors by which axes are stretched: given (one an attribute, or by name), or learned: "
        "'information' (bits about the class) or 'relief' (nearest misses against hits)",
        default=None,
    )
    space_: Space = fitted("where rows are compared")
    rows_: Table = fitted("the stored rows")
    sample_weight_: FloatArray | None = fitted("their weights, if there are any")
    target_: FloatArray | None = fitted("the numbers to predict, for regressors")
    relevance_: FloatArray | None = fitted("what the attributes were found to be worth")
    places_: Rows | None = fitted("which training rows they are; None: all of them")
    _kept: Kept = derived()

    @property
    def n_rows_(self) -> int:
        """How many rows are kept."""
        return len(self.rows_)

    def keep(
        self,
        table: Table,
        weight: FloatArray | None,
        space: Space,
        relevance: FloatArray | None = None,
        target: FloatArray | None = None,
        places: NDArray[np.integer[Any]] | None = None,
    ) -> Self:
        """Become the model of these rows in this space.

        Parameters
        ----------
        table
            The rows; every one of them weighs something.
        weight
            One weight a row, or None.
        space
            Where they are compared.
        relevance
            What the attributes were found to be worth, if that was learned.
        target
            The numbers to predict, for regressors.
        places
            Where the rows stood among those that came, from 0; None where none was left out.
        """
        self.rows_, self.sample_weight_, self.space_ = table, weight, space
        self.relevance_, self.target_ = relevance, target
        self.places_ = None if places is None else places.astype(np.int64)
        self._settle()
        return self

    def _settle(self) -> None:
        """Make the rows ready to be searched."""
        raise NotImplementedError

    def neighborhood(self, rows: Table, k: int) -> Neighborhood:
        """Find the k nearest kept rows of each query, by the numbers they came with."""
        return neighborhood(self._kept, rows, k, self.places_, self.target_)

    def _after_load(self) -> None:
        rows, number = self.rows_, self.n_rows_
        columns = [
            own.shape
            for own in (self.sample_weight_, self.target_, self.places_)
            if own is not None
        ]
        if not number or any(shape != (number,) for shape in columns):
            raise TableError("Rows: there must be one weight, number and place for each row.")
        if self.sample_weight_ is not None and not np.all(
            (self.sample_weight_ > 0) & (self.sample_weight_ < math.inf)
        ):
            raise TableError("Rows: their weights must be positive numbers.")
        if self.target_ is not None and not np.isfinite(self.target_).all():
            raise TableError("Rows: the numbers to predict must be finite.")
        attributes = rows.schema.attributes
        if self.space_.attributes != attributes or not all(
            map(Column.same_levels, self.space_.attributes, attributes)
        ):
            raise TableError("Rows: the space must be that of their columns.")
        if self.relevance_ is not None and self.relevance_.shape != (len(attributes),):
            raise TableError("Rows: there must be one relevance for each column.")
        self._settle()

    def _summary(self) -> dict[str, Any]:
        return {"rows": self.n_rows_}


class RowVoter(StoredRowsModel, Classifier):
    """A classifier whose kept rows vote; a model fills in `fit` and `votes_by`."""

    drop_least: float = parameter(
        number(at_least=0),
        "leave out so many of the least relevant attributes (below 1: that fraction of them), by "
        "the learned weights or by their bits about the class",
        default=0,
    )

    @property
    def votes_by(self) -> tuple[int, Any]:
        """How many neighbours vote, and by which weights."""
        raise NotImplementedError

    def _settle(self) -> None:
        table = self.rows_
        self.schema_ = table.schema
        present = self._take_classes(table)
        self._kept = Kept(self.space_, table, voters(table, self.sample_weight_, present))

    def _summary(self) -> dict[str, Any]:
        rows = self.rows_
        places = [rows.target_column.place(own) for own in self.classes_.tolist()]
        weights = np.bincount(rows.target, self.sample_weight_, len(rows.classes))[places]
        return {**super()._summary(), **self._class_summary(weights.astype(np.float64))}

    def _describe_unseen(self, policy: str) -> str:
        return "compared as unlike any other"

    def _shares(self, table: Table) -> FloatArray:
        """Vote shares; where no vote weighs anything all neighbours have the same say."""
        k, weights = self.votes_by
        votes = self._kept.votes(table, k, weights)
        silent = np.flatnonzero(~(votes.sum(axis=1) > 0))
        if len(silent):
            votes[silent] = self._kept.votes(table.take(silent), k)
        return shares_of_votes(votes)

    def _scores(self, table: Table) -> FloatArray:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self._shares(table)))

    def predict_proba(self, X: Any) -> FloatArray:
        """Return each class' share of the votes (columns, in the order of ``classes_``)."""
        return self._shares(self._rows(X))

    def _best(self, table: Table) -> NDArray[np.int64]:
        return np.asarray(self._shares(table).argmax(axis=1))

    def explain(self, X: Any) -> NeighborExplanation:
        """Say who voted, and how the votes move as the columns are looked at in turn."""
        table = self._rows(X)
        near = self.neighborhood(table, self.votes_by[0])
        return explained(self, table, self._kept, near)

    def views(self) -> Sequence[View]:
        """Return a few stored rows with those nearest to them."""
        from countwise.models.neighbors.views import neighbor_sample

        check_is_fitted(self, "rows_")
        return (neighbor_sample(self, self.votes_by[0]),)


def voters(table: Table, weight: FloatArray | None, present: NDArray[np.intp]) -> Electorate:
    """Rows as voters for the classes that are present."""
    place = np.searchsorted(present, table.target).astype(np.int64, copy=False)
    return Electorate.of_classes(place, len(present), weight)


#: Targets beyond this are divided by a power of two, which loses nothing.
_LARGE = 1e100


class KeptRegressor(RegressorMixin, StoredRowsModel):
    """A scikit-learn regressor that keeps its rows; a model fills in `_settle` and `_answers`."""

    metric: str = parameter(
        one_of(*(name for name in METRICS if name not in ("vdm", "hvdm"))),
        "'euclidean', 'manhattan', 'maximum', 'minkowski', 'mahalanobis', 'overlap', 'heom' or "
        "'gower'; see neighbors.metrics.learn_space",
        default="euclidean",
    )
    attribute_weights: Any = parameter(
        mapping() | array() | nothing(),
        "factors by which axes are stretched, one an attribute or by name",
        default=None,
    )
    drop_least: ClassVar[float] = 0.0
    _unit: float = derived()

    def fit(
        self, X: Any, y: ArrayLike | str | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Keep the rows and the numbers to predict, and learn the space.

        `y` is one number a row, or the name of the column of X that holds them.
        """
        self._check_parameters()
        table, target = self._measured(X, y)
        rows, weight, heavy, _ = drop_zero_weight(type(self).__name__, table, sample_weight)
        own = target if heavy is None else target[heavy]
        space, _, notes = learned_space(Wanted.of(self), rows, weight)
        self.notes_ = (*table.notes, *notes)
        return self.keep(rows, weight, space, None, np.ascontiguousarray(own), heavy)

    def _measured(self, X: Any, y: Any) -> tuple[Table, FloatArray]:
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
            self._match_columns_by_name()
            table = _without(table, y)
        elif isinstance(X, Table):
            self._match_columns_by_name()
            table, target = _without(X, None), y
        else:
            X = self._check_shape(X, reset=True)
            with as_table_error(who):
                target = column_or_1d(y, warn=True)
            check_lengths(who, n_rows_of(X), len(target))
            table = read(X, nominal=self.nominal, identifiers="keep")
        return table, self._finite(target, len(table))

    def _finite(self, y: Any, rows: int) -> FloatArray:
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
        with as_table_error(who):
            assert_all_finite(target, input_name="y")
        check_lengths(who, rows, len(target))
        return target

    def predict(self, X: Any) -> FloatArray:
        """Return the number expected for each row."""
        with np.errstate(over="ignore"):
            answers = self._answers(self._rows(X)) * self._unit
        # A plane may rise beyond what a double holds.
        return np.nan_to_num(answers, copy=False)

    def _answers(self, table: Table) -> FloatArray:
        """The answers in units of the targets that `_small_targets` gave."""
        raise NotImplementedError

    def _small_targets(self) -> FloatArray:
        """The targets in a unit in which no sum of them overflows; usual ones as they are."""
        given = np.zeros(len(self.rows_)) if self.target_ is None else self.target_
        largest = float(np.abs(given).max(initial=0.0))
        self._unit = 2.0 ** (math.frexp(largest)[1] - 1) if largest > _LARGE else 1.0
        return given if self._unit == 1.0 else given / self._unit

    def _describe_unseen(self, policy: str) -> str:
        return "compared as unlike any other"

    def views(self) -> Sequence[View]:
        """Return a few stored rows with those nearest to them."""
        from countwise.models.neighbors.views import neighbor_sample

        check_is_fitted(self, "rows_")
        return (neighbor_sample(self, self.get_params()["n_neighbors"]),)


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
