"""Axes, ticks and legends."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from countwise.reports.figures.palette import HUES
from countwise.reports.figures.svg import (
    circle,
    drawing,
    element,
    label,
    line,
    number,
    rect,
    shortened,
    tip,
    width_of,
)

_SIZE = 11.0
#: Dates are marked every so many months, if there is room.
_MONTH_STEPS = (1, 3, 6, 12, 24, 60, 120, 240, 600, 1200)


@dataclass(frozen=True)
class Scale:
    """Map values from `low` to `high` onto pixels from `start` to `stop`, perhaps by logarithm."""

    low: float
    high: float
    start: float
    stop: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """Return the pixel; a value outside the scale is put on its edge."""
        low, high, at = self.low, self.high, value
        if self.log:
            low, high, at = math.log(low), math.log(high), math.log(value)
        if high <= low:
            return (self.start + self.stop) / 2
        fraction = min(max((at - low) / (high - low), 0.0), 1.0)
        return self.start + fraction * (self.stop - self.start)


def padded_range(
    values: Sequence[float], pad: float, probability: bool = False
) -> tuple[float, float]:
    """Return the range of values, widened by a fraction at both ends, perhaps within 0 and 1."""
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    margin = pad * (high - low) or 0.05
    low, high = low - margin, high + margin
    return (max(low, 0.0), min(high, 1.0)) if probability else (low, high)


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Return round values from `low` to `high`, which leave at most `most` gaps between them."""
    if not high > low:
        return [low]
    power = 10.0 ** math.floor(math.log10((high - low) / max(most, 1)))
    for step in (m * power for m in (1, 2, 5, 10, 20)):
        first = math.ceil(low / step - 1e-9)
        last = math.floor(high / step + 1e-9)
        if last - first <= max(most, 1):
            break
    return [round(place * step, 12) + 0.0 for place in range(first, last + 1)] or [low]


def tick_words(values: Sequence[float]) -> list[str]:
    """Write ticks with as many digits as they need, all with the same number."""
    if any(value and not 1e-4 <= abs(value) < 1e7 for value in values):
        texts = [f"{value:.3g}" for value in values]
    else:
        digits = next((digits for digits in range(7) if _suffice(digits, values)), 6)
        texts = [f"{value:,.{digits}f}" for value in values]
    return [text.replace("-", "−") for text in texts]


def _suffice(digits: int, values: Sequence[float]) -> bool:
    return all(abs(round(value, digits) - value) <= 1e-9 * max(1.0, abs(value)) for value in values)


def tick_room(low: float, high: float, most: int = 5) -> float:
    """Return the width of the longest tick that `left_axis` writes."""
    return max(width_of(text, _SIZE) for text in tick_words(ticks(low, high, most)))


def log_ticks(scale: Scale, size: float) -> list[float]:
    """Return 1, 2, 5, 10, 20 ... within a logarithmic scale, as many as there is room for."""
    powers = range(math.floor(math.log10(scale.low)), math.ceil(math.log10(scale.high)) + 1)
    for leading in ((1, 2, 5), (1, 3), (1,)):
        values = [m * 10.0**power for power in powers for m in leading]
        inside = [value for value in values if scale.low <= value <= scale.high]
        if len(inside) >= 2 and _fit(inside, scale, size):
            return inside
    return [scale.low, scale.high]


def _fit(values: Sequence[float], scale: Scale, size: float) -> bool:
    words = tick_words(values)
    for place in range(1, len(values)):
        gap = scale(values[place]) - scale(values[place - 1])
        if gap < (width_of(words[place], size) + width_of(words[place - 1], size)) / 2 + 6:
            return False
    return True


def bottom_axis(
    across: Scale,
    y: float,
    words: str = "",
    most: int = 6,
    *,
    marks: Iterable[tuple[float, str]] | None = None,
    ends: tuple[float, float] | None = None,
    width: float = math.inf,
) -> str:
    """Draw an axis below a plot, with round ticks or `marks` and a name, texts left of `width`."""
    start, stop = ends or (across.start, across.stop)
    parts, end = [line(start, y, stop, y, "axis")], -math.inf
    for value, text in number_marks(across, most) if marks is None else marks:
        x, half = across(value), width_of(text, _SIZE) / 2
        parts.append(line(x, y, x, y + 4, "axis"))
        middle = min(max(x, half), width - half) if width < math.inf else x
        if middle - half >= end + 6:
            parts.append(tick_label(middle, y + 16, text))
            end = middle + half
    if words:
        room = abs(stop - start)
        parts.append(label((start + stop) / 2, y + 34, words, anchor="middle", room=room))
    return "".join(parts)


def number_marks(scale: Scale, most: int) -> list[tuple[float, str]]:
    """Return round ticks of a scale with their texts."""
    values = ticks(scale.low, scale.high, most)
    return list(zip(values, tick_words(values), strict=True))


def date_marks(scale: Scale, most: int) -> list[tuple[float, str]]:
    """Return the first days of years, months or weeks on a scale of days since 1970-01-01."""
    from countwise.tables.cell_forms import date_text, days_since_epoch, to_moment

    low, high = to_moment(scale.low), to_moment(scale.high)
    if low is None or high is None:
        return number_marks(scale, most)
    first, last = (12 * moment.year + moment.month - 1 for moment in (low, high))
    for step in _MONTH_STEPS:
        months = range(-(-first // step) * step, last + 1, step)
        days = [
            days_since_epoch(datetime(month // 12, month % 12 + 1, 1))
            for month in months
            if 12 <= month < 120_000
        ]
        inside = [day for day in days if scale.low <= day <= scale.high]
        if 2 <= len(inside) <= most + 1:
            end = 4 if step >= 12 else 7
            return [(day, date_text(day)[:end]) for day in inside]
    return [(day, date_text(day)) for day in ticks(scale.low, scale.high, most)]


def tick_label(x: float, y: float, text: str, room: float | None = None) -> str:
    """Return the text of a tick below a plot."""
    return label(x, y, text, room=room, size=_SIZE, anchor="middle", classes="soft")


def left_axis(up: Scale, x: float, right: float | None = None, most: int = 5) -> str:
    """Draw the texts of an axis left of a plot, and lines across the plot up to `right`."""
    parts = []
    for value, text in number_marks(up, most):
        y = up(value)
        if right is not None:
            parts.append(line(x, y, right, y, "grid"))
        parts.append(label(x - 6, y + 4, text, size=_SIZE, anchor="end", classes="soft"))
    return "".join(parts)


_NAME_SIZE, _STEP, _GAP, _SWATCH = 12.0, 20.0, 18.0, 26.0
_RADIUS = 3.0


def legend(names: Sequence[str], width: float) -> tuple[str, float]:
    """Return names beside the lines of their colors, and the height of it all."""
    return place_names(
        names, width, lambda x, y, place: line(x, y + 10, x + 20, y + 10, f"s{place % HUES}")
    )


def legend_figure(names: Sequence[str], width: float = 340) -> str:
    """Draw a legend as a figure of its own."""
    parts, height = legend(names, width)
    return drawing(width, height, "Legend", f"Colors of {', '.join(names)}.", parts)


def mark_legend(names: Sequence[str], width: float) -> tuple[str, float]:
    """Return names beside their marks and grounds, and the height of it all."""

    def swatch(x: float, y: float, place: int) -> str:
        return rect(x, y + 3, 20, 14, f"a{place % HUES}") + mark(x + 10, y + 10, place)

    return place_names(names, width, swatch)


def mark(x: float, y: float, place: int, words: str = "") -> str:
    """Return the mark of a class: disc, square, triangle or diamond, in the color of the class."""
    color, shape = f"c{place % HUES}", place % 4
    if shape == 0:
        return circle(x, y, _RADIUS, color, words)
    if shape == 1:
        side = 1.8 * _RADIUS
        return rect(x - side / 2, y - side / 2, side, side, color, words)
    size = 1.3 * _RADIUS
    corners = [(0, -size), (size, 0.8 * size), (-size, 0.8 * size)]
    if shape == 3:
        corners = [(0, -size), (size, 0), (0, size), (-size, 0)]
    steps = " ".join(f"{number(x + dx)} {number(y + dy)}" for dx, dy in corners)
    return element("path", tip(words), d=f"M{steps}Z", class_=color)


def place_names(
    names: Sequence[str], width: float, swatch: Callable[[float, float, int], str]
) -> tuple[str, float]:
    """Put names in lines, each beside what `swatch` draws 20 pixels wide at x and y."""
    x, y, room, parts = 0.0, 0.0, width - _SWATCH, []
    for place, name in enumerate(names):
        needs = _SWATCH + width_of(shortened(name, room, _NAME_SIZE), _NAME_SIZE)
        if x > 0 and x + needs > width:
            x, y = 0.0, y + _STEP
        parts.append(swatch(x, y, place))
        parts.append(label(x + _SWATCH, y + 14, name, room=room, size=_NAME_SIZE))
        x += needs + _GAP
    return "".join(parts), y + _STEP
