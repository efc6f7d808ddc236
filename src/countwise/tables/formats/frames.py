"""Frames, arrays, mappings and lists of rows as raw columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from countwise.errors import TableError, quote
from countwise.tables.raw_columns import (
    Raw,
    Words,
    from_arrow,
    from_numpy,
    from_objects,
    missing_numbers,
)
from countwise.tables.read_options import ReadOptions
from countwise.tables.schema import Column
from countwise.tables.text_values import settle_typed


def array_columns(source: Any, known: Sequence[Column] | None = None) -> dict[str, Raw]:
    """Turn rows into columns x1, x2 and so on, or by position into those of a schema."""
    if isinstance(source, np.ndarray) and source.dtype.names:
        return {name: from_numpy(name, source[name]) for name in source.dtype.names}
    if not isinstance(source, np.ndarray):
        try:
            source = np.asarray(source)
        except ValueError:
            raise TableError(
                "Table: rows of a list must be equally long; got several lengths. Fill with None."
            ) from None
        if source.dtype.kind in "US":
            source = source.astype(object)
    if source.ndim != 2:
        raise TableError(
            f"Table: an array must have two dimensions, rows and columns; got {source.ndim}. "
            "Reshape your data, for example with array.reshape(-1, 1) for a single column."
        )
    names = [f"x{place + 1}" for place in range(source.shape[1])]
    if known is not None:
        every = [column.name for column in known]
        attributes = [column.name for column in known if column.kind != "target"]
        names = attributes if len(attributes) == source.shape[1] else every
        if len(names) != source.shape[1]:
            raise TableError(
                f"Table: an array must have a column for each of the {len(names)} of the schema; "
                f"got {source.shape[1]}."
            )
    return {name: from_numpy(name, source[:, place]) for place, name in enumerate(names)}


def frame_columns(source: Any, options: ReadOptions) -> dict[str, Raw]:
    """Turn a data frame or a mapping into columns; those left out come back as all missing."""
    left_out = {str(name) for name, column in options.columns.items() if column.left_out}

    def is_wanted(name: str) -> bool:
        return name not in left_out and options.is_needed(name)

    if isinstance(source, Mapping):
        return {
            str(name): settle_typed(str(name), _sequence(str(name), column), options)
            if is_wanted(str(name))
            else missing_numbers(len(column))
            for name, column in source.items()
        }
    import narwhals as nw

    if type(source).__name__ == "RecordBatch":
        import pyarrow as pa

        source = pa.Table.from_batches([source])

    try:
        frame = nw.from_native(source)
        if isinstance(frame, nw.LazyFrame):
            raise lazy_error(source)
        if not isinstance(frame, nw.DataFrame):
            raise TableError(f"Table: rows must be a whole frame; got a {type(source).__name__}.")
        names = [str(name) for name in frame.columns]
    except TypeError:
        raise TableError(
            "Table: rows must be a path, a data frame, an array, a mapping of columns or a Table; "
            f"got a {type(source).__name__}."
        ) from None
    except nw.exceptions.DuplicateError:
        names = [str(name) for name in source.columns]
    refuse_duplicates(names)
    return {
        name: settle_typed(name, _series(name, frame.get_column(label)), options)
        if is_wanted(name)
        else missing_numbers(len(frame))
        for name, label in zip(names, frame.columns, strict=True)
    }


def lazy_error(source: Any) -> TableError:
    """Return the error that rows outside memory are not read into it without being asked."""
    name, how = type(source).__name__, ".collect()"
    if type(source).__module__.startswith("pyspark.sql"):
        name, how = "PySpark DataFrame", ".toArrow()"
    return TableError(
        f"Table: rows must be in memory here; got a {name}, which may hold more than fits.",
        hint=f"Scan it with cw.scan(rows, target=…), or read it into memory yourself, as {how} "
        "does",
    )


def refuse_duplicates(names: Sequence[str], who: str = "Table", where: str = "") -> None:
    """Refuse a frame in which two columns have one name; `where` begins with a blank."""
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise TableError(
            f"{who}: column names must differ; got {twice!r} twice{where}. Rename one of them."
        )


def record_columns(
    source: Sequence[Mapping[str, Any]], options: ReadOptions | None = None
) -> dict[str, Raw]:
    """Turn a list of records into columns; a cell that a record lacks is missing."""
    names = dict.fromkeys(str(name) for record in source for name in record)
    columns = {name: from_objects(name, [record.get(name) for record in source]) for name in names}
    known = options or ReadOptions()
    return {name: settle_typed(name, raw, known) for name, raw in columns.items()}


def _series(name: str, series: Any) -> Raw:
    kind = str(series.dtype)
    if kind == "Object":
        return from_objects(name, series.to_list())
    import pyarrow as pa

    try:
        if kind.startswith(("Categorical", "Enum")):
            return _categorical(name, series)
        return from_arrow(name, series.to_arrow())
    except (pa.ArrowException, NotImplementedError):
        return from_objects(name, [_plain(value) for value in series.to_list()])


def _plain(value: Any) -> Any:
    """Intervals and other odd values of a frame as text; plain ones as they are."""
    if value is None or isinstance(value, str | bool | int | float | list | dict):
        return value
    return value if hasattr(value, "isoformat") or value != value else str(value)


def _categorical(name: str, series: Any) -> Raw:
    """Keep the declared categories of a categorical, used or not, in their order."""
    import pyarrow as pa

    column = from_arrow(name, series.to_arrow())
    if not isinstance(column, Words):
        return column
    native = series.to_native()
    categories = getattr(getattr(native, "cat", None), "categories", None)
    listed = not (categories is None or callable(categories) or isinstance(native, pa.ChunkedArray))
    declared = listed or str(series.dtype).startswith("Enum")
    return Words(column.codes, column.distinct, declared)


def _sequence(name: str, column: Any) -> Raw:
    if isinstance(column, np.ndarray):
        if column.ndim != 1:
            raise TableError(f"Table: column {name!r} must have one dimension; got {column.ndim}.")
        return from_numpy(name, column)
    if any(hasattr(column, way) for way in ("to_arrow", "__arrow_c_stream__", "to_numpy")):
        import narwhals as nw

        series = nw.from_native(column, series_only=True, pass_through=True)
        if isinstance(series, nw.Series):
            return _series(name, series)
        return from_numpy(name, np.asarray(column))
    if isinstance(column, str | bytes) or not isinstance(column, Sequence):
        raise TableError(f"Table: column {name!r} must be a list of values; got {quote(column)}.")
    return from_objects(name, list(column))


def target_column(target: Any, columns: Mapping[str, Raw]) -> tuple[str, Raw]:
    """Name and convert labels given beside the rows; the name of a series is kept if it is free."""
    label = getattr(target, "name", None)
    name = label if isinstance(label, str) and label not in columns else "class"
    while name in columns:
        name += "_"
    if isinstance(target, np.ndarray) and target.ndim == 2 and target.shape[1] == 1:
        target = target[:, 0]
    if isinstance(target, np.ndarray) and target.ndim != 1:
        raise TableError(f"read: labels must be one a row; got an array of shape {target.shape}.")
    return name, _sequence(name, target if not isinstance(target, range) else list(target))
