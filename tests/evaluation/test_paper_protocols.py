"""The papers' protocols on their data: P1.3 and P1.10 (naive Bayes), P0.6 (70:30, ten times)."""

import numpy as np
import pytest

import countwise as cw
from countwise.evaluation.evaluate import evaluate


@pytest.mark.parametrize(
    ("name", "printed", "options"),
    [
        ("house-votes-84", 0.903436, {"when_missing": "value"}),
        ("soybean-small", 1.0, {"nominal": "all"}),
        ("breast-w", 0.975085, {"when_missing": {"bare_nuclei": "drop"}}),
        ("glass", 0.649783, {}),
        ("iris", 0.95333, {}),
    ],
)
def test_naive_bayes_of_table_1_lies_within_the_interval(uci, name, printed, options):
    """Ten bins of equal width, learned in each training fold, stratified ten-fold, as P1 did."""
    table = cw.read(uci(name), target=-1, **options)
    trials = evaluate(cw.NaiveBayes(numeric="cuts", bins=10), table, folds=10)
    own = trials.score("accuracy", "NaiveBayes")
    assert own.low <= printed <= own.high


def test_seventy_thirty_ten_times_argmax_against_the_wheel(uci):
    table = cw.read(uci("house-votes-84"), target=-1, when_missing="value")
    model = cw.NaiveBayes()
    trials = evaluate(
        {"argmax": model, "wheel": cw.Decide(model, "roulette")}, table, holdout=0.3, repeats=10
    )
    assert len(trials.folds) == 10
    assert {len(fold.rows) for fold in trials.folds} == {round(0.3 * 435)}
    for fold, predicted in zip(trials.folds, trials.entries["wheel"].predictions, strict=True):
        hit = predicted.posteriors[np.arange(len(fold.truth)), fold.truth]
        at = fold.repeat
        assert trials.score("accuracy", "wheel").values[at] == pytest.approx(hit.mean())


@pytest.mark.parametrize(
    ("name", "printed", "options"),
    [
        ("breast-w", 0.953154, {"when_missing": {"bare_nuclei": "drop"}}),
        ("glass", 0.579221, {}),
        ("iris", 0.96, {}),
        ("soybean-small", 1.0, {"nominal": "all"}),
        ("house-votes-84", 0.942389, {"when_missing": "value"}),
    ],
)
def test_neighbors_of_table_1_lie_within_the_interval(uci, name, printed, options):
    """Two neighbours, p = 3, VDM for words and Minkowski for numbers, stratified ten-fold."""
    model = cw.Neighbors(2, metric="vdm", p=3, smoothing=0)
    table = cw.read(uci(name), target=-1, **options)
    own = evaluate(model, table, folds=10).score("accuracy", "Neighbors")
    assert own.low <= printed <= own.high
