"""Which file is read how: extensions, content, Parquet, JSON, and paths that lead nowhere."""

from __future__ import annotations

import gzip
import json
import os
from datetime import date
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from countwise.errors import ParameterError, TableError
from countwise.tables.formats import detect
from countwise.tables.raw_columns import Numbers, RawTable, Words
from countwise.tables.read_options import ReadOptions

from .options import options


def cells(parsed: RawTable, name: str) -> list:
    raw = parsed.columns[name]
    if isinstance(raw, Numbers):
        return [None if value != value else value for value in raw.values.tolist()]
    return [None if code < 0 else raw.distinct[code] for code in raw.codes.tolist()]


def refusal(path: str | Path, reading: ReadOptions | None = None) -> str:
    with pytest.raises(TableError) as caught:
        detect.read(path, reading)
    assert "\n" not in str(caught.value)
    return str(caught.value)


CSV = b"a,b\n1,x\n2,y\n"
JSON = b'{"a": 1, "b": "x"}\n{"a": 2, "b": "y"}\n'
ARFF = b"% hello\n@RELATION r\n@attribute a numeric\n@attribute b {x,y}\n@data\n1,x\n2,y\n"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        *[
            (f"t{extension}", CSV)
            for extension in (".csv", ".CSV", ".tsv", ".txt", ".tab", ".data")
        ],
        *[(f"t{extension}", JSON) for extension in (".json", ".jsonl", ".ndjson")],
        ("t.arff", ARFF),
        ("t", CSV),
        ("t.unknown", JSON),
        ("t.x", b'[{"a": 1, "b": "x"},\n {"a": 2, "b": "y"}]'),
        ("t.y", ARFF),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_extensions_and_content(tmp_path, name, content, packed):
    path = tmp_path / (name + ".gz" * packed)
    path.write_bytes(gzip.compress(content) if packed else content)
    parsed = detect.read(path)
    assert cells(parsed, "a") == [1, 2]
    assert cells(parsed, "b") == ["x", "y"]
    assert sum(map(len, detect.blocks(str(path)))) == 2
    assert detect.names(path) == ["a", "b"]
    parsed = detect.read(path, options(only="b"))
    assert [cells(parsed, name) for name in parsed.columns] == [[None, None], ["x", "y"]]


def test_paths_that_lead_nowhere(tmp_path):
    (tmp_path / "weather.csv").write_bytes(CSV)
    said = refusal(tmp_path / "wether.csv")
    assert said.startswith("Table: there is no file '")
    assert "Did you mean 'weather.csv'?" in said
    assert "got a directory" in refusal(tmp_path)
    assert "cannot be opened" in refusal("a\0b.csv")
    assert "there is no file" in refusal(tmp_path / "no" / "file.csv")
    assert "cannot be opened" in refusal(tmp_path / "weather.csv" / "file.csv")
    assert "cannot be opened" in refusal("x" * 5000)
    assert "must be a regular file" in refusal(os.devnull)
    with pytest.raises(TableError, match="a path must be a string or a Path; got 3"):
        detect.read(3)  # type: ignore[arg-type]
    with pytest.raises(TableError, match="a path must be a string or a Path"):
        detect.read(b"weather.csv")  # type: ignore[arg-type]
    with pytest.raises(TableError, match="there is no file"):
        detect.blocks(tmp_path / "nothing.csv")


@pytest.mark.parametrize("extension", ["csv", "json", "arff", "parquet", "dat", "csv.gz"])
def test_empty_files(tmp_path, extension):
    path = tmp_path / f"t.{extension}"
    path.write_bytes(b"")
    assert "must hold rows; it is empty" in refusal(path)
    path.write_bytes(gzip.compress(b""))
    assert "must" in refusal(path)


def test_workbooks_are_told_what_to_do(tmp_path):
    path = tmp_path / "t.xlsx"
    path.write_bytes(b"PK\3\4")
    assert "save the sheet as CSV" in refusal(path)


def test_rows_must_be_positive(tmp_path):
    for rows in (0, -1, 1.5, True):
        with pytest.raises(ParameterError, match="rows must be a positive integer"):
            detect.blocks(tmp_path, rows=rows)


# ---------------------------------------------------------------------------- Parquet


@pytest.fixture
def parquet(tmp_path: Path):
    def write(table: dict | pa.Table, **options) -> Path:
        path = tmp_path / "t.parquet"
        pq.write_table(table if isinstance(table, pa.Table) else pa.table(table), path, **options)
        return path

    return write


def test_parquet_keeps_types(parquet):
    path = parquet(
        {
            "i": [1, None, 3],
            "f": [1.5, None, float("inf")],
            "s": ["x", "NA", " y"],
            "digits": ["1", "2", None],
            "b": [True, None, False],
            "d": [date(1970, 1, 2), None, date(1970, 1, 3)],
            "big": [2**53 + 1, 1, 2],
            "large": pa.array(["u", "?", "v"], pa.large_string()),
            "kind": pa.array(["p", "q", "p"]).dictionary_encode(),
            "none": pa.nulls(3),
            "a.b": [1, 2, 3],
        }
    )
    parsed = detect.read(path)
    assert cells(parsed, "i") == [1, None, 3]
    assert parsed.columns["i"].whole
    assert cells(parsed, "f") == [1.5, None, float("inf")]
    assert cells(parsed, "s") == ["x", None, " y"]
    assert cells(parsed, "digits") == ["1", "2", None]
    assert cells(parsed, "b") == [True, None, False]
    assert cells(parsed, "d") == [1, None, 2]
    assert parsed.columns["big"].rounded == 2**53 + 1
    assert cells(parsed, "large") == ["u", None, "v"]
    assert cells(parsed, "kind") == ["p", "q", "p"]
    assert cells(parsed, "none") == [None] * 3
    assert cells(parsed, "a.b") == [1, 2, 3]
    assert parsed.kinds == {}


def test_parquet_marks_and_declarations(parquet):
    path = parquet({"s": ["x", "-", "NA"], "n": ["1", " ? ", "2.5"], "t": ["2024-01-01", None, ""]})
    reading = options(marks={"s": ("-",)}, number="n", dates="t", text="s")
    parsed = detect.read(path, reading)
    assert cells(parsed, "s") == ["x", None, "NA"]
    assert cells(parsed, "n") == [1, None, 2.5]
    assert cells(parsed, "t") == [19723, None, None]
    said = refusal(path, options(number="s"))
    assert said.startswith("Table: column 's' is numeric but row 1 holds 'x'.")


def test_parquet_blocks(parquet):
    names = np.array(["u", "v", "w"])
    path = parquet(
        {"x": np.arange(1000.0), "s": names[np.arange(1000) // 400], "z": [[1]] * 1000},
        row_group_size=300,
    )
    reading = options(text="s", number="x", alone=True)
    blocks = list(detect.blocks(path, reading, rows=128))
    assert [list(block.columns) for block in blocks] == [["x", "s"]] * len(blocks)
    assert [c for b in blocks for c in cells(b, "x")] == list(range(1000))
    assert [c for b in blocks for c in cells(b, "s")] == names[np.arange(1000) // 400].tolist()
    assert blocks[0].columns["s"].distinct == ("u",)
    assert "column 'z' must hold plain values" in refusal(path)


def test_parquet_numbers_that_are_marks(parquet):
    path = parquet(
        {
            "i": [1, -999, None],
            "f": [1.5, -999.0, 2.0],
            "big": [-(2**60), 5, 6],
            "kind": pa.array([7, -999, 7]).dictionary_encode(),
            "d": [date(1970, 1, 2), date(1967, 4, 8), None],
        }
    )
    parsed = detect.read(path, options(every=("-999", str(-(2**60)))))
    assert cells(parsed, "i") == [1, None, None]
    assert parsed.columns["i"].whole
    assert cells(parsed, "f") == [1.5, None, 2]
    assert cells(parsed, "big") == [None, 5, 6]
    assert parsed.columns["big"].rounded is None
    assert cells(parsed, "kind") == [7, None, 7]
    assert cells(parsed, "d") == [1, -999, None]
    only = detect.read(path, options(marks={"f": ("-999.0",)}))
    assert (cells(only, "f"), cells(only, "i")) == ([1.5, None, 2], [1, -999, None])
    (block,) = detect.blocks(path, options(number="f", marks={"f": ("-999",)}, alone=True))
    assert cells(block, "f") == [1.5, None, 2]


ODD = {
    "list": pa.array([[1], [2]]),
    "struct": pa.array([{"x": 1}, {"x": 2}]),
    "duration": pa.array([1, 2], pa.duration("s")),
    "map": pa.array([[("k", 1)], []], pa.map_(pa.string(), pa.int64())),
    "binary": pa.array([b"\xff", b"\x00"]),
}


@pytest.mark.parametrize("odd", ODD)
def test_parquet_columns_of_odd_types_may_be_left_out(parquet, odd):
    path = parquet({"a": [1, 2], odd: ODD[odd], f"{odd}.x": ["u", "v"]})
    assert f"column {odd!r}" in refusal(path)
    assert detect.names(path) == ["a", odd, f"{odd}.x"]
    for reading in (options(skip=[odd]), options(only=["a", f"{odd}.x"], skip=[odd])):
        for parsed in (detect.read(path, reading), *detect.blocks(path, reading)):
            assert list(parsed.columns) == ["a", odd, f"{odd}.x"]
            assert cells(parsed, "a") == [1, 2]
            assert parsed.columns[odd] == Numbers(parsed.columns[odd].values)
            assert cells(parsed, odd) == [None, None]
            assert cells(parsed, f"{odd}.x") == ["u", "v"]
    assert cells(detect.read(path, options(only=())), "a") == [None, None]
    assert [
        len(block) for block in detect.blocks(path, options(skip=["a", odd, f"{odd}.x"]), 1)
    ] == [1, 1]


def test_parquet_refusals(parquet, tmp_path):
    assert "0 rows" in refusal(parquet({"a": pa.array([], pa.int64())}))
    twins = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    assert "'a' names columns 1 and 2" in refusal(parquet(twins))
    path = tmp_path / "t.pq"
    for content in (b"PAR1", b"PAR1 and no more PAR1", CSV, os.urandom(500)):
        path.write_bytes(content)
        assert "must be a Parquet file" in refusal(path)
    good = parquet({"a": list(range(1000))}).read_bytes()
    path.write_bytes(good[:100] + b"\xff" * 300 + good[400:])
    with pytest.raises(TableError):
        detect.read(path)


# ---------------------------------------------------------------------------- JSON


@pytest.fixture
def put(tmp_path: Path):
    def write(*rows: object, array: bool = False) -> Path:
        path = tmp_path / "t.json"
        lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
        path.write_text("[" + ",".join(lines) + "]" if array else "\n".join(lines))
        return path

    return write


@pytest.mark.parametrize("array", [False, True])
def test_json_columns(put, array):
    path = put(
        {"n": 1, "s": "x", "b": True, "f": 1.5, "digits": "1"},
        {"n": None, "s": "NA", "f": 2, "digits": "2"},
        {"s": "y", "b": False, "n": 3, "late": "z", "digits": None},
        array=array,
    )
    parsed = detect.read(path)
    assert list(parsed.columns) == ["n", "s", "b", "f", "digits", "late"]
    assert cells(parsed, "n") == [1, None, 3]
    assert parsed.columns["n"].whole
    assert cells(parsed, "s") == ["x", None, "y"]
    assert cells(parsed, "b") == [True, None, False]
    assert cells(parsed, "f") == [1.5, 2, None]
    assert cells(parsed, "digits") == ["1", "2", None]
    assert cells(parsed, "late") == [None, None, "z"]


def test_json_mixed_values_are_levels(put):
    assert cells(detect.read(put({"a": 1}, {"a": "x"}, {"a": True})), "a") == [1, "x", True]


def test_json_dates_are_dates_unless_text_is_wanted(put):
    path = put({"d": "2024-01-01"}, {"d": "2024-01-02"})
    assert cells(detect.read(path), "d") == [19723, 19724]
    assert cells(detect.read(path, options(text="d")), "d") == ["2024-01-01", "2024-01-02"]


def test_json_text_that_looks_like_dates_keeps_its_place(put):
    path = put({"a": 1, "d": "2024-01-01"}, {"a": 2, "d": "2024-01-02"})
    assert list(detect.read(path, options(text="d")).columns) == ["a", "d"] == detect.names(path)


@pytest.mark.parametrize("array", [False, True])
def test_json_numbers_that_are_marks(put, array):
    path = put({"a": -999, "m": -999}, {"a": 2.5, "m": "x"}, {"a": 3, "m": 1}, array=array)
    parsed = detect.read(path, options(every=("-999",)))
    assert cells(parsed, "a") == [None, 2.5, 3]
    assert cells(parsed, "m") == [None, "x", 1]


@pytest.mark.parametrize("array", [False, True])
@pytest.mark.parametrize("value", [[1], {"x": 1}])
def test_json_columns_of_odd_types_may_be_left_out(put, array, value):
    path = put({"a": 1, "z": value}, {"z": value, "a": 2}, {"a": 3, "late": value}, array=array)
    assert "must hold plain values" in refusal(path)
    assert detect.names(path) == ["a", "z", "late"]
    for reading in (options(skip=["z", "late"]), options(only="a", skip=["z", "late"])):
        for parsed in (detect.read(path, reading), *detect.blocks(path, reading)):
            assert list(parsed.columns) == ["a", "z", "late"]
            assert cells(parsed, "a") == [1, 2, 3]
            assert cells(parsed, "z") == cells(parsed, "late") == [None] * 3
    blocks = list(detect.blocks(path, options(number="a", alone=True), rows=1))
    assert [cell for block in blocks for cell in cells(block, "a")] == [1, 2, 3]
    assert all(list(block.columns) == ["a"] for block in blocks)


def test_json_declared_columns(put):
    path = put({"a": "1", "c": None}, {"a": "?", "c": None})
    parsed = detect.read(path, options(number="a", text="c"))
    assert cells(parsed, "a") == [1, None]
    assert parsed.columns["c"] == Words(parsed.columns["c"].codes, ())
    assert "row 2 holds 'x'" in refusal(put({"a": "1"}, {"a": "x"}), options(number="a"))
    said = refusal(put({"a": True}), options(number="a"))
    assert "is declared numeric but holds" in said


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (['{"a": {"b": 1}}'], "column 'a' must hold plain values"),
        (['{"a": [1]}'], "column 'a' must hold plain values"),
        (['{"a": 1}', '{"a": [1]}'], "column 'a' must hold plain values"),
        (['{"a": 1}', '{"a": '], "row 2 does not parse"),
        (['{"a": 1}', "3"], "row 2 is 3"),
        (["3", "4"], "row 1 is 3"),
        (['{"a": 1, "a": 2}'], "holds 'a' twice"),
        (["{}"], "holds no row with a name and a value"),
        (["   "], "holds no row with a name and a value"),
        (["[" * 100_000], "nested deeper than 100 levels"),
    ],
)
def test_json_refusals(put, rows, said):
    assert said in refusal(put(*rows))


def test_json_numbers_at_the_edge(put):
    parsed = detect.read(put('{"a": ' + "9" * 400 + ', "b": 9007199254740993, "c": NaN}'))
    assert cells(parsed, "a") == [float("inf")]
    assert parsed.columns["b"].rounded == 2**53 + 1
    assert cells(parsed, "c") == [None]


def test_json_that_is_not_utf8(tmp_path):
    path = tmp_path / "t.json"
    path.write_bytes(b'{"a": "\xff"}')
    assert "it is not UTF-8" in refusal(path)
    path.write_bytes('{"a": 1}'.encode("utf-16"))
    assert "NUL bytes" in refusal(path)
    path.write_bytes('\ufeff{"a": 1}\n{"a": 2}'.encode())
    assert cells(detect.read(path), "a") == [1, 2]


@pytest.mark.parametrize("rows", [1, 3, 1000])
def test_json_blocks(put, rows):
    path = put(*[{"a": k, "s": None if k < 5 else f"w{k % 3}", "z": k} for k in range(10)])
    blocks = list(detect.blocks(path, options(number="a", text="s", alone=True), rows))
    assert all(list(block.columns) == ["a", "s"] for block in blocks)
    assert [c for b in blocks for c in cells(b, "a")] == list(range(10))
    assert [c for b in blocks for c in cells(b, "s")] == cells(detect.read(path), "s")
    assert all(isinstance(block.columns["s"], Words) for block in blocks)


def test_json_blocks_of_gaps_and_of_arrays(put):
    path = put({"a": 1, "s": "x"}, {"a": 2}, {"a": 3, "s": "y"})
    blocks = list(detect.blocks(path, options(text="s", number="a", alone=True), rows=1))
    assert [cells(block, "s") for block in blocks] == [["x"], [None], ["y"]]
    (block,) = detect.blocks(put({"a": 1}, {"a": 2}, array=True), rows=1)
    assert cells(block, "a") == [1, 2]
    path.write_text('{\n"a": 1\n}\n{"a": 2}\n')
    (block,) = detect.blocks(path, rows=1)
    assert cells(block, "a") == [1, 2]


plain = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
values = st.recursive(plain, lambda inner: st.lists(inner, max_size=2), max_leaves=3)


@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.lists(st.dictionaries(st.text(max_size=3), values, max_size=3), max_size=5), st.booleans()
)
def test_fuzz_json_is_read_as_it_stands_or_refused(tmp_path, rows, array):
    path = tmp_path / "f.json"
    text = json.dumps(rows) if array else "\n".join(json.dumps(row) for row in rows)
    path.write_text(text)
    try:
        parsed = detect.read(path)
    except TableError as why:
        said = str(why)
    else:
        assert len(parsed) == len(rows)
        for name, raw in parsed.columns.items():
            for row, cell in zip(rows, cells(parsed, name), strict=True):
                value = row.get(name)
                same = value == cell and isinstance(value, bool) == isinstance(cell, bool)
                rounded = isinstance(value, int) and float(value) == cell
                assert same or rounded or cell is None or raw.dates, (value, cell)
        return
    assert said.startswith(("Table: ", "read: "))
