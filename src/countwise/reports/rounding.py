"""Plain data: numbers, texts, lists and mappings that JSON can hold, with no NaN among them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from countwise.evaluation.intervals import Estimate
from countwise.tables.labels import text

#: The digits of long arrays, where fewer are enough for a page.
_DIGITS = {"probabilities": 4, "density": 3, "x": 5}


def rounded(value: float | None, digits: int = 6) -> float | None:
    """Return a number with so many significant digits; None for what is no number."""
    if value is None or not math.isfinite(value):
        return None
    return float(f"{float(value):.{digits}g}")


def figures(values: Any, digits: int = 6) -> list[Any]:
    """Return an array as nested lists of rounded numbers."""
    nested = np.asarray(values, dtype=np.float64).tolist()
    return plain(nested if isinstance(nested, list) else [nested], digits)  # type: ignore[no-any-return]


def estimate(score: Estimate) -> dict[str, float | None]:
    """Return a score and its interval, without the values of the folds."""
    return {"value": rounded(score.value), "low": rounded(score.low), "high": rounded(score.high)}


def names(labels: Iterable[Any]) -> list[str]:
    """Return labels as texts."""
    return [text(label) for label in labels]


def plain(value: Any, digits: int = 6) -> Any:
    """Return a value of dataclasses, arrays, tuples and mappings as plain data; drop functions."""
    if isinstance(value, bool | int | str | None):
        return value
    if isinstance(value, float):
        return rounded(value, digits)
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist(), digits)
    if isinstance(value, Mapping):
        return {str(name): plain(part, digits) for name, part in value.items()}
    if is_dataclass(value):
        parts = {field.name: getattr(value, field.name) for field in fields(value)}
        return {
            name: plain(part, _DIGITS.get(name, digits))
            for name, part in parts.items()
            if not callable(part)
        }
    return [plain(part, digits) for part in value]
