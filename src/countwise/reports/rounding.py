"""Plain data: numbers, texts, lists and mappings that JSON can hold, with no NaN among them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from countwise.evaluation.intervals import Estimate
from countwise.tables.labels import text


def rounded(value: float | None, digits: int = 6) -> float | None:
    """Return a number with so many significant digits; None for what is no number."""
    if value is None or not math.isfinite(value):
        return None
    return float(f"{float(value):.{digits}g}")


def figures(values: Any, digits: int = 6) -> list[Any]:
    """Return an array as nested lists of rounded numbers."""
    given = np.asarray(values, dtype=np.float64).tolist()
    if isinstance(given, float):
        given = [given]
    return _nested(given, digits)


def _nested(given: Sequence[Any], digits: int) -> list[Any]:
    return [
        _nested(own, digits) if isinstance(own, list) else rounded(own, digits) for own in given
    ]


def estimate(own: Estimate) -> dict[str, float | None]:
    """Return a figure and its interval, without the values of the test parts."""
    return {"value": rounded(own.value), "low": rounded(own.low), "high": rounded(own.high)}


def names(labels: Iterable[Any]) -> list[str]:
    """Return labels as texts."""
    return [text(label) for label in labels]
