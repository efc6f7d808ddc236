"""What numbers must hold to be counts, so that a wrong file cannot fail a user later."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.counts.counts import Counts
from countwise.counts.histogram import Grid
from countwise.counts.moments import Moments
from countwise.store.flaws import UnsoundError

#: Rounding may leave the sum of a table this share of all weight above its class's weight.
SLACK = 1e-6
#: No weight is larger than this; sums and products of weights then stay finite.
MOST_WEIGHT = 1e150


def check_counts(counts: Counts) -> None:
    """Refuse what no pass over rows could have left behind."""
    weight = counts.weight
    check_amounts(weight, "the class weights", 0.0)
    slack = SLACK * max(1.0, float(weight.sum()))
    for names, table in counts.tables.items():
        what = "the table of " + " and ".join(map(repr, names))
        check_amounts(table, what, 0.0)
        _within(table.reshape(len(weight), -1).sum(axis=1), weight, slack, what)
    for name, moments in counts.moments.items():
        _check_moments(moments, weight, slack, f"the moments of {name!r}")
    for name, grid in counts.grids.items():
        _check_grid(grid, weight, slack, f"the grid of {name!r}")


def _check_moments(moments: Moments, weight: FloatArray, slack: float, what: str) -> None:
    check_amounts(moments.weight, what, 0.0)
    check_amounts(moments.missing, what, slack)
    _within(moments.weight + moments.missing, weight, slack, what)
    if not np.isfinite(moments.mean).all():
        raise UnsoundError(f"holds a mean that is no number in {what}")
    # The squares of numbers beyond 1e154 are endless; models take that for a flat density.
    if np.isnan(moments.square).any():
        raise UnsoundError(f"holds a squared deviation that is no number in {what}")
    if np.any(moments.square < 0):
        raise UnsoundError(f"holds a squared deviation below zero in {what}")


def _check_grid(grid: Grid, weight: FloatArray, slack: float, what: str) -> None:
    check_amounts(grid.table, what, slack)
    check_amounts(grid.missing, what, slack)
    _within(grid.table.sum(axis=1) + grid.missing, weight, slack, what)
    keys = grid.keys
    if np.any(keys[1:] <= keys[:-1]):
        raise UnsoundError(f"holds cells out of order in {what}")
    if not 0 <= grid.shift <= 63 or np.any((keys << grid.shift) >> grid.shift != keys):
        raise UnsoundError(f"holds cells that no number falls into in {what}")
    if grid.most < 2 or len(keys) > grid.most:
        raise UnsoundError(f"holds more cells than it may in {what}")
    with np.errstate(all="ignore"):
        finite = bool(np.isfinite(grid.points).all())
    if not finite:
        raise UnsoundError(f"holds cells beyond all numbers in {what}")


def check_amounts(array: NDArray[Any], what: str, slack: float) -> None:
    """Refuse what is no number of rows: not finite, too large, or below zero by more than slack."""
    # One pass each without a mask of the array's size: NaN and infinity show in the extremes.
    if not array.size:
        return
    low, high = float(array.min()), float(array.max())
    if not (np.isfinite(low) and np.isfinite(high)) or high > MOST_WEIGHT:
        raise UnsoundError(f"holds counts that are no finite numbers in {what}")
    if low < -slack:
        raise UnsoundError(f"holds counts below zero in {what}")


def _within(sums: FloatArray, weight: FloatArray, slack: float, what: str) -> None:
    if np.any(sums > weight + slack):
        raise UnsoundError(f"counts more rows than there are in {what}")
