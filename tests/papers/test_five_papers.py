"""The papers' tables as tests: cells inside their interval, to printed digits, or explained."""

import pytest

from countwise_papers.findings import VERDICTS
from countwise_papers.reproduce import parts, reproduce

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def remade(uci, tmp_path_factory):
    """Run parts by name, once each; skip a test one of whose sets is not here."""
    needed = {part.name: part.data for part in parts()}

    def run(*only, quick=False):
        for name in only:
            for sample in needed[name]:
                uci(sample)
        return reproduce(only=list(only), quick=quick)

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COUNTWISE_CACHE", str(tmp_path_factory.mktemp("kept")))
        yield run


def test_p1_every_cell_of_table_1_lies_within_the_interval(remade):
    cells = [f for f in remade("p1-table-1").findings if f.table == "Table 1"]
    assert len(cells) == 20
    assert {f.verdict for f in cells} <= {"agrees", "agrees within the interval"}


def test_p1_k_and_p_of_the_paper_are_near_the_best_on_average(remade):
    found = {f.what: f for f in remade("p1-figure-1").findings}
    mean = next(f for what, f in found.items() if what.startswith("the average"))
    assert mean.verdict == "agrees"
    assert all(f.value is not None for f in found.values())
    judged = [what for what, f in found.items() if f.verdict is not None]
    assert judged == [mean.what, "k matters more than p: ratio of the ranges of mean accuracy"]


def test_p2_and_p4_to_the_printed_digits(remade):
    parts = [
        "p2-weather", "p2-distance", "p2-numbers", "p2-neurons", "p2-relevance", "p4-meningitis",
        "p4-tax", "p4-vertebrates", "p4-zero", "p4-neighbors", "p4-least-error", "p4-logistic",
        "p4-independent", "p4-boosting",
    ]  # fmt: skip
    found = remade(*parts).findings
    wrong = [f.what for f in found if f.verdict == "printed figure is wrong"]
    assert wrong == ["P(x | No)"]
    assert {f.verdict for f in found} == {"agrees", "printed figure is wrong", None}
    assert [f.what for f in found if f.holds is False] == []


def test_p2_condensing_reduces_by_60_to_80_per_cent_on_average(remade):
    found = remade("p2-condensed").findings
    *single, average = found
    assert average.what.startswith("average")
    assert average.verdict == "agrees"
    assert len(single) == 15
    assert {f.verdict for f in single} == {None}  # the lecture speaks of the average only


def test_p3_every_hidden_boundary_is_recovered(remade):
    found = remade("p3-search", quick=True).findings
    by_words = {f.what: f for f in found}
    assert by_words["all 25 hidden boundaries found"].value <= 1e-4
    assert by_words["levels of five similar columns, M = 10 000"].verdict == "agrees"
    assert by_words["test accuracy (percent)"].value > 99
    assert by_words["no smoothing (k = 0) is best"].verdict == "agrees"
    beside = next(f for what, f in by_words.items() if what.startswith("the paper's own"))
    assert beside.verdict == "agrees"
    volumes = [f.what for f in found if "equal and unequal" in f.what and f.holds is not None]
    assert len(volumes) == 1
    assert {f.what for f in found if f.holds is False} <= set(volumes)


def test_p3_figures_of_other_rows_are_shown_and_not_judged(remade):
    found = remade("p3-search", quick=True).findings
    numbers = [f for f in found if f.kind == "other data"]
    assert {f.verdict for f in numbers} == {"other data", None}
    assert all(f.ours for f in numbers)
    table_1 = [f.printed for f in found if f.table == "Table I" and f.column == "gain"]
    assert table_1 == ["1.9149", "1.6857", "1.6332", "1.5899", "1.5693"]
    judged = {f.ledger for f in found if f.verdict in ("agrees", "differs")}
    assert judged == {"P3.3", "P3.4", "P3.6", "P3.7"}


def test_p0_table_3_has_sixty_figures_and_the_claim_is_judged(remade):
    run = remade("p0-table-3", quick=True)
    found = run.findings
    sizes, distance = run.results[0].outcome.remarks
    assert distance.startswith("Our argmax differs from the printed figures by ")
    assert sizes.endswith("anneal 798 (here 898), heart-c 920 (here 303), heart-h 920 (here 294).")
    cells = [f for f in found if f.table == "Table 3"]
    assert len(cells) == 90  # sixty printed ones, naive Bayes in two readings
    assert all(f.verdict in VERDICTS and f.low <= f.value <= f.high for f in cells)
    claim = next(f for f in found if f.what.startswith("cells in which the wheel"))
    assert claim.verdict == "differs"
    assert claim.value <= 5  # of thirty, where the paper prints 26
    wins = [f for f in found if f.ledger == "P0.9"]
    assert [f.verdict for f in wins] == ["differs", "differs"]
    assert len(run.results[0].outcome.pictures) == 2
    readings = [f for f in found if f.what.startswith("reading:")]
    assert len(readings) == 10
    assert [f.verdict for f in readings] == ["differs"] + [None] * 9  # the others are our guesses
