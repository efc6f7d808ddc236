"""Bars, intervals and small curves made of characters, for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

#: Columns of growing height.
STEPS = "▁▂▃▄▅▆▇█"


def interval_bar(
    low: float, value: float, high: float, least: float, most: float, *, width: int
) -> str:
    """Draw an interval on a scale from `least` to `most`."""
    span = most - least
    if value < least or value > most:
        return "◂".ljust(width) if value < least else "▸".rjust(width)

    def place(figure: float) -> int:
        share = (figure - least) / span if span > 0 else 0.5
        return round(min(max(share, 0.0), 1.0) * (width - 1))

    cells = [" "] * width
    if low == low and high == high:
        for at in range(place(low), place(high) + 1):
            cells[at] = "─"
        cells[place(low)], cells[place(high)] = "├", "┤"
    if value == value:
        cells[place(value)] = "●"
    return "".join(cells)


def share_bar(share: float, width: int) -> str:
    """Draw a share of one."""
    return "█" * max(round(share * width), 1 if share > 0 else 0)


def two_sided_bar(figure: float, most: float, width: int) -> str:
    """Draw a figure to the left of the middle if it is negative, to the right if positive."""
    size = round(min(abs(figure) / most, 1.0) * width) if most > 0 else 0
    left = "█" * size if figure < 0 else ""
    right = "█" * size if figure > 0 else ""
    return f"{left:>{width}}│{right:<{width}}"


def sparkline(values: Sequence[float]) -> str:
    """Draw a line of small columns."""
    known = [value for value in values if value == value]
    if not known:
        return ""
    low, span = min(known), max(known) - min(known)
    steps = [(value - low) / span if span > 0 else 0.0 for value in values]
    top = len(STEPS) - 1
    return "".join(" " if step != step else STEPS[int(step * top + 0.5)] for step in steps)
