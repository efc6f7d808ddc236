"""Models of numbers and drawn decisions on the command line: fit, predict, explain, compare."""

import csv
import json

import numpy as np
import pytest
from sklearn.metrics import mean_absolute_error, r2_score, root_mean_squared_error

import countwise as cw

from .conftest import refused, rows_of, write_csv

REGRESSORS = ("neighbors-regressor", "local-regression")


def read_csv(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def houses(folder):
    rows = [(a, x, f"{float(x) ** 2 + ord(a):.3f}") for a, x, _ in rows_of(80)]
    rows[5] = (rows[5][0], rows[5][1], "")
    write_csv(folder / "houses.csv", rows, ("a", "x", "price"))
    return folder


@pytest.mark.parametrize("name", REGRESSORS)
def test_a_number_is_fitted_and_predicted_with_errors(run, houses, name):
    done = run("fit", "houses.csv", "--target", "price", "--model", name, "-o", "n.cw")
    assert done.exit_code == 0, done.stderr
    assert "number 'price', 1 nominal and 1 numeric columns" in " ".join(done.stdout.split())
    assert "1 row has no value of 'price' and is left out" in done.output
    done = run("predict", "n.cw", "houses.csv", "-o", "p.csv", "--json", "--keep", "a")
    facts = json.loads(done.stdout)
    assert (facts["rows"], facts["labelled_rows"]) == (80, 79)
    assert "accuracy" not in facts
    lines = read_csv("p.csv")
    assert list(lines[0]) == ["a", "prediction"]
    given = read_csv("houses.csv")
    known = [at for at, line in enumerate(given) if line["price"]]
    truth = [float(given[at]["price"]) for at in known]
    predicted = [float(lines[at]["prediction"]) for at in known]
    for key, score in (
        ("r2", r2_score),
        ("mean_absolute_error", mean_absolute_error),
        ("root_mean_squared_error", root_mean_squared_error),
    ):
        assert facts[key] == pytest.approx(score(truth, predicted), rel=1e-3)


def test_errors_of_many_blocks_are_those_of_all_rows():
    from countwise.prediction.summary import Errors

    rng = np.random.default_rng(0)
    truth, predicted = rng.normal(1e6, 1, 1000), rng.normal(1e6, 1, 1000)
    total = Errors()
    for part in np.array_split(np.arange(1000), 7):
        total.add(Errors.of(truth[part], predicted[part]))
    assert total.rows == 1000
    assert total.r2 == pytest.approx(r2_score(truth, predicted), rel=1e-9)


@pytest.mark.parametrize("name", REGRESSORS)
def test_a_number_is_explained_by_parts_that_add_up(run, houses, name):
    run("fit", "houses.csv", "--target", "price", "--model", name, "-o", "n.cw", "-q")
    (facts,) = json.loads(run("explain", "n.cw", "houses.csv", "--row", 3, "--json").stdout)["rows"]
    total = facts["mean"] + sum(part["change"] for part in facts["parts"])
    assert total == pytest.approx(facts["prediction"])
    assert facts["parts"][0]["attribute"] == "x"
    done = run("explain", "n.cw", "houses.csv", "--row", 3)
    assert "mean of the training rows" in done.stdout
    assert "differs most in" in done.stdout
    done = run("explain", "n.cw", "houses.csv", "--class", "yes")
    assert "for models that predict a class" in refused(done)


def test_a_table_with_a_target_brings_its_numbers(tmp_path):
    table = cw.read("sample:iris", target="petal_width")
    model = cw.NeighborsRegressor().fit(table)
    assert model.target_name_ == "petal_width"
    assert not [note for note in model.notes_ if note.column == "petal_width"]
    values = cw.read("sample:iris").values("petal_width")
    by_hand = cw.NeighborsRegressor().fit(cw.read("sample:iris", target="petal_width"), values)
    np.testing.assert_array_equal(model.predict(table), by_hand.predict(table))
    cw.save(model, tmp_path / "m.cw")
    assert cw.load(tmp_path / "m.cw").target_name_ == "petal_width"
    why = model.explain(table.take([0, 60]))
    np.testing.assert_allclose(why.base + why.parts.sum(axis=1), model.predict(table)[[0, 60]])


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("fit", "houses.csv", "-t", "price", "--gain", "g.csv"), "there is no file"),
        (("fit", "houses.csv", "-t", "price", "--rule", "roulette"), "predicts a number"),
        (("fit", "houses.csv", "-t", "prize"), "--target must name a column; got 'prize'"),
        (("fit", "houses.csv"), "a numeric column to predict is needed"),
        (("fit", "houses.csv", "-t", "a"), "column 'a' is numeric but row 1 holds"),
        (("fit", "sample:iris", "-t", "class"), "must be numbers, one a row; got 'Iris-setosa'"),
    ],
)
def test_what_a_model_of_numbers_refuses(run, houses, args, words):
    done = run(*args, "--model", "local-regression", "-o", "n.cw")
    assert words in refused(done)
    assert not (houses / "n.cw").exists()


def test_a_model_of_numbers_is_not_compared(run, houses):
    assert "predicts a number" in refused(run("compare", "good.csv", "-m", "local-regression"))
    run("fit", "houses.csv", "-t", "price", "--model", "local-regression", "-o", "n.cw", "-q")
    done = run("predict", "n.cw", "houses.csv", "--rule", "roulette", "-o", "p.csv")
    assert "there is no decision" in refused(done)
    assert not (houses / "p.csv").exists()


def decisions(text):
    return [line["decision"] for line in csv.DictReader(text.splitlines())]


def test_roulette_draws_by_its_seed_whatever_the_blocks(run, folder, monkeypatch):
    from countwise.tables.formats import blocks

    one = decisions(run("predict", "m.cw", "good.csv", "--rule", "roulette", "--seed", 1).stdout)
    two = decisions(run("predict", "m.cw", "good.csv", "--rule", "roulette", "--seed", 2).stdout)
    best = decisions(run("predict", "m.cw", "good.csv").stdout)
    assert one != two
    assert one != best
    monkeypatch.setattr(blocks, "SEGMENT", 128)
    again = decisions(run("predict", "m.cw", "good.csv", "--rule", "roulette", "--seed", 1).stdout)
    assert again == one
    posteriors = cw.load("m.cw").predict_proba(cw.read("good.csv", target="class"))
    wheel = cw.RouletteWheel(1).choose(posteriors)
    assert one == cw.load("m.cw").classes_[wheel].tolist()


def test_a_saved_model_may_draw(run, folder):
    options = ("--model", "naive-bayes", "--rule", "roulette", "--seed", 1)
    done = run("fit", "good.csv", *options, "-o", "r.cw", "--json")
    assert json.loads(done.stdout)["decides_by"] == "roulette"
    drawn = decisions(run("predict", "r.cw", "good.csv").stdout)
    args = ("--rule", "roulette", "--seed", 1)
    assert drawn == decisions(run("predict", "m.cw", "good.csv", *args).stdout)
    (folder / "g.csv").write_text(",yes,no\nyes,1,0\nno,0,1\n", encoding="utf-8")
    done = run("fit", "good.csv", "--rule", "roulette", "--gain", "g.csv", "-o", "x.cw")
    assert "choose one" in refused(done)


def test_compare_adds_the_drawn_decisions_of_each_model(run, folder):
    done = run("compare", "good.csv", "-m", "naive-bayes", "--rule", "roulette", "--json")
    summary = {line["model"]: line for line in json.loads(done.stdout)["summary"]}
    assert set(summary) == {"naive-bayes", "naive-bayes by roulette", "majority"}
    assert summary["naive-bayes by roulette"]["rule"] == "roulette"


def test_fit_tells_what_training_found(run, folder):
    done = run("fit", "sample:iris", "--model", "condensed", "-o", "c.cw")
    assert "24 of 150 rows are kept: 84 % less, in 4 passes." in done.stdout
    done = run("fit", "sample:iris", "--model", "adaboost", "-o", "a.cw", "--json")
    assert json.loads(done.stdout)["summary"]["members"] == 100
    assert "petal_length ≤ 2.45" in json.loads(done.stdout)["found"][1]
    options = ("--param", "oob_score=true", "--param", "n_estimators=5")
    done = run("fit", "sample:iris", "--model", "bagging", *options, "-o", "b.cw")
    assert "Out of bag the ensemble errs on" in done.stdout
    assert ".632+" in done.stdout
    done = run("fit", "sample:iris", "--model", "bagging", *options, "-o", "b.cw", "--json")
    assert set(json.loads(done.stdout)["summary"]["out_of_bag"]) >= {"error", "error_632_plus"}


def test_a_smoothing_that_a_shell_can_write(run, folder):
    options = ("--model", "naive-bayes", "--param")
    done = run("fit", "sample:weather", *options, "smoothing=laplace:classes", "-o", "w.cw")
    assert done.exit_code == 0, done.stderr
    assert cw.load("w.cw").smoothing == "laplace:classes"
    done = run("fit", "sample:weather", *options, "smoothing=laplas:2", "-o", "x.cw")
    assert "'m-estimate:2'" in refused(done)


def test_errors_that_need_no_model(run, folder):
    assert "err together on 0.06044" in run("ensemble-error", 25, 0.35).stdout.replace("\n", " ")
    facts = json.loads(run("ensemble-error", 25, 0.35, "--json").stdout)
    assert facts["ensemble_error"] == pytest.approx(cw.ensemble_error(25, 0.35))
    assert "between 0 and 1; got 1.5" in refused(run("ensemble-error", 25, 1.5))
    assert "at least 1; got 0" in refused(run("ensemble-error", 0, 0.5))
    facts = json.loads(run("bayes-error", "sample:iris", "--json").stdout)
    bound = cw.bayes_error_bound("sample:iris")
    assert (facts["error"], facts["low"], facts["high"]) == (bound.error, bound.low, bound.high)
    done = run("bayes-error", "sample:iris")
    assert done.stdout.startswith("No rule can be expected to err on less than")
    refused(run("bayes-error", "missing.csv"))
