import math

import numpy as np
import pytest
from scipy import stats

import countwise as cw
from countwise.evaluation.intervals import Estimate, corrected, effective, of_rows, quantile, wilson


def test_the_corrected_interval_is_nadeau_and_bengio_s():
    values, ratio = [0.71, 0.8, 0.77, 0.69, 0.75], 30 / 70
    mean = sum(values) / 5
    s2 = sum((value - mean) ** 2 for value in values) / 4
    half = stats.t.ppf(0.975, 4) * math.sqrt((1 / 5 + ratio) * s2)
    own = corrected(values, ratio)
    assert own.value == pytest.approx(mean)
    assert own.low == pytest.approx(mean - half)
    assert own.high == pytest.approx(mean + half)
    assert "Nadeau and Bengio" in own.method


def test_undefined_parts_are_left_out():
    own = corrected([0.5, float("nan"), 0.7], 0.0)
    assert own.value == pytest.approx(0.6)
    assert len(own.values) == 3
    assert math.isnan(corrected([float("nan")], 0.1).value)
    assert math.isnan(corrected([0.4], 0.1).low)


def test_wilson_holds_the_shares_the_score_test_does_not_reject():
    own = wilson(0.85, 40, level=0.9)
    z = stats.norm.ppf(0.95)
    for edge in (own.low, own.high):
        assert abs(0.85 - edge) == pytest.approx(z * math.sqrt(edge * (1 - edge) / 40))
    assert wilson(1.0, 10).high == pytest.approx(1.0)
    assert wilson(0.0, 10).low == pytest.approx(0.0, abs=1e-15)
    assert math.isnan(wilson(0.5, 0).low)


def test_an_interval_of_rows_is_student_s():
    rows = np.array([0.1, 0.5, 0.9, 0.4, 0.7])
    own = of_rows(rows, None)
    low, high = stats.t.interval(0.95, 4, rows.mean(), stats.sem(rows))
    assert (own.low, own.high) == (pytest.approx(low), pytest.approx(high))
    equal = of_rows(rows, np.full(5, 3.0))
    assert equal.low == pytest.approx(own.low)
    assert math.isnan(of_rows(rows[:1], None).low)


def test_weights_shrink_the_sample():
    assert effective(4, np.array([2.0, 2.0, 0.0, 0.0])) == 2.0
    assert effective(4, None) == 4.0
    assert effective(1, np.zeros(1)) == 0.0


def test_quantiles_are_scipy_s():
    assert quantile(0.9, 7) == pytest.approx(stats.t.ppf(0.95, 7))
    assert quantile(0.95, math.inf) == pytest.approx(stats.norm.ppf(0.975))


def test_an_estimate_is_plain_and_can_be_cut():
    own = Estimate(0.99, 0.95, 1.03, (0.99, float("nan")), 0.95, "x").within(0.0, 1.0)
    assert own.high == 1.0
    assert own.to_dict()["values"] == [0.99, None]
    assert str(Estimate(0.5, math.nan, math.nan, (0.5,), 0.95, "x")) == "0.5"


@pytest.mark.parametrize("what", ["accuracy", "balanced_accuracy", "brier", "recall"])
def test_folds_that_all_score_the_same_leave_the_interval_to_the_rows(what):
    trials = cw.evaluate(cw.Neighbors(), "sample:iris", folds=3)
    label = "Iris-setosa" if what == "recall" else None
    found = trials.score(what, "Neighbors", label=label)
    assert found.low < found.value < found.high or (found.value == 1.0 and found.low < 1.0)
    if what == "accuracy":
        assert found.values == (0.96, 0.96, 0.96)
        rows = wilson(0.96, 150)
        assert (found.low, found.high, found.method) == (rows.low, rows.high, rows.method)


def test_repeats_do_not_make_the_rows_more():
    trials = cw.evaluate(cw.NaiveBayes(), "sample:iris", folds=3, repeats=4)
    found = trials.score("accuracy", "majority")
    assert len(set(found.values)) == 1
    assert found.method == "Wilson over 150 rows"


def test_values_that_do_not_differ_have_no_interval():
    assert math.isnan(corrected([0.5, 0.5, 0.5], 0.1).low)
    assert math.isnan(of_rows(np.ones(9), None).low)
    trials = cw.evaluate(
        {"NaiveBayes": cw.NaiveBayes(), "again": cw.NaiveBayes()}, "sample:iris", folds=3
    )
    gap = trials.difference("NaiveBayes", "again")
    assert (gap.value, math.isnan(gap.low), math.isnan(gap.high)) == (0.0, True, True)
    assert "nan" not in trials.verdict()
