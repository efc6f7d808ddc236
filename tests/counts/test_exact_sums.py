"""Mean and deviation of a numeric column: the same bits in any order, split, weight or engine."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import countwise as cw
from countwise.counts.moments import ExactSums, Moments
from countwise.errors import CountsError, StoreError

NUMBERS = st.floats(-1e140, 1e140) | st.sampled_from([0.0, -0.0, 5e-324, -5e-324, 1e6, 1e-3])
CELLS = st.lists(st.tuples(NUMBERS | st.none(), st.sampled_from("abc")), min_size=1, max_size=30)
PLAN = cw.Plan((), ("x",))


def table_of(cells):
    """A table of one number and a class of three."""
    schema = cw.Schema((cw.Column("x", "numeric"), cw.Column("y", "target", ("a", "b", "c"))))
    return cw.read({"x": [x for x, _ in cells], "y": [y for _, y in cells]}, schema=schema)


def moments(table, **options):
    return cw.count(table, PLAN, **options).moments["x"]


@given(CELLS)
def test_each_figure_is_rounded_once(cells):
    found = moments(table_of(cells))
    for slot, label in enumerate("abc"):
        numbers = [Fraction(x) for x, y in cells if y == label and x is not None]
        if not numbers:
            continue
        mean = sum(numbers) / len(numbers)
        square = sum((x - mean) ** 2 for x in numbers)
        assert found.mean[slot] == float(mean)
        assert found.square[slot] == float(square)


@given(CELLS, st.data())
def test_order_parts_and_forgetting_change_no_bit(cells, data):
    table = table_of(cells)
    order = data.draw(st.permutations(range(len(table))))
    cut = data.draw(st.integers(0, len(table)))
    mixed = table.take(np.asarray(order))
    first, second = moments(mixed.take(slice(0, cut))), moments(mixed.take(slice(cut, None)))
    whole = moments(table)
    assert moments(mixed) == whole == first + second
    assert whole - second == first
    assert whole - whole == Moments.zero(4)
    assert moments(table, engine="reference") == whole


@given(CELLS, st.data())
def test_whole_weights_repeat_rows(cells, data):
    table = table_of(cells)
    size = len(table)
    weight = np.asarray(data.draw(st.lists(st.integers(0, 5), min_size=size, max_size=size)), float)
    repeated = table.take(np.repeat(np.arange(size), weight.astype(int)))
    assert moments(table, sample_weight=weight) == moments(repeated)
    # Weights whose products with squares need more than 128 bits.
    large = weight * 2**45
    assert moments(table, sample_weight=large) == moments(
        table, sample_weight=large, engine="reference"
    )


def test_a_mean_a_thousand_million_deviations_away():
    stream = np.random.default_rng(3)
    x = 1e6 + 1e-3 * stream.normal(size=5000)
    table = cw.read({"x": x, "y": ["a", "b"] * 2500}, target="y", numeric=["x"])
    exact = [Fraction(number) for number in x[::2].tolist()]
    mean = sum(exact) / len(exact)
    found = moments(table)
    assert found.square[0] == float(sum((number - mean) ** 2 for number in exact))
    halves = moments(table.take(slice(2500, None))) + moments(table.take(slice(0, 2500)))
    assert halves == found


def test_fractional_weights_are_summed_with_rounding():
    table = table_of([(1.0, "a"), (2.0, "a"), (4.0, "b")])
    found = moments(table, sample_weight=np.array([0.5, 0.25, 1.0]))
    assert found.exact is None
    counts = cw.count(table, PLAN, sample_weight=np.array([0.5, 0.25, 1.0]))
    assert "rounded (fractional weights)" in repr(counts)
    assert "rounded" not in repr(cw.count(table, PLAN))
    assert (found + moments(table)).exact is None
    assert found.close_to(moments(table, sample_weight=[0.5, 0.25, 1.0], engine="reference"))


def test_many_rows_go_through_several_chunks():
    stream = np.random.default_rng(4)
    x = stream.normal(size=(1 << 20) + 12345)
    labels = stream.choice(["a", "b"], len(x))
    table = cw.read({"x": x, "y": labels}, target="y", numeric=["x"])
    order = stream.permutation(len(x))
    assert moments(table.take(order)) == moments(table)


def test_what_was_not_counted_cannot_be_taken_away():
    table = table_of([(1.0, "a"), (2.0, "a"), (4.0, "b")])
    for stranger in ([(500.0, "a")], [(1.0, "c")], [(None, "a")], [(1.0, "a")] * 3):
        with pytest.raises(CountsError, match="only if they were counted"):
            moments(table) - moments(table_of(stranger))


def test_saved_sums_are_the_same_and_forged_ones_refused(tmp_path):
    model = cw.NaiveBayes(numeric="gaussian").fit(cw.read("sample:iris"))
    cw.save(model, tmp_path / "m.cw")
    loaded = cw.load(tmp_path / "m.cw")
    assert loaded.counts_ == model.counts_
    name = model.counts_.plan.moments[0]
    true = model.counts_.moments[name]
    sums = true.exact
    changed = sums.words.copy()
    changed[0, 0, -1] ^= 1
    padded = np.concatenate([sums.words, np.zeros_like(sums.words[:, :, :1])], axis=2)
    forgeries = [
        ExactSums(sums.low, changed),
        ExactSums(sums.low, padded),
        ExactSums(sums.low + 1, sums.words),
        ExactSums(10**9, sums.words),
        ExactSums(sums.low, sums.words[:, :2]),
        ExactSums(sums.low, sums.words[0]),
        ExactSums.of(0, [10**6, 0, 0, 0], [1, 0, 0, 0]),
    ]
    for forged in forgeries:
        model.counts_.moments[name] = Moments(*true.arrays(), exact=forged)
        with pytest.raises(StoreError):
            cw.save(model, tmp_path / "n.cw")
