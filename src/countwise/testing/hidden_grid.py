"""Rows whose classes are constant on a hidden grid, which a search for boundaries must find."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["HiddenGrid"]

Doubles = NDArray[np.float64]


@dataclass(frozen=True)
class HiddenGrid:
    """Uniform columns on [0, 1], cut at hidden boundaries; every cell has one class.

    Parameters
    ----------
    boundaries
        Where each column is cut; a value at a boundary is on its left.
    classes
        How many classes there are.
    noise
        The share of rows whose class is another one, drawn at random.
    decimals
        How many decimals the values have: few make ties.
    nuisance
        Columns behind the others that say nothing.
    seed
        Of the cells' classes and of the rows.

    Examples
    --------
    >>> grid = HiddenGrid(((0.3,), (0.8,)))
    >>> X, y = grid.rows(5)
    >>> X.shape, X.dtype, sorted(set(y.tolist())) in ([0], [1], [0, 1])
    ((5, 2), dtype('float32'), True)
    """

    boundaries: Sequence[Sequence[float]]
    classes: int = 2
    noise: float = 0.0
    decimals: int = 5
    nuisance: int = 0
    seed: int = 0

    @property
    def labels(self) -> NDArray[np.int64]:
        """The class of every hidden cell."""
        cells = int(np.prod([len(cuts) + 1 for cuts in self.boundaries]))
        return np.random.default_rng(self.seed).integers(0, self.classes, cells)

    def cells(self, X: NDArray[Any]) -> NDArray[np.int64]:
        """The hidden cell of every row."""
        cell = np.zeros(len(X), np.int64)
        for at, cuts in enumerate(self.boundaries):
            edges = np.asarray(cuts, X.dtype)
            cell = cell * (len(cuts) + 1) + np.searchsorted(edges, X[:, at], side="left")
        return cell

    def rows(self, number: int, seed: int = 1) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
        """Draw rows and their classes."""
        rng = np.random.default_rng((self.seed, seed))
        columns = len(self.boundaries) + self.nuisance
        X = np.round(rng.random((number, columns)), self.decimals).astype(np.float32)
        y = self.labels[self.cells(X)]
        wrong = rng.random(number) < self.noise
        y[wrong] = (y[wrong] + rng.integers(1, self.classes, int(wrong.sum()))) % self.classes
        return X, y.astype(np.int8)

    def best_gain(self, X: NDArray[Any], y: NDArray[Any], gain: Doubles) -> float:
        """What the true rule earns a row on these rows."""
        other = self.noise / (self.classes - 1)
        shares = np.full((self.classes, self.classes), other)
        np.fill_diagonal(shares, 1 - self.noise)
        chosen = (shares @ gain).argmax(axis=1)[self.labels[self.cells(X)]]
        return float(gain[y, chosen].mean())
