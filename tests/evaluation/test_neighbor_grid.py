"""The grid says what refitting says, fold by fold; nothing leaks, and one list serves every k."""

import math

import numpy as np
import pytest

import countwise as cw
from countwise.errors import ParameterError
from countwise.evaluation.folds import split_folds
from countwise.tables.table import Table


@pytest.mark.parametrize(
    ("sample", "wish"),
    [
        ("iris", {"metric": "minkowski"}),
        ("credit-a", {"metric": "vdm"}),
        (
            "heart-c",
            {"metric": "vdm", "weights": "distance", "scale": "z", "when_missing": "ignore"},
        ),
        ("hepatitis", {"metric": "minkowski", "attribute_weights": "information", "drop_least": 3}),
        ("contact-lenses", {"metric": "vdm", "weights": "rank"}),
        ("heart-c", {"metric": "minkowski", "attribute_weights": "relief"}),
        ("autos", {"metric": "vdm", "attribute_weights": "relief", "drop_least": 3}),
    ],
)
def test_every_cell_equals_a_model_fitted_for_it(sample, wish):
    table = cw.read(f"sample:{sample}")
    grid = cw.neighbor_grid(table, k=(1, 2, 6), p=(1, 3), folds=4, random_state=5, **wish)
    folds = split_folds("neighbor_grid", table, 4, 1, True, np.random.default_rng(5)).folds()
    for at, k in enumerate(grid.k):
        for by, p in enumerate(grid.p):
            model = cw.Neighbors(k, p=p, smoothing=1, **wish)
            for fold, (train, tested) in enumerate(folds):
                test = table.take(tested)
                shares = model.fit(table.take(train)).predict_proba(_bare(test))
                present = [list(table.classes).index(label) for label in model.classes_]
                full = np.zeros((len(test), len(table.classes)))
                full[:, present] = shares
                right = np.mean(full.argmax(axis=1) == test.target)
                assert grid.folds[fold, at, by] == pytest.approx(right, abs=1e-12)
                hoped = full[np.arange(len(test)), test.target].mean()
                assert grid.expected[fold, at, by] == pytest.approx(hoped, abs=1e-9)


@pytest.mark.parametrize("folds", [4, "leave-one-out"])
def test_rows_without_a_class_are_left_out(folds):
    rng = np.random.default_rng(2)
    cells = {name: np.round(rng.normal(size=40)) for name in "ab"}
    labels = [None if row in (3, 7, 20) else "ny"[row % 2] for row in range(40)]
    table = cw.read({**cells, "class": labels}, target="class", keep_rows=True)
    assert len(table) == 40
    wish = {"k": (1, 3), "p": (1, 2), "folds": folds}
    grid = cw.neighbor_grid(table, **wish)
    known = cw.neighbor_grid(table.take(table.target < 2), **wish)
    np.testing.assert_array_equal(grid.folds, known.folds)
    assert grid.sizes.sum() == 37


@pytest.mark.parametrize("folds", [4, "leave-one-out"])
def test_weights_of_attributes_may_be_an_array_a_list_or_by_name(folds):
    wish = {"k": (1, 3), "p": (2,), "metric": "minkowski", "folds": folds, "drop_least": 1}
    names = ["sepal_length", "sepal_width", "petal_length", "petal_width"]
    given = [1.0, 2.0, 0.5, 1.0]
    by_name = dict(zip(names, given, strict=True))
    one, two, three = (
        cw.neighbor_grid("sample:iris", attribute_weights=own, **wish)
        for own in (np.array(given), given, by_name)
    )
    np.testing.assert_array_equal(one.folds, two.folds)
    np.testing.assert_array_equal(one.folds, three.folds)


def _bare(table):
    names = {c.name: table.raw_array(c.name) for c in table.schema.attributes}
    return Table(table.schema.without_target(), names)


def test_every_neighbour_votes_once_where_folds_have_fewer_rows_than_k():
    table = cw.read("sample:weather").take(np.arange(11))  # 7, 7 and 8 rows to train with
    grid = cw.neighbor_grid(table, k=(7, 8, 9), p=(2,), folds=3, random_state=5)
    folds = split_folds("neighbor_grid", table, 3, 1, True, np.random.default_rng(5)).folds()
    for fold, (train, tested) in enumerate(folds):
        test = table.take(tested)
        for at, k in enumerate(grid.k):
            model = cw.Neighbors(k, metric="vdm", p=2).fit(table.take(train))
            shares = model.predict_proba(_bare(test))
            hoped = shares[np.arange(len(test)), test.target].mean()
            assert grid.expected[fold, at, 0] == pytest.approx(hoped, abs=1e-12)


def test_folds_side_by_side_and_in_turn_say_the_same(monkeypatch):
    wish = {"k": (1, 4, 9), "p": (1, 2), "metric": "minkowski", "folds": 6}
    grids = []
    for number in ("1", "4"):
        monkeypatch.setenv("COUNTWISE_THREADS", number)
        grids.append(cw.neighbor_grid("sample:heart-c", **wish))
    np.testing.assert_array_equal(grids[0].folds, grids[1].folds)
    np.testing.assert_array_equal(grids[0].expected, grids[1].expected)


@pytest.mark.parametrize("metric", ["minkowski", "vdm", "heom", "hvdm", "mahalanobis"])
def test_leave_one_out_equals_refitting_without_each_row(metric):
    table = cw.read("sample:weather-numeric")
    grid = cw.neighbor_grid(table, k=(1, 3), p=(2,), metric=metric, folds="leave-one-out")
    for at, k in enumerate(grid.k):
        right = []
        for row in range(len(table)):
            rest = np.delete(np.arange(len(table)), row)
            model = cw.Neighbors(k, metric=metric, p=2).fit(table.take(rest))
            right.append(model.score(table.take([row])))
        assert grid.accuracy[at, 0] == pytest.approx(np.mean(right))


def test_leave_one_out_finds_hits_and_misses_by_each_exponent():
    table = cw.read("sample:glass").take(np.arange(0, 214, 7))
    wish = {"metric": "minkowski", "attribute_weights": "relief", "weights": "distance"}
    grid = cw.neighbor_grid(table, k=(3,), p=(1, 4), folds="leave-one-out", **wish)
    for by, p in enumerate(grid.p):
        shares = []
        for row in range(len(table)):
            rest = np.delete(np.arange(len(table)), row)
            model = cw.Neighbors(3, p=p, **wish).fit(table.take(rest))
            own = model.predict_proba(table.take([row]))[0]
            shares.append(dict(zip(model.classes_, own, strict=True)).get(table.labels[row], 0.0))
        assert grid.expected_accuracy[0, by] == pytest.approx(np.mean(shares))


def test_more_neighbours_than_training_rows():
    grid = cw.neighbor_grid("sample:weather", k=(1, 40), p=(2,), folds=7)
    assert np.isfinite(grid.folds).all()
    # Then everybody votes, and the majority wins.
    assert grid.accuracy[1, 0] == pytest.approx(9 / 14)


def test_weights_count_in_training_and_in_scores():
    table = cw.read("sample:weather")
    weight = np.ones(14)
    weight[3] = 0
    grid = cw.neighbor_grid(table, k=(3,), p=(2,), folds="leave-one-out", sample_weight=weight)
    without = cw.neighbor_grid(table.take(weight > 0), k=(3,), p=(2,), folds="leave-one-out")
    np.testing.assert_array_equal(grid.folds, without.folds)


def test_the_best_cell_and_plain_data():
    grid = cw.neighbor_grid("sample:iris", k=(1, 5), p=(1, math.inf), metric="minkowski", folds=5)
    plain = grid.to_dict()
    assert plain["p"] == [1.0, "maximum"]
    assert plain["best"]["accuracy"] == max(map(max, plain["accuracy"]))
    assert "best k" in grid.describe()
    repeated = cw.neighbor_grid("sample:iris", k=(1,), p=(2,), holdout=0.3, repeats=3)
    assert repeated.folds.shape == (3, 1, 1)


def test_the_mean_over_data_sets_counts_each_the_same():
    grids = [cw.neighbor_grid(f"sample:{n}", k=(1, 3), p=(1, 2)) for n in ("iris", "glass")]
    mean = cw.NeighborGrid.mean(grids)
    np.testing.assert_allclose(mean.accuracy, (grids[0].accuracy + grids[1].accuracy) / 2)
    other = cw.neighbor_grid("sample:iris", k=(1,), p=(1, 2))
    with pytest.raises(ParameterError, match="same k and p"):
        cw.NeighborGrid.mean([grids[0], other])


def test_bad_wishes():
    with pytest.raises(ParameterError, match="at least 1"):
        cw.neighbor_grid("sample:iris", k=(0,))
    with pytest.raises(ParameterError, match="metric must be"):
        cw.neighbor_grid("sample:iris", metric="cosine")
    with pytest.raises(ParameterError, match="weights must be"):
        cw.neighbor_grid("sample:iris", weights="cosine")


@pytest.mark.parametrize(
    ("wish", "steps"),
    [
        ({"folds": 5}, 10),
        ({"folds": "leave-one-out"}, 2),
        ({"folds": "leave-one-out", "attribute_weights": "relief"}, 24),
    ],
)
def test_every_step_is_told_once(wish, steps):
    told = []
    cw.neighbor_grid(
        "sample:contact-lenses", k=(1,), p=(1, 2), progress=lambda *own: told.append(own), **wish
    )
    assert [done for done, _, _ in told] == list(range(1, steps + 1))
    assert {total for _, total, _ in told} == {steps}


def test_a_grid_says_in_short_what_it_is():
    grid = cw.neighbor_grid("sample:iris", k=(1,), p=(2,), folds=5)
    assert repr(grid).startswith("<NeighborGrid: sample:iris: best k = 1 and p = 2, accuracy 0.9")
    assert f" ± {grid.best['spread']:.4f} over folds (vdm, " in repr(grid)
    alone = cw.neighbor_grid("sample:iris", k=(1,), p=(2,), folds="leave-one-out")
    assert "±" not in alone.describe()
