"""Laws 2, 3, 5, 6 and 7 for every counted model."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import countwise as cw
from countwise.models.bayes.aode import AODE
from countwise.models.bayes.kdb import KDB
from countwise.models.bayes.tan import TAN
from countwise.testing import laws
from countwise.testing.strategies import tables, weights

MODELS = {
    "plain": lambda: cw.NaiveBayes(),
    "unsmoothed": lambda: cw.NaiveBayes(smoothing=0),
    "kernel": lambda: cw.NaiveBayes(numeric="kernel"),
    "exact": lambda: cw.NaiveBayes(numeric="gaussian", min_deviation=0),
    "posteriors": lambda: cw.NaiveBayes(combine="posteriors"),
    "least deviation": lambda: cw.NaiveBayes(numeric="gaussian"),
    "missing as value": lambda: cw.NaiveBayes(when_missing="value", unseen="smooth"),
    "m-estimate": lambda: cw.NaiveBayes(smoothing=cw.MEstimate(3, "overall")),
}

#: Models of columns taken together: they learn cuts, and some their structure, from the first rows.
JOINT = {
    "TAN": lambda: TAN(),
    "TAN, Laplace": lambda: TAN(1.0),
    "TAN, unsmoothed": lambda: TAN(0),
    "AODE": lambda: AODE(),
    "AODE, few parents": lambda: AODE(0.5, frequency_limit=3),
    "KDB, all attributes": lambda: KDB(1, selective=False),
    "KDB": lambda: KDB(2),
}
#: Those that keep nothing of the first rows but their counts, on nominal tables.
COUNTED = {name: make for name, make in JOINT.items() if name != "KDB"}

EVERY = {**MODELS, **JOINT}
every_model = pytest.mark.parametrize("make", list(EVERY.values()), ids=list(EVERY))
each_plain_model = pytest.mark.parametrize("make", list(MODELS.values()), ids=list(MODELS))
each_of_pairs = pytest.mark.parametrize("make", list(COUNTED.values()), ids=list(COUNTED))


def nominal(least_rows):
    return tables(least_rows=least_rows, kinds=("nominal",))


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


@each_plain_model
@given(st.data())
def test_law_5_batches(make, data):
    table = data.draw(tables(least_rows=2))
    laws.law_5_batches(make, table, data.draw(st.integers(0, len(table))))


@each_of_pairs
@given(st.data())
def test_law_5_batches_of_nominal_columns(make, data):
    table = data.draw(nominal(2))
    laws.law_5_batches(make, table, data.draw(st.integers(0, len(table))))


@each_plain_model
@given(st.data())
def test_law_5_forget(make, data):
    table = data.draw(tables(least_rows=3))
    laws.law_5_forget(make, table, data.draw(st.integers(1, len(table) - 1)))


@each_of_pairs
@given(st.data())
def test_law_5_forget_nominal_columns(make, data):
    table = data.draw(nominal(3))
    laws.law_5_forget(make, table, data.draw(st.integers(1, len(table) - 1)))


@pytest.mark.parametrize("make", list(JOINT.values()), ids=list(JOINT))
@given(st.data())
def test_law_5_later_rows_are_counted_in_the_intervals_and_families_of_the_first(make, data):
    """Adding rows and forgetting them leaves the model as it was; counting does not know when."""
    table = data.draw(tables(least_rows=3))
    cut = data.draw(st.integers(1, len(table) - 1))
    first, second = table.take(slice(0, cut)), table.take(slice(cut, None))

    def uncalibrated():
        return make().set_params(calibrate=None)

    plain = uncalibrated().fit(first)
    back = uncalibrated().fit(first).partial_fit(second).forget(second)
    np.testing.assert_array_equal(back.predict_proba(table), plain.predict_proba(table))
    for names, cells in plain.counts_.tables.items():
        np.testing.assert_array_equal(back.counts_.tables[names], cells)
    piecemeal = uncalibrated().fit(first)
    for row in range(len(second)):
        piecemeal.partial_fit(second.take([row]))
    whole = uncalibrated().fit(first).partial_fit(second)
    np.testing.assert_array_equal(piecemeal.predict_proba(table), whole.predict_proba(table))


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


@pytest.mark.parametrize("name", [n for n in EVERY if n != "missing as value"])
@given(tables())
def test_law_7(name, table):
    laws.law_7_no_evidence(EVERY[name], table)


@each_plain_model
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


@pytest.mark.parametrize("make", list(JOINT.values()), ids=list(JOINT))
def test_two_hundred_attributes_taken_together_stay_finite(make):
    rng = np.random.default_rng(0)
    cells = {f"w{i}": rng.choice(["a", "b", "c"], 30) for i in range(150)}
    cells |= {f"x{i}": rng.normal(size=30) for i in range(60)}
    table = cw.read({**cells, "class": rng.choice(["no", "yes"], 30)}, target="class")
    far = {name: ["z"] if name[0] == "w" else [1e120] for name in cells}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cw.UnseenLevelWarning)
        laws.law_6_posteriors(make, table, table)
        laws.law_6_posteriors(make, table, cw.read(far, schema=table.schema.without_target()))
