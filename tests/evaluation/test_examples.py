"""What the inner parts of evaluation answer, one small example each."""

import numpy as np
from sklearn.linear_model import LogisticRegression

import countwise as cw
from countwise.evaluation.folds import Deal, usable
from countwise.evaluation.from_counts import leave_one_out, without_each
from countwise.evaluation.predictions import largest, widened
from countwise.evaluation.refit import material_of
from countwise.evaluation.trials import table_of


def test_material_of_example():
    assert material_of(LogisticRegression(), cw.read("sample:iris")).steps is None
    assert material_of(LogisticRegression(), cw.read("sample:weather")).X.shape == (14, 4)


def test_deal_example():
    deal = Deal(np.array([1, 0, 2, 0], dtype=np.uint8), parts=2)
    assert (deal.order.tolist(), deal.edges.tolist()) == ([1, 3, 0, 2], [0, 2, 3, 4])


def test_usable_example():
    assert len(usable("evaluate", cw.read("sample:weather"))[0]) == 14


def test_leave_one_out_example():
    weather = cw.read("sample:weather")
    answer = leave_one_out(cw.NaiveBayes(), weather)
    model = cw.NaiveBayes().fit(weather.take(slice(1, None)))
    assert bool(np.allclose(answer.posteriors[:1], model.predict_proba(weather.take([0]))))


def test_largest_example():
    assert largest(np.array([[0.2, 0.8], [0.5, 0.5], [0.1, 0.0]])).tolist() == [1, 0, 0]


def test_widened_example():
    assert repr(widened([[0.3, 0.7]], ["a", "c"], ["a", "b", "c"])) == "array([[0.3, 0. , 0.7]])"


def test_without_each_example():
    table = cw.read("sample:weather")
    parts = cw.count_groups(table, groups=[0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1])
    assert without_each(parts, 3)[1] == parts[0] + parts[2]


def test_table_of_example():
    assert str(table_of([{"model": "a", "accuracy": 0.5}], ["model", "accuracy"])) == (
        "model  accuracy\na           0.5"
    )
