"""Figures for the lectures: the least possible error, two sigmoids, rounds of boosting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from countwise._typing import FloatArray
from countwise.errors import ParameterError, TableError, listing
from countwise.evaluation.bayes_error import bayes_error, boundaries
from countwise.models.ensembles.adaboost import AdaBoost
from countwise.models.linear.logistic import Logistic
from countwise.reports.draw import Picture
from countwise.reports.figures.axes import Scale, bottom_axis, left_axis, legend, tick_words, ticks
from countwise.reports.figures.palette import HUES
from countwise.reports.figures.svg import circle, drawing, group, label, line, path, rect
from countwise.reports.sentences import names
from countwise.tables.read import read
from countwise.tables.table import Table
from countwise_papers.exact_models import exact_naive_bayes

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
    peak = max(max(curve) for curve in joint) or 1.0
    across = Scale(x[0], x[-1], _ERROR_LEFT, width - 8)
    up = Scale(0.0, 1.06 * peak, top + _ERROR_PLOT, top)
    rest = [sum(column) - max(column) for column in zip(*joint, strict=True)]
    shaded = [(across(at), up(height)) for at, height in zip(x, rest, strict=True)]
    parts = [group(swatches), left_axis(up, _ERROR_LEFT, width - 8, 4)]
    areas, lines = [], []
    for place, curve in enumerate(joint):
        points = [(across(at), up(height)) for at, height in zip(x, curve, strict=True)]
        closed = [(across(x[0]), up(0)), *points, (across(x[-1]), up(0))]
        areas.append(path(closed, f"a{place % HUES}", closed=True))
        lines.append(path(points, f"s{place % HUES}"))
    floor = [(across(x[0]), up(0)), *shaded, (across(x[-1]), up(0))]
    parts += [*areas, path(floor, "soft", closed=True), *lines]
    for cut in cuts:
        parts.append(line(across(cut), up(0), across(cut), top - 6, "twig"))
    parts.append(label(_ERROR_LEFT, top - 12, f"least possible error {error:.2%}, shaded", size=12))
    if cuts:
        places = ", ".join(f"{cut:.4g}" for cut in list(cuts)[:3])
        words = f"best class changes at {places}{' …' if len(cuts) > 3 else ''}"
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
    for place, curve in enumerate(curves.values()):
        points = [(across(at), up(height)) for at, height in zip(x, curve, strict=True)]
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
    described = "; ".join(f"{panel['title']}: {panel['words']}" for panel in panels)
    return drawing(width, bottom + 12, "Rounds of boosting", described, *parts)


def _panel(facts: Mapping[str, Any], panel: Mapping[str, Any], first: bool) -> str:
    """Draw one round from its upper left corner: heading, regions, rows, axes."""
    across = Scale(*_padded_range(facts["x"][1]), 0.0, _SIDE)
    up = Scale(*_padded_range(facts["y"][1]), _HEAD + _SIDE, _HEAD)
    parts = [
        label(0, 14, panel["title"], size=12, bold=True, room=_SIDE),
        label(0, 31, panel["words"], size=11, classes="soft", room=_SIDE),
    ]
    for low, high, under, over, decided in panel["regions"]:
        left, right = across(low), across(high)
        above, below = up(over), up(under)
        parts.append(rect(left, above, right - left, below - above, f"a{decided % HUES}"))
    weights = panel["weights"]
    for place, (x, y, label_code) in enumerate(
        zip(facts["x"][1], facts["y"][1], facts["truth"], strict=True)
    ):
        # A row of the usual weight has the usual size, and area goes with weight.
        often = 1.0 if weights is None else weights[place] * len(weights)
        radius = min(max(2.8 * often**0.5, 1.1), 9.0)
        parts.append(circle(across(x), up(y), radius, f"dot c{label_code % HUES}"))
    parts.append(bottom_axis(across, _HEAD + _SIDE, most=4))
    parts.append(line(0, _HEAD, 0, _HEAD + _SIDE, "axis"))
    if first:
        marks = ticks(up.low, up.high, 4)
        for mark, written in zip(marks, tick_words(marks), strict=True):
            parts.append(label(-5, up(mark) + 4, written, size=11, anchor="end", classes="soft"))
    return "".join(parts)


def _padded_range(values: Sequence[float] | FloatArray) -> tuple[float, float]:
    low, high = float(min(values)), float(max(values))
    pad = 0.06 * (high - low) or 1.0
    return low - pad, high + pad


#: More rows than these are thinned evenly.
MAX_ROWS = 400


def draw_bayes_error(
    densities: Sequence[Any],
    prior: ArrayLike | None = None,
    classes: Sequence[str] | None = None,
    axis: str = "x",
) -> Picture:
    """Draw known densities of one number, where the best class changes, and the least error."""
    found = bayes_error(list(densities), prior)
    given = np.full(len(densities), 1.0) if prior is None else np.asarray(prior, dtype=float)
    given = given / given.sum()
    ends = np.concatenate([density.ppf([0.001, 0.999]) for density in densities])
    x = np.linspace(ends.min(), ends.max(), 400)
    joint = [(p * density.pdf(x)).tolist() for p, density in zip(given, densities, strict=True)]
    labels = [f"class {at + 1}" for at in range(len(joint))] if classes is None else list(classes)
    if len(labels) != len(joint):
        rule = f"a name for each of {len(joint)} densities"
        raise ParameterError("draw_bayes_error", "classes", rule, labels)
    names = [f"{name}, prior {prior:.3g}" for name, prior in zip(labels, given, strict=True)]
    cuts = [float(cut) for cut in boundaries(densities, given) if x[0] < cut < x[-1]]
    svg = least_error_figure(x.tolist(), joint, names, cuts, found.error, axis)
    return Picture(svg, f"The least possible error is {100 * found.error:.2f} %")


def draw_sigmoids(
    data: Any, column: str, target: Any = None, label: Any = None, **read_options: Any
) -> Picture:
    """Draw two posteriors over one number: of naive Bayes with a shared variance, and logistic."""
    table = data if isinstance(data, Table) else read(data, target=target, **read_options)
    if not table.labelled:
        raise TableError("draw_sigmoids: rows need classes", hint="Read them with `target=`.")
    if column not in table.schema or table.schema[column].kind != "numeric":
        numeric = listing(each.name for each in table.schema.numeric)
        hint = f"The numeric columns are {numeric}."
        raise ParameterError("draw_sigmoids", "column", "numeric", column, hint)
    label = table.classes[-1] if label is None else label
    if label not in table.classes:
        hint = f"The classes are {listing(table.classes)}."
        raise ParameterError("draw_sigmoids", "label", "a class", label, hint)
    values = table.values(column)
    is_label = np.asarray([other == label for other in table.labels.tolist()])
    known = ~np.isnan(values)
    values, is_label = values[known], is_label[known]
    if len(np.unique(is_label)) < 2 or values.min() == values.max():
        raise TableError(f"draw_sigmoids: column {column!r} must vary over rows of two classes.")
    pad = 0.04 * (values.max() - values.min())
    x = np.linspace(values.min() - pad, values.max() + pad, 300)
    pair = values[:, None], is_label.astype(int)
    generative = exact_naive_bayes(variance="shared").fit(*pair).predict_proba(x[:, None])[:, 1]
    discriminative = Logistic(C=1e6).fit(*pair).predict_proba(x[:, None])[:, 1]
    curves = {
        "generative: naive Bayes, shared variance": generative.tolist(),
        "discriminative: logistic regression": discriminative.tolist(),
    }
    name = names([label])[0]
    rest = names([other for other in table.classes if other != label])
    other = rest[0] if len(rest) == 1 else "all others"
    rows = {name: _thin(values[is_label]), other: _thin(values[~is_label])}
    title = f"P({name} | {column}), generative and discriminative"
    return Picture(sigmoid_figure(x.tolist(), curves, rows, name, column), title)


def _thin(values: FloatArray) -> list[float]:
    thinned: list[float] = np.sort(values)[:: max(1, len(values) // 150)].tolist()
    return thinned


def draw_rounds(model: AdaBoost, data: Any, most: int = 5) -> Picture:
    """Draw the first rounds of a boosting over two numbers, and the final vote."""
    table = data if isinstance(data, Table) else read(data)
    columns = [column.name for column in table.schema.attributes]
    numeric = [column.name for column in table.schema.numeric]
    weights = getattr(model, "weights_", np.empty((0, 0)))
    if not isinstance(model, AdaBoost) or model.estimator is not None or not len(weights):
        rule = "an AdaBoost of one-column rules fitted with `keep_weights=True`"
        raise ParameterError("draw_rounds", "model", rule, model)
    if len(columns) != 2 or numeric != columns or weights.shape[1] != len(table):
        raise ParameterError(
            "draw_rounds: the table must be the one the model was fitted to, with two numeric "
            f"columns and no others; got {listing(columns)} in {len(table)} rows.",
            hint="Choose two with table.select before fitting.",
        )
    x, y = (table.values(name) for name in columns)
    rows = np.flatnonzero(~np.isnan(x) & ~np.isnan(y))
    rows = rows[:: max(1, len(rows) // MAX_ROWS)]
    place = {label: at for at, label in enumerate(model.classes_.tolist())}
    facts = {
        "x": (columns[0], x[rows].tolist()),
        "y": (columns[1], y[rows].tolist()),
        "classes": names(model.classes_.tolist()),
        "truth": [place[label] for label in table.labels[rows].tolist()],
        "panels": _panels(model, columns, (x[rows], y[rows]), rows, most),
    }
    title = f"AdaBoost: {len(model.rounds_)} rounds and their vote"
    return Picture(rounds_figure(facts), title)


def _panels(
    model: AdaBoost,
    columns: list[str],
    points: tuple[FloatArray, FloatArray],
    rows: NDArray[np.intp],
    most: int,
) -> list[dict[str, Any]]:
    sides = dict(zip(columns, (_padded_range(values) for values in points), strict=True))
    panels: list[dict[str, Any]] = []
    used: dict[str, list[float]] = {name: [] for name in columns}
    for at, (learned, rule) in enumerate(zip(model.rounds_, model.rules_, strict=True)):
        cuts = model.cut_points_[rule.column]
        threshold = rule.threshold or 0
        middle = float(cuts[threshold]) if threshold < len(cuts) else np.inf
        used[rule.column].append(middle)
        halves = [(-np.inf, middle, int(rule.answers[0]))]
        if np.isfinite(middle):
            halves.append((middle, np.inf, int(rule.answers[threshold + 1])))
        if at < most:
            panels.append(
                {
                    "title": f"round {at + 1}: ε {learned.epsilon:.3f}, α {learned.alpha:.3f}",
                    "words": learned.words,
                    "weights": model.weights_[at][rows].tolist(),
                    "regions": [_half(sides, rule.column, *half) for half in halves],
                }
            )
    panels.append(
        {
            "title": f"the vote of {len(model.rounds_)} rounds",
            "words": "weighted majority",
            "weights": None,
            "regions": _vote_regions(model, sides, used),
        }
    )
    return panels


def _half(
    sides: dict[str, tuple[float, float]], column: str, low: float, high: float, decided: int
) -> tuple[Any, ...]:
    """Return the rectangle on one side of a threshold, and its class."""
    ends: list[float] = []
    for name, (first, last) in sides.items():
        ends += [max(first, low), min(last, high)] if name == column else [first, last]
    return (*ends, decided)


def _vote_regions(
    model: AdaBoost, sides: dict[str, tuple[float, float]], used: dict[str, list[float]]
) -> list[tuple[Any, ...]]:
    """Return the final regions: between the thresholds that were used the vote does not change."""
    edges = []
    for name, (low, high) in sides.items():
        edges.append(np.unique([low, *(cut for cut in used[name] if low < cut < high), high]))
    middles = [(ends[:-1] + ends[1:]) / 2 for ends in edges]
    grid = np.array([(a, b) for a in middles[0] for b in middles[1]])
    votes = model.votes({name: grid[:, at] for at, name in enumerate(sides)})
    decided = votes.argmax(axis=1).reshape(len(middles[0]), -1)
    return [
        (edges[0][i], edges[0][i + 1], edges[1][j], edges[1][j + 1], int(decided[i, j]))
        for i, j in np.ndindex(decided.shape)
    ]
