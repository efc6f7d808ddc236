"""Class × attribute × value, colour is probability (Smart, Leh and Marsh, fig. 2).

Each attribute is a panel of its own, so that four attributes and forty read alike: with few
classes a line a value and a column a class, with many classes the other way round.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from countwise.reports.figures.palette import dark_ink, shade
from countwise.reports.figures.svg import drawing, element, group, label, rect
from countwise.reports.figures.text_width import height_of, width_of
from countwise.reports.sentences import counted, short

#: With more classes than these a panel has a line a class and a column a value.
MANY_CLASSES = 5
PANEL = 340.0
_HEAD = 24.0


def probability_panel(
    attribute: Mapping[str, Any], classes: Sequence[str], width: float = PANEL, tips: bool = True
) -> str:
    """Draw P(value | class) of one nominal attribute."""
    body, height = _panel(attribute, classes, width, tips)
    return drawing(width, height, _title(attribute), _described(attribute, classes), body)


def probability_table(model: Mapping[str, Any], columns: int = 3, width: float = PANEL) -> str:
    """Draw the panels of all attributes as one figure, `columns` panels a line."""
    panels = [_panel(attribute, model["classes"], width, True) for attribute in model["nominal"]]
    parts, y = [], 0.0
    for start in range(0, len(panels), columns):
        line = panels[start : start + columns]
        parts += [group(body, x=(width + 24) * at, y=y) for at, (body, _) in enumerate(line)]
        y += max(height for _, height in line) + 16
    across = min(columns, max(len(panels), 1))
    described = f"{len(panels)} attributes by class and value; colour is probability."
    whole = (width + 24) * across - 24
    return drawing(whole, max(y, 1), "Probability tables", described, *parts)


def _panel(
    attribute: Mapping[str, Any], classes: Sequence[str], width: float, tips: bool
) -> tuple[str, float]:
    if len(classes) <= MANY_CLASSES:
        sides = (attribute["levels"], classes)
        places = [[(at, place) for at in range(len(classes))] for place in _range(attribute)]
        pitch, size = 21.0, 11.0
    else:
        sides = (classes, attribute["levels"])
        places = [[(at, place) for place in _range(attribute)] for at in range(len(classes))]
        pitch, size = 14.0, 10.0
    cells = [[_cell(attribute, classes, *place, tips) for place in row] for row in places]
    body, height = _grid(sides, cells, width, pitch, size)
    if attribute["more"]:
        words = f"… and {attribute['more']} more values"
        body += label(0, height + 12, words, size=11, classes="soft", room=width)
        height += 18
    return _heading(attribute, width) + body, height


def _range(attribute: Mapping[str, Any]) -> range:
    return range(len(attribute["levels"]))


def _heading(attribute: Mapping[str, Any], width: float) -> str:
    told = f"{short(attribute['bits'])} bit"
    room = width - width_of(told, 11) - 12
    return label(0, 14, attribute["name"], room=room, size=13, bold=True) + label(
        width, 14, told, size=11, anchor="end", classes="soft"
    )


@dataclass(frozen=True)
class _Cell:
    colour: str
    figure: str
    words: str


def _cell(
    attribute: Mapping[str, Any], classes: Sequence[str], klass: int, level: int, tips: bool
) -> _Cell:
    share, number = attribute["shares"][klass][level], attribute["counts"][klass][level]
    words = f"{attribute['levels'][level]} in {classes[klass]}: {share:.3f}, {counted(number)} rows"
    return _Cell(f"q{shade(share)}", f"{share:.2f}", words if tips else "")


def _grid(
    sides: tuple[Sequence[str], Sequence[str]],
    cells: Sequence[Sequence[_Cell]],
    width: float,
    pitch: float,
    size: float,
) -> tuple[str, float]:
    rows, columns = sides
    left = min(max(width_of(name, size) for name in rows) + 8, 0.42 * width)
    step = min(64.0, (width - left) / len(columns))
    heads, head = _column_heads(columns, left, step, size, len(rows))
    top = _HEAD + head
    boxes, inks = [], {"low": list[str](), "high": list[str]()}
    names = []
    for at, (name, row) in enumerate(zip(rows, cells, strict=True)):
        y = top + pitch * at
        base = y + pitch / 2 + 0.35 * size
        names.append(label(left - 6, base, name, room=left - 8, size=size, anchor="end"))
        for place, cell in enumerate(row):
            x = left + step * place
            boxes.append(rect(x, y, step - 1, pitch - 1, cell.colour, cell.words))
            if width_of(cell.figure, size) <= step - 3:
                ink = inks["low" if dark_ink(cell.colour) else "high"]
                ink.append(element("text", cell.figure, x=x + (step - 1) / 2, y=base))
    texts = [
        element("g", *ink, class_=name, font_size=size, text_anchor="middle")
        for name, ink in inks.items()
        if ink
    ]
    return "".join([*heads, *names, *boxes, *texts]), top + pitch * len(rows) + 2


def _column_heads(
    columns: Sequence[str], left: float, step: float, size: float, rows: int
) -> tuple[list[str], float]:
    """The names above the columns, upright where they are too long, and their height."""
    longest = max(width_of(name, size) for name in columns)
    upright = longest > step - 4 and rows > 2 and step < 40
    head = min(longest + 4, 76.0) if upright else height_of(size) + 2
    y = _HEAD + head - (4 if upright else 5)
    parts = []
    for at, name in enumerate(columns):
        x = left + step * (at + 0.5)
        parts.append(
            label(
                x + 0.35 * size if upright else x,
                y,
                name,
                room=head - 2 if upright else step - 4,
                size=size,
                anchor="start" if upright else "middle",
                upright=upright,
                classes="soft",
            )
        )
    return parts, head


def _title(attribute: Mapping[str, Any]) -> str:
    return f"Probabilities of {attribute['name']}"


def _described(attribute: Mapping[str, Any], classes: Sequence[str]) -> str:
    return (
        f"P(value | class) of {attribute['name']} for {len(classes)} classes and "
        f"{len(attribute['levels'])} values; it tells {short(attribute['bits'], 2)} bit about the "
        "class."
    )
