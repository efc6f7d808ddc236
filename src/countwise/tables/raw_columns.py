"""Raw columns: what a file reader returns, before kinds are decided and levels are coded.

There are two shapes: a `Numbers` column (doubles, NaN where the cell was empty) and a `Words`
column (codes into the distinct values, -1 where the cell was empty).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.errors import TableError
from countwise.notes import Note
from countwise.tables.schema import Level, level_key


@dataclass(frozen=True)
class Numbers:
    """A column of numbers; `whole` says that the source stored integers.

    `rounded` is the largest integer that a double could not hold exactly, if there was one, and
    `exact` then holds the integers themselves, should they turn out to be labels or codes;
    `dates` says that the numbers are days since 1970-01-01, `written` how their texts were found to
    be written (properties of a `Column`), `marks` which texts among them were taken for missing,
    and in how many cells.
    """

    values: NDArray[np.float64]
    whole: bool = False
    rounded: int | None = None
    dates: bool = False
    exact: NDArray[Any] | None = None
    written: Mapping[str, str] = field(default_factory=dict)
    marks: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True)
class Words:
    """A column of texts, booleans or mixed values as codes into `distinct`; -1 is an empty cell.

    `declared` says that the source declared `distinct` as the levels (a categorical, an ARFF
    header) in that order, whether or not each of them occurs; `notes` what is odd about the texts,
    `marked` that some cells held a missing mark.
    """

    codes: NDArray[np.int64] | NDArray[np.int32]
    distinct: tuple[Level, ...]
    declared: bool = False
    notes: tuple[Note, ...] = ()
    marked: bool = False

    def __len__(self) -> int:
        return len(self.codes)

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """The number of cells that hold each of the distinct values."""
        return np.bincount(self.codes + 1, minlength=len(self.distinct) + 1)[1:].astype(np.int64)


Raw = Numbers | Words


@dataclass(frozen=True)
class RawTable:
    """The raw columns of a source in its order, with notes on what was assumed to read them.

    ``kinds`` holds only what the source itself declares: for ARFF ``nominal``, ``numeric``,
    ``string`` or ``date``. ``numbers`` identify the rows where their order does not.
    """

    columns: dict[str, Raw]
    notes: tuple[Note, ...] = ()
    kinds: dict[str, str] = field(default_factory=dict)
    numbers: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(next(iter(self.columns.values()), ()))

    @property
    def decimal(self) -> dict[str, str]:
        """The columns of plain numbers in which a decimal comma was found."""
        found = {name: getattr(raw, "written", {}) for name, raw in self.columns.items()}
        return {name: "," for name, written in found.items() if written == {"decimal": ","}}


def missing_numbers(rows: int) -> Numbers:
    """Return a column without any value, for one that is not looked at."""
    return Numbers(np.full(rows, np.nan))


def missing_words(rows: int) -> Words:
    """Return a column of texts without any value."""
    return Words(np.full(rows, -1, np.int32), ())


_EXACT = 2**53
_MANY = 10_000


def from_arrow(name: str, column: Any) -> Raw:
    """Turn an Arrow (chunked) array into a raw column."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_dictionary(kind):
        return _words_from_dictionary(name, column)
    if pa.types.is_boolean(kind):
        codes = pc.fill_null(pc.cast(column, pa.int8()), -1)
        return Words(_numpy(codes).astype(np.int32), (False, True))
    if pa.types.is_integer(kind):
        return _whole_numbers(column)
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return Numbers(_doubles(pc.cast(column, pa.float64(), safe=False)))
    if pa.types.is_null(kind):
        return missing_numbers(len(column))
    if pa.types.is_temporal(kind) and not pa.types.is_duration(kind):
        return _days(name, column)
    if _is_text(kind):
        if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
            column = pc.cast(column, pa.large_string())
        return _words_from_dictionary(name, pc.dictionary_encode(column))
    raise TableError(
        f"Table: column {name!r} must hold numbers, texts, booleans or dates; got {kind}.",
        hint=("drop it with `drop=`", "convert it"),
    )


def _is_text(kind: Any) -> bool:
    return str(kind) in ("string", "large_string", "string_view")


def _words_from_dictionary(name: str, column: Any) -> Words:
    import pyarrow as pa
    import pyarrow.compute as pc

    declared = bool(column.type.ordered)
    if isinstance(column, pa.ChunkedArray):
        column = column.unify_dictionaries()
        dictionary = column.chunk(0).dictionary if column.num_chunks else pa.array([], pa.string())
        parts = [_places(chunk.indices) for chunk in column.chunks]
        codes = np.concatenate(parts) if parts else np.empty(0, np.int32)
    else:
        dictionary, codes = column.dictionary, _places(column.indices)
    kind, kinds = dictionary.type, pa.types
    plain = (kinds.is_integer, kinds.is_floating, kinds.is_boolean, kinds.is_null, _is_text)
    if not any(is_kind(kind) for is_kind in plain):
        dictionary = pc.cast(dictionary, pa.string())
    distinct = dictionary.to_pylist()
    if None in distinct:
        empty = distinct.index(None)
        codes = np.where(codes == empty, -1, codes - (codes > empty))
        distinct = [value for value in distinct if value is not None]
    return Words(codes, tuple(distinct), declared)


def _places(indices: Any) -> NDArray[Any]:
    """Return the indices of a dictionary, -1 for a missing one."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_unsigned_integer(indices.type):
        indices = pc.cast(indices, pa.int64())
    return _numpy(pc.fill_null(indices, -1) if indices.null_count else indices)


def _whole_numbers(column: Any) -> Numbers:
    import pyarrow as pa
    import pyarrow.compute as pc

    bounds = pc.min_max(column).as_py()
    rounded = None
    for bound in (bounds["min"], bounds["max"]):
        if bound is not None and abs(bound) > _EXACT:
            rounded = bound
    exact = None if rounded is None else np.asarray(column.to_pylist(), dtype=object)
    return Numbers(_doubles(pc.cast(column, pa.float64(), safe=False)), True, rounded, exact=exact)


def _days(name: str, column: Any) -> Numbers:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_time(column.type):
        nanoseconds = pc.cast(pc.cast(column, pa.time64("ns")), pa.int64())
        return Numbers(_doubles(pc.cast(nanoseconds, pa.float64(), safe=False)) / 86_400e9)
    try:
        micros = pc.cast(pc.cast(column, pa.timestamp("us"), safe=False), pa.int64())
    except pa.ArrowInvalid as why:
        raise TableError(f"Table: the dates of column {name!r} cannot be read ({why}).") from None
    return Numbers(_doubles(pc.cast(micros, pa.float64(), safe=False)) / 86_400e6, dates=True)


def _doubles(column: Any) -> NDArray[np.float64]:
    values = _numpy(column)
    # A copy of what Arrow lends, read-only: its owner, perhaps a frame, may go on to change it.
    return values.astype(np.float64, copy=not values.flags.writeable)


def _numpy(column: Any) -> NDArray[Any]:
    import pyarrow as pa

    if isinstance(column, pa.ChunkedArray):
        return np.asarray(column.to_numpy())
    return np.asarray(column.to_numpy(zero_copy_only=False))


def from_numpy(name: str, column: NDArray[Any]) -> Raw:
    """Turn a NumPy column into a raw column."""
    kind = column.dtype.kind
    if isinstance(column, np.ma.MaskedArray):
        return from_objects(name, column.tolist())
    if kind == "f":
        return Numbers(np.array(column, dtype=np.float64))
    if kind in "iu":
        low, high = (int(column.min()), int(column.max())) if column.size else (0, 0)
        rounded = next((bound for bound in (low, high) if abs(bound) > _EXACT), None)
        exact = None if rounded is None else column.astype(object)
        return Numbers(column.astype(np.float64), True, rounded, exact=exact)
    if kind == "b":
        return Words(column.astype(np.int32), (False, True))
    if kind in "US":
        distinct, codes = np.unique(column, return_inverse=True)
        texts = tuple(_text(value) for value in distinct.tolist())
        return Words(codes.reshape(-1).astype(np.int64), texts)
    if kind == "M":
        days = column.astype("datetime64[us]").astype(np.float64) / 86_400e6
        days[np.isnat(column)] = np.nan
        return Numbers(days, dates=True)
    if kind == "O":
        return from_objects(name, column.tolist())
    raise TableError(
        f"Table: column {name!r} must hold numbers, texts, booleans or dates; got {column.dtype}. "
        "Convert it."
    )


def _from_many(name: str, values: Sequence[Any]) -> Raw | None:
    """Let Arrow read a long column of Python texts; None where it holds anything else."""
    import pyarrow as pa

    try:
        texts = pa.array(values, type=pa.large_string(), from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return None
    return from_arrow(name, texts)


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def from_objects(name: str, values: Sequence[Any]) -> Raw:
    """Turn a list of Python values into a raw column: all numbers, or levels as they stand."""
    if len(values) > _MANY and (many := _from_many(name, values)):
        return many
    if all(_is_empty(value) for value in values):
        return Words(np.full(len(values), -1, dtype=np.int64), ())
    if all(_number_or_empty(value) for value in values):
        whole = all(isinstance(value, int | np.integer) for value in values if not _is_empty(value))
        big = next((int(v) for v in values if isinstance(v, int) and abs(v) > _EXACT), None)
        try:
            numbers = [float("nan") if _is_empty(value) else float(value) for value in values]
        except OverflowError:
            raise TableError(
                f"Table: column {name!r} must hold numbers that fit a double; got {big}.",
                hint=("drop the column with `drop=`", "write its values as text"),
            ) from None
        exact = None
        if big is not None and whole:
            exact = np.array([None if _is_empty(value) else int(value) for value in values], object)
        return Numbers(np.asarray(numbers, dtype=np.float64), whole, big, exact=exact)
    place: dict[tuple[str, Any], int] = {}
    codes = np.empty(len(values), dtype=np.int64)
    for row, value in enumerate(values):
        if _is_empty(value):
            codes[row] = -1
            continue
        level = _level(name, row, value)
        codes[row] = place.setdefault(level_key(level), len(place))
    return Words(codes, tuple(level for _, level in place))


def _is_empty(value: Any) -> bool:
    if value is None:
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        return type(value).__name__ == "NAType"


def _number_or_empty(value: Any) -> bool:
    if isinstance(value, bool | np.bool_):
        return False
    return isinstance(value, int | float | np.integer | np.floating) or _is_empty(value)


def _level(name: str, row: int, value: Any) -> Level:
    if isinstance(value, bytes):
        return _text(value)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str | bool | int | float):
        return value
    if hasattr(value, "isoformat"):
        return str(value.isoformat())
    raise TableError(
        f"Table: column {name!r} must hold numbers, texts or booleans; row {row + 1} holds a "
        f"{type(value).__name__}.",
        hint=("convert it to text", "drop the column with `drop=`"),
    )
