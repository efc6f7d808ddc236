"""What the inner parts of cli answer, one small example each."""

import numpy as np

from countwise.cli.options import NumberList, read_gains, split_names
from countwise.cli.output import plain
from countwise.predict_file import csv_lines, quoted, share_cells, text_cells


def test_split_names_example():
    assert split_names("a, b") == ("a", "b")


def test_read_gains_example():
    assert read_gains("sample", "sample:credit-g").classes == ("good", "bad")


def test_number_list_example():
    assert NumberList().convert("1-3,7", None, None) == [1, 2, 3, 7]
    assert repr(NumberList(decimals=True).convert("1.5,maximum", None, None)) == "[1.5, inf]"


def test_quoted_example():
    assert (quoted("good"), quoted('5" or more, new')) == (b"good", b'"5"" or more, new"')


def test_text_cells_example():
    assert text_cells(np.array([1, 0, -1]), ["a", "bc"]).tobytes() == b"bca\x00\x00\x00"


def test_share_cells_example():
    assert share_cells(np.array([0.1234567, 1.0])).tobytes() == b"0.1234571.000000"


def test_csv_lines_example():
    cells = text_cells(np.array([1, 0]), ["a", "bc"])
    assert csv_lines([cells, share_cells(np.array([0.25, 0.5]))]) == b"bc,0.250000\na,0.500000\n"


def test_plain_example():
    assert plain({"a": (1.5, float("nan"))}) == {"a": [1.5, None]}
