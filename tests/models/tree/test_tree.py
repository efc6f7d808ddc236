"""Tree: figures worked by hand as in C4.5, pruning, missing values, weights."""

import numpy as np
import pytest

import countwise as cw
from countwise.models.tree.prune import extra_errors
from countwise.models.tree.splits import Bits, Block, best_splits, rank


def entropy(*counts: float) -> float:
    shares = np.array(counts) / sum(counts)
    return float(-(shares * np.log2(shares)).sum())


def test_the_weather_tree_of_quinlan():
    model = cw.Tree().fit(cw.read("sample:weather-numeric"))
    assert model.rules().splitlines() == [
        "if outlook = sunny:",
        "  if humidity ≤ 75: yes (2 rows)",
        "  if humidity > 75: no (3 rows)",
        "if outlook = overcast: yes (4 rows)",
        "if outlook = rainy:",
        "  if windy = TRUE: no (2 rows)",
        "  if windy = FALSE: yes (3 rows)",
    ]


def test_the_iris_tree_of_c45():
    model = cw.Tree().fit(cw.read("sample:iris"))
    assert model.rules().splitlines() == [
        "if petal_width ≤ 0.6: Iris-setosa (50 rows)",
        "if petal_width > 0.6:",
        "  if petal_width ≤ 1.7:",
        "    if petal_length ≤ 4.9: Iris-versicolor (47 of 48 rows)",
        "    if petal_length > 4.9:",
        "      if petal_width ≤ 1.5: Iris-virginica (3 rows)",
        "      if petal_width > 1.5: Iris-versicolor (2 of 3 rows)",
        "  if petal_width > 1.7: Iris-virginica (45 of 46 rows)",
    ]


def test_the_gain_ratio_of_the_root():
    (view,) = cw.Tree().fit(cw.read("sample:weather-numeric")).views()
    gain = entropy(9, 5) - 5 / 14 * entropy(2, 3) - 5 / 14 * entropy(3, 2)
    assert gain == pytest.approx(0.2467, abs=1e-4)
    assert entropy(5, 4, 5) == pytest.approx(1.5774, abs=1e-4)
    assert view.drawn[0].gain_ratio == pytest.approx(gain / entropy(5, 4, 5))
    assert view.drawn[0].gain_ratio == pytest.approx(0.156, abs=5e-4)
    assert all(node.gain_ratio is None for node in view.drawn if node.leaf)


def test_a_threshold_pays_for_its_choice():
    """Sunny days: of three thresholds two leave two rows on both sides, so the price is 1 bit."""
    humidity, play = np.array([85.0, 90, 95, 70, 70]), np.array([0, 0, 0, 1, 1], dtype=np.uint8)
    block = Block(
        np.arange(5, dtype=np.int32),
        np.zeros(5, dtype=np.uint32),
        play,
        None,
        np.array([[3.0, 2.0]]),
        np.zeros((1, 1), dtype=bool),
    )
    columns = [rank("humidity", humidity)]
    free = best_splits(block, columns, Bits(5, True), True, 2.0)
    paid = best_splits(block, columns, Bits(5, True), True, 2.0, many_levels=1.5)
    assert free.gain[0] == pytest.approx(entropy(3, 2))
    assert paid.gain[0] == pytest.approx(entropy(3, 2) - np.log2(2) / 5)


def test_a_threshold_that_does_not_pay_is_none():
    values = np.arange(12.0) / 8
    labels = ["a", "b", "b", "a", "a", "b", "a", "b", "b", "a", "b", "a"]
    table = cw.read({"x": values, "class": labels}, target="class", numeric=["x"])
    assert len(cw.Tree(confidence=None).fit(table).tree_) == 1
    assert len(cw.ID3(criterion="ratio", min_leaf=2).fit(table).tree_) > 1


def test_expected_errors_are_those_of_quinlan():
    """Without an error the limit is exact: U25%(0, 6) = .206, U25%(0, 9) = .143 (Quinlan 1993)."""
    rows = np.array([6.0, 9.0, 1.0])
    expected = extra_errors(rows, np.zeros(3), 0.25) / rows
    np.testing.assert_allclose(expected, [0.206, 0.143, 0.750], atol=5e-4)
    # One of sixteen wrong: as a leaf fewer errors are expected than of the three leaves above.
    leaf = 1 + extra_errors(np.array([16.0]), np.array([1.0]), 0.25)[0]
    assert leaf == pytest.approx(2.51, abs=0.2)
    assert leaf < (expected * rows).sum()
    # All wrong: there are no more errors to be had. Between none and one it is a line.
    assert extra_errors(np.array([4.0]), np.array([4.0]), 0.25)[0] == 0
    low, middle, high = (extra_errors(np.array([9.0]), np.array([e]), 0.25)[0] for e in (0, 0.5, 1))
    assert middle == pytest.approx((low + high) / 2)


def test_pruning_never_grows_the_tree_and_less_confidence_prunes_more():
    credit = cw.read("sample:credit-g")
    sizes = [len(cw.Tree(confidence=c).fit(credit).tree_) for c in (None, 0.5, 0.25, 0.01)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > 2 * sizes[2]
    pruned = cw.Tree().fit(credit).pruning_
    assert pruned is not None
    assert pruned.nodes_before == sizes[0]
    assert pruned.nodes_after == sizes[2]
    assert "Pruned from" in cw.Tree().fit(credit).describe()


def test_a_row_without_a_value_is_divided():
    rows = {"x": ["a"] * 6 + ["b"] * 3 + [None], "class": ["no"] * 6 + ["yes"] * 4}
    model = cw.Tree(confidence=None, smoothing=0).fit(cw.read(rows, target="class"))
    tree = model.tree_
    np.testing.assert_allclose(tree.counts[1:], [[6, 2 / 3], [0, 3 + 1 / 3]])
    shares = model.predict_proba({"x": [None]})[0]
    np.testing.assert_allclose(shares, [0.6, 0.4])


def test_leaves_are_drawn_toward_the_class_shares():
    weather = cw.read("sample:weather-numeric")
    model = cw.Tree().fit(weather)
    overcast = model.predict_proba(weather.take([2]))[0]
    np.testing.assert_allclose(overcast, np.array([5 * 5 / 14, 4 + 5 * 9 / 14]) / 9)
    blank = {column.name: [None] for column in weather.schema.attributes}
    np.testing.assert_allclose(model.predict_proba(blank)[0], [5 / 14, 9 / 14])


@pytest.mark.parametrize("name", ["glass", "audiology", "anneal"])
def test_no_class_gets_probability_zero(name):
    table = cw.read(f"sample:{name}")
    assert cw.Tree().fit(table).predict_proba(table).min() > 0


def test_a_column_of_names_has_no_say_in_the_average_gain():
    """Each row has its own name, whose gain is the largest; the ratio prefers the plain column."""
    rows = {
        "name": [f"n{place}" for place in range(12)],
        "size": ["s"] * 5 + ["l"] * 7,
        "class": ["a"] * 6 + ["b"] * 6,
    }
    model = cw.Tree(nominal=["name"]).fit(cw.read(rows, target="class", nominal=["name"]))
    assert model.tree_.columns[model.tree_.feature[0]] == "size"
