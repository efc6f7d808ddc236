"""Find cut points from fine histograms, without reading the rows again.

A cut point belongs to the interval on its left. All methods are deterministic and look only at the
grid they are given, so cuts learned from the counts of a training fold know nothing of the test
fold. On a grid coarser than the values, cut points lie on the borders of its cells.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.counts.counts import Counts
from countwise.counts.engines import _kernels
from countwise.counts.histogram import Grid
from countwise.counts.plan import Plan
from countwise.errors import ParameterError, listing
from countwise.tables.labels import distinct_texts
from countwise.tables.schema import Column, Schema
from countwise.tables.table import Table, code_type

Method = Literal["width", "frequency", "two-way", "mdl", "auto"]
METHODS: tuple[str, ...] = get_args(Method)
#: More intervals than this are no discretization, and a file must not ask for more.
MAX_BINS = 10_000
BINS_HELP = "number of intervals for 'width' and 'frequency'"
#: By how much the leave-one-out log loss of all rows must fall before a column is cut that MDL
#: leaves alone. Of a hundred columns of noise about one reaches that.
MARGIN = 5.0


def cut_points(grid: Grid, method: str = "width", bins: int = 10) -> FloatArray:
    """Return where to cut a numeric column, seen through its fine grid.

    ``width``: intervals of equal width; ``frequency``: of equal weight; ``two-way``: the one cut
    with the largest information gain; ``mdl``: as many as the minimum description length
    principle pays for (Fayyad & Irani 1993); ``auto``: those of ``mdl``, or, where it finds none in
    a column that tells something, the best single cut or intervals of equal frequency, chosen by
    leave-one-out log loss. `bins` counts for the first two.
    """
    if method not in METHODS:
        raise ParameterError("cuts", "method", f"one of {listing(METHODS)}", method)
    full = grid.table[:-1].sum(axis=0) > 0
    if np.count_nonzero(full) < 2:
        return np.empty(0)
    grid = Grid(grid.shift, grid.keys[full], grid.table[:, full], grid.missing, grid.most)
    counts = grid.table[:-1]
    if method == "width":
        return _equal_width(grid, bins)
    if method == "frequency":
        reached = np.cumsum(counts.sum(axis=0))
        return _between(grid)[equal_frequency(np.arange(len(reached)), bins, reached) - 1]
    if method == "two-way":
        place, _ = _best_split(counts)
        return _between(grid)[[place]]
    return _between(grid)[mdl_cuts(counts, margin_of(method))]


def margin_of(method: str) -> float:
    """Return by how much rows left out must be better told where MDL finds no cut."""
    return MARGIN if method == "auto" else np.inf


def _between(grid: Grid) -> FloatArray:
    """Return the cut after each cell but the last: halfway to the next value, or its border."""
    if not grid.exact:
        return grid.upper[:-1]
    points = grid.points
    return points[:-1] + (points[1:] / 2 - points[:-1] / 2)


def cut_borders(cells: NDArray[np.int64], shift: int) -> NDArray[np.intp]:
    """Return the last of these cells of a fine grid left of the cut after each but the last.

    That is the cell itself, unless two numbers are so near that their middle is the larger one.
    """
    grid = Grid(shift, cells, np.zeros((1, len(cells))), np.zeros(1))
    return np.searchsorted(grid.points, _between(grid), side="right") - 1


def _equal_width(grid: Grid, bins: int) -> FloatArray:
    low, high = grid.lower[0], grid.upper[-1]
    edges = low + (high / bins - low / bins) * np.arange(1, bins)
    if grid.exact:
        return np.unique(edges)
    borders = grid.upper[:-1]
    return np.unique(borders[np.clip(np.searchsorted(borders, edges), 0, len(borders) - 1)])


def equal_frequency(
    values: NDArray[Any], bins: int, reached: FloatArray | None = None
) -> NDArray[np.intp]:
    """Return before which of sorted values to cut, so that about equal weight lies between cuts.

    `reached` is the weight up to and including each value; without it each weighs one. Equal
    values stay together, so there may be fewer cuts.
    """
    if len(values) < 2 or bins < 2:
        return np.empty(0, np.intp)
    target = (len(values) if reached is None else reached[-1]) * np.arange(1, bins) / bins
    if reached is None:
        place = np.ceil(target).astype(np.intp) - 1
    else:
        place = np.searchsorted(reached, target)
    value = values[np.clip(place, 0, len(values) - 1)]
    before, after = np.searchsorted(values, value), np.searchsorted(values, value, side="right")
    low, high = (before, after) if reached is None else (reached[before - 1], reached[after - 1])
    nearer = (before > 0) & (np.abs(low - target) < np.abs(high - target))
    cuts = np.unique(np.where(nearer | (after == len(values)), before, after))
    return cuts[cuts > 0]


def _best_split(counts: FloatArray) -> tuple[int, float]:
    """Find the cell after which a cut leaves the least class entropy, and that entropy."""
    from countwise.counts.information import entropy

    left = np.cumsum(counts, axis=1)[:, :-1]
    right = counts.sum(axis=1, keepdims=True) - left
    n, m = left.sum(axis=0), right.sum(axis=0)
    after = (n * entropy(left) + m * entropy(right)) / (n + m)
    place = int(np.argmin(after))
    return place, float(after[place])


def mdl_cuts(counts: FloatArray, margin: float = np.inf) -> list[int]:
    """Find after which cells (classes × cells) to cut: where the description length pays for it.

    With a finite `margin`, where none pays: the best single cut or intervals of equal frequency,
    whichever lowers the leave-one-out log loss of the classes most, and by more than the margin.
    """
    from countwise.discretize._mdl import find_cuts

    return find_cuts(np.ascontiguousarray(counts.T, dtype=np.float64), margin)


def interval_names(points: FloatArray, dates: bool = False) -> tuple[str, ...]:
    """Name the intervals that cut points make, with as many digits as tell them apart."""
    if not len(points):
        return ("any date",) if dates else ("any number",)
    texts = distinct_texts(points.tolist(), dates)
    inner = [f"{low} – {high}" for low, high in pairwise(texts)]
    return (f"≤ {texts[0]}", *inner, f"> {texts[-1]}")


def interval_codes(points: FloatArray, values: FloatArray) -> NDArray[np.intp]:
    """Number the intervals that values fall into, from 0; a missing value gets the next number."""
    codes = np.searchsorted(points, values, side="left")
    codes[np.isnan(values)] = len(points) + 1
    return codes


def _schema_of(schema: Schema, points: Mapping[str, FloatArray]) -> Schema:
    return schema.with_columns(
        _interval_column(
            name, np.asarray(cuts, np.float64).tobytes(), schema[name].missing, schema[name].dates
        )
        for name, cuts in points.items()
    )


@lru_cache(maxsize=1024)
def _interval_column(name: str, cuts: bytes, missing: tuple[str, ...], dates: bool) -> Column:
    # A scan cuts every block of rows at the same points, and names take longer than to cut them.
    return Column(name, "nominal", interval_names(np.frombuffer(cuts), dates), missing)


def cut_table(table: Table, points: Mapping[str, FloatArray]) -> Table:
    """Cut these numeric columns of a table into intervals, and so make them nominal."""
    data = {name: table.raw_array(name) for name in table.names}
    for name, cuts in points.items():
        data[name] = np.empty(len(table), code_type(len(cuts) + 1))
        _kernels.cut(table.values(name), np.ascontiguousarray(cuts, np.float64), data[name])
    return Table.from_arrays(
        _schema_of(table.schema, points), data, table.notes, table.unseen, len(table)
    )


def cut_counts(counts: Counts, points: Mapping[str, FloatArray]) -> Counts:
    """Sum these fine grids into intervals: the counts of the cut table."""
    tables = dict(counts.tables)
    for name, cuts in points.items():
        grid = counts.grids[name]
        place = np.searchsorted(cuts, grid.points, side="left")
        cells = np.zeros((len(grid.missing), len(cuts) + 2))
        np.add.at(cells.T, place, grid.table.T)
        cells[:, -1] = grid.missing
        tables[(name,)] = cells
    plan = Plan(
        tuple(tables),
        tuple(name for name in counts.plan.moments if name not in points),
        tuple(name for name in counts.plan.grids if name not in points),
        counts.plan.words,
    )
    return replace(
        counts,
        schema=_schema_of(counts.schema, points),
        plan=plan,
        tables=tables,
        moments={name: counts.moments[name] for name in plan.moments},
        grids={name: counts.grids[name] for name in plan.grids},
    )


def collapse_cuts(
    counts: Counts,
    fine: Mapping[str, FloatArray],
    points: Mapping[str, FloatArray],
    schema: Schema,
) -> Counts:
    """Sum counts of columns cut at `fine` points into the intervals of some of those points.

    `schema` names these intervals: it is that of a table cut at the points.
    """
    starts = {}
    for name, cuts in points.items():
        # Each new interval begins where the one before it ended; the missing slot stays apart.
        begin = np.searchsorted(fine[name], cuts, side="left") + 1
        starts[name] = np.concatenate([[0], begin, [len(fine[name]) + 1]]).astype(np.intp)
    tables = {}
    for names, table in counts.tables.items():
        for axis, name in enumerate(names, start=1):
            if name in starts:
                table = np.add.reduceat(table, starts[name], axis=axis)
        tables[names] = table
    schema = counts.schema.with_columns(schema[name] for name in points)
    return replace(counts, schema=schema, tables=tables)
