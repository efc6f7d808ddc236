"""What the inner parts of cli answer, one small example each."""

from countwise.cli.options import NumberList, read_gains, split_names
from countwise.cli.output import plain


def test_split_names_example():
    assert split_names("a, b") == ("a", "b")


def test_read_gains_example():
    assert read_gains("sample:credit-g", "sample", None, None, False).classes == ("good", "bad")


def test_number_list_example():
    assert NumberList().convert("1-3,7", None, None) == [1, 2, 3, 7]
    assert repr(NumberList(decimals=True).convert("1.5,maximum", None, None)) == "[1.5, inf]"


def test_plain_example():
    assert plain({"a": (1.5, float("nan"))}) == {"a": [1.5, None]}
