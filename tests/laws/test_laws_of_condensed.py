"""Laws 2, 6 and 7 for condensed neighbours.

Hart's set depends on the order of the rows, that is his rule; what it says about the training rows
does not, as far as they clash with no row of another class. The order of the columns changes
nothing, nor does a row that stands twice. The fast rule asks the order among equally near rows
alone. No weights are taken (law 3).
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import countwise as cw
from countwise.testing import laws
from countwise.testing.strategies import tables

METRICS = ("euclidean", "heom", "vdm", "gower", "maximum", "overlap")
metrics = st.sampled_from(METRICS)
METHODS = pytest.mark.parametrize("method", ["hart", "fast"])


@METHODS
@settings(max_examples=60)
@given(st.data())
def test_what_is_said_of_training_rows_follows_no_order(method, data):
    table, metric = data.draw(tables(least_rows=2)), data.draw(metrics)
    order = np.asarray(data.draw(st.permutations(range(len(table)))))
    for rows in (table, table.take(order)):
        model = cw.CondensedNeighbors(method, metric=metric).fit(rows)
        wrong = np.count_nonzero(model.predict(table) != table.labels)
        assert wrong == model.conflicts_


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["euclidean", "vdm", "manhattan", "heom"]))
def test_the_fast_rule_follows_no_order_where_no_distances_are_equal(seed, metric):
    rng = np.random.default_rng(seed)
    rows = {"x": rng.normal(size=40), "y": rng.normal(size=40), "w": rng.choice([*"abc"], 40)}
    table = cw.read({**rows, "class": rng.choice([*"pqr"], 40)}, target="class")
    order = rng.permutation(40)
    one = cw.CondensedNeighbors("fast", metric=metric).fit(table)
    two = cw.CondensedNeighbors("fast", metric=metric).fit(table.take(order))
    assert one.kept_.tolist() == sorted(order[two.kept_].tolist())


@METHODS
@settings(max_examples=60)
@given(st.data())
def test_the_order_of_columns_changes_nothing(method, data):
    table, metric = data.draw(tables(least_rows=2)), data.draw(metrics)
    one = cw.CondensedNeighbors(method, metric=metric).fit(table)
    two = cw.CondensedNeighbors(method, metric=metric).fit(laws.mirror(table))
    assert one.kept_.tolist() == two.kept_.tolist()


@METHODS
@settings(max_examples=60)
@given(st.data())
def test_rows_that_stand_twice_are_kept_once(method, data):
    table, metric = data.draw(tables(least_rows=2, missing=False)), data.draw(metrics)
    twice = table.take(np.repeat(np.arange(len(table)), 2))
    one = cw.CondensedNeighbors(method, metric=metric).fit(table)
    two = cw.CondensedNeighbors(method, metric=metric).fit(twice)
    if not one.conflicts_:
        assert (two.kept_ // 2).tolist() == one.kept_.tolist()


@METHODS
@settings(max_examples=40)
@given(st.data())
def test_law_6(method, data):
    train, metric = data.draw(tables()), data.draw(metrics)
    cells = {}
    for column in train.schema.attributes:
        known = ["a", "never seen", None] if column.coded else [0.0, 1e9, -1e100, 1e140, None]
        cells[column.name] = data.draw(st.lists(st.sampled_from(known), min_size=4, max_size=4))
    rows = cw.read(cells, schema=train.schema.without_target())
    laws.law_6_posteriors(lambda: cw.CondensedNeighbors(method, metric=metric), train, rows)


@METHODS
@settings(max_examples=30)
@given(tables(least_rows=2), metrics)
def test_law_7_a_row_that_tells_nothing_gets_the_shares_of_all_training_rows(method, table, metric):
    model = cw.CondensedNeighbors(method, metric=metric).fit(table)
    blank = {column.name: [None] for column in table.schema.attributes}
    count = np.bincount(table.target, minlength=len(table.classes))
    prior = count[count > 0] / len(table)
    np.testing.assert_allclose(model.predict_proba(blank)[0], prior, atol=1e-12)
