"""Reduced-error pruning: a subtree that does not help on held-out rows is cut (Quinlan 1987).

From the leaves upwards a node becomes a leaf where the rows held out are not classified worse for
it. The error of a subtree is the sum of its parts' errors, so no cut can raise the error of the
whole: law 10.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.counts.row_hash import row_keys, scattered, uniforms
from countwise.models.tree.predict import Parts, begin, move
from countwise.models.tree.tree_structure import TreeStructure
from countwise.tables.table import Codes, Table


@dataclass(frozen=True)
class Pruning:
    """The result of pruning: nodes and error on the rows held out, before and after.

    The error is the share of the weight held out that ends in a leaf of another class; a row
    divided for a missing value errs by the part that does.
    """

    rows: int
    nodes_before: int
    nodes_after: int
    error_before: float
    error_after: float

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return asdict(self)


def hold_out(
    table: Table, target: Codes, classes: int, fraction: float, seed: int
) -> NDArray[np.bool_]:
    """Mark a stratified part of the rows; each class keeps at least one row to grow on.

    Rows are drawn by what they hold, so that their order decides nothing.
    """
    keys = row_keys(table, target=True)
    order = np.argsort(keys, kind="stable")
    drawn = np.empty(len(table))
    drawn[order] = uniforms(scattered(keys[order]), seed, 0)
    marked = np.zeros(len(table), dtype=bool)
    for code in range(classes):
        rows = np.flatnonzero(target == code)
        number = min(round(fraction * len(rows)), len(rows) - 1)
        if number > 0:
            marked[rows[np.argsort(drawn[rows], kind="stable")[:number]]] = True
    return marked


def prune(
    tree: TreeStructure,
    values: FloatArray,
    target: Codes,
    weight: FloatArray | None,
    fractions: bool,
    cut_ties: bool = True,
) -> tuple[TreeStructure, Pruning]:
    """Make leaves of the nodes whose subtrees do not lower the error on rows held out.

    Without `cut_ties` a node stays unless the error falls by cutting it.
    """
    wrong, stayed = _errors(tree, values, target, weight, fractions)
    below = np.where(tree.split, 0.0, wrong) + stayed
    closed = np.zeros(len(tree), dtype=bool)
    before = below.copy()
    borders = tree.borders
    for start, stop in reversed(list(pairwise(borders))):
        # The level below has handed its errors up already.
        span = slice(start, stop)
        rest = below[span]
        limit = rest * (1 + 1e-12) if cut_ties else np.nextafter(rest, -1) * (1 - 1e-12)
        closed[span] = tree.split[span] & (wrong[span] <= limit)
        below[span] = np.where(closed[span], wrong[span], rest)
        if start:
            above = tree.parent[span]
            first = int(above[0])
            size = int(above[-1]) + 1 - first
            below[first : first + size] += np.bincount(above - first, below[span], size)
            before[first : first + size] += np.bincount(above - first, before[span], size)
    total = float(len(target) if weight is None else weight.sum())
    pruned = tree.without_below(closed)
    errors = float(before[0]) / total, float(below[0]) / total
    return pruned, Pruning(len(target), len(tree), len(pruned), *errors)


def _errors(
    tree: TreeStructure,
    values: FloatArray,
    target: Codes,
    weight: FloatArray | None,
    fractions: bool,
) -> tuple[FloatArray, FloatArray]:
    """Return the weight each node would misclassify as a leaf, and that of rows which end in it.

    The second counts split nodes only: rows with a level that goes nowhere.
    """
    wrong, stayed = np.zeros(len(tree)), np.zeros(len(tree))

    def weigh_errors(parts: Parts) -> FloatArray:
        part = parts.share if weight is None else parts.share * weight[parts.row]
        miss = tree.label[parts.node] != target[parts.row]
        return np.bincount(parts.node, part * miss, len(tree)).astype(np.float64)

    going = begin(len(values))
    while len(going.row):
        wrong += weigh_errors(going)
        stay, going = move(tree, values, going.take(tree.split[going.node]), fractions)
        stayed += weigh_errors(stay)
    return wrong, stayed
