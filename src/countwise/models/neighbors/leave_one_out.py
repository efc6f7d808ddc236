"""The neighbors of every row among all others, in a space learned without that row.

Without a row, ranges, spreads and class probabilities change a little. They are found by
subtraction, so that all rows can stand in one shared space and the search costs about as much as
one of all rows: 0.05 s at 3 000 rows of six numbers. Where a covariance, information gains or
ReliefF weights are learned, each row gets a space learned anew: 4 s, 12 s and minutes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.counts.moments import freedom
from countwise.models.neighbors.attribute_weights import (
    learn_weighted_spaces,
    read_weights,
    uses_information,
    uses_relief,
)
from countwise.models.neighbors.index import Index
from countwise.models.neighbors.metrics import (
    ends,
    farthest,
    learn_spaces,
    masses,
    mean_and_variance,
    number_figures,
    to_fractions,
)
from countwise.models.neighbors.search import RowSpaces, searches
from countwise.models.neighbors.space import Axis, Space, add_gap, from_sums
from countwise.models.neighbors.votes import Nearest, Voters
from countwise.progress import Progress, Steps
from countwise.tables.schema import Column
from countwise.tables.table import Table

if TYPE_CHECKING:
    from countwise.models.neighbors.base import StoredRowsClassifier, StoredRowsRegressor

    Model: TypeAlias = StoredRowsClassifier | StoredRowsRegressor

Rows = NDArray[np.int64]

#: Where less than this fraction of the squares remains, the other rows are summed up instead.
_LEAST_SQUARES = 0.9
#: Where less than this fraction of a level's weight remains, the other rows are summed up instead.
_LEAST_WEIGHT = 1e-3
#: Cells of the figures that are held at a time.
_MOST_CELLS = 1 << 22


def nearest_without_each_row(
    model: Model,
    table: Table,
    weight: FloatArray | None,
    voters: Voters,
    k: int,
    powers: Sequence[float],
    progress: Progress | None = None,
    only: Rows | None = None,
) -> list[Nearest]:
    """Find the neighbors of every row, or of some, among the others, once for each exponent."""
    queries = np.arange(len(table)) if only is None else only
    rows, size = len(queries), min(k, len(table) - 1)
    lists = [
        Nearest(np.zeros((rows, size), np.int64), np.zeros((rows, size)),
                np.zeros((rows, voters.width + 1)))
        for _ in powers
    ]  # fmt: skip

    def fill(place: int, some: Rows, found: Nearest) -> None:
        into = lists[place]
        into.who[some], into.far[some], into.edge[some] = found.who, found.far, found.edge

    if must_relearn(model):
        steps = Steps(progress, rows)
        for at, row in enumerate(queries.tolist()):
            found = relearn_without_row(model, table, weight, voters, k, powers, row)
            for place, one in enumerate(found):
                fill(place, np.array([at]), one)
            steps.advance(f"row {row + 1}")
        return lists
    left_out = LeftOut(model, table, weight, powers, queries)
    chunks = left_out.chunks(rows)
    steps = Steps(progress, len(chunks) * len(powers))
    for place, search in enumerate(searches(left_out.spaces, table)):
        for some in chunks:
            row = queries[some]
            index = Index(search.with_row_spaces(left_out.row_spaces(search.space, some)), voters)
            fill(place, some, index.nearest(table.take(row), k, row))
            steps.advance(f"{len(some)} rows")
    return lists


def must_relearn(model: Model) -> bool:
    """Return whether a space without a row cannot be found by subtraction."""
    return model.metric == "mahalanobis" or uses_information(model) or uses_relief(model)


def relearn_without_row(
    model: Model,
    table: Table,
    weight: FloatArray | None,
    voters: Voters,
    k: int,
    powers: Sequence[float],
    row: int,
) -> list[Nearest]:
    """Find the neighbors of one row in spaces learned from all other rows."""
    others = np.delete(np.arange(len(table)), row)
    rest = None if weight is None else weight[others]
    spaces = learn_weighted_spaces(model, table.take(others), rest, powers)
    query, skip = table.take([row]), np.array([row], dtype=np.int64)
    return [Index(search, voters).nearest(query, k, skip) for search in searches(spaces, table)]


class LeftOut:
    """The spaces of a metric without each of some rows, as differences from shared ones."""

    def __init__(
        self,
        model: Model,
        table: Table,
        weight: FloatArray | None,
        powers: Sequence[float],
        queries: Rows,
    ) -> None:
        self._queries = queries
        attributes, metric = table.schema.attributes, model.metric
        given = read_weights(type(model).__name__, model.attribute_weights, attributes)
        self._factors = np.ones(len(attributes)) if given is None else given
        self._scales: dict[int, tuple[FloatArray, FloatArray]] = {}
        self._levels: dict[int, _Levels] = {}
        self._incomplete: set[int] = set()
        for place, column in enumerate(attributes):
            factor = float(self._factors[place])
            if column.kind == "nominal" and metric in ("vdm", "hvdm"):
                far = 1.0 if metric == "hvdm" else None
                self._levels[place] = _Levels(table, column, weight, factor, far)
            elif column.kind == "numeric" and metric != "overlap":
                values = table.values(column.name)
                low, high = (end[queries] for end in ends_without(values))
                if np.isnan(values).any():
                    self._incomplete.add(place)
                deviation = np.zeros(len(queries))
                if model.scale == "z" or metric == "hvdm":
                    deviation = np.sqrt(variance_without(values, weight)[queries])
                scale = number_figures(metric, model.scale, factor, high - low, deviation)
                self._scales[place] = scale
        learned = learn_spaces(
            table, metric, powers, model.scale, model.when_missing, self._factors, weight
        )
        self.spaces = [self._with_lines(space) for space in learned]

    def _with_lines(self, space: Space) -> Space:
        """Return the space with one axis for each attribute whose levels have lines."""
        axes: list[Axis] = []
        mass = masses(self._factors, space.p)
        for axis in space.axes:
            place = axis.attribute
            if place not in self._levels:
                axes.append(axis)
            elif all(other.attribute != place for other in axes):
                factor, levels = float(self._factors[place]), self._levels[place]
                far = factor * max(farthest(levels.classes, space.p), 1.0)
                axes.append(
                    Axis(place, "table", factor, far, float(mass[place]), 0.0, levels.width)
                )
        axes.sort(key=lambda axis: axis.kind != "number")
        return replace(space, axes=tuple(axes))

    def chunks(self, rows: int) -> list[Rows]:
        """Return the places of so many rows in blocks whose figures fit in memory."""
        wide = sum(levels.width + 2 for levels in self._levels.values())
        size = max(_MOST_CELLS // (wide + 8 * max(len(self._factors), 1)), 64)
        places = np.arange(rows)
        return [places[start : start + size] for start in range(0, rows, size)]

    def row_spaces(self, space: Space, places: Rows) -> RowSpaces:
        """Return how the spaces without the rows in these places differ from one of `spaces`."""
        rows = self._queries[places]
        size = (len(rows), len(space.axes))
        stretch, far, line = np.zeros(size), np.zeros(size), np.zeros(size, dtype=np.int32)
        ratio = np.ones(len(rows))
        lines: list[FloatArray | None] = []
        for place, axis in enumerate(space.axes):
            stretch[:, place], far[:, place] = axis.stretch, axis.far
            distances: FloatArray | None = None
            if axis.attribute in self._levels:
                distances, line[:, place] = self._levels[axis.attribute].lines(rows, space.p)
            elif axis.attribute in self._scales:
                stretch[:, place], far[:, place] = (
                    figures[places] for figures in self._scales[axis.attribute]
                )
                if axis.stretch > 0:
                    ratio = np.minimum(ratio, stretch[:, place] / axis.stretch)
                if axis.far > 0 and axis.attribute in self._incomplete:
                    ratio = np.minimum(ratio, far[:, place] / axis.far)
            lines.append(distances)
        return RowSpaces(rows, stretch, far, ratio * (1.0 - 1e-12), tuple(lines), line)


def ends_without(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the smallest and the largest known value without each row."""
    lowest, highest = ends(values)
    low, high = np.full(len(values), lowest), np.full(len(values), highest)
    known = np.sort(values[~np.isnan(values)])
    if len(known) == 1:
        low[values == lowest] = high[values == lowest] = 0.0
    elif len(known) > 1:  # where several rows share an end, the next one is the same
        low[values == lowest] = known[1]
        high[values == highest] = known[-2]
    return low, high


def variance_without(values: FloatArray, weight: FloatArray | None) -> FloatArray:
    """Return the sample variance of the known values without each row."""
    variance = np.full(len(values), mean_and_variance(values, weight)[1])
    known = np.flatnonzero(~np.isnan(values))
    row_weight = np.ones(len(known)) if weight is None else weight[known]
    total = float(row_weight.sum())
    if total <= 0:
        return variance
    gap = values[known] - (values[known] * (row_weight / total)).sum()
    # The rounding error of the mean is removed: it would enter by its first power.
    gap -= (gap * row_weight).sum() / total
    square = float((row_weight * gap * gap).sum())
    few = total - row_weight < total / 2
    left = np.where(few, total, total - row_weight)
    part = row_weight * gap * gap * (total / left)
    variance[known] = np.maximum(square - part, 0.0) / freedom(left)
    for row in known[few | (square - part < _LEAST_SQUARES * square)]:
        others = known[known != row]
        rest = None if weight is None else weight[others]
        variance[row] = mean_and_variance(values[others], rest)[1]
    return variance


class _Levels:
    """The levels of a column by class, and their distances without single rows."""

    def __init__(
        self, table: Table, column: Column, weight: FloatArray | None, factor: float,
        far: float | None,
    ) -> None:  # fmt: skip
        self.width, self.classes = column.width, len(table.classes)
        self._factor, self._far = factor, far
        self._level = table.codes(column.name).astype(np.intp)
        self._label = table.target.astype(np.intp)
        self._weight = np.ones(len(table)) if weight is None else weight
        self._cells = np.zeros((self.width + 2, self.classes))
        known = (self._level < self.width) & (self._label < self.classes)
        np.add.at(self._cells, (self._level[known], self._label[known]), self._weight[known])
        self._probabilities = to_fractions(self._cells)
        self._rows = np.bincount(self._level, minlength=self.width + 2)
        weights, kind = np.unique(self._weight, return_inverse=True)
        self._key = (self._level * (self.classes + 1) + self._label) * len(weights) + kind

    def lines(self, rows: Rows, p: float) -> tuple[FloatArray, NDArray[np.int32]]:
        """Return lines of distances to every level, and which line each row reads."""
        # Rows of equal level, class and weight read one line. No line has the number of the
        # missing level, by which the kernel knows a missing cell.
        far = farthest(self.classes, p) if self._far is None else self._far
        _, first, line = np.unique(self._key[rows], return_index=True, return_inverse=True)
        distances = self._distances(rows[first], p)
        distances[self._level[rows[first]] == self.width] = far
        distances[:, self.width] = far
        number = np.arange(len(first)) + (np.arange(len(first)) >= self.width)
        whole = np.zeros((int(number[-1]) + 1, self.width + 2))
        whole[number] = distances * self._factor
        return whole, number[line].astype(np.int32)

    def _distances(self, rows: Rows, p: float) -> FloatArray:
        """Return the distances of the levels of these rows, each without its row, to all others."""
        without = self._probabilities_without(rows)
        sums = np.zeros((len(rows), self.width + 2))
        for label in range(self.classes):
            gap = np.abs(without[:, label, None] - self._probabilities[:, label])
            sums = add_gap(sums, gap, p)
        # The same level is without the row as well.
        sums[np.arange(len(rows)), self._level[rows]] = 0.0
        return from_sums(sums, p)

    def _probabilities_without(self, rows: Rows) -> FloatArray:
        """Return the class probabilities of the levels of these rows, each without its row."""
        level, label, weight = self._level[rows], self._label[rows], self._weight[rows]
        cells = self._cells[level]
        before = cells.sum(axis=1)
        known = np.flatnonzero((level < self.width) & (label < self.classes))
        left = cells[known, label[known]] - weight[known]
        cells[known, label[known]] = np.where(left > 1e-12 * before[known], left, 0.0)
        after = cells.sum(axis=1)
        for place in np.flatnonzero((after < _LEAST_WEIGHT * before) & (self._rows[level] > 1)):
            others = (self._level == level[place]) & (self._label < self.classes)
            others[rows[place]] = False
            cells[place] = np.bincount(
                self._label[others], self._weight[others], minlength=self.classes
            )
        return to_fractions(cells)
