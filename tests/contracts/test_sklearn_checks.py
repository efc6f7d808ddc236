"""scikit-learn's own checks, on every estimator."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import countwise as cw
from countwise.models.bayes.aode import AODE
from countwise.models.bayes.kdb import KDB
from countwise.models.bayes.tan import TAN

ESTIMATORS = [
    cw.NaiveBayes(),
    cw.NaiveBayes(numeric="kernel"),
    cw.NaiveBayes(combine="posteriors", when_missing="value", unseen="smooth"),
    TAN(),
    TAN("back-off", cuts="mdl"),
    AODE(),
    KDB(),
    KDB(1, selective=False, cuts="frequency", bins=5),
    cw.Bagging(cw.NaiveBayes(), n_estimators=5),
    cw.Bagging(n_estimators=3, vote="roulette", oob_score=True),
    cw.Bagging(n_estimators=3, vote="majority", fraction=0.7, replace=False),
    cw.AdaBoost(n_estimators=10),
    cw.AdaBoost(n_estimators=10, method="resampling"),
    cw.AdaBoost(cw.NaiveBayes(), n_estimators=5),
    cw.Vote(),
    cw.Vote(how="majority"),
    cw.Neighbors(),
    cw.Neighbors(n_neighbors=3, metric="hvdm", weights="distance", when_missing="ignore"),
    cw.CondensedNeighbors(),
    cw.NeighborsRegressor(),
    cw.NeighborsRegressor(3, metric="gower", weights="distance"),
    cw.LocalRegression(),
    cw.LocalRegression(None, width=0.5, kernel="gaussian"),
    cw.CondensedNeighbors("fast", metric="heom"),
    cw.Neighbors(n_neighbors=1, metric="mahalanobis", weights="kernel"),
    cw.DiscreteBayes(),
    cw.DiscreteBayes(None, search=None),
    cw.Quantizer(),
    cw.Quantizer("information", levels="merit"),
    cw.DiscreteBayes(levels="merit", smoothing=2.0),
    cw.DiscreteBayes(search="paper", smoothing=2.0, smooth_by="class", random_state=0),
    cw.NaiveBayes(variance="shared"),
    cw.Logistic(),
    cw.LinearDiscriminant(),
    cw.Perceptron(),
    cw.LinearSVM(),
    cw.NeuralNet((8,), max_iter=25, learning_rate_init=0.03),
    cw.Decide(cw.NaiveBayes()),
]


@pytest.mark.filterwarnings("ignore::countwise.errors.UnseenLevelWarning")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_check(estimator, check):
    check(estimator)
