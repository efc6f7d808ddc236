"""Which attribute leans on which (Smart, Leh and Marsh, fig. 3): our own layout, no Graphviz.

A small tree hangs from its root. A larger one grows from left to right, a line a leaf. One that is
too deep for its width becomes an outline, a line an attribute. An edge is as thick as its bits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from countwise.reports.figures.layered import layered
from countwise.reports.figures.lettering import width_of, wrapped
from countwise.reports.figures.outline import outline
from countwise.reports.figures.svg import drawing, element, group, label
from countwise.reports.wording import short

_SMALL, _NOTE = 11.0, 12.0
_TOLD = 60  # edges that the description names


def attribute_tree_figure(tree: Mapping[str, Any], width: float = 1040) -> str:
    """Draw the attributes of a model as a tree with the bits a child shares with its parent."""
    attributes = tree["attributes"]
    parent = [own["parents"][0]["at"] if own["parents"] else -1 for own in attributes]
    drawn = layered(attributes, parent, width)
    body, wide, height = drawn or outline(attributes, parent, width)
    across = min(width, max(wide, 340.0))
    head, top = _heading(tree, across, drawn is not None)
    moved = group(body, x=(across - wide) / 2, y=top)
    if tree["more"]:
        words = f"… and {tree['more']} more attributes, which hang on weaker edges"
        head += label(0, top + height + 18, words, size=_SMALL, classes="soft", room=across)
        height += 24
    title = f"{len(attributes)} attributes and what they lean on"
    return drawing(across, top + height, title, _described(tree), head, moved)


def _heading(tree: Mapping[str, Any], width: float, boxes: bool) -> tuple[str, float]:
    """The class, of which every attribute is a child, and what figures and lines mean."""
    name = " ".join(str(tree["class"]).split())
    chip = min(width_of(name, _NOTE, True), 0.5 * width) + 16
    text = label(8, 16, name, room=chip - 15.5, size=_NOTE, classes="high", bold=True)
    parts = [element("rect", width=chip, height=22, rx=6, class_="accent"), text]
    arcs = max((len(own["parents"]) for own in tree["attributes"]), default=0)
    words = "is a parent of every attribute."
    if arcs:
        words += " Figures are bits that two attributes share given the class."
    if arcs > 1:
        words += " Dashed: further parents." if boxes else " After +: further parents."
    first, rest = _flowed(words, width - chip - 10, width)
    parts.append(label(chip + 9, 16, first, size=_NOTE, classes="soft"))
    for place, own in enumerate(rest):
        parts.append(label(0, 36 + 16 * place, own, size=_NOTE, classes="soft"))
    return "".join(parts), 22 + 16.0 * len(rest) + 16


def _flowed(words: str, first: float, room: float) -> tuple[str, list[str]]:
    """Break words into a first line beside something and further lines below it."""
    begin = wrapped(words, first, _NOTE)[0]
    left = words[len(begin) :].strip()
    return begin, wrapped(left, room, _NOTE)


def _described(tree: Mapping[str, Any]) -> str:
    attributes = tree["attributes"]
    told = [
        f"{attributes[arc['at']]['name']} → {own['name']} {short(arc['bits'])}"
        for own in attributes
        for arc in own["parents"]
    ]
    words = f"{tree['class']} is a parent of every attribute. "
    if not told:
        return words + "No attribute leans on another."
    more = f" and {len(told) - _TOLD} more" if len(told) > _TOLD else ""
    return f"{words}Bits shared given the class: {'; '.join(told[:_TOLD])}{more}."
