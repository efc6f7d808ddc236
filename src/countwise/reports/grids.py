"""What there is to show of a model of cells, as plain data: cuts, search and slices."""

from __future__ import annotations

from typing import Any

import numpy as np

from countwise._typing import FloatArray
from countwise.counts.information import information_gain
from countwise.models.discrete_bayes.discrete_bayes import DiscreteBayes
from countwise.reports.figures.palette import HUES
from countwise.reports.rounding import figures
from countwise.reports.rounding import names as texts

#: What a page shows: columns, levels of a column that is drawn, boundaries in words, steps.
MOST_COLUMNS, MOST_LEVELS, MOST_BOUNDARIES, MOST_STEPS = 24, 60, 12, 200


def cut_facts(model: DiscreteBayes, only: str | None = None) -> list[dict[str, Any]]:
    """Return by column its levels, where they begin and end, and the class weights in them."""
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


def cell_facts(model: DiscreteBayes) -> dict[str, Any]:
    """Return what a page shows of a model of cells: cuts, gains, the search, k, and a slice."""
    every = cut_facts(model)
    drawn = [_plain(own) for own in every if len(own["levels"]) <= MOST_LEVELS][:MOST_COLUMNS]
    pair = [own["name"] for own in every if len(own["levels"]) <= MOST_LEVELS][:2]
    steps = search_facts(model)
    axes = model.cells_.grid.axes
    return {
        "cells": int(model.cells_.grid.cells),
        "occupied": len(model.cells_),
        "budget": None if model.budget is None else float(model.budget),
        "gain": dict(model.gain_),
        "columns": drawn,
        "lines": _lines(model)[:MOST_COLUMNS],
        "more": max(sum(axis.size > 1 for axis in axes) - MOST_COLUMNS, 0),
        "left_out": texts(axis.name for axis in axes if axis.size < 2),
        "smoothing": {
            "k": float(model.smoothing_),
            "chosen": model.smoothing == "validation",
            "table": [dict(own) for own in model.smoothing_table_],
        },
        "drawn": texts(model.classes_.tolist()[:HUES]),
        "steps": _thinned(steps) if len(steps) > 1 else [],
        "slice": _plain_slice(slice_facts(model, *pair)) if len(pair) == 2 else None,
    }


def _lines(model: DiscreteBayes) -> list[dict[str, Any]]:
    """By column that is cut: how many levels it has, and where it was and is cut, in words."""
    start, found = iter(model.start_boundaries_), iter(model.boundaries_)
    names, made = model._level_names(), []
    for at, axis in enumerate(model.cells_.grid.axes):
        before, after = "", ", ".join(names[at][:MOST_BOUNDARIES])
        if axis.numeric:
            before, after = (_numbers(next(own, np.empty(0))) for own in (start, found))
        elif len(names[at]) > MOST_BOUNDARIES:
            after += f" and {len(names[at]) - MOST_BOUNDARIES} more"
        if axis.size > 1:
            made.append(
                {
                    "name": texts([axis.name])[0],
                    "levels": axis.width,
                    "numeric": axis.numeric,
                    "before": before,
                    "after": texts([after])[0],
                }
            )
    return made


def _numbers(values: FloatArray) -> str:
    told = ", ".join(f"{own:.5g}" for own in values[:MOST_BOUNDARIES])
    left = len(values) - MOST_BOUNDARIES
    return f"{told} and {left} more" if left > 0 else told


def _plain(column: dict[str, Any]) -> dict[str, Any]:
    """The facts of a column with texts that any page can hold, rare classes taken together."""
    weights = column["weights"]
    if any(len(own) > HUES for own in weights):
        weights = [[*own[:HUES], sum(own[HUES:])] for own in weights]
    return column | {
        "name": texts([column["name"]])[0],
        "levels": texts(column["levels"]),
        "weights": figures(weights),
        "bits": figures(column["bits"])[0],
    }


def _plain_slice(facts: dict[str, Any]) -> dict[str, Any]:
    fixed = {texts([name])[0]: texts([level])[0] for name, level in facts["fixed"].items()}
    return facts | {
        "across": _plain(facts["across"]),
        "up": _plain(facts["up"]),
        "fixed": dict(list(fixed.items())[:MOST_COLUMNS]),
        "labels": texts(facts["labels"]),
        "surest": figures(facts["surest"]),
        "rows": figures(facts["rows"]),
    }


def _thinned(steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """At most so many steps, the first and the last among them."""
    if len(steps) <= MOST_STEPS:
        return steps
    taken = np.unique(np.linspace(0, len(steps) - 1, MOST_STEPS).round().astype(int))
    return [steps[at] for at in taken]
