"""DiscreteBayes: cells within a budget, boundaries where the rows have them."""

import numpy as np
import pytest

import countwise as cw
from countwise.discretize.joint_search.cell_budget import entropy_levels
from countwise.discretize.joint_search.rows import NONE, Part
from countwise.discretize.joint_search.search import equal_weight
from countwise.discretize.joint_search.sweep import Line
from countwise_papers.planted_data import HiddenGrid

GAIN = np.array([[1.0, -1.0], [-2.0, 3.0]])
#: The boundaries behind the course data of Panda and Garg, as its students published them.
BOUNDARIES = (
    (0.02037, 0.18117, 0.56374, 0.90676, 0.98718),
    (0.47436, 0.49150, 0.53603, 0.58948, 0.62023),
    (0.08321, 0.15193, 0.24154, 0.60653, 0.94493),
    (0.02697, 0.22574, 0.25494, 0.32456, 0.85316),
    (0.06348, 0.10362, 0.19162, 0.51352, 0.60375),
)


def farthest(model, boundaries):
    """How far the farthest hidden boundary is from one that was found."""
    return max(
        float(np.abs(found - cut).min()) if len(found) else 1.0
        for found, cuts in zip(model.boundaries_, boundaries, strict=False)
        for cut in cuts
    )


def test_the_hidden_boundaries_are_found():
    grid = HiddenGrid(BOUNDARIES)
    X, y = grid.rows(200_000)
    model = cw.DiscreteBayes(10_000, gain=GAIN, random_state=0).fit(X, y)
    assert model.levels_ == [6, 6, 6, 6, 6]
    assert farthest(model, BOUNDARIES) < 2e-4
    fresh, labels = grid.rows(100_000, seed=2)
    assert model.score(fresh, labels) > 0.98
    assert cw.Decide.over(model, GAIN).expected_gain(fresh, labels) > 0.98 * grid.best_gain(
        fresh, labels, GAIN
    )


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_the_hidden_boundaries_are_found_on_a_million_rows(noise):
    grid = HiddenGrid(BOUNDARIES, noise=noise)
    X, y = grid.rows(1_000_000)
    Xv, yv = grid.rows(500_000, seed=2)
    model = cw.DiscreteBayes(10_000, gain=GAIN, random_state=0).fit(X, y, validation=(Xv, yv))
    assert farthest(model, BOUNDARIES) < 1e-4
    fresh, labels = grid.rows(500_000, seed=3)
    assert cw.Decide.over(model, GAIN).expected_gain(fresh, labels) > 0.99 * grid.best_gain(
        fresh, labels, GAIN
    )


@pytest.mark.parametrize("correction", ["miller-madow", "printed", "none"])
def test_five_uniform_columns_get_six_levels_each(correction):
    rng = np.random.default_rng(0)
    X, y = rng.random((5000, 5)), rng.integers(0, 2, 5000)
    model = cw.DiscreteBayes(10_000, correction=correction, search=None).fit(X, y)
    assert model.levels_ == [6] * 5
    for edges in model.boundaries_:
        np.testing.assert_allclose(edges, np.arange(1, 6) / 6, atol=0.03)


def test_the_ceiling_of_levels_is_taken_where_the_budget_allows():
    assert entropy_levels([1.0] * 5, 10_000) == [6] * 5
    assert entropy_levels([1.0] * 5, 10_000, "ceil") == [7] * 5  # 16 807 cells
    assert entropy_levels([1.0, 1.0], 49, "ceil") == entropy_levels([1.0, 1.0], 49) == [7, 7]
    rng = np.random.default_rng(0)
    X, y = rng.random((5000, 5)), rng.integers(0, 2, 5000)
    model = cw.DiscreteBayes(10_000, rounding="ceil", search=None).fit(X, y)
    assert sorted(model.levels_) == [6, 6, 6, 6, 7]
    assert np.prod(model.levels_) <= 10_000 < 7 * np.prod(model.levels_) / 6


@pytest.mark.parametrize("search", [None, "sweep", "paper"])
def test_validation_rows_change_neither_levels_nor_the_boundaries_to_begin_with(search):
    rng = np.random.default_rng(0)
    X, other = rng.normal(size=(2000, 3)), rng.normal(size=(800, 3))
    y, truth = (X[:, 0] > 0) ^ (X[:, 1] > 0.4), (other[:, 0] > 0) ^ (other[:, 1] > 0.4)
    model = cw.DiscreteBayes(60, search=search, random_state=0)
    one = model.fit(X, y, validation=(other, truth))
    levels, start = one.levels_, one.start_boundaries_
    far = model.fit(X, y, validation=(100 * other, truth))
    assert far.levels_ == levels
    assert all(map(np.array_equal, far.start_boundaries_, start))


def test_equal_volumes_count_cells_instead_of_measuring_them():
    X = np.array([[0.0], [0.1], [0.4], [0.6], [0.9], [1.0]])  # cut at 0.25 and 0.75
    y = ["a", "a", "a", "b", "b", "b"]
    settings = {"levels": [3], "search": None, "bin_smoothing": 3.0, "smooth_by": "class"}
    settings["smoothing"] = 0
    plain = cw.DiscreteBayes(3, **settings).fit(X, y)
    equal = cw.DiscreteBayes(3, **settings, equal_volumes=True).fit(X, y)
    assert plain.levels_ == equal.levels_ == [3]
    cells = equal.predict_proba(np.array([[0.0], [0.55], [1.0]]))
    # Rows of a by cell are 2, 1, 0 and of b 0, 1, 2. The first cell finds three rows of a in two
    # cells, the others in all three. Classes are scaled to their rows.
    a, b = np.array([3 / 2, 3 / 3, 3 / 3]), np.array([3 / 3, 3 / 3, 3 / 2])
    expected = np.stack([a / a.sum(), b / b.sum()], axis=1)
    np.testing.assert_allclose(cells, expected / expected.sum(axis=1, keepdims=True), atol=1e-12)
    measured = np.array([3 / 0.75 * 0.25, 3 * 0.5, 3 * 0.25])  # rows over volume, times volume
    expected = np.stack([measured, measured[::-1]], axis=1)
    shares = plain.predict_proba(np.array([[0.0], [0.55], [1.0]]))
    np.testing.assert_allclose(shares, expected / expected.sum(axis=1, keepdims=True), atol=1e-9)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_equal_weight_boundaries_are_those_of_sorted_rows(ties, weighted):
    rng = np.random.default_rng(0)
    for levels in (2, 3, 6, 11):
        values = rng.integers(0, 9, 200).astype(float) if ties else rng.random(200)
        values[rng.random(200) < 0.1] = np.nan
        weight = rng.random(200) if weighted else None
        target = np.zeros(200, np.uint16)
        halves = [
            Part((values[rows],), target[rows], None if weight is None else weight[rows])
            for rows in (slice(0, 90), slice(90, None))
        ]
        line = Line.of(values, target, NONE if weight is None else weight)
        expected = [line.boundary(place) for place in line.quantiles(levels)]
        np.testing.assert_array_equal(equal_weight(halves, 0, levels), expected)


def test_boundaries_that_are_not_searched_are_of_all_rows():
    X = np.random.default_rng(0).random((3_300_000, 1)) ** 2
    model = cw.DiscreteBayes(6, levels=[6], search=None, bin_smoothing=None)
    model.fit(X, (X[:, 0] > 0.5).astype(int))
    np.testing.assert_allclose(np.sqrt(model.boundaries_[0]), np.arange(1, 6) / 6, atol=0.001)
    exact = np.quantile(X[:, 0], np.arange(1, 6) / 6)
    np.testing.assert_allclose(model.boundaries_[0], exact, atol=1e-6)
    np.testing.assert_array_equal(model.start_boundaries_[0], model.boundaries_[0])


def test_a_nominal_table_is_the_plain_bayes_table():
    weather = cw.read("sample:weather").select(["outlook", "windy"])
    model = cw.DiscreteBayes(smoothing=0).fit(weather)
    for row in range(len(weather)):
        same = (weather.codes("outlook") == weather.codes("outlook")[row]) & (
            weather.codes("windy") == weather.codes("windy")[row]
        )
        shares = np.bincount(weather.target[same], minlength=2) / same.sum()
        np.testing.assert_allclose(model.predict_proba(weather.take([row]))[0], shares)


def test_without_a_budget_it_looks_rows_up():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 4, (300, 3)).astype(float), rng.integers(0, 3, 300)
    model = cw.DiscreteBayes(None, smoothing=0).fit(X, y)
    for row in X[:40]:
        same = (row == X).all(axis=1)
        shares = np.bincount(y[same], minlength=3) / same.sum()
        np.testing.assert_allclose(model.predict_proba(row[None])[0], shares)


def test_unequal_levels_and_a_nuisance_column_are_told_by_merit():
    cuts = ((0.3,), (0.2, 0.5, 0.6), (0.1, 0.35, 0.4, 0.7, 0.9))
    grid = HiddenGrid(cuts, nuisance=1, noise=0.05)
    X, y = grid.rows(60_000)
    model = cw.DiscreteBayes(60, gain=GAIN, levels="merit", random_state=0).fit(X, y)
    assert model.levels_ == [2, 4, 6, 1]
    assert farthest(model, cuts) < 2e-3


def test_no_smoothing_is_k_zero_and_the_seed_decides():
    X, y = HiddenGrid(BOUNDARIES[:3]).rows(20_000)
    plain = cw.DiscreteBayes(500, bin_smoothing=None, random_state=3).fit(X, y)
    zero = cw.DiscreteBayes(500, bin_smoothing=0.0, smooth_by="class", random_state=3).fit(X, y)
    np.testing.assert_array_equal(plain.predict_proba(X[:500]), zero.predict_proba(X[:500]))
    assert [edges.tolist() for edges in plain.boundaries_] == [
        edges.tolist() for edges in zero.boundaries_
    ]


def test_an_interrupt_keeps_the_best_so_far():
    def stop(done, total, text):
        if text.startswith("squares"):
            raise KeyboardInterrupt

    X, y = HiddenGrid(BOUNDARIES[:3]).rows(20_000)
    model = cw.DiscreteBayes(500, random_state=0).fit(X, y, progress=stop)
    assert any(note.code == "P12" for note in model.notes_)
    assert model.score(X, y) > 0.9


def test_progress_reports_stages_and_gains():
    X, y = HiddenGrid(BOUNDARIES[:3]).rows(20_000)
    steps = []
    model = cw.DiscreteBayes(500, random_state=0)
    model.fit(X, y, progress=lambda *step: steps.append(step))
    done, totals, texts = zip(*steps, strict=True)
    assert list(done) == sorted(done)
    assert max(done) < min(totals) == max(totals)
    assert len(steps) == len(model.history_)
    last = model.history_[-1]
    train, validation = last["train"], last["validation"]
    assert texts[-1] == (
        f"{last['stage']}: training gain {train:.4f}, validation gain {validation:.4f}"
    )
    with pytest.raises(cw.CountwiseError, match="progress must be True or False, or a func"):
        model.fit(X, y, progress="bar")


def test_the_papers_search_finds_less():
    X, y = HiddenGrid(BOUNDARIES[:3]).rows(20_000)
    ours = cw.DiscreteBayes(500, gain=GAIN, random_state=0).fit(X, y)
    theirs = cw.DiscreteBayes(500, gain=GAIN, search="paper", random_state=0, max_seconds=3).fit(
        X, y
    )
    assert theirs.gain_["validation"] < ours.gain_["validation"]


def test_the_papers_search_looks_at_every_row_and_counts_as_it_moves():
    X, y = HiddenGrid(BOUNDARIES[:2]).rows(260_000)  # more than any sample
    model = cw.DiscreteBayes(36, search="paper", random_state=0, bin_smoothing=None).fit(X, y)
    assert model.notes_ == ()
    last = [step for step in model.history_ if step["stage"] == "paper"][-1]
    # What was added up move by move is what the cells of all rows earn.
    assert last["validation"] == pytest.approx(model.gain_["validation"], abs=1e-12)
    assert last["train"] == pytest.approx(model.gain_["train"], abs=1e-12)


def test_the_papers_search_refuses_more_cells_than_a_table_can_hold():
    rng = np.random.default_rng(0)
    X, y = rng.random((1000, 5)), rng.integers(0, 2, 1000)
    model = cw.DiscreteBayes(1e9, levels=[60] * 5, search="paper")
    with pytest.raises(cw.CountwiseError, match="a table of all cells, at most 4,194,304; got"):
        model.fit(X, y)


def test_a_saved_model_answers_the_same(tmp_path):
    table = cw.read("sample:credit-g")
    model = cw.DiscreteBayes(2000, random_state=0).fit(table)
    cw.save(model, tmp_path / "model.cw")
    again = cw.load(tmp_path / "model.cw")
    np.testing.assert_array_equal(again.predict_proba(table), model.predict_proba(table))
    assert again.history_ == model.history_


def test_pictures_are_drawn():
    table = cw.read("sample:iris")
    model = cw.DiscreteBayes(50, random_state=0).fit(table)
    assert "cells" in cw.draw(model).title
    assert cw.draw(model, ("petal_length", "petal_width")).title.endswith("petal_width")
    with pytest.raises(cw.CountwiseError, match="what must be a column"):
        cw.draw(model, "petal")
