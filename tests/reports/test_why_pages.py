"""The facts and the page of every kind of model: its own section, JSON-able, bounded."""

import json
import re

import numpy as np
import pytest

import countwise as cw
from countwise.evaluation.evaluate import evaluate
from countwise.models.bayes.aode import AODE
from countwise.models.bayes.kdb import KDB
from countwise.models.bayes.tan import TAN
from countwise.models.tree.id3 import ID3
from countwise.reports.comparison_facts import comparison_facts
from countwise.reports.html import render
from countwise.reports.questions import MOST_RULES
from countwise.reports.why import model_facts

KINDS = ["TAN", "AODE", "KDB", "ID3", "pruned", "cuts", "cells"]
NAMES = ["weather", "iris", "votes", "credit-g", "audiology", "autos"]
MEGABYTE = 1_000_000


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NAMES)
def test_a_page_is_plain_bounded_and_repeatable(explained, name, kind):
    facts = explained(name, kind)
    again = json.loads(json.dumps(facts, allow_nan=False))
    assert again == facts
    page = render(facts)
    assert page == render(again)
    assert len(page.encode()) < MEGABYTE
    assert '<section id="why">' in page


def section(facts):
    return re.search(r'<section id="why">(.*?)</section>', render(facts), re.DOTALL)[1]


def test_tan_shows_its_tree_its_edges_and_its_tables(explained):
    shown = section(explained("votes", "TAN"))
    assert "what leans on what" in shown
    assert "is a parent of every attribute" in shown
    assert "All edges, in bits" in shown
    assert shown.count('data-label="Leans on"') == 16
    assert shown.count("data-attribute=") == 16
    assert "the class alone" in shown


def test_kdb_says_what_it_leaves_out():
    table = cw.read("sample:credit-g")
    model = KDB().fit(table)
    facts = model_facts(model)
    assert facts["unused"] == 20 - len(model.families_)
    assert len(facts["nominal"]) == len(model.families_)
    whole = comparison_facts(table, evaluate(cw.NaiveBayes(), table, folds=2), model=model)
    assert f"{facts['unused']} attributes are left out" in section(whole)


def test_aode_shows_what_attributes_tell(explained):
    facts = explained("iris", "AODE")
    told = facts["model"]["telling"]
    assert told[0]["name"] in ("petal_width", "petal_length")
    assert [own["bits"] for own in told] == [own["bits"] for own in facts["model"]["nominal"]]
    assert "averages models" in section(facts)


def test_id3_shows_its_tree_and_its_rules(explained):
    facts = explained("weather", "ID3")
    shown = section(facts)
    assert "if outlook = sunny:" in shown
    assert "<details open><summary>The tree</summary>" in shown
    assert facts["model"]["nominal"] == []
    assert "probability tables" not in shown


def test_a_large_tree_is_folded_and_its_rules_are_limited(explained):
    facts = explained("credit-g", "ID3")
    tree = facts["model"]["tree"]
    assert len(tree["rules"]) == MOST_RULES
    assert tree["more_rules"] == tree["nodes"] - 1 - MOST_RULES
    shown = section(facts)
    assert "<details><summary>The tree, where most rows are</summary>" in shown
    assert f"… and {tree['more_rules']:,} more tests." in shown


def test_numbers_cut_into_intervals_are_tables(explained):
    model = explained("iris", "cuts")["model"]
    assert len(model["nominal"]) == 4
    assert model["numeric"] == []
    assert model["nominal"][0]["levels"][0].startswith("≤")


def test_shares_are_those_of_single_attributes():
    facts = model_facts(TAN().fit(cw.read("sample:weather")))
    plain = model_facts(cw.NaiveBayes().fit(cw.read("sample:weather")))
    by_name = {own["name"]: own for own in plain["nominal"]}
    for own in facts["nominal"]:
        assert own["shares"] == by_name[own["name"]]["shares"]
        assert own["counts"] == by_name[own["name"]]["counts"]
    assert "back-off" in model_facts(TAN("back-off").fit(cw.read("sample:weather")))["smoothing"]


@pytest.mark.parametrize("kind", [TAN, AODE, KDB, ID3, cw.DiscreteBayes])
def test_size_does_not_depend_on_rows(kind):
    sizes = []
    for rows in (300, 30_000):
        rng = np.random.default_rng(0)
        made = {f"a{at}": rng.choice(list("xyz"), rows).tolist() for at in range(6)}
        made["n"] = rng.normal(size=rows).round(2).tolist()
        table = cw.read(made, target=rng.choice(["no", "yes"], rows))
        model = kind(max_depth=4) if kind is ID3 else kind()
        sizes.append(len(json.dumps(model_facts(model.fit(table)))))
    assert sizes[1] < 1.5 * sizes[0]


@pytest.mark.parametrize("kind", [TAN, AODE, lambda: KDB(selective=False), ID3, cw.DiscreteBayes])
def test_many_levels_classes_and_attributes_stay_under_a_megabyte(kind):
    rng = np.random.default_rng(0)
    columns = {
        f"n{at}": rng.choice([f"value {v}" for v in range(40)], 2000).tolist() for at in range(25)
    }
    table = cw.read(columns, target=[f"class {own}" for own in rng.integers(0, 45, 2000)])
    trials = evaluate(cw.NaiveBayes(), table, folds=2)
    facts = comparison_facts(table, trials, model=kind().fit(table))
    assert facts["model"]["more_classes"] == 15
    if facts["model"]["tree"]:
        assert len(facts["model"]["tree"]["classes"]) == 30
        root = facts["model"]["tree"]["drawn"][0]["counts"]
        assert np.isclose(sum(root), 2000)
    assert len(render(facts).encode()) < MEGABYTE


def test_cells_show_cuts_gains_smoothing_and_a_slice(explained):
    table = cw.read("sample:iris")
    model = cw.DiscreteBayes(2000, random_state=0).fit(table)
    facts = explained("iris", "cells")
    cells = facts["model"]["cells"]
    assert cells["gain"] == model.gain_
    assert {own["name"]: own["levels"] for own in cells["lines"]} == dict(
        zip([column.name for column in table.schema.numeric], model.levels_, strict=True)
    )
    first = cells["lines"][0]
    assert first["before"].split(", ")[0] == f"{model.start_boundaries_[0][0]:.5g}"
    assert first["after"].split(", ")[0] == f"{model.boundaries_[0][0]:.5g}"
    assert cells["smoothing"]["table"] == model.smoothing_table_
    assert cells["steps"][0]["stage"] == "start"
    shown = section(facts)
    for words in ("Levels and boundaries", "The search", "Bin smoothing", "A slice"):
        assert f"<h3>{words}" in shown
    assert shown.count("<svg") == 5  # cuts and search, wide and narrow, and the slice


def test_cells_that_were_not_searched_show_what_they_have():
    table = cw.read("sample:weather")
    trials = evaluate(cw.NaiveBayes(), table, folds=2)
    for model in (cw.DiscreteBayes(None), cw.DiscreteBayes(1), cw.DiscreteBayes(8, smoothing=2.0)):
        facts = comparison_facts(table, trials, model=model.fit(table))
        assert facts["model"]["cells"]["steps"] == []
        shown = section(json.loads(json.dumps(facts, allow_nan=False)))
        assert "as counted" in shown
        assert "The search" not in shown
    lone = cw.DiscreteBayes(None).fit(np.arange(500.0)[:, None], np.arange(500) % 2)
    cells = model_facts(lone)["cells"]
    assert cells["lines"][0]["levels"] == 500
    assert cells["lines"][0]["after"].endswith("and 487 more")
    assert cells["columns"] == []


def test_odd_tables_are_explained():
    rows = {
        "constant": ["c"] * 40,
        "empty": [None] * 40,
        "three": [3.0] * 40,
        "huge": [1e100, 2e100, -1e100, 5e99] * 10,
        "flag": [True, False] * 20,
    }
    for labels in ([True, False, False, True] * 10, [0, 1, 2, 1] * 10):
        table = cw.read(rows, target=np.array(labels))
        trials = evaluate(cw.NaiveBayes(), table, folds=2)
        for kind in (TAN, AODE, KDB, ID3):
            facts = comparison_facts(table, trials, model=kind().fit(table))
            assert json.loads(json.dumps(facts, allow_nan=False)) == facts
            assert "<svg" in render(facts)


def test_facts_of_an_earlier_page_still_render(explained):
    facts = json.loads(json.dumps(explained("iris", "cuts")))
    for key in ("kind", "structure", "unused", "telling", "tree"):
        del facts["model"][key]
    assert "Nominal attributes" in render(facts)
