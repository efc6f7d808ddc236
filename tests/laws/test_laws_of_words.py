"""Laws 1 to 7, 11 and 12 for tables with text columns."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import countwise as cw
from countwise.errors import UnseenLevelWarning
from countwise.testing import laws
from countwise.testing.strategies import tables, weights

MODELS = {
    "multinomial": cw.NaiveBayes(),
    "bernoulli": cw.NaiveBayes(text="bernoulli"),
    "pairs": cw.NaiveBayes(bigrams=True, min_rows=2),
    "pairs, bernoulli": cw.NaiveBayes(text="bernoulli", bigrams=True, smoothing=0.5),
    "few words": cw.NaiveBayes(max_words=2, stop_words=["be"]),
    "missing as value": cw.NaiveBayes(when_missing="value", text="bernoulli", min_rows=2),
    "m-estimate": cw.NaiveBayes(smoothing=cw.MEstimate(3, "overall"), text="bernoulli"),
    "by classes": cw.NaiveBayes(smoothing=cw.Laplace(by="classes"), text="bernoulli"),
    "posteriors": cw.NaiveBayes(combine="posteriors"),
}
each_model = pytest.mark.parametrize("model", list(MODELS.values()), ids=list(MODELS))
few = settings(max_examples=6, deadline=None)


def with_text(least_rows=2):
    return tables(least_rows=least_rows, kinds=("text", "nominal"), most=3)


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_words_add_and_subtract_and_all_engines_agree(data):
    table = data.draw(tables(kinds=("text",), most=2))
    names = [column.name for column in table.schema.text]
    plan = cw.Plan(words=tuple((name, size) for name in names for size in (1, 2)))
    weight = data.draw(weights(len(table)))
    whole = cw.count(table, plan, sample_weight=weight)
    assert whole == cw.count(table, plan, sample_weight=weight, engine="reference")
    cut = data.draw(st.integers(0, len(table)))
    parts = [slice(0, cut), slice(cut, None)]
    one, two = (cw.count(table.take(p), plan, sample_weight=weight[p]) for p in parts)
    assert one + two == whole
    assert whole - one == two
    assert whole - one - two == cw.count(table.take([]), plan)


@each_model
@few
@given(st.data())
def test_laws_2_3_5(model, data):
    table = data.draw(with_text())

    def make():
        return clone(model)

    laws.law_2_names_and_order(
        make, table, np.asarray(data.draw(st.permutations(range(len(table)))))
    )
    laws.law_3_weights_repeat_rows(make, table, data.draw(weights(len(table))))
    cut = data.draw(st.integers(1, len(table) - 1))
    laws.law_5_batches(make, table, cut)
    laws.law_5_forget(make, table, cut)
    laws.law_5_rows_one_by_one(make, table)


@each_model
@few
@given(st.data())
def test_laws_6_7(model, data):
    train = data.draw(with_text())
    laws.law_6_posteriors(lambda: clone(model), train, train)
    new = {column.name: ["never seen", "", "??"] for column in train.schema.attributes}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnseenLevelWarning)
        shares = clone(model).fit(train).predict_proba(new)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    if model.when_missing == "omit":
        laws.law_7_no_evidence(lambda: clone(model), train)


@each_model
@few
@given(st.data())
def test_leave_one_out_equals_refitting(model, data):
    table = data.draw(with_text(least_rows=3))
    weight = data.draw(st.none() | weights(len(table), whole=False).filter(np.all))
    model = clone(model).set_params(calibrate=None)
    found = clone(model).leave_one_out(table, weight)
    for row in range(len(table)):
        rest = np.delete(np.arange(len(table)), row)
        given_weight = None if weight is None else weight[rest]
        fitted = clone(model).fit(table.take(rest), sample_weight=given_weight)
        expected = np.zeros(len(table.classes))
        places = [table.classes.index(label) for label in fitted.classes_.tolist()]
        expected[places] = fitted.predict_proba(table.take([row]))[0]
        np.testing.assert_allclose(found[row], expected, rtol=0, atol=1e-9)


@each_model
def test_law_11_and_12_on_the_help_desk(model, tmp_path):
    table = cw.read("sample:help-desk").take(slice(0, 150))
    trials = cw.evaluate({"model": model}, table, folds=5)
    for fold, predicted in zip(trials.folds, trials.entries["model"].predictions, strict=True):
        train = np.setdiff1d(np.arange(len(table)), fold.rows)
        again = clone(model).fit(table.take(train)).predict_proba(table.take(fold.rows))
        np.testing.assert_allclose(predicted.posteriors, again, rtol=0, atol=1e-9)
    fitted = clone(model).fit(table)
    cw.save(fitted, tmp_path / "model.cw")
    again = cw.load(tmp_path / "model.cw").predict_proba(table)
    np.testing.assert_array_equal(again, fitted.predict_proba(table))


def test_cross_validation_of_texts_agrees_to_the_last_bit():
    table = cw.read("sample:help-desk").select(["message", "channel"])
    trials = cw.evaluate({"model": cw.NaiveBayes(min_rows=2)}, table, folds=4)
    for fold, predicted in zip(trials.folds, trials.entries["model"].predictions, strict=True):
        train = np.setdiff1d(np.arange(len(table)), fold.rows)
        again = cw.NaiveBayes(min_rows=2).fit(table.take(train))
        np.testing.assert_array_equal(
            predicted.posteriors, again.predict_proba(table.take(fold.rows))
        )
