"""What is kept of a tree between two levels of its growth: the open nodes and their rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.models.tree import _grow
from countwise.models.tree.missing_values import shared_out
from countwise.models.tree.splits import TIE, Attribute, Best, Bits, Block, best_splits, tallied
from countwise.models.tree.tree_structure import LEAF, NO_CHILD, TreeStructure
from countwise.parallel import in_threads
from countwise.tables.schema import Level
from countwise.tables.table import Codes


@dataclass(frozen=True)
class Open:
    """The open nodes of a level: their rows, sorted by node, and what is known of each node."""

    rows: NDArray[np.int32]
    share: FloatArray | None  # how much of the row is here; None: all of it
    edges: NDArray[np.int64]
    number: NDArray[np.int64]  # of the node in the tree
    counts: FloatArray
    used: NDArray[np.bool_]


@dataclass(frozen=True)
class Children:
    """What a block of split nodes leaves behind, slots and nodes numbered from its own start."""

    child: NDArray[np.int64]
    counts: FloatArray
    still: NDArray[np.bool_]  # which children are open
    rows: NDArray[np.int32]  # of the open children
    share: FloatArray | None
    sizes: NDArray[np.int64]
    used: NDArray[np.bool_]


#: The nodes of a block that are split, their columns and thresholds, and their children.
Split = tuple[NDArray[np.int64], NDArray[np.int32], FloatArray, Children]


def nothing_open(level: Open) -> Open:
    """Return the level without any open node."""
    none = level.number[:0]
    return Open(level.rows[:0], None, np.zeros(1, np.int64), none, level.counts[:0], level.used[:0])


def next_level(made: list[Children], first: int) -> Open:
    """Put what the blocks left behind together as the next level."""
    still = np.concatenate([part.still for part in made])
    share: FloatArray | None = None
    if any(part.share is not None for part in made):
        share = np.concatenate(
            [np.ones(len(part.rows)) if part.share is None else part.share for part in made]
        )
    counts = np.concatenate([part.counts for part in made])
    sizes = np.concatenate([part.sizes for part in made])
    return Open(
        np.concatenate([part.rows for part in made]),
        share,
        np.concatenate([[0], np.cumsum(sizes)]),
        first + np.flatnonzero(still),
        counts[still],
        np.concatenate([part.used for part in made]),
    )


_ROWS = 1 << 16
_CELLS = 1 << 18
#: Beyond these, numbers of the compiled growth or its tables would become too large.
_MOST_ROWS, _MOST_COLUMNS, _MOST_CELLS = 1 << 30, 1 << 15, 1 << 14


@dataclass(frozen=True)
class Limits:
    """When a node stays a leaf, and how its split is chosen."""

    ratio: bool = False
    fractions: bool = True
    max_depth: int | None = None
    min_leaf: float = 0.0
    min_gain: float | None = 0.0


def grow(
    columns: Sequence[Attribute],
    target: Codes,
    classes: Sequence[Level],
    weight: FloatArray | None,
    limits: Limits,
) -> TreeStructure:
    """Grow a tree on coded columns until its leaves are pure or nothing tells their rows apart."""
    if weight is None and not limits.ratio and _is_compact(columns, target, len(classes)):
        return _compiled(columns, target, classes, limits)
    return _Growth(columns, target, classes, weight, limits).tree()


def _is_compact(columns: Sequence[Attribute], target: Codes, classes: int) -> bool:
    """Whether all columns are nominal, of bytes and without gaps, and their tables small."""
    if not columns or any(own.numeric or own.codes.dtype != np.uint8 for own in columns):
        return False
    cells = sum(own.width for own in columns) * classes
    return (
        target.dtype == np.uint8
        and len(target) < _MOST_ROWS
        and len(columns) < _MOST_COLUMNS
        and cells <= _MOST_CELLS
        and all(int(own.codes.max()) < own.width for own in columns)
    )


def _compiled(
    columns: Sequence[Attribute], target: Codes, classes: Sequence[Level], limits: Limits
) -> TreeStructure:
    """Grow a tree of whole rows in one go, on a copy of the codes that is sorted in place."""
    widths = np.array([own.width for own in columns], dtype=np.int32)
    feature, child, counts = _grow.grow(
        [np.ascontiguousarray(own.codes) for own in columns],
        np.ascontiguousarray(target),
        widths,
        len(classes),
        max(limits.min_leaf, np.finfo(float).tiny),
        limits.min_leaf,
        limits.min_gain,
        limits.max_depth,
        TIE,
    )
    width = np.append(widths, np.int32(0))[feature]
    return TreeStructure(
        tuple(own.name for own in columns),
        tuple(own.levels for own in columns),
        tuple(classes),
        feature,
        np.broadcast_to(np.float64(np.nan), feature.shape),  # takes no memory
        np.cumsum(width, dtype=np.int32) - width,
        child,
        counts,
    )


class _Growth:
    def __init__(
        self,
        columns: Sequence[Attribute],
        target: Codes,
        classes: Sequence[Level],
        weight: FloatArray | None,
        limits: Limits,
    ) -> None:
        self.columns, self.target, self.classes = columns, target, tuple(classes)
        self.weight, self.limits = weight, limits
        self.numeric = np.array([own.numeric for own in columns])
        self.widths = np.array([2 if own.numeric else own.width for own in columns], dtype=np.int64)
        # Parts of rows are no whole numbers; whole weights below this are exact.
        whole = weight is None or bool(np.all(weight == np.floor(weight)))
        gaps = any(bool((own.codes >= own.width).any()) for own in columns)
        self.bits = Bits(self._total(), whole and not (gaps and limits.fractions))

    def _total(self) -> float:
        return float(len(self.target) if self.weight is None else self.weight.sum())

    def tree(self) -> TreeStructure:
        kept: list[tuple[NDArray[np.int32], FloatArray, FloatArray]] = []
        child: list[NDArray[np.int64]] = []
        level, total, depth = self._root(), 1, 0
        counts = level.counts
        if not self._goes_on(counts.T, depth)[0]:
            level = nothing_open(level)
        while True:
            feature = np.full(len(counts), LEAF, dtype=np.int32)
            threshold = np.full(len(counts), np.nan)
            kept.append((feature, threshold, counts))
            made: list[Children] = []
            first = total - len(counts)
            for place, columns, cuts, children in self._split(level, depth):
                feature[place - first], threshold[place - first] = columns, cuts
                made.append(children)
            if not made:
                break
            depth += 1
            for part in made:
                child.append(np.where(part.child >= 0, part.child + total, NO_CHILD))
                total += len(part.counts)
            counts = np.concatenate([part.counts for part in made])
            level = next_level(made, total - len(counts))
        features, thresholds, tables = (np.concatenate(own) for own in zip(*kept, strict=True))
        width = np.append(self.widths, 0)[features]
        return TreeStructure(
            tuple(own.name for own in self.columns),
            tuple(own.levels for own in self.columns),
            self.classes,
            features,
            thresholds,
            np.cumsum(width) - width,
            np.concatenate(child).astype(np.int32) if child else np.empty(0, dtype=np.int32),
            tables,
        )

    def _split(self, level: Open, depth: int) -> list[Split]:
        """Split the nodes of a level that can be, block by block, in threads if there are several.

        Blocks know nothing of each other and come back in order, so threads change nothing.
        """
        borders = list(self._blocks(level))
        splits = in_threads(lambda border: self._split_block(level, depth, border), borders)
        return [split for split in splits if split is not None]

    def _split_block(self, level: Open, depth: int, border: tuple[int, int]) -> Split | None:
        start, stop = border
        block, share = self._block(level, start, stop)
        best = self._worthwhile(block)
        split = np.flatnonzero(best.feature != LEAF)
        if not len(split):
            return None
        return (
            level.number[start:stop][split],
            best.feature[split],
            self._thresholds(best, split),
            self._descend(block, share, best, depth + 1),
        )

    def _root(self) -> Open:
        size = len(self.target)
        counts = np.bincount(self.target, self.weight, len(self.classes)).astype(np.float64)
        return Open(
            np.arange(size, dtype=np.int32),
            None,
            np.array([0, size]),
            np.zeros(1, dtype=np.int64),
            counts[None, :],
            np.zeros((1, len(self.columns)), dtype=bool),
        )

    def _goes_on(self, counts: FloatArray, depth: int) -> NDArray[np.bool_]:
        """Which nodes (columns) may be split: of several classes, not too deep, not too light."""
        if self.limits.max_depth is not None and depth >= self.limits.max_depth:
            return np.zeros(counts.shape[1], dtype=bool)
        mixed = (counts > 0).sum(axis=0) > 1
        return np.asarray(mixed & (counts.sum(axis=0) >= 2 * self.limits.min_leaf))

    def _blocks(self, level: Open) -> Iterator[tuple[int, int]]:
        """Neighbouring nodes whose rows and tables fit in a cache, at least one node at a time."""
        start, nodes = 0, len(level.number)
        most = max(1, _CELLS // max(len(self.columns), int(self.widths.max(initial=1))))
        while start < nodes:
            fits = int(np.searchsorted(level.edges, level.edges[start] + _ROWS, side="right")) - 1
            stop = min(max(start + 1, fits), start + most, nodes)
            yield start, stop
            start = stop

    def _block(self, level: Open, start: int, stop: int) -> tuple[Block, FloatArray | None]:
        edges = level.edges[start : stop + 1]
        own = slice(int(edges[0]), int(edges[-1]))
        rows = level.rows[own]
        share = None if level.share is None else level.share[own]
        node = np.repeat(np.arange(stop - start, dtype=np.uint32), np.diff(edges))
        weight = share
        if self.weight is not None:
            weight = self.weight[rows] if share is None else self.weight[rows] * share
        used = level.used[start:stop]
        block = Block(rows, node, self.target[rows], weight, level.counts[start:stop], used)
        return block, share

    def _worthwhile(self, block: Block) -> Best:
        """The best splits, without those that gain too little."""
        limits = self.limits
        # A split into parts of which all but one are empty tells nothing apart.
        least = max(limits.min_leaf, np.finfo(float).tiny)
        best = best_splits(block, self.columns, self.bits, limits.ratio, least)
        if limits.min_gain is not None:
            best.feature[best.gain <= limits.min_gain + TIE] = LEAF
        return best

    def _thresholds(self, best: Best, split: NDArray[np.intp]) -> FloatArray:
        """Halfway between the values on both sides, but never as high as the upper one."""
        cuts = np.full(len(split), np.nan)
        for place in np.unique(best.feature[split]):
            points = self.columns[place].points
            if points is None:
                continue
            own = best.feature[split] == place
            low, high = points[best.below[split[own]]], points[best.above[split[own]]]
            with np.errstate(invalid="ignore", over="ignore"):
                middle = low + (high / 2 - low / 2)
            cuts[own] = np.where(middle < high, middle, low)
        return cuts

    def _descend(self, block: Block, share: FloatArray | None, best: Best, depth: int) -> Children:
        """Send the rows of the split nodes down, and number the children that some row reaches."""
        rows, share, slot, offset = self._sent(block, share, best)
        slots, number = int(offset[-1]), len(self.classes)
        weight = share
        if self.weight is not None:
            weight = self.weight[rows] if share is None else self.weight[rows] * share
        table = tallied([slot, self.target[rows]], [1, slots], weight, slots, number)
        there = table.sum(axis=0) > 0
        child = np.where(there, np.cumsum(there) - 1, NO_CHILD)
        counts = table.compress(there, axis=1)
        still = self._goes_on(counts, depth)
        open_slot = np.zeros(slots, dtype=bool)
        open_slot[there] = still
        goes_on = open_slot[slot]
        rows, slot = rows[goes_on], slot[goes_on]
        order = np.argsort(slot.astype(np.min_scalar_type(slots)), kind="stable")
        owner = np.repeat(np.arange(block.nodes), np.diff(offset))
        used = block.used[owner[open_slot]]
        feature = best.feature[owner[open_slot]]
        used[np.arange(len(used)), feature] |= ~self.numeric[feature]
        sizes = np.bincount(slot, minlength=slots)[open_slot]
        kept = None if share is None else share[goes_on][order]
        counts = np.ascontiguousarray(counts.T)
        return Children(child, counts, still, rows[order], kept, sizes, used)

    def _sent(
        self, block: Block, share: FloatArray | None, best: Best
    ) -> tuple[NDArray[np.int32], FloatArray | None, NDArray[np.uint32], NDArray[np.int64]]:
        """The rows of split nodes and the slot each falls into, parts of rows included."""
        width = np.append(self.widths, 0)[best.feature]
        offset = np.concatenate([[0], np.cumsum(width)])
        feature = best.feature.take(block.node)
        slot = np.zeros(len(block.rows), dtype=np.uint32)
        gap = np.zeros(len(block.rows), dtype=bool)
        for place in np.unique(best.feature[best.feature != LEAF]):
            column = self.columns[place]
            own = np.flatnonzero(feature == place)
            codes, node = column.codes.take(block.rows.take(own)), block.node.take(own)
            gap[own] = codes >= column.width
            step = codes > best.below.take(node) if column.numeric else codes
            slot[own] = offset.take(node) + step
        going = (feature != LEAF) & ~gap
        rows, slot_known = block.rows[going], slot[going]
        if not gap.any():
            return rows, None if share is None else share[going], slot_known, offset
        weight = None if block.weight is None else block.weight[going]
        heavy = np.bincount(slot_known, weight, int(offset[-1])).astype(np.float64)
        lost = np.flatnonzero(gap)
        part = np.ones(len(lost)) if share is None else share[lost]
        whole = np.ones(len(rows)) if share is None else share[going]
        fractions = self.limits.fractions
        taken, where, parts = shared_out(block.node[lost], part, heavy, offset, fractions)
        return (
            np.concatenate([rows, block.rows[lost[taken]]]),
            np.concatenate([whole, parts]) if fractions else None,
            np.concatenate([slot_known, where.astype(np.uint32)]),
            offset,
        )
