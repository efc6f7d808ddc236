"""Expected accuracy, expected gain and promised gain by hand."""

import numpy as np
import pytest

from countwise.decisions.expected_gain import expected_accuracy, expected_gain, promised_gain
from countwise.decisions.rules import Argmax, ExpectedGain, RouletteWheel
from countwise.errors import GainError, ParameterError

POSTERIORS = [[0.3, 0.7], [0.2, 0.8], [0.9, 0.1]]
TRUE = ["bad", "good", "bad"]
CLASSES = ["bad", "good"]
CREDIT = {"good": {"good": 1, "bad": -1}, "bad": {"good": -5, "bad": 1}}
ASKING = {"bad": {"bad": 1, "good": -5, "ask": 0}, "good": {"bad": -1, "good": 1, "ask": 0}}


def test_expected_accuracy_by_hand():
    assert expected_accuracy(Argmax(), POSTERIORS, TRUE, CLASSES) == pytest.approx(2 / 3)
    wheel = expected_accuracy(RouletteWheel(), POSTERIORS, TRUE, CLASSES)
    assert wheel == pytest.approx((0.3 + 0.8 + 0.9) / 3)
    weighted = expected_accuracy("roulette", POSTERIORS, TRUE, CLASSES, sample_weight=[2, 0, 1])
    assert weighted == pytest.approx((2 * 0.3 + 0.9) / 3)
    assert expected_accuracy("argmax", POSTERIORS, [0, 1, 0]) == pytest.approx(2 / 3)
    assert expected_accuracy(ASKING, POSTERIORS, TRUE, CLASSES) == pytest.approx(1 / 3)


def test_labels_meet_classes_by_text_and_strangers_are_never_hit():
    assert expected_accuracy("argmax", [[0.2, 0.8]], ["1"], classes=[0, 1]) == 1
    assert expected_accuracy("argmax", [[0.2, 0.8]] * 2, ["good", "ugly"], CLASSES) == 0.5
    column = np.array([["good"], ["good"]], dtype=object)
    assert expected_accuracy("argmax", [[0.2, 0.8]] * 2, column, CLASSES) == 1


def test_expected_gain_by_hand():
    # argmax says good, good, bad: -5 + 1 + 1; the Bayes rule says bad, good, bad: 1 + 1 + 1
    assert expected_gain("argmax", POSTERIORS, TRUE, CREDIT, CLASSES) == pytest.approx(-1)
    assert expected_gain(CREDIT, POSTERIORS, TRUE, classes=CLASSES) == pytest.approx(1)
    wheel = expected_gain("roulette", POSTERIORS, TRUE, CREDIT, CLASSES)
    by_hand = [0.3 * 1 + 0.7 * -5, 0.2 * -1 + 0.8 * 1, 0.9 * 1 + 0.1 * -5]
    assert wheel == pytest.approx(np.mean(by_hand))
    weighted = expected_gain("argmax", POSTERIORS, TRUE, CREDIT, CLASSES, sample_weight=[0, 1, 1])
    assert weighted == pytest.approx(1)


def test_promised_gain_by_hand():
    argmax = promised_gain(Argmax(), POSTERIORS, CREDIT, CLASSES)
    assert argmax == pytest.approx(np.mean([-0.8, -0.2, 0.8]))
    best = promised_gain(ExpectedGain(CREDIT), POSTERIORS, classes=CLASSES)
    assert best == pytest.approx(np.mean([-0.4, -0.2, 0.8]))
    scaled = promised_gain(ExpectedGain(CREDIT), np.multiply(POSTERIORS, 5), classes=CLASSES)
    assert scaled == pytest.approx(best)


def test_without_classes_the_matrix_names_the_columns():
    backwards = [[good, bad] for bad, good in POSTERIORS]
    assert expected_gain("argmax", backwards, TRUE, CREDIT) == pytest.approx(-1)
    assert expected_gain(CREDIT, backwards, TRUE) == pytest.approx(1)
    assert expected_accuracy(CREDIT, backwards, TRUE) == pytest.approx(1)
    bare = [[1, -5], [-1, 1]]
    assert expected_gain("argmax", POSTERIORS, [0, 1, 0], bare) == pytest.approx(-1)
    assert expected_gain(bare, POSTERIORS, [0, 1, 0]) == pytest.approx(1)


def test_a_matrix_may_know_a_decision_the_rule_never_takes():
    plain = expected_gain("argmax", POSTERIORS, TRUE, CREDIT, CLASSES)
    assert expected_gain("argmax", POSTERIORS, TRUE, ASKING, CLASSES) == plain
    with pytest.raises(GainError, match=r"its columns, 'bad', 'good'; got 'ask'\. Add a col"):
        expected_gain(ASKING, POSTERIORS, TRUE, CREDIT, CLASSES)


def test_refusals():
    with pytest.raises(
        ParameterError, match=r"without a gain matrix needs one; got Argmax\(\)\. Give gain="
    ):
        expected_gain("argmax", POSTERIORS, TRUE, classes=CLASSES)
    with pytest.raises(GainError, match=r"'bad', 'good'; got 'goood'.*Did you mean 'good'\?"):
        expected_gain(CREDIT, POSTERIORS, ["bad", "goood", "bad"], classes=CLASSES)
    with pytest.raises(ParameterError, match=r"label for each of the 3 rows .* got 2"):
        expected_accuracy("argmax", POSTERIORS, ["bad", "good"], CLASSES)
    with pytest.raises(ParameterError, match="a column for each of 'a'; got 2 columns"):
        expected_accuracy("argmax", POSTERIORS, TRUE, ["a"])
    with pytest.raises(ParameterError, match=r"sample_weight .* of the 3 rows; got .* \(2,\)"):
        expected_accuracy("argmax", POSTERIORS, TRUE, CLASSES, sample_weight=[1, 2])
    with pytest.raises(ParameterError, match="at least 0; got -1 in row 1"):
        expected_accuracy("argmax", POSTERIORS, TRUE, CLASSES, sample_weight=[1, -1, 0])
    with pytest.raises(ParameterError, match="positive weight; got 3 rows"):
        expected_accuracy("argmax", POSTERIORS, TRUE, CLASSES, sample_weight=[0, 0, 0])
    with pytest.raises(ParameterError, match="positive weight; got 0 rows"):
        expected_accuracy("argmax", np.empty((0, 2)), [], CLASSES)
    for hole in (None, np.nan):
        with pytest.raises(ParameterError, match=r"row 1 of y has none\. Leave such rows out"):
            expected_accuracy("argmax", POSTERIORS, ["bad", hole, "good"], CLASSES)
    with pytest.raises(ParameterError, match="row 2 of y has none"):
        expected_accuracy("argmax", POSTERIORS, [0, 1, np.nan])
    with pytest.raises(ParameterError, match="one column of labels; got an array of shape"):
        expected_accuracy("argmax", POSTERIORS, [[0, 1]] * 3)
