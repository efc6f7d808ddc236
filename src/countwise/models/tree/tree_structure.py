"""A decision tree in flat arrays: nodes refer to each other by number, so any depth is possible.

Nodes are numbered level by level from the root, 0; the children of a node lie together, and those
of the next split node follow them. A node has one slot a level of its column (or two, at most the
threshold and above); a slot holds the number of a child, or -1 where no row of training ended.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.counts.moments import MAX_WEIGHT, SLACK
from countwise.errors import StoreError
from countwise.tables.labels import value_text
from countwise.tables.schema import Level

if TYPE_CHECKING:
    from countwise.models.tree.forest_structure import ForestTree

Numbers = NDArray[np.int64]

#: The column of a node that is not split.
LEAF = -1
#: What a slot holds if no row of training reached it.
NO_CHILD = -1
#: A part of a row below this is not divided again, which bounds how many parts there are.
#: No round number: rounding must not decide for shares that are equal on paper.
LEAST_SHARE = 0.0101
#: Shares divided by the weight of a lighter node overflow.
MIN_WEIGHT = 1e-280


class TreeNodes:
    """What follows from the columns and the class weights of the nodes of any tree."""

    feature: NDArray[np.signedinteger]
    counts: NDArray[Any]

    def __len__(self) -> int:
        return len(self.feature)

    @cached_property
    def split(self) -> NDArray[np.bool_]:
        """A mask of the nodes that are split."""
        return np.asarray(self.feature != LEAF)

    @cached_property
    def weight(self) -> FloatArray:
        """The weight of the rows in each node."""
        return np.asarray(self.counts.sum(axis=1, dtype=np.float64))

    @cached_property
    def label(self) -> Numbers:
        """The class with the largest weight in each node; of equal ones the first."""
        return np.asarray(self.counts.argmax(axis=1))

    @property
    def leaves(self) -> int:
        """The number of nodes that are not split."""
        return int(np.count_nonzero(~self.split))


@dataclass(frozen=True, eq=False)
class TreeStructure(TreeNodes):
    """The nodes of a decision tree, their tests and how many rows of each class reached them.

    Attributes
    ----------
    columns
        Names of the columns that may be split on.
    levels
        The levels of each of them, None for a numeric one.
    classes
        The class labels.
    feature
        For each node the position of its column, or `LEAF`.
    threshold
        For each node split on a number: up to this it goes left (NaN elsewhere).
    slot
        For each node where its slots begin in `child`.
    child
        The children, slot by slot, or `NO_CHILD`.
    counts
        The weight of each class (columns) in each node (rows); integers where rows have no weights
        and none is divided, which takes half the memory.
    dates
        Names of the numeric columns that hold dates, as days since 1970-01-01.

    Examples
    --------
    >>> import countwise as cw
    >>> from countwise.models.tree.id3 import ID3
    >>> tree = ID3().fit(cw.read("sample:weather")).tree_
    >>> len(tree), tree.leaves, tree.depth
    (8, 5, 2)
    >>> [tree.columns[place] for place in tree.feature if place >= 0]
    ['outlook', 'humidity', 'windy']
    >>> tree.counts[0].tolist()
    [5, 9]
    """

    columns: tuple[str, ...]
    levels: tuple[tuple[Level, ...] | None, ...]
    classes: tuple[Level, ...]
    feature: NDArray[np.signedinteger]
    threshold: FloatArray
    slot: NDArray[np.signedinteger]
    child: NDArray[np.int32]
    counts: NDArray[np.int32] | FloatArray
    dates: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<Tree: {len(self)} nodes, {self.leaves} leaves, depth {self.depth}>"

    @cached_property
    def numeric(self) -> NDArray[np.bool_]:
        """A mask of the nodes that are split at a threshold."""
        kinds = np.array([levels is None for levels in self.levels] + [False])
        return np.asarray(kinds[self.feature])

    @cached_property
    def width(self) -> Numbers:
        """The number of slots of each node."""
        widths = [2 if levels is None else len(levels) for levels in self.levels]
        return np.asarray(np.array([*widths, 0], dtype=np.int64)[self.feature])

    @cached_property
    def parent(self) -> Numbers:
        """The parent of each node; the root has none, -1."""
        above = np.full(len(self), -1, dtype=np.int64)
        filled = self.child != NO_CHILD
        above[self.child[filled]] = np.repeat(np.arange(len(self)), self.width)[filled]
        return above

    @cached_property
    def kids(self) -> Numbers:
        """The number of children of each node."""
        return np.bincount(self.parent[1:], minlength=len(self))

    @cached_property
    def first_child(self) -> Numbers:
        """The first child of each split node; its other children follow."""
        return 1 + np.cumsum(self.kids) - self.kids

    @cached_property
    def borders(self) -> list[int]:
        """The first node of each level of the tree, and the number of nodes at the end."""
        found = [0, 1]
        while found[-1] < len(self):
            # Children are numbered in the order of slots: the last one before the slots of the
            # next level ends this one.
            end = int(self.slot[found[-1]]) - 1
            while self.child[end] == NO_CHILD:
                end -= 1
            found.append(int(self.child[end]) + 1)
        return found

    @cached_property
    def depths(self) -> Numbers:
        """The number of splits above each node."""
        return np.repeat(np.arange(len(self.borders) - 1), np.diff(self.borders))

    @property
    def depth(self) -> int:
        """The number of splits on the longest path."""
        return len(self.borders) - 2

    @cached_property
    def largest(self) -> NDArray[np.int32]:
        """The child with the largest weight of each split node, of equal ones the first."""
        found = np.full(len(self), NO_CHILD, dtype=np.int32)
        parents = np.flatnonzero(self.kids)
        if len(parents):
            top = np.maximum.reduceat(self.weight, self.first_child[parents])
            best = self.weight[1:] >= np.repeat(top * (1 - 1e-9), self.kids[parents])
            # Written from the last to the first, the first one stays.
            chosen = 1 + np.flatnonzero(best)[::-1]
            found[self.parent[chosen]] = chosen
        return found

    def children(self, node: int) -> list[tuple[int, int]]:
        """Return the slots of a node and the children in them, `NO_CHILD` included."""
        start = int(self.slot[node])
        return list(enumerate(self.child[start : start + int(self.width[node])].tolist()))

    def test(self, node: int, slot: int) -> str:
        """Return the test that leads from a node to the child in one of its slots.

        Examples
        --------
        >>> import countwise as cw
        >>> from countwise.models.tree.id3 import ID3
        >>> ID3().fit(cw.read("sample:weather")).tree_.test(0, 1)
        'outlook = overcast'
        """
        name, value = self.columns[self.feature[node]], self.value(node, slot)
        return f"{name} {value}" if self.numeric[node] else f"{name} = {value}"

    def value(self, node: int, slot: int) -> str:
        """Return what a row has in the column of a node to fall into one of its slots."""
        names = self.levels[self.feature[node]]
        if names is None:
            dates = self.columns[self.feature[node]] in self.dates
            return f"{'≤>'[slot]} {value_text(float(self.threshold[node]), dates)}"
        return str(names[slot])

    def without_below(self, closed: NDArray[np.bool_]) -> TreeStructure:
        """Return the tree in which these nodes are leaves and nothing hangs below them."""
        keep = np.ones(len(self), dtype=bool)
        goes_on = self.split & ~closed
        for start, stop in zip(self.borders[1:-1], self.borders[2:], strict=True):
            above = self.parent[start:stop]
            keep[start:stop] = keep[above] & goes_on[above]
        goes_on &= keep
        number = np.append(np.cumsum(keep, dtype=np.int32) - 1, NO_CHILD)
        slots = np.repeat(goes_on, self.width)
        width = np.where(goes_on, self.width, 0)[keep]
        return TreeStructure(
            self.columns,
            self.levels,
            self.classes,
            np.where(goes_on, self.feature, LEAF)[keep].astype(np.int32),
            np.where(goes_on, self.threshold, np.nan)[keep],
            np.cumsum(width) - width,
            number[self.child[slots]].astype(np.int32),
            self.counts[keep],
            self.dates,
        )

    def check(self) -> None:
        """Refuse arrays that would lead a row astray or around in circles."""
        nodes, columns = len(self), len(self.columns)
        self._require(nodes > 0 and len(self.classes) > 0, "there must be a node and a class")
        self._require(columns == len(self.levels), "each column must have its levels")
        shapes = {array.shape for array in (self.feature, self.threshold, self.slot)}
        self._require(shapes == {(nodes,)}, "each node must have a column, a threshold and slots")
        self._require(
            self.feature.min() >= LEAF and self.feature.max() < columns,
            "each node must be split on a column, or be a leaf",
        )
        self._require(
            not np.isnan(self.threshold[self.numeric]).any(),
            "each node split on a number must have a threshold",
        )
        slots = int(self.width.sum())
        self._require(
            self.child.shape == (slots,)
            and np.array_equal(self.slot, np.cumsum(self.width) - self.width),
            "each node must have a slot for every level of its column",
        )
        children = self.child[self.child != NO_CHILD]
        self._require(
            np.array_equal(children, np.arange(1, nodes)), "each node must be a child once"
        )
        self._require(
            not np.any(self.parent[1:] >= children) and not np.any(self.kids[self.split] == 0),
            "each split node must have children, numbered higher than itself",
        )
        self._require(
            self.counts.shape == (nodes, len(self.classes))
            and bool(np.isfinite(self.counts).all())
            and self.counts.min() >= 0
            and self.counts.max() <= MAX_WEIGHT
            and self.weight.min() > MIN_WEIGHT,
            "each node must have a finite weight of each class, not all zero",
        )
        below = np.bincount(self.parent[1:], self.weight[1:], nodes)
        self._require(
            not np.any(below > self.weight * (1 + SLACK)),
            "children must not weigh more than their parent",
        )

    @staticmethod
    def _require(holds: bool | np.bool_, rule: str) -> None:
        if not holds:
            raise StoreError(f"Tree: {rule}.")


#: A tree that can be drawn and written as rules; its nodes are numbered level by level.
ReadableTree: TypeAlias = "TreeStructure | ForestTree"

#: Deeper tests are numbered rather than indented, or a chain of thousands would be all blanks.
_INDENTED = 24


def number_within(sizes: NDArray[np.integer[Any]]) -> Numbers:
    """Return the numbers from 0 on of the members of each of some groups, group by group."""
    starts = np.cumsum(sizes) - sizes
    return np.asarray(np.arange(sizes.sum()) - np.repeat(starts, sizes))


class Step(NamedTuple):
    """One node on a row's path: the test that led there and the class weights in it."""

    node: int
    test: str
    counts: tuple[float, ...]


def held_text(tree: TreeStructure, column: int, held: float) -> str:
    """Return what a row holds in one of the columns of a tree."""
    levels = tree.levels[column]
    if held != held:
        return "missing"
    if levels is None:
        return value_text(held, tree.columns[column] in tree.dates)
    return str(levels[int(held)]) if held >= 0 else "never seen"


def path_of(tree: TreeStructure, values: NDArray[np.float64]) -> list[Step]:
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


def rules_of(tree: ReadableTree, most: int | None = None) -> str:
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
            waiting += [(node, at, child) for at, child in reversed(tree.children(node))]
        else:
            lines.append(f"{head} {_answer(tree, node)}")
    return "\n".join(lines)


def _answer(tree: ReadableTree, node: int) -> str:
    label, weight = int(tree.label[node]), float(tree.weight[node])
    right = float(tree.counts[node, label])
    noun = "row" if round(weight, 2) == 1 else "rows"
    share = f"{weight:.6g}" if weight - right < 1e-9 * weight else f"{right:.6g} of {weight:.6g}"
    return f"{tree.classes[label]} ({share} {noun})"
