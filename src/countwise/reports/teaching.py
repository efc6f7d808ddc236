"""Pictures that explain an idea on data of one's own: two sigmoids, the least error, rounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from countwise.errors import ParameterError, TableError, listing
from countwise.posteriors.bayes_error import bayes_error, boundaries
from countwise.posteriors.boosting import AdaBoost
from countwise.posteriors.linear import Logistic
from countwise.posteriors.naive_bayes import NaiveBayes
from countwise.reports.figures.least_error import least_error_figure
from countwise.reports.figures.rounds import rounds_figure
from countwise.reports.figures.sigmoids import sigmoid_figure
from countwise.reports.picture import Picture
from countwise.reports.plain import names
from countwise.tables.read import read
from countwise.tables.table import Table

Doubles = NDArray[np.float64]

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
    discriminative = Logistic(penalty=1e-6).fit(*pair).predict_proba(x[:, None])[:, 1]
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


def _some(values: Doubles) -> list[float]:
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
    if not isinstance(model, AdaBoost) or model.base is not None or weights is None:
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
    model: AdaBoost, columns: list[str], x: Doubles, y: Doubles, rows: Any, most: int
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


def _reach(values: Doubles) -> tuple[float, float]:
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
