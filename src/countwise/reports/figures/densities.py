"""Numeric attributes by class: the densities a model multiplies, a panel an attribute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from countwise.reports.figures.axes import Scale, tick_words, ticks
from countwise.reports.figures.legend import legend
from countwise.reports.figures.palette import HUES
from countwise.reports.figures.svg import drawing, group, label, line, path
from countwise.reports.figures.text_width import width_of
from countwise.reports.sentences import short

PANEL = 340.0
_HEAD, _PLOT, _FOOT = 24.0, 104.0, 22.0


def density_panel(
    attribute: Mapping[str, Any], classes: Sequence[str], width: float = PANEL
) -> str:
    """Draw the densities of one numeric attribute, one line a class."""
    described = "; ".join(
        f"{name}: mean {_figure(mean)}, deviation {_figure(deviation)}"
        for name, mean, deviation in zip(
            classes, attribute["mean"], attribute["deviation"], strict=True
        )
    )
    title = f"Densities of {attribute['name']}"
    return drawing(width, _HEAD + _PLOT + _FOOT, title, described, _panel(attribute, width))


def density_table(model: Mapping[str, Any], columns: int = 3, width: float = PANEL) -> str:
    """Draw the panels of all numeric attributes as one figure under one legend."""
    panels = model["numeric"]
    across = min(columns, max(len(panels), 1))
    whole = (width + 24) * across - 24
    names, y = legend(model["drawn"], whole)
    parts, y = [names], y + 8
    for start in range(0, len(panels), columns):
        for at, attribute in enumerate(panels[start : start + columns]):
            parts.append(group(_panel(attribute, width), x=(width + 24) * at, y=y))
        y += _HEAD + _PLOT + _FOOT + 14
    described = f"Densities of {len(panels)} numeric attributes by class."
    return drawing(whole, y, "Numeric attributes", described, *parts)


def _figure(figure: float | None) -> str:
    return "not known" if figure is None else f"{figure:.4g}"


def _panel(attribute: Mapping[str, Any], width: float) -> str:
    told = f"{short(attribute['bits'])} bit"
    room = width - width_of(told, 11) - 12
    x = attribute["x"]
    across = Scale(x[0], x[-1], 4, width - 4)
    peaks = sorted(max(own) for own in attribute["density"])
    # A class whose values hardly vary is a spike; it must not flatten all the others.
    top = min(peaks[-1], 3 * peaks[len(peaks) // 2]) or 1.0
    up = Scale(0, top, _HEAD + _PLOT, _HEAD + 4)
    parts = [
        label(0, 14, attribute["name"], room=room, size=13, bold=True),
        label(width, 14, told, size=11, anchor="end", classes="soft"),
    ]
    areas, lines = [], []
    for place, own in enumerate(attribute["density"]):
        points = [(across(at), up(figure)) for at, figure in zip(x, own, strict=True)]
        closed = [(across(x[0]), up(0)), *points, (across(x[-1]), up(0))]
        areas.append(path(closed, f"a{place % HUES}", closed=True))
        lines.append(path(points, f"s{place % HUES}"))
    return "".join([*parts, *areas, *lines, *_axis(across, width)])


def _axis(across: Scale, width: float) -> list[str]:
    y = _HEAD + _PLOT
    parts = [line(4, y, width - 4, y, "axis")]
    marks = ticks(across.low, across.high, 4)
    end = -10.0
    for mark, words in zip(marks, tick_words(marks), strict=True):
        half = width_of(words, 11) / 2
        x = min(max(across(mark), half), width - half)
        parts.append(line(across(mark), y, across(mark), y + 4, "axis"))
        if x - half < end + 6:
            continue
        parts.append(label(x, y + 16, words, size=11, anchor="middle", classes="soft"))
        end = x + half
    return parts
