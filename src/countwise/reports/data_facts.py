"""The facts of a table as plain data: columns, missing cells, class balance, what is dropped.

The size of these facts depends on the number of columns and levels shown, never on the rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

import countwise
from countwise.counts.count_rows import count
from countwise.counts.counts import Counts
from countwise.counts.plan import Plan
from countwise.counts.row_hash import row_keys
from countwise.notes import note_facts
from countwise.reports.sentences import names, rounded
from countwise.tables.scan import Scan
from countwise.tables.schema import Column, Schema
from countwise.tables.survey import ColumnSurvey
from countwise.tables.table import Table
from countwise.tables.words import count_words

#: What the facts of a page are called, and the version of their form.
FORMAT = "countwise-facts"
VERSION = 2
#: Columns that are listed.
MAX_COLUMNS = 200
#: Levels of a nominal column that are listed; fewer if there are many columns.
MAX_LEVELS = 30
_FEWEST_LEVELS, _ALL_LEVELS = 8, 1500

_WHY = {"id": "looks like an identifier", "drop": "left out on request"}


def data_facts(table: Table | Scan, source: str | None = None) -> dict[str, Any]:
    """Describe a table: rows, columns with kinds and levels, missing cells, balance, notes."""
    if isinstance(table, Scan):
        return scan_facts(table, source)
    most = _most_levels(table.schema)
    cells = {column.name: _cells(table, column, most) for column in _shown(table.schema)}
    balance = np.bincount(table.target, minlength=len(table.classes)) if table.labelled else None
    missing = [
        int(np.count_nonzero(table.missing(column.name)))
        for column in table.schema.attributes
        if column.name in table
    ]
    return _gather(table, source, cells, missing, balance)


def scan_facts(scan: Scan, source: str | None = None) -> dict[str, Any]:
    """Describe rows outside memory by one count of them."""
    rows, schema = _with_class(scan.without_weight()), scan.schema
    counts = count(rows, lambda found: Plan.each(found.without_text(), "both"))
    cells, missing, most = {}, [], _most_levels(schema)
    for column in schema:
        cells[column.name] = _counted_cells(column, counts, scan.survey.columns, most)
        if column in schema.attributes:
            missing.append(cells[column.name]["missing"])
    return _gather(scan, source, cells, missing, counts.weight if scan.labelled else None)


def _with_class(scan: Scan) -> Scan:
    """Return a scan whose rows have a class, so that they can be counted."""
    if scan.labelled:
        return scan
    all_rows = Column("(all rows)", "target", ("all",))
    schema = Schema((*scan.schema, all_rows))

    def with_class(table: Table) -> Table:
        data = {name: table.raw_array(name) for name in table.names}
        data[all_rows.name] = np.zeros(len(table), np.uint8)
        return Table(Schema((*table.schema, all_rows)), data, (), {}, len(table))

    return scan.map(with_class, schema)


def _counted_cells(
    column: Column, counts: Counts, surveyed: Mapping[str, ColumnSurvey], most: int
) -> dict[str, Any]:
    """Return what a column holds, from counts of all rows and their survey."""
    name = column.name
    if column.left_out or name not in surveyed:
        return {}
    found = surveyed[name]
    if column.kind == "text":
        words = rounded(count_words(found.texts))
        return {"texts": found.distinct, "words": words, "missing": found.missing}
    if column.coded:
        held = counts.weight if column.kind == "target" else counts.table(name).sum(axis=0)
        return _level_facts(column, np.append(held, 0.0), most)
    moments, grid = counts.moments[name], counts.grids[name]
    rows = float(moments.weight.sum())
    plain: dict[str, Any] = {"missing": int(moments.missing.sum()), "dates": column.dates}
    if not rows:
        return plain
    mean = float((moments.weight * moments.mean).sum() / rows)
    square = float((moments.square + moments.weight * (moments.mean - mean) ** 2).sum())
    reached = np.cumsum(grid.table.sum(axis=0))
    places = np.searchsorted(reached, rows * np.array([0.25, 0.5, 0.75]))
    return plain | {
        "least": rounded(found.low),
        "quartiles": [rounded(float(grid.points[at])) for at in places],
        "most": rounded(found.high),
        "mean": rounded(mean),
        "deviation": rounded((square / (rows - 1)) ** 0.5) if rows > 1 else None,
    }


def _most_levels(schema: Schema) -> int:
    return min(MAX_LEVELS, max(_FEWEST_LEVELS, _ALL_LEVELS // max(len(schema), 1)))


def _shown(schema: Schema) -> tuple[Column, ...]:
    return schema.columns[:MAX_COLUMNS]


def _gather(
    table: Table | Scan,
    source: str | None,
    cells: Mapping[str, Mapping[str, Any]],
    missing: list[int],
    balance: NDArray[Any] | None,
) -> dict[str, Any]:
    """Put together what is known of the columns and of all rows."""
    schema = table.schema
    marks: dict[str, list[str]] = {}
    for note in table.notes:
        if note.column is not None:
            marks.setdefault(note.column, []).append(note.code)
    every = len(table) * len(schema.attributes)
    return {
        "source": source,
        "rows": len(table),
        "target": schema.target.name if schema.target else None,
        "kinds": {
            kind: sum(1 for column in schema if column.kind == kind)
            for kind in ("nominal", "numeric", "text", "target", "id", "drop")
        },
        "columns": [
            {
                "name": column.name,
                "kind": column.kind,
                "codes": sorted(set(marks.get(column.name, []))),
                **cells.get(column.name, {}),
            }
            for column in _shown(schema)
        ],
        "more_columns": max(len(schema) - MAX_COLUMNS, 0),
        "missing": {
            "cells": sum(missing),
            "columns": sum(number > 0 for number in missing),
            "fraction": rounded(sum(missing) / every) if every else 0.0,
        },
        "balance": [] if balance is None else _balance(table, balance),
        "dropped": _dropped(table),
        "notes": note_facts(table.notes),
    }


def _cells(table: Table, column: Column, most: int) -> dict[str, Any]:
    if column.name not in table:
        return {}
    if column.kind == "text":
        return _texts(table, column)
    if not column.coded:
        return _numbers(table, column)
    counts = np.bincount(table.codes(column.name), minlength=column.width + 2)
    return _level_facts(column, counts, most)


def _texts(table: Table, column: Column) -> dict[str, Any]:
    codes = table.texts(column.name)
    used = np.unique(codes[codes >= 0])
    texts = [codes.texts.texts[code] for code in used.tolist()]
    return {
        "texts": len(texts),
        "words": rounded(count_words(texts)),
        "missing": int(np.count_nonzero(codes < 0)),
    }


def _level_facts(column: Column, counts: NDArray[Any], most: int) -> dict[str, Any]:
    """Return the most frequent levels, from the number of rows by code."""
    known = counts[: column.width]
    chosen = np.sort(np.argsort(-known, kind="stable")[:most])
    words = names(column.levels)
    return {
        "levels": [{"level": words[at], "rows": int(known[at])} for at in chosen.tolist()],
        "more_levels": max(column.width - most, 0),
        "distinct": int(np.count_nonzero(known)),
        "missing": int(counts[column.width]),
        "unseen": int(counts[column.width + 1]),
    }


def _numbers(table: Table, column: Column) -> dict[str, Any]:
    values = table.values(column.name)
    seen = values[~np.isnan(values)]
    plain: dict[str, Any] = {"missing": len(values) - len(seen), "dates": column.dates}
    if not len(seen):
        return plain
    low, first, middle, third, high = np.quantile(seen, [0, 0.25, 0.5, 0.75, 1.0]).tolist()
    return plain | {
        "least": rounded(low),
        "quartiles": [rounded(first), rounded(middle), rounded(third)],
        "most": rounded(high),
        "mean": rounded(float(seen.mean())),
        "deviation": rounded(float(seen.std(ddof=1))) if len(seen) > 1 else None,
    }


def _balance(table: Table | Scan, rows: NDArray[Any]) -> list[dict[str, Any]]:
    counts = rows[: len(table.classes)]
    total = max(int(counts.sum()), 1)
    return [
        {"class": name, "rows": float(number), "fraction": rounded(number / total)}
        for name, number in zip(names(table.classes), counts.tolist(), strict=True)
    ]


def _dropped(table: Table | Scan) -> list[dict[str, Any]]:
    """List what a model does not get, and why."""
    reasons = {note.column: str(note) for note in table.notes if note.code == "T01"}
    columns = [column for column in table.schema if column.kind in _WHY]
    rows = [note for note in table.notes if note.code in ("T03", "T04")]
    return [
        *({"column": c.name, "why": reasons.get(c.name, _WHY[c.kind])} for c in columns),
        *({"column": note.column, "why": str(note)} for note in rows),
    ]


def inspect_facts(table: Table | Scan, source: str | None = None) -> dict[str, Any]:
    """Gather the facts of a table before any model: its columns, missing cells and notes."""
    return {
        **head("inspection", title_of(table, source), source, table),
        "data": data_facts(table, source),
    }


def title_of(table: Table | Scan | None, source: str | None) -> str:
    """Return a title that names the file and the class."""
    if table is None:
        return source or "Comparison of models"
    target = table.schema.target
    if not source:
        return "A table" if target is None else f"Predicting {target.name}"
    # The title names the file, not the folders of somebody's machine.
    name = source.rstrip("/\\").replace("\\", "/").rpartition("/")[2] or source
    return name if target is None else f"{name}: predicting {target.name}"


def head(
    kind: str,
    title: str,
    source: str | None,
    table: Table | Scan | None,
    command: str | None = None,
) -> dict[str, Any]:
    """Return what stands before all facts: kind, title, date, hash of the rows, command."""
    return {
        "made": {
            "date": date.today().isoformat(),
            "command": command,
            "data_hash": _data_hash(table) if isinstance(table, Table) else None,
        },
        "format": FORMAT,
        "version": VERSION,
        "kind": kind,
        "library": {"name": "countwise", "version": countwise.__version__},
        "title": title,
        "source": source,
    }


def _data_hash(table: Table) -> str:
    """Return a hash of the rows as they were read; their order does not count."""
    keys = np.sort(row_keys(table, table.labelled))
    return blake2b(keys.tobytes(), digest_size=8).hexdigest()
