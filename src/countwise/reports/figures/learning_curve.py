"""Learning curves: a score against the number of training rows, with bands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from countwise.reports.figures.axes import Scale, log_ticks, tick_words, ticks
from countwise.reports.figures.legend import legend
from countwise.reports.figures.palette import HUES
from countwise.reports.figures.svg import circle, drawing, group, label, line, path
from countwise.reports.figures.text_width import width_of
from countwise.reports.sentences import interval_words, score_words

#: With many lines only so many have a band.
BANDS = 3
_PLOT = 250.0


def curve_figure(curve: Mapping[str, Any], width: float = 680) -> str:
    """Draw a learning curve: one line an entry over a logarithmic axis, intervals as bands."""
    sizes, lines = curve["sizes"], curve["lines"][:HUES]
    names, high = legend([own["name"] for own in lines], width)
    top = high + 10
    ends = [
        point[key]
        for own in lines
        for point in own["points"]
        for key in ("low", "value", "high")
        if point[key] is not None
    ] or [0.0, 1.0]
    low, most = min(ends), max(ends)
    pad = 0.04 * (most - low) or 0.05
    if curve["score"] in ("accuracy", "balanced_accuracy"):
        low, most = max(low - pad, 0.0), min(most + pad, 1.0)
    else:
        low, most = low - pad, most + pad
    marks = ticks(low, most, 5)
    words = tick_words(marks)
    left = max(width_of(own, 11) for own in words) + 8
    up = Scale(low, most, top + _PLOT, top)
    across = Scale(sizes[0], sizes[-1], left + 6, width - 16, log=sizes[0] > 0)
    parts = [group(names)]
    for mark, written in zip(marks, words, strict=True):
        y = up(mark)
        parts.append(line(left, y, width - 8, y, "grid"))
        parts.append(label(left - 5, y + 4, written, size=11, anchor="end", classes="soft"))
    parts += _bottom(across, top + _PLOT, left, width)
    parts += _lines(sizes, lines, across, up)
    title = f"{score_words(curve['score'])} by training rows"
    described = "; ".join(
        f"{own['name']}: {interval_words(own['points'][-1])} with {sizes[-1]} rows" for own in lines
    )
    return drawing(width, top + _PLOT + 44, title, described, *parts)


def _bottom(across: Scale, y: float, left: float, width: float) -> list[str]:
    parts = [line(left, y, width - 8, y, "axis")]
    marks = log_ticks(across, 11) if across.high > across.low else [across.low]
    for mark, written in zip(marks, tick_words(marks), strict=True):
        x = across(mark)
        half = width_of(written, 11) / 2
        parts.append(line(x, y, x, y + 4, "axis"))
        parts.append(
            label(min(x, width - half), y + 17, written, size=11, anchor="middle", classes="soft")
        )
    words = "training rows (logarithmic)"
    parts.append(label(left, y + 36, words, size=11, classes="soft"))
    return parts


def _lines(
    sizes: Sequence[float], lines: Sequence[Mapping[str, Any]], across: Scale, up: Scale
) -> list[str]:
    bands, strokes = [], []
    # Bands of many lines hide each other: then only those of the first few are drawn.
    banded = len(lines) if len(lines) <= BANDS + 1 else BANDS
    for place, own in enumerate(lines):
        known = [
            (across(size), point)
            for size, point in zip(sizes, own["points"], strict=True)
            if point["value"] is not None
        ]
        sure = [(x, point) for x, point in known if point["low"] is not None]
        if len(sure) > 1 and place < banded:
            upper = [(x, up(point["high"])) for x, point in sure]
            lower = [(x, up(point["low"])) for x, point in reversed(sure)]
            bands.append(path([*upper, *lower], f"a{place}", closed=True))
        strokes.append(path([(x, up(point["value"])) for x, point in known], f"s{place}"))
        strokes += [
            circle(x, up(point["value"]), 3, f"c{place}", f"{own['name']}, {interval_words(point)}")
            for x, point in known
        ]
    return [*bands, *strokes]
