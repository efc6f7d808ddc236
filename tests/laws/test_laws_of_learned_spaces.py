"""Laws 2 and 3 where the space itself is learned: weights of attributes, covariance, what is left.

Whitening rounds differently in another order of rows or columns, so equal distances may part by
it. For mahalanobis the laws are therefore about distances; posteriors follow wherever none tie.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import countwise as cw
from countwise.tables.schema import Schema
from countwise.tables.table import Table
from countwise.testing import laws
from countwise.testing.strategies import tables, weights

MODELS = {
    "information": lambda: cw.Neighbors(n_neighbors=2, attribute_weights="information"),
    "relief": lambda: cw.Neighbors(n_neighbors=2, attribute_weights="relief"),
    "relief, maximum": lambda: cw.Neighbors(
        n_neighbors=3, metric="maximum", attribute_weights="relief"
    ),
    "relief, ignoring": lambda: cw.Neighbors(
        n_neighbors=3, metric="gower", attribute_weights="relief", weights="distance"
    ),
    "least dropped": lambda: cw.Neighbors(n_neighbors=2, drop_least=1),
    "half dropped, HVDM": lambda: cw.Neighbors(n_neighbors=3, metric="hvdm", drop_least=0.5),
    "relief, least dropped": lambda: cw.Neighbors(
        n_neighbors=2, metric="heom", attribute_weights="relief", drop_least=1
    ),
    "information, least dropped": lambda: cw.Neighbors(
        n_neighbors=2, metric="vdm", p=3, attribute_weights="information", drop_least=1
    ),
}
each = pytest.mark.parametrize("make", list(MODELS.values()), ids=list(MODELS))


@each
@settings(max_examples=30)
@given(st.data())
def test_law_2(make, data):
    table = data.draw(tables(least_rows=2))
    order = np.asarray(data.draw(st.permutations(range(len(table)))))
    laws.law_2_names_and_order(make, table, order)


@each
@settings(max_examples=30)
@given(st.data())
def test_law_3(make, data):
    table = data.draw(tables())
    laws.law_3_weights_repeat_rows(make, table, data.draw(weights(len(table))))


@pytest.mark.parametrize("way", ["information", "relief"])
@settings(max_examples=30)
@given(st.data())
def test_what_an_attribute_is_worth_follows_neither_order_nor_spelling(way, data):
    table = data.draw(tables(least_rows=2))
    order = np.asarray(data.draw(st.permutations(range(len(table)))))
    weight = data.draw(weights(len(table)))
    repeated = table.take(np.repeat(np.arange(len(table)), weight.astype(int)))

    def worth(rows, weight=None):
        return cw.Neighbors(attribute_weights=way).fit(rows, sample_weight=weight).relevance_

    np.testing.assert_allclose(worth(table.take(order)), worth(table), atol=1e-12)
    np.testing.assert_allclose(worth(mirrored(table))[::-1], worth(table), atol=1e-12)
    np.testing.assert_allclose(worth(table, weight), worth(repeated), atol=1e-12)


def mirrored(table):
    data = {
        column.name: table.codes(column.name) if column.coded else table.values(column.name)
        for column in table.schema
    }
    return Table(Schema(tuple(reversed(table.schema.columns))), data)


def distances(model, table):
    """Of every asked row to every kept row, in the order of the kept rows."""
    near = model.neighbors(table, k=model.n_rows_)
    return np.take_along_axis(near.distances, np.argsort(near.rows, axis=1), axis=1)


def whitened(table, weight=None):
    model = cw.Neighbors(n_neighbors=1, metric="mahalanobis").fit(table, sample_weight=weight)
    return model, distances(model, table)


@settings(max_examples=60)
@given(st.data())
def test_laws_2_and_3_of_whitened_distances(data):
    table = data.draw(tables(least_rows=2))
    order = np.asarray(data.draw(st.permutations(range(len(table)))))
    weight = data.draw(weights(len(table)))
    _, plain = whitened(table)
    size = 1e-6 * (1.0 + plain.max())
    np.testing.assert_allclose(
        whitened(table.take(order))[1][:, np.argsort(order)][np.argsort(order)], plain, atol=size
    )
    np.testing.assert_allclose(whitened(mirrored(table))[1], plain, atol=size)
    heavy = np.flatnonzero(weight > 0)
    many = np.repeat(np.arange(len(table)), weight.astype(int))
    one = distances(cw.Neighbors(metric="mahalanobis").fit(table, sample_weight=weight), table)
    all_ = distances(cw.Neighbors(metric="mahalanobis").fit(table.take(many)), table)
    first = np.searchsorted(many, heavy)
    np.testing.assert_allclose(one, all_[:, first], atol=1e-6 * (1.0 + one.max()))


def test_law_3_where_rows_are_almost_equally_near():
    """The third row is as near as the second, but not as the first, which takes both places."""
    table = cw.read(
        {
            "word": ["a", "🙂", "d", None, None, "b", None, "b", "é", None, "c", "a", None],
            "number": [
                *(None, 2.0, None, 16.0, -2.0, 314880.4375, 0.0),
                *(None, 3.0, -446320.40625, None, -3.0, None),
            ],
            "other": ["a", None, "b", "é", None, "🙂", "c", None, "c", "b", "b", "🙂", "é"],
            "class": list("pypynppyynypp"),
        },
        target="class",
        identifiers="keep",
    )
    weight = np.array([2.0, 3, 0, 3, 3, 3, 3, 1, 2, 2, 1, 2, 1])
    laws.law_3_weights_repeat_rows(MODELS["relief"], table, weight)
