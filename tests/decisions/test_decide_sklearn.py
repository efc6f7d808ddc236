"""`Decide` keeps scikit-learn's contract: checks, pipelines, searches."""

import numpy as np
import pytest
from sklearn import set_config
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.ensemble import BaggingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from countwise.decisions.decide import Decide
from countwise.decisions.gain_matrix import GainMatrix
from countwise.decisions.rules import Argmax, ExpectedGain, RouletteWheel
from countwise.errors import ParameterError

X, Y = load_iris(return_X_y=True)


# GaussianNB warns of its own accord when a class is left without weight.
@pytest.mark.filterwarnings("ignore:divide by zero encountered in log:RuntimeWarning")
@parametrize_with_checks(
    [
        Decide(GaussianNB()),
        Decide(LogisticRegression()),
        Decide(GaussianNB(), Argmax(), prior="uniform"),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_pipelines_either_way_round():
    inside = make_pipeline(StandardScaler(), Decide(GaussianNB(), GainMatrix.identity([0, 1, 2])))
    outside = Decide(make_pipeline(StandardScaler(), GaussianNB()), "argmax")
    np.testing.assert_array_equal(inside.fit(X, Y).predict(X), outside.fit(X, Y).predict(X))
    weighted = outside.fit(X, Y, gaussiannb__sample_weight=np.ones(150))
    assert weighted.n_features_in_ == 4


def test_grid_search_over_rules_and_the_parameters_within():
    rules = [Argmax(), RouletteWheel(0), ExpectedGain(np.eye(3)), "argmax"]
    search = GridSearchCV(Decide(GaussianNB()), {"rule": rules}, cv=3).fit(X, Y)
    assert search.best_score_ > 0.9
    assert search.predict(X[:3]).tolist() == [0, 0, 0]
    search = GridSearchCV(
        Decide(GaussianNB(), RouletteWheel(0)),
        {"model__var_smoothing": [1e-9, 1e-3], "rule__random_state": [1, 2]},
        cv=3,
    ).fit(X, Y, sample_weight=np.ones(150))
    assert search.best_estimator_.rule.random_state in (1, 2)
    assert np.all(cross_val_score(Decide(GaussianNB(), np.eye(3)), X, Y, cv=3) > 0.9)


def test_rule_parameters_are_changed_on_a_copy():
    wheel = RouletteWheel(0)
    decide = Decide(GaussianNB(), wheel)
    assert decide.get_params()["rule__random_state"] == 0
    assert "rule__random_state" not in decide.get_params(deep=False)
    decide.set_params(rule__random_state=5, prior="uniform")
    assert (decide.rule, wheel) == (RouletteWheel(5), RouletteWheel(0))
    with pytest.raises(
        ParameterError, match=r"a parameter of the rule, which is Rou.*; got 'seed'"
    ):
        decide.set_params(rule__seed=5)
    assert clone(decide).rule == RouletteWheel(5)
    assert "RouletteWheel(random_state=5)" in repr(decide)


def test_bagged_wheels_get_seeds_of_their_own():
    bag = BaggingClassifier(Decide(GaussianNB(), RouletteWheel(0)), n_estimators=3, random_state=0)
    bag.fit(X, Y)
    assert len({member.rule.random_state for member in bag.estimators_}) == 3


def test_frozen_models_and_routed_metadata():
    frozen = FrozenEstimator(GaussianNB().fit(X, Y))
    np.testing.assert_array_equal(
        Decide(frozen).fit(X[:100], Y[:100]).predict(X), frozen.predict(X)
    )
    set_config(enable_metadata_routing=True)
    try:
        decide = Decide(GaussianNB()).set_fit_request(sample_weight=True)
        decide.set_score_request(sample_weight=True)
        scores = cross_val_score(decide, X, Y, cv=3, params={"sample_weight": np.ones(150)})
    finally:
        set_config(enable_metadata_routing=False)
    assert np.all(scores > 0.9)
