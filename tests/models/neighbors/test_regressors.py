"""Numbers predicted by neighbours and by local planes: against scikit-learn and by hand."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.neighbors import KNeighborsRegressor

import countwise as cw
from countwise.errors import ParameterError, TableError

RNG = np.random.default_rng(4)
X = RNG.normal(size=(400, 3))
Y = X @ [1.0, -2.0, 0.5] + 7
NEW = RNG.normal(size=(60, 3))


@pytest.mark.parametrize("votes", ["uniform", "distance"])
def test_means_are_those_of_scikit_learn(votes):
    own = cw.NeighborsRegressor(6, weights=votes, scale=None).fit(X, Y)
    peer = KNeighborsRegressor(6, weights=votes).fit(X, Y)
    np.testing.assert_allclose(own.predict(NEW), peer.predict(NEW), rtol=1e-9)


def test_equally_far_rows_share_a_place_and_weights_repeat_rows():
    rows, y = {"x": [0.0, 1.0, 1.0, 5.0]}, [0.0, 6.0, 12.0, 99.0]
    assert cw.NeighborsRegressor(2, scale=None).fit(rows, y).predict({"x": [0.0]})[0] == 4.5
    heavy = cw.NeighborsRegressor(3).fit(rows, y, [2, 1, 0, 3]).predict({"x": [0.1, 4.0]})
    twice = cw.NeighborsRegressor(3).fit({"x": [0.0, 0, 1, 5, 5, 5]}, [0.0, 0, 6, 99, 99, 99])
    np.testing.assert_allclose(heavy, twice.predict({"x": [0.1, 4.0]}))


def test_a_large_common_part_costs_no_digits():
    model = cw.NeighborsRegressor(3).fit(X, Y + 1e12)
    plain = cw.NeighborsRegressor(3).fit(X, Y)
    np.testing.assert_allclose(model.predict(NEW) - 1e12, plain.predict(NEW), atol=1e-3)


@pytest.mark.parametrize("kernel", ["tricube", "epanechnikov", "triangular", "gaussian", "uniform"])
def test_planes_are_found_again(kernel):
    for wish in ({"n_neighbors": 25}, {"n_neighbors": None, "width": 0.6}):
        model = cw.LocalRegression(kernel=kernel, ridge=0, **wish).fit(X, Y)
        np.testing.assert_allclose(model.predict(NEW), NEW @ [1.0, -2.0, 0.5] + 7, atol=1e-6)


def test_local_regression_equals_least_squares_at_each_point():
    y = np.sin(X[:, 0]) + X[:, 1] ** 2
    model = cw.LocalRegression(30, ridge=0, scale=None).fit(X, y)
    for point, made in zip(NEW[:5], model.predict(NEW[:5]), strict=True):
        far = np.linalg.norm(X - point, axis=1)
        order = np.argsort(far)
        wide = far[order[30]]
        root = np.sqrt((1 - (far[order[:30]] / wide) ** 3) ** 3)
        design = np.column_stack([np.ones(30), X[order[:30]] - point])
        beta = np.linalg.lstsq(design * root[:, None], y[order[:30]] * root, rcond=None)[0]
        assert made == pytest.approx(beta[0], abs=1e-6)


def test_mixed_rows_with_holes_and_singular_neighbours():
    frame = pd.DataFrame({"x": X[:, 0], "same": 1.0, "word": RNG.choice(["u", "v"], 400)})
    frame.loc[::7, "x"] = np.nan
    frame.loc[::11, "word"] = None
    y = np.where(frame["word"] == "u", 3.0, 1.0)
    for model in (cw.LocalRegression(40), cw.NeighborsRegressor()):
        made = model.fit(frame, y).predict(frame)
        assert np.isfinite(made).all()
        assert np.corrcoef(made, y)[0, 1] > 0.8
    few = cw.LocalRegression(5).fit({"x": [2.0, 2.0], "w": ["a", "a"]}, [1.0, 3.0])
    assert few.predict({"x": [2.0], "w": ["a"]})[0] == pytest.approx(2.0)


def test_a_target_may_be_named_and_a_table_may_come():
    frame = pd.DataFrame({"x": X[:, 0], "y": Y})
    by_name = cw.NeighborsRegressor(3).fit(frame, "y")
    plain = cw.NeighborsRegressor(3).fit(frame[["x"]], Y)
    np.testing.assert_array_equal(by_name.predict(frame[["x"]]), plain.predict(frame[["x"]]))
    table = cw.read(frame, identifiers="keep")
    np.testing.assert_array_equal(
        cw.NeighborsRegressor(3).fit(table, "y").predict(frame[["x"]]), plain.predict(frame[["x"]])
    )


def test_saved_regressors_answer_alike(tmp_path):
    for model in (cw.NeighborsRegressor(4, weights="rank"), cw.LocalRegression(12)):
        model.fit(X, Y, np.ones(400) * 2)
        cw.save(model, tmp_path / "m.cw")
        np.testing.assert_array_equal(cw.load(tmp_path / "m.cw").predict(NEW), model.predict(NEW))


def test_bad_targets_are_refused_in_words():
    with pytest.raises(TableError, match="requires y"):
        cw.NeighborsRegressor().fit(X)
    with pytest.raises(TableError, match="must be numbers"):
        cw.NeighborsRegressor().fit({"x": [1.0, 2.0]}, ["a", "b"])
    with pytest.raises(TableError, match="got none"):
        cw.NeighborsRegressor().fit({"y": [1.0, 2.0]}, "y")
    with pytest.raises(ParameterError, match="metric must be"):
        cw.NeighborsRegressor(metric="vdm").fit(X, Y)


@pytest.mark.parametrize(
    "model", [cw.NeighborsRegressor(n_neighbors=4), cw.LocalRegression(n_neighbors=9)]
)
def test_an_infinite_exponent_is_the_maximum(model):
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(80, 3)), rng.normal(size=80)
    maximum = clone(model).set_params(metric="maximum").fit(X, y)
    endless = clone(model).set_params(metric="minkowski", p=np.inf).fit(X, y)
    steep = clone(model).set_params(metric="minkowski", p=1e5).fit(X, y)
    asked = rng.normal(size=(40, 3))
    np.testing.assert_array_equal(endless.predict(asked), maximum.predict(asked))
    np.testing.assert_allclose(steep.predict(asked), maximum.predict(asked), atol=1e-2)


@pytest.mark.parametrize("size", [1e307, 1.7e308])
@pytest.mark.parametrize("model", [cw.NeighborsRegressor(), cw.LocalRegression()])
def test_the_largest_numbers_are_predicted_and_scored(model, size):
    stream = np.random.default_rng(0)
    X, y = stream.normal(0, 1, (40, 2)), stream.uniform(-1, 1, 40)
    plain = model.fit(X, y)
    expected, score = plain.predict(X), plain.score(X, y)
    large = model.fit(X, y * size)
    np.testing.assert_allclose(large.predict(X) / size, expected, atol=1e-12)
    assert large.score(X, y * size) == pytest.approx(score, abs=1e-9)
