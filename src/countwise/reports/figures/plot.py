"""The frame of a plot: axes with round ticks, and what stands beside them."""

from __future__ import annotations

from countwise.reports.figures.lettering import width_of
from countwise.reports.figures.scales import Scale, tick_words, ticks
from countwise.reports.figures.svg import label, line


def bottom_axis(across: Scale, y: float, words: str = "", most: int = 6) -> str:
    """Return an axis below a plot, with ticks and what it shows."""
    parts = [line(across.start, y, across.stop, y, "axis")]
    marks, end = ticks(across.low, across.high, most), -1e9
    for mark, written in zip(marks, tick_words(marks), strict=True):
        x = across(mark)
        half = width_of(written, 11) / 2
        parts.append(line(x, y, x, y + 4, "axis"))
        if x - half < end + 6:
            continue
        parts.append(label(x, y + 16, written, size=11, anchor="middle", classes="soft"))
        end = x + half
    if words:
        middle = (across.start + across.stop) / 2
        room = abs(across.stop - across.start)
        parts.append(label(middle, y + 34, words, size=12, anchor="middle", room=room))
    return "".join(parts)


def left_axis(up: Scale, x: float, right: float | None = None, most: int = 5) -> str:
    """Return an axis left of a plot, with lines across it up to `right`."""
    marks = ticks(up.low, up.high, most)
    parts = []
    for mark, written in zip(marks, tick_words(marks), strict=True):
        y = up(mark)
        if right is not None:
            parts.append(line(x, y, right, y, "grid"))
        parts.append(label(x - 6, y + 4, written, size=11, anchor="end", classes="soft"))
    return "".join(parts)
