"""`check_model` sees a broken promise: each model here breaks one."""

import pytest

import countwise as cw
from countwise.params import parameter, whole
from countwise.testing import check_model, model_checks


class WithoutLine(cw.NaiveBayes):
    """Has a constructor that hides the parameter lines."""

    def __init__(self, extra=3):
        self.extra = extra


class NotOne(cw.NaiveBayes):
    """Returns probabilities that do not sum to one."""

    def predict_proba(self, X):
        return super().predict_proba(X) * 0.9


class OrderMatters(cw.NaiveBayes):
    """Learns from the first ten rows alone."""

    def fit(self, X, y=None, sample_weight=None):
        return super().fit(X.take(slice(0, 10)), y, sample_weight)


class IgnoresWeights(cw.NaiveBayes):
    """Ignores the weights of rows."""

    def fit(self, X, y=None, sample_weight=None):
        return super().fit(X, y)


class Deaf(cw.NaiveBayes):
    """Accepts any number of its parameter."""

    times: int = parameter(whole(at_least=1), "how often", default=1)

    def check_parameters(self):
        pass


class WrongLeaveOneOut(cw.NaiveBayes):
    """Forgets to leave the row out."""

    def leave_one_out(self, table, weight=None):
        return self.fit(table).predict_proba(table)


class Misleading(cw.NaiveBayes):
    """Explains something else than what it answers."""

    def explain(self, X):
        why = super().explain(X)
        return type(why)(
            why.classes, why.attributes, why.values, why.base + 1.0, why.parts, why.joint
        )


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (WithoutLine(), "parameters"),
        (Deaf(), "parameters"),
        (NotOne(), "probabilities"),
        (OrderMatters(), "row order"),
        (IgnoresWeights(), "weights"),
        (WrongLeaveOneOut(), "leave-one-out"),
        (Misleading(), "explanation"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_a_broken_promise_is_found(model, name):
    prove = dict(model_checks(model, scikit_learn=False))[name]
    with pytest.raises((AssertionError, cw.CountwiseError, KeyError)):
        prove()
    with pytest.raises(AssertionError, match=type(model).__name__):
        check_model(model, scikit_learn=False)


def test_a_sound_model_passes():
    assert check_model(cw.NaiveBayes(smoothing=0.5), scikit_learn=False) is None
