"""Scores with their intervals, a line an entry, the best on top."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from countwise.reports.figures.axes import Scale, tick_words, ticks
from countwise.reports.figures.svg import circle, drawing, label, line
from countwise.reports.figures.text_width import width_of
from countwise.reports.sentences import interval_words, score_words, short

_AXIS = 11.0


def ranking_figure(ranking: Mapping[str, Any], score: str | None = None, width: float = 680) -> str:
    """Draw the entries of a ranking as dots on their intervals."""
    what = score or ranking["ranked_by"]
    lines = [own for own in ranking["entries"] if own["scores"][what]["value"] is not None]
    stacked = width < 480
    scale, left = _scale(lines, what, width, stacked)
    pitch, top = (44.0, 4.0) if stacked else (32.0, 4.0)
    bottom = top + pitch * len(lines)
    parts = _axis(scale, what, top, bottom, width)
    for place, own in enumerate(lines):
        parts += _entry(own, what, scale, top + pitch * place, left, width, stacked)
    title = f"{score_words(what)} of {len(lines)} entries"
    described = "; ".join(f"{own['name']}: {interval_words(own['scores'][what])}" for own in lines)
    return drawing(width, bottom + 40, title, described, *parts)


def _scale(
    lines: Sequence[Mapping[str, Any]], what: str, width: float, stacked: bool
) -> tuple[Scale, float]:
    ends: list[float] = []
    for own in lines:
        figures = own["scores"][what]
        ends += [figures[key] for key in ("low", "value", "high") if figures[key] is not None]
    low, high = (min(ends), max(ends)) if ends else (0.0, 1.0)
    pad = 0.06 * (high - low) or 0.05
    low, high = low - pad, high + pad
    if what in ("accuracy", "balanced_accuracy"):
        low, high = max(low, 0.0), min(high, 1.0)
    longest = max((width_of(own["name"], 13, True) for own in lines), default=0.0)
    left = 12.0 if stacked else min(longest + 14, 0.36 * width)
    aside = max((width_of(_aside(own, what), 12) for own in lines), default=0.0)
    right = 12.0 if stacked else aside + 16
    return Scale(low, high, left + 6, width - right), left


def _aside(own: Mapping[str, Any], what: str) -> str:
    return interval_words(own["scores"][what], brief=True)


def _axis(scale: Scale, what: str, top: float, bottom: float, width: float) -> list[str]:
    marks = ticks(scale.low, scale.high, 5 if width < 480 else 7)
    parts = []
    for mark, words in zip(marks, tick_words(marks), strict=True):
        x = scale(mark)
        parts.append(line(x, top, x, bottom, "grid"))
        parts.append(label(x, bottom + 15, words, size=_AXIS, anchor="middle", classes="soft"))
    better = ", less is better" if what in ("log_loss", "brier") else ""
    words = score_words(what) + better
    parts.append(label(scale.start, bottom + 33, words, size=_AXIS, classes="soft"))
    return parts


def _entry(
    own: Mapping[str, Any],
    what: str,
    scale: Scale,
    y: float,
    left: float,
    width: float,
    stacked: bool,
) -> list[str]:
    figures, baseline = own["scores"][what], bool(own["baseline"])
    words = f"{own['name']}: {interval_words(figures)}"
    ink = "soft" if baseline else "ink"
    middle = y + (31 if stacked else 16)
    value = short(figures["value"])
    parts = []
    if stacked:
        room = width - 24 - width_of(value, 13) - 12
        parts.append(
            label(12, y + 16, own["name"], room=room, size=13, classes=ink, bold=not baseline)
        )
        parts.append(label(width - 12, y + 16, value, size=13, anchor="end", classes=ink))
    else:
        parts.append(
            label(
                left,
                middle + 4.5,
                own["name"],
                room=left - 2,
                size=13,
                anchor="end",
                classes=ink,
                bold=not baseline,
            )
        )
        shown = _aside(own, what)
        parts.append(label(scale.stop + 16, middle + 4.5, shown, size=12, classes=ink))
    if figures["low"] is not None and figures["high"] is not None:
        whisker = "faint" if baseline else "whisker"
        parts.append(line(scale(figures["low"]), middle, scale(figures["high"]), middle, whisker))
    parts.append(
        circle(scale(figures["value"]), middle, 5.5, "hollow" if baseline else "accent", words)
    )
    return parts
