"""Turn a column of text cells into the numbers, dates or levels it holds.

Everything here looks at the distinct texts of a column, never at its rows one by one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.errors import TableError
from countwise.numeric import COMMA_NUMBER, NUMBER, WHOLE, read_number
from countwise.tables.raw_columns import Numbers, Raw, Words, missing_numbers
from countwise.tables.read_options import ReadOptions

_PLAIN_COMMA = re.compile(r"[+-]?\d+,\d+", re.ASCII)
_THOUSANDS = re.compile(r"[+-]?\d{1,3},\d{3}", re.ASCII)
_DATE = re.compile(r"\d{4}([-/])\d\d\1\d\d(?:[ T]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?Z?)?", re.ASCII)
_EXACT = 2**53
_MOSTLY, _MANY = 0.95, 20
#: Ways to mend a text in a numeric column.
NOT_A_NUMBER = (
    "add it to `missing=`",
    "declare the column nominal with `nominal=`",
    "leave it out with `drop=`",
)
_EPOCH = datetime(1970, 1, 1)


def settle(
    name: str, words: Words, options: ReadOptions, separator: str = ",", offset: int = 0
) -> Raw:
    """Turn a column of text cells, after `offset` other rows, into what it holds."""
    column = options.column(name)
    texts = [str(text).strip() for text in words.distinct]
    marks = options.marks(name)
    missing = [text in marks or not used for text, used in zip(texts, _used(words), strict=True)]
    if column.coded or column.kind == "text":
        return _levels(words, texts, missing)
    if column.dates:
        return as_dates(name, words, texts, missing, offset)
    present = [text for text, gone in zip(texts, missing, strict=True) if not gone]
    if not present:
        return missing_numbers(len(words))
    comma = column.decimal == "," if column.decimal else has_commas(present, separator)
    pattern = COMMA_NUMBER if comma else NUMBER
    hits = [bool(pattern.fullmatch(text)) for text in texts]
    if column.kind == "numeric" or all(
        hit or gone for hit, gone in zip(hits, missing, strict=True)
    ):
        numbers = as_numbers(name, words, texts, missing, comma, offset)
        return replace(numbers, comma=True) if comma and column.decimal is None else numbers
    days_found = iso_days(present)
    if days_found is not None:
        day = iter(days_found.tolist())
        found = [None if gone else next(day) for gone in missing]
        return Numbers(_spread(words, found), dates=True)
    _refuse_nearly_numbers(name, words, hits, missing, offset)
    return _levels(words, texts, missing)


def has_commas(present: Sequence[str], separator: str) -> bool:
    """Return whether the cells are numbers with a decimal comma rather than a point."""
    if separator not in (";", "\t"):
        return False
    commas = [text for text in present if _PLAIN_COMMA.fullmatch(text)]
    if not commas or any(NUMBER.fullmatch(t) and not WHOLE.fullmatch(t) for t in present):
        return False
    # Between tabs 1,234 may as well mean a thousand, so a column of nothing else is left as text.
    return separator == ";" or not all(_THOUSANDS.fullmatch(text) for text in commas)


def as_numbers(
    name: str,
    words: Words,
    texts: Sequence[str],
    missing: Sequence[bool],
    comma: bool = False,
    offset: int = 0,
) -> Numbers:
    """Turn a column whose cells must all be numbers into that, or name the first that is none."""
    pattern = COMMA_NUMBER if comma else NUMBER
    bad = [not gone and not pattern.fullmatch(t) for t, gone in zip(texts, missing, strict=True)]
    if any(bad):
        raise _no_number(name, words, bad, offset)
    whole, rounded, values = True, None, list[float | None]()
    for text, gone in zip(texts, missing, strict=True):
        if gone:
            values.append(None)
            continue
        value = float(text.replace(",", ".") if comma else text)
        values.append(value)
        if not WHOLE.fullmatch(text):
            whole = False
        elif abs(value) >= _EXACT and value not in (np.inf, -np.inf):
            exact = int(text.lstrip("+-0") or "0") * (-1 if value < 0 else 1)
            if abs(exact) > max(_EXACT, abs(rounded or 0)):
                rounded = exact
    return Numbers(_spread(words, values), whole and not all(missing), rounded)


def as_dates(
    name: str, words: Words, texts: Sequence[str], missing: Sequence[bool], offset: int = 0
) -> Numbers:
    """Turn a column whose cells must all be ISO dates into days since 1970-01-01."""
    found = [None if gone else days(text) for text, gone in zip(texts, missing, strict=True)]
    bad = [not gone and day is None for day, gone in zip(found, missing, strict=True)]
    if any(bad):
        row, text = _first(words, bad)
        raise TableError(
            f"Table: column {name!r} holds dates but row {row + offset} holds {text!r}.",
            hint=("write it as YYYY-MM-DD or YYYY-MM-DD HH:MM:SS", "add it to `missing=`"),
        )
    return Numbers(_spread(words, found), dates=True)


def days(text: str) -> float | None:
    """Return an ISO date or time as days since 1970-01-01, or None if it is none."""
    if not _DATE.fullmatch(text):
        return None
    try:
        moment = datetime.fromisoformat(text.replace("/", "-").rstrip("Z"))
    except ValueError:
        return None
    return days_since_epoch(moment)


def days_since_epoch(moment: datetime) -> float:
    """Return a time as days since 1970-01-01."""
    return (moment - _EPOCH).total_seconds() / 86_400


def iso_days(distinct: Sequence[str]) -> NDArray[np.float64] | None:
    """Return days since 1970-01-01 if every text is an ISO date or time; else, or if none, None."""
    found: list[float] = []
    for text in distinct:
        day = days(text.strip())
        if day is None:
            return None
        found.append(day)
    return np.asarray(found) if found else None


@cache
def numbers_among(marks: frozenset[str], comma: bool = False) -> frozenset[float]:
    """Return the numbers that missing marks such as ``-999`` name."""
    found = (read_number(mark, "," if comma else None) for mark in marks)
    return frozenset(number for number in found if number is not None)


def drop_marks(raw: Raw, marks: frozenset[str]) -> Raw:
    """Make the cells missing that hold a missing mark, or a number that a mark names."""
    numbers = numbers_among(marks)
    if isinstance(raw, Numbers):
        return _drop_numbers(raw, numbers)

    def is_mark(level: Any) -> bool:
        if isinstance(level, str):
            return level.strip() in marks
        return not isinstance(level, bool) and level in numbers

    return _without(raw, [is_mark(level) for level in raw.distinct])


def drop_unused(words: Words) -> Words:
    """Drop the levels that no row holds, unless the source declared them."""
    return words if words.declared else _without(words, [not used for used in _used(words)])


def _without(words: Words, gone: Sequence[bool]) -> Words:
    if not any(gone):
        return words
    kept = tuple(level for level, out in zip(words.distinct, gone, strict=True) if not out)
    place = np.cumsum(~np.asarray(gone)) - 1
    place[np.asarray(gone)] = -1
    return Words(_lookup(place, words.codes, -1), kept, words.declared)


def _drop_numbers(column: Numbers, numbers: frozenset[float]) -> Numbers:
    if not numbers or column.dates:
        return column
    gone = np.isin(column.values, list(numbers))
    if not gone.any():
        return column
    values = np.where(gone, np.nan, column.values)
    rounded = column.rounded
    if rounded is not None and float(rounded) in numbers:
        # What was rounded most was a mark, so the next one takes its place.
        large = values[np.isfinite(values) & (np.abs(values) > _EXACT)]
        rounded = int(max(large, key=abs)) if large.size else None
    exact = None if column.exact is None or rounded is None else column.exact.copy()
    if exact is not None:
        exact[gone] = None
    return Numbers(values, column.whole, rounded, exact=exact)


def _used(words: Words) -> list[bool]:
    # A block of a longer column may carry the distinct texts of other blocks.
    used: list[bool] = (words.counts() > 0).tolist()
    return used


def _levels(words: Words, texts: Sequence[str], missing: Sequence[bool]) -> Words:
    if tuple(texts) == words.distinct and not any(missing):
        return words
    place: dict[str, int] = {}
    new = [
        -1 if gone else place.setdefault(text, len(place))
        for text, gone in zip(texts, missing, strict=True)
    ]
    return Words(_lookup(np.asarray(new, np.int32), words.codes, -1), tuple(place))


def _spread(words: Words, values: Sequence[float | None]) -> NDArray[np.float64]:
    table = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    return _lookup(table, words.codes, np.nan)


def _lookup(table: NDArray[Any], codes: NDArray[Any], empty: float) -> NDArray[Any]:
    # Code -1, an empty cell, takes the last entry.
    ended: NDArray[Any] = np.append(table, np.asarray(empty, table.dtype))[codes]
    return ended


def _first(words: Words, flags: Sequence[bool]) -> tuple[int, Any]:
    hit = np.append(np.asarray(flags, dtype=bool), False)[words.codes]
    at = int(np.argmax(hit))
    return at + 1, words.distinct[int(words.codes[at])]


def _no_number(name: str, words: Words, bad: Sequence[bool], offset: int) -> TableError:
    row, text = _first(words, bad)
    return TableError(
        f"Table: column {name!r} is numeric but row {row + offset} holds {text!r}.",
        hint=NOT_A_NUMBER,
    )


def _refuse_nearly_numbers(
    name: str, words: Words, hits: Sequence[bool], missing: Sequence[bool], offset: int
) -> None:
    # One stray text would turn a measurement into thousands of levels.
    if sum(hits) <= _MANY:
        return
    counts = words.counts()
    number = np.asarray(hits) & ~np.asarray(missing)
    cells = counts[~np.asarray(missing)].sum()
    if number.sum() > _MANY and counts[number].sum() >= _MOSTLY * cells:
        bad = [not hit and not gone for hit, gone in zip(hits, missing, strict=True)]
        raise _no_number(name, words, bad, offset)
