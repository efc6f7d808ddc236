"""Infer the kind of a column from its cells; find identifiers and what looks odd."""

from __future__ import annotations

import re

import numpy as np

from countwise._typing import FloatArray
from countwise.errors import listing
from countwise.notes import Note
from countwise.tables.raw_columns import Numbers, Raw, Words
from countwise.tables.schema import Kind
from countwise.tables.words import count_words

#: With fewer rows an identifier looks like any column whose values happen to differ.
FEWEST_ROWS = 8
MANY_LEVELS = 1000

_ORDERS = {"": "", "ymd": "", "time": "", "dmy": ", the day first", "mdy": ", the month first"}
_NAME_HINT = re.compile(
    r"(^|[\W_])(id|ids|identifier|key|uuid|guid|serial|code|number|no|nr)$"
    r"|^(name|id)$|[\W_]name$"
    r"|^(customer|user|client|patient|order|account|person|member|record|row|case|sample|item|"
    r"transaction|product|employee|student|subject|invoice|session|device)_?(id|no|nr)$",
    re.IGNORECASE,
)


#: A column of free text has at least this many words a row, and this share of rows differ.
_FEWEST_WORDS, _MOSTLY_UNIQUE = 4.0, 0.5


def kind_of(name: str, raw: Raw) -> Kind:
    """Return the kind of a column: numbers are numeric, sentences text, all else is nominal."""
    return "text" if isinstance(raw, Words) and _is_prose(name, raw) else plain_kind(raw)


def plain_kind(raw: Raw) -> Kind:
    """Return the kind of a column that holds no sentences."""
    return "numeric" if isinstance(raw, Numbers) else "nominal"


def _is_prose(name: str, raw: Words) -> bool:
    """Return whether a column holds many texts of several words that mostly differ."""
    rows = int(np.count_nonzero(raw.codes >= 0))
    if raw.declared or rows < FEWEST_ROWS or len(raw.distinct) < _MOSTLY_UNIQUE * rows:
        return False
    return not _has_id_name(name) and count_words(raw.distinct) >= _FEWEST_WORDS


def why_identifier(name: str, raw: Raw, named_only: bool = False) -> str | None:
    """Return why a column identifies rows; None for numbers that merely take many values.

    With `named_only` numbers identify rows only if their name says so.
    """
    if isinstance(raw, Words):
        rows, distinct = int(np.count_nonzero(raw.codes >= 0)), len(raw.distinct)
        fraction = 0.8 if _has_id_name(name) else 0.9
        if raw.declared or rows < FEWEST_ROWS or distinct < fraction * rows:
            return None
        return f"it holds {distinct} different texts in {rows} rows"
    if named_only and not _has_id_name(name):
        return None
    values = raw.values[~np.isnan(raw.values)]
    rows = len(values)
    # The first values tell of most columns that they hold fractions.
    if rows < FEWEST_ROWS or raw.dates or not (_are_whole(values[:100]) and _are_whole(values)):
        return None
    with np.errstate(invalid="ignore"):
        if values.max() - values.min() + 1 < 0.8 * rows:  # there are no more whole numbers
            return None
    distinct = len(np.unique(values))
    about = f"{distinct} different whole numbers in {rows} rows"
    if distinct == rows and values.min() in (0, 1) and values.max() - values.min() + 1 == rows:
        return f"it numbers the rows ({about})"
    if distinct >= 0.8 * rows and (_has_id_name(name) or raw.rounded is not None):
        return f"its name and its {about} say so"
    return None


def _are_whole(values: FloatArray) -> bool:
    return bool(np.all(values == np.trunc(values)))


def _has_id_name(name: str) -> bool:
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)
    return _NAME_HINT.search(spaced) is not None


def note_oddities(name: str, raw: Raw, kind: str) -> list[Note]:
    """Return notes about a column that stays: constant, empty, rounded, dates, very many levels."""
    notes = list(raw.notes)
    if isinstance(raw, Numbers):
        seen = raw.values[~np.isnan(raw.values)]
        low, high = (float(seen.min()), float(seen.max())) if seen.size else (0.0, 0.0)
        empty, constant = seen.size == 0, seen.size > 0 and low == high
        if raw.rounded is not None:
            notes.append(Note.of("T05", name, value=raw.rounded))
        if raw.dates and not empty:
            notes.append(Note.of("T06", name, order=_ORDERS[raw.written.get("date_order", "")]))
        if raw.marks:
            named, cells = listing(raw.marks), sum(raw.marks.values())
            notes.append(Note.of("T21", name, marks=named, cells=cells))
        is_measured = kind == "numeric" and not raw.dates and seen.size > 20 and low < high
        if is_measured and all(
            np.all((part == low) | (part == high)) for part in (seen[:100], seen)
        ):
            notes.append(Note.of("T09", name, low=low, high=high))
    else:
        occurring = int(np.count_nonzero(raw.counts))
        empty, constant = occurring == 0, occurring == 1
        if occurring > MANY_LEVELS and kind != "text":
            notes.append(Note.of("T07", name, levels=occurring))
    if empty:
        notes.append(Note.of("T08", name))
    if constant:
        notes.append(Note.of("T02", name))
    return notes
