"""What the inner parts of evaluation answer, one small example each."""

import numpy as np
from sklearn.linear_model import LogisticRegression

import countwise as cw
from countwise.evaluation.candidates import Learner
from countwise.evaluation.folds import Repeat, drop_unlabelled
from countwise.evaluation.from_counts import predict_left_out
from countwise.evaluation.predictions import largest, widen
from countwise.evaluation.refit import prepare_rows
from countwise.evaluation.trials import align_columns


def test_prepare_rows_example():
    assert prepare_rows(LogisticRegression(), cw.read("sample:iris")).steps is None
    assert prepare_rows(LogisticRegression(), cw.read("sample:weather")).X.shape == (14, 4)


def test_repeat_example():
    repeat = Repeat.from_numbers(np.array([1, 0, 2, 0], dtype=np.uint8), tested=2)
    assert [block.tolist() for block in repeat.blocks] == [[1, 3], [0], [2]]
    assert [fold.train.tolist() for fold in repeat.folds()] == [[0, 2], [1, 2, 3]]


def test_drop_unlabelled_example():
    assert len(drop_unlabelled("evaluate", cw.read("sample:weather"))[0]) == 14


def test_leave_one_out_example():
    weather = cw.read("sample:weather")
    answer = predict_left_out(Learner("NB", cw.NaiveBayes()), weather)
    model = cw.NaiveBayes().fit(weather.take(slice(1, None)))
    assert bool(np.allclose(answer.posteriors[:1], model.predict_proba(weather.take([0]))))


def test_largest_example():
    assert largest(np.array([[0.2, 0.8], [0.5, 0.5], [0.1, 0.0]])).tolist() == [1, 0, 0]


def test_widened_example():
    assert repr(widen([[0.3, 0.7]], ["a", "c"], ["a", "b", "c"])) == "array([[0.3, 0. , 0.7]])"


def test_sum_training_example():
    table = cw.read("sample:weather")
    parts = cw.count_groups(table, groups=[0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1])
    repeat = Repeat(tuple(np.arange(at, 14, 3) for at in range(3)), 3)
    assert repeat.sum_training(dict(enumerate(parts)))[1] == parts[0] + parts[2]


def test_table_of_example():
    assert str(align_columns([{"model": "a", "accuracy": 0.5}], ["model", "accuracy"])) == (
        "model  accuracy\na           0.5"
    )
