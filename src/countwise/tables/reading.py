"""What a file reader is told and what it hands over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from countwise.tables.notes import Note
from countwise.tables.raw import Raw
from countwise.tables.schema import MISSING_MARKS


@dataclass(frozen=True)
class Parsed:
    """The raw columns of a file in file order, with what had to be assumed to read them.

    ``kinds`` holds only what the source itself declares: for ARFF ``nominal``, ``numeric``,
    ``string`` or ``date``. ``decimal`` names the columns in which a decimal comma was assumed.
    """

    columns: dict[str, Raw]
    notes: tuple[Note, ...] = ()
    kinds: dict[str, str] = field(default_factory=dict)
    decimal: dict[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(next(iter(self.columns.values()), ()))


@dataclass(frozen=True)
class Reading:
    """What the caller already knows about the columns of a file."""

    marks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    all_marks: tuple[str, ...] = MISSING_MARKS
    text: frozenset[str] = frozenset()
    number: frozenset[str] = frozenset()
    dates: frozenset[str] = frozenset()
    decimal: Mapping[str, str] = field(default_factory=dict)
    header: bool = True
    separator: str | None = None
    skip: frozenset[str] = frozenset()
    only: frozenset[str] | None = None

    def marks_of(self, name: str) -> frozenset[str]:
        """Return the missing marks of a column, without surrounding blanks."""
        marks = self.marks.get(name, self.all_marks)
        return frozenset(mark.strip() for mark in marks) | {""}

    def marks_given(self, name: str) -> bool:
        """Return whether the missing marks of a column are other than the usual ones."""
        return self.marks_of(name) != frozenset(MISSING_MARKS)

    def skips(self, name: str) -> bool:
        """Return whether the cells of a column are not to be looked at."""
        return name in self.skip or (self.only is not None and name not in self.only)

    def wants(self, name: str) -> bool:
        """Return whether a block must hold the column: it is declared, or none is."""
        return name in self.declared or not self.declared

    @property
    def declared(self) -> frozenset[str]:
        """The columns of which the caller said what they hold."""
        return self.text | self.number | self.dates
