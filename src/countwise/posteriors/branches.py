"""Rows in few dimensions in a k-d tree (SciPy's), which proposes neighbours for the exact search.

The tree rounds differently than the search, so its lists are taken for what they are: whoever is
beyond a list is at least as far as its last row, but for rounding. Where that does not settle who
the neighbours are, as among ties, the search decides by itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from countwise.counts.embedding import Space
from countwise.counts.engines.memory import threads

__all__ = ["MOST_AXES", "Branches", "worth_it"]

Doubles = NDArray[np.float64]
Rows = NDArray[np.int64]

#: Measured: with more axes too many branches have to be looked into.
MOST_AXES = 7
#: Comparisons that a scan makes in the time a tree is built.
_LEAST_PAIRS = 200_000_000
_LEAST_ROWS = 10_000


def worth_it(space: Space, holes: bool, rows: int, queries: int, k: int) -> bool:
    """Whether a tree finds neighbours sooner than a scan: few numeric axes, many rows and queries.

    Examples
    --------
    >>> import countwise as cw
    >>> from countwise.counts.metrics import learn_space
    >>> space = learn_space(cw.read("sample:iris"))
    >>> worth_it(space, False, 1_000_000, 10_000, 5), worth_it(space, False, 150, 10_000, 5)
    (True, False)
    """
    large = rows >= _LEAST_ROWS and rows * queries >= _LEAST_PAIRS
    few = len(space.axes) <= MOST_AXES and k <= 64
    if not large or not few or holes or space.ignore:
        return False
    return all(axis.kind == "number" for axis in space.axes)


class Branches:
    """A tree over the coordinates of the kept rows.

    Examples
    --------
    >>> tree = Branches([np.array([0.0, 1.0, 5.0])], np.array([0.0]), np.array([1.0]), 2.0)
    >>> tree.proposed([np.array([0.9])], 2)[0].tolist()
    [[1, 0]]
    """

    def __init__(
        self, cells: list[NDArray[Any]], centre: Doubles, stretch: Doubles, p: float
    ) -> None:
        self._centre, self._stretch, self._p = centre, stretch, p
        rows = self._placed(cells)
        self._tree = cKDTree(rows, balanced_tree=False)
        self._reach = float(np.abs(rows).max(initial=0.0))

    def _placed(self, cells: list[NDArray[Any]]) -> Doubles:
        columns = zip(cells, self._centre, self._stretch, strict=True)
        return np.stack([(own - middle) * factor for own, middle, factor in columns], axis=1)

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
