"""The common case of a delimited file, read by a compiled kernel: no quotes, no surprises.

What the kernel does not take at once (a ragged line, a cell that is no plain number, a column of
very many texts) is left to the general reader, so nothing but the time depends on it.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from countwise.errors import TableError
from countwise.tables.formats import _csv_fast
from countwise.tables.formats.csv_dialect import Dialect
from countwise.tables.raw_columns import Numbers, Raw, Words
from countwise.tables.read_options import Parsed, Reading
from countwise.tables.text_values import NUMBER, settle

#: Signs that may stand in a number, so that a kernel could not tell where a cell ends.
_IN_NUMBERS = frozenset("+-. ")


class PlainRows:
    """Reads lines of a file whose dialect is known and which holds no quotes."""

    def __init__(self, dialect: Dialect, reading: Reading) -> None:
        self._dialect, self._reading = dialect, reading
        self._names = [name for name in dialect.names if name in reading.declared]
        marks = Counter(reading.marks_of(name) for name in self._names if self._is_number(name))
        usual = marks.most_common(1)[0][0] if marks else frozenset[str]()
        if any(NUMBER.fullmatch(mark.replace(",", ".")) for mark in usual):
            usual = frozenset()  # a number that means missing is for the general reader
        self._marks = [mark.encode() for mark in sorted(usual)]
        self._kinds = np.full(len(dialect.names), _csv_fast.SKIPPED, dtype=np.int8)
        for at, name in enumerate(dialect.names):
            if name in reading.declared:
                plain = self._is_number(name) and reading.marks_of(name) == usual
                self._kinds[at] = _csv_fast.NUMBER if plain else _csv_fast.TEXT
        sign = dialect.separator
        self.able = (
            bool(self._names)
            and dialect.encoding == "utf-8"
            and not any(reading.skips(name) for name in self._names)
            and not (sign.isalnum() or sign in _IN_NUMBERS)
        )

    def _is_number(self, name: str) -> bool:
        return name in self._reading.number and self._reading.decimal.get(name, ".") == "."

    def read(self, content: bytes) -> Parsed | None:
        """Return the columns of whole lines, or None if the general reader must look at them."""
        if not self.able:
            return None
        found = _csv_fast.lines(content, self._dialect.separator, self._kinds, self._marks)
        if isinstance(found, int):
            # Very many texts in one column will not become fewer further down.
            self.able = found == 0
            return None
        try:
            columns = {n: self._column(n, own) for n, own in zip(self._names, found, strict=True)}
        except TableError:
            return None  # the general reader says it, and in which row of the file
        return Parsed(columns, self._dialect.notes)

    def _column(self, name: str, found: object) -> Raw:
        if isinstance(found, tuple):
            separator = self._dialect.separator
            return settle(name, Words(*found), self._reading, separator).raw
        assert isinstance(found, np.ndarray)
        return Numbers(found)
