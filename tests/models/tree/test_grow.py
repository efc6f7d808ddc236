"""The compiled growth of a tree gives the tree of the general one, to the last node."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import countwise as cw
from countwise.models.tree import grow as grow_module
from countwise.models.tree.grow import Limits, grow
from countwise.models.tree.splits import Attribute


def attributes(codes, widths):
    return [
        Attribute(f"c{at}", np.ascontiguousarray(own), width, tuple(map(str, range(width))))
        for at, (own, width) in enumerate(zip(codes.T, widths, strict=True))
    ]


def both(columns, target, classes, limits, monkeypatch):
    quick = grow(columns, target, classes, None, limits)
    with monkeypatch.context() as patch:
        patch.setattr(grow_module, "_is_compact", lambda *_: False)
        slow = grow(columns, target, classes, None, limits)
    return quick, slow


def assert_same(one, other):
    for name in ("feature", "slot", "child", "counts", "threshold", "width", "parent", "kids"):
        assert np.array_equal(getattr(one, name), getattr(other, name), equal_nan=True), name
    assert one.borders == other.borders
    assert (one.leaves, one.depth) == (other.leaves, other.depth)
    assert (one.columns, one.levels, one.classes) == (other.columns, other.levels, other.classes)


LIMITS = st.builds(
    Limits,
    fractions=st.booleans(),
    max_depth=st.none() | st.integers(0, 4),
    min_leaf=st.sampled_from([0.0, 1.0, 2.0, 3.5]),
    min_gain=st.sampled_from([None, 0.0, 0.05]),
)


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 300), st.integers(1, 9), LIMITS)
def test_the_same_tree(seed, rows, columns, limits):
    rng = np.random.default_rng(seed)
    widths = rng.integers(1, 7, columns)
    codes = np.column_stack([rng.integers(0, own, rows) for own in widths]).astype(np.uint8)
    target = rng.integers(0, rng.integers(1, 5), rows).astype(np.uint8)
    if seed % 2:  # something to learn, and rows that no column tells apart
        target = ((codes[:, 0] + codes[:, -1]) % 3).astype(np.uint8)
    classes = tuple("abcde"[: int(target.max()) + 1])
    with pytest.MonkeyPatch.context() as patch:
        assert_same(*both(attributes(codes, widths), target, classes, limits, patch))


def test_more_columns_than_a_word_has_bits(monkeypatch):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, (2000, 150), dtype=np.uint8)
    target = rng.integers(0, 2, 2000, dtype=np.uint8)
    columns = attributes(codes, [3] * 150)
    assert_same(*both(columns, target, "ab", Limits(min_gain=None), monkeypatch))


def test_many_nodes_of_a_column_of_many_numbers():
    # 800 nodes of 200 numbers: more places than sixteen bits tell apart, in codes of one byte.
    rng = np.random.default_rng(0)
    node, value = np.repeat(np.arange(800), 3), rng.integers(0, 200, 2400)
    frame = {"a": [f"a{at // 29}" for at in node], "b": [f"b{at % 29}" for at in node]}
    frame |= {"x": value.astype(float), "class": np.where((value + node) % 2, "odd", "even")}
    table = cw.read(frame, target="class")
    tree = cw.ID3().fit(table)
    assert (tree.predict(table) == frame["class"]).all()


def test_counts_beyond_the_looked_up_ones(monkeypatch):
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 4, (80_000, 6), dtype=np.uint8)
    target = (rng.random(80_000) < 0.1 + 0.2 * codes[:, 2]).astype(np.uint8)
    columns = attributes(codes, [4] * 6)
    assert_same(*both(columns, target, "ab", Limits(), monkeypatch))


@pytest.mark.parametrize("way", ["gaps", "wide", "weights", "ratio"])
def test_what_the_kernel_does_not_take_goes_the_general_way(monkeypatch, way):
    def refused(*_):
        raise AssertionError("the kernel was asked")

    monkeypatch.setattr(grow_module, "_grow_compiled", refused)
    codes = np.array([[0, 1], [1, 1], [1, 0]], dtype=np.uint8)
    target = np.array([0, 1, 1], dtype=np.uint8)
    weight = np.ones(3) if way == "weights" else None
    if way == "gaps":
        codes[0, 0] = 2
    columns = attributes(codes.astype(np.uint16) if way == "wide" else codes, [2, 2])
    tree = grow(columns, target, "ab", weight, Limits(ratio=way == "ratio"))
    assert tree.counts[0].tolist() == [1.0, 2.0]


def test_a_tree_of_one_leaf_is_described_as_such():
    weather = cw.read("sample:weather")
    assert cw.ID3(max_depth=0).fit(weather).describe() == (
        "A tree of one leaf, which answers every row alike."
    )
    assert "at most one test a row" in cw.ID3(max_depth=1).fit(weather).describe()
