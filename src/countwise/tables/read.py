"""Any source (a file, a sample, a frame, an array, records) as raw columns, by what is asked."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.errors import SchemaError, TableError, did_you_mean, listing
from countwise.notes import Note
from countwise.tables import code_levels, datasets, infer_schema
from countwise.tables.formats import detect
from countwise.tables.formats.frames import (
    array_columns,
    frame_columns,
    record_columns,
    target_column,
)
from countwise.tables.raw_columns import Raw
from countwise.tables.read_options import Marks, Names, Parsed, Reading, Wishes, resolved
from countwise.tables.schema import MISSING_MARKS, Column, Schema, WhenMissing
from countwise.tables.table import Table


def brought(
    source: Any,
    target: Any,
    wishes: Wishes,
    known: Schema | None,
    header: bool,
    separator: str | None,
) -> tuple[Parsed, Any, Wishes]:
    """Bring any source to raw columns; a sample brings its own target and levels along."""
    if isinstance(source, str) and source.startswith("sample:"):
        source, target, wishes = _sample(source, target, wishes, known)
    if isinstance(source, str | os.PathLike):
        return _file(source, target, wishes, known, header, separator)
    if isinstance(source, list | tuple) and source and isinstance(source[0], Mapping):
        return Parsed(record_columns(source)), target, wishes
    if isinstance(source, np.ndarray | list | tuple):
        return Parsed(array_columns(source, known)), target, wishes
    only = None
    if known is not None:
        only = frozenset(c.name for c in known if c.kind not in ("id", "drop")) | {str(target)}
    skip = frozenset(str(item) for item in wishes.drop)
    return Parsed(frame_columns(source, skip, only)), target, wishes


def _sample(
    source: str, target: Any, wishes: Wishes, known: Schema | None
) -> tuple[Any, Any, Wishes]:
    sample = datasets.find(source.removeprefix("sample:"))
    if target is None and known is None:
        target = sample.target
    levels = {c["name"]: tuple(c["values"]) for c in sample.columns if c.get("values")}
    declared = frozenset(c["name"] for c in sample.columns if c["kind"] == "nominal")
    declared -= wishes.numeric | wishes.drop | {sample.target}
    return (
        sample.locate(),
        target,
        replace(wishes, nominal=wishes.nominal | declared, levels=levels),
    )


def _file(
    source: str | os.PathLike[str],
    target: Any,
    wishes: Wishes,
    known: Schema | None,
    header: bool,
    separator: str | None,
) -> tuple[Parsed, Any, Wishes]:
    by_place = isinstance(target, int | np.integer) or any(
        not isinstance(item, str) for item in wishes.nominal | wishes.numeric | wishes.drop
    )
    if known is None and (by_place or wishes.every_nominal):
        # Whether '007' is a text must be known before it is read, so positions become names first.
        names = detect.column_names(source, Reading(header=header, separator=separator))
        if isinstance(target, int | np.integer):
            target = resolved(target, names, "target")
        if wishes.every_nominal:
            every = frozenset(names) - wishes.numeric - wishes.drop - {target}
            wishes = replace(wishes, nominal=wishes.nominal | every)
        wishes = wishes.by_name(names)
    parsed = detect.parse(source, _reading(target, wishes, known, header, separator))
    is_arff = str(source).lower().removesuffix(".gz").endswith(".arff")
    if target is None and known is None and is_arff:
        target = _arff_target(parsed)
    return parsed, target, wishes


def _arff_target(parsed: Parsed) -> str | None:
    last = next(reversed(parsed.columns), None)
    named = next((n for n in parsed.columns if n.casefold() == "class"), last)
    return named if named is not None and parsed.kinds.get(named) == "nominal" else None


def _reading(
    target: Any, wishes: Wishes, known: Schema | None, header: bool, separator: str | None
) -> Reading:
    if known is not None:
        return Reading(
            marks={c.name: c.missing for c in known if c.missing != MISSING_MARKS},
            text=frozenset(c.name for c in known if c.coded),
            only=frozenset(c.name for c in known if c.kind not in ("id", "drop")),
            number=frozenset(c.name for c in known if c.kind == "numeric" and not c.dates),
            dates=frozenset(c.name for c in known if c.dates),
            decimal={c.name: c.decimal for c in known if c.decimal != "."},
            header=header,
            separator=separator,
        )
    text = {item for item in wishes.nominal if isinstance(item, str)}
    if isinstance(target, str):
        text.add(target)
    return Reading(
        marks=wishes.marks,
        all_marks=wishes.all_marks,
        text=frozenset(text),
        skip=frozenset(item for item in wishes.drop if isinstance(item, str)),
        number=frozenset(item for item in wishes.numeric if isinstance(item, str)),
        header=header,
        separator=separator,
    )


#: More classes than this, on every second row a new one, are hardly classes.
MANY_CLASSES = 20


def read(
    source: Any,
    target: Any = None,
    *,
    nominal: Names = (),
    numeric: Names = (),
    drop: Names = (),
    missing: Marks | None = None,
    when_missing: WhenMissing | Mapping[str, WhenMissing] = "omit",
    schema: Schema | Mapping[str, Any] | str | os.PathLike[str] | None = None,
    identifiers: str = "drop",
    header: bool = True,
    separator: str | None = None,
    keep_rows: bool = False,
) -> Table:
    """Read a file, a data frame or an array as a table of nominal and numeric columns.

    Parameters
    ----------
    source
        A path (CSV, TSV, Parquet, JSON lines, ARFF; also gzipped), ``sample:name`` for a bundled
        data set, a pandas, polars or pyarrow frame, a NumPy array, a list of rows, a mapping of
        columns, or a `Table`.
    target
        The class: the name (or position) of a column, or the labels themselves, one a row.
    nominal, numeric, drop
        Columns whose kind is known better than what inference would say: numbers that are
        codes, text that holds numbers, columns to leave out. ``nominal="all"`` takes every column.
    missing
        Marks that mean *missing*, for all columns or by column; empty, ``?``, ``NA``, ``nan`` and
        ``null`` if not given.
    when_missing
        What a missing cell means, for all columns or by column: ``omit`` it from the counts, make
        it a ``value`` of its own, or ``drop`` the row. Said for all columns, ``value`` acts as
        ``omit`` in numeric ones.
    schema
        A `Schema` (or the path of a written one) to code by: columns are found by name, and a level
        it does not know becomes *unseen*.
    identifiers
        ``drop`` columns that identify rows, with a note, or ``keep`` them.
    header, separator
        For text files: whether the first line names the columns, and what stands between cells.
    keep_rows
        Keep rows without a class and rows that ``when_missing="drop"`` would drop: what prediction
        needs, where every row wants an answer.

    Examples
    --------
    >>> import countwise as cw
    >>> cw.read({"sky": ["sun", "rain", None], "play": ["yes", "no", "yes"]}, target="play")
    <Table: 3 rows, 1 nominal and 0 numeric columns, target 'play' with 2 classes>
    >>> cw.read("sample:weather").schema["outlook"].levels
    ('sunny', 'overcast', 'rainy')
    """
    wishes = Wishes.of(nominal, numeric, drop, missing, when_missing, identifiers)
    known = _schema(schema)
    if isinstance(source, Table):
        return _again(source, target, known, keep_rows)
    parsed, target, wishes = brought(source, target, wishes, known, header, separator)
    columns = dict(parsed.columns)
    notes = list(parsed.notes)
    name, columns = _with_target(columns, target)
    rows = _rows(columns)
    if known is not None:
        return _by_schema(columns, known, rows, notes, name, keep_rows)
    wishes = replace(wishes.by_name(list(columns)), given_labels=not _is_name(target))
    decided, more = _decide(columns, name, wishes, parsed, is_array=isinstance(source, np.ndarray))
    table = code_columns(columns, Schema(tuple(decided)), rows, [*notes, *more], extend=True)
    return _finished(table, keep_rows)


def _schema(given: Schema | Mapping[str, Any] | str | os.PathLike[str] | None) -> Schema | None:
    if given is None or isinstance(given, Schema):
        return given
    if isinstance(given, Mapping):
        return Schema.from_dict(given)
    return Schema.read(Path(given))


def _with_target(columns: dict[str, Raw], target: Any) -> tuple[str | None, dict[str, Raw]]:
    if target is None:
        return None, columns
    if _is_name(target):
        return resolved(target, list(columns), "target"), columns
    name, raw = target_column(target, columns)
    rows = _rows(columns)
    if columns and len(raw) != rows:
        raise TableError(
            f"read: there must be one label a row, but {rows} rows and {len(raw)} labels came."
        )
    return name, {**columns, name: raw}


def _is_name(target: Any) -> bool:
    """Whether a target is the name or the position of a column, and not the labels themselves."""
    return isinstance(target, str | int | np.integer) and not isinstance(target, bool)


def _rows(columns: Mapping[str, Raw]) -> int:
    lengths = {name: len(raw) for name, raw in columns.items()}
    if not lengths:
        raise TableError("Table: at least one column is needed, but none came. Check the source.")
    if len(set(lengths.values())) > 1:
        raise TableError(f"Table: columns must be equally long, but their lengths are {lengths}.")
    return next(iter(lengths.values()))


def _decide(
    columns: Mapping[str, Raw],
    target: str | None,
    wishes: Wishes,
    parsed: Parsed,
    is_array: bool,
) -> tuple[list[Column], list[Note]]:
    decided: list[Column] = []
    notes: list[Note] = []
    for name, raw in columns.items():
        if name == target:
            decided.append(wishes.column(name, "target"))
            continue
        if name in wishes.drop:
            decided.append(wishes.column(name, "drop"))
            continue
        said = name in wishes.nominal or name in wishes.numeric or wishes.every_nominal
        kind: Any = parsed.kinds.get(name, infer_schema.kind_of(raw))
        kind = "nominal" if kind in ("string", "nominal") else "numeric"
        if name in wishes.nominal or (wishes.every_nominal and name not in wishes.numeric):
            kind = "nominal"
        elif name in wishes.numeric:
            kind = "numeric"
        elif not (said or wishes.keep_identifiers or is_array):
            why = infer_schema.identifies(name, raw)
            if why is not None:
                decided.append(wishes.column(name, "id"))
                notes.append(Note.of("T01", name, why=why))
                continue
        notes += [] if is_array else infer_schema.oddities(name, raw, kind)
        column = wishes.column(name, kind)
        if getattr(raw, "dates", False):
            column = replace(column, dates=True)
        if name in parsed.decimal:
            column = replace(column, decimal=parsed.decimal[name])
        decided.append(column)
    return decided, notes


def code_columns(
    columns: Mapping[str, Raw], schema: Schema, rows: int, notes: Iterable[Note], extend: bool
) -> Table:
    """Code raw columns by a schema; `extend` adds levels it does not know yet."""
    data: dict[str, NDArray[Any]] = {}
    changed: list[Column] = []
    unseen: dict[str, dict[Any, int]] = {}
    for column in schema:
        name = column.name
        if column.kind in ("id", "drop") or name not in columns:
            continue
        if column.kind == "numeric":
            data[name] = code_levels.numbers(name, columns[name], column)
            continue
        plain = code_levels.words(name, columns[name], column)
        data[name], column, strange = code_levels.code(name, plain, column, extend)
        changed.append(column)
        if strange:
            unseen[name] = strange
    return Table.from_arrays(schema.with_columns(changed), data, notes, unseen, rows)


def _by_schema(
    columns: Mapping[str, Raw],
    known: Schema,
    rows: int,
    notes: list[Note],
    target: str | None,
    keep_rows: bool,
) -> Table:
    _needed(columns, known)
    extra = [name for name in columns if name not in known and name != target]
    if extra:
        notes.append(Note.of("T10", names=listing(extra)))
    if target is not None and known.target is None:
        known = Schema((*known.columns, Column(target, "target")))
    elif target is not None and known.target is not None and target != known.target.name:
        columns = {**columns, known.target.name: columns[target]}
    fresh = [c for c in known if c.coded and not c.levels and c.name in columns]
    if fresh and not keep_rows:  # an edited schema may leave levels to be found
        learned = code_columns(columns, Schema(tuple(fresh)), rows, (), extend=True)
        known = known.with_columns(learned.schema)
    return _finished(code_columns(columns, known, rows, notes, extend=False), keep_rows)


def _finished(table: Table, keep_rows: bool = False) -> Table:
    """Drop the rows that cannot be used, count them, and refuse a table without attributes."""
    if keep_rows:
        return _with_attributes(table)
    schema = table.schema
    notes = list(table.notes)
    keep = np.ones(len(table), dtype=bool)
    if table.labelled:
        column = table.target_column
        blank = table.target == column.width
        if column.width == 0 and len(table):
            raise TableError(
                f"Table: column {column.name!r} is the class, but it is missing in every row. "
                "Name another target."
            )
        if blank.any():
            keep &= ~blank
            notes.append(Note.of("T03", column.name, dropped=int(blank.sum()), rows=len(table)))
        if column.width > MANY_CLASSES and column.width > 0.5 * len(table):
            notes.append(Note.of("T13", column.name, classes=column.width, rows=len(table)))
        if column.width == 1:
            notes.append(Note.of("T12", column.name, label=column.levels[0]))
    for column in schema.attributes:
        if column.when_missing != "drop":
            continue
        blank = table.missing(column.name)
        gone = int(np.count_nonzero(blank & keep))
        if gone:
            keep &= ~blank
            notes.append(Note.of("T04", column.name, dropped=gone))
    kept = table if keep.all() else table.take(keep)
    return _with_attributes(kept.with_notes(notes))


def _with_attributes(table: Table) -> Table:
    if not table.schema.attributes:
        raise TableError(
            "Table: at least one nominal or numeric column is needed beside the class, but none "
            "is left. Check target=, drop= and the notes about identifiers."
        )
    return table


def extend(source: Any, known: Schema, target: Any = None) -> Table:
    """Read more rows under a known schema whose levels and classes may grow."""
    if isinstance(source, Table):
        if source.schema == known:
            return source
        columns: dict[str, Raw] = {name: source.raw(name) for name in source.names}
        notes = list(source.notes)
    else:
        parsed, target, _ = brought(source, target, Wishes(), known, True, None)
        columns, notes = dict(parsed.columns), list(parsed.notes)
    name, columns = _with_target(columns, target)
    if name is not None and known.target is not None and name != known.target.name:
        columns[known.target.name] = columns.pop(name)
    _needed(columns, known)
    return _finished(code_columns(columns, known, _rows(columns), notes, extend=True))


def _needed(columns: Mapping[str, Raw], known: Schema) -> None:
    for column in known:
        if column.kind in ("nominal", "numeric") and column.name not in columns:
            raise SchemaError(
                f"Table: column {column.name!r} is needed, but the rows do not have it."
                f"{did_you_mean(column.name, columns)} Their columns are {listing(columns)}."
            )


def _again(table: Table, target: Any, known: Schema | None, keep_rows: bool) -> Table:
    """Read a table anew: recoded by another schema, or as it is."""
    own = table.schema.target
    if known is None:
        if target is None or (own is not None and own.name == target):
            return table
        raise TableError(
            "read: a Table already names its columns and its class. Read the source again to "
            "change them, or pass schema=."
        )
    if known == table.schema:
        return table
    columns = {name: table.raw(name) for name in table.names}
    return _by_schema(columns, known, len(table), list(table.notes), None, keep_rows)
