"""The rounds of boosting over two columns: rows as large as their weight, rules as regions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from countwise.reports.figures.legend import legend
from countwise.reports.figures.palette import HUES
from countwise.reports.figures.plot import bottom_axis
from countwise.reports.figures.scales import Scale, tick_words, ticks
from countwise.reports.figures.svg import circle, drawing, group, label, line, rect

_SIDE, _GAP, _HEAD, _FOOT, _LEFT = 196.0, 26.0, 40.0, 26.0, 38.0


def rounds_figure(facts: Mapping[str, Any], columns: int = 3) -> str:
    """Draw a panel a round, and the weighted vote of all of them last."""
    panels = facts["panels"]
    across = min(columns, len(panels))
    width = _LEFT + across * (_SIDE + _GAP) - _GAP + 8
    swatches, high = legend(facts["classes"], width)
    step = _HEAD + _SIDE + _FOOT + 14
    parts = [group(swatches)]
    for place, panel in enumerate(panels):
        x = _LEFT + (place % columns) * (_SIDE + _GAP)
        y = high + 6 + (place // columns) * step
        parts.append(group(_panel(facts, panel, place % columns == 0), x=x, y=y))
    lines = -(-len(panels) // columns)
    bottom = high + 6 + lines * step
    words = f"across: {facts['x'][0]}; up: {facts['y'][0]}"
    parts.append(label(_LEFT, bottom + 4, words, size=12, classes="soft", room=width - _LEFT))
    described = "; ".join(f"{own['title']}: {own['words']}" for own in panels)
    return drawing(width, bottom + 12, "Rounds of boosting", described, *parts)


def _panel(facts: Mapping[str, Any], panel: Mapping[str, Any], first: bool) -> str:
    """One round within its own corner: heading, regions, rows, axes."""
    across = _scale(facts["x"][1], 0.0, _SIDE)
    up = _scale(facts["y"][1], _HEAD + _SIDE, _HEAD)
    parts = [
        label(0, 14, panel["title"], size=12, bold=True, room=_SIDE),
        label(0, 31, panel["words"], size=11, classes="soft", room=_SIDE),
    ]
    for low, high, under, over, said in panel["regions"]:
        left, right = across(low), across(high)
        above, below = up(over), up(under)
        parts.append(rect(left, above, right - left, below - above, f"a{said % HUES}"))
    weights = panel["weights"]
    for place, (x, y, own) in enumerate(
        zip(facts["x"][1], facts["y"][1], facts["truth"], strict=True)
    ):
        # A row of the usual weight has the usual size, and area goes with weight.
        often = 1.0 if weights is None else weights[place] * len(weights)
        radius = min(max(2.8 * often**0.5, 1.1), 9.0)
        parts.append(circle(across(x), up(y), radius, f"dot c{own % HUES}"))
    parts.append(bottom_axis(across, _HEAD + _SIDE, most=4))
    parts.append(line(0, _HEAD, 0, _HEAD + _SIDE, "axis"))
    if first:
        marks = ticks(up.low, up.high, 4)
        for mark, written in zip(marks, tick_words(marks), strict=True):
            parts.append(label(-5, up(mark) + 4, written, size=11, anchor="end", classes="soft"))
    return "".join(parts)


def _scale(values: Sequence[float], start: float, stop: float) -> Scale:
    low, high = min(values), max(values)
    pad = 0.06 * (high - low) or 1.0
    return Scale(low - pad, high + pad, start, stop)
