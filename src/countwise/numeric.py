"""Numbers: softmax, random seeds, and reading numbers from text."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray

#: With so few classes the order of adding up does not depend on the way it is done.
_FEW_CLASSES = 8


def softmax(scores: FloatArray) -> FloatArray:
    """Turn log probabilities (rows × classes) into shares that sum to one in each row."""
    few = 0 < scores.shape[1] < _FEW_CLASSES
    top = _over_classes(np.maximum, scores) if few else scores.max(axis=1)
    top[~np.isfinite(top)] = 0.0
    with np.errstate(invalid="ignore"):
        shares = np.exp(scores - top[:, None])
    shares /= (_over_classes(np.add, shares) if few else shares.sum(axis=1))[:, None]
    return np.asarray(shares)


def log_softmax(scores: FloatArray) -> FloatArray:
    """Return the log of the softmax, exact also where the shares are next to nothing."""
    shifted = scores - scores.max(axis=1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True)))


#: Where probabilities are calibrated, no class is taken to be farther behind the best than this.
FARTHEST_BEHIND = 20.0


def limit_behind(scores: FloatArray) -> FloatArray:
    """Return how far classes are behind the best of each row, up to `FARTHEST_BEHIND`.

    So one hopeless row does not decide how sure a model may be.
    """
    return np.asarray(np.maximum(scores - scores.max(axis=1, keepdims=True), -FARTHEST_BEHIND))


def logs_of(shares: FloatArray) -> FloatArray:
    """Return natural logs; that of zero is minus infinity, without a warning."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(shares))


def _over_classes(join: np.ufunc, figures: FloatArray) -> FloatArray:
    """Join the columns one after the other: for few of them faster than along each row."""
    total = figures[:, 0].copy()
    for column in figures.T[1:]:
        join(total, column, out=total)
    return total


def mix_bits(numbers: Any) -> NDArray[np.uint64]:
    """Return 64-bit numbers whose every bit depends on all bits (the last steps of splitmix64)."""
    mixed = np.asarray(numbers, dtype=np.uint64)
    with np.errstate(over="ignore"):
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)))


def draw_seed(random_state: Any) -> int:
    """Draw a seed from what scikit-learn takes as `random_state`, or from a NumPy generator."""
    from sklearn.utils import check_random_state

    largest = 2**31 - 1
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(largest))
    return int(check_random_state(random_state).randint(largest))


def number_text(value: float, digits: int = 6) -> str:
    """Write a number with so many significant digits, but all digits before its point.

    Only numbers that are very small or very large are written with a power of ten.

    Examples
    --------
    >>> number_text(1234567.8), number_text(0.123456789), number_text(2e20)
    ('1234568', '0.123457', '2e+20')
    """
    text = f"{value:.{digits}g}"
    return f"{value:.0f}" if "e+" in text and abs(value) < 1e15 else text


#: Numbers as people write them in text cells, labels and marks.
WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
NUMBER = re.compile(
    r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|inf(?:inity)?)", re.ASCII | re.IGNORECASE
)
COMMA_NUMBER = re.compile(r"[+-]?(?:\d+,?\d*|,\d+)(?:e[+-]?\d+)?", re.ASCII | re.IGNORECASE)


def read_number(text: str, decimal: str | None = None) -> float | None:
    """Return the number a text is, written with a decimal point or comma; None if it is none."""
    trimmed = text.strip()
    if decimal == ",":
        trimmed = trimmed.replace(",", ".")
    return float(trimmed) if NUMBER.fullmatch(trimmed) else None
