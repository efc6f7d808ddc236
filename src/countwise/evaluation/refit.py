"""The table as scikit-learn's classifiers can take it.

Models of ours take the table itself. A table of numbers without a gap goes to other classifiers as
it is, so that their results are those of scikit-learn's own `cross_validate`. Otherwise, within
each training part and from it alone, nominal columns become one column a level (an unknown level
none, a missing cell a level of its own), and gaps in numbers the median with a column that says so;
classifiers that take gaps themselves get them. A pipeline that begins with a `ColumnTransformer`
gets a pandas frame with the columns' own names and values, and does as it likes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils import get_tags
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import has_fit_parameter

from countwise._typing import FloatArray
from countwise.decisions.prior_shift import training_shares
from countwise.errors import CountwiseError, ParameterError
from countwise.evaluation.candidates import Learner
from countwise.evaluation.predictions import Said, widened
from countwise.models.base import Classifier
from countwise.tables.labels import Label, plain
from countwise.tables.table import Table

#: Beyond this many cells one column a level is kept as a sparse matrix.
MOST_CELLS = 50_000_000


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
        return Pipeline([("encode", clone(self.steps)), ("model", clone(model))])

    def rows(self, index: NDArray[np.intp]) -> Any:
        """Return some of the rows."""
        if isinstance(self.X, Table):
            return self.X.take(index)
        return self.X.iloc[index] if hasattr(self.X, "iloc") else self.X[index]

    def labels(self, index: NDArray[np.intp]) -> Any:
        """Return their classes; None where the rows bring them along."""
        return None if isinstance(self.X, Table) else self.y[index]

    def weights(self, model: Any, weight: NDArray[np.float64] | None) -> dict[str, Any] | None:
        """Name the weights as the model's fit calls them; None if it cannot take any."""
        if weight is None:
            return {}
        if self.steps is not None:
            inner = Material(self.X, self.y).weights(model, weight)
            return None if inner is None else {f"model__{k}": w for k, w in inner.items()}
        if isinstance(model, Pipeline):
            name, last = model.steps[-1]
            takes = has_fit_parameter(last, "sample_weight")
            return {f"{name}__sample_weight": weight} if takes else None
        return {"sample_weight": weight} if has_fit_parameter(model, "sample_weight") else None


def material_of(model: Any, table: Table) -> Material:
    """Bring a table to the shape a model takes."""
    labels = table.labels
    if isinstance(model, Classifier):
        return Material(table, labels)
    if _names_columns(model):
        return Material(_frame(table), labels)
    columns = table.schema.attributes
    arrays = [_codes(table, c.name) if c.coded else table.values(c.name) for c in columns]
    X = np.column_stack(arrays)
    nominal = [at for at, column in enumerate(columns) if column.coded]
    gaps = [
        at for at, column in enumerate(columns) if not column.coded and np.isnan(X[:, at]).any()
    ]
    if get_tags(model).input_tags.allow_nan:
        gaps = []
    if not nominal and not gaps:
        return Material(X, labels)
    width = sum(columns[at].width + 1 for at in nominal) + len(columns)
    steps = ColumnTransformer(
        [
            ("levels", OneHotEncoder(handle_unknown="ignore"), nominal),
            ("gaps", SimpleImputer(strategy="median", add_indicator=True), gaps),
        ],
        remainder="passthrough",
        sparse_threshold=1.0 if width * len(table) > MOST_CELLS else 0.0,
    )
    return Material(X, labels, steps, encoded=True)


def _codes(table: Table, name: str) -> NDArray[np.float64]:
    codes = table.codes(name).astype(np.float64)
    codes[codes >= table.schema[name].width] = np.nan
    return codes


def _names_columns(model: Any) -> bool:
    return isinstance(model, Pipeline) and isinstance(model.steps[0][1], ColumnTransformer)


def _frame(table: Table) -> Any:
    try:
        import pandas as pd
    except ImportError:
        raise ParameterError(
            "evaluate: a pipeline that begins with a ColumnTransformer needs a pandas frame, but "
            "pandas is not installed. Install it, or give the classifier alone."
        ) from None
    return pd.DataFrame({c.name: table.decode(c.name) for c in table.schema.attributes})


Rows = NDArray[np.intp]

#: How many rows tell whether a model can be done in time.
_PROBED = 2000


def refitted(
    learner: Learner,
    material: Material,
    splits: Sequence[tuple[Rows, Rows]],
    weight: FloatArray | None,
    classes: Sequence[Label],
    n_jobs: int | None,
    tick: Callable[[str], None],
    deadline: float | None = None,
) -> list[Said] | None:
    """Fit a copy of the model for every (train, test) pair and ask it about the tested rows.

    None if that would not be done before the deadline: what a part took is what the next is
    expected to take.
    """
    jobs = (
        delayed(_refit)(learner.name, learner.model, material, train, test, weight, classes)
        for train, test in splits
    )
    said = []
    started = perf_counter()
    answers: Iterator[Said] = Parallel(n_jobs=n_jobs, return_as="generator")(jobs)
    for place, own in enumerate(answers, 1):
        said.append(own)
        taken = (perf_counter() - started) / place
        if deadline is not None and perf_counter() + taken * (len(splits) - place) > deadline:
            return None
        tick(f"{learner.name}, part {place} of {len(splits)}")
    return said


def expected_seconds(
    learner: Learner,
    material: Material,
    splits: Sequence[tuple[Rows, Rows]],
    weight: FloatArray | None,
    classes: Sequence[Label],
) -> float:
    """How long all parts can be expected to take, judged by a part of few rows.

    Half of what they say, because some of what few rows take many do not; and nothing of tables
    so small that it is found out soon enough.
    """
    train, test = splits[0]
    if len(train) <= 2 * _PROBED:
        return 0.0
    some = train[:: max(1, len(train) // _PROBED)]
    if len(np.unique(material.y[some])) < len(np.unique(material.y[train])):
        return 0.0
    started = perf_counter()
    _refit(learner.name, learner.model, material, some, test[:_PROBED], weight, classes)
    taken = perf_counter() - started
    return taken * len(splits) * len(train) / len(some) / 2


def _refit(
    name: str,
    model: Any,
    material: Material,
    train: Rows,
    test: Rows,
    weight: FloatArray | None,
    classes: Sequence[Label],
) -> Said:
    estimator = material.estimator(model)
    given = material.weights(model, None if weight is None else weight[train]) or {}
    rows, labels, asked = material.rows(train), material.labels(train), material.rows(test)
    started = perf_counter()
    try:
        estimator.fit(rows, labels, **given)
        learned = perf_counter()
        answer = _answer(estimator, asked, classes)
    except CountwiseError:
        raise
    except Exception as why:
        raise ParameterError(
            f"evaluate: {name!r} could not be trained on {len(train)} rows and asked about "
            f"{len(test)}: {type(why).__name__}: {why} Mend the model, or leave it out."
        ) from why
    ended = perf_counter()
    posteriors, decided, certain = answer
    own = getattr(estimator, "classes_", np.asarray(classes))
    last = estimator[-1] if hasattr(estimator, "steps") else estimator
    part = None if weight is None else weight[train]
    shares = training_shares(last, own, material.y[train], part)
    return Said(
        posteriors,
        widened(shares[None, :], own, classes)[0],
        learned - started,
        ended - learned,
        decided,
        certain,
    )


def _answer(
    estimator: Any, asked: Any, classes: Sequence[Label]
) -> tuple[FloatArray, NDArray[Any], bool]:
    """Posteriors and decisions; where a model gives labels only, they stand as sure posteriors."""
    names = [plain(label) for label in classes]
    labels, place = np.unique(np.asarray(estimator.predict(asked)), return_inverse=True)
    codes = np.asarray([names.index(plain(label)) for label in labels], dtype=np.intp)
    decided = codes[place.ravel()].astype(np.min_scalar_type(len(names)))
    if not hasattr(estimator, "predict_proba"):
        return np.eye(len(names))[decided], decided, True
    posteriors = widened(estimator.predict_proba(asked), estimator.classes_, names)
    if not np.isfinite(posteriors).all():
        raise ValueError("its posteriors must be finite numbers, but some are not.")
    return posteriors, decided, False
