"""A transformer that cuts each numeric column into intervals, in front of any model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import assert_all_finite, check_is_fitted, validate_data

from countwise._typing import FloatArray
from countwise.counts.count_rows import count
from countwise.counts.plan import Plan
from countwise.discretize.cut_points import (
    BINS_HELP,
    MAX_BINS,
    METHODS,
    cut_points,
    cut_table,
    interval_codes,
    interval_names,
)
from countwise.errors import ParameterError, SchemaError, TableError
from countwise.params import derived, fitted, one_of, parameter, whole
from countwise.tables.estimator import (
    DeclaredEstimator,
    as_table_error,
    check_class_labels,
    check_frame,
    check_lengths,
)
from countwise.tables.schema import Column, Schema
from countwise.tables.table import Table, code_type
from countwise.tables.weights import read_weights


class CutTransformer(OneToOneFeatureMixin, TransformerMixin, DeclaredEstimator):
    """A transformer that cuts numbers at ``cut_points_``; one that is fitted finds them."""

    cut_points_: dict[str, FloatArray] = fitted(
        "by column, where it is cut; a column that does not vary is not"
    )
    interval_names_: dict[str, tuple[str, ...]] = fitted("by column, the names of its intervals")
    n_features_in_: int = derived()

    _way: ClassVar[str]  # the parameter that may need classes

    @property
    def _supervised(self) -> bool:
        """Return whether `fit` needs the classes."""
        return True

    def after_load(self) -> None:
        """Refuse cut points that are no rising numbers."""
        for cuts in self.cut_points_.values():
            is_cut = isinstance(cuts, np.ndarray) and cuts.ndim == 1 and cuts.dtype == np.float64
            if not is_cut or not np.isfinite(cuts).all() or (np.diff(cuts) <= 0).any():
                raise ValueError("the cut points of a column must be rising numbers")
        self._keep(self.cut_points_)

    def _keep(self, points: dict[str, FloatArray]) -> None:
        self.cut_points_ = points
        self.interval_names_ = {name: interval_names(cuts) for name, cuts in points.items()}

    def _read_training(
        self, X: Any, y: ArrayLike | None, sample_weight: ArrayLike | None
    ) -> tuple[dict[str, FloatArray], NDArray[Any], int, FloatArray | None]:
        """Return numbers by column, class codes, how many classes there are, and weights."""
        self.check_parameters()
        who, numbers = type(self).__name__, self._numbers(X, reset=True)
        rows = len(X) if isinstance(X, Table) or not numbers else len(next(iter(numbers.values())))
        weight = read_weights(sample_weight, rows, who)
        if weight is not None and not weight.any():
            raise ParameterError(f"{who}: the sample weights must not all be zero; got zeros only.")
        return numbers, *self._classes(X, y, rows), weight

    def transform(self, X: Any) -> Any:
        """Return the rows with intervals in the place of numbers."""
        check_is_fitted(self, "cut_points_")
        if isinstance(X, Table):
            self._check_table(X)
            return cut_table(X, self.cut_points_)
        numbers = self._numbers(X, reset=False)
        codes = {n: interval_codes(self.cut_points_[n], numbers[n]) for n in self.cut_points_}
        if _is_frame(X):
            return self._name_intervals(X, codes)
        return np.stack(
            [np.where(c > len(self.cut_points_[n]), np.nan, c) for n, c in codes.items()], axis=1
        )

    def _numbers(self, X: Any, reset: bool) -> dict[str, FloatArray]:
        """Return the numeric columns; those of an array are named as scikit-learn names them."""
        if isinstance(X, Table):
            if reset:
                names = [column.name for column in X.schema.attributes]
                self.n_features_in_ = len(names)
                self.feature_names_in_ = np.asarray(names, dtype=object)
            return {column.name: X.values(column.name) for column in X.schema.numeric}
        if _is_frame(X):
            check_frame(self, X, reset)
            frame = nw.from_native(X, eager_only=True)
            if not frame.columns:
                raise TableError(
                    f"{type(self).__name__}: at least one column is needed; got a frame of none."
                )
            if not len(frame):
                raise TableError(
                    f"{type(self).__name__}: at least one row is needed; got an array with "
                    "0 sample(s)."
                )
            return {
                str(name): self._doubles(frame, name)
                for name, kind in frame.schema.items()
                if (kind.is_numeric() if reset else str(name) in self.cut_points_)
            }
        who = type(self).__name__
        if isinstance(X, Mapping) and not hasattr(X, "shape"):
            raise TableError(
                f"{who}: X must be a data frame, an array of numbers or a Table; got a "
                f"{type(X).__name__}.",
                hint="Make it a Table with read",
            )
        with as_table_error(who):
            values = validate_data(
                self, X, reset=reset, dtype=np.float64, ensure_all_finite="allow-nan"
            )
        return {f"x{place}": np.array(values[:, place]) for place in range(values.shape[1])}

    def _doubles(self, frame: Any, name: Any) -> FloatArray:
        who = type(self).__name__
        if not frame.schema[name].is_numeric():
            raise SchemaError(
                f"{who}: column {str(name)!r} must be numeric as it was in fit; got "
                f"{frame.schema[name]}.",
                hint="Convert it",
            )
        cells = frame.get_column(name).cast(nw.Float64()).to_numpy()
        values = np.array(cells, dtype=np.float64)
        with as_table_error(who):
            assert_all_finite(values, allow_nan=True, input_name=f"column {str(name)!r}")
        return values

    def _classes(self, X: Any, y: ArrayLike | None, rows: int) -> tuple[NDArray[Any], int]:
        """Return the class codes of the rows and how many classes there are; one if not needed."""
        if not self._supervised:
            return np.zeros(rows, dtype=code_type(1)), 1
        if isinstance(X, Table) and X.labelled and y is None:
            return X.target, X.target_column.width
        if y is None:
            raise TableError(
                f"{type(self).__name__}: {self._way} {getattr(self, self._way)!r} requires y to be "
                "passed, but the target y is None.",
                hint=("pass the labels", "use Cuts with `method='width'` or 'frequency'"),
            )
        with as_table_error(type(self).__name__):
            labels = check_class_labels(y)
        check_lengths(type(self).__name__, rows, len(labels))
        levels, codes = np.unique(labels, return_inverse=True)
        return codes.astype(code_type(len(levels))), len(levels)

    def _check_table(self, table: Table) -> None:
        for name in self.cut_points_:
            if name not in table or table.schema[name].kind != "numeric":
                kind = table.schema[name].kind if name in table else "no such column"
                raise SchemaError(
                    f"{type(self).__name__}: column {name!r} must be numeric as it was in fit; got "
                    f"{kind}.",
                    hint="Read the rows with the schema of training",
                )

    def _name_intervals(self, X: Any, codes: Mapping[str, NDArray[np.intp]]) -> Any:
        """Return the frame with the names of intervals in the place of numbers."""
        frame = nw.from_native(X, eager_only=True)
        columns = []
        for name in frame.columns:
            if str(name) in codes:
                words = np.array([*self.interval_names_[str(name)], None], dtype=object)
                cells = words[codes[str(name)]].tolist()
                series = nw.new_series(name, cells, nw.String(), backend=frame.implementation)
                columns.append(series)
        if not columns:
            return X
        index = nw.maybe_get_index(frame)
        if index is not None:
            columns = [nw.maybe_set_index(column, index=index) for column in columns]
        return frame.with_columns(*columns).to_native()

    def __sklearn_tags__(self) -> Tags:
        """Say that missing values are welcome, and when the classes are needed."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = self._supervised
        return tags


class Cuts(CutTransformer):
    """Cut numbers into intervals, learned from fine counts of the rows it is fitted on.

    A data frame keeps its columns: numbers become the names of their intervals, all else stays. An
    array becomes the numbers of the intervals, from 0. A `Table` becomes a `Table` whose numeric
    columns are nominal. What is missing stays missing. Numbers beyond those seen in `fit` fall into
    the outer intervals, and a cut point belongs to the interval on its left.

    Examples
    --------
    >>> import countwise as cw
    >>> from countwise.discretize.cuts import Cuts
    >>> iris = cw.read("sample:iris")
    >>> cuts = Cuts("mdl").fit(iris)
    >>> cuts.interval_names_["petal_length"]
    ('≤ 2.45', '2.45 – 4.75', '> 4.75')
    >>> cuts.transform(iris).decode("petal_length")[[0, 60, 120]].tolist()
    ['≤ 2.45', '2.45 – 4.75', '> 4.75']
    """

    method: str = parameter(
        one_of(*METHODS),
        "how intervals are chosen: equal 'width', equal 'frequency', 'two-way' (the one most "
        "informative cut), 'mdl' (as many cuts as the minimum description length principle "
        "accepts; Fayyad & Irani 1993) or 'auto' ('mdl', and where it finds no cut in a column "
        "that tells something, the best single cut or equal frequency, by leave-one-out). The "
        "last three need the classes",
        default="width",
        kw_only=False,
    )
    bins: int = parameter(whole(at_least=2, at_most=MAX_BINS), BINS_HELP, default=10)

    _way = "method"

    @property
    def _supervised(self) -> bool:
        return self.method in ("two-way", "mdl", "auto")

    def fit(
        self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn where to cut.

        Labels are needed for ``two-way``, ``mdl`` and ``auto`` only; a `Table` brings them along.
        """
        numbers, codes, classes, weight = self._read_training(X, y, sample_weight)
        columns = [Column(name, "numeric") for name in numbers]
        target = Column(_unused_name(numbers), "target", tuple(range(classes)))
        table = Table(Schema((*columns, target)), {**numbers, target.name: codes})
        fine = count(table, Plan(grids=tuple(numbers)), sample_weight=weight).grids
        self._keep({name: cut_points(fine[name], self.method, self.bins) for name in numbers})
        return self


def _is_frame(X: Any) -> bool:
    return hasattr(X, "columns") or hasattr(X, "column_names")


def _unused_name(names: Mapping[str, Any]) -> str:
    """Return a name for the class that no column has."""
    name = "class"
    while name in names:
        name += "'"
    return name
