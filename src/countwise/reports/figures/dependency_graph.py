"""A tree as an outline: a line a node, indented by its depth, for trees too deep for levels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

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
    tip,
)
from countwise.reports.figures.text_width import shortened, two_lines, width_of, wrapped
from countwise.reports.figures.tree_layout import (
    children_of,
    depths_of,
    place_in_strips,
    size_limit,
)
from countwise.reports.sentences import short

_SIZE, _SMALL_OUTLINE = 12.0, 11.0
_MANY = 40


def outline(
    attributes: Sequence[Mapping[str, Any]], parent: Sequence[int], width: float
) -> tuple[str, float, float]:
    """Draw attributes a line each, in the order of the tree; return SVG, width and height.

    The bits of an edge stand behind the name of its child, further parents after them.
    """
    depths, kids = depths_of(parent), children_of(parent)
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
    room = width - start - (width_of(figure, _SMALL_OUTLINE) + 8 if figure else 0)
    shown = shortened(flat, room, _SIZE, not arcs)
    name = label(start, base, shown, size=_SIZE, bold=not arcs, words_on_rest=words)
    parts = [circle(x, y, 4, "accent", words), name]
    at = start + width_of(shown, _SIZE, not arcs) + 8
    if figure:
        parts.append(label(at, base, figure, size=_SMALL_OUTLINE, classes="soft"))
        at += width_of(figure, _SMALL_OUTLINE) + 10
    if also and width - at > 60:
        parts.append(
            label(at, base, f"+ {also}", room=width - at, size=_SMALL_OUTLINE, classes="soft")
        )
    return "".join(parts)


Attributes = Sequence[Mapping[str, Any]]
_PAD, _HIGH = 9.0, 24.0
#: Between two levels of the tree: a bend, then a straight end that carries the figure.
_BEND, _END, _HEAD = 34.0, 34.0, 7.0
_HANGING = 24  # with more attributes a tree is not hung from its root
_LONGEST, _LEAST = 170.0, 96.0  # of a name's room, when there is much and when there is little
_UNBROKEN = 84.0  # shorter names stay in one line
_TWIGS = 8  # more further parents than these are no picture but a tangle


def layered(
    attributes: Attributes, parent: Sequence[int], width: float
) -> tuple[str, float, float] | None:
    """Draw attributes as boxes by level; return SVG, width and height, or None if too deep."""
    if sum(max(len(own["parents"]) - 1, 0) for own in attributes) > _TWIGS:
        return None
    placed = (
        _hanging(attributes, parent, width)
        or _growing(attributes, parent, width, 1)
        or _growing(attributes, parent, width, 2)
    )
    if placed is None:
        return None
    aside = _reserve(attributes)
    wide = max((box.x + box.width for box in placed.boxes), default=0.0)
    high = max((box.y + box.height for box in placed.boxes), default=0.0)
    return _drawn(attributes, placed), wide + aside, high + aside


@dataclass(frozen=True)
class _Box:
    """A node: its corner, its size, and the x (or y) up to which its edges run straight."""

    x: float
    y: float
    width: float
    height: float
    border: float

    @property
    def middle(self) -> tuple[float, float]:
        return self.x + self.width / 2, self.y + self.height / 2


@dataclass(frozen=True)
class _Placed:
    boxes: list[_Box]
    hanging: bool
    size: float
    lines: int = 1


def _lines(own: Mapping[str, Any], size: float, lines: int) -> list[str]:
    flat = " ".join(own["name"].split())
    bold = not own["parents"]
    short_enough = width_of(flat, size, bold) <= _UNBROKEN
    return [flat] if lines == 1 or short_enough else two_lines(flat, size, bold)


def _reserve(attributes: Attributes) -> float:
    """The room to the right and below that bows of further parents take, and a margin."""
    return 34.0 if any(len(own["parents"]) > 1 for own in attributes) else 1.0


def _room(own: Mapping[str, Any], size: float, lines: int = 1) -> float:
    """How wide the box of a name is, unless there is too little room for it."""
    bold = not own["parents"]
    longest = max(width_of(part, size, bold) for part in _lines(own, size, lines))
    return min(longest, _LONGEST) + 2 * _PAD


def _hanging(attributes: Attributes, parent: Sequence[int], width: float) -> _Placed | None:
    """Hang a small tree from its root; None if it is too wide."""
    if len(attributes) > _HANGING:
        return None
    widths = [max(_room(own, _SIZE), 52.0) for own in attributes]
    middle, whole = place_in_strips(parent, widths, 16.0)
    if whole > width - 1 - _reserve(attributes):
        return None
    step = _HIGH + _BEND + _END
    boxes = [
        _Box(1 + x - own / 2, 1 + step * depth, own, _HIGH, 1 + step * depth + _HIGH)
        for x, own, depth in zip(middle, widths, depths_of(parent), strict=True)
    ]
    return _Placed(boxes, True, _SIZE)


def _growing(
    attributes: Attributes, parent: Sequence[int], width: float, lines: int
) -> _Placed | None:
    """Let a tree grow to the right, names in so many lines; None if it is too deep for that."""
    depths = depths_of(parent)
    size = _SIZE if len(attributes) <= 40 else _SMALL
    high = 2 * size if lines == 1 else 3 * size
    levels = [0.0] * (max(depths, default=0) + 1)
    rooms = [_room(own, size, lines) for own in attributes]
    for room, depth in zip(rooms, depths, strict=True):
        levels[depth] = max(levels[depth], room)
    between = _BEND + _END + 8
    most = size_limit(levels, width - 1 - _reserve(attributes) - between * (len(levels) - 1))
    # Names that fit in two lines are not cut in one.
    if most < (max(levels, default=0.0) if lines == 1 else min(_LEAST, max(levels))):
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
    return _Placed(boxes, False, size, lines)


def _drawn(attributes: Attributes, placed: _Placed) -> str:
    most = max((own["bits"] for each in attributes for own in each["parents"][:1]), default=0.0)
    twigs, limbs, marks, nodes = [], [], [], []
    for own, box in zip(attributes, placed.boxes, strict=True):
        for place, arc in enumerate(own["parents"]):
            words = f"{attributes[arc['at']]['name']} → {own['name']}: {short(arc['bits'])} bit"
            above = placed.boxes[arc["at"]]
            if place:
                twigs.append(_twig(above, box, placed.hanging, words))
                continue
            line, mark = _limb(above, box, placed, arc["bits"], most, words)
            limbs.append(line)
            marks.append(mark)
        nodes.append(_node(own, box, placed))
    return "".join([*twigs, *limbs, *marks, *nodes])


def _limb(
    above: _Box, box: _Box, placed: _Placed, bits: float, most: float, words: str
) -> tuple[str, str]:
    """An edge of the tree and, apart, its arrow head and figure, which lie over all edges."""
    thick = 1.3 + 3.7 * bits / most if most > 0 else 1.3
    head = _HEAD + thick / 2
    figure, size = short(bits), 11.0
    half = width_of(figure, size) / 2
    if placed.hanging:
        (x, _), y = above.middle, above.y + above.height
        goal, stop = box.middle[0], box.y
        bend = stop - _END
        way = (
            f"M{number(x)} {number(y)}C{number(x)} {number((y + bend) / 2)} {number(goal)} "
            f"{number((y + bend) / 2)} {number(goal)} {number(bend)}V{number(stop - head)}"
        )
        tips = [(goal, stop), (goal - head / 1.7, stop - head), (goal + head / 1.7, stop - head)]
        at, base = goal, bend + 13
    else:
        x, (_, y) = above.x + above.width, above.middle
        (_, goal), stop = box.middle, box.x
        bend, border = stop - _END - 8, above.border
        way = (
            f"M{number(x)} {number(y)}H{number(border)}C{number((border + bend) / 2)} {number(y)} "
            f"{number((border + bend) / 2)} {number(goal)} {number(bend)} {number(goal)}"
            f"H{number(stop - head)}"
        )
        tips = [(stop, goal), (stop - head, goal - head / 1.7), (stop - head, goal + head / 1.7)]
        at, base = bend + half, goal + 4
    # The figure stands in a gap of its line.
    ground = rect(at - half - 1.5, base - 9.5, 2 * half + 3, 12, "ground")
    mark = ground + label(at, base, figure, size=size, anchor="middle")
    limb = element("path", tip(words), d=way, class_="limb", stroke_width=thick)
    return limb, path(tips, "accent", closed=True) + mark


def _twig(above: _Box, box: _Box, hanging: bool, words: str) -> str:
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


def _node(own: Mapping[str, Any], box: _Box, placed: _Placed) -> str:
    (x, y), size = box.middle, placed.size
    words = f"{' '.join(own['name'].split())}: {short(own['bits'])} bit about the class"
    if own["hidden"]:
        words += f"; {own['hidden']} attributes below it are not drawn"
    frame = element(
        "rect",
        tip(words),
        x=box.x,
        y=box.y,
        width=box.width,
        height=box.height,
        rx=6,
        class_="node",
    )
    room = box.width - 2 * _PAD + 0.5
    lines = _lines(own, size, placed.lines)
    texts = [
        label(
            x,
            y + 0.35 * size + 1.15 * size * (place - (len(lines) - 1) / 2),
            part,
            room=room,
            size=size,
            anchor="middle",
            bold=not own["parents"],
            words_on_rest=words,
        )
        for place, part in enumerate(lines)
    ]
    return "".join([frame, *texts])


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
