"""Points by class: a colour and a shape each, for those who do not see the colours apart."""

from __future__ import annotations

from collections.abc import Sequence

from countwise.reports.figures.legend import placed
from countwise.reports.figures.palette import HUES
from countwise.reports.figures.svg import circle, element, number, rect, tip

_SIZE = 3.0


def mark(x: float, y: float, place: int, words: str = "") -> str:
    """Return the point of a class: disc, square, triangle or diamond, in the class' colour."""
    colour = f"c{place % HUES}"
    shape = place % 4
    if shape == 0:
        return circle(x, y, _SIZE, colour, words)
    if shape == 1:
        side = 1.8 * _SIZE
        return rect(x - side / 2, y - side / 2, side, side, colour, words)
    size = 1.3 * _SIZE
    corners = [(0, -size), (size, 0.8 * size), (-size, 0.8 * size)]
    if shape == 3:
        corners = [(0, -size), (size, 0), (0, size), (-size, 0)]
    steps = " ".join(f"{number(x + dx)} {number(y + dy)}" for dx, dy in corners)
    return element("path", tip(words), d=f"M{steps}Z", class_=colour)


def mark_legend(names: Sequence[str], width: float) -> tuple[str, float]:
    """Return which point and which ground belong to which name, and the height of it all."""

    def swatch(x: float, y: float, place: int) -> str:
        return rect(x, y + 3, 20, 14, f"a{place % HUES}") + mark(x + 10, y + 10, place)

    return placed(names, width, swatch)
