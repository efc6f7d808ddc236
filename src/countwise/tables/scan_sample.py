"""Draw rows of a scan at random, by their numbers: the same rows every time."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.errors import ParameterError, TableError
from countwise.progress import Progress
from countwise.tables.scan import Block, Scan
from countwise.tables.schema import Schema
from countwise.tables.sources.query_source import KeyedSource
from countwise.tables.table import Table, code_type
from countwise.tables.words import join_cells


class Drawn(NamedTuple):
    """Rows of a block with small hashes."""

    hashes: NDArray[np.uint64]
    table: Table
    weight: FloatArray | None

    def take(self, rows: NDArray[np.intp]) -> Drawn:
        """Return some of the rows."""
        # Put together anew, a table holds no other texts than its own.
        table = join_tables([self.table.take(rows)])
        return Drawn(self.hashes[rows], table, None if self.weight is None else self.weight[rows])


def hash_rows(block: Block, seed: int | str, any_order: bool = False) -> NDArray[np.uint64]:
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


class RowSample:
    """Draws the rows with the smallest hashes; blocks may still get levels while it does."""

    def __init__(self, rows: int, seed: int) -> None:
        self.rows, self.seed = rows, seed
        self.begin()

    def begin(self) -> None:
        """Forget what was drawn: all rows are seen from the first one on."""
        #: What was drawn of all rows, once it was.
        self.drawn: list[Drawn] | None = None
        # No row with a larger hash is among the drawn ones.
        self._largest = np.uint64(2**64 - 1)

    def draw(self, block: Block) -> list[Drawn]:
        """Return the rows of a block that may be among the drawn ones."""
        hashes = hash_rows(block, self.seed)
        near = np.flatnonzero(hashes <= self._largest)
        drawn = Drawn(hashes, block.table, block.weight)
        return self._least([drawn], hashes[near]) if len(near) else []

    def add(self, left: list[Drawn], right: list[Drawn]) -> list[Drawn]:
        """Return what is drawn of two parts, with the rows of the left one first."""
        parts = [*left, *right]
        hashes = [part.hashes for part in parts]
        is_long = sum(map(len, hashes)) > 2 * self.rows
        return self._least(parts, np.concatenate(hashes)) if is_long else parts

    def _least(self, parts: list[Drawn], hashes: NDArray[np.uint64]) -> list[Drawn]:
        largest = self._largest
        if len(hashes) > self.rows:
            self._largest = largest = np.partition(hashes, self.rows - 1)[self.rows - 1]
        near = [np.flatnonzero(part.hashes <= largest) for part in parts]
        return [part.take(rows) for part, rows in zip(parts, near, strict=True) if len(rows)]

    def parts(self, rows: int) -> list[Drawn]:
        """Return so many of the drawn rows, in the order of the scan."""
        fewer = RowSample(rows, self.seed)
        drawn = self.drawn or []
        if drawn:
            drawn = fewer._least(drawn, np.concatenate([part.hashes for part in drawn]))
        return drawn


def draw(scan: Scan, rows: int, random_state: int = 0) -> tuple[Table, FloatArray | None]:
    """Return so many rows of a scan and their weights, drawn without replacement, in order.

    Rows that come in no certain order are in that of their hashes.
    """
    from countwise.tables.scan_pass import run_pass

    if isinstance(rows, bool) or not isinstance(rows, int) or rows < 1:
        raise ParameterError("sample", "rows", "a whole number from 1", rows)
    scan.make_certain()
    sample = scan.expected
    is_known = sample is not None and sample.seed == random_state and sample.rows >= rows
    if sample is not None and is_known and sample.drawn is not None and not scan.shared:
        schema = scan.decision.schema
        parts = sample.parts(rows)
        change = scan.change or (lambda table: table)
        tables = [change(recode(part.table, schema)) for part in parts]
    else:
        sample = RowSample(rows, random_state)
        sample.drawn = run_pass(scan, sample.draw, sample.add)
        parts = sample.parts(rows)
        tables = [part.table for part in parts]
    weight = None
    if scan.weight is not None:
        weight = np.concatenate([part.weight for part in parts if part.weight is not None])
    table = join_tables(tables)
    if isinstance(scan.source, KeyedSource):
        order = np.argsort(np.concatenate([part.hashes for part in parts]), kind="stable")
        table, weight = table.take(order), None if weight is None else weight[order]
    return table.with_notes(scan.notes), weight


def draw_by_class(
    scan: Scan, wanted: NDArray[np.intp], seed: int, progress: Progress | None = None
) -> tuple[Table, FloatArray | None]:
    """Return so many rows of each class of a scan and their weights, drawn without replacement.

    If the rows have no fixed order, another scan may find other ones.
    """
    from countwise.tables.scan_pass import run_pass

    any_order = not scan.source.stable_rows

    def keep(drawn: Drawn) -> Drawn:
        target, kept = drawn.table.target, np.ones(len(drawn.hashes), dtype=bool)
        for label in np.unique(target).tolist():
            rows, many = np.flatnonzero(target == label), int(wanted[label])
            if many < len(rows):
                kept[rows[np.argpartition(drawn.hashes[rows], many)[many:]]] = False
        return drawn if kept.all() else drawn.take(np.flatnonzero(kept))

    def fold(block: Block) -> Drawn:
        return keep(Drawn(hash_rows(block, seed, any_order), block.table, block.weight))

    def add(left: Drawn, right: Drawn) -> Drawn:
        return keep(_join([left, right]))

    drawn: Drawn = run_pass(scan, fold, add, progress=progress)
    return drawn.table.with_notes(scan.notes), drawn.weight


def _join(parts: Sequence[Drawn]) -> Drawn:
    weights = [part.weight for part in parts if part.weight is not None]
    return Drawn(
        np.concatenate([part.hashes for part in parts]),
        join_tables([part.table for part in parts]),
        np.concatenate(weights) if weights else None,
    )


def recode(table: Table, schema: Schema) -> Table:
    """Return a table with the codes of a schema that knows its levels, perhaps in another order."""
    data = {}
    for column in schema:
        if column.name not in table or column.left_out:
            continue
        data[column.name] = cells = table.raw_array(column.name)
        known = table.schema[column.name]
        if column.coded and not column.same_levels(known):
            blank, unseen = column.width, column.width + 1
            new = [column.places.get(key, unseen) for key in known.places]
            new += [blank, unseen]
            data[column.name] = np.array(new, code_type(column.width))[cells]
    return Table.from_arrays(schema, data, table.notes, {}, len(table))


def join_tables(tables: list[Table]) -> Table:
    """Return the rows of several tables of one schema one after the other."""
    first = tables[0]
    data = {name: join_cells([table.raw_array(name) for table in tables]) for name in first.names}
    return Table.from_arrays(first.schema, data, first.notes, {}, sum(map(len, tables)))
