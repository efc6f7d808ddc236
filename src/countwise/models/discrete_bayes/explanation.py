"""Explain a prediction by the cell of the row: its levels, its counts and those of nearby cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from countwise.discretize.cut_points import interval_names
from countwise.discretize.joint_search.cell_grid import Axis
from countwise.models.discrete_bayes.bin_smoothing import BinSmoothing, Levels
from countwise.tables.schema import Column


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
