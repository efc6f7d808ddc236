"""The laws, held by models of cells: nothing but the rows decides, and counts add and subtract."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import countwise as cw
from countwise.counts.information import partition_gain
from countwise.discretize.joint_search.cell_counts import count_direct
from countwise.discretize.joint_search.cell_grid import Axis, CellGrid
from countwise.discretize.joint_search.refine import Nearby
from countwise.discretize.joint_search.rows import NONE, Part
from countwise.discretize.joint_search.sweep import GAIN, Aim, CutSearch
from countwise.testing.strategies import tables

MODELS = {
    "nothing searched": lambda: cw.DiscreteBayes(64, search=None),
    "every value": lambda: cw.DiscreteBayes(None),
    "swept": lambda: cw.DiscreteBayes(64, random_state=0),
    "by merit": lambda: cw.DiscreteBayes(64, levels="merit", random_state=0),
    "smoothed": lambda: cw.DiscreteBayes(64, bin_smoothing=3.0, random_state=0),
}
few = settings(max_examples=25)
every_model = pytest.mark.parametrize("make", list(MODELS.values()), ids=list(MODELS))


@st.composite
def searches(draw):
    """A search over a few rows, with a gain matrix, weights and rows to check by."""
    rows = draw(st.integers(4, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    classes, choices = draw(st.integers(2, 3)), draw(st.integers(2, 4))
    columns = [rng.integers(0, 8, rows).astype(float) for _ in range(draw(st.integers(1, 3)))]
    if draw(st.booleans()):
        columns[0][rng.random(rows) < 0.2] = np.nan
    fixed = [(rng.integers(0, 2, rows), 2)] if draw(st.booleans()) else []
    label = (2 * rng.integers(0, classes, rows) + rng.integers(0, 2, rows)).astype(np.uint16)
    weight = rng.random(rows) * 3 if draw(st.booleans()) else NONE
    gains = rng.integers(-3, 4, (classes, choices)).astype(float)
    aim = Aim(GAIN, gains, gains, draw(st.sampled_from([0.0, 1.0, 1000.0])), 0)
    search = CutSearch(columns, fixed, label, weight, classes)
    return search, aim, classes


def recomputed(search, aim, classes):
    """What the cells of a search are worth, counted anew without any kernel."""
    context, number = search.contexts()
    weight = search.weight if len(search.weight) else np.ones(len(search))
    table = np.zeros((number, 2 * classes))
    np.add.at(table, (context, search.label), weight)
    return partition_gain(table[:, ::2], aim.train, table[:, 1::2], aim.check, aim.fallback)


def close(found, expected):
    """Gains a row are equal to 1e-12, whatever their size."""
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


@given(searches())
def test_every_accepted_move_earns_what_it_promised(drawn):
    search, aim, classes = drawn
    seen, rows = [], len(search)

    def watch(at, view, step):
        CutSearch.accept(search, at, view, step)
        seen.append((step.value, step.check))
        close(np.divide(seen[-1], rows), np.divide(recomputed(search, aim, classes), rows))

    search.accept = watch
    search.put_all([line.quantiles(3) for line in search.lines])
    before = recomputed(search, aim, classes)
    for _ in range(3):
        for at in range(len(search.lines)):
            search.visit(at, aim)
    after = recomputed(search, aim, classes)
    assert after[0] + aim.lean * after[1] >= before[0] + aim.lean * before[1] - 1e-9
    assert len(seen) == search.moves
    close(np.divide(after, rows), np.divide(search.worth(aim), rows))


@given(st.integers(0, 2**32 - 1), st.booleans())
def test_moves_near_a_boundary_are_exact_on_all_rows(seed, weighted):
    rng = np.random.default_rng(seed)
    rows = 300
    X = rng.integers(0, 100, (rows, 2)).astype(float)
    y = ((X[:, 0] > 37) ^ (X[:, 1] > 61)).astype(np.uint16)
    marks = rng.integers(0, 2, rows).astype(np.uint8)
    weight = rng.random(rows) if weighted else None
    parts = [Part((X[:, 0], X[:, 1]), y, weight, marks)]
    axes = [Axis("a", np.array([34.5]), None, 2), Axis("b", np.array([66.5]), None, 2)]
    gains = np.array([[1.0, -1.0], [-2.0, 3.0]])
    aim = Aim(GAIN, gains, gains, 1.0, 0)
    bands = {0: np.array([20.0, 50.0]), 1: np.array([45.0, 80.0])}
    nearby = Nearby(CellGrid(tuple(axes)), parts, 2, bands)
    before, promised = aim.worth(nearby.table), []
    while moves := nearby.improve(aim):
        promised += moves
    table, _ = count_direct(nearby.grid, parts, 2)
    close(nearby.table / rows, table / rows)
    after = partition_gain(table[:, ::2], gains, table[:, 1::2], gains)
    earned = np.add(before, np.sum(promised, axis=0))
    close(np.divide(earned, rows), np.divide(after, rows))


@every_model
@few
@given(tables(), st.randoms(use_true_random=False))
def test_law_2_shuffled_rows_change_nothing(make, table, random):
    order = np.array(random.sample(range(len(table)), len(table)))
    plain = make().fit(table).predict_proba(table)
    shuffled = make().fit(table.take(order)).predict_proba(table)
    np.testing.assert_allclose(shuffled, plain, atol=1e-9)


@pytest.mark.parametrize("name", ["nothing searched", "every value"])
@few
@given(tables(least_rows=2), st.data())
def test_law_1_merged_counts_are_those_of_all_rows(name, table, data):
    cut = data.draw(st.integers(1, len(table) - 1))
    first, second = table.take(slice(0, cut)), table.take(slice(cut, None))
    whole = MODELS[name]().fit(table)
    # Counts of parts in the boundaries of all rows: add a part, and take all rows away.
    one, other = (
        MODELS[name]().fit(table).partial_fit(part).forget(table) for part in (first, second)
    )
    both = one + other
    assert both.cells_.total == whole.cells_.total
    np.testing.assert_array_equal(both.cells_.levels, whole.cells_.levels)
    order = [whole.classes_.tolist().index(label) for label in both.classes_.tolist()]
    np.testing.assert_allclose(both.cells_.counts, whole.cells_.counts[:, order], atol=1e-9)


@every_model
@few
@given(tables(), st.randoms(use_true_random=False))
def test_law_2_shuffled_columns_change_nothing(make, table, random):
    names = [column.name for column in table.schema.attributes]
    other = table.select(random.sample(names, len(names)))
    np.testing.assert_allclose(
        make().fit(other).predict_proba(other), make().fit(table).predict_proba(table), atol=1e-9
    )


@every_model
@few
@given(tables(), st.data())
def test_law_3_weights_repeat_rows(make, table, data):
    weight = np.array(data.draw(st.lists(st.integers(1, 3), min_size=len(table))))[: len(table)]
    weight = np.resize(weight, len(table))
    repeated = table.take(np.repeat(np.arange(len(table)), weight))
    weighted = make().fit(table, sample_weight=weight.astype(float))
    np.testing.assert_allclose(
        weighted.predict_proba(table), make().fit(repeated).predict_proba(table), atol=1e-9
    )


@every_model
@few
@given(tables(least_rows=2), st.data())
def test_law_5_rows_add_and_subtract(make, table, data):
    cut = data.draw(st.integers(1, len(table) - 1))
    first, second = table.take(slice(0, cut)), table.take(slice(cut, None))
    model = make().fit(first)
    before = model.predict_proba(first)
    cells = dict(zip(map(tuple, model.cells_.levels), model.cells_.counts.sum(1), strict=True))
    more = make().fit(first).partial_fit(second)
    assert np.isclose(more.cells_.total, len(table))
    one_by_one = make().fit(first)
    for row in range(len(second)):
        one_by_one.partial_fit(second.take([row]))
    np.testing.assert_allclose(
        one_by_one.predict_proba(table), more.predict_proba(table), atol=1e-12
    )
    back = more.forget(second)
    assert back.classes_.tolist() == model.classes_.tolist()
    np.testing.assert_allclose(back.predict_proba(first), before, atol=1e-9)
    assert len(back.cells_) == len(cells)


@every_model
@few
@given(tables(most_rows=12))
def test_law_5_batch_prediction_is_row_by_row(make, table):
    model = make().fit(table)
    alone = [model.predict_proba(table.take([row])) for row in range(len(table))]
    np.testing.assert_array_equal(np.concatenate(alone), model.predict_proba(table))


@every_model
@few
@given(st.data())
def test_law_6_posteriors_sum_to_one_everywhere(make, data):
    train = data.draw(tables())
    cells = {}
    for column in train.schema.attributes:
        if column.kind == "nominal":
            choice = st.sampled_from(["a", "never seen", None])
        else:
            choice = st.sampled_from([0.0, 1e9, -1e100, 1e140, float("nan")])
        cells[column.name] = data.draw(st.lists(choice, min_size=5, max_size=5))
    rows = cw.read(cells, schema=train.schema.without_target())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cw.UnseenLevelWarning)
        shares = make().fit(train).predict_proba(rows)
    assert np.isfinite(shares).all()
    assert (shares >= 0).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, atol=1e-12)


@every_model
@few
@given(tables(missing=False))
def test_law_7_no_evidence_is_the_prior(make, table):
    model = make().fit(table)
    blank = {column.name: [None] for column in table.schema.attributes}
    np.testing.assert_allclose(model.predict_proba(blank)[0], model.class_prior_, atol=1e-12)


@given(tables(), st.data())
def test_law_9_decisions_are_those_of_the_wrapper(table, data):
    classes = table.classes
    cell = st.integers(-3, 3).map(float)
    gains = {one: {two: data.draw(cell) for two in classes} for one in classes}
    model = cw.DiscreteBayes(64, gain=gains, search=None).fit(table)
    if len(model.classes_) < len(classes):
        return
    wrapped = cw.Decide.over(model, cw.ExpectedGain(cw.GainMatrix.of(gains)))
    best = (model.predict_proba(table) @ model.gain_matrix_).argmax(axis=1)
    np.testing.assert_array_equal(np.asarray(model.decisions_)[best], wrapped.predict(table))
    earned = model.gain_matrix_[np.searchsorted(model.classes_, table.labels), best].mean()
    assert np.isclose(earned, wrapped.expected_gain(table), atol=1e-9)
    plain = cw.DiscreteBayes(64, search=None).fit(table)
    np.testing.assert_array_equal(
        cw.Decide.over(plain, plain.gain_matrix_).predict(table), plain.predict(table)
    )
