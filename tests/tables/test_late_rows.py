"""A row far below the head of a text file: `scan` decides as `read` does, or names file and row."""

from __future__ import annotations

import gzip
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

import countwise as cw
from countwise.errors import CountwiseError
from countwise.tables import scan as scan_module
from countwise.tables.sources import files as files_module

ROWS = 60
#: What all rows but the last hold in column `x`.
COLUMNS = {
    "whole": [str(10 + place % 13) for place in range(ROWS)],
    "two values": [str(place % 2) for place in range(ROWS)],
    "numbered": [str(1 + place) for place in range(ROWS)],
    "decimals": [f"{place % 7}.5" for place in range(ROWS)],
    "percent": [f"{place % 7}%" for place in range(ROWS)],
    "money": [f"${1000 + place % 7}" for place in range(ROWS)],
    "levels": [f"level {place % 4}" for place in range(ROWS)],
    "flags": [["true", "false"][place % 2] for place in range(ROWS)],
    "dates": [f"2024-03-{1 + place % 28:02}" for place in range(ROWS)],
    "times": [f"{place % 24:02}:30" for place in range(ROWS)],
    "codes": [f"{place % 9:03}" for place in range(ROWS)],
    "empty": ["" for _ in range(ROWS)],
    "names": [f"user {place}" for place in range(ROWS)],
}
#: What the last row holds there.
CELLS = [
    "007", "0", "00", "0.5", "00.5", "-07", "+5", " 8 ", "1.5", "1,5", '"1,5"', "1e3", "1E400",
    "12%", "$7", "1 000", "1.000,5", "0x1F", "99999999999999999999", "inf", "NaN", "nan", "?", "NA",
    "-", "None", "", " ", "n/a", "true", "TRUE", "yes", "2024-03-05", "5.3.2024", "03/25/2024",
    "12:30", "abc", "é", '"12"', '"a""b"', '"two\nlines"', "level 1", "LEVEL 1", "user 3", "2",
    "5,6,7", "#5", "a\tb", "'7'",
]  # fmt: skip
BYTES = [b"\xff,u\n", b"\x00,u\n", b"caf\xe9,u\n", b"12,u\r\n", b"12,u", b"12\n", b"\n\n", b"12,\n"]


def check(paths: list[Path], whole: Path, options: dict) -> None:
    """Compare a scan of the files with `read` of one file of all rows."""
    refused = ""
    try:
        table = cw.read(whole, target="y", **options)
    except CountwiseError as error:
        refused = str(error)
    said = ""
    try:
        rows = cw.scan(paths, target="y", **options)
        counts = cw.count(rows, lambda schema: cw.Plan.each(schema, "both"))
    except CountwiseError as error:
        said = str(error)
    if said:
        is_named = paths[-1].name in said and f"row {ROWS // len(paths) + 1} " in said
        assert refused or is_named, said
        return
    assert not refused, refused
    assert rows.schema == table.schema
    assert counts == cw.count(table, cw.Plan.each(table.schema, "both"))
    # How a file is written (F) is noted by its first rows.
    codes = sorted(note.code for note in rows.notes if note.code[0] == "T")
    assert codes == sorted(note.code for note in table.notes if note.code[0] == "T")


@given(
    st.sampled_from(sorted(COLUMNS)),
    st.sampled_from(CELLS) | st.sampled_from(BYTES),
    st.sampled_from([",", ";", "\t"]),
    st.sampled_from(["plain", "quoted", "gzipped", "two files"]),
    st.sampled_from([{}, {}, {"identifiers": "keep"}, {"missing": ["007"]}, {"numeric": ["x"]}]),
)
def test_a_last_row_of_another_kind(kind, last, separator, form, options):
    cells = [*COLUMNS[kind]]
    lines = [f"{cell}{separator}{'uv'[place % 3 == 0]}\n" for place, cell in enumerate(cells)]
    if form == "quoted":
        lines[0] = f'"{cells[0]}"{separator}"u"\n'
    end = last if isinstance(last, bytes) else f"{last}{separator}u\n".encode()
    head = f"x{separator}y\n".encode()
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(scan_module, "HEAD_ROWS", 7)
        patch.setattr(files_module, "HEAD_BYTES", 150)
        patch.setattr(files_module, "SEGMENT", 100)
        content = head + "".join(lines).encode() + end
        whole = Path(folder) / "rows.csv"
        whole.write_bytes(content)
        paths = [whole]
        if form == "gzipped":
            paths = [Path(folder) / "rows.csv.gz"]
            paths[0].write_bytes(gzip.compress(content))
            whole = paths[0]
        elif form == "two files":
            half = ROWS // 2
            paths = [Path(folder) / "first.csv", Path(folder) / "second.csv"]
            paths[0].write_bytes(head + "".join(lines[:half]).encode())
            paths[1].write_bytes(head + "".join(lines[half:]).encode() + end)
        check(paths, whole, options)


def test_codes_far_below_the_head_make_a_column_nominal(tmp_path):
    path = tmp_path / "rows.csv"
    rows = 60_000
    lines = "".join(f"{10 + place % 40},{place % 9}.5,{'uv'[place % 2]}\n" for place in range(rows))
    path.write_text("code,x,y\n" + lines + "007,1.5,u\n")
    assert path.stat().st_size > 1 << 19  # beyond what is looked at to find out how it is written
    for rows_of in (cw.read, cw.scan):
        table = rows_of(path, target="y")
        assert table.schema["code"].kind == "nominal"
        assert "007" in table.schema["code"].levels
        assert "T25" in {note.code for note in table.notes}
        assert rows_of(path, target="y", numeric=["code"]).schema["code"].kind == "numeric"


def test_codes_in_a_later_file_are_refused_with_file_and_row(tmp_path):
    for number, last in enumerate(("10", "007")):
        lines = "".join(f"{10 + place % 40},{'uv'[place % 2]}\n" for place in range(99))
        (tmp_path / f"{number}.csv").write_text("code,y\n" + lines + f"{last},u\n")
    with pytest.raises(CountwiseError, match=r"1\.csv.*row 100 holds '007'.*nominal="):
        cw.count(cw.scan(tmp_path, target="y"))
    assert cw.count(cw.scan(tmp_path, target="y", nominal=["code"])).rows == 200
    assert cw.count(cw.scan(tmp_path, target="y", numeric=["code"])).rows == 200
