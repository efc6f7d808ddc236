"""Cutting numbers into intervals: worked examples, Weka's answers, cutting counts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import countwise as cw
from countwise.counts.histogram import Grid, keys_of
from countwise.counts.information import entropy, information_gain
from countwise.discretize.cut_points import (
    METHODS,
    cut_counts,
    cut_points,
    cut_table,
    interval_names,
)
from countwise.errors import ParameterError
from countwise.testing.strategies import tables

#: weka.filters.supervised.attribute.Discretize (Fayyad & Irani), Weka 3.6.14.
WEKA = {
    "iris": [[5.55, 6.15], [2.95, 3.35], [2.45, 4.75], [0.8, 1.75]],
    "glass": [
        [1.517335, 1.517985],
        [14.065],
        [2.695],
        [1.39, 1.775],
        [],
        [0.055, 0.615, 0.745],
        [7.02, 8.315, 10.075],
        [0.335],
        [],
    ],
}


def grids(name):
    table = cw.read(f"sample:{name}")
    return cw.count(table, cw.Plan.each(table.schema, numeric="grid")).grids


def grid_of(values, labels):
    table = cw.read({"x": values, "y": labels}, target="y", numeric=["x"])
    return cw.count(table, cw.Plan.each(table.schema, numeric="grid")).grids["x"]


@pytest.mark.parametrize("name", sorted(WEKA))
def test_mdl_cuts_equal_wekas(name):
    for grid, expected in zip(grids(name).values(), WEKA[name], strict=True):
        assert cut_points(grid, "mdl").tolist() == pytest.approx(expected)


def test_equal_width_and_frequency():
    grid = grid_of([0.0, 1.0, 2.0, 3.0, 4.0, 20.0], list("ababab"))
    assert cut_points(grid, "width", 4).tolist() == [5.0, 10.0, 15.0]
    assert cut_points(grid, "frequency", 3).tolist() == [1.5, 3.5]
    assert cut_points(grid, "frequency", 2).tolist() == [2.5]


def test_two_way_takes_the_most_informative_cut():
    grid = grid_of([60.0, 70, 75, 85, 90, 95, 100, 120, 125, 220], list("nnnyyynnnn"))
    points = cut_points(grid, "two-way")
    assert points.tolist() == [97.5]  # Kuo's income column: the best of its two-way splits


def test_nothing_to_cut():
    assert cut_points(grid_of([1.0, 1.0], list("ab"))).tolist() == []
    assert cut_points(Grid.zero(3)).tolist() == []
    with pytest.raises(ParameterError, match="'width', 'frequency'"):
        cut_points(Grid.zero(3), "wide")


def test_a_coarse_grid_cuts_on_its_own_borders():
    rng = np.random.default_rng(0)
    values = rng.normal(size=20_000)
    grid = grid_of(values, np.where(values + rng.normal(0, 0.1, 20_000) > 0.5, "y", "n"))
    assert not grid.exact
    for method in METHODS:
        points = cut_points(grid, method, 10)
        assert len(points) >= 1
        assert np.isin(points, grid.upper).all()
    assert np.abs(cut_points(grid, "two-way") - 0.5).max() < 0.1
    keys = keys_of(values) >> grid.shift
    assert np.all(values >= grid.lower[np.searchsorted(grid.keys, keys)])


@pytest.mark.parametrize("method", METHODS)
@given(data=st.data())
def test_cutting_counts_equals_counting_the_cut_table(method, data):
    table = data.draw(tables(least_rows=2))
    fine = cw.count(table, cw.Plan.each(table.schema, numeric="grid"))
    points = {name: cut_points(grid, method, 3) for name, grid in fine.grids.items()}
    cut = cut_table(table, points)
    assert cut_counts(fine, points) == cw.count(cut, cw.Plan.each(cut.schema))


def test_interval_names_tell_neighbours_apart():
    names = interval_names(np.array([1.0, 1.0 + 1e-9, 2.0]))
    assert len(set(names)) == 4
    assert interval_names(np.array([0.5])) == ("≤ 0.5", "> 0.5")


def test_naive_bayes_on_intervals():
    iris = cw.read("sample:iris")
    model = cw.NaiveBayes(numeric="cuts", cuts="mdl").fit(iris)
    assert model.cut_points_["petal_length"].tolist() == [2.45, 4.75]
    why = model.explain(iris.take([0]))
    assert why.values[0][2] == "≤ 2.45"
    np.testing.assert_allclose(
        why.base + why.parts.sum(axis=1), model.predict_joint_log_proba(iris.take([0]))
    )
    cut = cut_table(iris, model.cut_points_)
    plain = cw.NaiveBayes().fit(cut)
    np.testing.assert_array_equal(model.predict_proba(iris), plain.predict_proba(cut))
    far = model.predict_proba([[1e9, -1e9, np.nan, 0.0]])
    assert np.isfinite(far).all()


def test_measures():
    assert float(entropy(np.array([9.0, 5.0]))) == pytest.approx(0.940, abs=5e-4)
    assert float(entropy(np.zeros(3))) == 0
    weather = cw.count(cw.read("sample:weather"))
    gains = {
        name: information_gain(weather.table(name)[:-1, :-1])
        for name in ("outlook", "temperature", "humidity", "windy")
    }
    # Quinlan's (1986) figures for the same fourteen days.
    assert {name: round(gain, 3) for name, gain in gains.items()} == {
        "outlook": 0.247,
        "temperature": 0.029,
        "humidity": 0.152,
        "windy": 0.048,
    }
    assert information_gain(np.zeros((2, 2))) == 0


def test_intervals_of_large_numbers_are_written_in_full():
    assert interval_names(np.array([10483.5, 1234567.0])) == (
        "≤ 10484",
        "10484 – 1234567",
        "> 1234567",
    )
    assert interval_names(np.array([10483.25, 10483.375])) == (
        "≤ 10483.2",
        "10483.2 – 10483.4",
        "> 10483.4",
    )


def test_intervals_of_dates_are_written_as_dates():
    assert interval_names(np.array([18274.5, 18284.0]), dates=True) == (
        "≤ 2020-01-13",
        "2020-01-13 – 2020-01-23",
        "> 2020-01-23",
    )
    assert interval_names(np.array([18274.25, 18274.75]), dates=True)[1] == (
        "2020-01-13 06:00 – 2020-01-13 18:00"
    )
    assert interval_names(np.array([18274.0, 18274.5]), dates=True)[1] == (
        "2020-01-13 – 2020-01-13 12:00"
    )
