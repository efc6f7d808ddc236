"""Drop the rows of a table that cannot be used: without a class, or without a required value."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from countwise.errors import TableError
from countwise.notes import Note
from countwise.tables.schema import Column, Schema, level_number
from countwise.tables.table import Table

#: More classes than this are hardly classes, if they are numbers or every second row has a new one.
MANY_CLASSES = 20


def drop_unusable(table: Table) -> Table:
    """Drop the rows that cannot be used, with notes, and refuse a table without attributes."""
    target = table.target_column if table.labelled else None
    keep, dropped = usable_rows(table)
    notes = [*table.notes, *row_notes(table.schema, target, len(table), dropped)]
    kept = table if keep.all() else table.take(keep)
    check_attributes(table.schema)
    return kept.with_notes(notes)


def usable_rows(table: Table) -> tuple[NDArray[np.bool_], dict[str, int]]:
    """Return which rows can be used, and how many are dropped on account of which column."""
    keep, dropped = np.ones(len(table), dtype=bool), dict[str, int]()
    names = [table.target_column.name] if table.labelled else []
    names += [column.name for column in table.schema.attributes if column.when_missing == "drop"]
    for name in names:
        blank = table.missing(name)
        gone = int(np.count_nonzero(blank & keep))
        if gone:
            keep &= ~blank
            dropped[name] = gone
    return keep, dropped


def row_notes(
    schema: Schema, target: Column | None, rows: int, dropped: Mapping[str, int]
) -> list[Note]:
    """Return notes on dropped rows and odd classes; refuse rows of which none has a class."""
    notes: list[Note] = []
    if target is not None:
        if target.width == 0 and rows:
            raise TableError(
                f"Table: column {target.name!r} is the class; it is missing in every row.",
                hint="Name another `target=`.",
            )
        if target.name in dropped:
            notes.append(Note.of("T03", target.name, dropped=dropped[target.name], rows=rows))
        if target.width > MANY_CLASSES and (
            target.width > 0.5 * rows
            or all(level_number(level) is not None for level in target.levels)
        ):
            notes.append(Note.of("T13", target.name, classes=target.width, rows=rows))
        if target.width == 1:
            notes.append(Note.of("T12", target.name, label=target.levels[0]))
    return notes + [
        Note.of("T04", column.name, dropped=dropped[column.name])
        for column in schema.attributes
        if column.name in dropped
    ]


def check_attributes(schema: Schema) -> None:
    """Refuse a table that has no column beside its class."""
    if not schema.attributes:
        raise TableError(
            "Table: there must be at least one nominal, numeric or text column beside the class; "
            "none is left.",
            hint=("check `target=` and `drop=`", "read the notes about identifiers"),
        )
