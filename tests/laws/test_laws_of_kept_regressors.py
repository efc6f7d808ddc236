"""Laws 2, 3 and 6 for regressors that keep rows, in tables with missing cells and weights."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import countwise as cw
from countwise.errors import UnseenLevelWarning
from countwise.tables.table import Table
from countwise.testing import laws
from countwise.testing.strategies import tables, weights

MODELS = {
    "mean of three": lambda: cw.NeighborsRegressor(n_neighbors=3),
    "by 1/d, HEOM": lambda: cw.NeighborsRegressor(n_neighbors=2, metric="heom", weights="distance"),
    "by 1/d², z": lambda: cw.NeighborsRegressor(n_neighbors=4, scale="z", weights="squared"),
    "by rank, Gower": lambda: cw.NeighborsRegressor(n_neighbors=3, metric="gower", weights="rank"),
    "by kernel, maximum": lambda: cw.NeighborsRegressor(
        n_neighbors=3, metric="maximum", weights="kernel"
    ),
    "overlap": lambda: cw.NeighborsRegressor(n_neighbors=3, metric="overlap"),
    "planes by tricube": lambda: cw.LocalRegression(n_neighbors=3, ridge=0.01),
    "planes by epanechnikov, Gower": lambda: cw.LocalRegression(
        n_neighbors=4, kernel="epanechnikov", metric="gower", ridge=0.01
    ),
    "planes by gaussian": lambda: cw.LocalRegression(n_neighbors=3, kernel="gaussian", ridge=0.01),
    "planes, uniform": lambda: cw.LocalRegression(n_neighbors=4, kernel="uniform", ridge=0.01),
    "planes, triangular, HEOM": lambda: cw.LocalRegression(
        n_neighbors=2, kernel="triangular", metric="heom", ridge=0.01
    ),
    "planes of all": lambda: cw.LocalRegression(n_neighbors=None, ridge=0.01),
    "planes within a width": lambda: cw.LocalRegression(width=0.5, ridge=0.01),
    "planes within a gaussian width": lambda: cw.LocalRegression(
        width=0.5, kernel="gaussian", ridge=0.01
    ),
}
each = pytest.mark.parametrize("make", list(MODELS.values()), ids=list(MODELS))
NUMBERS = st.one_of(st.integers(-3, 3).map(float), st.floats(-100, 100, width=32))


@st.composite
def measured(draw):
    """Rows without classes, and a number for each."""
    table = draw(tables(least_rows=2))
    y = draw(st.lists(NUMBERS, min_size=len(table), max_size=len(table)))
    names = [column.name for column in table.schema.attributes]
    data = {
        name: table.codes(name) if table.schema[name].coded else table.values(name)
        for name in names
    }
    return Table(table.schema.without_target(), data), np.asarray(y)


@each
@settings(max_examples=30)
@given(st.data())
def test_law_2(make, data):
    table, y = data.draw(measured())
    order = np.asarray(data.draw(st.permutations(range(len(table)))))
    plain = make().fit(table, y).predict(table)
    shuffled = make().fit(table.take(order), y[order]).predict(table)
    np.testing.assert_allclose(shuffled, plain, atol=1e-6)
    np.testing.assert_allclose(make().fit(laws.mirror(table), y).predict(table), plain, atol=1e-6)


@each
@settings(max_examples=30)
@given(st.data())
def test_law_3(make, data):
    table, y = data.draw(measured())
    weight = data.draw(weights(len(table)))
    many = np.repeat(np.arange(len(table)), weight.astype(int))
    weighted = make().fit(table, y, sample_weight=weight).predict(table)
    repeated = make().fit(table.take(many), y[many]).predict(table)
    np.testing.assert_allclose(weighted, repeated, atol=1e-6)


@each
@settings(max_examples=30)
@given(st.data())
def test_law_6_answers_are_finite(make, data):
    """And means lie among what they are means of."""
    table, y = data.draw(measured())
    cells = {}
    for column in table.schema.attributes:
        known = ["a", "never seen", None] if column.coded else [0.0, 1e9, -1e100, 1e140, None]
        cells[column.name] = data.draw(st.lists(st.sampled_from(known), min_size=4, max_size=4))
    rows = cw.read(cells, schema=table.schema)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnseenLevelWarning)
        model = make().fit(table, y)
        answers = model.predict(rows)
    assert np.isfinite(answers).all()
    if isinstance(model, cw.NeighborsRegressor):
        slack = 1e-9 * (1.0 + np.abs(y).max())
        assert np.all((answers >= y.min() - slack) & (answers <= y.max() + slack))
