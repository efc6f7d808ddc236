"""Rows of a PostgreSQL database, read and grouped through ADBC.

Nothing is kept between statements, so no transaction stays open. A password stays in the address
that the driver gets; it is part of no message.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import unquote
from weakref import finalize

from countwise.errors import TableError
from countwise.tables.read_options import ReadOptions
from countwise.tables.sources.query_source import (
    Query,
    QuerySource,
    Set,
    Totals,
    one_sentence,
)
from countwise.tables.sources.relations import quote_name
from countwise.tables.sources.row_source import RowSource, slice_batch

_PREFIXES = ("postgresql://", "postgres://")
#: Types that come as Arrow has them. All others become numbers or texts in the database.
_PLAIN = {"bool", "int2", "int4", "int8", "oid", "float4", "float8"}
_TIMES = {"date", "timestamp", "timestamptz", "time"}
#: Types that no column of a table can have, which is said when they are read.
_REFUSED = {"interval", "bytea"}
_NUMBERS = {"numeric": "float8", "money": "numeric::float8"}
#: GROUPING() takes up to 31 columns.
_MOST_GROUPED = 31


def open_source(given: Any, options: ReadOptions) -> tuple[RowSource, ReadOptions] | None:
    """Return the source of the address of a PostgreSQL database; None for anything else."""
    query = Query.of(given)
    if not query.is_of(*_PREFIXES):
        return None
    return PostgresSource(query), options


class PostgresSource(QuerySource):
    """A table or a query of a PostgreSQL database."""

    why_engine = "grouped by the database"

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

        for some in _few_columns(sets):
            names = list(dict.fromkeys(name for names in some for name in names))
            columns = ", ".join(map(_quote, names))
            listed = ", ".join(f"({', '.join(map(_quote, (target, *names)))})" for names in some)
            which = f"{totals.rows} of"
            sums = ["count(*)"]
            if totals.column is not None:
                weight = _quote(totals.column)
                sums += [f"sum({weight}::float8)", f"min({weight})", f"count({weight})"]
            summed = ", ".join(
                f"{what} AS {_quote(name)}" for what, name in zip(sums, totals.names, strict=True)
            )
            statement = (
                f"SELECT {_quote(target)}, {columns}, {summed}, GROUPING({columns}) "
                f"AS {_quote(which)} FROM {self._rows} AS given "
                f"GROUP BY GROUPING SETS ({listed})"
            )
            for batch in self._batches(statement, rows):
                for held in some:
                    # A bit is set for each column that was not grouped by, the first one highest.
                    bits = "".join("0" if name in held else "1" for name in names)
                    part = batch.filter(pc.equal(batch.column(which), int(bits, 2)))
                    if len(part):
                        yield held, part.select([target, *held, *totals.names])

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


def _few_columns(sets: Sequence[Set]) -> Iterator[list[Set]]:
    """Yield sets that have together as many columns as one statement may group."""
    some: list[Set] = []
    for names in sets:
        if some and len({*names}.union(*some)) > _MOST_GROUPED:
            yield some
            some = []
        some.append(names)
    if some:
        yield some
