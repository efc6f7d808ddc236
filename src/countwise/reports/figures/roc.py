"""ROC curves: the rate of hits over the rate of false alarms, one line per model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from countwise.reports.figures.axes import Scale, bottom_axis, left_axis, legend
from countwise.reports.figures.palette import HUES
from countwise.reports.figures.svg import drawing, label, line, path
from countwise.reports.sentences import interval_words

#: Points of a line that are drawn at most.
_MAX_POINTS = 600
_SIDE, _LEFT = 340.0, 46.0


def roc_figure(curves: Sequence[Mapping[str, Any]], words: str, width: float = 460) -> str:
    """Draw curves in a square; `words` say what counts as a hit."""
    shown = curves[:HUES]
    names = [f"{curve['name']} (AUC {interval_words(curve['auc'])})" for curve in shown]
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
    lines = ["false positive rate (across), true positive rate (up)", words]
    lines.append(f"AUC with its {100 * shown[0]['auc']['level']:g} % interval")
    if len(curves) > len(shown):
        lines.append(f"… and {len(curves) - len(shown)} more models")
    for at, text in enumerate(lines):
        below = y + 34 + 16 * at
        parts.append(label(_LEFT, below, text, size=11, classes="soft", room=width - _LEFT))
    bottom = y + 26 + 16 * len(lines)
    return drawing(width, bottom, "ROC curves", "; ".join(names), *parts)
