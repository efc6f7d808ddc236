"""Naive Bayes and TAN as the papers have them: densities and counts as they stand."""

from __future__ import annotations

from typing import Any

from countwise.models.bayes.naive_bayes import NaiveBayes
from countwise.models.bayes.tan import TAN


def exact_naive_bayes(smoothing: Any = 1.0, **options: Any) -> NaiveBayes:
    """Return a naive Bayes of exact normal densities, unless the options say otherwise."""
    exact: dict[str, Any] = {
        "numeric": "gaussian",
        "min_deviation": 0,
        "cuts": "width",
        "calibrate": None,
    }
    return NaiveBayes(smoothing, **(exact | options))


def exact_tan(smoothing: Any = 1.0, **options: Any) -> TAN:
    """Return a TAN with Laplace's smoothing and the cuts that description length pays for."""
    exact: dict[str, Any] = {"cuts": "mdl", "calibrate": None}
    return TAN(smoothing, **(exact | options))
