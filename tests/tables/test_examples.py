"""What the inner parts of tables answer, one small example each."""

import numpy as np

import countwise as cw
from countwise.numeric import read_number
from countwise.tables.cell_forms import read_date
from countwise.tables.code_levels import in_order
from countwise.tables.formats.detect import is_delimited
from countwise.tables.formats.frames import record_columns
from countwise.tables.raw_columns import Numbers
from countwise.tables.read import extend
from countwise.tables.schema import labels_array
from countwise.tables.text_values import drop_marks

from .options import options


def test_read_date_example():
    found = [read_date(text) for text in ("1970-01-02 12:00", "1970/01/03", "2023-02-30")]
    assert found == [1.5, 2.0, None]


def test_drop_marks_example():
    assert (
        repr(drop_marks(Numbers(np.array([1.0, -999.0])), frozenset({"", "-999"})).values)
        == "array([ 1., nan])"
    )


def test_read_number_example():
    assert (read_number(" 00202 "), read_number("1,5", decimal=","), read_number("12a")) == (
        202.0,
        1.5,
        None,
    )


def test_in_order_example():
    assert (in_order(["10", "9", "1"]), in_order(["b", "a"])) == (["1", "9", "10"], ["a", "b"])


def test_is_delimited_example():
    assert (is_delimited("new.CSV"), is_delimited("new.csv.gz"), is_delimited("new.parquet")) == (
        True,
        False,
        False,
    )


def test_record_columns_example():
    assert sorted(record_columns([{"sky": "sun"}, {"sky": "rain", "hours": 2}])) == ["hours", "sky"]


def test_extend_example():
    first = cw.read({"sky": ["sun", "rain"], "play": ["yes", "no"]}, target="play")
    more = extend({"sky": ["fog"], "play": ["yes"]}, first.schema)
    assert (more.schema["sky"].levels, more.codes("sky").tolist()) == (("rain", "sun", "fog"), [2])


def test_left_out_example():
    assert options(only=["age"]).column("name").left_out is True


def test_labels_array_example():
    assert (labels_array(("a", "b")).dtype.kind, labels_array((1, "a")).tolist()) == ("U", [1, "a"])
