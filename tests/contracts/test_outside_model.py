"""A model of another package, the example of CONTRIBUTING.md, does all that ours do."""

import importlib
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import countwise as cw
from countwise.cli.app import app
from countwise.models import registry
from countwise.testing import check_model

PAGE = Path(__file__).parents[2] / "CONTRIBUTING.md"


@pytest.fixture
def shares(tmp_path, monkeypatch):
    """The class of the example, in a module of its own, on the list while the test runs."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    code = next(block for block in blocks if "class Shares(" in block)
    (tmp_path / "shares_of_others.py").write_text(code, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    entry = registry.Entry(
        "Shares",
        "shares_of_others",
        "the class shares of training",
        (registry.Command("shares"),),
        ({}, {"smoothing": 0}),
    )
    registry.add(entry)
    yield importlib.import_module("shares_of_others").Shares
    registry.remove("Shares")
    del sys.modules["shares_of_others"]
    assert "shares" not in registry.COMMANDS


def run(*words):
    return CliRunner().invoke(app, list(map(str, words)), catch_exceptions=False)


def test_it_keeps_the_contract(shares):
    for settings in registry.ENTRIES["Shares"].examples:
        check_model(shares(**settings), scikit_learn=False)


def test_it_passes_the_checks_of_scikit_learn_but_for_its_score(shares, monkeypatch):
    def tags(self):
        tags = super(shares, self).__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags

    with pytest.raises(AssertionError, match="Shares: scikit-learn fails"):
        check_model(shares())
    monkeypatch.setattr(shares, "__sklearn_tags__", tags, raising=False)
    check_model(shares())


def test_it_is_saved_drawn_and_not_a_public_name(shares, tmp_path):
    weather = cw.read("sample:weather")
    model = shares(smoothing=0.5).fit(weather)
    cw.save(model, tmp_path / "shares.cw")
    again = cw.load(tmp_path / "shares.cw")
    assert type(again) is shares
    np.testing.assert_array_equal(again.predict_proba(weather), model.predict_proba(weather))
    assert "no 0.367, yes 0.633" in str(cw.draw(model))
    assert not hasattr(cw, "Shares")


def test_it_is_evaluated_from_counts_and_reported(shares, tmp_path, monkeypatch):
    def refuse(*_args, **_kwargs):
        raise AssertionError("The model was refitted.")

    monkeypatch.setattr(shares, "fit", refuse)
    trials = cw.evaluate({"shares": shares()}, "sample:weather", folds=7)
    assert trials.score("accuracy", "shares").value == pytest.approx(9 / 14)
    monkeypatch.undo()
    page = tmp_path / "page.html"
    cw.report(trials, page, model=shares().fit(cw.read("sample:weather")))
    assert "before any evidence: no 0.375, yes 0.625" in page.read_text("utf-8")


def test_the_command_line_lists_fits_predicts_and_explains_with_it(shares, tmp_path):
    assert "shares" in run("models").output.split()
    assert run("models", "-o", tmp_path / "models.json").exit_code == 0
    assert "the class shares of training" in (tmp_path / "models.json").read_text("utf-8")
    path = tmp_path / "shares.cw"
    done = run("fit", "sample:weather", "--model", "shares", "--param", "smoothing=0", "-o", path)
    assert done.exit_code == 0, done.output
    done = run("predict", path, "sample:weather", "-o", tmp_path / "out.csv")
    assert done.exit_code == 0, done.output
    assert (tmp_path / "out.csv").read_text("utf-8").count("yes") >= 14
    done = run("explain", path, "sample:weather")
    assert done.exit_code == 0, done.output
