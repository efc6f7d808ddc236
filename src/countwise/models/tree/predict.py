"""Send rows down a tree, and combine the posteriors of the leaves they reach.

A row that lacks the value a node asks for goes on in every child by its share, so that it may end
in several places. Their class shares are mixed, and smoothed as a sample of the mixture's effective
size, 1 / Σ f² / N. A row of which nothing is known gets the (smoothed) class shares of the root.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.models.choose_smoothing import add_in_order
from countwise.models.tree.tree_structure import LEAST_SHARE, NO_CHILD, TreeStructure, number_within
from countwise.numeric import logs_of
from countwise.tables.table import Table

Places = NDArray[np.intp]

_UNSEEN = -1.0
#: Sums of so much over all classes are still finite.
_LARGEST = 1e300


class Parts(NamedTuple):
    """Parts of rows: which row, at which node, how much of it."""

    row: Places
    node: Places
    share: FloatArray

    def take(self, which: NDArray[np.generic]) -> Parts:
        """Return some of the parts."""
        return Parts(self.row[which], self.node[which], self.share[which])


def begin(rows: int) -> Parts:
    """Return all rows at the root."""
    return Parts(np.arange(rows), np.zeros(rows, dtype=np.intp), np.ones(rows))


def _join(parts: Sequence[Parts]) -> Parts:
    return Parts(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def values_of(tree: TreeStructure, table: Table) -> FloatArray:
    """Return what rows hold in the columns of a tree: a number or a code; NaN where missing."""
    values = np.full((len(table), len(tree.columns)), np.nan)
    for place in np.unique(tree.feature[tree.split]):
        name = tree.columns[place]
        levels = tree.levels[place]
        if levels is None:
            values[:, place] = table.values(name)
            continue
        codes = table.codes(name)
        values[:, place] = codes
        values[codes == len(levels), place] = np.nan
        values[codes > len(levels), place] = _UNSEEN
    return values


def move(
    tree: TreeStructure, values: FloatArray, parts: Parts, fractions: bool
) -> tuple[Parts, Parts]:
    """Move parts that are at split nodes one step: those that stay for good, those that went on.

    A level that training never saw, or never saw in this node, stays.
    """
    held = values[parts.row, tree.feature[parts.node]]
    numeric = tree.numeric[parts.node]
    gap = np.isnan(held)
    with np.errstate(invalid="ignore"):
        step = np.where(numeric, held > tree.threshold[parts.node], held)
    stays = ~numeric & (held == _UNSEEN)
    step[gap | stays] = 0
    goal = tree.child[tree.slot[parts.node] + step.astype(np.intp)].astype(np.intp)
    goal[stays] = NO_CHILD
    if not fractions:
        goal[gap] = tree.largest[parts.node[gap]]
        gap[:] = False
    goes = goal != NO_CHILD
    if not gap.any():
        return parts.take(~goes), Parts(parts.row[goes], goal[goes], parts.share[goes])
    goes &= ~gap
    divided = gap & (parts.share >= LEAST_SHARE)
    on = Parts(parts.row[goes], goal[goes], parts.share[goes])
    return parts.take(~goes & ~divided), _join([on, _share_out(tree, parts.take(divided))])


def _share_out(tree: TreeStructure, parts: Parts) -> Parts:
    times = tree.kids[parts.node]
    node = np.repeat(tree.first_child[parts.node], times) + number_within(times)
    share = np.repeat(parts.share / tree.weight[parts.node], times) * tree.weight[node]
    return Parts(np.repeat(parts.row, times), node, share)


def find_ends(tree: TreeStructure, values: FloatArray, fractions: bool) -> Parts:
    """Return where rows end, level by level from the top."""
    done, going = [], begin(len(values))
    while len(going.row):
        splits = tree.split[going.node]
        done.append(going.take(~splits))
        stay, going = move(tree, values, going.take(splits), fractions)
        done.append(stay)
    return _join(done) if done else going


def posteriors(tree: TreeStructure, parts: Parts, rows: int, pseudo: FloatArray) -> FloatArray:
    """Return the class shares of each row, mixed from where its parts are.

    `pseudo` is what is added to the weight of each class. Where that would make another class the
    most frequent one, as much of it as needed is shared among all classes alike instead.
    """
    weight = tree.weight[parts.node]
    inverse = np.bincount(parts.row, parts.share**2 / weight, rows)
    mixed = np.empty((rows, len(tree.classes)))
    for place in range(len(tree.classes)):
        share = parts.share * (tree.counts[parts.node, place] / weight)
        mixed[:, place] = np.bincount(parts.row, share, rows)
    with np.errstate(over="ignore"):
        added = np.minimum(inverse[:, None] * pseudo, _LARGEST)
    mixed = add_in_order(mixed, added)
    return np.asarray(mixed / mixed.sum(axis=1, keepdims=True))


def trace_changes(
    tree: TreeStructure, values: FloatArray, fractions: bool, pseudo: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return log shares at the root and what each column changes in them on the way down.

    Rows go down level by level, and within a level column by column, so that every change has one
    column it is owed to; rows × columns × classes. Root and changes add up to the posterior.
    """
    rows, number = len(values), len(tree.classes)
    used = np.unique(tree.feature[tree.split])
    changes = np.zeros((rows, len(used), number))
    done, going = begin(rows).take(np.zeros(0, dtype=np.intp)), begin(rows)
    now = posteriors(tree, going, rows, pseudo)
    root = logs_of(now)
    while True:
        splits = tree.split[going.node]
        done, going = _join([done, going.take(~splits)]), going.take(splits)
        if not len(going.row):
            break
        feature = tree.feature[going.node]
        gone = []
        for place in np.unique(feature):
            stay, went = move(tree, values, going.take(feature == place), fractions)
            done = _join([done, stay])
            gone.append(went)
            every = _join([done, *gone, going.take(feature > place)])
            then = posteriors(tree, every, rows, pseudo)
            changes[:, np.searchsorted(used, place)] += _log_ratio(then, now)
            now = then
        going = _join(gone)
    return root, changes


def _log_ratio(then: FloatArray, now: FloatArray) -> FloatArray:
    """Return the change of log shares; a share of zero stays so."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(now > 0, np.log(then) - np.log(now), 0.0)
