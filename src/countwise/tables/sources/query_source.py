"""What sources share that can group their rows: a database, or a frame that is not computed yet."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.errors import CountwiseError, TableError
from countwise.tables.formats.parquet import to_raw_columns
from countwise.tables.raw_columns import Numbers, RawTable
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


#: The first rows tell how coarse the cells of a column must be so that about so many are occupied.
_MOST_CELLS = 4096
#: Cells never unite numbers of different exponent, nor infinity and NaN.
MOST_SHIFT = 51


@dataclass(frozen=True, eq=False)
class Cells:
    """How the numbers of a column are grouped where they are.

    Attributes
    ----------
    shift
        Numbers whose bits agree but for the last `shift` ones are one cell.
    points
        If given, all numbers from above one of these points up to the next are one cell.
    marks
        Numbers that mean missing.
    summed
        Whether each group comes with sums of those last bits and of their squares.
    """

    shift: int = 0
    points: FloatArray | None = None
    marks: frozenset[float] = frozenset()
    summed: bool = False

    @property
    def holds_values(self) -> bool:
        """Whether each cell is one number."""
        return self.points is None and self.shift == 0

    def numbers(self, keys: NDArray[np.int64]) -> FloatArray:
        """Return a number of each cell; of those that share bits the one nearest to zero."""
        if self.points is None:
            return np.asarray((keys << self.shift).view(np.float64))
        above = np.nextafter(self.points[-1:], np.inf) if len(self.points) else np.zeros(1)
        return np.concatenate([self.points, above])[keys]


class Extremes(NamedTuple):
    """What a database tells of the numbers of a column without listing them.

    `sums` are those of the numbers and of their squares, if they may number the rows.
    """

    rows: int
    low: float
    high: float
    is_whole: bool
    sums: tuple[int, ...] = ()

    @property
    def may_number_rows(self) -> bool:
        """Whether each whole number from the least to the largest may occur once."""
        return self.is_whole and self.low >= 0 and self.high - self.low + 1 == self.rows


class NumbersSeen(NamedTuple):
    """What the first rows tell of a column of numbers.

    `shift` is the smallest one with at most 4 096 cells, `middle` a number that is neither the
    least nor the largest.
    """

    shift: int
    middle: float

    @classmethod
    def of(cls, distinct: FloatArray) -> NumbersSeen:
        """Look at the different numbers of the first rows, in order."""
        keys = (distinct + 0.0).view(np.int64)
        shift = 0
        while len(keys) > _MOST_CELLS and shift < MOST_SHIFT:
            shift += 1
            keys = np.unique(keys >> 1)
        return cls(shift, float(distinct[len(distinct) // 2]) if len(distinct) else 0.0)


@dataclass(frozen=True)
class Totals:
    """What is asked of each group: how its numbers are grouped, and the names of its sums.

    ``rows`` is how many there are. With a column of weights ``weight`` is their sum as a double,
    ``least`` the least of them, and ``weighed`` how many rows have one. `cells` are those of the
    numeric columns that are not grouped by their values.
    """

    rows: str
    column: str | None = None
    cells: Mapping[str, Cells] = field(default_factory=dict)

    @classmethod
    def beside(cls, names: Sequence[str], column: str | None, cells: Mapping[str, Cells]) -> Totals:
        """Return names that no column has."""
        rows = "rows"
        while any(name.startswith(rows) for name in names):
            rows += "_"
        return cls(rows, column, cells)

    def is_summed(self, names: Sequence[str]) -> bool:
        """Return whether these columns are one of numbers whose last bits are summed."""
        return any(name in self.cells and self.cells[name].summed for name in names)

    @property
    def sums(self) -> list[str]:
        """The sums of last bits, and of the products of their two halves, as texts."""
        return [f"{self.rows} {what}" for what in ("low", "high high", "high low", "low low")]

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
        return super(KeyedSource, self.with_changes(row_limit=rows)).head(options, rows)

    def with_changes(self, **changes: Any) -> Self:
        """Return the same source but for these of its attributes."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, **changes)
        return other

    def is_whole(self, name: str) -> bool:
        """Return whether the type of a column holds whole numbers only."""
        import pyarrow as pa

        return bool(pa.types.is_integer(self.schema.field(name).type))

    def is_number(self, name: str) -> bool:
        """Return whether the type of a column holds numbers."""
        import pyarrow as pa

        return self.is_whole(name) or bool(pa.types.is_floating(self.schema.field(name).type))

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
    seen
        What the first rows tell of each column of numbers.
    counts_numbers
        Whether it can group numbers by `Cells`, and find their `extremes`.
    """

    engine = "pushdown"
    widths: Mapping[str, int]
    seen: Mapping[str, NumbersSeen]
    counts_numbers = False

    def group_rows(
        self, target: str, sets: Sequence[Set], totals: Totals, rows: int
    ) -> Iterator[tuple[Set, Any]]:
        """Yield each set with Arrow batches: target, columns, and totals of the rows with these."""
        raise NotImplementedError

    def head(self, options: ReadOptions, rows: int) -> tuple[RawTable, ReadOptions]:
        """Return the first rows, and remember how many values their columns have."""
        raw, options = super().head(options, rows)
        distinct = {
            name: np.unique(column.values[~np.isnan(column.values)])
            for name, column in raw.columns.items()
            if isinstance(column, Numbers)
        }
        self.widths = {
            name: len(distinct[name]) if isinstance(column, Numbers) else len(column.distinct)
            for name, column in raw.columns.items()
        }
        self.seen = {name: NumbersSeen.of(numbers) for name, numbers in distinct.items()}
        return raw, options

    @property
    def hashes_rows(self) -> bool:
        """Whether it can select rows by a hash of what identifies them."""
        return False

    def rows_below(self, seed: int, share: float) -> QuerySource:
        """Return about this share of the rows: those with the smallest hashes."""
        raise NotImplementedError

    def refuse_missing_keys(self) -> None:
        """Refuse rows that nothing identifies."""
        raise NotImplementedError

    def rows_of_fold(self, seed: int, fold: int, folds: int, others: bool = False) -> QuerySource:
        """Return the rows of one of so many folds, or those of all other folds."""
        raise NotImplementedError

    def score(self, asked: Any) -> Any:
        """Return sums over rows that are scored as a `ScoreQuery` says."""
        raise NotImplementedError

    def extremes(
        self, names: Collection[str], marks: Mapping[str, frozenset[float]]
    ) -> dict[str, Extremes]:
        """Return the extremes of columns of numbers, of which some mean missing."""
        raise NotImplementedError

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


def missing_key(name: str) -> TableError:
    """Return the refusal of a key that some rows lack."""
    return TableError(
        f"scan: `key=` must identify every row; column {name!r} is missing in some.",
        hint="Name another key",
    )


def number_rows(name: str, column: Any) -> NDArray[np.int64]:
    """Return a number for each row, from the column that identifies it."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if column.null_count:
        raise missing_key(name)
    if pa.types.is_integer(column.type):
        return np.asarray(pc.cast(column, pa.int64(), safe=False), dtype=np.int64)
    codes = pc.dictionary_encode(pc.cast(column, pa.string()))
    digests = b"".join(
        blake2b(text.encode(), digest_size=8).digest() for text in codes.dictionary.to_pylist()
    )
    hashes = np.frombuffer(digests, "<i8").astype(np.int64)
    return np.asarray(hashes[np.asarray(codes.indices)])
