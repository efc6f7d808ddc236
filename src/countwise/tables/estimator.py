"""Input checks that transformers and models share: rows in any shape become a coded `Table`."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from typing import Any, ClassVar, NamedTuple, TypeVar, dataclass_transform

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    assert_all_finite,
    check_array,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from countwise._typing import FloatArray
from countwise.errors import (
    CountwiseError,
    MissingColumnWarning,
    ParameterError,
    SchemaError,
    TableError,
    UnseenLevelWarning,
    listing,
)
from countwise.notes import Note
from countwise.params import (
    Parameter,
    check,
    declare_fields,
    derived,
    fitted,
    names,
    one_of,
    parameter,
)
from countwise.tables.labels import is_missing
from countwise.tables.schema import Schema
from countwise.tables.table import Table
from countwise.tables.weights import read_weights


class Training(NamedTuple):
    """Rows to learn from, their weights, and which of how many rows they are."""

    rows: Table
    weight: FloatArray | None
    kept: NDArray[np.intp] | None  # None: all rows were kept
    total: int


def drop_zero_weight(
    who: str, table: Table, sample_weight: ArrayLike | None, known: NDArray[np.bool_] | None = None
) -> Training:
    """Keep the rows of positive weight, of those that `known` marks as usable."""
    weight = read_weights(sample_weight, len(table), who)
    keep = np.ones(len(table), dtype=bool) if known is None else known
    if weight is not None:
        keep = keep & (weight > 0)
    if not keep.any():
        raise ParameterError(f"{who}: sample_weight must not all be zero; got zeros only.")
    if keep.all():
        return Training(table, weight, None, len(table))
    kept = np.flatnonzero(keep)
    return Training(table.take(kept), None if weight is None else weight[kept], kept, len(table))


@dataclass_transform(
    eq_default=False, kw_only_default=True, field_specifiers=(parameter, fitted, derived)
)
class DeclaredEstimator(BaseEstimator):
    """A scikit-learn estimator whose parameters and fitted state are fields.

    See `countwise.params`.
    """

    PARAMETERS: ClassVar[Mapping[str, Parameter]] = {}
    FITTED: ClassVar[Mapping[str, str]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        declare_fields(cls)

    def check_parameters(self) -> None:
        """Refuse the first parameter that its line does not admit."""
        given = self.get_params(deep=False)
        known = {name: line for name, line in self.PARAMETERS.items() if name in given}
        check(type(self).__name__, known, given)

    def parameters_to_save(self) -> dict[str, Any]:
        """Return the parameters as a file holds them."""
        return dict(self.get_params(deep=False))

    def after_load(self) -> None:
        """Make again what is not saved, and refuse fitted fields that do not fit each other."""

    def file_summary(self) -> dict[str, Any]:
        """Return what to tell of a saved model first."""
        return {}

    def describe_training(self) -> list[str]:
        """Return sentences about what training found, beside what the parameters say."""
        return []


Method = TypeVar("Method", bound=Callable[..., Any])


def answers_frames(method: Method) -> Method:
    """Let `predict`, `predict_proba` or `explain` of a model answer a PySpark DataFrame, too.

    The result is a frame that is computed when it is used: the columns of the given one, but for
    those that have a name of an answer, and the answers with the names that `predict_file` gives
    them. So keep what you need by selecting columns before or after.
    """

    @wraps(method)
    def answer(self: Any, X: Any, *args: Any, **options: Any) -> Any:
        if not type(X).__module__.startswith(("pyspark", "narwhals")):
            return method(self, X, *args, **options)
        from countwise.tables.answer_frames import answer_rows

        return answer_rows(method, self, X, args, options)

    return answer  # type: ignore[return-value]


class TableEstimator(DeclaredEstimator):
    """An estimator that takes rows in any shape and codes them by its schema."""

    nominal: Any = parameter(
        one_of("all") | names(),
        "numeric columns of data frames and arrays to treat as nominal: names, positions, or 'all'",
        default=(),
    )
    schema_: Schema = fitted("the columns as training read them")
    notes_: tuple[Note, ...] = fitted("remarks about the data and the model")

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name in ("predict", "predict_proba", "explain"):
            if name in vars(cls):
                setattr(cls, name, answers_frames(vars(cls)[name]))

    def _rows(self, X: Any) -> Table:
        """Bring rows to predict to a table coded by the schema of training."""
        from countwise.tables.read import read

        check_is_fitted(self, "schema_")
        schema = self.schema_.without_target()
        if isinstance(X, Table):
            X = X if schema.text else X.without_text()
            same = _same_columns(X.schema, schema)
            table = X if same else read(X, schema=schema, keep_rows=True)
        elif isinstance(X, str | os.PathLike):
            table = read(X, schema=schema, keep_rows=True)
        else:
            X = self._check_shape(X, reset=False)
            table = read(X, schema=schema, keep_rows=True)
        self._report_unseen(table)
        lacking = [note.column for note in table.notes if note.code == "T27"]
        if lacking:
            warnings.warn(
                f"{type(self).__name__}: the rows lack columns, which were taken as missing: "
                f"{listing(lacking)}.",
                MissingColumnWarning,
                stacklevel=4,
            )
        return table

    def _report_unseen(self, table: Table) -> None:
        if not table.unseen:
            return
        policy = self.get_params(deep=False).get("unseen", "ignore")
        rows = sum(sum(levels.values()) for levels in table.unseen.values())
        parts = "; ".join(
            f"{name!r}: {listing(levels, 3)}" for name, levels in list(table.unseen.items())[:5]
        )
        if policy == "error":
            ways = [way for way in self.PARAMETERS["unseen"].constraint.choices if way != policy]
            raise SchemaError(
                f"{type(self).__name__}: every level must be known from training; {rows} cells "
                f"hold new ones ({parts}). Use unseen={' or '.join(map(repr, ways))}, or train "
                "with them."
            )
        warnings.warn(
            f"{type(self).__name__}: {rows} cells hold levels that training never saw ({parts}); "
            f"they were {self._describe_unseen(policy)}.",
            UnseenLevelWarning,
            stacklevel=5,
        )

    def _describe_unseen(self, policy: str) -> str:
        """Say in a word or two what happens to levels that training never saw."""
        return "left out" if policy == "ignore" else "smoothed"

    def _check_shape(self, X: Any, reset: bool) -> Any:
        """Check shape and names of rows as scikit-learn does, without copying frames."""
        kind = type(X)
        lazy = ("LazyFrame", "DuckDBPyRelation")
        if kind.__name__ in lazy or kind.__module__.startswith("pyspark.sql"):
            from countwise.tables.formats.frames import lazy_error

            raise lazy_error(X)
        if isinstance(X, Mapping) and not hasattr(X, "shape"):  # some sparse matrices are mappings
            if reset:
                self._match_columns_by_name()
            return X
        if hasattr(X, "columns") or hasattr(X, "column_names"):
            check_frame(self, X, reset)
            if len(X) == 0:
                raise TableError(
                    f"{type(self).__name__}: Found array with 0 sample(s); at least one is needed."
                )
            return X
        if isinstance(X, list):
            if X and isinstance(X[0], Mapping):
                return X
            X = _array_of(X)
        with as_table_error(type(self).__name__):
            X = check_array(
                X, dtype=None, ensure_all_finite="allow-nan", estimator=self, input_name="X"
            )
            if reset or _counts_columns(self):
                validate_data(self, X, reset=reset, skip_check_array=True)
        return X

    def _match_columns_by_name(self) -> None:
        """Forget the number and order of columns, which scikit-learn would check.

        Trained on named columns, a model takes rows with these names in any order.
        """
        for attribute in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(attribute, None)

    def __sklearn_tags__(self) -> Tags:
        """Say that missing values, texts and categories are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


def _same_columns(have: Schema, want: Schema) -> bool:
    """Whether a table is coded by this very schema, as far as the attributes go."""
    mine, theirs = have.attributes, want.attributes
    return mine == theirs and all(a.same_levels(b) for a, b in zip(mine, theirs, strict=True))


@contextmanager
def as_table_error(who: str) -> Iterator[None]:
    """Turn what scikit-learn's checks raise into a `TableError` without arrays printed in it."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            yield
    except CountwiseError:
        raise
    except ValueError as why:
        words = re.sub(r":?\n(array=.*\.\n(?=Reshape)|\[.*)", ". ", str(why), flags=re.DOTALL)
        if "contains NaN" in words or "contains infinity" in words:
            words += " Leave out such rows."
        raise TableError(f"{who}: {words.strip()}") from None


def check_lengths(who: str, rows: int, given: int) -> None:
    """Refuse labels or numbers to predict that are not one a row."""
    if rows != given:
        raise TableError(
            f"{who}: y must hold one value a row; got {rows} rows and {given} values. Check "
            "that both are of the same table."
        )


def check_frame(model: Any, X: Any, reset: bool) -> None:
    """Check number and names of the columns of a frame as scikit-learn does."""
    from countwise.tables.formats.frames import refuse_duplicates

    names = X.column_names if hasattr(X, "column_names") else X.columns
    refuse_duplicates([str(name) for name in names])
    if reset or _counts_columns(model):
        with as_table_error(type(model).__name__):
            validate_data(model, X, reset=reset, skip_check_array=True)


def check_class_labels(y: ArrayLike) -> NDArray[Any]:
    """Return labels as an array: one a row, finite, and no measured quantity."""
    labels = column_or_1d(y, warn=True)
    if labels.dtype.kind in "fO":
        empty = np.array([is_missing(label) for label in labels.tolist()], dtype=bool)
        if empty.any():
            count, rows = int(empty.sum()), len(labels)
            has = "has" if count == 1 else "have"
            raise TableError(
                f"y: every row must have a class. Input y contains NaN or None: {count} of {rows} "
                f"rows {has} no class, the first is row {int(np.argmax(empty))}. Leave them out."
            )
    if labels.dtype.kind == "f":
        assert_all_finite(labels, input_name="y")
    check_classification_targets(labels)
    return np.asarray(labels)


def n_rows_of(X: Any) -> int:
    """Count the rows of a table, a frame, an array, a list or a mapping of columns."""
    return len(next(iter(X.values()), []) if isinstance(X, Mapping) else X)


def _array_of(rows: list[Any]) -> NDArray[Any]:
    array = np.asarray(rows)
    return np.asarray(rows, dtype=object) if array.dtype.kind in "US" else array


def _counts_columns(model: Any) -> bool:
    """Whether the model was trained on columns in a fixed order, as scikit-learn records it."""
    return "n_features_in_" in vars(model)
