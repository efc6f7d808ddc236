"""Argmax, the roulette wheel and expected gain: shares, draws, refusals."""

import copy
import pickle

import numpy as np
import pytest

from countwise.decisions.gain_matrix import GainMatrix
from countwise.decisions.rules import Argmax, ExpectedGain, RouletteWheel, Rule, rule_of
from countwise.errors import GainError, ParameterError

CREDIT = {"bad": {"bad": 1, "good": -5}, "good": {"bad": -1, "good": 1}}
ASKING = {"bad": {"bad": 1, "good": -5, "ask": 0}, "good": {"bad": -1, "good": 1, "ask": 0}}


def test_argmax_takes_the_first_of_equals():
    assert Argmax().shares([[0.2, 0.5, 0.3], [0.4, 0.2, 0.4]]).tolist() == [[0, 1, 0], [1, 0, 0]]
    assert Argmax().choose([[0.2, 0.5, 0.3], [0.4, 0.2, 0.4]]).tolist() == [1, 0]


def test_wheel_of_table_1_with_the_papers_erratum():
    """Liu, Gegov and Cocea multiply 0.5 * 0.67 * 0.67 and print 0.04489; it is 0.2244 (P0.5)."""
    printed = RouletteWheel().shares([[0.05405, 0.04489]])
    np.testing.assert_allclose(printed, [[0.5463, 0.4537]], atol=5e-5)
    right = RouletteWheel().shares([[1 / 18, 2 / 9]])
    np.testing.assert_allclose(right, [[0.2, 0.8]], rtol=1e-15)


def test_wheel_repeats_with_a_number_and_moves_on_with_a_stream():
    posteriors = np.full((200, 4), 0.25)
    for seed in (7, np.int64(7)):
        wheel = RouletteWheel(random_state=seed)
        np.testing.assert_array_equal(wheel.choose(posteriors), wheel.choose(posteriors))
    for stream in (np.random.default_rng(7), np.random.RandomState(7)):
        wheel = RouletteWheel(random_state=stream)
        assert not np.array_equal(wheel.choose(posteriors), wheel.choose(posteriors))
    free = RouletteWheel()
    assert not np.array_equal(free.choose(posteriors), free.choose(posteriors))


def test_wheel_never_draws_a_class_of_share_zero():
    class Still(np.random.Generator):
        """A stream whose every draw is the lowest or the highest there is."""

        def random(self, size):
            return np.where(np.arange(size) % 2, np.nextafter(1.0, 0.0), 0.0)

    wheel = RouletteWheel(random_state=Still(np.random.PCG64(0)))
    chosen = wheel.choose([[0.0, 0.1, 0.2, 0.0]] * 4)
    assert chosen.tolist() == [1, 2, 1, 2]


@pytest.mark.parametrize("seed", [-1, 1.5, "seven", True])
def test_wheel_refuses_what_cannot_seed(seed):
    with pytest.raises(ParameterError, match=r"random_state must be a whole number .*; got "):
        RouletteWheel(random_state=seed)


def test_expected_gain_by_hand():
    rule = ExpectedGain(CREDIT)
    # (0.3, 0.7): bad earns 0.3 - 0.7 = -0.4, good earns -1.5 + 0.7 = -0.8
    # (0.2, 0.8): bad earns -0.6, good earns -0.2;   (0.25, 0.75): both earn -0.5
    assert rule.choose([[0.3, 0.7], [0.2, 0.8], [0.25, 0.75]]).tolist() == [0, 1, 0]
    assert rule.shares([[0.3, 0.7], [0.2, 0.8]]).tolist() == [[1, 0], [0, 1]]


def test_expected_gain_may_leave_a_case_undecided():
    rule = ExpectedGain(ASKING)
    assert rule.shares([[0.3, 0.7], [0.1, 0.9], [0.9, 0.1]]).tolist() == [
        [0, 0, 1],
        [0, 1, 0],
        [1, 0, 0],
    ]
    assert rule.decisions(np.array(["bad", "good"])).tolist() == ["bad", "good", "ask"]
    assert rule.decisions(["bad", "good"]).dtype.kind == "U"
    numbered = ExpectedGain({0: {0: 1, 1: 0, "ask": 0.7}, 1: {0: 0, 1: 1, "ask": 0.7}})
    assert numbered.decisions(np.array([0, 1])).tolist() == [0, 1, "ask"]
    assert Argmax().decisions(np.array([0, 1])).tolist() == [0, 1]


def test_bind_puts_the_matrix_in_the_order_of_the_columns():
    backwards = ExpectedGain({label: dict(CREDIT[label]) for label in ("good", "bad")})
    assert backwards.gain.classes == ("good", "bad")
    bound = backwards.bind(np.array(["bad", "good"]))
    assert bound == ExpectedGain(CREDIT)
    assert bound.choose([[0.3, 0.7]]).tolist() == [0]
    with pytest.raises(GainError, match="got none for 'ugly'"):
        backwards.bind(["bad", "ugly", "good"])


def test_bare_rows_wait_for_the_classes():
    rule = ExpectedGain([[1, -1], [-2, 3]])
    assert rule == ExpectedGain(np.array([[1, -1], [-2, 3]]))
    assert hash(rule) == hash(ExpectedGain(((1, -1), (-2, 3))))
    assert repr(rule) == "ExpectedGain(gain=((1.0, -1.0), (-2.0, 3.0)))"
    assert rule.notes == ()
    assert rule.choose([[0.6, 0.4]]).tolist() == [1]
    bound = rule.bind(["a", "b"])
    assert bound.gain == GainMatrix.of([[1, -1], [-2, 3]], ["a", "b"])
    assert "both in the order 'a', 'b'" in bound.notes[0]
    with pytest.raises(GainError, match="got 'x'"):
        ExpectedGain([[1, "x"], [0, 1]])
    with pytest.raises(GainError, match="every row must have as many gains"):
        ExpectedGain([[1, 2], [0]])
    wide = ExpectedGain([[1, -5, 0], [-1, 1, 0]])
    assert wide.shares([[0.3, 0.7]]).tolist() == [[0, 0, 1]]
    with pytest.raises(GainError, match="no_decision="):
        wide.bind(["bad", "good"])


@pytest.mark.parametrize(
    "rule", [Argmax(), RouletteWheel(3), RouletteWheel(), ExpectedGain(CREDIT), ExpectedGain([[1]])]
)
def test_rules_are_values(rule):
    for other in (copy.deepcopy(rule), pickle.loads(pickle.dumps(rule))):
        assert other == rule
        assert repr(other) == repr(rule)
    assert isinstance(rule, Rule)
    with pytest.raises(AttributeError):
        rule.gain = 1
    assert rule_of(rule) is rule


def test_words_and_matrices_name_rules():
    assert rule_of("argmax") == Argmax()
    assert rule_of("roulette") == RouletteWheel()
    assert rule_of(CREDIT) == rule_of(GainMatrix.of(CREDIT)) == ExpectedGain(CREDIT)
    with pytest.raises(ParameterError, match=r"got 'roulete'\. Did you mean 'roulette'\?"):
        rule_of("roulete")
    with pytest.raises(ParameterError, match=r"or the path of one; got 'wheel of fortune'\."):
        rule_of("wheel of fortune")
    for nonsense in (None, Argmax, len):
        with pytest.raises(ParameterError, match=r"got .*\. Give an instance of a rule\."):
            rule_of(nonsense)


def test_the_path_of_a_gain_matrix_is_a_rule(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("gain.csv", "gain.TSV", "gains"):
        GainMatrix.of(CREDIT).write(tmp_path / name)
        assert rule_of(name) == rule_of(tmp_path / name) == ExpectedGain(CREDIT)
    GainMatrix.of(CREDIT).write(tmp_path / "argmax")
    assert rule_of("argmax") == Argmax()
    for missing in ("gone.csv", "gone.json"):
        with pytest.raises(GainError, match=f"there is no file '{missing}'"):
            rule_of(missing)
    for nowhere in ("", ".", "a\0b", "x" * 5000):
        with pytest.raises(ParameterError, match="rule must be 'argmax'"):
            rule_of(nowhere)


@pytest.mark.parametrize("rule", [Argmax(), RouletteWheel(0), ExpectedGain([[1, 0], [0, 1]])])
@pytest.mark.parametrize(
    ("posteriors", "words"),
    [
        ([0.2, 0.8], "a row per case and a column per class; got the shape (2,)"),
        ("text", "a row per case and a column per class"),
        ([[0.2, 0.8], [np.nan, 0.1]], "got [nan, 0.1] in row 1"),
        ([[0.2, -0.8]], "got [0.2, -0.8] in row 0"),
        ([[0.0, 0.0]], "not all 0 in a row; got [0.0, 0.0] in row 0"),
    ],
)
def test_posteriors_no_decision_can_be_made_from(rule, posteriors, words):
    for answer in (rule.shares, rule.choose):
        with pytest.raises(ParameterError) as refusal:
            answer(posteriors)
        assert words in str(refusal.value)
        assert str(refusal.value).startswith(f"{type(rule).__name__}: posteriors must be ")


def test_no_rows_make_no_decisions():
    for rule in (Argmax(), RouletteWheel(0), ExpectedGain([[1, 0], [0, 1]])):
        assert rule.shares(np.empty((0, 2))).shape == (0, 2)
        assert rule.choose(np.empty((0, 2))).shape == (0,)


def test_posteriors_must_fit_the_matrix():
    with pytest.raises(
        ParameterError, match="each of the 2 classes of the gain matrix; got 3 columns"
    ):
        ExpectedGain(CREDIT).shares([[0.2, 0.3, 0.5]])
