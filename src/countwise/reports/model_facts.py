"""The views of a model as plain data, shortened to fit a page; what is left out is counted."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import singledispatch
from typing import Any

import numpy as np

from countwise._typing import FloatArray
from countwise.models.views import (
    CellColumn,
    CellGrid,
    Coefficients,
    DecisionTree,
    Densities,
    Dependency,
    DependencyGraph,
    Edge,
    Importances,
    MemberList,
    PairShapes,
    ProbabilityTable,
    ProbabilityTables,
    Shape,
    Shapes,
    TopWords,
    TrainingCurve,
)
from countwise.reports.figures.palette import HUES
from countwise.reports.figures.panels import MANY_CLASSES
from countwise.reports.sentences import MAX_LISTED, plain

#: What a page shows of tables: attributes, levels (fewer where classes are many), classes, cells.
MAX_ATTRIBUTES, MAX_LEVELS, MAX_LEVELS_ACROSS, MAX_CLASSES, MAX_CELLS = 60, 30, 18, 30, 3000
#: The lines of all densities; every second point of a line is drawn, every fifth if lines are many.
MAX_LINES, _SPARSE = 160, (2, 5)
#: The attributes of a graph.
MAX_NODES = 100
#: The columns of a grid of cells, the levels of a column that is drawn, the steps of its search.
MAX_COLUMNS, MAX_DRAWN_LEVELS, MAX_STEPS = 24, 60, 200
#: The coefficients, the important columns, the members of an ensemble, the epochs of a training.
MAX_ROWS = 40
#: The pairs of columns that get a picture.
MAX_PAIRS = 6


def views_of(model: Any) -> tuple[str, Sequence[Any]]:
    """Return the name and the views of a fitted model; a `Decide` shows the model it decides by."""
    model = getattr(model, "model_", model)
    return type(model).__name__, model.views() if hasattr(model, "views") else ()


def model_facts(model: Any, name: str | None = None) -> dict[str, Any] | None:
    """Return the name of a model and the facts of its views; None if it has nothing to show."""
    kind, views = views_of(model)
    return {"name": name or kind, "views": list(map(view_facts, views))} if views else None


def has_weights(view: Mapping[str, Any]) -> bool:
    """Return whether the members of an ensemble differ in weight, so that a figure tells more."""
    return len({member["weight"] for member in view["members"]}) > 1


def view_facts(view: Any, max_nodes: int = MAX_NODES) -> dict[str, Any]:
    """Return a view as plain data, with its kind and its title."""
    limited = _limit_graph(view, max_nodes) if isinstance(view, DependencyGraph) else limit(view)
    return {"kind": type(view).__name__, "title": view.title, **plain(limited)}


@singledispatch
def limit(view: Any) -> Any:
    """Return a view that is small enough for a page."""
    return view


@limit.register
def _(view: ProbabilityTables) -> ProbabilityTables:
    classes = largest(view.prior, MAX_CLASSES)
    max_levels = MAX_LEVELS if len(classes) <= MANY_CLASSES else MAX_LEVELS_ACROSS
    tables: list[ProbabilityTable] = []
    cells = 0
    for table in view.tables[:MAX_ATTRIBUTES]:
        levels = largest(table.counts.sum(axis=0), max_levels)
        cells += len(levels) * len(classes)
        if cells > MAX_CELLS and tables:
            break
        tables.append(
            replace(
                table,
                levels=tuple(table.levels[at] for at in levels),
                probabilities=table.probabilities[np.ix_(classes, levels)],
                counts=table.counts[np.ix_(classes, levels)],
                more_levels=len(table.levels) - len(levels),
            )
        )
    return replace(
        view,
        classes=tuple(view.classes[at] for at in classes),
        prior=view.prior[classes],
        tables=tuple(tables),
        more_classes=len(view.classes) - len(classes),
        more_tables=view.more_tables + len(view.tables) - len(tables),
    )


@limit.register
def _(view: TopWords) -> TopWords:
    classes = largest(view.prior, MAX_CLASSES)
    return replace(
        view,
        classes=tuple(view.classes[at] for at in classes),
        prior=view.prior[classes],
        columns=tuple(
            replace(column, words=tuple(column.words[at] for at in classes))
            for column in view.columns
        ),
        more_classes=len(view.classes) - len(classes),
    )


@limit.register
def _(view: Densities) -> Densities:
    classes = largest(view.prior, HUES)
    step = _SPARSE[0] if len(view.columns) * len(classes) <= MAX_LINES // 4 else _SPARSE[1]
    columns = [
        replace(
            column,
            mean=column.mean[classes],
            deviation=column.deviation[classes],
            x=column.x[::step],
            density=column.density[classes, ::step],
        )
        for column in view.columns[: max(1, min(MAX_ATTRIBUTES, MAX_LINES // len(classes)))]
    ]
    return replace(
        view,
        classes=tuple(view.classes[at] for at in classes),
        prior=view.prior[classes],
        columns=tuple(columns),
        more_classes=len(view.classes) - len(classes),
        more_columns=view.more_columns + len(view.columns) - len(columns),
    )


def _limit_graph(view: DependencyGraph, max_nodes: int) -> DependencyGraph:
    """Keep so many attributes: from the roots on, always the one with the heaviest edge next."""
    attributes = view.attributes
    kept = _heaviest(attributes, max_nodes)
    place = {node: at for at, node in enumerate(kept)}
    hidden = [0] * len(attributes)
    for node in reversed(range(len(attributes))):
        if attributes[node].parents:
            hidden[attributes[node].parents[0].at] += hidden[node] + (node not in place)
    shown = [
        replace(
            attributes[node],
            parents=tuple(
                Edge(place[edge.at], edge.bits)
                for edge in attributes[node].parents
                if edge.at in place
            ),
            hidden=hidden[node],
        )
        for node in kept
    ]
    return replace(view, attributes=tuple(shown), more_attributes=len(attributes) - len(kept))


def _heaviest(attributes: Sequence[Dependency], most: int) -> list[int]:
    """The positions of at most so many attributes, each after its first parent."""
    if len(attributes) <= most:
        return list(range(len(attributes)))
    below: list[list[tuple[float, int]]] = [[] for _ in attributes]
    waiting: list[tuple[float, int]] = []
    for node, attribute in enumerate(attributes):
        if attribute.parents:
            first = attribute.parents[0]
            below[first.at].append((-first.bits, node))
        else:
            waiting.append((-np.inf, node))
    heapq.heapify(waiting)
    kept: list[int] = []
    while waiting and len(kept) < most:
        _, node = heapq.heappop(waiting)
        kept.append(node)
        for edge in below[node]:
            heapq.heappush(waiting, edge)
    # In the model's order, in which parents come first too.
    return sorted(kept)


@limit.register
def _(view: DecisionTree) -> DecisionTree:
    if len(view.classes) <= MAX_CLASSES:
        return view
    order = np.argsort(-np.asarray(view.drawn[0].counts), kind="stable")
    kept, rest = sorted(order[: MAX_CLASSES - 1].tolist()), order[MAX_CLASSES - 1 :].tolist()
    nodes = [
        replace(
            node,
            counts=(*(node.counts[at] for at in kept), sum(node.counts[at] for at in rest)),
        )
        for node in view.drawn
    ]
    classes = (*(view.classes[at] for at in kept), f"{len(rest)} other classes")
    return replace(view, classes=classes, drawn=tuple(nodes))


@limit.register
def _(view: CellGrid) -> CellGrid:
    steps = view.steps if len(view.steps) > 1 else ()
    if len(steps) > MAX_STEPS:
        taken = np.unique(np.linspace(0, len(steps) - 1, MAX_STEPS).round().astype(int))
        steps = tuple(steps[at] for at in taken)
    shown = view.slice
    if shown is not None:
        fixed = dict(list(shown.fixed.items())[:MAX_COLUMNS])
        across, up = _limit_column(shown.across), _limit_column(shown.up)
        shown = replace(shown, across=across, up=up, fixed=fixed)
    return replace(
        view,
        classes=view.classes[:HUES],
        columns=tuple(map(_limit_column, view.columns[:MAX_COLUMNS])),
        steps=steps,
        slice=shown,
        more_columns=max(len(view.columns) - MAX_COLUMNS, 0),
    )


def _limit_column(column: CellColumn) -> CellColumn:
    """Join the classes beyond the hues; of a column of many levels keep the first ones as texts."""
    weights = column.weights
    if weights.shape[1] > HUES:
        weights = np.column_stack([weights[:, :HUES], weights[:, HUES:].sum(axis=1)])
    if len(column.levels) <= MAX_DRAWN_LEVELS:
        return replace(column, weights=weights)
    return replace(
        column,
        levels=column.levels[:MAX_LISTED],
        start=column.start[:MAX_LISTED],
        cut_points=column.cut_points[:MAX_LISTED],
        spans=None,
        weights=weights[:0],
        more_levels=len(column.levels) - MAX_LISTED,
    )


@limit.register
def _(view: Coefficients) -> Coefficients:
    more = max(len(view.terms) - MAX_ROWS, 0)
    return replace(view, terms=view.terms[:MAX_ROWS], more_terms=more)


@limit.register
def _(view: Shapes) -> Shapes:
    classes = largest(view.base, HUES)
    columns = [_limit_shape(column, classes) for column in view.columns[:MAX_COLUMNS]]
    return replace(
        view,
        classes=tuple(view.classes[at] for at in classes),
        base=view.base[classes],
        columns=tuple(columns),
        more_columns=len(view.columns) - len(columns),
        more_classes=len(view.classes) - len(classes),
    )


def _limit_shape(shape: Shape, classes: list[int]) -> Shape:
    """Keep some classes, and of a nominal column the most frequent levels."""
    levels = list(range(len(shape.levels)))
    if shape.edges is None:
        levels = largest(shape.counts, MAX_LEVELS_ACROSS)
    return replace(
        shape,
        levels=tuple(shape.levels[at] for at in levels),
        added=shape.added[np.ix_(levels, classes)],
        errors=None if shape.errors is None else shape.errors[np.ix_(levels, classes)],
        counts=shape.counts[levels],
        missing=None if shape.missing is None else shape.missing[classes],
        more_levels=len(shape.levels) - len(levels),
    )


@limit.register
def _(view: PairShapes) -> PairShapes:
    more = max(len(view.pairs) - MAX_PAIRS, 0)
    return replace(view, pairs=view.pairs[:MAX_PAIRS], more_pairs=more)


@limit.register
def _(view: Importances) -> Importances:
    more = max(len(view.columns) - MAX_ROWS, 0)
    return replace(view, columns=view.columns[:MAX_ROWS], more_columns=more)


@limit.register
def _(view: TrainingCurve) -> TrainingCurve:
    step = max(1, len(view.epochs) // MAX_ROWS)
    return replace(view, epochs=view.epochs[::step])


@limit.register
def _(view: MemberList) -> MemberList:
    agreement = None if view.agreement is None else view.agreement[:MAX_ROWS, :MAX_ROWS]
    more = max(len(view.members) - MAX_ROWS, 0)
    return replace(view, members=view.members[:MAX_ROWS], agreement=agreement, more_members=more)


def largest(weights: FloatArray, most: int) -> list[int]:
    """Return the positions of all weights, or of the largest, in their order."""
    if len(weights) <= most:
        return list(range(len(weights)))
    return sorted(np.argsort(-weights, kind="stable")[:most].tolist())
