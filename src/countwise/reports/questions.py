"""What a fitted decision tree asks, as plain data: its picture, its rules, a few sentences."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.models.tree.id3 import TreeClassifier
from countwise.models.tree.tree_structure import NO_CHILD, TreeStructure
from countwise.reports.rounding import figures, names
from countwise.reports.shares import MOST_CLASSES

#: As many lines are drawn, and of one split as many branches, if nobody says otherwise.
MOST_LINES, MOST_BRANCHES, DEEPEST = 40, 12, 12
#: How many lines of rules, and how long a line.
MOST_RULES = 60
LONGEST_RULE = 300


def decision_facts(model: TreeClassifier, most: int = 40) -> dict[str, Any]:
    """Return the tree of a fitted `ID3`: what a picture shows, and its rules, so many lines each.

    Of more classes than a page can tell apart the rarest are one.
    """
    shown = tree_facts(model.tree_, most=most)
    lines = model.rules(MOST_RULES).splitlines()
    every = max(len(model.tree_) - 1, 1)
    kept = lines[:MOST_RULES]
    return {
        **shown,
        **_classes(names(model.classes_.tolist()), shown["drawn"]),
        "words": " ".join(model.describe().splitlines()),
        "rules": [own if len(own) <= LONGEST_RULE else own[:LONGEST_RULE] + "…" for own in kept],
        "more_rules": every - len(kept),
    }


def _classes(classes: Sequence[str], drawn: Sequence[dict[str, Any]]) -> dict[str, Any]:
    counts = np.asarray([own["counts"] for own in drawn], dtype=np.float64)
    if len(classes) > MOST_CLASSES:
        order = np.argsort(-counts[0], kind="stable")
        keep, rest = sorted(order[: MOST_CLASSES - 1].tolist()), order[MOST_CLASSES - 1 :]
        classes = [*(classes[at] for at in keep), f"{len(rest)} other classes"]
        counts = np.column_stack([counts[:, keep], counts[:, rest].sum(axis=1)])
    told = [own | {"counts": figures(line)} for own, line in zip(drawn, counts, strict=True)]
    return {"classes": list(classes), "drawn": told}


def tree_facts(
    tree: TreeStructure,
    most: int = MOST_LINES,
    branches: int = MOST_BRANCHES,
    deepest: int = DEEPEST,
) -> dict[str, Any]:
    """Gather what a picture of a tree shows, heaviest nodes first, as plain data."""
    below = _below(tree)
    drawn: list[dict[str, Any]] = [_entry(tree, below, 0, None, "")]
    waiting = [(-float(tree.weight[0]), 0, 0)]
    lines = 1
    while waiting:
        _, place, node = heapq.heappop(waiting)
        if not tree.split[node] or tree.depths[node] >= deepest:
            continue
        children = [(slot, child) for slot, child in tree.children(node) if child != NO_CHILD]
        heaviest = _heaviest(tree, children, branches)
        rest = [child for slot, child in children if (slot, child) not in heaviest]
        needs = len(heaviest) + bool(rest)
        if lines + needs - 1 > most:
            continue
        lines += needs - 1
        drawn[place]["open"] = True
        for slot, child in heaviest:
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
    tree: TreeStructure, children: list[tuple[int, int]], branches: int
) -> list[tuple[int, int]]:
    """The heaviest branches in the order of their levels; one may stand for the rest."""
    if len(children) <= branches:
        return children
    order = sorted(children, key=lambda pair: (-tree.weight[pair[1]], pair[0]))
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
