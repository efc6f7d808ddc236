"""The facts and the page of every kind of model: its own section, JSON-able, bounded."""

import json
import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import countwise as cw
from countwise.evaluation.evaluate import evaluate
from countwise.models.base import Classifier
from countwise.models.bayes.aode import AODE
from countwise.models.bayes.kdb import KDB
from countwise.models.bayes.tan import TAN
from countwise.models.registry import models
from countwise.models.tree.id3 import ID3
from countwise.models.tree.views import MAX_RULES
from countwise.reports.comparison_facts import comparison_facts
from countwise.reports.html import render
from countwise.reports.model_facts import model_facts
from countwise.reports.sentences import cut_points_words

from .pieces import kinds_of, tables_of, view_of

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
    assert "<h2>Dependency graph and probability tables</h2>" in shown
    assert "is a parent of every attribute" in shown
    assert "All edges" in shown
    assert shown.count('data-label="Depends on"') == 16
    assert shown.count("data-attribute=") == 16
    assert "the class alone" in shown


def test_kdb_says_what_it_leaves_out():
    table = cw.read("sample:credit-g")
    model = KDB().fit(table)
    facts = model_facts(model)
    unused = view_of(facts, "DependencyGraph")["unused"]
    assert unused == 20 - len(model.families_)
    assert len(tables_of(facts)) == len(model.families_)
    whole = comparison_facts(table, evaluate(cw.NaiveBayes(), table, folds=2), model=model)
    assert f"{unused} attributes are left out" in section(whole)


def test_aode_shows_what_attributes_tell(explained):
    facts = explained("iris", "AODE")
    tables = tables_of(facts["model"])
    assert tables[0]["name"] in ("petal_width", "petal_length")
    assert [own["bits"] for own in tables] == sorted((t["bits"] for t in tables), reverse=True)
    assert "averages models" in section(facts)
    assert "Information about the class by attribute" in section(facts)


def test_id3_shows_its_tree_and_its_rules(explained):
    facts = explained("weather", "ID3")
    shown = section(facts)
    assert "if outlook = sunny:" in shown
    assert "<details open><summary>The tree</summary>" in shown
    assert kinds_of(facts["model"]) == ["DecisionTree"]
    assert "Decision tree</h2>" in shown
    assert "probability tables" not in shown.lower()


def test_a_large_tree_is_folded_and_its_rules_are_limited(explained):
    facts = explained("credit-g", "ID3")
    tree = view_of(facts["model"], "DecisionTree")
    assert len(tree["rules"]) == MAX_RULES
    assert tree["more_rules"] == tree["nodes"] - 1 - MAX_RULES
    shown = section(facts)
    assert "<details><summary>The tree, its heaviest nodes</summary>" in shown
    assert f"… and {tree['more_rules']:,} more tests." in shown


def test_numbers_cut_into_intervals_are_tables(explained):
    model = explained("iris", "cuts")["model"]
    assert len(tables_of(model)) == 4
    assert kinds_of(model) == ["ProbabilityTables"]
    assert tables_of(model)[0]["levels"][0].startswith("≤")


def test_shares_are_those_of_single_attributes():
    facts = model_facts(TAN(1).fit(cw.read("sample:weather")))
    plain = model_facts(cw.NaiveBayes().fit(cw.read("sample:weather")))
    by_name = {own["name"]: own for own in tables_of(plain)}
    for own in tables_of(facts):
        assert own["probabilities"] == by_name[own["name"]]["probabilities"]
        assert own["counts"] == by_name[own["name"]]["counts"]
    backed_off = model_facts(TAN("back-off").fit(cw.read("sample:weather")))
    assert "back-off" in view_of(backed_off, "ProbabilityTables")["note"]


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
    for view in facts["model"]["views"]:
        if view["kind"] == "ProbabilityTables":
            assert view["more_classes"] == 15
        elif view["kind"] == "DecisionTree":
            assert len(view["classes"]) == 30
            assert view["classes"][-1] == "16 other classes"
            assert np.isclose(sum(view["drawn"][0]["counts"]), 2000)
    assert len(render(facts).encode()) < MEGABYTE


def test_cells_show_cuts_gains_smoothing_and_a_slice(explained):
    table = cw.read("sample:iris")
    model = cw.DiscreteBayes(2000, random_state=0).fit(table)
    facts = explained("iris", "cells")
    cells = view_of(facts["model"], "CellGrid")
    assert cells["gain"] == pytest.approx(model.gain_)
    assert {own["name"]: own["width"] for own in cells["columns"]} == dict(
        zip([column.name for column in table.schema.numeric], model.levels_, strict=True)
    )
    name = table.schema.numeric[0].name
    first = next(own for own in cells["columns"] if own["name"] == name)
    assert first["start"] == pytest.approx(model.start_boundaries_[0].tolist(), 1e-5)
    assert first["cut_points"] == pytest.approx(model.boundaries_[0].tolist(), 1e-5)
    assert f"{model.boundaries_[0][0]:.5g}" in section(facts)
    assert cells["smoothing_table"] == [pytest.approx(own) for own in model.bin_smoothing_table_]
    assert cells["steps"][0]["stage"] == "start"
    shown = section(facts)
    for words in ("Levels and cut points", "The search", "Bin smoothing", "A slice"):
        assert f"<h3>{words}" in shown
    assert shown.count("<svg") == 5  # cuts and search, wide and narrow, and the slice


def test_cells_that_were_not_searched_show_what_they_have():
    table = cw.read("sample:weather")
    trials = evaluate(cw.NaiveBayes(), table, folds=2)
    for model in (
        cw.DiscreteBayes(None),
        cw.DiscreteBayes(1),
        cw.DiscreteBayes(8, bin_smoothing=2.0),
    ):
        facts = comparison_facts(table, trials, model=model.fit(table))
        assert view_of(facts["model"], "CellGrid")["steps"] == []
        shown = section(json.loads(json.dumps(facts, allow_nan=False)))
        assert "as counted" in shown
        assert "The search" not in shown
    lone = cw.DiscreteBayes(None).fit(np.arange(500.0)[:, None], np.arange(500) % 2)
    column = view_of(model_facts(lone), "CellGrid")["columns"][0]
    assert column["width"] == 500
    assert cut_points_words(column["cut_points"], 500).endswith("and 487 more")
    assert column["weights"] == []


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


def test_views_without_a_template_are_passed_over(explained):
    facts = json.loads(json.dumps(explained("iris", "cuts")))
    facts["model"]["views"].append({"kind": "Unknown", "title": "Unknown"})
    assert "Probability tables</h2>" in render(facts)
    assert "Unknown</h" not in render(facts)


@pytest.mark.parametrize("entry", models(), ids=lambda entry: entry.name)
def test_every_model_has_a_section_and_a_picture(entry):
    table = cw.read("sample:iris")
    settings = entry.examples[0]
    target = None if issubclass(entry.load(), Classifier) else np.arange(150.0)
    model = entry.build(settings).fit(table, target)
    trials = evaluate(cw.NaiveBayes(), table, folds=2)
    facts = comparison_facts(table, trials, model=model)
    assert json.loads(json.dumps(facts, allow_nan=False)) == facts
    title = model.views()[0].title
    assert f"<h2>{title}" in section(facts)
    assert "<svg" in section(facts)
    picture = cw.draw(model)
    ElementTree.fromstring(picture.svg)
    assert picture.title.startswith(f"{entry.name}: ")
    assert "<" in picture.svg.split("</desc>")[1]
