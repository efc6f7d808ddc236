"""Bars with a name before and a number behind them: rows by class, bits by attribute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from countwise.reports.figures.axes import Scale
from countwise.reports.figures.svg import drawing, label, rect
from countwise.reports.figures.text_width import width_of
from countwise.reports.sentences import counted, percent, short


@dataclass(frozen=True)
class _Bar:
    name: str
    value: float
    note: str
    words: str


def balance_figure(balance: Sequence[Mapping[str, Any]], width: float = 620) -> str:
    """Draw how many rows each class has."""
    notes = [f"{counted(one['rows'])} · {percent(one['share'])}" for one in balance]
    bars = [
        _Bar(one["class"], one["rows"], note, f"{note} of the rows")
        for one, note in zip(balance, notes, strict=True)
    ]
    return _bar_chart("Class balance", bars, width)


def information_figure(attributes: Sequence[Mapping[str, Any]], width: float = 620) -> str:
    """Draw how many bits each attribute tells about the class."""
    notes = [short(attribute["bits"]) for attribute in attributes]
    bars = [
        _Bar(attribute["name"], attribute["bits"], note, f"{note} bit about the class")
        for attribute, note in zip(attributes, notes, strict=True)
    ]
    return _bar_chart("Bits about the class, attribute by attribute", bars, width)


def _bar_chart(title: str, bars: Sequence[_Bar], width: float) -> str:
    pitch = 24.0 if len(bars) <= 12 else 19.0
    longest = max((width_of(bar.name, 12) for bar in bars), default=0.0)
    left = min(longest + 12, 0.42 * width)
    right = max((width_of(bar.note, 12) for bar in bars), default=0.0) + 10
    scale = Scale(0, max((bar.value for bar in bars), default=0) or 1, left, width - right)
    parts = []
    for place, bar in enumerate(bars):
        y = pitch * place
        base, end = y + pitch / 2 + 4, max(scale(bar.value), left + 1)
        parts.append(label(left - 8, base, bar.name, room=left - 10, anchor="end"))
        parts.append(rect(left, y + 4, end - left, pitch - 8, "accent", f"{bar.name}: {bar.words}"))
        parts.append(label(end + 7, base, bar.note, classes="soft"))
    description = "; ".join(f"{bar.name}: {bar.note}" for bar in bars)
    return drawing(width, pitch * len(bars) + 2, title, description, *parts)
