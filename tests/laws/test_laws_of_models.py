"""Laws 2, 3, 5, 6 and 7 for every counted model."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import countwise as cw
from countwise.testing import laws
from countwise.testing.strategies import tables, weights

MODELS = {
    "plain": lambda: cw.NaiveBayes(),
    "unsmoothed": lambda: cw.NaiveBayes(smoothing=0),
    "kernel": lambda: cw.NaiveBayes(numeric="kernel"),
    "posteriors": lambda: cw.NaiveBayes(combine="posteriors"),
    "missing as value": lambda: cw.NaiveBayes(missing="value", unseen="smooth"),
    "m-estimate": lambda: cw.NaiveBayes(smoothing=cw.MEstimate(3, "overall")),
}

every_model = pytest.mark.parametrize("make", list(MODELS.values()), ids=list(MODELS))


@every_model
@given(st.data())
def test_law_2(make, data):
    table = data.draw(tables(least_rows=2))
    order = np.asarray(data.draw(st.permutations(range(len(table)))))
    laws.law_2_names_and_order(make, table, order)


@every_model
@given(st.data())
def test_law_3(make, data):
    table = data.draw(tables())
    laws.law_3_weights_repeat_rows(make, table, data.draw(weights(len(table))))


@every_model
@given(st.data())
def test_law_5_batches(make, data):
    table = data.draw(tables(least_rows=2))
    laws.law_5_batches(make, table, data.draw(st.integers(0, len(table))))


@every_model
@given(st.data())
def test_law_5_forget(make, data):
    table = data.draw(tables(least_rows=3))
    laws.law_5_forget(make, table, data.draw(st.integers(1, len(table) - 1)))


@every_model
@given(tables(least_rows=2, most_rows=12))
def test_law_5_rows_one_by_one(make, table):
    laws.law_5_rows_one_by_one(make, table)


@every_model
@given(st.data())
def test_law_6(make, data):
    train = data.draw(tables())
    cells = {}
    for column in train.schema.attributes:
        if column.kind == "nominal":
            cells[column.name] = data.draw(
                st.lists(st.sampled_from(["a", "never seen", None]), min_size=5, max_size=5)
            )
        else:
            far = st.sampled_from([0.0, 1e9, -1e100, 1e140, float("nan")])
            cells[column.name] = data.draw(st.lists(far, min_size=5, max_size=5))
    rows = cw.read(cells, schema=train.schema.without_target())
    laws.law_6_posteriors(make, train, rows)


@pytest.mark.parametrize("name", [n for n in MODELS if n != "missing as value"])
@given(tables())
def test_law_7(name, table):
    laws.law_7_no_evidence(MODELS[name], table)


@every_model
def test_two_thousand_attributes_stay_finite(make):
    rng = np.random.default_rng(0)
    cells = {f"w{i}": rng.choice(["a", "b", "c"], 30) for i in range(1000)}
    cells |= {f"x{i}": rng.normal(size=30) for i in range(1000)}
    table = cw.read({**cells, "class": rng.choice(["no", "yes"], 30)}, target="class")
    far = {name: ["z"] if name[0] == "w" else [1e120] for name in cells}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cw.UnseenLevelWarning)
        laws.law_6_posteriors(make, table, table)
        laws.law_6_posteriors(make, table, cw.read(far, schema=table.schema.without_target()))
