"""Folders, patterns and large files on the command line; counts that sites exchange."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest

import countwise as cw
from countwise import CountwiseError
from countwise.cli import options
from countwise.models.additive import choose, prepare


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Two files of iris flowers in the folder where commands run."""
    monkeypatch.chdir(tmp_path)
    lines = cw.read("sample:iris").to_pandas().to_csv(index=False).splitlines(keepends=True)
    (tmp_path / "data").mkdir()
    for number, part in enumerate((lines[1:70], lines[70:])):
        (tmp_path / "data" / f"{number}.csv").write_text(lines[0] + "".join(part))
    (tmp_path / "all.csv").write_text("".join(lines))
    return tmp_path


@pytest.mark.parametrize("model", ["naive-bayes", "tan", "id3", "additive"])
@pytest.mark.parametrize("source", ["data/*.csv", "data"])
def test_fit_takes_a_folder_and_a_pattern(run, folder, model, source):
    done = run("fit", source, "--target", "class", "--model", model, "-o", "model.cw")
    assert done.exit_code == 0, done.output
    assert run("fit", "all.csv", "-t", "class", "--model", model, "-o", "same.cw").exit_code == 0
    rows = cw.read("all.csv", target="class")
    one, two = cw.load("model.cw"), cw.load("same.cw")
    assert np.array_equal(one.predict_proba(rows), two.predict_proba(rows))


def test_fit_trains_additive_and_can_limit_its_time(run, folder, monkeypatch):
    monkeypatch.setattr(prepare, "SAMPLE_ROWS", 60)
    monkeypatch.setattr(choose, "is_dual_cheaper", lambda *rows: False)  # as for a real sample
    words = ("fit", "data", "-t", "class", "--param", "max_seconds=1e-6", "-o", "model.cw")
    done = run(*words, "--json")
    assert done.exit_code == 0, done.output
    facts = json.loads(done.stdout)
    assert facts["model"] == "additive"
    assert {"A01", "A02", "A03"} <= {note["code"] for note in facts["notes"]}
    bad = run("fit", "data", "-t", "class", "--param", "max_seconds=0", "-o", "model.cw")
    assert bad.exit_code == 2


def test_a_checkpoint_is_removed_when_the_model_is_saved(run, folder):
    words = ("fit", "data", "-t", "class", "--model", "tan", "--checkpoint", "run.counts")
    assert run(*words, "-o", "model.cw").exit_code == 0
    assert sorted(os.listdir(folder)) == ["all.csv", "data", "model.cw"]


def test_weights_are_those_of_python_for_tables_and_scans(run, folder):
    lines = (folder / "all.csv").read_text().splitlines()
    weight = [number % 4 for number in range(len(lines) - 1)]
    rows = [f"{line},{w}\n" for line, w in zip(lines, ["often", *weight], strict=True)]
    (folder / "weighted.csv").write_text("".join(rows))
    words = ("fit", "weighted.csv", "-t", "class", "--model", "tan", "--weight", "often")
    assert run(*words, "-o", "table.cw").exit_code == 0
    done = run(*words, "--engine", "stream", "-o", "scan.cw")
    assert done.exit_code == 0, done.output
    table = cw.read("all.csv", target="class")
    known = cw.TAN().fit(table, sample_weight=weight).predict_proba(table)
    for name in ("table.cw", "scan.cw"):
        assert np.array_equal(cw.load(name).predict_proba(table), known)
    words = ("count", "weighted.csv", "-t", "class", "--weight", "often", "-o", "all.counts")
    assert run(*words).exit_code == 0
    assert cw.load_counts("all.counts").total == sum(weight)
    words = ("compare", "weighted.csv", "-t", "class", "--weight", "often", "-m", "tan", "--json")
    for engine in ((), ("--engine", "stream")):
        done = run(*words, "--folds", "3", *engine)
        assert done.exit_code == 0, done.output
        assert "--weight often" in json.loads(done.stdout)["keep"]
    (folder / "weighted.csv").write_text("".join(rows).replace(",3\n", ",-3\n"))
    words = ("fit", "weighted.csv", "-t", "class", "--model", "tan", "--weight", "often")
    for engine in ((), ("--engine", "stream")):
        done = run(*words, *engine, "-o", "bad.cw")
        assert done.exit_code == 2
        assert "row 4 of 'weighted.csv' holds -3 in 'often'" in done.output
    assert not os.path.exists("bad.cw")


def test_large_files_stream_by_themselves(run, folder, monkeypatch):
    monkeypatch.setattr(options, "_is_large", lambda source: True)
    done = run("fit", "all.csv", "-t", "class", "--model", "naive-bayes", "-o", "model.cw")
    assert done.exit_code == 0
    assert "read piece by piece" in done.output
    assert "S01" in {note.code for note in cw.load("model.cw").notes_}
    # A model that needs rows reads the file as before.
    assert run("fit", "all.csv", "-t", "class", "--model", "neighbors", "-o", "k.cw").exit_code == 0


def test_a_model_that_needs_rows_learns_from_a_sample(run, folder):
    words = ("data", "-t", "class", "--model", "neighbors", "--sample", "60")
    done = run("fit", *words, "-o", "model.cw")
    assert done.exit_code == 0, done.output
    assert "60 of 150 rows, drawn at random" in done.output
    model = cw.load("model.cw")
    same = cw.Neighbors().fit(cw.scan("data", target="class").sample(60))
    rows = cw.read("all.csv", target="class")
    assert np.array_equal(model.predict_proba(rows), same.predict_proba(rows))
    # As many rows as there are, or more, are all of them, and no note speaks of a sample.
    everything = cw.scan("data", target="class").sample(150)
    assert "S06" not in {note.code for note in everything.notes}


def test_a_sample_trains_the_default_model_of_rows_in_memory(run, folder):
    assert run("fit", "data", "-t", "class", "--sample", "80", "-o", "model.cw").exit_code == 0
    assert type(cw.load("model.cw")) is cw.Additive


def test_counts_are_not_those_of_a_sample(run, folder):
    done = run("count", "data", "-t", "class", "--sample", "60", "-o", "some.counts")
    assert done.exit_code == 2
    assert "--sample is for models" in done.output
    assert not os.path.exists("some.counts")


def test_fit_compares_models_on_a_folder(run, folder):
    done = run("fit", "data", "-t", "class", "--model", "best", "--json", "-o", "model.cw")
    assert done.exit_code == 0, done.output
    facts = json.loads(done.stdout)
    assert facts["chosen"].startswith("Compared")
    assert cw.load("model.cw").takes_scans


def test_a_model_that_needs_rows_refuses_a_folder(run, folder):
    done = run("fit", "data", "-t", "class", "--model", "neighbors", "-o", "model.cw")
    assert done.exit_code == 2
    assert "rows in memory" in done.output
    assert not os.path.exists("model.cw")


def test_inspect_describes_a_folder_as_it_does_a_file(run, folder):
    many = json.loads(run("inspect", "data", "-t", "class", "--json").stdout)["data"]
    one = json.loads(run("inspect", "all.csv", "-t", "class", "--json").stdout)["data"]
    for key in ("rows", "target", "kinds", "missing", "balance", "dropped"):
        assert many[key] == one[key]
    for found, expected in zip(many["columns"], one["columns"], strict=True):
        quartiles = found.pop("quartiles", None), expected.pop("quartiles", None)
        assert found == expected
        if quartiles[0] is not None:
            assert quartiles[0] == pytest.approx(quartiles[1], abs=0.11)
    bare = json.loads(run("inspect", "data", "--drop", "class", "--json").stdout)["data"]
    assert bare["columns"][0]["mean"] == one["columns"][0]["mean"]


def test_counts_of_two_sites_give_the_model_of_all_rows(run, folder):
    for number in (0, 1):
        words = ("count", f"data/{number}.csv", "-t", "class", "-o", f"{number}.counts")
        assert run(*words).exit_code == 0
    done = run("merge", "0.counts", "1.counts", "-o", "model.cw")
    assert done.exit_code == 0
    assert "150 rows in 2 files" in done.output
    rows = cw.read("all.csv", target="class")
    expected = cw.NaiveBayes(calibrate=None).fit(rows)
    found = cw.load("model.cw")
    assert np.array_equal(found.predict_proba(rows), expected.predict_proba(rows))
    assert run("merge", "0.counts", "1.counts", "-o", "both.counts").exit_code == 0
    assert cw.load_counts("both.counts").rows == 150


def test_pairs_are_counted_for_models_of_pairs(run, folder):
    words = ("count", "sample:votes", "--pairs", "-o", "votes.counts")
    assert run(*words).exit_code == 0
    assert run("merge", "votes.counts", "--model", "tan", "-o", "tan.cw").exit_code == 0
    votes = cw.read("sample:votes")
    expected = cw.TAN(calibrate=None).fit(votes)
    assert np.array_equal(cw.load("tan.cw").predict_proba(votes), expected.predict_proba(votes))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("fit", "no/*.csv", "-t", "y"), "none does"),
        (("fit", "data", "-t", "clas"), "Did you mean 'class'"),
        (("fit", "data", "-t", "class", "--memory", "much"), "--memory"),
        (("fit", "data", "-t", "class", "--memory", "0"), "--memory must be at least 1MB"),
        (("fit", "data", "-t", "class", "--max-levels", "0"), "--max-levels"),
        (("fit", "empty", "-t", "class"), "'empty' must hold files of a known format; got none"),
        (("fit", "round.csv", "-t", "class"), "Too many levels of symbolic links"),
        (("fit", "data", "-t", "class", "--engine", "strem"), "--engine"),
        (("count", "data", "-t", "class"), "-o"),
        (("merge", "all.csv", "-o", "model.cw"), "damaged or something else"),
        (("merge", "none.counts", "-o", "model.cw"), "cannot be read"),
    ],
)
def test_bad_input_is_one_sentence(run, folder, words, said):
    (folder / "empty").mkdir(exist_ok=True)
    if not (folder / "round.csv").is_symlink():
        (folder / "round.csv").symlink_to("round.csv")
    done = run(*words)
    assert done.exit_code == 2
    assert said in done.output
    assert not os.path.exists("model.cw")


def test_predict_takes_a_pattern(run, folder):
    run("fit", "all.csv", "-t", "class", "-o", "model.cw")
    assert run("predict", "model.cw", "data/*.csv", "-o", "many.csv").exit_code == 0
    assert run("predict", "model.cw", "all.csv", "-o", "one.csv").exit_code == 0
    assert (folder / "many.csv").read_text() == (folder / "one.csv").read_text()


@pytest.mark.parametrize("source", ["data/*.csv", "data"])
def test_rows_of_a_folder_are_explained(run, folder, source):
    assert run("fit", "all.csv", "-t", "class", "--model", "tan", "-o", "model.cw").exit_code == 0
    # The first file has 69 rows.
    words = ("--rows", "3,70,150", "--json")
    done = run("explain", "model.cw", source, *words)
    assert done.exit_code == 0, done.output
    known = json.loads(run("explain", "model.cw", "all.csv", *words).stdout)
    assert json.loads(done.stdout)["rows"] == known["rows"]
    done = run("explain", "model.cw", source, "--row", "151")
    assert done.exit_code == 2
    assert "row 151 does not exist; " in done.stderr
    assert " has 150 rows." in done.stderr


def test_no_output_replaces_a_file_that_is_read(run, folder):
    run("fit", "all.csv", "-t", "class", "--model", "naive-bayes", "-o", "model.cw")
    before = (folder / "data" / "0.csv").read_bytes()
    for source in ("data", "data/*.csv"):
        for words in (
            ("predict", "model.cw", source),
            ("compare", source, "-t", "class", "-m", "naive-bayes"),
        ):
            done = run(*words, "-o", "data/0.csv")
            assert done.exit_code == 2
            assert "must be another file than the one that is read" in done.stderr
    with pytest.raises(CountwiseError, match="must be another file than the one that is read"):
        cw.predict_file("model.cw", cw.scan("data"), "data/0.csv")
    assert (folder / "data" / "0.csv").read_bytes() == before


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("fit", "data", "--checkpoint", "m.cw", "-o", "m.cw"), "must be different files"),
        (("fit", "data", "--checkpoint", "data.cw"), "must be different files"),
        (("count", "data", "--checkpoint", "m.counts", "-o", "m.counts"), "different files"),
        (("fit", "data", "--checkpoint", "none/m.c", "-o", "m.cw"), "--checkpoint: 'none/m.c'"),
        (("fit", "data", "--checkpoint", "data", "-o", "m.cw"), "--checkpoint: 'data' must be a"),
        (("inspect", "data", "--checkpoint", "none/m.c"), "--checkpoint: 'none/m.c'"),
    ],
)
def test_a_checkpoint_that_cannot_be_is_refused(run, folder, words, said):
    done = run(*words, "-t", "class")
    assert done.exit_code == 2
    assert said in done.stderr
    assert sorted(os.listdir(folder)) == ["all.csv", "data"]


def test_inspect_removes_its_checkpoint(run, folder):
    assert run("inspect", "data", "-t", "class", "--checkpoint", "run.counts").exit_code == 0
    assert sorted(os.listdir(folder)) == ["all.csv", "data"]


@pytest.mark.parametrize("command", ["compare", "curve"])
def test_one_class_is_refused(run, folder, command):
    for name in ("0.csv", "1.csv"):
        (folder / "data" / name).write_text("a,class\n" + "u,p\nv,p\n" * 50)
    done = run(command, "data", "-t", "class", "-m", "naive-bayes")
    assert done.exit_code == 2
    assert "at least two classes; column 'class' holds only 'p'" in done.stderr
    assert run("count", "data", "-t", "class", "-o", "p.counts").exit_code == 0
    done = run("merge", "p.counts", "-o", "model.cw")
    assert done.exit_code == 2
    assert "at least two classes; got only 'p'" in done.stderr
    assert not os.path.exists("model.cw")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("compare", "data", "--group", "nope"), "compare: --group must name a column; got 'nope'"),
        (("curve", "data", "--group", "nope"), "curve: --group must name a column; got 'nope'"),
        (("compare", "data", "--fold", "petal_width"), "--fold needs rows in memory"),
        (("compare", "data", "--time", "petal_width"), "on the command line --sample"),
        (("fit", "data", "--weight", "class2", "-o", "m.cw"), "--weight must name a column of num"),
        (("fit", "data/0.csv", "data/1.csv", "-o", "m.cw"), "Put a pattern in quotes"),
        (("fit", "data", "--table", "t", "-o", "m.cw"), "--table can only belong to a database"),
        (("fit", "duckdb:all.csv", "-o", "m.cw"), "'all.csv' must be a DuckDB file; it cannot"),
        (("compare", "data", "all.csv", "--checkpoint", "c"), "--checkpoint is for fit and count"),
    ],
)
def test_refusals_name_the_option_that_is_wrong(run, folder, words, said):
    for name in ("0.csv", "1.csv"):
        lines = (folder / "data" / name).read_text().splitlines()
        head, *rows = (f"{line},{line.rsplit(',', 1)[1]}" for line in lines)
        (folder / "data" / name).write_text("\n".join([f"{head}2", *rows]) + "\n")
    done = run(*words, "-t", "class")
    assert done.exit_code == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_several_sources_are_compared_outside_memory(run, folder):
    words = ("-t", "class", "-m", "naive-bayes,tan", "--json")
    done = run("compare", "data", "data/*.csv", "all.csv", *words)
    assert done.exit_code == 0, done.output
    assert list(json.loads(done.stdout)["trials"]) == ["data", "data/*.csv", "all"]
    done = run("compare", "data", "all.csv", *words, "--engine", "strem")
    assert done.exit_code == 2
    assert "engine must be one of" in done.stderr


def test_merge_names_the_files_that_do_not_fit(run, folder):
    assert run("count", "data/0.csv", "-t", "class", "-o", "a.counts").exit_code == 0
    words = ("count", "data/1.csv", "-t", "class", "-o", "b.counts")
    assert run(*words, "--drop", "petal_width").exit_code == 0
    done = run("merge", "a.counts", "b.counts", "-o", "model.cw")
    assert done.exit_code == 2
    assert "'b.counts' cannot be added to 'a.counts'" in done.stderr
    assert "'petal_width'" in done.stderr
    done = run("merge", "a.counts", "a.counts", "-o", "model.cw")
    assert done.exit_code == 2
    assert "a.counts is named twice" in done.stderr
    done = run("merge", "a.counts", "-o", "model.cw", "--model", "tan")
    assert done.exit_code == 2
    assert "--drop" in done.stderr
