"""What counts say about the class: entropy and information gain, in bits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["entropy", "information_gain"]

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
