"""What once went wrong with odd input to neighbours, ensembles and linear models."""

import numpy as np
import pandas as pd
import pytest
from sklearn.neighbors import KNeighborsClassifier

import countwise as cw
from countwise.errors import CountwiseError, ParameterError, SchemaError, TableError


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
        said = cw.LocalRegression(n_neighbors=2).fit(X[order], y[order]).predict([[0.0]])
        assert said[0] == pytest.approx(5.0)


def test_a_whole_weight_is_so_many_rows_in_a_local_regression(cloud):
    X, _ = cloud
    rng = np.random.default_rng(1)
    weight, y = rng.integers(1, 4, 60), X[:, 0] + 0.1 * rng.normal(size=60)
    one = cw.LocalRegression(n_neighbors=10).fit(X, y, sample_weight=weight)
    many = cw.LocalRegression(n_neighbors=10).fit(
        np.repeat(X, weight, axis=0), np.repeat(y, weight)
    )
    np.testing.assert_allclose(one.predict(X), many.predict(X), atol=1e-12)


@pytest.mark.parametrize("model", [cw.Logistic(), cw.LinearSVM(), cw.DiscreteBayes(), cw.ID3()])
@pytest.mark.parametrize("weight", [1e300, 1e-300, "a"])
def test_weights_that_no_sum_can_hold_are_refused(cloud, model, weight):
    X, y = cloud
    with pytest.raises(ParameterError, match="sample_weight must be"):
        model.fit(X, y, sample_weight=[weight] * 60)


@pytest.mark.parametrize("weight", [1e9, 1e-6, 1 / 60])
def test_equal_weights_of_any_size_make_cells(cloud, weight):
    X, y = cloud
    model = cw.DiscreteBayes().fit(X, y, sample_weight=np.full(60, weight))
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: cw.Vote([cw.NaiveBayes()], weights=[-1]), "weights need how='weighted'"),
        (lambda: cw.Vote([cw.NaiveBayes()], how="weighted", weights=[np.nan]), "must be 1 numbers"),
        (lambda: cw.AdaBoost(KNeighborsClassifier(), n_estimators=3), "must take sample_weight"),
    ],
)
def test_what_an_ensemble_cannot_use_is_refused(cloud, make, words):
    with pytest.raises(ParameterError, match=words):
        make().fit(*cloud)


def test_a_class_that_is_none_is_refused(cloud):
    X, _ = cloud
    with pytest.raises(TableError, match="1 of 60 rows has no class, the first is row 3"):
        cw.NaiveBayes().fit(X, [None if at == 3 else "ab"[at % 2] for at in range(60)])


@pytest.mark.parametrize("k", [[1.5], "ab", [], [0]])
def test_a_grid_takes_whole_k_only(k):
    with pytest.raises(CountwiseError, match="k must be one or more whole numbers"):
        cw.neighbor_grid("sample:iris", k=k)


KEEPERS = (cw.Neighbors, cw.CondensedNeighbors, cw.NeighborsRegressor, cw.LocalRegression)
REGRESSORS = (cw.NeighborsRegressor, cw.LocalRegression)


def taught(model, X, y):
    """What this model is to learn of these rows: classes, or numbers."""
    return X[:, 0] if model in REGRESSORS else np.where(y, "p", "q")


def twins(X):
    import pandas as pd

    return pd.DataFrame(X, columns=["a", "a"])


@pytest.mark.parametrize("model", KEEPERS)
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda X, y: (X, None), "y to be passed"),
        (lambda X, y: (X, y[:5]), "one value a row; got 60 rows and 5 values"),
        (lambda X, y: (X, []), "60 rows and 0 values"),
        (lambda X, y: (X, 3.0), "1d array"),
        (lambda X, y: (X, np.stack([y, y], axis=1)), "1d array"),
        (lambda X, y: (X, np.where(np.arange(60) > 3, np.nan, 1.0)), "contains NaN.* Leave"),
        (lambda X, y: (twins(X), y), "column names must differ; got 'a'"),
        (lambda X, y: (X[:, 0], y), "Expected 2D array, got 1D array instead. Reshape"),
        (lambda X, y: (np.zeros((60, 2, 2)), y), "dim 3"),
        (lambda X, y: (X[:0], y[:0]), "0 sample"),
        (lambda X, y: (X[:, :0], y), "0 feature"),
        (lambda X, y: (np.where(X > 1, np.inf, X), y), "infinity"),
        (lambda X, y: (X + 1j, y), "Complex data not supported.$"),
        (lambda X, y: (None, y), "Expected 2D array"),
        (lambda X, y: (X * 1e200, y), r"up to 1e\+140"),
        (lambda X, y: ({"a": [1.0, 2.0], "b": [1.0]}, y[:2]), "equally long"),
    ],
)
def test_rows_and_answers_that_teach_nothing(cloud, model, change, words):
    X, y = cloud
    with pytest.raises(TableError, match=words):
        model().fit(*change(X, taught(model, X, y)))


@pytest.mark.parametrize("model", KEEPERS)
def test_rows_to_answer_for_that_do_not_fit(cloud, model):
    import pandas as pd

    X, y = cloud
    fitted = model().fit(pd.DataFrame(X, columns=["a", "b"]), taught(model, X, y))
    for rows, words in (
        (twins(X), "column names must differ"),
        ({"a": [1.0], "B": [1.0]}, "Did you mean 'B'"),
        (pd.DataFrame({"a": [np.inf], "b": [0.0]}), "finite numbers"),
        (pd.DataFrame({"b": [0.0], "a": [0.0]}), "feature names"),
        (None, "Expected 2D array"),
    ):
        with pytest.raises(TableError, match=words):
            fitted.predict(rows)


@pytest.mark.parametrize("model", KEEPERS)
@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"p": 0.5}, "p must be a number of at least 1"),
        ({"p": -np.inf}, "p must be"),
        ({"metric": "cosine"}, "metric must be one of"),
        ({"attribute_weights": {"x9": 1.0}}, "got {'x9': 1.0}"),
        ({"attribute_weights": {"x1": "much"}}, "must be numbers by the names"),
        ({"attribute_weights": [1e300, 1.0]}, "between 1e-06 and 1e"),
        ({"attribute_weights": [1.0, 0.0, 2.0]}, "2 factors"),
        ({"nominal": ["zz"]}, "must name a column; got 'zz'"),
    ],
)
def test_parameters_that_mean_nothing(cloud, model, parameters, words):
    X, y = cloud
    with pytest.raises(CountwiseError, match=words):
        model(**parameters).fit(X, taught(model, X, y))


@pytest.mark.parametrize("model", [cw.Neighbors, cw.NeighborsRegressor, cw.LocalRegression])
@pytest.mark.parametrize(
    ("weight", "words"),
    [
        (np.zeros(60), "must not all be zero"),
        (-np.ones(60), "at least 0"),
        (np.full(60, np.nan), "finite"),
        (np.ones((60, 2)), "one number for each"),
        (["a"] * 60, "must be numbers"),
        ([1.0, 2.0], "one number for each of the 60 rows"),
        (np.full(60, 1e300), "between 1e-250"),
    ],
)
def test_weights_that_weigh_nothing(cloud, model, weight, words):
    X, y = cloud
    with pytest.raises(ParameterError, match=words):
        model().fit(X, taught(model, X, y), sample_weight=weight)


@pytest.mark.parametrize("model", REGRESSORS)
def test_the_largest_numbers_are_predicted(cloud, model):
    X, _ = cloud
    most = np.finfo(float).max
    np.testing.assert_array_equal(model(n_neighbors=3).fit(X, np.full(60, most)).predict(X), most)
    huge = np.where(X[:, 0] > 0, 1.7e308, -1.7e308)
    said = model(n_neighbors=3).fit(X, huge).predict(X)
    small = model(n_neighbors=3).fit(X, huge / 2.0**900).predict(X)
    assert np.isfinite(said).all()
    np.testing.assert_allclose(said / 2.0**900, small, rtol=1e-12, atol=1e-12)
    heavy = model(n_neighbors=3).fit(X, X[:, 0] * 1e300, sample_weight=np.full(60, 1e14)).predict(X)
    assert np.isfinite(heavy).all()


@pytest.mark.parametrize("model", REGRESSORS)
@pytest.mark.parametrize(
    ("target", "words"),
    [
        (["a"] * 60, "must be numbers, one a row"),
        (np.full(60, "2020-01-01", dtype="datetime64[D]"), "plain numbers"),
        (np.full(60, 1j), "Complex"),
        (np.full(60, np.inf), "infinity"),
        ("c", "must name a column; got 'c'"),
    ],
)
def test_numbers_that_cannot_be_predicted(cloud, model, target, words):
    import pandas as pd

    X, _ = cloud
    with pytest.raises(TableError, match=words):
        model().fit(pd.DataFrame(X, columns=["a", "b"]), target)


@pytest.mark.parametrize("model", [cw.Neighbors, cw.NeighborsRegressor])
@pytest.mark.parametrize(
    "weights",
    [
        lambda far: "x",
        lambda far: None,
        lambda far: 1.0,
        lambda far: -far,
        lambda far: far * np.nan,
    ],
)
def test_own_weights_that_are_none(cloud, model, weights):
    X, y = cloud
    with pytest.raises(ParameterError, match="one finite weight"):
        model(weights=weights).fit(X, taught(model, X, y)).predict(X + 0.01)


@pytest.mark.parametrize("k", [0, 1.5, "x", None])
def test_so_many_neighbors_cannot_be_asked_for(cloud, k):
    X, y = cloud
    model = cw.CondensedNeighbors().fit(X, y)
    with pytest.raises(ParameterError, match="k must be a whole number"):
        model.neighbors(X, k=k)


@pytest.mark.parametrize("model", KEEPERS)
def test_more_neighbors_than_rows_levels_or_cells(cloud, model):
    X, y = cloud
    several = {} if model is cw.CondensedNeighbors else {"n_neighbors": 10**30}
    assert model(**several).fit(X, taught(model, X, y)).predict(X[:3]).shape == (3,)
    assert model().fit(X[:1], taught(model, X, y)[:1]).predict(X[:3]).shape == (3,)
    blank = {"a": [None] * 4, "b": [np.nan] * 4}
    own = [1.0, 2.0, 1.0, 2.0] if model in REGRESSORS else [*"abab"]
    assert model().fit(blank, own).predict(blank).shape == (4,)
    many = {"w": [f"l{at}" for at in range(10_000)]}
    fitted = model(nominal=["w"]).fit(many, np.arange(10_000) % 2)
    with pytest.warns(cw.errors.UnseenLevelWarning):
        said = fitted.predict({"w": ["l3", "new"]})
    assert said.shape == (2,)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"sample_weight": np.zeros(60)}, "must not all be zero"),
        ({"folds": 1}, "folds must be"),
        ({"folds": 99}, "or folds='leave-one-out'"),
        ({"folds": "leave-one-outt"}, "folds must be"),
        ({"repeats": 0}, "repeats must be"),
        ({"holdout": 2}, "holdout must be"),
        ({"p": [0.5]}, "p must be one or more numbers of at least 1"),
        ({"p": []}, "p must be one or more numbers"),
        ({"metric": "minkovski"}, "Did you mean 'minkowski'"),
        ({"weights": "far"}, "weights must be"),
    ],
)
def test_a_grid_names_itself(cloud, asked, words):
    X, y = cloud
    with pytest.raises(ParameterError, match=f"^neighbor_grid: .*{words}"):
        cw.neighbor_grid({"a": X[:, 0], "class": y}, target="class", k=[1], **asked)


@pytest.mark.parametrize(
    "model", [None, "neighbors", cw.Neighbors, cw.NeighborsRegressor(), cw.Quantizer()]
)
def test_regions_are_those_of_a_classifier(model):
    with pytest.raises(ParameterError, match="regions: model must be a classifier"):
        cw.regions(model, "sample:iris")


def test_what_a_quantizer_cannot_cut(cloud, tmp_path):
    import pandas as pd

    X, y = cloud
    made = cw.Quantizer(budget=4, random_state=0).fit(pd.DataFrame(X, columns=["a", "b"]), y)
    for rows, words in (
        (pd.DataFrame({"a": [1.0]}), "Feature names seen at fit time, yet now missing"),
        ({"a": [1.0]}, "must be a data frame"),
        (pd.DataFrame({"a": [np.inf], "b": [0.0]}), "column 'a' contains infinity"),
        (pd.DataFrame({"a": ["x"], "b": [0.0]}), "'a' must be numeric as it was in fit"),
        (twins(X), "column names must differ"),
    ):
        with pytest.raises(TableError, match=words):
            made.transform(rows)
    with pytest.raises(CountwiseError, match="cut_points_ are plain numbers"):
        cw.save(made, tmp_path / "q.cw")


def test_new_levels_are_refused_with_the_ways_that_the_model_has():
    rows = pd.DataFrame({"city": ["Rome", "Bonn"] * 20})
    model = cw.Additive(unseen="error").fit(rows, ["a", "b"] * 20)
    with pytest.raises(SchemaError, match=r"Use unseen='ignore', or train with them\."):
        model.predict(pd.DataFrame({"city": ["Oslo"]}))


def test_a_seed_of_more_than_32_bits_is_refused():
    rows = pd.DataFrame({"x": range(20)})
    with pytest.raises(ParameterError, match="random_state must be a whole number from 0 to"):
        cw.Additive(random_state=2**32).fit(rows, ["a", "b"] * 10)


def test_the_columns_of_a_model_are_those_that_a_file_would_have(tmp_path):
    rows = pd.DataFrame({"day": pd.date_range("2021-01-01", periods=60), "note": ["x"] * 60})
    model = cw.NaiveBayes().fit(cw.read(rows.assign(y=["a", "b"] * 30), target="y", text=["note"]))
    with pytest.raises(SchemaError, match=r"The model uses 'day', 'note'\."):
        model.predict(pd.DataFrame({"other": [1]}))
