"""Draw rows of a scan at random, by their numbers: the same rows every time."""

from __future__ import annotations

from hashlib import blake2b
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from countwise.errors import ParameterError, TableError
from countwise.progress import Progress
from countwise.tables.scan import Block, Scan
from countwise.tables.scan_pass import run_pass
from countwise.tables.table import Table
from countwise.tables.words import join_cells


class Drawn(NamedTuple):
    """Rows with the smallest hashes so far."""

    hashes: NDArray[np.uint64]
    table: Table


def hash_rows(block: Block, seed: int, any_order: bool = False) -> NDArray[np.uint64]:
    """Return a 64-bit hash of the identity of each row and a seed; never of its content.

    Rows without a fixed order are refused, unless their numbers in `any_order` will do.
    """
    if not block.piece.stable_rows and not any_order:
        raise TableError(
            f"scan: the rows of {block.piece.name} have no fixed order, so folds and samples need "
            "a column that identifies them.",
            hint="Name it with `key=`",
        )
    start = blake2b(f"{seed} {block.piece.key}".encode(), digest_size=8).digest()
    mixed = block.numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= np.uint64(int.from_bytes(start, "little"))
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)))


def draw(scan: Scan, rows: int, random_state: int) -> Table:
    """Return so many rows of a scan, drawn without replacement, in the order of the scan."""
    if isinstance(rows, bool) or not isinstance(rows, int) or rows < 1:
        raise ParameterError("sample", "rows", "a whole number from 1", rows)
    scan.make_certain()

    def fold(block: Block) -> Drawn:
        return _least(hash_rows(block, random_state), block.table, rows)

    def add(left: Drawn, right: Drawn) -> Drawn:
        hashes = np.concatenate([left.hashes, right.hashes])
        return _least(hashes, join_tables([left.table, right.table]), rows)

    drawn: Drawn = run_pass(scan, fold, add)
    return drawn.table.with_notes(scan.notes)


def draw_by_class(
    scan: Scan, wanted: NDArray[np.intp], random_state: int, progress: Progress | None = None
) -> Table:
    """Return so many rows of each class, drawn without replacement, in the order of the scan.

    If the rows have no fixed order, another scan may find other ones.
    """
    any_order = not scan.source.stable_rows

    def fold(block: Block) -> Drawn:
        hashes = hash_rows(block, random_state, any_order)
        return _least_by_class(hashes, block.table, wanted)

    def add(left: Drawn, right: Drawn) -> Drawn:
        hashes = np.concatenate([left.hashes, right.hashes])
        return _least_by_class(hashes, join_tables([left.table, right.table]), wanted)

    drawn: Drawn = run_pass(scan, fold, add, progress=progress)
    return drawn.table.with_notes(scan.notes)


def _least_by_class(hashes: NDArray[np.uint64], table: Table, wanted: NDArray[np.intp]) -> Drawn:
    """Keep the rows of each class that have the smallest hashes."""
    target, kept = table.target, np.ones(len(hashes), dtype=bool)
    for label in np.unique(target).tolist():
        rows, many = np.flatnonzero(target == label), int(wanted[label])
        if many < len(rows):
            kept[rows[np.argpartition(hashes[rows], many)[many:]]] = False
    return Drawn(hashes, table) if kept.all() else Drawn(hashes[kept], table.take(kept))


def _least(hashes: NDArray[np.uint64], table: Table, rows: int) -> Drawn:
    if len(hashes) <= rows:
        return Drawn(hashes, table)
    kept = np.sort(np.argpartition(hashes, rows)[:rows])
    return Drawn(hashes[kept], table.take(kept))


def join_tables(tables: list[Table]) -> Table:
    """Return the rows of several tables of one schema one after the other."""
    first = tables[0]
    data = {name: join_cells([table.raw_array(name) for table in tables]) for name in first.names}
    return Table.from_arrays(first.schema, data, first.notes, {}, sum(map(len, tables)))
