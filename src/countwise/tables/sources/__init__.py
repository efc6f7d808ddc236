"""Sources of rows outside memory: each module makes a `RowSource` of what it knows."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

from countwise.errors import TableError
from countwise.tables.read_options import ReadOptions
from countwise.tables.sources.row_source import RowSource

#: Modules with a function ``open_source(given, options)``, asked one after the other. It returns
#: None for what it does not know, or a source and the options, to which it may add.
_MODULES = ("files", "arrow")


def is_outside(given: Any) -> bool:
    """Return whether a path is a folder or a pattern, which `scan` takes and `read` does not."""
    if not isinstance(given, str | os.PathLike):
        return False
    path = os.fspath(given)
    is_pattern = isinstance(path, str) and not os.path.exists(path) and set(path) & set("*?[")
    return os.path.isdir(path) or bool(is_pattern)


def open_source(given: Any, options: ReadOptions) -> tuple[RowSource, ReadOptions]:
    """Return the source of rows that somebody gave to `scan`."""
    for module in _MODULES:
        found = import_module(f"{__name__}.{module}").open_source(given, options)
        if found is not None:
            return found  # type: ignore[no-any-return]
    raise TableError(
        "scan: rows must be a path, a list of paths, a pattern, a folder, a pyarrow data set or a "
        f"RecordBatchReader; got a {type(given).__name__}.",
        hint="Rows in memory are read by cw.read",
    )
