"""Leaving rows out by subtraction finds what spaces learned without each row find."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import countwise as cw
from countwise.models.neighbors import leave_one_out, search
from countwise.models.neighbors.attribute_weights import informative, informative_without
from countwise.models.neighbors.base import voters
from countwise.models.neighbors.fit_space import Wanted, left_out_spaces
from countwise.models.neighbors.leave_one_out import found_without, relearned_without
from countwise.models.neighbors.metrics import METRICS
from countwise.models.neighbors.space import STEEP
from countwise.testing.strategies import tables

P = (1.0, 2.5, 24.0, math.inf)


def wish(metric, scale="range", missing=None, weights=None, drop=0):
    return Wanted("test", metric, 2.0, scale, missing, weights, float(drop))


def same_as_relearned(wanted, table, weight=None, some=None):
    """Distances, neighbours and ties at the end of a list are those of each row's own space."""
    powers = P if wanted.metric in ("minkowski", "vdm") else (2.0,)
    every = voters(table, weight, np.arange(len(table.classes)))
    rows = range(len(table)) if some is None else some
    whole = found_without(wanted, table, weight, every, len(table), powers)
    few = found_without(wanted, table, weight, every, 2, powers)
    for row in rows:
        true = relearned_without(wanted, table, weight, every, len(table), powers, row)
        short = relearned_without(wanted, table, weight, every, 2, powers, row)
        for p, mine, own, listed, end in zip(powers, whole, true, few, short, strict=True):
            largest = own.far[np.isfinite(own.far)].max(initial=0.0)
            near = {"rtol": 1e-9, "atol": 1e-12 * largest, "equal_nan": False}
            np.testing.assert_allclose(mine.far[row], own.far[0], **near)
            # Whoever stands at a place is as far, by the slow way, as that place says.
            by_row = dict(zip(own.who[0], own.far[0], strict=True))
            told = [by_row[who] for who in mine.who[row]]
            np.testing.assert_allclose(mine.far[row], told, **near)
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
    wanted = wish(metric, scale, missing, attribute_weights, drop)
    same_as_relearned(wanted, table, given_weight)


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_mahalanobis_by_one_outer_product(data):
    """Enough rows and no missing numbers: here nearly no row is learned anew."""
    rows = data.draw(st.integers(8, 30))
    stream = np.random.default_rng(data.draw(st.integers(0, 999)))
    X = stream.normal(size=(rows, 3)) @ stream.normal(size=(3, 3)) + [0, 100, -5]
    X[data.draw(st.integers(0, rows - 1))] *= data.draw(st.sampled_from([1.0, 3.0, 20.0]))
    cells = {f"x{place}": own for place, own in enumerate(X.T)}
    cells["word"] = stream.choice([*"ab"], rows)
    table = cw.read({**cells, "class": stream.choice([*"ny"], rows)}, target="class")
    weight = stream.choice([0.5, 1.0, 3.0], rows) if data.draw(st.booleans()) else None
    learned = left_out_spaces(wish("mahalanobis"), table, weight, (2.0,))
    assert np.count_nonzero(learned.unsure) <= 5
    same_as_relearned(wish("mahalanobis"), table, weight)


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
        same_as_relearned(wish(metric, scale, missing), table, weight)
        if metric != "mahalanobis":
            same_as_relearned(wish(metric, scale, missing, "information"), table, weight)
        same_as_relearned(wish(metric, scale, missing, None, 0.5), table, weight)


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
        same_as_relearned(wish("vdm", "z", missing), table, None, some)
    same_as_relearned(wish("hvdm"), table, None, some)


def test_a_tree_proposes_neighbours_in_the_shared_space(monkeypatch):
    stream = np.random.default_rng(4)
    X = stream.normal(size=(300, 2))
    X[7] = 40.0
    table = cw.read(X, target=stream.integers(0, 2, 300))
    monkeypatch.setattr(search, "worth_it", lambda *_: True)
    every = voters(table, None, np.arange(2))
    for scale in ("range", "z"):
        wanted = wish("euclidean", scale)
        mine = found_without(wanted, table, None, every, 5, (2.0,))[0]
        for row in (0, 7, 8, 150):
            own = relearned_without(wanted, table, None, every, 5, (2.0,), row)[0]
            np.testing.assert_array_equal(mine.who[row], own.who[0])
            np.testing.assert_allclose(mine.far[row], own.far[0], rtol=1e-12)


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_bits_without_each_row(data):
    table = data.draw(tables(least_rows=2, most_rows=40))
    size = len(table)
    quarters = st.integers(1, 12).map(lambda whole: whole / 4)
    weight = np.array(data.draw(st.lists(quarters, min_size=size, max_size=size)))
    found = informative_without(table, weight)
    for row in range(size):
        rest = np.delete(np.arange(size), row)
        without = informative(table.take(rest), weight[rest])
        np.testing.assert_allclose(found[row], without, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("rows", [4096, 4097, 4098])
def test_bits_where_a_row_more_makes_the_grid_coarser(rows):
    stream = np.random.default_rng(rows)
    X = np.stack([stream.permutation(rows) / 7, stream.normal(size=rows)], axis=1)
    X[:3, 1] = X[3, 1]
    table = cw.read(X, target=(X[:, 1] + stream.normal(size=rows) > 0).astype(int))
    found = informative_without(table)
    for row in (0, 3, 4, 2000, rows - 1):
        without = informative(table.take(np.delete(np.arange(rows), row)))
        np.testing.assert_allclose(found[row], without, rtol=1e-9, atol=1e-12)


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
    monkeypatch.setattr(leave_one_out, "left_out_spaces", lambda *_: None)
    slow = cw.neighbor_grid(table, **asked)
    np.testing.assert_array_equal(quick.accuracy, slow.accuracy)
    np.testing.assert_allclose(quick.expected_accuracy, slow.expected_accuracy, rtol=1e-9)


def test_hits_and_misses_are_learned_row_by_row():
    table = cw.read("sample:weather-numeric")
    wanted = wish("heom", weights="relief")
    assert left_out_spaces(wanted, table, None, (2.0,)) is None
    same_as_relearned(wanted, table)
    own = {"k": (1, 3), "p": (2,), "folds": "leave-one-out", "metric": "heom"}
    grid = cw.neighbor_grid(table, attribute_weights="relief", **own)
    assert 0 <= grid.accuracy.min() <= grid.accuracy.max() <= 1
