"""What the inner parts of house answer, one small example each."""

import re

import pytest

import countwise as cw
from countwise.errors import ParameterError, did_you_mean, listing
from countwise.params import Parameter, check, number
from countwise.testing.laws import mirror


def test_did_you_mean_example():
    assert did_you_mean("outlok", ["outlook", "windy"]) == " Did you mean 'outlook'?"
    assert did_you_mean("zebra", ["outlook", "windy"]) == ""


def test_listing_example():
    assert listing(["a", "b", "c"], most=2) == "'a', 'b' and 1 more"


def test_check_example():
    with pytest.raises(
        ParameterError,
        match=re.escape("NaiveBayes: smoothing must be a number of at least 0; got -1."),
    ):
        check(
            "NaiveBayes",
            {"smoothing": Parameter(number(at_least=0), "pseudo-count")},
            {"smoothing": -1},
        )


def test_mirror_example():
    assert mirror(cw.read("sample:weather")).names[0] == "play"
