"""Trees and forests on the command line: train, show, explain, draw; names of yardsticks."""

import json

import pytest


@pytest.mark.parametrize("model", ["tree", "forest"])
def test_a_tree_and_a_forest_are_trained_shown_explained_and_drawn(run, folder, model):
    options = (
        ("--param", "n_estimators=10", "--param", "oob_score=true") if model == "forest" else ()
    )
    done = run("fit", "sample:weather-numeric", "--model", model, "-o", "m.cw", *options)
    assert done.exit_code == 0, done.stderr
    shown = run("show", "m.cw").stdout
    assert "outlook" in shown
    assert "ratio" in shown
    assert ("Importance of columns" in shown) == (model == "forest")
    assert ("Out-of-bag error" in shown) == (model == "forest")
    why = json.loads(
        run("explain", "m.cw", "sample:weather-numeric", "--rows", "1", "--json").stdout
    )
    assert why["rows"]
    assert run("draw", "m.cw", "-o", "m.svg").exit_code == 0


def test_a_bad_parameter_of_a_forest_is_one_sentence(run, folder):
    done = run("fit", "sample:iris", "--model", "forest", "-o", "m.cw", "--param", "n_estimators=0")
    assert done.exit_code == 2
    assert "n_estimators must be a whole number of at least 1; got 0." in done.stderr


def test_yardsticks_have_the_name_of_their_library(run, folder):
    listed = {one["name"]: one for one in json.loads(run("models", "--json").stdout)}
    for name in ("tree", "forest"):
        assert listed[name]["can_be_saved"]
        assert not listed[f"sklearn-{name}"]["can_be_saved"]
    assert not listed["sklearn-boosting"]["can_be_saved"]
