"""``countwise compare`` and ``curve`` on rows that stay in their files."""

import json

import pandas as pd
import pytest

import countwise as cw


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("parts")
    table = cw.read("sample:votes")
    frame = pd.DataFrame(table.to_dict())
    frame["member"] = [f"m{number % 80}" for number in range(len(frame))]
    for at in range(3):
        frame.iloc[145 * at : 145 * (at + 1)].to_csv(folder / f"part{at}.csv", index=False)
    return folder


def test_a_pattern_is_compared_and_reported(folder, tmp_path, run):
    page = tmp_path / "page.html"
    words = ("compare", f"{folder}/*.csv", "-t", "Class", "--drop", "member", "--folds", "3")
    result = run(*words, "--report", str(page), "--json")
    assert result.exit_code == 0
    facts = json.loads(result.stdout)
    models = [line["model"] for line in facts["summary"]]
    assert {"naive-bayes", "aode", "majority"} <= set(models)
    assert "additive" not in models
    assert sum(fold["tested"] for fold in facts["folds"]) == 435
    assert "Confusion matrix" in page.read_text(encoding="utf-8")


def test_groups_of_a_pattern_and_models_that_need_rows(folder, run):
    words = ("compare", f"{folder}/*.csv", "-t", "Class", "--group", "member", "--folds", "3")
    result = run(*words, "-m", "tan,neighbors,additive")
    assert result.exit_code == 0
    assert "groups of member kept together" in result.stdout
    assert "additive" in result.stdout
    assert "neighbors was left out" in " ".join((result.stdout + result.stderr).split())


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (["--holdout", "0.3"], "--holdout needs rows in memory"),
        (["--time", "member"], "--time needs rows in memory"),
        (["--checkpoint", "x.counts"], "--checkpoint is for fit and count"),
        (["--group", "nobody"], "nobody"),
    ],
)
def test_what_a_scan_cannot_do_is_refused(folder, run, more, sentence):
    result = run("compare", f"{folder}/*.csv", "-t", "Class", *more)
    assert result.exit_code == 2
    assert sentence in " ".join(result.stderr.split())


def test_a_curve_of_a_pattern(folder, tmp_path, run):
    words = ("curve", f"{folder}/*.csv", "-t", "Class", "--drop", "member", "--points", "6")
    page = tmp_path / "page.html"
    result = run(*words, "--json", "--report", str(page))
    assert result.exit_code == 0
    facts = json.loads(result.stdout)
    assert {line["model"] for line in facts["records"]} == {"naive-bayes", "aode", "majority"}
    assert 10 <= facts["sizes"][0] < facts["sizes"][-1] < 435
    assert {"S08", "S10", "E13"} <= {note["code"] for note in facts["notes"]}
    assert '<section id="curve">' in page.read_text(encoding="utf-8")
    shown = run(*words, "-m", "naive-bayes,neighbors", "-o", str(tmp_path / "points.csv"))
    assert shown.exit_code == 0
    assert "accuracy by training rows; hold-out 70:30" in shown.stdout.lower()
    assert "neighbors was left out" in " ".join(shown.stderr.split())
    points = pd.read_csv(tmp_path / "points.csv")
    assert points["size"].tolist()[: len(facts["sizes"])] == facts["sizes"]


def test_groups_on_a_curve(folder, run):
    words = ("curve", f"{folder}/*.csv", "-t", "Class", "-m", "naive-bayes", "--group", "member")
    assert "groups of member kept together" in " ".join(run(*words).stdout.split())
    refused = run("curve", "sample:votes", "--group", "member")
    assert refused.exit_code == 2
    refused = run("curve", f"{folder}/*.csv", "-t", "Class", "--checkpoint", "x.counts")
    assert "--checkpoint is for fit and count; curve begins anew" in refused.stderr


def test_a_ranking_by_area_says_how_exact_it_is(folder, run):
    words = ("compare", f"{folder}/*.csv", "-t", "Class", "--drop", "member", "--folds", "3")
    result = run(*words, "-m", "naive-bayes,tan", "--score", "auc")
    assert result.exit_code == 0
    assert "every AUC is exact to within" in " ".join(result.stderr.split())


def test_bagging_is_fitted_to_a_pattern(folder, tmp_path, run):
    words = ("fit", f"{folder}/*.csv", "-t", "Class", "--drop", "member", "--model", "bagging")
    model = tmp_path / "bagging.cw"
    result = run(*words, "--param", "n_estimators=3", "-o", str(model), "--json")
    assert result.exit_code == 0
    assert "S12" in {note["code"] for note in json.loads(result.stdout)["notes"]}
    assert len(cw.load(model).members_) == 3


@pytest.mark.parametrize("command", ["compare", "curve"])
def test_groups_that_no_file_has_are_named_by_their_option(folder, run, command):
    result = run(command, f"{folder}/*.csv", "-t", "Class", "--group", "nobody")
    assert result.exit_code == 2
    assert "--group must name a column; got 'nobody'" in result.stderr
