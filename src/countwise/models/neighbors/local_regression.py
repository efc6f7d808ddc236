"""Locally weighted regression: a plane through the neighbors of each new point."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.models.neighbors.base import StoredRowsRegressor
from countwise.models.neighbors.votes import SAME, Scheme
from countwise.params import nothing, number, one_of, parameter, whole
from countwise.tables.table import Table

#: Shapes by which the weight of a row falls with its distance, in kernel widths.
KERNELS = ("tricube", "epanechnikov", "triangular", "gaussian", "uniform")
#: Cells of the design matrices that are held at a time.
_CELLS = 1 << 22


class LocalRegression(StoredRowsRegressor):
    """Predict a number by a weighted linear fit to the neighbors of each new point.

    Cleveland's (1979) locally weighted regression in any number of dimensions: rows near the point
    weigh more, by a kernel that reaches as far as the neighbors; the value of the fit at the point
    is the prediction. Numbers enter as differences to the point, levels as equal to it or not,
    missing cells as no difference. A small ridge keeps the slopes finite where the neighbors do not
    span all dimensions.

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
        whole(at_least=1) | nothing(),
        "number of neighbors in each local fit; the width of the kernel is the distance to the "
        "first row beyond them. None: all rows take part",
        default=30,
        kw_only=False,
    )
    width: float | None = parameter(
        number(above=0) | nothing(),
        "width of the kernel as a distance; if it is given, all rows take part, and n_neighbors is "
        "not used",
        default=None,
    )
    kernel: str = parameter(
        one_of(*KERNELS),
        "kernel that weights the neighbors by their distance",
        default="tricube",
    )
    ridge: float = parameter(
        number(at_least=0),
        "ridge penalty on the slopes, as a fraction of the mean diagonal of the normal equations",
        default=1e-06,
    )

    @property
    def k_and_weights(self) -> tuple[int, Scheme]:
        """How many neighbors are fitted; the kernel weighs them."""
        return self.n_rows_ if self.n_neighbors is None else self.n_neighbors, "uniform"

    def _predict_scaled(self, table: Table) -> FloatArray:
        columns = len(self.schema_.attributes) + 1
        size = self.n_rows_ if self.width is not None else (self.n_neighbors or 30) + 1
        blocks = table.blocks(max(1, _CELLS // (size * columns)))
        heights = [self._fit_planes(block) for block in blocks]
        return np.concatenate(heights) if heights else np.zeros(0)

    def _fit_planes(self, table: Table) -> FloatArray:
        search, row_weight = self._index.search, self._row_weight
        if self.width is not None:
            who, powers = search.nearest(table, self.n_rows_)
            far = self.space_.to_distances(powers)
            wide = np.full(len(table), float(self.width))
            return self._heights(table, who, _kernel(far, wide, self.kernel) * row_weight[who])
        k = math.inf if self.n_neighbors is None else self.n_neighbors
        who, powers = search.nearest(table, int(min(k + 1, self.n_rows_)))
        far = self.space_.to_distances(powers)
        wide, after = _kernel_width(far, np.maximum(row_weight[who], 1.0), k)
        weight = _kernel(far, wide, self.kernel)
        # The row after the k neighbors does not count, nor do its equals, listed or not.
        weight[far >= (after * (1.0 - SAME))[:, None]] = 0.0
        equal = far[:, 0] >= after * (1.0 - SAME)
        heights = np.empty(len(table))
        rest = np.flatnonzero(~equal)
        if len(rest):
            part, weights = table.take(rest), weight[rest] * row_weight[who[rest]]
            heights[rest] = self._heights(part, who[rest], weights)
        for query in np.flatnonzero(equal):
            heights[query] = self._height_among_equals(table.take([query]))
        return heights

    def _height_among_equals(self, query: Table) -> float:
        """Fit every row that is as far as the k neighbors and the next one, all equally far."""
        who, powers = self._index.search.nearest(query, self.n_rows_)
        far = self.space_.to_distances(powers)[0]
        chosen = who[:, far <= far[0] * (1.0 + SAME)]
        return float(self._heights(query, chosen, self._row_weight[chosen])[0])

    def _heights(self, table: Table, who: NDArray[np.int64], weight: FloatArray) -> FloatArray:
        """Fit a plane to each line of rows; return its height at the point."""
        targets = self._targets[who]
        mean = np.average(targets, axis=1, weights=weight)
        design = np.concatenate([np.ones((*who.shape, 1)), self._gaps(table, who)], axis=2)
        weighted = np.swapaxes(design * weight[:, :, None], 1, 2)
        square = weighted @ design
        right = weighted @ (targets - mean[:, None])[:, :, None]
        slopes = square.shape[1] - 1
        if slopes:
            size = np.trace(square, axis1=1, axis2=2) - square[:, 0, 0]
            more = (self.ridge + 1e-12) * np.maximum(size / slopes, 1e-12 * square[:, 0, 0])
            at = np.arange(1, slopes + 1)
            square[:, at, at] += more[:, None]
        return np.asarray(mean + np.linalg.solve(square, right)[:, 0, 0])

    def _gaps(self, table: Table, who: NDArray[np.int64]) -> FloatArray:
        """Return the gaps of neighbors to the point: numbers with their sign, levels 0 or 1."""
        gaps = []
        for column in self.schema_.attributes:
            if column.kind == "numeric":
                values = self.rows_.values(column.name)
                gap = values[who] - table.values(column.name)[:, None]
                spread = np.nanmax(values) - np.nanmin(values) if np.isfinite(values).any() else 0
                gaps.append(np.nan_to_num(gap / spread if spread > 0 else gap * 0.0))
                continue
            stored = self.rows_.codes(column.name).astype(np.int64)[who]
            query = table.codes(column.name).astype(np.int64)[:, None]
            known = (stored < column.width) & (query < column.width)
            gaps.append((known & (stored != query)).astype(np.float64))
        return np.stack(gaps, axis=2)


def _kernel_width(far: FloatArray, places: FloatArray, k: float) -> tuple[FloatArray, FloatArray]:
    """Return the width of the kernel, and the distance of the row after k places, or infinity."""
    taken = np.cumsum(places, axis=1)
    beyond = taken[:, -1] > k
    after = far[np.arange(len(far)), (taken > k).argmax(axis=1)]
    return np.where(beyond, after, far[:, -1] * 1.1), np.where(beyond, after, np.inf)


def _kernel(far: FloatArray, wide: FloatArray, kernel: str) -> FloatArray:
    """Return kernel weights; where all are zero, the nearest rows count alone."""
    with np.errstate(divide="ignore", invalid="ignore"):
        u = np.where(wide[:, None] > 0, far / wide[:, None], np.where(far > 0, np.inf, 0.0))
    inside = u < 1.0
    if kernel == "gaussian":
        weight = np.exp(-0.5 * np.minimum(u, 1e3) ** 2)
    elif kernel == "tricube":
        weight = np.where(inside, (1 - np.minimum(u, 1.0) ** 3) ** 3, 0.0)
    elif kernel == "epanechnikov":
        weight = np.where(inside, 1 - np.minimum(u, 1.0) ** 2, 0.0)
    elif kernel == "triangular":
        weight = np.where(inside, 1 - np.minimum(u, 1.0), 0.0)
    else:
        weight = np.where(u <= 1.0, 1.0, 0.0)
    empty = ~(weight.sum(axis=1) > 1e-300)
    weight[empty] = (far[empty] <= far[empty, :1]).astype(np.float64)
    return np.asarray(weight)
