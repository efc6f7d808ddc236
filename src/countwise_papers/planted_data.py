"""Rows like those of Panda and Garg with a known answer: each cell of a hidden grid has one class.

The features are uniform on [0, 1] with five decimals, as the paper says of its ten million rows,
which are not available. The hidden boundaries are those published for the course's data, the ones
the paper compares its own with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from countwise._typing import FloatArray

#: The hidden boundaries, one line a feature.
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
class HiddenGrid:
    """Uniform columns on [0, 1], cut at hidden boundaries; every cell has one class."""

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
        labels = self.labels
        X = np.empty((number, len(self.boundaries) + self.nuisance), np.float32)
        y = np.empty(number, np.int8)
        for start in range(0, number, _BLOCK):
            part = slice(start, min(start + _BLOCK, number))
            size = part.stop - start
            X[part] = np.round(rng.random((size, X.shape[1])), self.decimals)
            drawn = labels[self.cells(X[part])]
            wrong = rng.random(size) < self.noise
            steps = rng.integers(1, self.classes, int(wrong.sum()))
            drawn[wrong] = (drawn[wrong] + steps) % self.classes
            y[part] = drawn
        return X, y

    def best_gain(self, X: NDArray[Any], y: NDArray[Any], gain: FloatArray) -> float:
        """Return the gain a row of the true rule on these rows."""
        chosen = (self._class_probabilities @ gain).argmax(axis=1)[self.labels[self.cells(X)]]
        return float(gain[y, chosen].mean())

    def expected_gain(self, gain: ArrayLike = GAIN) -> float:
        """Return the gain a row of the true rule on new rows: no rule can earn more."""
        volume = np.ones(1)
        for cuts in self.boundaries:
            volume = np.multiply.outer(volume, np.diff([0.0, *cuts, 1.0])).ravel()
        earns = (self._class_probabilities @ np.asarray(gain, dtype=np.float64)).max(axis=1)
        return float(volume @ earns[self.labels])

    @property
    def _class_probabilities(self) -> FloatArray:
        """The probability of each class in a cell of each class."""
        table = np.full((self.classes, self.classes), self.noise / (self.classes - 1))
        np.fill_diagonal(table, 1 - self.noise)
        return table
