"""The contract of models as checks: call `check_model` on a model of your own."""

from __future__ import annotations

import inspect
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils.estimator_checks import check_estimator

from countwise._typing import FloatArray
from countwise.errors import ParameterError, PrecisionWarning, UnseenLevelWarning
from countwise.numeric import softmax
from countwise.params import check
from countwise.reports.draw import draw
from countwise.store.files import load, save
from countwise.tables.read import read
from countwise.tables.table import Table
from countwise.testing.laws import law_3_weights_repeat_rows, law_5_batches, uncalibrated

#: A promise of the contract: its name and the function that proves it.
Check = tuple[str, Callable[[], None]]


def check_model(model: Any, *, scikit_learn: bool = True) -> None:
    """Raise AssertionError for the first promise of the model contract that a model breaks.

    Proved are its parameter lines; finite probabilities that sum to one, also for missing and
    unseen values; that the order of the rows changes nothing and a whole weight repeats a row;
    the laws that its abilities promise (counts, batches, merge, forget, leave-one-out); that the
    explanation adds up; saving and loading to the last bit; that every view can be drawn; and
    scikit-learn's checks.

    Parameters
    ----------
    model
        A model that is not fitted. To be saved, it must be in the registry: see
        `countwise.models.registry.add`.
    scikit_learn
        Whether scikit-learn's checks run as well; they take longer than all others.

    Examples
    --------
    >>> import countwise as cw
    >>> from countwise.testing import check_model
    >>> check_model(cw.NaiveBayes(), scikit_learn=False)
    """
    for name, prove in model_checks(model, scikit_learn=scikit_learn):
        try:
            prove()
        except AssertionError as why:
            raise AssertionError(f"{type(model).__name__}: {name} fails. {why}") from why


def model_checks(model: Any, *, scikit_learn: bool = True) -> Iterator[Check]:
    """Yield the promises of the contract one by one, for test runners.

    Parameters
    ----------
    model, scikit_learn
        As in `check_model`.
    """
    yield "parameters", lambda: _check_parameters(model)
    if is_classifier(model):
        yield "probabilities", lambda: _check_probabilities(model)
        yield "row order", lambda: _check_row_order(model)
        if "sample_weight" in inspect.signature(model.fit).parameters:
            yield "weights", lambda: _check_weights(model)
        yield "leave-one-out", lambda: _check_leave_one_out(model)
        yield "explanation", lambda: _check_explanation(model)
        if hasattr(model, "fit_counts"):
            yield "counts", lambda: _check_counts(model)
    yield "save and load", lambda: _check_store(model)
    yield "views", lambda: _check_views(model)
    if scikit_learn:
        yield "scikit-learn", lambda: _check_scikit_learn(model)


def _tables() -> list[Table]:
    """Return two small tables: mixed columns with missing cells, and nominal columns alone."""
    mixed = read("sample:weather-numeric")
    rows = {name: mixed.decode(name).tolist() for name in (c.name for c in mixed.schema)}
    rows["humidity"][3] = rows["outlook"][5] = None
    # A day in words, which a model counts or leaves out.
    days = zip(rows["outlook"], rows["windy"], strict=True)
    rows["report"] = [f"It was {sky}, windy {wind} {wind}" if sky else None for sky, wind in days]
    target = mixed.target_column.name
    return [read(rows, target=target, text=["report"]), read("sample:weather")]


def _fit(model: Any, table: Table) -> Any:
    """Fit a copy; a regressor predicts the number of each row's class."""
    target = () if is_classifier(model) else (table.target.astype(np.float64),)
    return clone(model).fit(table, *target)


def _answers(model: Any, table: Table) -> FloatArray:
    """Return the probabilities, or the numbers that a regressor predicts."""
    answers = model.predict_proba(table) if is_classifier(model) else model.predict(table)
    return np.asarray(answers, dtype=np.float64)


def _assert_close(left: FloatArray, right: FloatArray, what: str, within: float = 1e-7) -> None:
    np.testing.assert_allclose(left, right, rtol=0, atol=within, err_msg=what)


def _check_parameters(model: Any) -> None:
    given = model.get_params(deep=False)
    missing = sorted(set(given) - set(model.PARAMETERS))
    assert not missing, f"Parameters without a line: {missing}."
    rows = _tables()[0]
    for name, line in model.PARAMETERS.items():
        assert line.meaning, f"{name} has no help."
        for value in (*line.constraint.good, given[name]):
            check(type(model).__name__, {name: line}, {name: value})
        for value in line.constraint.bad:
            try:
                _fit(clone(model).set_params(**{name: value}), rows)
            except ParameterError:
                continue
            raise AssertionError(f"fit accepts {name}={value!r}.")


def _check_probabilities(model: Any) -> None:
    for table in _tables():
        fitted = _fit(model, table)
        names = [column.name for column in table.schema.attributes]
        unseen: dict[str, list[Any]] = {
            column.name: [1e9 if column.kind == "numeric" else "never seen"]
            for column in table.schema.attributes
        }
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnseenLevelWarning)
            blocks = [_answers(fitted, rows) for rows in (table, table.with_missing(names))]
            if getattr(model, "unseen", "ignore") != "error":
                blocks.append(np.asarray(fitted.predict_proba(unseen)))
        for shares in blocks:
            assert np.isfinite(shares).all(), "A probability is not finite."
            assert (shares >= 0).all(), "A probability is negative."
            _assert_close(shares.sum(axis=1), np.ones(len(shares)), "sums", 1e-12)
        best = fitted.classes_[blocks[0].argmax(axis=1)]
        assert (fitted.predict(table) == best).all(), "predict is not the most probable class."
        single = np.concatenate([_answers(fitted, table.take([row])) for row in range(len(table))])
        _assert_close(single, blocks[0], "row by row", 1e-9)


def _check_row_order(model: Any) -> None:
    for table in _tables():
        order = np.random.default_rng(5).permutation(len(table))
        shuffled = _fit(model, table.take(order))
        _assert_close(_answers(shuffled, table), _answers(_fit(model, table), table), "order")


def _check_weights(model: Any) -> None:
    for table in _tables():
        weight = np.arange(len(table), dtype=np.float64) % 3
        law_3_weights_repeat_rows(lambda: clone(model), table, weight)


def _check_leave_one_out(model: Any) -> None:
    model = uncalibrated(model)
    for table in _tables():
        found = clone(model).leave_one_out(table)
        if found is None:
            continue
        for row in range(len(table)):
            rest = np.delete(np.arange(len(table)), row)
            fitted = _fit(model, table.take(rest))
            expected = np.zeros(len(table.classes))
            places = [table.classes.index(label) for label in fitted.classes_.tolist()]
            expected[places] = _answers(fitted, table.take([row]))[0]
            _assert_close(found[row], expected, f"row {row}", 1e-9)


def _check_explanation(model: Any) -> None:
    for table in _tables():
        fitted = _fit(model, table)
        why = fitted.explain(table)
        finite = np.isfinite(why.joint)
        with np.errstate(invalid="ignore"):
            total = why.base + why.parts.sum(axis=1)
        _assert_close(total[finite], why.joint[finite], "base + parts = joint", 1e-9)
        _assert_close(why.posteriors, _answers(fitted, table), "posteriors", 1e-6)
        assert softmax(why.joint).shape == why.posteriors.shape


def _check_counts(model: Any) -> None:
    model = uncalibrated(model)
    for table in _tables():
        if clone(model).counts_needed(table.schema) is None:
            continue
        law_5_batches(lambda: clone(model), table, 8)
        first, second = table.take(slice(0, 8)), table.take(slice(8, None))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrecisionWarning)
            rest = _fit(model, table).forget(second)
        _assert_close(_answers(rest, first), _answers(_fit(model, first), first), "forget", 1e-5)


def _check_store(model: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.cw"
        for table in _tables():
            fitted = _fit(model, table)
            save(fitted, path)
            again = load(path)
            np.testing.assert_array_equal(_answers(again, table), _answers(fitted, table))
            assert repr(again) == repr(fitted), "Parameters differ after loading."


def _check_views(model: Any) -> None:
    for table in _tables():
        fitted = _fit(model, table)
        assert fitted.views(), "views() must return at least one view."
        assert "<svg" in str(draw(fitted)), "The model cannot be drawn."


def _check_scikit_learn(model: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_estimator(clone(model))
