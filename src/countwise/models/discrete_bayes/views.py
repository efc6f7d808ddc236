"""Views of discrete Bayes: cut points, the search, and slices of the decisions."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from countwise.counts.information import information_gain
from countwise.models.views import CellColumn, CellGrid, CellSlice, SearchStep
from countwise.tables.labels import text

if TYPE_CHECKING:
    from countwise.models.discrete_bayes.discrete_bayes import DiscreteBayes

#: A slice is shown of columns with at most so many levels.
MAX_SLICED_LEVELS = 60


def cell_grid(model: DiscreteBayes) -> CellGrid:
    """Return the view of a fitted model."""
    grid = model.cells_.grid
    columns = sorted(_columns(model), key=lambda column: -column.bits)
    pair = [column.name for column in columns if len(column.levels) <= MAX_SLICED_LEVELS][:2]
    steps = [step for step in model.history_ if step.get("train") is not None]
    slice_of = partial(cell_slice, model)
    return CellGrid(
        tuple(text(label) for label in model.classes_.tolist()),
        int(grid.cells),
        len(model.cells_),
        None if model.budget is None else float(model.budget),
        dict(model.gain_),
        tuple(columns),
        tuple(axis.name for axis in grid.axes if axis.size < 2),
        float(model.bin_smoothing_),
        model.bin_smoothing == "validation",
        tuple(dict(line) for line in model.bin_smoothing_table_),
        tuple(
            SearchStep(
                str(step["stage"]), float(step["seconds"]), step["train"], step.get("validation")
            )
            for step in steps
        ),
        slice_of(*pair) if len(pair) == 2 else None,
        slice_of,
    )


def _columns(model: DiscreteBayes) -> list[CellColumn]:
    """The columns with more than one level, in their order."""
    table, names = model.cells_, model._level_names()
    start, found = iter(model.start_boundaries_), iter(model.boundaries_)
    columns, none = [], np.empty(0)
    for at, axis in enumerate(table.grid.axes):
        begun, cut = (next(points, none) if axis.numeric else none for points in (start, found))
        if axis.size < 2:
            continue
        weights = np.zeros((axis.size, len(model.classes_)))
        np.add.at(weights, table.levels[:, at], table.counts)
        spans = np.stack(axis.spans, axis=1) if axis.numeric and axis.high > axis.low else None
        columns.append(
            CellColumn(
                axis.name,
                tuple(names[at]),
                axis.width,
                axis.numeric,
                begun,
                cut,
                spans,
                weights,
                information_gain(weights.T),
            )
        )
    return columns


def cell_slice(model: DiscreteBayes, one: str, other: str) -> CellSlice:
    """Return the decision and the weight of every pair of levels of two columns."""
    axes = model.cells_.grid.axes
    places = {axis.name: at for at, axis in enumerate(axes)}
    across, up = places[one], places[other]
    names = model._level_names()
    shape = (axes[across].size, axes[up].size)
    levels = np.zeros((shape[0] * shape[1], len(axes)), np.int32)
    weight = model.cells_.counts.sum(axis=1)
    fixed = {}
    for at, axis in enumerate(axes):
        by_level = np.bincount(model.cells_.levels[:, at], weights=weight, minlength=axis.size)
        levels[:, at] = by_level.argmax()
        if at not in (across, up) and axis.size > 1:
            fixed[axis.name] = names[at][int(by_level.argmax())]
    levels[:, across], levels[:, up] = np.indices(shape).reshape(2, -1)
    posteriors = model._cell_model.posteriors(levels)
    expected = posteriors @ model.gain_matrix_
    rows = model._cell_model.smoothing.plain(levels).sum(axis=1)
    columns = {column.name: column for column in _columns(model)}
    return CellSlice(
        columns[one],
        columns[other],
        fixed,
        tuple(text(label) for label in model.decisions_),
        expected.argmax(axis=1).reshape(shape),
        posteriors.max(axis=1).reshape(shape),
        rows.reshape(shape),
    )
