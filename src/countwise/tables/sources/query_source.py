"""What sources share that can group their rows: a database, or a frame that is not computed yet."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.errors import CountwiseError, TableError
from countwise.tables.formats.parquet import to_raw_columns
from countwise.tables.raw_columns import Numbers, Raw, RawTable
from countwise.tables.read_options import ReadOptions, resolve
from countwise.tables.schema import Column
from countwise.tables.sources.row_source import ArrowSource, Piece, is_read

#: A set of columns that are grouped together.
Set = tuple[str, ...]


@dataclass(frozen=True)
class Query:
    """What is asked of a database: a table or a query, and the column that identifies rows."""

    source: Any
    table: str | None = None
    query: str | None = None
    key: str | None = None

    @classmethod
    def of(cls, given: Any) -> Query:
        """Return what was given, as a query for all of it if it is none yet."""
        return given if isinstance(given, cls) else cls(given)

    def is_of(self, *prefixes: str) -> bool:
        """Return whether the source is an address that begins with one of these."""
        return isinstance(self.source, str) and self.source.startswith(prefixes)

    def refuse_table(self) -> None:
        """Refuse `table=` and `query=` where the rows are given themselves."""
        if self.table is not None or self.query is not None:
            kind = type(self.source).__name__
            raise TableError(
                f"scan: `table=` and `query=` belong to the address of a database; got a {kind}."
            )


@dataclass(frozen=True)
class Totals:
    """The names of what is summed over the rows of a group.

    ``rows`` is how many there are. With a column of weights ``weight`` is their sum as a double,
    ``least`` the least of them, and ``weighed`` how many rows have one.
    """

    rows: str
    column: str | None = None

    @classmethod
    def beside(cls, names: Sequence[str], column: str | None) -> Totals:
        """Return names that no column has."""
        totals = cls("rows", column)
        while any(name.startswith(totals.rows) for name in names):
            totals = cls(f"{totals.rows}_", column)
        return totals

    @property
    def weight(self) -> str:
        """The sum of weights."""
        return f"{self.rows} weight"

    @property
    def least(self) -> str:
        """The least weight."""
        return f"{self.rows} least"

    @property
    def weighed(self) -> str:
        """The rows with a weight."""
        return f"{self.rows} weighed"

    @property
    def names(self) -> list[str]:
        """All columns of totals."""
        weights = [] if self.column is None else [self.weight, self.least, self.weighed]
        return [self.rows, *weights]


class KeyedSource(ArrowSource):
    """Rows that come as Arrow batches in no certain order, so only a key tells them apart.

    A kind defines `schema` and `read_rows`.

    Attributes
    ----------
    key
        The column that identifies rows.
    key_is_hidden
        Whether the key is no column of the table, as the row numbers of a database.
    row_limit
        How many rows are read at most.
    """

    key: str | None = None
    key_is_hidden = False
    stamp: tuple[int, ...] = ()
    row_limit: int | None = None

    def read_rows(self, names: Sequence[str], rows: int) -> Iterator[Any]:
        """Yield these columns as Arrow batches of at most about so many rows."""
        raise NotImplementedError

    @property
    def stable_rows(self) -> bool:
        """Whether something identifies its rows."""
        return self.key is not None

    def use_key(self, key: str | None) -> None:
        """Identify rows by a column, if one is named."""
        if key is not None:
            self.key, self.key_is_hidden = resolve(key, self.schema.names, "key"), False

    def head(self, options: ReadOptions, rows: int) -> tuple[RawTable, ReadOptions]:
        """Return the first rows; the key is left out of what models see."""
        if self.key is not None and not self.key_is_hidden and not options.is_schema:
            options = options.resolve(self.schema.names)
            if options.target == self.key:
                raise TableError(f"scan: `key=` must not be the class; got {self.key!r}.")
            columns = {**options.columns, self.key: Column(self.key, "drop")}
            options = replace(options, columns=columns)
        some = object.__new__(type(self))
        some.__dict__.update(self.__dict__)
        some.row_limit = rows
        return super(KeyedSource, some).head(options, rows)

    def is_whole(self, name: str) -> bool:
        """Return whether the type of a column holds whole numbers only."""
        import pyarrow as pa

        return bool(pa.types.is_integer(self.schema.field(name).type))

    def pieces(self) -> Iterator[Piece]:
        """Yield all rows as one piece."""
        yield Piece(self.what, "rows", 0, self.stamp, stable_rows=self.stable_rows)

    def batches(self, piece: Piece, names: Sequence[str], rows: int) -> Iterator[Any]:
        """Yield columns of all rows."""
        with one_sentence(self.what):
            yield from self.read_rows(names, rows)

    def blocks(self, piece: Piece, options: ReadOptions, rows: int) -> Iterator[RawTable]:
        """Yield blocks of rows, with what identifies them."""
        wanted, every = self.columns_read(options)
        done = 0
        for batch in self.batches(piece, every, rows):
            numbers = None if self.key is None else number_rows(self.key, batch.column(self.key))
            columns = to_raw_columns(batch, options, wanted, done)
            yield RawTable(columns, numbers=numbers)
            done += len(batch)

    def columns_read(self, options: ReadOptions) -> tuple[list[str], list[str]]:
        """Return the columns whose cells are looked at, and the same with the key."""
        wanted = [name for name in self.schema.names if is_read(name, options)]
        key = [] if self.key is None or self.key in wanted else [self.key]
        return wanted, [*wanted, *key]


class QuerySource(KeyedSource):
    """Rows that can be read as Arrow batches, or grouped where they are.

    A kind defines `schema`, `read_rows` and `group_rows`.

    Attributes
    ----------
    widths
        How many different values each column has among the first rows.
    """

    engine = "pushdown"
    widths: Mapping[str, int]

    def group_rows(
        self, target: str, sets: Sequence[Set], totals: Totals, rows: int
    ) -> Iterator[tuple[Set, Any]]:
        """Yield each set with Arrow batches: target, columns, and totals of the rows with these."""
        raise NotImplementedError

    def head(self, options: ReadOptions, rows: int) -> tuple[RawTable, ReadOptions]:
        """Return the first rows, and remember how many values their columns have."""
        raw, options = super().head(options, rows)
        self.widths = {name: _width(column) for name, column in raw.columns.items()}
        return raw, options

    def groups(
        self, target: str, sets: Sequence[Set], totals: Totals, rows: int
    ) -> Iterator[tuple[Set, Any]]:
        """Yield each set of columns with the different rows it has, and how many there are."""
        with one_sentence(self.what):
            yield from self.group_rows(target, sets, totals, rows)


@contextmanager
def one_sentence(what: str, *secrets: str) -> Iterator[None]:
    """Turn what drivers and databases raise, which has no common parent, into one sentence."""
    try:
        yield
    except CountwiseError:
        raise
    except Exception as error:
        text = " ".join(str(error).split()) or type(error).__name__
        for secret in secrets:
            text = text.replace(secret, "…")
        # What follows repeats the statement.
        text = re.split(r" (?:LINE \d+:|Query was:)", text)[0]
        text = text if len(text) <= 300 else text[:300] + " …"
        raise TableError(f"scan: {what} cannot be read ({text.rstrip('.')}).") from None


def number_rows(name: str, column: Any) -> NDArray[np.int64]:
    """Return a number for each row, from the column that identifies it."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if column.null_count:
        raise TableError(
            f"scan: `key=` must identify every row; column {name!r} is missing in some.",
            hint="Name another key",
        )
    if pa.types.is_integer(column.type):
        return np.asarray(pc.cast(column, pa.int64(), safe=False), dtype=np.int64)
    codes = pc.dictionary_encode(pc.cast(column, pa.string()))
    digests = b"".join(
        blake2b(text.encode(), digest_size=8).digest() for text in codes.dictionary.to_pylist()
    )
    hashes = np.frombuffer(digests, "<i8").astype(np.int64)
    return np.asarray(hashes[np.asarray(codes.indices)])


def _width(column: Raw) -> int:
    if isinstance(column, Numbers):
        return len(np.unique(column.values))
    return len(column.distinct)
