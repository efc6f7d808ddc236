"""Options that every evaluation shares: random seeds, progress, keywords of `read`."""

import io

import numpy as np
import pytest

import countwise as cw
from countwise import progress as progress_module
from countwise.errors import ParameterError
from countwise.progress import Steps, open_progress

CALLS = {
    "evaluate": lambda **options: cw.evaluate(
        cw.NaiveBayes(), "sample:weather", folds=2, **options
    ),
    "learning_curve": lambda **options: cw.learning_curve(
        cw.NaiveBayes(), "sample:weather", points=[8], repeats=1, **options
    ),
    "neighbor_grid": lambda **options: cw.neighbor_grid(
        "sample:weather", k=(1,), p=(2,), folds=2, **options
    ),
    "bayes_error_bound": lambda **options: cw.bayes_error_bound("sample:weather", **options),
}
#: What a call gives that depends on its random seed.
FOLDS = {
    "evaluate": lambda trials: trials.folds[0].rows.tolist(),
    "learning_curve": lambda curve: curve.trials[0].folds[0].rows.tolist(),
    "neighbor_grid": lambda grid: grid.folds.tolist(),
    "bayes_error_bound": lambda found: found.error,
}


@pytest.mark.parametrize("who", CALLS)
def test_a_random_state_is_what_scikit_learn_takes(who):
    for make in (lambda: 3, lambda: np.random.RandomState(3), lambda: np.random.default_rng(3)):
        first, second = (FOLDS[who](CALLS[who](random_state=make())) for _ in range(2))
        assert first == second
    CALLS[who](random_state=None)


@pytest.mark.parametrize("who", [who for who in CALLS if who != "bayes_error_bound"])
@pytest.mark.parametrize("wrong", [-1, 1.5, "seed"])
def test_other_random_states_are_refused(who, wrong):
    with pytest.raises(
        ParameterError, match=f"{who}: random_state must be a whole number from 0 to 4294967295"
    ):
        CALLS[who](random_state=wrong)


@pytest.mark.parametrize("who", CALLS)
def test_an_unknown_keyword_is_named(who):
    with pytest.raises(ParameterError) as refused:
        CALLS[who](random_sate=1)
    assert f"{who}: a keyword must be a parameter of {who} or of read; got 'random_sate'." in str(
        refused.value
    )
    assert "Did you mean 'random_state'?" in str(refused.value)
    with pytest.raises(ParameterError, match="Did you mean 'nominal'"):
        CALLS[who](nominals="all")


@pytest.mark.parametrize("who", [who for who in CALLS if who != "bayes_error_bound"])
def test_progress_is_a_function_or_a_bar(who, monkeypatch):
    steps = []
    CALLS[who](progress=lambda *step: steps.append(step))
    done, total, text = steps[-1]
    assert done == total == len(steps)
    assert isinstance(text, str)
    CALLS[who](progress=True)
    CALLS[who](progress=False)
    with pytest.raises(ParameterError, match=f"{who}: progress must be True or False, or a func"):
        CALLS[who](progress="bar")


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_bar_appears_on_a_terminal_after_a_while(monkeypatch):
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    with open_progress("evaluate", True) as report:
        report(1, 3, "soon")
    assert screen.getvalue() == ""
    monkeypatch.setattr(progress_module, "PATIENCE", 0.0)
    with open_progress("evaluate", True) as report:
        report(1, 3, "counted once")
        report(2, 3, "counted twice")
    assert "counted" in screen.getvalue()


def test_no_bar_without_a_terminal():
    with open_progress("evaluate", True) as report:
        assert report is None


def test_steps_example():
    calls = []
    steps = Steps(lambda *call: calls.append(call), 2)
    steps.advance("fold 1")
    assert calls == [(1, 2, "fold 1")]


def test_the_time_left_is_shown_after_two_units_and_does_not_jump(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(progress_module, "monotonic", lambda: clock[0])
    bar = progress_module.Bar()
    said = []

    class Screen:
        def update(self, task, *, left, **_):
            said.append(left)

    monkeypatch.setattr(bar, "_bar", Screen())
    for step in range(100):  # quick steps, as those of counted models
        clock[0] += 0.01
        bar(step + 1, 120, "counted")
    bar.new_pace(2)
    said.clear()
    for step in range(20):  # a quick and a slow model take turns
        clock[0] += 1.0 if step % 2 else 9.0
        bar(101 + step, 120, "refitted")
    assert said[:3] == ["", "", ""]
    left = [int(words.split()[1]) for words in said[3:-1]]
    wanted = [5 * (16 - step) for step in range(len(left))]
    assert all(abs(one - other) <= 5 for one, other in zip(left, wanted, strict=True))


def test_models_that_are_refitted_take_turns():
    texts = []
    models = {"tree": cw.ID3(), "line": cw.Logistic()}
    cw.evaluate(models, "sample:iris", folds=3, progress=lambda *step: texts.append(step[2]))
    assert texts[:3] == ["tree, fold 1 of 3", "line, fold 1 of 3", "tree, fold 2 of 3"]
