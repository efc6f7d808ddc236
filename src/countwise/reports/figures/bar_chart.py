"""How many rows each class has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from countwise.reports.figures.axes import Scale
from countwise.reports.figures.svg import drawing, label, rect
from countwise.reports.figures.text_width import width_of
from countwise.reports.sentences import counted, percent, short


def balance_figure(balance: Sequence[Mapping[str, Any]], width: float = 620) -> str:
    """Draw the class balance as bars."""
    pitch = 24.0 if len(balance) <= 12 else 19.0
    longest = max((width_of(own["class"], 12) for own in balance), default=0.0)
    left = min(longest + 12, 0.4 * width)
    notes = [f"{counted(own['rows'])} · {percent(own['share'])}" for own in balance]
    right = max((width_of(note, 12) for note in notes), default=0.0) + 10
    most = max((own["rows"] for own in balance), default=1)
    scale = Scale(0, most or 1, left, width - right)
    parts = []
    for place, (own, note) in enumerate(zip(balance, notes, strict=True)):
        y = pitch * place
        base = y + pitch / 2 + 4
        end = max(scale(own["rows"]), left + 1)
        words = f"{own['class']}: {note} of the rows"
        parts.append(label(left - 8, base, own["class"], room=left - 10, size=12, anchor="end"))
        parts.append(rect(left, y + 4, end - left, pitch - 8, "accent", words))
        parts.append(label(end + 7, base, note, size=12, classes="soft"))
    described = "; ".join(f"{own['class']}: {n}" for own, n in zip(balance, notes, strict=True))
    return drawing(width, pitch * len(balance) + 2, "Class balance", described, *parts)


def information_figure(attributes: Sequence[Mapping[str, Any]], width: float = 620) -> str:
    """Draw the bits that attributes tell about the class as bars."""
    pitch = 24.0 if len(attributes) <= 12 else 19.0
    longest = max((width_of(own["name"], 12) for own in attributes), default=0.0)
    left = min(longest + 12, 0.45 * width)
    figures = [short(own["bits"]) for own in attributes]
    right = max((width_of(figure, 12) for figure in figures), default=0.0) + 10
    most = max((own["bits"] for own in attributes), default=1.0)
    scale = Scale(0, most or 1.0, left, width - right)
    parts = []
    for place, (own, figure) in enumerate(zip(attributes, figures, strict=True)):
        y = pitch * place
        base, end = y + pitch / 2 + 4, max(scale(own["bits"]), left + 1)
        words = f"{own['name']}: {figure} bit about the class"
        parts.append(label(left - 8, base, own["name"], room=left - 10, size=12, anchor="end"))
        parts.append(rect(left, y + 4, end - left, pitch - 8, "accent", words))
        parts.append(label(end + 7, base, figure, size=12, classes="soft"))
    described = "; ".join(f"{own['name']}: {f}" for own, f in zip(attributes, figures, strict=True))
    title = "Bits about the class, attribute by attribute"
    return drawing(width, pitch * len(attributes) + 2, title, described, *parts)
