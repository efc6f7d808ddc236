"""The laws of counted models as functions: call them on a new model and any table.

Each raises AssertionError with what differed. The numbers are those of docs/laws.md.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from countwise.counts.count_rows import count
from countwise.errors import UnseenLevelWarning
from countwise.models.bayes.counted import CountedModel
from countwise.tables.schema import Schema
from countwise.tables.table import Table

Make = Callable[[], CountedModel]


def _close(left: NDArray[np.float64], right: NDArray[np.float64], tolerance: float = 1e-7) -> None:
    np.testing.assert_allclose(left, right, rtol=0, atol=tolerance)


def mirror(table: Table) -> Table:
    """Return the same rows with the columns in the opposite order."""
    columns = tuple(reversed(table.schema.columns))
    cells = {c.name: table.raw_array(c.name) for c in columns if c.name in table}
    return Table(Schema(columns), cells)


def law_2_names_and_order(make: Make, table: Table, order: NDArray[np.intp]) -> None:
    """Shuffling rows and reordering columns change nothing."""
    plain = make().fit(table).predict_proba(table)
    shuffled = make().fit(table.take(order))
    _close(shuffled.predict_proba(table), plain)
    turned = mirror(table)
    _close(make().fit(turned).predict_proba(turned), plain)


def law_3_weights_repeat_rows(make: Make, table: Table, weight: NDArray[np.float64]) -> None:
    """An integer weight equals repeating the row."""
    repeated = table.take(np.repeat(np.arange(len(table)), weight.astype(int)))
    weighted = make().fit(table, sample_weight=weight)
    plain = make().fit(repeated)
    assert weighted.classes_.tolist() == plain.classes_.tolist()
    _close(weighted.predict_proba(table), plain.predict_proba(table))


def uncalibrated(model: Any) -> Any:
    """Return a copy without temperature, which what is made from counts alone cannot have."""
    without = {"calibrate": None} if "calibrate" in model.get_params(deep=False) else {}
    return clone(model).set_params(**without)


def law_5_batches(given: Make, table: Table, cut: int) -> None:
    """Fit = partial_fit in batches = fit from counts = merge of two models, at temperature 1."""

    def make() -> Any:
        return uncalibrated(given())

    whole = make().fit(table)
    first, second = table.take(slice(0, cut)), table.take(slice(cut, None))
    expected = whole.predict_proba(table)
    batches = make()
    for part in (first, second):
        if len(part):
            batches.partial_fit(part)
    _close(batches.predict_proba(table), expected)
    counted = make()
    counts = count(table, counted.counts_needed(table.schema))
    _close(counted.fit_counts(counts).predict_proba(table), expected)
    if len(first) and len(second):
        merged = make().fit(first) + make().fit(second)
        _close(merged.predict_proba(table), expected)


def law_5_forget(make: Make, table: Table, cut: int) -> None:
    """Forgetting the last rows leaves the model of the first ones."""
    first, second = table.take(slice(0, cut)), table.take(slice(cut, None))
    plain = make().fit(first)
    forgetful = make().fit(table).forget(second)
    assert forgetful.classes_.tolist() == plain.classes_.tolist()
    left, right = forgetful.counts_, plain.counts_
    for names, cells in right.tables.items():
        np.testing.assert_array_equal(left.tables[names], cells)
    for name, moments in right.moments.items():
        assert left.moments[name] == moments


def law_5_rows_one_by_one(make: Make, table: Table) -> None:
    """Batch prediction equals row by row, to the last bit."""
    model = make().fit(table)
    whole = model.predict_joint_log_proba(table)
    one_by_one = [model.predict_joint_log_proba(table.take([row])) for row in range(len(table))]
    np.testing.assert_array_equal(whole, np.concatenate(one_by_one))
    np.testing.assert_array_equal(
        model.predict(table), model.classes_[model.predict_proba(table).argmax(axis=1)]
    )


def law_6_posteriors(make: Make, train: Table, rows: Table) -> None:
    """Posteriors are finite, not negative, and sum to one for every row the schema admits."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnseenLevelWarning)
        shares = make().fit(train).predict_proba(rows)
    assert np.isfinite(shares).all()
    assert (shares >= 0).all()
    _close(shares.sum(axis=1), np.ones(len(rows)), 1e-12)


def law_7_no_evidence(make: Make, table: Table) -> None:
    """With every attribute missing the posterior is the prior."""
    model = make().fit(table)
    blank = {column.name: [None] for column in table.schema.attributes}
    weight = model.counts_.weight[:-1]
    prior = weight[weight > 0] / weight.sum()
    _close(model.predict_proba(blank)[0], prior, 1e-12)
