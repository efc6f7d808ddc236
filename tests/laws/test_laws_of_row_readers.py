"""Laws 3 and 6 for models that read rows as points, and that labels are the argmax."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import countwise as cw
from countwise.testing import laws
from countwise.testing.strategies import tables, weights

MODELS = {
    "logistic": lambda: cw.Logistic(),
    "discriminant": lambda: cw.LinearDiscriminant(),
    "perceptron": lambda: cw.Perceptron(max_iter=20),
    "svm": lambda: cw.LinearSVM(),
    "network": lambda: cw.NeuralNet((3,), max_iter=3),
}
each = pytest.mark.parametrize("make", list(MODELS.values()), ids=list(MODELS))


@each
@settings(max_examples=12)
@given(st.data())
def test_law_3(make, data):
    table = data.draw(tables())
    laws.law_3_weights_repeat_rows(make, table, data.draw(weights(len(table))))


@each
@settings(max_examples=12)
@given(st.data())
def test_shuffled_rows_give_the_same_model(make, data):
    table = data.draw(tables(least_rows=2))
    order = np.asarray(data.draw(st.permutations(range(len(table)))))
    one, two = make().fit(table), make().fit(table.take(order))
    np.testing.assert_allclose(
        one.predict_proba(table), two.predict_proba(table), rtol=1e-6, atol=1e-7
    )


@each
@settings(max_examples=12)
@given(st.data())
def test_law_6_and_the_argmax(make, data):
    train = data.draw(tables())
    cells = {}
    for column in train.schema.attributes:
        known = ["a", "never seen", None] if column.coded else [0.0, 1e9, -1e100, 1e140, None]
        cells[column.name] = data.draw(st.lists(st.sampled_from(known), min_size=4, max_size=4))
    rows = cw.read(cells, schema=train.schema.without_target())
    laws.law_6_posteriors(make, train, rows)
    model = make().fit(train)
    shares = model.predict_proba(train)
    np.testing.assert_array_equal(model.predict(train), model.classes_[shares.argmax(axis=1)])
