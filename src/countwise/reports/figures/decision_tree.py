"""A decision tree, from left to right: its tests, their outcomes, and the rows of each class.

Every node has a bar of its class fractions (Smart, Leh and Marsh, fig. 4). A tree too deep for the
width of the figure is cut off, and the figure says how many nodes it leaves out. Nothing recurses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from countwise.reports.figures.axes import place_names
from countwise.reports.figures.palette import HUES
from countwise.reports.figures.svg import drawing, group, label, line, rect, width_of
from countwise.reports.sentences import counted, percent, short


def children_of(parent: Sequence[int]) -> list[list[int]]:
    """Return the children of each node."""
    children: list[list[int]] = [[] for _ in parent]
    for node, above in enumerate(parent):
        if above >= 0:
            children[above].append(node)
    return children


def depths_of(parent: Sequence[int]) -> list[int]:
    """Return how many nodes lie above each node."""
    depths: list[int] = []
    for above in parent:
        depths.append(depths[above] + 1 if above >= 0 else 0)
    return depths


def place_in_strips(
    parent: Sequence[int], sizes: Sequence[float], gap: float
) -> tuple[list[float], float]:
    """Return the middle of each node across the tree, and the breadth of the whole tree."""
    children = children_of(parent)
    below, breadth = [0.0] * len(parent), [float(size) for size in sizes]
    for node in reversed(range(len(parent))):
        below[node] = sum(breadth[child] for child in children[node])
        below[node] += gap * max(len(children[node]) - 1, 0)
        breadth[node] = max(breadth[node], below[node])
    start, end = [0.0] * len(parent), 0.0
    for node, above in enumerate(parent):
        if above < 0:
            start[node], end = end, end + breadth[node] + gap
        at = start[node] + (breadth[node] - below[node]) / 2
        for child in children[node]:
            start[child], at = at, at + breadth[child] + gap
    middle = [0.0] * len(parent)
    for node in reversed(range(len(parent))):
        half, ideal = sizes[node] / 2, start[node] + breadth[node] / 2
        if children[node]:
            ideal = (middle[children[node][0]] + middle[children[node][-1]]) / 2
        middle[node] = min(max(ideal, start[node] + half), start[node] + breadth[node] - half)
    return middle, max(end - gap, 0.0)


def size_limit(sizes: Sequence[float], room: float) -> float:
    """Return the limit to which all sizes must be cut so that together they fit the room."""
    left, ordered = room, sorted(sizes)
    for place, size in enumerate(ordered):
        share = left / (len(ordered) - place)
        if share < size:
            return share
        left -= size
    return ordered[-1] if ordered else room


_PITCH, _STEM, _LINE, _BAR = 150.0, 26.0, 62.0, 7.0
_NARROW, _NARROW_PITCH, _WIDEST = 500.0, 116.0, 240.0
_TINY, _SMALL, _NAME = 10.0, 11.0, 12.0
_LEAST_WIDTH = 340.0


def decision_tree_figure(
    tree: Mapping[str, Any], width: float = 1040, title: str = "Decision tree"
) -> str:
    """Draw a tree from its nodes, parents first; a node names its parent by position."""
    least = _PITCH if width > _NARROW else _NARROW_PITCH
    nodes = _place(tree["drawn"], max(2, int(width // least)))
    hues, names = _hues(tree["classes"], tree["drawn"][0]["counts"])
    columns = 1 + max(node.depth for node in nodes)
    pitch = min(width / columns, _WIDEST)
    width = min(width, max(columns * pitch, _LEAST_WIDTH))  # a low tree leaves no empty paper
    swatches, high = place_names(
        names, width, lambda x, y, place: rect(x, y + 4, 20, 10, f"c{place}")
    )
    parts = [
        part
        for node in nodes
        for part in (
            *_texts(node, pitch),
            *_bar(node, pitch, tree["classes"], hues),
            _bits(node, pitch),
            *_stems(node, [nodes[child] for child in node.children], pitch),
        )
    ]
    top = high + 10
    height = top + _LINE * sum(not node.children for node in nodes)
    return drawing(
        width, height, title, _describe(tree, len(nodes)), swatches, group(*parts, y=top)
    )


@dataclass(frozen=True)
class _Node:
    """A node that is drawn, its top edge, and the positions of its children that are drawn too."""

    facts: Mapping[str, Any]
    depth: int
    y: float
    children: Sequence[int]

    def x(self, pitch: float) -> float:
        return pitch * self.depth + (_STEM / 2 if self.depth else 0.0)


def _place(drawn: Sequence[Mapping[str, Any]], columns: int) -> list[_Node]:
    """Give each depth a column and each leaf a line; a parent stands amid its children."""
    parents = [-1 if node["parent"] is None else node["parent"] for node in drawn]
    fits = [place for place, depth in enumerate(depths_of(parents)) if depth < columns]
    position = {place: at for at, place in enumerate(fits)} | {-1: -1}
    parents = [position[parents[place]] for place in fits]
    middles, _ = place_in_strips(parents, [_LINE] * len(parents), 0.0)
    return [
        _Node(drawn[place], depth, middle - _LINE / 2, children)
        for place, depth, middle, children in zip(
            fits, depths_of(parents), middles, children_of(parents), strict=True
        )
    ]


def _texts(node: _Node, pitch: float) -> list[str]:
    """The value that leads to a node, the weight of its rows, its test or class, the gain ratio."""
    facts, x, y, box = node.facts, node.x(pitch), node.y, pitch - _STEM
    weight = counted(sum(facts["counts"]))
    room = box - width_of(weight, _SMALL) - 6
    name, size, ink = facts["name"], _NAME, "ink"
    if not facts["leaf"] and not node.children:
        name, size, ink = f"… {facts['below']:,} more", _SMALL, "soft"
        longer = f"{name} {'node' if facts['below'] == 1 else 'nodes'}"
        name = longer if width_of(longer, size) <= box else name
    elif not facts["leaf"]:
        name = f"{name} ?"
    ratio = facts.get("gain_ratio") if node.children else None
    measure = "" if ratio is None else f"ratio {short(ratio)}"
    left = box - (width_of(measure, _SMALL) + 6 if measure else 0)
    parts = [
        label(x, y + 11, facts["value"], room=room, size=_SMALL, classes="soft"),
        label(x + box, y + 11, weight, size=_SMALL, anchor="end", classes="soft"),
        label(x, y + 26, name, room=left, size=size, classes=ink, bold=ink == "ink"),
    ][0 if facts["value"] else 1 :]
    if measure:
        parts.append(label(x + box, y + 26, measure, size=_SMALL, anchor="end", classes="soft"))
    return parts


def _bar(node: _Node, pitch: float, classes: Sequence[str], hues: Sequence[int]) -> list[str]:
    counts, x, box = node.facts["counts"], node.x(pitch), pitch - _STEM
    weight = sum(counts)
    parts = []
    for hue in range(HUES):
        places = [place for place, other in enumerate(hues) if other == hue and counts[place] > 0]
        fraction = sum(counts[place] for place in places) / weight
        if not fraction:
            continue
        words = ", ".join(
            f"{classes[place]}: {counted(counts[place])} of {counted(weight)} "
            f"({percent(counts[place] / weight)})"
            for place in places[:12]
        )
        parts.append(rect(x, node.y + 31, fraction * box, _BAR, f"c{hue}", words))
        x += fraction * box
    return parts


def _bits(node: _Node, pitch: float) -> str:
    """The entropy of the classes and, of a test, its information gain."""
    entropy, gain = node.facts["entropy"], node.facts["gain"]
    words = f"entropy {short(entropy)}"
    longer = words if gain is None else f"{words}, gain {short(gain)}"
    if width_of(longer, _TINY) > pitch - _STEM:
        longer = f"H {short(entropy)}, gain {short(gain)}"
    tip_words = "" if gain is None else f"{words} bits, information gain {short(gain)} bits"
    room = pitch - _STEM
    return label(
        node.x(pitch), node.y + 48, longer, room=room, size=_TINY, classes="soft",
        tip_words=tip_words,
    )  # fmt: skip


def _stems(node: _Node, children: Sequence[_Node], pitch: float) -> list[str]:
    if not children:
        return []
    trunk, down = pitch * (node.depth + 1), 31 + _BAR / 2
    ends = [child.y + down for child in children]
    parts = [line(node.x(pitch) + pitch - _STEM, node.y + down, trunk, node.y + down, "axis")]
    if len(ends) > 1:
        parts.append(line(trunk, ends[0], trunk, ends[-1], "axis"))
    return parts + [line(trunk, end, trunk + _STEM / 2, end, "axis") for end in ends]


def _hues(classes: Sequence[str], counts: Sequence[float]) -> tuple[list[int], list[str]]:
    """The hue of each class, and the legend; the rarest classes share the last hue if need be."""
    if len(classes) <= HUES:
        return list(range(len(classes))), list(classes)
    order = sorted(range(len(classes)), key=lambda place: (-counts[place], place))
    frequent = sorted(order[: HUES - 1])
    hue = {place: at for at, place in enumerate(frequent)}
    names = [*(classes[place] for place in frequent), f"{len(classes) - HUES + 1} other classes"]
    return [hue.get(place, HUES - 1) for place in range(len(classes))], names


def _describe(tree: Mapping[str, Any], drawn: int) -> str:
    root = tree["drawn"][0]
    first = (
        f"It predicts {root['label']} for every row."
        if root["leaf"]
        else f"It tests {root['name']} first."
    )
    if tree["nodes"] == 1:
        return f"A tree of one leaf, drawn with a bar of its class fractions. {first}"
    tests = "one test" if tree["depth"] == 1 else f"{tree['depth']:,} tests"
    return (
        f"A tree of {tree['nodes']:,} nodes, {tree['leaves']:,} of them leaves, at most "
        f"{tests} deep. {first} {drawn} nodes are drawn, each with a bar of its "
        "class fractions, the weight of its rows, the entropy of their classes and the information "
        "gain of its test, in bits."
    )
