"""Folding rare levels: which stay, that nothing is lost, and that what is left fits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import countwise as cw
from countwise.counts.plan import Plan
from countwise.discretize import rare_levels
from countwise.discretize.rare_levels import (
    OTHER,
    fold_table,
    frequent_levels,
    too_many_columns,
    width_limit,
)


@given(
    st.lists(st.integers(1, 400), min_size=1, max_size=6),
    st.integers(1, 5),
    st.integers(2000, 60_000),
)
def test_the_limit_is_the_largest_that_fits(widths, classes, most):
    def cells(limit):
        sizes = [min(width, limit) + 2 for width in widths]
        pairs = sum(one * two for at, one in enumerate(sizes) for two in sizes[:at])
        return (classes + 2) * pairs

    limit = width_limit(widths, classes, most)
    if limit is None:
        assert cells(max(widths)) <= most
    else:
        assert limit == 2 or cells(limit) <= most
        assert cells(limit + 1) > most
    # What is counted never takes more than was foreseen.
    folded = widths if limit is None else [min(width, limit) for width in widths]
    pairs = sum(
        (classes + 1) * (one + 1) * (two + 1)
        for place, one in enumerate(folded)
        for two in folded[:place]
    )
    assert pairs <= cells(max(widths) if limit is None else limit)


def test_the_usual_limit_can_be_changed(monkeypatch):
    assert width_limit([50, 50], 2) is None
    monkeypatch.setattr(rare_levels, "MOST_PAIR_CELLS", 1000)
    assert width_limit([50, 50], 2) == 13
    assert width_limit([50, 4], 2) == 39
    assert width_limit([500], 2) is None
    assert not too_many_columns([50, 50], 2)
    assert too_many_columns([50] * 50, 2)


def table_of(cells):
    return cw.read(
        {"a": cells, "k": ["p", "q"] * (len(cells) // 2) + ["p"] * (len(cells) % 2)}, target="k"
    )


def test_the_most_frequent_levels_stay_and_of_equal_ones_the_first():
    table = table_of([*"cccbbaaeed"])
    counts = cw.count(table)
    first = table.schema["a"].levels
    kept = frequent_levels(counts, 4)["a"]
    assert set(kept) == {"c", *sorted({"a", "b", "e"}, key=first.index)[:2]}
    assert list(kept) == sorted(kept, key=first.index)
    assert frequent_levels(counts, 5) == {}
    weighted = cw.count(table, sample_weight=[0] * 9 + [7])
    assert "d" in frequent_levels(weighted, 2)["a"]


def test_a_level_that_is_called_other_is_folded_with_the_others():
    table = table_of([OTHER] * 5 + ["a", "a", "b", "c", "d"])
    kept = frequent_levels(cw.count(table), 3)
    assert OTHER not in kept["a"]
    folded = fold_table(table, kept)
    assert folded.schema["a"].levels.count(OTHER) == 1
    assert (folded.decode("a") == OTHER).sum() >= 5


def test_missing_stays_missing_and_unseen_becomes_one_of_the_others():
    table = table_of(["x", "y", None, "z", "x", "x"])
    kept = {"a": ("x",)}
    assert fold_table(table, kept).decode("a").tolist() == ["x", OTHER, None, OTHER, "x", "x"]
    rows = cw.read({"a": ["x", "new", None]}, schema=table.schema.without_target())
    assert fold_table(rows, kept).decode("a").tolist() == ["x", OTHER, None]


@given(st.lists(st.sampled_from([*"abcdef", None]), min_size=2, max_size=30), st.integers(2, 5))
def test_folding_rows_is_folding_counts(cells, limit):
    table = cw.read(
        {"a": cells, "b": ["u", "v"] * (len(cells) // 2) + ["u"] * (len(cells) % 2),
         "k": [*"pq", *"p" * (len(cells) - 2)]},
        target="k", nominal=["a", "b"], identifiers="keep",
    )  # fmt: skip
    kept = frequent_levels(cw.count(table), limit)
    if "a" not in kept:
        return
    folded = cw.count(fold_table(table, kept), Plan.pairs(fold_table(table, kept).schema))
    whole = cw.count(table, Plan.pairs(table.schema)).table("a", "b")
    levels = table.schema["a"].levels
    for place, level in enumerate(kept["a"]):
        np.testing.assert_array_equal(
            folded.table("a", "b")[:, place], whole[:, levels.index(level)]
        )
    rest = [place for place, level in enumerate(levels) if level not in kept["a"]]
    np.testing.assert_array_equal(folded.table("a", "b")[:, -2], whole[:, rest].sum(axis=1))
    np.testing.assert_array_equal(folded.table("a", "b")[:, -1], whole[:, -1])


def test_levels_of_different_kinds_are_told_apart():
    column = cw.Column("a", "nominal", (1, "1", True, 2.5))
    schema = cw.Schema((column, cw.Column("k", "target", ("p",))))
    table = cw.Table(schema, {"a": np.array([0, 1, 2, 3], np.uint8), "k": np.zeros(4, np.uint8)})
    folded = fold_table(table, {"a": (True, "1")})
    assert folded.decode("a").tolist() == [OTHER, "1", True, OTHER]
    with pytest.raises(cw.CountwiseError):
        fold_table(table, {"nowhere": ("a",)})
