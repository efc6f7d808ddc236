"""A decision tree, from left to right: what is asked, what was answered, how many of each class.

Every node has a bar of its class shares (Smart, Leh and Marsh, fig. 4). A tree too large for its
room is drawn where most rows are, and says how many nodes it leaves out. Nothing here recurses.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.models.tree.tree_structure import NO_CHILD, TreeStructure
from countwise.reports.figures.palette import HUES
from countwise.reports.figures.svg import drawing, group, label, line, rect
from countwise.reports.figures.text_width import shortened, width_of
from countwise.reports.sentences import counted, percent

#: As many lines are drawn, and of one split as many branches, if nobody says otherwise.
MOST_LINES, MOST_BRANCHES, DEEPEST = 40, 12, 12
_PITCH, _STEM, _LINE, _BAR = 150.0, 26.0, 50.0, 7.0
_NARROW, _NARROW_PITCH, _WIDEST = 500.0, 116.0, 240.0
_SMALL, _NAME = 11.0, 12.0


def tree_facts(
    source: Any,
    most: int = MOST_LINES,
    branches: int = MOST_BRANCHES,
    deepest: int = DEEPEST,
) -> dict[str, Any]:
    """Gather what a picture of a tree shows, heaviest nodes first, as plain data."""
    tree: TreeStructure = getattr(source, "tree_", source)
    below = _below(tree)
    drawn: list[dict[str, Any]] = [_entry(tree, below, 0, None, "")]
    waiting = [(-float(tree.weight[0]), 0, 0)]
    lines = 1
    while waiting:
        _, place, node = heapq.heappop(waiting)
        if not tree.split[node] or tree.depths[node] >= deepest:
            continue
        own = [(slot, child) for slot, child in tree.children(node) if child != NO_CHILD]
        shown = _heaviest(tree, own, branches)
        rest = [child for _, child in own if child not in {kept for _, kept in shown}]
        needs = len(shown) + bool(rest)
        if lines + needs - 1 > most:
            continue
        lines += needs - 1
        drawn[place]["open"] = True
        for slot, child in shown:
            heapq.heappush(waiting, (-float(tree.weight[child]), len(drawn), child))
            drawn.append(_entry(tree, below, child, place, tree.value(node, slot)))
        if rest:
            drawn.append(_others(tree, below, rest, place))
    return {
        "classes": list(map(str, tree.classes)),
        "nodes": len(tree),
        "leaves": tree.leaves,
        "depth": tree.depth,
        "drawn": drawn,
    }


def _below(tree: TreeStructure) -> NDArray[np.int64]:
    """How many nodes hang below each."""
    below = np.zeros(len(tree), dtype=np.int64)
    for start, stop in reversed(list(pairwise(tree.borders[1:]))):
        above = tree.parent[start:stop]
        first = int(above[0])
        sums = np.bincount(above - first, below[start:stop] + 1).astype(np.int64)
        below[first : first + len(sums)] += sums
    return below


def _heaviest(
    tree: TreeStructure, own: list[tuple[int, int]], branches: int
) -> list[tuple[int, int]]:
    """The heaviest branches in the order of their levels; one may stand for the rest."""
    if len(own) <= branches:
        return own
    order = sorted(own, key=lambda pair: (-tree.weight[pair[1]], pair[0]))
    return sorted(order[: branches - 1])


def _entry(
    tree: TreeStructure, below: NDArray[np.int64], node: int, parent: int | None, value: str
) -> dict[str, Any]:
    split, answer = bool(tree.split[node]), str(tree.classes[tree.label[node]])
    return {
        "parent": parent,
        "value": value,
        "name": tree.columns[tree.feature[node]] if split else answer,
        "label": answer,
        "leaf": not split,
        "open": False,
        "below": int(below[node]),
        "counts": tree.counts[node].tolist(),
    }


def _others(
    tree: TreeStructure, below: NDArray[np.int64], nodes: list[int], parent: int
) -> dict[str, Any]:
    counts = tree.counts[nodes].sum(axis=0)
    return {
        "parent": parent,
        "value": f"{len(nodes)} other values",
        "name": "",
        "label": str(tree.classes[int(counts.argmax())]),
        "leaf": False,
        "open": False,
        "below": int(below[nodes].sum()) + len(nodes),
        "counts": counts.tolist(),
    }


def svg(source: Any, width: float = 1040, title: str = "Decision tree", **limits: int) -> str:
    """Draw a tree."""
    facts = source if isinstance(source, Mapping) else tree_facts(source, **limits)
    plan = _Plan(facts, width)
    colours, names = _colours(facts["classes"], facts["drawn"][0]["counts"])
    swatches, top = _legend(names, width)
    parts = [own for at in plan.shown for own in plan.node(at, colours)]
    told = _described(facts, len(plan.shown))
    return drawing(width, top + plan.height, title, told, swatches, group(*parts, y=top))


class _Plan:
    """Where everything goes: a column a depth, a line a leaf, parents amid their children."""

    def __init__(self, facts: Mapping[str, Any], width: float) -> None:
        self.entries: Sequence[Mapping[str, Any]] = facts["drawn"]
        self.classes: Sequence[str] = facts["classes"]
        least = _PITCH if width > _NARROW else _NARROW_PITCH
        self.columns = max(2, int(width // least))
        depth: list[int] = []
        children: list[list[int]] = [[] for _ in self.entries]
        for at, own in enumerate(self.entries):
            parent = own["parent"]
            depth.append(0 if parent is None else depth[parent] + 1)
            if parent is not None:
                children[parent].append(at)
        self.depth = depth
        self.children = [
            own if depth[at] + 1 < self.columns else [] for at, own in enumerate(children)
        ]
        self.shown = list(self._in_order())
        used = 1 + max(depth[at] for at in self.shown)
        self.pitch = min(width / used, _WIDEST)
        self.box = self.pitch - _STEM
        self.y: dict[int, float] = {}
        lines = 0
        for at in self.shown:
            if not self.children[at]:
                self.y[at] = lines * _LINE
                lines += 1
        for at in reversed(self.shown):
            if self.children[at]:
                own = self.children[at]
                self.y[at] = (self.y[own[0]] + self.y[own[-1]]) / 2
        self.height = lines * _LINE

    def _in_order(self) -> Iterator[int]:
        """From the top of the picture to its end, a node before what hangs on it."""
        waiting = [0]
        while waiting:
            at = waiting.pop()
            yield at
            waiting += reversed(self.children[at])

    def node(self, at: int, colours: Sequence[int]) -> list[str]:
        """Draw one node: value, name, weight, bar, and the lines to its children."""
        own, y = self.entries[at], self.y[at]
        x = self.pitch * self.depth[at] + (_STEM / 2 if at else 0.0)
        told, box = counted(sum(own["counts"])), self.box
        room = box - width_of(told, _SMALL) - 6
        name, size, ink = own["name"], _NAME, "ink"
        if not own["leaf"] and not self.children[at]:
            name, size, ink = f"… {own['below']:,} more", _SMALL, "soft"
            longer = f"{name} {'node' if own['below'] == 1 else 'nodes'}"
            name = longer if width_of(longer, size) <= box else name
        elif not own["leaf"]:
            name = f"{name} ?"
        return [
            label(x, y + 11, own["value"], room=room, size=_SMALL, classes="soft"),
            label(x + box, y + 11, told, size=_SMALL, anchor="end", classes="soft"),
            label(x, y + 26, name, room=box, size=size, classes=ink, bold=ink == "ink"),
            *self._bar(own["counts"], x, y + 31, colours),
            *self._stems(at, x, y + 31 + _BAR / 2),
        ][0 if own["value"] else 1 :]

    def _bar(
        self, counts: Sequence[float], x: float, y: float, colours: Sequence[int]
    ) -> list[str]:
        weight = sum(counts)
        parts = []
        for colour in range(HUES):
            mine = [at for at, own in enumerate(colours) if own == colour and counts[at] > 0]
            share = sum(counts[at] for at in mine) / weight
            if not share:
                continue
            words = ", ".join(
                f"{self.classes[at]}: {counted(counts[at])} of {counted(weight)} "
                f"({percent(counts[at] / weight)})"
                for at in mine[:12]
            )
            parts.append(rect(x, y, share * self.box, _BAR, f"c{colour}", words))
            x += share * self.box
        return parts

    def _stems(self, at: int, x: float, y: float) -> list[str]:
        own = self.children[at]
        if not own:
            return []
        trunk = self.pitch * (self.depth[at] + 1)
        ends = [self.y[child] + 31 + _BAR / 2 for child in own]
        parts = [line(x + self.box, y, trunk, y, "axis")]
        if len(ends) > 1:
            parts.append(line(trunk, ends[0], trunk, ends[-1], "axis"))
        return parts + [line(trunk, end, trunk + _STEM / 2, end, "axis") for end in ends]


def _colours(classes: Sequence[str], counts: Sequence[float]) -> tuple[list[int], list[str]]:
    """The colour of each class; beyond the colours there are, the rarest classes share the last."""
    if len(classes) <= HUES:
        return list(range(len(classes))), list(classes)
    order = sorted(range(len(classes)), key=lambda at: (-counts[at], at))
    kept = sorted(order[: HUES - 1])
    own = {at: colour for colour, at in enumerate(kept)}
    names = [*(classes[at] for at in kept), f"{len(classes) - HUES + 1} other classes"]
    return [own.get(at, HUES - 1) for at in range(len(classes))], names


def _legend(names: Sequence[str], width: float) -> tuple[str, float]:
    x, y, parts = 0.0, 0.0, []
    for colour, name in enumerate(names):
        shown = shortened(name, width - 18, _NAME)
        needs = 18 + width_of(shown, _NAME)
        if x > 0 and x + needs > width:
            x, y = 0.0, y + 20
        parts.append(rect(x, y + 4, 12, 10, f"c{colour}"))
        parts.append(label(x + 18, y + 14, name, room=width - 18, size=_NAME))
        x += needs + 18
    return "".join(parts), y + 30


def _described(facts: Mapping[str, Any], shown: int) -> str:
    root = facts["drawn"][0]
    first = (
        f"It answers {root['label']} for every row."
        if root["leaf"]
        else f"It asks for {root['name']} first."
    )
    if facts["nodes"] == 1:
        return f"A tree of one leaf, drawn with a bar of its class shares. {first}"
    tests = "one test" if facts["depth"] == 1 else f"{facts['depth']:,} tests"
    return (
        f"A tree of {facts['nodes']:,} nodes, {facts['leaves']:,} of them leaves, at most "
        f"{tests} deep. {first} {shown} nodes are drawn, each with a bar of its "
        "class shares and the weight of its rows."
    )
