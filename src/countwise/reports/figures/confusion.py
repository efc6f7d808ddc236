"""True classes against decisions: colour is the share within the true class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from countwise.reports.figures.matrix import Cell, Sides, matrix
from countwise.reports.figures.palette import shade
from countwise.reports.wording import counted, percent


def confusion_figure(confusion: Mapping[str, Any], width: float = 620) -> str:
    """Draw a confusion: rows true, columns decided; figures are counts and joint probabilities."""
    classes, decisions = confusion["classes"], confusion["decisions"]
    cells = []
    for true, counts, joint in zip(classes, confusion["counts"], confusion["joint"], strict=True):
        total = sum(counts)
        cells.append(
            [
                _cell(true, decided, number, share, number / total if total else 0.0)
                for decided, number, share in zip(decisions, counts, joint, strict=True)
            ]
        )
    title = f"Confusion of {confusion['name']}"
    described = (
        f"True classes ({len(classes)} rows) against decisions ({len(decisions)} columns). Colour "
        "is the share of the true class that is decided so; figures are counts and, below, joint "
        "probabilities."
    )
    sides = Sides(classes, decisions, "true class", "decided")
    return matrix(sides, cells, title, described, width)


def _cell(true: str, decided: str, number: float, joint: float, share: float) -> Cell:
    words = (
        f"true {true}, decided {decided}: {counted(number)} rows, {percent(share)} of the class, "
        f"joint probability {joint:.4f}"
    )
    if not number:
        return Cell("nought", ("0", ""), words)
    return Cell(f"q{shade(share)}", (counted(number), f"{joint:.3f}"), words)
