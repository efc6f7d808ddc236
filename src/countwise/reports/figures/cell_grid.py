"""A grid of coloured cells with labels on two sides; confusion and gain are drawn on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from countwise.reports.figures.palette import dark_ink, shade
from countwise.reports.figures.svg import drawing, label, rect
from countwise.reports.figures.text_width import height_of, width_of
from countwise.reports.sentences import counted, percent, short, signed

#: With more columns than these empty cells are left to the ground.
DENSE = 12

_SMALLEST = 12.0


@dataclass(frozen=True)
class Cell:
    """One cell: the class of its colour, its figures, a line each, and words for a pointer.

    Where the figures have no room, `short` stands for them.
    """

    colour: str
    lines: tuple[str, ...]
    words: str
    short: str = ""


@dataclass(frozen=True)
class Sides:
    """The labels of rows and columns, and what each side is."""

    rows: Sequence[str]
    columns: Sequence[str]
    row_title: str
    column_title: str


def matrix(
    sides: Sides,
    cells: Sequence[Sequence[Cell]],
    title: str,
    description: str,
    width: float,
    below: str = "",
) -> str:
    """Draw a grid of cells no wider than `width` unless the cells would become too small to see.

    A line `below` may say how to read it.
    """
    size = 12.0 if len(sides.columns) <= 12 else 10.0 if width >= 480 else 9.0
    largest = 140.0 if len(sides.columns) <= 3 else 96.0
    longest = max(width_of(name, size) for name in sides.rows)
    side = min(longest + 8, 0.42 * width, max(0.25 * width, width - largest * len(sides.columns)))
    step = min(largest, max(_SMALLEST, (width - 24 - side) / len(sides.columns)))
    left = 18 + side
    tall = max(
        _SMALLEST,
        min(step, 52.0 if len(sides.rows) <= 4 else 44.0 if len(sides.rows) <= 8 else 26.0),
    )
    names = [width_of(name, size) for name in sides.columns]
    upright = max(names) > step - 4
    head = min(max(names) + 6, 110.0) if upright else height_of(size) + 4
    top = 20 + head
    whole = max(left + step * len(sides.columns) + 6, left + width_of(sides.column_title, 11) + 6)
    parts = [
        label(left, 12, sides.column_title, size=11, classes="soft", room=whole - left),
        label(
            11,
            top,
            sides.row_title,
            size=11,
            classes="soft",
            anchor="end",
            upright=True,
            room=tall * len(sides.rows) + head,
        ),
    ]
    dense = len(sides.columns) > DENSE
    if dense:
        ground = (step * len(sides.columns), tall * len(sides.rows))
        parts.append(rect(left, top, *ground, "nought"))
    for at, name in enumerate(sides.columns):
        middle = left + step * (at + 0.5)
        if upright:
            parts.append(
                label(middle + 0.35 * size, top - 5, name, room=head - 2, size=size, upright=True)
            )
        else:
            parts.append(label(middle, top - 7, name, room=step - 2, size=size, anchor="middle"))
    for at, (name, row) in enumerate(zip(sides.rows, cells, strict=True)):
        y = top + tall * at
        base = y + tall / 2 + 0.35 * size
        parts.append(label(left - 6, base, name, room=side - 4, size=size, anchor="end"))
        for place, cell in enumerate(row):
            if dense and cell.colour == "nought":
                continue
            parts.append(_cell(cell, left + step * place, y, step, tall))
    bottom = top + tall * len(sides.rows) + 6
    if below:
        whole = max(whole, left + width_of(below, 11) + 6)
        parts.append(label(left, bottom + 10, below, size=11, classes="soft"))
        bottom += 18
    return drawing(whole, bottom, title, description, *parts)


def _cell(cell: Cell, x: float, y: float, width: float, height: float) -> str:
    gap = 1.0 if width >= 20 else 0.5
    box = rect(x, y, width - gap, height - gap, cell.colour, cell.words)
    sizes = (12.0, 10.0) if height >= 34 else (11.0,)
    shown = [
        (line, size)
        for line, size in zip(cell.lines, sizes, strict=False)
        if width_of(line, size) <= width - 4 and height_of(size) <= height
    ]
    if not shown or shown[0][0] != cell.lines[0]:
        if not cell.short:
            return box
        shown = [(cell.short, 11.0)]
    ink = "low" if dark_ink(cell.colour) else "high"
    total = sum(height_of(size) for _, size in shown)
    base, texts = y + (height - gap - total) / 2, []
    for line, size in shown:
        texts.append(
            label(
                x + (width - gap) / 2,
                base + 0.92 * size,
                line,
                size=size,
                anchor="middle",
                classes=ink,
            )
        )
        base += height_of(size)
    return box + "".join(texts)


def confusion_figure(confusion: Mapping[str, Any], width: float = 620) -> str:
    """Draw a confusion: rows true, columns decided; figures are counts and joint probabilities."""
    classes, decisions = confusion["classes"], confusion["decisions"]
    cells = []
    for true, counts, joint in zip(classes, confusion["counts"], confusion["joint"], strict=True):
        total = sum(counts)
        cells.append(
            [
                _confusion_cell(true, decided, number, share, number / total if total else 0.0)
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


def _confusion_cell(true: str, decided: str, number: float, joint: float, share: float) -> Cell:
    words = (
        f"true {true}, decided {decided}: {counted(number)} rows, {percent(share)} of the class, "
        f"joint probability {joint:.4f}"
    )
    if not number:
        return Cell("nought", ("0", ""), words)
    return Cell(f"q{shade(share)}", (counted(number), f"{joint:.3f}"), words)


def gain_figure(gain: Mapping[str, Any], part: str = "values", width: float = 420) -> str:
    """Draw a gain matrix, or what each of its cells contributes to the gain a row."""
    table: Sequence[Sequence[float]] = gain[part]
    largest = max((abs(figure) for row in table for figure in row), default=0.0)
    whole = part == "values"
    cells = []
    for true, row in zip(gain["classes"], table, strict=True):
        cells.append(
            [
                _gain_cell(true, decided, figure, largest, whole)
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


def _gain_cell(true: str, decided: str, figure: float, largest: float, whole: bool) -> Cell:
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
