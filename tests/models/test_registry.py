"""The catalogue: every model can be made, named and trained; the rest is said in one sentence."""

import subprocess
import sys

import pytest
from sklearn.base import is_classifier

import countwise as cw
from countwise.errors import ParameterError
from countwise.evaluation.evaluate import evaluate
from countwise.models.registry import (
    CATALOGUE,
    COMPARED,
    DEFAULT,
    GROWN,
    listed,
    made,
    parsed_parameters,
    select,
)


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_model_can_be_made_and_describes_itself(name):
    own = listed(name)
    model = own.make(3)
    assert is_classifier(model)
    assert own.to_dict()["words"]
    assert repr(own.make(3)) == repr(model)


@pytest.mark.parametrize("name", CATALOGUE)
@pytest.mark.parametrize("sample", ["sample:votes", "sample:iris"])
def test_every_model_can_be_evaluated_on_both_kinds_of_columns(name, sample):
    trials = evaluate({name: made(listed(name), 0)}, sample, folds=2)
    score = trials.score("accuracy", name).value
    assert score > 0.85 if name != "majority" else score < 0.7


@pytest.mark.parametrize("name", [own.name for own in CATALOGUE.values() if own.own])
def test_models_of_ours_can_be_saved(name, tmp_path):
    from countwise.store.files import load, save

    table = cw.read("sample:iris")
    model = made(listed(name)).fit(table)
    save(model, tmp_path / "m.cw")
    assert (load(tmp_path / "m.cw").predict_proba(table) == model.predict_proba(table)).all()


def test_names_are_forgiving_and_near_misses_suggested():
    assert listed(" Naive_Bayes ").name == "naive-bayes"
    with pytest.raises(ParameterError, match="Did you mean 'forest'"):
        listed("forrest")


def test_usual_choices_are_in_the_catalogue():
    assert {DEFAULT, *COMPARED, *GROWN} <= set(CATALOGUE)
    assert [own.name for own in select(None)] == list(COMPARED)
    assert [own.name for own in select(["all"])] == list(CATALOGUE)
    assert "naive-bayes-kernel" not in [own.name for own in select(None, numeric=False)]
    assert [own.name for own in select(["tree", "tree"])] == ["tree"]
    with pytest.raises(ParameterError, match="at least one model"):
        select([""])


def test_parameters_are_read_and_checked():
    assert parsed_parameters(["a=1", "b=true", "c=None", "d=x=y", "e=[1, 2]", "f=inf"]) == {
        "a": 1,
        "b": True,
        "c": None,
        "d": "x=y",
        "e": [1, 2],
        "f": float("inf"),
    }
    assert made(listed("forest"), 0, {"n_estimators": 7}).n_estimators == 7
    with pytest.raises(ParameterError, match="Did you mean 'max_depth'"):
        made(listed("tree"), 0, {"max_dept": 3})
    with pytest.raises(ParameterError, match="naive-bayes: smoothing must be"):
        made(listed("naive-bayes"), 0, {"smoothing": "much"})
    for bad in (["x"], ["=1"], ["x="], ["x=1", "x=2"]):
        with pytest.raises(ParameterError):
            parsed_parameters(bad)


def test_the_catalogue_is_light():
    code = (
        "import sys, countwise.models.registry as c\nc.select(['all'])\n"
        "print([m for m in ('numpy', 'sklearn') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "[]\n"
