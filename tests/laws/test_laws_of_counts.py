"""Laws 1 to 4: counts add, subtract, and every engine agrees."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from countwise.counts.count_rows import ENGINES, count, count_groups
from countwise.counts.counts import Counts
from countwise.counts.plan import Plan
from countwise.store.codec import decode, encode
from countwise.testing.strategies import tables, weights


def full_plan(table):
    schema = table.schema
    plan = Plan.each(schema, numeric="both") | Plan.pairs(schema)
    names = [column.name for column in schema.nominal]
    return plan | Plan.joint(schema, *names) if len(names) > 2 else plan


@given(st.data())
def test_law_1_counts_of_parts_add_up(data):
    table = data.draw(tables())
    cut = data.draw(st.integers(0, len(table)))
    plan = full_plan(table)
    whole = count(table, plan)
    first, second = (
        count(part, plan) for part in (table.take(slice(0, cut)), table.take(slice(cut, None)))
    )
    together = first + second
    assert together == whole


@given(st.data())
def test_law_1_minus_undoes_plus(data):
    table = data.draw(tables())
    cut = data.draw(st.integers(0, len(table)))
    plan = full_plan(table)
    first, second = (
        count(part, plan) for part in (table.take(slice(0, cut)), table.take(slice(cut, None)))
    )
    back = (first + second) - second
    assert back == first


@given(tables())
def test_law_1_the_empty_table_is_zero(table):
    plan = full_plan(table)
    assert count(table.take([]), plan) == Counts.zero(table.schema, plan)
    assert count(table, plan) + Counts.zero(table.schema, plan) == count(table, plan)


@given(st.data())
def test_law_2_row_order_changes_nothing(data):
    table = data.draw(tables())
    order = data.draw(st.permutations(range(len(table))))
    plan = full_plan(table)
    assert count(table.take(np.asarray(order)), plan) == count(table, plan)


@given(st.data())
def test_law_3_an_integer_weight_repeats_the_row(data):
    table = data.draw(tables())
    weight = data.draw(weights(len(table)))
    plan = full_plan(table)
    weighted = count(table, plan, sample_weight=weight)
    repeated = count(table.take(np.repeat(np.arange(len(table)), weight.astype(int))), plan)
    for key, cells in repeated.tables.items():
        np.testing.assert_array_equal(weighted.tables[key], cells)
    for name, grid in repeated.grids.items():
        assert weighted.grids[name] == grid
    for name, moments in repeated.moments.items():
        assert weighted.moments[name] == moments


@pytest.mark.parametrize("engine", sorted(ENGINES))
@given(st.data())
def test_law_4_every_engine_equals_the_reference(engine, data):
    table = data.draw(tables())
    weight = data.draw(st.one_of(st.none(), weights(len(table), whole=False)))
    plan = full_plan(table)
    oracle = count(table, plan, sample_weight=weight, engine="reference")
    counted = count(table, plan, sample_weight=weight, engine=engine)
    assert counted.close_to(oracle)
    if weight is None or np.array_equal(weight, np.floor(weight)):
        assert counted == oracle


@given(st.data())
def test_groups_add_up_to_the_whole(data):
    table = data.draw(tables())
    labels = data.draw(st.lists(st.integers(0, 3), min_size=len(table), max_size=len(table)))
    plan = full_plan(table)
    parts = count_groups(table, plan, np.asarray(labels))
    assert Counts.sum(parts) == count(table, plan)
    for group, part in enumerate(parts):
        assert part == count(table.take(np.flatnonzero(np.asarray(labels) == group)), plan)


@given(tables())
def test_counts_survive_plain_data(table):
    counts = count(table, full_plan(table))
    assert decode(Counts, *encode(counts)) == counts
