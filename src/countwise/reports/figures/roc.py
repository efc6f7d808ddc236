"""ROC curves: the rate of hits over the rate of false alarms, one line per model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from countwise.reports.figures.axes import Scale, bottom_axis, left_axis, legend
from countwise.reports.figures.palette import HUES
from countwise.reports.figures.svg import drawing, label, line, path

#: Points of a line that are drawn at most.
_MAX_POINTS = 600
_SIDE, _LEFT = 340.0, 46.0


def roc_figure(curves: Sequence[Mapping[str, Any]], words: str, width: float = 460) -> str:
    """Draw curves in a square; `words` say what counts as a hit."""
    shown = curves[:HUES]
    names = [f"{curve['name']} (area {curve['area']:.3f})" for curve in shown]
    swatches, high = legend(names, width)
    side = min(_SIDE, width - _LEFT - 16)
    top, right = high + 12, _LEFT + side
    across, up = Scale(0, 1, _LEFT, right), Scale(0, 1, top + side, top)
    parts = [
        swatches,
        left_axis(up, _LEFT, right),
        bottom_axis(across, top + side, ends=(_LEFT, right)),
        line(across(0), up(0), across(1), up(1), "twig"),
    ]
    for place, curve in enumerate(shown):
        points = list(zip(curve["false_positive"], curve["true_positive"], strict=True))
        step = max(1, -(-len(points) // _MAX_POINTS))
        kept = [*points[:-1:step], points[-1]]
        parts.append(path([(across(x), up(y)) for x, y in kept], f"s{place}"))
    y = top + side
    below = "false positive rate (across), true positive rate (up)"
    parts.append(label(_LEFT, y + 34, below, size=11, classes="soft", room=width - _LEFT))
    parts.append(label(_LEFT, y + 50, words, size=11, classes="soft", room=width - _LEFT))
    more = len(curves) - len(shown)
    if more:
        parts.append(label(_LEFT, y + 66, f"… and {more} more models", size=11, classes="soft"))
    description = "; ".join(names)
    return drawing(width, y + (74 if more else 58), "ROC curves", description, *parts)
