"""Gains, priors and weights mean the same to everyone who takes them."""

import numpy as np
import pandas as pd
import pytest
from sklearn.naive_bayes import GaussianNB

import countwise as cw
from countwise.decisions.confusion import Confusion
from countwise.decisions.expected_gain import expected_gain
from countwise.discretize.quantizer import Quantizer
from countwise.errors import GainError, ParameterError
from countwise.evaluation.evaluate import evaluate
from countwise.models.ensembles.vote import Vote
from countwise.models.linear.discriminant import LinearDiscriminant

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 2)) + np.repeat([[0.0, 0.0], [1.0, 1.0]], 40, axis=0)
Y = np.repeat([0, 1], 40)
VALUES = [[1.0, -5.0], [-1.0, 2.0]]


def read_by_vote(gain):
    return Vote([cw.NaiveBayes()], "gain", gain=gain).fit(X, Y)._gain


def read_by_decide(gain):
    return cw.Decide(GaussianNB(), gain).fit(X, Y).rule_.gain.values


def read_by_discrete_bayes(gain):
    return cw.DiscreteBayes(budget=4, gain=gain, random_state=0).fit(X, Y).gain_matrix_


def read_by_quantizer(gain):
    model = Quantizer(budget=4, aim="gain", gain=gain, random_state=0).fit(X, Y)
    return model._aim([0, 1], np.ones(2)).train


def read_by_evaluate(gain):
    table = cw.read(X, target=Y)
    return evaluate(cw.NaiveBayes(), table, folds=2, gain=gain).gain.values


def read_by_expected_gain(gain):
    cells = [(true, assigned) for true in range(2) for assigned in range(2)]
    earned = [
        expected_gain("argmax", np.eye(2)[[assigned]], [true], gain, classes=[0, 1])
        for true, assigned in cells
    ]
    return np.reshape(earned, (2, 2))


def read_by_confusion(gain):
    cells = np.eye(4).reshape(4, 2, 2)
    earned = [Confusion.from_joint(joint, [0, 1]).expected_gain(gain) for joint in cells]
    return np.reshape(earned, (2, 2))


GAIN_READERS = [
    read_by_vote,
    read_by_decide,
    read_by_discrete_bayes,
    read_by_quantizer,
    read_by_evaluate,
    read_by_expected_gain,
    read_by_confusion,
]
BY_NAME = {1: {1: 2, 0: -1}, 0: {0: 1, 1: -5}}
GOOD_GAINS = {
    "mapping": BY_NAME,
    "text": {"1": {"1": 2, "0": -1}, "0": {"0": 1, "1": -5}},
    "numbers as text": {"1.0": {"1.0": 2, "0.0": -1}, "0.0": {"0.0": 1, "1.0": -5}},
    "matrix": cw.GainMatrix.of(BY_NAME),
    "array": np.array(VALUES),
    "rows": VALUES,
    "frame": pd.DataFrame(VALUES, index=["0", "1"], columns=["0", "1"]),
}
BAD_GAINS = {
    "no row": ({0: {0: 1, 1: -5}}, "every"),
    "near miss": (
        {"0": {"0": 1, "one": -5}, "one": {"0": -1, "one": 2}},
        "every class must have a row and a column; got none for 1",
    ),
    "spare class": (
        {at: dict.fromkeys(range(3), 1.0) for at in range(3)},
        "every true label must be one of the classes 0, 1; got 2",
    ),
    "hole": (
        {0: {0: 1, 1: -5}, 1: {0: -1}},
        "every true class must have a gain for every decision",
    ),
    "not finite": ([[1, np.nan], [0, 1]], "must be a finite number"),
    "words": ([["a", "b"], ["c", "d"]], "must be a finite number"),
    "shape": (np.eye(3), "0, 1 need 2 rows of 2 gains"),
    "no matrix": ({0: 1.0, 1: 2.0}, "a dict must hold a dict for each true class"),
    "no file": ("no such file.csv", "there is no file"),
}


@pytest.mark.parametrize("gain", list(GOOD_GAINS.values()), ids=list(GOOD_GAINS))
@pytest.mark.parametrize("read", GAIN_READERS)
def test_everyone_reads_the_same_gains(read, gain):
    np.testing.assert_array_equal(read(gain), VALUES)


@pytest.mark.parametrize("read", GAIN_READERS)
def test_everyone_reads_a_file(read, tmp_path):
    path = tmp_path / "gains.csv"
    cw.GainMatrix.of(BY_NAME).write(path)
    np.testing.assert_array_equal(read(path), VALUES)
    np.testing.assert_array_equal(read(str(path)), VALUES)


@pytest.mark.parametrize(("gain", "words"), list(BAD_GAINS.values()), ids=list(BAD_GAINS))
@pytest.mark.parametrize("read", GAIN_READERS)
def test_everyone_refuses_the_same_gains_with_the_same_words(read, gain, words):
    with pytest.raises(GainError) as caught:
        read(gain)
    assert words in str(caught.value)


def test_a_misspelled_class_is_suggested():
    gain = {"good": {"good": 1, "baad": 0}, "baad": {"good": 0, "baad": 1}}
    labels = np.where(Y == 1, "good", "bad")
    for model in (
        Vote([cw.NaiveBayes()], "gain", gain=gain),
        cw.Decide(GaussianNB(), gain),
        cw.DiscreteBayes(budget=4, gain=gain),
        Quantizer(budget=4, aim="gain", gain=gain),
    ):
        with pytest.raises(GainError, match="Did you mean 'baad'"):
            model.fit(X, labels)


ASK = {0: {0: 1, 1: -5, "ask": 0}, 1: {0: -1, 1: 2, "ask": 0}}


@pytest.mark.parametrize("read", [read_by_decide, read_by_discrete_bayes, read_by_quantizer])
def test_one_more_decision_is_kept(read):
    np.testing.assert_array_equal(read(ASK), [[1, -5, 0], [-1, 2, 0]])


def test_a_vote_is_for_a_class_and_says_so():
    with pytest.raises(GainError, match=r"Vote: gain must have no decision beside .* got 'ask'"):
        read_by_vote(ASK)


def read_by_naive_bayes(prior):
    return cw.NaiveBayes(prior=prior).fit(X, Y).class_prior_


def prior_of_discrete_bayes(prior):
    return cw.DiscreteBayes(budget=4, prior=prior, random_state=0).fit(X, Y).class_prior_


def prior_of_discriminant(prior):
    flat, given = (LinearDiscriminant(prior=share).fit(X, Y) for share in ("uniform", prior))
    return np.exp(given.layers_[0].bias - flat.layers_[0].bias) / 2


def prior_of_decide(prior):
    decide = cw.Decide(GaussianNB(), prior=prior).fit(X, Y)
    ratio = decide.correction_
    return np.array([0.5, 0.5]) * (1.0 if ratio is None else ratio)


def prior_of_confusion(prior):
    return Confusion.of(Y, Y, [0, 1], prior=prior).joint.sum(axis=1)


PRIOR_READERS = [
    read_by_naive_bayes,
    prior_of_discrete_bayes,
    prior_of_discriminant,
    prior_of_decide,
    prior_of_confusion,
]
GOOD_PRIORS = {
    "empirical": ("empirical", [0.5, 0.5]),
    "uniform": ("uniform", [0.5, 0.5]),
    "mapping": ({1: 0.75, 0: 0.25}, [0.25, 0.75]),
    "text": ({"1": 0.75, "0": 0.25}, [0.25, 0.75]),
    "list": ([0.25, 0.75], [0.25, 0.75]),
    "array": (np.array([0.25, 0.75]), [0.25, 0.75]),
}
BAD_PRIORS = {
    "unknown class": ({0: 0.25, 1: 0.75, 2: 0.0}, "prior must name classes, which are 0, 1; got 2"),
    "no share": ({0: 1.0}, "prior must give a share to every class; got none for 1"),
    "sum": ([0.5, 0.6], "prior must sum to 1"),
    "negative": ([-0.5, 1.5], "prior must hold shares of at least 0"),
    "not finite": ([np.nan, 1.0], "prior must hold shares of at least 0"),
    "few": ([1.0], "prior must hold one share for each of 0, 1"),
    "word": ("unifrom", "prior must be one of 'empirical', 'uniform', or a mapping from class to"),
    "text shares": ({0: "half", 1: "half"}, "prior must be numbers"),
}


@pytest.mark.parametrize(("prior", "shares"), list(GOOD_PRIORS.values()), ids=list(GOOD_PRIORS))
@pytest.mark.parametrize("read", PRIOR_READERS)
def test_everyone_reads_the_same_prior(read, prior, shares):
    np.testing.assert_allclose(read(prior), shares)


@pytest.mark.parametrize(("prior", "words"), list(BAD_PRIORS.values()), ids=list(BAD_PRIORS))
@pytest.mark.parametrize("read", PRIOR_READERS)
def test_everyone_refuses_the_same_priors_with_the_same_words(read, prior, words):
    with pytest.raises(ParameterError) as caught:
        read(prior)
    assert words in str(caught.value)


def test_a_misspelled_class_of_a_prior_is_suggested():
    prior = {"good": 0.5, "baad": 0.5}
    labels = np.where(Y == 1, "good", "bad")
    for model in (
        cw.NaiveBayes(prior=prior),
        cw.DiscreteBayes(budget=4, prior=prior),
        LinearDiscriminant(prior=prior),
        cw.Decide(GaussianNB(), prior=prior),
    ):
        with pytest.raises(ParameterError, match=r"got 'baad'\. Did you mean 'bad'"):
            model.fit(X, labels)


def test_a_class_without_a_share_is_never_the_answer():
    model = LinearDiscriminant(prior=[1.0, 0.0]).fit(X, Y)
    assert set(model.predict(X).tolist()) == {0}


WEIGHT_READERS = {
    "count": lambda weight: cw.count(X, target=Y, sample_weight=weight),
    "NaiveBayes": lambda weight: cw.NaiveBayes().fit(X, Y, sample_weight=weight),
    "DiscreteBayes": lambda weight: cw.DiscreteBayes(budget=4).fit(X, Y, sample_weight=weight),
    "Quantizer": lambda weight: Quantizer(budget=4).fit(X, Y, sample_weight=weight),
    "Vote": lambda weight: Vote([cw.NaiveBayes()]).fit(X, Y, sample_weight=weight),
    "evaluate": lambda weight: evaluate(
        cw.NaiveBayes(), cw.read(X, target=Y), folds=2, sample_weight=weight
    ),
    "expected_gain": lambda weight: expected_gain(
        "argmax", np.eye(2)[Y], Y, np.eye(2), sample_weight=weight
    ),
    "Confusion": lambda weight: Confusion.of(Y, Y, [0, 1], sample_weight=weight),
}
BAD_WEIGHTS = {
    "few": ([1.0], "sample_weight must be one number for each of the 80 rows; got"),
    "negative": (np.where(np.arange(80) == 3, -1.0, 1.0), "at least 0; got -1 in row 3"),
    "not finite": (np.where(np.arange(80) == 5, np.inf, 1.0), "at least 0; got inf in row 5"),
    "words": (["heavy"] * 80, "sample_weight must be numbers, one a row"),
    "tiny": (np.full(80, 1e-300), "must be 0 or between 1e-250 and 1e+100"),
}


@pytest.mark.parametrize(("weight", "words"), list(BAD_WEIGHTS.values()), ids=list(BAD_WEIGHTS))
@pytest.mark.parametrize("read", list(WEIGHT_READERS.values()), ids=list(WEIGHT_READERS))
def test_everyone_refuses_the_same_weights_with_the_same_words(read, weight, words):
    with pytest.raises(ParameterError) as caught:
        read(weight)
    assert words in str(caught.value)


@pytest.mark.parametrize("read", list(WEIGHT_READERS.values()), ids=list(WEIGHT_READERS))
def test_one_number_weighs_every_row(read):
    read(2.0)
