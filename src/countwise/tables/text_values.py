"""Turn a column of text cells into the numbers, dates or levels it holds.

Everything here looks at the distinct texts of a column, never at its rows one by one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.errors import TableError
from countwise.notes import Note
from countwise.numeric import NUMBER, WHOLE, read_number
from countwise.tables.cell_forms import (
    NUMBER_MARKS,
    NumberForm,
    learn_dates,
    learn_numbers,
    read_date,
)
from countwise.tables.raw_columns import Numbers, Raw, Words, missing_numbers
from countwise.tables.read_options import ReadOptions
from countwise.tables.schema import Column, DateOrder, level_text

_PLAIN_COMMA = re.compile(r"[+-]?\d+,\d+", re.ASCII)
_THOUSANDS = re.compile(r"[+-]?\d{1,3},\d{3}", re.ASCII)
#: Whole numbers that begin with a zero are codes.
LEADING_ZERO = re.compile(r"0\d", re.ASCII)
_EXACT = 2**53
#: A column of more than so many different numbers, or dates, holds them if most cells are such.
_MOSTLY, _MANY = 0.8, 20
#: A column of which half the cells are numbers or dates looks like one.
_HALF, _FEW = 0.5, 5
#: Ways to mend a text in a numeric column.
NOT_A_NUMBER = (
    "add it to `missing=`",
    "declare the column nominal with `nominal=`",
    "leave it out with `drop=`",
)


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
    if all(missing):
        return missing_numbers(len(words))
    cells = _Cells(column, words, texts, missing, offset)
    if column.dates or column.date_order:
        return cells.to_dates(column.date_order)
    if column.thousands or column.unit:
        return cells.to_numbers(NumberForm(column.decimal or ".", column.thousands, column.unit))
    if column.decimal or (options.is_schema and column.kind == "numeric"):
        if options.inferred.get(name):
            cells.refuse_codes()
        comma = column.decimal == ","
        if not column.decimal and name not in options.inferred:
            comma = has_commas(cells.present, separator)
        if column.kind == "numeric" or cells.fit(NumberForm("," if comma else ".").read):
            found = {"decimal": ","} if comma and not column.decimal else {}
            return cells.to_numbers(NumberForm("," if comma else "."), found)
        return _levels(words, texts, missing)
    return _infer(cells, options, separator)


def settle_typed(name: str, raw: Raw, options: ReadOptions, offset: int = 0) -> Raw:
    """Turn the texts of a source that knows types into the numbers or dates they are.

    A text that is a plain number was stored as a text on purpose and stays one; a column that also
    holds money, dates or missing marks was not.
    """
    column = options.column(name)
    if not isinstance(raw, Words) or raw.declared or not raw.distinct:
        return raw
    if column.coded or column.kind == "text":
        return raw
    if any(isinstance(level, bool) for level in raw.distinct):
        return raw
    texts = [level_text(level).strip() for level in raw.distinct]
    is_text = all(isinstance(level, str) for level in raw.distinct)
    if is_text and column.kind == "infer" and options.marks(name).issuperset(texts):
        return raw  # a column of texts stays one, also if all of them mean missing
    if column.kind != "numeric" and is_text and all(map(NUMBER.fullmatch, texts)):
        coded = [text for text in texts if LEADING_ZERO.match(text)]
        if coded:
            return replace(raw, notes=(Note.of("T25", name, example=coded[0]),))
        if len(texts) <= _MANY:
            return raw
        return replace(raw, notes=(Note.of("T23", name, what="numbers", example=texts[0]),))
    found = settle(name, Words(raw.codes, tuple(texts)), options, offset=offset)
    return replace(raw, notes=found.notes) if isinstance(found, Words) else found


class _Cells:
    """The distinct texts of one column, and which of them are missing."""

    def __init__(
        self,
        column: Column,
        words: Words,
        texts: Sequence[str],
        missing: Sequence[bool],
        offset: int,
    ) -> None:
        self.name, self.column, self.words, self.texts = column.name, column, words, texts
        self.missing, self.offset = missing, offset
        self.marked = [
            column.knows_number_marks and not gone and text in NUMBER_MARKS
            for text, gone in zip(texts, missing, strict=True)
        ]

    @property
    def present(self) -> list[str]:
        """The texts that are neither missing nor a mark that is known among numbers."""
        gone = zip(self.texts, self.missing, self.marked, strict=True)
        return [text for text, missing, marked in gone if not (missing or marked)]

    def fit(self, read: Callable[[str], float | None]) -> bool:
        """Return whether every text can be read."""
        return all(read(text) is not None for text in self.present)

    def refuse_codes(self) -> None:
        """Refuse whole numbers that begin with a zero where others were taken for numbers."""
        codes = [
            is_code(text) and not gone for text, gone in zip(self.texts, self.missing, strict=True)
        ]
        if any(codes):
            row, text = _first(self.words, codes)
            raise TableError(
                f"Table: column {self.name!r} is numeric but row {row + self.offset} holds "
                f"{text!r}, as a code is written.",
                hint=(
                    "declare the column nominal with `nominal=`",
                    "declare it numeric with `numeric=`",
                ),
            )

    def misfits(self, read: Callable[[str], float | None]) -> list[bool]:
        """Return which texts cannot be read and are not missing either."""
        flags = zip(self.texts, self.missing, self.marked, strict=True)
        return [not (gone or marked) and read(text) is None for text, gone, marked in flags]

    def to_levels(self) -> Words:
        """Take the texts as they are."""
        return _levels(self.words, self.texts, self.missing)

    def to_numbers(self, form: NumberForm, written: Mapping[str, str] | None = None) -> Numbers:
        """Turn all cells into numbers, or name the first that is none."""
        bad = self.misfits(form.read)
        if any(bad):
            raise _no_number(self.name, self.words, bad, self.offset)
        gone = [missing or mark for missing, mark in zip(self.missing, self.marked, strict=True)]
        numbers = _as_numbers(self.words, self.texts, gone, form)
        return replace(numbers, written=written or {}, marks=self._marks())

    def to_dates(self, order: DateOrder, written: Mapping[str, str] | None = None) -> Numbers:
        """Turn all cells into days since 1970-01-01, or fractions of a day."""

        def read(text: str) -> float | None:
            return read_date(text, order)

        bad = self.misfits(read)
        if any(bad):
            row, text = _first(self.words, bad)
            what, form = ("times", "HH:MM") if order == "time" else ("dates", "YYYY-MM-DD")
            ways = [f"write it as {form} or as the other rows do", "add it to `missing=`"]
            other: DateOrder = "dmy" if order == "mdy" else "mdy"
            if order in ("dmy", "mdy") and read_date(str(text), other) is not None:
                ways.insert(0, f"pass `day_first={other == 'dmy'}`")
            raise TableError(
                f"Table: column {self.name!r} holds {what} but row {row + self.offset} holds "
                f"{text!r}.",
                hint=tuple(ways),
            )
        gone = zip(self.texts, self.missing, self.marked, strict=True)
        days = [None if missing or marked else read(text) for text, missing, marked in gone]
        is_date = order != "time"
        values = _spread(self.words, days)
        return Numbers(values, dates=is_date, written=written or {}, marks=self._marks())

    def _marks(self) -> dict[str, int]:
        counts = self.words.counts
        found = Counter[str]()
        for at, marked in enumerate(self.marked):
            if marked:
                found[self.texts[at]] += int(counts[at])
        return dict(found)

    def fraction(self, bad: Sequence[bool]) -> float:
        """Return the fraction of the cells with a value that can be read."""
        counts = self.words.counts
        pairs = zip(self.missing, self.marked, strict=True)
        held = np.asarray([not (missing or marked) for missing, marked in pairs])
        return 1 - float(counts[np.asarray(bad)].sum()) / max(float(counts[held].sum()), 1.0)


def _infer(cells: _Cells, options: ReadOptions, separator: str) -> Raw:
    """Find out whether the texts are numbers, dates, times or levels."""
    name, present = cells.name, cells.present
    is_free = cells.column.kind == "infer"
    if not present:
        return cells.to_levels()
    if is_free and all(map(WHOLE.fullmatch, present)) and any(map(LEADING_ZERO.match, present)):
        example = next(text for text in present if LEADING_ZERO.match(text))
        return replace(cells.to_levels(), notes=(Note.of("T25", name, example=example),))
    form = learn_numbers(present, separator)
    if form is not None:
        written = _written(form, present, separator)
        bad = cells.misfits(form.read)
        if not any(bad) or not is_free:
            return _note_form(cells.to_numbers(form, written), cells, form)
        what = f"numbers such as {next(t for t in present if form.read(t) is not None)!r}"
        numbers = len(present) - sum(bad)
        return _mostly(cells, bad, numbers, what, lambda: cells.to_numbers(form))
    if not is_free:
        return cells.to_numbers(NumberForm())
    order, is_sure = learn_dates(present, options.day_first)
    if order:
        chosen = order
        bad = cells.misfits(lambda text: read_date(text, chosen))
        if any(bad):
            what = "times" if order == "time" else "dates"
            kept = len(present) - sum(bad)
            return _mostly(cells, bad, kept, what, lambda: cells.to_dates(chosen))
        # Dates that begin with the year, or name the month, need no order.
        days = cells.to_dates(order, {} if order == "ymd" else {"date_order": order})
        if is_sure:
            return days
        word = "day" if order == "dmy" else "month"
        example = next(text for text in present if text)
        return replace(days, notes=(Note.of("T26", name, word=word, example=example),))
    return cells.to_levels()


def _written(form: NumberForm, present: Sequence[str], separator: str) -> dict[str, str]:
    """Return the properties of a column that say how its numbers are written."""
    found = {"thousands": form.thousands, "unit": form.unit}
    found = {name: sign for name, sign in found.items() if sign}
    if form.decimal == "," or found:
        found["decimal"] = form.decimal
    return found


def _note_form(numbers: Numbers, cells: _Cells, form: NumberForm) -> Numbers:
    # That a file has decimal commas is said once, beside its separator.
    if not (numbers.written and (form.thousands or form.unit)):
        return numbers
    example = max(cells.present, key=len)
    note = Note.of("T20", cells.name, example=example, form=form.describe())
    return replace(numbers, notes=(note,))


def _mostly(
    cells: _Cells,
    bad: Sequence[bool],
    good: int,
    what: str,
    refuse: Callable[[], Raw],
) -> Raw:
    """Refuse a column of numbers or dates with a few other texts; note one with many of them."""
    fraction = cells.fraction(bad)
    if good > _MANY and fraction >= _MOSTLY:
        # One stray text would turn a measurement into thousands of levels.
        return refuse()
    if good > _FEW and fraction >= _HALF:
        row, text = _first(cells.words, bad)
        note = Note.of(
            "T22", cells.name, what=what, fraction=fraction, row=row + cells.offset, text=text
        )
        return replace(cells.to_levels(), notes=(note,))
    return cells.to_levels()


def is_code(text: str) -> bool:
    """Return whether a text is a whole number that begins with a zero."""
    return LEADING_ZERO.match(text) is not None and WHOLE.fullmatch(text) is not None


def is_marked(column: Column) -> bool:
    """Return whether the cells of a column are dates, or numbers with more than digits."""
    return bool(column.dates or column.date_order or column.thousands or column.unit)


def has_commas(present: Sequence[str], separator: str) -> bool:
    """Return whether the cells are numbers with a decimal comma rather than a point."""
    if separator not in (";", "\t"):
        return False
    commas = [text for text in present if _PLAIN_COMMA.fullmatch(text)]
    if not commas or any(NUMBER.fullmatch(t) and not WHOLE.fullmatch(t) for t in present):
        return False
    # Between tabs 1,234 may as well mean a thousand, so all texts of the column must be looked at.
    return separator == ";" or not all(_THOUSANDS.fullmatch(text) for text in commas)


def _as_numbers(
    words: Words, texts: Sequence[str], missing: Sequence[bool], form: NumberForm
) -> Numbers:
    is_plain = not (form.thousands or form.unit)
    whole, rounded, values = is_plain, None, list[float | None]()
    for text, gone in zip(texts, missing, strict=True):
        value = None if gone else form.read(text)
        values.append(value)
        if value is None or not is_plain:
            continue
        if not WHOLE.fullmatch(text):
            whole = False
        elif abs(value) >= _EXACT and value not in (np.inf, -np.inf):
            exact = int(text.lstrip("+-0") or "0") * (-1 if value < 0 else 1)
            if abs(exact) > max(_EXACT, abs(rounded or 0)):
                rounded = exact
    return Numbers(_spread(words, values), whole and not all(missing), rounded)


def parse(words: Words, column: Column) -> NDArray[np.float64]:
    """Read words without missing marks as the numbers or dates of a numeric column."""
    texts = [level_text(level) for level in words.distinct]
    cells = _Cells(column, words, texts, [False] * len(texts), 0)
    if column.dates or column.date_order:
        return cells.to_dates(column.date_order).values
    form = NumberForm(column.decimal or ".", column.thousands, column.unit)
    return cells.to_numbers(form).values


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
    if not holds_marks(raw, marks):
        return raw

    def is_mark(level: Any) -> bool:
        if isinstance(level, str):
            return level.strip() in marks
        return not isinstance(level, bool) and level in numbers

    gone = [is_mark(level) for level in raw.distinct]
    return replace(_without(raw, gone), marked=True) if any(gone) else raw


def holds_marks(words: Words, marks: frozenset[str]) -> bool:
    """Return whether a missing mark may be among the levels: never, if all are other texts."""
    try:
        return not marks.isdisjoint(map(str.strip, words.distinct))  # type: ignore[arg-type]
    except TypeError:  # some levels are numbers
        return True


def drop_unused(words: Words) -> Words:
    """Drop the levels that no row holds, unless the source declared them."""
    return words if words.declared else _without(words, [not used for used in _used(words)])


def _without(words: Words, gone: Sequence[bool]) -> Words:
    if not any(gone):
        return words
    kept = tuple(level for level, out in zip(words.distinct, gone, strict=True) if not out)
    place = np.cumsum(~np.asarray(gone)) - 1
    place[np.asarray(gone)] = -1
    return replace(words, codes=_lookup(place, words.codes, -1), distinct=kept)


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
    return replace(column, values=values, rounded=rounded, exact=exact)


def _used(words: Words) -> list[bool]:
    # A block of a longer column may carry the distinct texts of other blocks.
    used: list[bool] = (words.counts > 0).tolist()
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
    others = int(words.counts[np.asarray(bad)].sum()) - 1
    more = (
        f" ({others} more such cells)" if others > 1 else " (one more such cell)" if others else ""
    )
    return TableError(
        f"Table: column {name!r} is numeric but row {row + offset} holds {text!r}{more}.",
        hint=NOT_A_NUMBER,
    )
