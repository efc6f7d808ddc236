"""Files become raw columns: CSV and its relatives, Parquet, JSON and ARFF, told by extension."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

from countwise.errors import ParameterError, TableError
from countwise.tables.formats.source import Source
from countwise.tables.read_options import Parsed, Reading

_FORMS = {
    ".csv": "delimited",
    ".tsv": "delimited",
    ".txt": "delimited",
    ".tab": "delimited",
    ".data": "delimited",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".arff": "arff",
}
_ARFF = re.compile(rb"(?:\s*%[^\r\n]*[\r\n]+|\s+)*@relation\b", re.IGNORECASE)
_WORKBOOK = (".xls", ".xlsx", ".xlsm", ".ods")


def parse(path: str | os.PathLike[str], reading: Reading | None = None) -> Parsed:
    """Read a file into raw columns; what it is is told by its extension, else by its content."""
    reading = reading or Reading()
    source = Source.at(path)
    form, usual = _form(source)
    with _plain_errors(source):
        if form == "parquet":
            from countwise.tables.formats.parquet import parse_parquet

            return parse_parquet(source, reading)
        if form == "json":
            from countwise.tables.formats.parquet import parse_json

            return parse_json(source, reading)
        if form == "arff":
            from countwise.tables.formats.arff import parse_arff

            return parse_arff(source, reading)
        from countwise.tables.formats.csv import parse_delimited

        return parse_delimited(source, reading, usual)


def is_delimited(path: str) -> bool:
    """Return whether a file is CSV or a relative by its name, and not packed."""
    return _FORMS.get(os.path.splitext(path)[1].lower()) == "delimited"


def column_names(path: str | os.PathLike[str], reading: Reading | None = None) -> list[str]:
    """Return the names of the columns of a file in file order, before anything is read from them.

    The header of a CSV or ARFF file and the footer of a Parquet file say them; any row of a JSON
    file may bring another name, so such a file is read to its end.
    """
    reading = reading or Reading()
    source = Source.at(path)
    form, usual = _form(source)
    with _plain_errors(source):
        if form == "parquet":
            from countwise.tables.formats.parquet import parquet_names

            return parquet_names(source)
        if form == "json":
            from countwise.tables.formats.parquet import json_names

            return json_names(source)
        if form == "arff":
            from countwise.tables.formats.arff import arff_names

            return arff_names(source)
        from countwise.tables.formats.csv_dialect import header_names

        return list(header_names(source, reading, usual))


def parse_blocks(
    path: str | os.PathLike[str], reading: Reading | None = None, rows: int = 100_000
) -> Iterator[Parsed]:
    """Yield a file in blocks of `rows` rows, in bounded memory and under the same rules.

    The caller declares every column it cares about as text, number or date, and only those are
    read; if it declares none, all are. An ARFF file and a JSON array come as one block.
    """
    if isinstance(rows, bool) or not isinstance(rows, int) or rows < 1:
        raise ParameterError(f"parse_blocks: rows must be a positive integer, but {rows!r} came.")
    reading = reading or Reading()
    source = Source.at(path)
    form, usual = _form(source)
    return _blocks(source, reading, rows, form, usual)


def _blocks(source: Source, reading: Reading, rows: int, form: str, usual: str) -> Iterator[Parsed]:
    with _plain_errors(source):
        if form == "parquet":
            from countwise.tables.formats.parquet import parse_parquet_blocks

            yield from parse_parquet_blocks(source, reading, rows)
        elif form == "json":
            from countwise.tables.formats.parquet import parse_json_blocks

            yield from parse_json_blocks(source, reading, rows)
        elif form == "arff":
            from countwise.tables.formats.arff import parse_arff

            yield parse_arff(source, reading)
        else:
            from countwise.tables.formats.csv import parse_delimited_blocks

            yield from parse_delimited_blocks(source, reading, rows, usual)


@contextmanager
def _plain_errors(source: Source) -> Iterator[None]:
    """Turn whatever a lower library raises into one sentence about the file."""
    import pyarrow as pa

    try:
        yield
    except (TableError, GeneratorExit):
        raise
    except (pa.ArrowException, OSError, ValueError, EOFError) as why:
        reason = (str(why).splitlines() or [type(why).__name__])[0]
        raise TableError(
            f"Table: {source.path!r} cannot be read ({reason}). Check the file."
        ) from None


def _form(source: Source) -> tuple[str, str]:
    """Return what the file is, and the separator its extension promises."""
    name = source.path.lower()
    stem = name.removesuffix(".gz")
    extension = os.path.splitext(stem)[1]
    usual = "\t" if extension in (".tsv", ".tab") else ","
    if extension in _WORKBOOK:
        raise TableError(
            f"Table: {source.path!r} must be a CSV, Parquet, JSON or ARFF file, but it is a "
            "workbook. Save the sheet as CSV."
        )
    if extension in _FORMS:
        return _FORMS[extension], usual
    head = source.head(1 << 16)
    text = head.removeprefix(b"\xef\xbb\xbf")
    if head.startswith(b"PAR1"):
        return "parquet", usual
    if text.lstrip()[:1] == b"{" or re.match(rb"\s*\[\s*\{", text):
        return "json", usual
    if _ARFF.match(text):
        return "arff", usual
    return "delimited", usual
