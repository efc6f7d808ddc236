import numpy as np
import pytest
from sklearn.model_selection import KFold, PredefinedSplit, RepeatedStratifiedKFold, ShuffleSplit

import countwise as cw
from countwise.errors import ParameterError
from countwise.evaluation.evaluate import evaluate
from countwise.evaluation.folds import (
    deal,
    generator,
    proportions,
    split_folds,
    split_given,
    split_holdout,
)


@pytest.fixture(scope="module")
def glass():
    return cw.read("sample:glass")


def number_rows(repeat, rows):
    """Return the number of the block each row is in."""
    numbers = np.full(rows, -1)
    for number, block in enumerate(repeat.blocks):
        numbers[block] = number
    return numbers


@pytest.mark.parametrize("folds", [2, 3, 10])
def test_folds_are_even_in_size_and_in_every_class(glass, folds):
    split = split_folds("evaluate", glass, folds, 1, True, np.random.default_rng(0))
    part = number_rows(split.repeats[0], len(glass))
    sizes = np.bincount(part, minlength=folds)
    assert sizes.max() - sizes.min() <= 1
    for code in range(len(glass.classes)):
        own = np.bincount(part[glass.target == code], minlength=folds)
        assert own.max() - own.min() <= 1


def test_folds_differ_from_repeat_to_repeat_and_seeds_repeat_them(glass):
    split = split_folds("evaluate", glass, 5, 2, True, np.random.default_rng(3))
    again = split_folds("evaluate", glass, 5, 2, True, np.random.default_rng(3))
    first, second = (number_rows(repeat, len(glass)) for repeat in split.repeats)
    assert not np.array_equal(first, second)
    assert np.array_equal(second, number_rows(again.repeats[1], len(glass)))


def test_holdout_sets_thirty_percent_of_every_class_aside(glass):
    split = split_holdout(glass, 0.3, 10, True, np.random.default_rng(0))
    assert len(split.repeats) == 10
    for repeat in split.repeats:
        tested = number_rows(repeat, len(glass)) == 0
        assert tested.sum() == round(0.3 * len(glass))
        for code in range(len(glass.classes)):
            rows = glass.target == code
            assert abs(tested[rows].sum() - 0.3 * rows.sum()) < 1


def test_every_prefix_of_a_proportional_deal_holds_the_classes_in_proportion():
    votes = cw.read("sample:votes")
    rng = np.random.default_rng(0)
    sizes = [20, 30, 100, 285]
    part = deal(proportions(sizes, votes, True, rng), votes, True, rng)
    assert np.bincount(part).tolist() == sizes
    share = np.mean(votes.target == 0)
    for number, size in enumerate(np.cumsum(sizes)):
        assert abs(np.sum(votes.target[part <= number] == 0) - share * size) <= 1


def test_unstratified_deals_have_the_sizes_too(glass):
    rng = np.random.default_rng(0)
    part = deal(proportions([10, 204], glass, False, rng), glass, False, rng)
    assert np.bincount(part).tolist() == [10, 204]
    repeat = split_folds("evaluate", glass, 4, 1, False, rng).repeats[0]
    assert [len(block) for block in repeat.blocks] == [54, 54, 53, 53]


def test_small_classes_are_noted(glass):
    trials = evaluate(cw.NaiveBayes(), glass, folds=10)
    note = next(note for note in trials.notes if note.code == "E01")
    assert "'tableware' (9)" in note.text
    assert trials.score("accuracy", "NaiveBayes").value > 0.3


def test_a_class_of_one_row_is_tested_without_being_known():
    table = cw.read({"a": ["x", "y"] * 6, "y": ["p", "q"] * 5 + ["p", "rare"]}, target="y")
    trials = evaluate(cw.NaiveBayes(), table, folds=3)
    rows = [row for row in trials.rows("NaiveBayes") if row["true"] == "rare"]
    assert rows[0]["posteriors"][trials.classes.index("rare")] == 0.0
    assert np.isfinite(trials.score("log_loss", "NaiveBayes").value)


def test_numbers_a_splitter_and_pairs_give_the_same_folds(glass):
    splitter = KFold(4, shuffle=True, random_state=0)
    pairs = list(splitter.split(np.zeros(len(glass))))
    numbers = np.empty(len(glass), dtype=int)
    for fold, (_, test) in enumerate(pairs):
        numbers[test] = fold
    splits = [split_given(glass, folds) for folds in (splitter, pairs, numbers)]
    for split in splits:
        assert len(split.repeats) == 1
        assert np.array_equal(number_rows(split.repeats[0], len(glass)), numbers)


def test_repeated_splitters_become_repeats(glass):
    split = split_given(glass, RepeatedStratifiedKFold(n_splits=5, n_repeats=3, random_state=0))
    assert [repeat.n_folds for repeat in split.repeats] == [5, 5, 5]
    assert split.words == "the 15 splits of RepeatedStratifiedKFold"


def test_splits_that_leave_rows_out_stand_alone(glass):
    splitter = ShuffleSplit(3, test_size=20, train_size=50, random_state=0)
    split = split_given(glass, splitter)
    assert [sum(map(len, repeat.blocks)) for repeat in split.repeats] == [70, 70, 70]
    trials = evaluate(cw.NaiveBayes(), glass, folds=splitter)
    assert [part.trained for part in trials.folds] == [50, 50, 50]
    for part, (train, test) in zip(trials.folds, splitter.split(np.zeros(214)), strict=True):
        assert np.array_equal(part.rows, np.sort(test))
        fitted = cw.NaiveBayes().fit(glass.take(np.sort(train)))
        said = trials.entries["NaiveBayes"].predictions[part.repeat].posteriors
        place = [glass.classes.index(label) for label in fitted.classes_.tolist()]
        assert np.allclose(said[:, place], fitted.predict_proba(glass.take(part.rows)))


def test_rows_with_a_negative_number_always_train(glass):
    numbers = np.where(np.arange(len(glass)) < 100, -1, np.arange(len(glass)) % 2)
    for folds in (PredefinedSplit(numbers), numbers):
        repeat = split_given(glass, folds).repeats[0]
        assert [len(block) for block in repeat.blocks] == [57, 57, 100]
        assert [fold.train.size for fold in repeat.folds()] == [157, 157]


WRONG = [
    ({"folds": 1}, "folds must be a whole number of at least 2; got 1"),
    ({"folds": 2.5}, "folds must be a whole number of at least 2; got 2.5"),
    (
        {"folds": 500},
        "folds must be at most the number of rows, 214; got 500. Use fewer folds, or leave_one",
    ),
    ({"repeats": 0}, "repeats must be a whole number of at least 1; got 0"),
    ({"holdout": 1.5}, "holdout must be a fraction above 0 and below 1, or None; got"),
    ({"holdout": True}, "holdout must be a fraction above 0 and below 1, or None; got"),
    ({"holdout": 0.3, "repeats": -1}, "repeats must be a whole number"),
    ({"random_state": -1}, "random_state must be a whole number from 0 to 4294967295"),
    ({"stratified": "yes"}, "stratified must be True or False; got 'yes'"),
    ({"leave_one_out": True, "repeats": 3}, "tests every row once"),
    ({"folds": [0, 1]}, "one whole number for each of the 214 rows"),
    ({"folds": [0.5] * 214}, "one whole number for each of the 214 rows"),
    ({"folds": [1] * 214}, "must name at least two groups of rows"),
    ({"folds": [0, 1] * 107, "repeats": 2}, "repeats must be 1 where the folds are given; got 2"),
    ({"folds": []}, "one whole number for each of the 214 rows"),
    ({"folds": "ten"}, "folds must be a column of the table besides the class; got 'ten'"),
    ({"folds": None}, "folds must be a whole number, one fold number a row"),
    ({"folds": [([0, 1], [1, 2])]}, "split 0 holds some in both"),
    ({"folds": [([0, 1], [999])]}, "the test rows of split 0 must be indices from 0 to 213"),
    ({"n_jobs": 0}, "n_jobs must be a whole number other than 0"),
    ({"sample_weight": [1.0]}, "one number for each of the 214 rows"),
]


@pytest.mark.parametrize(("options", "message"), WRONG)
def test_what_cannot_be_is_refused_in_a_sentence(glass, options, message):
    with pytest.raises(ParameterError, match="evaluate: ") as refused:
        evaluate(cw.NaiveBayes(), glass, **options)
    assert message in str(refused.value)


def test_one_class_is_refused():
    table = cw.read({"a": ["x", "y", "x"], "y": ["p", "p", "p"]}, target="y")
    with pytest.raises(ParameterError, match="rows of at least two classes; column 'y' holds"):
        evaluate(cw.NaiveBayes(), table)


def test_a_generator_is_taken_as_it_is():
    rng = np.random.default_rng(0)
    assert generator("evaluate", rng) is rng
