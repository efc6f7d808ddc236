"""Merge rare levels into one, so that tables of two and three columns fit in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.counts.counts import Counts
from countwise.tables.schema import OTHER, Column, Level, level_key
from countwise.tables.table import Table, code_type

#: All tables of two columns together may have this many cells: a quarter of a gigabyte, of which
#: learning holds a few copies.
MOST_PAIR_CELLS = 1 << 25


def width_limit(widths: Sequence[int], classes: int, most: int | None = None) -> int | None:
    """Return how many levels a column may keep so that all pairs fit; None if they fit as is.

    `most` is how many cells all tables together may have, usually `MOST_PAIR_CELLS`. Two levels are
    the least there is; `too_many_columns` says whether even they would be too many.
    """
    allowed = MOST_PAIR_CELLS if most is None else most
    widest = max(widths, default=0)
    if _pair_cells(widths, classes, widest) <= allowed:
        return None
    return _most_levels(widest, lambda limit: _pair_cells(widths, classes, limit) <= allowed)


def _most_levels(widest: int, fits: Callable[[int], bool]) -> int:
    """Return the largest limit below `widest` that fits, and at least two."""
    low, high = 2, max(widest, 3)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def tree_limit(widths: Sequence[int], classes: int) -> int:
    """Return how many levels a column may keep so that tables of each with one other fit.

    Whichever other it is; they may take a quarter of what all pairs may, because beside them stand
    copies and the largest pair. 0 if two levels are too many.
    """

    def fits(limit: int) -> bool:
        sizes = [min(width, limit) + 2.0 for width in widths]
        return (classes + 2) * max(sizes, default=0.0) * sum(sizes) <= MOST_PAIR_CELLS / 4

    widest = max(widths, default=0)
    if fits(widest):
        return widest
    return _most_levels(widest, fits) if fits(2) else 0


def too_many_columns(widths: Sequence[int], classes: int) -> bool:
    """Return whether pairs of so many columns exceed memory, however few levels they keep."""
    return _pair_cells(widths, classes, 2) > 4 * MOST_PAIR_CELLS


def _pair_cells(widths: Sequence[int], classes: int, limit: int) -> float:
    sizes = [min(width, limit) + 2.0 for width in widths]
    # The sum over pairs is half of the square of the sum without the squares.
    return (classes + 2) * (sum(sizes) ** 2 - sum(size * size for size in sizes)) / 2


def most_frequent(frequency: NDArray[Any], number: int) -> NDArray[np.intp]:
    """Return the places of the most frequent, in order; of equally frequent ones the first."""
    return np.sort(np.argsort(-frequency, kind="stable")[:number])


def kept_levels(column: Column, frequency: FloatArray, limit: int) -> tuple[Level, ...]:
    """Return the most frequent levels of a column, `limit` less one for the rest.

    A level that bears the name of the rest belongs to it.
    """
    names = [level == OTHER for level in column.levels]
    chosen = most_frequent(np.where(names, -1.0, frequency), max(limit - 1, 1))
    return tuple(column.levels[place] for place in chosen)


def frequent_levels(counts: Counts, limit: int) -> dict[str, tuple[Level, ...]]:
    """Return the levels that stay, by column, of the columns with more than `limit` of them."""
    return {
        column.name: kept_levels(column, counts.table(column.name)[:, :-1].sum(axis=0), limit)
        for column in counts.schema.nominal
        if column.width > limit
    }


def fold_table(table: Table, kept: Mapping[str, tuple[Level, ...]]) -> Table:
    """Fold all levels of a table but the kept ones into one."""
    data = {name: table.raw_array(name) for name in table.names}
    changed = []
    for name, levels in kept.items():
        column = table.schema[name]
        width = len(levels) + 1
        place = {level_key(level): code for code, level in enumerate(levels)}
        codes = [place.get(level_key(level), width - 1) for level in column.levels]
        lookup = np.asarray([*codes, width, width - 1], dtype=code_type(width))
        data[name] = lookup[table.codes(name)]
        changed.append(column.with_levels((*levels, OTHER)))
    schema = table.schema.with_columns(changed)
    return Table.from_arrays(schema, data, table.notes, table.unseen, len(table))
