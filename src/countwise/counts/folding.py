"""Folding rare levels into one, so that tables of two and three columns stay within memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from countwise.counts.counts import Counts
from countwise.tables.schema import Level, Schema, level_key
from countwise.tables.table import Table, code_type

__all__ = ["MOST_PAIR_CELLS", "OTHER", "fold_table", "frequent_levels", "width_limit"]

#: All tables of two columns together may have this many cells (half a gigabyte).
MOST_PAIR_CELLS = 1 << 26
#: The level that rare levels become.
OTHER = "(other)"


def width_limit(widths: Sequence[int], classes: int, most: int = MOST_PAIR_CELLS) -> int | None:
    """How many levels a column may keep so that all pairs of columns fit; None if all fit.

    Examples
    --------
    >>> width_limit([3, 3, 4], classes=2) is None
    True
    >>> width_limit([10_000, 10_000], classes=2)
    6687
    """

    def cells(limit: int) -> float:
        total = sum(min(width, limit) + 2.0 for width in widths)
        return (classes + 2) * total * total / 2

    widest = max(widths, default=0)
    if cells(widest) <= most:
        return None
    low, high = 1, widest
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if cells(middle) <= most else (low, middle)
    return low


def frequent_levels(counts: Counts, limit: int) -> dict[str, tuple[Level, ...]]:
    """The levels that stay, for each column with more than `limit` of them: the most frequent.

    Of equally frequent levels those that come first stay. One place is for the rest.
    """
    kept = {}
    for column in counts.schema.nominal:
        if column.width <= limit:
            continue
        often = counts.table(column.name)[:, :-1].sum(axis=0)
        chosen = np.sort(np.argsort(-often, kind="stable")[: max(limit - 1, 1)])
        kept[column.name] = tuple(column.levels[place] for place in chosen)
    return kept


def fold_table(table: Table, kept: Mapping[str, tuple[Level, ...]]) -> Table:
    """The table with all levels but the kept ones folded into one.

    Examples
    --------
    >>> import countwise as cw
    >>> table = cw.read({"a": ["x", "y", "z"], "k": ["p", "q", "p"]}, target="k")
    >>> fold_table(table, {"a": ("x",)}).decode("a").tolist()
    ['x', '(other)', '(other)']
    """
    data = {name: table.raw_array(name) for name in table.names}
    changed = []
    for name, levels in kept.items():
        column = table.schema[name]
        width = len(levels) + 1
        place = {level_key(level): at for at, level in enumerate(levels)}
        where = [place.get(level_key(level), width - 1) for level in column.levels]
        lookup = np.asarray([*where, width, width - 1], dtype=code_type(width))
        data[name] = lookup[table.codes(name)]
        changed.append(column.with_levels((*levels, OTHER)))
    schema: Schema = table.schema.with_columns(changed)
    return Table._made(schema, data, table.notes, table.unseen, len(table))
