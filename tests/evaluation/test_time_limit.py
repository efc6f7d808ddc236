"""A time limit: counted models first, others whole or not at all, and who was left out is named."""

import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

import countwise as cw
from countwise.errors import ParameterError
from countwise_papers.bagged_votes import bagged_votes


class Clock:
    """A clock that nobody's work moves but a slow model's."""

    now = 0.0

    @classmethod
    def read(cls):
        return cls.now


@pytest.fixture
def clock(monkeypatch):
    for module in ("evaluate", "refit"):
        monkeypatch.setattr(f"countwise.evaluation.{module}.perf_counter", Clock.read)


class Slow(ClassifierMixin, BaseEstimator):
    """A classifier that takes its time."""

    def __init__(self, seconds=0.2):
        self.seconds = seconds

    def fit(self, X, y):
        Clock.now += self.seconds
        self.classes_ = sorted(set(y))
        return self

    def predict(self, X):
        return [self.classes_[0]] * len(X)


@pytest.mark.parametrize("how", [{"folds": 10}, {"leave_one_out": True}])
def test_a_model_that_would_not_finish_is_left_out_whole(how, clock):
    models = {"bayes": cw.NaiveBayes(), "slow": Slow(), "quick": Slow(0.0)}
    trials = cw.evaluate(models, "sample:iris", max_seconds=1.5, **how)
    assert "slow" not in trials.names
    assert {"bayes", "quick", "majority"} <= set(trials.names)
    told = [note.text for note in trials.notes if note.code == "E15"]
    assert told == ["slow: left out for lack of time."]


def test_enough_time_leaves_nobody_out():
    trials = cw.evaluate({"quick": Slow(0.0)}, "sample:iris", folds=3, max_seconds=60)
    assert set(trials.names) == {"quick", "majority"}
    assert not [note for note in trials.notes if note.code == "E15"]


@pytest.mark.parametrize("wrong", [0, -3, "soon"])
def test_a_limit_must_be_a_time(wrong):
    with pytest.raises(ParameterError, match="max_seconds must be"):
        cw.evaluate(cw.NaiveBayes(), "sample:iris", max_seconds=wrong)


def test_p0_8_one_bagging_votes_in_every_way():
    told = []
    found = bagged_votes(
        "sample:iris",
        cw.NaiveBayes(),
        members=9,
        repeats=4,
        progress=lambda *own: told.append(own[:2]),
    )
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert all(len(own) == 4 for own in found.accuracy.values())
    assert found.estimate("mean").value > 0.9
    # A label drawn from the mean posterior is right as often as its mean share says: never sure.
    assert found.estimate("wheel over mean").value < found.estimate("mean").value
    gap = found.difference("roulette", "majority")
    assert gap.low <= gap.value <= gap.high
    assert found.verdict("wheel over mean", "mean") in ("worse", "no difference")
    with pytest.raises(ParameterError, match="repeats must be at least 2"):
        bagged_votes("sample:iris", repeats=1)
