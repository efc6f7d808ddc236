"""Where a classifier decides for which class, over two numbers, with the rows it learned from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from countwise.reports.figures.axes import Scale, tick_words, ticks
from countwise.reports.figures.legend import mark, mark_legend
from countwise.reports.figures.palette import HUES
from countwise.reports.figures.svg import drawing, element, group, label, line, number, rect
from countwise.reports.figures.text_width import width_of

_HIGH = 380.0


def region_figure(facts: Mapping[str, Any], width: float = 560) -> str:
    """Draw decisions as areas, edges of neighbour cells as lines, rows as points."""
    names, high = mark_legend(facts["classes"], width)
    top = high + 8
    marks = ticks(facts["y"]["low"], facts["y"]["high"], 6)
    words = tick_words(marks)
    left = 20 + max(width_of(own, 11) for own in words) + 6
    across = Scale(facts["x"]["low"], facts["x"]["high"], left, width - 8)
    up = Scale(facts["y"]["low"], facts["y"]["high"], top + _HIGH, top)
    parts = [group(names), *_areas(facts["areas"], left, top, width - 8 - left)]
    if facts["edges"]:
        steps = "".join(
            f"M{number(across(x1))} {number(up(y1))}L{number(across(x2))} {number(up(y2))}"
            for x1, y1, x2, y2 in facts["edges"]
        )
        parts.append(element("path", d=steps, class_="axis", fill="none", stroke_opacity=0.4))
    parts += [
        mark(across(x), up(y), own, f"{facts['classes'][own]}: {x:g}, {y:g}")
        for x, y, own in facts["points"]
    ]
    for at, written in zip(marks, words, strict=True):
        parts.append(label(left - 5, up(at) + 4, written, size=11, anchor="end", classes="soft"))
    below = ticks(facts["x"]["low"], facts["x"]["high"], 8)
    for at, written in zip(below, tick_words(below), strict=True):
        parts.append(
            label(across(at), top + _HIGH + 15, written, size=11, anchor="middle", classes="soft")
        )
    parts.append(line(left, top + _HIGH, width - 8, top + _HIGH, "axis"))
    parts.append(line(left, top, left, top + _HIGH, "axis"))
    parts.append(label(left, top + _HIGH + 33, facts["x"]["name"], size=12, room=width - left))
    parts.append(label(12, top + _HIGH, facts["y"]["name"], size=12, room=_HIGH, upright=True))
    described = f"{facts['y']['name']} over {facts['x']['name']}; {len(facts['points'])} rows."
    return drawing(width, top + _HIGH + 40, facts["title"], described, *parts)


def _areas(lines: Sequence[Sequence[int]], left: float, top: float, width: float) -> list[str]:
    """Equal neighbours in a line become one rectangle; all of a class one group."""
    parts = []
    step, tall = width / len(lines[0]), _HIGH / len(lines)
    for at, own in enumerate(lines):
        start = 0
        for place in range(1, len(own) + 1):
            if place == len(own) or own[place] != own[start]:
                parts.append(
                    rect(
                        left + start * step,
                        top + at * tall,
                        (place - start) * step,
                        tall,
                        f"a{own[start] % HUES}",
                    )
                )
                start = place
    return [element("g", *parts, shape_rendering="crispEdges")]
