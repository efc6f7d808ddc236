"""A tree as text: its rules, one line a test, and the path of a row."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from countwise.posteriors.tree import NO_CHILD, Tree

#: Deeper tests are numbered rather than indented, or a chain of thousands would be all blanks.
_INDENTED = 24


class Step(NamedTuple):
    """One node on a row's path: the test that led there and the class weights in it."""

    node: int
    test: str
    counts: tuple[float, ...]


def held_text(tree: Tree, column: int, held: float) -> str:
    """Say what a row holds in one of the columns of a tree."""
    levels = tree.levels[column]
    if held != held:
        return "missing"
    if levels is None:
        return f"{held:g}"
    return str(levels[int(held)]) if held >= 0 else "never seen"


def path_of(tree: Tree, values: NDArray[np.float64]) -> list[Step]:
    """Follow one row down; where its value is missing, down the largest child."""
    node, steps = 0, [Step(0, "", tuple(map(float, tree.counts[0])))]
    while tree.feature[node] >= 0:
        held = float(values[tree.feature[node]])
        name = tree.columns[tree.feature[node]]
        if held != held:
            goal, test = int(tree.largest[node]), f"{name} missing"
        elif not tree.numeric[node] and held < 0:
            break
        else:
            slot = int(held > tree.threshold[node]) if tree.numeric[node] else int(held)
            goal, test = int(tree.child[tree.slot[node] + slot]), tree.test(node, slot)
        if goal == NO_CHILD:
            break
        steps.append(Step(goal, test, tuple(map(float, tree.counts[goal]))))
        node = goal
    return steps


def rules_of(tree: Tree, most: int | None = None) -> str:
    """Write a tree as indented tests; a leaf says its class and how many of its rows are of it.

    Levels that no row of training reached answer as the node above them and are not listed.
    """
    if not tree.split[0]:
        return f"always {_answer(tree, 0)}"
    lines: list[str] = []
    waiting = [(0, slot, child) for slot, child in reversed(tree.children(0))]
    while waiting:
        above, slot, node = waiting.pop()
        if node == NO_CHILD:
            continue
        if most is not None and len(lines) >= most:
            lines.append(f"… {len(tree) - 1 - len(lines)} more tests")
            break
        depth = int(tree.depths[above])
        indent = "  " * depth if depth <= _INDENTED else "  " * _INDENTED + f"[{depth + 1}] "
        head = f"{indent}if {tree.test(above, slot)}:"
        if tree.split[node]:
            lines.append(head)
            waiting += [(node, own, child) for own, child in reversed(tree.children(node))]
        else:
            lines.append(f"{head} {_answer(tree, node)}")
    return "\n".join(lines)


def _answer(tree: Tree, node: int) -> str:
    label, weight = int(tree.label[node]), float(tree.weight[node])
    own = float(tree.counts[node, label])
    noun = "row" if round(weight, 2) == 1 else "rows"
    share = f"{weight:.6g}" if weight - own < 1e-9 * weight else f"{own:.6g} of {weight:.6g}"
    return f"{tree.classes[label]} ({share} {noun})"
