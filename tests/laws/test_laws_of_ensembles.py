"""Laws 2, 3, 5 (row by row) and 6 for ensembles."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import countwise as cw
from countwise.models.ensembles.adaboost import AdaBoost
from countwise.models.ensembles.bagging import Bagging
from countwise.models.ensembles.vote import Vote
from countwise.testing import laws
from countwise.testing.strategies import tables, weights

ENSEMBLES = {
    "bagging": lambda: Bagging(cw.NaiveBayes(), n_estimators=4),
    "bagged trees": lambda: Bagging(cw.ID3(max_depth=2), n_estimators=3, vote="majority"),
    "roulette": lambda: Bagging(cw.NaiveBayes(), n_estimators=3, vote="roulette"),
    "parts": lambda: Bagging(cw.NaiveBayes(), n_estimators=3, fraction=0.6, replace=False),
    "boosting": lambda: AdaBoost(n_estimators=5),
    "boosting by resampling": lambda: AdaBoost(n_estimators=4, method="resampling"),
    "boosted Bayes": lambda: AdaBoost(cw.NaiveBayes(), n_estimators=3),
    "vote": lambda: Vote([cw.NaiveBayes(), cw.ID3()], "mean"),
    "majority": lambda: Vote([cw.NaiveBayes(), cw.ID3(), cw.TAN()], "majority"),
    "weighted": lambda: Vote([cw.NaiveBayes(), cw.ID3()], "weighted"),
}
each = pytest.mark.parametrize("make", list(ENSEMBLES.values()), ids=list(ENSEMBLES))


def close(one, two):
    # Hard votes jump where two shares are equal but for rounding; the posterior may not.
    np.testing.assert_allclose(one, two, rtol=1e-6, atol=1e-9)


@each
@settings(max_examples=15)
@given(st.data())
def test_shuffled_rows_give_the_same_ensemble(make, data):
    table = data.draw(tables(least_rows=2, kinds=("nominal",)))
    order = np.asarray(data.draw(st.permutations(range(len(table)))))
    close(
        make().fit(table).predict_proba(table), make().fit(table.take(order)).predict_proba(table)
    )


@each
@settings(max_examples=15)
@given(st.data())
def test_law_3(make, data):
    table = data.draw(tables(kinds=("nominal",)))
    laws.law_3_weights_repeat_rows(make, table, data.draw(weights(len(table))))


@each
@settings(max_examples=8)
@given(tables(least_rows=2, most_rows=10))
def test_law_5_rows_one_by_one(make, table):
    laws.law_5_rows_one_by_one(make, table)


@each
@settings(max_examples=15)
@given(st.data())
def test_law_6(make, data):
    train = data.draw(tables())
    cells = {}
    for column in train.schema.attributes:
        known = ["a", "never seen", None] if column.coded else [0.0, 1e9, -1e100, 1e140, None]
        cells[column.name] = data.draw(st.lists(st.sampled_from(known), min_size=4, max_size=4))
    rows = cw.read(cells, schema=train.schema.without_target())
    laws.law_6_posteriors(make, train, rows)
