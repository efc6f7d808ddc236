"""DiscreteBayes: cells within a budget, boundaries where the rows have them."""

import numpy as np
import pytest

import countwise as cw
from countwise.testing.hidden_grid import HiddenGrid

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
    model = cw.DiscreteBayes(10_000, GAIN, random_state=0).fit(X, y)
    assert model.levels_ == [6, 6, 6, 6, 6]
    assert farthest(model, BOUNDARIES) < 2e-4
    fresh, labels = grid.rows(100_000, seed=2)
    assert model.score(fresh, labels) > 0.98
    assert model.expected_gain(fresh, labels) > 0.98 * grid.best_gain(fresh, labels, GAIN)


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_the_hidden_boundaries_are_found_on_a_million_rows(noise):
    grid = HiddenGrid(BOUNDARIES, noise=noise)
    X, y = grid.rows(1_000_000)
    Xv, yv = grid.rows(500_000, seed=2)
    model = cw.DiscreteBayes(10_000, GAIN, random_state=0).fit(X, y, validation=(Xv, yv))
    assert farthest(model, BOUNDARIES) < 1e-4
    fresh, labels = grid.rows(500_000, seed=3)
    assert model.expected_gain(fresh, labels) > 0.99 * grid.best_gain(fresh, labels, GAIN)
