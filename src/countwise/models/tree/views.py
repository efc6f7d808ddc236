"""The views of trees and forests: the heaviest nodes, rules as text, importance of columns."""

from __future__ import annotations

import heapq
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.counts.information import entropy, information_gain
from countwise.models.tree.forest_structure import take_tree
from countwise.models.tree.splits import bits
from countwise.models.tree.tree_structure import NO_CHILD, ReadableTree, rules_of
from countwise.models.views import DecisionTree, Importance, Importances, TreeNode
from countwise.tables.labels import text

if TYPE_CHECKING:
    from countwise.models.tree.forest import Forest

#: Lines that are drawn at most, branches of one split, tests on a path.
MAX_LINES, MAX_BRANCHES, MAX_DEPTH = 60, 12, 12
#: Rules that are listed at most, and the characters of each.
MAX_RULES, MAX_RULE_LENGTH = 60, 300


def tree_view(
    tree: ReadableTree,
    max_lines: int = MAX_LINES,
    max_branches: int = MAX_BRANCHES,
    max_depth: int = MAX_DEPTH,
    note: str = "",
) -> DecisionTree:
    """Choose the nodes to show, the heaviest first, until their leaves fill the lines."""
    below, ratios = _count_below(tree), gain_ratios(tree)
    nodes: list[TreeNode] = [_node(tree, below, ratios, 0, None, "")]
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
            nodes.append(_node(tree, below, ratios, child, place, tree.value(node, slot)))
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


def forest_views(model: Forest) -> tuple[Importances, DecisionTree]:
    """Return the importance of the columns, and the tree with the median number of leaves."""
    trees = model.trees_
    columns = model.schema_.attributes
    order = np.argsort(-model.importances_, kind="stable").tolist()
    shares = tuple(
        Importance(columns[place].name, float(model.importances_[place])) for place in order
    )
    sizes = np.diff(trees.start)
    place = int(np.argsort(sizes, kind="stable")[(len(sizes) - 1) // 2])
    tree = take_tree(trees, place, model.bins_, model.schema_, tuple(model.classes_.tolist()))
    note = (
        f"Tree {place + 1} of {len(trees)}, the one with the median number of leaves. Each tree "
        "saw other rows, so it is an example and not the model."
    )
    words = " ".join(model.describe().splitlines())
    return Importances(shares, words), tree_view(tree, note=note)


def _count_below(tree: ReadableTree) -> NDArray[np.int64]:
    """Count the nodes below each node."""
    below = np.zeros(len(tree), dtype=np.int64)
    for start, stop in reversed(list(pairwise(tree.borders[1:]))):
        above = tree.parent[start:stop]
        first = int(above[0])
        sums = np.bincount(above - first, below[start:stop] + 1).astype(np.int64)
        below[first : first + len(sums)] += sums
    return below


def _heaviest(
    tree: ReadableTree, children: list[tuple[int, int]], max_branches: int
) -> list[tuple[int, int]]:
    """Return the heaviest branches in the order of levels; one place is left for all others."""
    if len(children) <= max_branches:
        return children
    order = sorted(children, key=lambda pair: (-tree.weight[pair[1]], pair[0]))
    return sorted(order[: max_branches - 1])


def gain_ratios(tree: ReadableTree) -> FloatArray:
    """Return the gain ratio of each split by the rows that went on; NaN for leaves.

    Rows whose value was missing count where they were sent.
    """
    counts, above = np.asarray(tree.counts, dtype=np.float64), tree.parent[1:]
    spread = bits(counts.sum(axis=1)) - bits(counts).sum(axis=1)
    weight = counts.sum(axis=1)
    gain = spread - np.bincount(above, spread[1:], len(counts))
    known = np.bincount(above, weight[1:], len(counts)).astype(np.float64)
    parts = bits(known) - np.bincount(above, bits(weight[1:]), len(counts))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(parts > 0, gain / parts, np.nan)


def _node(
    tree: ReadableTree,
    below: NDArray[np.int64],
    ratios: FloatArray,
    node: int,
    parent: int | None,
    value: str,
) -> TreeNode:
    split, label = bool(tree.split[node]), text(tree.classes[tree.label[node]])
    name = tree.columns[tree.feature[node]] if split else label
    ratio = float(ratios[node]) if np.isfinite(ratios[node]) else None
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
        ratio,
    )


def _others(
    tree: ReadableTree, below: NDArray[np.int64], nodes: list[int], parent: int
) -> TreeNode:
    """Return all the lighter branches of a split as one."""
    counts = tree.counts[nodes].sum(axis=0)
    label = text(tree.classes[int(counts.argmax())])
    hidden = int(below[nodes].sum()) + len(nodes)
    value = f"{len(nodes)} other values"
    bits = float(entropy(counts.astype(np.float64)))
    return TreeNode(parent, value, "", label, False, False, hidden, tuple(counts.tolist()), bits)
