"""What counts say: entropy, information gain and conditional mutual information, in bits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["conditional_information", "entropy", "information_gain"]

Doubles = NDArray[np.float64]


def entropy(counts: Doubles, axis: int = 0) -> Doubles:
    """Entropy in bits of the classes along `axis`; nothing counted has none.

    Examples
    --------
    >>> float(entropy(np.array([9.0, 5.0])).round(3))
    0.94
    """
    total = counts.sum(axis=axis, keepdims=True)
    share = np.divide(counts, total, out=np.zeros_like(counts), where=total > 0)
    logs = np.log2(share, out=np.zeros_like(share), where=share > 0)
    return np.asarray(-(share * logs).sum(axis=axis))


def information_gain(table: Doubles) -> float:
    """How many bits about the class (rows) the value (columns) gives (Quinlan 1986).

    Examples
    --------
    Outlook on the weather data:

    >>> round(information_gain(np.array([[3.0, 0.0, 2.0], [2.0, 4.0, 3.0]])), 3)
    0.247
    """
    weight = table.sum(axis=0)
    total = weight.sum()
    if total <= 0:
        return 0.0
    return float(entropy(table.sum(axis=1)) - (weight * entropy(table)).sum() / total)


def conditional_information(table: Doubles) -> float:
    """How many bits two attributes (axes 1 and 2) tell of each other, given the class (axis 0).

    Σ P(a, b, c) log P(a, b | c) / (P(a | c) P(b | c)), by plain shares (Friedman et al. 1997).

    Examples
    --------
    >>> conditional_information(np.array([[[2.0, 0.0], [0.0, 2.0]]]))
    1.0
    """
    total = table.sum()
    if total <= 0:
        return 0.0
    a = table.sum(axis=2, keepdims=True)
    b = table.sum(axis=1, keepdims=True)
    c = a.sum(axis=1, keepdims=True)
    filled = table > 0
    ratio = np.divide(table * c, a * b, out=np.ones_like(table), where=filled)
    return max(float((table * np.log2(ratio)).sum() / total), 0.0)
