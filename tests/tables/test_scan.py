"""Rows outside memory: the schema and the counts of a scan are those of `read` on the same rows."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import countwise as cw
from countwise.errors import CountwiseError

ROWS = 60


def columns() -> dict[str, list]:
    return {
        "sky": ["sun", "rain", "fog"] * 20,
        "heat": [20.5, None, 3.0] * 20,
        "late": ["a"] * 55 + ["b"] * 5,
        "play": ["yes", "no", "yes", "no", "no"] * 12,
    }


@pytest.fixture
def table() -> cw.Table:
    return cw.read(columns(), target="play")


def both(rows: cw.Scan, table: cw.Table) -> None:
    assert rows.schema == table.schema
    assert len(rows) == len(table)
    plan = cw.Plan.each(table.schema, "both")
    assert cw.count(rows, plan) == cw.count(table, plan)


def test_a_folder_of_parquet_files_counts_like_one_table(tmp_path, table):
    arrow = pa.table(columns())
    for part in range(3):
        pq.write_table(arrow.slice(part * 20, 20), tmp_path / f"{part}.parquet", row_group_size=7)
    both(cw.scan(tmp_path, target="play"), table)
    both(cw.scan(str(tmp_path / "*.parquet"), target="play"), table)
    both(cw.scan([tmp_path / f"{part}.parquet" for part in (2, 0, 1)], target="play"), table)


def test_a_pyarrow_data_set_and_a_reader_count_like_a_table(tmp_path, table):
    arrow = pa.table(columns())
    pq.write_table(arrow, tmp_path / "all.parquet", row_group_size=11)
    both(cw.scan(ds.dataset(tmp_path / "all.parquet"), target="play"), table)
    both(cw.scan(ds.dataset(arrow), target="play"), table)
    rows = cw.scan(arrow.to_reader(max_chunksize=8), target="play")
    assert cw.NaiveBayes().fit(rows).counts_ == cw.NaiveBayes().fit(table).counts_


def test_a_reader_is_read_once(table):
    rows = cw.scan(pa.table(columns()).to_reader(), target="play")
    with pytest.raises(CountwiseError, match="can be read once"):
        cw.TAN().fit(rows)


def test_the_keys_of_partitions_are_columns(tmp_path):
    arrow = pa.table(columns())
    for part, name in enumerate(("north", "south", "north")):
        folder = tmp_path / f"region={name}"
        folder.mkdir(exist_ok=True)
        pq.write_table(arrow.slice(part * 20, 20), folder / f"{part}.parquet")
    table = cw.read(
        {**columns(), "region": ["north"] * 20 + ["south"] * 20 + ["north"] * 20}, target="play"
    )
    rows = cw.scan(tmp_path, target="play")
    assert set(rows.schema["region"].levels) == {"north", "south"}
    assert cw.count(rows).table("region").tolist() == cw.count(table).table("region").tolist()


def test_text_in_one_file_and_numbers_in_another_is_refused_with_both_names(tmp_path):
    pq.write_table(pa.table({"x": [1, 2], "y": ["a", "b"]}), tmp_path / "one.parquet")
    pq.write_table(pa.table({"x": ["1", "2"], "y": ["a", "b"]}), tmp_path / "two.parquet")
    with pytest.raises(CountwiseError, match=r"one\.parquet.*two\.parquet"):
        cw.scan(tmp_path, target="y")


def test_a_model_that_needs_rows_says_so(table, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("x,y\n" + "1,a\n2,b\n" * 9)
    with pytest.raises(CountwiseError, match="learns from rows in memory"):
        cw.Neighbors().fit(cw.scan(path, target="y"))


@pytest.mark.parametrize("rows", [7, 30])
def test_a_sample_that_the_first_scan_draws_is_that_of_a_later_scan(tmp_path, rows):
    # Later files bring a level and a class that come first in order, and rows without a class.
    drawn = columns()
    drawn["play"] = ["yes"] * 20 + ["no", None, "maybe", "yes"] * 10
    drawn["late"] = ["m"] * 40 + ["a", "z"] * 10
    drawn["note"] = [f"{place} of some words, each row its own" for place in range(ROWS)]
    for part in range(3):
        slice_of = pa.table(drawn).slice(part * 20, 20)
        pq.write_table(slice_of, tmp_path / f"{part}.parquet", row_group_size=9)
    later = cw.scan(tmp_path, target="play")
    later.make_certain()
    wanted = later.sample(rows)

    first = cw.scan(tmp_path, target="play")
    first.expect_sample(30)
    cw.count(first)
    first.pieces = None  # no more scans
    found = first.sample(rows)
    assert found.schema == wanted.schema
    assert len(found) == len(wanted) == rows
    for name in wanted.names:
        cells, others = found.to_raw().columns[name], wanted.to_raw().columns[name]
        assert repr(cells) == repr(others)


def test_the_temperature_of_a_scan_costs_no_scan_more(tmp_path, table):
    pq.write_table(pa.table(columns()), tmp_path / "all.parquet", row_group_size=11)
    for model, scans in ((cw.NaiveBayes(), 1), (cw.TAN(), 2)):
        rows = cw.scan(tmp_path / "all.parquet", target="play")
        begun = []

        def pieces(source=rows.source, begun=begun):
            begun.append(1)
            return type(source).pieces(source)

        rows.source.pieces = pieces
        fitted = model.fit(rows)
        assert len(begun) == scans
        assert fitted.temperature_ == type(model)().fit(table).temperature_
