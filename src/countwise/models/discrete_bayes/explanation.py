"""Explain a prediction by the cell of the row; show cut points, the search and the decisions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from countwise.counts.information import information_gain
from countwise.discretize.cut_points import interval_names
from countwise.discretize.joint_search.cell_grid import Axis
from countwise.models.discrete_bayes.bin_smoothing import BinSmoothing, Levels
from countwise.models.views import CellColumn, CellGrid, CellSlice, SearchStep
from countwise.tables.labels import text
from countwise.tables.schema import Column

if TYPE_CHECKING:
    from countwise.models.discrete_bayes.discrete_bayes import DiscreteBayes


@dataclass(frozen=True)
class CellStory:
    """The cell of a row: its levels by column, its class weights, and those it predicts by.

    ``smoothed`` is True where the cell held too few rows and its neighbors were added.
    """

    levels: dict[str, str]
    counts: dict[Any, float]
    weights: dict[Any, float]
    smoothed: bool

    def describe(self) -> str:
        """Describe the cell in a sentence or two.

        Examples
        --------
        >>> CellStory({"x": "≤ 3"}, {0: 4.0, 1: 1.0}, {0: 4.0, 1: 1.0}, False).describe()
        'The cell x ≤ 3 holds 4 rows of 0 and 1 row of 1.'
        """
        where = ", ".join(f"{name} {text}" for name, text in self.levels.items()) or "of all rows"
        text = f"The cell {where} holds {_list_rows(self.counts) or 'no row'}."
        if not self.smoothed:
            return text
        around = _list_rows(self.weights) or "none"
        return f"{text} With its nearest neighbors there are {around}."


def _list_rows(weights: dict[Any, float]) -> str:
    return " and ".join(
        f"{weight:g} {'row' if weight == 1 else 'rows'} of {label}"
        for label, weight in weights.items()
        if weight > 0
    )


def level_names(axis: Axis, column: Column, kept: tuple[Any, ...] | None) -> tuple[str, ...]:
    """Return the names of the levels of an axis, that of missing values last."""
    if axis.edges is not None:
        names = interval_names(axis.edges, column.dates)
    elif axis.size == 1 and column.width != 1:
        names = ("any level",)
    elif kept is None:
        names = tuple(str(level) for level in column.levels)
    else:
        names = (*(str(level) for level in kept), "(other)")
    return (*names, "missing") if axis.blank else names


def describe_cells(
    smoothing: BinSmoothing, levels: Levels, names: list[tuple[str, ...]], classes: list[Any]
) -> list[CellStory]:
    """Return the story of each cell given by its levels."""
    counts, weights = smoothing.table.counts_of(levels), smoothing.weights(levels)
    axes = [(at, axis.name) for at, axis in enumerate(smoothing.table.grid.axes) if axis.size > 1]
    return [
        CellStory(
            {name: names[at][row[at]] if row[at] >= 0 else "unknown" for at, name in axes},
            dict(zip(classes, counts[place].tolist(), strict=True)),
            dict(zip(classes, weights[place].tolist(), strict=True)),
            bool(counts[place].sum() < smoothing.enough),
        )
        for place, row in enumerate(levels)
    ]


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
                dates=model.schema_[axis.name].dates,
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
