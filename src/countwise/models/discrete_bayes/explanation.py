"""The prediction of a cell, explained: its counts, its neighbors, and what each column adds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.discretize.cut_points import interval_names
from countwise.discretize.joint_search.cell_counts import CellTable
from countwise.discretize.joint_search.cell_grid import Axis
from countwise.models.discrete_bayes.bin_smoothing import BinSmoothing
from countwise.tables.schema import Column

Levels = NDArray[np.int32]


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
        names = interval_names(axis.edges)
    elif axis.size == 1 and column.width != 1:
        names = ("any level",)
    elif kept is None:
        names = tuple(str(level) for level in column.levels)
    else:
        names = (*(str(level) for level in kept), "(other)")
    return (*names, "missing") if axis.blank else names


def stories(
    smoother: BinSmoothing,
    levels: Levels,
    names: list[tuple[str, ...]],
    classes: list[Any],
) -> list[CellStory]:
    """Return the story of each cell given by its levels."""
    table = smoother.table
    weights = smoother.weights(levels)
    known = (levels >= 0).all(axis=1)
    place = np.full(len(levels), -1, np.int64)
    place[known] = table.find(table.grid.address_of(levels[known]))
    counts = np.zeros((len(levels), len(classes)))
    counts[place >= 0] = table.counts[place[place >= 0]]
    return [
        CellStory(
            {
                axis.name: names[at][levels[row, at]] if levels[row, at] >= 0 else "unknown"
                for at, axis in enumerate(table.grid.axes)
                if axis.size > 1
            },
            dict(zip(classes, counts[row].tolist(), strict=True)),
            dict(zip(classes, weights[row].tolist(), strict=True)),
            bool(counts[row].sum() < max(smoother.k, 1e-9)),
        )
        for row in range(len(levels))
    ]


def stepwise(table: CellTable, levels: Levels, axes: list[int], factor: FloatArray) -> FloatArray:
    """Return posteriors as columns become known one by one: rows × steps × classes.

    A step that no row supports keeps the posteriors of the step before.
    """
    prior = table.by_class * factor
    now = np.broadcast_to(prior / prior.sum(), (len(levels), len(prior)))
    steps = np.empty((len(levels), len(axes) + 1, len(prior)))
    steps[:, 0] = now
    smoother = BinSmoothing(table)
    known = np.full_like(levels, -1)
    for step, at in enumerate(axes, start=1):
        known[:, at] = levels[:, at]
        weights = smoother.plain(known) * factor
        total = weights.sum(axis=1, keepdims=True)
        now = np.where(total > 0, weights / np.where(total > 0, total, 1.0), now)
        steps[:, step] = now
    return steps
