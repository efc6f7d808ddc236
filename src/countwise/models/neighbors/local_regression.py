"""Locally weighted regression: a plane through the neighbours of each point that is asked about."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.models.neighbors.base import KeptRegressor
from countwise.models.neighbors.index import Kept
from countwise.models.neighbors.votes import SAME, Electorate
from countwise.params import nothing, number, one_of, parameter
from countwise.params import whole as whole_number
from countwise.tables.table import Table

#: How the weight of a row falls with its distance, in widths.
KERNELS = ("tricube", "epanechnikov", "triangular", "gaussian", "uniform")
#: Cells of the local tables that are held at a time.
_CELLS = 1 << 22


class LocalRegression(KeptRegressor):
    """Predict a number by a weighted linear fit to the neighbours of each new point.

    Cleveland's (1979) locally weighted regression in any number of dimensions: rows near the point
    weigh more, by a kernel as wide as the neighbours reach; the fit's value at the point is the
    answer. Numbers enter as gaps to the point, words as equal to it or not, missing cells as no
    gap. A little ridge keeps the slopes finite where neighbours do not span all dimensions.

    Examples
    --------
    A straight line is found again, also beyond its ends:

    >>> import countwise as cw
    >>> rows = {"x": [0.0, 1, 2, 3, 4, 5]}
    >>> model = cw.LocalRegression(n_neighbors=4).fit(rows, [1.0, 3, 5, 7, 9, 11])
    >>> model.predict({"x": [2.5, 6.0]}).round(3).tolist()
    [6.0, 13.0]
    """

    n_neighbors: int | None = parameter(
        whole_number(at_least=1) | nothing(),
        "how many neighbours are fitted; their kernel reaches to the next one. None: all within "
        "width",
        default=30,
        kw_only=False,
    )
    width: float | None = parameter(
        number(above=0) | nothing(),
        "the width of the kernel as a distance, instead of k",
        default=None,
    )
    kernel: str = parameter(
        one_of(*KERNELS),
        "'tricube', 'epanechnikov', 'triangular', 'gaussian' or 'uniform'",
        default="tricube",
    )
    ridge: float = parameter(
        number(at_least=0),
        "what is added to the squares of the slopes, as a share of their mean size",
        default=1e-06,
    )

    def _settle(self) -> None:
        rows = self.rows_
        self.schema_ = rows.schema
        self._y = self._small_targets()
        self._own = np.ones(len(rows)) if self.sample_weight_ is None else self.sample_weight_
        places = np.maximum(self._own, 1.0)
        self._kept = Kept(self.space_, rows, Electorate(self._own[:, None], places))

    def _answers(self, table: Table) -> FloatArray:
        made = [self._fitted(part) for part in self._blocks(table)]
        return np.concatenate(made) if made else np.zeros(0)

    def _blocks(self, table: Table) -> Iterator[Table]:
        width = len(self.schema_.attributes) + 1
        size = self._kept.search.rows if self.width is not None else (self.n_neighbors or 30) + 1
        yield from table.blocks(max(1, _CELLS // (size * width)))

    def _fitted(self, table: Table) -> FloatArray:
        search = self._kept.search
        there = search.rows
        if self.width is not None:
            who, powers = search.nearest(table, there)
            far = self.space_.rooted(powers)
            wide = np.full(len(table), float(self.width))
            return self._planes(table, who, _bumps(far, wide, self.kernel) * self._own[who])
        k = math.inf if self.n_neighbors is None else self.n_neighbors
        who, powers = search.nearest(table, int(min(k + 1, there)))
        far = self.space_.rooted(powers)
        wide, next_one = _reach(far, np.maximum(self._own[who], 1.0), k)
        weight = _bumps(far, wide, self.kernel)
        # The next one is not among the k, nor are its equals, listed or not.
        weight[far >= (next_one * (1.0 - SAME))[:, None]] = 0.0
        equal = far[:, 0] >= next_one * (1.0 - SAME)
        made = np.empty(len(table))
        rest = np.flatnonzero(~equal)
        if len(rest):
            part = table.take(rest)
            made[rest] = self._planes(part, who[rest], weight[rest] * self._own[who[rest]])
        for at in np.flatnonzero(equal):
            made[at] = self._among_equals(table.take([at]))
        return made

    def _among_equals(self, one: Table) -> float:
        """Answer where the k neighbours and the next are equally far: by every row that is."""
        every, powers = self._kept.search.nearest(one, self._kept.search.rows)
        far = self.space_.rooted(powers)[0]
        chosen = every[:, far <= far[0] * (1.0 + SAME)]
        return float(self._planes(one, chosen, self._own[chosen])[0])

    def _planes(self, table: Table, who: NDArray[np.int64], weight: FloatArray) -> FloatArray:
        """Fit a plane to each line of rows; its height at the point is the answer."""
        gaps = self._gaps(table, who)
        mean = np.average(self._y[who], axis=1, weights=weight)
        height = self._y[who] - mean[:, None]
        ones = np.ones((*who.shape, 1))
        design = np.concatenate([ones, gaps], axis=2)
        turned = np.swapaxes(design * weight[:, :, None], 1, 2)
        square = turned @ design
        right = (turned @ height[:, :, None])[:, :, 0]
        slopes = square.shape[1] - 1
        if slopes:
            size = np.trace(square, axis1=1, axis2=2) - square[:, 0, 0]
            more = (self.ridge + 1e-12) * np.maximum(size / slopes, 1e-12 * square[:, 0, 0])
            at = np.arange(1, slopes + 1)
            square[:, at, at] += more[:, None]
        return np.asarray(mean + np.linalg.solve(square, right[:, :, None])[:, 0, 0])

    def _gaps(self, table: Table, who: NDArray[np.int64]) -> FloatArray:
        """What the neighbours differ from the point by: numbers with their sign, words 0 or 1."""
        made = []
        for column in self.schema_.attributes:
            if column.kind == "numeric":
                values = self.rows_.values(column.name)
                gap = values[who] - table.values(column.name)[:, None]
                spread = np.nanmax(values) - np.nanmin(values) if np.isfinite(values).any() else 0
                made.append(np.nan_to_num(gap / spread if spread > 0 else gap * 0.0))
                continue
            codes = self.rows_.codes(column.name).astype(np.int64)[who]
            asked = table.codes(column.name).astype(np.int64)[:, None]
            known = (codes < column.width) & (asked < column.width)
            made.append((known & (codes != asked)).astype(np.float64))
        return np.stack(made, axis=2)


def _reach(far: FloatArray, places: FloatArray, k: float) -> tuple[FloatArray, FloatArray]:
    """How wide the kernel is, and how far the next row after k places (infinite if there is none).

    The kernel reaches to that row, or beyond the last one.
    """
    taken = np.cumsum(places, axis=1)
    beyond = taken[:, -1] > k
    after = far[np.arange(len(far)), (taken > k).argmax(axis=1)]
    return np.where(beyond, after, far[:, -1] * 1.1), np.where(beyond, after, np.inf)


def _bumps(far: FloatArray, wide: FloatArray, kernel: str) -> FloatArray:
    """Kernel weights; where none is left over, the nearest rows count alone."""
    with np.errstate(divide="ignore", invalid="ignore"):
        u = np.where(wide[:, None] > 0, far / wide[:, None], np.where(far > 0, np.inf, 0.0))
    inside = u < 1.0
    if kernel == "gaussian":
        made = np.exp(-0.5 * np.minimum(u, 1e3) ** 2)
    elif kernel == "tricube":
        made = np.where(inside, (1 - np.minimum(u, 1.0) ** 3) ** 3, 0.0)
    elif kernel == "epanechnikov":
        made = np.where(inside, 1 - np.minimum(u, 1.0) ** 2, 0.0)
    elif kernel == "triangular":
        made = np.where(inside, 1 - np.minimum(u, 1.0), 0.0)
    else:
        made = np.where(u <= 1.0, 1.0, 0.0)
    lost = ~(made.sum(axis=1) > 1e-300)
    made[lost] = (far[lost] <= far[lost, :1]).astype(np.float64)
    return np.asarray(made)
