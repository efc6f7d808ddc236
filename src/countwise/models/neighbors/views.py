"""Views of models that store rows: a few stored rows and the rows nearest to them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.models.neighbors.space import Space
from countwise.models.views import NearRow, NeighborSample, SampleRow
from countwise.tables.labels import text

#: Rows that are sampled, and the neighbors shown of each: as many as decide, within these limits.
MAX_SAMPLES, MIN_NEIGHBORS, MAX_NEIGHBORS = 8, 3, 10


def neighbor_sample(model: Any, k: int | None) -> NeighborSample:
    """Return stored rows and their neighbors, of which `k` decide (None if that varies)."""
    table, target = model.rows_, model.target_
    classes = () if target is not None else tuple(map(text, model.classes_.tolist()))
    places = _spread(target) if target is not None else _by_class(table.target)
    shown = min(max(k or MAX_NEIGHBORS, MIN_NEIGHBORS), MAX_NEIGHBORS)
    near = model.find_neighbors(table.take(places), shown + 1)
    numbers = places if model.places_ is None else model.places_[places]
    labels = table.labels if target is None else target
    attributes = tuple(column.name for column in table.schema.attributes)
    samples = []
    for at, (place, number) in enumerate(zip(places.tolist(), numbers.tolist(), strict=True)):
        others = [
            NearRow(int(row) + 1, _text(label), float(distance))
            for row, label, distance in zip(
                near.rows[at], near.labels[at], near.distances[at], strict=True
            )
            if row != number
        ]
        values = tuple(table.cell_text(name, place) for name in attributes)
        samples.append(
            SampleRow(int(number) + 1, _text(labels[place]), values, tuple(others[:shown]))
        )
    nearest = "the one nearest to it" if k == 1 else f"the {k} nearest to it"
    note = (
        f"{model.n_rows_:,} rows are stored. A new row is decided by "
        f"{'those within reach' if k is None else nearest}, by the {model.metric} distance. "
        "Shown are a few stored rows and the other stored rows nearest to them."
    )
    return NeighborSample(
        model.n_rows_,
        k,
        str(model.metric),
        classes,
        attributes,
        tuple(samples),
        note,
        _stretch(model.space_, len(attributes)),
    )


def _text(label: Any) -> str:
    return f"{label:.6g}" if isinstance(label, float) else text(label)


def _by_class(target: NDArray[Any]) -> NDArray[np.intp]:
    """A few rows of each class, evenly by position; one each of the most frequent if many."""
    classes, size = np.unique(target, return_counts=True)
    chosen = np.sort(np.argsort(-size, kind="stable")[:MAX_SAMPLES])
    rows = [np.flatnonzero(target == classes[at]) for at in chosen]
    return np.concatenate(
        [places[_evenly(len(places), MAX_SAMPLES // len(rows))] for places in rows]
    )


def _spread(target: FloatArray) -> NDArray[np.intp]:
    """Rows from the smallest to the largest target, evenly by rank."""
    return np.asarray(np.argsort(target, kind="stable")[_evenly(len(target), MAX_SAMPLES)])


def _evenly(rows: int, most: int) -> NDArray[np.intp]:
    """At most so many positions, from the first to the last."""
    return np.unique(np.linspace(0, rows - 1, min(rows, most)).round().astype(np.intp))


def _stretch(space: Space, attributes: int) -> FloatArray | None:
    """The factor of each attribute, where the distance is Euclidean; else None."""
    if space.p != 2 or space.whitening is not None:
        return None
    stretch = np.ones(attributes)
    for axis in space.axes:
        stretch[axis.attribute] = axis.stretch
    return stretch
