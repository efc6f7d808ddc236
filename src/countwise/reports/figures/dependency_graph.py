"""Dependency graphs: boxes by level, or an outline for trees that are too deep.

An attribute is drawn below its first parent; further parents are dashed arrows, or words.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from countwise.reports.figures.decision_tree import (
    children_of,
    depths_of,
    place_in_strips,
    size_limit,
)
from countwise.reports.figures.svg import (
    circle,
    drawing,
    element,
    group,
    label,
    line,
    number,
    path,
    rect,
    shortened,
    tip,
    two_lines,
    width_of,
    wrapped,
)
from countwise.reports.sentences import short

Attribute = Mapping[str, Any]
_SIZE, _SMALL = 12.0, 11.0
_MANY = 40  # with more attributes lines stand closer and texts are smaller
_NAMED_EDGES = 60  # edges that the description names
_PAD, _HIGH = 9.0, 24.0
#: Between two levels of the tree: a bend, then a straight end that carries the number of bits.
_BEND, _END, _HEAD = 34.0, 34.0, 7.0
_HANGING = 24  # with more attributes a tree is not hung from its root
_LONGEST, _LEAST = 170.0, 96.0  # room for a name, when there is much and when there is little
_UNBROKEN = 84.0  # shorter names stay in one line
_DASHED = 8  # more further parents than these would be a tangle


def dependency_figure(
    tree: Mapping[str, Any], width: float = 1040, widest: float | None = None
) -> str:
    """Draw the attributes of a model as a tree with the bits a child shares with its parent.

    The figure grows to at most the `widest` before a name is cut.
    """
    attributes = tree["attributes"]
    parent = [each["parents"][0]["at"] if each["parents"] else -1 for each in attributes]
    widths = [width] if widest is None else [width, (width + widest) / 2, widest]
    whole = (layered(attributes, parent, across, cut=False) for across in widths)
    boxes = next(filter(None, whole), None) or layered(attributes, parent, width, cut=True)
    body, wide, height = boxes or outline(attributes, parent, width)
    across = max(min(width, 340.0), wide)
    head, top = _heading(tree, across, boxes is not None)
    moved = group(body, x=(across - wide) / 2, y=top)
    if tree["more_attributes"]:
        words = f"… and {tree['more_attributes']} more attributes, which hang on weaker edges"
        head += label(0, top + height + 18, words, size=_SMALL, classes="soft", room=across)
        height += 24
    title = f"{len(attributes)} attributes and what they depend on"
    return drawing(across, top + height, title, _describe(tree), head, moved)


def _heading(tree: Mapping[str, Any], width: float, boxes: bool) -> tuple[str, float]:
    """The class, of which every attribute is a child, and what numbers and lines mean."""
    name = " ".join(str(tree["target"]).split())
    chip = min(width_of(name, _SIZE, True), 0.5 * width) + 16
    text = label(8, 16, name, room=chip - 15.5, classes="high", bold=True)
    parts = [element("rect", width=chip, height=22, rx=6, class_="accent"), text]
    most_parents = max((len(each["parents"]) for each in tree["attributes"]), default=0)
    words = "is a parent of every attribute."
    if most_parents:
        words += " Numbers are bits that two attributes share given the class."
    if most_parents > 1:
        words += " Dashed: further parents." if boxes else " After +: further parents."
    first = wrapped(words, width - chip - 10, _SIZE)[0]
    rest = wrapped(words[len(first) :], width, _SIZE)
    parts.append(label(chip + 9, 16, first, classes="soft"))
    parts += [label(0, 36 + 16 * at, text, classes="soft") for at, text in enumerate(rest)]
    return "".join(parts), 22 + 16.0 * len(rest) + 16


def _describe(tree: Mapping[str, Any]) -> str:
    attributes = tree["attributes"]
    edges = [
        f"{attributes[edge['at']]['name']} → {attribute['name']} {short(edge['bits'])}"
        for attribute in attributes
        for edge in attribute["parents"]
    ]
    words = f"{tree['target']} is a parent of every attribute. "
    if not edges:
        return words + "No attribute depends on another."
    more = f" and {len(edges) - _NAMED_EDGES} more" if len(edges) > _NAMED_EDGES else ""
    return f"{words}Bits shared given the class: {'; '.join(edges[:_NAMED_EDGES])}{more}."


def _flat_name(attribute: Attribute) -> str:
    return " ".join(attribute["name"].split())


def _most_bits(attributes: Sequence[Attribute]) -> float:
    return max((each["parents"][0]["bits"] for each in attributes if each["parents"]), default=0.0)


def _thickness(bits: float, most: float) -> float:
    """The width of an edge by its bits, compared with the most bits of any edge."""
    return 1.3 + 3.7 * bits / most if most > 0 else 1.3


def _limb(way: str, thick: float, words: str = "") -> str:
    return element("path", tip(words), d=way, class_="limb", stroke_width=thick)


def outline(
    attributes: Sequence[Attribute], parent: Sequence[int], width: float
) -> tuple[str, float, float]:
    """Draw attributes a line each, in the order of the tree; return SVG, width and height."""
    depths, children = depths_of(parent), children_of(parent)
    step = min(22.0, 0.4 * width / max(max(depths, default=0), 1))
    order = _read_down(parent, children)
    pitch = 23.0 if len(order) <= _MANY else 20.0
    middle = {node: pitch * (place + 0.5) for place, node in enumerate(order)}
    most = _most_bits(attributes)
    trunks, limbs, lines = [], [], []
    for node in order:
        x, y = 7 + step * depths[node], middle[node]
        if children[node]:
            trunks.append(line(x, y, x, middle[children[node][-1]], "axis"))
        if parent[node] >= 0:
            way = f"M{number(x - step)} {number(y)}H{number(x)}"
            thick = _thickness(attributes[node]["parents"][0]["bits"], most)
            limbs.append(_limb(way, thick))
        lines += _outline_line(attributes, attributes[node], x, y, width)
    return "".join([*trunks, *limbs, *lines]), width, pitch * len(order)


def _read_down(parent: Sequence[int], children: Sequence[Sequence[int]]) -> list[int]:
    """The nodes in the order of an outline: a node before its children, subtrees together."""
    waiting = [node for node, above in enumerate(parent) if above < 0][::-1]
    order = []
    while waiting:
        order.append(waiting.pop())
        waiting += reversed(children[order[-1]])
    return order


def _outline_line(
    attributes: Sequence[Attribute], attribute: Attribute, x: float, y: float, width: float
) -> list[str]:
    """A dot, the name of an attribute, the bits of its edge, and its further parents."""
    edges, root = attribute["parents"], not attribute["parents"]
    bits = "" if root else short(edges[0]["bits"])
    also = ", ".join(
        f"{attributes[edge['at']]['name']} {short(edge['bits'])}" for edge in edges[1:]
    )
    words = f"{attribute['name']}: {short(attribute['bits'])} bit about the class"
    if edges:
        words += f", {bits} bit shared with {attributes[edges[0]['at']]['name']}"
    if also:
        words += f"; also depends on {also}"
    base, at = y + 0.35 * _SIZE, x + 10
    room = width - at - (width_of(bits, _SMALL) + 8 if bits else 0)
    name = shortened(_flat_name(attribute), room, _SIZE, root)
    parts = [circle(x, y, 4, "accent", words), label(at, base, name, bold=root, tip_words=words)]
    at += width_of(name, _SIZE, root) + 8
    if bits:
        parts.append(label(at, base, bits, size=_SMALL, classes="soft"))
        at += width_of(bits, _SMALL) + 10
    if also and width - at > 60:
        room = width - at
        parts.append(label(at, base, f"+ {also}", room=room, size=_SMALL, classes="soft"))
    return parts


@dataclass(frozen=True)
class _Box:
    """A node: its corner, its size, and the place up to which edges from it run straight."""

    x: float
    y: float
    width: float
    height: float
    border: float

    @property
    def middle(self) -> tuple[float, float]:
        return self.x + self.width / 2, self.y + self.height / 2


@dataclass(frozen=True)
class _Layout:
    """Boxes of all attributes; a tree either hangs from its root or grows to the right."""

    boxes: list[_Box]
    hanging: bool
    size: float
    lines: int = 1


def layered(
    attributes: Sequence[Attribute], parent: Sequence[int], width: float, cut: bool
) -> tuple[str, float, float] | None:
    """Draw attributes as boxes by level; return SVG, width and height, or None if too deep.

    `cut` allows long names to be cut.
    """
    if sum(max(len(each["parents"]) - 1, 0) for each in attributes) > _DASHED:
        return None
    layout = (
        _hang(attributes, parent, width, cut)
        or _grow(attributes, parent, width, 1, cut)
        or _grow(attributes, parent, width, 2, cut)
    )
    if layout is None:
        return None
    margin = _margin(attributes)
    wide = max((box.x + box.width for box in layout.boxes), default=0.0)
    high = max((box.y + box.height for box in layout.boxes), default=0.0)
    return _draw_boxes(attributes, layout), wide + margin, high + margin


def _margin(attributes: Sequence[Attribute]) -> float:
    """The room to the right and below that arrows of further parents take."""
    return 34.0 if any(len(each["parents"]) > 1 for each in attributes) else 1.0


def _name_lines(attribute: Attribute, size: float, lines: int) -> list[str]:
    name, root = _flat_name(attribute), not attribute["parents"]
    if lines == 1 or width_of(name, size, root) <= _UNBROKEN:
        return [name]
    return two_lines(name, size, root)


def _name_room(attribute: Attribute, size: float, lines: int, cut: bool) -> float:
    """The width of the box of a name, unless there is too little room for it."""
    root, parts = not attribute["parents"], _name_lines(attribute, size, lines)
    longest = max(width_of(part, size, root) for part in parts)
    return (min(longest, _LONGEST) if cut else longest) + 2 * _PAD


def _hang(
    attributes: Sequence[Attribute], parent: Sequence[int], width: float, cut: bool
) -> _Layout | None:
    """Hang a small tree from its root; None if it is too wide."""
    if len(attributes) > _HANGING:
        return None
    widths = [max(_name_room(each, _SIZE, 1, cut), 52.0) for each in attributes]
    middle, whole = place_in_strips(parent, widths, 16.0)
    if whole > width - 1 - _margin(attributes):
        return None
    tops = [1 + (_HIGH + _BEND + _END) * depth for depth in depths_of(parent)]
    boxes = [
        _Box(1 + x - wide / 2, y, wide, _HIGH, y + _HIGH)
        for x, wide, y in zip(middle, widths, tops, strict=True)
    ]
    return _Layout(boxes, True, _SIZE)


def _grow(
    attributes: Sequence[Attribute], parent: Sequence[int], width: float, lines: int, cut: bool
) -> _Layout | None:
    """Let a tree grow to the right, names in so many lines; None if it is too deep for that."""
    depths = depths_of(parent)
    size = _SIZE if len(attributes) <= _MANY else _SMALL
    high = 2 * size if lines == 1 else 3 * size
    levels = [0.0] * (max(depths, default=0) + 1)
    rooms = [_name_room(each, size, lines, cut) for each in attributes]
    for room, depth in zip(rooms, depths, strict=True):
        levels[depth] = max(levels[depth], room)
    between = _BEND + _END + 8
    most = size_limit(levels, width - 1 - _margin(attributes) - between * (len(levels) - 1))
    # Names that fit in two lines are not cut in one.
    needed = max(levels, default=0.0)
    if most < (min(_LEAST, needed) if cut and lines > 1 else needed):
        return None
    middle, _ = place_in_strips(parent, [high] * len(parent), 6.0)
    starts, at = [], 1.0
    for level in levels:
        starts.append((at, at + min(level, most)))
        at += min(level, most) + between
    boxes = [
        _Box(starts[depth][0], 1 + y - high / 2, min(room, most), high, starts[depth][1])
        for room, depth, y in zip(rooms, depths, middle, strict=True)
    ]
    return _Layout(boxes, False, size, lines)


def _draw_boxes(attributes: Sequence[Attribute], layout: _Layout) -> str:
    most = _most_bits(attributes)
    dashed, limbs, marks, nodes = [], [], [], []
    for attribute, box in zip(attributes, layout.boxes, strict=True):
        for place, edge in enumerate(attribute["parents"]):
            above, bits = layout.boxes[edge["at"]], edge["bits"]
            words = f"{attributes[edge['at']]['name']} → {attribute['name']}: {short(bits)} bit"
            if place:
                dashed.append(_dashed_arrow(above, box, layout.hanging, words))
                continue
            thick = _thickness(bits, most)
            way, mark = _arrow(above, box, layout.hanging, bits, thick)
            limbs.append(_limb(way, thick, words))
            marks.append(mark)
        nodes.append(_node(attribute, box, layout))
    return "".join([*dashed, *limbs, *marks, *nodes])


def _arrow(above: _Box, box: _Box, hanging: bool, bits: float, thick: float) -> tuple[str, str]:
    """The path of an edge and, apart, its head and its bits, which lie over all edges."""
    head, text, size = _HEAD + thick / 2, short(bits), 11.0
    half = width_of(text, size) / 2
    # Places are along the tree and across it: down and to the right if it hangs, else turned.
    side = above.middle[0] if hanging else above.middle[1]
    goal = box.middle[0] if hanging else box.middle[1]
    start = above.y + above.height if hanging else above.x + above.width
    stop = box.y if hanging else box.x
    bend = stop - _END - (0 if hanging else 8)
    turn = (above.border + bend) / 2

    def point(along: float, across: float) -> tuple[float, float]:
        return (across, along) if hanging else (along, across)

    def written(*points: tuple[float, float]) -> str:
        return " ".join(f"{number(x)} {number(y)}" for x, y in points)

    curve = written(point(turn, side), point(turn, goal), point(bend, goal))
    way = f"M{written(point(start, side))}"
    if above.border > start:
        way += f"L{written(point(above.border, side))}"
    way += f"C{curve}L{written(point(stop - head, goal))}"
    wings = [point(stop - head, goal + sign * head / 1.7) for sign in (-1, 1)]
    x, base = (goal, bend + 13) if hanging else (bend + half, goal + 4)
    # The text stands in a gap of its line.
    gap = rect(x - half - 1.5, base - 9.5, 2 * half + 3, 12, "ground")
    tip_of_arrow = path([point(stop, goal), *wings], "accent", closed=True)
    return way, tip_of_arrow + gap + label(x, base, text, size=size, anchor="middle")


def _dashed_arrow(above: _Box, box: _Box, hanging: bool, words: str) -> str:
    """A further parent: a thin bow whose arrow meets the border of the child."""
    (x, y), (goal, end) = above.middle, box.middle
    far = math.hypot(goal - x, end - y) or 1.0
    half = min(above.width, box.width) / 2
    if above.y == box.y if hanging else abs(end - y) < box.height / 2:
        # Beside each other: the bow passes below those between.
        y, end = above.y + above.height, box.y + box.height
        turn, meets = ((x + goal) / 2, max(y, end) + 26 + min(0.08 * far, 40)), (goal, end)
    elif abs(goal - x) < half if hanging else above.x == box.x:
        x, goal = above.x + above.width, box.x + box.width
        turn, meets = (max(x, goal) + 26 + min(0.16 * far, 40), (y + end) / 2), (goal, end)
    else:
        bow = min(0.18 * far, 60.0)
        turn = ((x + goal) / 2 - (end - y) / far * bow, (y + end) / 2 + (goal - x) / far * bow)
        dx, dy = goal - turn[0], end - turn[1]
        along = min(box.width / 2 / (abs(dx) or 1e-9), box.height / 2 / (abs(dy) or 1e-9), 1.0)
        meets = (goal - dx * along, end - dy * along)
    long = math.hypot(meets[0] - turn[0], meets[1] - turn[1]) or 1.0
    ux, uy = (meets[0] - turn[0]) / long, (meets[1] - turn[1]) / long
    back = (meets[0] - 7 * ux, meets[1] - 7 * uy)
    wings = [(back[0] - side * uy, back[1] + side * ux) for side in (3.5, -3.5)]
    way = (
        f"M{number(x)} {number(y)}Q{number(turn[0])} {number(turn[1])} "
        f"{number(back[0])} {number(back[1])}"
    )
    head = path([meets, *wings], "soft", closed=True)
    return element("path", tip(words), d=way, class_="twig") + head


def _node(attribute: Attribute, box: _Box, layout: _Layout) -> str:
    (x, y), size = box.middle, layout.size
    words = f"{_flat_name(attribute)}: {short(attribute['bits'])} bit about the class"
    if attribute["hidden"]:
        words += f"; {attribute['hidden']} attributes below it are not drawn"
    size_of_box = {"x": box.x, "y": box.y, "width": box.width, "height": box.height}
    frame = element("rect", tip(words), **size_of_box, rx=6, class_="node")
    lines = _name_lines(attribute, size, layout.lines)
    room, bold = box.width - 2 * _PAD + 0.5, not attribute["parents"]
    style: dict[str, Any] = {"room": room, "size": size, "bold": bold, "tip_words": words}
    texts = []
    for place, part in enumerate(lines):
        base = y + 0.35 * size + 1.15 * size * (place - (len(lines) - 1) / 2)
        texts.append(label(x, base, part, anchor="middle", **style))
    return "".join([frame, *texts])
