"""The base class of classifiers: it reads rows in any form and gives probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin

from countwise._typing import FloatArray
from countwise.counts.plan import Plan
from countwise.errors import TableError, listing
from countwise.notes import Note
from countwise.numeric import log_softmax, softmax
from countwise.params import fitted
from countwise.tables.estimator import (
    TableEstimator,
    Training,
    as_table_error,
    check_class_labels,
    check_lengths,
    drop_zero_weight,
    n_rows_of,
)
from countwise.tables.scan import SOME_ROWS, Scan
from countwise.tables.schema import Schema, labels_array
from countwise.tables.table import Table

if TYPE_CHECKING:
    from countwise.models.explanation import Explanation
    from countwise.models.views import View


class Classifier(ClassifierMixin, TableEstimator):
    """A scikit-learn classifier that reads tables: frames with text, arrays, or a `Table`.

    A model fills in `fit`, and `_scores` (log posteriors up to a constant a row).
    """

    classes_: NDArray[Any] = fitted("the classes, in the order of the columns of predict_proba")

    def fit(
        self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn from rows and their classes.

        Parameters
        ----------
        X
            A data frame, an array, or a `Table` read with a target.
        y
            One label a row, or the name of the column of X that holds them (not with a `Table`).
        sample_weight
            One weight a row; an integer weight equals repeating the row.
        """
        raise NotImplementedError

    def _scores(self, table: Table) -> FloatArray:
        """Return one line a row, one figure a class: joint log probabilities."""
        raise NotImplementedError

    #: Whether `fit` takes rows outside memory.
    takes_scans: ClassVar[bool] = False

    @property
    def uses_text(self) -> bool:
        """Whether the model counts the words of text columns; the registry knows."""
        from countwise.models import registry

        return registry.counts_words(type(self))

    def counts_needed(self, schema: Schema) -> Plan | None:
        """Return what to count so that `fit_counts` can take the place of `fit`.

        None: counts do not suffice on tables of this schema, so the model is fitted to rows.
        """
        return None

    def leave_one_out(self, table: Table, weight: FloatArray | None = None) -> FloatArray | None:
        """Return the posteriors of every row by the model of all other rows.

        One line a row, one column a class of the table. None: refitting is the only way.
        """
        return None

    def views(self) -> Sequence[View]:
        """Return what a page or a picture can show of the fitted model, the most telling first."""
        return ()

    def predict_joint_log_proba(self, X: Any) -> FloatArray:
        """Return log P(class) + Σ log P(value | class), not normalized, as scikit-learn does."""
        return self._scores(self._rows(X))

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return the log of the posteriors, exact also where they are next to nothing."""
        return log_softmax(self._scores(self._rows(X)))

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the posterior of each class (columns, in the order of ``classes_``).

        A PySpark DataFrame is answered by one with a column ``p_…`` for each class.
        """
        return softmax(self._scores(self._rows(X)))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class with the largest posterior; of equal ones the first.

        A PySpark DataFrame is answered by one with a column ``class``.
        """
        best = self._best(self._rows(X))
        return np.asarray(self.classes_[best])

    def score(
        self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return the share of rows whose class is predicted right; a `Table` brings its classes."""
        if y is None and isinstance(X, Table):
            y = X.labels
        return float(super().score(X, y, sample_weight))

    def explain(self, X: Any) -> Explanation:
        """Return what each column adds to the log posterior of each class; the parts sum to it."""
        from countwise.models.explanation import explain_in_turn

        classes = tuple(self.classes_.tolist())
        return explain_in_turn(self._rows(X), classes, lambda rows: log_softmax(self._scores(rows)))

    def _best(self, table: Table) -> NDArray[np.int64]:
        return np.asarray(softmax(self._scores(table)).argmax(axis=1))

    def _training(self, X: Any, y: ArrayLike | None, sample_weight: ArrayLike | None) -> Training:
        """Begin a fit: check parameters, read the rows, keep those that can be learned from."""
        self.check_parameters()
        who = type(self).__name__
        table = self._read_training(X, y)
        self.schema_, self.notes_ = table.schema, table.notes
        return drop_zero_weight(who, table, sample_weight, table.target < table.target_column.width)

    def _check_classes(self) -> None:
        """Refuse classes that the schema does not have, or not in their order."""
        target = self.schema_.target
        places = [] if target is None else [target.place(label) for label in self.classes_.tolist()]
        if not places or places[0] < 0 or places != sorted(set(places)):
            raise TableError(
                f"{type(self).__name__}: the classes must be those of the schema, in their order."
            )

    def _class_summary(self, weights: FloatArray) -> dict[str, Any]:
        """Return the weight of all rows, the classes and their fractions."""
        total = float(weights.sum())
        return {
            "weight": total,
            "classes": self.classes_.tolist(),
            "class_shares": (weights / (total or 1.0)).tolist(),
        }

    def _take_classes(self, rows: Table) -> NDArray[np.intp]:
        """Know the classes that occur in these rows; return their codes."""
        present = np.unique(rows.target).astype(np.intp)
        self.classes_ = labels_array([rows.classes[place] for place in present.tolist()])
        return present

    def _read_training(self, X: Any, y: ArrayLike | None, known: Schema | None = None) -> Table:
        """Bring training rows to a table with classes; a known schema is extended by new levels."""
        from countwise.tables.read import extend, read

        who = type(self).__name__
        refuse_scan(who, X)
        options = {"nominal": self.nominal, "identifiers": "drop named"}
        if isinstance(X, Table) or isinstance(y, str):
            table = X if isinstance(X, Table) else read(X, target=y, **options)
            if isinstance(X, Table) and y is not None:
                raise TableError(
                    f"{who}: a Table brings its classes along. Call fit(table) without y."
                )
            if not table.labelled:
                raise TableError(
                    f"{who}: training needs classes; the table has none. "
                    "Read it with target='column'."
                )
            if known is None:
                self._match_columns_by_name()
                return leave_out_text(self, table)
            return extend(table, known)
        if y is None:
            raise TableError(
                f"{who} requires y to be passed, but the target y is None. Pass the labels, or a "
                "Table read with target='column'."
            )
        X = self._check_shape(X, reset=known is None)
        with as_table_error(who):
            labels = check_class_labels(y)
        check_lengths(who, n_rows_of(X), len(labels))
        if known is None:
            return leave_out_text(self, read(X, target=labels, **options))
        return extend(X, known, target=labels)


def refuse_scan(who: str, X: Any) -> None:
    """Refuse rows outside memory for a model that learns from rows."""
    if isinstance(X, Scan):
        raise TableError(
            f"{who}: it learns from rows in memory, not from counts; got rows outside memory (a "
            "Scan).",
            hint=f"Pass {SOME_ROWS}, or choose Additive or a model made from counts",
        )


def check_scan(model: Any, scan: Scan, y: Any, sample_weight: Any) -> None:
    """Refuse labels or weights beside rows outside memory, and such rows without a class."""
    who = type(model).__name__
    if y is not None or sample_weight is not None:
        raise TableError(
            f"{who}: a Scan brings its classes and weights along; got others beside it.",
            hint="Scan it with `target=` and `weight=`",
        )
    if not scan.labelled:
        raise TableError(
            f"{who}: training needs classes; the scan has none. Scan it with target='column'."
        )


Rows = TypeVar("Rows", Table, Scan)


def leave_out_text(model: Any, table: Rows) -> Rows:
    """Return the rows without text columns, with a note on each, unless the model uses them."""
    if not table.schema.text or getattr(model, "uses_text", False):
        return table
    from countwise.models import registry

    who = type(model).__name__
    models = listing([entry.name for entry in registry.models() if entry.counts_words])
    notes: list[Note] = [Note.of("W02", c.name, who=who, models=models) for c in table.schema.text]
    rest = table.without_text()
    if not rest.schema.attributes:
        raise TableError(
            f"{who}: there must be a nominal or numeric column besides the class; got only text, "
            f"which {models} can use.",
            hint="Choose such a model.",
        )
    return rest.with_notes((*table.notes, *notes))
