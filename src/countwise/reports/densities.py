"""The densities a fitted naive Bayes multiplies for its numeric attributes, as plain data."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.counts.moments import Moments
from countwise.models.bayes.naive_bayes import NaiveBayes
from countwise.reports.figures.palette import HUES
from countwise.reports.rounding import figures, rounded
from countwise.reports.shares import MOST_ATTRIBUTES, information
from countwise.tables.schema import Column
from countwise.tables.table import Table, code_type

#: How many lines are drawn in all.
MOST_LINES = 160

_POINTS = 241  # of a density where information is summed up
_SPARSE = (2, 5)  # every second is drawn, or every fifth where there are many lines


def density_facts(
    model: NaiveBayes, only: str | None = None
) -> tuple[list[dict[str, Any]], list[int]]:
    """Return the densities of numeric attributes by class, and which classes are drawn."""
    columns = [
        column
        for column in model.schema_.numeric
        if column.name not in model.cut_points_
        and only in (None, column.name)
        and _moments(model, column.name).pooled()[0] > 0
    ]
    if not columns:
        return [], []
    prior = model.class_prior_
    drawn = sorted(np.argsort(-prior, kind="stable")[:HUES].tolist())
    grids = {column.name: _grid(model, column) for column in columns}
    logs = _log_densities(model, grids)
    every = _SPARSE[0] if len(columns) * len(drawn) <= MOST_LINES // 4 else _SPARSE[1]
    found = []
    for column in columns:
        x, density = grids[column.name], np.exp(np.minimum(logs[column.name], 700.0))
        bits = information(prior, density.T)
        found.append((bits, column, x[::every], density[::every, drawn]))
    found.sort(key=lambda own: -own[0])
    most = max(1, min(MOST_ATTRIBUTES, MOST_LINES // len(drawn)))
    return [_numeric(model, drawn, *own) for own in found[:most]], drawn


def _numeric(
    model: NaiveBayes,
    drawn: list[int],
    bits: float,
    column: Column,
    x: FloatArray,
    density: FloatArray,
) -> dict[str, Any]:
    moments = _moments(model, column.name)
    place = [list(model.counts_.classes).index(model.classes_.tolist()[at]) for at in drawn]
    return {
        "name": column.name,
        "bits": rounded(bits, 4),
        "estimate": model.numeric if isinstance(model.numeric, str) else "by column",
        "mean": figures(np.where(moments.weight[place] > 0, moments.mean[place], np.nan)),
        "deviation": figures(np.sqrt(moments.variance()[place])),
        "x": figures(x, 5),
        "density": figures(density.T, 3),
    }


def _moments(model: NaiveBayes, name: str) -> Moments:
    """Weight, mean and squared deviation by class; of a kernel estimate those of its fine grid."""
    counts = model.counts_
    if name in counts.moments:
        return counts.moments[name]
    grid = counts.grids[name]
    weight = grid.table.sum(axis=1)
    points = np.where(grid.table.any(axis=0), grid.points, 0.0)
    mean = np.divide(grid.table @ points, weight, out=np.zeros_like(weight), where=weight > 0)
    square = (grid.table * (points - mean[:, None]) ** 2).sum(axis=1)
    return Moments(weight, mean, square, grid.missing)


def _grid(model: NaiveBayes, column: Column) -> FloatArray:
    """Points from three deviations below the lowest to three above the highest mean, at most."""
    moments = _moments(model, column.name)
    weight, mean, square = moments.pooled()
    spread = float(np.sqrt(square / weight)) or abs(mean) * 0.01 or 1.0
    known = np.flatnonzero(moments.weight[:-1] > 0)
    within = np.sqrt(moments.square[known] / moments.weight[known])
    low = float(np.min(moments.mean[known] - 3 * within))
    high = float(np.max(moments.mean[known] + 3 * within))
    low, high = max(low, mean - 5 * spread), min(high, mean + 5 * spread)
    if not high > low:
        low, high = mean - 3 * spread, mean + 3 * spread
    return np.linspace(low, high, _POINTS)


def _log_densities(model: NaiveBayes, grids: dict[str, FloatArray]) -> dict[str, FloatArray]:
    """Ask the model itself, through `explain`, what each point adds for each class."""
    schema = model.schema_.without_target()
    points = len(next(iter(grids.values())))
    every: dict[str, list[FloatArray]] = {name: [] for name in grids}
    terms = [column.name for column in schema.attributes]
    step = max(1, min(points, 2_000_000 // (len(terms) * len(model.classes_))))
    for start in range(0, points, step):
        part = slice(start, min(start + step, points))
        size = part.stop - part.start
        data: dict[str, NDArray[Any]] = {}
        for column in schema.attributes:
            if column.kind == "nominal":
                data[column.name] = np.full(size, column.width, dtype=code_type(column.width))
            else:
                grid = grids.get(column.name)
                data[column.name] = np.full(size, np.nan) if grid is None else grid[part]
        parts = model.explain(Table(schema, data, rows=size)).parts
        for name, own in every.items():
            own.append(parts[:, terms.index(name), :])
    return {name: np.concatenate(own) for name, own in every.items()}
