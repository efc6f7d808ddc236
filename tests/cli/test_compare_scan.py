"""``countwise compare`` on rows that stay in their files."""

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
