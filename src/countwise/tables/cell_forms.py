"""How the cells of a text column are written: money, percent, thousands, local dates and times.

Everything here looks at distinct texts. A form is learned from all of them together and kept in
the column, so that later files are read in the same way.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache

from countwise.numeric import read_number
from countwise.tables.schema import DateOrder

#: Marks that mean *missing* among numbers or dates; among other texts they may be levels.
NUMBER_MARKS = frozenset((
    "-", "--", "---", "–", "—", ".", "..", "...", "*", "None", "none", "NONE", "Null", "nil",
    "n.a.", "N.A.", "n.a", "N.a.", "#NA", "#DIV/0!", "#VALUE!", "#REF!", "#NUM!", "#NAME?",
    "#NULL!", "<NA>", "NaT", "-nan", "-NaN", "missing", "Missing", "unknown", "Unknown",
))  # fmt: skip
#: Texts looked at before a whole column is.
_SAMPLE = 300
_SPACES = dict.fromkeys(map(ord, "\u00a0\u2007\u2009\u202f"), " ") | {
    ord("−"): "-",
    ord("’"): "'",
}
_CODES = "EUR USD GBP CHF JPY CNY INR CAD AUD NZD SEK NOK DKK PLN CZK HUF BRL MXN ZAR KRW KR ZŁ FR."
_CURRENCIES = frozenset(_CODES.split())
_AFFIXES = re.compile(r"[(+-]?\s*([^\d\s.,'()+-]*)\s*[+-]?[\d.,' ]+?\s*([^\d\s.,'()]*\.?)\)?")
_CONVENTIONS = (
    (".", ""),
    (".", ","),
    (",", ""),
    (",", "."),
    (".", " "),
    (",", " "),
    (".", "'"),
    (",", "'"),
)


@dataclass(frozen=True)
class NumberForm:
    """How numbers are written: decimal sign, thousands mark, and a currency or percent sign."""

    decimal: str = "."
    thousands: str = ""
    unit: str = ""

    def read(self, text: str) -> float | None:
        """Return the number a text is in this form; 18 % is 0.18. None if it is none."""
        if not (self.thousands or self.unit):
            is_other = self.decimal == "," and "." in text
            return None if is_other else read_number(text, self.decimal)
        trimmed = text.translate(_SPACES).strip()
        in_brackets = trimmed.startswith("(") and trimmed.endswith(")")
        found = _number_pattern(self).fullmatch(trimmed[1:-1] if in_brackets else trimmed)
        if found is None:
            return None
        body = found["body"].replace(self.thousands or " ", "")
        value = float(body.replace(self.decimal, "."))
        if in_brackets or "-" in (found["before"], found["after"]):
            value = -value
        return value / 100 if self.unit == "%" else value

    def describe(self) -> str:
        """Return the form in words."""
        parts = [f"decimal sign {self.decimal!r}"] if self.decimal != "." else []
        parts += [f"thousands mark {self.thousands!r}"] if self.thousands else []
        if self.unit:
            parts.append("percent as a fraction" if self.unit == "%" else f"unit {self.unit!r}")
        return ", ".join(parts)


@cache
def _number_pattern(form: NumberForm) -> re.Pattern[str]:
    decimal, mark = re.escape(form.decimal), re.escape(form.thousands)
    grouped = rf"[1-9]\d{{0,2}}(?:{mark}\d{{3}})+|" if mark else ""
    body = rf"(?:{grouped}\d+)(?:{decimal}\d*)?|{decimal}\d+"
    unit = rf"(?:{re.escape(form.unit)})?\s*" if form.unit else ""
    front, back = ("", r"\s*%") if form.unit == "%" else (unit, rf"\s*{unit}")
    sign = rf"(?:(?P<before>[+-]?)\s*{front}|{front}(?P<after>[+-]))"
    return re.compile(rf"{sign}(?P<body>{body}){back}", re.ASCII | re.IGNORECASE)


def learn_numbers(texts: Sequence[str], separator: str = ",") -> NumberForm | None:
    """Return the form in which most of the texts are numbers; None if fewer than half are."""
    sample = _few(texts)
    units = [_unit(text) for text in sample]
    named = [unit for unit in units if unit]
    unit = max(set(named), key=named.count) if named else ""
    conventions = list(_CONVENTIONS)
    if separator == ";":
        # Where a semicolon separates cells the comma is the decimal sign.
        conventions.insert(1, conventions.pop(2))
    forms = [NumberForm(decimal, mark, unit) for decimal, mark in conventions]
    return _best(forms, sample, texts)


def _unit(text: str) -> str:
    found = _AFFIXES.fullmatch(text.translate(_SPACES))
    unit = (found[1] or found[2]) if found else ""
    is_sign = unit == "%" or unit.upper() in _CURRENCIES
    return unit if is_sign or (unit and unicodedata.category(unit[-1]) == "Sc") else ""


_TIME = (
    r"(?:[ T,]+(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:[.,](?P<part>\d{1,9}))?)?"
    r"\s*(?P<half>[ap]\.?m\.?)?\s*(?P<zone>Z|[+-]\d\d:?\d\d)?)?"
)
_NUMERIC = re.compile(
    r"(?P<a>\d{4}|\d{1,2})(?P<sep>[-/.])(?P<b>\d{1,2})(?P=sep)(?P<c>\d{4}|\d{1,2})" + _TIME,
    re.ASCII | re.IGNORECASE,
)
_DAY_NAME = re.compile(
    r"(?P<b>\d{1,2})[-./ ]+(?P<month>[a-z]{3,9})\.?[-,./ ]+(?P<c>\d{4}|\d\d)" + _TIME,
    re.ASCII | re.IGNORECASE,
)
_NAME_DAY = re.compile(
    r"(?P<month>[a-z]{3,9})\.? +(?P<b>\d{1,2})(?:st|nd|rd|th)?,? +(?P<c>\d{4})" + _TIME,
    re.ASCII | re.IGNORECASE,
)
_CLOCK = re.compile(_TIME.removeprefix("(?:[ T,]+").removesuffix(")?"), re.ASCII | re.IGNORECASE)
_MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september",
           "october", "november", "december")  # fmt: skip
_EPOCH = datetime(1970, 1, 1)
_DAY = 86_400_000_000  # microseconds


def days_since_epoch(moment: datetime) -> float:
    """Return a time as days since 1970-01-01."""
    passed = moment - _EPOCH
    return (passed.days * _DAY + passed.seconds * 1_000_000 + passed.microseconds) / _DAY


def date_text(days: float) -> str:
    """Return the date so many days after 1970-01-01, with the time unless it is midnight."""
    moment = to_moment(days)
    return f"{days:g}" if moment is None else moment_text(moment)


def to_moment(days: float) -> datetime | None:
    """Return the time so many days after 1970-01-01, to the second; None beyond the calendar."""
    try:
        return _EPOCH + timedelta(seconds=round(days * 86_400))
    except (OverflowError, ValueError):
        return None


def moment_text(moment: datetime) -> str:
    """Return a date, with the time unless it is midnight."""
    return moment.isoformat(" ", "minutes").removesuffix(" 00:00")


def read_date(text: str, order: DateOrder = "") -> float | None:
    """Return a date as days since 1970-01-01, a time of day as a fraction; None if it is none.

    A date that begins with its year, or names its month, needs no order.
    """
    if order == "time":
        found = _CLOCK.fullmatch(text)
        micros = None if found is None else _micros(found)
        return None if micros is None else micros / _DAY
    found = _NUMERIC.fullmatch(text)
    if found is None:
        found = _DAY_NAME.fullmatch(text) or _NAME_DAY.fullmatch(text)
        month = 0 if found is None else _month(found["month"])
        if found is None or not month:
            return None
        year, day = _year(found["c"]), int(found["b"])
    elif len(found["a"]) == 4:
        if len(found["b"]) != 2 or len(found["c"]) != 2:
            return None
        year, month, day = int(found["a"]), int(found["b"]), int(found["c"])
    elif order in ("dmy", "mdy") and _has_year_last(found):
        first, second = int(found["a"]), int(found["b"])
        day, month = (first, second) if order == "dmy" else (second, first)
        year = _year(found["c"])
    else:
        return None
    micros = 0 if found["hour"] is None else _micros(found)
    try:
        whole = (datetime(year, month, day) - _EPOCH).days
    except ValueError:
        return None
    return None if micros is None else (whole * _DAY + micros) / _DAY


def _has_year_last(found: re.Match[str]) -> bool:
    # 1.2.10 is a version; a year of two digits needs days and months of two digits.
    return len(found["c"]) == 4 or {len(found[part]) for part in "abc"} == {2}


def _year(digits: str) -> int:
    return int(digits) if len(digits) == 4 else int(digits) + (1900 if int(digits) > 68 else 2000)


def _month(name: str) -> int:
    lower = name.lower()
    return next((at for at, full in enumerate(_MONTHS, 1) if full.startswith(lower)), 0)


def _micros(found: re.Match[str]) -> int | None:
    """Return the microseconds since midnight, in one whole number so that nothing is rounded."""
    hour, minute, second = (int(found[part] or 0) for part in ("hour", "minute", "second"))
    if found["half"]:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if found["half"].lower().startswith("p") else 0)
    if hour > 23 or minute > 59 or second > 59:
        return None
    seconds = 3600 * hour + 60 * minute + second
    if found["zone"] and found["zone"] not in "Zz":
        digits = found["zone"].replace(":", "")
        sign = 1 if digits[0] == "-" else -1
        seconds += sign * (3600 * int(digits[1:3]) + 60 * int(digits[3:5]))
    return seconds * 1_000_000 + int((found["part"] or "0")[:6].ljust(6, "0"))


def learn_dates(texts: Sequence[str], day_first: bool | None = None) -> tuple[DateOrder, bool]:
    """Return the order in which most texts are dates ("" if fewer than half), and if it is sure."""
    sample = _few(texts)
    orders: list[DateOrder] = ["dmy", "mdy", "time"]
    ways = [_reader(order) for order in orders]
    likely = [order for order, read in zip(orders, ways, strict=True) if _share(read, sample) > 0.5]
    if not likely:
        return "", True
    if "time" in likely:
        return "time", True
    found = [match for text in texts if (match := _NUMERIC.fullmatch(text)) is not None]
    last = [match for match in found if len(match["a"]) < 4 and _has_year_last(match)]
    if not last:
        return "ymd", True
    by_day = sum(int(match["a"]) > 12 for match in last)
    by_month = sum(int(match["b"]) > 12 for match in last)
    if by_day != by_month:
        return ("dmy" if by_day > by_month else "mdy"), True
    if day_first is not None:
        return ("dmy" if day_first else "mdy"), True
    return ("mdy" if last[0]["sep"] == "/" else "dmy"), False


def _reader(order: DateOrder) -> Callable[[str], float | None]:
    return lambda text: read_date(text, order)


def _few(texts: Sequence[str]) -> Sequence[str]:
    """Return evenly spaced texts, all if there are few."""
    return texts[:: len(texts) // _SAMPLE + 1]


def _share(read: Callable[[str], float | None], texts: Sequence[str]) -> float:
    return sum(read(text) is not None for text in texts) / max(len(texts), 1)


def _best(
    forms: Sequence[NumberForm], sample: Sequence[str], texts: Sequence[str]
) -> NumberForm | None:
    """Return the first form that reads the most texts, looked for in a sample first."""
    shares = [_share(form.read, sample) for form in forms]
    top = max(shares)
    if top <= 0.5:
        return None
    best = forms[shares.index(top)]
    failing = [text for text in texts if best.read(text) is None]
    for form, share in zip(forms, shares, strict=True):
        # Most columns are plain, so other forms are asked only about what the best cannot read.
        if share > 0.5 and any(form.read(text) is not None for text in failing):
            left = [text for text in texts if form.read(text) is None]
            if len(left) < len(failing):
                best, failing = form, left
    return best
