"""Where the nodes of a tree go: each subtree has a strip of its own, so nothing ever crosses.

Nodes are numbered so that a parent comes before its children; there is no recursion, so no chain is
too long.
"""

from __future__ import annotations

from collections.abc import Sequence


def kids_of(parent: Sequence[int]) -> list[list[int]]:
    """Return the children of each node; a root has the parent -1."""
    kids: list[list[int]] = [[] for _ in parent]
    for node, above in enumerate(parent):
        if above >= 0:
            kids[above].append(node)
    return kids


def depths_of(parent: Sequence[int]) -> list[int]:
    """Return how many nodes lie above each node."""
    depths: list[int] = []
    for above in parent:
        depths.append(depths[above] + 1 if above >= 0 else 0)
    return depths


def strips(parent: Sequence[int], sizes: Sequence[float], gap: float) -> tuple[list[float], float]:
    """Return the middle of each node across the tree, and how wide the whole is."""
    kids = kids_of(parent)
    below, breadth = [0.0] * len(parent), [float(size) for size in sizes]
    for node in reversed(range(len(parent))):
        own = [breadth[kid] for kid in kids[node]]
        below[node] = sum(own) + gap * max(len(own) - 1, 0)
        breadth[node] = max(breadth[node], below[node])
    start, end = [0.0] * len(parent), 0.0
    for node, above in enumerate(parent):
        if above < 0:
            start[node], end = end, end + breadth[node] + gap
        at = start[node] + (breadth[node] - below[node]) / 2
        for kid in kids[node]:
            start[kid], at = at, at + breadth[kid] + gap
    middle = [0.0] * len(parent)
    for node in reversed(range(len(parent))):
        hung, half = kids[node], sizes[node] / 2
        wish = start[node] + breadth[node] / 2
        if hung:
            wish = (middle[hung[0]] + middle[hung[-1]]) / 2
        middle[node] = min(max(wish, start[node] + half), start[node] + breadth[node] - half)
    return middle, max(end - gap, 0.0)


def capped(sizes: Sequence[float], room: float) -> float:
    """Return the largest size that all may have at most so that together they fit the room."""
    left, ordered = room, sorted(sizes)
    for place, size in enumerate(ordered):
        share = left / (len(ordered) - place)
        if share < size:
            return share
        left -= size
    return ordered[-1] if ordered else room
