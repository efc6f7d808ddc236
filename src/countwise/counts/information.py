"""Entropy, information gain and conditional mutual information of counts, in bits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from countwise._typing import FloatArray
from countwise.counts.counts import Counts
from countwise.counts.engines import _pairs

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
    return float(_measure([table])[0])


def shared_information(counts: Counts, columns: Sequence[str]) -> FloatArray:
    """Return the conditional information of every two columns, from the rows that hold both."""
    shared = np.zeros((len(columns), len(columns)))
    lower = np.tril_indices(len(columns), k=-1)
    tables = [
        counts.table(one, two)[:-1, :-1, :-1]
        for place, one in enumerate(columns)
        for two in columns[:place]
    ]
    shared[lower] = _measure(tables)
    return shared + shared.T


def _measure(tables: list[FloatArray]) -> FloatArray:
    """Return the conditional information of each table: classes × one × other."""
    bits = np.empty(len(tables))
    _pairs.measure_tables(tables, bits)
    return bits
