"""A tree as an outline: a line a node, indented by its depth, for trees too deep for levels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from countwise.reports.figures.lettering import shortened, width_of
from countwise.reports.figures.svg import circle, element, label, line, number
from countwise.reports.figures.tidy import depths_of, kids_of
from countwise.reports.wording import short

_SIZE, _SMALL = 12.0, 11.0
_MANY = 40


def outline(
    attributes: Sequence[Mapping[str, Any]], parent: Sequence[int], width: float
) -> tuple[str, float, float]:
    """Draw attributes a line each, in the order of the tree; return SVG, width and height.

    The bits of an edge stand behind the name of its child, further parents after them.
    """
    depths, kids = depths_of(parent), kids_of(parent)
    step = min(22.0, 0.4 * width / max(max(depths, default=0), 1))
    order = _read_down(parent, kids)
    pitch = 23.0 if len(order) <= _MANY else 20.0
    row = {node: place for place, node in enumerate(order)}
    most = max((own["parents"][0]["bits"] for own in attributes if own["parents"]), default=0.0)
    trunks, limbs, lines = [], [], []
    for node in order:
        x, y = 7 + step * depths[node], pitch * (row[node] + 0.5)
        if kids[node]:
            last = pitch * (row[kids[node][-1]] + 0.5)
            trunks.append(line(x, y, x, last, "axis"))
        if parent[node] >= 0:
            bits = attributes[node]["parents"][0]["bits"]
            thick = 1.2 + 3.8 * bits / most if most > 0 else 1.2
            way = f"M{number(x - step)} {number(y)}H{number(x)}"
            limbs.append(element("path", d=way, class_="limb", stroke_width=thick))
        lines.append(_line(attributes, node, x, y, width))
    return "".join([*trunks, *limbs, *lines]), width, pitch * len(order)


def _read_down(parent: Sequence[int], kids: Sequence[Sequence[int]]) -> list[int]:
    waiting = [node for node, above in enumerate(parent) if above < 0][::-1]
    order = []
    while waiting:
        node = waiting.pop()
        order.append(node)
        waiting += reversed(kids[node])
    return order


def _line(
    attributes: Sequence[Mapping[str, Any]], node: int, x: float, y: float, width: float
) -> str:
    own = attributes[node]
    arcs = own["parents"]
    figure = short(arcs[0]["bits"]) if arcs else ""
    also = ", ".join(f"{attributes[arc['at']]['name']} {short(arc['bits'])}" for arc in arcs[1:])
    words = f"{own['name']}: {short(own['bits'])} bit about the class"
    if arcs:
        words += f", {figure} bit shared with {attributes[arcs[0]['at']]['name']}"
    if also:
        words += f"; also leans on {also}"
    flat, base, start = " ".join(own["name"].split()), y + 0.35 * _SIZE, x + 10
    room = width - start - (width_of(figure, _SMALL) + 8 if figure else 0)
    shown = shortened(flat, room, _SIZE, not arcs)
    name = label(start, base, shown, size=_SIZE, bold=not arcs, words_on_rest=words)
    parts = [circle(x, y, 4, "accent", words), name]
    at = start + width_of(shown, _SIZE, not arcs) + 8
    if figure:
        parts.append(label(at, base, figure, size=_SMALL, classes="soft"))
        at += width_of(figure, _SMALL) + 10
    if also and width - at > 60:
        parts.append(label(at, base, f"+ {also}", room=width - at, size=_SMALL, classes="soft"))
    return "".join(parts)
