"""Which colour is which: a row of swatches with names, broken into lines to fit a width."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from countwise.reports.figures.lettering import shortened, width_of
from countwise.reports.figures.palette import HUES
from countwise.reports.figures.svg import drawing, label, line

_SIZE, _STEP, _GAP, _MARK = 12.0, 20.0, 18.0, 26.0


def legend(names: Sequence[str], width: float) -> tuple[str, float]:
    """Return the swatches as SVG and their height; the first name has the first colour."""
    return placed(
        names, width, lambda x, y, place: line(x, y + 10, x + 20, y + 10, f"s{place % HUES}")
    )


def placed(
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
