"""Parquet files, and the rules for all files that declare the types of their columns.

Their texts stay texts, as written, even if they look like numbers; only the missing marks among
them, and the numbers that a mark such as ``-999`` names, are made missing. A column that the caller
declares numeric or a date is turned into that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from countwise.errors import TableError, listing
from countwise.tables.formats.source import Source, refuse_duplicates
from countwise.tables.raw_columns import Numbers, Raw, RawTable, Words, from_arrow, missing_numbers
from countwise.tables.read_options import ReadOptions
from countwise.tables.text_values import drop_marks, drop_unused, settle


def names(source: Source, options: ReadOptions) -> list[str]:
    """Return the names of the columns, from the footer."""
    with _open(source) as file:
        return list(file.schema_arrow.names)


def read(source: Source, options: ReadOptions) -> RawTable:
    """Read a whole Parquet file."""
    with _open(source) as file:
        every = file.schema_arrow.names
        table = file.read(columns=_wanted(every, options))
        return RawTable(to_raw_columns(table, options, every))


def blocks(source: Source, options: ReadOptions, rows: int) -> Iterator[RawTable]:
    """Read a Parquet file block by block."""
    done = 0
    with _open(source) as file:
        needed = [name for name in file.schema_arrow.names if options.is_needed(name)]
        for batch in file.iter_batches(batch_size=rows, columns=_wanted(needed, options)):
            yield RawTable(to_raw_columns(batch, options, needed, done))
            done += len(batch)


def _wanted(every: Iterable[str], options: ReadOptions) -> list[str]:
    return [name for name in every if not options.column(name).left_out]


def _open(source: Source) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(source.path) as file:
            schema, rows = file.schema_arrow, file.metadata.num_rows
        texts = [field.name for field in schema if pa.types.is_string(field.type)]
        refuse_duplicates(schema.names, source.path)
        if not rows or not schema.names:
            raise TableError(
                f"Table: {source.path!r} must hold rows; got {rows} rows of {len(schema.names)} "
                "columns. Check that it was written."
            )
        return pq.ParquetFile(source.path, read_dictionary=texts)
    except (pa.ArrowException, OSError) as error:
        raise TableError(
            f"Table: {source.path!r} must be a Parquet file; it cannot be read as one "
            f"({str(error).splitlines()[0].rstrip('.')}). Write it again, or give it the extension "
            "of what it is."
        ) from None


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
    if column.kind == "numeric":
        if all(isinstance(level, str) for level in raw.distinct):
            return settle(name, raw, options, offset=offset)
        raise TableError(
            f"Table: column {name!r} is declared numeric but holds {listing(raw.distinct, 3)}. "
            "Declare it nominal."
        )
    if raw.declared and not options.has_own_marks(name):
        return raw
    return drop_marks(drop_unused(raw), options.marks(name))


def missing_column(name: str, rows: int, options: ReadOptions) -> Raw:
    """Return a column without any value, of words if it is declared nominal."""
    if options.column(name).coded:
        return Words(np.full(rows, -1, np.int32), ())
    return missing_numbers(rows)


def nested_error(name: str, problem: str) -> TableError:
    """Return the error that a column holds lists or objects."""
    return TableError(
        f"Table: column {name!r} must hold plain values, not lists or objects; {problem}.",
        hint=("flatten it before reading", "leave it out with `drop=`"),
    )
