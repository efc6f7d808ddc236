"""The fit: gradient, optimum, order of rows and columns, weights, threads."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from countwise.models.additive._passes import Solver
from countwise.models.additive.basis import (
    KINDS,
    Design,
    column_basis,
    find_knots,
    group_column,
    lay_out,
)
from countwise.models.additive.bins import class_counts, learn_bins
from countwise.models.additive.fit import Rows, fit_parameters, predict_range, to_probabilities
from countwise.models.additive.words import code_columns
from countwise.tables.read import read

PAIRS = ((0, 1), (1, 2), (0, 2))


def make_table(rows=160, classes=3, seed=0):
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=rows), rng.integers(0, 5, rows).astype(float)
    word = rng.choice(["a", "b", "c", "d"], rows)
    x[::9] = np.nan
    score = np.nan_to_num(x) * np.where(word == "a", 2, -1) + z / 3 + rng.logistic(size=rows)
    y = np.digitize(score, np.quantile(score, np.arange(1, classes) / classes))
    return read(
        {"x": x.tolist(), "z": z.tolist(), "word": word.tolist(), "y": [f"c{c}" for c in y]},
        target="y",
        nominal=["word"],
    )


def prepare(table, weight=None, pairs=PAIRS) -> tuple[Rows, Design]:
    y = table.target.astype(np.int32)
    classes = len(table.classes)
    weight = np.ones(len(table)) if weight is None else weight
    names = [column.name for column in table.schema.attributes]
    bins = [learn_bins(table, name, y, weight, classes, 16) for name in names]
    codes = code_columns(bins, table)
    bases = [
        column_basis(
            column,
            find_knots(
                column, class_counts(code.astype(int), y, weight, column.width + 2, classes)
            ),
            1.0,
        )
        for column, code in zip(bins, codes, strict=True)
    ]
    groups = [group_column(column, 8, 8, smooth=True) for column in bins]
    bounds = np.asarray([0, len(y) // 5, len(y)], dtype=np.int64)
    return Rows(codes, y, weight, classes, bounds, 1), lay_out(bases, groups, pairs)


def objective(rows, design, penalties, parameters):
    """Loss and penalty, computed without the compiled pass over rows."""
    shares = predict_range(rows, design, parameters, 0, len(rows))
    loss = -(rows.weight * np.log(shares[np.arange(len(rows)), rows.y])).sum()
    penalty = penalties[design.kinds] * (0.5 if rows.scores == 1 else 1.0)
    return loss + 0.5 * (penalty[:, None] * parameters[1:] ** 2).sum()


def gradient(rows, design, penalties, parameters):
    """The gradient as one step of the solver sees it: with scales of one it moves by it."""
    size = (design.basis.parameters + 1) * rows.scores
    penalty = penalties[design.kinds] * (0.5 if rows.scores == 1 else 1.0)
    solver = Solver(
        design.layout,
        design.basis,
        rows.scores,
        1,
        np.ones(size),
        penalty,
        np.zeros(size, np.uint8),
        parameters.ravel(),
        0.0,
        0.0,
        100,
    )
    solver.add_rows(0, rows.codes, rows.y, rows.weight, 0, len(rows))
    solver.step()
    return solver.gradient().reshape(parameters.shape), solver.value


@pytest.mark.parametrize("classes", [2, 3])
def test_the_gradient_equals_finite_differences(classes):
    rows, design = prepare(make_table(classes=classes))
    penalties = np.linspace(0.5, 2.0, KINDS)
    rng = np.random.default_rng(1)
    parameters = rng.normal(scale=0.2, size=(design.basis.parameters + 1, rows.scores))
    found, value = gradient(rows, design, penalties, parameters)
    assert value == pytest.approx(objective(rows, design, penalties, parameters), rel=1e-12)
    step = 1e-5
    for _ in range(40):
        at = tuple(rng.integers(0, side) for side in parameters.shape)
        up, down = parameters.copy(), parameters.copy()
        up[at] += step
        down[at] -= step
        slope = objective(rows, design, penalties, up) - objective(rows, design, penalties, down)
        assert found[at] == pytest.approx(slope / (2 * step), abs=1e-5)


@pytest.mark.parametrize("classes", [2, 3])
def test_the_optimum_is_that_of_scipy(classes):
    rows, design = prepare(make_table(90, classes), pairs=((0, 2),))
    penalties = np.full(KINDS, 0.7)
    found = fit_parameters(rows.part(None), design, penalties, tight=True)
    shape = found.shape

    def function(flat):
        slope, value = gradient(rows, design, penalties, np.ascontiguousarray(flat.reshape(shape)))
        return value, slope.ravel()

    options = {"maxiter": 5000, "maxfun": 20000, "ftol": 1e-15, "gtol": 1e-8}
    best = minimize(function, np.zeros(found.size), jac=True, method="L-BFGS-B", options=options)
    assert objective(rows, design, penalties, found) == pytest.approx(best.fun, rel=1e-9)
    expected = predict_range(
        rows, design, np.ascontiguousarray(best.x.reshape(shape)), 0, len(rows)
    )
    np.testing.assert_allclose(
        predict_range(rows, design, found, 0, len(rows)), expected, atol=1e-5
    )
    slope = np.linalg.norm(gradient(rows, design, penalties, found)[0])
    empty = np.linalg.norm(gradient(rows, design, penalties, np.zeros(shape))[0])
    assert slope <= 1e-4 * empty


def probabilities(table, penalties, weight=None):
    rows, design = prepare(table, weight)
    parameters = fit_parameters(rows.part(None), design, penalties, tight=True)
    return predict_range(rows, design, parameters, 0, len(rows))


@pytest.mark.parametrize("penalty", [0.5, 0.003])
def test_the_order_of_rows_and_columns_changes_nothing_at_given_penalties(penalty):
    table, penalties = make_table(), np.full(KINDS, penalty)
    plain = probabilities(table, penalties)
    order = np.random.default_rng(3).permutation(len(table))
    shuffled = probabilities(table.take(order), penalties)
    np.testing.assert_allclose(shuffled, plain[order], atol=1e-6)
    columns = {name: table.decode(name).tolist() for name in ("word", "z", "x", "y")}
    turned = probabilities(read(columns, target="y", nominal=["word"]), penalties)
    np.testing.assert_allclose(turned, plain, atol=1e-6)


@pytest.mark.parametrize("penalty", [0.5, 0.003])
def test_a_weight_repeats_a_row_at_given_penalties(penalty):
    table, penalties = make_table(80), np.full(KINDS, penalty)
    weight = 1.0 + np.arange(80) % 3
    order = np.repeat(np.arange(80), weight.astype(int))
    repeated = probabilities(table.take(order), penalties)
    weighted = probabilities(table, penalties, weight)
    np.testing.assert_allclose(repeated, weighted[order], atol=1e-6)


def test_threads_do_not_change_a_bit(monkeypatch):
    from countwise.models.additive import fit

    rows, design = prepare(make_table(20_000, 2))
    penalties = np.full(KINDS, 3.0)
    found = []
    for threads, limit in (("1", 10**12), ("1", 0), ("2", 0)):
        monkeypatch.setenv("COUNTWISE_THREADS", threads)
        monkeypatch.setattr(fit, "_THREADED", limit)
        found.append(fit_parameters(rows.part(None), design, penalties))
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[1], found[2])


def test_one_score_is_the_log_odds_of_the_second_class():
    shares = to_probabilities(np.asarray([[0.0], [2.0]]))
    np.testing.assert_allclose(shares[:, 1], 1 / (1 + np.exp([-0.0, -2.0])))
