"""Scores with their intervals, one line per model, the best on top."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from countwise.reports.figures.axes import Scale, number_marks, padded_range, tick_label
from countwise.reports.figures.svg import circle, drawing, label, line, width_of
from countwise.reports.sentences import (
    FRACTIONS,
    interval_words,
    is_by_gains,
    lower_is_better,
    score_text,
    score_words,
)


def ranking_figure(ranking: Mapping[str, Any], score: str | None = None, width: float = 680) -> str:
    """Draw the entries of a ranking as dots on their intervals."""
    what = score or ranking["ranked_by"]
    estimates = [
        (entry, entry["scores"][what])
        for entry in ranking["entries"]
        if entry["scores"][what]["value"] is not None
    ]
    stacked = width < 480
    values = [
        estimate[key]
        for _, estimate in estimates
        for key in ("low", "value", "high")
        if estimate[key] is not None
    ]
    low, high = padded_range(values, 0.06, what in ("accuracy", "balanced_accuracy"))
    left = right = 12.0
    if not stacked:
        longest = max(
            (
                width_of(entry["name"], 13, True) + (74 if entry.get("yardstick") else 0)
                for entry, _ in estimates
            ),
            default=0.0,
        )
        left = min(longest + 14, 0.36 * width)
        notes = [interval_words(estimate, what=what) for _, estimate in estimates]
        right = max((width_of(note, 12) for note in notes), default=0.0) + 16
    scale = Scale(low, high, left + 6, width - right)
    pitch, top = 44.0 if stacked else 32.0, 4.0
    bottom = top + pitch * len(estimates)
    # Names stand above the dots in a narrow figure, where no line may cross them.
    strips = [(top, bottom)]
    if stacked:
        strips = [(top + pitch * at + 21, top + pitch * (at + 1)) for at in range(len(estimates))]
    parts = []
    for value, text in number_marks(scale, 5 if stacked else 7):
        text = f"{100 * value:.4g}" if what in FRACTIONS else text
        x = scale(value)
        parts += [line(x, start, x, stop, "grid") for start, stop in strips]
        parts.append(tick_label(scale(value), bottom + 15, text))
    unit = ranking.get("unit", "") if is_by_gains(what) else "%" if what in FRACTIONS else ""
    words = f"{score_words(what)} ({unit})".removesuffix(" ()") + (
        ", less is better" if lower_is_better(what) else ""
    )
    parts.append(label(scale.start, bottom + 33, words, size=11, classes="soft"))
    for place, (entry, estimate) in enumerate(estimates):
        parts += _entry(entry, estimate, what, scale, top + pitch * place, width, stacked)
    title = f"{score_words(what)} of {len(estimates)} entries"
    description = "; ".join(
        f"{entry['name']}: {interval_words(each, what=what)}" for entry, each in estimates
    )
    return drawing(width, bottom + 40, title, description, *parts)


def _entry(
    entry: Mapping[str, Any],
    estimate: Mapping[str, Any],
    what: str,
    scale: Scale,
    y: float,
    width: float,
    stacked: bool,
) -> list[str]:
    """The name of an entry, its score, and the score as a dot on its interval."""
    plain = bool(entry["baseline"] or entry.get("yardstick"))
    name = f"{entry['name']} (yardstick)" if entry.get("yardstick") else entry["name"]
    ink, middle = "soft" if plain else "ink", y + (31 if stacked else 16)
    if stacked:
        value = score_text(estimate["value"], what)
        room = width - 24 - width_of(value, 13) - 12
        parts = [
            label(12, y + 16, name, room=room, size=13, classes=ink, bold=not plain),
            label(width - 12, y + 16, value, size=13, anchor="end", classes=ink),
        ]
    else:
        left, base = scale.start - 6, middle + 4.5
        room, note = left - 2, interval_words(estimate, what=what)
        parts = [
            label(left, base, name, room=room, size=13, anchor="end", classes=ink, bold=not plain),
            label(scale.stop + 16, base, note, size=12, classes=ink),
        ]
    if estimate["low"] is not None and estimate["high"] is not None:
        whisker, low, high = "faint" if plain else "whisker", estimate["low"], estimate["high"]
        parts.append(line(scale(low), middle, scale(high), middle, whisker))
    dot, words = "hollow" if plain else "accent", f"{name}: {interval_words(estimate, what=what)}"
    return [*parts, circle(scale(estimate["value"]), middle, 5.5, dot, words)]
