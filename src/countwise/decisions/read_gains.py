"""Read gains from a file, a dict, a frame or rows of numbers, and check labels and cells."""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from countwise.errors import GainError, did_you_mean, listing, quote
from countwise.tables.labels import Label, find, is_missing, plain, text

Rows: TypeAlias = tuple[tuple[float, ...], ...]


def check_labels(labels: Iterable[Any], what: str) -> tuple[Label, ...]:
    """Return labels, none of them missing or repeated; `what` names them in a refusal."""
    names = tuple(plain(label) for label in labels)
    if not names:
        raise GainError(f"GainMatrix: at least one {what} is needed; got none.", hint="Add labels")
    for at, name in enumerate(names):
        if is_missing(name):
            raise GainError(
                f"GainMatrix: every {what} must have a label; got {quote(name)} as number "
                f"{at + 1}.",
                hint="Write its label",
            )
        if name in names[:at]:
            raise GainError(
                f"GainMatrix: every {what} must occur once; got {quote(name)} again as "
                f"number {at + 1}.",
                hint="Rename or remove one of them",
            )
    return names


def check_gains(
    rows: Sequence[Sequence[Any]], classes: Sequence[Label], decisions: Sequence[Label]
) -> Rows:
    """Return finite gains, a row per class and a column per decision."""
    if len(decisions) > len(classes) and decisions[-1] in classes:
        raise GainError(
            f"GainMatrix: no_decision must be a label other than the classes {listing(classes)}; "
            f"got {quote(decisions[-1])}.",
            hint="Choose another word",
        )
    width, height = len(decisions), len(classes)
    if len(rows) != height or any(len(row) != width for row in rows):
        widths = " or ".join(str(size) for size in sorted({len(row) for row in rows}))
        raise GainError(
            f"GainMatrix: the classes {listing(classes)} need {height} rows of {width} gains; got "
            f"{len(rows)} rows of {widths}.",
            hint="Give a row per class and a column per decision, and name a last column for "
            "undecided cases with `no_decision=`",
        )
    return tuple(
        tuple(_gain(cell, true, label) for cell, label in zip(row, decisions, strict=True))
        for row, true in zip(rows, classes, strict=True)
    )


def _gain(cell: Any, true: Label, decision: Label) -> float:
    try:
        gain = math.nan if isinstance(cell, str) else float(cell)
    except (TypeError, ValueError):
        gain = math.nan
    if not math.isfinite(gain):
        empty = cell is None or (isinstance(cell, str) and not cell)
        raise GainError(
            f"GainMatrix: the gain of calling {quote(true)} {quote(decision)} must be a finite "
            f"number; got {'an empty cell' if empty else quote(cell)}."
        )
    return gain


def arrange(
    grid: Grid, no_decision: Label | None
) -> tuple[tuple[Label, ...], tuple[tuple[Any, ...], ...], Label | None]:
    """Return classes, cells with the columns in class order, and the label of the extra column."""
    who = f"GainMatrix: {grid.origin}:" if grid.origin else "GainMatrix:"
    true = check_labels(grid.true, "true class")
    assigned = check_labels(grid.assigned, "assigned label")
    columns = [find(label, assigned, "GainMatrix") for label in true]
    extra = [at for at in range(len(assigned)) if at not in columns]
    others = [assigned[at] for at in extra]
    for label, at in zip(true, columns, strict=True):
        if at < 0:
            raise GainError(
                f"{who} every true class must be one of the assigned labels {listing(assigned)}; "
                f"got {quote(label)}.",
                hint=did_you_mean(label, others).strip() or "Add a column for it",
            )
    if len(extra) > 1:
        raise GainError(
            f"{who} at most one assigned label, the decision not to decide, may be no class; got "
            f"{listing(others)}.",
            hint="Keep one, or add rows for the classes among them",
        )
    if no_decision is not None and others != [no_decision]:
        raise GainError(
            f"{who} no_decision must be an assigned label that is no class; got "
            f"{quote(no_decision)}, and the columns are {listing(assigned)}.",
            hint=did_you_mean(no_decision, others).strip() or "Name the column as it is written",
        )
    cells = tuple(tuple(row[at] for at in columns + extra) for row in grid.cells)
    return true, cells, others[0] if others else None


def order_of(names: Sequence[Label], classes: Sequence[Label]) -> list[int]:
    """Return where each of these classes stands in the matrix; both must be the same classes."""
    order = [find(label, classes, "GainMatrix") for label in names]
    missing = [label for label, at in zip(names, order, strict=True) if at < 0]
    spare = [label for at, label in enumerate(classes) if at not in order]
    if missing:
        raise GainError(
            f"GainMatrix: every class must have a row and a column; got none for "
            f"{listing(missing)} in the matrix of {listing(classes)}.",
            hint=did_you_mean(missing[0], spare).strip() or "Add its gains",
        )
    if spare:
        raise GainError(
            f"GainMatrix: every true label must be one of the classes {listing(names)}; got "
            f"{listing(spare)}.",
            hint="Take its row and column out",
        )
    return order


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
        return _grid_from_dict(thing)
    if isinstance(thing, str | os.PathLike):
        return grid_from_file(thing)
    if isinstance(thing, np.ndarray | list | tuple):
        return _bare_from(thing)
    return _grid_from_frame(thing)


def _grid_from_dict(gains: Mapping[Any, Mapping[Any, float]]) -> Grid:
    """Read ``{true: {assigned: gain}}``."""
    assigned: dict[Label, None] = {}
    for true, row in gains.items():
        if not isinstance(row, Mapping):
            raise GainError(
                f"GainMatrix: a dict must hold a dict for each true class; got {quote(row)} for "
                f"{quote(true)}.",
                hint="Write {true: {assigned: gain}}",
            )
        assigned.update(dict.fromkeys(row))
    for true, row in gains.items():
        for label in assigned:
            if label not in row:
                raise GainError(
                    f"GainMatrix: every true class must have a gain for every decision; got none "
                    f"of {quote(label)} for {quote(true)}.",
                    hint=did_you_mean(label, row).strip() or "Add it",
                )
    cells = tuple(tuple(row[label] for label in assigned) for row in gains.values())
    return Grid(tuple(map(plain, gains)), tuple(map(plain, assigned)), cells)


def grid_from_file(path: PathLike) -> Grid:
    """Read a CSV file: assigned labels in the first row, true labels in the first column."""
    name = Path(path).name
    rows = _parse(_decode(Path(path)), name)
    if len(rows) < 2 or len(rows[0]) < 2:
        raise GainError(
            f"GainMatrix: {name} must hold a first row of assigned labels and a row per true "
            "class, separated by commas, semicolons or tabs; got no such table.",
            hint="Write one with GainMatrix.write",
        )
    header = [cell.strip() for cell in rows[0]]
    for number, row in enumerate(rows[1:], start=2):
        if len(row) != len(header):
            raise GainError(
                f"GainMatrix: {name} must have {len(header)} cells in every row; got {len(row)} in "
                f"row {number} ({quote(row[0].strip())}).",
                hint="Fill or remove cells there",
            )
    cells = tuple(tuple(_number(cell) for cell in row[1:]) for row in rows[1:])
    return Grid(tuple(row[0].strip() for row in rows[1:]), tuple(header[1:]), cells, name)


def _decode(path: Path) -> str:
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise GainError(f"GainMatrix: there is no file {str(path)!r}. Check the path.") from None
    except OSError as trouble:
        raise GainError(
            f"GainMatrix: {str(path)!r} must be a readable CSV file; got {trouble.strerror!r}.",
            hint="Check the path",
        ) from None
    # Excel's "Unicode text" is UTF-16 with a byte-order mark; its "CSV UTF-8" carries one too.
    encoding = "utf-16" if content.startswith(UTF16_MARKS) else "utf-8-sig"
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as trouble:
        raise GainError(
            f"GainMatrix: {path.name} must be UTF-8 text; got another byte at {trouble.start}.",
            hint="Save it as 'CSV UTF-8'",
        ) from None


def _parse(content: str, name: str) -> list[list[str]]:
    """Split by the separator that makes the best matrix; else by the one that the head has most."""
    try:
        ways = [list(csv.reader(io.StringIO(content), delimiter=mark)) for mark in SEPARATORS]
    except csv.Error as trouble:
        raise GainError(
            f"GainMatrix: {name} must be a CSV file; got {quote(str(trouble))}.",
            hint="Write one with GainMatrix.write",
        ) from None
    filled = [[row for row in way if any(cell.strip() for cell in row)] for way in ways]
    fits = [way for way in filled if len({len(row) for row in way}) == 1 and len(way[0]) > 1]
    return max(fits, key=_likeness) if fits else max(filled, key=lambda way: len((way or [[]])[0]))


def _likeness(rows: list[list[str]]) -> tuple[float, float]:
    """Return how much a table looks like a gain matrix: its parts of known labels and numbers."""
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


def _grid_from_frame(frame: Any) -> Grid | Bare:
    """Read a data frame: a pandas index, or else the first column, holds the true labels."""
    import narwhals as nw

    try:
        native = nw.from_native(frame, pass_through=True)
    except nw.exceptions.DuplicateError:
        raise GainError(
            "GainMatrix: every assigned label must occur once; got the columns "
            f"{listing(frame.columns)}.",
            hint="Rename or remove the repeated ones",
        ) from None
    if isinstance(native, nw.LazyFrame):
        native = native.collect()
    if not isinstance(native, nw.DataFrame):
        try:
            return _bare_from(np.asarray(frame))
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
    """Return whether a numbered pandas frame keeps its true labels in its first column."""
    if not rows or not columns or text(columns[0]) in map(str, range(len(rows))):
        return False
    first = [row[0] for row in rows]
    named = {text(column) for column in columns[1:]}
    return any(isinstance(cell, str) for cell in first) or all(text(c) in named for c in first)


def _bare_from(array: Any) -> Bare:
    """Read rows of numbers without labels."""
    rows = list(array) if isinstance(array, list | tuple) or np.ndim(array) else None
    if not rows or any(isinstance(row, str) or not hasattr(row, "__len__") for row in rows):
        raise _not_a_matrix(array)
    widths = [len(row) for row in rows]
    if len(set(widths)) > 1:
        raise GainError(
            f"GainMatrix: every row must have as many gains; got {widths}.",
            hint="Fill the short ones",
        )
    return Bare(tuple(tuple(plain(cell) for cell in row) for row in rows))


def _not_a_matrix(thing: Any) -> GainError:
    return GainError(
        "GainMatrix: a gain matrix must be a {true: {assigned: gain}} dict, a CSV path, a data "
        f"frame or rows of numbers; got {type(thing).__name__} {str(thing)[:60]!r}."
    )
