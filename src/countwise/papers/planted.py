"""Rows like those of Panda and Garg, with the answer known: classes are constant on a hidden grid.

The features are uniform on [0, 1] with five decimals, as the paper says of its ten million rows,
which are not to be had. The hidden boundaries are those published for the course's data, the ones
the paper compares its own with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["GAIN", "HIDDEN", "Planted", "planted"]

#: One line a feature: where its hidden boundaries are.
HIDDEN = (
    (0.02037, 0.18117, 0.56374, 0.90676, 0.98718),
    (0.47436, 0.49150, 0.53603, 0.58948, 0.62023),
    (0.08321, 0.15193, 0.24154, 0.60653, 0.94493),
    (0.02697, 0.22574, 0.25494, 0.32456, 0.85316),
    (0.06348, 0.10362, 0.19162, 0.51352, 0.60375),
)

#: The economic gain matrix of the paper: lines are true classes, columns assigned ones.
GAIN = ((1.0, -1.0), (-2.0, 3.0))

_BLOCK = 1 << 20


@dataclass(frozen=True)
class Planted:
    """Rows, their classes, the class of every hidden cell, and the grid they come from."""

    X: NDArray[np.float32]
    y: NDArray[np.int8]
    labels: NDArray[np.int8]
    boundaries: tuple[tuple[float, ...], ...]
    noise: float

    def best_gain(self, gain: ArrayLike = GAIN) -> float:
        """Return what the true rule earns on fresh rows: no rule can earn more.

        Examples
        --------
        >>> made = planted(1000, seed=1)
        >>> 1 < made.best_gain() < 3
        True
        """
        earns = np.asarray(gain, dtype=np.float64)
        volume = np.ones(1)
        for cuts in self.boundaries:
            volume = np.multiply.outer(volume, np.diff([0.0, *cuts, 1.0])).ravel()
        classes = len(earns)
        chances = np.full((len(self.labels), classes), self.noise / max(classes - 1, 1))
        chances[np.arange(len(self.labels)), self.labels] = 1.0 - self.noise
        return float(volume @ (chances @ earns).max(axis=1))


def planted(
    rows: int,
    *,
    boundaries: Sequence[Sequence[float]] = HIDDEN,
    classes: int = 2,
    noise: float = 0.0,
    seed: int = 7,
) -> Planted:
    """Make rows whose classes are constant on a hidden grid, but for some noise.

    Parameters
    ----------
    rows
        How many.
    boundaries
        The hidden grid, one ascending line a feature.
    classes
        How many classes the cells are given, at random.
    noise
        The share of rows whose class is moved to another one.
    seed
        Of the cells, the rows and the noise.

    Examples
    --------
    >>> made = planted(1000)
    >>> made.X.shape, made.X.dtype, sorted(set(made.y.tolist()))
    ((1000, 5), dtype('float32'), [0, 1])
    """
    grid = tuple(tuple(float(cut) for cut in line) for line in boundaries)
    rng = np.random.default_rng(seed)
    sizes = [len(line) + 1 for line in grid]
    labels = rng.integers(0, classes, int(np.prod(sizes))).astype(np.int8)
    X = np.empty((rows, len(grid)), dtype=np.float32)
    y = np.empty(rows, dtype=np.int8)
    for start in range(0, rows, _BLOCK):
        part = slice(start, min(start + _BLOCK, rows))
        block = np.round(rng.random((part.stop - start, len(grid))), 5).astype(np.float32)
        cell = np.zeros(len(block), dtype=np.int64)
        for column, cuts in enumerate(grid):
            place = np.searchsorted(np.asarray(cuts, np.float32), block[:, column])
            cell = cell * sizes[column] + place
        own = labels[cell]
        if noise:
            moved = rng.random(len(own)) < noise
            steps = rng.integers(1, classes, int(moved.sum()))
            own[moved] = (own[moved] + steps) % classes
        X[part], y[part] = block, own
    return Planted(X, y, labels, grid, noise)
