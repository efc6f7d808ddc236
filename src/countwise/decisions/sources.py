"""The ways a gain matrix comes in: a file, a dict, a frame or a bare array.

Each way ends in a `Grid`: the labels of both sides as they were written and the cells as they
stood. What the labels and cells must be is `GainMatrix`'s affair, so every way is judged alike.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from countwise.decisions.labels import Label, plain, text
from countwise.errors import GainError, did_you_mean, listing

PathLike: TypeAlias = str | os.PathLike[str]

SEPARATORS = ("\t", ";", ",")
UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True)
class Grid:
    """A matrix with labels on both sides: a row per true class, a column per decision."""

    true: tuple[Label, ...]
    assigned: tuple[Label, ...]
    cells: tuple[tuple[Any, ...], ...]
    origin: str = ""


@dataclass(frozen=True)
class Bare:
    """A matrix without labels."""

    cells: tuple[tuple[Any, ...], ...]


def grid_from(thing: Any) -> Grid | Bare:
    """Read whatever a user calls a gain matrix: mapping, path, frame, or rows of numbers."""
    if isinstance(thing, Mapping):
        return grid_from_dict(thing)
    if isinstance(thing, str | os.PathLike):
        return grid_from_file(thing)
    if isinstance(thing, np.ndarray | list | tuple):
        return bare_from(thing)
    return grid_from_frame(thing)


def grid_from_dict(gains: Mapping[Any, Mapping[Any, float]]) -> Grid:
    """Read ``{true: {assigned: gain}}``."""
    assigned: dict[Label, None] = {}
    for true, row in gains.items():
        if not isinstance(row, Mapping):
            raise GainError(
                f"GainMatrix: a dict must hold a dict for each true class, but {true!r} holds "
                f"{row!r}. Write {{true: {{assigned: gain}}}}."
            )
        assigned.update(dict.fromkeys(row))
    columns = tuple(assigned)
    cells = tuple(
        tuple(_cell(row, true, label) for label in columns) for true, row in gains.items()
    )
    return Grid(tuple(map(plain, gains)), tuple(map(plain, columns)), cells)


def _cell(row: Mapping[Any, float], true: Label, label: Label) -> Any:
    if label in row:
        return row[label]
    raise GainError(
        f"GainMatrix: every true class needs a gain for every decision, but {true!r} has none for "
        f"{label!r}. Add it.{did_you_mean(label, row)}"
    )


def grid_from_file(path: PathLike) -> Grid:
    """Read a CSV file: assigned labels in the first row, true labels in the first column."""
    name = Path(path).name
    rows = [row for row in _parse(_decode(Path(path)), name) if any(cell.strip() for cell in row)]
    if len(rows) < 2 or len(rows[0]) < 2:
        raise GainError(
            f"GainMatrix: {name} must hold a first row of assigned labels and a row per true "
            "class, separated by commas, semicolons or tabs, but no such table is in it. "
            "Write one with GainMatrix.write."
        )
    header = [cell.strip() for cell in rows[0]]
    for number, row in enumerate(rows[1:], start=2):
        if len(row) != len(header):
            raise GainError(
                f"GainMatrix: {name} must have {len(header)} cells in every row, but row {number} "
                f"('{row[0].strip()}') has {len(row)}. Fill or remove cells there."
            )
    cells = tuple(tuple(_number(cell) for cell in row[1:]) for row in rows[1:])
    return Grid(tuple(row[0].strip() for row in rows[1:]), tuple(header[1:]), cells, name)


def _decode(path: Path) -> str:
    try:
        content = path.read_bytes()
    except OSError as trouble:
        raise GainError(
            f"GainMatrix: {str(path)!r} must be a readable CSV file, but {trouble.strerror}. "
            "Check the path."
        ) from None
    # Excel's "Unicode text" is UTF-16 with a byte-order mark; its "CSV UTF-8" carries one too.
    encoding = "utf-16" if content.startswith(UTF16_MARKS) else "utf-8-sig"
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as trouble:
        raise GainError(
            f"GainMatrix: {path.name} must be UTF-8 text, but byte {trouble.start} is not. "
            "Save it as 'CSV UTF-8'."
        ) from None


def _parse(content: str, name: str) -> list[list[str]]:
    """Split by the separator that makes the best matrix; else by the one the first row uses most.

    A label may hold a separator itself, so several may make a rectangle. The right one is that
    under which the true labels are assigned ones and the cells are numbers.
    """
    try:
        ways = [list(csv.reader(io.StringIO(content), delimiter=mark)) for mark in SEPARATORS]
    except csv.Error as trouble:
        raise GainError(
            f"GainMatrix: {name} must be a CSV file, but {trouble}. Write one with "
            "GainMatrix.write."
        ) from None
    filled = [[row for row in way if any(cell.strip() for cell in row)] for way in ways]
    fits = [way for way in filled if len({len(row) for row in way}) == 1 and len(way[0]) > 1]
    return max(fits, key=_likeness) if fits else max(filled, key=lambda way: len((way or [[]])[0]))


def _likeness(rows: list[list[str]]) -> tuple[float, float]:
    """Return how much a table looks like a gain matrix: shares of known labels and of numbers."""
    assigned = {cell.strip() for cell in rows[0][1:]}
    named = [row[0].strip() in assigned for row in rows[1:]]
    numbers = [isinstance(_number(cell), float) for row in rows[1:] for cell in row[1:]]
    return sum(named) / max(len(named), 1), sum(numbers) / max(len(numbers), 1)


def _number(cell: str) -> float | str:
    """Read a number, with a decimal comma if that is how the file writes; leave other text."""
    written = cell.strip()
    if written.count(",") == 1 and "." not in written:
        written = written.replace(",", ".")
    try:
        return float(written)
    except ValueError:
        return cell.strip()


def grid_from_frame(frame: Any) -> Grid | Bare:
    """Read a data frame: a pandas index, or else the first column, holds the true labels.

    A pandas frame whose rows and columns are both merely numbered names nothing: it is bare.
    """
    import narwhals as nw

    try:
        native = nw.from_native(frame, pass_through=True)
    except nw.exceptions.DuplicateError:
        raise GainError(
            "GainMatrix: every assigned label may come once, but the columns of the frame are "
            f"{listing(frame.columns)}. Rename or remove the repeated ones."
        ) from None
    if isinstance(native, nw.LazyFrame):
        native = native.collect()
    if not isinstance(native, nw.DataFrame):
        try:
            return bare_from(np.asarray(frame))
        except (TypeError, ValueError):
            raise _not_a_matrix(frame) from None
    rows = [tuple(plain(cell) for cell in row) for row in native.rows()]
    columns = tuple(plain(column) for column in native.columns)
    index = nw.maybe_get_index(native)
    if index is not None:
        true = tuple(plain(label) for label in index)
        numbered = true == tuple(range(len(rows)))
        if numbered and columns == tuple(range(len(columns))):
            return Bare(tuple(rows))
        if not (numbered and _first_column_labels(rows, columns)):
            return Grid(true, columns, tuple(rows))
    true = tuple(row[0] for row in rows)
    return Grid(true, columns[1:], tuple(row[1:] for row in rows))


def _first_column_labels(rows: list[tuple[Any, ...]], columns: tuple[Label, ...]) -> bool:
    """Tell whether a merely numbered pandas frame keeps its true labels in its first column."""
    if not rows or not columns or text(columns[0]) in map(str, range(len(rows))):
        return False
    first = [row[0] for row in rows]
    named = {text(column) for column in columns[1:]}
    return any(isinstance(cell, str) for cell in first) or all(text(c) in named for c in first)


def bare_from(array: Any) -> Bare:
    """Read rows of numbers without labels."""
    rows = list(array) if isinstance(array, list | tuple) or np.ndim(array) else None
    if not rows or any(isinstance(row, str) or not hasattr(row, "__len__") for row in rows):
        raise _not_a_matrix(array)
    widths = [len(row) for row in rows]
    if len(set(widths)) > 1:
        raise GainError(
            f"GainMatrix: every row must have as many gains, but the rows hold {widths}. "
            "Fill the short ones."
        )
    return Bare(tuple(tuple(plain(cell) for cell in row) for row in rows))


def _not_a_matrix(thing: Any) -> GainError:
    return GainError(
        "GainMatrix: a gain matrix must be a {true: {assigned: gain}} dict, a CSV path, a data "
        f"frame or rows of numbers, but {type(thing).__name__} {str(thing)[:60]!r} came. "
        "Give one of these."
    )
