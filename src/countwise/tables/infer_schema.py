"""Infer the kind of a column from its cells; find identifiers and what looks odd."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from countwise.errors import listing
from countwise.notes import Note
from countwise.tables.raw_columns import Numbers, Raw, Words
from countwise.tables.schema import Kind
from countwise.tables.words import count_words

if TYPE_CHECKING:
    from countwise.tables.survey import ColumnSurvey

#: What decides the kind of a column: the facts of one in memory, or of parts put together.
Facts: TypeAlias = "RawFacts | ColumnSurvey"
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


class RawFacts:
    """The facts of a column in memory, each found when it is asked for.

    Attributes
    ----------
    is_number, declared
        Whether it holds numbers, otherwise texts or booleans; whether the source declares its
        levels.
    dates, date_order
        Whether its numbers are days, and how they are written.
    rounded
        A whole number that a double could not hold, if there is one.
    marks
        The texts among numbers that were taken as missing, and how often.
    notes
        What is odd about its cells.
    """

    def __init__(self, raw: Raw) -> None:
        self._raw = raw
        self.is_number = isinstance(raw, Numbers)
        self.notes = raw.notes
        self.declared = isinstance(raw, Words) and raw.declared
        self.dates, self.rounded, self.marks = False, None, dict[str, int]()
        self.date_order = ""
        if isinstance(raw, Numbers):
            self.dates, self.rounded, self.marks = raw.dates, raw.rounded, dict(raw.marks)
            self.date_order = raw.written.get("date_order", "")

    @cached_property
    def _values(self) -> NDArray[np.float64]:
        assert isinstance(self._raw, Numbers)
        return self._raw.values[~np.isnan(self._raw.values)]

    @property
    def rows(self) -> int:
        """The cells that hold a value."""
        if isinstance(self._raw, Numbers):
            return len(self._values)
        return int(np.count_nonzero(self._raw.codes >= 0))

    @property
    def distinct(self) -> int:
        """The different values."""
        raw = self._raw
        return len(np.unique(self._values)) if isinstance(raw, Numbers) else len(raw.distinct)

    @property
    def occurring(self) -> int:
        """The different texts that occur."""
        return int(np.count_nonzero(self._raw.counts)) if isinstance(self._raw, Words) else 0

    @property
    def texts(self) -> Sequence[Any]:
        """The different texts."""
        return self._raw.distinct if isinstance(self._raw, Words) else ()

    @property
    def is_whole(self) -> bool:
        """Whether all numbers are whole; the first ones tell of most columns that they are not."""
        parts = (self._values[:100], self._values)
        return all(bool(np.all(part == np.trunc(part))) for part in parts)

    @cached_property
    def low(self) -> float:
        """The least number."""
        return float(self._values.min())

    @cached_property
    def high(self) -> float:
        """The largest number."""
        return float(self._values.max())

    @property
    def is_two_valued(self) -> bool:
        """Whether no number lies between the least and the largest."""
        parts = (self._values[:100], self._values)
        return all(bool(np.all((part == self.low) | (part == self.high))) for part in parts)


def decide_kind(
    name: str, facts: Facts, kind: Kind, identifiers: str, is_array: bool = False
) -> tuple[Kind, list[Note]]:
    """Return what a column is taken as, and notes; its kind is inferred if it is ``infer``."""
    notes: list[Note] = []
    if kind == "infer":
        kind = _infer_kind(name, facts)
        if kind == "text":
            notes.append(Note.of("W01", name, texts=facts.distinct))
        elif not (identifiers == "keep" or is_array):
            why = _why_identifier(name, facts, identifiers == "drop named")
            if why is not None:
                return "id", [Note.of("T01", name, why=why)]
    return kind, [*notes, *(() if is_array else _note_oddities(name, facts, kind))]


def plain_kind(raw: Raw) -> Kind:
    """Return the kind of a column that holds no sentences."""
    return "numeric" if isinstance(raw, Numbers) else "nominal"


def _infer_kind(name: str, facts: Facts) -> Kind:
    """Return the kind of a column: numbers are numeric, sentences text, all else is nominal."""
    if facts.is_number:
        return "numeric"
    return "text" if _is_prose(name, facts) else "nominal"


def _is_prose(name: str, facts: Facts) -> bool:
    """Return whether a column holds many texts of several words that mostly differ."""
    rows = facts.rows
    if facts.declared or rows < FEWEST_ROWS or facts.distinct < _MOSTLY_UNIQUE * rows:
        return False
    return not has_id_name(name) and count_words(facts.texts) >= _FEWEST_WORDS


def _why_identifier(name: str, facts: Facts, named_only: bool = False) -> str | None:
    """Return why a column identifies rows; None for numbers that merely take many values.

    With `named_only` numbers identify rows only if their name says so.
    """
    rows = facts.rows
    if not facts.is_number:
        distinct, fraction = facts.distinct, 0.8 if has_id_name(name) else 0.9
        if facts.declared or rows < FEWEST_ROWS or distinct < fraction * rows:
            return None
        return f"it holds {min(distinct, rows)} different texts in {rows} rows"
    if named_only and not has_id_name(name):
        return None
    if rows < FEWEST_ROWS or facts.dates or not facts.is_whole:
        return None
    with np.errstate(invalid="ignore"):
        if facts.high - facts.low + 1 < 0.8 * rows:  # there are no more whole numbers
            return None
    distinct = facts.distinct
    # Of rows outside memory the number is estimated, and may be too large.
    about = f"{min(distinct, rows)} different whole numbers in {rows} rows"
    if distinct == rows and facts.low in (0, 1) and facts.high - facts.low + 1 == rows:
        return f"it numbers the rows ({about})"
    if distinct >= 0.8 * rows and (has_id_name(name) or facts.rounded is not None):
        return f"its name and its {about} say so"
    return None


def has_id_name(name: str) -> bool:
    """Return whether the name of a column says that it identifies rows."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)
    return _NAME_HINT.search(spaced) is not None


def _note_oddities(name: str, facts: Facts, kind: str) -> list[Note]:
    """Return notes about a column that stays: constant, empty, rounded, dates, very many levels."""
    notes = list(facts.notes)
    if facts.is_number:
        rows = facts.rows
        empty, constant = rows == 0, rows > 0 and facts.low == facts.high
        is_number = kind == "numeric"
        if is_number and facts.rounded is not None:
            notes.append(Note.of("T05", name, value=facts.rounded))
        if is_number and facts.dates and not empty:
            notes.append(Note.of("T06", name, order=_ORDERS[facts.date_order]))
        if is_number and facts.marks:
            named, cells = listing(facts.marks), sum(facts.marks.values())
            notes.append(Note.of("T21", name, marks=named, cells=cells))
        is_measured = is_number and not facts.dates and rows > 20
        if is_measured and not constant and facts.is_two_valued:
            notes.append(Note.of("T09", name, low=facts.low, high=facts.high))
    else:
        occurring = facts.occurring
        empty, constant = occurring == 0, occurring == 1
        if occurring > MANY_LEVELS and kind != "text":
            notes.append(Note.of("T07", name, levels=occurring))
    if empty:
        notes.append(Note.of("T08", name))
    if constant:
        notes.append(Note.of("T02", name))
    return notes
