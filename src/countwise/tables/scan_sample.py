"""Draw rows of a scan at random, by their numbers: the same rows every time."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.errors import ParameterError, TableError
from countwise.numeric import mix_bits
from countwise.progress import Progress
from countwise.tables.scan import Block, Scan
from countwise.tables.schema import Schema
from countwise.tables.sources.query_source import KeyedSource, QuerySource
from countwise.tables.sources.row_source import Piece
from countwise.tables.table import Table, code_type
from countwise.tables.words import join_cells

#: By how much more rows are selected than are drawn: some have no class, and hashes are random.
_MARGIN = 1.2


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
    start = hash_seed(seed, block.piece)
    if block.piece.hash_numbers is not None:
        return block.piece.hash_numbers(block.numbers, start)
    spread = block.numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return mix_bits(spread ^ np.uint64(start))


def hash_seed(seed: int | str, piece: Piece) -> int:
    """Return the 64 bits with which the rows of a piece are hashed."""
    start = blake2b(f"{seed} {piece.key}".encode(), digest_size=8).digest()
    return int.from_bytes(start, "little")


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
    if isinstance(rows, bool) or not isinstance(rows, int) or rows < 1:
        raise ParameterError("sample", "rows", "a whole number from 1", rows)
    scan.make_certain()
    parts = _drawn_before(scan, random_state, rows)
    if parts is None:
        sample = _draw_near(scan, rows, random_state)
        parts = sample.parts(rows)
    drawn = _join(parts)
    if isinstance(scan.source, KeyedSource):
        drawn = drawn.take(np.argsort(drawn.hashes, kind="stable"))
    return drawn.table.with_notes(scan.notes), drawn.weight


def _drawn_before(scan: Scan, seed: int, rows: int | None = None) -> list[Drawn] | None:
    """Return the rows with the smallest hashes, all or some, if the first scan has drawn them."""
    sample = scan.expected
    if sample is None or sample.drawn is None or scan.shared or sample.seed != seed:
        return None
    rows = sample.rows if rows is None else rows
    if sample.rows < rows:
        return None
    schema, change = scan.decision.schema, scan.change or (lambda table: table)
    return [part._replace(table=change(recode(part.table, schema))) for part in sample.parts(rows)]


def _draw_near(scan: Scan, rows: int, seed: int) -> RowSample:
    """Draw rows, from those with small hashes alone if the source can select them."""
    from countwise.tables.scan_pass import run_pass

    turn: AbstractContextManager[Any] = nullcontext()
    size = len(scan)
    if scan.selected is not None:
        turn, size, scan = scan.turn(), scan.shared.first[scan.place].rows, scan.alone()
    (piece, *_), share, source = scan.pieces(), 1.0, scan.source
    if isinstance(source, QuerySource) and source.hashes_rows and not scan.shared:
        share = 1.0 if scan.engine == "stream" else _MARGIN * rows / max(size, 1)
    while True:
        sample, near = RowSample(rows, seed), scan
        if share < 1.0:
            near = scan.only(source.rows_below(hash_seed(seed, piece), share))  # type: ignore[attr-defined]
        with turn:
            sample.drawn = run_pass(near, sample.draw, sample.add) or []
        if share >= 1.0 or sum(len(part.hashes) for part in sample.drawn) >= rows:
            return sample
        share *= 2


def draw_by_class(
    scan: Scan, wanted: NDArray[np.intp], seed: int, progress: Progress | None = None
) -> tuple[Table, FloatArray | None]:
    """Return so many rows of each class of a scan and their weights, drawn without replacement.

    If the first scan has drawn enough rows of each class, there is no other one. If the rows have
    no fixed order, another scan may find other ones.
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

    # Rows that are known are all up to some hash, so if they are enough they are the ones.
    known = _drawn_before(scan, seed)
    drawn: Drawn | None = None if known is None else keep(_join(known))
    if drawn is None or (np.bincount(drawn.table.target, minlength=len(wanted)) < wanted).any():
        drawn = run_pass(scan, fold, add, progress=progress)
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
