"""Densities of classes times their priors, with the least possible error shaded below them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from countwise._typing import FloatArray
from countwise.errors import ParameterError, TableError, listing
from countwise.evaluation.bayes_error import bayes_error, boundaries
from countwise.models.bayes.naive_bayes import NaiveBayes
from countwise.models.ensembles.adaboost import AdaBoost
from countwise.models.linear.logistic import Logistic
from countwise.reports.draw import Picture
from countwise.reports.figures.axes import Scale, bottom_axis, left_axis, tick_words, ticks
from countwise.reports.figures.legend import legend
from countwise.reports.figures.palette import HUES
from countwise.reports.figures.svg import circle, drawing, group, label, line, path, rect
from countwise.reports.rounding import names
from countwise.tables.read import read
from countwise.tables.table import Table

_ERROR_PLOT, _ERROR_LEFT = 230.0, 44.0


def least_error_figure(
    x: Sequence[float],
    joint: Sequence[Sequence[float]],
    names: Sequence[str],
    cuts: Sequence[float],
    error: float,
    axis: str = "x",
    width: float = 640,
) -> str:
    """Draw prior × density of each class, where the best changes, and the error no rule avoids."""
    swatches, high = legend(names, width)
    top = high + 30
    peak = max(max(own) for own in joint) or 1.0
    across = Scale(x[0], x[-1], _ERROR_LEFT, width - 8)
    up = Scale(0.0, 1.06 * peak, top + _ERROR_PLOT, top)
    rest = [sum(column) - max(column) for column in zip(*joint, strict=True)]
    shaded = [(across(at), up(own)) for at, own in zip(x, rest, strict=True)]
    parts = [group(swatches), left_axis(up, _ERROR_LEFT, width - 8, 4)]
    areas, lines = [], []
    for place, own in enumerate(joint):
        points = [(across(at), up(figure)) for at, figure in zip(x, own, strict=True)]
        closed = [(across(x[0]), up(0)), *points, (across(x[-1]), up(0))]
        areas.append(path(closed, f"a{place % HUES}", closed=True))
        lines.append(path(points, f"s{place % HUES}"))
    floor = [(across(x[0]), up(0)), *shaded, (across(x[-1]), up(0))]
    parts += [*areas, path(floor, "soft", closed=True), *lines]
    for cut in cuts:
        parts.append(line(across(cut), up(0), across(cut), top - 6, "twig"))
    parts.append(label(_ERROR_LEFT, top - 12, f"least possible error {error:.2%}, shaded", size=12))
    if cuts:
        told = ", ".join(f"{cut:.4g}" for cut in list(cuts)[:3])
        more = " …" if len(cuts) > 3 else ""
        words = f"best class changes at {told}{more}"
        parts.append(label(width - 8, top - 12, words, size=12, anchor="end", classes="soft"))
    parts.append(bottom_axis(across, top + _ERROR_PLOT, axis))
    title = "Densities and the least possible error"
    described = f"{', '.join(names)}: the shaded area is {error:.4f}."
    return drawing(width, top + _ERROR_PLOT + 44, title, described, *parts)


_SIGMOID_PLOT, _SIGMOID_LEFT, _RUG = 220.0, 44.0, 9.0


def sigmoid_figure(
    x: Sequence[float],
    curves: Mapping[str, Sequence[float]],
    rows: Mapping[str, Sequence[float]],
    label_of: str,
    axis: str,
    width: float = 640,
) -> str:
    """Draw posteriors of one class over one column, and the rows of both classes as ticks."""
    swatches, high = legend(list(curves), width)
    top = high + 38
    across = Scale(x[0], x[-1], _SIGMOID_LEFT, width - 8)
    up = Scale(0.0, 1.0, top + _SIGMOID_PLOT, top)
    parts = [group(swatches), left_axis(up, _SIGMOID_LEFT, width - 8, 4)]
    for place, own in enumerate(curves.values()):
        points = [(across(at), up(figure)) for at, figure in zip(x, own, strict=True)]
        parts.append(path(points, f"s{place}"))
    ends = [(top - 16, "c2"), (top + _SIGMOID_PLOT + 4, "c3")]
    for (y, hue), (name, values) in zip(ends, rows.items(), strict=False):
        parts += [line(across(value), y, across(value), y + _RUG, f"rug {hue}") for value in values]
        above = y < top
        words = f"{name}, each row a tick"
        parts.append(
            label(width - 8, y - 4 if above else y + 22, words, size=11, anchor="end",
                  classes="soft")
        )  # fmt: skip
    parts.append(label(_SIGMOID_LEFT, top - 20, f"P({label_of} | {axis})", size=12, bold=True))
    parts.append(group(bottom_axis(across, top + _SIGMOID_PLOT + 34, axis)))
    described = f"Posterior of {label_of} over {axis}: {', '.join(curves)}."
    return drawing(width, top + _SIGMOID_PLOT + 78, f"P({label_of} | {axis})", described, *parts)


_SIDE, _GAP, _HEAD, _FOOT, _LEFT = 196.0, 26.0, 40.0, 26.0, 38.0


def rounds_figure(facts: Mapping[str, Any], columns: int = 3) -> str:
    """Draw a panel a round, and the weighted vote of all of them last."""
    panels = facts["panels"]
    across = min(columns, len(panels))
    width = _LEFT + across * (_SIDE + _GAP) - _GAP + 8
    swatches, high = legend(facts["classes"], width)
    step = _HEAD + _SIDE + _FOOT + 14
    parts = [group(swatches)]
    for place, panel in enumerate(panels):
        x = _LEFT + (place % columns) * (_SIDE + _GAP)
        y = high + 6 + (place // columns) * step
        parts.append(group(_panel(facts, panel, place % columns == 0), x=x, y=y))
    lines = -(-len(panels) // columns)
    bottom = high + 6 + lines * step
    words = f"across: {facts['x'][0]}; up: {facts['y'][0]}"
    parts.append(label(_LEFT, bottom + 4, words, size=12, classes="soft", room=width - _LEFT))
    described = "; ".join(f"{own['title']}: {own['words']}" for own in panels)
    return drawing(width, bottom + 12, "Rounds of boosting", described, *parts)


def _panel(facts: Mapping[str, Any], panel: Mapping[str, Any], first: bool) -> str:
    """One round within its own corner: heading, regions, rows, axes."""
    across = _scale(facts["x"][1], 0.0, _SIDE)
    up = _scale(facts["y"][1], _HEAD + _SIDE, _HEAD)
    parts = [
        label(0, 14, panel["title"], size=12, bold=True, room=_SIDE),
        label(0, 31, panel["words"], size=11, classes="soft", room=_SIDE),
    ]
    for low, high, under, over, said in panel["regions"]:
        left, right = across(low), across(high)
        above, below = up(over), up(under)
        parts.append(rect(left, above, right - left, below - above, f"a{said % HUES}"))
    weights = panel["weights"]
    for place, (x, y, own) in enumerate(
        zip(facts["x"][1], facts["y"][1], facts["truth"], strict=True)
    ):
        # A row of the usual weight has the usual size, and area goes with weight.
        often = 1.0 if weights is None else weights[place] * len(weights)
        radius = min(max(2.8 * often**0.5, 1.1), 9.0)
        parts.append(circle(across(x), up(y), radius, f"dot c{own % HUES}"))
    parts.append(bottom_axis(across, _HEAD + _SIDE, most=4))
    parts.append(line(0, _HEAD, 0, _HEAD + _SIDE, "axis"))
    if first:
        marks = ticks(up.low, up.high, 4)
        for mark, written in zip(marks, tick_words(marks), strict=True):
            parts.append(label(-5, up(mark) + 4, written, size=11, anchor="end", classes="soft"))
    return "".join(parts)


def _scale(values: Sequence[float], start: float, stop: float) -> Scale:
    low, high = min(values), max(values)
    pad = 0.06 * (high - low) or 1.0
    return Scale(low - pad, high + pad, start, stop)


#: So many rows are drawn at most, evenly taken.
MOST_ROWS = 400


def draw_bayes_error(
    densities: Sequence[Any],
    priors: ArrayLike | None = None,
    classes: Sequence[str] | None = None,
    axis: str = "x",
) -> Picture:
    """Draw known densities of one number, where the best class changes, and the least error."""
    found = bayes_error(list(densities), priors)
    given = np.full(len(densities), 1.0) if priors is None else np.asarray(priors, dtype=float)
    shares = given / given.sum()
    ends = np.concatenate([own.ppf([0.001, 0.999]) for own in densities])
    x = np.linspace(ends.min(), ends.max(), 400)
    joint = [(p * own.pdf(x)).tolist() for p, own in zip(shares, densities, strict=True)]
    labels = [f"class {at + 1}" for at in range(len(joint))] if classes is None else list(classes)
    if len(labels) != len(joint):
        raise ParameterError(
            f"draw_bayes_error: there must be a name for each of {len(joint)} densities, but "
            f"{listing(labels)} came."
        )
    told = [f"{name}, prior {share:.3g}" for name, share in zip(labels, shares, strict=True)]
    cuts = [float(cut) for cut in boundaries(densities, shares) if x[0] < cut < x[-1]]
    svg = least_error_figure(x.tolist(), joint, told, cuts, found.error, axis)
    return Picture(svg, f"The least possible error is {100 * found.error:.2f} %")


def draw_sigmoids(
    data: Any, column: str, target: Any = None, label: Any = None, **read_options: Any
) -> Picture:
    """Draw two posteriors over one number: of naive Bayes with a shared variance, and logistic.

    Both are sigmoids; one is reached through densities (generative), one straight (discriminative).
    """
    table = data if isinstance(data, Table) else read(data, target=target, **read_options)
    if not table.labelled:
        raise TableError("draw_sigmoids: rows need classes. Read them with target='column'.")
    if column not in table.schema or table.schema[column].kind != "numeric":
        numeric = [own.name for own in table.schema.numeric]
        raise ParameterError(
            f"draw_sigmoids: column must be numeric, but {column!r} is not. The numeric columns "
            f"are {listing(numeric)}."
        )
    label = table.classes[-1] if label is None else label
    if label not in table.classes:
        raise ParameterError(
            f"draw_sigmoids: label must be a class, but {label!r} is none. The classes are "
            f"{listing(table.classes)}."
        )
    values = table.values(column)
    own = np.asarray([one == label for one in table.labels.tolist()])
    known = ~np.isnan(values)
    values, own = values[known], own[known]
    if len(np.unique(own)) < 2 or values.min() == values.max():
        raise TableError(
            f"draw_sigmoids: column {column!r} must vary over rows of two classes, but it does not."
        )
    pad = 0.04 * (values.max() - values.min())
    x = np.linspace(values.min() - pad, values.max() + pad, 300)
    pair = values[:, None], np.where(own, 1, 0)
    generative = NaiveBayes(variance="shared").fit(*pair).predict_proba(x[:, None])[:, 1]
    discriminative = Logistic(C=1000000.0).fit(*pair).predict_proba(x[:, None])[:, 1]
    curves = {
        "generative: naive Bayes, shared variance": generative.tolist(),
        "discriminative: logistic regression": discriminative.tolist(),
    }
    name = names([label])[0]
    rest = names([one for one in table.classes if one != label])
    other = rest[0] if len(rest) == 1 else "all others"
    rows = {name: _some(values[own]), other: _some(values[~own])}
    title = f"P({name} | {column}), generative and discriminative"
    return Picture(sigmoid_figure(x.tolist(), curves, rows, name, column), title)


def _some(values: FloatArray) -> list[float]:
    return [float(own) for own in np.sort(values)[:: max(1, len(values) // 150)]]


def draw_rounds(model: AdaBoost, data: Any, most: int = 5) -> Picture:
    """Draw the first rounds of a boosting over two numbers, and the final vote.

    Rows are as large as their weight before the round; the ground is what the rule of the round,
    or the weighted vote of all rounds, says there.
    """
    table = data if isinstance(data, Table) else read(data)
    columns = [own.name for own in table.schema.attributes]
    numeric = [own.name for own in table.schema.numeric]
    weights = getattr(model, "weights_", None)
    if not isinstance(model, AdaBoost) or model.estimator is not None or weights is None:
        raise ParameterError(
            "draw_rounds: the model must be an AdaBoost of one-column rules fitted with "
            f"keep_weights=True, but {model!r} came."
        )
    if len(columns) != 2 or numeric != columns or weights.shape[1] != len(table):
        raise ParameterError(
            "draw_rounds: the table must be the one the model was fitted to, with two numeric "
            f"columns and no others, but it has {listing(columns)} in {len(table)} rows. Choose "
            "two with table.select before fitting."
        )
    x, y = (table.values(name) for name in columns)
    rows = np.flatnonzero(~np.isnan(x) & ~np.isnan(y))
    rows = rows[:: max(1, len(rows) // MOST_ROWS)]
    place = {label: at for at, label in enumerate(model.classes_.tolist())}
    facts = {
        "x": (columns[0], x[rows].tolist()),
        "y": (columns[1], y[rows].tolist()),
        "classes": names(model.classes_.tolist()),
        "truth": [place[label] for label in table.labels[rows].tolist()],
        "panels": _panels(model, columns, x[rows], y[rows], rows, most),
    }
    title = f"AdaBoost: {len(model.rounds_)} rounds and their vote"
    return Picture(rounds_figure(facts), title)


def _panels(
    model: AdaBoost, columns: list[str], x: FloatArray, y: FloatArray, rows: Any, most: int
) -> list[dict[str, Any]]:
    panels: list[dict[str, Any]] = []
    sides = dict(zip(columns, (_reach(x), _reach(y)), strict=True))
    shown = list(zip(model.rounds_, model._rules, strict=True))[:most]
    for at, (own, rule) in enumerate(shown):
        cuts = model.cut_points_[rule.column]
        at_cut = rule.threshold or 0
        middle = float(cuts[at_cut]) if at_cut < len(cuts) else np.inf
        both = [(-np.inf, middle, int(rule.said[0]))]
        if np.isfinite(middle):
            both.append((middle, np.inf, int(rule.said[at_cut + 1])))
        panels.append(
            {
                "title": f"round {at + 1}: ε {own.epsilon:.3f}, α {own.alpha:.3f}",
                "words": own.words,
                "weights": model.weights_[at][rows].tolist(),
                "regions": [_side(sides, columns, rule.column, *part) for part in both],
            }
        )
    panels.append(
        {
            "title": f"the vote of {len(model.rounds_)} rounds",
            "words": "weighted majority",
            "weights": None,
            "regions": _voted(model, columns, sides),
        }
    )
    return panels


def _reach(values: FloatArray) -> tuple[float, float]:
    pad = 0.06 * (values.max() - values.min()) or 1.0
    return float(values.min() - pad), float(values.max() + pad)


def _side(
    sides: dict[str, tuple[float, float]],
    columns: list[str],
    column: str,
    low: float,
    high: float,
    said: int,
) -> tuple[float, float, float, float, int]:
    """The rectangle on one side of a threshold."""
    ends = []
    for name in columns:
        first, last = sides[name]
        ends += [max(first, low), min(last, high)] if name == column else [first, last]
    return ends[0], ends[1], ends[2], ends[3], said


def _voted(
    model: AdaBoost, columns: list[str], sides: dict[str, tuple[float, float]]
) -> list[tuple[float, float, float, float, int]]:
    """The final regions: between the thresholds that were used the vote does not change."""
    edges = []
    for name in columns:
        used = [
            float(model.cut_points_[name][rule.threshold])
            for rule in model._rules
            if rule.column == name and (rule.threshold or 0) < len(model.cut_points_[name])
        ]
        low, high = sides[name]
        edges.append(np.unique([low, *(cut for cut in used if low < cut < high), high]))
    middles = [(own[:-1] + own[1:]) / 2 for own in edges]
    grid = np.array([(a, b) for a in middles[0] for b in middles[1]])
    rows = {name: grid[:, at] for at, name in enumerate(columns)}
    said = model._scores(model._rows(rows)).argmax(axis=1).reshape(len(middles[0]), -1)
    return [
        (edges[0][i], edges[0][i + 1], edges[1][j], edges[1][j + 1], int(said[i, j]))
        for i in range(len(middles[0]))
        for j in range(len(middles[1]))
    ]
