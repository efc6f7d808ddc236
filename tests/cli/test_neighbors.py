"""``countwise neighbors``: the grid as words, JSON, CSV and picture."""

import json

from click.testing import CliRunner

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
    assert [own["data"] for own in plain["grids"]] == ["sample:iris", "sample:glass"]
    first, second = (own["accuracy"][0][0] for own in plain["grids"])
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
    said = [run("sample:iris", "-k", "1", "-p", "2", *way).output for way in ways]
    assert said[0] == said[1]
    assert "leave-one-out over 150 rows" in said[0]


def test_explain_names_the_rows_that_voted(tmp_path):
    model = str(tmp_path / "m.cw")
    fit = ["fit", "sample:weather", "--model", "neighbors", "--param", "k=3", "-o", model]
    assert CliRunner().invoke(app, fit).exit_code == 0
    done = CliRunner().invoke(app, ["explain", model, "sample:weather", "--row", "4"])
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["training", "row", "class", "distance", "differs", "most", "in"] in lines
    assert ["4", "yes", "0"] in lines
    assert ["8", "no", "1", "outlook"] in lines
    few = CliRunner().invoke(app, ["explain", model, "sample:weather", "--most", "1"]).stdout
    assert "and 2 further rows" in few
