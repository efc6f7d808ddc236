"""Grow a tree level by level: the open nodes, their rows, and how they are split."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.models.tree import _grow
from countwise.models.tree.splits import (
    TIE,
    Attribute,
    Best,
    Bits,
    Block,
    best_splits,
    halfway,
    tally,
)
from countwise.models.tree.tree_structure import (
    LEAF,
    LEAST_SHARE,
    NO_CHILD,
    TreeStructure,
    number_within,
)
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
    """The children of a block of split nodes, slots and nodes numbered from its start."""

    child: NDArray[np.int64]
    counts: FloatArray
    still: NDArray[np.bool_]  # which children are open
    rows: NDArray[np.int32]  # of the open children
    share: FloatArray | None
    sizes: NDArray[np.int64]
    used: NDArray[np.bool_]


#: The nodes of a block that are split, their columns and thresholds, and their children.
Split = tuple[NDArray[np.int64], NDArray[np.int32], FloatArray, Children]


def join_blocks(blocks: list[Children], first: int) -> Open:
    """Put what the blocks left behind together as the next level."""
    still = np.concatenate([block.still for block in blocks])
    share: FloatArray | None = None
    if any(block.share is not None for block in blocks):
        share = np.concatenate(
            [np.ones(len(block.rows)) if block.share is None else block.share for block in blocks]
        )
    sizes = np.concatenate([block.sizes for block in blocks])
    return Open(
        np.concatenate([block.rows for block in blocks]),
        share,
        np.concatenate([[0], np.cumsum(sizes)]),
        first + np.flatnonzero(still),
        np.concatenate([block.counts for block in blocks])[still],
        np.concatenate([block.used for block in blocks]),
    )


_ROWS = 1 << 16
_CELLS = 1 << 18
#: In C4.5 a column has many levels if it has this share of the rows.
_MANY_LEVELS = 0.3
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
    as_c45: bool = False  # thresholds pay for their choice and are values of the column

    @property
    def least_weight(self) -> float:
        """The least weight of a leaf, where weights that are not whole may sum to a little less."""
        return self.min_leaf * (1 - 1e-9)

    @property
    def least_part(self) -> float:
        """The least weight of a part of a split: an empty part tells nothing apart."""
        return max(self.least_weight, float(np.finfo(float).tiny))

    def allow_split(self, counts: FloatArray, depth: int) -> NDArray[np.bool_]:
        """Return which nodes (columns) are of several classes, not too deep and not too light."""
        if self.max_depth is not None and depth >= self.max_depth:
            return np.zeros(counts.shape[1], dtype=bool)
        mixed = (counts > 0).sum(axis=0) > 1
        return np.asarray(mixed & (counts.sum(axis=0) >= 2 * self.least_weight))

    def drop_small_gains(self, best: Best) -> None:
        """Leave the nodes unsplit whose best split gains too little."""
        if self.min_gain is not None:
            best.feature[best.gain <= self.min_gain + TIE] = LEAF


def grow(
    columns: Sequence[Attribute],
    target: Codes,
    classes: Sequence[Level],
    weight: FloatArray | None,
    limits: Limits,
) -> TreeStructure:
    """Grow a tree on coded columns until its leaves are pure or nothing tells their rows apart."""
    if weight is None and not limits.ratio and _is_compact(columns, target, len(classes)):
        return _grow_compiled(columns, target, classes, limits)
    return _Growth(columns, target, classes, weight, limits).grow()


def _is_compact(columns: Sequence[Attribute], target: Codes, classes: int) -> bool:
    """Return whether all columns are nominal, of bytes and without gaps, and their tables small."""
    if not columns or any(column.numeric or column.codes.dtype != np.uint8 for column in columns):
        return False
    cells = sum(column.width for column in columns) * classes
    return (
        target.dtype == np.uint8
        and len(target) < _MOST_ROWS
        and len(columns) < _MOST_COLUMNS
        and cells <= _MOST_CELLS
        and all(int(column.codes.max()) < column.width for column in columns)
    )


def _grow_compiled(
    columns: Sequence[Attribute], target: Codes, classes: Sequence[Level], limits: Limits
) -> TreeStructure:
    """Grow a tree of whole rows in one go, on a copy of the codes that is sorted in place."""
    widths = np.array([column.width for column in columns], dtype=np.int32)
    feature, child, counts = _grow.grow(
        [np.ascontiguousarray(column.codes) for column in columns],
        np.ascontiguousarray(target),
        widths,
        len(classes),
        limits.least_part,
        limits.least_weight,
        limits.min_gain,
        limits.max_depth,
        TIE,
    )
    width = np.append(widths, np.int32(0))[feature]
    return TreeStructure(
        tuple(column.name for column in columns),
        tuple(column.levels for column in columns),
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
        self.numeric = np.array([column.numeric for column in columns])
        widths = [2 if column.numeric else column.width for column in columns]
        self.widths = np.array(widths, dtype=np.int64)
        # Parts of rows are no whole numbers; whole weights below this are exact.
        whole = weight is None or bool(np.all(weight == np.floor(weight)))
        gaps = any(bool((column.codes >= column.width).any()) for column in columns)
        self.total = float(len(target) if weight is None else weight.sum())
        self.bits = Bits(self.total, whole and not (gaps and limits.fractions))

    def grow(self) -> TreeStructure:
        kept: list[tuple[NDArray[np.int32], FloatArray, FloatArray]] = []
        child: list[NDArray[np.int64]] = []
        level, total, depth = self._root(), 1, 0
        counts = level.counts
        while True:
            feature = np.full(len(counts), LEAF, dtype=np.int32)
            threshold = np.full(len(counts), np.nan)
            kept.append((feature, threshold, counts))
            splits: list[Children] = []
            first = total - len(counts)
            for place, columns, cuts, children in self._split(level, depth):
                feature[place - first], threshold[place - first] = columns, cuts
                splits.append(children)
            if not splits:
                break
            depth += 1
            for part in splits:
                child.append(np.where(part.child >= 0, part.child + total, NO_CHILD))
                total += len(part.counts)
            counts = np.concatenate([part.counts for part in splits])
            level = join_blocks(splits, total - len(counts))
        features, thresholds, tables = (np.concatenate(part) for part in zip(*kept, strict=True))
        width = np.append(self.widths, 0)[features]
        return TreeStructure(
            tuple(column.name for column in self.columns),
            tuple(column.levels for column in self.columns),
            self.classes,
            features,
            thresholds,
            np.cumsum(width) - width,
            np.concatenate(child).astype(np.int32) if child else np.empty(0, dtype=np.int32),
            tables,
            tuple(column.name for column in self.columns if column.dates),
        )

    def _split(self, level: Open, depth: int) -> list[Split]:
        """Split the nodes of a level that can be, block by block, in threads if there are several.

        Blocks know nothing of each other and come back in order, so threads change nothing.
        """
        # Below the root only nodes that can be split are open.
        is_open = self.limits.allow_split(level.counts.T, depth).any()
        borders = list(self._blocks(level)) if is_open else []
        splits = in_threads(lambda border: self._split_block(level, depth, border), borders)
        return [split for split in splits if split is not None]

    def _split_block(self, level: Open, depth: int, border: tuple[int, int]) -> Split | None:
        start, stop = border
        block, share = self._block(level, start, stop)
        best = self._find_splits(block)
        split = np.flatnonzero(best.feature != LEAF)
        if not len(split):
            return None
        return (
            level.number[start:stop][split],
            best.feature[split],
            self._find_thresholds(best, split),
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

    def _blocks(self, level: Open) -> Iterator[tuple[int, int]]:
        """Yield neighboring nodes whose rows and tables fit in a cache, at least one at a time."""
        start, nodes = 0, len(level.number)
        most = max(1, _CELLS // max(len(self.columns), int(self.widths.max(initial=1))))
        while start < nodes:
            fits = int(np.searchsorted(level.edges, level.edges[start] + _ROWS, side="right")) - 1
            stop = min(max(start + 1, fits), start + most, nodes)
            yield start, stop
            start = stop

    def _block(self, level: Open, start: int, stop: int) -> tuple[Block, FloatArray | None]:
        edges = level.edges[start : stop + 1]
        span = slice(int(edges[0]), int(edges[-1]))
        rows = level.rows[span]
        share = None if level.share is None else level.share[span]
        node = np.repeat(np.arange(stop - start, dtype=np.uint32), np.diff(edges))
        counts, used = level.counts[start:stop], level.used[start:stop]
        return Block(rows, node, self.target[rows], self._weigh(rows, share), counts, used), share

    def _weigh(self, rows: NDArray[np.int32], share: FloatArray | None) -> FloatArray | None:
        """Return the weight of parts of rows; None if all weigh one."""
        if self.weight is None:
            return share
        return self.weight[rows] if share is None else self.weight[rows] * share

    def _find_splits(self, block: Block) -> Best:
        """Return the best splits, without those that gain too little."""
        limits = self.limits
        many = _MANY_LEVELS * self.total if limits.as_c45 else None
        best = best_splits(block, self.columns, self.bits, limits.ratio, limits.least_part, many)
        limits.drop_small_gains(best)
        return best

    def _find_thresholds(self, best: Best, split: NDArray[np.intp]) -> FloatArray:
        """Return the middle between the values on both sides, never as high as the upper one.

        C4.5 takes the largest value of all rows that is not above the middle.
        """
        cuts = np.full(len(split), np.nan)
        for place in np.unique(best.feature[split]):
            points = self.columns[place].points
            if points is None:
                continue
            here = best.feature[split] == place
            low, high = points[best.below[split[here]]], points[best.above[split[here]]]
            middle = halfway(low, high)
            if self.limits.as_c45:
                middle = points[np.searchsorted(points, middle, side="right") - 1]
            cuts[here] = middle
        return cuts

    def _descend(self, block: Block, share: FloatArray | None, best: Best, depth: int) -> Children:
        """Send the rows of the split nodes down, and number the children that some row reaches."""
        rows, share, slot, offset = self._send_down(block, share, best)
        slots, number, weight = int(offset[-1]), len(self.classes), self._weigh(rows, share)
        table = tally([slot, self.target[rows]], [1, slots], weight, slots, number)
        reached = table.sum(axis=0) > 0
        child = np.where(reached, np.cumsum(reached) - 1, NO_CHILD)
        counts = table.compress(reached, axis=1)
        still = self.limits.allow_split(counts, depth)
        open_slot = np.zeros(slots, dtype=bool)
        open_slot[reached] = still
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

    def _send_down(
        self, block: Block, share: FloatArray | None, best: Best
    ) -> tuple[NDArray[np.int32], FloatArray | None, NDArray[np.uint32], NDArray[np.int64]]:
        """Return the rows of split nodes and the slot each falls into, parts of rows included."""
        width = np.append(self.widths, 0)[best.feature]
        offset = np.concatenate([[0], np.cumsum(width)])
        feature = best.feature.take(block.node)
        slot = np.zeros(len(block.rows), dtype=np.uint32)
        gap = np.zeros(len(block.rows), dtype=bool)
        for place in np.unique(best.feature[best.feature != LEAF]):
            column = self.columns[place]
            here = np.flatnonzero(feature == place)
            codes, node = column.codes.take(block.rows.take(here)), block.node.take(here)
            gap[here] = codes >= column.width
            step = codes > best.below.take(node) if column.numeric else codes
            slot[here] = offset.take(node) + step
        going = (feature != LEAF) & ~gap
        rows, slot_known = block.rows[going], slot[going]
        if not gap.any():
            return rows, None if share is None else share[going], slot_known, offset
        weight = None if block.weight is None else block.weight[going]
        heavy = np.bincount(slot_known, weight, int(offset[-1])).astype(np.float64)
        unknown = np.flatnonzero(gap)
        part = np.ones(len(unknown)) if share is None else share[unknown]
        whole = np.ones(len(rows)) if share is None else share[going]
        fractions = self.limits.fractions
        taken, where, parts = share_out(block.node[unknown], part, heavy, offset, fractions)
        return (
            np.concatenate([rows, block.rows[unknown[taken]]]),
            np.concatenate([whole, parts]) if fractions else None,
            np.concatenate([slot_known, where.astype(np.uint32)]),
            offset,
        )


def share_out(
    node: NDArray[np.uint32],
    part: FloatArray,
    heavy: FloatArray,
    offset: NDArray[np.int64],
    fractions: bool,
) -> tuple[NDArray[np.intp], NDArray[np.intp], FloatArray]:
    """Divide rows without a value among the slots of their nodes."""
    nodes = len(offset) - 1
    owner = np.repeat(np.arange(nodes), np.diff(offset))
    filled = np.flatnonzero(heavy > 0)
    divided = part >= LEAST_SHARE if fractions else np.zeros(len(part), dtype=bool)
    alone, many = np.flatnonzero(~divided), np.flatnonzero(divided)
    number = np.bincount(owner[filled], minlength=nodes)
    begin = np.cumsum(number) - number
    times = number[node[many]]
    taken = np.repeat(many, times)
    where = filled[np.repeat(begin[node[many]], times) + number_within(times)]
    parts = part[taken] * heavy[where] / np.bincount(owner, heavy, nodes)[owner[where]]
    return (
        np.concatenate([alone, taken]),
        np.concatenate([_heaviest_slots(heavy, owner, filled, nodes)[node[alone]], where]),
        np.concatenate([part[alone], parts]),
    )


def _heaviest_slots(
    heavy: FloatArray, owner: NDArray[np.intp], filled: NDArray[np.intp], nodes: int
) -> NDArray[np.intp]:
    """Return the heaviest slot of each node, of equal ones the first."""
    top = np.zeros(nodes)
    np.maximum.at(top, owner, heavy)
    near = filled[heavy[filled] >= top[owner[filled]] * (1 - 1e-9)]
    largest = np.zeros(nodes, dtype=np.intp)
    # Written from the last to the first, the first one stays.
    largest[owner[near[::-1]]] = near[::-1]
    return largest
