"""Law 9: what decisions earn.

Identity gain is argmax; the wheel's long-run shares are the posteriors; ExpectedGain earns what
the measure promised, and no other rule earns more under the same posterior.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from countwise.decisions.confusion import Confusion
from countwise.decisions.expected_gain import expected_accuracy, expected_gain, promised_gain
from countwise.decisions.gain_matrix import GainMatrix
from countwise.decisions.rules import Argmax, ExpectedGain, RouletteWheel, Rule

MASSES = st.floats(0, 1).map(lambda mass: round(mass, 6))
GAINS = st.integers(-20, 20).map(float)


@st.composite
def posteriors(draw, classes=None):
    width = draw(st.integers(2, 4)) if classes is None else classes
    rows = draw(arrays(float, (draw(st.integers(1, 6)), width), elements=MASSES))
    rows[rows.sum(axis=1) == 0] = 1.0
    return rows / rows.sum(axis=1, keepdims=True)


@st.composite
def problems(draw):
    """Posteriors, and gains with or without a column for undecided cases."""
    rows = draw(posteriors())
    width = rows.shape[1]
    gains = draw(arrays(float, (width, width + draw(st.integers(0, 1))), elements=GAINS))
    classes = [f"class {letter}" for letter in "dbca"[:width]]
    word = "ask" if gains.shape[1] > width else None
    return rows, GainMatrix.of(gains, classes, no_decision=word)


class Fixed(Rule):
    """Any rule there is: one share per case and decision, whatever the posteriors."""

    def __init__(self, table, labels):
        self.table, self.labels = table, labels

    def shares(self, posteriors):
        return self.table

    def decisions(self, classes):
        return np.array(self.labels)


@settings(max_examples=60, deadline=None)
@given(posteriors())
def test_identity_gain_is_argmax(rows):
    classes = list(range(rows.shape[1]))
    rule = ExpectedGain(GainMatrix.identity(classes))
    np.testing.assert_array_equal(rule.shares(rows), Argmax().shares(rows))
    np.testing.assert_array_equal(rule.choose(rows), Argmax().choose(rows))
    assert promised_gain(rule, rows) == pytest.approx(rows.max(axis=1).mean())


@settings(max_examples=60, deadline=None)
@given(problems())
def test_every_rule_is_a_share_of_one(problem):
    rows, matrix = problem
    for rule in (Argmax(), RouletteWheel(0), ExpectedGain(matrix)):
        shares = rule.shares(rows)
        assert shares.shape == (len(rows), len(rule.decisions(matrix.classes)))
        assert np.all(shares >= 0)
        np.testing.assert_allclose(shares.sum(axis=1), 1.0)
        chosen = rule.choose(rows)
        assert np.all(shares[np.arange(len(rows)), chosen] > 0)


@settings(max_examples=20, deadline=None)
@given(posteriors(), st.integers(0, 2**32 - 1))
def test_the_wheels_long_run_shares_are_the_posteriors(rows, seed):
    row, turns = rows[0], 20_000
    chosen = RouletteWheel(seed).choose(np.tile(row, (turns, 1)))
    seen = np.bincount(chosen, minlength=len(row)) / turns
    # six standard errors: a false alarm in a billion
    assert np.all(np.abs(seen - row) <= 6 * np.sqrt(row * (1 - row) / turns) + 1e-12)


@settings(max_examples=60, deadline=None)
@given(problems(), st.data())
def test_no_rule_promises_more_than_expected_gain(problem, data):
    rows, matrix = problem
    best = promised_gain(ExpectedGain(matrix), rows)
    table = data.draw(arrays(float, (len(rows), len(matrix.decisions)), elements=MASSES)) + 1e-9
    other = Fixed(table / table.sum(axis=1, keepdims=True), matrix.decisions)
    for rule in (Argmax(), RouletteWheel(), other):
        assert promised_gain(rule, rows, matrix) <= best + 1e-9


@settings(max_examples=60, deadline=None)
@given(problems())
def test_rules_earn_what_was_promised_when_the_posteriors_are_true(problem):
    """Every case once with each class, weighed by its posterior: the promise, to the digit."""
    rows, matrix = problem
    width = rows.shape[1]
    cases = np.repeat(rows, width, axis=0)
    true = np.tile(np.array(matrix.classes), len(rows))
    for rule in (ExpectedGain(matrix), Argmax(), RouletteWheel()):
        promised = promised_gain(rule, rows, matrix)
        earned = expected_gain(rule, cases, true, matrix, sample_weight=rows.ravel())
        assert earned == pytest.approx(promised, abs=1e-9)
        table = Confusion.of(
            true,
            rule.shares(cases),
            matrix.classes,
            sample_weight=rows.ravel(),
            decisions=rule.decisions(matrix.classes),
        )
        assert table.expected_gain(matrix) == pytest.approx(promised, abs=1e-9)
        right = expected_accuracy(rule, cases, true, matrix.classes, sample_weight=rows.ravel())
        assert table.accuracy == pytest.approx(right, abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(problems(), st.data())
def test_the_gain_of_a_partition_is_what_its_cells_earn(problem, data):
    """On the counts it learned from, the rule earns the sum over cells of the best column."""
    rows, matrix = problem
    counts = data.draw(arrays(int, rows.shape, elements=st.integers(0, 5)))
    counts[counts.sum(axis=1) == 0] = 1
    measure = (counts @ matrix.values).max(axis=1).sum() / counts.sum()
    cells, classes = np.indices(counts.shape).reshape(2, -1)
    cell, true = np.repeat(cells, counts.ravel()), np.repeat(classes, counts.ravel())
    labels = np.array(matrix.classes)[true]
    assert expected_gain(ExpectedGain(matrix), counts[cell], labels) == pytest.approx(measure)


@settings(max_examples=60, deadline=None)
@given(problems(), st.randoms(use_true_random=False))
def test_the_order_of_classes_changes_nothing(problem, random):
    rows, matrix = problem
    order = list(range(rows.shape[1]))
    random.shuffle(order)
    classes = [matrix.classes[at] for at in order]
    turned = rows[:, order]
    assert promised_gain(ExpectedGain(matrix), turned, classes=classes) == pytest.approx(
        promised_gain(ExpectedGain(matrix), rows), abs=1e-9
    )
