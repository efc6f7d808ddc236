"""What the inner parts of posteriors answer, one small example each."""

import numpy as np

import countwise as cw
from countwise.discretize.joint_search.cell_budget import (
    Demand,
    corrected_entropy,
    entropy_levels,
    grant,
)
from countwise.discretize.joint_search.cell_counts import CellTable
from countwise.discretize.joint_search.cell_grid import Axis, CellGrid
from countwise.discretize.joint_search.rows import Part, from_array, ranges_of
from countwise.discretize.joint_search.search import equal_weight, nominal_axis
from countwise.discretize.joint_search.time_limit import SearchClock
from countwise.discretize.recode import Recode
from countwise.models.bayes.kernel_density import KernelDensity, bandwidth_of
from countwise.models.bayes.score_terms import backed_off, prior_logs
from countwise.models.discrete_bayes.bin_smoothing import BinSmoothing, candidates
from countwise.models.discrete_bayes.explanation import level_names
from countwise.models.ensembles.adaboost import best_rule
from countwise.models.ensembles.members import draw_votes
from countwise.models.ensembles.vote import measure_agreement
from countwise.models.neighbors.attribute_weights import (
    learn_weighted_spaces,
    relief,
    select_attributes,
)
from countwise.models.neighbors.index import Index
from countwise.models.neighbors.metrics import learn_space, learn_spaces
from countwise.models.neighbors.search import KDTree, Search, is_tree_faster, searches
from countwise.models.neighbors.votes import Voters, tie_bounds
from countwise.models.registry import find, parse_parameters, select
from countwise.models.tree.grow import share_out
from countwise.models.tree.id3 import ID3
from countwise.models.tree.splits import rank
from countwise.models.tree.tree_structure import rules_of
from countwise.progress import Steps
from countwise.tables.schema import Column


def test_candidates_example():
    assert [round(k) for k in candidates(10000000 / 3, 7776)] == [0, 21, 43, 64, 86]
    assert candidates(900, 7776) == [0.0, 1.0, 3.0, 10.0, 30.0, 100.0]


def test_bin_smoothing_example():
    grid = CellGrid((Axis("x", np.array([1.0, 2.0]), None, 3, low=0.0, high=3.0),))
    table = CellTable.of(grid, np.array([[0], [2]], np.int32), np.array([[4.0, 1], [0, 2]]))
    assert BinSmoothing(table).weights(np.array([[0], [1]], np.int32)).tolist() == [
        [4.0, 1.0],
        [4.0, 3.0],
    ]


def test_is_tree_faster_example():
    space = learn_space(cw.read("sample:iris"))
    assert (
        is_tree_faster(space, False, 1000000, 100000, 5),
        is_tree_faster(space, False, 150, 100000, 5),
    ) == (
        True,
        False,
    )


def test_branches_example():
    tree = KDTree([np.array([0.0, 1.0, 5.0])], np.array([0.0]), np.array([1.0]), 2.0)
    assert tree.propose([np.array([0.9])], 2)[0].tolist() == [[1, 0]]


def test_draw_votes_example():
    assert repr(draw_votes(np.array([[0.2, 0.8], [0.2, 0.8]]), np.array([0.1, 0.3]))) == (
        "array([[1., 0.],\n       [0., 1.]])"
    )


def test_find_example():
    assert repr(find("naive-bayes").build(0)) == "NaiveBayes()"


def test_level_names_example():
    assert level_names(Axis("x", np.array([2.5]), None, 2, True), Column("x", "numeric"), None) == (
        "≤ 2.5",
        "> 2.5",
        "missing",
    )


def test_prior_logs_example():
    assert repr(prior_logs(np.array([1.0, 1.0])).round(3)) == "array([-0.693, -0.693])"


def test_backed_off_example():
    assert (
        repr(backed_off(np.array([5.0, 0.0]), np.array([5.0, 0.0]), np.array([0.2, 0.2])))
        == "array([0.6, 0.2])"
    )


def test_bandwidth_of_example():
    points = np.array([1.0, 2.0, 3.0, 4.0])
    assert round(bandwidth_of(points, np.ones(4), "scott", 1e-09), 4) == 1.0371


def test_kernel_density_example():
    density = KernelDensity(np.array([0.0]), np.array([1.0]), 1.0)
    assert [part.shape for part in density.arrays[3:]] == [(11,), (11, 13)]


def test_steps_example():
    calls = []
    steps = Steps(lambda done, total, text: calls.append((done, total, text)), 2)
    steps.advance("test part 1")
    assert calls == [(1, 2, "test part 1")]


def test_corrected_entropy_example():
    counts = np.array([5.0, 5.0, 0.0, 0.0])
    assert (
        round(corrected_entropy(counts), 4),
        round(corrected_entropy(counts, "printed"), 4),
    ) == (1.0721, 1.0721)
    assert round(corrected_entropy(counts, "none"), 4) == 1.0


def test_entropy_levels_example():
    assert entropy_levels([12.0] * 5, 10000) == [6, 6, 6, 6, 6]


def test_grant_example():
    five = [Demand(None, 12.0, False, 0.1)] * 5
    assert grant(five, 10000).levels == (6, 6, 6, 6, 6)
    two = Demand(None, 12.0, False, 0.2)
    assert (
        repr(grant([two, Demand(3, 0.0, False, 0.1), Demand(None, 12.0, False, 0.0)], 6))
        == "Granted(levels=(2, 3, 1), dropped=(2,))"
    )


def test_nominal_axis_example():
    axis = nominal_axis(Column("sky", "nominal", ("fog", "rain", "sun")), ("sun",), False)
    assert (axis.width, axis.lookup.tolist()) == (2, [1, 1, 0, -1, 1])


def test_relief_example():
    iris = cw.read("sample:iris")
    assert relief(learn_space(iris), iris)[0].round(2).tolist() == [0.15, 0.14, 0.35, 0.36]


def test_select_attributes_example():
    assert select_attributes(np.array([0.2, 0.0, 0.5, 0.0]), 1, ["a", "c", "d", "b"]).tolist() == [
        True,
        False,
        True,
        True,
    ]


def test_ranges_of_example():
    part = Part((np.array([0.5, np.nan, 1.5]),), np.zeros(3, np.uint16))
    assert (
        repr(ranges_of([part], [Column("x", "numeric")]))
        == "[Range(low=0.5, high=1.5, blank=True)]"
    )


def test_rules_of_example():
    assert str(rules_of(ID3().fit(cw.read("sample:weather")).tree_)) == (
        "if outlook = sunny:\n"
        "  if humidity = high: no (3 rows)\n"
        "  if humidity = normal: yes (2 rows)\n"
        "if outlook = overcast: yes (4 rows)\n"
        "if outlook = rainy:\n"
        "  if windy = TRUE: no (2 rows)\n"
        "  if windy = FALSE: yes (3 rows)"
    )


def test_searches_example():
    iris = cw.read("sample:iris")
    spaces = learn_spaces(iris, "minkowski", (1, 2))
    assert [item.nearest(iris.take([0]), 2)[0].tolist() for item in searches(spaces, iris)] == [
        [[0, 17]],
        [[0, 27]],
    ]


def test_search_clock_example():
    clock = SearchClock(None, None)
    with clock.until_enough():
        clock.note("start", gain=1.0)
    assert (clock.history[0]["stage"], clock.stopped) == ("start", None)


def test_recode_example():
    iris = cw.read("sample:iris")
    recode = Recode.learn(iris, None, "quantizer", columns=["petal_width"])
    assert sorted(recode.cut_points) == ["petal_width"]
    assert recode == Recode.learn(iris, None, "quantizer", columns=["petal_width"]) != Recode()
    assert recode.apply(iris).schema == recode.apply_to_schema(iris.schema)


def test_share_out_example():
    _, where, parts = share_out(
        np.array([0], np.uint32), np.ones(1), np.array([3.0, 0.0, 1.0]), np.array([0, 3]), True
    )
    assert (where.tolist(), parts.tolist()) == ([0, 2], [0.75, 0.25])


def test_learn_weighted_spaces_example():
    weather, model = cw.read("sample:weather"), cw.Neighbors(metric="vdm")
    spaces = learn_weighted_spaces(model, weather, None, (1, 3))
    assert [space.p for space in spaces] == [1.0, 3.0]


def test_rank_example():
    assert rank("x", np.array([2.5, np.nan, 1.0, 2.5])).codes.tolist() == [1, 2, 0, 1]


def test_best_rule_example():
    cells = np.array([[3.0, 0.0, 0.0, 0.0], [1.0, 2.0, 0.0, 0.0]])
    rule = best_rule({"windy": cells}, numeric=())
    assert (rule.answers.tolist(), round(rule.error, 3)) == ([0, 1, 0, 0], 0.167)


def test_tie_bounds_example():
    low, high = tie_bounds(np.array([4.0]), 2.0)
    assert bool(low[0] < 4.0 < high[0])


def test_measure_agreement_example():
    assert repr(measure_agreement(np.array([[0, 1, 1], [0, 1, 0]]), np.ones(3)).round(2)) == (
        "array([[1.  , 0.67],\n       [0.67, 1.  ]])"
    )


def test_equal_weight_example():
    part = Part((np.array([4.0, 1, 3, 2, np.nan]),), np.zeros(5, np.uint16))
    assert equal_weight([part], 0, 2).tolist() == [2.5]


def test_parse_parameters_example():
    assert parse_parameters(["smoothing=0.5", "numeric=kernel", 'prior={"a": 0.5, "b": 0.5}']) == {
        "smoothing": 0.5,
        "numeric": "kernel",
        "prior": {"a": 0.5, "b": 0.5},
    }


def test_select_example():
    assert "naive-bayes-kernel" not in [item.name for item in select(None, numeric=False)]
    assert [item.name for item in select(["tree", "naive-bayes"])] == ["tree", "naive-bayes"]


def test_from_array_example():
    rows = from_array(np.array([[0.5], [1.5]], np.float32), np.array([7, 3]))
    assert (
        repr((rows.schema.target.levels, rows.target.tolist(), rows.columns[0].dtype))
        == "((3, 7), [1, 0], dtype('float32'))"
    )


def test_index_example():
    iris = cw.read("sample:iris")
    classes = np.eye(3)[iris.target]
    index = Index(Search(learn_space(iris), iris), Voters(classes, np.ones(len(iris))))
    assert index.sum_votes(iris.take([0, 60]), 5).tolist() == [[5.0, 0.0, 0.0], [0.0, 5.0, 0.0]]
