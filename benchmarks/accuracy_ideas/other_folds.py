"""Idea: the mean score of three models of small tables, each with other validation folds.

Tables that add up can be averaged, so the mean of three models is again such a model.
Run: COUNTWISE_DATA=folder python -m benchmarks.accuracy_ideas.other_folds
"""

from __future__ import annotations

import numpy as np

import countwise as cw
from benchmarks.accuracy_ideas.compare import compare

SMALL = (
    "iris",
    "breast-cancer",
    "hepatitis",
    "heart-statlog",
    "heart-h",
    "heart-c",
    "ecoli",
    "glass",
    "autos",
    "colic",
    "keel:hayes-roth",
    "keel:tae",
    "keel:wine",
    "keel:bupa",
    "keel:saheart",
)


def average(train: cw.Table, test: cw.Table) -> tuple[np.ndarray, np.ndarray]:
    """Return the probabilities of one model, and of the mean score of three."""
    models = [cw.Additive(random_state=seed).fit(train) for seed in (1, 2, 3)]
    found = [model.predict_proba(test) for model in models]
    scores = np.exp(np.mean([np.log(np.maximum(each, 1e-12)) for each in found], axis=0))
    return found[0], scores / scores.sum(axis=1, keepdims=True)


if __name__ == "__main__":
    compare(average, SMALL, folds=10)
