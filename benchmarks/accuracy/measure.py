"""Measure one model in one fold: accuracy, log loss, Brier score and processor seconds."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from countwise.evaluation.folds import Fold
from countwise.tables.table import Table

#: No probability counts as less than this in the log loss.
CLIP = 1e-6

SCORES = ("accuracy", "log_loss", "brier", "fit_seconds", "predict_seconds")


@dataclass(frozen=True)
class Answer:
    """Posteriors of the tested rows, a column for every class of the table, and seconds."""

    posteriors: NDArray[np.float64]
    fit_seconds: float
    predict_seconds: float


#: Trains on the first rows of a fold and predicts the others.
Predict = Callable[[Table, Fold], Answer]


def cpu_seconds() -> float:
    """Return the processor time of this process, and of the child processes that have ended."""
    try:
        import resource
    except ImportError:  # Windows
        return time.process_time()
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def time_model(fit: Callable[[], Any], predict: Callable[[Any], Any]) -> tuple[Any, float, float]:
    """Return what `predict` returns for the result of `fit`, and the seconds of both."""
    started = cpu_seconds()
    model = fit()
    fitted = cpu_seconds()
    predicted = predict(model)
    return predicted, fitted - started, cpu_seconds() - fitted


def score_answer(answer: Answer, truth: NDArray[Any]) -> dict[str, float]:
    """Return the scores of one fold by name."""
    posteriors, rows = answer.posteriors, np.arange(len(truth))
    if posteriors.shape[0] != len(truth) or not np.isfinite(posteriors).all():
        raise ValueError("the posteriors must be finite, one line for each tested row")
    wanted = np.zeros_like(posteriors)
    wanted[rows, truth] = 1.0
    scores = (
        (posteriors.argmax(axis=1) == truth).mean(),
        -np.log(np.clip(posteriors[rows, truth], CLIP, 1.0)).mean(),
        ((posteriors - wanted) ** 2).sum(axis=1).mean(),
        answer.fit_seconds,
        answer.predict_seconds,
    )
    return {name: round(float(score), 6) for name, score in zip(SCORES, scores, strict=True)}


@contextmanager
def _one_thread() -> Iterator[None]:
    """Let our kernels and the libraries of NumPy and scikit-learn use one thread."""
    before = os.environ.get("COUNTWISE_THREADS")
    os.environ["COUNTWISE_THREADS"] = "1"
    try:
        with threadpool_limits(1):
            yield
    finally:
        os.environ.pop("COUNTWISE_THREADS")
        if before is not None:
            os.environ["COUNTWISE_THREADS"] = before


def measure_fold(predict: Predict, table: Table, fold: Fold) -> dict[str, Any]:
    """Return the scores of a model in a fold, or under `failed` why it could not be used."""
    with warnings.catch_warnings(), _one_thread():
        warnings.simplefilter("ignore")  # levels that a fold does not train on, early stops
        try:
            answer = predict(table, fold)
            return score_answer(answer, np.asarray(table.target[fold.test], dtype=np.intp))
        except Exception as error:  # a foreign library may raise anything
            reason = str(error).strip().split("\n")[0]
            return {"failed": f"{type(error).__name__}: {reason}"[:200]}
