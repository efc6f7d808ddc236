"""Pairs counted directly equal pairs summed from joint tables, and are measured alike."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import countwise as cw
from countwise.counts.count_rows import count
from countwise.counts.engines import memory
from countwise.counts.engines.memory import measure_pairs
from countwise.counts.information import shared_information
from countwise.counts.plan import Plan
from countwise.errors import CountsError
from countwise.tables.schema import Column, Schema
from countwise.tables.table import Table
from countwise.testing.strategies import tables, weights


@st.composite
def coded_tables(draw):
    """Draw codes of any kind: missing and unseen ones, unknown classes, wide columns."""
    rows = draw(st.integers(1, 40))
    widths = draw(st.lists(st.sampled_from([1, 2, 3, 7, 300]), min_size=2, max_size=5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    levels = [tuple(f"v{level}" for level in range(width)) for width in widths]
    schema = Schema(
        (
            *(Column(f"c{at}", "nominal", given) for at, given in enumerate(levels)),
            Column("y", "target", ("no", "yes")),
        )
    )
    data = {
        f"c{at}": rng.integers(0, width + 2, rows).astype(np.uint8 if width < 200 else np.uint16)
        for at, width in enumerate(widths)
    }
    return Table(schema, {**data, "y": rng.integers(0, 4, rows).astype(np.uint8)})


def joint_counts(table, plan, weight=None):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory, "DIRECT_ROWS", -1)
        return memory.fold(table, plan, weight)


@given(coded_tables(), st.booleans(), st.data())
def test_counted_directly_they_equal_sums_of_joint_tables(table, weighted, data):
    weight = data.draw(weights(len(table))) if weighted else None
    plan = Plan.pairs(table.schema)
    direct = memory.fold(table, plan, weight)
    assert direct == joint_counts(table, plan, weight)
    assert direct == count(table, plan, sample_weight=weight, engine="reference")
    assert list(direct.tables) == list(plan.tables)


def slow_information(table):
    """Σ P(c, x, y) log2 P(x, y | c) / (P(x | c) P(y | c)), cell by cell."""
    bits, total = 0.0, table.sum()
    for plane in table:
        for x, y in zip(*np.nonzero(plane), strict=True):
            apart = plane[x].sum() * plane[:, y].sum()
            bits += plane[x, y] / total * np.log2(plane[x, y] * plane.sum() / apart)
    return max(bits, 0.0)


@given(coded_tables(), st.booleans(), st.data())
def test_measured_and_dropped_they_share_what_kept_tables_share(table, weighted, data):
    weight = data.draw(weights(len(table))) if weighted else None
    names = sorted((column.name for column in table.schema.nominal), reverse=True)
    counts = joint_counts(table, Plan.pairs(table.schema), weight)
    shared = measure_pairs(table, names, weight)
    np.testing.assert_array_equal(shared, shared_information(counts, names))
    for i, one in enumerate(names):
        for j, two in enumerate(names):
            cells = counts.table(one, two)[:-1, :-1, :-1] if i != j else np.zeros((2, 1, 1))
            assert shared[i, j] == pytest.approx(slow_information(cells), abs=1e-12)


@given(tables(kinds=("nominal",)))
def test_in_threads_nothing_changes(table):
    names = [column.name for column in table.schema.nominal]
    plan = Plan.pairs(table.schema)
    once, shared = memory.fold(table, plan), measure_pairs(table, names)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory, "_WORTH_A_THREAD", 0)
        patch.setenv("COUNTWISE_THREADS", "3")
        assert memory.fold(table, plan) == once
        np.testing.assert_array_equal(measure_pairs(table, names), shared)


def test_many_rows_of_few_cells_use_several_lanes():
    rng = np.random.default_rng(0)
    table = cw.read(
        {name: rng.choice([*"abc"], 5003) for name in "uvw"} | {"y": rng.choice([*"np"], 5003)},
        target="y",
    )
    plan = Plan.pairs(table.schema)
    assert memory.fold(table, plan) == joint_counts(table, plan)


def test_a_table_that_fits_nowhere_is_still_refused(monkeypatch):
    monkeypatch.setattr(memory, "MOST_TABLE_CELLS", 50)
    table = cw.read("sample:weather")
    with pytest.raises(CountsError, match="at most 50 cells"):
        count(table, Plan.pairs(table.schema))
