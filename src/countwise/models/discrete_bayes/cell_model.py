"""Posteriors of cells: their smoothed class weights, corrected for the prior."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.discretize.joint_search.rows import BLOCK, as_kernel_column
from countwise.models.discrete_bayes.bin_smoothing import BinSmoothing, Levels
from countwise.parallel import blocks, in_threads

Columns = tuple[NDArray[Any], ...]


def prior_factor(prior: FloatArray, by_class: FloatArray) -> FloatArray:
    """Return by how much the prior outweighs each class's fraction of the counted rows."""
    fraction = by_class / (by_class.sum() or 1.0)
    return np.divide(prior, fraction, out=np.zeros(len(fraction)), where=fraction > 0)


class CellModel:
    """A table of cells that answers: the posterior of a row is that of its cell.

    To the rows of each cell so many imagined ones are added, with the class shares of the prior.
    """

    def __init__(self, prior: FloatArray, smoothing: BinSmoothing, imagined: float = 0.0) -> None:
        self.table, self.prior, self.smoothing = smoothing.table, prior, smoothing
        self.factor, self.imagined = prior_factor(prior, self.table.by_class), imagined
        self._occupied = self.posteriors(self.table.levels)

    def posteriors(self, levels: Levels) -> FloatArray:
        """Return the posteriors of cells; where the prior leaves nothing, the prior."""
        weights = self.smoothing.weights(levels) * self.factor + self.imagined * self.prior
        weights = np.where(weights.sum(axis=1, keepdims=True) > 0, weights, self.prior)
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    def look_up(self, columns: Columns, rows: int, best: bool = False) -> NDArray[Any]:
        """Return the posteriors of rows; with `best` the place of the largest instead."""
        grid, lines = self.table.grid, self._occupied
        if best:
            lines = lines.argmax(axis=1)
        answers = np.empty((rows, *lines.shape[1:]), lines.dtype)

        def work(block: slice) -> None:
            part = [as_kernel_column(column[block]) for column in columns]
            size = block.stop - block.start
            if grid.direct:
                address = grid.addresses(part, size)
                place = self.table.find(np.maximum(address, 0))
                place[address < 0] = -1
            else:
                place = self.table.find_levels(grid.levels(part, size))
            found = lines[place]
            empty = np.flatnonzero(place < 0)
            if len(empty):
                levels = grid.levels([column[empty] for column in part], len(empty))
                shares = self.posteriors(levels)
                found[empty] = shares.argmax(axis=1) if best else shares
            answers[block] = found

        in_threads(work, blocks(rows, BLOCK))
        return answers

    def posteriors_by_step(self, levels: Levels, axes: list[int]) -> FloatArray:
        """Return posteriors as columns become known one after the other: rows × steps × classes.

        A step that no row supports keeps the posterior of the step before.
        """
        prior = self.table.by_class * self.factor
        steps = np.empty((len(levels), len(axes) + 1, len(prior)))
        steps[:, 0] = prior / prior.sum()
        known = np.full_like(levels, -1)
        for step, at in enumerate(axes, start=1):
            known[:, at] = levels[:, at]
            weights = self.smoothing.plain(known) * self.factor
            some = weights.sum(axis=1, keepdims=True) > 0
            weights += self.imagined * self.prior
            total = weights.sum(axis=1, keepdims=True)
            shares = weights / np.where(total > 0, total, 1.0)
            steps[:, step] = np.where(some, shares, steps[:, step - 1])
        if axes:
            steps[:, -1] = self.posteriors(levels)
        return steps
