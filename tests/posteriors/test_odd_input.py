"""What once went wrong with odd input to neighbours, ensembles and linear models."""

import numpy as np
import pytest

import countwise as cw
from countwise.errors import CountwiseError, ParameterError, TableError


@pytest.fixture
def many_levels():
    rows = {
        "a": [f"l{at // 2}" for at in range(3000)],
        "b": [at % 37 for at in range(3000)],
        "class": ["pq"[at % 2] for at in range(3000)],
    }
    return cw.read(rows, target="class")


@pytest.fixture
def cloud():
    X = np.random.default_rng(0).normal(size=(60, 2))
    return X, X[:, 0] > 0


@pytest.mark.parametrize("metric", ["vdm", "hvdm"])
def test_words_with_class_axes_come_back_from_a_file(many_levels, metric, tmp_path):
    model = cw.Neighbors(metric=metric).fit(many_levels)
    cw.save(model, tmp_path / "m.cw")
    some = many_levels.take(np.arange(0, 3000, 50))
    np.testing.assert_array_equal(
        cw.load(tmp_path / "m.cw").predict_proba(some), model.predict_proba(some)
    )


def test_a_column_of_denormal_numbers_does_not_vary(cloud, tmp_path):
    X, y = cloud
    model = cw.Neighbors().fit(X * 1e-310, y)
    cw.save(model, tmp_path / "m.cw")
    assert cw.load(tmp_path / "m.cw").predict(X[:2]).shape == (2,)


def test_local_regression_does_not_follow_the_order_of_equal_rows():
    X, y = np.zeros((4, 1)), np.array([0.0, 0, 10, 10])
    for order in (slice(None), slice(None, None, -1)):
        said = cw.LocalRegression(k=2).fit(X[order], y[order]).predict([[0.0]])
        assert said[0] == pytest.approx(5.0)


def test_a_whole_weight_is_so_many_rows_in_a_local_regression(cloud):
    X, _ = cloud
    rng = np.random.default_rng(1)
    weight, y = rng.integers(1, 4, 60), X[:, 0] + 0.1 * rng.normal(size=60)
    one = cw.LocalRegression(k=10).fit(X, y, sample_weight=weight)
    many = cw.LocalRegression(k=10).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(one.predict(X), many.predict(X), atol=1e-12)


@pytest.mark.parametrize("model", [cw.Logistic(), cw.LinearSVM(), cw.DiscreteBayes(), cw.ID3()])
@pytest.mark.parametrize("weight", [1e300, 1e-300, "a"])
def test_weights_that_no_sum_can_hold_are_refused(cloud, model, weight):
    X, y = cloud
    with pytest.raises(ParameterError, match="sample weights must be"):
        model.fit(X, y, sample_weight=[weight] * 60)


@pytest.mark.parametrize("weight", [1e9, 1e-6, 1 / 60])
def test_equal_weights_of_any_size_make_cells(cloud, weight):
    X, y = cloud
    model = cw.DiscreteBayes().fit(X, y, sample_weight=np.full(60, weight))
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: cw.Vote([cw.NaiveBayes()], weights=[-1]), "weights belong to how='weighted'"),
        (lambda: cw.Vote([cw.NaiveBayes()], how="weighted", weights=[np.nan]), "must be 1 numbers"),
        (lambda: cw.AdaBoost(cw.CondensedNeighbors(), rounds=3), "takes no weights"),
    ],
)
def test_what_an_ensemble_cannot_use_is_refused(cloud, make, words):
    with pytest.raises(ParameterError, match=words):
        make().fit(*cloud)


def test_a_class_that_is_none_is_refused(cloud):
    X, _ = cloud
    with pytest.raises(TableError, match="row 3 has None"):
        cw.NaiveBayes().fit(X, [None if at == 3 else "ab"[at % 2] for at in range(60)])


@pytest.mark.parametrize("k", [[1.5], "ab", [], [0]])
def test_a_grid_takes_whole_k_only(k):
    with pytest.raises(CountwiseError, match="k must be whole numbers"):
        cw.neighbor_grid("sample:iris", k=k)
