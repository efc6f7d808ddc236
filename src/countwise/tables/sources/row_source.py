"""What a source of rows outside memory offers: names, a head, and pieces that can be read again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.errors import TableError
from countwise.progress import Progress
from countwise.tables.formats.frames import refuse_duplicates
from countwise.tables.formats.parquet import to_raw_columns
from countwise.tables.raw_columns import Raw, RawTable, Words, missing_numbers
from countwise.tables.read_options import ReadOptions

Add = Callable[[Any, Any], Any]


@dataclass(frozen=True)
class Piece:
    """A part of a source: a file, some of its rows, a partition.

    Row `i` of a piece is identified by ``(key, first_row + i)``, whatever the size of blocks and
    the order in which pieces are read.

    Attributes
    ----------
    name
        What it is called in messages.
    key, first_row
        What identifies its rows.
    stamp
        What tells whether it has changed, such as size and time of a file.
    size
        Its bytes, or its rows, for the progress of a scan.
    place
        Where the source finds it.
    stable_rows
        Whether every scan finds its rows under the same identity.
    hash_numbers
        How the numbers of its rows are hashed with a seed, if the source can do so itself.
    """

    name: str
    key: str
    first_row: int = 0
    stamp: tuple[int, ...] = ()
    size: int = 0
    place: Any = field(default=None, compare=False, repr=False)
    stable_rows: bool = True
    hash_numbers: Callable[[NDArray[np.int64], int], NDArray[np.uint64]] | None = field(
        default=None, compare=False, repr=False
    )

    @property
    def file(self) -> str:
        """What it is a part of, as messages call it."""
        return self.name.split(" from ")[0]

    @property
    def identity(self) -> tuple[Any, ...]:
        """What says that it is the same piece with the same content."""
        return (self.key, self.first_row, *self.stamp)


class RowSource:
    """A source that a `Scan` reads piece by piece; a module of this folder defines each kind.

    Attributes
    ----------
    what
        The source in words, for notes.
    once
        Whether it can be read only once.
    typed
        Whether it declares the types of its columns, so that texts stay texts.
    open_ended
        Whether a later row may add a column.
    coded
        Columns of text files in which a cell is known to begin with a zero, as codes do.
    size
        What the sizes of its pieces add up to, for the progress of a scan.
    engine, why_engine
        The engine that counts its rows unless another is asked for, and why in a few words.
    is_remote
        Whether a pass over its rows runs where they are.
    paths
        The files it reads, which no output may replace.
    damaged
        Files that it does not read, because their columns cannot be found out, and why.
    """

    engine: str = "stream"
    why_engine: str = "its rows stay outside memory"
    what: str = "rows"
    once: bool = False
    typed: bool = True
    open_ended: bool = False
    coded: frozenset[str] = frozenset()
    size: int = 0
    is_remote: bool = False
    paths: Sequence[str] = ()
    damaged: Mapping[str, TableError] = MappingProxyType({})

    @property
    def stable_rows(self) -> bool:
        """Whether every scan finds each row under the same identity."""
        return True

    def head(self, options: ReadOptions, rows: int) -> tuple[RawTable, ReadOptions]:
        """Return the first rows as `read` takes them, and the options with names resolved."""
        raise NotImplementedError

    def pieces(self) -> Iterator[Piece]:
        """Yield the pieces in a fixed order."""
        raise NotImplementedError

    def blocks(self, piece: Piece, options: ReadOptions, rows: int) -> Iterator[RawTable]:
        """Yield a piece in blocks of at most about so many rows, in order."""
        raise NotImplementedError

    def number_of(self, piece: Piece, place: int) -> int:
        """Return the number of a row, from 1, in what the piece is a part of."""
        return piece.first_row + place + 1

    def run_remotely(
        self,
        fold: Callable[[Piece], Any],
        add: Add,
        options: ReadOptions,
        progress: Progress | None = None,
    ) -> Any:
        """Fold each piece where it is, as a copy of this source yields its blocks there.

        The results are added up; `options` say which columns are read.
        """
        raise NotImplementedError


class ArrowSource(RowSource):
    """A source of Arrow batches: a kind defines `schema`, `pieces` and `batches`."""

    schema: Any

    def batches(self, piece: Piece, names: Sequence[str], rows: int) -> Iterator[Any]:
        """Yield the columns `names` of a piece as Arrow batches of at most about so many rows."""
        raise NotImplementedError

    def head(self, options: ReadOptions, rows: int) -> tuple[RawTable, ReadOptions]:
        """Return the first rows, and the options with names resolved."""
        import pyarrow as pa

        names = list(self.schema.names)
        refuse_duplicates(names, "scan", f" in {self.what}")
        options = options.resolve(names) if not options.is_schema else options
        wanted = [name for name in names if not options.column(name).left_out]
        found, held = list[Any](), 0
        for batch in (b for piece in self.pieces() for b in self.batches(piece, wanted, rows)):
            found.append(batch.select(wanted))
            held += len(batch)
            if held >= rows:
                break
        if not held:
            raise TableError(f"scan: {self.what} must hold rows; it holds none.")
        table = pa.Table.from_batches(found).slice(0, rows)
        return RawTable(to_raw_columns(table, options, names)), options

    def blocks(self, piece: Piece, options: ReadOptions, rows: int) -> Iterator[RawTable]:
        """Yield a piece in blocks of rows."""
        wanted = [name for name in self.schema.names if is_read(name, options)]
        done = 0
        for batch in self.batches(piece, wanted, rows):
            yield RawTable(to_raw_columns(batch, options, wanted, done))
            done += len(batch)


def slice_batch(batch: Any, rows: int) -> Iterator[Any]:
    """Yield an Arrow batch in slices of so many rows."""
    for start in range(0, len(batch), rows):
        yield batch.slice(start, rows)


def is_read(name: str, options: ReadOptions) -> bool:
    """Return whether the cells of a column are looked at."""
    return options.is_needed(name) and not options.column(name).left_out


def constant_column(name: str, text: str | None, rows: int, options: ReadOptions) -> Raw:
    """Return a column that holds one text in all rows, such as the key of a partition."""
    from countwise.tables.text_values import settle

    if options.column(name).left_out:
        return missing_numbers(rows)
    code = -1 if text is None else 0
    words = Words(np.full(rows, code, np.int32), () if text is None else (text,))
    return settle(name, words, options)
