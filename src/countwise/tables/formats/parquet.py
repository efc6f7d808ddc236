"""Parquet files, and the rules for all files that declare the types of their columns.

Their texts stay texts, as written, even if they are plain numbers; the missing marks among them,
and the numbers that a mark such as ``-999`` names, are made missing. A column of money, percent,
dates, or numbers among missing marks is read as in a text file, and so is a column that the caller
declares numeric.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from countwise.errors import TableError, listing
from countwise.tables.formats.source import Source, refuse_duplicates
from countwise.tables.raw_columns import (
    Numbers,
    Raw,
    RawTable,
    from_arrow,
    missing_numbers,
    missing_words,
)
from countwise.tables.read_options import ReadOptions
from countwise.tables.text_values import drop_marks, drop_unused, holds_marks, settle_typed


def names(source: Source, options: ReadOptions) -> list[str]:
    """Return the names of the columns, from the footer."""
    with open_parquet(source) as file:
        return list(file.schema_arrow.names)


def read(source: Source, options: ReadOptions) -> RawTable:
    """Read a whole Parquet file."""
    with open_parquet(source) as file:
        every = file.schema_arrow.names
        table = file.read(columns=_wanted(every, options))
        return RawTable(to_raw_columns(table, options, every))


def blocks(source: Source, options: ReadOptions, rows: int) -> Iterator[RawTable]:
    """Read a Parquet file block by block."""
    done = 0
    with open_parquet(source) as file:
        needed = [name for name in file.schema_arrow.names if options.is_needed(name)]
        for batch in file.iter_batches(batch_size=rows, columns=_wanted(needed, options)):
            yield RawTable(to_raw_columns(batch, options, needed, done))
            done += len(batch)


def _wanted(every: Iterable[str], options: ReadOptions) -> list[str]:
    return [name for name in every if not options.column(name).left_out]


def open_parquet(source: Source, metadata: Any = None, empty_too: bool = False) -> Any:
    """Open a Parquet file with its texts as dictionaries; refuse one without rows.

    `metadata` is the footer, if it was read before.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(_file(source), metadata=metadata) as file:
            schema, metadata = file.schema_arrow, file.metadata
            rows = metadata.num_rows
        texts = [field.name for field in schema if pa.types.is_string(field.type)]
        refuse_duplicates(schema.names, source.path)
        if not (rows or empty_too) or not schema.names:
            raise TableError(
                f"Table: {source.path!r} must hold rows; got {rows} rows of {len(schema.names)} "
                "columns. Check that it was written."
            )
        return pq.ParquetFile(_file(source), metadata=metadata, read_dictionary=texts)
    except (pa.ArrowException, OSError) as error:
        raise TableError(
            f"Table: {source.path!r} must be a Parquet file; it cannot be read as one "
            f"({str(error).splitlines()[0].rstrip('.')}). Write it again, or give it the extension "
            "of what it is."
        ) from None


def _file(source: Source) -> Any:
    """Return the path, which Arrow maps into memory, or the bytes of what is no plain file."""
    return source.path if type(source) is Source else source.arrow()


def to_raw_columns(
    table: Any, options: ReadOptions, names: Iterable[str], offset: int = 0
) -> dict[str, Raw]:
    """Turn the columns of an Arrow table into raw ones; `offset` rows were read before."""
    import pyarrow as pa

    columns: dict[str, Raw] = {}
    for name in names:
        if options.column(name).left_out:
            columns[name] = missing_numbers(len(table))
            continue
        column = table.column(name)
        if pa.types.is_nested(column.type):
            raise nested_error(name, f"it holds {str(column.type).split('<')[0]} values")
        if pa.types.is_null(column.type):
            columns[name] = missing_column(name, len(column), options)
        else:
            columns[name] = apply_options(name, from_arrow(name, column), options, offset)
    return columns


def apply_options(name: str, raw: Raw, options: ReadOptions, offset: int) -> Raw:
    """Make marks missing, and turn texts into the numbers or dates they are declared to be."""
    column = options.column(name)
    if isinstance(raw, Numbers):
        return drop_marks(raw, options.marks(name))
    marks = options.marks(name)
    if column.coded and not holds_marks(raw, marks):
        return raw  # levels that no row holds are left out when it is coded
    is_number = column.kind == "numeric" and not raw.declared
    flags = [at for at, level in enumerate(raw.distinct) if isinstance(level, bool)]
    if is_number and flags:
        row = offset + 1 + int(np.argmax(np.isin(raw.codes, flags)))
        raise TableError(
            f"Table: column {name!r} is declared numeric but holds {listing(raw.distinct, 3)}, "
            f"the first in row {row}. Declare it nominal."
        )
    if raw.declared and not options.has_own_marks(name):
        return raw
    found = settle_typed(name, drop_unused(raw), options, offset)
    return found if isinstance(found, Numbers) else drop_marks(found, marks)


def missing_column(name: str, rows: int, options: ReadOptions) -> Raw:
    """Return a column without any value, of words if it is declared nominal."""
    if options.column(name).coded:
        return missing_words(rows)
    return missing_numbers(rows)


def nested_error(name: str, problem: str) -> TableError:
    """Return the error that a column holds lists or objects."""
    return TableError(
        f"Table: column {name!r} must hold plain values, not lists or objects; {problem}.",
        hint=("flatten it before reading", "leave it out with `drop=`"),
    )
