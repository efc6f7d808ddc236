"""Points by class: a colour and a shape each, for those who do not see the colours apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from countwise.reports.figures.palette import HUES
from countwise.reports.figures.svg import circle, drawing, element, label, line, number, rect, tip
from countwise.reports.figures.text_width import shortened, width_of

_MARK_SIZE = 3.0


def mark(x: float, y: float, place: int, words: str = "") -> str:
    """Return the point of a class: disc, square, triangle or diamond, in the class' colour."""
    colour = f"c{place % HUES}"
    shape = place % 4
    if shape == 0:
        return circle(x, y, _MARK_SIZE, colour, words)
    if shape == 1:
        side = 1.8 * _MARK_SIZE
        return rect(x - side / 2, y - side / 2, side, side, colour, words)
    size = 1.3 * _MARK_SIZE
    corners = [(0, -size), (size, 0.8 * size), (-size, 0.8 * size)]
    if shape == 3:
        corners = [(0, -size), (size, 0), (0, size), (-size, 0)]
    steps = " ".join(f"{number(x + dx)} {number(y + dy)}" for dx, dy in corners)
    return element("path", tip(words), d=f"M{steps}Z", class_=colour)


def mark_legend(names: Sequence[str], width: float) -> tuple[str, float]:
    """Return which point and which ground belong to which name, and the height of it all."""

    def swatch(x: float, y: float, place: int) -> str:
        return rect(x, y + 3, 20, 14, f"a{place % HUES}") + mark(x + 10, y + 10, place)

    return place_names(names, width, swatch)


_SIZE, _STEP, _GAP, _MARK = 12.0, 20.0, 18.0, 26.0


def legend(names: Sequence[str], width: float) -> tuple[str, float]:
    """Return the swatches as SVG and their height; the first name has the first colour."""
    return place_names(
        names, width, lambda x, y, place: line(x, y + 10, x + 20, y + 10, f"s{place % HUES}")
    )


def place_names(
    names: Sequence[str], width: float, swatch: Callable[[float, float, int], str]
) -> tuple[str, float]:
    """Put names beside what `swatch` draws 20 pixels wide at x, y for each, in lines."""
    x, y, parts = 0.0, 0.0, []
    for place, name in enumerate(names):
        room = width - _MARK
        shown = shortened(name, room, _SIZE)
        needs = _MARK + width_of(shown, _SIZE)
        if x > 0 and x + needs > width:
            x, y = 0.0, y + _STEP
        parts.append(swatch(x, y, place))
        parts.append(label(x + _MARK, y + 14, name, room=room, size=_SIZE))
        x += needs + _GAP
    return "".join(parts), y + _STEP


def legend_figure(names: Sequence[str], width: float = 340) -> str:
    """Return the swatches as a figure of their own."""
    parts, height = legend(names, width)
    described = f"Colours of {', '.join(names)}."
    return drawing(width, height, "Legend", described, parts)
