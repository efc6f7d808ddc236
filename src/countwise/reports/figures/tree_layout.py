"""Positions of the nodes of a tree: each subtree has its own strip, so no two edges cross.

Nodes are numbered so that a parent comes before its children; a root has the parent -1. Nothing
recurses, so a chain may have any length.
"""

from __future__ import annotations

from collections.abc import Sequence


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
