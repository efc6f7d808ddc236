"""Accuracy over k and p as a map of shades, and over k alone as lines with their spread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from countwise.reports.figures.axes import Scale, tick_words, ticks
from countwise.reports.figures.cell_grid import Cell, Sides, matrix
from countwise.reports.figures.legend import legend
from countwise.reports.figures.palette import SHADES
from countwise.reports.figures.svg import circle, drawing, group, label, line, path
from countwise.reports.figures.text_width import width_of

_PLOT = 250.0


def heat_figure(grid: Mapping[str, Any], width: float = 560) -> str:
    """Draw accuracies of every k (down) and p (across); the darkest is the best."""
    figures = [own for row in grid["accuracy"] for own in row]
    low, high = min(figures), max(figures)
    best = (grid["k"].index(grid["best"]["k"]), grid["p"].index(_plain(grid["best"]["p"])))
    cells = [
        [
            Cell(
                f"q{_shade(own, low, high)}",
                (f"{own:.3f}" + (" ★" if (at, by) == best else ""),),
                f"k = {k}, p = {_power(p)}: {own:.4f}, spread {spread:.4f}",
                "★" if (at, by) == best else "",
            )
            for by, (p, own, spread) in enumerate(
                zip(grid["p"], row, grid["spread"][at], strict=True)
            )
        ]
        for at, (k, row) in enumerate(zip(grid["k"], grid["accuracy"], strict=True))
    ]
    sides = Sides(
        [str(k) for k in grid["k"]],
        [_power(p) for p in grid["p"]],
        "k, neighbours",
        "p, exponent of the distance",
    )
    name = grid["data"] or "neighbours"
    title = f"Accuracy of {name} by k and p"
    k, p = grid["best"]["k"], _power(_plain(grid["best"]["p"]))
    described = f"From {low:.3f} to {high:.3f}; best k = {k}, p = {p}."
    below = f"Accuracy from {low:.3f} to {high:.3f}; ★ best: k = {k}, p = {p}"
    return matrix(sides, cells, title, described, width, below)


def _plain(p: Any) -> Any:
    return "maximum" if p == float("inf") else p


def _power(p: Any) -> str:
    return "max" if p == "maximum" else f"{p:g}"


def _shade(figure: float, low: float, high: float) -> int:
    """Shades are spread over what occurs: differences are what the map is looked at for."""
    if high <= low:
        return SHADES // 2
    return min(int((figure - low) / (high - low) * SHADES), SHADES - 1)


def by_k_figure(
    ks: Sequence[int],
    lines: Sequence[Mapping[str, Any]],
    title: str,
    over: str = "test parts",
    width: float = 640,
) -> str:
    """Draw accuracy against the number of neighbours, a band of one standard deviation each."""
    names, high = legend([own["name"] for own in lines], width)
    top = high + 10
    ends = [
        value + sign * spread
        for own in lines
        for value, spread in zip(own["values"], own["spread"], strict=True)
        for sign in (-1, 1)
    ]
    low, most = max(min(ends) - 0.01, 0.0), min(max(ends) + 0.01, 1.0)
    marks = ticks(low, most, 5)
    words = tick_words(marks)
    left = max(width_of(own, 11) for own in words) + 8
    up = Scale(low, most, top + _PLOT, top)
    across = Scale(ks[0], ks[-1], left + 12, width - 16)
    parts = [group(names)]
    for mark, written in zip(marks, words, strict=True):
        parts.append(line(left, up(mark), width - 8, up(mark), "grid"))
        parts.append(label(left - 5, up(mark) + 4, written, size=11, anchor="end", classes="soft"))
    parts.append(line(left, top + _PLOT, width - 8, top + _PLOT, "axis"))
    whole = [mark for mark in ticks(ks[0], ks[-1], 10) if mark == int(mark)] or [float(ks[0])]
    for mark in whole:
        x = across(mark)
        parts.append(line(x, top + _PLOT, x, top + _PLOT + 4, "axis"))
        parts.append(
            label(x, top + _PLOT + 17, f"{mark:g}", size=11, anchor="middle", classes="soft")
        )
    parts.append(label(left, top + _PLOT + 36, "k, neighbours", size=11, classes="soft"))
    spread = any(own > 0 for one in lines for own in one["spread"])
    told = f"accuracy, ± one standard deviation over the {over}" if spread else "accuracy"
    parts.append(label(width - 8, top + _PLOT + 36, told, size=11, anchor="end", classes="soft"))
    parts += _bands(ks, lines, across, up)
    described = "; ".join(f"{own['name']}: up to {max(own['values']):.3f}" for own in lines)
    return drawing(width, top + _PLOT + 44, title, described, *parts)


def _bands(
    ks: Sequence[int], lines: Sequence[Mapping[str, Any]], across: Scale, up: Scale
) -> list[str]:
    bands, strokes = [], []
    for place, own in enumerate(lines):
        told = list(zip(ks, own["values"], own["spread"], strict=True))
        upper = [(across(k), up(value + spread)) for k, value, spread in told]
        lower = [(across(k), up(value - spread)) for k, value, spread in reversed(told)]
        if len(told) > 1:
            bands.append(path([*upper, *lower], f"a{place}", closed=True))
            strokes.append(path([(across(k), up(value)) for k, value, _ in told], f"s{place}"))
        strokes += [
            circle(
                across(k), up(value), 3, f"c{place}", f"k = {k}: {value:.4f}, spread {spread:.4f}"
            )
            for k, value, spread in told
        ]
    return [*bands, *strokes]
