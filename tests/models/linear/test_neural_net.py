"""The network: its curve, its progress, its early end, and what it can learn."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier

import countwise as cw
from countwise.errors import ParameterError
from countwise.models.linear.base import activate
from countwise.models.linear.neural_net import NeuralNet


@pytest.fixture(scope="module")
def rings():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    return X, np.where(np.hypot(*X.T) < 1.1, "inside", "outside")


def test_it_learns_what_no_plane_separates(rings):
    X, y = rings
    assert cw.Logistic().fit(X, y).score(X, y) < 0.7
    model = NeuralNet((16,), max_iter=200).fit(X, y)
    assert model.score(X, y) > 0.93


def test_the_curve_is_kept_and_progress_told(rings):
    told = []
    model = NeuralNet((8,), max_iter=12, n_iter_no_change=50)
    model.fit(*rings, progress=lambda done, total, text: told.append((done, total, text)))
    assert [own[0] for own in told] == list(range(1, 13))
    assert told[0][1] == 12
    assert "loss" in told[-1][2]
    assert len(model.curve_) == 12
    assert model.curve_[-1].loss < model.curve_[0].loss
    assert all(0 <= own.error <= 1 for own in model.curve_)


def test_it_ends_early_and_keeps_the_best_epoch(rings):
    model = NeuralNet((8,), max_iter=2000, n_iter_no_change=3, learning_rate_init=0.05).fit(*rings)
    assert len(model.curve_) < 500
    assert len(model.curve_) == model.best_epoch_ + 3
    few = NeuralNet((4,), max_iter=15).fit([[0.0], [1.0], [2.0]], [0, 1, 1])
    assert np.isnan(few.curve_[0].error)


@pytest.mark.parametrize("how", ["relu", "tanh", "logistic"])
def test_our_forward_pass_is_scikit_learns(rings, how):
    X, y = rings
    net = MLPClassifier((5, 4), activation=how, max_iter=30, random_state=0)
    with pytest.warns(ConvergenceWarning):
        net.fit(X, y)
    held = X
    for place, (own, bias) in enumerate(zip(net.coefs_, net.intercepts_, strict=True)):
        held = held @ own + bias
        held = activate(held, how) if place < 2 else held
    expected = net.predict_proba(X)[:, 1]
    np.testing.assert_allclose(1 / (1 + np.exp(-held[:, 0])), expected, atol=1e-10)


def test_without_hidden_layers_it_has_coefficients(rings):
    X, y = rings
    plain = NeuralNet((), max_iter=5).fit(X, y)
    assert len(plain.coefficients_) == 3
    with pytest.raises(ParameterError, match="only a model of one layer has coefficients"):
        _ = NeuralNet((3,), max_iter=2).fit(X, y).coefficients_
    deep = NeuralNet((3,), max_iter=2).fit(X, y)
    why = deep.explain(X)
    np.testing.assert_allclose(why.base + why.parts.sum(axis=1), why.joint, atol=1e-12)
    np.testing.assert_allclose(why.posteriors, deep.predict_proba(X), atol=1e-8)


def test_equal_seeds_give_equal_networks(rings):
    one, two, other = (
        NeuralNet((4,), max_iter=5, random_state=seed).fit(*rings).predict_proba(rings[0])
        for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(one, two)
    assert (one != other).any()


def test_fractional_weights_count(rings):
    X, y = rings
    weight = np.where(y == "inside", 0.05, 1.5)
    shares = NeuralNet((8,), max_iter=40).fit(X, y, sample_weight=weight).predict(X)
    assert (shares == "inside").mean() < (y == "inside").mean()


def test_repeated_rows_are_shared_out_between_training_and_held_out():
    """Were all copies of a corner held out, no epoch could get them right."""
    corners = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 25)
    either = corners[:, 0] ^ corners[:, 1]
    model = cw.NeuralNet().fit(corners, either)
    assert model.score(corners, either) == 1.0
    shuffled = np.random.default_rng(0).permutation(100)
    again = cw.NeuralNet().fit(corners[shuffled], either[shuffled])
    np.testing.assert_array_equal(model.predict_proba(corners), again.predict_proba(corners))
