"""``countwise neighbors``: the grid as words, JSON, CSV and picture."""

import json
import math
import shlex

from click.testing import CliRunner

import countwise as cw
from countwise.cli.app import app


def run(*words):
    return CliRunner().invoke(app, ["neighbors", *words], catch_exceptions=False)


def test_one_file_and_its_map(tmp_path):
    done = run("sample:iris", "-k", "1-3", "-p", "1,2", "-o", str(tmp_path / "map.svg"))
    assert done.exit_code == 0
    assert "best k =" in done.output
    assert "<svg" in (tmp_path / "map.svg").read_text(encoding="utf-8")


def test_several_files_and_their_mean(tmp_path):
    done = run("sample:iris", "sample:glass", "-k", "1,5", "-p", "2", "--json")
    plain = json.loads(done.stdout)
    assert [grid["data"] for grid in plain["grids"]] == ["sample:iris", "sample:glass"]
    first, second = (grid["accuracy"][0][0] for grid in plain["grids"])
    assert abs(plain["mean"]["accuracy"][0][0] - (first + second) / 2) < 1e-12
    run("sample:iris", "-k", "1,5", "-p", "2", "-o", str(tmp_path / "grid.csv"))
    assert len((tmp_path / "grid.csv").read_text().splitlines()) == 3


def test_bad_numbers_and_folds():
    assert CliRunner().invoke(app, ["neighbors", "sample:iris", "-k", "x"]).exit_code == 2
    assert CliRunner().invoke(app, ["neighbors", "sample:iris", "--folds", "x"]).exit_code == 2


def test_exponents_as_people_write_them(tmp_path):
    done = run("sample:iris", "-k", "1", "-p", "1.5,2,maximum", "--json")
    assert json.loads(done.stdout)["grids"][0]["p"] == [1.5, 2.0, "maximum"]
    done = run("sample:iris", "-k", "1", "-p", "inf", "-o", str(tmp_path / "grid.csv"))
    assert "p = maximum" in done.output
    assert ",maximum," in (tmp_path / "grid.csv").read_text()


def test_leave_one_out_is_said_either_way():
    ways = (["--leave-one-out"], ["--folds", "leave-one-out"])
    outputs = [run("sample:iris", "-k", "1", "-p", "2", *way).output for way in ways]
    assert outputs[0] == outputs[1]
    assert "leave-one-out over 150 rows" in outputs[0]


def test_explain_names_the_rows_that_voted(tmp_path):
    model = str(tmp_path / "m.cw")
    fit = ["fit", "sample:weather", "--model", "neighbors", "--param", "n_neighbors=3", "-o", model]
    assert CliRunner().invoke(app, fit).exit_code == 0
    done = CliRunner().invoke(app, ["explain", model, "sample:weather", "--row", "4"])
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["training", "row", "class", "distance", "differs", "most", "in"] in lines
    assert ["4", "yes", "0"] in lines
    assert ["8", "no", "1", "outlook"] in lines
    few = CliRunner().invoke(app, ["explain", model, "sample:weather", "--most", "1"]).stdout
    assert "and 2 further rows" in few


def test_what_was_done_to_the_columns_is_said(tmp_path):
    file = tmp_path / "rows.csv"
    lines = [f"{i % 7},2024-01-{1 + i % 28:02d},{'ab'[i % 2]}" for i in range(60)]
    file.write_text("\n".join(["x,day,class", *lines]) + "\n")
    done = run(str(file), "-k", "1", "-p", "2")
    assert "note: Column 'day' holds dates" in done.stderr
    both = run(str(file), "sample:iris", "-k", "1", "-p", "2", "-t", "class")
    assert f"note: {file}: Column 'day' holds dates" in both.stderr


def test_folds_and_leave_one_out_are_two_ways():
    words = ["neighbors", "sample:iris", "--folds", "5", "--leave-one-out"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 2
    assert "omit --folds" in done.stderr


def test_what_is_best_can_be_trained_as_it_is_said(tmp_path):
    options = ["-k", "3", "-p", "maximum", "--weights", "rank", "--scale", "none", "-t", "class"]
    notes = run("sample:iris", *options).stderr
    words = shlex.split(notes.partition("train the best: ")[2])
    done = CliRunner().invoke(app, [*words[1:], "-o", str(tmp_path / "m.cw")])
    assert done.exit_code == 0
    model = cw.load(tmp_path / "m.cw")
    assert (model.n_neighbors, model.metric, model.p) == (3, "vdm", math.inf)
    assert (model.weights, model.scale) == ("rank", None)
    assert "train the best" not in run("sample:iris", "sample:glass", "-k", "1", "-p", "1").stderr
