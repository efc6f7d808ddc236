"""JSON lines, and JSON arrays of objects."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from countwise.errors import TableError
from countwise.tables.formats.parquet import (
    apply_options,
    missing_column,
    nested_error,
    to_raw_columns,
)
from countwise.tables.formats.source import MAX_NESTING, Source, is_too_deep
from countwise.tables.raw_columns import Raw, RawTable, from_objects, missing_numbers
from countwise.tables.read_options import ReadOptions
from countwise.tables.schema import Column

_BLOCK = 1 << 23


def names(source: Source, options: ReadOptions) -> list[str]:
    """Return the names of the columns; any row may add one, so all are read."""
    return list(_read_whole(source, ReadOptions(default=Column("", "drop"))))


def read(source: Source, options: ReadOptions) -> RawTable:
    """Read JSON lines, or a JSON array of objects."""
    return RawTable(_read_whole(source, options))


def _read_whole(source: Source, options: ReadOptions) -> dict[str, Raw]:
    with source.open() as file:
        try:
            return _to_columns(source, file.read(), options)
        except (OSError, EOFError) as error:
            raise source.damaged(error) from None


def blocks(source: Source, options: ReadOptions, rows: int) -> Iterator[RawTable]:
    """Read JSON lines block by block; an array or objects over several lines come as one block."""
    done, seen = 0, set[str]()
    for lines in _split_lines(source, rows):
        columns = _to_columns(source, b"".join(lines), options, done)
        seen.update(columns)
        count = len(next(iter(columns.values())))
        for name in seen - columns.keys():
            columns[name] = missing_column(name, count, options)
        yield RawTable({name: raw for name, raw in columns.items() if options.is_needed(name)})
        done += count


def first_lines(source: Source, size: int) -> bytes | None:
    """Return about so many of the first bytes, up to the end of a line.

    None if there are no more, or if the file is read as a whole.
    """
    content = source.head(size + 1)
    first = content.lstrip().partition(b"\n")[0]
    if len(content) <= size or not _is_object(first):
        return None
    return content[: content.rfind(b"\n") + 1]


def _split_lines(source: Source, rows: int) -> Iterator[list[bytes]]:
    block: list[bytes] = []
    first = True
    with source.open() as file:
        try:
            for line in file:
                if not line.strip():
                    continue
                if first and not _is_object(line):
                    yield [line, *file]
                    return
                first = False
                block.append(line)
                if len(block) == rows:
                    yield block
                    block = []
        except (OSError, EOFError) as error:
            raise source.damaged(error) from None
    if block:
        yield block


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line.decode("utf-8-sig")), dict)
    except (ValueError, RecursionError):
        return False


def _to_columns(
    source: Source, content: bytes, options: ReadOptions, offset: int = 0
) -> dict[str, Raw]:
    import pyarrow as pa
    import pyarrow.json as arrow_json

    if b"\0" in content:
        raise _not_json(source, "it holds NUL bytes (UTF-16 perhaps)")
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        problem = f"it is not UTF-8 ({error.reason} at byte {error.start})"
        raise _not_json(source, problem) from None
    if is_too_deep(content):
        raise _not_json(source, f"it is nested deeper than {MAX_NESTING} levels")
    if content.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] != b"[":
        blocks = arrow_json.ReadOptions(block_size=_BLOCK)
        try:
            table = arrow_json.read_json(pa.BufferReader(content), blocks)
            names = table.column_names
            dates = [field.name for field in table.schema if pa.types.is_temporal(field.type)]
            texts = [name for name in dates if options.column(name).coded]
            if texts:
                # Arrow takes texts such as 2024-01-31 for dates, also where a text is wanted.
                schema = pa.schema([(name, pa.string()) for name in texts])
                plain = arrow_json.ParseOptions(explicit_schema=schema)
                table = arrow_json.read_json(pa.BufferReader(content), blocks, plain)
        except pa.ArrowInvalid:
            return _read_objects(source, content, options, offset)
        if table.num_rows and table.num_columns:
            return to_raw_columns(table, options, names, offset)
    return _read_objects(source, content, options, offset)


def _read_objects(
    source: Source, content: bytes, options: ReadOptions, offset: int
) -> dict[str, Raw]:
    """Read what Arrow does not: an array of objects, and columns of mixed types."""
    rows = _parse_objects(source, content.decode("utf-8-sig"), offset)
    names = list(dict.fromkeys(name for row in rows for name in row))
    if not names:
        raise _not_json(source, "it holds no row with a name and a value")
    columns: dict[str, Raw] = {}
    for name in names:
        if options.column(name).left_out:
            columns[name] = missing_numbers(len(rows))
            continue
        values = [row.get(name) for row in rows]
        if all(value is None for value in values):
            columns[name] = missing_column(name, len(rows), options)  # as Arrow has it
            continue
        for row, value in enumerate(values, start=1 + offset):
            if isinstance(value, dict | list):
                raise nested_error(name, f"row {row} holds one")
        columns[name] = apply_options(name, from_objects(name, values), options, offset)
    return columns


def _parse_objects(source: Source, text: str, offset: int) -> list[dict[str, Any]]:
    decoder = json.JSONDecoder(object_pairs_hook=_refuse_duplicates)
    found, at, blank = list[Any](), 0, " \t\r\n"
    try:
        while at < len(text):
            if text[at] in blank:
                at += 1
                continue
            value, at = decoder.raw_decode(text, at)
            found.extend(value if isinstance(value, list) and not found else [value])
    except (ValueError, RecursionError) as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        problem = f"row {len(found) + 1 + offset} does not parse ({reason})"
        raise _not_json(source, problem) from None
    for row, value in enumerate(found, start=1 + offset):
        if not isinstance(value, dict):
            raise _not_json(source, f"row {row} is {json.dumps(value)[:40]}")
    return found


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(pairs)
    if len(row) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"it holds {twice!r} twice")
    return row


def _not_json(source: Source, problem: str) -> TableError:
    return TableError(
        f"Table: {source.path!r} must hold one JSON object a line, or an array of objects; "
        f"{problem}. Correct it, or write the table as CSV."
    )
