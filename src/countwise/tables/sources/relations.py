"""DuckDB relations and files, polars LazyFrames and Ibis tables as sources of rows."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

from countwise.errors import TableError, did_you_mean, listing
from countwise.tables.read_options import ReadOptions
from countwise.tables.sources.query_source import Query, QuerySource, Set, Totals, one_sentence
from countwise.tables.sources.row_source import RowSource, slice_batch

_PREFIX = "duckdb:"
_WHAT = {"duckdb": "a DuckDB relation", "polars": "a polars LazyFrame", "ibis": "an Ibis table"}


def open_source(given: Any, options: ReadOptions) -> tuple[RowSource, ReadOptions] | None:
    """Return the source of a relation, a lazy frame, or the address of a DuckDB file."""
    query = Query.of(given)
    if query.is_of(_PREFIX):
        return _open_file(query), options
    if not is_lazy(query.source):
        return None
    query.refuse_table()
    return LazySource(query.source, key=query.key), options


def is_lazy(given: Any) -> bool:
    """Return whether this is a frame that narwhals knows and that is not computed yet."""
    package = type(given).__module__.split(".")[0]
    if package == "narwhals":
        given = given.to_native()
        package = type(given).__module__.split(".")[0]
    names = {
        "duckdb": "DuckDBPyRelation",
        "_duckdb": "DuckDBPyRelation",
        "polars": "LazyFrame",
        "ibis": "Table",
    }
    return package in names and type(given).__name__ == names[package]


def _open_file(query: Query) -> LazySource:
    path = query.source.removeprefix(_PREFIX)
    try:
        import duckdb
    except ImportError:
        raise TableError(
            f"scan: {query.source} needs the package duckdb. Install countwise[duckdb]."
        ) from None
    if not os.path.isfile(path):
        raise TableError(f"scan: {path!r} must be a DuckDB file; there is none. Check the path.")
    with open(path, "rb") as file:
        if file.read(12)[8:] != b"DUCK":
            raise TableError(
                f"scan: {path!r} must be a DuckDB file; it cannot be read as one.",
                hint="Files of rows are named without duckdb:",
            )
    if query.table is not None and query.query is not None:
        raise TableError("scan: rows come from `table=` or `query=`; got both. Keep one.")
    with one_sentence(query.source):
        connection = duckdb.connect(path, read_only=True)
        connection.execute("SET enable_progress_bar = false")
        if query.query is not None:
            relation, what, key = connection.sql(query.query), "a query", None
            if relation is None:
                raise TableError("scan: `query=` must be a SELECT; got a statement without rows.")
        else:
            table = _table(connection, query)
            what = f"table {table!r}"
            try:
                relation, key = _read_table(connection, table)
            except duckdb.CatalogException:
                names = _tables(connection)
                raise TableError(
                    f"scan: `table=` must name a table of {query.source}; got {table!r}."
                    f"{did_you_mean(table, names)} It has {listing(names) or 'no tables'}."
                ) from None
        source = LazySource(relation, f"{what} of {query.source}", key, True)
    status = os.stat(path)
    source.stamp = (status.st_size, status.st_mtime_ns)
    source.use_key(query.key)
    return source


def _table(connection: Any, query: Query) -> str:
    """Return the name of the table, which may be left out if there is one."""
    if query.table is not None:
        return query.table
    found = _tables(connection)
    if len(found) == 1:
        return found[0]
    raise TableError(
        f"scan: `table=` or `query=` must say which rows of {query.source} are meant; it has "
        f"{listing(found) or 'no tables'}."
    )


def _tables(connection: Any) -> list[str]:
    """Return the names of the tables of a database."""
    return [
        str(name if schema == "main" else f"{schema}.{name}")
        for schema, name in connection.sql(
            "SELECT table_schema, table_name FROM information_schema.tables ORDER BY ALL"
        ).fetchall()
    ]


def _read_table(connection: Any, table: str) -> tuple[Any, str | None]:
    """Return the rows of a table, and the name of their numbers if they have some."""
    import duckdb

    name = quote_name(table)
    relation = connection.sql(f"SELECT * FROM {name}")
    if "rowid" in [column.casefold() for column in relation.columns]:
        return relation, None
    try:
        return connection.sql(f"SELECT rowid, * FROM {name}"), "rowid"
    except duckdb.Error:  # a view has no row numbers
        return relation, None


def quote_name(table: str) -> str:
    """Return the name of a table, such as schema.table, as SQL writes it."""
    return ".".join('"' + part.replace('"', '""') + '"' for part in table.split("."))


class LazySource(QuerySource):
    """A frame that is computed when it is read, by whatever narwhals knows."""

    def __init__(
        self, given: Any, what: str = "", key: str | None = None, key_is_hidden: bool = False
    ) -> None:
        import narwhals as nw

        frame = nw.from_native(given)
        self.system = frame.implementation.value
        self.what = what or _WHAT[self.system]
        self.why_engine = f"grouped by {self.system}"
        with one_sentence(self.what):
            if self.system == "duckdb":
                frame = nw.from_native(_compare_bytes(frame.to_native()))
            self.frame = frame
            self.schema = frame.head(0).collect("pyarrow").to_native().schema
        if key_is_hidden and key is not None:
            self.key, self.key_is_hidden = key, True
            self.schema = self.schema.remove(self.schema.get_field_index(key))
        else:
            self.use_key(key)

    def read_rows(self, names: Sequence[str], rows: int) -> Iterator[Any]:
        """Yield columns as Arrow batches."""
        frame = self.frame.select(*names)
        if self.row_limit is not None:
            frame = frame.head(self.row_limit)
        return self._batches(frame.to_native(), rows)

    def group_rows(
        self, target: str, sets: Sequence[Set], totals: Totals, rows: int
    ) -> Iterator[tuple[Set, Any]]:
        """Yield the groups of each set of columns, one query a set."""
        import narwhals as nw

        found = [nw.len().alias(totals.rows)]
        if totals.column is not None:
            weight = nw.col(totals.column)
            found.append(weight.cast(nw.Float64).sum().alias(totals.weight))
            found += [weight.min().alias(totals.least), weight.count().alias(totals.weighed)]
        for names in sets:
            grouped = self.frame.group_by(target, *names).agg(*found)
            for batch in self._batches(grouped.to_native(), rows):
                yield names, batch

    def _batches(self, native: Any, rows: int) -> Iterator[Any]:
        if self.system == "polars":
            for frame in native.collect_batches(chunk_size=rows):
                yield from frame.to_arrow().to_batches()
            return
        if self.system == "ibis":
            backend = native.get_backend()
            if backend.name != "duckdb":
                with native.to_pyarrow_batches(chunk_size=rows) as reader:
                    for batch in reader:
                        yield from slice_batch(batch, rows)
                return
            # Ibis 12 reads batches by a method that DuckDB 2.0 does not have. Asking for no rows
            # makes the frames in memory known to DuckDB.
            native.limit(0).to_pyarrow()
            native = backend.con.sql(backend.compile(native))
        # A reader keeps its connection busy, so it is closed as soon as nobody reads on.
        with native.to_arrow_reader(rows) as reader:
            yield from reader


def _compare_bytes(relation: Any) -> Any:
    """Return a relation whose texts are equal only if each character is."""
    # GROUP BY would make one group of 'a' and 'A' in a column declared COLLATE NOCASE.
    texts = [
        quoted
        for name, kind in zip(relation.columns, relation.types, strict=True)
        if str(kind) == "VARCHAR" and (quoted := '"' + name.replace('"', '""') + '"')
    ]
    if not texts:
        return relation
    compared = ", ".join(f'{text} COLLATE "C" AS {text}' for text in texts)
    return relation.project(f"* REPLACE ({compared})")
