"""Maps of k and p, accuracy by k, decision regions and Voronoi's cells."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import countwise as cw
from countwise.errors import ParameterError, TableError
from countwise.reports.regions import _clip


def test_a_map_has_a_cell_for_every_k_and_p():
    grid = cw.neighbor_grid(
        "sample:iris", k=range(1, 6), p=(1, 2, float("inf")), metric="minkowski"
    )
    svg = str(cw.draw(grid))
    assert svg.count("<rect") == 15
    assert svg.count("★") == 2  # in the cell, and below where it is said which one it is
    assert ">max<" in svg
    by_k = str(cw.draw(grid, "k"))
    assert by_k.count("<circle") == 10
    with pytest.raises(ParameterError, match="what must be 'k' or None"):
        cw.draw(grid, "p")


@pytest.mark.parametrize(
    "model", [cw.Neighbors(n_neighbors=1), cw.NaiveBayes(), cw.ID3(), DecisionTreeClassifier()]
)
def test_regions_of_any_classifier(model):
    picture = cw.regions(model, "sample:iris", "petal_length", "petal_width")
    svg = str(picture)
    assert svg.count("<title>Iris-") == 150
    assert svg.count("<circle") == 50 + 1  # the first class, and its point in the legend
    assert "petal_width" in svg
    assert ('class="axis" fill="none"' in svg) == isinstance(model, cw.Neighbors)


def test_a_large_map_still_marks_the_best():
    grid = cw.neighbor_grid("sample:iris", k=range(1, 4), p=range(1, 17))
    svg = str(cw.draw(grid))
    assert svg.count("★") == 2
    assert f"best: k = {grid.best['k']}, p = {grid.best['p']:g}" in svg


def test_edges_lie_halfway_between_neighbours():
    rows = {"x": [0.0, 2.0, 0.0, 2.0], "y": [0.0, 0.0, 2.0, 2.0], "class": [*"abab"]}
    svg = str(cw.regions(cw.Neighbors(n_neighbors=1), cw.read(rows, target="class")))
    assert svg.count("M") >= 2


def test_lines_are_cut_at_the_box():
    low, high = np.zeros(2), np.ones(2)
    one, two = _clip(np.array([-1.0, 0.5]), np.array([3.0, 0.5]), low, high)
    assert one.tolist() == [0.0, 0.5]
    assert two.tolist() == [1.0, 0.5]
    assert _clip(np.array([-1.0, 2.0]), np.array([3.0, 2.0]), low, high) is None


def test_regions_need_two_numeric_columns():
    with pytest.raises(ParameterError, match="two different numeric columns"):
        cw.regions(cw.Neighbors(), "sample:weather")
    with pytest.raises(TableError, match="Did you mean"):
        cw.regions(cw.Neighbors(), "sample:iris", "petal_lenght", "petal_width")


def test_only_a_spread_that_is_there_is_spoken_of():
    wish = {"k": (1, 3), "p": (2,), "metric": "heom"}
    assert "standard deviation" in str(cw.draw(cw.neighbor_grid("sample:iris", **wish)))
    alone = cw.neighbor_grid("sample:iris", folds="leave-one-out", **wish)
    assert "standard deviation" not in str(cw.draw(alone))
