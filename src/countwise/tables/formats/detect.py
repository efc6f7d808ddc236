"""Detect the format of a file by its extension or content, and call the module that reads it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from countwise.errors import ParameterError, TableError
from countwise.tables.formats.source import Source
from countwise.tables.raw_columns import RawTable
from countwise.tables.read_options import ReadOptions

#: Each format is a module here with `names`, `read` and `blocks`.
_FORMATS = {
    "csv": (".csv", ".tsv", ".txt", ".tab", ".data"),
    "parquet": (".parquet", ".pq"),
    "json_lines": (".json", ".jsonl", ".ndjson"),
    "arff": (".arff",),
    "workbook": (".xlsx", ".xlsm", ".xls", ".xlsb", ".ods"),
}
_BY_EXTENSION = {extension: form for form, every in _FORMATS.items() for extension in every}
_ARFF = re.compile(rb"(?:\s*%[^\r\n]*[\r\n]+|\s+)*@relation\b", re.IGNORECASE)
Place = str | os.PathLike[str] | Source


def names(path: Place, options: ReadOptions | None = None) -> list[str]:
    """Return the names of the columns of a file in file order; a JSON file is read to its end."""
    source = Source.at(path)
    module = _module(source, options)
    with _plain_errors(source):
        found: list[str] = module.names(source, options or ReadOptions())
        return found


def read(path: Place, options: ReadOptions | None = None) -> RawTable:
    """Read a file into raw columns."""
    source = Source.at(path)
    module = _module(source, options)
    with _plain_errors(source):
        raw: RawTable = module.read(source, options or ReadOptions())
        return raw


def blocks(
    path: Place, options: ReadOptions | None = None, rows: int = 100_000
) -> Iterator[RawTable]:
    """Yield a file in blocks of `rows` rows; an ARFF file and a JSON array come as one block."""
    if isinstance(rows, bool) or not isinstance(rows, int) or rows < 1:
        raise ParameterError("blocks", "rows", "a positive integer", rows)
    source = Source.at(path)
    return _blocks(source, _module(source, options), options or ReadOptions(), rows)


def _blocks(source: Source, module: Any, options: ReadOptions, rows: int) -> Iterator[RawTable]:
    with _plain_errors(source):
        yield from module.blocks(source, options, rows)


def is_delimited(path: str) -> bool:
    """Return whether a file is CSV or a relative by its name, and not packed."""
    return _BY_EXTENSION.get(os.path.splitext(path)[1].lower()) == "csv"


@contextmanager
def _plain_errors(source: Source) -> Iterator[None]:
    """Turn whatever a lower library raises into one sentence about the file."""
    import pyarrow as pa

    try:
        yield
    except (TableError, GeneratorExit):
        raise
    except (pa.ArrowException, OSError, ValueError, EOFError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise TableError(
            f"Table: {source.path!r} cannot be read ({reason}). Check the file."
        ) from None


def _module(source: Source, options: ReadOptions | None) -> Any:
    """Return the module of the format of a file."""
    form = form_of(source)
    if options is not None and options.sheet is not None and form != "workbook":
        raise TableError(
            f"Table: `sheet=` is for workbooks; {source.path!r} is none.", hint="Leave it out."
        )
    return import_module(f"countwise.tables.formats.{form}")


def form_of(source: Source) -> str:
    """Return the format of a file: the name of the module that reads it."""
    return _BY_EXTENSION.get(source.extension) or _form_of(source.head(1 << 16))


def is_known(path: str) -> bool:
    """Return whether the name of a file ends as those of a known format do."""
    return os.path.splitext(path.lower().removesuffix(".gz"))[1] in _BY_EXTENSION


def _form_of(head: bytes) -> str:
    text = head.removeprefix(b"\xef\xbb\xbf")
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")):  # zip, and the older Excel
        return "workbook"
    if text.lstrip()[:1] == b"{" or re.match(rb"\s*\[\s*\{", text):
        return "json_lines"
    return "arff" if _ARFF.match(text) else "csv"
