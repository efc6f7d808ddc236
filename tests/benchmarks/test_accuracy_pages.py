"""The pages that quote accuracy agree with the results in the repository."""

import json

import pytest
from benchmarks.accuracy import pages
from benchmarks.accuracy.results import HERE


@pytest.fixture(scope="module")
def facts():
    return json.loads((HERE / "accuracy.json").read_text("utf-8"))


def test_the_pages_are_those_of_the_last_run(facts):
    stale = [
        path.name
        for path, text in pages.page_texts(facts).items()
        if path.read_text("utf-8") != text
    ]
    assert stale == [], "run python -m benchmarks.accuracy.pages"


def test_the_main_table_has_a_line_a_model_and_no_gap(facts):
    head, lines = pages.mean_lines(facts)
    assert {"additive", "naive-bayes", "sklearn-forest"} <= {line[0] for line in lines}
    assert all(len(line) == len(head) for line in lines)
    assert "nan" not in str(lines)
    losses = [one["log_loss"] for one in facts["means"]]
    assert losses == sorted(losses)


def test_a_page_without_slow_libraries_and_weka_lacks_their_sections(facts):
    page = pages.accuracy_page({**facts, "partial": [], "weka": [], "failures": []})
    assert "Slow libraries" not in page
    assert "Compared with Weka" not in page
    assert "## Run it" in page
    assert "the first 3 to 4 of ten folds" in pages.accuracy_page({**facts, "folds": [3, 4]})


def test_the_row_of_the_readme_names_the_best_of_ours(facts):
    first = next(one for one in facts["means"] if one["model"] in pages.our_models(facts))
    row = pages.readme_row(facts)
    assert f"`{first['model']}` log loss {pages.loss(first['log_loss'])}" in row
    assert row.count("|") == 5


def test_a_star_marks_a_mean_over_fewer_folds(facts):
    score = {"log_loss": 0.5, "accuracy": 0.75, "folds": 3}
    some = {**facts, "scores": {one["name"]: {"additive": score} for one in facts["sets"]}}
    assert {line[2] for line in pages.set_lines(some, ("main",))[1]} == {".500 (75.0)*"}
    assert {line[2] for line in pages.set_lines(some, ("larger",))[1]} <= {".500 (75.0)"}
