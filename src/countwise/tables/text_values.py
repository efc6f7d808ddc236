"""What a column of text cells holds: numbers, dates or levels.

Everything here looks at the distinct texts of a column, never at its rows one by one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from countwise.errors import TableError
from countwise.tables.raw_columns import Numbers, Raw, Words
from countwise.tables.read_options import Reading

WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
NUMBER = re.compile(
    r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|inf(?:inity)?)", re.ASCII | re.IGNORECASE
)
COMMA = re.compile(r"[+-]?(?:\d+,?\d*|,\d+)(?:e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
_PLAIN_COMMA = re.compile(r"[+-]?\d+,\d+", re.ASCII)
_THOUSANDS = re.compile(r"[+-]?\d{1,3},\d{3}", re.ASCII)
_DATE = re.compile(r"\d{4}([-/])\d\d\1\d\d(?:[ T]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?Z?)?", re.ASCII)
_EXACT = 2**53
_MOSTLY, _MANY = 0.95, 20
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Settled(NamedTuple):
    """A column and whether its numbers were found to be written with a decimal comma."""

    raw: Raw
    comma: bool = False


def settle(
    name: str, words: Words, reading: Reading, separator: str = ",", offset: int = 0
) -> Settled:
    """Decide what a column of text cells holds and turn it into that.

    `words` holds the cells as written; `offset` is the number of rows read before these. A column
    that is undeclared is numbers or dates if every cell is one. If nearly every cell is a number
    it is refused, because one stray text would turn a measurement into thousands of levels.
    """
    texts = [str(text).strip() for text in words.distinct]
    marks = reading.marks_of(name)
    missing = [text in marks or not seen for text, seen in zip(texts, _seen(words), strict=True)]
    if name in reading.text:
        return Settled(_levels(words, texts, missing))
    if name in reading.dates:
        return Settled(as_dates(name, words, texts, missing, offset))
    present = [text for text, gone in zip(texts, missing, strict=True) if not gone]
    if not present:
        return Settled(Numbers(np.full(len(words), np.nan)))
    sign = reading.decimal.get(name)
    comma = sign == "," if sign else looks_comma(present, separator)
    if name in reading.number:
        numbers = as_numbers(name, words, texts, missing, comma, offset)
        return Settled(numbers, comma and sign is None)
    pattern = COMMA if comma else NUMBER
    hits = [bool(pattern.fullmatch(text)) for text in texts]
    if all(hit or gone for hit, gone in zip(hits, missing, strict=True)):
        numbers = as_numbers(name, words, texts, missing, comma, offset)
        return Settled(numbers, comma and sign is None)
    dated = iso_days(present)
    if dated is not None:
        day = iter(dated.tolist())
        found = [None if gone else next(day) for gone in missing]
        return Settled(Numbers(_spread(words, found), dates=True))
    _refuse_nearly_numbers(name, words, hits, missing, offset)
    return Settled(_levels(words, texts, missing))


def looks_comma(present: Sequence[str], separator: str) -> bool:
    """Return whether the cells are numbers with a decimal comma rather than a point.

    Only files separated by ``;`` or a tab are suspected. In a tab-separated file ``1,234`` may as
    well mean a thousand, so a column of nothing else is left as text.
    """
    if separator not in (";", "\t"):
        return False
    commas = [text for text in present if _PLAIN_COMMA.fullmatch(text)]
    if not commas or any(NUMBER.fullmatch(t) and not WHOLE.fullmatch(t) for t in present):
        return False
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
    pattern = COMMA if comma else NUMBER
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
            f"Table: column {name!r} holds dates but row {row + offset} holds {text!r}. Write it "
            "as YYYY-MM-DD or YYYY-MM-DD HH:MM:SS, or add it to missing=."
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
    return (moment.replace(tzinfo=UTC) - _EPOCH).total_seconds() / 86_400


def iso_days(distinct: Sequence[str]) -> NDArray[np.float64] | None:
    """Return days since 1970-01-01 if every text is an ISO date or time; None if any is not.

    What counts as a date is what makes a CSV column one; blanks around a text do not matter. No
    text at all makes no dates.
    """
    found: list[float] = []
    for text in distinct:
        day = days(text.strip())
        if day is None:
            return None
        found.append(day)
    return np.asarray(found, dtype=np.float64) if found else None


def marked(words: Words, marks: frozenset[str]) -> Words:
    """Make the missing marks among the levels missing, leaving every other level as written.

    A mark that is a number also takes out the level that is this number. Levels that no row holds
    go too, unless the source declared them.
    """
    seen = [True] * len(words.distinct) if words.declared else _seen(words)
    numbers = _numbers_among(marks)
    gone = [
        not there or (level.strip() in marks if isinstance(level, str) else _among(level, numbers))
        for level, there in zip(words.distinct, seen, strict=True)
    ]
    if not any(gone):
        return words
    kept = tuple(level for level, out in zip(words.distinct, gone, strict=True) if not out)
    place = np.cumsum([not out for out in gone]) - 1
    place[np.asarray(gone)] = -1
    return Words(_lookup(place, words.codes, -1), kept, words.declared)


def without_marks(column: Numbers, marks: frozenset[str]) -> Numbers:
    """Make the numbers missing that a mark names, such as ``-999``; dates are no numbers here."""
    numbers = _numbers_among(marks)
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


def _numbers_among(marks: frozenset[str]) -> frozenset[float]:
    return frozenset(float(mark) for mark in marks if NUMBER.fullmatch(mark))


def _among(level: Any, numbers: frozenset[float]) -> bool:
    return not isinstance(level, bool) and isinstance(level, int | float) and level in numbers


def _seen(words: Words) -> list[bool]:
    # A block of a longer column may carry the distinct texts of its neighbours.
    held = words.codes[words.codes >= 0]
    seen: list[bool] = (np.bincount(held, minlength=len(words.distinct)) > 0).tolist()
    return seen


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
        f"Table: column {name!r} is numeric but row {row + offset} holds {text!r}. "
        "Add it to missing=, declare the column nominal, or leave it out with drop=."
    )


def _refuse_nearly_numbers(
    name: str, words: Words, hits: Sequence[bool], missing: Sequence[bool], offset: int
) -> None:
    if sum(hits) <= _MANY:
        return
    held = words.codes[words.codes >= 0]
    counts = np.bincount(held, minlength=len(words.distinct))
    number = np.asarray(hits) & ~np.asarray(missing)
    cells = counts[~np.asarray(missing)].sum()
    if number.sum() > _MANY and counts[number].sum() >= _MOSTLY * cells:
        bad = [not hit and not gone for hit, gone in zip(hits, missing, strict=True)]
        raise _no_number(name, words, bad, offset)
