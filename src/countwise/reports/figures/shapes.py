"""The shapes of columns in an additive model: curves with steps and bands, or dots by level."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from countwise.reports.figures.axes import (
    Scale,
    bottom_axis,
    date_marks,
    left_axis,
    padded_range,
    tick_room,
)
from countwise.reports.figures.palette import HUES
from countwise.reports.figures.panels import PANEL, panel_page
from countwise.reports.figures.svg import circle, drawing, label, line, path, width_of
from countwise.reports.sentences import percent, signed

_HEAD, _PLOT, _FOOT, _PITCH = 24.0, 116.0, 22.0, 18.0
#: A band reaches this many standard errors to both sides.
_ERRORS = 2.0


def shape_panel(shape: Mapping[str, Any], classes: Sequence[str]) -> str:
    """Draw what the values of one column add to the log-odds."""
    title, panels = f"Shape of {shape['name']}", [_shape(shape, classes)]
    return panel_page(title, _describe(shape, classes), panels, 1, _names(classes))


def shape_table(view: Mapping[str, Any]) -> str:
    """Draw the shapes of all columns as one figure."""
    classes = view["classes"]
    panels = [_shape(shape, classes) for shape in view["columns"]]
    words = f"What the values of {len(panels)} columns add to the log-odds."
    return panel_page("Shapes of the columns", words, panels, names=_names(classes))


def single_shape(shape: Mapping[str, Any], classes: Sequence[str]) -> str:
    """Draw the shape of one column without a legend."""
    body, height = _shape(shape, classes)
    return drawing(PANEL, height, f"Shape of {shape['name']}", _describe(shape, classes), body)


def _names(classes: Sequence[str]) -> Sequence[str]:
    """The names of a legend; it says what the figures of a single line are."""
    return classes if len(classes) > 1 else [f"log-odds of {name}" for name in classes]


def _describe(shape: Mapping[str, Any], classes: Sequence[str]) -> str:
    of = f"log-odds of {classes[0]}" if len(classes) == 1 else "scores of the classes"
    values = [value for row in shape["added"] for value in row]
    return (
        f"{shape['name']} adds from {signed(min(values, default=0.0))} to "
        f"{signed(max(values, default=0.0))} to the {of}; {percent(shape['share'])} of all terms."
    )


def _shape(shape: Mapping[str, Any], classes: Sequence[str]) -> tuple[str, float]:
    note = f"{percent(shape['share'])} of all terms"
    room = PANEL - width_of(note, 11) - 12
    head = label(0, 14, shape["name"], room=room, size=13, bold=True)
    head += label(PANEL, 14, note, size=11, anchor="end", classes="soft")
    draw = _dots if shape["edges"] is None else _steps
    body, height = draw(shape, classes)
    words = []
    if shape["missing"] is not None and len(classes) == 1:
        words.append(f"missing {signed(shape['missing'][0])}")
    if shape["more_levels"]:
        words.append(f"{shape['more_levels']} more levels are rarer")
    if words:
        body += label(0, height + 12, "; ".join(words), size=11, classes="soft", room=PANEL)
        height += 18
    return head + body, height


def _ends(shape: Mapping[str, Any]) -> tuple[float, float]:
    """The range of the figures with their bands, zero included."""
    values = [0.0]
    for at, row in enumerate(shape["added"]):
        for place, value in enumerate(row):
            error = _ERRORS * _error(shape, at, place)
            values += [value - error, value + error]
    return padded_range(values, 0.05)


def _error(shape: Mapping[str, Any], at: int, place: int) -> float:
    return float(shape["errors"][at][place]) if shape["errors"] else 0.0


def _steps(shape: Mapping[str, Any], classes: Sequence[str]) -> tuple[str, float]:
    """Numbers: a line with steps for each class, and a band around it."""
    low, high = _ends(shape)
    left, bottom = tick_room(low, high, 4) + 8, _HEAD + _PLOT
    edges = shape["edges"]
    across = Scale(edges[0], edges[-1], left, PANEL - 4)
    up = Scale(low, high, bottom, _HEAD + 4)
    parts = [left_axis(up, left, PANEL - 4, 4), line(left, up(0), PANEL - 4, up(0), "axis")]
    bands, lines = [], []
    for place in range(len(classes)):
        points, above, below = [], [], []
        for at, (start, stop) in enumerate(pairwise(edges)):
            value, error = shape["added"][at][place], _ERRORS * _error(shape, at, place)
            for x in (across(start), across(stop)):
                points.append((x, up(value)))
                above.append((x, up(value + error)))
                below.append((x, up(value - error)))
        if shape["errors"]:
            bands.append(path([*above, *reversed(below)], f"a{place % HUES}", closed=True))
        lines.append(path(points, f"s{place % HUES}"))
    marks = date_marks(across, 4) if shape["dates"] else None
    axis = bottom_axis(across, bottom, most=4, marks=marks, width=PANEL)
    return "".join([*parts, *bands, *lines, axis]), bottom + _FOOT


def _dots(shape: Mapping[str, Any], classes: Sequence[str]) -> tuple[str, float]:
    """Levels: a line each, with a dot and a whisker for each class."""
    levels = shape["levels"]
    low, high = _ends(shape)
    longest = max((width_of(name, 11) for name in levels), default=0.0)
    left = min(longest + 10, 0.42 * PANEL)
    bottom = _HEAD + _PITCH * len(levels) + 4
    across = Scale(low, high, left, PANEL - 6)
    parts = [line(across(0), _HEAD, across(0), bottom, "axis")]
    for at, name in enumerate(levels):
        y = _HEAD + _PITCH * (at + 0.5)
        parts.append(label(left - 8, y + 4, name, room=left - 10, size=11, anchor="end"))
        parts.append(line(left, y, PANEL - 6, y, "grid"))
        for place in range(len(classes)):
            value, error = shape["added"][at][place], _ERRORS * _error(shape, at, place)
            if error and len(classes) == 1:
                parts.append(line(across(value - error), y, across(value + error), y, "faint"))
            words = f"{name}, {classes[place]}: {signed(value)}"
            parts.append(circle(across(value), y, 4, f"c{place % HUES}", words))
    axis = bottom_axis(across, bottom, most=4, width=PANEL)
    return "".join([*parts, axis]), bottom + _FOOT
