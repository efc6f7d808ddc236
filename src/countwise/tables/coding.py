"""From raw columns to codes and doubles, under the column a schema or a profile decided on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.errors import TableError
from countwise.tables.raw import Numbers, Raw, Words
from countwise.tables.schema import MISSING_VALUE, Column, Level
from countwise.tables.table import code_type

__all__ = ["as_number", "code", "in_order", "numbers", "words"]

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?|[+-]?inf(inity)?", re.IGNORECASE)
_DENSE = 1 << 16


def as_number(text: str, decimal: str = ".") -> float | None:
    """Read a number as people write it, or return None.

    Examples
    --------
    >>> as_number(" 00202 "), as_number("1,5", decimal=","), as_number("12a")
    (202.0, 1.5, None)
    """
    trimmed = text.strip()
    if decimal != ".":
        trimmed = trimmed.replace(decimal, ".")
    return float(trimmed) if _NUMBER.fullmatch(trimmed) else None


def in_order(levels: Iterable[Level]) -> list[Level]:
    """Sort levels: by value where they are numbers or read like numbers, else by text.

    Examples
    --------
    >>> in_order(["10", "9", "1"]), in_order(["b", "a"])
    (['1', '9', '10'], ['a', 'b'])
    """
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
        return sorted(every)
    except TypeError:
        return sorted(every, key=lambda level: (type(level).__name__, str(level)))


def words(name: str, raw: Raw, column: Column) -> Words:
    """Return the column as words with missing marks taken out."""
    if isinstance(raw, Numbers):
        return _words_of_numbers(raw)
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


def _words_of_numbers(raw: Numbers) -> Words:
    values = raw.values
    blank = np.isnan(values)
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
        values = raw.values
    else:
        plain = words(name, raw, column)
        parsed = np.full(len(plain.distinct) + 1, np.nan)
        for place, level in enumerate(plain.distinct):
            number = _number_of(level, column.decimal)
            if number is None:
                row = int(np.flatnonzero(plain.codes == place)[:1].sum()) + 1
                raise TableError(
                    f"Table: column {name!r} is numeric but row {row} holds {level!r}. "
                    "Add it to missing=, or declare the column nominal."
                )
            parsed[place] = number
        values = parsed[plain.codes]
    endless = np.isinf(values)
    if endless.any():
        row = int(np.argmax(endless))
        raise TableError(
            f"Table: column {name!r} must hold finite numbers, but row {row + 1} holds "
            f"{values[row]}. Remove the row, or mark the cell as missing."
        )
    return values


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
    place = {_exact(level): position for position, level in enumerate(levels)}
    by_text = {_text(level): position for position, level in enumerate(levels)}
    where: list[int] = []
    strange: list[int] = []
    for position, level in enumerate(plain.distinct):
        found = place.get(_exact(level), by_text.get(_text(level), -1) if levels else -1)
        if found < 0:
            strange.append(position)
        where.append(found)
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


def _exact(level: Level) -> tuple[str, Level]:
    kind = "bool" if isinstance(level, bool) else "text" if isinstance(level, str) else "number"
    return kind, level


def _text(level: Level) -> str:
    if isinstance(level, float) and level.is_integer() and abs(level) < 2**53:
        return str(int(level))
    return str(level).strip()
