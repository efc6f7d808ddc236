"""Law 4 over scans: rows in pieces count like rows in memory, in any order, split and size."""

from __future__ import annotations

import csv
import json
import tempfile
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import countwise as cw
from countwise.errors import CountwiseError
from countwise.tables import scan as scan_module
from countwise.tables.sources import files as files_module

#: Cells of text files, by what they are for.
POOLS = {
    "levels": ["a", "b", "A", "a ", " a", "é", "É", "e\u0301", "d, with comma"],
    "gaps": ["", "?", "NA", "x", " "],
    "empty": ["", "?", "NA", "nan"],
    "flags": ["true", "False", "TRUE", "false"],
    "codes": ["1", "2", "3", "1.0", "1.00"],
    "numbers": ["1.5", "2", "-3", "1e3", "", "?", "-", "None"],
    "whole": [str(number) for number in range(40)],
    "dates": [f"2024-01-{day:02}" for day in range(1, 29)] + ["2025-03-01"],
    "money": ["$1,200", "$3", "$40,000"],
    "words": [f"one two three four five {number}" for number in range(40)],
    "user_id": [f"u{number}" for number in range(60)],
    "late": ["x"] * 30 + ["only here"],
    "same": ["k"],
}
NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
#: Values of sources with types; None is a null.
TYPED: dict[str, tuple[Any, list[Any]]] = {
    "levels": (pa.string(), ["a", "A", "a ", "é", "", "?", None]),
    "flags": (pa.bool_(), [True, False, None]),
    "codes": (pa.int64(), [1, 2, 3, None]),
    "large": (pa.int64(), [2**53 + 1, 5, None]),
    "numbers": (pa.float64(), [1.5, float("nan"), None, -0.0, 0.0, 1e-300]),
    "money": (pa.decimal128(9, 2), [Decimal("1.25"), Decimal("-3.00"), None]),
    "when": (pa.timestamp("us", "UTC"), [NOON + timedelta(hours=h) for h in range(40)] + [None]),
    "nothing": (pa.float64(), [None]),
    "no text": (pa.string(), [None]),
    "texts": (pa.string(), ["1", "2", "x", None, "?"]),
}
OPTIONS: list[dict[str, Any]] = [
    {},
    {},
    {"when_missing": "value"},
    {"when_missing": "drop"},
    {"fold_case": True},
    {"identifiers": "keep"},
    {"nominal": "all"},
]


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Look at few rows first, and cut files into tiny pieces."""
    monkeypatch.setattr(scan_module, "HEAD_ROWS", 7)
    monkeypatch.setattr(files_module, "HEAD_BYTES", 150)
    monkeypatch.setattr(files_module, "PIECE_ROWS", 3)


def draw_columns(data, pools: dict[str, list[Any]]) -> dict[str, list[Any]]:
    rows = data.draw(st.sampled_from([1, 2, 5, 20, 60]))
    names = data.draw(st.lists(st.sampled_from(sorted(pools)), min_size=1, max_size=4, unique=True))
    columns = {}
    for name in names:
        cells = data.draw(st.lists(st.sampled_from(pools[name]), min_size=rows, max_size=rows))
        begin = data.draw(st.integers(0, rows)) if data.draw(st.booleans()) else 0
        blank = "" if pools is POOLS else None
        columns[name] = [blank] * begin + cells[begin:]
    classes = data.draw(st.sampled_from([["p", "q"], ["p", "q", "r", ""]]))
    columns["y"] = data.draw(st.lists(st.sampled_from(classes), min_size=rows, max_size=rows))
    weights = data.draw(st.lists(st.integers(0, 9), min_size=rows, max_size=rows))
    columns["w"] = [str(weight) for weight in weights] if pools is POOLS else weights
    return columns


def draw_parts(data, rows: int) -> list[range]:
    cuts = sorted(data.draw(st.lists(st.integers(0, rows), max_size=4)))
    return [range(*ends) for ends in zip([0, *cuts], [*cuts, rows], strict=True)]


def check(whole: Path, parts: list[Path], data, monkeypatch) -> None:
    """Compare a scan of the parts with `read` of the whole."""
    options = data.draw(st.sampled_from(OPTIONS))
    order = data.draw(st.permutations(parts))
    monkeypatch.setenv("COUNTWISE_THREADS", str(data.draw(st.integers(1, 9))))
    block = data.draw(st.sampled_from([1, 2, 7, 1 << 18]) | st.integers(1, 1 << 18))
    weights = data.draw(st.sampled_from([{"weight": "w"}, {"drop": ["w"]}]))
    monkeypatch.setattr(scan_module.Scan, "block_rows", block)
    refused: list[CountwiseError] = []
    try:
        table = cw.read(whole, target="y", drop=["w"], **options)
        plan = cw.Plan.each(table.schema, "both")
        weight = None
        if "weight" in weights:
            weight = cw.read(whole, target="y", numeric=["w"], **options).values("w")
        wanted = cw.count(table, plan, sample_weight=weight)
    except CountwiseError as error:
        refused.append(error)
    contradicted: list[str] = []
    try:
        rows = cw.scan(order, target="y", **weights, **options)
        found = cw.count(rows, lambda schema: cw.Plan.each(schema, "both"))
        again = cw.count(rows, cw.Plan.pairs(rows.schema))
    except CountwiseError as error:
        contradicted.append(str(error))
    if contradicted:
        # A later part may contradict the head; then the piece and the row are named.
        assert refused or ("part" in contradicted[0] and "row" in contradicted[0]), contradicted
        return
    assert not refused
    assert rows.schema == table.schema
    assert all(one.same_levels(two) for one, two in zip(rows.schema, table.schema, strict=True))
    assert found == wanted
    assert again == cw.count(table, cw.Plan.pairs(table.schema), sample_weight=weight)
    codes = sorted((note.code, note.column or "") for note in rows.notes if note.code != "S01")
    assert codes == sorted((note.code, note.column or "") for note in table.notes)


def write_csv(path: Path, columns: dict[str, list[str]], rows: range) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows([columns[name][row] for name in columns] for row in rows)
    return path


@given(st.data())
def test_text_files_in_parts_count_like_one(data):
    columns = draw_columns(data, POOLS)
    rows = len(columns["y"])
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(files_module, "SEGMENT", data.draw(st.sampled_from([20, 100, 10_000])))
        place = Path(folder)
        whole = write_csv(place / "whole.csv", columns, range(rows))
        parts = [
            write_csv(place / f"part{number}.csv", columns, part)
            for number, part in enumerate(draw_parts(data, rows))
        ]
        check(whole, parts, data, monkeypatch)


@given(st.data())
def test_parquet_files_in_parts_count_like_one(data):
    pools = {name: values for name, (_, values) in TYPED.items()}
    columns = draw_columns(data, pools)
    arrays = {
        name: pa.array(cells, TYPED[name][0] if name in TYPED else None)
        for name, cells in columns.items()
    }
    table = pa.table(arrays)
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as monkeypatch:
        place = Path(folder)
        pq.write_table(table, place / "whole.parquet")
        parts = []
        for number, part in enumerate(draw_parts(data, len(table))):
            parts.append(place / f"part{number}.parquet")
            size = data.draw(st.sampled_from([1, 4, 100]))
            pq.write_table(table.slice(part.start, len(part)), parts[-1], row_group_size=size)
        check(place / "whole.parquet", parts, data, monkeypatch)


def test_lines_of_json_in_parts_count_like_one(tmp_path):
    lines = [{"x": n % 3, "k": "ab"[n % 2], "y": "pq"[n % 5 == 0]} for n in range(40)]
    whole = tmp_path / "whole.jsonl"
    whole.write_text("".join(json.dumps(line) + "\n" for line in lines))
    for part in range(4):
        text = "".join(json.dumps(line) + "\n" for line in lines[part * 10 : part * 10 + 10])
        (tmp_path / f"part{part}.jsonl").write_text(text)
    table = cw.read(whole, target="y")
    rows = cw.scan(str(tmp_path / "part*.jsonl"), target="y")
    assert rows.schema == table.schema
    assert cw.count(rows) == cw.count(table)


def test_a_line_of_json_with_a_new_column_is_refused_by_name(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"x": 1, "y": "a"}\n' * 30 + '{"x": 1, "y": "b", "new": 3}\n')
    with pytest.raises(CountwiseError, match=r"'new'.*rows\.jsonl"):
        cw.count(cw.scan(path, target="y"))


def test_ten_thousand_levels_count_like_in_memory(tmp_path):
    path = tmp_path / "rows.csv"
    lines = "".join(f"l{n % 10_000},{'ab'[n % 3 == 0]}\n" for n in range(30_000))
    path.write_text("k,y\n" + lines)
    assert cw.count(cw.scan(path, target="y")) == cw.count(cw.read(path, target="y"))


def test_levels_beyond_the_limit_are_one_level_with_an_exact_total(tmp_path):
    path = tmp_path / "rows.csv"
    rare = [f"r{n}" for n in range(3000)]
    cells = [cell for n in range(3000) for cell in ("often", "also", rare[n])]
    path.write_text("k,y\n" + "".join(f"{c},{'ab'[n % 2]}\n" for n, c in enumerate(cells)))
    rows = cw.scan(path, target="y", max_levels=50)
    counts = cw.count(rows)
    levels = rows.schema["k"].levels
    assert levels[-1] == "(other)"
    assert {"often", "also"} <= set(levels)
    assert len(levels) <= 51
    by_level = dict(zip((*levels, None), counts.table("k").sum(axis=0).tolist(), strict=True))
    assert by_level["often"] == by_level["also"] == 3000
    kept = len(levels) - 3
    assert by_level["(other)"] == 3000 - kept
    (note,) = [note for note in rows.notes if note.code == "S02"]
    assert f"{3000 - kept:,} rows" in note.text
