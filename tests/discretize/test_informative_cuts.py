"""Cuts by description length, what is done where there are none, and cuts without one row."""

import numpy as np
import pytest

from countwise.counts.histogram import Grid, keys_of
from countwise.counts.information import entropy
from countwise.discretize._mdl import find_intervals_without
from countwise.discretize.cut_points import MARGIN, cut_points, mdl_cuts


def grid_of(values, labels):
    """Return the grid of numbers with classes 0, 1, …"""
    points, place = np.unique(values, return_inverse=True)
    table = np.zeros((max(labels) + 2, len(points)))
    np.add.at(table, (labels, place), 1.0)
    return Grid(0, keys_of(points), table, np.zeros(len(table)))


def plain_mdl(counts):
    """Return the cuts of Fayyad and Irani by the formulas of the paper."""
    if counts.shape[1] < 2 or counts.sum() <= 1:
        return []
    size, best = counts.sum(), None
    for place in range(counts.shape[1] - 1):
        left, right = counts[:, : place + 1].sum(axis=1), counts[:, place + 1 :].sum(axis=1)
        after = (left.sum() * entropy(left) + right.sum() * entropy(right)) / size
        if best is None or after < best[0] - 1e-12:
            best = after, place, left, right
    after, place, left, right = best
    whole = counts.sum(axis=1)
    k, k1, k2 = (np.count_nonzero(part) for part in (whole, left, right))
    delta = np.log2(3.0**k - 2) - (k * entropy(whole) - k1 * entropy(left) - k2 * entropy(right))
    if entropy(whole) - after <= (np.log2(size - 1) + delta) / size:
        return []
    rest = [place + 1 + cut for cut in plain_mdl(counts[:, place + 1 :])]
    return [*plain_mdl(counts[:, : place + 1]), place, *rest]


@pytest.mark.parametrize("classes", [2, 3, 7])
def test_mdl_cuts_are_those_of_the_paper(classes):
    rng = np.random.default_rng(classes)
    for _ in range(40):
        counts = rng.poisson(rng.uniform(0, 2, (classes, 1)), (classes, 30)).astype(float)
        counts[:, 10:20] *= rng.integers(0, 3, (classes, 1))
        counts = counts[:, counts.sum(axis=0) > 0]
        assert mdl_cuts(counts) == plain_mdl(counts)


def loss_without(counts, cuts):
    """Return the leave-one-out log loss of naive Bayes with one column, row by row."""
    parts = np.split(counts, np.asarray(cuts, dtype=int) + 1, axis=1)
    cells = np.stack([part.sum(axis=1) for part in parts], axis=1)
    loss = 0.0
    for label, interval in zip(*np.nonzero(cells), strict=True):
        less = cells.copy()
        less[label, interval] -= 1
        total = less.sum(axis=1)
        scores = total * (less[:, interval] + 1) / (total + cells.shape[1])
        loss -= cells[label, interval] * np.log(scores[label] / scores.sum())
    return loss


def test_where_mdl_finds_no_cut_rows_left_out_decide():
    # The class lies in the middle: no single cut pays, three intervals of equal frequency tell it.
    values = np.arange(90)
    labels = np.where((values >= 30) & (values < 60), values % 5 != 0, values % 3 == 1).astype(int)
    grid = grid_of(values, labels)
    assert len(cut_points(grid, "mdl")) == 0
    found = cut_points(grid, "auto")
    np.testing.assert_array_equal(found, [29.5, 59.5])
    counts = grid.table[:-1]
    gain = loss_without(counts, []) - loss_without(counts, [29, 59])
    assert gain > MARGIN
    for bins in (5, 10):
        other = cut_points(grid, "frequency", bins)
        assert loss_without(counts, np.floor(other)) > loss_without(counts, [29, 59])


def test_columns_of_noise_are_left_uncut():
    rng = np.random.default_rng(0)
    cut = sum(
        len(cut_points(grid_of(rng.random(200), rng.integers(0, 2, 200)), "auto")) > 0
        for _ in range(300)
    )
    assert cut <= 6


@pytest.mark.parametrize("margin", [np.inf, MARGIN])
def test_intervals_without_a_row_are_those_of_the_other_rows(margin):
    rng = np.random.default_rng(4)
    method = "mdl" if margin == np.inf else "auto"
    for distinct in (5, 30, 400):
        values = rng.integers(0, distinct, 60) / 7
        labels = rng.integers(0, 3, 60)
        labels[values > np.median(values)] = rng.integers(0, 2)
        grid = grid_of(values, labels)
        place = np.searchsorted(grid.points, values)
        low, high, number = find_intervals_without(
            np.ascontiguousarray(grid.table[:-1].T), grid.points, True, place, labels,
            np.ones(60), margin,
        )  # fmt: skip
        for row in range(60):
            rest = np.delete(np.arange(60), row)
            cuts = cut_points(grid_of(values[rest], labels[rest]), method)
            assert number[row] == len(cuts) + 1
            beside = np.searchsorted(cuts, values) == np.searchsorted(cuts, values[row])
            inside = (place >= low[row]) & (place < high[row])
            np.testing.assert_array_equal(inside, beside)
