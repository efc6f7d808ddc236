"""Rows in few dimensions in a k-d tree (SciPy's), which proposes neighbours for the exact search.

The tree rounds differently than the search, so its lists are taken for what they are: whoever is
beyond a list is at least as far as its last row, but for rounding. Where that does not settle who
the neighbours are, as among ties, the search decides by itself.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from countwise.counts.embedding import STEEP, Space
from countwise.counts.engines.memory import threads

Doubles = NDArray[np.float64]
Rows = NDArray[np.int64]

#: Measured: with more axes too many branches have to be looked into, unless rows are very many.
MOST_AXES = 5
MOST_AXES_OF_MANY = 7
_MANY_ROWS = 1_000_000
_LEAST_ROWS = 10_000
#: A tree keeps the rows once more; larger tables are not copied again.
_MOST_CELLS = 1 << 24
#: Queries, times the doublings of rows and the threads, that a scan answers while a tree is built.
_QUERIES = 100


def worth_it(space: Space, holes: bool, rows: int, queries: int, k: int) -> bool:
    """Whether a tree finds neighbours sooner than a scan: few numeric axes, many rows and queries.

    Building a tree takes the time in which a scan answers some thousand queries, so it pays when
    as many `queries` were asked, the present ones with all before.
    """
    axes = len(space.axes)
    few = axes <= (MOST_AXES if rows < _MANY_ROWS else MOST_AXES_OF_MANY) and k <= 64
    if rows < _LEAST_ROWS or not few or holes or space.ignore or rows * axes > _MOST_CELLS:
        return False
    if STEEP < space.p < math.inf:  # the tree would take powers that no double holds
        return False
    if queries < _QUERIES * math.log2(rows) * threads():
        return False
    return all(axis.kind == "number" for axis in space.axes)


class Branches:
    """A tree over the coordinates of the kept rows."""

    def __init__(
        self, cells: list[NDArray[Any]], centre: Doubles, stretch: Doubles, p: float
    ) -> None:
        self._centre, self._stretch, self._p = centre, stretch, p
        rows = self._placed(cells)
        self._tree = cKDTree(rows, balanced_tree=False)
        self._reach = max(float(rows.max(initial=0.0)), -float(rows.min(initial=0.0)))

    def _placed(self, cells: list[NDArray[Any]]) -> Doubles:
        columns = zip(cells, self._centre, self._stretch, strict=True)
        made = np.empty((len(cells[0]), len(cells)))
        for place, (own, middle, factor) in enumerate(columns):
            np.multiply(own - middle, factor, out=made[:, place])
        return made

    def proposed(self, cells: list[NDArray[Any]], size: int) -> tuple[Rows, Doubles]:
        """Return the nearest rows by the tree, and how far everybody else is at least."""
        asked = self._placed(cells)
        far, who = self._tree.query(asked, k=size, p=self._p, workers=threads())
        last = np.asarray(far).reshape(len(asked), size)[:, -1]
        reach = self._reach + np.abs(asked).max(axis=1, initial=0.0)
        return (
            np.asarray(who).reshape(len(asked), size).astype(np.int64),
            last * (1.0 - 1e-9) - 1e-12 * reach,
        )
