"""Why a cell answers as it does: its counts, its neighbours, and what each column adds."""

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
    """The cell of a row: its levels by column, the class weights in it and those it answers by.

    ``asked`` is True where the cell held too few rows and its neighbours were asked.
    """

    levels: dict[str, str]
    counts: dict[Any, float]
    answering: dict[Any, float]
    asked: bool

    def describe(self) -> str:
        """Return the cell in words.

        Examples
        --------
        >>> CellStory({"x": "≤ 3"}, {0: 4.0, 1: 1.0}, {0: 4.0, 1: 1.0}, False).describe()
        'The cell x ≤ 3 holds 4 rows of 0 and 1 row of 1.'
        """
        where = ", ".join(f"{name} {text}" for name, text in self.levels.items()) or "of all rows"
        held = " and ".join(_rows(label, own) for label, own in self.counts.items() if own > 0)
        said = f"The cell {where} holds {held or 'no row'}."
        if not self.asked:
            return said
        around = " and ".join(_rows(label, own) for label, own in self.answering.items() if own > 0)
        return f"{said} With its nearest neighbours there are {around or 'none'}."


def _rows(label: Any, weight: float) -> str:
    return f"{weight:g} {'row' if weight == 1 else 'rows'} of {label}"


def level_names(axis: Axis, column: Column, kept: tuple[Any, ...] | None) -> tuple[str, ...]:
    """What the levels of an axis are called, the slot of missing values last."""
    if axis.edges is not None:
        own = interval_names(axis.edges)
    elif axis.size == 1 and column.width != 1:
        own = ("any level",)
    else:
        own = tuple(str(level) for level in (column.levels if kept is None else kept))
        own = own if kept is None else (*own, "(other)")
    return (*own, "missing") if axis.blank else own


def stories(
    smoother: BinSmoothing,
    levels: Levels,
    names: list[tuple[str, ...]],
    classes: list[Any],
) -> list[CellStory]:
    """The story of each asked cell."""
    table = smoother.table
    answering = smoother.weights(levels)
    sure = (levels >= 0).all(axis=1)
    place = np.full(len(levels), -1, np.int64)
    place[sure] = table.find(table.grid.address_of(levels[sure]))
    made = []
    for row in range(len(levels)):
        own = table.counts[place[row]] if place[row] >= 0 else np.zeros(len(classes))
        shown = {
            axis.name: names[at][levels[row, at]] if levels[row, at] >= 0 else "unknown"
            for at, axis in enumerate(table.grid.axes)
            if axis.size > 1
        }
        made.append(
            CellStory(
                shown,
                dict(zip(classes, own.tolist(), strict=True)),
                dict(zip(classes, answering[row].tolist(), strict=True)),
                bool(own.sum() < max(smoother.k, 1e-9)),
            )
        )
    return made


def stepwise(table: CellTable, levels: Levels, axes: list[int], factor: FloatArray) -> FloatArray:
    """Log posteriors as columns become known one after the other: rows × steps × classes.

    A step that no row supports keeps what the step before said.
    """
    shares = table.by_class * factor
    now = np.broadcast_to(shares / shares.sum(), (len(levels), len(shares)))
    made = np.empty((len(levels), len(axes) + 1, len(shares)))
    made[:, 0] = now
    smoother = BinSmoothing(table)
    asked = np.full_like(levels, -1)
    for step, at in enumerate(axes, start=1):
        asked[:, at] = levels[:, at]
        weights = smoother.plain(asked) * factor
        total = weights.sum(axis=1, keepdims=True)
        now = np.where(total > 0, weights / np.where(total > 0, total, 1.0), now)
        made[:, step] = now
    return made
