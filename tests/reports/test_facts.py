"""Facts are plain, versioned, right, and no larger for more rows."""

import json

import numpy as np
import pytest

import countwise as cw
from countwise.evaluation.evaluate import evaluate
from countwise.models.bayes.views import information
from countwise.reports.comparison_facts import comparison_facts
from countwise.reports.data_facts import inspect_facts
from countwise.reports.html import render
from countwise.reports.model_facts import model_facts
from countwise.tables import datasets

from .pieces import tables_of, view_of


def plain(facts):
    return json.loads(json.dumps(facts, allow_nan=False))


@pytest.mark.parametrize("name", ["weather", "iris", "votes", "credit-g", "audiology"])
def test_facts_survive_json(sample_facts, name):
    facts = sample_facts(name)
    assert plain(facts) == facts
    assert (facts["format"], facts["version"]) == ("countwise-facts", 2)
    assert facts["library"] == {"name": "countwise", "version": cw.__version__}


def test_hostile_facts_survive_json(hostile_facts):
    assert plain(hostile_facts) == hostile_facts


@pytest.mark.parametrize("name", [s.name for s in datasets.all_samples() if s.bundled])
def test_inspection_of_every_sample(name):
    table = cw.read(f"sample:{name}")
    facts = plain(inspect_facts(table, f"sample:{name}"))
    assert facts["data"]["rows"] == len(table)
    assert sum(own["rows"] for own in facts["data"]["balance"]) == len(table)
    assert len(facts["data"]["columns"]) == len(table.schema)


def test_inspection_says_what_is_dropped_and_why():
    rows = {
        "Id": list(range(1, 31)),
        "sky": ["sun", "rain", None] * 10,
        "comment": ["x"] * 30,
        "play": ["yes", "no", None] * 10,
    }
    data = inspect_facts(cw.read(rows, target="play", drop=["comment"]), "rows.csv")["data"]
    assert {own["column"] for own in data["dropped"]} == {"Id", "comment", "play"}
    assert "identifier" in data["dropped"][0]["why"]
    by_name = {own["name"]: own for own in data["columns"]}
    assert (by_name["Id"]["kind"], by_name["comment"]["kind"]) == ("id", "drop")
    assert by_name["Id"]["codes"] == ["T01"]
    assert data["rows"] == 20


def test_missing_cells_and_levels_are_counted():
    table = cw.read({"a": ["x", None, "y", "x"], "b": [1.0, 2.0, None, 4.0]}, target=[0, 1, 0, 1])
    data = inspect_facts(table)["data"]
    first, second = data["columns"][:2]
    assert first["levels"] == [{"level": "x", "rows": 2}, {"level": "y", "rows": 1}]
    assert (first["missing"], second["missing"]) == (1, 1)
    assert (second["least"], second["most"], second["quartiles"][1]) == (1.0, 4.0, 2.0)
    assert data["missing"] == {"cells": 2, "columns": 2, "fraction": 0.25}


def made(rows, seed=0):
    rng = np.random.default_rng(seed)
    return cw.read(
        {
            "a": rng.choice(["x", "y", "z"], rows).tolist(),
            "b": rng.normal(size=rows).round(3).tolist(),
            "c": rng.choice(["no", "yes"], rows).tolist(),
        },
        target="c",
    )


def test_size_does_not_depend_on_rows():
    sizes = []
    for rows in (200, 20_000):
        table = made(rows)
        trials = evaluate(cw.NaiveBayes(), table, folds=3)
        facts = comparison_facts(table, trials, model=cw.NaiveBayes().fit(table))
        sizes.append(len(json.dumps(facts)))
    assert abs(sizes[1] - sizes[0]) < 0.1 * sizes[0]


def test_the_shares_are_those_of_the_model():
    facts = model_facts(cw.NaiveBayes().fit(cw.read("sample:weather")))
    outlook = next(own for own in tables_of(facts) if own["name"] == "outlook")
    assert outlook["levels"] == ["sunny", "overcast", "rainy"]
    assert outlook["counts"] == [[3, 0, 2], [2, 4, 3]]
    assert np.allclose(
        outlook["probabilities"], [[4 / 8, 1 / 8, 3 / 8], [3 / 12, 5 / 12, 4 / 12]], 1e-3
    )


@pytest.mark.parametrize("numeric", ["gaussian", "kernel"])
@pytest.mark.parametrize("combine", ["bayes", "posteriors"])
def test_densities_integrate_to_one(numeric, combine):
    model = cw.NaiveBayes(numeric=numeric, combine=combine).fit(cw.read("sample:iris"))
    for own in view_of(model_facts(model), "Densities")["columns"]:
        width = own["x"][1] - own["x"][0]
        assert np.allclose(np.sum(own["density"], axis=1) * width, 1.0, atol=0.02)
        assert own["bits"] > 0.2


def test_missing_as_a_value_is_a_level_of_the_table():
    table = cw.read({"a": ["x", None, "y", "x"] * 5}, target=[0, 1, 0, 1] * 5)
    facts = model_facts(cw.NaiveBayes(when_missing="value").fit(table))
    table = tables_of(facts)[0]
    assert table["levels"] == ["x", "y", "(missing)"]
    assert np.allclose(np.sum(table["probabilities"], axis=1), 1.0, atol=1e-3)


def test_a_model_without_tables_has_none_to_show():
    from sklearn.naive_bayes import GaussianNB

    assert model_facts(GaussianNB().fit([[0.0], [1.0]], [0, 1])) is None
    gains = cw.GainMatrix.identity(["no", "yes"])
    decided = cw.Decide(cw.NaiveBayes(), gains).fit(cw.read("sample:weather"))
    assert model_facts(decided)["name"] == "NaiveBayes"


def test_information_is_that_of_the_textbook():
    prior = np.array([0.25, 0.75])
    even = np.array([[0.5, 0.5], [0.5, 0.5]])
    assert information(prior, even) == 0.0
    sure = np.array([[1.0, 0.0], [0.0, 1.0]])
    entropy = -(0.25 * np.log2(0.25) + 0.75 * np.log2(0.75))
    assert np.isclose(information(prior, sure), entropy)


def test_ranking_and_confusion_agree_with_the_trials():
    table = cw.read("sample:iris")
    trials = evaluate(cw.NaiveBayes(), table, folds=5)
    facts = comparison_facts(table, trials)
    first = facts["ranking"]["entries"][0]
    assert first["name"] == trials.best == facts["confusion"]["name"]
    assert np.isclose(
        first["scores"]["accuracy"]["value"], trials.score("accuracy", "NaiveBayes").value
    )
    assert np.isclose(np.sum(facts["confusion"]["joint"]), 1.0)
    assert np.sum(facts["confusion"]["counts"]) == len(table)
    assert facts["model"] is None
    assert facts["gain"] is None
    assert facts["curve"] is None
    assert facts["verdict"] == trials.verdict()


def test_contributions_sum_to_the_gain_of_the_pooled_rows(sample_facts):
    facts = sample_facts("credit-g")
    gain, confusion = facts["gain"], facts["confusion"]
    pooled = np.sum(np.array(gain["values"]) * np.array(confusion["joint"]))
    assert np.isclose(np.sum(gain["contributions"]), pooled, atol=1e-5)
    best = facts["ranking"]["entries"][0]["scores"]["expected_gain"]["value"]
    assert np.isclose(pooled, best, atol=1e-6)
    rule = gain["rules"][0]
    gap = rule["by_gain"]["value"] - rule["by_argmax"]["value"]
    assert np.isclose(gap, rule["difference"]["value"], atol=1e-6)


def test_a_gain_matrix_may_come_after_the_trials():
    table = cw.read("sample:credit-g")
    trials = evaluate(cw.NaiveBayes(), table, folds=3)
    gain = {"good": {"good": 0, "bad": -1}, "bad": {"good": -5, "bad": 0}}
    facts = comparison_facts(table, trials, gain=gain)
    assert "expected_gain" in facts["ranking"]["entries"][0]["scores"]
    assert facts["gain"]["rules"] == []


def test_caps_are_said():
    rng = np.random.default_rng(0)
    columns = {
        f"n{at}": rng.choice([f"v{v}" for v in range(50)], 3000).tolist() for at in range(80)
    }
    columns |= {f"x{at}": rng.normal(size=3000).tolist() for at in range(90)}
    target = [f"class {label}" for label in rng.integers(0, 50, 3000)]
    table = cw.read(columns, target=target)
    facts = plain(
        comparison_facts(
            table,
            evaluate(cw.NaiveBayes(), table, folds=2),
            model=cw.NaiveBayes(numeric="gaussian").fit(table),
        )
    )
    nominal, numeric = facts["model"]["views"]
    assert len(nominal["tables"]) + nominal["more_tables"] == 80
    assert len(numeric["columns"]) + numeric["more_columns"] == 90
    assert len(nominal["classes"]) + nominal["more_classes"] == 50
    assert len(nominal["tables"][0]["levels"]) + nominal["tables"][0]["more_levels"] == 50
    confusion = facts["confusion"]
    assert len(confusion["classes"]) == 30
    assert confusion["hidden"] == 21
    assert np.sum(confusion["counts"]) == 3000
    columns = facts["data"]["columns"]
    assert {len(own["levels"]) for own in columns if own["kind"] == "nominal"} == {8}
    assert columns[0]["more_levels"] == 42
    assert len(render(facts).encode()) < 1_000_000


@pytest.mark.parametrize(
    "source",
    ["/home/somebody/data/x.csv", "C:\\data\\x.csv", "data/x.csv", "x.csv"],
)
def test_a_title_names_the_file_and_not_where_it_lies(source):
    table = cw.read({"a": ["x", "y"]}, target=np.array(["Yes", "No"]))
    assert inspect_facts(table, source)["title"].startswith("x.csv: predicting ")
    assert inspect_facts(table)["title"].startswith("Predicting ")
    assert inspect_facts(cw.read({"a": ["x", "y"]}))["title"] == "A table"


def odd_tables():
    rows = {
        "a": [True, False] * 20,
        "constant": ["c"] * 40,
        "empty": [None] * 40,
        "day": [f"2024-01-{1 + at % 28:02d}" for at in range(40)],
        "three": [3.0] * 40,
        "huge": [1e100, 2e100, -1e100, 5e99] * 10,
        "tiny": [1e-100, 2e-100, 3e-100, 4e-100] * 10,
    }
    for labels in ([True, False, False, True] * 10, [0, 1, 2, 1] * 10, [0.5, 1.5] * 20):
        yield cw.read(rows, target=np.array(labels))


@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize(
    "options",
    [{"leave_one_out": True}, {"holdout": 0.3}, {"holdout": 0.3, "repeats": 3}, {"folds": 4}],
    ids=str,
)
def test_odd_columns_classes_and_protocols_make_a_page(number, options):
    table = list(odd_tables())[number]
    models = {"nb": cw.NaiveBayes(), "wheel": cw.Decide(cw.NaiveBayes(), "roulette")}
    trials = evaluate(models, table, **options)
    model = cw.NaiveBayes(when_missing="value", numeric="kernel", combine="posteriors").fit(table)
    facts = plain(comparison_facts(table, trials, model=model))
    assert {own["code"] for own in facts["data"]["notes"]} >= {"T02", "T08"}
    assert "<svg" in render(facts)


def test_leaving_a_case_undecided_is_a_column():
    gain = {
        "no": {"no": 1, "yes": -9, "ask": 0.5},
        "yes": {"no": -9, "yes": 1, "ask": 0.5},
    }
    table = cw.read("sample:weather")
    trials = evaluate(cw.NaiveBayes(), table, folds=3, gain=gain)
    facts = plain(comparison_facts(table, trials))
    assert facts["gain"]["decisions"] == ["no", "yes", "ask"]
    assert np.shape(facts["gain"]["contributions"]) == (2, 3)
    assert "ask" in render(facts)
