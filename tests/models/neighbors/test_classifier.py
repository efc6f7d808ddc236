"""Neighbours: against scikit-learn, in ties, at distance nought, with weights and holes."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.neighbors import KNeighborsClassifier

import countwise as cw
from countwise.errors import ParameterError, TableError
from countwise.models.neighbors.metrics import learn_space
from countwise.models.neighbors.search import Search

RNG = np.random.default_rng(11)
X = RNG.normal(size=(700, 7)) * [1, 5, 0.1, 100, 1, 1, 3] + [0, 30, 3, -7, 0, 0, 2]
Y = RNG.choice(["a", "b", "c"], 700)
NEW = RNG.normal(size=(150, 7)) * [1, 5, 0.1, 100, 1, 1, 3] + [0, 30, 3, -7, 0, 0, 2]

PEERS = {
    "euclidean": {"metric": "euclidean"},
    "manhattan": {"metric": "manhattan"},
    "maximum": {"metric": "chebyshev"},
    "minkowski": {"metric": "minkowski", "p": 3},
}


@pytest.mark.parametrize("votes", ["uniform", "distance"])
@pytest.mark.parametrize("metric", list(PEERS))
def test_answers_are_those_of_scikit_learn(metric, votes):
    own = cw.Neighbors(7, metric=metric, weights=votes, p=3, scale=None, smoothing=0).fit(X, Y)
    peer = KNeighborsClassifier(7, weights=votes, algorithm="brute", **PEERS[metric]).fit(X, Y)
    np.testing.assert_allclose(own.predict_proba(NEW), peer.predict_proba(NEW), atol=1e-9)
    far, who = peer.kneighbors(NEW)
    near = own.neighbors(NEW)
    np.testing.assert_array_equal(near.rows, who)
    np.testing.assert_allclose(near.distances, far, rtol=1e-7)


def test_mahalanobis_is_that_of_scikit_learn():
    own = cw.Neighbors(5, metric="mahalanobis").fit(X, Y)
    peer = KNeighborsClassifier(
        5, algorithm="brute", metric="mahalanobis", metric_params={"VI": np.linalg.inv(np.cov(X.T))}
    ).fit(X, Y)
    far, who = peer.kneighbors(NEW)
    np.testing.assert_array_equal(own.neighbors(NEW).rows, who)
    np.testing.assert_allclose(own.neighbors(NEW).distances, far, rtol=1e-9)


def test_overlap_is_the_hamming_distance_of_scikit_learn():
    codes = RNG.integers(0, 4, (300, 6)).astype(float)
    own = cw.Neighbors(4, metric="overlap").fit(codes, Y[:300])
    far, _ = (
        KNeighborsClassifier(4, metric="hamming").fit(codes, Y[:300]).kneighbors(codes[:50] + 0.0)
    )
    np.testing.assert_allclose(own.neighbors(codes[:50]).distances, far * 6)


def test_a_singular_covariance_is_shrunk_and_said_so():
    twice = np.column_stack([X[:, 0], X[:, 1], X[:, 0] + X[:, 1], np.full(700, 4.0)])
    model = cw.Neighbors(3, metric="mahalanobis").fit(twice, Y)
    assert "N01" in [note.code for note in model.notes_]
    assert np.isfinite(model.neighbors(twice[:9]).distances).all()


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "maximum", "minkowski"])
def test_the_sieve_loses_nobody_however_the_numbers_lie(metric):
    """Near duplicates, huge offsets, outliers, far queries: single precision may not decide."""
    rng = np.random.default_rng(1)
    close = np.round(rng.normal(size=(500, 3)), 2) * 1e-7
    rows = np.concatenate([close, close[:100] + 1e-15, rng.normal(size=(50, 3)) * 1e5, [[1e9] * 3]])
    rows[:, 1] += 1e6
    asked = np.concatenate([rows[::7], [[1e30, 0, 0], [0, -1e120, 1e3]]])
    table, queries = cw.read(rows), cw.read(asked)
    space = learn_space(table, metric, p=5, scale=None)
    who, powers = Search(space, table).nearest(queries, 9)
    power = space.p
    gaps = np.abs(asked[:, None, :] - rows[None, :, :])
    with np.errstate(over="ignore"):
        every = gaps.max(axis=2) if np.isinf(power) else (gaps**power).sum(axis=2)
    expected = np.sort(every, axis=1)[:, :9]
    np.testing.assert_allclose(powers, expected, rtol=1e-12)
    np.testing.assert_allclose(np.take_along_axis(every, who, axis=1), expected, rtol=1e-12)


def test_equally_far_rows_share_the_places_that_are_left():
    table = {"x": [0.0, 1.0, 1.0, 1.0, 5.0]}
    model = cw.Neighbors(2, scale=None, smoothing=0).fit(table, ["a", "a", "b", "b", "b"])
    # The nearest takes one place; three equals share the other: a third each.
    np.testing.assert_allclose(
        model.predict_proba({"x": [0.0]}), [[1 + 1 / 3, 2 / 3]] @ np.eye(2) / 2
    )


def test_equally_far_rows_beyond_any_list_are_counted():
    many = {"word": ["x"] * 1000 + ["y"] * 10}
    labels = ["a"] * 900 + ["b"] * 110
    model = cw.Neighbors(5, metric="overlap", smoothing=0).fit(many, labels)
    np.testing.assert_allclose(model.predict_proba({"word": ["x"]}), [[0.9, 0.1]])


@pytest.mark.parametrize("votes", ["distance", "squared"])
def test_rows_at_distance_nought_vote_alone(votes):
    table = {"x": [2.0, 2.0, 2.0, 2.0 + 1e-9, 3.0]}
    model = cw.Neighbors(5, weights=votes, scale=None, smoothing=0)
    model = model.fit(table, ["a", "b", "b", "c", "c"])
    shares = model.predict_proba({"x": [2.0, 2.5]})
    np.testing.assert_allclose(shares[0], [1 / 3, 2 / 3, 0])
    assert (shares[1] > 0).all()


def test_weights_by_hand():
    table = {"x": [1.0, 2.0, 4.0]}
    labels = ["a", "b", "c"]

    def shares(votes):
        return (
            cw.Neighbors(3, weights=votes, scale=None, smoothing=0)
            .fit(table, labels)
            .predict_proba({"x": [0.0]})[0]
        )

    np.testing.assert_allclose(shares("distance"), np.array([4, 2, 1]) / 7)
    np.testing.assert_allclose(shares("squared"), np.array([16, 4, 1]) / 21)
    np.testing.assert_allclose(shares("rank"), np.array([3, 2, 1]) / 6)
    bumps = np.exp(-0.5 * (np.array([1, 2, 4]) / 4) ** 2)
    np.testing.assert_allclose(shares("kernel"), bumps / bumps.sum())
    np.testing.assert_allclose(shares(lambda far: far), np.array([1, 2, 4]) / 7)
    np.testing.assert_allclose(shares(np.zeros_like), np.ones(3) / 3)  # then all have the same say


def test_small_weights_take_a_place_each():
    table = {"x": [0.0, 1.0, 2.0, 3.0]}
    model = cw.Neighbors(2, scale=None, smoothing=0)
    model = model.fit(table, ["a", "b", "b", "b"], [0.1, 0.3, 0.3, 0.3])
    np.testing.assert_allclose(model.predict_proba({"x": [0.0]}), [[0.25, 0.75]])


def test_unseen_levels_are_as_far_as_can_be():
    table = {"word": ["a", "a", "b", "b"], "x": [0.0, 1.0, 2.0, 3.0]}
    model = cw.Neighbors(1, metric="heom").fit(table, ["n", "n", "y", "y"])
    with pytest.warns(cw.UnseenLevelWarning, match="never saw"):
        near = model.neighbors({"word": ["new"], "x": [0.0]})
    assert near.distances[0, 0] == 1.0
    by_shares = cw.Neighbors(1, metric="vdm", p=2).fit(table, ["n", "n", "y", "y"])
    with pytest.warns(cw.UnseenLevelWarning):
        assert by_shares.neighbors({"word": ["new"], "x": [0.0]}).distances[0, 0] == 1.0


def test_attribute_weights_are_learned_and_noise_is_dropped():
    rng = np.random.default_rng(2)
    labels = rng.choice(["n", "y"], 400)
    rows = {f"noise{i}": rng.normal(size=400) for i in range(30)}
    rows["signal"] = (labels == "y") + rng.normal(size=400) * 0.4
    train, test = slice(0, 300), slice(300, 400)
    cut = {name: own[train] for name, own in rows.items()}
    new = {name: own[test] for name, own in rows.items()}

    def right(**wish):
        return cw.Neighbors(5, **wish).fit(cut, labels[train]).score(new, labels[test])

    plain = right()
    assert right(attribute_weights="information") > plain + 0.05
    assert right(attribute_weights="relief") > plain + 0.05
    assert right(drop_least=30) > plain + 0.05
    assert right(drop_least=0.9) > plain + 0.05
    assert right(attribute_weights={f"noise{i}": 0 for i in range(30)}) > plain + 0.05
    model = cw.Neighbors(attribute_weights="relief").fit(cut, labels[train])
    assert model.relevance_.argmax() == 30


def test_bad_wishes_are_refused_in_words():
    with pytest.raises(ParameterError, match=r"the names of attributes, 'x'; got {'y'"):
        cw.Neighbors(attribute_weights={"y": 1}).fit({"x": [1, 2]}, ["a", "b"])
    with pytest.raises(ParameterError, match="must be 1 factors"):
        cw.Neighbors(attribute_weights=[1, 2]).fit({"x": [1, 2]}, ["a", "b"])
    with pytest.raises(ParameterError, match="not all zero"):
        cw.Neighbors(attribute_weights=[0.0]).fit({"x": [1, 2]}, ["a", "b"])
    with pytest.raises(ParameterError, match="None with the mahalanobis metric"):
        cw.Neighbors(metric="mahalanobis", attribute_weights="relief").fit(
            {"x": [1, 2]}, ["a", "b"]
        )
    with pytest.raises(ParameterError, match="one finite weight"):
        cw.Neighbors(weights=lambda far: -far).fit({"x": [1, 2]}, ["a", "b"]).predict({"x": [0.0]})
    with pytest.raises(ParameterError, match="must not all be zero"):
        cw.Neighbors().fit({"x": [1, 2]}, ["a", "b"], [0, 0])
    with pytest.raises(ParameterError, match="k must be"):
        cw.Neighbors().fit({"x": [1, 2]}, ["a", "b"]).neighbors({"x": [1]}, k=0)
    with pytest.raises(TableError):
        cw.Neighbors().fit({"x": [1, np.inf]}, ["a", "b"])


def test_odd_tables():
    one = cw.Neighbors().fit({"x": [1.0, 2.0]}, ["a", "a"])
    assert one.predict_proba({"x": [9.0]}).tolist() == [[1.0]]
    blank = cw.Neighbors(1).fit({"x": [np.nan, 3.0], "w": [None, "b"]}, ["a", "b"])
    assert blank.predict({"x": [np.nan], "w": ["b"]}).tolist() == ["b"]
    constant = cw.Neighbors(1).fit({"x": [1.0, 1.0], "z": [0.0, 1.0]}, ["a", "b"])
    assert constant.predict({"x": [7.0], "z": [0.9]}).tolist() == ["b"]


def test_ten_thousand_levels():
    words = np.array([f"w{i}" for i in range(10_000)] * 2, dtype=object)
    labels = RNG.choice(["a", "b"], 20_000)
    frame = pd.DataFrame({"word": words, "x": RNG.normal(size=20_000)})
    for metric in ("heom", "vdm", "hvdm"):
        model = cw.Neighbors(3, metric=metric).fit(frame, labels)
        near = model.neighbors(frame.iloc[:20])
        assert (near.distances[:, 0] == 0).all()


def test_the_number_of_threads_changes_nothing(monkeypatch):
    frame = pd.DataFrame(X).astype({0: int}).rename(columns=str)
    frame["word"] = RNG.choice(["u", "v", "w"], len(frame))
    model = cw.Neighbors(5, metric="hvdm").fit(frame, Y)
    monkeypatch.setenv("COUNTWISE_THREADS", "1")
    alone = model.predict_proba(frame)
    monkeypatch.setenv("COUNTWISE_THREADS", "3")
    np.testing.assert_array_equal(model.predict_proba(frame), alone)


def test_a_model_can_be_pickled_after_use():
    model = cw.Neighbors(3).fit(X, Y)
    before = model.predict_proba(NEW)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(NEW), before)


def test_more_neighbours_than_rows_is_the_class_shares():
    model = cw.Neighbors(100).fit({"x": [1.0, 2.0, 3.0]}, ["a", "b", "b"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(model.predict_proba({"x": [1.0]}), [[1 / 3, 2 / 3]])


@pytest.mark.parametrize("metric", ["euclidean", "vdm", "mahalanobis", "gower"])
def test_explanations_add_up_and_name_the_neighbours(metric):
    table = cw.read("sample:heart-c")
    model = cw.Neighbors(5, metric=metric).fit(table)
    asked = table.take([0, 5, 9])
    why = model.explain(asked)
    np.testing.assert_allclose(why.base + why.parts.sum(axis=1), why.joint, atol=1e-9)
    np.testing.assert_array_equal(why.posteriors, model.predict_proba(asked))
    plain = why.to_dict(1)
    assert len(plain["neighbors"]) == 5
    assert plain["neighbors"][0]["row"] == 6
    assert "1. row 6" in why.describe(1)


def test_condensed_neighbours_are_explained_too():
    table = cw.read("sample:iris")
    model = cw.CondensedNeighbors().fit(table)
    why = model.explain(table.take([3]))
    np.testing.assert_allclose(why.base + why.parts.sum(axis=1), why.joint, atol=1e-9)
    assert len(why.neighborhood.to_dict()) == 1


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "maximum", "minkowski"])
def test_a_tree_finds_what_a_scan_finds(metric, monkeypatch):
    rng = np.random.default_rng(8)
    rows = np.concatenate([rng.normal(size=(3000, 3)), rng.integers(0, 3, (1000, 3))])
    asked = np.concatenate([rng.normal(size=(300, 3)), rows[-50:], [[np.nan, 0, 0]]])
    table, queries = cw.read(rows), cw.read(asked)
    space = learn_space(table, metric, p=3, scale="z")
    expected = Search(space, table).nearest(queries, 6)
    itself = Search(space, table).nearest(table, 3, np.arange(4000))
    monkeypatch.setattr("countwise.models.neighbors.search._QUERIES", 0)
    monkeypatch.setattr("countwise.models.neighbors.search._LEAST_ROWS", 1)
    search = Search(space, table)
    for made, told in zip(search.nearest(queries, 6), expected, strict=True):
        np.testing.assert_array_equal(made, told)
    for made, told in zip(search.nearest(table, 3, np.arange(4000)), itself, strict=True):
        np.testing.assert_array_equal(made, told)
    assert search._tree is not None


def test_a_dropped_column_takes_no_part_in_the_covariance():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(200, 3)) @ rng.normal(size=(3, 3))
    y = (X[:, 1] + X[:, 2] > 0).astype(int)
    X[:, 0] = 0.3 * X[:, 1] + rng.normal(size=200)
    worst = int(np.argmin(cw.Neighbors(metric="euclidean", drop_least=1).fit(X, y).relevance_))
    dropped = cw.Neighbors(metric="mahalanobis", drop_least=1).fit(X, y)
    plain = cw.Neighbors(metric="mahalanobis").fit(np.delete(X, worst, axis=1), y)
    one, two = dropped.neighbors(X[:20]), plain.neighbors(np.delete(X[:20], worst, axis=1))
    np.testing.assert_allclose(one.distances, two.distances, rtol=1e-9, atol=1e-12)


def test_what_weighs_nothing_is_dropped_before_anything_else():
    """Weights of 0 and dropping may not leave a space without an axis."""
    rng = np.random.default_rng(1)
    y = np.arange(40) % 2
    X = np.stack([y + rng.normal(size=40) * 0.1, rng.normal(size=40)], axis=1)
    model = cw.Neighbors(n_neighbors=3, attribute_weights=np.array([0, 1]), drop_least=1).fit(X, y)
    assert [axis.attribute for axis in model.space_.axes] == [1]
    alone = cw.Neighbors(n_neighbors=3).fit(X[:, 1:], y)
    np.testing.assert_array_equal(model.predict_proba(X), alone.predict_proba(X[:, 1:]))


@pytest.mark.parametrize("metric", ["minkowski", "vdm"])
def test_an_infinite_exponent_is_fitted_as_the_grid_measured_it(metric, tmp_path):
    table = cw.read("sample:credit-a")
    part = np.arange(len(table)) % 2 == 0
    model = cw.Neighbors(3, metric=metric, p=np.inf).fit(table.take(part))
    steep = cw.Neighbors(3, metric=metric, p=1e6).fit(table.take(part))
    asked = table.take(~part)
    far = model.neighbors(asked, 9).distances
    np.testing.assert_allclose(far, steep.neighbors(asked, 9).distances, rtol=1e-4)
    if metric == "minkowski":
        maximum = cw.Neighbors(3, metric="maximum").fit(table.take(part))
        np.testing.assert_array_equal(maximum.predict_proba(asked), model.predict_proba(asked))
    cw.save(model, tmp_path / "model.cw")
    again = cw.load(tmp_path / "model.cw")
    assert again.p == np.inf
    np.testing.assert_array_equal(again.predict_proba(asked), model.predict_proba(asked))
    with pytest.raises(ParameterError, match="at least 1, or infinity; got -inf"):
        cw.Neighbors(metric=metric, p=-np.inf).fit(table)


def test_neighbours_go_by_the_numbers_they_came_with(tmp_path):
    rows = np.array([[0.0], [1.0], [2.0], [10.0], [11.0]])
    weight = [0, 1, 0, 1, 1]
    numbers = [0.5, 1.5, 2.5, 3.5, 4.5]
    models = [
        cw.Neighbors(2).fit(rows, list("aaabb"), sample_weight=weight),
        cw.NeighborsRegressor(2).fit(rows, numbers, sample_weight=weight),
        cw.CondensedNeighbors().fit(rows, list("aaabb")),
    ]
    for model, there in zip(models, ([4, 3], [4, 3], [3, 0]), strict=True):
        near = model.neighbors(rows[4:], k=2)
        assert near.rows.tolist() == [there]
        cw.save(model, tmp_path / "model.cw")
        assert cw.load(tmp_path / "model.cw").neighbors(rows[4:], k=2).rows.tolist() == [there]
    assert models[1].neighbors(rows[4:]).describe().startswith("1. row 5, 4.5: distance 0\n")
    assert models[2].explain(rows[4:]).describe().splitlines()[-1].startswith("1. row 4, b:")
    assert repr(near) == "<Neighborhood: the 2 nearest rows of each of 1>"
    with pytest.raises(ParameterError, match="query must be a number below 1"):
        near.describe(1)


def test_more_neighbours_than_rows_are_remarked_on():
    weather = cw.read("sample:weather")
    assert [note.code for note in cw.Neighbors(n_neighbors=15).fit(weather).notes_] == ["N05"]
    assert not cw.Neighbors(n_neighbors=14).fit(weather).notes_
    assert not cw.Neighbors(n_neighbors=15).fit(weather, sample_weight=np.full(14, 2.0)).notes_


@pytest.mark.parametrize("method", ["hart", "fast"])
def test_a_condensed_set_takes_weights(method):
    table = cw.read("sample:heart-c")
    weight = np.arange(len(table), dtype=float) % 3
    repeated = table.take(np.repeat(np.arange(len(table)), weight.astype(int)))
    model = cw.CondensedNeighbors(method, metric="hvdm")
    weighted = model.fit(table, sample_weight=weight).predict_proba(table)
    np.testing.assert_array_equal(weighted, model.fit(repeated).predict_proba(table))
    assert not np.isin(np.flatnonzero(weight == 0), model.fit(table, None, weight).kept_).any()
    with pytest.raises(ParameterError, match="CondensedNeighbors: sample_weight"):
        model.fit(table, sample_weight=np.full(len(table), -1.0))
