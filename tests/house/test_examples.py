"""What the inner parts of house answer, one small example each."""

from countwise.errors import did_you_mean, listing


def test_did_you_mean_example():
    assert did_you_mean("outlok", ["outlook", "windy"]) == " Did you mean 'outlook'?"
    assert did_you_mean("zebra", ["outlook", "windy"]) == ""


def test_listing_example():
    assert listing(["a", "b", "c"], most=2) == "'a', 'b' and 1 more"
