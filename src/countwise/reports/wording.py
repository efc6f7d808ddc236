"""Figures and scores in words, the same in every figure and on every line of the page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: What the scores are called, and in a phrase what they say.
SCORES: dict[str, tuple[str, str]] = {
    "expected_gain": ("Gain a row", "what one decision earns on average, by the gain matrix"),
    "accuracy": ("Accuracy", "share of rows whose decision is the true class"),
    "balanced_accuracy": ("Balanced accuracy", "mean over the classes of the share found"),
    "log_loss": ("Log loss", "surprise at the true class; less is better"),
    "brier": ("Brier score", "squared distance of posterior and truth; less is better"),
}


def score_words(what: str) -> str:
    """Return the name of a score."""
    return SCORES[what][0] if what in SCORES else what.replace("_", " ").capitalize()


def short(figure: float | None, digits: int = 3) -> str:
    """Return a figure with so many digits after the point, fewer for large ones; – for none."""
    if figure is None:
        return "–"
    digits = digits if abs(figure) < 10 else max(0, digits - 2) if abs(figure) < 1000 else 0
    written = f"{abs(figure):,.{digits}f}"
    negative = figure < 0 and any(mark in written for mark in "123456789")
    return f"−{written}" if negative else written


def brief(figure: float | None) -> str:
    """Return a value of the data with four digits."""
    if figure is None:
        return "–"
    large = 1000 <= abs(figure) < 1e9
    return (f"{figure:,.0f}" if large else f"{figure:.4g}").replace("-", "−")


def signed(figure: float | None, digits: int = 3) -> str:
    """Return a difference with its sign."""
    written = short(figure, digits)
    return f"+{written}" if figure is not None and figure > 0 else written


def interval_words(estimate: Mapping[str, Any], brief: bool = False) -> str:
    """Return a figure with its interval."""
    value = short(estimate["value"])
    if estimate["low"] is None or estimate["high"] is None:
        return value
    between = " – " if brief else " to "
    return f"{value} ({short(estimate['low'])}{between}{short(estimate['high'])})"


def percent(share: float | None) -> str:
    """Return a share in percent, with a digit after the point where it is small."""
    if share is None:
        return "–"
    if 0 < share < 0.001:
        return "< 0.1 %"
    return f"{100 * share:.0f} %" if share >= 0.0995 or share == 0 else f"{100 * share:.1f} %"


def seconds(time: float | None) -> str:
    """Return a time in the unit that suits it."""
    if time is None:
        return "–"
    if time >= 100:
        return f"{time / 60:.1f} min"
    if time >= 1:
        return f"{time:.1f} s"
    if time < 1e-5:
        return "< 0.01 ms"
    return f"{1000 * time:.0f} ms" if time >= 0.01 else f"{1000 * time:.2f} ms"


def counted(number: float) -> str:
    """Return a count: whole with thousands apart, or a fraction if weights made it one."""
    return f"{number:,.0f}" if abs(number - round(number)) < 1e-9 else f"{number:,.1f}"
