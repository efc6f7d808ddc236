"""Groups that stay together, rows in order of time, and folds of one's own."""

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold

import countwise as cw
from countwise.errors import ParameterError
from countwise.evaluation.column_folds import split_groups
from countwise.evaluation.evaluate import evaluate

RNG = np.random.default_rng(5)
CREDIT = cw.read("sample:credit-g")
PATIENTS = RNG.integers(0, 60, len(CREDIT))
MODELS = {"bayes": cw.NaiveBayes(), "aode": cw.AODE(), "tree": cw.ID3()}


def training_rows(trials, at, rows):
    """Return the training rows of a fold of cross-validation: all that are not tested."""
    return np.setdiff1d(np.arange(rows), trials.folds[at].rows)


@pytest.mark.parametrize("protocol", [{"folds": 5}, {"folds": 5, "repeats": 2}, {"holdout": 0.3}])
def test_a_group_is_never_in_training_and_test_at_once(protocol):
    trials = evaluate(cw.NaiveBayes(), CREDIT, groups=PATIENTS, **protocol)
    assert "60 groups kept together" in trials.protocol
    for at, fold in enumerate(trials.folds):
        tested = set(PATIENTS[fold.rows])
        assert tested.isdisjoint(PATIENTS[training_rows(trials, at, len(CREDIT))])
        assert fold.trained == len(CREDIT) - len(fold.rows)
    if "folds" in protocol:
        every = np.sort(np.concatenate([fold.rows for fold in trials.folds[:5]]))
        assert np.array_equal(every, np.arange(len(CREDIT)))
    else:
        assert 0.25 < len(trials.folds[0].rows) / len(CREDIT) < 0.35


def test_folds_of_groups_are_stratified_as_far_as_possible():
    trials = evaluate(cw.NaiveBayes(), CREDIT, groups=PATIENTS, folds=5)
    shares = [np.mean(fold.truth) for fold in trials.folds]
    sizes = [len(fold.rows) for fold in trials.folds]
    assert max(shares) - min(shares) < 0.05
    assert max(sizes) - min(sizes) < 30


def test_groups_of_one_row_give_stratified_folds():
    alone = np.arange(len(CREDIT))
    trials = evaluate(cw.NaiveBayes(), CREDIT, groups=alone, folds=10)
    assert {len(fold.rows) for fold in trials.folds} == {100}
    assert {int(np.sum(fold.truth == 0)) for fold in trials.folds} == {30}


def test_every_fold_gets_a_group_however_unlike_they_are():
    table = cw.read("sample:iris")
    groups = np.repeat(np.arange(5), [100, 20, 15, 10, 5])
    for folds in (2, 3, 4, 5):
        split = split_groups("test", table, groups, folds, None, 1, True, np.random.default_rng(0))
        assert [len(fold.test) > 0 for fold in split.folds()] == [True] * folds
    two = np.repeat(np.arange(2), [75, 75])
    split = split_groups("test", table, two, 10, 0.05, 1, True, np.random.default_rng(0))
    assert [len(side) for side in split.folds()[0]] == [75, 75]


@pytest.mark.parametrize(
    "protocol",
    [
        {"groups": PATIENTS, "folds": 4},
        {"groups": PATIENTS, "holdout": 0.4},
        {"folds": PATIENTS % 4},
        {"folds": PATIENTS % 4 - 1},
        {"folds": GroupKFold(4), "groups": PATIENTS},
        {"time": np.arange(len(CREDIT)), "folds": 4},
        {"time": PATIENTS, "holdout": 0.3},
    ],
    ids=["groups", "holdout", "numbers", "always-train", "splitter", "time", "latest"],
)
def test_counting_once_equals_refitting(protocol):
    trials = evaluate(MODELS, CREDIT, **protocol)
    times = protocol.get("time")
    for at, fold in enumerate(trials.folds):
        train = training_rows(trials, at, len(CREDIT))
        if times is not None:
            train = np.flatnonzero(times < times[fold.rows].min())
        assert fold.trained == len(train)
        for name, model in (("bayes", cw.NaiveBayes()), ("aode", cw.AODE())):
            wanted = model.fit(CREDIT.take(train)).predict_proba(CREDIT.take(fold.rows))
            got = trials.entries[name].predictions[at].posteriors
            assert np.allclose(got, wanted, rtol=1e-9, atol=1e-12), name
    if times is None:
        assert any(note.code == "E05" and "aode" in note.text for note in trials.notes)


def test_time_trains_on_earlier_rows_and_tests_on_later_ones():
    times = RNG.integers(0, 50, len(CREDIT))
    trials = evaluate(cw.NaiveBayes(), CREDIT, time=times, folds=4)
    assert trials.protocol.startswith("4 folds in order of time")
    before = -1
    for fold in trials.folds:
        tested = times[fold.rows]
        assert tested.min() > before
        assert fold.trained == np.count_nonzero(times < tested.min())
        assert 100 < len(fold.rows) < 300
        before = tested.max()
    assert before == times.max()
    dates = np.datetime64("2020-01-01") + times
    again = evaluate(cw.NaiveBayes(), CREDIT, time=dates, folds=4)
    assert all(
        np.array_equal(one.rows, other.rows)
        for one, other in zip(trials.folds, again.folds, strict=True)
    )


def rows_with_columns():
    draw = np.random.default_rng(2)
    y = draw.choice(["a", "b"], 120)
    return {
        "x": draw.normal(size=120) + (y == "a"),
        "patient": [f"p{number:03}" for number in range(60)] * 2,
        "day": [f"2021-{1 + at // 28:02}-{1 + at % 28:02}" for at in range(120)],
        "part": [0, 1, 2, -1] * 30,
        "y": y,
    }


def test_a_named_column_is_no_attribute():
    rows = rows_with_columns()
    for name, value in (("groups", "patient"), ("time", "day"), ("folds", "part")):
        options = {name: value} if name == "folds" else {name: value, "folds": 4}
        others = {"day", "patient", "part"} - {value}
        trials = evaluate(cw.NaiveBayes(), rows, target="y", drop=list(others), **options)
        [note] = [note for note in trials.notes if note.code == "E17"]
        assert note.column == value
    assert [len(fold.rows) for fold in trials.folds] == [30, 30, 30]
    assert {fold.trained for fold in trials.folds} == {90}
    table = cw.read(rows, target="y", nominal=["patient"], drop=["day", "part"])
    patients = np.asarray(rows["patient"])
    trials = evaluate(cw.NaiveBayes(), table, groups="patient", folds=4)
    for at, fold in enumerate(trials.folds):
        assert set(patients[fold.rows]).isdisjoint(patients[training_rows(trials, at, 120)])


def test_dates_in_random_order_are_noted():
    rows = rows_with_columns()
    rows["day"] = np.asarray(rows["day"], dtype="datetime64[D]")
    trials = evaluate(cw.NaiveBayes(), rows, target="y", folds=3)
    [note] = [note for note in trials.notes if note.code == "E16"]
    assert "time='day'" in str(note)
    trials = evaluate(cw.NaiveBayes(), rows, target="y", folds=3, time="day")
    assert all(note.code != "E16" for note in trials.notes)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"groups": PATIENTS, "folds": 61}, "folds must be at most the number of groups, 60"),
        ({"groups": np.zeros(1000)}, "groups must be at least two different groups; got"),
        ({"groups": PATIENTS[:5]}, "groups must be one value for each of the 1000 rows"),
        ({"groups": np.full(1000, np.nan)}, "groups must name the group of every row; got NaN"),
        ({"groups": PATIENTS, "leave_one_out": True}, "groups stay together; got both"),
        ({"groups": "purpse"}, "groups must be a column .* Did you mean 'purpose'?"),
        ({"time": "purpose"}, "time must be a column of numbers, or of dates .* got 'purpose'"),
        ({"time": list("ab") * 500}, "time must be a number or a date for every row"),
        ({"time": PATIENTS, "repeats": 3}, "time orders the rows in one way"),
        ({"time": PATIENTS, "folds": 60}, "folds must be less than the number of different times"),
    ],
)
def test_what_cannot_be_split_is_refused(options, message):
    with pytest.raises(ParameterError, match=message):
        evaluate(cw.NaiveBayes(), CREDIT, **options)


def test_a_row_without_a_group_is_refused():
    rows = rows_with_columns()
    rows["patient"][3] = None
    with pytest.raises(ParameterError, match="1 of 120 rows have none"):
        evaluate(cw.NaiveBayes(), rows, target="y", groups="patient")
