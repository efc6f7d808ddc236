"""One panel per attribute: probabilities by class and value, densities, cut points.

In a table of probabilities color is probability (Smart, Leh and Marsh, fig. 2): with few classes
a line a value and a column a class, with many classes the other way round.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from countwise.reports.figures.axes import Scale, bottom_axis, date_marks, legend, tick_label
from countwise.reports.figures.cell_grid import Cell, Grid
from countwise.reports.figures.palette import HUES, shade
from countwise.reports.figures.svg import (
    drawing,
    group,
    height_of,
    label,
    line,
    path,
    rect,
    width_of,
)
from countwise.reports.sentences import counted, short

#: With more classes than these a panel has a line a class and a column a value.
MANY_CLASSES = 5
PANEL = 340.0
_HEAD, _PLOT, _FOOT, _GAP = 24.0, 104.0, 22.0, 24.0
_BOTTOM = _HEAD + _PLOT


def panel_page(
    title: str,
    description: str,
    panels: Sequence[tuple[str, float]],
    columns: int = 3,
    names: Sequence[str] = (),
) -> str:
    """Draw panels, each with its height, so many side by side, under one legend of `names`."""
    whole = (PANEL + _GAP) * min(columns, max(len(panels), 1)) - _GAP
    swatches, y = legend(names, whole) if names else ("", -8.0)
    parts, y = [swatches], y + 8
    for start in range(0, len(panels), columns):
        row = panels[start : start + columns]
        parts += [group(body, x=(PANEL + _GAP) * at, y=y) for at, (body, _) in enumerate(row)]
        y += max(height for _, height in row) + 16
    return drawing(whole, max(y - 16, 1), title, description, *parts)


def _heading(attribute: Mapping[str, Any]) -> str:
    bits = f"{short(attribute['bits'])} bit"
    room = PANEL - width_of(bits, 11) - 12
    return label(0, 14, attribute["name"], room=room, size=13, bold=True) + label(
        PANEL, 14, bits, size=11, anchor="end", classes="soft"
    )


def probability_panel(
    attribute: Mapping[str, Any], classes: Sequence[str], tips: bool = True
) -> str:
    """Draw P(value | class) of one nominal attribute."""
    body, height = _probabilities(attribute, classes, tips)
    description = (
        f"P(value | class) of {attribute['name']} for {len(classes)} classes and "
        f"{len(attribute['levels'])} values; {short(attribute['bits'], 2)} bits of information "
        "about the class."
    )
    return drawing(PANEL, height, f"Probabilities of {attribute['name']}", description, body)


def probability_table(view: Mapping[str, Any]) -> str:
    """Draw P(value | class) of all nominal attributes as one figure."""
    panels = [_probabilities(table, view["classes"]) for table in view["tables"]]
    description = f"{len(panels)} attributes by class and value; color is probability."
    panels.insert(0, _prior(view))
    return panel_page("Probability tables", description, panels)


def prior_panel(view: Mapping[str, Any]) -> str:
    """Draw the probability of each class before any evidence."""
    body, height = _prior(view)
    description = f"P(class) of {len(view['classes'])} classes, before any evidence."
    return drawing(PANEL, height, "Class prior", description, body)


def _prior(view: Mapping[str, Any]) -> tuple[str, float]:
    classes, what = view["classes"], ["P(class)"]
    cells = [Cell(f"q{shade(fraction)}", (f"{fraction:.2f}",), "") for fraction in view["prior"]]
    if len(classes) <= MANY_CLASSES:
        grid = _lay_out(what, classes, [cells], 21.0, 11.0)
    else:
        grid = _lay_out(classes, what, [[cell] for cell in cells], 14.0, 10.0)
    return label(0, 14, "Class prior", size=13, bold=True) + grid.draw(), grid.bottom + 2


def _probabilities(
    attribute: Mapping[str, Any], classes: Sequence[str], tips: bool = True
) -> tuple[str, float]:
    levels = attribute["levels"]
    by_class = [
        [_probability(attribute, place, level, classes, tips) for level in range(len(levels))]
        for place in range(len(classes))
    ]
    if len(classes) <= MANY_CLASSES:
        by_level = list(zip(*by_class, strict=True))
        grid = _lay_out(levels, classes, by_level, 21.0, 11.0)
    else:
        grid = _lay_out(classes, levels, by_class, 14.0, 10.0)
    body, height = _heading(attribute) + grid.draw(), grid.bottom + 2
    if attribute["more_levels"]:
        words = f"… and {attribute['more_levels']} more values"
        body += label(0, height + 12, words, size=11, classes="soft", room=PANEL)
        height += 18
    return body, height


def _probability(
    attribute: Mapping[str, Any], place: int, level: int, classes: Sequence[str], tips: bool
) -> Cell:
    probability = attribute["probabilities"][place][level]
    rows = counted(attribute["counts"][place][level])
    words = f"{attribute['levels'][level]} in {classes[place]}: {probability:.3f}, {rows} rows"
    return Cell(f"q{shade(probability)}", (f"{probability:.2f}",), words if tips else "")


def _lay_out(
    rows: Sequence[str],
    columns: Sequence[str],
    cells: Sequence[Sequence[Cell]],
    pitch: float,
    size: float,
) -> Grid:
    left = min(max(width_of(name, size) for name in rows) + 8, 0.42 * PANEL)
    step = min(64.0, (PANEL - left) / len(columns))
    longest = max(width_of(name, size) for name in columns)
    upright = longest > step - 4 and len(rows) > 2 and step < 40
    head = min(longest + 4, 76.0) if upright else height_of(size) + 2
    top = _HEAD + head
    return Grid(
        rows, columns, cells, left, top, step, pitch, size, (size,), left - 8, head, upright, "soft"
    )


def density_panel(attribute: Mapping[str, Any], classes: Sequence[str]) -> str:
    """Draw the densities of one numeric attribute, one line a class."""
    body, height = _densities(attribute)
    moments = zip(classes, attribute["mean"], attribute["deviation"], strict=True)
    description = "; ".join(
        f"{name}: mean {_moment(mean)}, deviation {_moment(deviation)}"
        for name, mean, deviation in moments
    )
    return drawing(PANEL, height, f"Densities of {attribute['name']}", description, body)


def density_table(view: Mapping[str, Any]) -> str:
    """Draw the densities of all numeric attributes as one figure."""
    panels = [_densities(attribute) for attribute in view["columns"]]
    description = f"Densities of {len(panels)} numeric attributes by class."
    return panel_page("Numeric attributes", description, panels, names=with_priors(view))


def with_priors(view: Mapping[str, Any]) -> list[str]:
    """Return the names of the classes, each with its probability before any evidence."""
    pairs = zip(view["classes"], view["prior"], strict=True)
    return [f"{name} (prior {fraction:.2f})" for name, fraction in pairs]


def _moment(value: float | None) -> str:
    return "not known" if value is None else f"{value:.4g}"


def _densities(attribute: Mapping[str, Any]) -> tuple[str, float]:
    x = attribute["x"]
    across = Scale(x[0], x[-1], 4, PANEL - 4)
    up = _limited_scale([max(density) for density in attribute["density"]], _HEAD + 4)
    areas, lines = [], []
    for place, density in enumerate(attribute["density"]):
        points = [(across(at), up(value)) for at, value in zip(x, density, strict=True)]
        closed = [(across(x[0]), up(0)), *points, (across(x[-1]), up(0))]
        areas.append(path(closed, f"a{place % HUES}", closed=True))
        lines.append(path(points, f"s{place % HUES}"))
    marks = date_marks(across, 4) if attribute["dates"] else None
    axis = bottom_axis(across, _BOTTOM, most=4, marks=marks, width=PANEL)
    return "".join([_heading(attribute), *areas, *lines, axis]), _BOTTOM + _FOOT


def _limited_scale(peaks: Sequence[float], top: float) -> Scale:
    """A scale up to the highest peak, unless it is so high that it would flatten all others."""
    ordered = sorted(peaks)
    highest = min(ordered[-1], 3 * ordered[len(ordered) // 2]) or 1.0
    return Scale(0, highest, _BOTTOM, top)


def cut_panel(column: Mapping[str, Any], classes: Sequence[str]) -> str:
    """Draw where one column is cut, and the class densities between the cut points."""
    panels = [_cuts(column, classes)]
    description = ", ".join(column["levels"])
    return panel_page(f"Cuts of {column['name']}", description, panels, 1, classes)


def cut_table_figure(
    columns: Sequence[Mapping[str, Any]], classes: Sequence[str], across: int = 3
) -> str:
    """Draw where all columns are cut as one figure."""
    panels = [_cuts(column, classes) for column in columns]
    description = f"Where {len(columns)} columns are cut, and the class densities in their levels."
    return panel_page("Cuts by column", description, panels, across, classes)


def _cuts(column: Mapping[str, Any], classes: Sequence[str]) -> tuple[str, float]:
    body = _level_bars(column, classes) if column["spans"] is None else _spans(column, classes)
    return _heading(column) + body, _BOTTOM + _FOOT


def _spans(column: Mapping[str, Any], classes: Sequence[str]) -> str:
    """Numbers: rectangles over the width of levels, as high as rows are dense, stacked by class."""
    spans = column["spans"]
    weights = column["weights"][: len(spans)]
    across = Scale(spans[0][0], spans[-1][1], 4, PANEL - 4)
    total = sum(map(sum, weights)) or 1.0
    least = 1e-9 * (spans[-1][1] - spans[0][0])
    densities = [
        sum(weight) / total / max(high - low, least)
        for weight, (low, high) in zip(weights, spans, strict=True)
    ]
    up = _limited_scale(densities, _HEAD + 6)
    parts = []
    for at, (low, high) in enumerate(spans):
        x, height = across(low), _BOTTOM - up(densities[at])
        parts += _stack(column, at, classes, x, across(high) - x, height)
    parts += [line(across(low), _HEAD + 2, across(low), _BOTTOM, "axis") for low, _ in spans[1:]]
    parts += [
        line(across(cut), _BOTTOM, across(cut), _BOTTOM - 7, "grid") for cut in column["start"]
    ]
    return "".join([*parts, bottom_axis(across, _BOTTOM, most=5, width=PANEL)])


def _level_bars(column: Mapping[str, Any], classes: Sequence[str]) -> str:
    """Words: one bar a level, as high as it is frequent, stacked by class."""
    totals = [sum(weights) for weights in column["weights"]]
    most, step = max(totals) or 1.0, (PANEL - 8) / len(totals)
    parts = []
    for at, total in enumerate(totals):
        x, height = 4 + at * step, (_PLOT - 6) * total / most
        parts += _stack(column, at, classes, x + 1, max(step - 2, 0.5), height)
        if step > 26:
            parts.append(tick_label(x + step / 2, _BOTTOM + 15, column["levels"][at], step - 4))
    return "".join([*parts, line(4, _BOTTOM, PANEL - 4, _BOTTOM, "axis")])


def _stack(
    column: Mapping[str, Any],
    at: int,
    classes: Sequence[str],
    x: float,
    width: float,
    height: float,
) -> list[str]:
    """One bar of a level, its height shared by the classes that have a hue."""
    weights, level = column["weights"][at], column["levels"][at]
    total, y, parts = sum(weights) or 1.0, _BOTTOM, []
    for place, weight in enumerate(weights[:HUES]):
        part = height * weight / total
        y -= part
        if part > 0.05:
            words = f"{level}: {weight:,.0f} rows of {classes[place]}"
            parts.append(rect(x, y, width, part, f"c{place}", words))
    return parts
