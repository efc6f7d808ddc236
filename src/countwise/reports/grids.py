"""What there is to show of a model of cells, as plain data: cuts, search and slices."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.counts.measures import information_gain
from countwise.posteriors.discrete_bayes import DiscreteBayes
from countwise.reports.figures.palette import HUES

__all__ = ["cut_facts", "search_facts", "slice_facts"]

Doubles = NDArray[np.float64]


def cut_facts(model: DiscreteBayes, only: str | None = None) -> list[dict[str, Any]]:
    """Return by column its levels, where they begin and end, and the class weights in them.

    Examples
    --------
    >>> import countwise as cw
    >>> facts = cut_facts(cw.DiscreteBayes(20).fit(cw.read("sample:iris")), "petal_width")
    >>> facts[0]["name"], len(facts[0]["levels"]) == len(facts[0]["weights"])
    ('petal_width', True)
    """
    table, names = model.cells_, model._level_names()
    start = iter(model.start_boundaries_)
    made = []
    for at, axis in enumerate(table.grid.axes):
        begun = next(start, np.empty(0)) if axis.numeric else np.empty(0)
        if axis.size < 2 or only not in (None, axis.name):
            continue
        weights = np.zeros((axis.size, len(model.classes_)))
        np.add.at(weights, table.levels[:, at], table.counts)
        spans: list[list[float]] | None = None
        if axis.numeric and axis.high > axis.low:
            low, high = axis.spans
            spans = [[float(a), float(b)] for a, b in zip(low, high, strict=True)]
        made.append(
            {
                "name": axis.name,
                "levels": list(names[at]),
                "spans": spans,
                "start": [float(own) for own in begun],
                "weights": weights.tolist(),
                "bits": information_gain(weights.T),
            }
        )
    return sorted(made, key=lambda own: -own["bits"]) if only is None else made


def drawn_classes(model: DiscreteBayes) -> list[str]:
    """The classes that get a colour."""
    return [str(label) for label in model.classes_.tolist()[:HUES]]


def search_facts(model: DiscreteBayes) -> list[dict[str, Any]]:
    """Return the steps of the search that have a gain: stage, seconds, both gains."""
    steps = [step for step in model.history_ if step.get("train") is not None]
    return [
        {
            "stage": str(step["stage"]),
            "seconds": float(step["seconds"]),
            "train": step["train"],
            "validation": step.get("validation"),
        }
        for step in steps
    ]


def slice_facts(model: DiscreteBayes, one: str, other: str) -> dict[str, Any]:
    """Return two columns with the decision and the weight of every pair of their levels.

    The other columns are where most rows are: on the level that is most frequent.

    Examples
    --------
    >>> import countwise as cw
    >>> model = cw.DiscreteBayes(20).fit(cw.read("sample:iris"))
    >>> facts = slice_facts(model, "petal_length", "petal_width")
    >>> len(facts["decisions"]) == len(facts["across"]["levels"])
    True
    """
    axes = model.cells_.grid.axes
    places = {axis.name: at for at, axis in enumerate(axes)}
    a, b = places[one], places[other]
    names = model._level_names()
    levels = np.zeros((axes[a].size * axes[b].size, len(axes)), np.int32)
    fixed = {}
    for at, axis in enumerate(axes):
        often = np.bincount(
            model.cells_.levels[:, at], weights=model.cells_.counts.sum(axis=1), minlength=axis.size
        )
        levels[:, at] = int(often.argmax())
        if at not in (a, b) and axis.size > 1:
            fixed[axis.name] = names[at][int(often.argmax())]
    grid = np.indices((axes[a].size, axes[b].size)).reshape(2, -1)
    levels[:, a], levels[:, b] = grid
    shares = model._shares(model._smoother.weights(levels))
    paid = shares @ model.gain_matrix_
    rows = model._smoother.plain(levels).sum(axis=1)
    shape = (axes[a].size, axes[b].size)
    cuts = {own["name"]: own for own in cut_facts(model)}
    return {
        "across": cuts[one],
        "up": cuts[other],
        "fixed": fixed,
        "labels": [str(label) for label in model.decisions_],
        "decisions": paid.argmax(axis=1).reshape(shape).tolist(),
        "surest": shares.max(axis=1).reshape(shape).tolist(),
        "rows": rows.reshape(shape).tolist(),
    }
