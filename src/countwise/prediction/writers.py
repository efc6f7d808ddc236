"""Write answers block by block: CSV, Parquet and workbooks."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, BinaryIO, Protocol

from countwise.atomic_write import atomic_write
from countwise.errors import ParameterError, TableError
from countwise.prediction.answers import Numbered, Predictions, csv_lines, to_arrow
from countwise.tables.formats.write_workbook import ExcelSheet, OpenDocumentSheet

Pathlike = str | os.PathLike[str]

_CSV = (".csv",)
_PARQUET = (".parquet", ".pq")
_SHEETS: dict[str, type[ExcelSheet] | type[OpenDocumentSheet]] = {
    ".xlsx": ExcelSheet,
    ".ods": OpenDocumentSheet,
}

#: Extensions of files that answers can be written to.
EXTENSIONS = (*_CSV, *_PARQUET, *_SHEETS)


class Writer(Protocol):
    """Writes blocks of predictions: `render` may run on any thread, `write` is called in order."""

    def render(self, predictions: Predictions | Numbered) -> Any:
        """Bring a block to the form that is written."""

    def write(self, rendered: Any, predictions: Predictions | Numbered) -> None:
        """Write what `render` returned."""


class _CsvWriter:
    """Writes lines of CSV to a binary stream."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._started = False

    def render(self, predictions: Predictions | Numbered) -> bytes:
        """Return the lines of a block."""
        return csv_lines(to_arrow(predictions, as_text=True))

    def write(self, rendered: bytes, predictions: Predictions | Numbered) -> None:
        """Write the header first, then the lines."""
        import pyarrow as pa

        if not self._started:
            self._write_all(csv_lines(pa.table({name: [name] for name in predictions.names})))
            self._started = True
        self._write_all(rendered)

    def _write_all(self, content: bytes) -> None:
        # An unbuffered stdout (PYTHONUNBUFFERED) may take a part and leave the rest to us.
        left = memoryview(content)
        while len(left):
            left = left[self._stream.write(left) or 0 :]


class _ParquetWriter:
    """Writes row groups to a Parquet file."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._writer: Any = None

    def render(self, predictions: Predictions | Numbered) -> Any:
        """Return a block as an Arrow table."""
        return to_arrow(predictions)

    def write(self, rendered: Any, predictions: Predictions | Numbered) -> None:
        """Write one row group."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        if self._writer is None:
            self._writer = pq.ParquetWriter(self._path, rendered.schema)
        try:
            # A block without any value of a column does not know its type.
            self._writer.write_table(rendered.cast(self._writer.schema))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise TableError(
                "predict: a kept column must hold values of one type to be written to Parquet; "
                f"later rows hold others ({error}).",
                hint="Write a .csv file.",
            ) from None

    def close(self) -> None:
        """Write the footer."""
        if self._writer is not None:
            self._writer.close()


class _SheetWriter:
    """Writes rows to a workbook."""

    def __init__(self, sheet: ExcelSheet | OpenDocumentSheet, names: Sequence[str]) -> None:
        self._sheet = sheet
        sheet.write([names])

    def render(self, predictions: Predictions | Numbered) -> list[tuple[Any, ...]]:
        """Return the rows of a block."""
        columns = to_arrow(predictions).columns
        return list(zip(*(column.to_pylist() for column in columns), strict=True))

    def write(self, rendered: list[tuple[Any, ...]], predictions: Predictions | Numbered) -> None:
        """Add the rows to the sheet."""
        self._sheet.write(rendered)


@contextmanager
def open_writer(target: Pathlike | BinaryIO, names: Sequence[str]) -> Iterator[Writer]:
    """Open a writer; a file takes its place only when everything went well."""
    twice = sorted(name for name, times in Counter(names).items() if times > 1)
    if twice:
        raise ParameterError(
            f"predict: columns of the output must differ; got {twice[0]!r} twice.",
            hint="Leave it out of `keep=`.",
        )
    if not isinstance(target, str | os.PathLike):
        yield _CsvWriter(target)
        return
    with atomic_write(target, "predict") as draft:
        extension = os.path.splitext(os.fspath(target))[1].lower()
        if extension in _SHEETS:
            sheet = _SHEETS[extension](str(draft))
            try:
                yield _SheetWriter(sheet, names)
            finally:
                sheet.close()
        elif extension in _PARQUET:
            writer = _ParquetWriter(str(draft))
            try:
                yield writer
            finally:
                writer.close()
        else:
            with open(draft, "wb", buffering=1 << 20) as stream:
                yield _CsvWriter(stream)
