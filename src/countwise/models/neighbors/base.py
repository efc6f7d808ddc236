"""Base classes of models that store rows: for all of them, for classifiers and for regressors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import assert_all_finite, check_is_fitted, column_or_1d

from countwise._typing import FloatArray
from countwise.errors import ParameterError, TableError
from countwise.models.base import leave_out_text, refuse_scan
from countwise.models.choose_smoothing import SmoothedClassifier, an_amount
from countwise.models.neighbors.attribute_weights import learn_weighted_space
from countwise.models.neighbors.explanation import (
    NeighborExplanation,
    Neighborhood,
    NumberExplanation,
    explain_number,
    explain_votes,
)
from countwise.models.neighbors.index import Index
from countwise.models.neighbors.metrics import METRICS, SCALES
from countwise.models.neighbors.search import Search
from countwise.models.neighbors.space import Space
from countwise.models.neighbors.votes import Scheme, Voters, normalize_votes, smooth_fractions
from countwise.numeric import logs_of
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
    whole,
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

#: The exponent of a distance; with an infinite one the largest gap alone counts.
POWER = number(at_least=1) | infinity()


class StoredRowsModel(TableEstimator):
    """A model whose memory is rows; subclasses fill in `k_and_weights` and `_make_voters`."""

    metric: str = parameter(
        one_of(*METRICS),
        "distance between rows",
        default="euclidean",
    )
    p: float = parameter(
        POWER,
        "exponent of 'minkowski' and 'vdm'; infinity takes the largest difference",
        default=2.0,
    )
    scale: str | None = parameter(
        one_of(*SCALES) | nothing(),
        "scaling of numeric columns: divided by the 'range', by the standard deviation ('z'), or "
        "not at all (None)",
        default="range",
    )
    when_missing: str | None = parameter(
        one_of("far", "ignore") | nothing(),
        "treatment of a missing cell: 'far' takes the largest difference in its column, 'ignore' "
        "leaves the column out and rescales the others. None: 'ignore' for 'gower', 'far' for "
        "other metrics",
        default=None,
    )
    attribute_weights: Any = parameter(
        one_of("information", "relief") | mapping() | array() | nothing(),
        "weights of the attributes in the distance: an array, a mapping by name, or learned by "
        "'information' (information gain) or 'relief' (ReliefF)",
        default=None,
    )
    space_: Space = fitted("where rows are compared")
    rows_: Table = fitted("the stored rows")
    sample_weight_: FloatArray | None = fitted("their weights, if there are any")
    target_: FloatArray | None = fitted("the numbers to predict, for regressors")
    relevance_: FloatArray | None = fitted("the relevance of the attributes, if it was learned")
    places_: Rows | None = fitted("which training rows they are; None: all of them")
    _index: Index = derived()

    @property
    def n_rows_(self) -> int:
        """The number of stored rows."""
        return len(self.rows_)

    @property
    def k_and_weights(self) -> tuple[int, Scheme]:
        """How many neighbors count, and how their votes are weighted."""
        raise NotImplementedError

    def _make_voters(self) -> Voters:
        """Return what the stored rows vote for."""
        raise NotImplementedError

    def store_rows(
        self,
        table: Table,
        weight: FloatArray | None,
        space: Space,
        relevance: FloatArray | None = None,
        target: FloatArray | None = None,
        places: NDArray[np.integer[Any]] | None = None,
    ) -> Self:
        """Become the model of these rows in this space; `places` are their training numbers."""
        self.rows_, self.sample_weight_, self.space_ = table, weight, space
        self.relevance_, self.target_ = relevance, target
        self.places_ = None if places is None else places.astype(np.int64)
        self.schema_ = table.schema
        self._index = Index(Search(space, table), self._make_voters())
        return self

    def after_load(self) -> None:
        """Make again what is not saved; refuse fields that do not fit each other."""
        rows, number = self.rows_, self.n_rows_
        arrays = (self.sample_weight_, self.target_, self.places_)
        columns = [array.shape for array in arrays if array is not None]
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
        self._index = Index(Search(self.space_, rows), self._make_voters())

    def file_summary(self) -> dict[str, Any]:
        """Return what `describe` tells of a saved model first."""
        return {"rows": self.n_rows_}

    @property
    def _row_weight(self) -> FloatArray:
        """The weights of the stored rows; ones where none were given."""
        return np.ones(self.n_rows_) if self.sample_weight_ is None else self.sample_weight_

    def neighbors(self, X: Any, k: int | None = None) -> Neighborhood:
        """Return the nearest stored rows, their distances, and what each attribute adds to these.

        Rows go by their numbers in the training table; equally far rows come in that order.

        Examples
        --------
        >>> import countwise as cw
        >>> iris = cw.read("sample:iris")
        >>> near = cw.Neighbors(n_neighbors=2).fit(iris).neighbors(iris.take([0]))
        >>> near.rows.tolist(), near.labels.tolist()
        ([[0, 27]], [['Iris-setosa', 'Iris-setosa']])
        >>> bool(np.allclose(near.parts.sum(axis=2), near.distances**2))
        True
        """
        check_is_fitted(self, "rows_")
        return self.find_neighbors(self._rows(X), self.k_and_weights[0] if k is None else k)

    def find_neighbors(self, queries: Table, k: int) -> Neighborhood:
        """Return the k nearest stored rows of each row of a table."""
        if not whole(at_least=1).admits(k):
            raise ParameterError("neighbors", "k", whole(at_least=1).words, k)
        search = self._index.search
        who, powers = search.nearest(queries, min(int(k), search.rows))
        labels = self.rows_.labels if self.rows_.labelled else self.target_
        return Neighborhood(
            who if self.places_ is None else self.places_[who],
            self.space_.to_distances(powers),
            search.parts(queries, who),
            np.empty(who.shape, object) if labels is None else np.asarray(labels[who]),
            tuple(column.name for column in self.rows_.schema.attributes),
        )

    def views(self) -> Sequence[View]:
        """Return a few stored rows with those nearest to them."""
        from countwise.models.neighbors.explanation import neighbor_sample

        check_is_fitted(self, "rows_")
        k = self.get_params(deep=False).get("n_neighbors", 1)
        return (neighbor_sample(self, self.k_and_weights[0] if k == "auto" else k),)

    def _describe_unseen(self, policy: str) -> str:
        return "compared as unlike any other"


class StoredRowsClassifier(StoredRowsModel, SmoothedClassifier):
    """A classifier whose stored rows vote."""

    drop_least: float = parameter(
        number(at_least=0),
        "number of attributes to leave out, or their fraction if below 1. The least relevant ones "
        "are left out, by learned attribute weights or else by information gain",
        default=0,
    )
    smoothing: float | str = parameter(
        an_amount(),
        "number of imagined votes, spread like the class frequencies of the training rows, that "
        "are added to those of the k neighbors, so that no class gets probability 0; those beyond "
        "the first change no decision; 0 gives plain fractions of the votes. 'auto' takes the "
        "number, up to 50, with the least log loss when each training row (of more than 5,000, so "
        "many) is classified by the others, or 1 for fewer than 50 rows",
        default="auto",
    )
    usual_smoothing = 1.0

    def _make_voters(self) -> Voters:
        present = self._take_classes(self.rows_)
        label = np.searchsorted(present, self.rows_.target)
        return Voters.of_classes(label, len(present), self.sample_weight_)

    def file_summary(self) -> dict[str, Any]:
        """Return what `describe` tells of a saved model first."""
        rows = self.rows_
        places = [rows.target_column.place(label) for label in self.classes_.tolist()]
        weights = np.bincount(rows.target, self.sample_weight_, len(rows.classes))[places]
        return {**super().file_summary(), **self._class_summary(weights.astype(np.float64))}

    def vote_fractions(self, table: Table) -> FloatArray:
        """Return the fraction of the votes for each class (columns), before smoothing."""
        k, weights = self.k_and_weights
        return normalize_votes(self._index.sum_votes(table, k, weights))

    @property
    def class_shares(self) -> FloatArray:
        """The class frequencies of the training rows: what is predicted where nothing is known."""
        total = self._index.voters.total()
        return np.asarray(total / total.sum())

    def smooth(self, fractions: FloatArray, imagined: float) -> FloatArray:
        """Return the posteriors that belong to fractions of the votes."""
        if not imagined:
            return fractions
        return smooth_fractions(fractions, self.class_shares, self.k_and_weights[0], imagined)

    def posteriors_by_smoothing(self, table: Table, amounts: Sequence[float]) -> list[FloatArray]:
        """Return the posteriors of rows with each of these numbers of imagined votes."""
        fractions = self.vote_fractions(table)
        return [self.smooth(fractions, amount) for amount in amounts]

    def _scores(self, table: Table) -> FloatArray:
        return logs_of(self.posteriors_by_smoothing(table, [self.amount])[0])

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the smoothed fraction of votes for each class, in the order of ``classes_``."""
        return self.posteriors_by_smoothing(self._rows(X), [self.amount])[0]

    def _best(self, table: Table) -> NDArray[np.int64]:
        return np.asarray(self.posteriors_by_smoothing(table, [self.amount])[0].argmax(axis=1))

    def after_load(self) -> None:
        """Make again what is not saved; refuse fields that do not fit each other."""
        super().after_load()
        self._check_smoothing()

    def explain(self, X: Any) -> NeighborExplanation:
        """Return which rows voted, and how the votes change as columns enter one by one."""
        return explain_votes(self, self._rows(X), self._index)


#: Targets beyond this are divided by a power of two, which loses nothing.
_LARGE = 1e100


class StoredRowsRegressor(RegressorMixin, StoredRowsModel):
    """A regressor that stores its rows; a model also fills in `_predict_scaled`."""

    metric: str = parameter(
        one_of(*(name for name in METRICS if name not in ("vdm", "hvdm"))),
        "distance between rows",
        default="euclidean",
    )
    attribute_weights: Any = parameter(
        mapping() | array() | nothing(),
        "weights of the attributes in the distance: an array, or a mapping by name",
        default=None,
    )
    drop_least: ClassVar[float] = 0.0
    target_name_: str | None = fitted("the column of the numbers to predict, if it has a name")
    _unit: float = derived()
    _targets: FloatArray = derived()

    def fit(
        self, X: Any, y: ArrayLike | str | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Store the rows and the numbers to predict, and learn the space.

        `y` is one number a row, or the name of the column of X that holds them. A `Table` that was
        read with a target brings them along.
        """
        self.check_parameters()
        table, target = self._read_target(X, y)
        rows, weight, heavy, _ = drop_zero_weight(type(self).__name__, table, sample_weight)
        target = np.ascontiguousarray(target if heavy is None else target[heavy])
        space, _, notes = learn_weighted_space(self, rows, weight)
        # What is odd about the numbers as classes does not matter here.
        kept = [note for note in table.notes if note.column != self.target_name_ or not note.column]
        self.notes_ = (*kept, *notes)
        return self.store_rows(rows, weight, space, None, target, heavy)

    def _read_target(self, X: Any, y: Any) -> tuple[Table, FloatArray]:
        """Return the rows without any class, and the numbers to predict."""
        who = type(self).__name__
        self.target_name_ = y if isinstance(y, str) else None
        if y is None and isinstance(X, Table) and X.labelled:
            self.target_name_, y = X.target_column.name, X.labels
        refuse_scan(type(self).__name__, X)
        if y is None:
            raise TableError(
                f"{who} requires y to be passed, but the target y is None",
                hint="Pass one number a row, or the name of the column that holds them.",
            )
        if isinstance(y, str):
            table = X if isinstance(X, Table) else read(X, numeric=[y], identifiers="keep")
            target = table.values(y)
            self._match_columns_by_name()
            table = _drop_column(table, y)
        elif isinstance(X, Table):
            self._match_columns_by_name()
            table, target = _drop_column(X, None), y
        else:
            X = self._check_shape(X, reset=True)
            with as_table_error(who):
                target = column_or_1d(y, warn=True)
            check_lengths(who, n_rows_of(X), len(target))
            table = read(X, nominal=self.nominal, identifiers="keep")
        return leave_out_text(self, table), self._check_target(target, len(table))

    def _check_target(self, y: Any, rows: int) -> FloatArray:
        who = type(self).__name__
        kind = np.asarray(y).dtype
        if kind.kind in "Mmc":
            raise TableError(
                f"{who}: the numbers to predict must be plain numbers; got {kind}",
                hint="Convert them, to days or to a size for instance.",
            )
        try:
            target = np.asarray(column_or_1d(y, warn=True), dtype=np.float64)
        except (TypeError, ValueError) as why:
            first = next((repr(str(value)) for value in np.ravel(y) if not _is_number(value)), why)
            raise TableError(
                f"{who}: the numbers to predict must be numbers, one a row; got {first}",
                hint=("convert them", "leave out the rows that have none"),
            ) from None
        with as_table_error(who):
            assert_all_finite(target, input_name="y")
        check_lengths(who, rows, len(target))
        return target

    def predict(self, X: Any) -> FloatArray:
        """Return the number expected for each row."""
        with np.errstate(over="ignore"):
            numbers = self._predict_scaled(self._rows(X)) * self._unit
        # A plane may rise beyond the largest double.
        return np.nan_to_num(numbers, copy=False)

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return R², the fraction of the variance of `y` that is explained."""
        from sklearn.metrics import r2_score

        truth = self._check_target(y, n_rows_of(X))
        found = self.predict(X)
        # Squares of large numbers overflow; the fraction is the same in any unit.
        unit = _unit_of(np.concatenate([truth, found]))
        return float(r2_score(truth / unit, found / unit, sample_weight=sample_weight))

    def _predict_scaled(self, table: Table) -> FloatArray:
        """Return the predictions in the unit of `_targets`."""
        raise NotImplementedError

    @property
    def mean_target(self) -> float:
        """The mean of the numbers of training: the prediction without any column."""
        return float(np.average(self._targets, weights=self._row_weight)) * self._unit

    def explain(self, X: Any) -> NumberExplanation:
        """Return which rows count, and how the number changes as columns enter one by one."""
        return explain_number(self, self._rows(X))

    def _make_voters(self) -> Voters:
        """Set the targets, in a unit in which no sum of them overflows."""
        target = np.zeros(self.n_rows_) if self.target_ is None else self.target_
        self._unit = _unit_of(target)
        self._targets = target / self._unit
        weight = self._row_weight
        return Voters(weight[:, None], np.maximum(weight, 1.0))


def _unit_of(numbers: FloatArray) -> float:
    """Return the power of two in which no sum of squares of these numbers overflows."""
    largest = float(np.abs(numbers).max(initial=0.0))
    return 2.0 ** (math.frexp(largest)[1] - 1) if largest > _LARGE else 1.0


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _drop_column(table: Table, name: str | None) -> Table:
    """Return the table without a class and without this column."""
    schema = table.schema.without_target()
    if name is None and schema == table.schema:
        return table
    columns = tuple(column for column in schema if column.name != name)
    data = {column.name: table.raw_array(column.name) for column in columns if not column.left_out}
    if not data:
        raise TableError(
            "Table: at least one column is needed beside the numbers to predict; got none."
        )
    return Table(type(schema)(columns), data, table.notes, table.unseen, len(table))
