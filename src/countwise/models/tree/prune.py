"""Pruning: make leaves of subtrees that do not lower the error.

Reduced-error pruning (Quinlan 1987): from the leaves upwards a node becomes a leaf where the rows
held out are not classified worse for it. The error of a subtree is the sum of its parts' errors, so
no cut can raise the error of the whole: law 10. Pessimistic pruning (Quinlan 1993) needs no rows
held out: the error of a leaf is the upper limit of what its training rows let expect.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import pairwise
from statistics import NormalDist
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

    def limit(below: FloatArray) -> FloatArray:
        return below * (1 + 1e-12) if cut_ties else np.nextafter(below, -1) * (1 - 1e-12)

    closed, before, after = _close(tree, wrong, stayed, limit)
    total = float(len(target) if weight is None else weight.sum())
    pruned = tree.without_below(closed)
    return pruned, Pruning(len(target), len(tree), len(pruned), before / total, after / total)


def prune_pessimistic(tree: TreeStructure, confidence: float) -> tuple[TreeStructure, Pruning]:
    """Make leaves of subtrees whose estimated errors are not fewer than those of a leaf.

    As in C4.5, subtrees that make no fewer errors on the training rows go first, and a leaf may
    have a tenth of an error more than the subtree it replaces.
    """
    grown, total = len(tree), float(tree.weight[0])
    nowhere = np.zeros(grown)
    closed, *_ = _close(tree, _training_errors(tree), nowhere, lambda below: below + 1e-3)
    tree = tree.without_below(closed)
    wrong = _training_errors(tree)
    expected = wrong + extra_errors(tree.weight, wrong, confidence)
    nowhere = np.zeros(len(tree))
    closed, before, after = _close(tree, expected, nowhere, lambda below: below + 0.1)
    pruned = tree.without_below(closed)
    rows = round(total)
    return pruned, Pruning(rows, grown, len(pruned), before / total, after / total)


def extra_errors(weight: FloatArray, wrong: FloatArray, confidence: float) -> FloatArray:
    """Return how many more errors to expect of leaves with so many rows, so many of them wrong.

    The upper limit of the binomial at this confidence (Quinlan 1993): exact for no error, by the
    normal approximation with a correction for continuity from one error on, in between on a line.
    """
    z = NormalDist().inv_cdf(1 - confidence)
    none = weight * (1 - confidence ** (1 / weight))

    def by_normal(errors: FloatArray) -> FloatArray:
        share = (errors + 0.5) / weight
        spread = np.maximum(share / weight - share**2 / weight + z**2 / (4 * weight**2), 0.0)
        upper = (share + z**2 / (2 * weight) + z * np.sqrt(spread)) / (1 + z**2 / weight)
        many = errors + 0.5 >= weight
        return np.where(many, np.maximum(weight - errors, 0.0), upper * weight - errors)

    one = by_normal(np.ones_like(weight))
    return np.where(wrong < 1, none + wrong * (one - none), by_normal(np.maximum(wrong, 1.0)))


def _training_errors(tree: TreeStructure) -> FloatArray:
    """Return the weight of training rows that each node misclassifies as a leaf."""
    return np.asarray(tree.weight - tree.counts.max(axis=1), dtype=np.float64)


def _close(
    tree: TreeStructure,
    wrong: FloatArray,
    stayed: FloatArray,
    limit: Callable[[FloatArray], FloatArray],
) -> tuple[NDArray[np.bool_], float, float]:
    """Return which nodes become leaves, and the errors of the tree before and after.

    A split node becomes one if its errors as a leaf are not above the limit that the errors below
    it set. `stayed` are errors of rows that end in a split node.
    """
    below = np.where(tree.split, 0.0, wrong) + stayed
    closed = np.zeros(len(tree), dtype=bool)
    before = below.copy()
    for start, stop in reversed(list(pairwise(tree.borders))):
        # The level below has handed its errors up already.
        span = slice(start, stop)
        rest = below[span]
        closed[span] = tree.split[span] & (wrong[span] <= limit(rest))
        below[span] = np.where(closed[span], wrong[span], rest)
        if start:
            above = tree.parent[span]
            first = int(above[0])
            size = int(above[-1]) + 1 - first
            below[first : first + size] += np.bincount(above - first, below[span], size)
            before[first : first + size] += np.bincount(above - first, before[span], size)
    return closed, float(before[0]), float(below[0])


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
