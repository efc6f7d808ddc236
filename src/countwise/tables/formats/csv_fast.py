"""Read delimited files without quotes or other special cases, by a compiled kernel.

What the kernel does not take at once (a ragged line, a cell that is no plain number, a column of
very many texts) is left to the general reader, so nothing but the time depends on it.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from countwise.errors import TableError
from countwise.tables.formats import _csv_fast
from countwise.tables.formats.csv_dialect import Dialect
from countwise.tables.raw_columns import Numbers, Raw, RawTable, Words
from countwise.tables.read_options import ReadOptions
from countwise.tables.text_values import is_marked, numbers_among, settle

#: Signs that may stand in a number, so that a kernel could not tell where a cell ends.
_IN_NUMBERS = frozenset("+-. ")


class PlainRows:
    """Reads lines of a file whose dialect is known and which holds no quotes."""

    def __init__(self, dialect: Dialect, options: ReadOptions) -> None:
        self._dialect, self._options = dialect, options
        self._names = [name for name in dialect.names if options.is_needed(name)]
        marks = Counter(options.marks(name) for name in self._names if self._is_number(name))
        usual = marks.most_common(1)[0][0] if marks else frozenset[str]()
        if numbers_among(usual, comma=True):
            usual = frozenset()  # a number that means missing is for the general reader
        self._marks = [mark.encode() for mark in sorted(usual)]
        self._kinds = np.full(len(dialect.names), _csv_fast.SKIPPED, dtype=np.int8)
        for at, name in enumerate(dialect.names):
            if options.is_needed(name):
                is_code = at in dialect.zeros and options.inferred.get(name)
                plain = self._is_number(name) and options.marks(name) == usual and not is_code
                self._kinds[at] = _csv_fast.NUMBER if plain else _csv_fast.TEXT
        sign = dialect.separator
        self.able = (
            options.is_schema
            and bool(self._names)
            and dialect.encoding == "utf-8"
            and not any(options.column(name).left_out for name in self._names)
            and not (sign.isalnum() or sign in _IN_NUMBERS)
        )

    def _is_number(self, name: str) -> bool:
        column = self._options.column(name)
        return column.kind == "numeric" and not is_marked(column) and column.decimal != ","

    def read(self, content: bytes) -> RawTable | None:
        """Return the columns of whole lines, or None if the general reader must look at them."""
        if not self.able:
            return None
        found = _csv_fast.lines(content, self._dialect.separator, self._kinds, self._marks)
        if isinstance(found, int):
            # Very many texts in one column will not become fewer further down.
            self.able = found == 0
            return None
        try:
            columns = {
                name: self._column(name, cells)
                for name, cells in zip(self._names, found, strict=True)
            }
        except TableError:
            return None  # the general reader raises it, with the row of the file
        return RawTable(columns, self._dialect.notes)

    def _column(self, name: str, cells: object) -> Raw:
        if isinstance(cells, tuple):
            return settle(name, Words(*cells), self._options, self._dialect.separator)
        assert isinstance(cells, np.ndarray)
        return Numbers(cells)
