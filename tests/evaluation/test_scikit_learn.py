"""Trials equal scikit-learn's cross_validate on the same folds; anybody's classifier can enter."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import countwise as cw
from countwise.errors import ParameterError
from countwise.evaluation.evaluate import evaluate

FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)


def frame(name):
    table = cw.read(f"sample:{name}")
    columns = {column.name: table.decode(column.name) for column in table.schema.attributes}
    return table, pd.DataFrame(columns), table.labels


@pytest.mark.parametrize(
    "model", [GaussianNB(), make_pipeline(StandardScaler(), LogisticRegression())]
)
@pytest.mark.parametrize("name", ["iris", "glass"])
def test_numbers_give_what_cross_validate_gives(model, name):
    table, X, y = frame(name)
    peer = cross_validate(
        model,
        X.to_numpy(),
        y,
        cv=FOLDS,
        scoring={"accuracy": "accuracy", "log_loss": "neg_log_loss"},
    )
    trials = evaluate({"model": model}, table, folds=FOLDS)
    assert trials.score("accuracy", "model").values == pytest.approx(peer["test_accuracy"])
    assert trials.score("log_loss", "model").values == pytest.approx(-peer["test_log_loss"])


@pytest.mark.parametrize("name", ["votes", "iris"])
def test_our_model_in_cross_validate_gives_the_same(name):
    table, X, y = frame(name)
    peer = cross_validate(
        cw.NaiveBayes(),
        X,
        y,
        cv=FOLDS,
        scoring={"accuracy": "accuracy", "log_loss": "neg_log_loss"},
    )
    trials = evaluate(cw.NaiveBayes(), table, folds=FOLDS)
    assert trials.score("accuracy", "NaiveBayes").values == pytest.approx(peer["test_accuracy"])
    assert trials.score("log_loss", "NaiveBayes").values == pytest.approx(-peer["test_log_loss"])


def test_a_frame_is_read():
    _, X, y = frame("votes")
    trials = evaluate(cw.NaiveBayes(), X.assign(party=y), target="party", folds=3)
    assert trials.classes == ("democrat", "republican")


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(max_iter=5000, solver="liblinear"),
        DecisionTreeClassifier(random_state=0),
        RandomForestClassifier(10, random_state=0),
        KNeighborsClassifier(),
        HistGradientBoostingClassifier(max_iter=10),
        DummyClassifier(),
        GaussianNB(),
        cw.Decide(DecisionTreeClassifier(random_state=0), "roulette"),
    ],
)
@pytest.mark.parametrize("name", ["hepatitis", "weather-numeric", "votes"])
def test_any_classifier_enters_on_mixed_tables_with_gaps(model, name):
    trials = evaluate({"model": model}, f"sample:{name}", folds=3)
    assert 0 <= trials.score("accuracy", "model").value <= 1
    assert np.isfinite(trials.score("log_loss", "model").value)


def test_the_encoding_learns_from_the_training_rows_alone():
    level = ["a", "b"] * 10 + ["only"]
    table = cw.read({"x": level, "y": ["p", "q"] * 10 + ["p"]}, target="y")
    trials = evaluate(LogisticRegression(), table, folds=[0] * 10 + [1] * 11)
    row = next(r for r in trials.rows("LogisticRegression") if r["row"] == 20)
    assert row["posteriors"] == pytest.approx([0.5, 0.5], abs=0.05)
    assert any(note.code == "E07" for note in trials.notes)


def test_a_pipeline_that_names_columns_gets_a_frame():
    first = ColumnTransformer([("levels", OneHotEncoder(handle_unknown="ignore"), ["outlook"])])
    model = make_pipeline(first, LogisticRegression())
    trials = evaluate({"by name": model}, "sample:weather", folds=3)
    assert trials.score("accuracy", "by name").value > 0


def test_labels_without_posteriors_have_no_log_loss():
    trials = evaluate(LinearSVC(), "sample:iris", folds=3, gain=np.eye(3))
    assert trials.score("accuracy", "LinearSVC").value > 0.9
    assert np.isnan(trials.score("log_loss", "LinearSVC").value)
    assert "LinearSVC by gain" not in trials.names
    line = next(line for line in trials.summary() if line["model"] == "LinearSVC")
    assert line["log_loss"] is None
    assert any(note.code == "E04" for note in trials.notes)


def test_weights_reach_those_who_take_them():
    table = cw.read("sample:iris")
    weight = np.where(table.target == 0, 3.0, 1.0)
    trials = evaluate(
        [GaussianNB(), KNeighborsClassifier(), make_pipeline(StandardScaler(), GaussianNB())],
        table,
        folds=FOLDS,
        sample_weight=weight,
    )
    note = next(note for note in trials.notes if note.code == "E08")
    assert note.text.startswith("KNeighborsClassifier: cannot be given weights")
    fold, predicted = trials.folds[0], trials.entries["GaussianNB"].predictions[0]
    train = np.setdiff1d(np.arange(len(table)), fold.rows)
    X = np.column_stack([table.values(column.name) for column in table.schema.numeric])
    fitted = GaussianNB().fit(X[train], table.labels[train], sample_weight=weight[train])
    assert np.array_equal(predicted.posteriors, fitted.predict_proba(X[fold.rows]))


def test_processes_give_what_one_process_gives():
    models = {"tree": DecisionTreeClassifier(random_state=0)}
    one = evaluate(models, "sample:iris", folds=4)
    two = evaluate(models, "sample:iris", folds=4, n_jobs=2)
    assert np.array_equal(one.posteriors("tree"), two.posteriors("tree"))


def test_leave_one_out_refits_those_who_do_not_count():
    table = cw.read("sample:weather-numeric")
    trials = evaluate([GaussianNB(), cw.NaiveBayes()], table, leave_one_out=True)
    assert len(trials.entries["GaussianNB"].predictions[0].posteriors) == 14
    assert trials.folds[0].trained == 13


def test_what_cannot_enter_is_refused():
    for models, message in [
        (LinearRegression(), "models must be classifiers with fit and predict"),
        (cw.NaiveBayes, "is the class NaiveBayes. Write NaiveBayes()."),
        ("NaiveBayes", "models must be classifiers with fit and predict"),
        ([], "there must be at least one model"),
        (cw.Decide(LinearSVC(), "roulette"), "Decide needs posteriors"),
        ({1: cw.NaiveBayes()}, "models must be named by texts"),
        ([cw.NaiveBayes(nominal=["a"]), cw.NaiveBayes(nominal=["b"])], "their nominal= differ"),
    ]:
        with pytest.raises(ParameterError) as refused:
            evaluate(models, "sample:weather")
        assert message in str(refused.value)


def test_a_model_that_fails_is_named():
    class Fails(DummyClassifier):
        def fit(self, X, y, sample_weight=None):
            raise RuntimeError("out of luck.")

    with pytest.raises(ParameterError, match=r"'Fails' must train on .* out of luck"):
        evaluate(Fails(), "sample:weather", folds=2)


def test_columns_a_model_calls_nominal_are_read_so():
    X = {"code": [1, 2, 3, 1, 2, 3] * 4, "y": ["a", "b", "c", "a", "b", "c"] * 4}
    trials = evaluate(cw.NaiveBayes(nominal=["code"]), X, target="y", folds=2)
    assert trials.score("accuracy", "NaiveBayes").value == 1.0
