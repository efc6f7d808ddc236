"""ROC curves of a comparison: they agree with scikit-learn's, and say what is found."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import countwise as cw
from countwise.errors import ParameterError
from countwise.evaluation.roc_curve import roc_curves


def pooled(trials, name):
    truth = np.concatenate([fold.truth for fold in trials.folds])
    return truth, np.concatenate([fold.posteriors for fold in trials.entries[name].predictions])


def test_two_classes():
    models = {"bayes": cw.NaiveBayes(), "tree": cw.ID3()}
    trials = cw.evaluate(models, "sample:votes", folds=5)
    curves, words = roc_curves(trials)
    assert words == "class 'republican' against the rest"
    assert [curve.area for curve in curves] == sorted((c.area for c in curves), reverse=True)
    for curve in curves:
        truth, posteriors = pooled(trials, curve.name)
        assert curve.area == pytest.approx(roc_auc_score(truth, posteriors[:, 1]))
        assert curve.auc == trials.score("auc", curve.name)
        assert (curve.false_positive[0], curve.true_positive[-1]) == (0.0, 1.0)
    other, _ = roc_curves(trials, "democrat")
    assert {c.name: c.area for c in other} == pytest.approx({c.name: c.area for c in curves})


def test_the_picture_has_the_interval_of_the_area():
    trials = cw.evaluate({"bayes": cw.NaiveBayes()}, "sample:votes", folds=5)
    score = trials.score("auc", "bayes")
    picture = str(cw.draw(trials, "roc"))
    assert f"bayes (AUC {score.value:.3f} ({score.low:.3f} to {score.high:.3f}))" in picture
    assert "AUC with its 95 % interval" in picture


def test_three_classes_are_averaged():
    trials = cw.evaluate({"bayes": cw.NaiveBayes()}, "sample:iris", folds=5)
    (curve,), words = roc_curves(trials)
    assert words == "each class against all others, averaged"
    truth, posteriors = pooled(trials, "bayes")
    area = roc_auc_score(truth, posteriors, multi_class="ovr", average="macro")
    assert curve.area == pytest.approx(area)
    assert np.all(np.diff(curve.true_positive) >= 0)


def test_an_unknown_class_is_refused():
    trials = cw.evaluate({"bayes": cw.NaiveBayes()}, "sample:iris", folds=3)
    with pytest.raises(ParameterError, match="label must be a class; got 'rose'"):
        roc_curves(trials, "rose")


def test_other_pictures_are_refused():
    trials = cw.evaluate({"bayes": cw.NaiveBayes()}, "sample:votes", folds=3)
    with pytest.raises(ParameterError, match="'roc', 'confusion' or None"):
        cw.draw(trials, "curve")
