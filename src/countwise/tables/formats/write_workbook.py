"""Write rows to a workbook, block by block: Excel by XlsxWriter, OpenDocument as plain XML."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Sequence
from datetime import datetime, time
from html import escape
from typing import Any

from countwise.errors import TableError
from countwise.tables.cell_forms import moment_text
from countwise.tables.formats.workbook import INSTALL

#: The rows that a sheet of Excel can hold, and the first year of its dates.
MOST_ROWS = 1_048_576
_FIRST_YEAR = 1900
_ODS = "application/vnd.oasis.opendocument.spreadsheet"
_MANIFEST = (
    '<?xml version="1.0" encoding="UTF-8"?><manifest:manifest manifest:version="1.2" '
    'xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"><manifest:file-entry '
    f'manifest:full-path="/" manifest:media-type="{_ODS}"/><manifest:file-entry '
    'manifest:full-path="content.xml" manifest:media-type="text/xml"/></manifest:manifest>'
)
_BEGIN = (
    '<?xml version="1.0" encoding="UTF-8"?><office:document-content office:version="1.2" '
    'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
    'xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" '
    'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><office:body>'
    '<office:spreadsheet><table:table table:name="predictions">'
)
_END = "</table:table></office:spreadsheet></office:body></office:document-content>"


class ExcelSheet:
    """A sheet of an Excel file, written row by row."""

    def __init__(self, path: str) -> None:
        try:
            import xlsxwriter
        except ImportError:
            raise TableError(
                f"predict: writing an Excel file needs XlsxWriter. {INSTALL}; or write .csv."
            ) from None
        options = {"constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False}
        self._book = xlsxwriter.Workbook(path, options)
        self._sheet = self._book.add_worksheet("predictions")
        forms = {"day": "yyyy-mm-dd", "time": "yyyy-mm-dd hh:mm"}
        self._forms = {
            name: self._book.add_format({"num_format": form}) for name, form in forms.items()
        }
        self._row = 0

    def write(self, rows: Iterable[Sequence[Any]]) -> None:
        """Add rows; None is an empty cell."""
        for row in rows:
            if self._row == MOST_ROWS:
                raise TableError(
                    f"predict: a sheet can hold {MOST_ROWS - 1} rows; there are more. "
                    "Write a .csv or .parquet file."
                )
            for at, cell in enumerate(row):
                if isinstance(cell, datetime):
                    self._write_date(at, cell)
                elif isinstance(cell, str):
                    self._sheet.write_string(self._row, at, cell)
                elif cell is not None:
                    self._sheet.write(self._row, at, cell)
            self._row += 1

    def _write_date(self, at: int, moment: datetime) -> None:
        if moment.year < _FIRST_YEAR:
            self._sheet.write_string(self._row, at, moment_text(moment))
            return
        form = self._forms["day" if moment.time() == time() else "time"]
        self._sheet.write_datetime(self._row, at, moment, form)

    def close(self) -> None:
        """Write the file."""
        from xlsxwriter.exceptions import FileCreateError

        try:
            self._book.close()
        except FileCreateError as error:
            raise error.args[0] from None  # what the system said


class OpenDocumentSheet:
    """A sheet of an OpenDocument file, written row by row."""

    def __init__(self, path: str) -> None:
        self._archive = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED)
        self._archive.writestr("mimetype", _ODS, zipfile.ZIP_STORED)
        self._archive.writestr("META-INF/manifest.xml", _MANIFEST)
        member = self._archive.open("content.xml", "w", force_zip64=True)
        self._stream = io.TextIOWrapper(member, encoding="utf-8")
        self._stream.write(_BEGIN)

    def write(self, rows: Iterable[Sequence[Any]]) -> None:
        """Add rows; None is an empty cell."""
        for row in rows:
            cells = "".join(map(_cell, row))
            self._stream.write(f"<table:table-row>{cells}</table:table-row>")

    def close(self) -> None:
        """Write the file."""
        self._stream.write(_END)
        self._stream.close()
        self._archive.close()


def _cell(value: Any) -> str:
    if value is None:
        return "<table:table-cell/>"
    if isinstance(value, datetime):
        return (
            f'<table:table-cell office:value-type="date" office:date-value="{value.isoformat()}">'
            f"<text:p>{moment_text(value)}</text:p></table:table-cell>"
        )
    if isinstance(value, bool) or not isinstance(value, int | float):
        text = escape(str(value), quote=False)
        return (
            '<table:table-cell office:value-type="string">'
            f"<text:p>{text}</text:p></table:table-cell>"
        )
    return f'<table:table-cell office:value-type="float" office:value="{value!r}"/>'
