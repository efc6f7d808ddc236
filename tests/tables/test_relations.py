"""DuckDB files and relations, polars LazyFrames and Ibis tables as sources of rows."""

from __future__ import annotations

import sys

import duckdb
import ibis
import polars as pl
import pyarrow as pa
import pytest

import countwise as cw
from countwise.errors import CountwiseError

ROWS = {
    "customer": [f"c{i:03}" for i in range(90)],
    "sky": ["sun", "rain", None] * 30,
    "heat": [20.5, None, 3.0] * 30,
    "play": ["yes", "no", "yes", "no", "no"] * 18,
}


@pytest.fixture
def warehouse(tmp_path):
    path = tmp_path / "warehouse.db"
    with duckdb.connect(str(path)) as connection:
        connection.register("given", pa.table(ROWS))
        connection.sql("CREATE TABLE days AS SELECT * FROM given")
        connection.sql("CREATE SCHEMA old")
        connection.sql("CREATE TABLE old.days AS SELECT * FROM given LIMIT 10")
        connection.sql("CREATE VIEW seen AS SELECT * FROM days")
    return f"duckdb:{path}"


def test_a_table_a_schema_and_a_query_of_a_file(warehouse):
    known = cw.read(ROWS, target="play")
    assert cw.count(cw.scan(warehouse, target="play", table="days")) == cw.count(known)
    assert len(cw.scan(warehouse, target="play", table="old.days")) == 10
    rows = cw.scan(warehouse, target="play", query="SELECT * FROM days WHERE heat > 5")
    assert len(rows) == 30
    assert "a query of duckdb:" in repr(rows)
    assert [column.name for column in rows.schema] == list(ROWS)


def test_what_a_file_lacks_is_said(warehouse, tmp_path):
    with pytest.raises(CountwiseError, match=r"which rows .* it has 'days', 'seen', 'old\.days'"):
        cw.scan(warehouse, target="play")
    with pytest.raises(CountwiseError, match="dayz"):
        cw.scan(warehouse, target="play", table="dayz")
    with pytest.raises(CountwiseError, match="got both"):
        cw.scan(warehouse, table="days", query="SELECT 1")
    with pytest.raises(CountwiseError, match="must be a DuckDB file; there is none"):
        cw.scan(f"duckdb:{tmp_path}/none.db")
    (tmp_path / "text.db").write_text("no database at all")
    with pytest.raises(CountwiseError, match="cannot be read"):
        cw.scan(f"duckdb:{tmp_path}/text.db")
    with pytest.raises(CountwiseError, match="belong to the address of a database"):
        cw.scan(pl.LazyFrame(ROWS), table="days")
    with pytest.raises(CountwiseError, match="belong to a database or a lazy frame"):
        cw.scan("sample:weather", key="outlook")
    with pytest.raises(CountwiseError, match="an address must begin with"):
        cw.scan("mysql://me:secret@host/db", table="t")


def test_the_only_table_of_a_file_needs_no_name(tmp_path):
    path = tmp_path / "one.db"
    with duckdb.connect(str(path)) as connection:
        connection.sql("CREATE TABLE t AS SELECT i % 3 AS x, i % 2 AS y FROM range(30) r(i)")
    assert len(cw.scan(f"duckdb:{path}", target="y")) == 30


def test_rows_are_told_apart_by_row_numbers_or_a_key(warehouse):
    rows = cw.scan(warehouse, target="play", table="days")
    assert rows.source.stable_rows
    assert len(rows.sample(7)) == 7
    assert "rowid" not in [column.name for column in rows.schema]
    view = cw.scan(warehouse, target="play", table="seen")
    assert not view.source.stable_rows
    with pytest.raises(CountwiseError, match=r"no fixed order.*key="):
        view.sample(7)


@pytest.mark.parametrize("system", ["duckdb", "polars", "ibis"])
def test_a_key_makes_the_same_sample_in_any_order(system):
    table = pa.table({**ROWS, "number": range(90), "x": [i / 7 for i in range(90)]})
    make = {
        "duckdb": duckdb.from_arrow,
        "polars": lambda table: pl.from_arrow(table).lazy(),
        "ibis": ibis.memtable,
    }[system]
    for key in ("customer", "number"):
        one = cw.scan(make(table), target="play", key=key)
        two = cw.scan(make(table.take(list(reversed(range(90))))), target="play", key=key)
        assert key not in [column.name for column in one.schema.attributes]
        drawn = [sorted(rows.sample(20).values("x").tolist()) for rows in (one, two)]
        assert drawn[0] == drawn[1]


def test_a_key_must_be_a_column_with_a_value_in_every_row():
    frame = pl.LazyFrame(ROWS)
    with pytest.raises(CountwiseError, match="key= must name a column; got 'custom'"):
        cw.scan(frame, target="play", key="custom")
    with pytest.raises(CountwiseError, match="key= must not be the class"):
        cw.scan(frame, target="play", key="play")
    with pytest.raises(CountwiseError, match="must identify every row"):
        cw.scan(frame, target="play", key="sky").sample(5)


def test_a_frame_that_cannot_be_computed_gives_one_sentence():
    bad = pl.LazyFrame(ROWS).with_columns(pl.col("sky").str.to_integer(strict=True).alias("n"))
    with pytest.raises(CountwiseError, match="a polars LazyFrame cannot be read") as refusal:
        cw.scan(bad, target="play")
    assert "\n" not in str(refusal.value)


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(CountwiseError, match=r"Install countwise\[duckdb\]"):
        cw.scan("duckdb:any.db", table="t")
    monkeypatch.setitem(sys.modules, "adbc_driver_postgresql", None)
    with pytest.raises(CountwiseError, match=r"Install countwise\[databases\]"):
        cw.scan("postgresql://localhost/db", table="t")
