"""numeric="quantizer": counted models whose numbers are cut together, once, in fit."""

import numpy as np
import pytest

import countwise as cw
from countwise.evaluation.evaluate import evaluate

MODELS = {
    "NaiveBayes": cw.NaiveBayes,
    "TAN": cw.TAN,
    "AODE": cw.AODE,
    "KDB": cw.KDB,
}
every_model = pytest.mark.parametrize("kind", list(MODELS.values()), ids=list(MODELS))


def rows(number, seed=0):
    """Two columns that tell the class only together, and one that says nothing."""
    rng = np.random.default_rng(seed)
    X = rng.random((number, 3)).round(3)
    return X, (X[:, 0] > 0.3) ^ (X[:, 1] > 0.8)


@every_model
def test_the_cuts_are_those_of_the_quantizer(kind):
    table = cw.read("sample:iris")
    model = kind(numeric="quantizer").fit(table)
    alone = cw.Quantizer(random_state=0).fit(table)
    assert model.cut_points_.keys() == alone.cut_points_.keys()
    for name, own in alone.cut_points_.items():
        np.testing.assert_array_equal(model.cut_points_[name], own)
    cut = alone.transform(table)
    np.testing.assert_allclose(
        model.predict_proba(table), kind().fit(cut).predict_proba(cut), atol=1e-12
    )


@pytest.mark.parametrize("kind", [cw.TAN, cw.AODE, cw.KDB, cw.ID3])
def test_columns_that_tell_together_are_cut_where_it_tells(kind):
    X, y = rows(3000)
    model = kind(numeric="quantizer").fit(X, y)
    assert np.abs(model.cut_points_["x1"] - 0.3).min() < 0.005
    assert np.abs(model.cut_points_["x2"] - 0.8).min() < 0.005
    fresh, labels = rows(2000, seed=1)
    assert model.score(fresh, labels) > 0.95


@every_model
def test_later_rows_are_counted_in_the_same_intervals(kind):
    X, y = rows(1500)
    more, labels = rows(500, seed=1)
    model = kind(numeric="quantizer", calibrate=None).fit(X, y)
    before, said = {n: own.copy() for n, own in model.cut_points_.items()}, model.predict_proba(X)
    model.partial_fit(more, labels)
    for name, own in before.items():
        np.testing.assert_array_equal(model.cut_points_[name], own)
    assert model.counts_.total == 2000
    model.forget(more, labels)
    np.testing.assert_allclose(model.predict_proba(X), said, atol=1e-12)


@every_model
def test_models_of_the_same_boundaries_merge_and_others_are_refused(kind):
    X, y = rows(1500)
    model, other = (kind(numeric="quantizer").fit(X, y) for _ in range(2))
    both = model + other
    assert both.counts_.total == 3000
    assert model.counts_.total == 1500
    strange = kind(numeric="quantizer").fit(X**2, y)
    with pytest.raises(cw.CountwiseError, match="only models that cut"):
        model.merge(strange)


@every_model
def test_a_saved_model_keeps_its_boundaries(kind, tmp_path):
    table = cw.read("sample:credit-g")
    model = kind(numeric="quantizer").fit(table)
    cw.save(model, tmp_path / "model.cw")
    again = cw.load(tmp_path / "model.cw")
    np.testing.assert_array_equal(again.predict_proba(table), model.predict_proba(table))
    assert again.notes_ == model.notes_
    some = table.take(slice(0, 50))
    np.testing.assert_array_equal(
        again.partial_fit(some).predict_proba(table), model.partial_fit(some).predict_proba(table)
    )


@every_model
def test_cross_validation_searches_in_each_training_part(kind):
    table = cw.read("sample:iris")
    trials = evaluate({"one": kind(numeric="quantizer")}, table, folds=3)
    for part, piece in zip(trials.folds, trials.entries["one"].predictions, strict=True):
        train = np.setdiff1d(np.arange(len(table)), part.rows)
        again = kind(numeric="quantizer").fit(table.take(train))
        np.testing.assert_array_equal(piece.posteriors, again.predict_proba(table.take(part.rows)))


def test_by_column_and_beside_others():
    iris = cw.read("sample:iris")
    others = dict.fromkeys(["sepal_length", "sepal_width"], "gaussian")
    model = cw.NaiveBayes(
        numeric={"petal_length": "quantizer", "petal_width": "cuts"} | others
    ).fit(iris)
    assert set(model.cut_points_) == {"petal_length", "petal_width"}
    assert model.schema_["petal_length"].kind == "numeric"
    assert model.score(iris) > 0.9
    assert model.explain(iris.take([0])).values[0]


def test_counts_alone_do_not_suffice():
    iris = cw.read("sample:iris")
    model = cw.NaiveBayes(numeric="quantizer")
    assert model.counts_needed(iris.schema) is None
    with pytest.raises(cw.CountwiseError, match="needs the rows"):
        model.fit_counts(cw.count(iris))


@pytest.mark.parametrize("kind", [cw.NaiveBayes, cw.TAN, cw.ID3])
def test_a_near_miss_is_refused(kind):
    with pytest.raises(cw.CountwiseError, match="numeric must be"):
        kind(numeric="quantiser").fit(*rows(20))


@every_model
def test_columns_beyond_the_budget_are_left_out_and_named(kind):
    rng = np.random.default_rng(0)
    X, y = rng.random((1200, 16)), rng.integers(0, 2, 1200)
    model = kind(numeric="quantizer").fit(X, y)
    left = [note.column for note in model.notes_ if note.code == "P10"]
    assert left
    assert all(not len(model.cut_points_[name]) for name in left)
    assert np.isfinite(model.predict_proba(X[:5])).all()
