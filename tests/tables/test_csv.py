"""CSV and its relatives: dialects, types, missing marks, and what is refused."""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import re
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from countwise.errors import TableError
from countwise.tables.cell_forms import read_date
from countwise.tables.formats import detect
from countwise.tables.raw_columns import Numbers, RawTable, Words
from countwise.tables.read_options import ReadOptions

from .options import options


@pytest.fixture
def put(tmp_path: Path):
    def write(content: str | bytes, name: str = "t.csv") -> str:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    return write


def cells(parsed: RawTable, name: str) -> list:
    raw = parsed.columns[name]
    if isinstance(raw, Numbers):
        return [None if value != value else value for value in raw.values.tolist()]
    return [None if code < 0 else raw.distinct[code] for code in raw.codes.tolist()]


def refusal(path: str, reading: ReadOptions | None = None) -> str:
    with pytest.raises(TableError) as caught:
        detect.read(path, reading)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_numbers_words_and_missing_cells(put):
    parsed = detect.read(put("a,b,c\n1,x,2.5\n,?,\n3, y ,NA\n"))
    assert list(parsed.columns) == ["a", "b", "c"]
    assert cells(parsed, "a") == [1, None, 3]
    assert cells(parsed, "b") == ["x", None, "y"]
    assert cells(parsed, "c") == [2.5, None, None]
    assert parsed.columns["a"].whole
    assert not parsed.columns["c"].whole
    assert parsed.notes == ()
    assert len(parsed) == 3


@pytest.mark.parametrize("mark", ["", "?", "NA", "N/A", "na", "n/a", "NaN", "nan", "null", "NULL"])
@pytest.mark.parametrize("blank", ["", " "])
def test_usual_marks_are_missing_in_numbers_and_words(put, mark, blank):
    parsed = detect.read(put(f"a,b\n1,x\n{blank}{mark}{blank},{blank}{mark}\n"))
    assert cells(parsed, "a") == [1, None]
    assert cells(parsed, "b") == ["x", None]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1.0),
        ("+1", 1.0),
        ("-1", -1.0),
        (" 1 ", 1.0),
        ("\t1", 1.0),
        ("1e5", 1e5),
        ("1E+5", 1e5),
        (".5", 0.5),
        ("5.", 5.0),
        ("-.5e-1", -0.05),
        ("inf", np.inf),
        ("-Infinity", -np.inf),
        ("1e999", np.inf),
        ('"5"', 5.0),
        ("\xa05", 5.0),
    ],
)
@pytest.mark.parametrize("late", [False, True])
def test_what_is_a_number(put, text, value, late):
    rows = ["7"] * 6000 if late else []
    parsed = detect.read(put("a,b\n" + "".join(f"{cell},k\n" for cell in [*rows, text])))
    assert parsed.columns["a"].values[-1] == value
    written = text.strip('" \t\xa0')
    assert parsed.columns["a"].whole == written.lstrip("+-").isdigit()


@pytest.mark.parametrize(
    "text", ["0x1F", "0X1f", "1_000", "\u0661", "1 2", "--1", "1e", "NAN", "nan(x)"]
)
@pytest.mark.parametrize("late", [False, True])
def test_what_is_no_number(put, text, late):
    few = ["1"] * 6000 + ["2.5"] * 10 if late else ["1"]
    parsed = detect.read(put("a,b\n" + "".join(f"{cell},k\n" for cell in [*few, text])))
    assert isinstance(parsed.columns["a"], Words)
    assert cells(parsed, "a")[-1] == text
    assert cells(parsed, "a")[0] == "1"


@pytest.mark.parametrize("first", ["1", "1.5"])
def test_one_stray_text_among_many_numbers_is_refused(put, first):
    rows = [first] * 5500 + [str(k) for k in range(30)] + ["twelve "]
    text = refusal(put("income,k\n" + "".join(f"{cell},k\n" for cell in rows)))
    assert text == (
        "Table: column 'income' is numeric but row 5531 holds 'twelve '. "
        "Add it to missing=, or declare the column nominal with nominal=, or leave it out with "
        "drop=."
    )


def test_cancelled_invoices_are_refused_with_every_cure(put):
    rows = [f"C{k}" if k % 50 == 49 else str(k) for k in range(10_000, 10_500)]
    path = put("invoice,k\n" + "".join(f"{cell},k\n" for cell in rows))
    said = refusal(path)
    assert said == (
        "Table: column 'invoice' is numeric but row 50 holds 'C10049' (9 more such cells). "
        "Add it to missing=, or declare the column nominal with nominal=, or leave it out with "
        "drop=."
    )
    assert cells(detect.read(path, options(skip=["invoice"])), "k") == ["k"] * 500


def test_a_stray_text_is_a_mark_or_a_level_once_declared(put):
    path = put("v\n" + "".join(f"{k}\n" for k in range(100)) + "twelve\n")
    assert "row 101 holds 'twelve'" in refusal(path)
    assert isinstance(detect.read(path, options(text="v")).columns["v"], Words)
    parsed = detect.read(path, options(marks={"v": ("twelve",)}))
    assert cells(parsed, "v")[-2:] == [99, None]
    assert "row 101" in refusal(path, options(number="v"))


def test_few_numbers_among_words_are_levels(put):
    parsed = detect.read(put("v,w\n" + "".join(f"{k % 20},{k}\n" for k in range(400)) + "x,1\n"))
    assert isinstance(parsed.columns["v"], Words)
    assert len(parsed.columns["v"].distinct) == 21


def test_marks_by_column_hold_for_that_column_only(put):
    path = put("a,b,c\n-1,-1,-1\n NA,NA,NA\n5,x,6\n")
    reading = options(
        marks={"a": ("-1", "NA"), "b": ("x",)},
    )
    parsed = detect.read(path, reading)
    assert cells(parsed, "a") == [None, None, 5]
    assert cells(parsed, "b") == ["-1", "NA", None]
    assert cells(parsed, "c") == [-1, None, 6]


@pytest.mark.parametrize("cell", ["-999", " -999", '"-999 "'])
def test_a_mark_that_is_a_number_is_seen_with_blanks_around_it(put, cell):
    path = put(f"a,b\n1,1.5\n{cell},{cell}\n-999.5,2\n")
    parsed = detect.read(path, options(every=("", "-999")))
    assert cells(parsed, "a") == [1, None, -999.5]
    assert cells(parsed, "b") == [1.5, None, 2]


def test_large_integers_are_noticed(put):
    parsed = detect.read(
        put("a,b,c,d\n9007199254740993,99999999999999999999,1.5,1\n1,1,-9007199254740993,2\n")
    )
    assert parsed.columns["a"].rounded == 9007199254740993
    assert parsed.columns["b"].rounded == 99999999999999999999
    assert parsed.columns["b"].whole
    assert parsed.columns["c"].rounded == -9007199254740993
    assert not parsed.columns["c"].whole
    assert parsed.columns["d"].rounded is None


def test_an_integer_of_five_thousand_digits_is_infinite(put):
    assert np.isinf(detect.read(put("a\n1\n" + "9" * 5000 + "\n")).columns["a"].values[1])


def test_dates(put):
    text = "d,e\n1970-01-02,1970/01/03\n1970-01-02 12:00,?\n1970-01-02T06:00:00.5,2024/02/29\n"
    parsed = detect.read(put(text))
    assert cells(parsed, "d") == pytest.approx([1, 1.5, 1.25 + 0.5 / 86400])
    assert cells(parsed, "e") == [2, None, 19782]
    assert parsed.columns["d"].dates


def test_what_is_no_date_makes_levels_or_is_refused(put):
    path = put("d,e\n2024-02-29,1\n2024-02-30,2\n")
    assert isinstance(detect.read(path).columns["d"], Words)
    text = refusal(path, options(dates="d"))
    assert text.startswith("Table: column 'd' holds dates but row 2 holds '2024-02-30'.")


def test_text_stays_text_when_declared(put):
    parsed = detect.read(put("a,b\n1,2024-01-01\n 01,2024-01-02\n"), options(text="ab"))
    assert cells(parsed, "a") == ["1", "01"]
    assert cells(parsed, "b") == ["2024-01-01", "2024-01-02"]


def test_a_column_without_any_cell(put):
    parsed = detect.read(put("a,b,c\n,1,\n?,2,NA\n"), options(text="c"))
    assert cells(parsed, "a") == [None, None]
    assert isinstance(parsed.columns["a"], Numbers)
    assert parsed.columns["c"].distinct == ()


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_the_separator_is_found(put, separator):
    text = f"a{separator}b\n" + f'1{separator}"x, y; z"\n' * 5
    parsed = detect.read(put(text))
    assert cells(parsed, "b") == ["x, y; z"] * 5
    noted = [note.text for note in parsed.notes]
    assert noted == ([] if separator == "," else [f"Separator {separator!r} was assumed."])


def test_a_tab_is_no_surprise_in_a_tsv(put):
    assert detect.read(put("a\tb\n1\t2\n", "t.tsv")).notes == ()


def test_a_separator_can_be_given(put):
    path = put("a:b\n1:2\n")
    assert list(detect.read(path, options(separator=":")).columns) == ["a", "b"]
    for wrong in ("", "::", "é", '"', "\n"):
        assert "separator must be one plain character" in refusal(path, options(separator=wrong))


def test_decimal_comma(put):
    path = put("a;b;c\n1,5;2;x,y\n-2,25;3;1,5\n")
    parsed = detect.read(path)
    assert cells(parsed, "a") == [1.5, -2.25]
    assert cells(parsed, "b") == [2, 3]
    assert cells(parsed, "c") == ["x,y", "1,5"]
    assert parsed.decimal == {"a": ","}
    assert [n.text for n in parsed.notes] == ["Separator ';' and decimal comma were assumed."]
    assert cells(detect.read(path, options(decimal={"a": "."})), "a") == ["1,5", "-2,25"]


def test_decimal_comma_and_point_side_by_side(put):
    parsed = detect.read(put("a;b\n1,5;2.5\n2,25;3.5\n"))
    assert cells(parsed, "a") == [1.5, 2.25]
    assert cells(parsed, "b") == [2.5, 3.5]


def test_decimal_comma_that_appears_late(put):
    parsed = detect.read(put("a;b\n" + "1;1\n" * 6000 + "1,5;2.5\n"))
    assert cells(parsed, "a")[-1] == 1.5
    assert cells(parsed, "b")[-1] == 2.5


def test_decimal_comma_within_quotes_when_declared(put):
    parsed = detect.read(put('a,b\n"1,5",2\n"2,5",3\n'), options(decimal={"a": ","}))
    assert cells(parsed, "a") == [1.5, 2.5]
    assert parsed.decimal == {}


def test_thousands_are_not_taken_for_decimals_between_tabs(put):
    parsed = detect.read(put("a\tb\n1,234\tx\n5,678\ty\n", "t.tsv"))
    assert cells(parsed, "a") == [1234, 5678]
    assert parsed.decimal == {}


def test_quotes_newlines_and_emoji(put):
    parsed = detect.read(put('a,b\n"x\ny",1\n"say ""hi""",2\n🦆,3\n'))
    assert cells(parsed, "a") == ["x\ny", 'say "hi"', "🦆"]


def test_a_quoted_newline_far_into_the_file(put):
    rows = "".join(f"{k},plain text\n" for k in range(200_000))
    parsed = detect.read(put("a,b\n" + rows + '7,"two\nlines"\n' + rows))
    assert len(parsed) == 400_001
    assert cells(parsed, "b")[200_000] == "two\nlines"


def test_a_cell_longer_than_a_block(put):
    parsed = detect.read(put("a,b\n" + "1,x\n" * 100_000 + f'2,"{"y" * 3_000_000}"\n'))
    assert len(cells(parsed, "b")[-1]) == 3_000_000


@pytest.mark.parametrize("length", [131_072, 131_073, 400_000, 5_000_000])
@pytest.mark.parametrize("quote", ["", '"'])
def test_a_cell_longer_than_the_csv_module_allows(put, length, quote):
    limit = csv.field_size_limit()
    parsed = detect.read(put(f"a,b\n1,{quote}{'y' * length}{quote}\n2,z\n"))
    assert cells(parsed, "a") == [1, 2]
    assert [len(cell) for cell in cells(parsed, "b")] == [length, 1]
    (block,) = detect.blocks(put(f"a,b\n1,{quote}{'y' * length}{quote}\n2,z\n"))
    assert len(cells(block, "b")[0]) == length
    assert csv.field_size_limit() == limit


def test_long_cells_and_an_odd_number_of_quotes(put):
    long = "y" * 200_000
    assert cells(detect.read(put(f'a,b\n1,{long}\n2,5" pipe\n')), "b") == [long, '5" pipe']
    assert "every quote in" in refusal(put(f'a,b\n1,"{long}\n' + "2,z\n" * 99_999))


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_and_empty_lines(put, end):
    parsed = detect.read(put(end.join(["", "a,b", "", "1,x", "   ", "2,y", "", ""])))
    assert cells(parsed, "a") == [1, 2]


def test_many_levels_and_many_columns(put):
    parsed = detect.read(put("a,b\n" + "".join(f"level {k},1\n" for k in range(10_000))))
    assert len(parsed.columns["a"].distinct) == 10_000
    wide = ",".join(f"c{k}" for k in range(20_000))
    row = ",".join(["1"] * 20_000)
    assert len(detect.read(put(f"{wide}\n{row}\n{row}\n")).columns) == 20_000


@pytest.mark.parametrize(
    ("encoding", "codes"),
    [("utf-8", []), ("utf-8-sig", []), ("utf-16", []), ("utf-16-be", []), ("latin-1", ["F02"])],
)
@pytest.mark.parametrize("late", [False, True])
def test_encodings(put, encoding, codes, late):
    text = "größe,b\n" + "1,plain\n" * (60_000 if late else 1) + "2,café\n"
    bom = b"\xfe\xff" if encoding == "utf-16-be" else b""
    parsed = detect.read(put(bom + text.encode(encoding)))
    assert list(parsed.columns) == ["größe", "b"]
    assert cells(parsed, "b")[-1] == "café"
    assert [note.code for note in parsed.notes] == codes


def test_bytes_that_stop_being_utf8_late(put):
    parsed = detect.read(put(b"a,b\n" + b"1,plain\n" * 60_000 + b"2,caf\xe9\n"))
    assert cells(parsed, "b")[-1] == "café"
    assert [note.code for note in parsed.notes] == ["F02"]


@pytest.mark.parametrize("late", [0, 60_000])
@pytest.mark.parametrize("name", ["preis", "preis €"])
def test_windows_1252_is_told_by_its_bytes(put, late, name):
    text = f"{name},b\n" + "1,plain\n" * late + "2,5 €\n3,“café”\n"
    path = put(text.encode("cp1252"))
    for parsed in (detect.read(path), *detect.blocks(path, rows=10**9)):
        assert list(parsed.columns) == [name, "b"]
        assert cells(parsed, "b")[-2:] == ["5 €", "“café”"]
        (note,) = parsed.notes
        assert (note.code, note.column) == ("F02", None)
        assert note.text == "The file is not UTF-8, so Windows-1252 was assumed."
    assert detect.names(path) == [name, "b"]


def test_bytes_that_windows_1252_does_not_know_are_latin_1(put):
    parsed = detect.read(put(b"a,b\n1,caf\xe9\n2,\x80\n" + b"1,plain\n" * 60_000 + b"3,\x81\n"))
    assert cells(parsed, "b")[:2] == ["café", "\x80"]
    assert [note.text for note in parsed.notes] == [
        "The file is not UTF-8, so Latin-1 (ISO 8859-1) was assumed."
    ]


def test_single_column(put):
    parsed = detect.read(put("v\n1\n2\n\n3\n"))
    assert cells(parsed, "v") == [1, 2, 3]
    assert [note.code for note in parsed.notes] == ["F04"]
    assert cells(detect.read(put("text\nhello, you\nfine\nso; it is\n")), "text")[0] == "hello, you"


def test_header_names(put):
    parsed = detect.read(put(' a ,"b\nb",,"c,d"\n1,2,3,4\n'))
    assert list(parsed.columns) == ["a", "b\nb", "column 3", "c,d"]
    assert [(note.code, note.column) for note in parsed.notes] == [("F03", "column 3")]


def test_without_header(put):
    path = put("1,x\n2,y\n")
    parsed = detect.read(path, options(header=False))
    assert cells(parsed, "x1") == [1, 2]
    assert cells(parsed, "x2") == ["x", "y"]


def test_gzip(tmp_path):
    for name in ("t.csv.gz", "t.csv"):
        path = tmp_path / name
        path.write_bytes(gzip.compress(b"a,b\n1,x\n") + gzip.compress(b"2,y\n"))
        assert cells(detect.read(path), "b") == ["x", "y"]
    path.write_bytes(gzip.compress(b"a,b\n" + b"1,x\n" * 999)[:-20])
    assert "sound gzip file" in refusal(path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b,a\n1,2,3\n", "column names must differ; 'a' names columns 1 and 3 of"),
        ("1,2\n3,4\n", "it holds only numbers ('1', '2'). Pass header=False"),
        ("a,b\n", "must hold rows below its header; it ends there"),
        ("a,b\n\n\n", "must hold rows below its header; it ends there"),
        ("\n\n", "must hold rows"),
        ("a,b\n1,2\n3\n", "must hold 2 cells; row 2 holds 1 ('3')"),
        ("a,b\n1,2\n\n  \n3,4,5\n", "must hold 2 cells; row 2 holds 3 ('3,4,5')"),
        ('a,b\n1,"x\n2,y\n', "every quote in"),
        ('a,b\n1,"x', "every quote in"),
        ("a,b\n1,\0\n", "NUL bytes"),
        ("a\tb\tc\n1\t2\t3\n\t\n", "must hold 3 cells; row 2 holds 2 ('\\t')"),
        ("v\n1\n\x1f\n2\n", "must hold 1 cells; row 2 holds 2"),
    ],
)
def test_refusals(put, text, said):
    assert said in refusal(put(text))


def test_a_ragged_row_far_into_the_file(put):
    text = "a,b\n" + "1,2\n" * 400_000 + "3\n" + "1,2\n" * 400_000
    assert "row 400001 holds 1 ('3')" in refusal(put(text))


def test_nul_far_into_the_file_and_binary(put):
    assert "NUL bytes" in refusal(put(b"a,b\n" + b"1,2\n" * 100_000 + b"\0,1\n"))
    assert "must be a text file" in refusal(put(bytes(range(1, 256)) * 9))


def test_a_declared_number_names_row_and_text(put):
    text = refusal(put("a,b\n1,2\nx,3\n"), options(number="a"))
    assert text == (
        "Table: column 'a' is numeric but row 2 holds 'x'. "
        "Add it to missing=, or declare the column nominal with nominal=, or leave it out with "
        "drop=."
    )


def test_columns_left_out_are_not_looked_at(put):
    rows = "".join(f"{k},C{k},{k}.5,x\n" if k == 70 else f"{k},{k},{k}.5,x\n" for k in range(99))
    path = put("a,b,c,d\n" + rows)
    assert "row 71 holds 'C70'" in refusal(path)
    for reading in (options(skip="b"), options(only="acd", skip="b")):
        for parsed in (detect.read(path, reading), *detect.blocks(path, reading)):
            assert list(parsed.columns) == list("abcd")
            assert parsed.columns["b"] == Numbers(parsed.columns["b"].values)
            assert cells(parsed, "b") == [None] * 99
            assert cells(parsed, "a") == list(range(99))
            assert cells(parsed, "c")[0] == 0.5
            assert cells(parsed, "d") == ["x"] * 99
    nothing = detect.read(path, options(only=(), text="b"))
    assert [cells(nothing, name) for name in "abcd"] == [[None] * 99] * 4
    one = options(skip="ad", number="b", alone=True)
    (block,) = detect.blocks(put("a,b,c,d\nx,1,y,z\n"), one)
    assert {name: cells(block, name) for name in block.columns} == {
        "a": [None],
        "b": [1],
        "d": [None],
    }


def test_columns_left_out_still_count_in_every_row(put):
    path = put("a,b,c\n1,2,3\n1,2\n")
    for reading in (options(skip="c"), options(only=())):
        assert "row 2 holds 2" in refusal(path, reading)


def test_column_names_are_those_of_the_columns(put):
    for text in (
        ' a ,"b\nb",,"c,d"\n1,2,3,4\n',
        "größe;b\n1;2\n",
        "v\n1\n2\n",
        "\n\na,b\n" + "1,2\n" * 99_999,
    ):
        path = put(text)
        assert detect.names(path) == list(detect.read(path).columns)
    assert detect.names(put("1,x\n2,y\n"), options(header=False)) == ["x1", "x2"]
    assert detect.names(put("a|b\n1|2\n"), options(separator=",")) == ["a|b"]
    odd = put("größe,b\n".encode() + b"1,plain\n" * 60_000 + b"2,caf\xe9\n")
    assert detect.names(odd) == list(detect.read(odd).columns)
    with pytest.raises(TableError, match="column names must differ"):
        detect.names(put("a,a\n1,2\n"))


def test_read_date_knows_what_the_reader_knows():
    assert [read_date("1970-01-02"), read_date("1970-01-02T12:00:00Z")] == [1, 1.5]
    for other in ("", "1970-02-30", "19700102", "1970-1-2"):
        assert read_date(other) is None


def test_many_columns_that_change_their_mind(put):
    names = ",".join(f"c{k}" for k in range(8))
    rows = (",".join(["1"] * 8) + "\n") * 6000
    parsed = detect.read(put(f"{names}\n{rows}" + ",".join(["2.5"] * 4 + ["x"] * 4) + "\n"))
    assert all(isinstance(parsed.columns[f"c{k}"], Numbers) for k in range(4))
    assert all(isinstance(parsed.columns[f"c{k}"], Words) for k in range(4, 8))
    assert not parsed.columns["c0"].whole


def test_nothing_is_left_behind(put, tmp_path, monkeypatch):
    room = tmp_path / "room"
    room.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(room))
    detect.read(put(gzip.compress("a,b\n1,é\n".encode("utf-16")), "t.csv.gz"))
    assert list(room.iterdir()) == []
    assert [path.name for path in tmp_path.iterdir() if path != room] == ["t.csv.gz"]


# ---------------------------------------------------------------------------- blocks


def joined(blocks: list[RawTable], name: str) -> list:
    return [cell for block in blocks for cell in cells(block, name)]


@pytest.mark.parametrize("rows", [1, 7, 1000, 5000, 10**9])
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_blocks_equal_the_whole(tmp_path, rows, suffix):
    lines = [f"{k},{k / 4},w{k % 13},2024-01-{k % 28 + 1:02d}" for k in range(3000)]
    content = ("a,b,c,d\n" + "\n".join(lines) + "\n").encode()
    path = tmp_path / f"t.csv{suffix}"
    path.write_bytes(gzip.compress(content) if suffix else content)
    whole = detect.read(path)
    blocks = list(detect.blocks(path, rows=rows))
    assert [len(block) for block in blocks[:-1]] == [rows] * (len(blocks) - 1)
    for name in "abcd":
        assert joined(blocks, name) == cells(whole, name)
    assert all(block.columns["d"].dates for block in blocks)


def test_blocks_hold_only_what_is_declared(put):
    path = put("id,x,c\n" + "".join(f"{k},{k},w\n" for k in range(6000)) + "odd,1,w\n")
    reading = options(text="c", number="x", alone=True)
    blocks = list(detect.blocks(path, reading, rows=2000))
    assert [list(block.columns) for block in blocks] == [["x", "c"]] * 4
    assert sum(map(len, blocks)) == 6001


def test_blocks_get_past_a_late_change_without_losing_rows(put):
    text = (
        "x,c\n"
        + "".join(f"{k},w\n" for k in range(300_000))
        + " NA,w\n2.5,w\n 9007199254740993,w\n"
    )
    blocks = list(detect.blocks(put(text), options(number="x", alone=True), rows=1000))
    values = joined(blocks, "x")
    assert values == [*range(300_000), None, 2.5, 9007199254740993.0]
    assert blocks[-1].columns["x"].rounded == 9007199254740993


def test_blocks_name_the_row_of_the_whole_file(put):
    path = put("x,c\n" + "".join(f"{k},w\n" for k in range(300_000)) + "odd,w\n")
    with pytest.raises(TableError, match="row 300001 holds 'odd'"):
        list(detect.blocks(path, options(number="x", alone=True), rows=999))
    with pytest.raises(TableError, match="row 300001 holds 'odd'"):
        list(detect.blocks(path, rows=999))


def test_blocks_refuse_ragged_rows(put):
    path = put("a,b\n" + "1,2\n" * 10 + "1\n")
    with pytest.raises(TableError, match="row 11 holds 1"):
        list(detect.blocks(path, rows=3))


# ---------------------------------------------------------------------------- fuzz

WORDS = (
    "a",
    "b",
    "1",
    "2.5",
    "-3",
    "1e3",
    "NA",
    "?",
    "é",
    "🦆",
    "0x1F",
    "nan",
    "inf",
    "2024-01-01",
)
SIGNS = ("1,5", "_", ",", ";", "|", "\t", '"', '""', "\n", "\r\n", "\r", " ", "\x1f", "")
texts = st.lists(st.sampled_from(WORDS + SIGNS), max_size=60).map("".join)
tables = st.integers(1, 4).flatmap(
    lambda width: st.lists(
        st.lists(st.text(max_size=4), min_size=width, max_size=width), min_size=1, max_size=8
    )
)


def expected(text: str, separator: str) -> list[list[str]]:
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator))
    rows = [row for row in rows if row]
    while rows and len(rows[0]) == 1 and not rows[0][0].strip():
        del rows[0]
    return [row for row in rows if len(rows[0]) == 1 or len(row) > 1 or row[0].strip()]


def attempt(path: Path, reading: ReadOptions | None = None) -> RawTable | None:
    """Read a file, or have it refused in a sentence; anything else fails the test."""
    try:
        return detect.read(path, reading)
    except TableError as why:
        said = str(why)
    assert re.match(r"Table: .+\.$", said, re.DOTALL), said
    return None


def agrees(path: Path, text: str, reading: ReadOptions) -> None:
    parsed = attempt(path, reading)
    if parsed is None:
        return
    found = [note.text for note in parsed.notes if note.code == "F01"]
    alone = any(note.code == "F04" for note in parsed.notes)
    separator = reading.separator or (
        "\x1f" if alone else next((s for s in ",;\t|" if found and repr(s) in found[0]), ",")
    )
    rows = expected(text, separator)
    if any(note.code == "F05" for note in parsed.notes):  # lines above the table are left out
        header = [[cell.strip() for cell in row] for row in rows[1:]].index(list(parsed.columns))
        rows = rows[header + 1 :]
    first, *rest = rows
    assert list(parsed.columns) == [
        cell.strip() or f"column {at}" for at, cell in enumerate(first, start=1)
    ]
    assert len(parsed) == len(rest)
    for at, name in enumerate(parsed.columns):
        marks = reading.marks(name)
        written = [None if row[at].strip() in marks else row[at].strip() for row in rest]
        if isinstance(parsed.columns[name], Words):
            assert cells(parsed, name) == written
        elif not parsed.columns[name].dates:
            point = [w and (w.replace(",", ".") if parsed.decimal else w) for w in written]
            assert cells(parsed, name) == [None if w is None else float(w) for w in point]


quiet = settings(
    max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@quiet
@given(texts)
def test_fuzz_text_agrees_with_the_csv_module_or_is_refused(tmp_path, text):
    path = tmp_path / "f.csv"
    path.write_bytes(text.encode())
    agrees(path, text, options())
    agrees(path, text, options(separator=","))


@quiet
@given(tables, st.sampled_from(",;\t|"), st.integers(0, 30), st.integers(0, 255))
def test_fuzz_written_tables_with_one_byte_changed(tmp_path, rows, separator, at, byte):
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=separator).writerows(rows)
    try:
        content = bytearray(out.getvalue().encode())
    except UnicodeEncodeError:
        return
    path = tmp_path / "f.csv"
    path.write_bytes(content)
    if not content.startswith(b"\xef\xbb\xbf"):
        agrees(path, content.decode(), options(separator=separator))
    if at < len(content):
        content[at] = byte
    path.write_bytes(content)
    for reading in (options(), options(header=False)):
        attempt(path, reading)


@quiet
@given(
    st.binary(max_size=200), st.sampled_from(["csv", "tsv", "dat", "json", "arff", "pq", "csv.gz"])
)
def test_fuzz_bytes_never_raise_anything_else(tmp_path, content, extension):
    path = tmp_path / f"f.{extension}"
    path.write_bytes(content)
    whole = attempt(path)
    with contextlib.suppress(TableError):
        blocks = list(detect.blocks(path, rows=2))
        assert whole is None or sum(map(len, blocks)) == len(whole)
