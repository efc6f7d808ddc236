"""Where a row without the value asked for goes: down every branch in part, or the largest."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray

Places = NDArray[np.intp]

#: A part of a row below this is not divided again, which bounds how many parts there are.
#: No round number: rounding must not decide for shares that are equal on paper.
LEAST_SHARE = 0.0101


def shared_out(
    node: NDArray[np.uint32],
    part: FloatArray,
    heavy: FloatArray,
    offset: NDArray[np.int64],
    fractions: bool,
) -> tuple[Places, Places, FloatArray]:
    """Divide rows without a value among the slots of their nodes."""
    nodes = len(offset) - 1
    owner = np.repeat(np.arange(nodes), np.diff(offset))
    filled = np.flatnonzero(heavy > 0)
    divided = part >= LEAST_SHARE if fractions else np.zeros(len(part), dtype=bool)
    alone, many = np.flatnonzero(~divided), np.flatnonzero(divided)
    number = np.bincount(owner[filled], minlength=nodes)
    begin = np.cumsum(number) - number
    times = number[node[many]]
    taken = np.repeat(many, times)
    step = np.arange(len(taken)) - np.repeat(np.cumsum(times) - times, times)
    where = filled[np.repeat(begin[node[many]], times) + step]
    parts = part[taken] * heavy[where] / np.bincount(owner, heavy, nodes)[owner[where]]
    return (
        np.concatenate([alone, taken]),
        np.concatenate([_largest(heavy, owner, filled, nodes)[node[alone]], where]),
        np.concatenate([part[alone], parts]),
    )


def _largest(heavy: FloatArray, owner: Places, filled: Places, nodes: int) -> Places:
    """The heaviest slot of each node, of equal ones the first."""
    top = np.zeros(nodes)
    np.maximum.at(top, owner, heavy)
    near = filled[heavy[filled] >= top[owner[filled]] * (1 - 1e-9)]
    largest = np.zeros(nodes, dtype=np.intp)
    # Written from the last to the first, the first one stays.
    largest[owner[near[::-1]]] = near[::-1]
    return largest
