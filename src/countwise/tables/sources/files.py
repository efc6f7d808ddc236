"""Files as a source of rows: one, many, a folder or a pattern, with the keys of partitions.

A Parquet file is read by row group, a delimited file without quotes by segments of a few megabytes,
any other file as one piece, block by block. Columns are matched by name over all files.
"""

from __future__ import annotations

import glob
import os
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import unquote

from countwise.errors import ChangedSourceError, TableError, quote
from countwise.notes import Note
from countwise.tables.formats import arff, detect, json_lines
from countwise.tables.formats.blocks import Parser, plain_dialect, segments
from countwise.tables.formats.csv_dialect import Dialect, first_rows, is_header_only
from countwise.tables.formats.parquet import missing_column, open_parquet, to_raw_columns
from countwise.tables.formats.source import Content, Source, is_blank
from countwise.tables.raw_columns import RawTable, from_arrow
from countwise.tables.read_options import ReadOptions
from countwise.tables.schema import Column
from countwise.tables.sources.row_source import Piece, RowSource, constant_column

#: Bytes of a segment of a delimited file. Rows are identified by their segment, so that this never
#: depends on the machine.
SEGMENT = 16 << 20
#: Row groups are put together until a piece has so many rows.
PIECE_ROWS = 1 << 18
#: Bytes of a text file that are looked at first.
HEAD_BYTES = 1 << 21
#: Bytes by which the length of lines is judged, and whether a file holds any row.
_LINES = 1 << 16
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
_PATTERN = frozenset("*?[")


def open_source(given: Any, options: ReadOptions) -> tuple[RowSource, ReadOptions] | None:
    """Return the source of a path, a pattern, a folder or a list of paths; None for others."""
    if isinstance(given, str) and given.startswith("sample:"):
        from countwise.tables import datasets
        from countwise.tables.read import with_sample

        sample = datasets.find(given.removeprefix("sample:"))
        options = with_sample(options, sample)
        return FileSource([str(sample.locate())], "", given, options), options
    if isinstance(given, str | os.PathLike):
        path = os.fspath(given)
        files, root = _expand(path)
        return FileSource(files, root, quote(path), options), options
    if isinstance(given, list | tuple) and given and all(map(_is_path, given)):
        paths = [os.fspath(path) for path in given]
        root = os.path.commonpath([os.path.dirname(os.path.abspath(path)) for path in paths])
        return FileSource(paths, root, f"{len(paths)} files", options), options
    return None


def files_of(path: str) -> list[str]:
    """Return the files that a path, a folder or a pattern stands for; none if there are none."""
    try:
        return _expand(path)[0]
    except TableError:
        return []


def _is_path(given: Any) -> bool:
    return isinstance(given, str | os.PathLike)


def _expand(path: str) -> tuple[list[str], str]:
    """Return the files of a path, a pattern or a folder in order, and where partitions begin."""
    if os.path.isdir(path):
        return _files_in(path), path
    if os.path.exists(path) or not _PATTERN & set(path):
        return [path], ""
    found: dict[str, None] = {}
    for name in glob.glob(path, recursive=True):
        if os.path.isfile(name):
            found[name] = None
        elif os.path.isdir(name) and detect.is_known(name):
            found |= dict.fromkeys(_files_in(name))  # such as Spark writes
    if not found:
        raise TableError(f"scan: a file must match {path!r}; none does. Check the pattern.")
    fixed = path[: min(path.index(sign) for sign in _PATTERN if sign in path)]
    return sorted(found), os.path.dirname(fixed)


def _files_in(path: str) -> list[str]:
    """Return the files of a known format in a folder and those below it."""

    def refuse(error: OSError) -> None:
        raise TableError(f"scan: {error.filename!r} cannot be read ({error.strerror}).")

    found = []
    for folder, below, names in os.walk(path, onerror=refuse, followlinks=True):
        below[:] = [name for name in below if not _leads_back(folder, name, path)]
        for name in names:
            if detect.is_known(name) and not _is_hidden(os.path.relpath(folder, path), name):
                found.append(os.path.join(folder, name))
    if not found:
        raise TableError(f"scan: directory {path!r} must hold files of a known format; got none.")
    return sorted(found)


def _leads_back(folder: str, name: str, root: str) -> bool:
    """Return whether a folder is a link to one that it is in, by whatever way it was reached."""
    link = os.path.join(folder, name)
    if not os.path.islink(link):
        return False
    above = [root]
    for part in os.path.relpath(folder, root).split(os.sep):
        above.append(os.path.join(above[-1], part))
    target = os.path.realpath(link)
    return any(
        os.path.commonpath([target, real]) == target for real in map(os.path.realpath, above)
    )


def _is_hidden(folder: str, name: str) -> bool:
    parts = [part for part in (*folder.split(os.sep), name) if part not in (".", "")]
    return any(part.startswith((".", "_")) and "=" not in part for part in parts)


@dataclass(frozen=True, eq=False)
class _File:
    """One file: its path, its name below the root, the keys of its partition."""

    path: str
    label: str
    keys: Mapping[str, str | None]
    options: ReadOptions = field(repr=False)

    @cached_property
    def source(self) -> Source:
        return Source.at(self.path)

    @cached_property
    def is_empty(self) -> bool:
        """Whether it holds no row: nothing at all, or a header alone."""
        if is_blank(self.path):
            return True
        if self.form == "parquet":
            return bool(self.footer.metadata.num_rows == 0)
        head = self.source.head(_LINES)
        if len(head) == _LINES:
            return False
        if self.form == "json_lines":
            return not head.removeprefix(BOM_UTF8).strip(b"[] \t\r\n")
        if self.form == "arff":
            return arff.has_no_row(head)
        return self.form == "csv" and self.options.header and is_header_only(head)

    @cached_property
    def form(self) -> str:
        return detect.form_of(self.source)

    @cached_property
    def footer(self) -> Any:
        return open_parquet(self.source, empty_too=True)

    @cached_property
    def names(self) -> list[str]:
        """The columns it holds; those of JSON lines may be known later."""
        if self.form == "parquet":
            return list(self.footer.schema_arrow.names)
        return [] if self.form == "json_lines" else detect.names(self.source, self.options)

    def is_untyped(self, name: str) -> bool:
        """Return whether a Parquet file has a column, but no type for it."""
        if self.form != "parquet" or name not in self.names:
            return False
        return bool(self.footer.schema_arrow.field(name).type == "null")

    @cached_property
    def dialect(self) -> Dialect | None:
        """How a delimited file without quotes is written; None for other files."""
        return plain_dialect(self.source, self.options) if self.form == "csv" else None

    @cached_property
    def damage(self) -> TableError | None:
        """Why its columns cannot be found out, as of a file that was cut off."""
        try:
            self.is_empty or self.names  # noqa: B018
        except ChangedSourceError:
            raise
        except TableError as error:
            return error
        return None

    @cached_property
    def stamp(self) -> tuple[int, ...]:
        """Its size and time, when it was first looked at."""
        return self._look()

    def _look(self) -> tuple[int, ...]:
        try:
            status = os.stat(self.path)
        except OSError as error:
            raise ChangedSourceError(
                f"scan: {self.path!r} must stay while it is scanned; it cannot be read any more "
                f"({error.strerror})."
            ) from None
        return (status.st_size, status.st_mtime_ns)

    def check(self) -> None:
        """Refuse a file that is not what it was."""
        if self._look() != self.stamp:
            raise ChangedSourceError(
                f"scan: {self.path!r} must stay as it is while it is scanned; it has changed.",
                hint="Scan it again, or scan a copy",
            )


class FileSource(RowSource):
    """Rows of files, one after the other."""

    def __init__(self, paths: Sequence[str], root: str, what: str, options: ReadOptions) -> None:
        self.what = what if len(paths) == 1 else f"{what} ({len(paths)} files)"
        self.paths = paths
        every = [_File(path, *_partition(path, root), options) for path in paths]
        self.damaged = {file.path: why for file in every if (why := file.damage) is not None}
        found = [file for file in every if file.path not in self.damaged]
        self._files = [file for file in found if not file.is_empty]
        if self.damaged and not self._files:
            raise next(iter(self.damaged.values()))
        if not self._files:
            raise TableError(f"scan: {self.what} must hold rows; it holds none.")
        self.size = sum(file.stamp[0] for file in self._files)
        self.typed = self._files[0].form in ("parquet", "json_lines")
        self.open_ended = any(file.form == "json_lines" for file in self._files)
        first = self._files[0].dialect
        if first is not None:
            self.coded = frozenset(first.names[at] for at in first.zeros)
        self._keys = list(dict.fromkeys(name for file in self._files for name in file.keys))
        _check_types([file for file in self._files if file.form == "parquet"])

    def head(self, options: ReadOptions, rows: int) -> tuple[RawTable, ReadOptions]:
        """Return the first rows of the first file, with all columns that later files have."""
        from countwise.tables.read import load_columns

        first = self._files[0]
        every = dict.fromkeys(name for file in self._files for name in (*file.names, *file.keys))
        if not options.is_schema and not self.open_ended:
            options = options.resolve(list(every))
        if first.form == "parquet":
            raw = _parquet_head(first, options, rows)
        else:
            raw, options = load_columns(_first_bytes(first), options)
        columns = dict(raw.columns)
        for name in every:
            is_lacking = name not in columns or name in self._keys or first.is_untyped(name)
            if is_lacking and options.is_needed(name):
                columns[name] = self._lacking(name, len(raw), options)
        return RawTable(columns, (*raw.notes, *self._shadowed()), raw.kinds), options

    def _shadowed(self) -> list[Note]:
        """Return notes on columns that are in the files, too, but taken from their folders."""
        inside = {name for file in self._files for name in file.names}
        return [Note.of("S14", name) for name in self._keys if name in inside]

    def _lacking(self, name: str, rows: int, options: ReadOptions) -> Any:
        """Return a column that the first file lacks: the key of a partition, or all missing.

        So is one without a type there, as a frame writes it that has no value in it.
        """
        if name in self._keys:
            texts = [file.keys.get(name) for file in self._files]
            known = dict.fromkeys(text for text in texts if text is not None)
            return constant_columns(name, list(known), rows, options)
        for file in self._files:
            if file.form == "parquet" and name in file.names and not file.is_untyped(name):
                import pyarrow as pa

                kind = file.footer.schema_arrow.field(name).type
                return from_arrow(name, pa.nulls(rows, kind))
        return missing_column(name, rows, options)

    def pieces(self) -> Iterator[Piece]:
        """Yield row groups, segments or whole files."""
        for file in self._files:
            file.check()
            size, time = file.stamp
            if file.form == "parquet":
                yield from _row_groups(file, (size, time))
            elif file.dialect is not None:
                for start, stop in segments(file.source, file.dialect.start, SEGMENT):
                    key = f"{file.label}@{start}"
                    name = f"{file.path!r} from byte {start}"
                    yield Piece(name, key, 0, (size, time), stop - start, (file, start, stop))
            else:
                yield Piece(repr(file.path), file.label, 0, (size, time), size, (file,))

    def blocks(self, piece: Piece, options: ReadOptions, rows: int) -> Iterator[RawTable]:
        """Yield a piece in blocks, with the keys of its partition as columns."""
        file, *where = piece.place
        with _unchanged(file):
            yield from self._blocks(piece, file, where, options, rows)

    def _blocks(
        self, piece: Piece, file: _File, where: list[Any], options: ReadOptions, rows: int
    ) -> Iterator[RawTable]:
        found: Iterator[RawTable]
        if file.form == "parquet":
            found = _parquet_blocks(file, where[0], options, rows, piece.first_row)
        elif file.dialect is not None:
            parser = Parser.of(file.source, file.dialect, options)
            start, stop = where
            parts = segments(file.source, start, _size_of_rows(file.source, start, rows), stop)
            found = (raw for part in parts for raw in parser.parse(*part))
        else:
            found = detect.blocks(file.source, options, rows)
        for raw in found:
            columns = dict(raw.columns)
            for name in self._keys:
                if options.is_needed(name):
                    text = file.keys.get(name)
                    columns[name] = constant_column(name, text, len(raw), options)
            yield RawTable(columns, raw.notes, raw.kinds)

    def number_of(self, piece: Piece, place: int) -> int:
        """Return the number of a row in its file; before a segment the rows are counted."""
        file, *where = piece.place
        first = super().number_of(piece, place)
        if file.dialect is None:
            return first
        name = file.dialect.names[0]
        columns = {name: Column(name, "nominal")}
        one = ReadOptions(columns=columns, default=Column("", "drop"))
        parser = Parser.of(file.source, file.dialect, one)
        before = segments(file.source, file.dialect.start, SEGMENT)
        parts = (parser.parse(start, stop) for start, stop in before if start < where[0])
        return first + sum(len(raw) for part in parts for raw in part)


@contextmanager
def _unchanged(file: _File) -> Iterator[None]:
    """Refuse what was read of a file that changed meanwhile, whatever became of the reading."""
    try:
        yield
    except OSError as error:
        file.check()
        reason = error.strerror or error
        raise TableError(f"scan: {file.path!r} cannot be read ({reason}).") from None
    except Exception:
        file.check()
        raise
    file.check()


def constant_columns(name: str, texts: list[str], rows: int, options: ReadOptions) -> Any:
    """Return a column that holds these texts in turn, so that its kind can be decided."""
    import numpy as np

    from countwise.tables.raw_columns import Words
    from countwise.tables.text_values import settle

    codes = np.arange(max(rows, len(texts))) % max(len(texts), 1)
    raw = settle(name, Words(codes.astype(np.int32), tuple(texts)), options)
    if isinstance(raw, Words):
        return Words(raw.codes[:rows], raw.distinct)
    return type(raw)(raw.values[:rows], raw.whole)


def _partition(path: str, root: str) -> tuple[str, dict[str, str | None]]:
    """Return the name of a file below the root, and the keys of its partition."""
    label = os.path.relpath(path, root) if root else os.path.basename(path)
    keys: dict[str, str | None] = {}
    for part in os.path.dirname(label).split(os.sep):
        name, between, text = part.partition("=")
        if between and name:
            keys[unquote(name)] = None if text == _NO_VALUE else unquote(text)
    return label.replace(os.sep, "/"), keys


def _first_bytes(file: _File) -> Source:
    """Return the first rows of a text file, or all of a file that must be read as a whole."""
    source, first = file.source, None
    if file.form == "csv":
        first = first_rows(source, file.options, HEAD_BYTES)
    elif file.form == "json_lines":
        first = json_lines.first_lines(source, HEAD_BYTES)
    elif file.form == "arff":
        first = arff.first_lines(source, HEAD_BYTES)
    if first is None:
        return source
    name = getattr(source, "member", "") or source.path
    return Content(name, False, first)


def _parquet_head(file: _File, options: ReadOptions, rows: int) -> RawTable:
    footer, names = file.footer, file.names
    wanted = [name for name in names if not options.column(name).left_out]
    batch = next(footer.iter_batches(batch_size=rows, columns=wanted))
    return RawTable(to_raw_columns(batch, options, names))


def _size_of_rows(source: Source, start: int, rows: int) -> int:
    """Return about how many bytes so many lines take, judged by those from `start` on."""
    with source.open() as file:
        file.seek(start)
        head = file.read(_LINES)
    return max(rows * len(head) // max(head.count(b"\n"), 1), 1)


def _row_groups(file: _File, stamp: tuple[int, ...]) -> Iterator[Piece]:
    meta = file.footer.metadata
    groups, first, rows = list[int](), 0, 0
    for number in range(meta.num_row_groups):
        groups.append(number)
        rows += meta.row_group(number).num_rows
        if rows >= PIECE_ROWS or number == meta.num_row_groups - 1:
            if rows:
                name = f"{file.path!r} from row {first + 1}"
                # Row groups tell their size before compression, files theirs after it.
                size = stamp[0] * rows // meta.num_rows
                yield Piece(name, file.label, first, stamp, size, (file, tuple(groups)))
            groups, first, rows = [], first + rows, 0


def _parquet_blocks(
    file: _File, groups: Sequence[int], options: ReadOptions, rows: int, done: int
) -> Iterator[RawTable]:
    names = [name for name in file.names if options.is_needed(name)]
    wanted = [name for name in names if not options.column(name).left_out]
    with open_parquet(file.source, file.footer.metadata) as footer:
        for batch in footer.iter_batches(batch_size=rows, row_groups=groups, columns=wanted):
            yield RawTable(to_raw_columns(batch, options, names, done))
            done += len(batch)


def _check_types(files: Sequence[_File]) -> None:
    """Refuse a column that is text in one Parquet file and not in another."""
    known: dict[str, tuple[str, str, Any]] = {}
    for file in files:
        for column in file.footer.schema_arrow:
            family = _family(column.type)
            before = known.setdefault(column.name, (family, file.path, column.type))
            if "null" in (family, before[0]):
                if before[0] == "null":
                    known[column.name] = (family, file.path, column.type)
            elif family != before[0]:
                raise TableError(
                    f"scan: column {column.name!r} must be of one type in all files; it is "
                    f"{before[2]} in {before[1]!r} and {column.type} in {file.path!r}.",
                    hint="Write one of them again, or leave the column out with `drop=`",
                )


def _family(kind: Any) -> str:
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return _family(kind.value_type)
    families = {
        "null": pa.types.is_null,
        "boolean": pa.types.is_boolean,
        "date": pa.types.is_temporal,
        "number": lambda kind: (
            pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
        ),
    }
    found = [name for name, is_kind in families.items() if is_kind(kind)]
    return found[0] if found else "text"
