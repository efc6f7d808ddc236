"""Read any source (a file, a sample, a frame, an array, records) as a coded table."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from countwise.errors import SchemaError, TableError, did_you_mean, listing
from countwise.notes import Note
from countwise.tables import code_levels, infer_schema
from countwise.tables.code_levels import check_attributes, drop_unusable
from countwise.tables.date_parts import add_parts, make_parts
from countwise.tables.formats import detect
from countwise.tables.formats.frames import (
    array_columns,
    frame_columns,
    record_columns,
    target_column,
)
from countwise.tables.formats.source import Content, Source
from countwise.tables.raw_columns import Numbers, Raw, RawTable, missing_numbers, missing_words
from countwise.tables.read_options import (
    AnySchema,
    Marks,
    MissingRules,
    Names,
    ReadOptions,
    is_name,
)
from countwise.tables.schema import Column, Schema
from countwise.tables.table import Table

if TYPE_CHECKING:
    from countwise.tables.datasets import Sample


def load_columns(source: Any, options: ReadOptions) -> tuple[RawTable, ReadOptions]:
    """Load any source as raw columns; a sample or an ARFF file may add options of its own."""
    if isinstance(source, str) and source.startswith("sample:"):
        from countwise.tables import datasets

        sample = datasets.find(source.removeprefix("sample:"))
        source, options = sample.locate(), with_sample(options, sample)
    if isinstance(source, str | os.PathLike | Source):
        return _load_file(Source.at(source), options)
    if callable(getattr(source, "read", None)):
        return _load_file(Content.of_file(source), options)
    if isinstance(source, list | tuple) and source and isinstance(source[0], Mapping):
        return RawTable(record_columns(source, options)), options
    if isinstance(source, np.ndarray | list | tuple):
        known = list(options.columns.values()) if options.is_schema else None
        return RawTable(array_columns(source, known)), options
    return RawTable(frame_columns(source, options)), options


def with_sample(options: ReadOptions, sample: Sample) -> ReadOptions:
    """Return the options with what a sample knows of its columns."""
    if options.is_schema:
        return options
    target = sample.target if options.target is None else options.target
    columns = dict(options.columns)
    for plain in sample.columns:
        name = plain["name"]
        column = options.column(name)
        is_free = column.kind in ("infer", "nominal") and name not in (target, sample.target)
        if plain["kind"] == "nominal" and is_free:
            levels = tuple(plain.get("values") or ())
            columns[name] = replace(column, kind="nominal", levels=levels)
    return replace(options, columns=columns, target=target)


def _load_file(source: Source, options: ReadOptions) -> tuple[RawTable, ReadOptions]:
    if any(not isinstance(item, str) for item in (*options.columns, options.target or "")):
        # Whether '007' is a text must be known before it is read, so positions become names first.
        options = options.resolve(detect.names(source, options))
    raw = detect.read(source, options)
    if options.target is None and not options.is_schema:
        named = next((name for name in raw.kinds if name.casefold() == "class"), None)
        last = named or next(reversed(raw.kinds), "")
        if raw.kinds.get(last) == "nominal":  # only an ARFF file declares kinds
            options = replace(options, target=last)
    return raw, options


#: How alike a name must be to one that the rows lack, to be taken for it.
_NEAR = 0.85


def read(
    source: Any,
    target: Any = None,
    *,
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
    keep_rows: bool = False,
    missing_only: Marks | None = None,
    fold_case: bool = False,
    day_first: bool | None = None,
    skip_lines: int | None = None,
    sheet: str | int | None = None,
) -> Table:
    """Read a file, a data frame or an array as a table of nominal, numeric and text columns.

    Parameters
    ----------
    source
        A path (CSV, TSV, Parquet, JSON lines, ARFF, Excel, ODS; also gzipped or zipped), ``-`` for
        standard input, a file object, ``sample:name`` for a bundled data set, a pandas, polars or
        pyarrow frame, a NumPy array, a list of rows, a mapping of columns, or a `Table`.
    target
        The class: the name (or position) of a column, or the labels themselves, one a row.
    nominal, numeric, text, drop
        Columns whose kind would be inferred wrongly: numbers that are codes, texts that are
        numbers, free text whose words are to be counted, columns to leave out. ``nominal="all"``
        takes every column as nominal.
    missing
        Marks that mean *missing*, for all columns or by column, beside the usual ones: empty,
        ``?``, ``NA``, ``nan``, ``null`` and ``#N/A``, and among numbers and dates also marks such
        as ``-`` and ``None``.
    when_missing
        What a missing cell means, for all columns or by column: ``omit`` it from the counts, make
        it a ``value`` of its own, or ``drop`` the row. ``value`` for all columns means ``omit`` in
        numeric ones.
    schema
        A `Schema` (or the path of a written one) to code by: columns are found by name, and a level
        it does not know becomes *unseen*. The kind of its columns of kind ``infer`` is inferred;
        the other options that name columns change its columns.
    identifiers
        ``drop`` columns that identify rows, with a note, or ``keep`` them. ``drop named``, which
        `fit` uses for frames, keeps numbers that count the rows unless their name says what they
        are.
    header, separator
        For text files: whether the first line names the columns, and the character between cells.
    missing_only
        Marks that mean *missing* instead of the usual ones.
    fold_case
        Make one level of levels that differ only in case or blanks; the most frequent spelling
        stays.
    day_first
        Whether the day comes before the month in dates such as 01/02/2021, where no date of the
        column says so.
    skip_lines
        For text files and workbooks: lines before the header. If it is not given, title lines are
        found, with a note.
    sheet
        For workbooks: the sheet to read, by name or by number from 1. If it is not given, the first
        sheet that holds a table is read, with a note if there are others.
    keep_rows
        Keep rows without a class and rows that ``when_missing="drop"`` would drop, as prediction
        needs.

    Examples
    --------
    >>> import countwise as cw
    >>> cw.read({"sky": ["sun", "rain", None], "play": ["yes", "no", "yes"]}, target="play")
    Table: 3 rows, 1 nominal and 0 numeric columns, target 'play' with 2 classes
      sky      play
      sun      yes
      rain     no
      missing  yes
    >>> cw.read("sample:weather").schema["outlook"].levels
    ('sunny', 'overcast', 'rainy')
    """
    options = ReadOptions.of(
        target,
        nominal,
        numeric,
        text,
        drop,
        missing,
        when_missing,
        schema,
        identifiers,
        header,
        separator,
        missing_only,
        fold_case,
        day_first,
        skip_lines,
        sheet,
    )
    labels = None if target is None or is_name(target) else target
    return read_with(source, options, labels, keep_rows)


def read_with(
    source: Any, options: ReadOptions, labels: Any = None, keep_rows: bool = False
) -> Table:
    """Read a source by options; `labels` are the classes of the rows, if no column holds them."""
    if isinstance(source, Table):
        if not options.is_schema:
            return _unchanged(source, options, labels)
        if source.schema == Schema(tuple(options.columns.values())):
            return source
        raw, options, labels = source.to_raw(), replace(options, target=None), None
    else:
        raw, options = load_columns(source, options)
    is_array = isinstance(source, np.ndarray)
    columns, options, decided, notes = decide_columns(raw, options, labels, is_array, keep_rows)
    growing = {
        column.name
        for column in decided
        if not (options.is_schema and (column.levels or keep_rows))
    }
    table = code_columns(columns, decided, _count_rows(columns), notes, growing)
    if not keep_rows:
        return drop_unusable(table)
    check_attributes(table.schema)
    return table


def decide_columns(
    raw: RawTable,
    options: ReadOptions,
    labels: Any = None,
    is_array: bool = False,
    keep_rows: bool = False,
) -> tuple[dict[str, Raw], ReadOptions, Schema, list[Note]]:
    """Return raw columns with parts of dates, the options resolved, a schema without levels, notes.

    `labels` are the classes of the rows, if no column holds them.
    """
    columns, parts, part_notes = raw.columns, dict[str, tuple[str, str]](), list[Note]()
    has_dates = any(isinstance(raw, Numbers) and raw.dates for raw in columns.values())
    if has_dates and not (options.is_schema or is_array):
        columns, parts, part_notes = add_parts(columns, options)
    columns, options = _with_target(columns, options, labels)
    if options.is_schema and keep_rows:
        columns, part_notes = complete(columns, options.columns.values(), _count_rows(columns))
    decided, notes = _decide(columns, options, labels is not None, is_array)
    decided = decided.with_columns(
        replace(decided[name], part_of=part_of) for name, part_of in parts.items()
    )
    return columns, options, decided, [*raw.notes, *part_notes, *notes]


def _unchanged(table: Table, options: ReadOptions, labels: Any) -> Table:
    target = table.schema.target
    same = options.target is None or (target is not None and target.name == options.target)
    if labels is None and same:
        return table
    raise TableError(
        "read: a Table already has its columns and its class.",
        hint=("read the source again to change them", "pass `schema=`"),
    )


def _with_target(
    columns: dict[str, Raw], options: ReadOptions, labels: Any
) -> tuple[dict[str, Raw], ReadOptions]:
    """Resolve the options for these columns, to which labels given beside them are added."""
    if labels is not None:
        name, raw = target_column(labels, columns)
        if columns and len(raw) != _count_rows(columns):
            raise TableError(
                f"read: there must be one label a row; got {_count_rows(columns)} rows and "
                f"{len(raw)} labels."
            )
        columns, options = {**columns, name: raw}, replace(options, target=name)
    options = options.resolve(list(columns))
    known = next((c.name for c in options.columns.values() if c.kind == "target"), None)
    if options.is_schema and options.target is not None and known not in (None, options.target):
        # Another column, or the labels, stand for the class of the schema.
        columns = {**columns, str(known): columns[str(options.target)]}
    return columns, options


def _count_rows(columns: Mapping[str, Raw]) -> int:
    lengths = {name: len(raw) for name, raw in columns.items()}
    if not lengths:
        raise TableError("Table: there must be at least one column; got none. Check the source.")
    if len(set(lengths.values())) > 1:
        raise TableError(f"Table: columns must be equally long; got the lengths {lengths}.")
    return next(iter(lengths.values()))


def _decide(
    columns: Mapping[str, Raw], options: ReadOptions, given_labels: bool, is_array: bool
) -> tuple[Schema, list[Note]]:
    """Decide the kinds that are left to the data, and note what is odd."""
    notes: list[Note] = []
    if not options.is_schema:
        declared = [options.column(name) for name in columns]
        if given_labels:
            declared[-1] = replace(declared[-1], missing=())
    else:
        declared = list(options.columns.values())
        _check_needed(columns, declared)
        extra = [name for name in columns if name not in options.columns and name != options.target]
        if extra:
            notes.append(Note.of("T10", names=listing(extra)))
        if options.target is not None and all(column.kind != "target" for column in declared):
            declared.append(Column(str(options.target), "target"))
    decided: list[Column] = []
    for column in declared:
        name, kind = column.name, column.kind
        if kind == "infer" or not (options.is_schema or column.left_out or kind == "target"):
            raw = columns[name]
            facts = infer_schema.RawFacts(raw)
            kind, found = infer_schema.decide_kind(name, facts, kind, options.identifiers, is_array)
            notes += found
            column = options.settle(name, kind, None if kind == "id" else raw)
        decided.append(column)
    return Schema(tuple(decided)), notes


def code_columns(
    columns: Mapping[str, Raw],
    schema: Schema,
    rows: int,
    notes: Iterable[Note] = (),
    growing: Collection[str] = (),
    given: Schema | None = None,
) -> Table:
    """Code raw columns by a schema; columns in `growing` get the levels it does not know yet.

    `given` has the levels that were known before any row was read (see `code_levels.code`).
    """
    notes = list(notes)
    if any(column.part_of for column in schema):
        columns = make_parts(columns, schema)
    data: dict[str, NDArray[Any]] = {}
    changed: list[Column] = []
    unseen: dict[str, dict[Any, int]] = {}
    for column in schema:
        name = column.name
        if column.left_out or name not in columns:
            continue
        if column.kind == "numeric":
            data[name] = code_levels.numbers(name, columns[name], column)
            continue
        if column.kind == "text":
            data[name] = code_levels.texts(columns[name], column)
            continue
        plain = code_levels.words(columns[name], column)
        if column.fold_case:
            plain = code_levels.fold_case(plain, column)
        elif name in growing and given is None:
            notes += code_levels.note_spellings(name, plain)
        first = None if given is None else given[name]
        data[name], column, unknown = code_levels.code(plain, column, name in growing, first)
        changed.append(column)
        if unknown:
            unseen[name] = unknown
    return Table.from_arrays(schema.with_columns(changed), data, notes, unseen, rows)


def extend(source: Any, known: Schema, target: Any = None) -> Table:
    """Read more rows under a known schema whose levels and classes may grow."""
    options = ReadOptions.of(target, schema=known)
    if isinstance(source, Table):
        if source.schema == known:
            return source
        raw = source.to_raw()
    else:
        raw, options = load_columns(source, options)
    labels = None if target is None or is_name(target) else target
    columns, _ = _with_target(raw.columns, options, labels)
    _check_needed(columns, known)
    growing = [column.name for column in known]
    return drop_unusable(code_columns(columns, known, _count_rows(columns), raw.notes, growing))


def _check_needed(columns: Mapping[str, Raw], known: Iterable[Column]) -> None:
    for column in known:
        is_needed = column.kind in ("nominal", "numeric", "text", "infer")
        if is_needed and _is_lacking(column, columns):
            raise SchemaError(
                f"Table: there must be a column {column.name!r}; the rows do not have it."
                f"{did_you_mean(column.name, columns)} Their columns are {listing(columns)}."
            )


def _is_lacking(column: Column, columns: Mapping[str, Raw]) -> bool:
    is_part = bool(column.part_of) and column.part_of[1] in columns
    return column.name not in columns and not is_part


def complete(
    columns: Mapping[str, Raw],
    known: Iterable[Column],
    rows: int,
    strict: bool = False,
    source_names: Callable[[], Sequence[str]] | None = None,
) -> tuple[dict[str, Raw], list[Note]]:
    """Return the columns with those that rows to predict lack, all missing, and notes about them.

    A column that the rows seem to have under another spelling is refused, and so is every one that
    is lacking if `strict`, or if there is no other. `source_names` returns the names of a source of
    which `columns` holds only those that are known.
    """
    needed = [column for column in known if column.kind in ("nominal", "numeric", "text")]
    lacking = [column for column in needed if _is_lacking(column, columns)]
    names = [column.name for column in needed]
    given_names = [column.name for column in needed if not column.part_of]
    if not lacking:
        return dict(columns), []
    present = source_names() if source_names is not None else list(columns)
    others = [name for name in present if name not in names]
    near = [column.name for column in lacking if is_near(column.name, others)]
    if strict or near or len(lacking) == len(needed):
        name = (near or [column.name for column in lacking])[0]
        raise SchemaError(
            f"Table: the model needs a column {name!r}, which the rows lack."
            f"{did_you_mean(name, others)}",
            hint=f"The model uses {listing(given_names, 12)}.",
        )
    empty = {
        column.name: missing_numbers(rows) if column.kind == "numeric" else missing_words(rows)
        for column in lacking
    }
    notes = [Note.of("T27", column.name) for column in lacking if not column.part_of]
    return {**columns, **empty}, notes


def is_near(name: str, others: Iterable[str]) -> bool:
    """Return whether one of other names is this one with other case, blanks or a typing error."""
    plain = {_letters(other) for other in others}
    return bool(difflib.get_close_matches(_letters(name), plain, n=1, cutoff=_NEAR))


def _letters(name: str) -> str:
    return "".join(sign for sign in name.casefold() if sign.isalnum()) or name
