"""Reading and coding files and frames against DuckDB and scikit-learn."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
from sklearn.naive_bayes import CategoricalNB
from sklearn.preprocessing import OrdinalEncoder

import countwise as cw
from benchmarks.timing import best, row


def frame(rows: int) -> pl.DataFrame:
    """Ten columns of words and ten of numbers, 5 % missing, and a class."""
    rng = np.random.default_rng(0)
    words = np.array(["red", "green", "blue", "violet", "a longer level name"])
    data: dict[str, Any] = {f"w{i}": words[rng.integers(0, 5, rows)] for i in range(10)}
    data |= {f"x{i}": np.round(rng.normal(100, 15, rows), 4) for i in range(10)}
    made = pl.DataFrame(data)
    holes = [
        pl.when(pl.Series(rng.random(rows) < 0.05)).then(None).otherwise(pl.col(name)).alias(name)
        for name in made.columns
    ]
    return made.with_columns(holes).with_columns(
        pl.Series("class", np.array(["bad", "good"])[rng.integers(0, 2, rows)])
    )


def duck(path: Path) -> None:
    """DuckDB's reader, into Arrow, with the processors we have."""
    with duckdb.connect() as connection:
        connection.sql(f"select * from read_csv('{path}')").to_arrow_table()


def run(quick: bool) -> list[dict[str, Any]]:
    """Measure."""
    rows = 100_000 if quick else 1_000_000
    made = frame(rows)
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mixed.csv"
        made.write_csv(path)
        lines.append(
            row(
                f"read and code a CSV of {rows:,} rows, 21 columns",
                best(lambda: cw.read(path, target="class"), 3),
                "DuckDB into Arrow",
                best(lambda: duck(path), 3),
                ">= 0.5x",
            )
        )
    words = made.select([f"w{i}" for i in range(10)]).fill_null("none")
    y = made["class"].to_numpy()
    pandas = words.to_pandas()

    def peer() -> None:
        codes = OrdinalEncoder().fit_transform(pandas)
        CategoricalNB().fit(codes, y)

    theirs = best(peer, 2)
    for name, own in (("polars", words), ("pandas", pandas)):
        lines.append(
            row(
                f"fit a {name} frame of strings, {rows:,} x 10, end to end",
                best(lambda own=own: cw.NaiveBayes().fit(own, y), 3),
                "OrdinalEncoder + CategoricalNB",
                theirs,
                "stated",
            )
        )
    return lines
