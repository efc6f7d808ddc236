"""The catalogue: every model can be made, named and trained; the rest is said in one sentence."""

import subprocess
import sys

import pytest
from sklearn.base import is_classifier, is_regressor

import countwise as cw
from countwise.errors import ParameterError
from countwise.evaluation.evaluate import evaluate
from countwise.models.registry import (
    COMMANDS,
    COMPARED,
    DEFAULT,
    DRAWN,
    ENTRIES,
    Command,
    Entry,
    add,
    find,
    models,
    parse_parameters,
    remove,
    select,
)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_model_can_be_made_and_describes_itself(name):
    named = find(name)
    model = named.build(3)
    assert is_regressor(model) if named.entry.predicts == "number" else is_classifier(model)
    assert named.to_dict()["about"]
    assert repr(named.build(3)) == repr(model)


CLASSIFIERS = [name for name, named in COMMANDS.items() if named.entry.predicts == "class"]


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize("sample", ["sample:votes", "sample:iris"])
def test_every_model_can_be_evaluated_on_both_kinds_of_columns(name, sample):
    trials = evaluate({name: find(name).build(0)}, sample, folds=2)
    score = trials.score("accuracy", name).value
    assert score > 0.85 if name != "majority" else score < 0.7


@pytest.mark.parametrize("name", [name for name in CLASSIFIERS if COMMANDS[name].can_be_saved])
def test_models_of_ours_can_be_saved(name, tmp_path):
    from countwise.store.files import load, save

    table = cw.read("sample:iris")
    model = find(name).build().fit(table)
    save(model, tmp_path / "m.cw")
    assert (load(tmp_path / "m.cw").predict_proba(table) == model.predict_proba(table)).all()


def test_names_are_forgiving_and_near_misses_suggested():
    assert find(" Naive_Bayes ").name == "naive-bayes"
    with pytest.raises(ParameterError, match="Did you mean 'forest'"):
        find("forrest")


def test_usual_choices_are_in_the_catalogue():
    assert {DEFAULT, *COMPARED, *DRAWN} <= set(COMMANDS)
    assert [model.name for model in select(None)] == list(COMPARED)
    assert [model.name for model in select(["all"])] == CLASSIFIERS
    assert "naive-bayes-kernel" not in [model.name for model in select(None, numeric=False)]
    assert [model.name for model in select(["tree", "tree"])] == ["tree"]
    with pytest.raises(ParameterError, match="at least one model"):
        select([""])


def test_parameters_are_read_and_checked():
    assert parse_parameters(["a=1", "b=true", "c=None", "d=x=y", "e=[1, 2]", "f=inf"]) == {
        "a": 1,
        "b": True,
        "c": None,
        "d": "x=y",
        "e": [1, 2],
        "f": float("inf"),
    }
    assert find("forest").build(0, {"n_estimators": 7}).n_estimators == 7
    with pytest.raises(ParameterError, match="Did you mean 'max_depth'"):
        find("tree").build(0, {"max_dept": 3})
    with pytest.raises(ParameterError, match="naive-bayes: smoothing must be"):
        find("naive-bayes").build(0, {"smoothing": "much"})
    for bad in (["x"], ["=1"], ["x="], ["x=1", "x=2"]):
        with pytest.raises(ParameterError):
            parse_parameters(bad)


def test_the_catalogue_is_light():
    code = (
        "import sys, countwise.models.registry as c\nc.select(['all'])\n"
        "print([m for m in ('numpy', 'sklearn') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300
    )
    assert done.stdout == "[]\n"


def test_a_model_is_added_once_and_taken_off_again():
    entry = Entry("Shares", "shares_of_a_test", "class frequencies", (Command("shares"),))
    add(entry)
    try:
        assert add(entry) is entry
        assert find("shares").entry is entry
        assert entry in models()
        with pytest.raises(ParameterError, match="name must be new"):
            add(Entry("Shares", "elsewhere", "another"))
        with pytest.raises(ParameterError, match="must be new, in lower case"):
            add(Entry("Other", "elsewhere", "another", (Command("shares"),)))
    finally:
        remove("Shares")
    assert "Shares" not in ENTRIES
    assert "shares" not in COMMANDS


@pytest.mark.parametrize("name", ENTRIES)
def test_every_entry_finds_its_class_and_builds_its_examples(name):
    entry = ENTRIES[name]
    assert entry.load().__name__ == name
    for settings in entry.examples:
        model = entry.build(settings)
        assert set(settings) <= set(model.get_params(deep=False))


def test_a_model_is_the_same_on_the_command_line_and_in_python():
    """A command named after its class has the defaults of the class; others say what differs."""
    for entry in (entry for entry in ENTRIES.values() if entry.kind == "model"):
        for command in entry.commands[:1]:
            if entry.name != "Vote":  # its members must be named somewhere
                assert command.settings == {}, (entry.name, command.settings)
