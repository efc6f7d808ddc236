"""The trees of a forest in flat arrays, and the bins of the columns that they test."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.counts.engines import _kernels
from countwise.counts.moments import MAX_WEIGHT, SLACK
from countwise.discretize.cut_points import equal_frequency
from countwise.errors import StoreError
from countwise.models.tree.splits import halfway
from countwise.models.tree.tree_structure import LEAF, TreeNodes
from countwise.tables.labels import text, value_text
from countwise.tables.schema import Level, Schema
from countwise.tables.table import Table

Bytes = NDArray[np.uint8]

#: The code of a missing or unseen value, which is also the number of codes of known ones.
MISSING = 255
#: Bytes of a mask, one bit a code.
_MASK = 32
#: Levels that are named of one side of a split.
_NAMED = 4


@dataclass(frozen=True, eq=False)
class Bins:
    """How the columns of a forest become codes of one byte.

    Attributes
    ----------
    cut_points
        By numeric column, where its bins end; a cut point belongs to the bin on its left.
    level_codes
        By nominal column with too many levels, the code of each level: rare ones share the last.
    """

    cut_points: Mapping[str, FloatArray]
    level_codes: Mapping[str, Bytes]

    @classmethod
    def learn(cls, table: Table, weight: FloatArray | None) -> Bins:
        """Give every value a bin of its own where there are few, else bins of equal weight."""
        weight = np.ones(len(table)) if weight is None else weight
        cut_points, level_codes = {}, {}
        for column in table.schema.attributes:
            if not column.coded:
                cut_points[column.name] = _cut(table.values(column.name), weight)
            elif column.width > MISSING:
                level_codes[column.name] = _pool(table.codes(column.name), weight, column.width)
        return cls(cut_points, level_codes)

    def codes(self, table: Table) -> Bytes:
        """Return rows × columns as codes."""
        columns = table.schema.attributes
        codes = np.empty((len(table), len(columns)), dtype=np.uint8)
        for place, column in enumerate(columns):
            if not column.coded:
                points = np.ascontiguousarray(self.cut_points[column.name], np.float64)
                bins = np.empty(len(table), dtype=np.uint8)
                _kernels.cut(table.values(column.name), points, bins)
                bins[bins > len(points)] = MISSING
                codes[:, place] = bins
                continue
            coded = self.level_codes.get(column.name, np.arange(column.width, dtype=np.uint8))
            # Missing has the code after the last level, unseen the next one.
            coded = np.append(coded, np.full(2, MISSING, dtype=np.uint8))
            codes[:, place] = coded[np.minimum(table.codes(column.name), column.width + 1)]
        return codes

    def check(self) -> None:
        """Refuse cut points out of order or too many of them."""
        for cuts in self.cut_points.values():
            ordered = (
                cuts.ndim == 1 and not np.isnan(cuts).any() and bool(np.all(cuts[1:] > cuts[:-1]))
            )
            _require(ordered and len(cuts) < MISSING, "cut points must be few and in order")

    def check_against(self, schema: Schema) -> None:
        """Refuse bins of other columns than the schema has."""
        numeric = [column.name for column in schema.attributes if not column.coded]
        _require(sorted(self.cut_points) == sorted(numeric), "each number must have cut points")
        wide = {c.name: c.width for c in schema.attributes if c.coded and c.width > MISSING}
        given = {name: len(codes) for name, codes in self.level_codes.items()}
        _require(given == wide, "each column of many levels must have their codes")


def _cut(values: FloatArray, weight: FloatArray) -> FloatArray:
    known = ~np.isnan(values)
    points, place = np.unique(values[known], return_inverse=True)
    if len(points) <= MISSING:
        return halfway(points[:-1], points[1:])
    reached = np.cumsum(np.bincount(place, weight[known], len(points)), dtype=np.float64)
    cuts = equal_frequency(np.arange(len(points)), MISSING, reached)
    return halfway(points[cuts - 1], points[cuts])


def _pool(codes: NDArray[Any], weight: FloatArray, width: int) -> Bytes:
    """Give the most frequent levels a code of their own, all others the last one."""
    known = codes < width
    heavy = np.bincount(codes[known], weight[known], width)
    order = np.argsort(-heavy, kind="stable")
    level_codes = np.full(width, MISSING - 1, dtype=np.uint8)
    level_codes[order[: MISSING - 1]] = np.arange(MISSING - 1)
    return level_codes


@dataclass(frozen=True, eq=False)
class ForestStructure:
    """The nodes of all trees, tree by tree, each numbered level by level from its root, 0.

    Attributes
    ----------
    start
        The first node of each tree, and the number of nodes at the end.
    feature
        For each node the position of its column, or `LEAF`.
    cut
        The last code that goes left; of a nominal column, which of the masks it has.
    left
        The left child within the tree, or -1; the right one follows it.
    missing_left
        Whether a missing number goes left.
    masks
        One bit a code: 1 goes left.
    counts
        The weight of each class (columns) in each node.
    """

    start: NDArray[np.int64]
    feature: NDArray[np.int32]
    cut: NDArray[np.int32]
    left: NDArray[np.int32]
    missing_left: Bytes
    masks: Bytes
    counts: FloatArray
    dates: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.start) - 1

    def check(self) -> None:
        """Refuse arrays that would lead a row astray or around in circles."""
        nodes = len(self.feature)
        arrays = (self.feature, self.cut, self.left, self.missing_left)
        _require(
            nodes > 0 and {array.shape for array in arrays} == {(nodes,)},
            "each node must have a column, a cut and a child",
        )
        _require(
            self.start.ndim == 1
            and len(self.start) > 1
            and self.start[0] == 0
            and self.start[-1] == nodes
            and bool(np.all(np.diff(self.start) > 0)),
            "each tree must have a node",
        )
        first = np.repeat(self.start[:-1], np.diff(self.start))
        size = np.repeat(np.diff(self.start), np.diff(self.start))
        split = self.feature != LEAF
        _require(
            bool(np.all(self.feature >= LEAF))
            and bool(np.all(self.left[~split] == -1))
            and bool(np.all((self.left > np.arange(nodes) - first)[split]))
            and bool(np.all((self.left + 1 < size)[split])),
            "each split node must have two children, numbered higher than itself",
        )
        _require(
            self.masks.ndim == 2 and self.masks.shape[1] == _MASK, "each mask must have 256 bits"
        )
        counts = self.counts
        _require(
            counts.ndim == 2
            and len(counts) == nodes
            and counts.shape[1] > 0
            and bool(np.isfinite(counts).all())
            and counts.min() >= 0
            and counts.max() <= MAX_WEIGHT
            and counts.sum(axis=1).min() > 0,
            "each node must have a finite weight of each class, not all zero",
        )
        below = counts[(first + self.left)[split]] + counts[(first + self.left + 1)[split]]
        _require(
            bool(np.allclose(below, counts[split], rtol=SLACK, atol=0)),
            "the children must have the rows of their parent",
        )

    def check_against(self, nominal: Bytes, classes: int) -> None:
        """Refuse trees of other columns or classes."""
        split = self.feature != LEAF
        _require(
            self.counts.shape[1] == classes and bool(np.all(self.feature < len(nominal))),
            "each tree must have the columns and classes of the model",
        )
        kinds = nominal[self.feature[split]].astype(bool)
        most = np.where(kinds, len(self.masks), MISSING)
        _require(
            bool(np.all((self.cut[split] >= 0) & (self.cut[split] < most))),
            "each split must have a cut or a mask",
        )


@dataclass(frozen=True, eq=False)
class ForestTree(TreeNodes):
    """One tree of a forest in the form that rules and pictures are made from."""

    columns: tuple[str, ...]
    classes: tuple[Level, ...]
    bounds: tuple[FloatArray | tuple[str, ...], ...]  # by column: cut points, or names of codes
    feature: NDArray[np.int32]
    cut: NDArray[np.int32]
    left: NDArray[np.int32]
    masks: Bytes
    counts: FloatArray
    dates: tuple[str, ...] = ()

    @cached_property
    def parent(self) -> NDArray[np.int64]:
        """The parent of each node; the root has -1."""
        parent = np.full(len(self), -1, dtype=np.int64)
        nodes = np.flatnonzero(self.split)
        parent[self.left[nodes]] = parent[self.left[nodes] + 1] = nodes
        return parent

    @cached_property
    def depths(self) -> NDArray[np.int64]:
        """The number of splits above each node."""
        depths = np.zeros(len(self), dtype=np.int64)
        for node in np.flatnonzero(self.split).tolist():
            depths[self.left[node] : self.left[node] + 2] = depths[node] + 1
        return depths

    @property
    def borders(self) -> list[int]:
        """The first node of each level of the tree, and the number of nodes at the end."""
        return [0, *np.cumsum(np.bincount(self.depths)).tolist()]

    @property
    def depth(self) -> int:
        """The number of splits on the longest path."""
        return int(self.depths[-1])

    def children(self, node: int) -> list[tuple[int, int]]:
        """Return the two slots of a node and the children in them."""
        return [(0, int(self.left[node])), (1, int(self.left[node]) + 1)]

    def test(self, node: int, slot: int) -> str:
        """Return the test that leads from a node to one of its children."""
        bounds = self.bounds[self.feature[node]]
        sign = " = " if isinstance(bounds, tuple) else " "
        return f"{self.columns[self.feature[node]]}{sign}{self.value(node, slot)}"

    def value(self, node: int, slot: int) -> str:
        """Return what a row has in the column of a node to go to one of its children."""
        bounds, cut = self.bounds[self.feature[node]], int(self.cut[node])
        if not isinstance(bounds, tuple):
            # Beyond the last cut point there is only missing.
            dates = self.columns[self.feature[node]] in self.dates
            edge = value_text(float(bounds[cut]), dates) if cut < len(bounds) else "any number"
            return f"{'≤>'[slot]} {edge}" if cut < len(bounds) else (edge, "missing")[slot]
        goes_left = np.unpackbits(self.masks[cut], bitorder="little").astype(bool)
        names = [name for code, name in enumerate(bounds) if goes_left[code] != bool(slot)]
        if len(names) > _NAMED:
            return f"{', '.join(names[: _NAMED - 1])} or {len(names) - _NAMED + 1} others"
        return " or ".join(names) or "missing"


def take_tree(
    trees: ForestStructure, place: int, bins: Bins, schema: Schema, classes: tuple[Level, ...]
) -> ForestTree:
    """Return one tree of a forest, with the names of what it asks for."""
    span = slice(int(trees.start[place]), int(trees.start[place + 1]))
    bounds: list[FloatArray | tuple[str, ...]] = []
    for column in schema.attributes:
        if not column.coded:
            bounds.append(bins.cut_points[column.name])
            continue
        names = [text(level) for level in column.levels]
        if (pooled := bins.level_codes.get(column.name)) is not None:
            by_code = {int(code): name for code, name in zip(pooled, names, strict=True)}
            names = [by_code[code] for code in range(MISSING - 1)] + ["rare levels"]
        bounds.append(tuple(names))
    return ForestTree(
        tuple(column.name for column in schema.attributes),
        classes,
        tuple(bounds),
        trees.feature[span],
        trees.cut[span],
        trees.left[span],
        trees.masks,
        trees.counts[span],
        tuple(column.name for column in schema.attributes if column.dates),
    )


def join_trees(trees: list[tuple[Any, ...]], nominal: Bytes) -> tuple[ForestStructure, FloatArray]:
    """Put grown trees one after the other; return their gains as well."""
    feature, cut, left, missing_left, gain, counts, masks = zip(*trees, strict=True)
    start = np.concatenate([[0], np.cumsum([len(part) for part in feature])])
    masked = 0
    for columns, cuts, some in zip(feature, cut, masks, strict=True):
        cuts[(columns != LEAF) & nominal.astype(bool)[columns]] += masked
        masked += len(some)
    return (
        ForestStructure(
            start.astype(np.int64),
            np.concatenate(feature),
            np.concatenate(cut),
            np.concatenate(left),
            np.concatenate(missing_left),
            np.concatenate(masks),
            np.concatenate(counts),
        ),
        np.concatenate(gain),
    )


def _require(holds: bool | np.bool_, rule: str) -> None:
    if not holds:
        raise StoreError(f"Forest: {rule}.")
