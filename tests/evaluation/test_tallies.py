"""Scores from sums over rows: the same as from the rows, and what needs rows is refused."""

from dataclasses import replace

import numpy as np
import pytest

import countwise as cw
from countwise.errors import ParameterError
from countwise.evaluation.predictions import HeldOut
from countwise.evaluation.roc_curve import roc_curves
from countwise.evaluation.scores import SCORES, add_tallies, bound_areas, tally_rows

GAIN = {"good": {"good": 1, "bad": -1}, "bad": {"good": -5, "bad": 2}}


def tally(trials):
    """The same trials with sums instead of rows, each fold tallied in three parts."""
    entries = {}
    for name, entry in trials.entries.items():
        tallies, empty = [], []
        for result in trials._results(name, None):
            parts = np.array_split(np.arange(len(result.fold.rows)), 3)
            tallies.append(add_tallies([tally_rows(cut(result, part)) for part in parts]))
            empty.append(cut(result, parts[0][:0]).predictions)
        entries[name] = replace(entry, predictions=tuple(empty), tallies=tuple(tallies))
    folds = [HeldOut.of_scan(f.repeat, f.fold, len(f.rows), f.trained) for f in trials.folds]
    return replace(trials, entries=entries, folds=tuple(folds))


def cut(result, part):
    """The same result for some of its rows."""
    fold, predicted = result.fold, result.predictions
    weight = None if fold.weight is None else fold.weight[part]
    shares = None if predicted.shares is None else predicted.shares[part]
    return replace(
        result,
        fold=replace(fold, rows=fold.rows[part], truth=fold.truth[part], weight=weight),
        predictions=replace(
            predicted,
            posteriors=predicted.posteriors[part],
            decided=predicted.decided[part],
            shares=shares,
        ),
    )


@pytest.fixture(scope="module", params=[{}, {"holdout": 0.3}, {"weighted": True}])
def both(request):
    options = dict(request.param)
    table = cw.read("sample:credit-g")
    if options.pop("weighted", False):
        options["sample_weight"] = 1.0 + np.arange(len(table)) % 3
    wheel = cw.Decide(cw.NaiveBayes(), cw.RouletteWheel(0))
    models = {"bayes": cw.NaiveBayes(), "wheel": wheel}
    trials = cw.evaluate(models, table, gain=GAIN, **options)
    return trials, tally(trials)


def close(one, two):
    assert one.value == pytest.approx(two.value, rel=1e-12)
    assert one.values == pytest.approx(two.values, rel=1e-12)


@pytest.mark.parametrize("what", [name for name in SCORES if not name.startswith("auc")])
def test_scores_are_those_of_the_rows(both, what):
    for name in both[0].names:
        one, two = (trials.score(what, name) for trials in both)
        close(one, two)
        if name != "wheel":  # the variance of an expectation needs rows
            np.testing.assert_allclose((one.low, one.high), (two.low, two.high), rtol=1e-9)


def test_the_rest_of_the_trials(both):
    rows, sums = both
    assert repr(rows) == repr(sums)
    assert [line["model"] for line in rows.summary()] == [line["model"] for line in sums.summary()]
    np.testing.assert_array_equal(rows.confusion("bayes").counts, sums.confusion("bayes").counts)
    if len(rows.folds) > 1:
        assert rows.verdict() == sums.verdict()
        close(*(one.difference("bayes", "majority") for one in both))
    assert sums.to_dict()["folds"] == rows.to_dict()["folds"]
    assert sums.to_frame(["accuracy"]).shape == rows.to_frame(["accuracy"]).shape


@pytest.mark.parametrize(
    "ask",
    [
        lambda trials: trials.score("top_2", "bayes"),
        lambda trials: trials.score(lambda true, decided, posteriors: 0.0, "bayes"),
        lambda trials: trials.posteriors("bayes"),
        lambda trials: list(trials.rows("bayes")),
    ],
)
def test_what_needs_rows_is_refused(both, ask):
    with pytest.raises(ParameterError, match="predictions of single rows"):
        ask(both[1])


AREAS = [name for name in SCORES if name.startswith("auc")]


@pytest.mark.parametrize("what", AREAS)
def test_areas_are_exact_within_their_bound(both, what):
    rows, sums = both
    tallies = sums.entries["bayes"].tallies
    for tally, one, two in zip(
        tallies, rows.score(what, "bayes").values, sums.score(what, "bayes").values, strict=True
    ):
        assert abs(one - two) <= bound_areas(tally) + 1e-12
        assert bound_areas(tally) < 2e-3
    assert sums.score(what, "majority").values == rows.score(what, "majority").values
    label = sums.score("auc", "bayes", label="bad").values
    assert label == pytest.approx(rows.score("auc", "bayes", label="bad").values, abs=2e-3)
    ends = [(e.low, e.high) for e in (rows.score(what, "bayes"), sums.score(what, "bayes"))]
    np.testing.assert_allclose(*ends, atol=2e-3)


@pytest.mark.parametrize("sample", ["votes", "iris", "glass"])
def test_equal_posteriors_are_exact_ties(sample):
    """The bins of a small table hold one posterior each, and areas of any kind are exact."""
    models = {"one": cw.NaiveBayes(), "tree": cw.ID3(max_depth=2)}
    trials = cw.evaluate(models, f"sample:{sample}", folds=3)
    sums = tally(trials)
    for what in AREAS:
        for name in trials.names:
            bounds = [bound_areas(tally) for tally in sums.entries[name].tallies]
            gaps = np.subtract(trials.score(what, name).values, sums.score(what, name).values)
            assert np.all(np.abs(gaps) <= np.array(bounds) + 1e-12)
    assert max(bound_areas(tally) for tally in sums.entries["tree"].tallies) == 0


def test_a_roc_curve_from_bins(both):
    known, found = (roc_curves(trials)[0][0] for trials in both)
    assert found.name == known.name
    assert found.area == pytest.approx(known.area, abs=1e-3)
    grid = (np.arange(997) + 0.5) / 997  # between the steps of the curves
    one, two = (np.interp(grid, c.false_positive, c.true_positive) for c in (known, found))
    assert np.mean(np.abs(one - two)) < 2e-3
    assert "ROC" in cw.draw(both[1], what="roc").title


def test_too_many_classes_have_no_area(both):
    result = next(both[0]._results("bayes", None))
    small = tally_rows(result, room=8)
    assert small.posteriors is None
    assert np.isnan(bound_areas(small))
    entry = replace(both[1].entries["bayes"], tallies=(small,), predictions=(result.predictions,))
    folds = (HeldOut.of_scan(0, 0, len(result.fold.rows), 1),)
    trials = replace(both[1], entries={"bayes": entry}, folds=folds, _found={})
    for ask in (lambda: trials.score("auc", "bayes"), lambda: cw.draw(trials, what="roc")):
        with pytest.raises(ParameterError, match="predictions of single rows"):
            ask()
