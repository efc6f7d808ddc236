"""Sources of rows outside memory: each module makes a `RowSource` of what it knows."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from countwise.errors import TableError, listing, quote
from countwise.tables.formats.source import ADDRESSES
from countwise.tables.read_options import ReadOptions
from countwise.tables.sources.row_source import RowSource

#: Modules with a function ``open_source(given, options)``, asked one after the other. It returns
#: None for what it does not know, or a source and the options, to which it may add.
_MODULES = ("spark", "relations", "postgres", "files", "arrow")


def open_source(
    given: Any, options: ReadOptions, *, on_bad: str = "refuse"
) -> tuple[RowSource, ReadOptions]:
    """Return the source of rows that somebody gave to `scan`."""
    from countwise.tables.sources.query_source import Query

    place = given.source if isinstance(given, Query) else given
    scheme, is_address, _ = place.partition("://") if isinstance(place, str) else ("", "", "")
    if is_address and not place.startswith(ADDRESSES):
        # The rest may hold a password.
        raise TableError(
            f"scan: an address must begin with {listing(ADDRESSES)}; got {quote(scheme + '://…')}.",
            hint="Anything that pyarrow reads can be scanned as a pyarrow data set",
        )
    for module in _MODULES:
        found = import_module(f"{__name__}.{module}").open_source(given, options)
        if found is None:
            continue
        source, options = found
        if source.damaged and on_bad == "refuse":
            raise next(iter(source.damaged.values()))
        return source, options
    if isinstance(given, Query):
        asked = [f"`{name}=`" for name in ("table", "query", "key") if getattr(given, name)]
        raise TableError(
            f"scan: {' and '.join(asked)} can only belong to a database or a lazy frame; got "
            f"{quote(given.source)}."
        )
    raise TableError(
        "scan: rows must be a path, a list of paths, a pattern, a folder, a pyarrow data set, a "
        "RecordBatchReader, a DuckDB relation, a polars LazyFrame, an Ibis table, a PySpark "
        f"DataFrame or the address of a database; got a {type(given).__name__}.",
        hint="Rows in memory are read by cw.read",
    )
