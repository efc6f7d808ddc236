"""The decisions of a classifier over two columns: regions with rows, or cells of cut columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from countwise.reports.figures.axes import (
    Scale,
    left_axis,
    legend,
    mark,
    mark_legend,
    number_marks,
    tick_label,
    tick_room,
)
from countwise.reports.figures.palette import HUES
from countwise.reports.figures.svg import drawing, element, label, line, number, rect, wrapped

_SIDE = 380.0


def region_figure(facts: Mapping[str, Any], width: float = 560) -> str:
    """Draw decisions as areas, edges of neighbor cells as lines, rows as points."""
    swatches, high = mark_legend(facts["classes"], width)
    x, y, top, right = facts["x"], facts["y"], high + 8, width - 8
    bottom, left = top + _SIDE, 27 + tick_room(y["low"], y["high"], 6)
    across = Scale(x["low"], x["high"], left, right)
    up = Scale(y["low"], y["high"], bottom, top)
    parts = [swatches, _areas(facts["areas"], left, top, right - left)]
    if facts["edges"]:
        steps = "".join(
            f"M{number(across(x1))} {number(up(y1))}L{number(across(x2))} {number(up(y2))}"
            for x1, y1, x2, y2 in facts["edges"]
        )
        parts.append(element("path", d=steps, class_="axis", fill="none", stroke_opacity=0.4))
    parts += [
        mark(across(at), up(over), place, f"{facts['classes'][place]}: {at:g}, {over:g}")
        for at, over, place in facts["points"]
    ]
    parts += [left_axis(up, left, most=6), _tick_labels(across, bottom, 8)]
    parts += [line(left, bottom, right, bottom, "axis"), line(left, top, left, bottom, "axis")]
    parts.append(label(left, bottom + 33, x["name"], room=width - left))
    parts.append(label(12, bottom, y["name"], room=_SIDE, upright=True))
    description = f"{y['name']} over {x['name']}; {len(facts['points'])} rows."
    return drawing(width, bottom + 40, facts["title"], description, *parts)


def _tick_labels(across: Scale, bottom: float, most: int) -> str:
    return "".join(
        tick_label(across(value), bottom + 16, text) for value, text in number_marks(across, most)
    )


def _areas(rows: Sequence[Sequence[int]], left: float, top: float, width: float) -> str:
    """One rectangle for each run of equal decisions in a row of points."""
    parts = []
    step, tall = width / len(rows[0]), _SIDE / len(rows)
    for at, decisions in enumerate(rows):
        start = 0
        for stop in range(1, len(decisions) + 1):
            if stop == len(decisions) or decisions[stop] != decisions[start]:
                x, run = left + start * step, (stop - start) * step
                hue = f"a{decisions[start] % HUES}"
                parts.append(rect(x, top + at * tall, run, tall, hue))
                start = stop
    return element("g", *parts, shape_rendering="crispEdges")


def slice_figure(facts: Mapping[str, Any]) -> str:
    """Draw the decisions by the levels of two columns, the others at their most frequent level."""
    across, up = facts["across"], facts["up"]
    swatches, high = legend(facts["labels"][:HUES], _SIDE + 60)
    left, top = 58.0 if up["spans"] is not None else 130.0, high + 12
    bottom = top + _SIDE
    x_edges = _edges(across, left, left + _SIDE)
    y_edges = _edges(up, bottom, top)
    parts = [swatches]
    for i, row in enumerate(facts["decisions"]):
        for j, decision in enumerate(row):
            posterior, rows = facts["surest"][i][j], facts["rows"][i][j]
            x, y = x_edges[i], y_edges[j + 1]
            words = (
                f"{across['levels'][i]} and {up['levels'][j]}: {facts['labels'][decision]}, "
                f"posterior {posterior:.3f}, {rows:,.0f} rows"
            )
            hue, sure = f"c{decision % HUES}", max(min((posterior - 0.5) * 2, 1.0), 0.0)
            cell = rect(x, y, x_edges[i + 1] - x, y_edges[j] - y, hue, words)
            opacity = round(0.25 + 0.75 * sure, 3) if rows > 0 else 0.12
            parts.append(element("g", cell, opacity=opacity))
    parts += [line(x, top, x, bottom, "grid") for x in x_edges]
    parts += [line(left, y, left + _SIDE, y, "grid") for y in y_edges]
    parts += [_names_below(across, x_edges, bottom), _names_beside(up, y_edges, left)]
    for x, y, column in ((left + _SIDE / 2, bottom + 34, across), (14, top + _SIDE / 2, up)):
        name, upright = column["name"], column is up
        parts.append(label(x, y, name, room=_SIDE, anchor="middle", upright=upright, bold=True))
    fixed = ", ".join(f"{name} {level}" for name, level in facts["fixed"].items())
    below = f"at the most frequent levels: {fixed}" if fixed else "no other columns"
    lines = wrapped(below, _SIDE, 11)
    parts += [
        label(left, bottom + 54 + 15 * at, text, size=11, classes="soft")
        for at, text in enumerate(lines)
    ]
    title = f"Decisions over {across['name']} and {up['name']}"
    height = bottom + 48 + 15 * len(lines)
    return drawing(left + _SIDE + 12, height, title, f"{title}; {below}.", *parts)


def _edges(column: Mapping[str, Any], start: float, stop: float) -> list[float]:
    """The pixels where levels begin and end: to scale for numbers (missing apart), else evenly."""
    levels, spans = len(column["levels"]), column["spans"]
    if spans is None:
        return [start + (stop - start) * at / levels for at in range(levels + 1)]
    end = stop if levels == len(spans) else start + (stop - start) * 0.9
    scale = Scale(spans[0][0], spans[-1][1], start, end)
    edges = [scale(low) for low, _ in spans] + [end]
    return edges if levels == len(spans) else [*edges, stop]


def _number_scale(column: Mapping[str, Any], edges: Sequence[float]) -> Scale:
    spans = column["spans"]
    return Scale(spans[0][0], spans[-1][1], edges[0], edges[len(spans)])


def _names_below(column: Mapping[str, Any], edges: Sequence[float], bottom: float) -> str:
    if column["spans"] is not None:
        return _tick_labels(_number_scale(column, edges), bottom, 5)
    return "".join(
        tick_label((low + high) / 2, bottom + 16, name, high - low - 4)
        for name, (low, high) in zip(column["levels"], pairwise(edges), strict=False)
    )


def _names_beside(column: Mapping[str, Any], edges: Sequence[float], left: float) -> str:
    if column["spans"] is not None:
        return left_axis(_number_scale(column, edges), left)
    x, room = left - 6, left - 34
    middles = [(low + high) / 2 for low, high in pairwise(edges)]
    return "".join(
        label(x, middle + 4, name, room=room, size=11, anchor="end", classes="soft")
        for name, middle in zip(column["levels"], middles, strict=False)
    )
