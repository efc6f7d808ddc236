"""`Decide` over scikit-learn's classifiers: rules, priors, notes, refusals."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from countwise.decisions.decide import Decide
from countwise.decisions.gain_matrix import GainMatrix
from countwise.decisions.rules import Argmax, ExpectedGain, RouletteWheel
from countwise.errors import CountwiseError, GainError, ParameterError
from countwise.models.bayes.naive_bayes import NaiveBayes
from countwise.tables.read import read

X, CODES = make_classification(200, n_features=4, flip_y=0.2, weights=[0.3], random_state=0)
Y = np.array(["bad", "good"])[CODES]
CREDIT = {"bad": {"bad": 1, "good": -5}, "good": {"bad": -1, "good": 1}}
ASKING = {"bad": {"bad": 1, "good": -5, "ask": 0}, "good": {"bad": -1, "good": 1, "ask": 0}}


def test_argmax_is_the_model_itself():
    for rule in ("argmax", Argmax(), GainMatrix.identity(["good", "bad"])):
        decide = Decide(GaussianNB(), rule).fit(X, Y)
        model = GaussianNB().fit(X, Y)
        np.testing.assert_array_equal(decide.predict(X), model.predict(X))
        np.testing.assert_array_equal(decide.predict_proba(X), model.predict_proba(X))
        assert decide.score(X, Y) == model.score(X, Y) == decide.expected_accuracy(X, Y)
    assert Decide(GaussianNB()).rule == "argmax"


def test_gain_changes_decisions_and_earns_more():
    plain = Decide(LogisticRegression()).fit(X, Y)
    paid = Decide(LogisticRegression(), CREDIT).fit(X, Y)
    assert (paid.predict(X) == "bad").sum() > (plain.predict(X) == "bad").sum()
    assert paid.expected_gain(X, Y) > plain.expected_gain(X, Y, CREDIT)
    assert paid.promised_gain(X) >= plain.promised_gain(X, CREDIT)
    gains = GainMatrix.of(CREDIT).to_dict()
    earned = np.mean([gains[true][choice] for true, choice in zip(Y, paid.predict(X), strict=True)])
    assert paid.expected_gain(X, Y) == pytest.approx(earned)
    assert paid.confusion(X, Y).expected_gain(CREDIT) == pytest.approx(earned)
    assert paid.expected_gain(X, Y, sample_weight=np.ones(200)) == pytest.approx(earned)
    assert isinstance(paid.rule_, ExpectedGain)


def test_undecided_rows():
    decide = Decide(LogisticRegression(), ASKING).fit(X, Y)
    decided = decide.predict(X)
    assert set(decided) == {"bad", "good", "ask"}
    assert decide.decisions_.tolist() == ["bad", "good", "ask"]
    assert decide.predict_proba(X).shape == (200, 2)
    assert decide.shares(X).shape == (200, 3)
    assert decide.score(X, Y) == np.mean(decided == Y)
    assert decide.confusion(X, Y).undecided == pytest.approx(np.mean(decided == "ask"))
    coded = Decide(LogisticRegression(), GainMatrix.of(ASKING).values.tolist())
    with pytest.raises(GainError, match="no_decision="):
        coded.fit(X, CODES)
    numbers = GainMatrix.of(GainMatrix.of(ASKING).values, [0, 1], no_decision="ask")
    coded = Decide(LogisticRegression(), numbers).fit(X, CODES)
    assert set(coded.predict(X)) == {0, 1, "ask"}
    assert coded.score(X, CODES) == decide.score(X, Y)


def test_wheel_is_seeded_and_judged_without_draws():
    decide = Decide(GaussianNB(), RouletteWheel(random_state=1)).fit(X, Y)
    np.testing.assert_array_equal(decide.predict(X), decide.predict(X))
    posteriors = decide.predict_proba(X)
    assert decide.expected_accuracy(X, Y) == pytest.approx(posteriors[np.arange(200), CODES].mean())
    np.testing.assert_allclose(decide.shares(X), posteriors)
    weight = np.arange(200.0)
    by_hand = np.average(posteriors[np.arange(200), CODES], weights=weight)
    assert decide.expected_accuracy(X, Y, sample_weight=weight) == pytest.approx(by_hand)


def test_a_bare_array_is_read_in_class_order_and_says_so():
    decide = Decide(GaussianNB(), ExpectedGain([[1, -5], [-1, 1]])).fit(X, Y)
    assert decide.notes_ == [
        "Bare array: rows are the true classes and columns the assigned ones, both in the order "
        "'bad', 'good'."
    ]
    named = Decide(GaussianNB(), CREDIT).fit(X, Y)
    np.testing.assert_array_equal(decide.predict(X), named.predict(X))
    assert named.notes_ == []
    listed = Decide(GaussianNB(), [[1, -5], [-1, 1]]).fit(X, Y)
    assert listed.notes_ == decide.notes_


def test_prior_correction_by_hand():
    decide = Decide(CategoricalNB(), prior={"a": 0.5, "b": 0.5})
    rows, labels = [[0], [0], [0], [1]], ["a", "a", "a", "b"]
    decide.fit(rows, labels)
    before = CategoricalNB().fit(rows, labels).predict_proba([[0], [1]])
    moved = before * [0.5 / 0.75, 0.5 / 0.25]
    np.testing.assert_allclose(
        decide.predict_proba([[0], [1]]), moved / moved.sum(1, keepdims=True)
    )
    assert decide.notes_ == [
        "Posteriors are re-weighted from the training shares 0.75, 0.25 to the prior 0.5, 0.5 of "
        "the classes 'a', 'b'."
    ]
    assert Decide(CategoricalNB(), prior="empirical").fit(rows, labels).correction_ is None


def test_prior_correction_equals_training_under_that_prior():
    moved = Decide(GaussianNB(), prior=[0.4, 0.6]).fit(X, Y).predict_proba(X)
    direct = GaussianNB(priors=[0.4, 0.6]).fit(X, Y).predict_proba(X)
    np.testing.assert_allclose(moved, direct, rtol=1e-9)
    weight = np.where(CODES == 1, 3.0, 0.5)
    moved = Decide(GaussianNB(), prior="uniform").fit(X, Y, sample_weight=weight).predict_proba(X)
    direct = GaussianNB(priors=[0.5, 0.5]).fit(X, Y, sample_weight=weight).predict_proba(X)
    np.testing.assert_allclose(moved, direct, rtol=1e-9)


def test_a_prior_the_model_was_given_is_the_one_corrected():
    moved = Decide(GaussianNB(priors=[0.9, 0.1]), prior=[0.4, 0.6]).fit(X, Y).predict_proba(X)
    direct = GaussianNB(priors=[0.4, 0.6]).fit(X, Y).predict_proba(X)
    np.testing.assert_allclose(moved, direct, rtol=1e-9)
    rows = (X > 0).astype(int)
    moved = Decide(CategoricalNB(fit_prior=False), prior=[0.4, 0.6]).fit(rows, Y)
    direct = CategoricalNB(class_prior=[0.4, 0.6]).fit(rows, Y)
    np.testing.assert_allclose(moved.predict_proba(rows), direct.predict_proba(rows), rtol=1e-9)


def test_prior_correction_learns_weighted_shares_where_the_model_is_silent():
    weight = np.where(CODES == 1, 3.0, 0.5)
    decide = Decide(LogisticRegression(), prior="uniform").fit(X, Y, sample_weight=weight)
    share = np.array([0.5 * np.sum(CODES == 0), 3.0 * np.sum(CODES == 1)])
    np.testing.assert_allclose(decide.correction_, 0.5 / (share / share.sum()))


def test_a_prior_of_zero_leaves_finite_posteriors():
    tree = Decide(DecisionTreeClassifier(), prior={"bad": 0, "good": 1}).fit(X, Y)
    assert np.all(tree.predict_proba(X) == [0, 1])
    weight = np.where(CODES == 1, 1.0, 0.0)
    with pytest.raises(ParameterError, match="must have weight in training; got none for 'bad'"):
        Decide(DecisionTreeClassifier(), prior="uniform").fit(X, Y, sample_weight=weight)


def test_over_a_fitted_model_refits_nothing():
    model = GaussianNB().fit(X, Y)
    decide = Decide.over(model, CREDIT, prior=[0.4, 0.6])
    assert decide.model_ is model
    fitted = Decide(GaussianNB(), CREDIT, prior=[0.4, 0.6]).fit(X, Y)
    np.testing.assert_allclose(decide.predict_proba(X), fitted.predict_proba(X))
    np.testing.assert_array_equal(decide.predict(X), fitted.predict(X))
    logistic = LogisticRegression().fit(X, Y)
    with pytest.raises(
        ParameterError, match=r"got LogisticRegression, which has no class_prior_.*training_pr"
    ):
        Decide.over(logistic, prior="uniform")
    stated = Decide.over(logistic, prior="uniform", training_prior=[0.3, 0.7])
    assert "from the training shares 0.3, 0.7" in stated.notes_[0]
    counted = Decide.over(CategoricalNB().fit(CODES[:, None], Y), prior="uniform")
    assert counted.correction_ is not None
    with pytest.raises(ParameterError, match=r"got GaussianNB with no classes_\. Fit it first"):
        Decide.over(GaussianNB())
    with pytest.raises(NotFittedError):
        clone(decide).predict(X)


class Rows:
    """A stand-in for `Table`: rows that know their labels."""

    labelled = True

    def __init__(self, rows, labels):
        self.rows, self.labels = rows, labels


class Reads(ClassifierMixin, BaseEstimator):
    """A model that fits a table alone and keeps what it was given."""

    def fit(self, X, y=None, flavour=None):
        self.saw_, self.flavour_ = X, flavour
        self.classes_ = np.unique(X.labels if y is None else y)
        return self

    def predict_proba(self, X):
        return np.full((len(X.rows), len(self.classes_)), 1 / len(self.classes_))


def test_tables_pass_through_untouched():
    table = Rows([1, 2, 3, 4], ["a", "b", "b", "b"])
    decide = Decide(Reads(), "roulette", prior="uniform").fit(table, flavour="sweet")
    assert decide.model_.saw_ is table
    assert decide.model_.flavour_ == "sweet"
    assert "from the training shares 0.25, 0.75" in decide.notes_[0]
    assert decide.expected_accuracy(table) == pytest.approx(0.25 * 0.75 + 0.75 * 0.25)
    assert decide.confusion(table).counts.sum() == 4
    assert Decide(Reads()).fit(table).score(table) == 0.25
    assert not hasattr(decide, "n_features_in_")
    silent = Rows([1], None)
    silent.labelled = False
    with pytest.raises(ParameterError, match="got Reads, which has no class_prior_"):
        Decide(Reads(), prior="uniform").fit(silent, "name of a column")


def test_frames_pass_through_and_names_are_the_models():
    frame = pd.DataFrame(X, columns=list("abcd"))
    decide = Decide(GaussianNB(), CREDIT).fit(frame, pd.Series(Y))
    assert decide.feature_names_in_.tolist() == list("abcd")
    assert decide.n_features_in_ == 4
    np.testing.assert_array_equal(
        decide.predict(frame), Decide(GaussianNB(), CREDIT).fit(X, Y).predict(X)
    )
    assert decide.expected_gain(frame, pd.Series(Y)) == decide.expected_gain(
        frame, Y.astype(object)
    )
    polar = Decide(GaussianNB(), prior="uniform").fit(
        pl.DataFrame(frame.to_dict("list")), pl.Series(Y)
    )
    assert polar.n_features_in_ == 4
    assert not hasattr(Decide(GaussianNB()), "n_features_in_")


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pl.LazyFrame, pa.table, dict])
def test_a_column_may_be_named_as_fit_takes_it(kind):
    columns = {"a": (X[:, 0] > 0).tolist(), "b": X[:, 1].tolist(), "class": Y.tolist()}
    frame = kind(columns)
    if kind is pl.LazyFrame:
        model = Decide(NaiveBayes(), CREDIT).fit(frame.collect(), "class")
        frame = frame.collect()
    else:
        model = Decide(NaiveBayes(), CREDIT).fit(frame, "class")
    assert model.expected_gain(frame, "class") == model.expected_gain(frame, Y)
    assert model.expected_accuracy(frame, "class") == model.expected_accuracy(frame, Y)
    assert model.confusion(frame, "class") == model.confusion(frame, Y)
    assert model.score(frame, "class") == model.score(frame, Y)
    with pytest.raises(ParameterError, match=r"got 'clas', and the columns are 'a', 'b', 'class'"):
        model.expected_gain(frame, "clas")
    with pytest.raises(ParameterError, match=r"class'\. Did you mean 'class'\?"):
        model.confusion(frame, "clas")


def test_a_named_column_of_a_table_and_of_an_array():
    table = read({"a": (X[:, 0] > 0).tolist(), "class": Y.tolist()}, target="class")
    model = Decide(NaiveBayes(), CREDIT).fit(table)
    assert model.expected_gain(table, "class") == model.expected_gain(table)
    with pytest.raises(ParameterError, match="the columns are 'class'"):
        model.expected_gain(table, "a")
    with pytest.raises(ParameterError, match="X has no named columns"):
        Decide(GaussianNB()).fit(X, Y).expected_accuracy(X, "class")


def test_training_shares_come_from_a_named_column():
    frame = pd.DataFrame({"a": X[:, 0], "class": Y})

    class Named(BaseEstimator, ClassifierMixin):
        def fit(self, X, y):
            self.classes_ = np.unique(X[y])
            return self

        def predict_proba(self, X):
            return np.full((len(X), 2), 0.5)

    decide = Decide(Named(), prior="uniform").fit(frame, "class")
    share = np.bincount(CODES) / len(CODES)
    np.testing.assert_allclose(decide.correction_, 0.5 / share)


def test_a_prior_over_a_product_of_posteriors_is_refused():
    frame, product = pd.DataFrame(X), NaiveBayes(combine="posteriors")
    words = r"once per attribute\. Give the prior to the model itself, or use combine='bayes'\."
    for model in (product, make_pipeline(FunctionTransformer(), product)):
        with pytest.raises(ParameterError, match=words):
            Decide(model, prior="uniform").fit(X, Y)
        with pytest.raises(ParameterError, match=words):
            Decide.over(model.fit(X, Y), prior=[0.5, 0.5])
        for prior in (None, "empirical"):
            assert Decide(model, CREDIT, prior=prior).fit(X, Y).correction_ is None
    assert Decide(NaiveBayes(), prior="uniform").fit(frame, Y).correction_ is not None


def test_a_rule_may_be_the_path_of_a_gain_matrix(tmp_path):
    path = str(tmp_path / "gain.csv")
    GainMatrix.of(CREDIT).write(path)
    decide = Decide(GaussianNB(), path).fit(X, Y)
    assert decide.rule_ == Decide(GaussianNB(), CREDIT).fit(X, Y).rule_
    assert clone(decide).rule == path


def test_pickle_keeps_decisions():
    decide = Decide(GaussianNB(), CREDIT, prior=[0.4, 0.6]).fit(X, Y)
    other = pickle.loads(pickle.dumps(decide))
    np.testing.assert_array_equal(other.predict(X), decide.predict(X))
    assert other.notes_ == decide.notes_


def test_refusals():
    with pytest.raises(ParameterError, match=r"got LinearSVC\..*CalibratedClassifierCV"):
        Decide(LinearSVC()).fit(X, Y)
    assert not hasattr(Decide(LinearSVC()), "predict_proba")
    assert hasattr(Decide(GaussianNB()), "predict_proba")
    short = {"bad": {"bad": 1}}
    with pytest.raises(
        GainError, match=r"got none for 'good' in the matrix of 'bad'\. Add its gains\."
    ):
        Decide(GaussianNB(), short).fit(X, Y)
    with pytest.raises(GainError, match="the classes 'bad', 'good'; got 'ugly'"):
        Decide(GaussianNB(), GainMatrix.identity(["bad", "good", "ugly"])).fit(X, Y)
    with pytest.raises(ParameterError, match="Did you mean 'argmax'"):
        Decide(GaussianNB(), "argmx").fit(X, Y)
    with pytest.raises(NotFittedError):
        Decide(GaussianNB()).predict(X)
    with pytest.raises(NotFittedError):
        Decide(GaussianNB()).predict_proba(X)
    with pytest.raises(ParameterError, match="2 targets"):
        Decide(KNeighborsClassifier()).fit(X, np.column_stack([CODES, CODES]))
    fitted = Decide(GaussianNB(), ASKING).fit(X, Y)
    for judge in (fitted.score, fitted.expected_accuracy, fitted.expected_gain, fitted.confusion):
        with pytest.raises(ParameterError, match=r"by the true labels; got none\. Give y"):
            judge(X)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        fitted.score(X, Y[:1])
    with pytest.raises(CountwiseError, match="prior must sum to 1"):
        Decide(GaussianNB(), prior=[0.4, 0.4]).fit(X, Y)
