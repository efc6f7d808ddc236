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
    cw.NaiveBayes(combine="posteriors", missing="value", unseen="smooth"),
    TAN(),
    TAN("back-off", cuts="mdl"),
    AODE(),
    KDB(),
    KDB(1, selective=False, cuts="frequency", bins=5),
    cw.Bagging(cw.NaiveBayes(), members=5),
    cw.Bagging(members=3, vote="roulette", oob=True),
    cw.Bagging(members=3, vote="majority", fraction=0.7, replace=False),
    cw.AdaBoost(rounds=10),
    cw.AdaBoost(rounds=10, method="resampling"),
    cw.AdaBoost(cw.NaiveBayes(), rounds=5),
    cw.Vote(),
    cw.Vote(how="majority"),
    cw.Neighbors(),
    cw.Neighbors(k=3, metric="hvdm", weights="distance", missing="ignore"),
    cw.CondensedNeighbors(),
    cw.NeighborsRegressor(),
    cw.NeighborsRegressor(3, "gower", "distance"),
    cw.LocalRegression(),
    cw.LocalRegression(None, 0.5, "gaussian"),
    cw.CondensedNeighbors("fast", "heom"),
    cw.Neighbors(k=1, metric="mahalanobis", weights="kernel"),
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
    cw.NeuralNet((8,), epochs=25, learning_rate=0.03),
    cw.Decide(cw.NaiveBayes()),
]


@pytest.mark.filterwarnings("ignore::countwise.errors.UnseenLevelWarning")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_check(estimator, check):
    check(estimator)
