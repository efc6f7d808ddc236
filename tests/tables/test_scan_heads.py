"""Where the first rows of a file end, and columns of which they say nothing."""

from __future__ import annotations

import gzip
import json
from datetime import datetime, timedelta
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import countwise as cw
from countwise.errors import CountwiseError
from countwise.tables import scan as scan_module
from countwise.tables.sources import files as files_module

ROWS = "".join(f"{number % 97},l{number % 7},{'ab'[number % 2]}\n" for number in range(2000))


def check(source: str | Path, whole: Path, **options) -> cw.Scan:
    """Check that a scan decides and counts as `read` of one file does."""
    table = cw.read(whole, target="y")
    rows = cw.scan(source, target="y", **options)
    assert rows.schema == table.schema
    assert cw.count(rows) == cw.count(table)
    assert {n.code for n in rows.notes} - {"S01"} == {n.code for n in table.notes}
    return rows


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
@pytest.mark.parametrize(
    "content",
    [
        "x,k,y\n" + ROWS,
        'x,k,y\n1,5" pipe,a\n' + ROWS,
        'x,k,y\n1,"two\nlines",a\n' + ROWS + '2,"two\nlines",a\n',
        'x,k,y\n1,"' + "long\n" * 900 + '",a\n' + ROWS,
        "x,k,y\n" + ROWS.replace("l3", "é"),
        "x,k,y\n1," + "a" * 3000 + ",a\n" + ROWS,
        "\n".join(["x;k;y", *ROWS.replace(",", ";").splitlines()]),
    ],
    ids=["plain", "quote in a cell", "line in a cell", "long cell", "accents", "long", "no end"],
)
def test_the_head_ends_with_a_row(tmp_path, monkeypatch, content, encoding):
    monkeypatch.setattr(files_module, "HEAD_BYTES", 1001)
    path = tmp_path / "rows.csv"
    path.write_bytes(content.encode(encoding))
    check(path, path)


@pytest.mark.parametrize(
    ("extension", "row", "parts"),
    [
        ("csv", b"x,y\n1,a\n2,b\n", [b"", b"x,y\n", b"\xef\xbb\xbfx,y\r\n"]),
        ("csv", "x,y\n1,a\n2,b\n".encode("utf-16"), [b"", "x,y\n".encode("utf-16")]),
        ("csv.gz", gzip.compress(b"x,y\n1,a\n2,b\n"), [gzip.compress(b""), gzip.compress(b"x,y")]),
        ("jsonl", b'{"x": 1, "y": "a"}\n{"x": 2, "y": "b"}\n', [b"", b"\n", b"[]\n"]),
        (
            "arff",
            b"@relation r\n@attribute x numeric\n@attribute y {a,b}\n@data\n1,a\n2,b\n",
            [b"", b"@relation r\n@attribute x numeric\n@attribute y {a,b}\n@data\n% none\n\n"],
        ),
    ],
    ids=["csv", "utf-16", "gzip", "json", "arff"],
)
def test_files_without_rows_add_nothing(tmp_path, extension, row, parts):
    whole = tmp_path / f"whole.{extension}"
    whole.write_bytes(row)
    folder = tmp_path / "parts"
    folder.mkdir()
    for number, part in enumerate([parts[-1], row, *parts]):
        (folder / f"part{number}.{extension}").write_bytes(part)
    check(folder, whole)


def test_an_arff_file_without_data_is_refused(tmp_path):
    (tmp_path / "a.arff").write_text("@relation r\n@attribute x numeric\n@attribute y {a,b}\n")
    (tmp_path / "b.arff").write_text(
        "@relation r\n@attribute x numeric\n@attribute y {a,b}\n@data\n1,a\n2,b\n"
    )
    with pytest.raises(CountwiseError, match=r"a\.arff.*@data"):
        cw.count(cw.scan(tmp_path, target="y"))


def test_the_head_of_an_arff_file_is_a_part_of_it(tmp_path, monkeypatch):
    monkeypatch.setattr(files_module, "HEAD_BYTES", 900)
    lines = "".join(f"{n % 5},{'ab'[n % 2]}\n" for n in range(400)) + "7,a\n"
    path = tmp_path / "rows.arff"
    path.write_text("@relation r\n@attribute x {0,1,2,3,4,7}\n@attribute y {a,b}\n@data\n" + lines)
    check(path, path)


@pytest.mark.parametrize("order", ["nk", "kn", "nnk"])
@pytest.mark.parametrize("cells", [["u", "v"], [True, False], [1.5, 2.5], ["?", "1"], [None, None]])
def test_a_column_without_a_type_in_the_first_file_has_that_of_others(tmp_path, cells, order):
    tables = {
        "n": pa.table({"k": pa.nulls(4), "y": list("abab")}),
        "k": pa.table({"k": cells * 2, "y": list("abab")}),
    }
    folder = tmp_path / "parts"
    folder.mkdir()
    for number, letter in enumerate(order):
        pq.write_table(tables[letter], folder / f"part{number}.parquet")
    every = pa.concat_tables([tables[letter] for letter in order], promote_options="default")
    pq.write_table(every, tmp_path / "whole.parquet")
    check(folder, tmp_path / "whole.parquet")


@pytest.mark.parametrize("empty", ["null", "absent", "array"])
@pytest.mark.parametrize(
    "cells",
    [
        ["u", "v"],
        [1, 2],
        [1, 2.5],
        [True, False],
        ["1", "2"],
        ["1", 2],
        ["2024-01-31", "2024-02-29"],
        ["?", "u"],
        ["?", 1],
        [None],
        ["?"],
    ],
    ids=str,
)
def test_a_name_of_json_without_a_value_in_the_first_rows(tmp_path, monkeypatch, cells, empty):
    monkeypatch.setattr(files_module, "HEAD_BYTES", 600)
    monkeypatch.setattr(scan_module.Scan, "block_rows", 7)
    rows = [{"k": None, "y": "ab"[n % 2]} for n in range(60)]
    for n in range(20):
        rows.append({"k": cells[n % len(cells)], "y": "ab"[n % 3 == 0]})
    if empty == "absent":
        rows[1:60] = [{"y": row["y"]} for row in rows[1:60]]
    folder = tmp_path / "parts"
    folder.mkdir()

    def write(path: Path, part: list[dict]) -> Path:
        lines = ",\n".join(map(json.dumps, part))
        path.write_text(f"[{lines}]" if empty == "array" else lines.replace("},\n", "}\n"))
        return path

    whole = write(tmp_path / "whole.jsonl", rows)
    write(folder / "part0.jsonl", rows[:60])
    write(folder / "part1.jsonl", rows[60:])
    check(whole, whole)
    check(folder, whole)


def test_flags_among_numbers_of_json_are_refused_with_their_row(tmp_path, monkeypatch):
    monkeypatch.setattr(files_module, "HEAD_BYTES", 600)
    path = tmp_path / "rows.jsonl"
    rows = [{"k": 1 if n < 60 else n % 2 == 0, "y": "ab"[n % 2]} for n in range(80)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(CountwiseError, match=r"rows\.jsonl.*'k'.*row 61\b"):
        cw.count(cw.scan(path, target="y"))


@pytest.mark.parametrize("extension", ["csv", "jsonl"])
def test_numbers_below_an_empty_head_are_numbers_however_many_there_are(
    tmp_path, monkeypatch, extension
):
    monkeypatch.setattr(files_module, "HEAD_BYTES", 600)
    random = Random(1)
    cells = [None] * 300 + [random.random() for _ in range(300)]
    classes = ["ab"[random.random() < 0.5] for _ in cells]
    path = tmp_path / f"rows.{extension}"
    if extension == "csv":
        cells = ["" if cell is None else cell for cell in cells]
        path.write_text(
            "x,y\n" + "".join(f"{x},{y}\n" for x, y in zip(cells, classes, strict=True))
        )
    else:
        rows = [{"x": x, "y": y} for x, y in zip(cells, classes, strict=True)]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    check(path, path, max_levels=20)


def test_days_that_come_first_far_below_the_head_are_refused_with_the_option(tmp_path, monkeypatch):
    monkeypatch.setattr(files_module, "HEAD_BYTES", 600)
    path = tmp_path / "rows.csv"
    days = [f"{1 + n // 20:02}/01/2024" for n in range(400)]
    path.write_text("x,y\n" + "".join(f"{day},{'ab'[n % 2]}\n" for n, day in enumerate(days)))
    with pytest.raises(CountwiseError, match=r"row 241 holds '13/01/2024'\. Pass day_first=True"):
        cw.count(cw.scan(path, target="y"))
    rows = cw.scan(path, target="y", day_first=True)
    assert cw.count(rows) == cw.count(cw.read(path, target="y"))


@pytest.mark.parametrize("when_missing", ["omit", "value", "drop"])
def test_parts_of_dates_that_later_rows_show(tmp_path, monkeypatch, when_missing):
    monkeypatch.setattr(scan_module, "HEAD_ROWS", 20)
    hours = [0] * 40 + [n * 7 % 500 for n in range(160)]
    moments = [
        None if n % 9 == 0 else datetime(2024, 5, 1) + timedelta(hours=hour)
        for n, hour in enumerate(hours)
    ]
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"when": moments, "y": list("abb" * 80)[: len(moments)]}), path)
    table = cw.read(path, target="y", when_missing=when_missing)
    rows = cw.scan(path, target="y", when_missing=when_missing)
    assert rows.schema == table.schema
    assert "when hour" in rows.schema
    assert cw.count(rows) == cw.count(table)
