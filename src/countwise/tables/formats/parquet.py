"""Files that know the types of their columns: Parquet and JSON.

Their texts stay texts, as written, even if they look like numbers; only the missing marks among
them, and the numbers that a mark such as ``-999`` names, are made missing. A column that the caller
declares numeric or a date is turned into that.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from countwise.errors import TableError, listing
from countwise.tables.formats.source import Source
from countwise.tables.raw_columns import Numbers, Raw, Words, from_arrow, from_objects
from countwise.tables.read_options import Parsed, Reading
from countwise.tables.text_values import marked, settle, without_marks

_BLOCK = 1 << 23


def parse_parquet(source: Source, reading: Reading) -> Parsed:
    """Read a whole Parquet file."""
    with _parquet(source) as file:
        names = file.schema_arrow.names
        table = file.read(columns=_looked_at(names, reading))
        return Parsed(_columns(table, reading, names))


def parquet_names(source: Source) -> list[str]:
    """Return the names of the columns of a Parquet file, from its footer."""
    with _parquet(source) as file:
        return list(file.schema_arrow.names)


def parse_parquet_blocks(source: Source, reading: Reading, rows: int) -> Iterator[Parsed]:
    """Read a Parquet file block by block; if the caller declares columns, only those."""
    done = 0
    with _parquet(source) as file:
        names = [name for name in file.schema_arrow.names if reading.wants(name)]
        for batch in file.iter_batches(batch_size=rows, columns=_looked_at(names, reading)):
            yield Parsed(_columns(batch, reading, names, done))
            done += len(batch)


def _looked_at(names: Iterable[str], reading: Reading) -> list[str]:
    return [name for name in names if not reading.skips(name)]


def _parquet(source: Source) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(source.path) as file:
            schema, rows = file.schema_arrow, file.metadata.num_rows
        texts = [field.name for field in schema if pa.types.is_string(field.type)]
        _check_names(source, schema.names)
        if not rows or not schema.names:
            raise TableError(
                f"Table: {source.path!r} must hold rows, but it holds {rows} rows of "
                f"{len(schema.names)} columns. Check that it was written."
            )
        return pq.ParquetFile(source.path, read_dictionary=texts)
    except (pa.ArrowException, OSError) as why:
        raise TableError(
            f"Table: {source.path!r} must be a Parquet file, but it cannot be read as one "
            f"({str(why).splitlines()[0].rstrip('.')}). Write it again, or give it the extension "
            "of what it is."
        ) from None


def parse_json(source: Source, reading: Reading) -> Parsed:
    """Read JSON lines, or a JSON array of objects."""
    return Parsed(_json_whole(source, reading))


def json_names(source: Source) -> list[str]:
    """Return the names of the columns of a JSON file; any row may bring one, so all are read."""
    return list(_json_whole(source, Reading(only=frozenset())))


def _json_whole(source: Source, reading: Reading) -> dict[str, Raw]:
    with source.open() as file:
        try:
            return _json_columns(source, file.read(), reading)
        except (OSError, EOFError) as why:
            raise source.damaged(why) from None


def parse_json_blocks(source: Source, reading: Reading, rows: int) -> Iterator[Parsed]:
    """Read JSON lines block by block; an array or objects over several lines come as one block."""
    done, seen = 0, set[str]()
    if reading.declared:
        only = reading.declared if reading.only is None else reading.declared & reading.only
        reading = replace(reading, only=only)
    for lines in _json_lines(source, rows):
        columns = _json_columns(source, b"".join(lines), reading, done)
        seen.update(columns)
        count = len(next(iter(columns.values())))
        for name in seen - columns.keys():
            columns[name] = _empty(name, count, reading)
        yield Parsed({name: raw for name, raw in columns.items() if reading.wants(name)})
        done += count


def _json_lines(source: Source, rows: int) -> Iterator[list[bytes]]:
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
        except (OSError, EOFError) as why:
            raise source.damaged(why) from None
    if block:
        yield block


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line.decode("utf-8-sig")), dict)
    except (ValueError, RecursionError):
        return False


def _json_columns(
    source: Source, content: bytes, reading: Reading, offset: int = 0
) -> dict[str, Raw]:
    import pyarrow as pa
    import pyarrow.json as arrow_json

    if b"\0" in content:
        raise _no_json(source, "it holds NUL bytes (UTF-16 perhaps)")
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as why:
        raise _no_json(source, f"it is not UTF-8 ({why.reason} at byte {why.start})") from None
    if content.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] != b"[":
        options = arrow_json.ReadOptions(block_size=_BLOCK)
        try:
            table = arrow_json.read_json(pa.BufferReader(content), options)
            names = table.column_names
            looked = [name for name in names if name in reading.text and not reading.skips(name)]
            texts = [name for name in looked if _temporal(table.schema, name)]
            if texts:
                # Arrow takes texts such as 2024-01-31 for dates, also where a text is wanted.
                schema = pa.schema([(name, pa.string()) for name in texts])
                plain = arrow_json.ParseOptions(explicit_schema=schema)
                table = arrow_json.read_json(pa.BufferReader(content), options, plain)
        except pa.ArrowInvalid:
            return _from_rows(source, content, reading, offset)
        if table.num_rows and table.num_columns:
            return _columns(table, reading, names, offset)
    return _from_rows(source, content, reading, offset)


def _temporal(schema: Any, name: str) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_temporal(schema.field(name).type))


def _from_rows(source: Source, content: bytes, reading: Reading, offset: int) -> dict[str, Raw]:
    """Read what Arrow does not: an array of objects, and columns of mixed types."""
    rows = _objects(source, content.decode("utf-8-sig"), offset)
    names = list(dict.fromkeys(name for row in rows for name in row))
    if not names:
        raise _no_json(source, "it holds no row with a name and a value")
    columns: dict[str, Raw] = {}
    for name in names:
        if reading.skips(name):
            columns[name] = _empty(name, len(rows), reading)
            continue
        values = [row.get(name) for row in rows]
        nested = next(
            (at for at, value in enumerate(values) if isinstance(value, dict | list)), None
        )
        if nested is not None:
            raise _nested(name, f"row {nested + 1 + offset} holds one")
        columns[name] = _declared(name, from_objects(name, values), reading, offset)
    return columns


def _objects(source: Source, text: str, offset: int) -> list[dict[str, Any]]:
    decoder = json.JSONDecoder(object_pairs_hook=_no_twins)
    found, at, blank = list[Any](), 0, " \t\r\n"
    try:
        while at < len(text):
            if text[at] in blank:
                at += 1
                continue
            value, at = decoder.raw_decode(text, at)
            found.extend(value if isinstance(value, list) and not found else [value])
    except (ValueError, RecursionError) as why:
        reason = why.msg if isinstance(why, json.JSONDecodeError) else str(why)
        raise _no_json(source, f"row {len(found) + 1 + offset} does not parse ({reason})") from None
    for row, value in enumerate(found, start=1 + offset):
        if not isinstance(value, dict):
            raise _no_json(source, f"row {row} is {json.dumps(value)[:40]}")
    return found


def _no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        names = [name for name, _ in pairs]
        twin = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{twin!r} stands there twice")
    return made


def _no_json(source: Source, what: str) -> TableError:
    return TableError(
        f"Table: {source.path!r} must hold one JSON object a line, or an array of objects, but "
        f"{what}. Mend it, or write the table as CSV."
    )


def _nested(name: str, what: str) -> TableError:
    return TableError(
        f"Table: column {name!r} must hold plain values, not lists or objects, but {what}. "
        "Flatten it before reading, or leave it out with drop=."
    )


def _check_names(source: Source, names: Iterable[str]) -> None:
    place: dict[str, int] = {}
    for number, name in enumerate(names, start=1):
        if name in place:
            raise TableError(
                f"Table: column names must differ, but {name!r} names columns {place[name]} and "
                f"{number} of {source.path!r}. Rename one of them."
            )
        place[name] = number


def _columns(table: Any, reading: Reading, names: Iterable[str], offset: int = 0) -> dict[str, Raw]:
    import pyarrow as pa

    columns: dict[str, Raw] = {}
    for name in names:
        if reading.skips(name):
            columns[name] = _empty(name, len(table), reading)
            continue
        column = table.column(name)
        if pa.types.is_nested(column.type):
            raise _nested(name, f"it holds {str(column.type).split('<')[0]} values")
        if pa.types.is_null(column.type):
            columns[name] = _empty(name, len(column), reading)
        else:
            columns[name] = _declared(name, from_arrow(name, column), reading, offset)
    return columns


def _declared(name: str, raw: Raw, reading: Reading, offset: int) -> Raw:
    if isinstance(raw, Numbers):
        return without_marks(raw, reading.marks_of(name))
    texts = all(isinstance(level, str) for level in raw.distinct)
    if texts and (name in reading.number or name in reading.dates):
        return settle(name, raw, reading, offset=offset).raw
    if name in reading.number or name in reading.dates:
        raise TableError(
            f"Table: column {name!r} is declared numeric but holds {listing(raw.distinct, 3)}. "
            "Declare it nominal."
        )
    if raw.declared and not reading.marks_given(name):
        return raw
    return marked(raw, reading.marks_of(name))


def _empty(name: str, rows: int, reading: Reading) -> Raw:
    if name in reading.text and not reading.skips(name):
        return Words(np.full(rows, -1, np.int32), ())
    return Numbers(np.full(rows, np.nan))
