import json

import narwhals as nw
import numpy as np
import pytest
from sklearn.svm import LinearSVC

import countwise as cw
from countwise.errors import ParameterError
from countwise.evaluation import predictions
from countwise.evaluation import trials as module
from countwise.evaluation.candidates import list_learners, read_candidates
from countwise.evaluation.evaluate import evaluate
from countwise.evaluation.intervals import Estimate
from countwise.evaluation.trials import compose_verdict

GAIN = {"good": {"good": 1, "bad": -1}, "bad": {"good": -5, "bad": 0}}


@pytest.fixture(scope="module")
def trials():
    models = {"NB": cw.NaiveBayes(), "kernel": cw.NaiveBayes(numeric="kernel")}
    return evaluate(models, "sample:credit-g", folds=5, repeats=2, gain=GAIN)


def test_every_row_is_tested_once_a_repeat(trials):
    for repeat in (0, 1):
        rows = np.concatenate([fold.rows for fold in trials.folds if fold.repeat == repeat])
        assert np.array_equal(np.sort(rows), np.arange(1000))


def test_a_summary_ranks_by_gain_and_keeps_intervals(trials):
    lines = trials.summary()
    gains = [line["expected_gain"] for line in lines]
    assert gains == sorted(gains, reverse=True)
    assert [line["rank"] for line in lines] == list(range(1, 7))
    for line in lines:
        assert line["expected_gain_low"] <= line["expected_gain"] <= line["expected_gain_high"]
    assert {line["rule"] for line in lines} == {"argmax", "gain"}
    assert [line["model"] for line in lines if line["baseline"]] == ["majority by gain", "majority"]


def test_differences_are_taken_part_by_part(trials):
    own = trials.difference("NB", "majority", "accuracy")
    left, right = (trials.score("accuracy", name).values for name in ("NB", "majority"))
    assert own.values == pytest.approx(np.subtract(left, right))
    assert trials.difference("majority", "NB").value == pytest.approx(-own.value)


def test_plain_data_is_json(trials):
    plain = json.loads(json.dumps(trials.to_dict(), allow_nan=False))
    assert plain["ranked_by"] == "expected_gain"
    assert len(plain["folds"]) == 10
    assert plain["folds"][0] == {"repeat": 0, "fold": 0, "tested": 200, "trained": 800}
    assert plain["confusion"]["NB"]["classes"] == ["bad", "good"]


def test_rows_are_tidy_and_complete(trials):
    rows = list(trials.rows("NB"))
    assert len(rows) == 2000
    json.dumps(rows[0])
    right = np.mean([row["true"] == row["decided"] for row in rows])
    assert right == pytest.approx(trials.score("accuracy", "NB").value)


def test_times_are_kept_apart(trials):
    times = trials.times["NB"]
    assert len(times["fit"]) == len(times["predict"]) == 10
    assert min(times["fit"]) > 0
    assert min(times["predict"]) > 0


def test_text_holds_ranking_verdict_and_notes(trials):
    text = trials.describe()
    assert "5-fold cross-validation, stratified, 2 repeats; 95 % intervals" in text
    assert trials.verdict() in text
    assert "trained from merged counts" in text


def test_models_that_count_share_one_pass(monkeypatch):
    from countwise.evaluation import from_counts

    seen = []
    inner = from_counts.count
    monkeypatch.setattr(from_counts, "count", lambda *a, **k: seen.append(1) or inner(*a, **k))
    models = [cw.NaiveBayes(), cw.NaiveBayes(numeric="kernel"), cw.NaiveBayes(smoothing=0)]
    evaluate(models, "sample:iris", folds=7)
    assert len(seen) == 7


def test_the_same_estimator_is_trained_once():
    model = cw.NaiveBayes()
    candidates = read_candidates("evaluate", {"a": model, "b": cw.Decide(model, "roulette")}, None)
    assert [learner.name for learner in list_learners(candidates)] == ["a", "majority"]


def test_names_of_a_list_differ():
    models = [cw.NaiveBayes(), cw.NaiveBayes(), cw.Decide(cw.NaiveBayes(), "roulette")]
    names = [candidate.name for candidate in read_candidates("evaluate", models, None)]
    assert names == ["NaiveBayes", "NaiveBayes 2", "NaiveBayes by roulette", "majority"]


def test_a_model_called_majority_takes_the_place_of_ours():
    trials = evaluate({"majority": cw.NaiveBayes()}, "sample:weather", folds=2)
    assert trials.names == ("majority",)
    assert trials.verdict() == "majority was the only entry: there is nothing to compare it with."


def test_many_posteriors_are_kept_in_single_precision(monkeypatch):
    model = cw.NaiveBayes()
    models = {"NB": model, "wheel": cw.Decide(model, "roulette")}
    exact = evaluate(models, "sample:votes", folds=5)
    monkeypatch.setattr(predictions, "MAX_DOUBLES", 100)
    small = evaluate(models, "sample:votes", folds=5)
    assert small.entries["NB"].predictions[0].posteriors.dtype == np.float32
    for name in ("NB", "majority"):
        assert small.score("accuracy", name).values == exact.score("accuracy", name).values
    assert small.score("accuracy", "wheel").value == pytest.approx(
        exact.score("accuracy", "wheel").value, rel=1e-6
    )
    assert small.score("log_loss", "NB").value == pytest.approx(
        exact.score("log_loss", "NB").value, rel=1e-5
    )


def test_progress_counts_to_its_total():
    steps = []
    evaluate(
        [cw.NaiveBayes()],
        "sample:iris",
        folds=4,
        repeats=2,
        progress=lambda done, total, text: steps.append((done, total)),
    )
    assert steps == [(at, 10) for at in range(1, 11)]
    steps.clear()
    evaluate(
        cw.NaiveBayes(),
        "sample:weather",
        leave_one_out=True,
        progress=lambda done, total, text: steps.append((done, total)),
    )
    assert steps[-1] == (1, 1)


def test_large_parts_are_worked_on_side_by_side(monkeypatch):
    from countwise.evaluation import from_counts

    one = evaluate(cw.NaiveBayes(), "sample:votes")
    monkeypatch.setattr(from_counts, "MIN_ROWS_FOR_THREADS", 1)
    monkeypatch.setattr(from_counts, "threads", lambda: 3)
    many = evaluate(cw.NaiveBayes(), "sample:votes")
    assert np.array_equal(one.posteriors("NaiveBayes"), many.posteriors("NaiveBayes"))


def test_leave_one_out_accuracy_has_wilson_s_interval():
    trials = evaluate(cw.NaiveBayes(), "sample:votes", leave_one_out=True, gain=np.eye(2))
    own = trials.score("accuracy", "NaiveBayes")
    assert own.method == "Wilson over 435 rows"
    assert trials.score("recall", "NaiveBayes", label="democrat").method == "Wilson over 267 rows"
    assert trials.score("log_loss", "NaiveBayes").method == "t over 435 rows"
    balanced = trials.score("balanced_accuracy", "NaiveBayes")
    assert balanced.low < balanced.value < balanced.high
    precision = trials.score("precision", "NaiveBayes")
    assert precision.low < precision.value < precision.high
    gap = trials.difference("NaiveBayes", "majority")
    assert gap.low > 0
    assert any(note.code == "E09" for note in trials.notes)
    json.dumps(trials.to_dict(), allow_nan=False)


def test_leave_one_out_of_the_majority_by_hand():
    # Three a, two b: without an a there are two of each, and the first class is called.
    table = cw.read({"x": list("ppqqq"), "y": list("aaabb")}, target="y")
    said = evaluate(cw.NaiveBayes(), table, leave_one_out=True).entries["majority"].predictions[0]
    assert said.posteriors[0].tolist() == [0.5, 0.5]
    assert said.posteriors[4].tolist() == [0.75, 0.25]


def test_a_tiny_evaluation_by_hand():
    # Train on rows 2, 3 (x: p→a, q→b), test rows 0, 1; and the other way round.
    table = cw.read({"x": list("pqpq"), "y": list("abab")}, target="y")
    trials = evaluate(cw.NaiveBayes(), table, folds=[0, 0, 1, 1])
    # P(p|a) = (1+1)/(1+2), P(p|b) = 1/3, so P(a|p) = 2/3.
    assert trials.posteriors("NaiveBayes")[0] == pytest.approx([2 / 3, 1 / 3])
    assert trials.score("accuracy", "NaiveBayes").values == (1.0, 1.0)
    assert trials.score("log_loss", "NaiveBayes").value == pytest.approx(-np.log(2 / 3))
    assert trials.score("brier", "NaiveBayes").value == pytest.approx(1 / 9)
    assert trials.ratio == 1.0


def test_rows_without_a_class_are_left_out():
    known = cw.read("sample:weather").schema
    source = {
        "outlook": ["sunny"] * 3 + ["rainy"] * 3,
        "temperature": ["hot"] * 6,
        "humidity": ["high"] * 6,
        "windy": ["TRUE"] * 6,
        "play": ["yes", "no", "maybe", "yes", "no", "yes"],
    }
    table = cw.read(source, schema=known)
    assert len(table) == 6
    trials = evaluate(cw.NaiveBayes(), table, folds=2, sample_weight=np.arange(1.0, 7.0))
    assert any(note.code == "E02" for note in trials.notes)
    assert sum(len(fold.rows) for fold in trials.folds) == 5
    weights = np.concatenate([fold.weight for fold in trials.folds])
    assert sorted(weights.tolist()) == [1.0, 2.0, 4.0, 5.0, 6.0]


def gap(value, low, high):
    return Estimate(value, low, high, (), 0.95, "")


def test_verdicts_say_what_the_data_support():
    gaps = {
        "majority": gap(0.12, 0.09, 0.15),
        "kernel": gap(0.01, -0.01, 0.03),
        "tree": gap(0.02, -0.01, 0.05),
        "far": gap(0.3, 0.2, 0.4),
    }

    def said(*others, baseline="majority"):
        return compose_verdict("NB", others, baseline, gaps.__getitem__, "accuracy")

    assert said("kernel", "majority") == (
        "NB is ahead of majority in accuracy by 0.12 (95 % interval 0.09 to 0.15); it and kernel "
        "cannot be told apart on these rows."
    )
    assert said("kernel", "tree", "majority", "far") == (
        "NB is ahead of majority and far in accuracy, the nearest of them, majority, by 0.12 (95 % "
        "interval 0.09 to 0.15); it cannot be told apart from kernel and tree on these rows."
    )
    assert said("kernel", baseline=None) == (
        "NB leads in accuracy, but NB and kernel cannot be told apart on these rows."
    )
    assert said("kernel", baseline="kernel") == (
        "NB leads in accuracy, but the data do not show that it beats kernel: the difference is "
        "0.01 (95 % interval -0.01 to 0.03)."
    )
    assert said("kernel", baseline="NB") == (
        "No model does better than NB in accuracy: the attributes did not help, and it and kernel "
        "cannot be told apart on these rows."
    )


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_a_frame_has_one_row_per_model_fold_and_score(trials, backend):
    frame = nw.from_native(trials.to_frame(backend=backend))
    assert frame.columns == ["model", "rule", "repeat", "fold", "score", "value"]
    scores = ["expected_gain", "accuracy", "balanced_accuracy", "log_loss", "brier"]
    assert len(frame) == len(trials.names) * 10 * len(scores)
    chosen = frame.filter(nw.col("model") == "NB", nw.col("score") == "accuracy")
    assert tuple(chosen["value"].to_list()) == trials.score("accuracy", "NB").values
    assert sorted(set(frame["repeat"].to_list())) == [0, 1]
    assert set(frame["score"].to_list()) == set(scores)


def test_a_frame_is_of_the_first_library_that_is_installed(trials, monkeypatch):
    assert type(trials.to_frame(["accuracy"])).__module__.startswith("pandas")
    monkeypatch.setattr("countwise.evaluation.trials.find_spec", lambda name: name == "pyarrow")
    assert type(trials.to_frame(["accuracy"])).__module__.startswith("pyarrow")
    with pytest.raises(ParameterError, match=r"polars is not installed\. Install polars, or leave"):
        trials.to_frame(backend="polars")
    with pytest.raises(ParameterError, match="backend must be one of 'pandas', 'polars', 'pyarro"):
        trials.to_frame(backend="excel")


def test_a_score_that_is_not_defined_is_missing_in_a_frame():
    trials = evaluate(LinearSVC(), "sample:iris", folds=3)
    frame = trials.to_frame(["log_loss"], backend="polars")
    assert frame["value"].null_count() == 3


def test_trials_show_themselves(trials):
    assert str(trials) == trials.describe()
    assert repr(trials).startswith("<Trials: 6 entries, 1000 rows, 5-fold cross-validation")
    html = trials._repr_html_()
    assert html.count("<tr>") == 7
    assert "NB by gain" in html
    assert "95 % interval" in html
    named = evaluate({"<b>": cw.NaiveBayes()}, "sample:weather", folds=2)
    assert "&lt;b&gt;" in named._repr_html_()
    assert "<b>" not in named._repr_html_()


def test_costs_are_gains_with_the_other_sign(trials):
    costs = {true: {decided: -gain for decided, gain in row.items()} for true, row in GAIN.items()}
    models = {"NB": cw.NaiveBayes(), "kernel": cw.NaiveBayes(numeric="kernel")}
    matrix = cw.GainMatrix.of(costs, costs=True, unit="€")
    told = evaluate(models, "sample:credit-g", folds=5, repeats=2, gain=matrix)
    assert told.ranked_by == "expected_cost"
    assert told.unit == "€"
    for cost, gain in zip(told.summary(), trials.summary(), strict=True):
        assert cost["model"] == gain["model"].replace("by gain", "by cost")
        assert cost["expected_cost"] == pytest.approx(-gain["expected_gain"])
        assert cost["expected_cost_low"] == pytest.approx(-gain["expected_gain_high"])
    gap = told.improvement("NB by cost", "majority by cost")
    assert gap.value == pytest.approx(trials.improvement("NB by gain", "majority by gain").value)
    assert " in cost per row by " in told.verdict()


def test_a_score_is_computed_once(monkeypatch):
    asked = []
    real = module.score_fold

    def counted(what, result, label=None):
        if label is None:
            asked.append((what, result.entry.name, result.fold.fold))
        return real(what, result, label)

    monkeypatch.setattr(module, "score_fold", counted)
    trials = evaluate({"NB": cw.NaiveBayes()}, "sample:iris", folds=4, score="auc")
    trials.verdict()
    trials.to_frame(["auc"], backend="pyarrow")
    trials.rank_by("accuracy").to_dict()
    assert trials.score("auc", "NB") is trials.score("auc", "NB")
    assert len(asked) == len(set(asked)) > 0
