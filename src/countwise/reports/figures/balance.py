"""How many rows each class has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from countwise.reports.figures.lettering import width_of
from countwise.reports.figures.scales import Scale
from countwise.reports.figures.svg import drawing, label, rect
from countwise.reports.wording import counted, percent


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
