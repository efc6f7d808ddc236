"""What the inner parts of cli answer, one small example each."""

from countwise.cli.asked import split_names
from countwise.cli.decisions import gain_of
from countwise.cli.explain import numbers_of


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
