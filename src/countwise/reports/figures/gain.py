"""The gain matrix, and where the gain is earned: blue earns, orange loses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from countwise.reports.figures.matrix import Cell, Sides, matrix
from countwise.reports.wording import short, signed


def gain_figure(gain: Mapping[str, Any], part: str = "values", width: float = 420) -> str:
    """Draw a gain matrix, or what each of its cells contributes to the gain a row."""
    table: Sequence[Sequence[float]] = gain[part]
    largest = max((abs(figure) for row in table for figure in row), default=0.0)
    whole = part == "values"
    cells = []
    for true, row in zip(gain["classes"], table, strict=True):
        cells.append(
            [
                _cell(true, decided, figure, largest, whole)
                for decided, figure in zip(gain["decisions"], row, strict=True)
            ]
        )
    title = "Gain matrix" if whole else "Where the gain is earned and lost"
    described = (
        "What each decision (columns) earns for each true class (rows)."
        if whole
        else "Gain times joint probability of each cell; the sum is the gain a row."
    )
    sides = Sides(gain["classes"], gain["decisions"], "true class", "decided")
    return matrix(sides, cells, title, described, width)


def _cell(true: str, decided: str, figure: float, largest: float, whole: bool) -> Cell:
    written = f"{figure:+.10g}".replace("-", "−") if whole else signed(figure)
    if figure == 0:
        written = "0"
    doing = "earns" if figure > 0 else "loses" if figure < 0 else "earns nothing"
    amount = "" if figure == 0 else f" {abs(figure):.10g}" if whole else f" {short(abs(figure))}"
    words = f"true {true}, decided {decided}: {doing}{amount}{'' if whole else ' a row'}"
    if not figure or not largest:
        return Cell("nought", (written,), words)
    step = min(4, 1 + int(4 * abs(figure) / largest * 0.999))
    return Cell(f"{'g' if figure > 0 else 'n'}{step}", (written,), words)
