"""The reproduction itself: cache, choice of parts, pages; every id has a part."""

import json
import re

import numpy as np
import pytest

from countwise.errors import ParameterError
from countwise_papers import reproduce as reproduce_module
from countwise_papers.claims import LEDGER, PAPERS
from countwise_papers.findings import Drawing, Outcome, Part, Work, figure
from countwise_papers.pages import page_of, render, write_pages
from countwise_papers.planted_data import GAIN, HIDDEN, HiddenGrid
from countwise_papers.reproduce import Reproduction, parts, reproduce


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("COUNTWISE_CACHE", str(tmp_path / "kept"))


def test_the_ledger_is_whole_and_every_id_has_a_part():
    numbers = {"p0": 9, "p1": 12, "p2": 12, "p3": 9, "p4": 12}
    wanted = {f"P{p[1]}.{at}" for p, n in numbers.items() for at in range(1, n + 1)}
    assert set(LEDGER) == wanted
    assert {name for part in parts() for name in part.ledger} == wanted
    names = [part.name for part in parts()]
    assert len(names) == len(set(names))
    for part in parts():
        assert part.name.startswith(part.paper)
        assert len(part.protocol) > 30
        assert {name.split(".")[0].lower() for name in part.ledger} == {part.paper}


def test_an_outcome_survives_json():
    nan = figure("P4.9", "x", "0.06", float("nan"))
    out = Outcome([nan], [Drawing("t", "<svg/>", "w")], ["r"])
    plain = json.loads(json.dumps(out.to_dict(), allow_nan=False))
    back = Outcome.from_dict(plain)
    assert back.findings[0].value is None
    assert back.findings[0].verdict == nan.verdict == "differs"
    assert (back.pictures, back.remarks) == (out.pictures, out.remarks)


def test_a_finished_part_is_not_run_again(monkeypatch):
    first = reproduce(["p4"], only=["P4.2"])
    assert [result.from_cache for result in first.results] == [False]
    again = reproduce(["p4"], only=["p4-meningitis"])
    assert [result.from_cache for result in again.results] == [True]
    assert again.findings == first.findings
    assert again.results[0].seconds == first.results[0].seconds
    monkeypatch.setattr(reproduce_module, "code_version", lambda: "another")
    assert [result.from_cache for result in reproduce(["p4"], only=["P4.2"]).results] == [False]
    assert [
        result.from_cache for result in reproduce(["p4"], only=["P4.2"], quick=True).results
    ] == [False]


def test_a_damaged_cache_is_no_result(tmp_path):
    reproduce(["p4"], only=["P4.2"])
    for path in (tmp_path / "kept").rglob("*.json"):
        path.write_text("{")
    assert not reproduce(["p4"], only=["P4.2"]).results[0].from_cache


def test_only_shows_the_ids_that_were_asked_for():
    found = reproduce(["p4"], only=["P4.4"])
    assert {finding.ledger for finding in found.findings} == {"P4.4"}
    assert list(found.by_id()) == ["P4.4"]


@pytest.mark.parametrize(
    ("papers", "only", "words"),
    [
        (["p5"], [], "there is no paper 'p5'"),
        (["p4"], ["P4.99"], "there is no figure 'P4.99'"),
        (["all"], ["p1-tabel-1"], "there is no figure 'p1-tabel-1'"),
    ],
)
def test_what_is_not_there_is_refused_in_a_sentence(papers, only, words):
    with pytest.raises(ParameterError, match=re.escape(words)):
        reproduce(papers, only=only)


def test_a_set_out_of_reach_cannot_be_run_and_is_said(monkeypatch, tmp_path):
    monkeypatch.setenv("COUNTWISE_DATA", str(tmp_path))
    monkeypatch.setattr(
        "countwise.tables.datasets._from_openml",
        lambda *given: (_ for _ in ()).throw(OSError("no network")),
    )
    work = Work()
    found = [name for name, _ in work.tables(["iris", "soybean-small"])]
    assert found == ["iris"]
    assert "not bundled" in work.missing["soybean-small"]


def test_an_id_without_a_figure_gets_a_verdict(monkeypatch):
    empty = Part("p4-none", ("P4.1",), "t", "p" * 40, lambda work: ["Why not."])
    monkeypatch.setattr("countwise_papers.reproduce.parts", lambda: (empty,))
    (finding,) = reproduce(["p4"]).findings
    assert (finding.verdict, finding.reason) == ("cannot be run", "Why not.")


@pytest.fixture(scope="module")
def worked_figures(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COUNTWISE_CACHE", str(tmp_path_factory.mktemp("kept")))
        return reproduce(only=["p2-weather", "p4-tax", "p4-vertebrates", "p0-table-1"])


def test_worked_figures_agree_or_are_errata(worked_figures):
    verdicts = {finding.verdict for finding in worked_figures.findings}
    assert verdicts == {"agrees", "printed figure is wrong", None}
    wrong = {f.printed for f in worked_figures.findings if f.verdict == "printed figure is wrong"}
    assert wrong == {"0.05405", "0.04489", "0.5463", "0.4537", "0.0024"}


def test_the_page_shows_protocol_seed_hash_and_code(worked_figures):
    page = render(worked_figures)
    assert "0.0024" in page
    assert "printed figure is wrong" in page
    assert "def vertebrates(work" in page
    assert worked_figures.results[0].key["code"] in page
    assert "http:" not in re.sub(r'xmlns="[^"]*"', "", page)
    inside = re.search(r'id="countwise-facts">(.*?)</script>', page, re.DOTALL)
    facts = json.loads(inside[1])
    assert facts["format"] == "countwise-reproduction"
    assert len(facts["parts"]) == 4


def test_markdown_has_a_page_a_paper(worked_figures, tmp_path):
    written = write_pages(worked_figures, tmp_path)
    assert [path.name for path in written] == ["p0.md", "p2.md", "p4.md"]
    text = page_of(worked_figures, "p2")
    assert "| P2.1 | new day: P(yes) | 0.205 | 0.20458 | agrees |" in text
    assert "our additions" not in text.lower()
    additions = page_of(worked_figures, "p4").partition("Our additions")[2]
    assert "| P4.4 | two-way split of income | one boundary, at " in additions


def test_the_reproduction_in_words(worked_figures):
    assert re.fullmatch(
        r"<Reproduction: \d+ printed figures: \d+ agree, 5 printed wrong; 3 additions of ours>",
        repr(worked_figures),
    )
    assert isinstance(worked_figures, Reproduction)
    assert set(PAPERS) == {"p0", "p1", "p2", "p3", "p4"}


def test_planted_rows_follow_their_grid():
    grid = HiddenGrid(HIDDEN, seed=3)
    X, y = grid.rows(20_000)
    again = grid.rows(20_000)
    assert np.array_equal(X, again[0])
    assert np.array_equal(y, again[1])
    assert np.array_equal(grid.labels[grid.cells(X)], y)
    assert X.min() >= 0
    assert X.max() <= 1
    noisy = HiddenGrid(HIDDEN, noise=0.1, seed=3)
    X, y = noisy.rows(20_000)
    assert np.mean(noisy.labels[noisy.cells(X)] != y) == pytest.approx(0.1, abs=0.01)


def test_the_best_gain_is_what_the_true_rule_earns():
    grid = HiddenGrid(HIDDEN, noise=0.05, seed=5)
    X, y = grid.rows(200_000)
    assert grid.best_gain(X, y, np.asarray(GAIN)) == pytest.approx(grid.expected_gain(), abs=0.02)
