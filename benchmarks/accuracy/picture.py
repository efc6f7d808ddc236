"""The critical-difference picture (Demšar 2006): mean ranks on a line, the best on the left.

A bar joins models whose ranks differ by less than the critical difference.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any

from countwise.reports.figures.axes import Scale
from countwise.reports.figures.svg import circle, drawing, label, line, path, width_of

_SIZE, _PITCH, _BAR = 12.0, 19.0, 7.0


def join_ranks(mean: Mapping[str, float], critical: float) -> list[tuple[float, float]]:
    """Return the longest stretches of ranks that no critical difference divides.

    >>> join_ranks({"a": 1.0, "b": 1.8, "c": 2.5, "d": 4.0}, 1.0)
    [(1.0, 1.8), (1.8, 2.5)]
    """
    ranks = sorted(mean.values())
    found: list[tuple[float, float]] = []
    for first in ranks:
        last = max(rank for rank in ranks if rank - first < critical)
        if last > first and (not found or last > found[-1][1]):
            found.append((first, last))
    return found


def draw_ranks(ranks: Mapping[str, Any], ours: Collection[str], width: float = 760) -> str:
    """Draw mean ranks with their critical difference; names of our models are bold."""
    mean = dict(sorted(ranks["mean"].items(), key=lambda item: item[1]))
    critical = ranks["critical_difference"] or 0.0
    names = list(mean)
    room = max(width_of(f"{name}  00.0", _SIZE, True) for name in names) + 14
    scale = Scale(math.floor(min(mean.values())), math.ceil(max(mean.values())), room, width - room)
    parts, top = _axis(scale, critical), 62.0
    bars = join_ranks(mean, critical)
    for place, (first, last) in enumerate(bars):
        y = top + 10 + _BAR * place
        parts.append(line(scale(first) - 3, y, scale(last) + 3, y, "whisker"))
    below = top + 10 + _BAR * len(bars) + 10
    half = (len(names) + 1) // 2
    for place, name in enumerate(names):
        left = place < half
        step = place if left else len(names) - 1 - place
        y, x, end = below + _PITCH * step, scale(mean[name]), room - 8 if left else width - room + 8
        parts.append(path([(x, top), (x, y), (end, y)], "limb" if name in ours else "twig"))
        parts.append(circle(x, top, 3.0, "accent" if name in ours else "soft"))
        words = f"{mean[name]:.1f}  {name}" if not left else f"{name}  {mean[name]:.1f}"
        bold, ink = name in ours, "ink" if name in ours else "soft"
        anchor, at = ("end", end - 4) if left else ("start", end + 4)
        parts.append(label(at, y + 4, words, size=_SIZE, anchor=anchor, classes=ink, bold=bold))
    height = below + _PITCH * half + 4
    title = f"Mean ranks of {len(names)} models on {ranks['data_sets']} data sets"
    text = ", ".join(f"{name} {rank:.1f}" for name, rank in mean.items())
    return drawing(width, height, title, f"{title}; 1 is best: {text}.", *parts)


def _axis(scale: Scale, critical: float) -> list[str]:
    """Return the line of ranks with a tick a rank, and the critical difference above it."""
    y = 62.0
    parts = [line(scale.start, y, scale.stop, y, "axis")]
    ranks = range(int(scale.low), int(scale.high) + 1)
    every = 1 if len(ranks) <= 12 else 2
    for rank in ranks:
        parts.append(line(scale(rank), y - 5, scale(rank), y, "axis"))
        if (rank - ranks[0]) % every == 0:
            text = label(scale(rank), y - 9, str(rank), size=11, anchor="middle", classes="soft")
            parts.append(text)
    if critical > 0:
        end = scale(scale.low + critical)
        parts.append(line(scale.start, 26, end, 26, "axis"))
        parts += [line(x, 22, x, 30, "axis") for x in (scale.start, end)]
        words = f"critical difference {critical:.1f}"
        parts.append(label(scale.start, 14, words, size=11, classes="soft"))
    return parts
