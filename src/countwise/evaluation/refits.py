"""Anybody's classifier: refitted for every test part, in parallel if asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.parallel import Parallel, delayed

from countwise.decisions.labels import Label, plain
from countwise.decisions.training import training_shares
from countwise.errors import CountwiseError, ParameterError
from countwise.evaluation.encoding import Material
from countwise.evaluation.entrants import Learner
from countwise.evaluation.outcomes import Said, widened

Rows = NDArray[np.intp]
Doubles = NDArray[np.float64]

#: How many rows tell whether a model can be done in time.
_PROBED = 2000


def refitted(
    learner: Learner,
    material: Material,
    splits: Sequence[tuple[Rows, Rows]],
    weight: Doubles | None,
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
    weight: Doubles | None,
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
    weight: Doubles | None,
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
) -> tuple[Doubles, NDArray[Any], bool]:
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
