"""Areas under ROC curves: one class against the others, and every pair of classes.

The area is the probability that a row of the class gets a higher posterior than another row; equal
posteriors count one half. Several classes have the mean over the classes (one-vs-rest) or over the
pairs of classes (Hand and Till 2001). Each area comes with one figure a row whose mean is the area
and whose variance is that of DeLong, DeLong and Clarke-Pearson (1988), for intervals.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray

#: An area, and one figure a row whose weighted mean is the area.
Area = tuple[float, FloatArray]
_Mask = NDArray[np.bool_]


def class_area(posteriors: NDArray[Any], truth: NDArray[Any], weight: FloatArray, at: int) -> Area:
    """Return the area of the class at a position against all other classes."""
    if posteriors.shape[1] == 2:
        at = 1  # Both classes have the same area; the posteriors of one are rounded less often.
    return _area(posteriors[:, at], truth == at, truth != at, weight)


def one_vs_rest(
    posteriors: NDArray[Any], truth: NDArray[Any], weight: FloatArray, by_size: bool = False
) -> Area:
    """Return the mean area of the classes that have rows, each against all others.

    With `by_size` a class counts by the weight of its rows.
    """
    sizes = np.bincount(truth, weight, posteriors.shape[1]).astype(np.float64)
    codes = np.flatnonzero((sizes > 0) & (sizes < sizes.sum()))
    areas = [class_area(posteriors, truth, weight, code) for code in codes.tolist()]
    return _mean(areas, sizes[codes] if by_size else np.ones(len(codes)), len(truth))


def hand_till(posteriors: NDArray[Any], truth: NDArray[Any], weight: FloatArray) -> Area:
    """Return the mean area over all pairs of classes that have rows (Hand and Till 2001)."""
    sizes = np.bincount(truth, weight, posteriors.shape[1])
    masks = {code: truth == code for code in np.flatnonzero(sizes > 0).tolist()}
    if posteriors.shape[1] == 2:
        return one_vs_rest(posteriors, truth, weight)
    areas = [
        _area(posteriors[:, up], masks[up], masks[down], weight)
        for pair in combinations(masks, 2)
        for up, down in (pair, pair[::-1])
    ]
    return _mean(areas, np.ones(len(areas)), len(truth))


def _mean(areas: Iterable[Area], weights: FloatArray, rows: int) -> Area:
    if not len(weights):
        return float("nan"), np.full(rows, np.nan)
    shares = weights / weights.sum()
    value, figures = 0.0, np.zeros(rows)
    for share, (area, by_row) in zip(shares.tolist(), areas, strict=True):
        value += share * area
        figures += share * by_row
    return value, figures


def _area(posteriors: NDArray[Any], up: _Mask, down: _Mask, weight: FloatArray) -> Area:
    """Compare the rows `up` with the rows `down`, which both have weight."""
    used = up | down
    levels, place = np.unique(posteriors[used], return_inverse=True)
    given, above = weight[used], up[used]
    high = np.bincount(place, given * above, len(levels))
    low = np.bincount(place, given * ~above, len(levels))
    # The share of the other side that a row beats, with half of the rows it equals.
    beats = (np.cumsum(low) - low / 2) / low.sum()
    beaten = (high.sum() - np.cumsum(high) + high / 2) / high.sum()
    area = float(high @ beats / high.sum())
    total = float(weight.sum())
    figures = np.full(len(posteriors), area)
    figures[used] += np.where(
        above,
        (beats[place] - area) * total / high.sum(),
        (beaten[place] - area) * total / low.sum(),
    )
    return area, figures
