"""ARFF: declarations, dense and sparse rows, quoting, and what is refused."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from countwise.errors import TableError
from countwise.tables.formats import detect
from countwise.tables.raw_columns import Numbers, RawTable, Words
from countwise.tables.read_options import ReadOptions

from .options import options

WEKA = Path("/usr/share/doc/weka/examples")
HEAD = "@relation r\n@attribute n numeric\n@attribute c {x, y}\n@data\n"


@pytest.fixture
def put(tmp_path: Path):
    def write(content: str | bytes, name: str = "t.arff") -> str:
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


def test_every_kind_of_attribute(put):
    parsed = detect.read(
        put(
            "% about\n\n@RELATION 'a relation'\n"
            "@attribute 'the n' NUMERIC\n@Attribute r real % a remark\n@ATTRIBUTE i\tInteger\n"
            "@attribute c {yes, 'light rain', \"a, b\", it\\'s}\n@attribute s STRING\n"
            "@attribute d date\n@attribute e date 'dd/MM/yyyy HH:mm'\n"
            "@DATA\n"
            "1,2.5,3,yes,'some text',1970-01-02T12:00:00,'03/01/1970 00:00'\n"
            "% between\n\n"
            "?, -1e3 , 4 ,'light rain', word, ?, '01/01/1970 06:00'\n"
            '2,?,?,"a, b",?,"1970-01-01T00:00:00",?% after\n'
        )
    )
    kinds = {"the n": "numeric", "r": "numeric", "i": "numeric", "c": "nominal"}
    assert parsed.kinds == {**kinds, "s": "string", "d": "date", "e": "date"}
    assert cells(parsed, "the n") == [1, None, 2]
    assert parsed.columns["the n"].whole
    assert cells(parsed, "r") == [2.5, -1000, None]
    assert cells(parsed, "i") == [3, 4, None]
    assert cells(parsed, "c") == ["yes", "light rain", "a, b"]
    assert parsed.columns["c"].declared
    assert parsed.columns["c"].distinct == ("yes", "light rain", "a, b", "it\\'s")
    assert cells(parsed, "s") == ["some text", "word", None]
    assert cells(parsed, "d") == [1.5, None, 0]
    assert cells(parsed, "e") == [2, 0.25, None]
    assert parsed.columns["e"].dates


def test_levels_keep_their_declared_order_whether_they_occur_or_not(put):
    parsed = detect.read(
        put("@relation r\n@attribute c {z, y, x}\n@attribute d{b a}\n@data\nx,a\nx,b\n")
    )
    assert parsed.columns["c"] == Words(parsed.columns["c"].codes, ("z", "y", "x"), declared=True)
    assert parsed.columns["c"].codes.tolist() == [2, 2]
    assert parsed.columns["d"].distinct == ("b", "a")


def test_a_question_mark_is_missing_unless_quoted(put):
    head = "@relation r\n@attribute c {'?', a, ''}\n@attribute s string\n@data\n"
    text = head + "?,?\n'?','?'\n'',''\na,b\n"
    parsed = detect.read(put(text))
    assert cells(parsed, "c") == [None, "?", "", "a"]
    assert cells(parsed, "s") == [None, "?", "", "b"]


def test_usual_marks_are_levels_here_unless_asked_for(put):
    path = put("@relation r\n@attribute c {NA, a}\n@attribute s string\n@data\nNA,NA\na,x\n")
    assert cells(detect.read(path), "c") == ["NA", "a"]
    parsed = detect.read(path, options(marks={"c": ("NA",)}))
    assert cells(parsed, "c") == [None, "a"]
    assert parsed.columns["c"].distinct == ("a",)
    assert cells(parsed, "s") == ["NA", "x"]


def test_escapes(put):
    text = r"""@relation r
@attribute 'it\'s' {'don\'t', "say \"hi\"", 'back\\slash', 'tab\there'}
@attribute s string
@data
'don\'t','100\%'
"say \"hi\"",'l1\nl2'
'back\\slash','\u00e9'
'tab\there','a % b'
"""
    parsed = detect.read(put(text))
    assert cells(parsed, "it's") == ["don't", 'say "hi"', "back\\slash", "tab\there"]
    assert cells(parsed, "s") == ["100%", "l1\nl2", "é", "a % b"]


def test_sparse_rows(put):
    text = (
        "@relation r\n@attribute a numeric\n@attribute b {u, v, 'w w'}\n@attribute c numeric\n"
        "@attribute s string\n@data\n"
        "{0 5, 2 1.5}\n{}\n{ 1 'w w' , 3 'x, y'} % remark\n{1 ?,2 ?}\n1,v,2,z\n"
    )
    parsed = detect.read(put(text))
    assert cells(parsed, "a") == [5, 0, 0, 0, 1]
    assert cells(parsed, "b") == ["u", "u", "w w", None, "v"]
    assert cells(parsed, "c") == [1.5, 0, 0, None, 2]
    assert cells(parsed, "s") == [None, None, "x, y", None, "z"]


@pytest.mark.parametrize("row", ["{5 1}", "{1 y, 0 1}", "{0}", "{0 1", "{x y}", "{0 1, 0 2}"])
def test_sparse_rows_that_make_no_sense(put, row):
    assert "; row 2 is" in refusal(put(HEAD + f"1,x\n{row}\n"))


def test_blanks_and_tabs_between_cells(put):
    parsed = detect.read(put(HEAD + "1\tx\n2   y\n3 , y\n 4,'x' \n"))
    assert cells(parsed, "n") == [1, 2, 3, 4]
    assert cells(parsed, "c") == ["x", "y", "y", "x"]


def test_the_caller_may_say_otherwise(put):
    head = "@relation r\n@attribute a numeric\n@attribute b {1, 2}\n@attribute s string\n@data\n"
    text = head + "01,2,2024-01-01\n3,1,?\n"
    reading = options(text="a", number="b", dates="s")
    parsed = detect.read(put(text), reading)
    assert cells(parsed, "a") == ["01", "3"]
    assert cells(parsed, "b") == [2, 1]
    assert cells(parsed, "s") == [19723, None]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (HEAD + "1,x\n2,z\n", "column 'c' declares 'x', 'y' but row 2 holds 'z'."),
        (HEAD + "1,X\n", "Did you mean 'x'?"),
        (HEAD + "a,x\n", "column 'n' is numeric but row 1 holds 'a'."),
        (HEAD + "1_0,x\n", "column 'n' is numeric but row 1 holds '1_0'."),
        (HEAD + "1,x\n\n1,x,3\n", "must hold 2 cells; row 2 holds 3"),
        (HEAD + "1\n", "must hold 2 cells; row 1 holds 1"),
        (HEAD + "1,'x\n", "must hold 2 cells; row 1 cannot be split"),
        (HEAD + "1,x, {5}\n", "carries the weight of an instance"),
        (HEAD, "must hold rows below @data"),
        ("@relation r\n@attribute a numeric\n", "below a line @data"),
        ("@relation r\n@data\n1\n", "must declare its attributes"),
        ("@relation r\nattribute a numeric\n@data\n1\n", "line 2 is 'attribute a numeric'"),
        ("@relation r\n@attribute a numbers\n", "has the unknown type 'numbers'"),
        ("@relation r\n@attribute a\n", "@attribute must give a name and a type"),
        ("@relation r\n@attribute a relational\n", "is relational"),
        ("@relation r\n@attribute a {x, y\n", "the levels of 'a' cannot be read"),
        ("@relation r\n@attribute a {x, x}\n", "got 'x' twice"),
        ("@relation r\n@attribute a date 'EEE'\n", "uses 'EEE', which is not known"),
        (
            "@relation r\n@attribute a real\n@attribute b real\n@attribute a real\n@data\n1,2,3\n",
            "'a' names attributes 1 and 3",
        ),
        ("@relation r\n@attribute d date yyyy\n@data\nx\n", "holds dates but row 1 holds 'x'"),
        (HEAD + "1,\0\n", "NUL bytes"),
    ],
)
def test_refusals(put, text, said):
    assert said in refusal(put(text))


def test_encodings_and_gzip(put):
    text = "@relation r\n@attribute größe {é, ü}\n@data\né\nü\n"
    for encoding, codes in (("utf-8", []), ("utf-8-sig", []), ("latin-1", ["F02"])):
        parsed = detect.read(put(gzip.compress(text.encode(encoding)), "t.arff.gz"))
        assert cells(parsed, "größe") == ["é", "ü"]
        assert [note.code for note in parsed.notes] == codes


def test_windows_1252_is_told_by_its_bytes(put):
    text = "@relation r\n@attribute preis {'5 €', é}\n@data\n'5 €'\né\n"
    parsed = detect.read(put(text.encode("cp1252")))
    assert cells(parsed, "preis") == ["5 €", "é"]
    assert [note.text for note in parsed.notes] == [
        "The file is not UTF-8, so Windows-1252 was assumed."
    ]


def test_columns_left_out_are_not_looked_at(put):
    path = put(HEAD + "1,x\nfour,z\n")
    assert "holds 'four'" in refusal(path)
    parsed = detect.read(path, options(skip="n", only="n"))
    assert [cells(parsed, name) for name in ("n", "c")] == [[None, None]] * 2
    (block,) = detect.blocks(put(HEAD + "1,x\nfour,y\n"), options(only="c"))
    assert cells(block, "n") == [None, None]
    assert cells(block, "c") == ["x", "y"]
    assert "row 2 holds 1" in refusal(put(HEAD + "1,x\n1\n"), options(only=()))


def test_column_names_are_those_of_the_columns(put):
    long = "".join(f"@attribute a{k} numeric % {'x' * 99}\r\n" for k in range(20_000))
    for head in (HEAD, "% @data\n" + HEAD.replace("@data", " @DATA"), HEAD.replace("\n", "\r")):
        assert detect.names(put(head + "1,x")) == ["n", "c"]
    assert detect.names(put("@relation r\n" + long + "@data\n1")) == [
        f"a{k}" for k in range(20_000)
    ]
    for encoding in ("utf-8", "utf-8-sig", "latin-1"):
        text = "@relation r\n@attribute größe {é, ü}\n@data\né\nü\n"
        assert detect.names(put(text.encode(encoding))) == ["größe"]
    with pytest.raises(TableError, match="below a line @data"):
        detect.names(put("@relation r\n@attribute a numeric\n"))


def test_line_ends(put):
    for end in ("\r\n", "\r"):
        assert cells(detect.read(put((HEAD + "1,x\n2,y\n").replace("\n", end))), "c") == ["x", "y"]


def test_only_real_line_ends_end_a_row(put):
    text = "@relation r\n@attribute s string\n@data\n'a\u2028b'\n'c\x0cd\x85e'\n"
    assert cells(detect.read(put(text)), "s") == ["a\u2028b", "c\x0cd\x85e"]


def test_blocks_fall_back_to_the_whole(put):
    (block,) = detect.blocks(put(HEAD + "1,x\n2,y\n"), rows=1)
    assert len(block) == 2


def test_more_rows_than_are_taken_at_once(put):
    parsed = detect.read(put(HEAD + "1.25,x\n?,y\n" * 12_345))
    assert cells(parsed, "n") == [1.25, None] * 12_345
    assert cells(parsed, "c") == ["x", "y"] * 12_345


@pytest.mark.skipif(not WEKA.is_dir(), reason="Weka's examples are not installed")
@pytest.mark.parametrize("path", sorted(WEKA.glob("*.arff")), ids=lambda path: path.name)
def test_examples_of_weka(path):
    parsed = detect.read(path)
    lines = path.read_text("latin-1").splitlines()
    at = next(k for k, line in enumerate(lines) if line.strip().lower() == "@data")
    rows = [line for line in lines[at + 1 :] if line.strip() and not line.startswith("%")]
    assert len(parsed) == len(rows)
    declared = [line for line in lines[:at] if line.lower().startswith("@attribute")]
    assert len(parsed.columns) == len(declared)


WORDS = ("@attribute", "@data", "@relation", "numeric", "string", "{a,b}", "{0 1}", "{", "}", "'")
SIGNS = ('"', "?", ",", "%", "\\", "a", "1", "\n", " ", "é")


@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.sampled_from(WORDS + SIGNS), max_size=40).map("".join))
def test_fuzz_never_raises_anything_else(tmp_path, tail):
    path = tmp_path / "f.arff"
    for head in ("", HEAD, "@relation r\n@attribute "):
        path.write_text(head + tail)
        try:
            parsed = detect.read(path)
        except TableError:
            continue
        assert len({len(raw) for raw in parsed.columns.values()}) == 1


def test_values_survive_a_round_trip(put):
    rng = np.random.default_rng(0)
    values = rng.normal(size=500)
    parsed = detect.read(put(HEAD + "".join(f"{value!r},x\n" for value in values.tolist())))
    assert np.array_equal(parsed.columns["n"].values, values)
