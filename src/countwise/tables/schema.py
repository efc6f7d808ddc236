"""What the columns of a table are: kinds, levels, missing marks, and which one is the class."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from countwise.errors import SchemaError, did_you_mean, listing

Kind = Literal["nominal", "numeric", "target", "id", "drop"]
WhenMissing = Literal["omit", "value", "drop"]
Level = str | int | float | bool

#: What counts as missing in a text cell unless a column says otherwise.
MISSING_MARKS: tuple[str, ...] = ("", "?", "NA", "N/A", "na", "n/a", "NaN", "nan", "null", "NULL")
#: The level a missing cell becomes in a column with ``when_missing="value"``.
MISSING_VALUE = "(missing)"


def level_key(level: Level) -> tuple[str, Level]:
    """What makes a level itself: 1 and 1.0 are one level; 1, True and '1' are three."""
    kind = "bool" if isinstance(level, bool) else "text" if isinstance(level, str) else "number"
    return kind, level


def level_text(level: Level) -> str:
    """How a level would be written in a file: the way to match it across file formats."""
    if isinstance(level, bool):
        return str(level).casefold()
    if isinstance(level, float) and level.is_integer() and abs(level) < 2**53:
        return str(int(level))
    text = str(level).strip()
    return text.casefold() if text.casefold() in ("true", "false") else text


def level_number(level: Level) -> float | None:
    """The number a level is or reads as, for matching '1.0' with 1; None for other texts."""
    if isinstance(level, bool):
        return None
    try:
        return float(level)
    except (ValueError, OverflowError):
        return None


def labels_array(levels: Iterable[Level]) -> NDArray[Any]:
    """Labels as an array that keeps each one as it is, also where their types are mixed."""
    every = tuple(levels)
    if len({level_key(level)[0] for level in every}) <= 1:
        return np.asarray(every)
    mixed = np.empty(len(every), dtype=object)
    mixed[:] = every
    return mixed


@dataclass(frozen=True)
class Column:
    """One column: its name, its kind and, where it is nominal, its levels in code order.

    ``kind`` is ``nominal``, ``numeric``, ``target`` (the class), ``id`` (found to be an identifier
    and left out) or ``drop`` (left out on request). ``when_missing`` is the choice of Smart, Leh
    and Marsh for a missing cell: leave it out of the counts (``omit``), make it a value of its own
    (``value``) or drop the row (``drop``).

    Examples
    --------
    >>> Column("outlook", "nominal", levels=("overcast", "rainy", "sunny")).width
    3
    """

    name: str
    kind: Kind
    levels: tuple[Level, ...] = ()
    missing: tuple[str, ...] = MISSING_MARKS
    when_missing: WhenMissing = "omit"
    dates: bool = False
    decimal: str = "."

    def __post_init__(self) -> None:
        """Refuse a column that could not be coded."""
        _one_word("kind", self.name, self.kind, get_args(Kind))
        _one_word("when_missing", self.name, self.when_missing, get_args(WhenMissing))
        if len(self.places) != len(self.levels):
            raise SchemaError(
                f"Schema: the levels of column {self.name!r} must differ from each other, but some "
                "stand there twice. Remove the repeated ones."
            )
        if self.kind == "numeric" and self.when_missing == "value":
            raise SchemaError(
                f"Schema: column {self.name!r} is numeric, and a missing number cannot be a level. "
                "Use when_missing='omit' or 'drop', or declare the column nominal."
            )

    @cached_property
    def places(self) -> dict[tuple[str, Level], int]:
        """Where each level stands."""
        return {level_key(level): place for place, level in enumerate(self.levels)}

    @cached_property
    def text_places(self) -> dict[str, int]:
        """Where the level of a text stands, as files write it."""
        return {level_text(level): place for place, level in enumerate(self.levels)}

    @cached_property
    def number_places(self) -> dict[float, int]:
        """Where the level of a number stands, however it was written."""
        numbers = ((level_number(level), place) for place, level in enumerate(self.levels))
        return {number: place for number, place in numbers if number is not None}

    def place(self, level: Level) -> int:
        """Where a level stands, by itself, its text or its number; -1 if it is unknown."""
        found = self.places.get(level_key(level))
        if found is None:
            found = self.text_places.get(level_text(level))
        if found is None:
            number = level_number(level)
            found = None if number is None else self.number_places.get(number)
        return -1 if found is None else found

    def same_levels(self, other: Column) -> bool:
        """Whether both columns have the same levels in the same order."""
        return self.levels == other.levels and list(self.places) == list(other.places)

    @property
    def width(self) -> int:
        """How many levels there are; code ``width`` is missing, ``width + 1`` is unseen."""
        return len(self.levels)

    @property
    def coded(self) -> bool:
        """Whether the column holds codes of levels (nominal or target)."""
        return self.kind in ("nominal", "target")

    def with_levels(self, levels: Iterable[Level]) -> Column:
        """Return the same column with these levels."""
        return replace(self, levels=tuple(levels))

    def to_dict(self) -> dict[str, Any]:
        """Return the column as plain data, leaving out what is as usual."""
        plain: dict[str, Any] = {"name": self.name, "kind": self.kind}
        if self.coded:
            plain["levels"] = list(self.levels)
        if self.missing != MISSING_MARKS:
            plain["missing"] = list(self.missing)
        if self.when_missing != "omit":
            plain["when_missing"] = self.when_missing
        if self.dates:
            plain["dates"] = True
        if self.decimal != ".":
            plain["decimal"] = self.decimal
        return plain

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Column:
        """Read a column back from plain data."""
        known = {"name", "kind", "levels", "missing", "when_missing", "dates", "decimal"}
        for key in plain:
            if key not in known:
                raise SchemaError(
                    f"Schema: a column has no property {key!r}.{did_you_mean(key, known)} "
                    f"It may have {listing(sorted(known), 9)}."
                )
        if not isinstance(plain.get("name"), str) or "kind" not in plain:
            raise SchemaError(
                "Schema: every column needs a 'name' and a 'kind', but "
                f"{dict(plain)!r} came. Add what is missing."
            )
        levels = plain.get("levels", ())
        marks = plain.get("missing", MISSING_MARKS)
        if isinstance(levels, str | Mapping) or not isinstance(levels, Iterable):
            raise SchemaError(f"Schema: the levels of {plain['name']!r} must be a list.")
        if any(not isinstance(level, str | int | float | bool) for level in levels):
            raise SchemaError(
                f"Schema: the levels of {plain['name']!r} must be texts, numbers or booleans."
            )
        return cls(
            name=plain["name"],
            kind=plain["kind"],
            levels=tuple(levels),
            missing=(marks,) if isinstance(marks, str) else tuple(marks),
            when_missing=plain.get("when_missing", "omit"),
            dates=bool(plain.get("dates", False)),
            decimal=str(plain.get("decimal", ".")),
        )


@dataclass(frozen=True)
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
                    f"Schema: column names must differ, but {column.name!r} stands there twice. "
                    "Rename one of them."
                )
            place[column.name] = position
        object.__setattr__(self, "_place", place)
        targets = [column.name for column in self.columns if column.kind == "target"]
        if len(targets) > 1:
            raise SchemaError(
                f"Schema: one column can be the target, but {listing(targets)} are marked so. "
                "Keep one."
            )

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def __contains__(self, name: object) -> bool:
        return name in self._place

    def __getitem__(self, name: str) -> Column:
        if name not in self._place:
            raise SchemaError(
                f"Schema: there is no column {name!r}.{did_you_mean(name, self._place)} "
                f"The columns are {listing(self._place)}."
            )
        return self.columns[self._place[name]]

    @property
    def target(self) -> Column | None:
        """The class column, or None."""
        return next((column for column in self.columns if column.kind == "target"), None)

    @property
    def attributes(self) -> tuple[Column, ...]:
        """The columns a model may use, in order."""
        return tuple(column for column in self.columns if column.kind in ("nominal", "numeric"))

    @property
    def nominal(self) -> tuple[Column, ...]:
        """The nominal attributes."""
        return tuple(column for column in self.columns if column.kind == "nominal")

    @property
    def numeric(self) -> tuple[Column, ...]:
        """The numeric attributes."""
        return tuple(column for column in self.columns if column.kind == "numeric")

    def with_columns(self, changed: Iterable[Column]) -> Schema:
        """Return the schema with these columns in the place of those of the same name."""
        new = {column.name: column for column in changed}
        return Schema(tuple(new.get(column.name, column) for column in self.columns))

    def without_target(self) -> Schema:
        """Return the schema of the attributes alone."""
        return Schema(tuple(column for column in self.columns if column.kind != "target"))

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
        for column in columns:
            if not isinstance(column, Mapping):
                raise SchemaError(f"Schema: every column must be a mapping, but {column!r} came.")
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
        try:
            text = Path(path).read_text(encoding="utf-8-sig")
        except FileNotFoundError:
            raise SchemaError(f"Schema: there is no file {str(path)!r}. Check the path.") from None
        except (OSError, UnicodeDecodeError) as why:
            raise SchemaError(f"Schema: {str(path)!r} cannot be read ({why}).") from None
        try:
            plain = json.loads(text)
        except (json.JSONDecodeError, RecursionError) as why:
            raise SchemaError(
                f"Schema: {str(path)!r} must be JSON, but {why}. Write one with "
                "table.schema.write(path) and edit that."
            ) from None
        return cls.from_dict(plain)


def _one_word(what: str, column: str, value: object, words: tuple[str, ...]) -> None:
    if value not in words:
        raise SchemaError(
            f"Schema: {what} of column {column!r} must be one of {listing(words)}, but {value!r} "
            f"came.{did_you_mean(value, words)}"
        )
