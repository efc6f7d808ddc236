"""The confusion matrix of joint probabilities (Panda and Garg, eq. 6 and 7)."""

import json
import pickle

import numpy as np
import pytest

from countwise.decisions.confusion import Confusion
from countwise.decisions.rules import ExpectedGain, RouletteWheel
from countwise.errors import GainError, ParameterError

PRINTED = [[0.4699, 0.0311], [0.0043, 0.4947]]
GAINS = [[1, -1], [-2, 3]]


def test_the_printed_matrix_earns_the_printed_gain():
    confusion = Confusion.from_joint(PRINTED)
    assert round(confusion.expected_gain(GAINS), 4) == 1.9143
    assert confusion.accuracy == pytest.approx(0.9646)
    assert confusion.expected_gain({0: {0: 1, 1: 0}, 1: {0: 0, 1: 1}}) == pytest.approx(0.9646)
    named = Confusion.from_joint(PRINTED, classes=["no", "yes"])
    assert named.expected_gain({"yes": {"yes": 3, "no": -2}, "no": {"yes": -1, "no": 1}}) == (
        pytest.approx(1.9143)
    )


def test_counts_joint_and_scores_by_hand():
    y = ["a", "a", "a", "b", "c"]
    decided = ["a", "a", "b", "b", "a"]
    confusion = Confusion.of(y, decided, ["a", "b", "c"])
    assert confusion.counts.tolist() == [[2, 1, 0], [0, 1, 0], [1, 0, 0]]
    np.testing.assert_allclose(confusion.joint, confusion.counts / 5)
    assert confusion.accuracy == pytest.approx(3 / 5)
    np.testing.assert_allclose(confusion.recall, [2 / 3, 1, 0])
    np.testing.assert_allclose(confusion.precision, [2 / 3, 1 / 2, np.nan])
    assert confusion.balanced_accuracy == pytest.approx((2 / 3 + 1) / 3)
    assert confusion.undecided == 0
    assert pickle.loads(pickle.dumps(confusion)) == confusion


def test_a_class_without_cases_has_no_recall():
    confusion = Confusion.of(["a", "a"], ["a", "b"], ["a", "b"])
    np.testing.assert_allclose(confusion.recall, [0.5, np.nan])
    assert confusion.balanced_accuracy == 0.5
    as_json = json.loads(json.dumps(confusion.to_dict()))
    assert as_json["recall"] == [0.5, None]
    assert as_json["joint"] == [[0.5, 0.5], [0, 0]]
    assert as_json["classes"] == ["a", "b"]


def test_a_given_prior_reweighs_the_rows():
    y = [0, 0, 0, 0, 1, 1]
    decided = [0, 0, 0, 1, 1, 0]
    confusion = Confusion.of(y, decided, [0, 1], prior=[0.4, 0.6])
    np.testing.assert_allclose(confusion.joint, [[0.3, 0.1], [0.3, 0.3]])
    assert confusion.counts.tolist() == [[3, 1], [1, 1]]
    assert confusion.accuracy == pytest.approx(0.6)
    same = Confusion.of(y, decided, [0, 1], prior={"1": 0.6, "0": 0.4})
    assert same == confusion
    assert Confusion.of(y, decided, [0, 1], prior="uniform").accuracy == pytest.approx(5 / 8)
    empirical = Confusion.of(y, decided, [0, 1], prior="empirical")
    assert empirical == Confusion.of(y, decided, [0, 1])


def test_shares_weights_and_undecided():
    shares = RouletteWheel().shares([[0.25, 0.75], [0.5, 0.5]])
    confusion = Confusion.of(["a", "b"], shares, ["a", "b"], sample_weight=[1, 3])
    np.testing.assert_allclose(confusion.joint, np.array([[0.25, 0.75], [1.5, 1.5]]) / 4)
    asking = {"a": {"a": 1, "b": -5, "ask": 0}, "b": {"a": -1, "b": 1, "ask": 0.25}}
    rule = ExpectedGain(asking)
    posteriors = [[0.3, 0.7], [0.1, 0.9]]
    exact = Confusion.of(
        ["b", "b"], rule.shares(posteriors), ["a", "b"], decisions=rule.decisions(["a", "b"])
    )
    decided = Confusion.of(["b", "b"], ["ask", "b"], ["a", "b"])
    assert exact == decided
    assert decided.decisions == ("a", "b", "ask")
    assert decided.undecided == 0.5
    assert decided.accuracy == 0.5
    assert decided.expected_gain(asking) == pytest.approx((0.25 + 1) / 2)
    assert decided.expected_gain([[1, -5, 0], [-1, 1, 0.25]]) == pytest.approx((0.25 + 1) / 2)
    with pytest.raises(GainError, match="its columns, 'a', 'b'; got 'ask'"):
        decided.expected_gain([[1, -5], [-1, 1]])
    unnamed = Confusion.of(["b", "b"], rule.shares(posteriors), ["a", "b"])
    assert unnamed.decisions == ("a", "b", "no decision")
    assert Confusion.from_joint([[0.5, 0, 0.25], [0, 0.25, 0]]).undecided == 0.25


def test_refusals():
    of, joint = Confusion.of, Confusion.from_joint
    with pytest.raises(ParameterError, match=r"got 'goood' in row 1.* Did you mean 'good'\?"):
        of(["bad", "goood"], ["bad", "good"], ["bad", "good"])
    with pytest.raises(ParameterError, match="one of 'a', 'b'; got 'x' in row 0"):
        of(["a", "b"], ["x", "y"], ["a", "b"])
    with pytest.raises(ParameterError, match="one of 'a', 'b'; got 'ask' in row 1"):
        of(["a", "b"], ["a", "ask"], ["a", "b"], decisions=["a", "b"])
    with pytest.raises(ParameterError, match="each of the 2 labels of y; got 1"):
        of(["a", "b"], ["a"], ["a", "b"])
    with pytest.raises(ParameterError, match="a column for each of 'a', 'b', 'no decision'; got"):
        of(["a"], [[0.25, 0.25, 0.25, 0.25]], ["a", "b"])
    with pytest.raises(ParameterError, match=r"sum to 1; got .* what a rule's shares\(\) returns"):
        of(["a"], [[0.5, 0.75]], ["a", "b"])
    with pytest.raises(ParameterError, match="must have cases in y; got none of 'b'"):
        of(["a"], ["a"], ["a", "b"], prior=[0.5, 0.5])
    with pytest.raises(ParameterError, match=r"shape \(2, 4\)"):
        joint(np.full((2, 4), 0.125))
    with pytest.raises(ParameterError, match="got 1 as the least and 10 as the sum"):
        joint([[1, 2], [3, 4]])
    with pytest.raises(ParameterError, match="got 3 classes and 3 decisions"):
        joint(PRINTED, classes=["a", "b", "c"])


@pytest.mark.parametrize(
    ("prior", "words"),
    [
        ([0.5, 0.4], "prior must sum to 1; got [0.5, 0.4], which sums to 0.9"),
        ([0.5, -0.5], "shares of at least 0"),
        ([1.0], "one share for each of 'bad', 'good'; got an array of shape (1,)"),
        ({"bad": 0.4}, "every class; got none for 'good'. Add it to the mapping"),
        ({"bad": 0.4, "goood": 0.6}, "got 'goood'. Did you mean 'good'?"),
        ("unifrom", "got 'unifrom'. Did you mean 'uniform'?"),
        ({"bad": "x", "good": 1}, "prior must be numbers"),
    ],
)
def test_priors_that_are_none(prior, words):
    with pytest.raises(ParameterError) as refusal:
        Confusion.of(["bad", "good"], ["bad", "good"], ["bad", "good"], prior=prior)
    assert words in str(refusal.value)


def test_repr_is_a_table_unless_there_are_many_classes():
    confusion = Confusion.of(["a", "a", "bad"], ["a", "bad", "ask"], ["a", "bad"])
    assert repr(confusion).splitlines() == [
        "<Confusion of 2 classes, accuracy 0.333>",
        "true / decided       a     bad     ask",
        "a               0.3333  0.3333  0.0000",
        "bad             0.0000  0.0000  0.3333",
    ]
    many = Confusion.from_joint(np.eye(20) / 20)
    assert repr(many) == "<Confusion of 20 classes, accuracy 1.000>"
