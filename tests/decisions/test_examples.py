"""What the inner parts of decisions answer, one small example each."""

import numpy as np

from countwise.decisions.class_prior import (
    class_shares,
    ratio_of,
    refuse_product_of_posteriors,
    training_shares,
)
from countwise.decisions.expected_gain import gains_of
from countwise.decisions.gain_matrix import GainMatrix, idle_decisions
from countwise.decisions.rules import checked_posteriors
from countwise.models.bayes.naive_bayes import NaiveBayes
from countwise.tables.labels import label_array, positions
from countwise.tables.weights import weights_or_ones


def test_gains_of_example():
    assert repr(gains_of(GainMatrix.identity(["bad", "good"]), ["good", "bad"])) == (
        "array([[0., 1.],\n       [1., 0.]])"
    )


def test_label_array_example():
    assert repr(label_array([0, 1], extra="ask")) == "array([0, 1, 'ask'], dtype=object)"


def test_positions_example():
    assert (
        repr(positions(["good", "bad", "ugly"], ["bad", "good"], who="expected_accuracy"))
        == "array([ 1,  0, -1])"
    )


def test_class_shares_example():
    assert (
        repr(class_shares({"good": 0.6, "bad": 0.4}, ["bad", "good"], who="Decide"))
        == "array([0.4, 0.6])"
    )
    assert repr(class_shares("uniform", ["bad", "good"], who="Decide")) == "array([0.5, 0.5])"


def test_weights_or_ones_example():
    assert repr(weights_or_ones(None, 2, "expected_gain")) == "array([1., 1.])"


def test_idle_decisions_example():
    assert idle_decisions(
        np.array([[1.0, -1.0, -0.5], [-1.0, 1.0, -0.5]]), ["no", "yes", "ask"]
    ) == ("'ask' is never the best decision, whatever the posterior.",)


def test_checked_posteriors_example():
    assert repr(checked_posteriors("Argmax", [[1 / 4, 3 / 4]])) == "array([[0.25, 0.75]])"


def test_training_shares_example():
    assert (
        repr(training_shares(None, np.array(["a", "b"]), ["a", "a", "a", "b"], None))
        == "array([0.75, 0.25])"
    )


def test_refuse_product_of_posteriors_example():
    refuse_product_of_posteriors(NaiveBayes())


def test_ratio_of_example():
    _, note = ratio_of(np.array([0.4, 0.6]), np.array([0.5, 0.5]), np.array(["a", "b"]))
    assert note == (
        "Posteriors are re-weighted from the training shares 0.5, 0.5 to the prior "
        "0.4, 0.6 of the classes 'a', 'b'."
    )
