"""Rows of a PostgreSQL database, read and grouped through ADBC.

Every statement has a connection of its own, which is closed when its rows are read. A password
stays in the address that the driver gets; it is part of no message.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

from countwise.errors import TableError
from countwise.tables.read_options import ReadOptions
from countwise.tables.sources.query_source import Query, QuerySource, Set, one_sentence
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
        place, self._secret = hide_password(query.source)
        self.what = f"a query of {place}" if query.table is None else f"{query.table!r} of {place}"
        if query.table is not None:
            self._rows = quote_name(query.table)
        else:
            # A comment at the end must not swallow the bracket.
            self._rows = f"({str(query.query).strip().rstrip(';')}\n)"
        with one_sentence(self.what, self._secret):
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
        self, target: str, sets: Sequence[Set], amount: str, rows: int
    ) -> Iterator[tuple[Set, Any]]:
        """Yield the groups of each set of columns, with one scan of the table for many sets."""
        import pyarrow.compute as pc

        for some in _few_columns(sets):
            names = list(dict.fromkeys(name for names in some for name in names))
            columns = ", ".join(map(_quote, names))
            listed = ", ".join(f"({', '.join(map(_quote, (target, *names)))})" for names in some)
            which = f"{amount} of"
            statement = (
                f"SELECT {_quote(target)}, {columns}, count(*) AS {_quote(amount)}, "
                f"GROUPING({columns}) AS {_quote(which)} FROM {self._rows} AS given "
                f"GROUP BY GROUPING SETS ({listed})"
            )
            for batch in self._batches(statement, rows):
                for held in some:
                    # A bit is set for each column that was not grouped by, the first one highest.
                    bits = "".join("0" if name in held else "1" for name in names)
                    part = batch.filter(pc.equal(batch.column(which), int(bits, 2)))
                    if len(part):
                        yield held, part.select([target, *held, amount])

    def _schema(self, statement: str) -> Any:
        with self._cursor() as cursor:
            cursor.execute(statement)
            with cursor.fetch_record_batch() as reader:
                return reader.schema

    def _batches(self, statement: str, rows: int) -> Iterator[Any]:
        with one_sentence(self.what, self._secret), self._cursor() as cursor:
            cursor.execute(statement)
            with cursor.fetch_record_batch() as reader:
                for batch in reader:
                    yield from slice_batch(batch, rows)

    @contextmanager
    def _cursor(self) -> Iterator[Any]:
        try:
            from adbc_driver_postgresql import dbapi
        except ImportError:
            raise TableError(
                "scan: a PostgreSQL database needs the package adbc-driver-postgresql. Install "
                "countwise[databases]."
            ) from None
        with (
            dbapi.connect(self._address, autocommit=True) as connection,
            connection.cursor() as cursor,
        ):
            yield cursor


def hide_password(address: str) -> tuple[str, str]:
    """Return an address without its password, and the password."""
    parts = urlsplit(address)
    user, at, host = parts.netloc.rpartition("@")
    user, _, secret = user.partition(":")
    kept = []
    for item in parts.query.split("&"):
        name, _, value = item.partition("=")
        if "password" in name.casefold():
            secret = secret or value
        elif item:
            kept.append(item)
    shown = urlunsplit((parts.scheme, user + at + host, parts.path, "&".join(kept), ""))
    return shown, unquote(secret)


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
