"""Idea: the mean probability of two models with different bins and folds.

Run: COUNTWISE_DATA=folder python -m benchmarks.accuracy_ideas.vote_of_bins
"""

from __future__ import annotations

import numpy as np

import countwise as cw
from benchmarks.accuracy_ideas.compare import compare


def vote(train: cw.Table, test: cw.Table) -> tuple[np.ndarray, np.ndarray]:
    """Return the probabilities of one model, and the mean of two."""
    one = cw.Additive().fit(train).predict_proba(test)
    two = cw.Additive(max_bins=24, random_state=1).fit(train).predict_proba(test)
    return one, (one + two) / 2


if __name__ == "__main__":
    compare(vote)
