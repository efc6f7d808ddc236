"""A survey of rows: what must be known of columns to decide their kinds and levels, in parts.

The survey of two parts is the sum of their surveys, in any order. Different values are counted one
by one up to a limit; beyond it a sketch estimates their number, and the most frequent levels are
found by Misra and Gries (1982): every level with more than one row in `limit` is among them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from hashlib import blake2b
from operator import is_
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.notes import Note
from countwise.tables.code_levels import in_order
from countwise.tables.date_parts import parts_held, telling_parts
from countwise.tables.infer_schema import has_id_name
from countwise.tables.schema import MISSING_VALUE, Column, Level, by_value, level_key
from countwise.tables.table import Table
from countwise.tables.words import TextCodes

#: Hashes that a sketch keeps: it counts up to so many values, and estimates more within 2 %.
SKETCH = 4096
#: Numbers beyond this are rounded as doubles.
_EXACT = 2.0**53
_SHOWN_TEXTS = 1000
#: Numbers that are looked at first.
_GLANCE = 64


@dataclass(frozen=True, eq=False)
class Distinct:
    """The smallest hashes of the values that were seen, by which their number is estimated."""

    hashes: NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, np.uint64))

    @classmethod
    def of_texts(cls, texts: Iterable[Any]) -> Distinct:
        """Return the sketch of some values, each hashed as text."""
        digests = b"".join(blake2b(str(text).encode(), digest_size=8).digest() for text in texts)
        return cls().with_hashes(np.frombuffer(digests, "<u8").astype(np.uint64))

    @classmethod
    def of_numbers(cls, values: NDArray[np.float64]) -> Distinct:
        """Return the sketch of some numbers."""
        bits = (values + 0.0).view(np.uint64)
        mixed = (bits ^ (bits >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
        mixed = (mixed ^ (mixed >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
        return cls().with_hashes(mixed ^ (mixed >> np.uint64(33)))

    def with_hashes(self, hashes: NDArray[np.uint64]) -> Distinct:
        """Return the sketch with more values."""
        if len(self.hashes) == SKETCH:
            hashes = hashes[hashes < self.hashes[-1]]
        return Distinct(np.unique(np.concatenate([self.hashes, hashes]))[:SKETCH])

    def __add__(self, other: Distinct) -> Distinct:
        return self.with_hashes(other.hashes)

    @property
    def number(self) -> int:
        """How many different values there are; exact up to the size of the sketch."""
        if len(self.hashes) < SKETCH:
            return len(self.hashes)
        return round((SKETCH - 1) / (float(self.hashes[-1]) / 2.0**64))


@dataclass(frozen=True, eq=False)
class ColumnSurvey:
    """The survey of one column; it has the facts by which `infer_schema` decides.

    Attributes
    ----------
    rows, missing
        Cells with and without a value.
    levels, amounts
        The levels of a coded column, and how many cells hold each.
    taken_off
        What was taken off each amount, once there were too many levels.
    sketch
        An estimate of the number of different values.
    low, high, is_whole, few
        Of numbers: the least and the largest, whether all are whole, and up to three of them.
    sums
        Of whole numbers from 0: their sum and that of their squares, modulo 2^64.
    held
        Of dates: which months, weekdays and hours occur, as bits.
    """

    is_number: bool = False
    rows: int = 0
    missing: int = 0
    levels: tuple[Level, ...] = ()
    amounts: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    taken_off: int = 0
    sketch: Distinct | None = None
    sums: tuple[int, ...] = ()
    low: float = np.inf
    high: float = -np.inf
    is_whole: bool = True
    few: frozenset[float] = frozenset()
    held: Mapping[str, int] = field(default_factory=dict)
    texts: Sequence[Any] = ()
    declared: bool = False
    dates: bool = False
    date_order: str = ""
    rounded: int | None = None
    marks: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()
    #: Whether some texts were missing marks.
    marked: bool = False

    @classmethod
    def of(
        cls,
        column: Column,
        table: Table,
        with_parts: bool,
        limit: int,
        marks: Mapping[str, int] | None = None,
        rounded: int | None = None,
        weight: NDArray[np.int64] | None = None,
        may_identify: bool = False,
    ) -> ColumnSurvey:
        """Survey one column of a block of rows.

        `marks` among its numbers were taken as missing, `rounded` is one that became inexact. Each
        row may stand for as many as its `weight` says, except those of texts. Different numbers are
        counted if they `may_identify` rows.
        """
        cells = table.raw_array(column.name)
        if isinstance(cells, TextCodes):
            used = np.unique(np.asarray(cells))
            texts = [cells.texts.texts[code] for code in used[used >= 0].tolist()]
            missing = int(np.count_nonzero(np.asarray(cells) < 0))
            sketch = Distinct.of_texts(texts)
            return cls(
                False, len(cells) - missing, missing, sketch=sketch, texts=texts[:_SHOWN_TEXTS]
            )
        if column.coded:
            return cls._of_codes(table.schema[column.name], cells, weight).pruned(limit)
        blank = np.isnan(cells)
        missing = int(np.count_nonzero(blank))
        rows = len(cells) - missing
        if weight is not None:
            rows, missing = int(weight[~blank].sum()), int(weight[blank].sum())
        if not rows:
            return cls(True, 0, missing, dates=column.dates, marks=marks or {})
        low, high = float(np.fmin.reduce(cells)), float(np.fmax.reduce(cells))
        # Most columns with a fraction show it in the first rows, and need no closer look.
        is_whole = _are_whole(cells[:_GLANCE]) and _are_whole(cells)
        few = _few(cells[:_GLANCE], low, high)
        values = cells
        if missing and (is_whole or with_parts or len(few) < 3):
            values = cells[~blank]
        few = few if len(few) > 2 else _few(values, low, high)
        may_identify |= has_id_name(column.name) or rounded is not None
        repeats = None if weight is None else weight[~blank] if len(values) < len(cells) else weight
        return cls(
            True,
            rows,
            missing,
            sketch=Distinct.of_numbers(values) if is_whole and may_identify else None,
            sums=_power_sums(values, repeats) if is_whole and low >= 0 and high < _EXACT else (),
            low=low,
            high=high,
            is_whole=is_whole,
            few=few,
            held=parts_held(values) if with_parts else {},
            dates=column.dates,
            rounded=rounded,
            marks=marks or {},
        )

    @classmethod
    def _of_codes(
        cls, column: Column, codes: NDArray[Any], weight: NDArray[np.int64] | None
    ) -> ColumnSurvey:
        counts = np.bincount(codes, weight, minlength=column.width + 2).astype(np.int64)
        missing, unseen = int(counts[column.width]), int(counts[column.width + 1])
        levels, amounts = column.levels, counts[: column.width]
        if column.when_missing == "value" and MISSING_VALUE in levels:
            at = levels.index(MISSING_VALUE)
            missing += int(amounts[at])
            levels, amounts = (*levels[:at], *levels[at + 1 :]), np.delete(amounts, at)
        return cls(False, int(amounts.sum()) + unseen, missing, levels, amounts)

    def __add__(self, other: ColumnSurvey) -> ColumnSurvey:
        levels, amounts = _unite(self, other)
        sketch = self._sketched(other)
        return replace(
            self,
            rows=self.rows + other.rows,
            missing=self.missing + other.missing,
            levels=levels,
            amounts=amounts,
            taken_off=self.taken_off + other.taken_off,
            sketch=sketch,
            sums=self._summed(other),
            low=min(self.low, other.low),
            high=max(self.high, other.high),
            is_whole=self.is_whole and other.is_whole,
            few=frozenset(sorted(self.few | other.few)[:3]),
            held={
                part: self.held.get(part, 0) | other.held.get(part, 0)
                for part in {*self.held, *other.held}
            },
            texts=_some_texts(self.texts, other.texts),
            marks=_add_counts(self.marks, other.marks),
            marked=self.marked or other.marked,
            rounded=max((self.rounded, other.rounded), key=lambda number: abs(number or 0)),
        )

    def _summed(self, other: ColumnSurvey) -> tuple[int, ...]:
        parts = [part.sums for part in (self, other) if part.rows]
        return () if () in parts else tuple(sum(pair) % 2**64 for pair in zip(*parts, strict=True))

    def _sketched(self, other: ColumnSurvey) -> Distinct | None:
        """Return the sketch of both; None while levels are counted one by one."""
        if self.is_number:
            # A part with a fraction or without a value needs no sketch, nor does the sum.
            both = [part.sketch for part in (self, other) if part.rows]
            if not both or any(sketch is None for sketch in both):
                return None
            return both[0] if len(both) == 1 else both[0] + both[1]  # type: ignore[operator]
        if self.sketch is None and other.sketch is None:
            return None
        return self._hashed() + other._hashed()

    def _hashed(self) -> Distinct:
        """Return the sketch, of the levels if there was none so far."""
        return self.sketch if self.sketch is not None else Distinct.of_texts(self.levels)

    def pruned(self, limit: int) -> ColumnSurvey:
        """Return the survey with at most `limit` levels, if there are more than twice as many."""
        return self if len(self.levels) <= 2 * limit else self.pruned_to(limit)

    def pruned_to(self, limit: int) -> ColumnSurvey:
        """Return the survey with at most `limit` levels, each amount less by the same."""
        if len(self.levels) <= limit:
            return self
        order = np.argsort(-self.amounts, kind="stable")
        off = int(self.amounts[order[limit]])
        kept = np.sort(order[:limit])
        kept = kept[self.amounts[kept] > off]
        return replace(
            self,
            levels=tuple(self.levels[at] for at in kept.tolist()),
            amounts=self.amounts[kept] - off,
            taken_off=self.taken_off + max(off, 1),
            sketch=self._hashed(),
            texts=_some_texts(self.texts, self.levels[:_SHOWN_TEXTS]),
        )

    @property
    def is_capped(self) -> bool:
        """Whether some levels are not known."""
        return self.taken_off > 0

    @property
    def occurring(self) -> int:
        """The different texts that occur."""
        if self.sketch is not None:
            return self.sketch.number
        return int(np.count_nonzero(self.amounts))

    @property
    def distinct(self) -> int:
        """The different values; of numbers that no name and no size makes identifiers, some."""
        if not self.is_number:
            return self.occurring
        if self._numbers_rows:
            return self.rows
        return len(self.few) if self.sketch is None else self.sketch.number

    @property
    def _numbers_rows(self) -> bool:
        """Whether each whole number from the least to the largest occurs once."""
        if not self.sums or self.high - self.low + 1 != self.rows:
            return False
        first, last = int(self.low), int(self.high)
        plain, squares = (_sums_to(last), _sums_to(first - 1)), self.sums
        return squares == tuple((one - two) % 2**64 for one, two in zip(*plain, strict=True))

    @property
    def is_two_valued(self) -> bool:
        """Whether no number lies between the least and the largest."""
        return len(self.few) <= 2

    def telling(self) -> list[str]:
        """Return the parts of dates that become columns."""
        return telling_parts(self.rows, self.high - self.low, self.held) if self.rows else []

    def ordered_levels(self, first: Sequence[Level], is_target: bool) -> tuple[Level, ...]:
        """Return the levels in the order in which `read` codes them, after those given first."""
        known = {level_key(level) for level in first}
        rest = [
            level
            for level, amount in zip(self.levels, self.amounts.tolist(), strict=True)
            if amount and level_key(level) not in known
        ]
        rest = _alike(rest)
        return tuple(by_value([*first, *rest]) if is_target else [*first, *in_order(rest)])


def _add_counts(left: Mapping[str, int], right: Mapping[str, int]) -> dict[str, int]:
    """Return the counts of both parts by name."""
    return {name: left.get(name, 0) + right.get(name, 0) for name in {**left, **right}}


def _some_texts(left: Sequence[Any], right: Sequence[Any]) -> Sequence[Any]:
    """Return up to a thousand different texts of both parts."""
    if len(left) >= _SHOWN_TEXTS or not right:
        return left
    return list(dict.fromkeys([*left, *right]))[:_SHOWN_TEXTS]


def _alike(levels: list[Level]) -> list[Level]:
    """Write whole numbers as the others are, if some are fractions."""
    numbers = [level for level in levels if isinstance(level, int | float)]
    plain = [number for number in numbers if not isinstance(number, bool)]
    if all(float(number).is_integer() for number in plain):
        return levels
    return [
        float(level) if isinstance(level, int) and not isinstance(level, bool) else level
        for level in levels
    ]


def _power_sums(values: NDArray[np.float64], repeats: NDArray[np.int64] | None) -> tuple[int, int]:
    whole = values.astype(np.uint64)
    times = whole if repeats is None else whole * repeats.astype(np.uint64)
    return int(times.sum(dtype=np.uint64)), int((times * whole).sum(dtype=np.uint64))


def _sums_to(last: int) -> tuple[int, int]:
    """Return the sum of the whole numbers up to this one, and that of their squares."""
    return last * (last + 1) // 2, last * (last + 1) * (2 * last + 1) // 6


def _are_whole(values: NDArray[np.float64]) -> bool:
    """Return whether all numbers are whole; a missing one is."""
    return not bool(np.any(np.abs(values - np.trunc(values)) > 0))


def _few(values: NDArray[np.float64], low: float, high: float) -> frozenset[float]:
    """Return the least and the largest number, and one between them if there is one."""
    between = (values > low) & (values < high)
    some = {low, high}
    if between.any():
        some.add(float(values[int(np.argmax(between))]))
    return frozenset(some)


def survey_to_dict(survey: Survey) -> dict[str, Any]:
    """Return a survey as plain data, for a checkpoint."""
    return {
        "rows": survey.rows,
        "dropped": dict(survey.dropped),
        "columns": {name: _column_to_dict(part) for name, part in survey.columns.items()},
    }


def _column_to_dict(part: ColumnSurvey) -> dict[str, Any]:
    plain = {item.name: getattr(part, item.name) for item in fields(part) if item.name != "notes"}
    plain["amounts"] = part.amounts.tolist()
    plain["sketch"] = None if part.sketch is None else part.sketch.hashes.tolist()
    plain["few"] = sorted(part.few)
    plain["texts"] = list(part.texts)
    return plain


def survey_from_dict(plain: Mapping[str, Any]) -> Survey:
    """Read a survey back from plain data."""
    columns = {name: _column_from_dict(part) for name, part in plain["columns"].items()}
    return Survey(int(plain["rows"]), columns, dict(plain["dropped"]))


def _column_from_dict(plain: Mapping[str, Any]) -> ColumnSurvey:
    sketch = plain["sketch"]
    return ColumnSurvey(
        **{
            **plain,
            "levels": tuple(plain["levels"]),
            "amounts": np.asarray(plain["amounts"], np.int64),
            "sketch": None if sketch is None else Distinct(np.asarray(sketch, np.uint64)),
            "few": frozenset(plain["few"]),
            "sums": tuple(plain["sums"]),
        }
    )


def _unite(left: ColumnSurvey, right: ColumnSurvey) -> tuple[tuple[Level, ...], NDArray[np.int64]]:
    more, fewer = (left, right) if len(left.levels) >= len(right.levels) else (right, left)
    # Later blocks know the levels of earlier ones, so that most lists begin with the other one.
    if all(map(is_, more.levels, fewer.levels)):
        amounts = more.amounts.copy()
        amounts[: len(fewer.levels)] += fewer.amounts
        return more.levels, amounts
    place = {level_key(level): at for at, level in enumerate(left.levels)}
    levels = list(left.levels)
    where = []
    for level in right.levels:
        at = place.setdefault(level_key(level), len(levels))
        if at == len(levels):
            levels.append(level)
        where.append(at)
    amounts = np.zeros(len(levels), np.int64)
    amounts[: len(left.amounts)] = left.amounts
    amounts[where] += right.amounts
    return tuple(levels), amounts


@dataclass(frozen=True, eq=False)
class Survey:
    """The survey of rows: all columns, how many rows there are and why some are not used."""

    rows: int = 0
    columns: Mapping[str, ColumnSurvey] = field(default_factory=dict)
    dropped: Mapping[str, int] = field(default_factory=dict)

    def add(self, other: Survey, limit: int) -> Survey:
        """Return the survey of both parts; more than twice `limit` levels are cut down to it."""
        columns = {
            name: (self.columns[name] + part).pruned(limit) if name in self.columns else part
            for name, part in other.columns.items()
        }
        dropped = _add_counts(self.dropped, other.dropped)
        return Survey(self.rows + other.rows, {**self.columns, **columns}, dropped)
