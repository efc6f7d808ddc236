"""The compiled reader of plain lines says what the general reader says, or leaves it to that."""

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from countwise.tables.formats import csv
from countwise.tables.formats.csv_dialect import Dialect, sniff
from countwise.tables.formats.csv_fast import PlainRows
from countwise.tables.formats.source import ByteFacts, LookAhead, Source, look_through
from countwise.tables.raw_columns import Numbers

from .options import options

READING = options(number="xy", text="w", alone=True)

NUMBERS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.integers(-(10**20), 10**20).map(str),
    st.decimals(-1000, 1000, places=4).map(str),
    st.sampled_from(
        ["", "?", "NA", " 1.5 ", " ", "1.", ".5", "-.5", "+2", "1e5", "1E-7", "-0", "0.1e-30"],
    ),
    st.sampled_from(
        ["123456789.123456789123456789", "0.30000000000000004", "9007199254740993", "5e-324"],
    ),
    st.sampled_from(["abc", "1,5", "--1", "1e", ".", "0x1F", "nan", "inf", "1 2", "1_0", "e5"]),
)
WORDS = st.text(st.sampled_from("ab é€?0 -"), max_size=12)


def file_of(folder, content):
    path = folder / "rows.csv"
    path.write_bytes(content)
    return Source.at(path)


def general(source):
    return [dict(own.columns) for own in csv.blocks(source, READING, 1 << 20)]


def same(one, other):
    if isinstance(one, Numbers):
        # A zero has no sign where it was read as a whole number.
        return (one.values + 0.0).tobytes() == (other.values + 0.0).tobytes()
    words = [None if code < 0 else one.distinct[code] for code in one.codes]
    return words == [None if code < 0 else other.distinct[code] for code in other.codes]


@settings(max_examples=300)
@given(
    st.lists(st.tuples(NUMBERS, WORDS, NUMBERS), min_size=1, max_size=6),
    st.sampled_from(["\n", "\r\n", "\n\n"]),
    st.booleans(),
)
def test_every_bit_is_that_of_the_general_reader(tmp_path_factory, rows, ending, ended):
    lines = [",".join(cell.replace(",", ";") for cell in row) for row in rows]
    body = ending.join(lines) + (ending if ended else "")
    source = file_of(tmp_path_factory.mktemp("plain"), b"x,w,y\n" + body.encode())
    dialect = sniff(source, READING)
    found = PlainRows(dialect, READING).read(body.encode())
    if found is not None:
        (wanted,) = general(source)
        assert list(found.columns) == list(wanted)
        assert all(same(found.columns[name], wanted[name]) for name in wanted)


def _half_way(whole, places):
    """Write the number between two neighboring doubles, with all its digits."""
    number = Decimal(2 * whole + 1) / 2**places
    return format(number, "f")


HALF_WAY = st.builds(_half_way, st.integers(2**52, 2**53 - 1), st.integers(2, 5))
DIGITS = st.builds(
    lambda whole, tens: f"{whole}e{tens}",
    st.integers(0, 10**19 - 1),
    st.integers(-72, -4),
)
FRACTIONS = st.builds(
    lambda zeros, whole: f"-0.{'0' * zeros}{whole}", st.integers(0, 20), st.integers(0, 10**18)
)


@settings(max_examples=300)
@given(st.lists(HALF_WAY | DIGITS | FRACTIONS, min_size=1, max_size=20))
def test_a_number_is_the_double_nearest_to_its_digits(texts):
    found = plain("".join(f"{text},\n" for text in texts).encode(), names=("x", "w"))
    assert found.columns["x"].values.tolist() == [float(text) for text in texts]


def plain(content, reading=READING, names=("x", "w", "y"), separator=","):
    dialect = sniff_of(names, separator)
    return PlainRows(dialect, reading).read(content)


def sniff_of(names, separator):
    return Dialect("utf-8", separator, names, 0, [], ByteFacts())


def test_ordinary_lines_are_taken():
    found = plain(b"1,a,2.5\r\n\n-3e2,bb,NA\n 4 ,,0.1\n5,a longer text,6")
    assert found.columns["x"].values.tolist() == [1.0, -300.0, 4.0, 5.0]
    assert found.columns["y"].values.tolist()[0] == 2.5
    assert np.isnan(found.columns["y"].values[1])
    assert found.columns["w"].distinct == ("a", "bb", "a longer text")
    assert found.columns["w"].codes.tolist() == [0, 1, -1, 2]


@pytest.mark.parametrize(
    "content",
    [
        b"1,a\n",  # too few cells
        b"1,a,2,3\n",  # too many
        b"1,a,2\n \n",  # a line of blanks
        b"1,a,2\r3,b,4\n",  # an end of line of its own kind
        b"1,a,two\n",
        b"1,a,1e400\n",
        b"1,a,9007199254740993\n",  # a double would round it
        b"1,a,inf\n",
        b"1,a,-\n",
    ],
)
def test_what_is_odd_is_left_to_the_general_reader(content):
    assert plain(content) is None


def test_a_number_that_means_missing_is_read_as_text():
    reading = options(number="xy", marks={"x": ("-9",), "y": ("-9",)}, alone=True)
    found = plain(b"-9,a,1\n2,b,-9.0\n", reading)
    assert np.isnan(found.columns["x"].values[0])
    assert found.columns["x"].values[1] == 2.0
    assert found.columns["y"].values.tolist() == [1.0, -9.0]


@pytest.mark.parametrize("separator", ["e", "1", "-", "."])
def test_separators_that_stand_in_numbers_are_left_alone(separator):
    assert not PlainRows(sniff_of(("x", "w", "y"), separator), READING).able


def test_many_texts_are_kept_apart():
    texts = [f"level number {n}" if n % 2 else str(n) for n in range(5000)]
    body = "".join(f"1,{text},2\n" for text in texts + texts[::-1]).encode()
    words = plain(body).columns["w"]
    assert words.distinct == tuple(texts)
    assert words.codes.tolist() == [*range(5000), *range(4999, -1, -1)]


def test_a_column_of_too_many_texts_is_given_up_for_good():
    rows = PlainRows(sniff_of(("x", "w", "y"), ","), READING)
    body = b"".join(b"1,%d,2\n" % n for n in range(2**20 + 1))
    assert rows.read(body) is None
    assert not rows.able


@given(st.binary(max_size=80))
def test_a_look_ahead_finds_what_a_look_finds(tmp_path_factory, content):
    folder = tmp_path_factory.mktemp("look")
    content = (content or b"a").removeprefix(b"\x1f\x8b").replace(b"\0", b"0") or b"a"
    source = file_of(folder, content)
    ahead = LookAhead(source.path)
    wanted = ByteFacts(
        _is_utf8(content), content.count(b'"'), b"0x" in content.lower(), len(content)
    )
    assert look_through(source, "utf-8", 0) == wanted
    assert ahead(source, "utf-8", 0) == wanted


def _is_utf8(content):
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def test_a_look_ahead_leaves_what_is_wrong_to_who_asks(tmp_path):
    LookAhead(str(tmp_path / "none.csv"))
    source = file_of(tmp_path, b"a,b\n\0,2\n")
    ahead = LookAhead(source.path)
    with pytest.raises(ValueError, match="NUL bytes"):
        ahead(source, "utf-8", 0)
