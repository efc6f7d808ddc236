"""Folds that follow from what is in rows: copies are apart, and repeated rows are weights."""

import numpy as np
import pytest

import countwise as cw
from countwise.counts.row_hash import content_folds, row_keys

KEYS = np.array([7, 3, 7, 12, 7, 7, 7, 7, 20, 3], dtype=np.uint64)


def times_held_out(keys, weight=None):
    """Return how often a row of each key is held out by each fold."""
    found = np.zeros((5, 21))
    parts = list(content_folds(keys, weight))
    for at, part in enumerate(parts):
        amount = np.ones(len(part.out)) if part.out_weight is None else part.out_weight
        np.add.at(found[at], keys[part.out].astype(int), amount)
    return found


def test_copies_are_dealt_in_turn():
    held = times_held_out(KEYS)
    # Six copies of 7 begin with fold 2, two of 3 with fold 3.
    assert held[:, 7].tolist() == [1, 1, 2, 1, 1]
    assert held[:, 3].tolist() == [0, 0, 0, 1, 1]
    assert held[:, 12].tolist() == [0, 0, 1, 0, 0]
    assert held[:, 20].tolist() == [1, 0, 0, 0, 0]


def test_each_copy_is_held_out_once_and_known_otherwise():
    for part in content_folds(KEYS):
        assert sorted([*part.rest, *part.out]) == list(range(10))
    weight = np.array([2.0, 1, 3, 1, 1, 5, 1, 1, 4, 1])
    for part in content_folds(KEYS, weight):
        total = np.zeros(10)
        total[part.rest] += part.rest_weight
        total[part.out] += part.out_weight
        np.testing.assert_array_equal(total, weight)


@pytest.mark.parametrize("seed", range(5))
def test_whole_weights_are_repeated_rows_in_any_order(seed):
    rng = np.random.default_rng(seed)
    weight = rng.integers(1, 9, size=10).astype(float)
    repeated = np.repeat(np.arange(10), weight.astype(int))
    shuffled = rng.permutation(repeated)
    expected = times_held_out(KEYS, weight)
    np.testing.assert_array_equal(times_held_out(KEYS[shuffled]), expected)
    np.testing.assert_array_equal(times_held_out(KEYS[shuffled], np.ones(len(shuffled))), expected)


def test_fractions_stay_whole():
    weight = np.full(10, 0.5)
    for part in content_folds(KEYS, weight):
        assert set(part.rest_weight) == set(part.out_weight) == {0.5}
    np.testing.assert_array_equal(times_held_out(KEYS, weight), times_held_out(KEYS) / 2)


def test_rows_without_copies_are_in_the_fold_of_their_key():
    keys = row_keys(cw.read("sample:autos"), target=True)
    assert len(np.unique(keys)) == len(keys)
    for at, part in enumerate(content_folds(keys)):
        assert (keys[part.out] % 5 == at).all()
        assert (keys[part.rest] % 5 != at).all()
