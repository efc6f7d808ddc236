"""The view of a decision tree: the nodes with the most rows, and the rules as text."""

from __future__ import annotations

import heapq
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from countwise.counts.information import entropy, information_gain
from countwise.models.tree.tree_structure import NO_CHILD, TreeStructure, rules_of
from countwise.models.views import DecisionTree, TreeNode
from countwise.tables.labels import text

if TYPE_CHECKING:
    from countwise.models.tree.id3 import ID3

#: Lines that are drawn at most, branches of one split, tests on a path.
MAX_LINES, MAX_BRANCHES, MAX_DEPTH = 60, 12, 12
#: Rules that are listed at most, and the characters of each.
MAX_RULES, MAX_RULE_LENGTH = 60, 300


def decision_tree(model: ID3) -> DecisionTree:
    """Return the view of a fitted decision tree."""
    alpha = float(getattr(model, "smoothing", 0.0) or 0.0)
    smoothing = "Nothing is added to the counts."
    if alpha:
        smoothing = f"{alpha:g} is added to every class count of a leaf (Laplace)."
    return tree_view(model.tree_, note=f"{' '.join(model.describe().splitlines())} {smoothing}")


def tree_view(
    tree: TreeStructure,
    max_lines: int = MAX_LINES,
    max_branches: int = MAX_BRANCHES,
    max_depth: int = MAX_DEPTH,
    note: str = "",
) -> DecisionTree:
    """Choose the nodes to show, the heaviest first, until their leaves fill the lines."""
    below = _count_below(tree)
    nodes: list[TreeNode] = [_node(tree, below, 0, None, "")]
    waiting = [(-float(tree.weight[0]), 0, 0)]
    opened, lines = set[int](), 1
    while waiting:
        _, place, node = heapq.heappop(waiting)
        if not tree.split[node] or tree.depths[node] >= max_depth:
            continue
        children = [(slot, child) for slot, child in tree.children(node) if child != NO_CHILD]
        heaviest = _heaviest(tree, children, max_branches)
        rest = [child for slot, child in children if (slot, child) not in heaviest]
        needed = len(heaviest) + bool(rest)
        if lines + needed - 1 > max_lines:
            continue
        lines += needed - 1
        opened.add(place)
        for slot, child in heaviest:
            heapq.heappush(waiting, (-float(tree.weight[child]), len(nodes), child))
            nodes.append(_node(tree, below, child, place, tree.value(node, slot)))
        if rest:
            nodes.append(_others(tree, below, rest, place))
    rules = rules_of(tree, MAX_RULES).splitlines()[:MAX_RULES]
    return DecisionTree(
        tuple(text(label) for label in tree.classes),
        len(tree),
        tree.leaves,
        tree.depth,
        tuple(replace(node, open=place in opened) for place, node in enumerate(nodes)),
        tuple(r if len(r) <= MAX_RULE_LENGTH else r[:MAX_RULE_LENGTH] + "…" for r in rules),
        note,
        max(len(tree) - 1, 1) - len(rules),
    )


def _count_below(tree: TreeStructure) -> NDArray[np.int64]:
    """Count the nodes below each node."""
    below = np.zeros(len(tree), dtype=np.int64)
    for start, stop in reversed(list(pairwise(tree.borders[1:]))):
        above = tree.parent[start:stop]
        first = int(above[0])
        sums = np.bincount(above - first, below[start:stop] + 1).astype(np.int64)
        below[first : first + len(sums)] += sums
    return below


def _heaviest(
    tree: TreeStructure, children: list[tuple[int, int]], max_branches: int
) -> list[tuple[int, int]]:
    """Return the heaviest branches in the order of levels; one place is left for all others."""
    if len(children) <= max_branches:
        return children
    order = sorted(children, key=lambda pair: (-tree.weight[pair[1]], pair[0]))
    return sorted(order[: max_branches - 1])


def _node(
    tree: TreeStructure, below: NDArray[np.int64], node: int, parent: int | None, value: str
) -> TreeNode:
    split, label = bool(tree.split[node]), text(tree.classes[tree.label[node]])
    name = tree.columns[tree.feature[node]] if split else label
    counts = tree.counts[node].astype(np.float64)
    gain = None
    if split:
        children = [child for _, child in tree.children(node) if child != NO_CHILD]
        gain = information_gain(tree.counts[children].astype(np.float64).T)
    return TreeNode(
        parent,
        value,
        name,
        label,
        not split,
        False,
        int(below[node]),
        tuple(counts.tolist()),
        float(entropy(counts)),
        gain,
    )


def _others(
    tree: TreeStructure, below: NDArray[np.int64], nodes: list[int], parent: int
) -> TreeNode:
    """Return all the lighter branches of a split as one."""
    counts = tree.counts[nodes].sum(axis=0)
    label = text(tree.classes[int(counts.argmax())])
    hidden = int(below[nodes].sum()) + len(nodes)
    value = f"{len(nodes)} other values"
    bits = float(entropy(counts.astype(np.float64)))
    return TreeNode(parent, value, "", label, False, False, hidden, tuple(counts.tolist()), bits)
