"""Text columns on the command line: found, declared, compared, fitted, predicted, explained."""

import csv
import json

import pytest

from .conftest import refused


@pytest.fixture
def notes(tmp_path, monkeypatch):
    """A file with short texts that nobody would take for text, quotes and line ends included."""
    monkeypatch.chdir(tmp_path)
    rows = [
        (f"{'good' if n % 2 else 'bad'} thing\nno {n % 7}", n % 5, "yn"[n % 2]) for n in range(60)
    ]
    with open("notes.csv", "w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([("note", "size", "class"), *rows])
    return "notes.csv"


def test_inspect_tells_text(run):
    shown = run("inspect", "sample:help-desk")
    assert shown.exit_code == 0
    assert "1 nominal, 1 numeric and 1 text columns" in shown.output
    assert "593 different texts" in shown.output
    facts = json.loads(run("inspect", "sample:help-desk", "--json").stdout)
    assert facts["data"]["kinds"]["text"] == 1


def test_compare_notes_who_leaves_text_out(run):
    done = run("compare", "sample:help-desk", "-m", "naive-bayes,tan", "--folds", "3")
    assert done.exit_code == 0
    assert "left out by tan" in done.output
    assert "--drop" in done.output


def test_compare_takes_only_models_that_count_words_where_there_is_only_text(run):
    facts = run(
        "compare", "sample:help-desk", "--drop", "channel,order value", "--folds", "3", "--json"
    )
    assert facts.exit_code == 0
    names = {entry["model"] for entry in json.loads(facts.stdout)["summary"]}
    assert names == {"additive", "naive-bayes", "majority"}


def test_the_additive_model_names_words(run, notes):
    options = ["--text", "note", "--model", "additive", "-o", "m.cw"]
    fitted = run("fit", notes, *options)
    assert fitted.exit_code == 0, fitted.stderr
    why = json.loads(run("explain", "m.cw", notes, "--row", "2", "--json").stdout)
    assert "'good'" in json.dumps(why)


def test_fit_predict_and_explain(run, notes):
    options = ["--model", "naive-bayes", "--param", "text=bernoulli"]
    fitted = run("fit", notes, "--text", "note", "-o", "m.cw", *options)
    assert fitted.exit_code == 0
    assert "0 nominal, 1 numeric and 1 text columns" in " ".join(fitted.output.split())
    done = run("predict", "m.cw", notes, "-o", "answers.csv")
    assert done.exit_code == 0
    assert "Accuracy 1" in done.output
    why = json.loads(run("explain", "m.cw", notes, "--row", "2", "--json").stdout)
    assert "'good'" in json.dumps(why)
    shown = run("explain", "m.cw", notes, "--row", "60")
    assert "'good'" in shown.output


def test_files_in_blocks_give_the_answers_of_the_table(run, notes, monkeypatch):
    from countwise.tables.formats import blocks

    run("fit", notes, "--text", "note", "-o", "m.cw")
    run("predict", "m.cw", notes, "-o", "whole.csv")
    monkeypatch.setattr(blocks, "BLOCK_ROWS", 7)
    run("predict", "m.cw", notes, "-o", "blocks.csv")
    with open("whole.csv") as whole, open("blocks.csv") as parts:
        assert whole.read() == parts.read()


def test_bad_names_are_refused(run, notes):
    said = refused(run("fit", notes, "--text", "nte", "-o", "m.cw"))
    assert "--text" in said
    assert "'nte'" in said
    both = run("fit", notes, "--text", "note", "--nominal", "note", "-o", "m.cw")
    assert "'note' as nominal and text" in refused(both)


def test_a_text_column_that_rows_lack_is_taken_as_missing(run, notes):
    run("fit", notes, "--text", "note", "-o", "m.cw")
    with open("short.csv", "w", encoding="utf-8") as out:
        out.write("size\n3\n")
    result = run("predict", "m.cw", "short.csv", "-o", "a.csv")
    assert result.exit_code == 0, result.stderr
    assert "no column 'note'" in result.stderr


def test_neighbors_leave_text_out(run, notes):
    result = run("neighbors", notes, "--text", "note", "-k", "1", "-p", "2", "--folds", "2")
    assert result.exit_code == 0, result.stderr
    assert "was left out by Neighbors" in result.stderr
