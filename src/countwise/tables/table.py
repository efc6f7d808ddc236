"""The coded table every model reads: small integer codes and doubles, never changed in place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from countwise.errors import TableError, did_you_mean, listing
from countwise.notes import Note
from countwise.numeric import number_text
from countwise.show_rows import align, html_table
from countwise.tables.schema import Column, Level, Schema, labels_array
from countwise.tables.words import TextCodes

if TYPE_CHECKING:
    from countwise.tables.raw_columns import Raw, RawTable

#: Stands for levels unknown to the schema where several of them share a figure.
NEVER_SEEN = "(never seen)"

_SHOWN_ROWS, _SHOWN_COLUMNS = 5, 10

Codes = NDArray[np.unsignedinteger[Any]]
Values = NDArray[np.float64]


_CODES = tuple((np.dtype(f"u{size}"), 256**size - 2) for size in (1, 2, 4))


def code_type(width: int) -> np.dtype[Any]:
    """Return the smallest unsigned type for `width` levels, the missing and the unseen code."""
    for kind, most in _CODES:
        if width <= most:
            return kind
    raise TableError(
        f"Table: a column may have up to 4294967294 levels; got {width}.",
        hint="Drop it with `drop=`.",
    )


class Table:
    """Rows as codes (nominal, target) and doubles (numeric), with the schema that explains them.

    A code below ``column.width`` is a level, ``width`` is a missing cell, ``width + 1`` a level the
    schema does not know; a missing number is NaN. Arrays are read-only. Make one with `read`.

    Examples
    --------
    >>> import countwise as cw
    >>> table = cw.read("sample:weather")
    >>> len(table), table.classes, table.codes("outlook").dtype
    (14, ('no', 'yes'), dtype('uint8'))
    """

    __slots__ = ("_data", "_rows", "_schema", "notes", "unseen")
    notes: tuple[Note, ...]

    def __init__(
        self,
        schema: Schema,
        data: Mapping[str, NDArray[Any]],
        notes: Iterable[Note] = (),
        unseen: Mapping[str, Mapping[Level, int]] | None = None,
        rows: int | None = None,
    ) -> None:
        self._schema = schema
        self.notes = tuple(notes)
        self.unseen: dict[str, dict[Level, int]] = {
            name: dict(levels) for name, levels in (unseen or {}).items()
        }
        self._data: dict[str, NDArray[Any]] = {
            column.name: _checked(column, data[column.name])
            for column in schema
            if column.name in data and not column.left_out
        }
        lengths = {len(array) for array in self._data.values()}
        if len(lengths) > 1:
            raise TableError(f"Table: columns must be equally long; got lengths {sorted(lengths)}.")
        self._rows = lengths.pop() if lengths else int(rows or 0)

    @classmethod
    def from_arrays(
        cls,
        schema: Schema,
        data: Mapping[str, NDArray[Any]],
        notes: Iterable[Note] = (),
        unseen: Mapping[str, Mapping[Level, int]] | None = None,
        rows: int | None = None,
    ) -> Table:
        """Make a table of codes and doubles that nobody else holds: they are not copied.

        The arrays become read-only. `rows` is needed only if there is no column.
        """
        for array in data.values():
            array.flags.writeable = False
        return cls(schema, data, notes, unseen, rows)

    @property
    def schema(self) -> Schema:
        """What the columns are."""
        return self._schema

    def __len__(self) -> int:
        return self._rows

    def __contains__(self, name: object) -> bool:
        return name in self._data

    def _headline(self) -> str:
        schema = self.schema
        target = schema.target
        about = f", target {target.name!r} with {target.width} classes" if target else ""
        kinds = [f"{len(schema.nominal)} nominal", f"{len(schema.numeric)} numeric"]
        kinds += [f"{len(schema.text)} text"] if schema.text else []
        parts = f"{', '.join(kinds[:-1])} and {kinds[-1]}"
        return f"Table: {self._rows} rows, {parts} columns{about}"

    def _first_rows(self) -> tuple[list[str], list[list[str]]]:
        """Return the names of the first columns and the cells of the first rows."""
        names = [*self._data][:_SHOWN_COLUMNS]
        rows = range(min(self._rows, _SHOWN_ROWS))
        cells = [[self.cell_text(name, row) for name in names] for row in rows]
        more = len(self._data) - len(names)
        return [*names, f"… {more} more columns"] if more else names, cells

    def __repr__(self) -> str:
        names, cells = self._first_rows()
        more = [f"  … and {self._rows - len(cells)} more rows"] if self._rows > len(cells) else []
        numbers = [at for at, name in enumerate(names) if name in self and self._is_number(name)]
        return "\n".join([self._headline(), *align([names, *cells], numbers), *more])

    def _repr_html_(self) -> str:
        return html_table(*self._first_rows(), self._headline())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Table):
            return NotImplemented
        return (
            self.schema == other.schema
            and self._data.keys() == other._data.keys()
            and all(_same(self._data[name], other._data[name]) for name in self._data)
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def names(self) -> tuple[str, ...]:
        """The columns these rows hold, the class included."""
        return tuple(self._data)

    @property
    def labelled(self) -> bool:
        """Whether the table holds the class of its rows."""
        target = self.schema.target
        return target is not None and target.name in self._data

    @property
    def classes(self) -> tuple[Level, ...]:
        """The class labels in code order (sorted)."""
        return self.target_column.levels

    @property
    def target_column(self) -> Column:
        """The class column."""
        target = self.schema.target
        if target is None or target.name not in self._data:
            raise TableError(
                "Table: a class column is needed here; this table has none.",
                hint="Name it with `target=`.",
            )
        return target

    @property
    def target(self) -> Codes:
        """The class codes of the rows."""
        return self._data[self.target_column.name]

    @property
    def labels(self) -> NDArray[Any]:
        """The class labels of the rows."""
        return self.decode(self.target_column.name)

    def codes(self, name: str) -> Codes:
        """Return the codes of a nominal column or of the class."""
        if not self.schema[name].coded:
            raise TableError(
                f"Table: column {name!r} is {self.schema[name].kind} and has no codes."
            )
        return self.raw_array(name)

    def values(self, name: str) -> Values:
        """Return the numbers of a numeric column; NaN is missing."""
        if self.schema[name].kind != "numeric":
            raise TableError(f"Table: column {name!r} is {self.schema[name].kind}, not numeric.")
        return self.raw_array(name)

    def texts(self, name: str) -> TextCodes:
        """Return the texts of a text column as codes that know their words; -1 is missing."""
        if self.schema[name].kind != "text":
            raise TableError(f"Table: column {name!r} is {self.schema[name].kind}, not text.")
        codes = self.raw_array(name)
        assert isinstance(codes, TextCodes)
        return codes

    def _is_number(self, name: str) -> bool:
        return self.schema[name].kind == "numeric"

    def missing(self, name: str) -> NDArray[np.bool_]:
        """Return which rows miss their cell of a column; an unseen level is not missing.

        Examples
        --------
        >>> import countwise as cw
        >>> cw.read({"x": [1.5, None], "y": ["a", "b"]}).missing("x").tolist()
        [False, True]
        """
        column, cells = self.schema[name], self.raw_array(name)
        return np.isnan(cells) if self._is_number(name) else np.asarray(cells == _blank(column))

    def with_missing(self, names: Iterable[str]) -> Table:
        """Return the same rows with every cell of these columns missing.

        Examples
        --------
        >>> import countwise as cw
        >>> cw.read("sample:weather").with_missing(["windy"]).missing("windy").all()
        np.True_
        """
        data = dict(self._data)
        for name in names:
            data[name] = np.full_like(self.raw_array(name), _blank(self.schema[name]))
        return Table.from_arrays(self.schema, data, self.notes, self.unseen, len(self))

    def raw_array(self, name: str) -> NDArray[Any]:
        """Return the codes or the numbers of a column, whichever it has."""
        if name not in self._data:
            raise TableError(
                f"Table: column {name!r} is in the schema but not in these rows."
                f"{did_you_mean(name, self._data)}"
            )
        return self._data[name]

    def decode(self, name: str) -> NDArray[Any]:
        """Return a column as it was written; None (or NaN) is missing."""
        column = self.schema[name]
        if self._is_number(name):
            return self.values(name)
        codes = self.raw_array(name)
        if isinstance(codes, TextCodes):
            return codes.decode()
        if column.kind == "target" and not np.any(codes >= column.width):
            return np.asarray(labels_array(column.levels)[codes])
        levels = np.empty(column.width + 2, dtype=object)
        levels[: column.width] = column.levels
        return np.asarray(levels[codes])

    def cell_text(self, name: str, row: int) -> str:
        """Return a cell in words: a level, a number, ``missing`` or ``never seen``."""
        column = self.schema[name]
        if column.kind == "text":
            return self.texts(name).shorten(row) or "missing"
        if not column.coded:
            number = float(self.values(name)[row])
            if number != number:
                return "missing"
            from countwise.tables.cell_forms import date_text

            return date_text(number) if column.dates else number_text(number)
        code = int(self.codes(name)[row])
        if code < column.width:
            return str(column.levels[code])
        return "missing" if code == column.width else "never seen"

    def cell_texts(self, names: Sequence[str]) -> tuple[tuple[str, ...], ...]:
        """Return the cells of some columns in words, row by row."""
        return tuple(
            tuple(self.cell_text(name, row) for name in names) for row in range(self._rows)
        )

    def without_text(self) -> Table:
        """Return the same rows without their texts, as models see them that count no words."""
        if not self.schema.text:
            return self
        return Table(self.schema.without_text(), self._data, self.notes, self.unseen, self._rows)

    def with_notes(self, notes: Iterable[Note]) -> Table:
        """Return the same rows with these notes instead."""
        return Table(self.schema, self._data, notes, self.unseen, self._rows)

    def to_raw(self) -> RawTable:
        """Return the columns as a reader would hand them over, to be coded by another schema."""
        from countwise.tables.raw_columns import RawTable

        return RawTable({name: self._raw(name) for name in self._data}, self.notes)

    def _raw(self, name: str) -> Raw:
        from countwise.tables.raw_columns import Numbers, Words

        column = self.schema[name]
        if column.kind == "text":
            texts = self.texts(name)
            return Words(np.array(texts, np.int32), texts.texts.texts)
        if not column.coded:
            return Numbers(self.values(name), dates=column.dates)
        codes = self.raw_array(name).astype(np.int64)
        codes[codes == column.width] = -1
        if not (codes > column.width).any():
            return Words(codes, column.levels, declared=True)
        codes[codes > column.width] = column.width
        return Words(codes, (*column.levels, NEVER_SEEN), declared=True)

    def take(self, rows: ArrayLike | slice) -> Table:
        """Return these rows, by positions, a mask or a slice, under the same schema."""
        if isinstance(rows, slice) and rows.indices(self._rows) == (0, self._rows, 1):
            return self
        index = rows if isinstance(rows, slice) else np.asarray(rows)
        if isinstance(index, np.ndarray) and index.size == 0:
            index = index.astype(np.intp)
        data = {name: array[index] for name, array in self._data.items()}
        if isinstance(index, slice):
            taken = len(range(*index.indices(self._rows)))
            if index.step not in (None, 1):
                return Table(self.schema, data, self.notes, self._still_unseen(data), taken)
        else:
            taken = next((len(array) for array in data.values()), -1)
            taken = int(np.arange(self._rows)[index].size) if taken < 0 else taken
            for array in data.values():
                array.flags.writeable = False
        return self._part(data, taken)

    def _part(self, data: dict[str, NDArray[Any]], rows: int) -> Table:
        """Return some of these rows, whose arrays were checked before."""
        part = object.__new__(Table)
        part._schema, part._data, part._rows = self._schema, data, rows
        part.notes, part.unseen = self.notes, self._still_unseen(data)
        return part

    def _still_unseen(self, data: Mapping[str, NDArray[Any]]) -> dict[str, dict[Level, int]]:
        """Count unseen levels in some of the rows; several levels of a column share one count."""
        left: dict[str, dict[Level, int]] = {}
        for name, levels in self.unseen.items():
            if name not in data:
                continue
            number = int(np.count_nonzero(data[name] > self.schema[name].width))
            if number:
                left[name] = {next(iter(levels)) if len(levels) == 1 else NEVER_SEEN: number}
        return left

    def select(self, names: Iterable[str]) -> Table:
        """Return the table with these attributes only (and the class)."""
        wanted = {names} if isinstance(names, str) else set(names)
        for name in wanted:
            self.schema[name]
        kept = tuple(c for c in self.schema if c.kind == "target" or c.name in wanted)
        data = {c.name: self._data[c.name] for c in kept if c.name in self._data}
        return Table(Schema(kept), data, self.notes, self._still_unseen(data), self._rows)

    def in_order(self, names: Sequence[str]) -> Table:
        """Return the table with the columns of these names in their order, before all others."""
        first = {name: self.schema[name] for name in names}
        schema = Schema((*first.values(), *(c for c in self.schema if c.name not in first)))
        return Table(schema, self._data, self.notes, self._still_unseen(self._data), self._rows)

    def leave_out(self, names: Iterable[str]) -> Table:
        """Return the table without these columns, which its schema then lists as left out."""
        gone = [replace(self.schema[name], kind="drop", levels=()) for name in names]
        data = {name: array for name, array in self._data.items() if name not in set(names)}
        schema = self.schema.with_columns(gone)
        return Table(schema, data, self.notes, self._still_unseen(data), self._rows)

    def blocks(self, rows: int) -> Iterator[Table]:
        """Yield the table in blocks of so many rows, without copying."""
        for start in range(0, self._rows, rows):
            yield self.take(slice(start, start + rows))

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the decoded columns as lists, None where missing."""
        plain: dict[str, list[Any]] = {}
        for name in self._data:
            column = self.decode(name).tolist()
            plain[name] = [None if value != value else value for value in column]
        return plain

    def to_arrow(self) -> Any:
        """Return the decoded columns as a pyarrow table: levels as a dictionary, dates as times.

        Examples
        --------
        >>> import countwise as cw
        >>> cw.read("sample:weather").to_arrow().column_names
        ['outlook', 'temperature', 'humidity', 'windy', 'play']
        """
        import pyarrow as pa

        return pa.table({name: self._arrow_column(name) for name in self._data})

    def _arrow_column(self, name: str) -> Any:
        import pyarrow as pa

        column = self.schema[name]
        if not column.coded:
            numbers = pa.array(self.values(name), from_pandas=True)
            if not column.dates:
                return numbers
            micros = np.where(np.isnan(self.values(name)), 0, self.values(name)) * 86_400e6
            whole = np.rint(micros).astype(np.int64)
            return pa.array(whole, pa.timestamp("us"), mask=np.isnan(self.values(name)))
        codes = self.raw_array(name).astype(np.int32)
        levels = list(column.levels)
        if len({type(level) for level in levels}) > 1:
            levels = [str(level) for level in levels]
        indices = pa.array(codes, mask=codes >= column.width)
        dictionary = pa.DictionaryArray.from_arrays(indices, pa.array(levels))
        return dictionary.dictionary_decode() if column.kind == "target" else dictionary

    def to_pandas(self) -> Any:
        """Return the decoded columns as a pandas frame; nominal columns are categorical.

        Examples
        --------
        >>> import countwise as cw
        >>> cw.read("sample:weather").to_pandas().shape
        (14, 5)
        """
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """Return the decoded columns as a polars frame.

        Examples
        --------
        >>> import countwise as cw
        >>> cw.read("sample:weather").to_polars().height
        14
        """
        import polars

        return polars.from_arrow(self.to_arrow())

    def describe(self) -> str:
        """Return a few sentences about the table: size, kinds, notes."""
        names = listing([column.name for column in self.schema.attributes], 8)
        return "\n".join([self._headline(), f"Attributes: {names}", *map(str, self.notes)])


def _checked(column: Column, array: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only, contiguous view of the type and range the kernels rely on."""
    if column.kind == "text" and not isinstance(array, TextCodes):
        raise TableError(
            f"Table: column {column.name!r} must hold texts; got {array.dtype}. Make tables with "
            "read()."
        )
    number = np.dtype(np.int32) if column.kind == "text" else np.dtype(np.float64)
    kind = code_type(column.width) if column.coded else number
    if array.dtype != kind:
        raise TableError(
            f"Table: column {column.name!r} must be stored as {kind}; got {array.dtype}. "
            "Make tables with read()."
        )
    if column.coded and array.size and array.max() > column.width + 1:
        raise TableError(
            f"Table: codes of column {column.name!r} must be at most {column.width + 1}; got "
            f"{array.max()}. Make tables with read()."
        )
    if array.flags.writeable or not array.flags.c_contiguous:
        array = array.copy()  # its owner may go on to change it
        array.flags.writeable = False
    return array


def _blank(column: Column) -> float:
    """Return the code of a missing cell; NaN for numbers."""
    return column.width if column.coded else -1 if column.kind == "text" else np.nan


def _same(left: NDArray[Any], right: NDArray[Any]) -> bool:
    if isinstance(left, TextCodes) and isinstance(right, TextCodes):
        return bool(left.decode().tolist() == right.decode().tolist())
    return bool(np.array_equal(left, right, equal_nan=left.dtype.kind == "f"))
