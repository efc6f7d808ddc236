"""Legends, and marks for the rows of a class: a color and a shape each, for the color-blind."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from countwise.reports.figures.palette import HUES
from countwise.reports.figures.svg import (
    circle,
    drawing,
    element,
    label,
    line,
    number,
    rect,
    shortened,
    tip,
    width_of,
)

_SIZE, _STEP, _GAP, _SWATCH = 12.0, 20.0, 18.0, 26.0
_RADIUS = 3.0


def legend(names: Sequence[str], width: float) -> tuple[str, float]:
    """Return names beside the lines of their colors, and the height of it all."""
    return place_names(
        names, width, lambda x, y, place: line(x, y + 10, x + 20, y + 10, f"s{place % HUES}")
    )


def legend_figure(names: Sequence[str], width: float = 340) -> str:
    """Draw a legend as a figure of its own."""
    parts, height = legend(names, width)
    return drawing(width, height, "Legend", f"Colors of {', '.join(names)}.", parts)


def mark_legend(names: Sequence[str], width: float) -> tuple[str, float]:
    """Return names beside their marks and grounds, and the height of it all."""

    def swatch(x: float, y: float, place: int) -> str:
        return rect(x, y + 3, 20, 14, f"a{place % HUES}") + mark(x + 10, y + 10, place)

    return place_names(names, width, swatch)


def mark(x: float, y: float, place: int, words: str = "") -> str:
    """Return the mark of a class: disc, square, triangle or diamond, in the color of the class."""
    color, shape = f"c{place % HUES}", place % 4
    if shape == 0:
        return circle(x, y, _RADIUS, color, words)
    if shape == 1:
        side = 1.8 * _RADIUS
        return rect(x - side / 2, y - side / 2, side, side, color, words)
    size = 1.3 * _RADIUS
    corners = [(0, -size), (size, 0.8 * size), (-size, 0.8 * size)]
    if shape == 3:
        corners = [(0, -size), (size, 0), (0, size), (-size, 0)]
    steps = " ".join(f"{number(x + dx)} {number(y + dy)}" for dx, dy in corners)
    return element("path", tip(words), d=f"M{steps}Z", class_=color)


def place_names(
    names: Sequence[str], width: float, swatch: Callable[[float, float, int], str]
) -> tuple[str, float]:
    """Put names in lines, each beside what `swatch` draws 20 pixels wide at x and y."""
    x, y, room, parts = 0.0, 0.0, width - _SWATCH, []
    for place, name in enumerate(names):
        needs = _SWATCH + width_of(shortened(name, room, _SIZE), _SIZE)
        if x > 0 and x + needs > width:
            x, y = 0.0, y + _STEP
        parts.append(swatch(x, y, place))
        parts.append(label(x + _SWATCH, y + 14, name, room=room, size=_SIZE))
        x += needs + _GAP
    return "".join(parts), y + _STEP
