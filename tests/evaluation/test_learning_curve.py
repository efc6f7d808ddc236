import json

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import countwise as cw
from countwise.errors import ParameterError
from countwise.evaluation.evaluate import prepare_task
from countwise.evaluation.folds import split_folds
from countwise.evaluation.learning_curve import (
    grow_from_folds,
    grow_from_holdout,
    learning_curve,
    read_sizes,
)


@pytest.mark.parametrize("protocol", [{"repeats": 2}, {"folds": 3}])
def test_every_size_equals_refitting_on_its_rows(protocol, monkeypatch):
    from countwise.evaluation import learning_curve as learning_curve_module

    kept = []
    inner = learning_curve_module.predict_folds
    monkeypatch.setattr(
        learning_curve_module, "predict_folds", lambda t, s, r: kept.append(s) or inner(t, s, r)
    )
    table = cw.read("sample:votes")
    curve = learning_curve(cw.NaiveBayes(), table, points=[15, 60, 200], **protocol)
    for step, trials in enumerate(curve.trials):
        trained = kept[0].folds()[step::3]
        predictions = trials.entries["NaiveBayes"].predictions
        for (train, _), fold, predicted in zip(trained, trials.folds, predictions, strict=True):
            assert len(train) == curve.sizes[step]
            assert not np.intersect1d(train, fold.rows).size
            fitted = cw.NaiveBayes().fit(table.take(train))
            assert np.array_equal(predicted.posteriors, fitted.predict_proba(table.take(fold.rows)))


def test_sizes_hold_one_another_and_the_tested_rows_stay():
    table = cw.read("sample:votes")
    rng = np.random.default_rng(0)
    repeat = grow_from_holdout(table, 130, (10, 50, 305), 1, True, rng)[0]
    first, second, third = repeat.folds()
    assert len(first.test) == 130
    assert set(first.test) == set(second.test) == set(third.test)
    assert set(first.train) < set(second.train) < set(third.train)
    assert len(third.train) == 305


def test_folds_test_every_row_once():
    table = cw.read("sample:votes")
    rng = np.random.default_rng(0)
    split = split_folds("learning_curve", table, 4, 1, True, rng)
    grown = grow_from_folds(table, split, (10, 300), 20_000, True, rng)
    rows = np.concatenate([repeat.blocks[-1] for repeat in grown])
    assert np.array_equal(np.sort(rows), np.arange(435))
    capped = grow_from_folds(table, split, (10, 300), 50, True, rng)
    assert [len(repeat.blocks[-1]) for repeat in capped] == [50] * 4


def test_other_classifiers_are_refitted():
    table = cw.read("sample:iris")
    curve = learning_curve(
        {"tree": DecisionTreeClassifier(random_state=0), "NB": cw.NaiveBayes()},
        table,
        points=[0.2, 1.0],
        repeats=3,
    )
    assert curve.sizes == (21, 105)
    assert len(curve.score("accuracy", "tree")[0].values) == 3
    assert curve.score("accuracy", "NB")[-1].value > 0.9


def test_records_are_tidy_and_plain():
    curve = learning_curve(cw.NaiveBayes(), "sample:iris", points=4, repeats=4)
    plain = json.loads(json.dumps(curve.to_dict(["accuracy", "log_loss"]), allow_nan=False))
    assert len(plain["records"]) == 2 * 2 * 4
    first = plain["records"][0]
    assert first["model"] == "NaiveBayes"
    assert first["size"] == 10
    assert len(first["values"]) == 4
    text = curve.describe()
    assert text.splitlines()[1].split() == ["rows", "NaiveBayes", "majority"]
    assert curve.records(lambda t, d, p: 1.0)[0]["score"] == "<lambda>"


def test_nothing_is_capped_in_silence():
    curve = learning_curve(cw.NaiveBayes(), "sample:votes", points=3, test_rows=50, repeats=1)
    assert [len(fold.rows) for fold in curve.trials[0].folds] == [50]
    said = " ".join(map(str, curve.notes))
    assert "In each repeat 50 of the 130 held-out rows were drawn and tested" in said
    assert "One repeat" in said
    short = learning_curve(cw.NaiveBayes(), "sample:weather", points=20, repeats=2)
    assert len(short.sizes) < 20
    assert any(note.code == "E12" for note in short.notes)


def test_the_number_of_repeats_follows_the_rows():
    assert len(learning_curve(cw.NaiveBayes(), "sample:iris", points=2).trials[0].folds) == 10
    curve = learning_curve(cw.NaiveBayes(), "sample:iris", points=2, folds=5)
    assert len(curve.trials[0].folds) == 5


def test_weights_and_gains_go_along():
    table = cw.read("sample:votes")
    gain = {
        "democrat": {"democrat": 1, "republican": -2},
        "republican": {"democrat": -1, "republican": 1},
    }
    curve = learning_curve(
        cw.NaiveBayes(),
        table,
        points=3,
        repeats=2,
        gain=gain,
        sample_weight=np.linspace(1, 2, len(table)),
    )
    assert curve.ranked_by == "expected_gain"
    assert "NaiveBayes by gain" in curve.names


def test_progress_counts_to_its_total():
    steps = []
    learning_curve(
        cw.NaiveBayes(),
        "sample:iris",
        points=[10, 100],
        repeats=2,
        progress=lambda done, total, text: steps.append((done, total)),
    )
    assert steps == [(at, 6) for at in range(1, 7)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"points": 1},
            "points must be a number of points of at least 2, sizes in rows, or fractions up to 1",
        ),
        (
            {"points": "many"},
            "points must be a number of points of at least 2, sizes in rows, or fractions",
        ),
        (
            {"points": [-3, 5]},
            "points must be a number of points of at least 2, sizes in rows, or fractions",
        ),
        (
            {"points": [5, 5000]},
            "points must be at most the number of training rows, 105; got 5000",
        ),
        ({"holdout": 2}, "holdout must be a fraction above 0 and below 1; got 2"),
        ({"repeats": 0}, "repeats must be a whole number of at least 1, or None; got 0"),
        ({"test_rows": 0}, "test_rows must be a whole number of at least 1; got 0"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(options, message):
    with pytest.raises(ParameterError, match="learning_curve: ") as refused:
        learning_curve(cw.NaiveBayes(), "sample:iris", **options)
    assert message in str(refused.value)


def test_sizes_are_whole_ascending_and_different():
    assert read_sizes(3, 8, 2) == (8,)
    assert read_sizes([50, 10, 10], 100, 2) == (10, 50)
    assert read_sizes([0.001], 100, 2) == (1,)


def test_one_class_is_refused():
    with pytest.raises(ParameterError, match="learning_curve: there must be rows of at least two"):
        prepare_task(
            learning_curve,
            cw.NaiveBayes(),
            {"a": ["x", "y"], "y": ["p", "p"]},
            "y",
            None,
            None,
            None,
            {},
        )
