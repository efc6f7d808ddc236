"""Columns made from a column of dates: month, weekday and hour, if the dates span enough time."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from countwise.errors import listing
from countwise.notes import Note
from countwise.tables.raw_columns import Numbers, Raw, Words
from countwise.tables.read_options import ReadOptions
from countwise.tables.schema import Column, Schema
from countwise.tables.text_values import parse

_NAMES: dict[str, tuple[str, ...]] = {
    "month": ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"),
    "weekday": ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"),
}
#: The days that dates must span so that a part comes back.
_SPANS = {"month": 365.0, "weekday": 14.0, "hour": 0.0}
#: With fewer dates nothing could be learned from their parts.
FEWEST_DATES = 30


def add_parts(
    columns: Mapping[str, Raw], options: ReadOptions
) -> tuple[dict[str, Raw], dict[str, tuple[str, str]], list[Note]]:
    """Return the columns with parts beside their dates, what each part is of, and notes."""
    every: dict[str, Raw] = {}
    parts: dict[str, tuple[str, str]] = {}
    notes: list[Note] = []
    for name, raw in columns.items():
        every[name] = raw
        if not isinstance(raw, Numbers) or not raw.dates or options.column(name).kind != "infer":
            continue
        telling = [part for part in _telling(raw.values) if f"{name} {part}" not in columns]
        for part in telling:
            every[f"{name} {part}"] = _part(raw.values, part)
            parts[f"{name} {part}"] = (part, name)
        if telling:
            names = listing([f"{name} {part}" for part in telling])
            notes.append(Note.of("T28", name, names=names))
    return every, parts, notes


def make_parts(columns: Mapping[str, Raw], schema: Schema) -> Mapping[str, Raw]:
    """Return the columns with the parts that a schema has and a source lacks."""
    lacking = [column for column in schema if column.part_of and column.name not in columns]
    if not lacking:
        return columns
    every = dict(columns)
    for column in lacking:
        part, source = column.part_of
        raw = columns.get(source)
        if raw is not None:
            every[column.name] = _part(_days(raw, schema, source), part)
    return every


def _days(raw: Raw, schema: Schema, source: str) -> NDArray[np.float64]:
    if isinstance(raw, Numbers):
        return raw.values
    known = schema[source] if source in schema else Column(source, "numeric", dates=True)
    return parse(raw, known)


def _telling(days: NDArray[np.float64]) -> list[str]:
    known = days[np.isfinite(days)]
    if len(known) < FEWEST_DATES:
        return []
    return telling_parts(len(known), float(known.max() - known.min()), parts_held(known))


def parts_held(days: NDArray[np.float64]) -> dict[str, int]:
    """Return which months, weekdays and hours occur among dates, as bits of a number."""
    held = {}
    for part in _SPANS:
        codes = _codes(days, part)
        held[part] = sum(1 << code for code in np.unique(codes[codes >= 0]).tolist())
    return held


def part_levels(part: str) -> tuple[str, ...]:
    """Return the names of months or weekdays; none for the hour, which is a number."""
    return _NAMES.get(part, ())


def telling_parts(dates: int, span: float, held: Mapping[str, int]) -> list[str]:
    """Return the parts that become columns: of enough dates, over enough days, that differ."""
    if dates < FEWEST_DATES:
        return []
    return [
        part
        for part, least in _SPANS.items()
        if span >= least and held.get(part, 0).bit_count() > 1
    ]


def _part(days: NDArray[np.float64], part: str) -> Raw:
    codes = _codes(days, part)
    if part == "hour":
        return Numbers(np.where(codes < 0, np.nan, codes.astype(np.float64)))
    return Words(codes, _NAMES[part], declared=True)


def _codes(days: NDArray[np.float64], part: str) -> NDArray[np.int64]:
    """Return the month (0 to 11), weekday (0 is Monday) or hour of days; -1 where missing."""
    known = np.isfinite(days)
    codes = np.full(len(days), -1, dtype=np.int64)
    # A double holds a time of today to about a microsecond, so the hour is taken after rounding.
    seconds = np.rint(days[known] * 86_400).astype(np.int64)
    if part == "hour":
        codes[known] = seconds % 86_400 // 3600
    elif part == "weekday":
        codes[known] = (seconds // 86_400 + 3) % 7
    else:
        months = seconds.astype("datetime64[s]").astype("datetime64[M]")
        codes[known] = months.astype(np.int64) % 12
    return codes
