"""Round ticks, and where a figure falls on an axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from countwise.reports.figures.svg import label, line
from countwise.reports.figures.text_width import width_of


@dataclass(frozen=True)
class Scale:
    """Map figures from `low` to `high` onto pixels from `start` to `stop`, perhaps by logarithm."""

    low: float
    high: float
    start: float
    stop: float
    log: bool = False

    def __call__(self, figure: float) -> float:
        """Return the pixel; what lies outside is put on the edge."""
        low, high, at = self.low, self.high, figure
        if self.log:
            low, high, at = math.log(low), math.log(high), math.log(figure)
        if high <= low:
            return (self.start + self.stop) / 2
        share = min(max((at - low) / (high - low), 0.0), 1.0)
        return self.start + share * (self.stop - self.start)


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Return round figures from `low` to `high`, at most so many."""
    if not high > low:
        return [low]
    rough = (high - low) / max(most, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next((m * power for m in (1, 2, 5, 10) if m * power >= rough * 0.999), 10 * power)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(place * step, 12) + 0.0 for place in range(first, last + 1)] or [low]


def tick_words(figures: Sequence[float]) -> list[str]:
    """Write ticks with as many digits as they need, all alike."""
    if any(figure and not 1e-4 <= abs(figure) < 1e7 for figure in figures):
        written = [f"{figure:.3g}" for figure in figures]
    else:
        digits = next((digits for digits in range(7) if _enough(digits, figures)), 6)
        written = [f"{figure:,.{digits}f}" for figure in figures]
    return [own.replace("-", "−") for own in written]


def _enough(digits: int, figures: Sequence[float]) -> bool:
    return all(abs(round(own, digits) - own) <= 1e-9 * max(1.0, abs(own)) for own in figures)


def log_ticks(scale: Scale, size: float) -> list[float]:
    """Return 1, 2, 5, 10, 20 ... within a logarithmic scale, as many as can be labelled."""
    powers = range(math.floor(math.log10(scale.low)), math.ceil(math.log10(scale.high)) + 1)
    for leading in ((1, 2, 5), (1, 3), (1,)):
        every = [m * 10.0**power for power in powers for m in leading]
        inside = [own for own in every if scale.low <= own <= scale.high]
        if len(inside) >= 2 and _fit(inside, scale, size):
            return inside
    return [scale.low, scale.high]


def _fit(figures: Sequence[float], scale: Scale, size: float) -> bool:
    words = tick_words(figures)
    for place in range(1, len(figures)):
        gap = scale(figures[place]) - scale(figures[place - 1])
        if gap < (width_of(words[place], size) + width_of(words[place - 1], size)) / 2 + 6:
            return False
    return True


def bottom_axis(across: Scale, y: float, words: str = "", most: int = 6) -> str:
    """Return an axis below a plot, with ticks and what it shows."""
    parts = [line(across.start, y, across.stop, y, "axis")]
    marks, end = ticks(across.low, across.high, most), -1e9
    for mark, written in zip(marks, tick_words(marks), strict=True):
        x = across(mark)
        half = width_of(written, 11) / 2
        parts.append(line(x, y, x, y + 4, "axis"))
        if x - half < end + 6:
            continue
        parts.append(label(x, y + 16, written, size=11, anchor="middle", classes="soft"))
        end = x + half
    if words:
        middle = (across.start + across.stop) / 2
        room = abs(across.stop - across.start)
        parts.append(label(middle, y + 34, words, size=12, anchor="middle", room=room))
    return "".join(parts)


def left_axis(up: Scale, x: float, right: float | None = None, most: int = 5) -> str:
    """Return an axis left of a plot, with lines across it up to `right`."""
    marks = ticks(up.low, up.high, most)
    parts = []
    for mark, written in zip(marks, tick_words(marks), strict=True):
        y = up(mark)
        if right is not None:
            parts.append(line(x, y, right, y, "grid"))
        parts.append(label(x - 6, y + 4, written, size=11, anchor="end", classes="soft"))
    return "".join(parts)
