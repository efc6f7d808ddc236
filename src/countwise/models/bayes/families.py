"""Families of columns, learned from rows: an attribute with those it depends on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

import numpy as np

from countwise._typing import FloatArray
from countwise.counts.count_rows import count
from countwise.counts.engines.memory import DIRECT_ROWS, measure_pairs
from countwise.counts.engines.stream import drop_counts
from countwise.counts.information import shared_information
from countwise.counts.plan import Plan
from countwise.discretize.rare_levels import tree_limit, width_limit
from countwise.errors import CountsError
from countwise.notes import Note
from countwise.tables.scan import Scan
from countwise.tables.schema import Schema
from countwise.tables.table import Table

Family = tuple[str, ...]


def pairs_fit(schema: Schema) -> bool:
    """Return whether the tables of every two nominal columns fit in memory together."""
    return width_limit(*_widths(schema)) is None


def is_learned_once(schema: Schema) -> bool:
    """Return whether tables of each column with one other fit in memory, where all pairs do not."""
    widths, classes = _widths(schema)
    return not pairs_fit(schema) and tree_limit(widths, classes) >= max(widths)


def _widths(schema: Schema) -> tuple[list[int], int]:
    classes = 0 if schema.target is None else schema.target.width
    return [column.width for column in schema.nominal], classes


def plan_families(families: Iterable[Family]) -> Plan:
    """Plan the table of each family, and that of each attribute alone."""
    families = tuple(families)
    return Plan(tuple((family[0],) for family in families)) | Plan(families)


def share_in_rows(
    table: Table | Scan, columns: Sequence[str], weight: FloatArray | None = None
) -> FloatArray:
    """Return what every two columns share given the class; no table of two columns is kept.

    Of many rows the tables are counted together, which is quicker, if they fit in memory.
    """
    if isinstance(table, Scan):
        return _share_in_scan(table, columns)
    if len(table) > DIRECT_ROWS and pairs_fit(table.schema):
        plan = Plan.pairs(table.schema, columns)
        return shared_information(count(table, plan, sample_weight=weight), columns)
    return measure_pairs(table, columns, weight)


def _share_in_scan(scan: Scan, columns: Sequence[str]) -> FloatArray:
    """Return what every two columns share: all pairs in one scan, or two blocks of columns each."""
    schema, shared = scan.schema, np.zeros((len(columns), len(columns)))
    widths, classes = [schema[name].width for name in columns], _widths(schema)[1]
    parts = 1
    while parts < len(columns) and not _blocks_fit(widths, classes, parts):
        parts += 1
    blocks = np.array_split(np.arange(len(columns)), parts)
    pairs = list(combinations(range(parts), 2)) if parts > 1 else [(0, 0)]
    for one, two in pairs:
        places = np.union1d(blocks[one], blocks[two])
        names = [columns[place] for place in places]
        counts = count(scan, Plan.pairs(schema, names))
        shared[np.ix_(places, places)] = shared_information(counts, names)
        del counts
        drop_counts(scan)
    return shared


def _blocks_fit(widths: Sequence[int], classes: int, parts: int) -> bool:
    """Return whether the pairs within any two blocks of columns fit in memory."""
    blocks = np.array_split(np.asarray(widths), parts)
    pairs = combinations(blocks, 2) if parts > 1 else [(blocks[0], blocks[0][:0])]
    return all(width_limit([*one, *two], classes) is None for one, two in pairs)


def note_learned_once(schema: Schema) -> Note:
    """Say that the dependencies were learned once, because not all pairs can be kept."""
    return Note.of("P04", columns=len(schema.attributes))


def check_families(who: str, families: Iterable[Family], k: int) -> None:
    """Refuse families of which an attribute does not come after those it depends on."""
    before: set[str] = set()
    for child, *parents in families:
        if child in before or len(parents) > k or not set(parents) <= before:
            raise CountsError(
                f"{who}: each attribute must occur once, after the {k} at most that "
                f"it depends on; {child!r} does not."
            )
        before.add(child)
