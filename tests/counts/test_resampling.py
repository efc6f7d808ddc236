"""Draws of an ensemble's members, and their counts in one pass."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import countwise as cw
from countwise.counts.count_rows import count
from countwise.counts.engines.resampled import fold_resampled, in_one_pass
from countwise.counts.plan import Plan
from countwise.counts.resampling import LANES, SLOTS, Proportional, draws_of
from countwise.counts.row_hash import row_keys, uniforms
from countwise.errors import CountsError
from countwise.testing.strategies import tables


def make_table(rows, columns=4, seed=0):
    rng = np.random.default_rng(seed)
    words = np.array(["a", "b", "c", None], dtype=object)
    cells = {f"w{at}": rng.choice(words, rows) for at in range(columns)}
    cells["x"] = np.where(rng.random(rows) < 0.1, np.nan, rng.normal(size=rows))
    return cw.read({**cells, "y": rng.choice(["n", "p", "q"], rows)}, target="y")


def same(found, expected):
    assert found.rows == expected.rows or found.total == expected.total
    np.testing.assert_array_equal(found.weight, expected.weight)
    for names, cells in expected.tables.items():
        np.testing.assert_array_equal(found.table(*names), cells)
    for name, moments in expected.moments.items():
        assert found.moments[name].close_to(moments)


@pytest.mark.parametrize("rows", [1, 7, SLOTS - 1, SLOTS, SLOTS + 1, 5000])
def test_one_pass_for_all_members_equals_a_weighted_count_of_each(rows):
    table = make_table(rows)
    plan = Plan.each(table.schema) | Plan.pairs(table.schema, ["w0", "w1", "w2"])
    draws = draws_of(rows, LANES + 6, seed=3)
    counts = fold_resampled(table, plan, draws)
    assert len(counts) == LANES + 6
    for member in (0, 5, LANES - 1, LANES, LANES + 5):
        times = draws.times(member)
        assert times.sum() == rows
        same(counts[member], count(table, plan, sample_weight=times.astype(float)))


@given(tables(), st.data())
def test_law_3_whole_weights_are_repeated_rows(table, data):
    weight = np.array(data.draw(st.lists(st.integers(1, 900), min_size=len(table),
                                         max_size=len(table))), dtype=float)  # fmt: skip
    plan = Plan.each(table.schema)
    short = draws_of(len(table), 3, 11, weight=weight)
    long = draws_of(int(weight.sum()), 3, 11)
    rows = np.repeat(np.arange(len(table)), weight.astype(int))
    for member in range(3):
        times = np.bincount(rows, long.times(member), minlength=len(table))
        np.testing.assert_array_equal(short.times(member), times)
    for one, two in zip(fold_resampled(table, plan, short),
                        fold_resampled(table.take(rows), plan, long), strict=True):  # fmt: skip
        same(one, two)


def test_threads_and_the_order_of_asking_change_nothing(monkeypatch):
    table, plan = make_table(600_000, 2), Plan(tables=(("w0",), ("w1",)))
    draws = draws_of(len(table), 3, 5)
    many = fold_resampled(table, plan, draws)
    monkeypatch.setenv("COUNTWISE_THREADS", "1")
    for one, two in zip(fold_resampled(table, plan, draws), many, strict=True):
        same(one, two)
    whole = draws.between(0, 3, 0, 5000)
    np.testing.assert_array_equal(draws.between(1, 2, 1500, 4000)[:, 0], whole[1500:4000, 1])


def test_draws_are_a_bootstrap():
    times = draws_of(100_000, 20, 1).between(0, 20, 0, 100_000)
    assert (times.sum(axis=0) == 100_000).all()
    for often, share in enumerate([0.3679, 0.3679, 0.1839, 0.0613]):
        assert np.mean(times == often) == pytest.approx(share, abs=0.002)
    assert times.mean(axis=1).std() == pytest.approx((1 / 20) ** 0.5, abs=0.005)
    assert np.abs(np.corrcoef(times, rowvar=False) - np.eye(20)).max() < 0.015
    assert len(np.unique(times[:1000], axis=1).T) == 20


def test_each_place_of_a_block_is_drawn_as_often():
    times = draws_of(3 * SLOTS + 100, 2000, 9).between(0, 2000, 0, 3 * SLOTS + 100)
    spread = times.sum(axis=1)
    assert spread.mean() == pytest.approx(2000)
    assert ((spread - 2000) ** 2 / 2000).mean() == pytest.approx(1.0, abs=0.1)


def test_without_replacement_a_row_is_drawn_at_most_once():
    draws = draws_of(5000, 30, 2, fraction=0.3, replace=False)
    times = draws.between(0, 30, 0, 5000)
    assert times.max() == 1
    assert (times.sum(axis=0) == 1500).all()
    assert np.abs(times.mean(axis=1) - 0.3).max() < 0.45


def test_fractional_weights_are_drawn_in_proportion():
    weight = np.array([0.5, 0.0, 1.5, 2.25])
    draws = draws_of(4, 400, 3, weight=weight)
    assert isinstance(draws, Proportional)
    times = draws.between(0, 400, 0, 4)
    assert (times.sum(axis=1)[1], times.sum()) == (0, 1600)
    np.testing.assert_allclose(times.sum(axis=1) / 1600,
                               weight / weight.sum(), atol=0.04)  # fmt: skip


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(CountsError, match="only with replacement"):
        draws_of(2, 1, 0, replace=False, weight=np.array([0.5, 1.0]))
    with pytest.raises(CountsError, match="weight 0"):
        draws_of(2, 1, 0, weight=np.array([0.0, 1.0]))


def test_fine_grids_and_enormous_tables_go_another_way():
    table = make_table(50)
    assert in_one_pass(table, Plan.each(table.schema))
    assert not in_one_pass(table, Plan.each(table.schema, "grid"))


@given(tables(), st.data())
def test_keys_follow_rows_not_positions(table, data):
    order = np.asarray(data.draw(st.permutations(range(len(table)))))
    np.testing.assert_array_equal(
        row_keys(table, target=True)[order], row_keys(table.take(order), target=True)
    )


def test_keys_tell_rows_apart_and_numbers_are_uniform():
    values = np.arange(200_000, dtype=float)
    table = cw.read({"x": values, "y": ["a", "b"] * 100_000}, target="y", numeric=["x"],
                    identifiers="keep")  # fmt: skip
    keys = row_keys(table)
    assert len(np.unique(keys)) == len(keys)
    drawn = uniforms(keys, 1, 2)
    assert np.abs(np.histogram(drawn, 20, (0, 1))[0] / 10_000 - 1).max() < 0.05
    assert abs(np.corrcoef(drawn, uniforms(keys, 1, 3))[0, 1]) < 0.01
    blank = cw.read({"x": [np.nan, -0.0, 0.0], "y": ["a", "b", "a"]}, target="y", numeric=["x"])
    assert len(set(row_keys(blank).tolist())) == 2
