"""Find the best splits of many nodes at once: the node is one more axis of the counts.

Rows lie sorted by node. A block of nodes is counted by (node, value, class) for one column after
the other, by the compiled fold where the table is dense and by sorting where it would be empty for
the most part. Numbers come as ranks, so that counting them is counting codes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.counts.engines import _kernels
from countwise.tables.schema import Level
from countwise.tables.table import Codes, Values, code_type

Places = NDArray[np.intp]

#: Gains closer than this are equal: rounding does not choose a column.
TIE = 1e-10
#: In C4.5 a gain that is smaller than the average by this still counts as average.
_SLACK = 1e-3
#: In C4.5 each side of a threshold has this share of a node's rows a class, up to so many rows.
_SIDE, _MOST_SIDE = 0.1, 25.0

#: Up to this many cells a row, a table is filled; beyond it, rows are sorted.
_DENSE = 4
#: Up to this weight, x log x is looked up rather than computed.
_LOOKED_UP = 1 << 21


@dataclass(frozen=True)
class Attribute:
    """A column as the growth of a tree sees it: codes or ranks; code `width` is missing."""

    name: str
    codes: Codes
    width: int
    levels: tuple[Level, ...] | None  # None: numeric
    points: Values | None = None  # the values the ranks stand for
    dates: bool = False

    @property
    def numeric(self) -> bool:
        """Whether it is split at a threshold."""
        return self.levels is None


def rank(name: str, values: Values, dates: bool = False) -> Attribute:
    """Return a numeric column as ranks of its distinct values."""
    known = ~np.isnan(values)
    points, place = np.unique(values[known], return_inverse=True)
    codes = np.full(len(values), len(points), dtype=code_type(len(points)))
    codes[known] = place
    return Attribute(name, codes, len(points), None, points, dates)


def halfway(low: FloatArray, high: FloatArray) -> FloatArray:
    """Return the middle between two numbers each, never as high as the upper one."""
    with np.errstate(invalid="ignore", over="ignore"):
        middle = low + (high / 2 - low / 2)
    return np.where(middle < high, middle, low)


def bits(weight: FloatArray) -> FloatArray:
    """Return x log2 x for each weight; zero gives zero."""
    logs = np.log2(weight, out=np.zeros_like(weight), where=weight > 0)
    logs *= weight
    return logs


class Bits:
    """x log2 x, looked up where weights are whole numbers."""

    def __init__(self, total: float, whole: bool) -> None:
        self._known: FloatArray | None = None
        if whole and total <= _LOOKED_UP:
            x = np.arange(int(total) + 1, dtype=np.float64)
            self._known = x * np.log2(np.maximum(x, 1.0))

    def __call__(self, weight: FloatArray) -> FloatArray:
        """Return x log2 x for each weight; zero gives zero."""
        if self._known is not None:
            return np.asarray(self._known[weight.astype(np.intp)])
        return bits(weight)

    def spread(self, counts: FloatArray) -> FloatArray:
        """Return weight times entropy of the classes (lines) in each column."""
        return np.asarray(self(counts.sum(axis=0)) - self(counts).sum(axis=0))


class Nodes(Protocol):
    """What is known of some nodes, whatever their rows."""

    @property
    def counts(self) -> FloatArray:
        """The rows of each node, by class."""

    @property
    def used(self) -> NDArray[np.bool_]:
        """Node × column: nominal columns already split on above."""


@dataclass(frozen=True)
class Block:
    """Rows of some neighboring nodes, sorted by node."""

    rows: NDArray[np.int32]
    node: NDArray[np.uint32]  # the place of a row's node within the block
    classes: Codes
    weight: FloatArray | None
    counts: FloatArray  # of each node, by class
    used: NDArray[np.bool_]  # node × column: nominal columns already split on above

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        return len(self.counts)


@dataclass(frozen=True)
class Best:
    """The best split of each node: its column (-1: none), its gain, and the last rank below it."""

    feature: NDArray[np.int32]
    gain: FloatArray
    below: Places
    above: Places


def best_splits(
    block: Block,
    columns: Sequence[Attribute],
    bits: Bits,
    ratio: bool,
    min_leaf: float,
    many_levels: float | None = None,
) -> Best:
    """Find the split with the largest gain (or gain ratio) for each node of a block.

    The gain is Quinlan's (1986), over the rows whose value is known and times their share (1993).
    By ratio, the best is chosen among the columns whose gain is at least the average one. With
    `many_levels` this is done as C4.5 does: a threshold pays for its choice, and columns of so many
    levels have no say in the average.
    """
    every = [
        None if block.used[:, place].all() or not column.width else _group(block, column)
        for place, column in enumerate(columns)
    ]
    return choose_splits(every, block, columns, bits, ratio, min_leaf, many_levels)


def choose_splits(
    every: Sequence[Groups | None],
    nodes: Nodes,
    columns: Sequence[Attribute],
    bits: Bits,
    ratio: bool,
    min_leaf: float,
    many_levels: float | None = None,
) -> Best:
    """Find the best split of each node from the rows of each column, grouped by node and value."""
    shape = (len(columns), len(nodes.counts))
    gains, ratios = np.full(shape, -np.inf), np.full(shape if ratio else (1, 1), -np.inf)
    below, above = np.zeros(shape, dtype=np.intp), np.zeros(shape, dtype=np.intp)
    total = nodes.counts.sum(axis=1)
    for place, (column, groups) in enumerate(zip(columns, every, strict=True)):
        if groups is None:
            continue
        found = (
            _threshold(groups, bits, min_leaf, many_levels is not None)
            if column.numeric
            else _multiway(groups, bits, min_leaf)
        )
        free = ~nodes.used[:, place] & np.isfinite(found.gain)
        gains[place, free] = found.gain[free] / total[free]
        below[place], above[place] = found.below, found.above
        if ratio:
            parts = _split_information(groups, found, column.numeric, total, bits)
            ratios[place] = np.where(parts > TIE, gains[place] / np.maximum(parts, TIE), -np.inf)
    if many_levels is not None:
        few = np.array([column.numeric or column.width < many_levels for column in columns])
        chosen = _by_ratio(gains, ratios, few, _SLACK)
    else:
        chosen = _by_ratio(gains, ratios) if ratio else _first(gains)
    at = np.arange(shape[1])
    gain = gains[chosen, at]
    feature = np.where(np.isfinite(gain), chosen, -1).astype(np.int32)
    return Best(feature, gain, below[chosen, at], above[chosen, at])


def _first(gains: FloatArray) -> Places:
    """Return the first column with the largest gain, rounding aside."""
    return np.asarray(np.argmax(gains >= gains.max(axis=0) - TIE, axis=0))


def _by_ratio(
    gains: FloatArray,
    ratios: FloatArray,
    few: NDArray[np.bool_] | None = None,
    slack: float = TIE,
) -> Places:
    """Return the column of the largest ratio among those of average gain or more.

    `few` marks the columns that make up the average: as C4.5 counts them, also without any gain.
    """
    counted = np.isfinite(gains)
    if few is None:
        counted &= gains > TIE
    elif few.any():
        counted &= few[:, None]
    number = np.maximum(counted.sum(axis=0), 1)
    average = np.where(counted, gains, 0.0).sum(axis=0) / number
    fair = (gains >= average - slack) & np.isfinite(ratios)
    chosen = _first(np.where(fair, ratios, -np.inf))
    # Where no ratio is to be had, the gain decides.
    return np.where(fair.any(axis=0), chosen, _first(gains))


@dataclass(frozen=True)
class Groups:
    """Rows that agree in node and value, sorted by both; those without a value are left out."""

    node: Places
    code: Places
    counts: FloatArray  # class × group: sums over few classes are fast this way round
    known: FloatArray  # class × node

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        return int(self.known.shape[1])

    @property
    def size(self) -> FloatArray:
        """The rows of each group."""
        return np.asarray(self.counts.sum(axis=0))


@dataclass(frozen=True)
class _Found:
    gain: FloatArray  # times the weight of the node
    below: Places
    above: Places
    left: FloatArray | None = None


def _group(block: Block, column: Attribute) -> Groups:
    codes = column.codes.take(block.rows)
    classes, width = block.counts.shape[1], column.width + 1
    cells = block.nodes * width
    if cells <= max(_DENSE * len(codes), 256):
        strides = [width, 1, cells]
        table = tally([block.node, codes, block.classes], strides, block.weight, cells, classes)
        filled = table.sum(axis=0) > 0
        filled[column.width :: width] = False
        place = np.flatnonzero(filled)
        node, counts = place // width, table.take(place, axis=1)
        code = place - node * width
    else:
        order = _order(block.node, codes, block.nodes, width)
        codes = codes[order]
        if codes.max(initial=0) == column.width:
            order, codes = order[codes < column.width], codes[codes < column.width]
        node, code = block.node[order].astype(np.intp), codes.astype(np.intp)
        first = np.ones(len(order), dtype=bool)
        first[1:] = (node[1:] != node[:-1]) | (code[1:] != code[:-1])
        group = (np.cumsum(first) - 1).astype(np.uint32)
        node, code = node[first], code[first]
        weight = None if block.weight is None else block.weight[order]
        counts = tally([group, block.classes[order]], [1, len(node)], weight, len(node), classes)
    known = np.stack([np.bincount(node, line, block.nodes) for line in counts]).astype(np.float64)
    return Groups(node, code, counts, known)


def tally(
    axes: list[NDArray[np.unsignedinteger]],
    strides: list[int],
    weight: FloatArray | None,
    cells: int,
    classes: int,
) -> FloatArray:
    """Count rows by class (lines) and cell (columns)."""
    table = np.zeros(classes * cells)
    cell = _kernels.Axes(axes, strides)
    if weight is None:
        _kernels.tally(cell, 0, len(axes[0]), table)
    else:
        _kernels.tally_weighted(cell, weight, 0, len(axes[0]), table)
    return table.reshape(classes, cells)


def _order(node: NDArray[np.uint32], codes: Codes, nodes: int, width: int) -> Places:
    """Sort by node, then by code; keys of sixteen bits sort in linear time."""
    if nodes * width <= 1 << 16:
        return np.argsort((node * width + codes).astype(np.uint16), kind="stable")
    order = np.argsort(codes.astype(np.uint16), kind="stable")  # the lower half of wider codes
    if width > 1 << 16:
        order = order[np.argsort((codes >> 16)[order].astype(np.uint16), kind="stable")]
    if nodes == 1:
        return order
    key = node[order].astype(np.uint16 if nodes <= 1 << 16 else np.uint32)
    return np.asarray(order[np.argsort(key, kind="stable")])


def _multiway(groups: Groups, bits: Bits, min_leaf: float) -> _Found:
    nodes = groups.nodes
    within = np.bincount(groups.node, bits.spread(groups.counts), nodes)
    heavy = np.bincount(groups.node, groups.size >= min_leaf, nodes)
    gain = np.where(heavy >= 2, bits.spread(groups.known) - within, -np.inf)
    nowhere = np.zeros(nodes, dtype=np.intp)
    return _Found(gain, nowhere, nowhere)


def _threshold(groups: Groups, bits: Bits, min_leaf: float, as_c45: bool) -> _Found:
    """Return the best cut between two neighboring values of each node.

    In C4.5 the gain pays for the choice among the possible cuts, log2 of their number (Quinlan
    1996), and a cut that does not pay is none.
    """
    nodes, node = groups.nodes, groups.node
    gain = np.full(nodes, -np.inf)
    below, above = np.zeros(nodes, dtype=np.intp), np.zeros(nodes, dtype=np.intp)
    left_size = np.zeros(nodes)
    cut = np.flatnonzero(node[1:] == node[:-1])
    if not len(cut):
        return _Found(gain, below, above, left_size)
    running = np.cumsum(groups.counts, axis=1)
    begin = np.searchsorted(node, np.arange(nodes))
    before = np.where(begin > 0, running.take(begin - 1, axis=1), 0.0)
    owner = node[cut]
    left = np.maximum(running.take(cut, axis=1) - before.take(owner, axis=1), 0.0)
    right = np.maximum(groups.known.take(owner, axis=1) - left, 0.0)
    size = left.sum(axis=0)
    gains = bits.spread(groups.known)[owner] - bits.spread(left) - bits.spread(right)
    if min_leaf > 0:
        least: FloatArray | float = min_leaf
        if as_c45:
            fair_side = _SIDE * groups.known.sum(axis=0) / len(groups.known)
            least = np.maximum(np.minimum(fair_side, _MOST_SIDE), min_leaf)[owner]
        gains[np.minimum(size, right.sum(axis=0)) < least * (1 - 1e-12)] = -np.inf
    if as_c45:
        possible = np.bincount(owner, np.isfinite(gains), nodes)
        gains -= np.log2(np.maximum(possible, 1.0))[owner]
        gains[gains <= TIE] = -np.inf
    np.maximum.at(gain, owner, gains)
    near = np.flatnonzero(gains >= gain[owner] - TIE * groups.known.sum(axis=0)[owner])
    # Written from the last to the first, the first one stays.
    near = near[::-1]
    place = owner[near]
    below[place], above[place] = groups.code[cut[near]], groups.code[cut[near] + 1]
    left_size[place] = size[near]
    return _Found(gain, below, above, left_size)


def _split_information(
    groups: Groups, found: _Found, numeric: bool, total: FloatArray, bits: Bits
) -> FloatArray:
    """Return the entropy in bits of the parts of a split; rows without a value are one more."""
    known = groups.known.sum(axis=0)
    parts = bits(np.maximum(total - known, 0.0))
    if numeric and found.left is not None:
        parts = parts + bits(found.left) + bits(np.maximum(known - found.left, 0.0))
    else:
        parts = parts + np.bincount(groups.node, bits(groups.size), len(total))
    return np.asarray((bits(total) - parts) / total)
