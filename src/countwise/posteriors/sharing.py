"""Where a row without the value asked for goes: down every branch in part, or the largest."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["LEAST_SHARE", "shared_out"]

Doubles = NDArray[np.float64]
Places = NDArray[np.intp]

#: A part of a row below this is not divided again, which bounds how many parts there are.
#: No round number: rounding must not decide for shares that are equal on paper.
LEAST_SHARE = 0.0101


def shared_out(
    node: NDArray[np.uint32],
    part: Doubles,
    heavy: Doubles,
    offset: NDArray[np.int64],
    fractions: bool,
) -> tuple[Places, Places, Doubles]:
    """Divide rows without a value among the slots of their nodes.

    Parameters
    ----------
    node
        The node of each row.
    part
        How much of each row is there.
    heavy
        The weight of the rows with a value in each slot.
    offset
        Where the slots of each node begin, and the number of slots at the end.
    fractions
        Whether rows are divided by weight; else each goes to the heaviest slot of its node.

    Returns
    -------
    taken, where, parts
        Which row, into which slot, and how much of it.

    Examples
    --------
    >>> taken, where, parts = shared_out(
    ...     np.array([0], np.uint32), np.ones(1), np.array([3.0, 0.0, 1.0]), np.array([0, 3]), True)
    >>> where.tolist(), parts.tolist()
    ([0, 2], [0.75, 0.25])
    """
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


def _largest(heavy: Doubles, owner: Places, filled: Places, nodes: int) -> Places:
    """The heaviest slot of each node, of equal ones the first."""
    top = np.zeros(nodes)
    np.maximum.at(top, owner, heavy)
    near = filled[heavy[filled] >= top[owner[filled]] * (1 - 1e-9)]
    largest = np.zeros(nodes, dtype=np.intp)
    # Written from the last to the first, the first one stays.
    largest[owner[near[::-1]]] = near[::-1]
    return largest
