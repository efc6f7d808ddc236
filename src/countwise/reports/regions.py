"""Decision regions of any classifier over two numeric columns, and Voronoi cells of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier

from countwise._typing import FloatArray
from countwise.errors import ParameterError
from countwise.models.views import NeighborSample
from countwise.reports.draw import Picture
from countwise.reports.figures.regions import region_figure
from countwise.tables.read import read
from countwise.tables.table import Table

#: Points that are predicted across and up, rows that are drawn, and rows whose cells are drawn.
ACROSS, UP = 140, 100
MAX_POINTS = 1500
MAX_CELLS = 600


def regions(
    model: Any, data: Any, x: str | None = None, y: str | None = None, **read_options: Any
) -> Picture:
    """Draw the decision regions of a classifier over two numeric columns.

    A copy of the model is fitted on the two columns alone. If one nearest neighbor decides by the
    Euclidean distance, the Voronoi cells of the rows are drawn too.

    Parameters
    ----------
    model
        Any classifier, ours or scikit-learn's; it need not be fitted.
    data
        A `Table`, or anything `read` takes; further keywords are passed to `read`.
    x, y
        The columns; the first two numeric ones if not given.

    Examples
    --------
    >>> import countwise as cw
    >>> regions(cw.Neighbors(n_neighbors=1), "sample:iris", "petal_length", "petal_width").title
    'Neighbors(n_neighbors=1): class by petal_length and petal_width'
    """
    if isinstance(model, type) or not hasattr(model, "get_params") or not is_classifier(model):
        hint = "Pass Neighbors(n_neighbors=1), for instance."
        raise ParameterError("regions", "model", "a classifier, fitted or not", model, hint)
    table = data if isinstance(data, Table) and not read_options else read(data, **read_options)
    names = _columns(table, x, y)
    rows = np.stack([table.values(name) for name in names], axis=1)
    known = ~np.isnan(rows).any(axis=1)
    rows, truth = rows[known], table.target[known].astype(np.intp)
    if len(rows) < 2:
        raise ParameterError(
            f"regions: at least two rows must have both {names[0]!r} and {names[1]!r}; got "
            f"{len(rows)}."
        )
    labels = np.asarray(table.labels)[known]
    fitted = clone(model)
    fitted.fit(rows, labels)
    low, high = rows.min(axis=0), rows.max(axis=0)
    pad = np.where(high > low, 0.05 * (high - low), 0.5)
    low, high = low - pad, high + pad
    shown = " ".join(repr(model).split())
    title = f"{shown}: {table.target_column.name} by {names[0]} and {names[1]}"
    facts = {
        "title": title,
        "classes": [str(label) for label in table.classes],
        "x": {"name": names[0], "low": float(low[0]), "high": float(high[0])},
        "y": {"name": names[1], "low": float(low[1]), "high": float(high[1])},
        "areas": _areas(fitted, table, low, high),
        "points": _points(rows, truth),
        "edges": _edges(fitted, rows, low, high),
    }
    return Picture(region_figure(facts), title)


def _columns(table: Table, x: str | None, y: str | None) -> tuple[str, str]:
    numbers = [column.name for column in table.schema.numeric]
    free = [name for name in numbers if name not in (x, y)]
    first, second = (free.pop(0) if name is None and free else name for name in (x, y))
    if first is None or second is None or first == second:
        raise ParameterError(
            f"regions: x and y must be two different numeric columns; got {x!r} and {y!r}, and "
            f"the table has {len(numbers)} numeric columns.",
            hint="Name `x=` and `y=`.",
        )
    for name in (first, second):
        table.values(name)  # raises an error for any other column
    return first, second


def _areas(fitted: Any, table: Table, low: FloatArray, high: FloatArray) -> list[list[int]]:
    """The decision at the middle of each small rectangle, from the top line down."""
    step = (high - low) / (ACROSS, UP)
    across = low[0] + step[0] * (np.arange(ACROSS) + 0.5)
    up = high[1] - step[1] * (np.arange(UP) + 0.5)
    grid = np.stack([np.tile(across, UP), np.repeat(up, ACROSS)], axis=1)
    place = {label: at for at, label in enumerate(table.classes)}
    codes = [place[label] for label in np.asarray(fitted.predict(grid)).tolist()]
    return np.asarray(codes).reshape(UP, ACROSS).tolist()


def _points(rows: FloatArray, truth: NDArray[np.intp]) -> list[tuple[float, float, int]]:
    """The rows, or as many evenly spaced ones as can be distinguished."""
    shown = np.unique(np.linspace(0, len(rows) - 1, min(len(rows), MAX_POINTS)).astype(np.intp))
    return [(float(rows[at, 0]), float(rows[at, 1]), int(truth[at])) for at in shown]


def _edges(
    fitted: Any, rows: FloatArray, low: FloatArray, high: FloatArray
) -> list[tuple[float, float, float, float]]:
    """The edges of the Voronoi cells of the rows, where one neighbor decides."""
    stretch, points = _euclidean_stretch(fitted, len(rows)), np.unique(rows, axis=0)
    if stretch is None or not 3 <= len(points) <= MAX_CELLS:
        return []
    from scipy.spatial import Voronoi

    # Rows mirrored far outside close every cell that matters.
    box = np.stack([low, high]) * stretch
    size = 10 * float(np.ptp(box, axis=0).max())
    middle = box.mean(axis=0)
    outside = middle + size * np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]])
    cells = Voronoi(np.concatenate([points * stretch, outside]))
    edges = []
    for start, stop in cells.ridge_vertices:
        if start < 0 or stop < 0:
            continue
        inside = _clip(cells.vertices[start], cells.vertices[stop], *box)
        if inside is not None:
            (x1, y1), (x2, y2) = ((end / stretch).tolist() for end in inside)
            edges.append((x1, y1, x2, y2))
    return edges


def _euclidean_stretch(fitted: Any, rows: int) -> FloatArray | None:
    """The factors of both columns, if the nearest of all rows decides by a Euclidean distance."""
    for view in fitted.views() if hasattr(fitted, "views") else ():
        if isinstance(view, NeighborSample) and view.k == 1 and view.rows == rows:
            return view.stretch if view.stretch is not None and np.all(view.stretch > 0) else None
    return None


def _clip(
    one: FloatArray, two: FloatArray, low: FloatArray, high: FloatArray
) -> tuple[FloatArray, FloatArray] | None:
    """Return the part of a straight line within a box (Liang & Barsky 1984), or None."""
    start, stop, step = 0.0, 1.0, two - one
    for at in range(2):
        for gap, way in ((low[at] - one[at], step[at]), (one[at] - high[at], -step[at])):
            if way == 0 and gap > 0:
                return None
            if way > 0:
                start = max(start, gap / way)
            elif way < 0:
                stop = min(stop, gap / way)
    return (one + start * step, one + stop * step) if start < stop else None
