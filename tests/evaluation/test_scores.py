"""Scores equal scikit-learn's, and a small case by hand."""

import numpy as np
import pytest
from sklearn import metrics
from sklearn.linear_model import LogisticRegression

import countwise as cw
from countwise.decisions.expected_gain import expected_accuracy, expected_gain
from countwise.decisions.rules import RouletteWheel
from countwise.errors import ParameterError
from countwise.evaluation.evaluate import evaluate

GAIN = {"good": {"good": 1, "bad": -1}, "bad": {"good": -5, "bad": 0}}


@pytest.fixture(scope="module", params=["credit-g", "iris"])
def trials(request):
    return evaluate(cw.NaiveBayes(), f"sample:{request.param}", folds=4, repeats=2)


def each(trials, entry="NaiveBayes"):
    classes = np.asarray(trials.classes)
    for fold, predicted in zip(trials.folds, trials.entries[entry].predictions, strict=True):
        yield classes[fold.truth], classes[predicted.decided], predicted.posteriors


@pytest.mark.parametrize(
    ("name", "peer"),
    [
        ("accuracy", lambda t, d, p: metrics.accuracy_score(t, d)),
        ("balanced_accuracy", lambda t, d, p: metrics.balanced_accuracy_score(t, d)),
        ("log_loss", lambda t, d, p: metrics.log_loss(t, p)),
        ("precision", lambda t, d, p: metrics.precision_score(t, d, average="macro")),
        ("recall", lambda t, d, p: metrics.recall_score(t, d, average="macro")),
    ],
)
def test_scores_are_scikit_learn_s(trials, name, peer):
    own = trials.score(name, "NaiveBayes")
    assert own.values == pytest.approx([peer(*args) for args in each(trials)])
    assert own.value == pytest.approx(np.mean(own.values))


def test_brier_is_scikit_learn_s(trials):
    def peer(true, posteriors):
        if len(trials.classes) == 2:
            return metrics.brier_score_loss(true, posteriors[:, 1], pos_label=trials.classes[1])
        hot = np.asarray(trials.classes) == true[:, None]
        return np.mean(np.sum((posteriors - hot) ** 2, axis=1))

    wanted = [peer(true, posteriors) for true, _, posteriors in each(trials)]
    assert trials.score("brier", "NaiveBayes").values == pytest.approx(wanted)


def test_precision_and_recall_of_a_class(trials):
    for label in trials.classes:
        wanted = [
            metrics.recall_score(t, d, labels=[label], average=None)[0] for t, d, _ in each(trials)
        ]
        assert trials.score("recall", "NaiveBayes", label=label).values == pytest.approx(wanted)
    lines = trials.by_class("NaiveBayes")
    assert [line["class"] for line in lines] == list(trials.classes)


def test_a_callable_is_a_score(trials):
    def hits(true, decided, posteriors):
        return float(np.mean(true == decided))

    own = trials.score(hits, "NaiveBayes")
    assert own.values == pytest.approx(trials.score("accuracy", "NaiveBayes").values)


def test_the_confusion_is_scikit_learn_s(trials):
    true, decided = (np.concatenate(side) for side in list(zip(*each(trials), strict=True))[:2])
    wanted = metrics.confusion_matrix(true, decided, labels=trials.classes)
    assert np.array_equal(trials.confusion("NaiveBayes").counts, wanted)


def test_weights_weigh_scores():
    table = cw.read("sample:credit-g")
    weight = np.random.default_rng(0).random(len(table))
    trials = evaluate(cw.NaiveBayes(), table, folds=3, sample_weight=weight)
    for at, (true, decided, posteriors) in enumerate(each(trials)):
        own = weight[trials.folds[at].rows]
        assert trials.score("accuracy", "NaiveBayes").values[at] == pytest.approx(
            metrics.accuracy_score(true, decided, sample_weight=own)
        )
        assert trials.score("log_loss", "NaiveBayes").values[at] == pytest.approx(
            metrics.log_loss(true, posteriors, sample_weight=own)
        )


def test_the_wheel_is_scored_by_its_exact_expectation():
    model = cw.NaiveBayes()
    trials = evaluate(
        {"NB": model, "wheel": cw.Decide(model, "roulette")}, "sample:credit-g", folds=3, gain=GAIN
    )
    assert (
        trials.entries["wheel"].predictions[0].posteriors
        is trials.entries["NB"].predictions[0].posteriors
    )
    for at, (true, _, posteriors) in enumerate(each(trials, "wheel")):
        wanted = expected_accuracy(RouletteWheel(), posteriors, true, trials.classes)
        assert trials.score("accuracy", "wheel").values[at] == pytest.approx(wanted)
        wanted = expected_gain(RouletteWheel(), posteriors, true, GAIN, trials.classes)
        assert trials.score("expected_gain", "wheel").values[at] == pytest.approx(wanted)
    assert any(note.code == "E03" for note in trials.notes)
    assert trials.confusion("wheel").accuracy == pytest.approx(
        np.mean([trials.score("accuracy", "wheel").value]), abs=0.01
    )


def test_with_a_gain_models_also_decide_by_it():
    trials = evaluate(cw.NaiveBayes(), "sample:credit-g", gain=GAIN)
    assert trials.names == ("NaiveBayes", "NaiveBayes by gain", "majority", "majority by gain")
    assert trials.ranked_by == "expected_gain"
    assert trials.best == "NaiveBayes by gain"
    own = trials.confusion("NaiveBayes by gain").expected_gain(GAIN)
    assert trials.score("expected_gain", "NaiveBayes by gain").value == pytest.approx(own)
    baseline = trials.score("expected_gain", "majority by gain").value
    assert baseline == pytest.approx(-0.7)


def test_the_decision_not_to_decide_is_a_decision():
    gain = {
        "good": {"good": 1, "bad": -1, "ask": 0},
        "bad": {"good": -5, "bad": 0, "ask": -0.1},
    }
    trials = evaluate(cw.NaiveBayes(), "sample:credit-g", folds=3, gain=gain)
    confusion = trials.confusion("NaiveBayes by gain")
    assert confusion.decisions == ("bad", "good", "ask")
    assert confusion.undecided > 0
    assert trials.score("accuracy", "NaiveBayes by gain").value == pytest.approx(
        confusion.accuracy, abs=0.01
    )


def test_a_prior_in_decide_moves_the_posteriors():
    table = cw.read("sample:credit-g")
    decide = cw.Decide(cw.NaiveBayes(), prior={"good": 0.5, "bad": 0.5})
    trials = evaluate(decide, table, folds=3)
    name = trials.names[0]
    for fold, predicted in zip(trials.folds, trials.entries[name].predictions, strict=True):
        train = np.setdiff1d(np.arange(len(table)), fold.rows)
        fitted = cw.Decide(cw.NaiveBayes(), prior={"good": 0.5, "bad": 0.5}).fit(table.take(train))
        assert np.allclose(predicted.posteriors, fitted.predict_proba(table.take(fold.rows)))
        decided = np.asarray(trials.classes)[predicted.decided]
        assert np.array_equal(decided, fitted.predict(table.take(fold.rows)))


def test_what_is_no_score_is_refused(trials):
    with pytest.raises(ParameterError, match="Did you mean 'accuracy'"):
        trials.score("acuracy", "NaiveBayes")
    with pytest.raises(ParameterError, match="expected_gain needs a gain matrix"):
        trials.score("expected_gain", "NaiveBayes")
    with pytest.raises(ParameterError, match="label must be one of the classes"):
        trials.score("recall", "NaiveBayes", label="no such class")
    with pytest.raises(ParameterError, match=r"there is no entry 'NaiveBaies'. Did you mean"):
        trials.score("accuracy", "NaiveBaies")
    with pytest.raises(
        ParameterError, match="level must be a fraction above 0 and below 1; got 95"
    ):
        trials.score("accuracy", "NaiveBayes", level=95)


def test_logistic_regression_is_scored_alike():
    trials = evaluate(LogisticRegression(max_iter=2000), "sample:iris", folds=3)
    for at, (true, _, posteriors) in enumerate(each(trials, "LogisticRegression")):
        wanted = metrics.log_loss(true, posteriors)
        assert trials.score("log_loss", "LogisticRegression").values[at] == pytest.approx(wanted)
