"""Rows of a PostgreSQL database, read and grouped through ADBC.

Nothing is kept between statements, so no transaction stays open. A password stays in the address
that the driver gets; it is part of no message.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any
from urllib.parse import unquote
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

from countwise.errors import TableError
from countwise.tables.read_options import ReadOptions
from countwise.tables.sources.query_source import (
    Cells,
    Extremes,
    Query,
    QuerySource,
    Set,
    Totals,
    missing_key,
    one_sentence,
)
from countwise.tables.sources.relations import quote_name
from countwise.tables.sources.row_source import Piece, RowSource, slice_batch
from countwise.tables.sources.score_statement import ScoreQuery, write_statement

_PREFIXES = ("postgresql://", "postgres://")
#: Types that come as Arrow has them. All others become numbers or texts in the database.
_PLAIN = {"bool", "int2", "int4", "int8", "float4", "float8"}
_TIMES = {"date", "timestamp", "timestamptz", "time"}
#: Types that no column of a table can have, which is said when they are read.
_REFUSED = {"interval", "bytea"}
_NUMBERS = {"numeric": "float8", "money": "numeric::float8", "oid": "int8"}
#: GROUPING() takes up to 31 columns, of which one is the class.
_MOST_GROUPED = 30
#: Columns that are grouped by their bits in one statement, within the usual 8 MB of a hash table.
_MOST_BY_BITS = 4
#: Columns of which figures are asked for together; a statement returns up to 1 664.
_MOST_FIGURES = 200
#: The last 32 bits of a whole number.
_LOW = (1 << 32) - 1


def open_source(given: Any, options: ReadOptions) -> tuple[RowSource, ReadOptions] | None:
    """Return the source of the address of a PostgreSQL database; None for anything else."""
    query = Query.of(given)
    if not query.is_of(*_PREFIXES):
        return None
    return PostgresSource(query), options


class PostgresSource(QuerySource):
    """A table or a query of a PostgreSQL database."""

    why_engine = "grouped by the database"
    counts_numbers = True

    def __init__(self, query: Query) -> None:
        if (query.table is None) == (query.query is None):
            got = "neither" if query.table is None else "both"
            raise TableError(
                f"scan: rows of a database come from `table=` or `query=`; got {got}.",
                hint="Name one of them",
            )
        self._address = query.source
        #: Connections that nobody reads from; to open one takes longer than most statements.
        self._idle: list[Any] = []
        finalize(self, _close, self._idle)
        place, self._secrets = hide_password(query.source)
        self.what = f"a query of {place}" if query.table is None else f"{query.table!r} of {place}"
        if query.table is not None:
            self._rows = quote_name(query.table)
        else:
            # A comment at the end must not swallow the bracket.
            self._rows = f"({str(query.query).strip().rstrip(';')}\n)"
        with one_sentence(self.what, *self._secrets):
            found = self._schema(f"SELECT * FROM {self._rows} AS given LIMIT 0")
            columns = ", ".join(_expression(field) for field in found)
            self._rows = f"(SELECT {columns} FROM {self._rows} AS given)"
            self.schema = self._schema(f"SELECT * FROM {self._rows} AS given LIMIT 0")
        self.use_key(query.key)

    def read_rows(self, names: Sequence[str], rows: int) -> Iterator[Any]:
        """Yield columns as Arrow batches."""
        columns = ", ".join(map(_quote, names))
        limit = "" if self.row_limit is None else f" LIMIT {self.row_limit}"
        yield from self._batches(f"SELECT {columns} FROM {self._rows} AS given{limit}", rows)

    def group_rows(
        self, target: str, sets: Sequence[Set], totals: Totals, rows: int
    ) -> Iterator[tuple[Set, Any]]:
        """Yield the groups of each set of columns, with one scan of the table for many sets."""
        import pyarrow.compute as pc

        for some in _few_columns(sets, totals):
            names = list(dict.fromkeys(name for names in some for name in names))
            columns = ", ".join(map(_quote, (target, *names)))
            listed = ", ".join(f"({', '.join(map(_quote, (target, *names)))})" for names in some)
            which = f"{totals.rows} of"
            sums, is_summed = ["count(*)"], totals.is_summed(names)
            if totals.column is not None:
                weight = _quote(totals.column)
                sums += [f"sum({weight}::float8)", f"min({weight})", f"count({weight})"]
            sums += _sums_of_bits(totals) if is_summed else []
            every = [*totals.names, *(totals.sums if is_summed else [])]
            summed = ", ".join(
                f"{what} AS {_quote(name)}" for what, name in zip(sums, every, strict=True)
            )
            statement = (
                f"SELECT {columns}, {summed}, GROUPING({columns}) "
                f"AS {_quote(which)} FROM {self._in_cells(target, names, totals)} AS given "
                f"GROUP BY GROUPING SETS ({listed})"
            )
            for batch in self._batches(statement, rows):
                for held in some:
                    # A bit is set for each column that was not grouped by, the first one highest.
                    bits = "0" + "".join("0" if name in held else "1" for name in names)
                    part = batch.filter(pc.equal(batch.column(which), int(bits, 2)))
                    if len(part):
                        yield held, _to_numbers(part.select([target, *held, *every]), totals)

    def _in_cells(self, target: str, names: Sequence[str], totals: Totals) -> str:
        """Return the rows with the numbers of a cell made equal, as SQL writes it."""
        cells = {name: totals.cells[name] for name in names if name in totals.cells}
        if not cells:
            return self._rows
        others = [target, *(name for name in names if name not in cells)]
        others += [totals.column] if totals.column is not None else []
        plain = ", ".join(map(_quote, others))
        keys = [f"{_key_of(name, cell)} AS {_quote(name)}" for name, cell in cells.items()]
        if not totals.is_summed(names):
            # Without OFFSET the planner expects as many groups as numbers, and sorts all rows.
            return f"(SELECT {', '.join([plain, *keys])} FROM {self._rows} AS given OFFSET 0)"
        ((name, cell),) = cells.items()
        bits = f"{_bits_of(name, cell.marks)} AS {_quote(name)}"
        # Without OFFSET the bits would be computed anew for each sum.
        rows = f"(SELECT {plain}, {bits} FROM {self._rows} AS given OFFSET 0)"
        low = f"{_quote(name)} & {(1 << cell.shift) - 1} AS {_quote(totals.sums[0])}"
        key = f"{_quote(name)} >> {cell.shift} AS {_quote(name)}"
        return f"(SELECT {plain}, {key}, {low} FROM {rows} AS given)"

    def extremes(
        self, names: Collection[str], marks: Mapping[str, frozenset[float]]
    ) -> dict[str, Extremes]:
        """Return the extremes of columns of numbers, found in one scan for many columns."""
        known = {name: f"NULLIF({_without_marks(name, marks[name])}, 'NaN')" for name in names}
        figures = ("count({0})", "min({0})", "max({0})", "bool_and({0} = trunc({0}))")
        found = {name: Extremes(*row) for name, row in self._figures(known, figures)}
        few = {name: known[name] for name in known if found[name].may_number_rows}
        sums = ("sum({0}::bigint)::text", "sum({0}::bigint::numeric * {0}::bigint)::text")
        for name, row in self._figures(few, sums):
            found[name] = found[name]._replace(sums=tuple(int(text) for text in row))
        return found

    def _figures(
        self, numbers: Mapping[str, str], figures: Sequence[str]
    ) -> Iterator[tuple[str, tuple[Any, ...]]]:
        """Yield figures of columns of numbers, found in one scan for many columns."""
        every = list(numbers)
        for start in range(0, len(every), _MOST_FIGURES):
            some = every[start : start + _MOST_FIGURES]
            asked = [figure.format(numbers[name]) for name in some for figure in figures]
            listed = ", ".join(f"{what} AS c{place}" for place, what in enumerate(asked))
            (batch,) = self._batches(f"SELECT {listed} FROM {self._rows} AS given", 1)
            row = [column[0].as_py() for column in batch.columns]
            for place, name in enumerate(some):
                yield name, tuple(row[place * len(figures) : (place + 1) * len(figures)])

    @property
    def hashes_rows(self) -> bool:
        """Whether the key is a whole number, which PostgreSQL and we hash alike."""
        return self.key is not None and self.is_whole(self.key)

    def pieces(self) -> Iterator[Piece]:
        """Yield all rows as one piece."""
        for piece in super().pieces():
            yield replace(piece, hash_numbers=hash_numbers)

    def rows_below(self, seed: int, share: float) -> PostgresSource:
        """Return about this share of the rows: those with the smallest hashes."""
        return self._where(f"{_high_of(self._hash(seed))} < {math.ceil(share * 2**32)}")

    def refuse_missing_keys(self) -> None:
        """Refuse rows that nothing identifies."""
        key = str(self.key)
        ((_, (is_missing,)),) = self._figures({key: _quote(key)}, ("bool_or({0} IS NULL)",))
        if is_missing:
            raise missing_key(key)

    def rows_of_fold(
        self, seed: int, fold: int, folds: int, others: bool = False
    ) -> PostgresSource:
        """Return the rows of one of so many folds, or those of all other folds."""
        # The hash as a number from 0 is high * 2^32 + low.
        hashed = self._hash(seed)
        rest = f"({_high_of(hashed)} % {folds} * {2**32 % folds} + ({hashed} & {_LOW})) % {folds}"
        return self._where(f"{rest} {'<>' if others else '='} {fold}")

    def score(self, asked: ScoreQuery) -> Any:
        """Return sums over rows that are scored as a `ScoreQuery` says."""
        import pyarrow as pa

        statement = write_statement(asked, self._rows, _quote, _without_marks)
        return pa.Table.from_batches(self._batches(statement, 1 << 16))

    def _hash(self, seed: int) -> str:
        signed = seed - (1 << 64) if seed >> 63 else seed
        return f"hashint8extended({_quote(str(self.key))}::bigint, '{signed}'::bigint)"

    def _where(self, condition: str) -> PostgresSource:
        # Rows whose key is missing are found by whoever reads or counts them, and refused.
        rows = f"(SELECT * FROM {self._rows} AS given WHERE ({condition}) IS NOT FALSE)"
        return self.with_changes(_rows=rows)

    def _schema(self, statement: str) -> Any:
        with self._cursor() as cursor:
            cursor.execute(statement)
            with cursor.fetch_record_batch() as reader:
                return reader.schema

    def _batches(self, statement: str, rows: int) -> Iterator[Any]:
        with one_sentence(self.what, *self._secrets), self._cursor() as cursor:
            cursor.execute(statement)
            with cursor.fetch_record_batch() as reader:
                for batch in reader:
                    yield from slice_batch(batch, rows)

    @contextmanager
    def _cursor(self) -> Iterator[Any]:
        """Give a cursor on an idle connection, or a new one; a connection that failed is closed."""
        connection = self._idle.pop() if self._idle else _connect(self._address)
        is_done = False
        try:
            with connection.cursor() as cursor:
                yield cursor
            is_done = True
        finally:
            if is_done:
                self._idle.append(connection)
            else:
                _close([connection])


def _connect(address: str) -> Any:
    try:
        from adbc_driver_postgresql import dbapi
    except ImportError:
        raise TableError(
            "scan: a PostgreSQL database needs the package adbc-driver-postgresql. Install "
            "countwise[databases]."
        ) from None
    return dbapi.connect(address, autocommit=True)


def _close(connections: list[Any]) -> None:
    while connections:
        # The server may have closed it before.
        with suppress(Exception):
            connections.pop().close()


def hide_password(address: str) -> tuple[str, tuple[str, ...]]:
    """Return an address without its password, and the password as it may appear in messages."""
    scheme, _, rest = address.partition("://")
    # Whatever stands between the first colon and the last @ may be part of a password.
    user, at, place = rest.rpartition("@")
    user, _, secret = user.partition(":")
    place, _, query = place.partition("?")
    items = [item.partition("=") for item in query.split("&") if item]
    secrets = [secret, *(value for name, _, value in items if _is_secret(name))]
    kept = "&".join("".join(item) for item in items if not _is_secret(item[0]))
    shown = f"{scheme}://{user}{at}{place}{'?' if kept else ''}{kept}"
    hidden = dict.fromkeys(form for text in secrets for form in (text, unquote(text)) if form)
    return shown, tuple(hidden)


def _is_secret(name: str) -> bool:
    return "password" in name.casefold()


def _expression(field: Any) -> str:
    """Return a column as it is read: numbers as doubles, texts equal if each character is."""
    import pyarrow as pa

    metadata = field.metadata or {}
    name, kind = _quote(field.name), metadata.get(b"POSTGRESQL:type", b"text").decode()
    if kind in _PLAIN | _TIMES | _REFUSED or pa.types.is_nested(field.type):
        return name
    if kind in _NUMBERS:
        return f"{name}::{_NUMBERS[kind]} AS {name}"
    return f'{name}::text COLLATE "C" AS {name}'


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _high_of(hashed: str) -> str:
    return f"(({hashed} >> 32) & {_LOW})"


def hash_numbers(numbers: NDArray[np.int64], seed: int) -> NDArray[np.uint64]:
    """Hash whole numbers as `hashint8extended` of PostgreSQL does.

    That function distributes rows among hash partitions, so it stays as it is: lookup3 of Bob
    Jenkins on 32 bits.
    """
    first = (0x9E3779B9 + 4 + 3923095) & _LOW
    a, b, c = (first + (seed >> 32)) & _LOW, (first + (seed & _LOW)) & _LOW, first
    for bits in (4, 6, 8, 16, 19, 4) if seed else ():
        a = ((a - c) & _LOW) ^ ((c << bits | c >> (32 - bits)) & _LOW)
        a, b, c = b, (c + b) & _LOW, a
    bare = numbers.view(np.uint64)
    low, high = bare.astype(np.uint32), (bare >> np.uint64(32)).astype(np.uint32)
    one = (low ^ np.where(numbers >= 0, high, ~high)) + np.uint32(a)
    two, three = np.full_like(one, b), np.full_like(one, c)
    for bits in (14, 11, 25, 16, 4, 14, 24):
        turned = (two << np.uint32(bits)) | (two >> np.uint32(32 - bits))
        one, two, three = two, (three ^ two) - turned, one
    return one.astype(np.uint64) << np.uint64(32) | two


def _without_marks(name: str, marks: Collection[float], of: str = "") -> str:
    """Return the numbers of a column as SQL writes them, those that mean missing as NULL."""
    number = f"{of}{_quote(name)}::float8"
    if not marks:
        return number
    listed = ", ".join(f"'{mark!r}'::float8" for mark in sorted(marks))
    return f"(CASE WHEN {number} IN ({listed}) THEN NULL ELSE {number} END)"


def _bits_of(name: str, marks: Collection[float]) -> str:
    """Return the bits of the numbers of a column as integers; there is one kind of zero."""
    number = f"float8send({_without_marks(name, marks)} + 0)"
    return f"('x' || encode({number}, 'hex'))::bit(64)::bigint"


def _key_of(name: str, cell: Cells) -> str:
    """Return what is equal for all numbers of a cell."""
    if cell.points is None:
        return f"{_bits_of(name, cell.marks)} >> {cell.shift}"
    # A point belongs to the cell below it, where SQL has it begin the one above.
    points = ",".join(map(repr, np.nextafter(cell.points, np.inf).tolist()))
    number = f"NULLIF({_without_marks(name, cell.marks)}, 'NaN')"
    return f"width_bucket({number}, '{{{points}}}'::float8[])"


def _sums_of_bits(totals: Totals) -> list[str]:
    """Return the exact sums of last bits, and of the products of their halves."""
    low = _quote(totals.sums[0])
    high, rest = f"({low} >> 26)", f"({low} & {(1 << 26) - 1})"
    products = [low, f"{high} * {high}", f"{high} * {rest}", f"{rest} * {rest}"]
    times = "" if totals.column is None else f"::numeric * {_quote(totals.column)}"
    return [f"sum(({product}){times})::text" for product in products]


def _to_numbers(batch: Any, totals: Totals) -> Any:
    """Return a batch with a number of each cell instead of its key."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for place, name in enumerate(batch.schema.names):
        if name in totals.cells:
            keys = batch.column(name)
            known = np.asarray(pc.cast(pc.fill_null(keys, 0), pa.int64()))
            numbers = totals.cells[name].numbers(known)
            missing = np.asarray(pc.is_null(keys))
            batch = batch.set_column(place, name, pa.array(numbers, pa.float64(), mask=missing))
    return batch


def _few_columns(sets: Sequence[Set], totals: Totals) -> Iterator[list[Set]]:
    """Yield sets that have together as many columns as one statement may group.

    Groups by bits take much of the memory that a statement may use, so few columns are grouped by
    them together. One whose bits are summed stands alone: sums are made for the groups of all.
    """
    some: list[Set] = []
    for names in sets:
        if totals.is_summed(names):
            yield [names]
            continue
        by_bits = sum(_has_bits(held, totals) for held in (*some, names))
        if some and (len({*names}.union(*some)) > _MOST_GROUPED or by_bits > _MOST_BY_BITS):
            yield some
            some = []
        some.append(names)
    if some:
        yield some


def _has_bits(names: Set, totals: Totals) -> bool:
    return any(name in totals.cells and totals.cells[name].shift > 0 for name in names)
