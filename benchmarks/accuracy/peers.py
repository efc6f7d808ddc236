"""Other libraries on our tables, each with its defaults and the columns in the shape it prefers.

Every function trains on the first rows of a fold and predicts the others, in one thread. Classes
are codes; a class that the training rows lack gets probability 0.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.accuracy.measure import Answer, time_model
from countwise.evaluation.folds import Fold
from countwise.evaluation.predictions import widen
from countwise.evaluation.refit import prepare_rows
from countwise.tables.table import Table

#: What stands for a missing nominal cell where a library takes strings only.
_MISSING = "(missing)"


def refit_model(model: Any, table: Table, fold: Fold) -> Answer:
    """Fit one of our models on the table, or a scikit-learn classifier on encoded columns."""
    material = prepare_rows(model, table)
    estimator = material.estimator(model)
    labels = None if isinstance(material.X, Table) else material.y[fold.train]
    train, test = material.rows(fold.train), material.rows(fold.test)
    posteriors, fitting, predicting = time_model(
        lambda: estimator.fit(train, labels), lambda fitted: fitted.predict_proba(test)
    )
    return Answer(widen(posteriors, estimator.classes_, table.classes), fitting, predicting)


def _answer(
    table: Table, fold: Fold, X: Any, fit: Callable[[Any, NDArray[Any]], Any], classes: str
) -> Answer:
    """Train by a function of rows and class codes, and predict; `classes` names their order."""
    take = (lambda rows: X.iloc[rows]) if hasattr(X, "iloc") else (lambda rows: X[rows])
    y = np.asarray(table.target, dtype=np.intp)[fold.train]
    train, test = take(fold.train), take(fold.test)
    (posteriors, model), fitting, predicting = time_model(
        lambda: fit(train, y), lambda fitted: (fitted.predict_proba(test), fitted)
    )
    known = [int(code) for code in getattr(model, classes)]
    codes = list(range(len(table.classes)))
    return Answer(widen(posteriors, known, codes), fitting, predicting)


def _code_columns(table: Table) -> tuple[NDArray[np.float64], list[bool]]:
    """Return codes and numbers with NaN for missing, and which columns are nominal."""
    columns = table.schema.attributes
    arrays = []
    for column in columns:
        values = table.raw_array(column.name).astype(np.float64)
        if column.coded:
            values[values >= column.width] = np.nan
        arrays.append(values)
    return np.column_stack(arrays), [column.coded for column in columns]


def _frame_columns(table: Table, missing: str | None) -> tuple[Any, list[str]]:
    """Return a pandas frame with nominal columns as texts, and their names."""
    import pandas as pd

    X, nominal = _code_columns(table)
    frame: dict[str, Any] = {}
    for place, is_nominal in enumerate(nominal):
        if is_nominal:
            texts = [missing if np.isnan(code) else f"v{int(code)}" for code in X[:, place]]
            frame[f"a{place}"] = pd.Series(texts, dtype=object)
        else:
            frame[f"a{place}"] = X[:, place]
    return pd.DataFrame(frame), [f"a{place}" for place, one in enumerate(nominal) if one]


def fit_logistic(table: Table, fold: Fold) -> Answer:
    """scikit-learn's logistic regression on standardized numbers and one column a level."""
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=5000))
    return refit_model(model, table, fold)


class _TwoBayes:
    """Naive Bayes of mixed columns: Gaussian for numbers, counts for levels, logs added up."""

    def __init__(self, nominal: list[bool], widths: list[int]) -> None:
        self.nominal = np.asarray(nominal)
        self.categorical = CategoricalNB(min_categories=widths or None)
        self.gaussian = make_pipeline(SimpleImputer(keep_empty_features=True), GaussianNB())

    def fit(self, X: NDArray[Any], y: NDArray[Any]) -> _TwoBayes:
        """Fit both parts."""
        self.classes_, counts = np.unique(y, return_counts=True)
        self.prior = np.log(counts / counts.sum())
        if self.nominal.any():
            self.categorical.fit(X[:, self.nominal], y)
        if not self.nominal.all():
            self.gaussian.fit(X[:, ~self.nominal], y)
        return self

    def predict_proba(self, X: NDArray[Any]) -> NDArray[np.float64]:
        """Multiply the posteriors of both parts; the prior counts once."""
        logs = np.tile(self.prior, (len(X), 1))
        if self.nominal.any():
            logs = logs + self.categorical.predict_joint_log_proba(X[:, self.nominal]) - self.prior
        if not self.nominal.all():
            imputed = self.gaussian[0].transform(X[:, ~self.nominal])
            logs = logs + self.gaussian[1].predict_joint_log_proba(imputed) - self.prior
        odds = np.exp(logs - logs.max(axis=1, keepdims=True))
        return odds / odds.sum(axis=1, keepdims=True)


def fit_two_bayes(table: Table, fold: Fold) -> Answer:
    """scikit-learn's GaussianNB and CategoricalNB together; a missing level is a level."""
    X, nominal = _code_columns(table)
    widths = [column.width for column in table.schema.attributes if column.coded]
    X[:, nominal] = np.where(np.isnan(X[:, nominal]), np.asarray(widths), X[:, nominal])
    model = _TwoBayes(nominal, [width + 1 for width in widths])
    return _answer(table, fold, X, model.fit, "classes_")


def fit_boosting(table: Table, fold: Fold) -> Answer:
    """scikit-learn's HistGradientBoosting with native categories."""
    X, nominal = _code_columns(table)
    model = HistGradientBoostingClassifier(categorical_features=nominal, random_state=0)
    return _answer(table, fold, X, model.fit, "classes_")


def fit_lightgbm(table: Table, fold: Fold) -> Answer:
    """LightGBM with native categories."""
    from lightgbm import LGBMClassifier

    X, nominal = _code_columns(table)
    model = LGBMClassifier(random_state=0, n_jobs=1, verbose=-1)
    places = [place for place, one in enumerate(nominal) if one]
    return _answer(
        table, fold, X, lambda X, y: model.fit(X, y, categorical_feature=places), "classes_"
    )


def fit_catboost(table: Table, fold: Fold) -> Answer:
    """CatBoost with native categories; missing is a category."""
    from catboost import CatBoostClassifier

    X, nominal = _frame_columns(table, _MISSING)
    model = CatBoostClassifier(
        random_seed=0, thread_count=1, verbose=False, allow_writing_files=False
    )
    return _answer(table, fold, X, lambda X, y: model.fit(X, y, cat_features=nominal), "classes_")


def fit_ebm(table: Table, fold: Fold) -> Answer:
    """InterpretML's explainable boosting machine."""
    from interpret.glassbox import ExplainableBoostingClassifier

    X, nominal = _frame_columns(table, None)
    kinds = ["nominal" if name in nominal else "continuous" for name in X.columns]
    model = ExplainableBoostingClassifier(feature_types=kinds, random_state=0, n_jobs=1)
    return _answer(table, fold, X, model.fit, "classes_")


def fit_khiops(table: Table, fold: Fold) -> Answer:
    """Khiops: selective naive Bayes on optimally grouped columns."""
    os.environ.setdefault("KHIOPS_PROC_NUMBER", "1")
    tools = str(Path(sys.executable).parent)  # Khiops looks there for its own program
    if tools not in os.environ["PATH"].split(os.pathsep):
        os.environ["PATH"] = os.pathsep.join([tools, os.environ["PATH"]])
    from khiops.sklearn import KhiopsClassifier

    X, _ = _frame_columns(table, "")
    return _answer(table, fold, X, lambda X, y: KhiopsClassifier().fit(X, y), "classes_")
