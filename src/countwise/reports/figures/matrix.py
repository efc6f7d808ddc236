"""A grid of coloured cells with labels on two sides; confusion and gain are drawn on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from countwise.reports.figures.lettering import height_of, width_of
from countwise.reports.figures.palette import dark_ink
from countwise.reports.figures.svg import drawing, label, rect

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
