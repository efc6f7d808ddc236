"""Rows of a database that are grouped where they are, against the same rows read as Arrow batches.

Processor seconds, because databases use all threads. The lines on pairs show from how many groups
on it is quicker to read the rows (`pushdown.PAIR_GROUPS`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import ibis
import polars as pl

import countwise as cw
from benchmarks.timing import row
from countwise.counts.engines import pushdown

LEVELS = (3, 4, 5, 8, 12, 20, 50, 100, 300, 1000)
CLASSES = 3


def run(quick: bool) -> list[dict[str, Any]]:
    """Measure single columns in three systems, and pairs of more and more columns in DuckDB."""
    rows = 200_000 if quick else 2_000_000
    with TemporaryDirectory() as folder, duckdb.connect(f"{folder}/shop.db") as connection:
        connection.sql("SET enable_progress_bar = false")
        make_table(connection, rows)
        path = str(Path(folder) / "rows.parquet")
        connection.sql(f"COPY shop TO '{path}'")
        systems: dict[str, Callable[[], Any]] = {
            "DuckDB": lambda: connection.table("shop"),
            "DuckDB, Parquet": lambda: connection.read_parquet(path),
            "polars, Parquet": lambda: pl.scan_parquet(path),
            "Ibis": lambda: ibis.duckdb.from_connection(connection).table("shop"),
        }
        lines = [
            compare(f"single columns, {name}, {rows:,} rows", make, cw.Plan.each, "≤ 1 ×")
            for name, make in systems.items()
        ]
        nominal = ", ".join(f"n{place}" for place in range(len(LEVELS)))
        lines.append(
            compare(
                f"single nominal columns, DuckDB, {rows:,} rows",
                lambda: connection.sql(f"SELECT {nominal}, y FROM shop"),
                cw.Plan.each,
                "≤ 1 ×",
            )
        )
        pushdown.PAIR_GROUPS = 1 << 62
        for places in (
            (0, 1, 2),
            (0, 1, 2, 3),
            (0, 1, 2, 3, 4),
            (0, 1, 2, 3, 7),
            (0, 1, 2, 3, 4, 5),
        ):
            names = ", ".join(f"n{place}" for place in places)
            groups = math.prod(LEVELS[place] + 1 for place in places) * CLASSES
            lines.append(
                compare(
                    f"pairs of {len(places)} columns, {groups:,} groups",
                    lambda names=names: connection.sql(f"SELECT {names}, y FROM shop"),
                    cw.Plan.pairs,
                    "shows PAIR_GROUPS",
                )
            )
    return lines


def make_table(connection: Any, rows: int) -> None:
    """Make ten nominal columns of 3 to 1 000 levels and ten of numbers, with 5 % missing."""
    cells = [f"'level ' || (floor(random() * {number}))::int" for number in LEVELS]
    names = [f"n{place}" for place in range(len(LEVELS))] + [f"x{place}" for place in range(10)]
    columns = ", ".join(
        f"CASE WHEN random() < 0.05 THEN NULL ELSE {cell} END AS {name}"
        for name, cell in zip(names, [*cells, *["random() * 100"] * 10], strict=True)
    )
    kind = f"'class ' || (floor(random() * {CLASSES}))::int AS y"
    connection.sql(f"CREATE TABLE shop AS SELECT {columns}, {kind} FROM range({rows})")


def compare(name: str, make: Callable[[], Any], plan: Any, target: str) -> dict[str, Any]:
    """Measure the two roads; the counts must be equal."""
    grouped, counts = processor_seconds(make, plan, "pushdown")
    read, known = processor_seconds(make, plan, "stream")
    assert counts == known
    return row(name, grouped, "Arrow batches", read, target)


def processor_seconds(make: Callable[[], Any], plan: Any, engine: str) -> tuple[float, Any]:
    """Return the least of three runs, and what was counted."""
    seconds = []
    for _ in range(3):
        start = time.process_time()
        counts = cw.count(cw.scan(make(), target="y"), plan, engine=engine)
        seconds.append(time.process_time() - start)
    return min(seconds), counts
