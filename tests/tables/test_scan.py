"""Rows outside memory: the schema and the counts of a scan are those of `read` on the same rows."""

from __future__ import annotations

import os

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


def write_rows(path, rows="1,a\n2,b\n"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("x,y\n" + rows)


def test_links_to_folders_are_followed_and_those_that_lead_back_are_not(tmp_path):
    write_rows(tmp_path / "rows/a.csv")
    write_rows(tmp_path / "elsewhere/b.csv")
    (tmp_path / "rows/sub").mkdir()
    for link, target in (("up", ".."), ("sub/back", "../../rows"), ("other", "../elsewhere")):
        (tmp_path / "rows" / link).symlink_to(target)
    (tmp_path / "elsewhere/home").symlink_to("../rows")
    assert len(cw.scan(tmp_path / "rows", target="y")) == 4


def test_a_folder_that_cannot_be_read_is_refused(tmp_path, monkeypatch):
    write_rows(tmp_path / "a.csv")
    write_rows(tmp_path / "locked/b.csv")
    listed = os.scandir

    def refuse(path):
        if str(path).endswith("locked"):
            raise PermissionError(13, "Permission denied", str(path))
        return listed(path)

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(CountwiseError, match=r"locked' cannot be read \(Permission denied\)"):
        cw.scan(tmp_path, target="y")


def test_a_pattern_matches_folders_that_are_named_like_files(tmp_path):
    write_rows(tmp_path / "one.csv")
    write_rows(tmp_path / "two.csv/part-0.csv")
    write_rows(tmp_path / "two.csv/_temporary/part-1.csv")
    write_rows(tmp_path / "three/part-0.csv")
    assert len(cw.scan(f"{tmp_path}/*.csv", target="y")) == 4
    assert len(cw.scan(f"{tmp_path}/**", target="y")) == 8


def test_the_name_of_a_folder_counts_more_than_a_column_of_its_files(tmp_path):
    for name in ("n", "s"):
        write_rows(tmp_path / f"x={name}/a.csv")
    rows = cw.scan(tmp_path, target="y")
    assert set(rows.schema["x"].levels) == {"n", "s"}
    [note] = [note for note in rows.notes if note.code == "S14"]
    assert str(note).startswith("Column 'x' is in the files and in the names of their folders")


@pytest.mark.parametrize("quotes", [False, True])
def test_memory_bounds_the_rows_of_a_block_of_text_and_changes_no_count(tmp_path, quotes):
    path = tmp_path / "rows.csv"
    row = '"{}",{},{}\n' if quotes else "{},{},{}\n"
    cells = [row.format("abc"[at % 3], at % 7 / 2, "uv"[at % 2]) for at in range(30_000)]
    path.write_text("k,x,y\n" + "".join(cells))
    counted, numbers = [], []
    for memory in ("1MB", "3MB", "512MB"):
        rows = cw.scan(path, target="y", memory=memory)
        counted.append(cw.count(rows, cw.Plan.each(rows.schema, "both")))
        [piece] = rows.pieces()
        blocks = list(rows.blocks(piece))
        numbers.append([number for block in blocks for number in block.numbers.tolist()])
        if not quotes:
            assert max(len(block.table) for block in blocks) <= 1.2 * rows.block_rows
    assert counted[0] == counted[1] == counted[2]
    assert numbers[0] == numbers[1] == numbers[2] == list(range(30_000))
    few = cw.scan(path, target="y", memory="1MB").sample(50)
    assert few.labels.tolist() == rows.sample(50).labels.tolist()


def test_large_fractions_of_a_text_file_identify_no_rows(tmp_path):
    path = tmp_path / "large.csv"
    lines = [f"{at / 7 * 1e139!r},{'ab'[at % 2]}" for at in range(60)]
    path.write_text("\n".join(["x,y", *lines]) + "\n")
    rows, known = cw.scan(path, target="y"), cw.read(path, target="y")
    assert cw.count(rows) == cw.count(known)
    assert rows.schema == known.schema
    # Whole numbers of that size do.
    lines = [f"{2**60 + 10**4 * at},{at % 3},{'ab'[at % 2]}" for at in range(60)]
    path.write_text("\n".join(["x,z,y", *lines]))
    rows, known = cw.scan(path, target="y"), cw.read(path, target="y")
    assert rows.schema == known.schema
    assert "x" not in [column.name for column in rows.schema.attributes]


def test_progress_moves_within_a_piece_of_many_blocks(tmp_path):
    path = tmp_path / "quoted.csv"
    lines = "".join(f'"{at % 7}, x",{at % 3},{"ab"[at % 2]}\n' for at in range(50_000))
    path.write_text("place,number,y\n" + lines, encoding="utf-8")
    steps: list[tuple[float, float, str]] = []
    rows = cw.scan(path, target="y", progress=lambda *step: steps.append(step), memory="1MB")
    cw.count(rows)
    texts = [text for *_, text in steps]
    assert len(set(texts)) > 5  # how many rows there are is not known yet
    assert texts[-1] == "50,000 rows"
    steps.clear()
    cw.TAN().fit(rows)
    fractions = [done / total for done, total, _ in steps]
    assert sum(0 < part < 1 for part in fractions) > 5
    assert fractions[-1] == 1
