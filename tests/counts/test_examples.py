"""What the inner parts of counts answer, one small example each."""

import numpy as np

import countwise as cw
from countwise.counts.counts import merge_schemas
from countwise.counts.engines.memory import joint_groups
from countwise.counts.histogram import keys_of
from countwise.counts.information import conditional_information, partition_gain
from countwise.counts.moments import freedom
from countwise.counts.plan import Plan
from countwise.counts.resampling import draws_of
from countwise.counts.row_hash import row_keys, scattered
from countwise.counts.smoothing import smoothing_of
from countwise.discretize.cut_points import collapse_cuts, cut_borders, cut_table, interval_codes
from countwise.models.neighbors.leave_one_out import LeftOut, ends_without, variance_without
from countwise.models.neighbors.metrics import (
    class_probabilities,
    farthest,
    learn_spaces,
    masses,
    mean_and_variance,
    number_figures,
)
from countwise.models.neighbors.space import Axis, add_gap, axis_gap
from countwise.parallel import in_chunks
from countwise.tables.schema import Column, Schema


def test_merge_schemas_example():
    one = Schema((Column("a", "nominal", ("x",)), Column("y", "target", ("no",))))
    two = Schema((Column("a", "nominal", ("z",)), Column("y", "target", ("yes", "no"))))
    assert merge_schemas(one, two)["a"].levels == ("x", "z")


def test_cut_borders_example():
    assert cut_borders(keys_of(np.array([1.0, 2.0, 5.0])), 0).tolist() == [0, 1]


def test_interval_codes_example():
    assert interval_codes(np.array([2.45, 4.75]), np.array([2.45, 3.0, 9.0, np.nan])).tolist() == [
        0,
        1,
        2,
        3,
    ]


def test_collapse_cuts_example():
    iris = cw.read("sample:iris")
    plan = Plan((("petal_length",),))
    fine, coarse = ({"petal_length": np.array([2.0, 4.0])}, {"petal_length": np.array([4.0])})
    counts = cw.count(cut_table(iris, fine), plan)
    cut = cut_table(iris, coarse)
    assert collapse_cuts(counts, fine, coarse, cut.schema) == cw.count(cut, plan)


def test_draws_example():
    draws = draws_of(1000, members=2, seed=7)
    assert [int(draws.times(member).sum()) for member in (0, 1)] == [1000, 1000]
    assert int(draws_of(10, members=1, fraction=0.5, replace=False, seed=7).times(0).max()) == 1


def test_add_gap_example():
    assert add_gap(np.array([9.0]), np.array([4.0]), 2.0).tolist() == [25.0]
    assert add_gap(np.array([1e-09]), np.array([1e-09]), 64).tolist() == [1e-09 * 2 ** (1 / 64)]


def test_axis_gap_example():
    gap, known = axis_gap(Axis(0, "number", 0.5), np.array([1.0, np.nan]), np.array([3.0, 0.0]))
    assert (gap.tolist(), known.tolist()) == ([1.0, 1.0], [True, False])


def test_in_chunks_example():
    seen = []
    in_chunks(5, 5, lambda start, stop: seen.append((start, stop)))
    assert seen == [(0, 5)]


def test_joint_groups_example():
    assert joint_groups([5, 5, 5, 200, 5], most=150) == [[0, 1, 2], [3], [4]]


def test_left_out_example():
    iris = cw.read("sample:iris")
    learned = LeftOut(
        cw.Neighbors(metric="minkowski", scale="z"), iris, None, (2.0,), np.arange(len(iris))
    )
    figures = learned.row_spaces(learned.spaces[0], np.arange(150))
    assert (
        figures.stretch.shape,
        bool(0.99 < figures.ratio.min() < figures.ratio.max() < 1.01),
    ) == ((150, 4), True)


def test_ends_without_example():
    low, high = ends_without(np.array([1.0, 5.0, 2.0, np.nan]))
    assert (low.tolist(), high.tolist()) == ([2.0, 1.0, 1.0, 1.0], [5.0, 2.0, 5.0, 5.0])


def test_variance_without_example():
    assert variance_without(np.array([1.0, 3.0, 11.0, np.nan]), None).tolist() == [
        32.0,
        50.0,
        2.0,
        28.0,
    ]


def test_learn_spaces_example():
    assert [space.p for space in learn_spaces(cw.read("sample:weather"), "vdm", (1, 2, 3))] == [
        1.0,
        2.0,
        3.0,
    ]


def test_class_probabilities_example():
    assert class_probabilities(cw.read("sample:weather"))["outlook"].round(2).tolist() == [
        [0.6, 0.4],
        [0.0, 1.0],
        [0.4, 0.6],
    ]


def test_masses_example():
    assert masses(np.array([1.0, 0.5]), 2.0).tolist() == [1.0, 0.25]


def test_number_figures_example():
    assert (
        repr(number_figures("minkowski", "z", 1.0, np.array([8.0, 0.0]), np.array([2.0, 0.0])))
        == "(array([0.5, 0. ]), array([4., 0.]))"
    )


def test_farthest_example():
    assert farthest(3, 1.0) == 2.0


def test_mean_and_variance_example():
    assert mean_and_variance(np.array([1.0, np.nan, 3.0]), None) == (2.0, 2.0)


def test_freedom_example():
    assert repr(freedom(np.array([0.5, 1.0, 1.5, 2.0, 10.0]))) == "array([0.5, 1. , 1. , 1. , 9. ])"


def test_scattered_example():
    assert len(set(scattered(np.array([5, 5, 5, 8], dtype=np.uint64)).tolist())) == 4


def test_smoothing_of_example():
    assert (
        repr((smoothing_of(0.5), smoothing_of(None)))
        == "(Laplace(alpha=0.5, by='values'), Laplace(alpha=0.0, by='values'))"
    )


def test_partition_gain_example():
    counts = np.array([[3.0, 1.0], [0.0, 2.0]])
    assert partition_gain(counts, np.array([[1.0, -1.0], [-2.0, 3.0]])) == (7.0, 0.0)


def test_conditional_information_example():
    assert conditional_information(np.array([[[2.0, 0.0], [0.0, 2.0]]])) == 1.0


def test_row_keys_example():
    weather = cw.read("sample:weather")
    assert bool((row_keys(weather)[::-1] == row_keys(weather.take(slice(None, None, -1)))).all())
