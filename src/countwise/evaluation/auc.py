"""Areas under ROC curves: one class against the others, and every pair of classes.

The area is the probability that a row of the class gets a higher posterior than another row; equal
posteriors count one half. Several classes have the mean over the classes (one-vs-rest) or over the
pairs of classes (Hand and Till 2001). Each area comes with one figure a row whose mean is the area
and whose variance is that of DeLong, DeLong and Clarke-Pearson (1988), for intervals.

Of rows that are scanned only a histogram of posteriors is kept. Rows of different bins are compared
exactly and rows of one bin count one half, so an area is wrong by at most half the pairs that share
a bin.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray

#: An area, and one figure a row whose weighted mean is the area.
Area = tuple[float, FloatArray]

#: The bins of a histogram of posteriors, at most and at least, and how far log-odds go in them.
MOST_BINS, _FEWEST_BINS = 1 << 12, 16
_FARTHEST = 40.0


class Duel(NamedTuple):
    """A class against another one (None: all others), by the posterior of a class.

    `share` is the share of its area in a mean.
    """

    share: float
    column: int
    up: int
    down: int | None = None


def one_class(sizes: FloatArray, at: int) -> list[Duel]:
    """Compare the class at a position with all other classes."""
    # Both of two classes have the same area; the posteriors of one are rounded less often.
    at = 1 if len(sizes) == 2 else at
    return [Duel(1.0, at, at)]


def one_vs_rest(sizes: FloatArray, by_size: bool = False) -> list[Duel]:
    """Compare each class that has rows with all others; with `by_size` each counts by its rows."""
    codes = np.flatnonzero((sizes > 0) & (sizes < sizes.sum()))
    weights = sizes[codes] if by_size else np.ones(len(codes))
    shares = (weights / max(weights.sum(), 1e-300)).tolist()
    pairs = zip(shares, codes.tolist(), strict=True)
    return [Duel(share, *one_class(sizes, code)[0][1:]) for share, code in pairs]


def hand_till(sizes: FloatArray) -> list[Duel]:
    """Compare every class that has rows with every other one (Hand and Till 2001)."""
    if len(sizes) == 2:
        return one_vs_rest(sizes)
    pairs = sorted(permutations(np.flatnonzero(sizes > 0).tolist(), 2), key=sorted)
    return [Duel(1.0 / len(pairs), up, up, down) for up, down in pairs]


def measure_rows(
    posteriors: NDArray[Any], truth: NDArray[Any], weight: FloatArray, duels: Sequence[Duel]
) -> Area:
    """Return the mean area of some duels, and one figure a row."""
    if not duels:
        return float("nan"), np.full(len(truth), np.nan)
    value, figures = 0.0, np.zeros(len(truth))
    for duel in duels:
        area, by_row = _area(posteriors[:, duel.column], truth, weight, duel)
        value += duel.share * area
        figures += duel.share * by_row
    return value, figures


def _area(posteriors: NDArray[Any], truth: NDArray[Any], weight: FloatArray, duel: Duel) -> Area:
    up = truth == duel.up
    used = np.ones(len(truth), bool) if duel.down is None else up | (truth == duel.down)
    levels, place = np.unique(posteriors[used], return_inverse=True)
    given, above = weight[used], up[used]
    high = np.bincount(place, given * above, len(levels)).astype(np.float64)
    low = np.bincount(place, given * ~above, len(levels)).astype(np.float64)
    area, beats, beaten = _compare(high, low)
    total = float(weight.sum())
    figures = np.full(len(posteriors), area)
    figures[used] += np.where(
        above,
        (beats[place] - area) * total / high.sum(),
        (beaten[place] - area) * total / low.sum(),
    )
    return area, figures


def _compare(high: FloatArray, low: FloatArray) -> tuple[float, FloatArray, FloatArray]:
    """Compare rows by their levels; return what a row of either side has of the other."""
    # The share of the other side that a row beats, with half of the rows it equals.
    beats = (np.cumsum(low) - low / 2) / low.sum()
    beaten = (high.sum() - np.cumsum(high) + high / 2) / high.sum()
    return float(high @ beats / high.sum()), beats, beaten


@dataclass(frozen=True)
class PosteriorBins:
    """A histogram of the posteriors of scanned rows.

    `cells` holds the weight of the rows by posterior (of each class; of two classes of the second
    alone), true class and bin. `least` and `most` hold the smallest and the largest posterior in
    each bin: if they are the same, the rows in it are equal indeed.
    """

    cells: FloatArray
    least: FloatArray
    most: FloatArray

    @classmethod
    def of(
        cls, posteriors: NDArray[Any], truth: NDArray[Any], weight: FloatArray, room: int
    ) -> PosteriorBins | None:
        """Count posteriors in as many bins as there is room for; None if that is too few."""
        classes = posteriors.shape[1]
        columns, edges = bin_edges(classes, room)
        if not columns:
            return None
        bins = len(edges) + 1
        cells = np.zeros((len(columns), classes, bins))
        least, most = np.full((len(columns), bins), np.inf), np.full((len(columns), bins), -np.inf)
        for place, column in enumerate(columns):
            values = np.ascontiguousarray(posteriors[:, column], dtype=np.float64)
            at = np.searchsorted(edges, values, side="right")
            found = np.bincount(truth.astype(np.intp) * bins + at, weight, classes * bins)
            cells[place] = found.reshape(classes, bins)
            np.minimum.at(least[place], at, values)
            np.maximum.at(most[place], at, values)
        return cls(cells, least, most)

    def __add__(self, other: PosteriorBins) -> PosteriorBins:
        return PosteriorBins(
            self.cells + other.cells,
            np.minimum(self.least, other.least),
            np.maximum(self.most, other.most),
        )

    @property
    def n_bins(self) -> int:
        """The number of bins."""
        return int(self.cells.shape[-1])

    def of_class(self, at: int) -> FloatArray:
        """Return the weight of the rows by true class and bin of the posterior of a class."""
        cells = self.cells[0 if len(self.cells) == 1 else at]
        is_other = len(self.cells) == 1 and at == 0
        return np.asarray(cells[:, ::-1] if is_other else cells)

    def measure(self, duels: Sequence[Duel]) -> tuple[float, float, float]:
        """Return the mean area of some duels, the mean square of one figure a row, and the error.

        The error is the most by which the area may be wrong. The mean square is known where the
        figures follow from one posterior.
        """
        if not duels:
            return (float("nan"),) * 3
        value = error = square = 0.0
        for duel in duels:
            cells = self.of_class(duel.column)
            high = cells[duel.up]
            low = cells.sum(axis=0) - high if duel.down is None else cells[duel.down]
            area, beats, beaten = _compare(high, low)
            line = 0 if len(self.cells) == 1 else duel.column
            differ = self.least[line] < self.most[line]
            value += duel.share * area
            error += duel.share * float((high * low)[differ].sum() / (2 * high.sum() * low.sum()))
            total = float(cells.sum())
            figures = [area + (beats - area) * total / high.sum()]
            figures += [area + (beaten - area) * total / low.sum()]
            square = float((high @ figures[0] ** 2 + low @ figures[1] ** 2) / total)
        same = len({duel[1:] for duel in duels}) == 1 and duels[0].down is None
        return value, square if same else float("nan"), error


def bin_edges(classes: int, room: int) -> tuple[Sequence[int], FloatArray]:
    """Return the classes whose posteriors are counted by bins, none without room, and the edges."""
    columns = [1] if classes == 2 else range(classes)
    bins = min(MOST_BINS, room // (classes * len(columns)))
    return ([], np.empty(0)) if bins < _FEWEST_BINS else (columns, _edges(bins))


@lru_cache(maxsize=8)
def _edges(bins: int) -> FloatArray:
    """Return the posteriors between bins: even in log-odds near one half, wider far off."""
    steps = np.linspace(-1.0, 1.0, bins - 1) * np.arcsinh(_FARTHEST)
    return np.asarray(1.0 / (1.0 + np.exp(-np.sinh(steps))))
