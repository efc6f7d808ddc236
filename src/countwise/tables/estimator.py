"""What every classifier here shares: rows in any shape, posteriors out, the largest one wins."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar, NamedTuple

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
    ParameterError,
    SchemaError,
    TableError,
    UnseenLevelWarning,
    listing,
)
from countwise.notes import Note
from countwise.params import Parameter, check
from countwise.tables.formats.frames import refuse_twins
from countwise.tables.read import read
from countwise.tables.schema import Schema
from countwise.tables.table import Table
from countwise.tables.weights import read_weights


class Training(NamedTuple):
    """Rows to learn from: those that have a class and weigh something; which of how many."""

    rows: Table
    weight: FloatArray | None
    kept: NDArray[np.intp] | None  # None: all of them
    total: int


def weighty(
    who: str, table: Table, sample_weight: ArrayLike | None, known: NDArray[np.bool_] | None = None
) -> Training:
    """Keep the rows that weigh something, of those that are known to teach anything."""
    weight = read_weights(sample_weight, len(table), who)
    keep = np.ones(len(table), dtype=bool) if known is None else known
    if weight is not None:
        keep = keep & (weight > 0)
    if not keep.any():
        raise ParameterError(f"{who}: the sample weights must not all be zero, but they are.")
    if keep.all():
        return Training(table, weight, None, len(table))
    kept = np.flatnonzero(keep)
    return Training(table.take(kept), None if weight is None else weight[kept], kept, len(table))


class TableEstimator(BaseEstimator):
    """A scikit-learn estimator that takes rows in any shape and codes them by its schema."""

    PARAMETERS: ClassVar[Mapping[str, Parameter]] = {}

    schema_: Schema
    notes_: tuple[Note, ...]

    def _check_parameters(self) -> None:
        check(type(self).__name__, self.PARAMETERS, self.get_params(deep=False))

    def _rows(self, X: Any) -> Table:
        """Bring rows to predict to a table coded by the schema of training."""
        check_is_fitted(self, "schema_")
        schema = self.schema_.without_target()
        if isinstance(X, Table):
            same = _same_columns(X.schema, schema)
            table = X if same else read(X, schema=schema, keep_rows=True)
        else:
            X = self._shaped(X, reset=False)
            table = read(X, schema=schema, keep_rows=True)
        self._report_unseen(table)
        return table

    def _report_unseen(self, table: Table) -> None:
        if not table.unseen:
            return
        policy = getattr(self, "unseen", "ignore")
        rows = sum(sum(levels.values()) for levels in table.unseen.values())
        parts = "; ".join(
            f"{name!r}: {listing(levels, 3)}" for name, levels in list(table.unseen.items())[:5]
        )
        if policy == "error":
            raise SchemaError(
                f"{type(self).__name__}: every level must be known from training, but {rows} cells "
                f"hold new ones ({parts}). Use unseen='ignore' or 'smooth', or train with them."
            )
        done = self._done_with_unseen(policy)
        warnings.warn(
            f"{type(self).__name__}: {rows} cells hold levels that training never saw ({parts}); "
            f"they were {done}.",
            UnseenLevelWarning,
            stacklevel=5,
        )

    def _done_with_unseen(self, policy: str) -> str:
        """What becomes of levels that training never saw, in a word or two."""
        return "left out" if policy == "ignore" else "smoothed"

    def _shaped(self, X: Any, reset: bool) -> Any:
        """Check shape and names of rows as scikit-learn does, without copying frames."""
        if type(X).__name__ == "LazyFrame":
            X = X.collect()
        if isinstance(X, Mapping) and not hasattr(X, "shape"):  # some sparse matrices are mappings
            if reset:
                self._go_by_name()
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
        with in_our_family(type(self).__name__):
            X = check_array(
                X, dtype=None, ensure_all_finite="allow-nan", estimator=self, input_name="X"
            )
            if reset or hasattr(self, "n_features_in_"):
                validate_data(self, X, reset=reset, skip_check_array=True)
        return X

    def _go_by_name(self) -> None:
        """Trained on named columns alone: rows are matched by name, in any order, extras ignored.

        scikit-learn's record of how many columns came, and in which order, would forbid that.
        """
        for attribute in ("n_features_in_", "feature_names_in_"):
            if hasattr(self, attribute):
                delattr(self, attribute)

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
def in_our_family(who: str) -> Iterator[None]:
    """Let what scikit-learn's checks refuse be a `TableError`, without arrays printed in it."""
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
            f"{who}: y must hold one value a row, but {rows} rows and {given} values came. Check "
            "that both are of the same table."
        )


def check_frame(model: Any, X: Any, reset: bool) -> None:
    """Check number and names of the columns of a frame as scikit-learn does."""
    names = X.column_names if hasattr(X, "column_names") else X.columns
    refuse_twins([str(name) for name in names])
    if reset or hasattr(model, "n_features_in_"):
        with in_our_family(type(model).__name__):
            validate_data(model, X, reset=reset, skip_check_array=True)


def class_labels(y: ArrayLike) -> NDArray[Any]:
    """Labels as scikit-learn wants them: one a row, finite, and not a number that is measured."""
    labels = column_or_1d(y, warn=True)
    if labels.dtype.kind == "O" and (none := [at for at, own in enumerate(labels) if own is None]):
        raise TableError(
            f"y: every row must have a class, but row {none[0]} has None. Leave such rows out."
        )
    if labels.dtype.kind == "f":
        assert_all_finite(labels, input_name="y")
    check_classification_targets(labels)
    return np.asarray(labels)


def sized(X: Any) -> Any:
    """Something as long as the rows: the rows themselves, or the first of named columns."""
    return next(iter(X.values()), []) if isinstance(X, Mapping) else X


def _array_of(rows: list[Any]) -> NDArray[Any]:
    made = np.asarray(rows)
    return np.asarray(rows, dtype=object) if made.dtype.kind in "US" else made
