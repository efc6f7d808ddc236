"""Decision regions of any classifier over two numeric columns, and the cells of one neighbour."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier

from countwise._typing import FloatArray
from countwise.errors import ParameterError
from countwise.models.base import Classifier
from countwise.models.neighbors.classifier import Neighbors
from countwise.reports.draw import Picture
from countwise.reports.figures.regions import region_figure
from countwise.tables.read import read
from countwise.tables.table import Table

#: Points that are asked for across and up, rows that are drawn, and rows whose cells are drawn.
ACROSS, UP = 140, 100
MOST_POINTS = 1500
MOST_CELLS = 600


def regions(
    model: Any, data: Any, x: str | None = None, y: str | None = None, **read_options: Any
) -> Picture:
    """Draw where a classifier decides for which class, over two numeric columns.

    A copy of the model is fitted on the two columns alone. For one neighbour by the Euclidean
    distance the cells of the rows are drawn too: Voronoi's picture.

    Parameters
    ----------
    model
        Any classifier, ours or scikit-learn's; it need not be fitted.
    data
        A `Table`, or anything `read` takes; further keywords are handed to `read`.
    x, y
        The columns; the first two numeric ones if not given.

    Examples
    --------
    >>> import countwise as cw
    >>> regions(cw.Neighbors(n_neighbors=1), "sample:iris", "petal_length", "petal_width").title
    'Neighbors(n_neighbors=1): class by petal_length and petal_width'
    """
    _check_model(model)
    table = data if isinstance(data, Table) and not read_options else read(data, **read_options)
    names = _columns(table, x, y)
    rows = np.stack([table.values(name) for name in names], axis=1)
    known = ~np.isnan(rows).any(axis=1)
    rows, truth = rows[known], table.target[known].astype(np.intp)
    if len(rows) < 2:
        raise ParameterError(
            f"regions: at least two rows must have both {names[0]!r} and {names[1]!r}, but "
            f"{len(rows)} have."
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
        "classes": [str(own) for own in table.classes],
        "x": {"name": names[0], "low": float(low[0]), "high": float(high[0])},
        "y": {"name": names[1], "low": float(low[1]), "high": float(high[1])},
        "areas": _areas(fitted, table, low, high),
        "points": _points(rows, truth),
        "edges": _edges(fitted, rows, low, high),
    }
    return Picture(region_figure(facts), title)


def _check_model(model: Any) -> None:
    if isinstance(model, type) or not hasattr(model, "get_params") or not is_classifier(model):
        came = f"the class {model.__name__}" if isinstance(model, type) else f"{model!r}"
        raise ParameterError(
            f"regions: the model must be a classifier, fitted or not, but {came} came. Give "
            "Neighbors(n_neighbors=1), for instance."
        )


def _columns(table: Table, x: str | None, y: str | None) -> tuple[str, str]:
    numbers = [column.name for column in table.schema.numeric]
    free = [name for name in numbers if name not in (x, y)]
    first, second = (free.pop(0) if own is None and free else own for own in (x, y))
    if first is None or second is None or first == second:
        raise ParameterError(
            f"regions: two different numeric columns are needed, but {x!r} and {y!r} were named "
            f"and the table has {len(numbers)}. Name x= and y=."
        )
    for name in (first, second):
        table.values(name)  # refuses what is no numeric column, in words
    return first, second


def _areas(fitted: Any, table: Table, low: FloatArray, high: FloatArray) -> list[list[int]]:
    """The decision at the middle of each little rectangle, from the top line down."""
    step = (high - low) / (ACROSS, UP)
    across = low[0] + step[0] * (np.arange(ACROSS) + 0.5)
    up = high[1] - step[1] * (np.arange(UP) + 0.5)
    asked = np.stack([np.tile(across, UP), np.repeat(up, ACROSS)], axis=1)
    decided = np.asarray(fitted.predict(asked))
    place = {label: at for at, label in enumerate(table.classes)}
    codes = [place[own.item() if isinstance(own, np.generic) else own] for own in decided]
    return np.asarray(codes).reshape(UP, ACROSS).tolist()


def _points(rows: FloatArray, truth: NDArray[np.intp]) -> list[tuple[float, float, int]]:
    """The rows, or as many evenly spaced ones as can be told apart."""
    shown = np.unique(np.linspace(0, len(rows) - 1, min(len(rows), MOST_POINTS)).astype(np.intp))
    return [(float(rows[at, 0]), float(rows[at, 1]), int(truth[at])) for at in shown]


def _edges(
    fitted: Any, rows: FloatArray, low: FloatArray, high: FloatArray
) -> list[tuple[float, float, float, float]]:
    """The edges of the rows' cells, where one neighbour decides by a Euclidean distance."""
    one = (
        isinstance(fitted, Neighbors) and fitted.n_neighbors == 1 and isinstance(fitted, Classifier)
    )
    plain = one and fitted.space_.p == 2 and fitted.space_.whitening is None
    points = np.unique(rows, axis=0)
    if not plain or not 3 <= len(points) <= MOST_CELLS:
        return []
    stretch = np.ones(2)
    for axis in fitted.space_.axes:
        stretch[axis.attribute] = axis.stretch
    if not np.all(stretch > 0):
        return []
    from scipy.spatial import Voronoi

    # Rows mirrored far outside close every cell that matters.
    own, box = points * stretch, np.stack([low, high]) * stretch
    size = 10 * float(np.ptp(box, axis=0).max())
    middle = box.mean(axis=0)
    outside = middle + size * np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]])
    cells = Voronoi(np.concatenate([own, outside]))
    made = []
    for one_end, other in cells.ridge_vertices:
        if one_end < 0 or other < 0:
            continue
        cut = _clipped(cells.vertices[one_end], cells.vertices[other], box[0], box[1])
        if cut is not None:
            made.append(
                (
                    float(cut[0][0] / stretch[0]),
                    float(cut[0][1] / stretch[1]),
                    float(cut[1][0] / stretch[0]),
                    float(cut[1][1] / stretch[1]),
                )
            )
    return made


def _clipped(
    one: FloatArray, two: FloatArray, low: FloatArray, high: FloatArray
) -> tuple[FloatArray, FloatArray] | None:
    """The part of a straight line within a box (Liang & Barsky 1984), or None."""
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
