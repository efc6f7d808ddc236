"""Lines over a common axis, with bands around them: learning curves, accuracy by k, searches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from countwise.reports.figures.axes import (
    Scale,
    bottom_axis,
    left_axis,
    log_ticks,
    padded_range,
    tick_room,
    tick_words,
    ticks,
)
from countwise.reports.figures.legend import legend
from countwise.reports.figures.palette import HUES
from countwise.reports.figures.svg import circle, drawing, label, path
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


@dataclass(frozen=True)
class _Plot:
    """The frame of a plot: where it lies, and its two scales."""

    lines: Sequence[_Line]
    swatches: str
    left: float
    across: Scale
    up: Scale
    width: float

    @classmethod
    def frame(
        cls,
        lines: Sequence[_Line],
        ends: tuple[float, float],
        width: float,
        *,
        height: float = 250.0,
        pad: float = 0.04,
        probability: bool = False,
        log: bool = False,
    ) -> _Plot:
        """Lay out lines, at most one a hue, over an axis with these ends."""
        lines = lines[:HUES]
        swatches, high = legend([one.name for one in lines], width)
        values = [
            value
            for one in lines
            for point in one.points
            for value in (point.low, point.value, point.high)
            if value is not None
        ]
        lowest, highest = padded_range(values, pad, probability)
        left = tick_room(lowest, highest) + 9
        across = Scale(*ends, left + 10, width - 16, log)
        up = Scale(lowest, highest, high + 10 + height, high + 10)
        return cls(lines, swatches, left, across, up, width)

    def draw(
        self,
        title: str,
        description: str,
        marks: Iterable[tuple[float, str]],
        below: str,
        aside: str = "",
    ) -> str:
        """Draw the plot; below its axis stand what the axis is and, aside, what the lines are."""
        bottom, right = self.up.start, self.width - 8
        return drawing(
            self.width,
            bottom + 44,
            title,
            description,
            self.swatches,
            left_axis(self.up, self.left, right),
            bottom_axis(
                self.across, bottom, marks=marks, ends=(self.left, right), width=self.width
            ),
            label(self.left, bottom + 36, below, size=11, classes="soft"),
            label(right, bottom + 36, aside, size=11, anchor="end", classes="soft")
            if aside
            else "",
            *self._lines(),
        )

    def _lines(self) -> list[str]:
        bands, strokes, up = [], [], self.up
        banded = len(self.lines) if len(self.lines) <= BANDS + 1 else BANDS
        for place, one in enumerate(self.lines):
            points = [(self.across(point.x), point) for point in one.points]
            upper = [(x, up(point.high)) for x, point in points if point.high is not None]
            lower = [(x, up(point.low)) for x, point in points if point.low is not None]
            if len(upper) > 1 and place < banded:
                bands.append(path([*upper, *reversed(lower)], f"a{place}", closed=True))
            if len(points) > 1:
                strokes.append(path([(x, up(point.value)) for x, point in points], f"s{place}"))
            strokes += [
                circle(x, up(point.value), 3, f"c{place}", point.words) for x, point in points
            ]
        return [*bands, *strokes]


def curve_figure(curve: Mapping[str, Any], width: float = 680) -> str:
    """Draw a learning curve: one line an entry over a logarithmic axis, intervals as bands."""
    sizes, entries = curve["sizes"], curve["lines"][:HUES]
    lines = [
        _Line(
            entry["name"],
            [
                _Point(
                    size,
                    estimate["value"],
                    estimate["low"],
                    estimate["high"],
                    f"{entry['name']}, {interval_words(estimate)}",
                )
                for size, estimate in zip(sizes, entry["points"], strict=True)
                if estimate["value"] is not None
            ],
        )
        for entry in entries
    ]
    probability = curve["score"] in ("accuracy", "balanced_accuracy")
    plot = _Plot.frame(
        lines, (sizes[0], sizes[-1]), width, probability=probability, log=sizes[0] > 0
    )
    marks = log_ticks(plot.across, 11) if sizes[-1] > sizes[0] else [sizes[0]]
    description = "; ".join(
        f"{entry['name']}: {interval_words(entry['points'][-1])} with {sizes[-1]} rows"
        for entry in entries
    )
    return plot.draw(
        f"{score_words(curve['score'])} by training rows",
        description,
        zip(marks, tick_words(marks), strict=True),
        "training rows (logarithmic)",
    )


def by_k_figure(
    ks: Sequence[int],
    entries: Sequence[Mapping[str, Any]],
    title: str,
    over: str = "test parts",
    width: float = 640,
) -> str:
    """Draw accuracy against the number of neighbors, a band of one standard deviation each."""
    lines = [
        _Line(
            entry["name"],
            [
                _Point(
                    k,
                    value,
                    value - spread,
                    value + spread,
                    f"k = {k}: {value:.4f}, spread {spread:.4f}",
                )
                for k, value, spread in zip(ks, entry["values"], entry["spread"], strict=True)
            ],
        )
        for entry in entries
    ]
    plot = _Plot.frame(lines, (ks[0], ks[-1]), width, probability=True)
    whole = [mark for mark in ticks(ks[0], ks[-1], 10) if mark == int(mark)] or [ks[0]]
    varies = any(spread > 0 for entry in entries for spread in entry["spread"])
    return plot.draw(
        title,
        "; ".join(f"{entry['name']}: up to {max(entry['values']):.3f}" for entry in entries),
        [(mark, f"{mark:g}") for mark in whole],
        "k, neighbors",
        f"accuracy, ± one standard deviation over the {over}" if varies else "accuracy",
    )


def search_figure(steps: Sequence[Mapping[str, Any]], width: float = 680) -> str:
    """Draw the expected gain over the steps of a search, in training and in validation."""
    lines = [
        _Line(
            f"{rows} rows",
            [_Point(at, step[key]) for at, step in enumerate(steps) if step[key] is not None],
        )
        for key, rows in (("train", "training"), ("validation", "validation"))
    ]
    stages = [step["stage"] for step in steps]
    begins = [at for at in range(len(stages)) if at == 0 or stages[at] != stages[at - 1]]
    plot = _Plot.frame(
        [one for one in lines if one.points],
        (0, max(len(steps) - 1, 1)),
        width,
        height=200.0,
        pad=0.06,
    )
    gains = [steps[0]["train"], steps[-1]["train"]]
    return plot.draw(
        "Expected gain over the search",
        f"Expected gain from {gains[0]:.4g} to {gains[1]:.4g} in training.",
        [(at, stages[at]) for at in begins],
        f"steps of the search, {steps[-1]['seconds']:.2g} seconds in all",
    )
