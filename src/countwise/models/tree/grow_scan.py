"""Grow a tree on rows outside memory: one scan a level counts what its nodes need.

A node is chosen a split from the counts of its rows, column by column, by the functions that also
split rows in memory. A numeric column is seen through its fine histogram, which holds each value
itself up to 4096 different values in a node; beyond, a threshold is the border of a cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.counts.counts import Counts
from countwise.counts.engines import memory
from countwise.counts.plan import Plan
from countwise.models.tree.grow import Limits
from countwise.models.tree.predict import Parts, begin, values_of
from countwise.models.tree.splits import Attribute, Bits, Groups, choose_splits, halfway
from countwise.models.tree.tree_structure import (
    LEAF,
    LEAST_SHARE,
    NO_CHILD,
    TreeStructure,
    number_within,
)
from countwise.tables.scan import Block, Scan
from countwise.tables.scan_pass import add_by_key, run_pass
from countwise.tables.schema import Column, Level


@dataclass
class LevelNodes:
    """The nodes of one level: their rows by class, and which columns were used above them."""

    counts: FloatArray
    used: NDArray[np.bool_]
    #: Whether the counts are known before the rows are scanned.
    is_known: NDArray[np.bool_]
    #: The fraction of the rows of the node above, of those with a value, that come to each node.
    fraction: FloatArray
    feature: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))
    threshold: FloatArray = field(default_factory=lambda: np.empty(0))
    child: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))

    @property
    def size(self) -> int:
        """The number of nodes."""
        return len(self.counts)


class ScanGrowth:
    """Grows a tree level by level on rows outside memory."""

    def __init__(
        self, scan: Scan, weight: FloatArray, classes: Sequence[Level], limits: Limits
    ) -> None:
        self.scan, self.classes, self.limits = scan, tuple(classes), limits
        schema = scan.schema
        self.columns: tuple[Column, ...] = schema.attributes
        self.present = np.array([schema.target.place(label) for label in classes])  # type: ignore[union-attr]
        self.is_number = np.array([column.kind == "numeric" for column in self.columns])
        self.widths = np.array([2 if c.kind == "numeric" else c.width for c in self.columns])
        self.plan = Plan.each(schema, numeric="grid")
        gaps = any(part.missing for part in scan.survey.columns.values())
        total = float(weight.sum())
        exact = not (gaps and limits.fractions) and not scan.fractions[0]
        self.bits = Bits(total, exact)
        self.coarse: set[str] = set()

    def grow(self) -> TreeStructure:
        """Return the tree."""
        shape = (1, len(self.columns))
        root = np.zeros((1, len(self.classes))), np.zeros(shape, bool), np.zeros(1, bool)
        levels = [LevelNodes(*root, np.ones(1))]
        depth = 0
        while True:
            level = levels[-1]
            found = self._count(levels)
            for node, counts in found.items():
                level.counts[node] = counts.weight[self.present]
            level.feature = np.full(level.size, LEAF, np.int32)
            level.threshold = np.full(level.size, np.nan)
            open_nodes = np.flatnonzero(self.limits.allow_split(level.counts.T, depth))
            below = self._split(level, open_nodes, found) if len(open_nodes) else None
            if below is None:
                break
            levels.append(below)
            depth += 1
        return self._structure(levels)

    def _count(self, levels: list[LevelNodes]) -> dict[int, Counts]:
        """Scan the rows once; return the counts of the nodes of the last level that need them."""
        depth, level = len(levels) - 1, levels[-1]
        needed = ~level.is_known | self.limits.allow_split(level.counts.T, depth)
        if not needed.any():
            return {}
        tree = self._structure(levels)
        first = len(tree) - level.size

        def fold(block: Block) -> dict[int, Counts]:
            if block.weight is not None:
                # A row without weight may hold what no other holds, and so reach no node.
                block = block.take(block.weight > 0)
            table = block.table
            parts = self._route(tree, values_of(tree, table), levels)
            node = parts.node - first
            counted: dict[int, Counts] = {}
            for at in np.unique(node).tolist():
                if not needed[at]:
                    continue
                here = node == at
                row, share = parts.row[here], parts.share[here]
                weight = None if np.all(share == 1.0) else share
                if block.weight is not None:
                    weight = block.weight[row] * share
                counted[at] = memory.fold(table.take(row), self.plan, weight)
            return counted

        found: dict[int, Counts] = run_pass(
            self.scan, fold, add_by_key, progress=self.scan.progress
        )
        return found

    def _route(self, tree: TreeStructure, values: FloatArray, levels: list[LevelNodes]) -> Parts:
        """Return the parts of rows at the nodes of the last level."""
        going = begin(len(values))
        fraction = np.concatenate([level.fraction for level in levels])
        first = tree.first_child
        for _ in levels[1:]:
            going = going.take(tree.split[going.node])
            node = going.node
            held = values[going.row, tree.feature[node]]
            gap = np.isnan(held)
            with np.errstate(invalid="ignore"):
                step = np.where(tree.numeric[node], held > tree.threshold[node], held)
            step[gap] = 0
            goal = tree.child[tree.slot[node] + step.astype(np.intp)].astype(np.intp)
            if not gap.any():
                going = Parts(going.row, goal, going.share)
                continue
            known, without = going.take(~gap), going.take(gap)
            times = tree.kids[without.node]
            child = np.repeat(first[without.node], times) + number_within(times)
            row, share = np.repeat(without.row, times), np.repeat(without.share, times)
            divided = (share >= LEAST_SHARE) & self.limits.fractions
            # What is not divided goes to the heaviest child as a whole.
            keep = divided | (
                child == np.repeat(self._heaviest(tree, first, fraction)[without.node], times)
            )
            share = np.where(divided, share * fraction[child], share)
            going = Parts(
                np.concatenate([known.row, row[keep]]),
                np.concatenate([goal[~gap], child[keep]]),
                np.concatenate([known.share, share[keep]]),
            )
        return going

    @staticmethod
    def _heaviest(
        tree: TreeStructure, first: NDArray[np.intp], fraction: FloatArray
    ) -> NDArray[np.intp]:
        """Return the heaviest child of each split node, of equal ones the first."""
        heaviest = np.zeros(len(tree), np.intp)
        for node in np.flatnonzero(tree.split).tolist():
            of_kids = fraction[first[node] : first[node] + tree.kids[node]]
            heaviest[node] = first[node] + int(np.argmax(of_kids >= of_kids.max() * (1 - 1e-9)))
        return heaviest

    def _split(
        self, level: LevelNodes, nodes: NDArray[np.intp], found: dict[int, Counts]
    ) -> LevelNodes | None:
        """Split the open nodes of a level that can be; return the level below."""
        open_level = LevelNodes(
            level.counts[nodes], level.used[nodes], level.is_known[nodes], level.fraction[nodes]
        )
        counts = [found[at] for at in nodes.tolist()]
        columns = [
            Attribute(c.name, np.empty(0, np.uint8), max(c.width, 1), c.levels if c.coded else None)
            for c in self.columns
        ]
        every = [self._group(place, counts) for place in range(len(columns))]
        limits = self.limits
        best = choose_splits(every, open_level, columns, self.bits, limits.ratio, limits.least_part)
        limits.drop_small_gains(best)
        parts = [
            self._children(
                level,
                at,
                counts[place],
                int(best.feature[place]),
                best.below[place],
                best.above[place],
            )
            for place, at in enumerate(nodes.tolist())
            if best.feature[place] != LEAF
        ]
        if not parts:
            return None
        counts_below, used, is_known, fraction = (
            np.concatenate(arrays) for arrays in zip(*parts, strict=True)
        )
        reached = fraction > 0
        level.child = np.where(reached, np.cumsum(reached) - 1, NO_CHILD)
        return LevelNodes(
            counts_below[reached], used[reached], is_known[reached], fraction[reached]
        )

    def _group(self, place: int, counts: Sequence[Counts]) -> Groups:
        """Return the rows of a column by node and value, as if they had been counted by rows."""
        node, code, cells, known = [], [], [], []
        for at, of_node in enumerate(counts):
            table = self._table(place, of_node)
            filled = np.flatnonzero(table.sum(axis=0) > 0)
            node.append(np.full(len(filled), at, np.intp))
            code.append(filled)
            cells.append(table[:, filled])
            known.append(table.sum(axis=1))
        return Groups(
            np.concatenate(node),
            np.concatenate(code),
            np.concatenate(cells, axis=1),
            np.stack(known, axis=1),
        )

    def _table(self, place: int, counts: Counts) -> FloatArray:
        """Return class × value of the rows of a node that have a value."""
        name = self.columns[place].name
        if self.is_number[place]:
            return np.asarray(counts.grids[name].table[self.present])
        return np.asarray(counts.table(name)[self.present, :-1])

    def _children(
        self, level: LevelNodes, at: int, counts: Counts, feature: int, below: Any, above: Any
    ) -> tuple[FloatArray, NDArray[np.bool_], NDArray[np.bool_], FloatArray]:
        """Split a node; return what is known of its slots, in the order of `LevelNodes`."""
        name, table = self.columns[feature].name, self._table(feature, counts)
        used = level.used[at].copy()
        level.feature[at] = feature
        if self.is_number[feature]:
            grid = counts.grids[name]
            level.threshold[at] = (
                halfway(grid.points[[below]], grid.points[[above]])[0]
                if grid.exact
                else grid.upper[below]
            )
            if not grid.exact:
                self.coarse.add(name)
            halves = table[:, : below + 1], table[:, below + 1 :]
            slots = np.stack([half.sum(axis=1) for half in halves])
            missing = grid.missing[self.present]
        else:
            used[feature] = True
            slots = np.ascontiguousarray(table.T)
            missing = counts.table(name)[self.present, -1]
        # Rows without a value are divided among the children as those with one are.
        heavy = slots.sum(axis=1)
        number = len(slots)
        is_known = np.full(number, not missing.any())
        return slots, np.tile(used, (number, 1)), is_known, heavy / heavy.sum()

    def _structure(self, levels: Sequence[LevelNodes]) -> TreeStructure:
        """Return the tree so far; the nodes of its last level are leaves."""
        feature, threshold, child, total = [], [], [], 1
        for level in levels:
            is_last = level is levels[-1]
            size = level.size
            leaves = np.full(size, LEAF, np.int32)
            feature.append(leaves if is_last else level.feature)
            threshold.append(np.full(size, np.nan) if is_last else level.threshold)
            if not is_last:
                child.append(np.where(level.child >= 0, level.child + total, NO_CHILD))
                total += int((level.child >= 0).sum())
        features = np.concatenate(feature)
        width = np.append(self.widths, 0)[features]
        return TreeStructure(
            tuple(column.name for column in self.columns),
            tuple(c.levels if c.coded else None for c in self.columns),
            self.classes,
            features,
            np.concatenate(threshold),
            np.cumsum(width) - width,
            np.concatenate(child).astype(np.int32) if child else np.empty(0, np.int32),
            np.concatenate([level.counts for level in levels]),
            tuple(column.name for column in self.columns if column.dates),
        )
