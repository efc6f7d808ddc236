"""Bars with a name and a number: rows by class, bits by attribute, weights, importance."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from countwise.reports.figures.axes import Scale
from countwise.reports.figures.svg import drawing, label, line, rect, width_of
from countwise.reports.sentences import brief, counted, percent, short, signed, term_name


@dataclass(frozen=True)
class _Bar:
    name: str
    value: float
    note: str
    words: str


def balance_figure(balance: Sequence[Mapping[str, Any]], width: float = 620) -> str:
    """Draw how many rows each class has."""
    bars = []
    for one in balance:
        note = f"{counted(one['rows'])} · {percent(one['fraction'])}"
        bars.append(_Bar(one["class"], one["rows"], note, f"{note} of the rows"))
    return _bar_chart("Class balance", bars, width)


def information_figure(attributes: Sequence[Mapping[str, Any]], width: float = 620) -> str:
    """Draw the information of each attribute about the class."""
    bars = []
    for attribute in attributes:
        note = short(attribute["bits"])
        bars.append(_Bar(attribute["name"], attribute["bits"], note, f"{note} bit about the class"))
    return _bar_chart("Information about the class by attribute, in bits", bars, width)


def importance_figure(columns: Sequence[Mapping[str, Any]], width: float = 620) -> str:
    """Draw the importance of each column."""
    bars = []
    for column in columns:
        note = percent(column["share"])
        bars.append(_Bar(column["name"], column["share"], note, f"{note} of all gains"))
    return _bar_chart("Importance of columns", bars, width)


def error_figure(errors: Mapping[str, float | None], width: float = 620) -> str:
    """Draw estimates of the error, one bar each."""
    bars = [
        _Bar(name, error, f"{100 * error:.2f} %", f"{100 * error:.2f} % of the rows")
        for name, error in errors.items()
        if error is not None
    ]
    return _bar_chart("Estimates of the error", bars, width)


def member_figure(members: Sequence[Mapping[str, Any]], width: float = 620) -> str:
    """Draw the weight of each member's vote."""
    bars = []
    for place, member in enumerate(members, 1):
        error = "" if member["error"] is None else f", error {short(member['error'])}"
        note = short(member["weight"])
        name = f"{place}. {member['name']}"
        bars.append(_Bar(name, member["weight"], note, f"weight {note}{error}"))
    return _bar_chart("Weights of the members", bars, width)


def coefficient_figure(view: Mapping[str, Any], width: float = 620) -> str:
    """Draw the coefficients of one class as bars to both sides of zero."""
    bars = []
    for term in view["terms"]:
        value, words = term["scaled"][0], f"coefficient {brief(term['values'][0])}"
        bars.append(_Bar(term_name(term), value or 0.0, signed(value), words))
    return _bar_chart(f"Coefficients of {view['classes'][0]}", bars, width)


def strength_figure(view: Mapping[str, Any], width: float = 620) -> str:
    """Draw the mean absolute log-odds that each column adds, with its share of all terms."""
    bars = []
    for column in view["columns"]:
        note = f"{short(column['strength'])} · {percent(column['share'])}"
        bars.append(_Bar(column["name"], column["strength"], note, f"{note} of all terms"))
    return _bar_chart("Mean absolute log-odds by column", bars, width)


#: Words of a class that a figure shows.
_MAX_WORDS = 8


def word_figure(column: Mapping[str, Any], classes: Sequence[str], width: float = 620) -> str:
    """Draw the top words of each class by how much more frequent they are there, as a log."""
    bars = []
    for name, words in zip(classes, column["words"], strict=True):
        for word in words[:_MAX_WORDS]:
            note = f"× {brief(word['ratio'])}"
            rows = f"{counted(word['rows'])} rows of {name}, {counted(word['other_rows'])} others"
            bars.append(_Bar(f"{name}: {word['word']}", math.log(word["ratio"]), note, rows))
    return _bar_chart(f"Top words of {column['name']} by class", bars, width)


def _bar_chart(title: str, bars: Sequence[_Bar], width: float) -> str:
    """Draw bars from zero, to the left where a value is negative."""
    pitch = 24.0 if len(bars) <= 12 else 19.0
    longest = max((width_of(bar.name, 12) for bar in bars), default=0.0)
    left = min(longest + 12, 0.42 * width)
    room = max((width_of(bar.note, 12) for bar in bars), default=0.0) + 10
    low, high = (end((bar.value for bar in bars), default=0.0) for end in (min, max))
    start = left + room if low < 0 else left
    scale = Scale(min(low, 0.0), max(high, 0.0) or 1.0, start, width - room)
    zero, parts = scale(0.0), []
    for place, bar in enumerate(bars):
        y = pitch * place
        base, end = y + pitch / 2 + 4, scale(bar.value)
        parts.append(label(left - 8, base, bar.name, room=left - 10, anchor="end"))
        x, long = min(zero, end), max(abs(end - zero), 1.0)
        color, words = "accent" if bar.value >= 0 else "n3", f"{bar.name}: {bar.words}"
        parts.append(rect(x, y + 4, long, pitch - 8, color, words))
        side, anchor = (x - 7, "end") if bar.value < 0 else (x + long + 7, "start")
        parts.append(label(side, base, bar.note, anchor=anchor, classes="soft"))
    if low < 0:
        parts.append(line(zero, 0, zero, pitch * len(bars), "axis"))
    description = "; ".join(f"{bar.name}: {bar.note}" for bar in bars)
    return drawing(width, pitch * len(bars) + 2, title, description, *parts)
