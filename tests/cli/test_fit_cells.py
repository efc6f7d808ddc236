"""countwise fit --model discrete-bayes: a budget, a gain matrix, progress, and what is refused."""

import json
from contextlib import nullcontext

import numpy as np
import pytest

import countwise as cw
from countwise.cli.output import Output

from .conftest import refused

SEARCH = ("--target", "y", "--model", "discrete-bayes", "--gain", "gain.csv")
ARGS = (*SEARCH, "--param", "budget=10000")


@pytest.fixture
def data(tmp_path, monkeypatch):
    """Rows whose class hangs on two columns together, and gains, in files."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.random((1000, 2)).round(3)
    y = np.where((X[:, 0] > 0.3) ^ (X[:, 1] > 0.8), "yes", "no")
    lines = [f"{a},{b},{c}" for (a, b), c in zip(X.tolist(), y, strict=True)]
    (tmp_path / "data.csv").write_text("\n".join(["one,two,y", *lines]) + "\n")
    (tmp_path / "gain.csv").write_text("true,no,yes\nno,1,-1\nyes,-2,3\n")
    return tmp_path


def test_the_model_is_searched_by_the_gains_and_saved(run, data):
    done = run("fit", "data.csv", *ARGS, "-o", "m.cw")
    assert done.exit_code == 0, done.stderr
    assert "It decides by gain." in done.stdout
    assert "a row in training" in done.stdout
    model = cw.load("m.cw")
    inner = model.model_
    assert inner.budget == 10_000
    np.testing.assert_array_equal(inner.gain_matrix_, [[1, -1], [-2, 3]])
    assert np.abs(inner.boundaries_[0] - 0.3).min() < 0.02
    assert np.abs(inner.boundaries_[1] - 0.8).min() < 0.02
    done = run("predict", "m.cw", "data.csv", "-o", "out.csv")
    assert done.exit_code == 0, done.stderr


def test_without_a_name_the_model_is_called_as_the_file_and_replaces_nothing(run, data):
    done = run("fit", "data.csv", *ARGS, "--json")
    assert done.exit_code == 0, done.stderr
    facts = json.loads(done.stdout)
    assert facts["output"] == "data.cw"
    assert facts["kind"] == "DiscreteBayes"
    assert facts["levels"] == cw.load("data.cw").model_.levels_
    assert facts["gain"]["validation"] > 1
    assert "already there" in refused(run("fit", "data.csv", *ARGS))


def test_the_seed_decides(run, data):
    for name in ("a.cw", "b.cw"):
        assert run("fit", "data.csv", *ARGS, "--seed", "5", "-o", name, "-q").exit_code == 0
    one, two = (cw.load(name).model_ for name in ("a.cw", "b.cw"))
    for a, b in zip(one.boundaries_, two.boundaries_, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--param", "budget=0"), "budget"),
        (("--param", "budget=many"), "budget"),
        (("--param", "budget=100", "--model", "naive-bayes"), "budget"),
        (("--gain", "none.csv"), "none.csv"),
        (("--gain", "short.csv"), "yes"),
        (("--gain", "words.csv"), "finite number"),
        (("--param", "levels=[0, 2]"), "levels"),
        (("--param", "levels=[2, 2, 2]", "-q"), "levels"),
        (("--param", "search=fast"), "search"),
    ],
)
def test_wrong_input_is_refused_in_one_line(run, data, args, words):
    (data / "short.csv").write_text("true,no\nno,1\n")
    (data / "words.csv").write_text("true,no,yes\nno,much,little\nyes,1,2\n")
    line = refused(run("fit", "data.csv", *SEARCH, "-o", "m.cw", *args))
    assert words in line
    assert not (data / "m.cw").exists()


def test_a_model_that_reports_progress_is_given_a_function(run, data, monkeypatch):
    seen = []
    monkeypatch.setattr(
        Output, "progress", lambda out: nullcontext(lambda *step: seen.append(step))
    )
    for model in ("discrete-bayes", "naive-bayes"):
        done = run("fit", "data.csv", "--target", "y", "--model", model, "-o", "m.cw")
        assert done.exit_code == 0, done.stderr
    assert any("training gain" in text for _, _, text in seen)


def test_the_report_shows_the_cells(run, data):
    done = run(
        "compare",
        "sample:iris",
        "-m",
        "discrete-bayes",
        "--folds",
        "2",
        "-q",
        "--report",
        "page.html",
    )
    assert done.exit_code == 0, done.stderr
    page = (data / "page.html").read_text(encoding="utf-8")
    assert "Levels and cut points" in page
    assert "A slice of the decisions" in page
