"""Code raw columns by the levels of a schema, or as doubles; drop rows that cannot be used."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.errors import TableError, shorten
from countwise.notes import Note
from countwise.numeric import read_number
from countwise.tables.infer_schema import MANY_LEVELS
from countwise.tables.raw_columns import Numbers, Raw, Words
from countwise.tables.schema import (
    MISSING_VALUE,
    Column,
    Level,
    Schema,
    by_value,
    level_key,
    level_number,
)
from countwise.tables.table import Table, code_type
from countwise.tables.text_values import drop_marks, parse
from countwise.tables.words import TextCodes, text_codes

_DENSE = 1 << 16
#: Squares and sums of larger numbers would not fit in a double.
LARGEST = 1e140
#: More classes than this are hardly classes, if they are numbers or every second row has a new one.
MANY_CLASSES = 20


def in_order(levels: Iterable[Level]) -> list[Level]:
    """Sort levels: by value where they are numbers or read like numbers, else by text."""
    every = list(levels)
    if every and all(isinstance(level, str) for level in every):
        sizes = [read_number(str(level)) for level in every]
        if None in sizes:
            return sorted(every, key=str)
        return [level for _, level in sorted(zip(sizes, map(str, every), strict=True))]
    return by_value(every)


def words(raw: Raw, column: Column) -> Words:
    """Return the column as words with missing marks taken out; declared levels are never marks."""
    if isinstance(raw, Words) and raw.declared:
        return raw
    unmarked = drop_marks(raw, column.marks)
    return _words_of_numbers(unmarked) if isinstance(unmarked, Numbers) else unmarked


def _words_of_numbers(raw: Numbers) -> Words:
    values = raw.values
    blank = np.isnan(values)
    codes = np.full(len(values), -1, dtype=np.int64)
    if raw.exact is not None:
        integers, codes[~blank] = np.unique(raw.exact[~blank], return_inverse=True)
        return Words(codes, tuple(int(value) for value in integers))
    seen = values[~blank]
    whole = (
        seen.size > 0
        and bool(np.all(seen == np.trunc(seen)))
        and bool(np.all(np.abs(seen) < 2**62))
    )
    low = seen.min() if seen.size else 0.0
    if whole and seen.max() - low < _DENSE:
        offset = (seen - low).astype(np.int64)
        present = np.bincount(offset) > 0
        codes[~blank] = (np.cumsum(present) - 1)[offset]
        distinct: list[Any] = (np.flatnonzero(present) + int(low)).tolist()
    else:
        found, codes[~blank] = np.unique(seen, return_inverse=True)
        distinct = [int(v) for v in found] if whole else found.tolist()
    return Words(codes, tuple(distinct))


def texts(raw: Raw, column: Column) -> TextCodes:
    """Return the column as texts to be split into words, whatever the source held."""
    plain = words(raw, column)
    return text_codes(plain.codes, [str(text) for text in plain.distinct])


def numbers(name: str, raw: Raw, column: Column) -> NDArray[np.float64]:
    """Return the column as doubles, NaN where missing; anything else is refused by row."""
    if isinstance(raw, Words):
        values = parse(words(raw, column), column)
    else:
        unmarked = drop_marks(raw, column.marks)
        assert isinstance(unmarked, Numbers)
        values = unmarked.values
    beyond = np.abs(values) > LARGEST
    if beyond.any():
        row = int(np.argmax(beyond))
        raise TableError(
            f"Table: column {name!r} must hold finite numbers up to {LARGEST:g}; row {row + 1} "
            f"holds {values[row]:g}.",
            hint=("remove the row", "add the value to `missing=`"),
        )
    return values


def fold_case(plain: Words, column: Column) -> Words:
    """Make one word of those that differ only in case or blanks, as the levels spell it."""
    spelled = {_folded(level): level for level in reversed(column.levels)}
    counts = plain.counts

    def rank(at: int) -> tuple[int, str]:
        # Of equally frequent spellings the one in small letters stays, whatever the order of rows.
        return -int(counts[at]), str(plain.distinct[at]).swapcase()

    for at in sorted(range(len(counts)), key=rank):
        spelled.setdefault(_folded(plain.distinct[at]), plain.distinct[at])
    place: dict[Level, int] = {}
    kept = [spelled[_folded(level)] for level in plain.distinct]
    new = np.array([*(place.setdefault(level, len(place)) for level in kept), -1], np.int64)
    return Words(new[plain.codes], tuple(place), plain.declared)


def note_spellings(name: str, plain: Words) -> list[Note]:
    """Return the note that some levels differ only in case or blanks."""
    spellings: dict[Level, list[Level]] = {}
    if len(plain.distinct) <= MANY_LEVELS:
        for level, count in zip(plain.distinct, plain.counts.tolist(), strict=True):
            if count and isinstance(level, str):
                spellings.setdefault(_folded(level), []).append(level)
    alike = [levels for levels in spellings.values() if len(levels) > 1]
    if not alike:
        return []
    pairs = shorten(["/".join(map(repr, levels)) for levels in alike], 3)
    return [Note.of("T24", name, pairs=pairs)]


def _folded(level: Level) -> Level:
    return " ".join(level.casefold().split()) if isinstance(level, str) else level


def code(
    plain: Words, column: Column, extend: bool, given: Column | None = None
) -> tuple[NDArray[Any], Column, dict[Level, int]]:
    """Return codes, the column (with new levels if `extend`) and the counts of unknown levels.

    A level is found by its value, text or number. If the `given` column holds only some of the
    levels, the others came from other rows of one source, and are found by their value alone.
    """
    # Most levels are texts that are known, so they are looked up all at once.
    known = map(column.places.get, zip(repeat("text"), plain.distinct, strict=False))
    where = [
        _place_of(level, column, given) if found is None else found
        for level, found in zip(plain.distinct, known, strict=True)
    ]
    unknown = [position for position, found in enumerate(where) if found < 0]
    counts = plain.counts if unknown else ()
    if extend and unknown:
        new = [plain.distinct[at] for at in unknown if plain.declared or counts[at]]
        if column.kind == "target":
            levels = by_value([*column.levels, *new])
        else:
            levels = [*column.levels, *(new if plain.declared else in_order(new))]
        return code(plain, column.with_levels(levels), False, given)
    if column.when_missing == "value" and MISSING_VALUE not in column.levels:
        column = column.with_levels([*column.levels, MISSING_VALUE])
    width = column.width
    lookup = np.full(len(where) + 1, width, dtype=code_type(width))
    lookup[:-1] = [width + 1 if found < 0 else found for found in where]
    if column.when_missing == "value":
        lookup[-1] = column.levels.index(MISSING_VALUE)
    still_unknown = {plain.distinct[at]: int(counts[at]) for at in unknown if counts[at]}
    return lookup[plain.codes], column, still_unknown


def _place_of(level: Level, column: Column, given: Column | None) -> int:
    """Return the code of a level: one of those given, however it is written, or this very one."""
    if given is None:
        return column.place(level)
    key = level_key(level)
    if key not in column.places and given.levels:
        like = given.place(level)
        key = key if like < 0 else level_key(given.levels[like])
    return column.places.get(key, -1)


def drop_unusable(table: Table) -> Table:
    """Drop the rows that cannot be used, with notes, and refuse a table without attributes."""
    target = table.target_column if table.labelled else None
    keep, dropped = usable_rows(table)
    notes = [*table.notes, *row_notes(table.schema, target, len(table), dropped)]
    kept = table if keep.all() else table.take(keep)
    check_attributes(table.schema)
    return kept.with_notes(notes)


def usable_rows(table: Table) -> tuple[NDArray[np.bool_], dict[str, int]]:
    """Return which rows can be used, and how many are dropped on account of which column."""
    keep, dropped = np.ones(len(table), dtype=bool), dict[str, int]()
    names = [table.target_column.name] if table.labelled else []
    names += [column.name for column in table.schema.attributes if column.when_missing == "drop"]
    for name in names:
        blank = table.missing(name)
        gone = int(np.count_nonzero(blank & keep))
        if gone:
            keep &= ~blank
            dropped[name] = gone
    return keep, dropped


def row_notes(
    schema: Schema, target: Column | None, rows: int, dropped: Mapping[str, int]
) -> list[Note]:
    """Return notes on dropped rows and odd classes; refuse rows of which none has a class."""
    notes: list[Note] = []
    if target is not None:
        if target.width == 0 and rows:
            raise TableError(
                f"Table: column {target.name!r} is the class; it is missing in every row.",
                hint="Name another `target=`.",
            )
        if target.name in dropped:
            notes.append(Note.of("T03", target.name, dropped=dropped[target.name], rows=rows))
        if target.width > MANY_CLASSES and (
            target.width > 0.5 * rows
            or all(level_number(level) is not None for level in target.levels)
        ):
            notes.append(Note.of("T13", target.name, classes=target.width, rows=rows))
        if target.width == 1:
            notes.append(Note.of("T12", target.name, label=target.levels[0]))
    return notes + [
        Note.of("T04", column.name, dropped=dropped[column.name])
        for column in schema.attributes
        if column.name in dropped
    ]


def check_attributes(schema: Schema) -> None:
    """Refuse a table that has no column beside its class."""
    if not schema.attributes:
        raise TableError(
            "Table: there must be at least one nominal, numeric or text column besides the class; "
            "none is left.",
            hint=("check `target=` and `drop=`", "read the notes about identifiers"),
        )
