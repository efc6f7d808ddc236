"""Compiled passes over columns of numbers say what NumPy says, whatever is missing."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from countwise.counts.engines import _numbers

COLUMNS = arrays(np.float64, st.integers(0, 40), elements=st.floats(-1e6, 1e6) | st.just(np.nan))


@given(COLUMNS)
def test_ends(column):
    known = column[~np.isnan(column)]
    ends = (known.min(), known.max()) if len(known) else (0.0, 0.0)
    assert _numbers.ends(column) == ends


@given(COLUMNS, st.floats(-10, 10))
def test_reach_and_holes(column, centre):
    far, holes = np.empty(2), np.empty(2, dtype=np.uint8)
    _numbers.reach([None, column], np.array([0.0, centre]), far, holes)
    assert far[1] == np.nanmax(np.abs(column - centre), initial=0.0)
    assert holes.tolist() == [0, int(np.isnan(column).any())]
    assert far[0] == 0.0


@given(COLUMNS, st.floats(-10, 10), st.floats(0, 10))
def test_tiles_and_queries(column, centre, factor):
    moved, stretch = np.array([9.0, centre]), np.array([9.0, factor])
    wide = (column - centre) * factor
    tiles = np.zeros((3, 2, 16), dtype=np.float32)
    _numbers.tile([None, column], moved, stretch, tiles)
    np.testing.assert_array_equal(tiles[:, 1].reshape(-1)[: len(column)], wide.astype(np.float32))
    assert not tiles[:, 1].reshape(-1)[len(column) :].any()
    assert not tiles[:, 0].any()
    narrow, size = np.zeros((len(column), 2), dtype=np.float32), np.zeros((len(column), 2))
    holes = _numbers.ask([None, column], moved, stretch, narrow, size)
    assert holes == np.isnan(column).any()
    np.testing.assert_array_equal(narrow[:, 1], wide.astype(np.float32))
    np.testing.assert_array_equal(size[:, 1], np.nan_to_num(np.abs(wide)))


def test_room_is_checked():
    one = np.ones(1)
    with pytest.raises(ValueError, match="room for every row"):
        _numbers.tile([np.ones(5)], one, one, np.zeros((1, 1, 4), dtype=np.float32))
    with pytest.raises(ValueError, match="one number a query"):
        _numbers.ask([np.ones(5)], one, one, np.zeros((4, 1), dtype=np.float32), np.zeros((4, 1)))
    with pytest.raises(ValueError, match="one centre"):
        _numbers.reach([np.ones(5)], np.ones(2), one, np.ones(1, dtype=np.uint8))
