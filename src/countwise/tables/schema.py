"""The columns of a table: their kinds, levels and missing marks, and which one is the class."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from countwise.errors import SchemaError, did_you_mean, listing, quote
from countwise.numeric import read_number
from countwise.show_rows import align, html_table

Kind = Literal["nominal", "numeric", "text", "target", "id", "drop", "infer"]
WhenMissing = Literal["omit", "value", "drop"]
Level = str | int | float | bool
DateOrder = Literal["", "ymd", "dmy", "mdy", "time"]
_KINDS, _RULES, _ORDERS = get_args(Kind), get_args(WhenMissing), get_args(DateOrder)

#: What counts as missing in a text cell unless a column says otherwise.
MISSING_MARKS: tuple[str, ...] = (
    "",
    "?",
    "NA",
    "N/A",
    "na",
    "n/a",
    "NaN",
    "nan",
    "null",
    "NULL",
    "#N/A",
)  # fmt: skip
#: The level a missing cell becomes in a column with ``when_missing="value"``.
MISSING_VALUE = "(missing)"
#: The level that rare levels become where they are not told apart.
OTHER = "(other)"
_SHOWN_LEVELS = 6


@cache
def _strip(missing: tuple[str, ...]) -> frozenset[str]:
    return frozenset(mark.strip() for mark in ("", *missing)) if missing else frozenset()


def level_key(level: Level) -> tuple[str, Level]:
    """Return what tells levels apart: 1 and 1.0 are one level; 1, True and '1' are three."""
    kind = "bool" if isinstance(level, bool) else "text" if isinstance(level, str) else "number"
    return kind, level


def by_value(levels: Iterable[Level]) -> list[Level]:
    """Sort labels as scikit-learn does, by value; labels of several types by type, then text."""
    every = list(levels)
    try:
        return sorted(every, key=lambda level: (level, level_key(level)[0]))
    except TypeError:
        return sorted(every, key=lambda level: (level_key(level)[0], str(level)))


def level_text(level: Level) -> str:
    """Return a level as a file would write it, to match it across file formats."""
    if isinstance(level, bool):
        return str(level).casefold()
    if isinstance(level, float) and level.is_integer() and abs(level) < 2**53:
        return str(int(level))
    text = str(level).strip()
    if len(text) in (4, 5) and text.casefold() in ("true", "false"):
        return text.casefold()
    return text


def level_number(level: Level) -> float | None:
    """Return the number a level is or reads as, to match '1.0' with 1; None for other texts."""
    if isinstance(level, bool):
        return None
    try:
        return read_number(level) if isinstance(level, str) else float(level)
    except OverflowError:
        return None


def labels_array(levels: Iterable[Level]) -> NDArray[Any]:
    """Return labels as an array that keeps each one as it is, also if their types are mixed."""
    labels = tuple(levels)
    if len({level_key(level)[0] for level in labels}) <= 1:
        return np.asarray(labels)
    mixed = np.empty(len(labels), dtype=object)
    mixed[:] = labels
    return mixed


@dataclass(frozen=True, repr=False)
class Column:
    """One column: its name, its kind and, where it is nominal, its levels in code order.

    Attributes
    ----------
    name
        The name, by which rows are matched with the column.
    kind
        ``nominal``, ``numeric``, ``text`` (free text, of which words are counted), ``target`` (the
        class), ``id`` (found to be an identifier and left out), ``drop`` (left out on request), or
        ``infer``: `read` decides by the data.
    levels
        The levels of a nominal column or of the class, in code order.
    missing
        Marks that mean *missing* in text cells; the blanks around a cell do not count.
    when_missing
        What a missing cell means: it is left out of the counts (``omit``), becomes a level of its
        own (``value``) or drops the row (``drop``).
    dates
        Whether the numbers are days since 1970-01-01, written as dates.
    decimal
        The decimal sign of the file, ``"."`` or ``","``; None if it is to be found.
    thousands, unit
        The thousands mark, and the currency or percent sign, of numbers in texts; 18 % is 0.18.
    date_order
        How dates in texts are written: ``dmy`` or ``mdy``; nothing, or ``ymd``, if they begin with
        the year or name the month; ``time`` for a time of day, which is a fraction of a day.
    fold_case
        Whether levels that differ only in case or blanks are one.
    part_of
        For a column made of dates: ``("month", "sold")`` is the month of column *sold*.

    Examples
    --------
    >>> Column("outlook", "nominal", levels=("overcast", "rainy", "sunny"))
    Column('outlook', 'nominal', levels=('overcast', 'rainy', 'sunny'))
    """

    name: str
    kind: Kind
    levels: tuple[Level, ...] = ()
    missing: tuple[str, ...] = MISSING_MARKS
    when_missing: WhenMissing = "omit"
    dates: bool = False
    decimal: str | None = None
    thousands: str = ""
    unit: str = ""
    date_order: DateOrder = ""
    fold_case: bool = False
    part_of: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse a column that could not be coded."""
        _check_word("kind", self.name, self.kind, _KINDS)
        _check_word("when_missing", self.name, self.when_missing, _RULES)
        if not _is_utf8(text for text in (self.name, *self.levels) if isinstance(text, str)):
            raise SchemaError(
                f"Schema: the name and the levels of column {self.name[:40]!r} must be text; half "
                "a character (a lone surrogate) is among them. Correct the data."
            )
        _check_word("date_order", self.name, self.date_order, _ORDERS)
        if self.levels and len(self.places) != len(self.levels):
            raise SchemaError(
                f"Schema: the levels of column {quote(self.name)} must differ from each other; got "
                "some of them twice. Remove the repeated ones."
            )
        if self.decimal is not None and len(self.decimal) != 1:
            raise SchemaError(
                f"Schema: the decimal mark of column {quote(self.name)} must be one sign; got "
                f"{quote(self.decimal)}."
            )
        if self.kind in ("numeric", "text") and self.when_missing == "value":
            what = "number" if self.kind == "numeric" else "text"
            raise SchemaError(
                f"Schema: column {quote(self.name)} is {self.kind}, and a missing {what} cannot be "
                "a level.",
                hint=(
                    "use `when_missing='omit'` or `when_missing='drop'`",
                    "declare the column nominal",
                ),
            )

    def __repr__(self) -> str:
        shown = [repr(self.name), repr(self.kind)]
        if self.levels:
            more = f"; {self.width} levels" if self.width > _SHOWN_LEVELS else ""
            shown.append(f"levels={self.levels[:_SHOWN_LEVELS]!r}{more}")
        shown += [f"{name}={value!r}" for name, value in self._changed()]
        return f"Column({', '.join(shown)})"

    @cached_property
    def marks(self) -> frozenset[str]:
        """The missing marks without surrounding blanks; an empty text is one if there are any."""
        return _strip(self.missing)

    @cached_property
    def places(self) -> dict[tuple[str, Level], int]:
        """The code of each level."""
        return {level_key(level): place for place, level in enumerate(self.levels)}

    @cached_property
    def text_places(self) -> dict[str, int]:
        """The code of each level by its text, as files write it."""
        return {level_text(level): place for place, level in enumerate(self.levels)}

    @cached_property
    def number_places(self) -> dict[float, int]:
        """The code of each level that is a number, however it was written."""
        numbers = ((level_number(level), place) for place, level in enumerate(self.levels))
        return {number: place for number, place in numbers if number is not None}

    def place(self, level: Level) -> int:
        """Return the code of a level, found by value, text or number; -1 if it is unknown."""
        found = self.places.get(level_key(level))
        if found is None:
            found = self.text_places.get(level_text(level))
        if found is None:
            number = level_number(level)
            found = None if number is None else self.number_places.get(number)
        return -1 if found is None else found

    def same_levels(self, other: Column) -> bool:
        """Return whether both columns have the same levels in the same order."""
        return self.levels == other.levels and list(self.places) == list(other.places)

    @property
    def width(self) -> int:
        """The number of levels; code ``width`` is missing, ``width + 1`` is unseen."""
        return len(self.levels)

    @property
    def coded(self) -> bool:
        """Whether the column holds codes of levels (nominal or target)."""
        return self.kind in ("nominal", "target")

    @property
    def knows_number_marks(self) -> bool:
        """Whether the usual missing marks hold, so that more are known among numbers and dates."""
        return self.marks.issuperset(MISSING_MARKS)

    @property
    def left_out(self) -> bool:
        """Whether the column is left out, as an identifier or on request."""
        return self.kind in ("id", "drop")

    def with_levels(self, levels: Iterable[Level]) -> Column:
        """Return the same column with these levels."""
        return replace(self, levels=tuple(levels))

    def to_dict(self) -> dict[str, Any]:
        """Return the column as plain data, without what has its default value."""
        plain: dict[str, Any] = {"name": self.name, "kind": self.kind}
        if self.coded:
            plain["levels"] = list(self.levels)
        for name, value in self._changed():
            plain[name] = list(value) if isinstance(value, tuple) else value
        return plain

    def _changed(self) -> list[tuple[str, Any]]:
        """Return the options that have not their default values."""
        options = [(option, getattr(self, option.name)) for option in fields(self)[3:]]
        return [(option.name, value) for option, value in options if value != option.default]

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Column:
        """Read a column back from plain data."""
        if not isinstance(plain, Mapping):
            raise SchemaError(f"Schema: every column must be a mapping; got {quote(plain)}.")
        known = {option.name for option in fields(cls)}
        for key in plain:
            if key not in known:
                raise SchemaError(
                    f"Schema: a column has no property {quote(key)}.{did_you_mean(key, known)} "
                    f"It may have {listing(sorted(known), 9)}."
                )
        if not isinstance(plain.get("name"), str) or "kind" not in plain:
            raise SchemaError(
                "Schema: every column must have a 'name' and a 'kind'; got "
                f"{quote(dict(plain))}. Add what is missing."
            )
        levels = plain.get("levels", ())
        marks = plain.get("missing", MISSING_MARKS)
        if isinstance(levels, str | Mapping) or not isinstance(levels, Iterable):
            raise SchemaError(
                f"Schema: the levels of {quote(plain['name'])} must be a list; got {quote(levels)}."
            )
        if any(not isinstance(level, str | int | float | bool) for level in levels):
            raise SchemaError(
                f"Schema: the levels of {quote(plain['name'])} must be texts, numbers or booleans."
            )
        return cls(
            name=plain["name"],
            kind=plain["kind"],
            levels=tuple(levels),
            missing=(marks,) if isinstance(marks, str) else tuple(marks),
            when_missing=plain.get("when_missing", "omit"),
            dates=bool(plain.get("dates", False)),
            decimal=None if plain.get("decimal") is None else str(plain["decimal"]),
            thousands=str(plain.get("thousands", "")),
            unit=str(plain.get("unit", "")),
            date_order=plain.get("date_order", ""),
            fold_case=bool(plain.get("fold_case", False)),
            part_of=tuple(map(str, plain.get("part_of", ()))),
        )


@dataclass(frozen=True, repr=False)
class Schema:
    """The columns of a table in order; it can be written out, edited and passed back to `read`.

    Examples
    --------
    >>> windy = Column("windy", "nominal", ("no", "yes"))
    >>> schema = Schema((windy, Column("play", "target", ("n", "y"))))
    >>> schema.target.name, [column.name for column in schema.attributes]
    ('play', ['windy'])
    >>> Schema.from_dict(schema.to_dict()) == schema
    True
    """

    columns: tuple[Column, ...]
    _place: dict[str, int] = field(init=False, repr=False, compare=False, hash=False)

    def __post_init__(self) -> None:
        """Index the columns by name and refuse two classes or two equal names."""
        place: dict[str, int] = {}
        for position, column in enumerate(self.columns):
            if column.name in place:
                raise SchemaError(
                    f"Schema: column names must differ; got {quote(column.name)} twice. Rename one "
                    "of them."
                )
            place[column.name] = position
        object.__setattr__(self, "_place", place)
        targets = [column.name for column in self.columns if column.kind == "target"]
        if len(targets) > 1:
            raise SchemaError(
                f"Schema: one column can be the target; got {listing(targets)}. Keep one."
            )

    def __repr__(self) -> str:
        head = f"Schema of {len(self)} columns"
        return "\n".join([head, *align(_cells(column) for column in self.columns)])

    def _repr_html_(self) -> str:
        rows = [_cells(column) for column in self.columns]
        return html_table(("column", "kind", "levels"), rows, f"Schema of {len(self)} columns")

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def __contains__(self, name: object) -> bool:
        return name in self._place

    def __getitem__(self, name: str) -> Column:
        if name not in self._place:
            raise SchemaError(
                f"Schema: there is no column {quote(name)}.{did_you_mean(name, self._place)} "
                f"The columns are {listing(self._place)}."
            )
        return self.columns[self._place[name]]

    @cached_property
    def target(self) -> Column | None:
        """The class column, or None."""
        return next((column for column in self.columns if column.kind == "target"), None)

    @cached_property
    def attributes(self) -> tuple[Column, ...]:
        """The columns a model may use, in order."""
        return tuple(c for c in self.columns if c.kind in ("nominal", "numeric", "text"))

    @cached_property
    def nominal(self) -> tuple[Column, ...]:
        """The nominal attributes."""
        return tuple(column for column in self.columns if column.kind == "nominal")

    @cached_property
    def numeric(self) -> tuple[Column, ...]:
        """The numeric attributes."""
        return tuple(column for column in self.columns if column.kind == "numeric")

    @cached_property
    def text(self) -> tuple[Column, ...]:
        """The attributes that hold free text."""
        return tuple(column for column in self.columns if column.kind == "text")

    def with_columns(self, changed: Iterable[Column]) -> Schema:
        """Return the schema with these columns in the place of those of the same name."""
        new = {column.name: column for column in changed}
        return Schema(tuple(new.get(column.name, column) for column in self.columns))

    def without_target(self) -> Schema:
        """Return the schema of the attributes alone."""
        return Schema(tuple(column for column in self.columns if column.kind != "target"))

    def without_text(self) -> Schema:
        """Return the schema with its text columns left out."""
        return self.with_columns(replace(column, kind="drop") for column in self.text)

    def to_dict(self) -> dict[str, Any]:
        """Return the schema as plain data."""
        return {"columns": [column.to_dict() for column in self.columns]}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Schema:
        """Read a schema back from plain data."""
        columns = plain.get("columns") if isinstance(plain, Mapping) else None
        if not isinstance(columns, Sequence) or isinstance(columns, str):
            raise SchemaError(
                "Schema: plain data must hold a list under 'columns'. Write one with "
                "table.schema.write(path) and edit that."
            )
        return cls(tuple(Column.from_dict(column) for column in columns))

    def write(self, path: str | Path) -> None:
        """Write the schema as JSON, one column a line, to be edited and read back."""
        lines = ",\n".join(
            "  " + json.dumps(column.to_dict(), ensure_ascii=False) for column in self.columns
        )
        Path(path).write_text('{"columns": [\n' + lines + "\n]}\n", encoding="utf-8")

    @classmethod
    def read(cls, path: str | Path) -> Schema:
        """Read a schema from a JSON file."""
        from countwise.tables.formats.source import MAX_NESTING, is_too_deep

        try:
            text = Path(path).read_text(encoding="utf-8-sig")
        except FileNotFoundError:
            raise SchemaError(f"Schema: there is no file {str(path)!r}. Check the path.") from None
        except (OSError, UnicodeDecodeError) as why:
            raise SchemaError(f"Schema: {str(path)!r} cannot be read ({why}).") from None
        try:
            if is_too_deep(text.encode()):
                raise ValueError(f"nested deeper than {MAX_NESTING} levels")
            plain = json.loads(text)
        except ValueError as why:
            raise SchemaError(
                f"Schema: {str(path)!r} must be JSON; reading it failed ({why}). Write one with "
                "table.schema.write(path) and edit that."
            ) from None
        return cls.from_dict(plain)


def _cells(column: Column) -> tuple[str, str, str]:
    more = f", … ({column.width} levels)" if column.width > _SHOWN_LEVELS else ""
    levels = ", ".join(map(str, column.levels[:_SHOWN_LEVELS])) + more
    return column.name, column.kind, "dates" if column.dates and not levels else levels


def _is_utf8(texts: Iterable[str]) -> bool:
    """Return whether texts can be written to files; half a surrogate pair cannot."""
    try:
        "\n".join(texts).encode()
    except UnicodeEncodeError:
        return False
    return True


def _check_word(what: str, column: str, value: object, words: tuple[str, ...]) -> None:
    if value not in words:
        raise SchemaError(
            f"Schema: {what} of column {quote(column)} must be one of "
            f"{listing(words, len(words))}; got {quote(value)}.{did_you_mean(value, words)}"
        )
