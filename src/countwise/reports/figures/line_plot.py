"""Lines over a common axis, with bands around them: learning curves, accuracy by k, searches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from countwise.reports.figures.axes import (
    Scale,
    bottom_axis,
    left_axis,
    legend,
    log_ticks,
    padded_range,
    tick_room,
    tick_words,
    ticks,
)
from countwise.reports.figures.palette import HUES
from countwise.reports.figures.svg import circle, drawing, label, path, width_of
from countwise.reports.sentences import interval_words, score_words

#: With many lines only so many have a band, because bands of many lines hide each other.
BANDS = 3


@dataclass(frozen=True)
class _Point:
    x: float
    value: float
    low: float | None = None
    high: float | None = None
    words: str = ""


@dataclass(frozen=True)
class _Line:
    name: str
    points: Sequence[_Point]


def _line_plot(
    title: str,
    description: str,
    lines: Sequence[_Line],
    ends: tuple[float, float],
    width: float,
    below: str,
    *,
    aside: str = "",
    marks: Sequence[tuple[float, str]] | None = None,
    height: float = 250.0,
    pad: float = 0.04,
    probability: bool = False,
) -> str:
    """Draw lines over an axis with these ends, which is logarithmic if it has no `marks`."""
    swatches, high = legend([one.name for one in lines], width)
    values = [
        value
        for one in lines
        for point in one.points
        for value in (point.low, point.value, point.high)
        if value is not None
    ]
    low, most = padded_range(values, pad, probability)
    left, right, bottom = tick_room(low, most) + 9, width - 8, high + 10 + height
    across = Scale(*ends, left + 10, width - 16, log=marks is None and ends[0] > 0)
    up = Scale(low, most, bottom, high + 10)
    if marks is None:
        values = log_ticks(across, 11) if ends[1] > ends[0] else [ends[0]]
        marks = list(zip(values, tick_words(values), strict=True))
    parts = [
        swatches,
        left_axis(up, left, right),
        bottom_axis(across, bottom, marks=marks, ends=(left, right), width=width),
        label(left, bottom + 36, below, size=11, classes="soft"),
        *_bands_and_lines(lines, across, up),
    ]
    if aside:
        room = right - left - width_of(below, 11) - 12
        parts.append(
            label(right, bottom + 36, aside, room=room, size=11, anchor="end", classes="soft")
        )
    return drawing(width, bottom + 44, title, description, *parts)


def _bands_and_lines(lines: Sequence[_Line], across: Scale, up: Scale) -> list[str]:
    bands, strokes = [], []
    banded = len(lines) if len(lines) <= BANDS + 1 else BANDS
    for place, one in enumerate(lines):
        points = [(across(point.x), point) for point in one.points]
        upper = [(x, up(point.high)) for x, point in points if point.high is not None]
        lower = [(x, up(point.low)) for x, point in points if point.low is not None]
        if len(upper) > 1 and place < banded:
            bands.append(path([*upper, *reversed(lower)], f"a{place}", closed=True))
        if len(points) > 1:
            strokes.append(path([(x, up(point.value)) for x, point in points], f"s{place}"))
        strokes += [circle(x, up(point.value), 3, f"c{place}", point.words) for x, point in points]
    return [*bands, *strokes]


def curve_figure(curve: Mapping[str, Any], width: float = 680) -> str:
    """Draw a learning curve: one line an entry over a logarithmic axis, intervals as bands."""
    sizes, entries = curve["sizes"], curve["lines"][:HUES]
    lines = [_estimates(entry["name"], sizes, entry["points"]) for entry in entries]
    description = "; ".join(
        f"{entry['name']}: {interval_words(entry['points'][-1])} with {sizes[-1]} rows"
        for entry in entries
    )
    return _line_plot(
        f"{score_words(curve['score'])} by training rows",
        description,
        lines,
        (sizes[0], sizes[-1]),
        width,
        "training rows (logarithmic)",
        probability=curve["score"] in ("accuracy", "balanced_accuracy"),
    )


def _estimates(name: str, xs: Sequence[float], estimates: Sequence[Mapping[str, Any]]) -> _Line:
    """Return the line through estimates with intervals; those without a value are left out."""
    points = []
    for x, point in zip(xs, estimates, strict=True):
        if point["value"] is not None:
            words = f"{name}, {interval_words(point)}"
            points.append(_Point(x, point["value"], point["low"], point["high"], words))
    return _Line(name, points)


def estimates_figure(
    title: str,
    xs: Sequence[float],
    lines: Mapping[str, Sequence[Mapping[str, Any]]],
    below: str,
    aside: str,
    width: float = 640,
) -> str:
    """Draw estimates over a setting, one line each, intervals as bands; from 0 on not as logs."""
    described = [
        f"{name}: {interval_words(line[-1])} at {xs[-1]:g}" for name, line in lines.items()
    ]
    marks = None if xs[0] > 0 else [(x, f"{x:g}") for x in xs]
    return _line_plot(
        title,
        "; ".join(described),
        [_estimates(name, xs, line) for name, line in lines.items()],
        (xs[0], xs[-1]),
        width,
        below,
        aside=aside,
        marks=marks,
        probability=True,
    )


def by_k_figure(
    ks: Sequence[int],
    entries: Sequence[Mapping[str, Any]],
    title: str,
    over: str = "test parts",
    width: float = 640,
) -> str:
    """Draw accuracy against the number of neighbors, a band of one standard deviation each."""
    lines = []
    for entry in entries[:HUES]:
        points = []
        for k, value, spread in zip(ks, entry["values"], entry["spread"], strict=True):
            words = f"k = {k}: {value:.4f}, spread {spread:.4f}"
            points.append(_Point(k, value, value - spread, value + spread, words))
        lines.append(_Line(entry["name"], points))
    varies = any(spread > 0 for entry in entries for spread in entry["spread"])
    return _line_plot(
        title,
        "; ".join(f"{entry['name']}: up to {max(entry['values']):.3f}" for entry in entries),
        lines,
        (ks[0], ks[-1]),
        width,
        "k, neighbors",
        aside=f"accuracy, ± one standard deviation over the {over}" if varies else "accuracy",
        marks=_whole_marks(ks[0], ks[-1], 10),
        probability=True,
    )


def _whole_marks(first: int, last: int, most: int) -> list[tuple[float, str]]:
    whole = [mark for mark in ticks(first, last, most) if mark == int(mark)] or [first]
    return [(mark, f"{mark:g}") for mark in whole]


def search_figure(steps: Sequence[Mapping[str, Any]], width: float = 680) -> str:
    """Draw the expected gain over the steps of a search, in training and in validation."""
    lines = []
    for key, name in (("train", "training rows"), ("validation", "validation rows")):
        known = [(at, step[key]) for at, step in enumerate(steps) if step[key] is not None]
        if known:
            lines.append(_Line(name, [_Point(at, gain) for at, gain in known]))
    stages = [step["stage"] for step in steps]
    begins = [at for at in range(len(stages)) if at == 0 or stages[at] != stages[at - 1]]
    first, last = steps[0]["train"], steps[-1]["train"]
    return _line_plot(
        "Expected gain over the search",
        f"Expected gain from {first:.4g} to {last:.4g} in training.",
        lines,
        (0, max(len(steps) - 1, 1)),
        width,
        f"steps of the search, {steps[-1]['seconds']:.2g} seconds in all",
        marks=[(at, stages[at]) for at in begins],
        height=200.0,
        pad=0.06,
    )


def training_figure(view: Mapping[str, Any], width: float = 680) -> str:
    """Draw the loss on training rows and the error on rows held out, epoch by epoch."""
    epochs, lines = view["epochs"], []
    for key, name in (("loss", "loss, training rows"), ("error", "error, rows held out")):
        points = [
            _Point(epoch["number"], epoch[key], words=f"epoch {epoch['number']}: {epoch[key]:.4f}")
            for epoch in epochs
            if epoch[key] is not None
        ]
        if points:
            lines.append(_Line(name, points))
    first, last = epochs[0]["number"], epochs[-1]["number"]
    return _line_plot(
        "Loss and error by epoch",
        f"{len(epochs)} epochs; the weights are those of epoch {view['best_epoch']}.",
        lines,
        (first, max(last, first + 1)),
        width,
        "epoch",
        aside=f"weights kept: epoch {view['best_epoch']}",
        marks=_whole_marks(first, last, 8),
        height=200.0,
        pad=0.06,
    )
