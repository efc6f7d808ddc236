"""Tables of every two columns, each counted by itself: for rows that are few beside the tables.

A joint table of several columns pays where rows are many: a row then costs one increment for
several pairs. Where columns are many and rows are few, summing the joint tables costs more than
counting did, and each pair is counted directly.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.counts.engines import _pairs
from countwise.counts.plan import Plan
from countwise.parallel import blocks, in_threads, threads
from countwise.tables.table import Table, code_type

Pair = tuple[str, str]

#: Up to so many rows each pair is counted directly.
MOST_ROWS = 1 << 15
#: Fewer increments than this are done before a thread has begun.
_WORTH_A_THREAD = 1 << 22


def pairs_to_count(table: Table, plan: Plan, most_cells: int) -> list[Pair]:
    """Return the pairs of a plan that are counted directly: all if rows are few, else none.

    A pair whose table would have more than `most_cells` is left to those who refuse it.
    """
    if len(table) > MOST_ROWS:
        return []
    width = {column.name: column.width + 2 for column in table.schema if column.coded}
    most = most_cells // (table.target_column.width + 2)
    pairs = [(names[0], names[1]) for names in plan.tables if len(names) == 2]
    return [pair for pair in pairs if width[pair[0]] * width[pair[1]] <= most]


class _Coded:
    """Rows as the kernels take them: one line of codes a column, unseen counted as missing."""

    def __init__(self, table: Table, names: Sequence[str], weight: FloatArray | None) -> None:
        self.slots = table.target_column.width + 1
        self.target = np.minimum(table.target, self.slots - 1).astype(np.uint32)
        self.width = np.array([table.schema[name].width + 1 for name in names], dtype=np.uint32)
        kind = code_type(int(self.width.max(initial=1)) - 1)
        self.codes = np.empty((len(names), len(table)), dtype=kind)
        for line, name, width in zip(self.codes, names, self.width.tolist(), strict=True):
            np.minimum(table.codes(name), width - 1, out=line, casting="unsafe")
        self.weight = None if weight is None else np.ascontiguousarray(weight)

    def split(self, pairs: NDArray[np.int64]) -> list[slice]:
        """Return the pairs in blocks, several only where threads are worth it."""
        work = len(pairs) * len(self.target)
        number = 4 * threads() if work > _WORTH_A_THREAD and threads() > 1 else 1
        return blocks(len(pairs), -(-len(pairs) // number))


def count_pairs(
    table: Table, pairs: Sequence[Pair], weight: FloatArray | None = None
) -> dict[Pair, FloatArray]:
    """Return the table of each pair of columns: class × one × other; they share one array."""
    if not pairs:
        return {}
    names = list(dict.fromkeys(name for pair in pairs for name in pair))
    place = {name: at for at, name in enumerate(names)}
    coded = _Coded(table, names, weight)
    ends = np.array([(place[one], place[two]) for one, two in pairs], dtype=np.int64)
    cells = coded.slots * coded.width[ends].astype(np.int64).prod(axis=1)
    offset = np.concatenate([[0], np.cumsum(cells)])
    packed = np.empty(int(offset[-1]))

    def fill(block: slice) -> None:
        _pairs.count_pairs(
            coded.codes, coded.target, coded.weight, coded.width, coded.slots, ends[block],
            offset[block], packed,
        )  # fmt: skip

    in_threads(fill, coded.split(ends))
    shapes = coded.width[ends].tolist()
    edges = offset.tolist()
    return {
        pair: packed[edges[at] : edges[at + 1]].reshape(coded.slots, *shapes[at])
        for at, pair in enumerate(pairs)
    }


def measure_pairs(
    table: Table, columns: Sequence[str], weight: FloatArray | None = None
) -> FloatArray:
    """Return the conditional information of every two columns, and keep none of their tables."""
    shared = np.zeros((len(columns), len(columns)))
    lower = np.tril_indices(len(columns), k=-1)
    ends = np.stack(lower, axis=1).astype(np.int64)
    if not len(ends) or not len(table):
        return shared
    coded = _Coded(table, columns, weight)
    bits = np.empty(len(ends))

    def measure(block: slice) -> None:
        _pairs.measure_pairs(
            coded.codes, coded.target, coded.weight, coded.width, coded.slots, ends[block],
            bits[block],
        )  # fmt: skip

    in_threads(measure, coded.split(ends))
    shared[lower] = bits
    return shared + shared.T
