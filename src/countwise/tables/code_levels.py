"""From raw columns to codes and doubles, under the column a schema or a profile decided on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.errors import TableError
from countwise.tables.raw_columns import Numbers, Raw, Words
from countwise.tables.schema import MISSING_MARKS, MISSING_VALUE, Column, Level, level_key
from countwise.tables.table import code_type
from countwise.tables.text_values import iso_days, without_marks

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?|[+-]?inf(inity)?", re.IGNORECASE)
_DENSE = 1 << 16
#: Squares and sums of larger numbers would not fit in a double.
LARGEST = 1e140


def as_number(text: str, decimal: str = ".") -> float | None:
    """Read a number as people write it, or return None."""
    trimmed = text.strip()
    if decimal != ".":
        trimmed = trimmed.replace(decimal, ".")
    return float(trimmed) if _NUMBER.fullmatch(trimmed) else None


def in_order(levels: Iterable[Level]) -> list[Level]:
    """Sort levels: by value where they are numbers or read like numbers, else by text."""
    every = list(levels)
    if every and all(isinstance(level, str) for level in every):
        sizes = [as_number(str(level)) for level in every]
        if all(size is not None for size in sizes):
            return [
                level
                for _, _, level in sorted((s, str(v), v) for s, v in zip(sizes, every, strict=True))
            ]
        return sorted(every, key=str)
    return by_value(every)


def by_value(levels: Iterable[Level]) -> list[Level]:
    """Sort labels as scikit-learn does, by value; labels of several types by type, then text."""
    every = list(levels)
    try:
        return sorted(every, key=lambda level: (level, level_key(level)[0]))
    except TypeError:
        return sorted(every, key=lambda level: (level_key(level)[0], str(level)))


def words(name: str, raw: Raw, column: Column) -> Words:
    """Return the column as words with missing marks taken out; declared levels are never marks."""
    if isinstance(raw, Numbers):
        return _words_of_numbers(_unmarked(raw, column))
    if raw.declared:
        return raw
    marks = set(column.missing)
    gone = [
        isinstance(level, str) and (level in marks or level.strip() in marks)
        for level in raw.distinct
    ]
    if not any(gone):
        return raw
    kept = [level for level, out in zip(raw.distinct, gone, strict=True) if not out]
    place = np.full(len(gone) + 1, -1, dtype=np.int64)
    place[:-1][~np.asarray(gone)] = np.arange(len(kept))
    return Words(place[raw.codes], tuple(kept), raw.declared)


def _unmarked(raw: Numbers, column: Column) -> Numbers:
    """Take out the numbers that a mark such as '-999' says are missing."""
    if column.missing == MISSING_MARKS:
        return raw
    return without_marks(raw, frozenset(column.missing))


def _words_of_numbers(raw: Numbers) -> Words:
    values = raw.values
    blank = np.isnan(values)
    if raw.exact is not None:
        integers, inverse = np.unique(raw.exact[~blank], return_inverse=True)
        codes = np.full(len(values), -1, dtype=np.int64)
        codes[~blank] = inverse
        return Words(codes, tuple(int(value) for value in integers))
    seen = values[~blank]
    codes = np.full(len(values), -1, dtype=np.int64)
    whole = (
        seen.size > 0
        and bool(np.all(seen == np.trunc(seen)))
        and bool(np.all(np.abs(seen) < 2**62))
    )
    low = seen.min() if seen.size else 0.0
    if whole and seen.max() - low < _DENSE:
        offset = (seen - low).astype(np.int64)
        present = np.bincount(offset) > 0
        rank = np.cumsum(present) - 1
        codes[~blank] = rank[offset]
        distinct: list[Any] = (np.flatnonzero(present) + int(low)).tolist()
    else:
        found, inverse = np.unique(seen, return_inverse=True)
        codes[~blank] = inverse
        distinct = [int(v) for v in found] if whole else found.tolist()
    return Words(codes, tuple(distinct))


def numbers(name: str, raw: Raw, column: Column) -> NDArray[np.float64]:
    """Return the column as doubles, NaN where missing; anything else is refused by row."""
    if isinstance(raw, Numbers):
        values = _unmarked(raw, column).values
    else:
        values = _parsed(name, words(name, raw, column), column)
    beyond = np.abs(values) > LARGEST
    if beyond.any():
        row = int(np.argmax(beyond))
        raise TableError(
            f"Table: column {name!r} must hold finite numbers up to {LARGEST:g}, but row {row + 1} "
            f"holds {values[row]:g}. Remove the row, or add the value to missing=."
        )
    return values


def _parsed(name: str, plain: Words, column: Column) -> NDArray[np.float64]:
    """Read words as numbers, or as dates where the column holds those."""
    parsed = np.full(len(plain.distinct) + 1, np.nan)
    days = iso_days([str(level) for level in plain.distinct]) if column.dates else None
    if days is not None:
        parsed[:-1] = days
        return np.asarray(parsed[plain.codes])
    for place, level in enumerate(plain.distinct):
        number = _number_of(level, column.decimal)
        if number is None:
            row = int(np.flatnonzero(plain.codes == place)[:1].sum()) + 1
            what = "holds dates" if column.dates else "is numeric"
            raise TableError(
                f"Table: column {name!r} {what} but row {row} holds {level!r}. "
                "Add it to missing=, declare the column nominal, or leave it out with drop=."
            )
        parsed[place] = number
    return np.asarray(parsed[plain.codes])


def _number_of(level: Level, decimal: str) -> float | None:
    if isinstance(level, str):
        return as_number(level, decimal)
    return float(level)


def code(
    name: str, plain: Words, column: Column, extend: bool
) -> tuple[NDArray[Any], Column, dict[Level, int]]:
    """Code words by the levels of a column.

    Returns the codes, the column (with new levels if `extend`) and how often each level that stayed
    unknown occurs.
    """
    levels = list(column.levels)
    where = [column.place(level) for level in plain.distinct]
    strange = [position for position, found in enumerate(where) if found < 0]
    if extend and strange:
        new = [plain.distinct[position] for position in strange]
        if not plain.declared:
            often = plain.often()
            new = [plain.distinct[p] for p in strange if often[p]]
        new = by_value(new) if column.kind == "target" else new if plain.declared else in_order(new)
        levels = by_value([*levels, *new]) if column.kind == "target" else [*levels, *new]
        column = column.with_levels(levels)
        return code(name, plain, column, extend=False)
    if column.when_missing == "value" and MISSING_VALUE not in column.levels:
        column = column.with_levels([*column.levels, MISSING_VALUE])
    width = column.width
    lookup = np.full(len(where) + 1, width, dtype=code_type(width))
    lookup[:-1] = [width + 1 if found < 0 else found for found in where]
    if column.when_missing == "value":
        lookup[-1] = column.levels.index(MISSING_VALUE)
    codes = lookup[plain.codes]
    return codes, column, _unknown(plain, strange)


def _unknown(plain: Words, strange: Sequence[int]) -> dict[Level, int]:
    if not strange:
        return {}
    often = plain.often()
    return {plain.distinct[p]: int(often[p]) for p in strange if often[p]}
