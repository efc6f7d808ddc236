"""Verdicts are computed from the printed figure, ours, the interval and the kind alone."""

from dataclasses import replace

import pytest

from countwise_papers.findings import (
    VERDICTS,
    Finding,
    above,
    at_least,
    at_most,
    exactly,
    figure,
    held,
    judge,
    not_run,
    part,
    read_printed,
    tally,
)
from countwise_papers.reproduce import reproduce


@pytest.mark.parametrize(
    ("ours", "verdict"),
    [(0.0604, "agrees"), (0.0650, "agrees"), (0.0651, "differs"), (0.05, "differs")],
)
def test_a_figure_agrees_to_its_printed_digits(ours, verdict):
    assert judge("0.06", ours) == verdict
    assert figure("P4.9", "x", "0.06", ours).verdict == verdict


@pytest.mark.parametrize(
    ("ours", "interval", "verdict"),
    [
        (0.902, (0.8, 1.0), "agrees"),
        (0.88, (0.8, 0.95), "agrees within the interval"),
        (0.88, (0.86, 0.897), "agrees within the interval"),  # print may be 0.895 rounded
        (0.88, (0.87, 0.89), "differs"),
        (0.95, (0.91, 0.99), "differs"),
    ],
)
def test_a_measured_figure_agrees_within_its_interval(ours, interval, verdict):
    found = figure("P1.10", "x", "0.90", ours, interval, "Why.")
    assert found.verdict == verdict == judge("0.90", ours, interval)
    assert (found.value, found.low, found.high) == (ours, *interval)
    assert found.reason.endswith("Why.") == (verdict == "differs")


@pytest.mark.parametrize(
    ("printed", "ours", "interval", "kind", "verdict"),
    [
        ("", 0.5, None, "figure", None),
        ("", 0.5, (0, 1), "claim", None),
        ("", "No", None, "word", None),
        ("0.5463", 0.2, (0.2, 0.2), "arithmetic", "printed figure is wrong"),
        ("0.5463", 0.5463, (0.2, 0.2), "arithmetic", "agrees"),
        ("0.5463", 0.3, (0.2, 0.2), "arithmetic", "differs"),
        ("0.5463", 0.3, None, "arithmetic", "differs"),
        ("60% to 80%", 0.6, (0.6, 0.8), "claim", "agrees"),
        ("60% to 80%", 0.59, (0.6, 0.8), "claim", "differs"),
        ("usually", True, None, "claim", "agrees"),
        ("usually", False, None, "claim", "differs"),
        ("No", "No", None, "word", "agrees"),
        ("No", "Yes", None, "word", "differs"),
        ("1.9144", 2.0271, None, "other data", "other data"),
        ("1.9144", None, None, "not run", "cannot be run"),
        ("1", 0.9999, None, "figure", "differs"),  # a printed 1 is meant exactly
        ("1", 1.0, None, "figure", "agrees"),
        ("1.2e-9", 1.21e-9, None, "figure", "agrees"),
        ("1.2e-9", 1.26e-9, None, "figure", "differs"),
        ("0.06", float("nan"), None, "figure", "differs"),
        ("0.06", None, None, "figure", "differs"),
    ],
)
def test_judge_by_kind(printed, ours, interval, kind, verdict):
    assert judge(printed, ours, interval, kind) == verdict


@pytest.mark.parametrize(
    ("interval", "inside", "outside"),
    [
        (at_most(1), (1, -5), (1.1,)),
        (at_least(1), (1, 5), (0.9,)),
        (above(0), (1e-300, 5), (0, -1)),
        (exactly(2), (2,), (1, 3)),
    ],
)
def test_intervals_of_claims(interval, inside, outside):
    assert {held("P0.1", "x", value, interval, printed="p").verdict for value in inside} == {
        "agrees"
    }
    assert {held("P0.1", "x", value, interval).holds for value in outside} == {False}


def test_a_printed_number_and_its_last_digit():
    assert read_printed("0.06") == pytest.approx((0.06, 0.005))
    assert read_printed("88") == pytest.approx((88, 0.5))


def test_verdicts_are_counted_best_first_and_additions_apart():
    every = [
        not_run("P0.1", "a", "No data."),
        figure("P0.1", "b", "1.5", 2.0, exactly(2.0), "1 + 1 = 2", kind="arithmetic"),
        held("P0.1", "c", False, printed="1"),
        held("P0.1", "d", True, printed="1"),
        held("P0.1", "e", True),
        figure("P0.1", "f", "", 0.5),
    ]
    left_out = ("agrees within the interval", "other data")
    assert list(tally(every)) == [verdict for verdict in VERDICTS if verdict not in left_out]
    assert sum(tally(every).values()) == 4


def test_the_verdict_cannot_be_set_and_is_computed_again_from_plain_data():
    found = figure("P4.9", "x", "0.06", 0.06)
    with pytest.raises(TypeError):
        Finding("P4.9", "x", "0.06", "0.06", verdict="differs")
    plain = {**found.to_dict(), "value": 0.5, "verdict": "agrees"}
    assert Finding.from_dict(plain).verdict == "differs"


def test_a_docstring_is_title_and_protocol():
    @part("P4.2", data=["iris"], cost=3)
    def two_words(work):
        """A title.

        How it
        is made.
        """
        yield "remark"

    assert (two_words.name, two_words.ledger, two_words.data) == (
        "p4-two-words",
        ("P4.2",),
        ("iris",),
    )
    assert (two_words.title, two_words.protocol) == ("A title", "How it is made.")
    assert two_words.run(None).remarks == ["remark"]


@pytest.fixture(scope="module")
def quick_findings(tmp_path_factory):
    parts = [
        "p0-distances", "p0-table-1", "p2-weather", "p3-rule", "p4-meningitis", "p4-tax",
        "p4-vertebrates", "p4-independent", "p4-boosting", "p4-neighbors",
    ]  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COUNTWISE_CACHE", str(tmp_path_factory.mktemp("kept")))
        return reproduce(only=parts).findings


def test_every_verdict_changes_with_ours(quick_findings):
    for found in quick_findings:
        if found.kind == "word":
            assert replace(found, ours="something else").verdict == "differs"
        elif found.verdict == "printed figure is wrong":
            assert replace(found, value=float(found.printed)).verdict == "agrees"
            assert replace(found, value=found.value + 1).verdict == "differs"
        elif found.verdict is not None:
            shift = 1 + abs(found.value)
            moved = [end if end is None else end + shift for end in (found.low, found.high)]
            if found.kind == "claim":  # the interval is what the claim states
                moved = [found.low, found.high]
            changed = [
                replace(found, value=found.value + shift, low=moved[0], high=moved[1]),
                replace(found, value=found.value - shift, low=moved[0], high=moved[1]),
            ]
            assert found.verdict in ("agrees", "agrees within the interval")
            assert "differs" in {other.verdict for other in changed}
        else:
            assert found.printed == ""


def test_printed_figures_are_shown_as_printed(quick_findings):
    printed = {found.printed for found in quick_findings if found.ledger == "P3.2"}
    assert printed == {"1.9144", "96.46"}
    gain = next(found for found in quick_findings if found.printed == "1.9144")
    assert gain.verdict == "agrees within the interval"  # of the rounding of the printed cells
    assert gain.ours.startswith("1.9143 ")
    product = next(found for found in quick_findings if found.printed == "0.05405")
    assert product.verdict == "printed figure is wrong"


def test_the_choice_of_k_has_no_verdict(quick_findings):
    choice = next(found for found in quick_findings if found.what.startswith("choice of k"))
    assert (choice.verdict, choice.holds) == (None, None)
