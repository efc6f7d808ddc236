"""The facts of a table as plain data: columns, missing cells, class balance, what is dropped.

The size of these facts depends on the number of columns and levels shown, never on the rows.
"""

from __future__ import annotations

from datetime import date
from hashlib import blake2b
from typing import Any

import numpy as np

import countwise
from countwise.counts.row_hash import row_keys
from countwise.notes import note_facts
from countwise.reports.sentences import names, rounded
from countwise.tables.schema import Column
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


def data_facts(table: Table, source: str | None = None) -> dict[str, Any]:
    """Describe a table: rows, columns with kinds and levels, missing cells, balance, notes."""
    schema = table.schema
    marks: dict[str, list[str]] = {}
    for note in table.notes:
        if note.column is not None:
            marks.setdefault(note.column, []).append(note.code)
    most = min(MAX_LEVELS, max(_FEWEST_LEVELS, _ALL_LEVELS // max(len(schema), 1)))
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
                **_cells(table, column, most),
            }
            for column in schema.columns[:MAX_COLUMNS]
        ],
        "more_columns": max(len(schema) - MAX_COLUMNS, 0),
        "missing": _missing(table),
        "balance": _balance(table) if table.labelled else [],
        "dropped": _dropped(table),
        "notes": note_facts(table.notes),
    }


def _cells(table: Table, column: Column, most: int) -> dict[str, Any]:
    if column.name not in table:
        return {}
    if column.kind == "text":
        return _texts(table, column)
    return _levels(table, column, most) if column.coded else _numbers(table, column)


def _texts(table: Table, column: Column) -> dict[str, Any]:
    codes = table.texts(column.name)
    used = np.unique(codes[codes >= 0])
    texts = [codes.texts.texts[code] for code in used.tolist()]
    return {
        "texts": len(texts),
        "words": rounded(count_words(texts)),
        "missing": int(np.count_nonzero(codes < 0)),
    }


def _levels(table: Table, column: Column, most: int) -> dict[str, Any]:
    counts = np.bincount(table.codes(column.name), minlength=column.width + 2)
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


def _missing(table: Table) -> dict[str, Any]:
    attributes = [column.name for column in table.schema.attributes]
    missing = [int(np.count_nonzero(table.missing(name))) for name in attributes if name in table]
    cells, every = sum(missing), len(table) * len(attributes)
    return {
        "cells": cells,
        "columns": sum(number > 0 for number in missing),
        "fraction": rounded(cells / every) if every else 0.0,
    }


def _balance(table: Table) -> list[dict[str, Any]]:
    counts = np.bincount(table.target, minlength=len(table.classes))[: len(table.classes)]
    total = max(int(counts.sum()), 1)
    return [
        {"class": name, "rows": float(number), "fraction": rounded(number / total)}
        for name, number in zip(names(table.classes), counts.tolist(), strict=True)
    ]


def _dropped(table: Table) -> list[dict[str, Any]]:
    """List what a model does not get, and why."""
    reasons = {note.column: str(note) for note in table.notes if note.code == "T01"}
    columns = [column for column in table.schema if column.kind in _WHY]
    rows = [note for note in table.notes if note.code in ("T03", "T04")]
    return [
        *({"column": c.name, "why": reasons.get(c.name, _WHY[c.kind])} for c in columns),
        *({"column": note.column, "why": str(note)} for note in rows),
    ]


def inspect_facts(table: Table, source: str | None = None) -> dict[str, Any]:
    """Gather the facts of a table before any model: its columns, missing cells and notes."""
    return {
        **head("inspection", title_of(table, source), source, table),
        "data": data_facts(table, source),
    }


def title_of(table: Table | None, source: str | None) -> str:
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
    kind: str, title: str, source: str | None, table: Table | None, command: str | None = None
) -> dict[str, Any]:
    """Return what stands before all facts: kind, title, date, hash of the rows, command."""
    return {
        "made": {
            "date": date.today().isoformat(),
            "command": command,
            "data_hash": None if table is None else _data_hash(table),
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
