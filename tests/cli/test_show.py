"""``countwise show``: every model, in text and as JSON, cut to so many lines."""

import json

import pytest

import countwise as cw
from countwise.models import registry

from .conftest import refused

#: A line that the text of each model must hold.
SHOWN = {
    "NaiveBayes": "Class prior: no 0.357, yes 0.643",
    "TAN": "bits about the class",
    "AODE": "P(value | class)",
    "KDB": "Dependency graph",
    "DiscreteBayes": "cells",
    "ID3": "outlook ?",
    "Neighbors": "nearest rows",
    "CondensedNeighbors": "rows are kept",
    "NeighborsRegressor": "nearest rows",
    "LocalRegression": "nearest rows",
    "Logistic": "(intercept)",
    "LinearDiscriminant": "(intercept)",
    "Perceptron": "(intercept)",
    "LinearSVM": "(intercept)",
    "NeuralNet": "loss in training",
    "Bagging": "Members",
    "AdaBoost": "weight",
    "Vote": "Two members agree",
}


def fitted(entry):
    settings = {"Bagging": {"n_estimators": 3}, "NeuralNet": {"max_iter": 5}}.get(entry.name)
    model = entry.build(settings)
    if entry.predicts == "number":
        return model.fit(cw.read("sample:iris", target="petal_width"))
    return model.fit(cw.read("sample:weather"))


@pytest.mark.parametrize("entry", registry.models(), ids=lambda entry: entry.name)
def test_every_model_is_shown(run, folder, entry):
    cw.save(fitted(entry), "model.cw")
    done = run("show", "model.cw")
    assert done.exit_code == 0, done.stderr
    assert done.stdout.startswith(f"{entry.name} in model.cw, saved ")
    assert SHOWN.get(entry.name, entry.name) in done.stdout
    assert "--json prints it" not in done.stdout
    facts = json.loads(run("show", "model.cw", "--json").stdout)
    assert facts["kind"] == entry.name
    assert facts["views"]
    assert all(view["kind"] and view["title"] for view in facts["views"])


def test_the_tree_shows_entropy_and_gain(run, folder):
    cw.save(cw.ID3().fit(cw.read("sample:weather")), "tree.cw")
    lines = [line.split() for line in run("show", "tree.cw").stdout.splitlines()]
    assert ["outlook", "?", "14", "5", "9", "0.940", "0.247", "0.156"] in lines
    assert ["├─", "sunny:", "humidity", "?", "5", "3", "2", "0.971", "0.971", "1.000"] in lines
    assert ["├─", "overcast:", "yes", "4", "0", "4", "0.000"] in lines


def test_bits_come_from_the_counts_whatever_the_smoothing(run, folder):
    for smoothing in (0, 5):
        cw.save(cw.NaiveBayes(smoothing=smoothing).fit(cw.read("sample:weather")), "nb.cw")
        assert "outlook (0.247 bits)" in run("show", "nb.cw").stdout


def test_long_lists_are_cut_and_counted(run, folder):
    cw.save(cw.Logistic().fit(cw.read("sample:credit-g")), "long.cw")
    done = run("show", "long.cw", "--most", 3)
    terms = json.loads(run("show", "long.cw", "--json").stdout)["views"][0]["terms"]
    assert f"… and {len(terms) - 3} more terms" in done.stdout
    cw.save(cw.NaiveBayes().fit(cw.read("sample:credit-g")), "long.cw")
    done = run("show", "long.cw", "--most", 2)
    assert "… and 2 more levels" in done.stdout
    assert "… and 18 more attributes" in done.stdout


def test_a_rule_and_its_gains_are_told(run, folder):
    gain = {"no": {"no": 0, "yes": -5}, "yes": {"no": -1, "yes": 0}}
    cw.save(cw.Decide(cw.NaiveBayes(), gain).fit(cw.read("sample:weather")), "gain.cw")
    done = run("show", "gain.cw")
    assert "It decides by the largest expected gain." in done.stdout
    assert "Calling a 'no' case 'yes' loses 5." in done.stdout


def test_naive_bayes_as_logistic_regression(run, folder):
    model = cw.NaiveBayes(numeric="gaussian", variance="shared").fit(cw.read("sample:credit-g"))
    cw.save(model, "nb.cw")
    (view,) = json.loads(run("show", "nb.cw", "--as", "logistic", "--json").stdout)["views"]
    weights = {(one.column, one.level): one.value for one in model.to_logistic().coefficients}
    assert view["intercept"] == [pytest.approx(weights[None, None], rel=1e-5)]
    for term in view["terms"]:
        expected = weights[term["column"], term["level"]]
        assert term["values"] == [pytest.approx(expected, rel=1e-5)]
    assert "(intercept)" in run("show", "nb.cw", "--as", "logistic").stdout
    cw.save(cw.NaiveBayes().fit(cw.read("sample:iris")), "nb.cw")
    assert "--param variance=shared" in refused(run("show", "nb.cw", "--as", "logistic"))
    cw.save(cw.ID3().fit(cw.read("sample:weather")), "tree.cw")
    assert "got a ID3" in refused(run("show", "tree.cw", "--as", "logistic"))


def test_what_is_no_model_is_refused(run, folder):
    refused(run("show", "missing.cw"))
    refused(run("show", "good.csv"))
    cw.save(cw.read("sample:weather").schema, "schema.cw")
    assert "must hold a model" in refused(run("show", "schema.cw"))


def test_show_writes_json(run, folder):
    done = run("show", "m.cw", "-o", "model.json")
    assert done.exit_code == 0
    facts = json.loads((folder / "model.json").read_text(encoding="utf-8"))
    assert facts["kind"] == "NaiveBayes"
    assert "Model written to model.json." in done.stderr


def test_the_slice_of_cells_shows_the_decision_of_each_pair_of_levels(run, folder):
    model = cw.DiscreteBayes(random_state=0).fit(cw.read("sample:weather"))
    cw.save(model, "cells.cw")
    lines = run("show", "cells.cw").stdout.splitlines()
    (view,) = model.views()
    across, up = view.slice.across, view.slice.up
    head = next(at for at, line in enumerate(lines) if line.startswith("Decisions by"))
    assert lines[head] == f"Decisions by {up.name} (lines) and {across.name} (columns)"
    assert lines[head + 1].split() == list(across.levels[: across.width])
    for place, level in enumerate(up.levels[: up.width]):
        cells = lines[head + 3 + place].split()
        decided = [view.slice.labels[int(row[place])] for row in view.slice.decisions]
        assert cells == [level, *decided[: across.width]]
