"""What a file reader is told and what it hands over."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from countwise.errors import ParameterError, TableError, did_you_mean, listing
from countwise.notes import Note
from countwise.tables.raw_columns import Raw
from countwise.tables.schema import MISSING_MARKS, Column, Kind, WhenMissing


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


Names = Iterable[str | int] | str
Mark = str | int | float
Marks = Mark | Iterable[Mark] | Mapping[str, Mark | Iterable[Mark]]


@dataclass(frozen=True)
class Wishes:
    """What the caller asked for, column by column."""

    nominal: frozenset[str | int] = frozenset()
    numeric: frozenset[str | int] = frozenset()
    drop: frozenset[str | int] = frozenset()
    marks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    all_marks: tuple[str, ...] = MISSING_MARKS
    when: Mapping[str, WhenMissing] = field(default_factory=dict)
    all_when: WhenMissing = "omit"
    keep_identifiers: bool = False
    every_nominal: bool = False
    levels: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    given_labels: bool = False

    @classmethod
    def of(
        cls,
        nominal: Names,
        numeric: Names,
        drop: Names,
        missing: Marks | None,
        when_missing: WhenMissing | Mapping[str, WhenMissing],
        identifiers: str,
    ) -> Wishes:
        """Sort out the arguments of `read`."""
        if identifiers not in ("drop", "keep"):
            raise ParameterError(
                f"read: identifiers must be 'drop' or 'keep', but {identifiers!r} came."
            )
        by_column = isinstance(missing, Mapping)
        return cls(
            nominal=frozenset()
            if isinstance(nominal, str) and nominal == "all"
            else _names(nominal),
            numeric=_names(numeric),
            drop=_names(drop),
            marks={name: _marks(marks) for name, marks in missing.items()}
            if isinstance(missing, Mapping)
            else {},
            all_marks=MISSING_MARKS if missing is None or by_column else _marks(missing),
            when=dict(when_missing) if isinstance(when_missing, Mapping) else {},
            all_when="omit" if isinstance(when_missing, Mapping) else when_missing,
            keep_identifiers=identifiers == "keep",
            every_nominal=isinstance(nominal, str) and nominal == "all",
        )

    def by_name(self, names: Sequence[str]) -> Wishes:
        """Resolve positions to names and refuse columns that are not there."""

        def resolve(wanted: Iterable[str | int], who: str) -> frozenset[str | int]:
            return frozenset(resolved(item, names, who) for item in wanted)

        for who, wanted in (("missing", self.marks), ("when_missing", self.when)):
            for item in wanted:
                resolved(item, names, who)
        wishes = replace(
            self,
            nominal=resolve(self.nominal, "nominal"),
            numeric=resolve(self.numeric, "numeric"),
            drop=resolve(self.drop, "drop"),
        )
        both = sorted(str(n) for n in wishes.nominal & wishes.numeric)
        if both:
            raise ParameterError(
                f"read: a column is nominal or numeric, but {listing(both)} came as both. Keep one."
            )
        return wishes

    def column(self, name: str, kind: Kind) -> Column:
        """Return the column of this name and kind, with its marks and its choice for missing."""
        when = self.when.get(name, self.all_when)
        if kind == "numeric" and when == "value" and name not in self.when:
            when = "omit"
        if kind == "target":
            when = "omit"
            if self.given_labels:
                return Column(name, kind, missing=())
        return Column(
            name,
            kind,
            self.levels.get(name, ()) if kind == "nominal" else (),
            self.marks.get(name, self.all_marks),
            when,
        )


def _names(given: Names) -> frozenset[str | int]:
    return frozenset([given]) if isinstance(given, str) else frozenset(given)


def _marks(given: Mark | Iterable[Mark]) -> tuple[str, ...]:
    marks = (given,) if isinstance(given, str | int | float) else tuple(given)
    for mark in marks:
        if not isinstance(mark, str | int | float) or isinstance(mark, bool):
            raise ParameterError(
                f"read: missing marks must be texts or numbers, but {mark!r} came."
            )
    return tuple(dict.fromkeys(["", *map(str, marks)]))


def resolved(item: str | int | np.integer[Any], names: Sequence[str], who: str) -> str:
    """Return the name of a column given by name or position; `who` asked for it."""
    if str(item) in names:  # a frame may call its columns 0, 1, 2: names go before positions
        return str(item)
    if (
        isinstance(item, int | np.integer)
        and not isinstance(item, bool)
        and -len(names) <= item < len(names)
    ):
        return names[int(item)]
    raise TableError(
        f"read: {who} names a column {item!r} that is not there.{did_you_mean(item, names)} "
        f"The columns are {listing(names)}."
    )
