"""Workbooks: one sheet of an Excel or OpenDocument file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, datetime, time, timedelta
from typing import Any

from countwise.errors import TableError, did_you_mean, listing
from countwise.notes import Note
from countwise.tables.formats.csv_dialect import count_titles
from countwise.tables.formats.parquet import apply_options
from countwise.tables.formats.source import Source, refuse_duplicates
from countwise.tables.raw_columns import Raw, RawTable, from_objects, missing_numbers
from countwise.tables.read_options import ReadOptions
from countwise.tables.schema import level_text

#: How to get what reads and writes workbooks.
INSTALL = "Install it with: pip install 'countwise[excel]'"


def names(source: Source, options: ReadOptions) -> list[str]:
    """Return the names of the columns; a sheet is read whole."""
    return _sheet(source, options)[0]


def read(source: Source, options: ReadOptions) -> RawTable:
    """Read one sheet."""
    header, rows, notes = _sheet(source, options)
    columns: dict[str, Raw] = {}
    for at, name in enumerate(header):
        if options.column(name).left_out:
            columns[name] = missing_numbers(len(rows))
        else:
            raw = from_objects(name, _plain([row[at] for row in rows]))
            columns[name] = apply_options(name, raw, options, 0)
    return RawTable(columns, tuple(notes))


def blocks(source: Source, options: ReadOptions, rows: int) -> Iterator[RawTable]:
    """Read a sheet as one block; it has at most a million rows."""
    raw = read(source, options)
    needed = {name: column for name, column in raw.columns.items() if options.is_needed(name)}
    yield RawTable(needed, raw.notes)


def _sheet(
    source: Source, options: ReadOptions
) -> tuple[list[str], list[Sequence[Any]], list[Note]]:
    """Return the header and the rows of a sheet, and notes."""
    try:
        import python_calamine
    except ImportError:
        raise TableError(
            f"Table: {source.path!r} is a workbook, and reading it needs python-calamine. "
            f"{INSTALL}; or save the sheet as CSV."
        ) from None
    try:
        with source.open() as file, python_calamine.load_workbook(file) as book:
            name, rows = _choose(source, book, options.sheet)
            others = [] if options.sheet else [one for one in book.sheet_names if one != name]
            if rows:
                return _table(source, rows, options, name, others)
    except (python_calamine.CalamineError, OSError, ValueError) as error:
        if isinstance(error, TableError):
            raise
        raise TableError(
            f"Table: {source.path!r} must be a workbook; it cannot be read as one ({error}). "
            "Save it again, or save the sheet as CSV."
        ) from None
    which = "its sheets are empty" if options.sheet is None else f"sheet {name!r} is empty"
    raise TableError(f"Table: {source.path!r} must hold rows; {which}.")


def _choose(source: Source, book: Any, asked: str | int | None) -> tuple[str, list[list[Any]]]:
    """Return the name and the rows of the sheet asked for, or of the first that holds a table."""
    found = ("", list[list[Any]]())
    for name in book.sheet_names if asked is None else [_find(source, book.sheet_names, asked)]:
        rows = [row for row in book.get_sheet_by_name(name).to_python() if any(map(_holds, row))]
        if len(rows) > 1 and sum(map(_holds, rows[-1])) > 1:
            return name, rows
        found = found if found[1] else (name, rows)
    return found


def _find(source: Source, names: list[str], asked: str | int) -> str:
    """Return the name of a sheet given by name or by number from 1."""
    if asked in names:
        return str(asked)
    if str(asked).isdecimal() and 1 <= int(asked) <= len(names):
        return names[int(asked) - 1]
    raise TableError(
        f"Table: `sheet=` must name a sheet of {source.path!r}; got {asked!r}."
        f"{did_you_mean(asked, names)} The sheets are {listing(names)}."
    )


def _table(
    source: Source, rows: list[list[Any]], options: ReadOptions, sheet: str, others: list[str]
) -> tuple[list[str], list[Sequence[Any]], list[Note]]:
    notes = [Note.of("F07", sheet=sheet, others=listing(others))] if others else []
    skipped = options.skip_lines
    if skipped is None:
        texts = [[_text(cell) if _holds(cell) else "" for cell in row] for row in rows]
        skipped = count_titles(texts) if options.header else 0
        if skipped:
            notes.append(Note.of("F05", lines=skipped, text=_first_cell(rows[0])))
    rows = rows[skipped:]
    if options.header:
        cells = [_text(cell).strip() for cell in rows[0]] if rows else []
        rows = rows[1:]
    else:
        cells = [f"x{number}" for number in range(1, len(rows[0]) + 1)] if rows else []
    used = [at for at, cell in enumerate(cells) if cell or any(_holds(row[at]) for row in rows)]
    header = [cells[at] or f"column {at + 1}" for at in used]
    notes += [Note.of("F03", f"column {at + 1}", number=at + 1) for at in used if not cells[at]]
    if not rows:
        raise TableError(f"Table: {source.path!r} must hold rows below its header; it ends there.")
    refuse_duplicates(header, source.path, how="Rename one of them in the header.")
    return header, [[row[at] for at in used] for row in rows], notes


def _holds(cell: Any) -> bool:
    return cell is not None and (not isinstance(cell, str) or bool(cell.strip()))


def _first_cell(row: Sequence[Any]) -> str:
    return next((_text(cell) for cell in row if _holds(cell)), "")


def _text(cell: Any) -> str:
    return cell if isinstance(cell, str) else level_text(cell)


def _plain(cells: list[Any]) -> list[Any]:
    """Return cells as a text file would hold them: numbers, or texts if there are both."""
    found = [cell if _holds(cell) else None for cell in cells]
    found = [_fraction(cell) if isinstance(cell, time | timedelta) else cell for cell in found]
    kinds = {type(cell) for cell in found if cell is not None}
    if kinds <= {int, float, bool} or kinds <= {bool} or kinds <= {date, datetime}:
        return found
    return [cell if cell is None or isinstance(cell, bool) else _written(cell) for cell in found]


def _written(cell: Any) -> str:
    return str(cell.isoformat(" ")) if isinstance(cell, datetime) else _text(cell)


def _fraction(cell: time | timedelta) -> float:
    if isinstance(cell, timedelta):
        return cell / timedelta(days=1)
    since = timedelta(hours=cell.hour, minutes=cell.minute, seconds=cell.second)
    return (since + timedelta(microseconds=cell.microsecond)) / timedelta(days=1)
