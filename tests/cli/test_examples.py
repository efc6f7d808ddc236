"""What the inner parts of cli answer, one small example each."""

import numpy as np

from countwise.cli.explain import numbers_of
from countwise.cli.options import gain_of, split_names
from countwise.cli.output import plain
from countwise.predict_file import csv_lines, quoted, share_cells, text_cells


def test_split_names_example():
    assert split_names("a, b") == ("a", "b")


def test_gain_of_example():
    assert gain_of("sample", "sample:credit-g").classes == ("good", "bad")


def test_numbers_of_example():
    assert numbers_of("1-3,7") == [1, 2, 3, 7]


def test_numbers_of_of_neighbors_example():
    from countwise.cli.neighbors import numbers_of

    assert numbers_of("-k", "1-3,7") == [1.0, 2.0, 3.0, 7.0]
    assert repr(numbers_of("-p", "1.5,maximum")) == "[1.5, inf]"


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
