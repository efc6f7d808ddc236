"""What the other commands print and write."""

import csv
import json

import numpy as np
import pytest

import countwise as cw
from countwise.store.files import load

from .conftest import rows_of, write_csv


def test_inspect_says_what_is_left_out_and_why(run, folder):
    done = run("inspect", "sample:glass")
    assert done.exit_code == 0
    assert "Left out" in done.stdout
    assert "looks like an identifier" in done.stdout
    assert "--nominal" in done.stdout
    assert "nominal=" not in done.stdout
    assert done.stderr == ""


def test_inspect_as_json(run, folder):
    facts = json.loads(run("inspect", "sample:votes", "--json").stdout)
    assert facts["data"]["rows"] == 435
    assert facts["data"]["target"] == "Class"


def test_a_schema_goes_out_and_comes_back(run, folder):
    assert run("inspect", "good.csv", "--write-schema", "s.json").exit_code == 0
    schema = cw.Schema.read("s.json")
    assert schema.target.name == "class"
    done = run("fit", "good.csv", "--schema", "s.json", "-o", "again.cw", "--json")
    assert json.loads(done.stdout)["numeric"] == ["x"]
    done = run("fit", "good.csv", "--schema", "s.json", "--drop", "a", "-o", "again.cw", "--json")
    assert json.loads(done.stdout)["nominal"] == []
    args = ["--schema", "s.json", "--nominal", "x", "-o", "again.cw", "--json"]
    assert json.loads(run("fit", "good.csv", *args).stdout)["nominal"] == ["a", "x"]
    args = ["--schema", "s.json", "--target", "a", "-o", "again.cw", "--json"]
    facts = json.loads(run("fit", "good.csv", *args).stdout)
    assert facts["target"] == "a"
    assert facts["left_out"] == ["class"]


def test_inspect_looks_into_a_model(run, folder):
    done = run("inspect", "m.cw")
    assert "NaiveBayes" in done.stdout
    assert json.loads(run("inspect", "m.cw", "--json").stdout)["summary"]["target"] == "class"
    assert run("inspect", "m.cw", "--write-schema", "m.json").exit_code == 0
    assert cw.Schema.read("m.json").target.name == "class"


@pytest.mark.parametrize("name", ["Class", "class", "TARGET", "label", "y"], ids=lambda name: name)
def test_a_usual_class_column_is_taken_and_said(run, folder, name):
    write_csv("usual.csv", rows_of(), ("a", "x", name))
    done = run("fit", "usual.csv", "-o", "usual.cw")
    assert done.exit_code == 0, done.stderr
    first = f"Column {name!r} is taken as the class. To choose another, use --target."
    assert done.stdout.splitlines()[0] == first
    for command in (["inspect"], ["compare", "-m", "naive-bayes"], ["neighbors", "-k", "1"]):
        assert run(command[0], "usual.csv", *command[1:]).stdout.splitlines()[0] == first
    assert first in run("compare", "usual.csv", "-m", "naive-bayes", "-o", "out.csv").stdout


TICKETS = [(*row[:2], f"{1 + at % 3}", row[2]) for at, row in enumerate(rows_of())]


@pytest.mark.parametrize("command", ["fit", "compare", "curve", "neighbors"])
def test_where_several_columns_could_be_the_class_it_must_be_named(run, folder, command):
    write_csv("titanic.csv", TICKETS, ("a", "x", "class", "survived"))
    done = run(command, "titanic.csv")
    assert done.exit_code == 2
    assert "'class', 'survived' could be it" in done.stderr
    assert "--target" in done.stderr
    assert run("fit", "titanic.csv", "--target", "survived", "-o", "t.cw").exit_code == 0
    done = run("inspect", "titanic.csv")
    assert done.exit_code == 0
    assert done.stdout.startswith("No class is assumed: 'class', 'survived' could be it.")


def test_a_column_of_many_values_is_no_other_class(run, folder):
    rows = [(a, x, f"{at}.5", label) for at, (a, x, label) in enumerate(rows_of())]
    write_csv("points.csv", rows, ("a", "x", "y", "class"))
    done = run("fit", "points.csv", "-o", "points.cw")
    assert done.stdout.startswith("Column 'class' is taken as the class.")


def test_compare_ranks_and_says_what_the_data_support(run, folder):
    done = run("compare", "sample:votes", "-m", "naive-bayes,tree", "--json")
    facts = json.loads(done.stdout)
    assert done.stderr == ""
    assert [line["rank"] for line in facts["summary"]] == [1, 2, 3]
    assert {line["model"] for line in facts["summary"]} == {"naive-bayes", "tree", "majority"}
    assert facts["verdict"].endswith(".")
    done = run("compare", "sample:votes", "-m", "naive-bayes,tree")
    assert facts["verdict"] in " ".join(done.stdout.split())


def test_compare_equals_the_library(run, folder):
    from countwise.evaluation.evaluate import evaluate

    facts = json.loads(
        run("compare", "sample:votes", "-m", "naive-bayes", "--seed", "3", "--json").stdout
    )
    trials = evaluate({"naive-bayes": cw.NaiveBayes()}, "sample:votes", random_state=3)
    found = facts["scores"]["accuracy"]["naive-bayes"]["value"]
    assert found == trials.score("accuracy", "naive-bayes").value


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--folds", "5", "--repeats", "2"], "5-fold cross-validation, stratified, 2 repeats"),
        (["--holdout", "0.3"], "hold-out 70:30, stratified, 10 repeats"),
        (["--leave-one-out"], "leave-one-out over 60 rows"),
        ([], "10-fold cross-validation"),
    ],
)
def test_compare_by_each_protocol(run, folder, args, words):
    done = run("compare", "good.csv", "-m", "naive-bayes", *args)
    assert done.exit_code == 0, done.stderr
    assert words in done.stdout


def test_compare_writes_csv_json_and_a_page(run, folder):
    args = ["sample:credit-g", "-m", "naive-bayes", "--gain", "sample"]
    done = run("compare", *args, "-o", "out.csv", "--report", "out.html")
    assert done.exit_code == 0, done.stderr
    with open("out.csv", newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert lines[0]["rule"] == "gain"
    assert float(lines[0]["expected_gain"]) > float(lines[-1]["expected_gain"])
    page = (folder / "out.html").read_text(encoding="utf-8")
    assert page.lstrip().lower().startswith("<!doctype html")
    assert run("compare", *args, "-o", "out.json", "-q").exit_code == 0
    assert json.loads((folder / "out.json").read_text())["ranked_by"] == "expected_gain"


def test_the_default_models_fit_the_table(run, folder):
    from countwise.models.registry import select

    facts = json.loads(run("compare", "sample:weather", "--folds", "2", "--json").stdout)
    names = {line["model"] for line in facts["summary"]}
    assert names == {"majority", *(model.name for model in select(None, numeric=False))}
    assert "naive-bayes-kernel" not in names


def test_the_majority_alone_can_be_asked_for(run, folder):
    facts = json.loads(run("compare", "good.csv", "-m", "majority", "--json").stdout)
    assert [line["model"] for line in facts["summary"]] == ["majority"]


def test_curve(run, folder):
    done = run("curve", "sample:iris", "-m", "naive-bayes", "--points", "4", "-o", "out.csv")
    assert done.exit_code == 0, done.stderr
    assert "105 rows" in done.stdout
    with open("out.csv", newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == 8
    facts = json.loads(
        run("curve", "sample:iris", "-m", "naive-bayes", "--points", "4", "--json").stdout
    )
    assert facts["sizes"][-1] == 105
    done = run("curve", "sample:iris", "-m", "naive-bayes", "--points", "3", "--report", "c.html")
    assert done.exit_code == 0, done.stderr
    assert (folder / "c.html").stat().st_size < 1_000_000


def test_fit_equals_the_library(run, folder):
    options = ["--model", "naive-bayes", "--param", "smoothing=0.5", "--json"]
    done = run("fit", "good.csv", "-o", "half.cw", *options)
    facts = json.loads(done.stdout)
    assert facts["classes"] == ["no", "yes"]
    table = cw.read("good.csv", target="class")
    same = cw.NaiveBayes(smoothing=0.5).fit(table)
    assert np.array_equal(load("half.cw").predict_proba(table), same.predict_proba(table))


def test_fit_says_what_it_did(run, folder):
    done = run("fit", "good.csv", "-o", "again.cw")
    text = " ".join(done.stdout.split())
    assert "additive trained on 60 rows of good.csv" in text
    assert "Saved as again.cw." in text
    quiet = run("fit", "good.csv", "-o", "again.cw", "-q")
    assert quiet.stdout == quiet.stderr == ""


def test_explained_parts_add_up(run, folder):
    done = run("explain", "m.cw", "good.csv", "--rows", "1-3,7", "--json")
    rows = json.loads(done.stdout)["rows"]
    assert [row["row"] for row in rows] == [1, 2, 3, 7]
    for row in rows:
        total = row["prior_log_odds"] + sum(part["log_odds"] for part in row["parts"])
        assert total == pytest.approx(row["log_odds"])
    model, table = load("m.cw"), cw.read("good.csv", target="class")
    posteriors = model.predict_proba(table)[[0, 1, 2, 6]]
    assert [[row["posterior"]["no"], row["posterior"]["yes"]] for row in rows] == [
        pytest.approx(line) for line in posteriors.tolist()
    ]


def test_explain_speaks_for_the_class_that_is_asked_for(run, folder):
    one = json.loads(run("explain", "m.cw", "good.csv", "--class", "yes", "--json").stdout)
    two = json.loads(run("explain", "m.cw", "good.csv", "--against", "yes", "--json").stdout)
    assert one["rows"][0]["class"] == "yes"
    assert two["rows"][0]["against"] == "yes"
    assert one["rows"][0]["log_odds"] == pytest.approx(-two["rows"][0]["log_odds"])


def test_explain_shows_what_cannot_be(run, folder):
    rows = [("a" if n % 2 else "b", "1.5", "yes" if n % 2 else "no") for n in range(20)]
    write_csv("sure.csv", [*rows, ("a", "2.5", "yes"), ("b", "3", "no")])
    options = ["--model", "naive-bayes", "--param", "smoothing=0", "-q"]
    run("fit", "sure.csv", "-o", "sure.cw", *options)
    done = run("explain", "sure.cw", "sure.csv")
    assert done.exit_code == 0
    assert "∞" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 100


def test_explain_writes_one_line_an_attribute(run, folder):
    assert run("explain", "m.cw", "good.csv", "-o", "out.csv").exit_code == 0
    with open("out.csv", newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert lines[0]["attribute"] == "(prior)"
    assert sum(line["attribute"] != "calibration" for line in lines) == 3


def test_samples_and_models(run, folder):
    assert "credit-g" in run("samples").stdout
    assert "Hofmann" in run("samples", "credit-g").stdout
    found = json.loads(run("samples", "--json").stdout)
    assert {"name", "rows", "columns", "classes", "where", "license"} <= set(found[0])
    assert json.loads(run("samples", "credit-g", "--json").stdout)["gain"]["labels"]
    assert "naive-bayes-kernel" in run("models").stdout
    assert "smoothing" in run("models", "naive-bayes").stdout
    assert json.loads(run("models", "--json").stdout)[0]["name"] == "naive-bayes"
    assert run("samples", "-o", "s.csv").exit_code == 0
    assert run("models", "-o", "m.json").exit_code == 0


def test_models_show_how_accurate_they_are(run, folder):
    listed = {one["name"]: one for one in json.loads(run("models", "--json").stdout)}
    assert 0.5 < listed["additive"]["accuracy"] < 1
    assert listed["additive"]["log_loss"] < listed["majority"]["log_loss"]
    assert listed["neighbors-regressor"]["accuracy"] is None
    shown = run("models", env={"COLUMNS": "120"}).stdout
    assert f"{100 * listed['additive']['accuracy']:.1f} %" in shown
    assert "UCI data sets" in shown
    assert "accuracy" in run("models", "--help").stdout


def test_versions(run, folder):
    assert run("--version").stdout == f"countwise {cw.__version__}\n"
    assert json.loads(run("version", "--json").stdout)["countwise"] == cw.__version__
    assert run("version").stdout.startswith(f"countwise {cw.__version__}\n")


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize(
    "args",
    [
        ["inspect", "sample:credit-g"],
        ["compare", "sample:votes", "-m", "naive-bayes,naive-bayes-kernel,tree"],
        ["curve", "sample:iris", "-m", "naive-bayes,tree", "--points", "3", "--repeats", "2"],
        ["explain", "m.cw", "good.csv"],
        ["samples"],
        ["models"],
    ],
    ids=lambda args: args[0],
)
def test_tables_keep_to_the_width_and_are_plain(run, folder, args, width):
    done = run(*args, env={"COLUMNS": str(width)})
    assert done.exit_code == 0, done.stderr
    assert "\x1b" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= width


@pytest.mark.parametrize(
    "kind",
    ["good.csv", "m.cw"],
)
def test_inspect_writes_findings(run, folder, kind):
    assert run("inspect", kind, "-o", "out.json").exit_code == 0
    assert json.loads((folder / "out.json").read_text())


@pytest.mark.parametrize(
    ("args", "left"),
    [
        (["--missing", "b"], {"a", "c"}),
        ([], {"a", "b", "c"}),
    ],
)
def test_missing_marks(run, folder, args, left):
    facts = json.loads(run("inspect", "good.csv", *args, "--json").stdout)
    assert {level["level"] for level in facts["data"]["columns"][0]["levels"]} == left


def test_when_missing_for_one_column(run, folder):
    write_csv("gaps.csv", [("?", *row[1:]) if n < 5 else row for n, row in enumerate(rows_of())])
    facts = json.loads(run("inspect", "gaps.csv", "--when-missing", "a=drop", "--json").stdout)
    assert facts["data"]["rows"] == 55
    facts = json.loads(run("inspect", "gaps.csv", "--when-missing", "value", "--json").stdout)
    assert "(missing)" in {level["level"] for level in facts["data"]["columns"][0]["levels"]}


def test_separators_have_names(run, folder):
    text = (folder / "good.csv").read_text().replace(",", "\t")
    (folder / "tabs.txt").write_text(text)
    facts = json.loads(run("inspect", "tabs.txt", "--separator", "tab", "--json").stdout)
    assert facts["data"]["kinds"]["numeric"] == 1


def test_identifiers_can_be_kept(run, folder):
    rows = [(str(n), *row) for n, row in enumerate(rows_of(), 1)]
    write_csv("ids.csv", rows, ("id", "a", "x", "class"))
    facts = json.loads(run("inspect", "ids.csv", "--json").stdout)
    assert facts["data"]["kinds"]["id"] == 1
    facts = json.loads(run("inspect", "ids.csv", "--keep-identifiers", "--json").stdout)
    assert facts["data"]["kinds"]["id"] == 0


def test_a_time_limit_holds_for_the_page_too(run, folder):
    args = ["compare", "sample:credit-g", "-m", "bagging,id3", "--max-seconds", "0.2"]
    done = run(*args, "--report", "page.html", "--folds", "3")
    assert done.exit_code == 0, done.stderr
    assert "The page has no learning curve" in done.stderr
    assert (folder / "page.html").exists()
