"""Refit any classifier in every fold; scikit-learn classifiers get encoded matrices.

Our own models take the table itself. A table of numbers without missing values goes to other
classifiers as it is, so that their results are those of scikit-learn's own `cross_validate`.
Otherwise, within each training part and from it alone, nominal columns become one column a level
(an unknown level none, a missing cell a level of its own), and missing numbers the median with a
column that says so; classifiers that take missing values get them. A pipeline that begins with a
`ColumnTransformer` gets a pandas frame with the names and values of the columns.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import has_fit_parameter

from countwise._typing import FloatArray
from countwise.decisions.class_prior import training_shares
from countwise.errors import CountwiseError, ParameterError
from countwise.evaluation.candidates import Learner
from countwise.evaluation.folds import Fold, Rows
from countwise.evaluation.predictions import Codes, Output, widen
from countwise.tables.labels import Label, plain
from countwise.tables.table import Table

#: Beyond this many cells one column a level is kept as a sparse matrix.
MAX_DENSE_CELLS = 50_000_000


@dataclass(frozen=True)
class Material:
    """Rows in the shape a model takes, and the steps to put before it."""

    X: Any
    y: NDArray[Any]
    steps: Any = None
    encoded: bool = False

    def estimator(self, model: Any) -> Any:
        """Return an unfitted copy of the model, with the steps before it if any are needed."""
        if self.steps is None:
            return clone(model)
        from sklearn.pipeline import Pipeline

        return Pipeline([("encode", clone(self.steps)), ("model", clone(model))])

    def rows(self, index: Rows) -> Any:
        """Return some of the rows."""
        if isinstance(self.X, Table):
            return self.X.take(index)
        return self.X.iloc[index] if hasattr(self.X, "iloc") else self.X[index]

    def weights(self, model: Any, weight: FloatArray | None) -> dict[str, Any] | None:
        """Return the weights under the name `fit` has for them; None if it takes none."""
        if weight is None:
            return {}
        if self.steps is not None:
            inner = Material(self.X, self.y).weights(model, weight)
            return None if inner is None else {f"model__{name}": w for name, w in inner.items()}
        if is_pipeline(model):
            name, last = model.steps[-1]
            weighted = has_fit_parameter(last, "sample_weight")
            return {f"{name}__sample_weight": weight} if weighted else None
        return {"sample_weight": weight} if has_fit_parameter(model, "sample_weight") else None


def is_pipeline(model: Any) -> bool:
    """Return whether a model is a scikit-learn pipeline, without importing that class."""
    return _is_instance(model, "sklearn.pipeline", "Pipeline")


def _is_instance(value: Any, module: str, name: str) -> bool:
    """Check for a class of a module; nothing can be an instance if the module is not imported."""
    return module in sys.modules and isinstance(value, getattr(sys.modules[module], name))


def prepare_rows(model: Any, table: Table) -> Material:
    """Bring a table to the shape a model takes; a model that knows of counts takes tables."""
    labels = table.labels
    if hasattr(model, "counts_needed"):
        return Material(table, labels)
    if is_pipeline(model) and _is_instance(
        model.steps[0][1], "sklearn.compose", "ColumnTransformer"
    ):
        return Material(_frame(table), labels)
    table = table.without_text()
    columns = table.schema.attributes
    arrays = [_codes(table, c.name) if c.coded else table.values(c.name) for c in columns]
    X = np.column_stack(arrays)
    nominal = [at for at, column in enumerate(columns) if column.coded]
    missing = [
        at for at, column in enumerate(columns) if not column.coded and np.isnan(X[:, at]).any()
    ]
    if get_tags(model).input_tags.allow_nan:
        missing = []
    if not nominal and not missing:
        return Material(X, labels)
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import OneHotEncoder

    width = sum(columns[at].width + 1 for at in nominal) + len(columns)
    steps = ColumnTransformer(
        [
            ("levels", OneHotEncoder(handle_unknown="ignore"), nominal),
            ("missing", SimpleImputer(strategy="median", add_indicator=True), missing),
        ],
        remainder="passthrough",
        sparse_threshold=1.0 if width * len(table) > MAX_DENSE_CELLS else 0.0,
    )
    return Material(X, labels, steps, encoded=True)


def _codes(table: Table, name: str) -> FloatArray:
    codes = table.codes(name).astype(np.float64)
    codes[codes >= table.schema[name].width] = np.nan
    return codes


def _frame(table: Table) -> Any:
    try:
        import pandas as pd
    except ImportError:
        raise ParameterError(
            "evaluate: a pipeline that begins with a ColumnTransformer needs a pandas frame; "
            "pandas is not installed.",
            hint="Install pandas, or give the classifier alone.",
        ) from None
    return pd.DataFrame({c.name: table.decode(c.name) for c in table.schema.attributes})


#: The number of rows by which the time of a model is estimated.
_PROBED = 2000


def refit(
    learners: Sequence[Learner],
    materials: Mapping[str, Material],
    folds: Sequence[Fold],
    weight: FloatArray | None,
    classes: Sequence[Label],
    n_jobs: int | None,
    step: Callable[[str], None],
    deadline: float | None = None,
) -> dict[str, list[Output]] | None:
    """Refit models for every fold and predict; None if they would not be done by the deadline.

    All models take a fold before the next fold comes, so that the time left can be told early.
    """
    jobs = [(learner, place) for place in range(len(folds)) for learner in learners]
    calls = (
        delayed(_refit_fold)(
            learner.name, learner.model, materials[learner.name], folds[place], weight, classes
        )
        for learner, place in jobs
    )
    outputs: dict[str, list[Output]] = {learner.name: [] for learner in learners}
    started = perf_counter()
    answers = Parallel(n_jobs=n_jobs, return_as="generator")(calls)
    for done, ((learner, place), output) in enumerate(zip(jobs, answers, strict=True), 1):
        outputs[learner.name].append(output)
        taken = (perf_counter() - started) / done
        if deadline is not None and perf_counter() + taken * (len(jobs) - done) > deadline:
            return None
        step(f"{learner.name}, fold {place + 1} of {len(folds)}")
    return outputs


def expected_seconds(
    learner: Learner,
    material: Material,
    folds: Sequence[Fold],
    weight: FloatArray | None,
    classes: Sequence[Label],
) -> float:
    """Return how long all folds can be expected to take, judged by a few rows of the first."""
    train, test = folds[0]
    if len(train) <= 2 * _PROBED:
        return 0.0
    some = train[:: max(1, len(train) // _PROBED)]
    if len(np.unique(material.y[some])) < len(np.unique(material.y[train])):
        return 0.0
    started = perf_counter()
    few = Fold(some, test[:_PROBED])
    _refit_fold(learner.name, learner.model, material, few, weight, classes)
    taken = perf_counter() - started
    # Half of it, because part of the time does not grow with the rows.
    return taken * len(folds) * len(train) / len(some) / 2


def _refit_fold(
    name: str,
    model: Any,
    material: Material,
    fold: Fold,
    weight: FloatArray | None,
    classes: Sequence[Label],
) -> Output:
    estimator = material.estimator(model)
    train_weight = None if weight is None else weight[fold.train]
    weights = material.weights(model, train_weight) or {}
    rows, tested = material.rows(fold.train), material.rows(fold.test)
    labels = None if isinstance(rows, Table) else material.y[fold.train]
    started = perf_counter()
    try:
        estimator.fit(rows, labels, **weights)
        fitted = perf_counter()
        posteriors, decided, certain = _predict(estimator, tested, classes)
    except CountwiseError:
        raise
    except Exception as error:
        raise ParameterError(
            f"evaluate: {name!r} must train on {len(fold.train)} rows and predict "
            f"{len(fold.test)}; got {type(error).__name__}: {error}",
            hint="Correct the model, or leave it out.",
        ) from error
    ended = perf_counter()
    known = getattr(estimator, "classes_", np.asarray(classes))
    last = estimator[-1] if hasattr(estimator, "steps") else estimator
    shares = training_shares(last, known, material.y[fold.train], train_weight)
    training = widen(shares[None, :], known, classes)[0]
    return Output(posteriors, training, fitted - started, ended - fitted, decided, certain)


def _predict(
    estimator: Any, tested: Any, classes: Sequence[Label]
) -> tuple[FloatArray, Codes, bool]:
    """Return posteriors and decisions; of a model that gives labels only, certain posteriors."""
    names = [plain(label) for label in classes]
    labels, place = np.unique(np.asarray(estimator.predict(tested)), return_inverse=True)
    codes = np.asarray([names.index(plain(label)) for label in labels], dtype=np.intp)
    decided = codes[place.ravel()].astype(np.min_scalar_type(len(names)))
    if not hasattr(estimator, "predict_proba"):
        return np.eye(len(names))[decided], decided, True
    posteriors = widen(estimator.predict_proba(tested), estimator.classes_, names)
    if not np.isfinite(posteriors).all():
        raise ValueError("the posteriors must be finite numbers; some are not.")
    return posteriors, decided, False
