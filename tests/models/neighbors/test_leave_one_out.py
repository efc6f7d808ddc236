"""Leaving rows out by subtraction finds what spaces learned without each row find."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import countwise as cw
from countwise.models.neighbors import leave_one_out, search
from countwise.models.neighbors.leave_one_out import (
    must_relearn,
    nearest_without_each_row,
    relearn_without_row,
)
from countwise.models.neighbors.metrics import METRICS
from countwise.models.neighbors.space import STEEP
from countwise.models.neighbors.votes import Voters
from countwise.testing.strategies import tables

P = (1.0, 2.5, 24.0, math.inf)


def neighbors(metric, scale="range", missing=None, weights=None, drop=0):
    return cw.Neighbors(
        metric=metric, scale=scale, when_missing=missing, attribute_weights=weights, drop_least=drop
    )


def same_as_relearned(model, table, weight=None, some=None):
    """Distances, neighbours and ties at the end of a list are those of each row's own space."""
    powers = P if model.metric in ("minkowski", "vdm") else (2.0,)
    voters = Voters.of_classes(table.target, len(table.classes), weight)
    rows = range(len(table)) if some is None else some
    whole = nearest_without_each_row(model, table, weight, voters, len(table), powers)
    few = nearest_without_each_row(model, table, weight, voters, 2, powers)
    for row in rows:
        true = relearn_without_row(model, table, weight, voters, len(table), powers, row)
        short = relearn_without_row(model, table, weight, voters, 2, powers, row)
        for p, mine, slow, listed, end in zip(powers, whole, true, few, short, strict=True):
            largest = slow.far[np.isfinite(slow.far)].max(initial=0.0)
            near = {"rtol": 1e-9, "atol": 1e-12 * largest, "equal_nan": False}
            np.testing.assert_allclose(mine.far[row], slow.far[0], **near)
            # Whoever stands at a place is as far, by the slow way, as that place says.
            by_row = dict(zip(slow.who[0], slow.far[0], strict=True))
            distances = [by_row[who] for who in mine.who[row]]
            np.testing.assert_allclose(mine.far[row], distances, **near)
            np.testing.assert_allclose(listed.far[row], end.far[0], **near)
            # A steep p loses small gaps beside the largest: rounding says who is tied.
            if not STEEP < p < math.inf:
                np.testing.assert_allclose(listed.edge[row], end.edge[0], rtol=1e-9, equal_nan=True)


weight_of_attributes = st.sampled_from(
    [(None, 0), ("information", 0), ("information", 1), (None, 1)]
)


@pytest.mark.parametrize("metric", METRICS)
@settings(max_examples=15, deadline=None)
@given(st.data())
def test_all_metrics_on_mixed_tables(metric, data):
    table = data.draw(tables(least_rows=3, most_rows=12))
    scale = data.draw(st.sampled_from(["range", "z", None]))
    missing = data.draw(st.sampled_from([None, "far", "ignore"]))
    attribute_weights, drop = data.draw(weight_of_attributes)
    if metric == "mahalanobis":
        attribute_weights = None
    given_weight = None
    if data.draw(st.booleans()):
        halves = st.integers(1, 8).map(lambda whole: whole / 2)
        size = len(table)
        given_weight = np.array(data.draw(st.lists(halves, min_size=size, max_size=size)))
    model = neighbors(metric, scale, missing, attribute_weights, drop)
    same_as_relearned(model, table, given_weight)


def odd_table():
    """Where leaving one row out matters most."""
    cells = {
        "one_level": [*"aaabbbccccd", None],  # d is held by one row
        "one_end": [0.0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 50],
        "outlier": [0.1, 0.2, 0.1, 0.3, 0.2, 0.1, 0.2, 0.3, 0.1, 0.2, 0.3, 1e9],
        "all_but_one": [0.1] * 11 + [0.7],
        "constant": [0.1] * 12,
        "one_known": [None] * 5 + [2.5] + [None] * 6,
        "two_known": [1.0] + [None] * 10 + [3.0],
        "missing": [None] * 12,
        "no_words": [None] * 12,
        "class": [*"nnnnyyyyynyx"],  # x is a class of one row
    }
    numeric = [*cells][1:-2]
    return cw.read(
        cells, target="class", nominal=["one_level", "no_words"], numeric=numeric,
        identifiers="keep",
    )  # fmt: skip


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("scale", ["range", "z", None])
@pytest.mark.parametrize("missing", ["far", "ignore"])
def test_rows_that_matter_most(metric, scale, missing):
    table = odd_table()
    heavy = np.ones(len(table))
    heavy[[3, 11]] = 1000.0, 0.25
    for weight in (None, heavy):
        same_as_relearned(neighbors(metric, scale, missing), table, weight)
        if metric != "mahalanobis":
            model = neighbors(metric, scale, missing, "information")
            same_as_relearned(model, table, weight, some=(0, 3, 11))
        model = neighbors(metric, scale, missing, None, 0.5)
        same_as_relearned(model, table, weight, some=(0, 3, 11))


def test_words_of_more_levels_than_a_table_holds():
    stream = np.random.default_rng(3)
    names = [*range(1100), *stream.integers(0, 200, 300)]
    cells = {
        "place": [f"p{own}" for own in names],
        "size": stream.normal(size=1400),
        "class": stream.choice([*"abc"], 1400),
    }
    cells["place"][5] = None
    table = cw.read(cells, target="class", nominal=["place"], identifiers="keep")
    assert len(table.schema["place"].levels) > 1022
    some = (0, 5, 77, 1000, 1399)
    for missing in ("far", "ignore"):
        same_as_relearned(neighbors("vdm", "z", missing), table, None, some)
    same_as_relearned(neighbors("hvdm"), table, None, some)


def test_a_tree_proposes_neighbours_in_the_shared_space(monkeypatch):
    stream = np.random.default_rng(4)
    X = stream.normal(size=(300, 2))
    X[7] = 40.0
    table = cw.read(X, target=stream.integers(0, 2, 300))
    monkeypatch.setattr(search, "is_tree_faster", lambda *_: True)
    voters = Voters.of_classes(table.target, 2, None)
    for scale in ("range", "z"):
        model = neighbors("euclidean", scale)
        mine = nearest_without_each_row(model, table, None, voters, 5, (2.0,))[0]
        for row in (0, 7, 8, 150):
            slow = relearn_without_row(model, table, None, voters, 5, (2.0,), row)[0]
            np.testing.assert_array_equal(mine.who[row], slow.who[0])
            np.testing.assert_allclose(mine.far[row], slow.far[0], rtol=1e-12)


@pytest.mark.parametrize("sample", ["glass", "iris", "votes", "weather", "weather-numeric"])
@pytest.mark.parametrize(
    "own",
    [
        {"metric": "minkowski", "scale": "z", "weights": "distance"},
        {"metric": "vdm", "scale": "range"},
        {"metric": "hvdm", "weights": "rank"},
        {"metric": "mahalanobis"},
        {"metric": "heom", "attribute_weights": "information", "drop_least": 1},
    ],
    ids=lambda own: own["metric"],
)
def test_accuracy_is_that_of_the_slow_way(sample, own, monkeypatch):
    asked = {"k": (1, 2, 5, 9), "p": (1, 3), "folds": "leave-one-out", **own}
    table = cw.read(f"sample:{sample}")
    if sample == "votes":
        table = table.take(np.arange(0, len(table), 3))
    quick = cw.neighbor_grid(table, **asked)
    monkeypatch.setattr(leave_one_out, "must_relearn", lambda model: True)
    slow = cw.neighbor_grid(table, **asked)
    np.testing.assert_array_equal(quick.accuracy, slow.accuracy)
    np.testing.assert_allclose(quick.expected_accuracy, slow.expected_accuracy, rtol=1e-9)


def test_hits_and_misses_are_learned_row_by_row():
    table = cw.read("sample:weather-numeric")
    model = neighbors("heom", weights="relief")
    assert must_relearn(model)
    same_as_relearned(model, table)
    own = {"k": (1, 3), "p": (2,), "folds": "leave-one-out", "metric": "heom"}
    grid = cw.neighbor_grid(table, attribute_weights="relief", **own)
    assert 0 <= grid.accuracy.min() <= grid.accuracy.max() <= 1


@pytest.mark.parametrize("scale", ["range", "z"])
@pytest.mark.parametrize("metric", METRICS)
def test_some_rows_get_what_all_rows_get(metric, scale):
    table = cw.read("sample:heart-c").take(np.arange(60))
    model, powers = neighbors(metric, scale=scale), (2.0,)
    voters = Voters.of_classes(table.target, len(table.classes), None)
    weight = 1.0 + np.arange(60) % 3
    rows = np.array([3, 4, 11, 30, 59])
    (every,) = nearest_without_each_row(model, table, weight, voters, 5, powers)
    (some,) = nearest_without_each_row(model, table, weight, voters, 5, powers, only=rows)
    np.testing.assert_array_equal(some.who, every.who[rows])
    np.testing.assert_array_equal(some.far, every.far[rows])
    np.testing.assert_array_equal(some.edge, every.edge[rows])
