"""Options of `read`: a partial schema, and the dialect of a text file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from countwise.errors import ParameterError, TableError, did_you_mean, listing
from countwise.tables.raw_columns import Numbers, Raw
from countwise.tables.schema import MISSING_MARKS, Column, Kind, Schema, WhenMissing

Names = Iterable[str | int] | str
Mark = str | int | float
Marks = Mark | Iterable[Mark] | Mapping[str, Mark | Iterable[Mark]]
MissingRules = WhenMissing | Mapping[str, WhenMissing]
AnySchema = Schema | Mapping[str, Any] | str | os.PathLike[str]

_INFER = Column("", "infer")


@dataclass(frozen=True)
class ReadOptions:
    """What is known about a source before it is read; one object from the caller to Arrow."""

    #: The declared columns by name, or by position until `resolve` is called.
    columns: Mapping[str | int, Column] = field(default_factory=dict)
    #: What every other column is like; of kind ``drop`` if `columns` is a whole schema.
    default: Column = _INFER
    target: str | int | None = None
    header: bool = True
    separator: str | None = None
    identifiers: str = "drop"
    #: Whether the day comes before the month where no date of a column says so; None: by its sign.
    day_first: bool | None = None
    #: Lines before the header of a text file; None: they are found.
    skip_lines: int | None = None
    #: The sheet of a workbook, by name or by number from 1; None: the first that holds a table.
    sheet: str | int | None = None
    #: The column of weights of rows outside memory, which is no column of the table.
    weight: str | None = None
    #: By column that is numeric because the first rows are, whether these hold whole numbers only.
    inferred: Mapping[str, bool] = field(default_factory=dict)
    #: By column that another parameter than its kind names: what takes it, and the parameter.
    roles: Mapping[str | int, tuple[str, str]] = field(default_factory=dict)
    _like_default: dict[str, Column] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @classmethod
    def of(
        cls,
        target: Any = None,
        nominal: Names = (),
        numeric: Names = (),
        text: Names = (),
        drop: Names = (),
        missing: Marks | None = None,
        when_missing: MissingRules = "omit",
        schema: AnySchema | None = None,
        identifiers: str = "drop",
        header: bool = True,
        separator: str | None = None,
        missing_only: Marks | None = None,
        fold_case: bool = False,
        day_first: bool | None = None,
        skip_lines: int | None = None,
        sheet: str | int | None = None,
    ) -> ReadOptions:
        """Gather the arguments of `read`, of which some change the columns of a schema."""
        _check_options(identifiers, skip_lines, sheet)
        if missing is not None and missing_only is not None:
            raise ParameterError(
                "read: `missing=` adds marks to the usual ones and `missing_only=` replaces them; "
                "got both. Keep one."
            )
        replaces = missing_only is not None
        missing = missing_only if replaces else missing
        known = None if schema is None else _schema(schema)
        every = isinstance(nominal, str) and nominal == "all"
        usual = MISSING_MARKS
        if missing is not None and not isinstance(missing, Mapping):
            usual = _marks(missing, () if replaces else MISSING_MARKS)
        rule: Any = "omit" if isinstance(when_missing, Mapping) else when_missing
        kind: Kind = "drop" if known is not None else "nominal" if every else "infer"
        options = cls(
            {} if known is None else {column.name: column for column in known},
            Column("", kind, missing=usual, when_missing=rule, fold_case=fold_case),
            target if is_name(target) else None,
            header,
            separator,
            identifiers,
            day_first,
            skip_lines,
            sheet,
        )
        changes = _change_missing(known, missing, replaces, when_missing)
        if known is not None:
            if options.target in known and known.target is not None:
                changes.setdefault(known.target.name, {})["kind"] = "drop"
            nominal = [column.name for column in known.numeric] if every else nominal
        kinds: tuple[tuple[Kind, Any], ...] = (
            ("nominal", () if every and known is None else nominal),
            ("numeric", numeric),
            ("text", text),
            ("drop", drop),
            ("target", [options.target] if options.target in (known or ()) else ()),
        )
        for kind, names in kinds:
            for item in [names] if isinstance(names, str) else names:
                change = changes.setdefault(item, {})
                _check_one_kind(item, kind, change.get("kind"))
                change["kind"] = kind
        changed = {name: options._changed(name, change, known) for name, change in changes.items()}
        return replace(options, columns={**options.columns, **changed})

    def _changed(self, name: str | int, change: dict[str, Any], known: Schema | None) -> Column:
        before = replace(self.default, name=str(name)) if known is None else known[str(name)]
        kind = change.get("kind", before.kind)
        if before.coded and kind not in ("nominal", "target"):
            change = {**change, "levels": ()}
        if kind == "target" or (kind in ("numeric", "text") and "when_missing" not in change):
            change = {**change, "when_missing": "omit"}
        return replace(before, **change)

    @property
    def is_schema(self) -> bool:
        """Whether the columns are a whole schema, so that all others are left out."""
        return self.default.kind == "drop"

    @property
    def infers(self) -> bool:
        """Whether the cells decide on the kind of some column."""
        columns = (self.default, *self.columns.values())
        return bool(self.inferred) or any(column.kind == "infer" for column in columns)

    def column(self, name: str) -> Column:
        """Return what is known about a column."""
        if name in self.columns and (name != self.target or self.is_schema):
            return self.columns[name]
        if name not in self._like_default:
            like = replace(self.columns.get(name, self.default), name=name)
            if name == self.target:
                like = replace(like, kind="target", when_missing="omit")
            self._like_default[name] = like
        return self._like_default[name]

    def marks(self, name: str) -> frozenset[str]:
        """Return the missing marks of a column of a file, in which an empty cell is missing."""
        return self.column(name).marks | {""}

    def has_own_marks(self, name: str) -> bool:
        """Return whether the missing marks of a column are other than the usual ones."""
        return self.marks(name) != frozenset(MISSING_MARKS)

    def is_needed(self, name: str) -> bool:
        """Return whether a block of a file must hold the column."""
        named = (self.target, self.weight)
        return name in self.columns or not self.is_schema or name in named

    def resolve(self, names: Sequence[str]) -> ReadOptions:
        """Return the options with names in the place of positions; refuse unknown columns."""
        target = None if self.target is None else resolve(self.target, names, "target")
        left_out = self._leave_out_weight(names, target)
        if self.is_schema:
            return replace(self, columns={**self.columns, **left_out}, target=target)
        columns: dict[str | int, Column] = {}
        for item, column in {**self.columns, **left_out}.items():
            who = column.kind
            if column.kind == self.default.kind:
                same_marks = column.missing == self.default.missing
                who = "when_missing" if same_marks else "missing"  # type: ignore[assignment]
            door, parameter = self.roles.get(item, ("read", who))
            name = resolve(item, names, parameter, door)
            columns[name] = self._merged(columns.get(name), replace(column, name=name))
        return replace(self, columns=columns, target=target)

    def with_roles(self, door: str, roles: Mapping[str, str]) -> ReadOptions:
        """Return the options with columns as levels that parameters of `door` name: `groups`."""
        columns, named_by = dict(self.columns), dict[str | int, tuple[str, str]]()
        for parameter, name in roles.items():
            columns[name] = replace(self.column(name), kind="nominal")
            named_by[name] = door, parameter
        return replace(self, columns=columns, roles=named_by)

    def _leave_out_weight(
        self, names: Sequence[str], target: str | None
    ) -> dict[str | int, Column]:
        """Return the column of weights as one that is left out."""
        if self.weight is None:
            return {}
        name = resolve(self.weight, names, "weight")
        if name == target:
            raise TableError(f"read: `weight=` must not be the class; got {name!r}.")
        return {name: replace(self.default, name=name, kind="drop")}

    def _merged(self, one: Column | None, other: Column) -> Column:
        """Return one column for what was declared by its name and by its position."""
        if one is None:
            return other
        _check_one_kind(other.name, one.kind, other.kind)
        kind = one.kind if other.kind == "infer" or one.kind == "drop" else other.kind
        missing = one.missing if other.missing == self.default.missing else other.missing
        same_rule = other.when_missing == self.default.when_missing
        rule = one.when_missing if same_rule else other.when_missing
        return replace(other, kind=kind, missing=missing, when_missing=rule)

    def settle(self, name: str, kind: Kind, raw: Raw | None = None) -> Column:
        """Return the column as the kind that the data decided, written as its texts are."""
        column = self.column(name)
        rule = column.when_missing
        if kind in ("numeric", "text") and rule == self.default.when_missing == "value":
            rule = "omit"
        settled = replace(column, kind=kind, when_missing=rule)
        if kind != "numeric" or not isinstance(raw, Numbers):
            return settled
        found: dict[str, Any] = dict(raw.written)
        if raw.marks:
            found["missing"] = tuple(dict.fromkeys((*column.missing, *sorted(raw.marks))))
        return replace(settled, dates=raw.dates or column.dates, **found)


#: What is changed of some columns, by the names of their options.
Changes = dict[str | int, dict[str, Any]]


def _change_missing(
    known: Schema | None, missing: Marks | None, replaces: bool, when_missing: MissingRules
) -> Changes:
    """Return the columns that get other missing marks, or rules for missing cells.

    The marks are added to those of a column unless they replace them.
    """
    changes: Changes = {}
    marks: Mapping[Any, Any] = {}
    if isinstance(missing, Mapping):
        marks = missing
    elif missing is not None and known is not None:
        marks = {column.name: missing for column in known}
    rules: Mapping[Any, Any] = {}
    if isinstance(when_missing, Mapping):
        rules = when_missing
    elif known is not None and when_missing != "omit":
        rules = {column.name: when_missing for column in known.nominal}
    for name, given in marks.items():
        before = known[name].missing if known is not None and name in known else MISSING_MARKS
        changes.setdefault(name, {})["missing"] = _marks(given, () if replaces else before)
    for name, rule in rules.items():
        changes.setdefault(name, {})["when_missing"] = rule
    return changes


def _check_options(identifiers: str, skip_lines: Any, sheet: Any) -> None:
    """Refuse what these options cannot be."""
    if identifiers not in ("drop", "drop named", "keep"):
        raise ParameterError("read", "identifiers", "'drop', 'drop named' or 'keep'", identifiers)
    if skip_lines is not None and (isinstance(skip_lines, bool) or skip_lines < 0):
        raise ParameterError("read", "skip_lines", "a whole number from 0", skip_lines)
    if isinstance(sheet, bool) or (sheet is not None and not isinstance(sheet, str | int)):
        raise ParameterError("read", "sheet", "a sheet's name or its number from 1", sheet)


def _check_one_kind(name: object, kind: str, other: str | None) -> None:
    if kind != other and {kind, other} <= {"nominal", "numeric", "text"}:
        raise ParameterError(
            f"read: a column must be nominal, numeric or text; got {name!r} as {other} and {kind}. "
            "Keep one."
        )


def _schema(given: AnySchema) -> Schema:
    if isinstance(given, Schema):
        return given
    return Schema.from_dict(given) if isinstance(given, Mapping) else Schema.read(Path(given))


def _marks(given: Any, before: tuple[str, ...] = ()) -> tuple[str, ...]:
    marks = (given,) if isinstance(given, str | int | float) else tuple(given)
    for mark in marks:
        if not isinstance(mark, str | int | float) or isinstance(mark, bool):
            raise ParameterError("read", "missing", "texts or numbers", mark)
    return tuple(dict.fromkeys(["", *before, *map(str, marks)]))


def is_name(target: Any) -> bool:
    """Return whether a target is the name or position of a column, not the labels themselves."""
    return isinstance(target, str | int | np.integer) and not isinstance(target, bool)


def resolve(
    item: str | int | np.integer[Any], names: Sequence[str], who: str, door: str = "read"
) -> str:
    """Return the name of a column given by name or position; `who` is the option that names it."""
    if str(item) in names:  # a frame may call its columns 0, 1, 2: names go before positions
        return str(item)
    if is_name(item) and not isinstance(item, str) and -len(names) <= item < len(names):
        return names[int(item)]
    raise TableError(
        f"{door}: `{who}=` must name a column; got {item!r}.{did_you_mean(item, names)} "
        f"The columns are {listing(names)}."
    )
