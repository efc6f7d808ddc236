"""AUC, F1, kappa, MCC, precision, recall and top-k: scikit-learn's, ranked and compared."""

import warnings

import numpy as np
import pytest
from sklearn import metrics
from sklearn.svm import LinearSVC

import countwise as cw
from countwise.errors import ParameterError
from countwise.evaluation.evaluate import evaluate
from countwise.evaluation.scores import SCORES


def binary(true):
    return len(np.unique(true)) == 2


def peer_auc(true, posteriors, weight, **kind):
    if binary(true):
        return metrics.roc_auc_score(true, posteriors[:, 1], sample_weight=weight)
    return metrics.roc_auc_score(true, posteriors, sample_weight=weight, **kind)


def mean_of(score, average):
    return lambda true, decided, _, weight: score(
        true, decided, average=average, sample_weight=weight, zero_division=0
    )


PEERS = {
    "balanced_accuracy": lambda t, d, p, w: metrics.balanced_accuracy_score(t, d, sample_weight=w),
    "auc": lambda t, d, p, w: peer_auc(t, p, w, multi_class="ovr", average="macro"),
    "auc_weighted": lambda t, d, p, w: peer_auc(t, p, w, multi_class="ovr", average="weighted"),
    "f1": mean_of(metrics.f1_score, "macro"),
    "f1_weighted": mean_of(metrics.f1_score, "weighted"),
    "precision": mean_of(metrics.precision_score, "macro"),
    "precision_weighted": mean_of(metrics.precision_score, "weighted"),
    "recall": mean_of(metrics.recall_score, "macro"),
    "recall_weighted": mean_of(metrics.recall_score, "weighted"),
    "kappa": lambda t, d, p, w: metrics.cohen_kappa_score(t, d, sample_weight=w),
    "mcc": lambda t, d, p, w: metrics.matthews_corrcoef(t, d, sample_weight=w),
}


def each(trials, entry):
    classes = np.asarray(trials.classes)
    for fold, predicted in zip(trials.folds, trials.entries[entry].predictions, strict=True):
        yield classes[fold.truth], classes[predicted.decided], predicted.posteriors, fold.weight


@pytest.fixture(scope="module", params=["credit-g", "iris", "glass"])
def table(request):
    return cw.read(f"sample:{request.param}")


@pytest.fixture(scope="module", params=["equal", "weighted"])
def trials(request, table):
    weight = np.random.default_rng(1).random(len(table)) if request.param == "weighted" else None
    return evaluate(
        {"bayes": cw.NaiveBayes(), "tree": cw.ID3()}, table, folds=3, sample_weight=weight
    )


@pytest.mark.parametrize("name", PEERS)
@pytest.mark.parametrize("entry", ["bayes", "tree", "majority"])
def test_scores_are_those_of_scikit_learn(trials, name, entry):
    # The posteriors of a tree and of the majority have many ties.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = [PEERS[name](*fold) for fold in each(trials, entry)]
    assert trials.score(name, entry).values == pytest.approx(wanted, abs=1e-12, rel=1e-12)


def test_hand_and_till_is_that_of_scikit_learn(table):
    trials = evaluate({"bayes": cw.NaiveBayes(), "tree": cw.ID3()}, table, folds=3)
    for entry in ("bayes", "tree"):
        wanted = [
            peer_auc(true, posteriors, None, multi_class="ovo", average="macro")
            for true, _, posteriors, _ in each(trials, entry)
        ]
        got = trials.score("auc_hand_till", entry).values
        assert got == pytest.approx(wanted, abs=1e-12, rel=1e-12)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_top_k_is_that_of_scikit_learn(k):
    trials = evaluate({"bayes": cw.NaiveBayes()}, "sample:glass", folds=3)
    wanted = [
        metrics.top_k_accuracy_score(true, posteriors, k=k, labels=trials.classes)
        for true, _, posteriors, _ in each(trials, "bayes")
    ]
    assert trials.score(f"top_{k}", "bayes").values == pytest.approx(wanted, abs=1e-12)


def test_equal_posteriors_count_one_half():
    trials = evaluate(cw.NaiveBayes(), "sample:votes", folds=3)
    assert trials.score("auc", "majority").values == (0.5, 0.5, 0.5)


def test_a_class_by_itself():
    trials = evaluate({"bayes": cw.NaiveBayes()}, "sample:glass", folds=3)
    label = trials.classes[0]
    for name, peer in (
        ("auc", lambda t, d, p: metrics.roc_auc_score(t == label, p[:, 0])),
        ("f1", lambda t, d, p: metrics.f1_score(t == label, d == label)),
    ):
        wanted = [peer(t, d, p) for t, d, p, _ in each(trials, "bayes")]
        assert trials.score(name, "bayes", label=label).values == pytest.approx(wanted, abs=1e-12)


def test_a_class_that_a_fold_lacks_is_left_out():
    rows = {"x": [0, 1, 0, 1, 0, 1, 0, 1, 2, 2], "y": list("ababababcc")}
    folds = [([0, 1, 2, 3, 8, 9], [4, 5, 6, 7]), ([4, 5, 6, 7], [0, 1, 2, 3, 8, 9])]
    trials = evaluate(cw.NaiveBayes(), rows, target="y", nominal=["x"], folds=folds)
    for name in (*SCORES, "top_2"):
        if name not in ("expected_gain", "expected_cost"):
            assert np.isfinite(trials.score(name, "NaiveBayes").values).all(), name
    assert trials.score("auc", "NaiveBayes").values[0] == 1.0


def test_labels_alone_have_no_auc():
    trials = evaluate({"svm": LinearSVC(), "bayes": cw.NaiveBayes()}, "sample:iris", folds=3)
    assert np.isnan(trials.score("auc", "svm").value)
    ranked = trials.rank_by("auc")
    assert [line["model"] for line in ranked.summary()] == ["bayes", "majority", "svm"]
    assert "AUC" in ranked.verdict()


def test_a_score_ranks_and_is_compared():
    models = {"bayes": cw.NaiveBayes(), "tree": cw.ID3()}
    trials = evaluate(models, "sample:credit-g", folds=3, score="auc")
    assert trials.ranked_by == "auc"
    values = [line["auc"] for line in trials.summary()]
    assert values == sorted(values, reverse=True)
    assert all(line["auc_low"] <= line["auc"] <= line["auc_high"] for line in trials.summary())
    gap = trials.difference("bayes", "tree", "auc")
    assert gap.value == pytest.approx(
        trials.score("auc", "bayes").value - trials.score("auc", "tree").value
    )
    assert trials.verdict().startswith("bayes is ahead of ")
    assert " in AUC" in trials.verdict()
    assert "auc" in trials.to_dict()["scores"]
    frame = trials.to_frame(["auc", "kappa", "top_1"], backend="pandas")
    assert set(frame["score"]) == {"auc", "kappa", "top_1"}


def test_the_lowest_loss_ranks_first():
    models = {"bayes": cw.NaiveBayes(), "tree": cw.ID3()}
    trials = evaluate(models, "sample:credit-g", folds=3, score="log_loss")
    values = [line["log_loss"] for line in trials.summary()]
    assert values == sorted(values)
    gap = trials.improvement(trials.best, "majority")
    assert gap.value > 0
    assert gap.low < gap.value < gap.high


@pytest.mark.parametrize("name", ["auc", "f1", "kappa", "mcc", "precision", "balanced_accuracy"])
def test_the_interval_of_one_test_set_is_that_of_the_bootstrap(name):
    trials = evaluate({"bayes": cw.NaiveBayes()}, "sample:credit-g", holdout=0.5, random_state=3)
    [fold] = each(trials, "bayes")
    rng = np.random.default_rng(0)
    drawn = []
    for _ in range(200):
        rows = rng.integers(0, len(fold[0]), len(fold[0]))
        drawn.append(PEERS[name](*(side[rows] for side in fold[:3]), None))
    estimate = trials.score(name, "bayes")
    half = (estimate.high - estimate.low) / 2
    assert half == pytest.approx(1.96 * np.std(drawn), rel=0.2)
    assert (
        trials.difference("bayes", "majority", name).low
        < trials.difference("bayes", "majority", name).high
    )


def test_an_unknown_score_is_named_before_anything_runs():
    with pytest.raises(ParameterError, match=r"evaluate: score must be one of .* Did you mean"):
        evaluate(cw.NaiveBayes(), "sample:iris", score="acuracy")
    with pytest.raises(ParameterError, match="Trials: score must be one of"):
        evaluate(cw.NaiveBayes(), "sample:iris").rank_by("top_0")
