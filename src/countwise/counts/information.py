"""Entropy, information gain and conditional mutual information of counts, in bits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from countwise._typing import FloatArray
from countwise.counts.counts import Counts

#: How many cells of tables are worked on together.
_TOGETHER = 1 << 16
#: What rounding may do to the sum of a cell.
_ROUNDING = 1e-9


def entropy(counts: FloatArray, axis: int = 0) -> FloatArray:
    """Return the entropy in bits of the classes along `axis`; of no counts it is 0."""
    total = counts.sum(axis=axis, keepdims=True)
    share = np.divide(counts, total, out=np.zeros_like(counts), where=total > 0)
    logs = np.log2(share, out=np.zeros_like(share), where=share > 0)
    return np.asarray(-(share * logs).sum(axis=axis))


def information_gain(table: FloatArray) -> float:
    """Return how many bits the value (columns) tells about the class (rows) (Quinlan 1986)."""
    weight = table.sum(axis=0)
    total = weight.sum()
    if total <= 0:
        return 0.0
    return float(entropy(table.sum(axis=1)) - (weight * entropy(table)).sum() / total)


def partition_gain(
    counts: FloatArray,
    gain: FloatArray,
    judged: FloatArray | None = None,
    judged_gain: FloatArray | None = None,
    fallback: int = 0,
) -> tuple[float, float]:
    """Return what counts (cells × classes) and judged rows earn by each cell's best decision."""
    # Panda and Garg, eq. 2 to 5; a cell without counts takes decision `fallback`.
    paid = counts @ gain
    # Of decisions that pay the same, but for rounding, the first is taken.
    slack = _ROUNDING * float(np.abs(gain).max(initial=0.0))
    chosen = (paid >= paid.max(axis=1, keepdims=True) - slack).argmax(axis=1)
    chosen[counts.sum(axis=1) <= 0] = fallback
    every = np.arange(len(chosen))
    earned = float(paid[every, chosen].sum())
    if judged is None:
        return earned, 0.0
    other = judged @ (gain if judged_gain is None else judged_gain)
    return earned, float(other[every, chosen].sum())


def conditional_information(table: FloatArray) -> float:
    """Return the bits two attributes (axes 1, 2) tell of each other, given the class (axis 0)."""
    return float(_conditional(table[None])[0])


def shared_information(counts: Counts, columns: Sequence[str]) -> FloatArray:
    """Return the conditional information of every two columns, from the rows that hold both."""
    # Tables of one shape are worked on together: 200 columns make 20 000 of them.
    shared = np.zeros((len(columns), len(columns)))
    waiting: dict[tuple[int, ...], list[tuple[int, int, FloatArray]]] = {}

    def work_off(several: list[tuple[int, int, FloatArray]]) -> None:
        found = _conditional(np.stack([table for _, _, table in several]))
        for (i, j, _), bits in zip(several, found.tolist(), strict=True):
            shared[i, j] = shared[j, i] = bits

    for i, one in enumerate(columns):
        for j, two in enumerate(columns[:i]):
            table = counts.table(one, two)[:-1, :-1, :-1]
            several = waiting.setdefault(table.shape, [])
            several.append((i, j, table))
            if len(several) * table.size > _TOGETHER:
                work_off(several)
                several.clear()
    for several in waiting.values():
        if several:
            work_off(several)
    return shared


def _conditional(tables: FloatArray) -> FloatArray:
    """Return the conditional information of a stack of tables: stack × classes × one × other."""
    total = tables.sum(axis=(1, 2, 3))
    a = tables.sum(axis=3, keepdims=True)
    b = tables.sum(axis=2, keepdims=True)
    c = a.sum(axis=2, keepdims=True)
    # Products of weights that are next to nothing are zero, and say nothing.
    joint, apart = tables * c, a * b
    ratio = np.divide(joint, apart, out=np.ones_like(tables), where=(joint > 0) & (apart > 0))
    bits = (tables * np.log2(ratio)).sum(axis=(1, 2, 3))
    shares = np.divide(bits, total, out=np.zeros_like(bits), where=total > 0)
    return np.asarray(np.maximum(shares, 0.0))
