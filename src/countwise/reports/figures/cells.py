"""Pictures of cells: where columns are cut, how the search went, and a slice of decisions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from countwise.reports.figures.axes import Scale, tick_words, ticks
from countwise.reports.figures.legend import legend
from countwise.reports.figures.palette import HUES
from countwise.reports.figures.svg import circle, drawing, element, group, label, line, path, rect
from countwise.reports.figures.text_width import width_of, wrapped
from countwise.reports.sentences import short

PANEL = 340.0
_HEAD, _PLOT, _FOOT = 24.0, 104.0, 24.0
_SIDE = 380.0


def cut_table_figure(
    columns: Sequence[Mapping[str, Any]], classes: Sequence[str], across: int = 3
) -> str:
    """Draw the cuts of all columns under one legend."""
    wide = min(across, max(len(columns), 1))
    whole = (PANEL + 24) * wide - 24
    names, y = legend(classes, whole)
    parts, y = [names], y + 8
    for begin in range(0, len(columns), across):
        for at, column in enumerate(columns[begin : begin + across]):
            parts.append(group(_panel(column, classes), x=(PANEL + 24) * at, y=y))
        y += _HEAD + _PLOT + _FOOT + 14
    described = f"Where {len(columns)} columns are cut, and the class densities in their levels."
    return drawing(whole, y, "Cuts by column", described, *parts)


def cut_panel(column: Mapping[str, Any], classes: Sequence[str]) -> str:
    """Draw the cuts of one column with the class densities between them."""
    names, y = legend(classes, PANEL)
    body = group(_panel(column, classes), y=y + 6)
    title = f"Cuts of {column['name']}"
    height = y + 6 + _HEAD + _PLOT + _FOOT
    return drawing(PANEL, height, title, ", ".join(column["levels"]), names, body)


def _panel(column: Mapping[str, Any], classes: Sequence[str]) -> str:
    told = f"{short(column['bits'])} bit"
    room = PANEL - width_of(told, 11) - 12
    head = [
        label(0, 14, column["name"], room=room, size=13, bold=True),
        label(PANEL, 14, told, size=11, anchor="end", classes="soft"),
    ]
    spans = column["spans"]
    body = _bars(column, classes) if spans is None else _densities(column, classes)
    return "".join([*head, *body])


def _densities(column: Mapping[str, Any], classes: Sequence[str]) -> list[str]:
    """Numbers: rectangles over the width of levels, as high as rows are dense, stacked by class."""
    spans, weights = column["spans"], column["weights"][: len(column["spans"])]
    across = Scale(spans[0][0], spans[-1][1], 4, PANEL - 4)
    total = sum(map(sum, weights)) or 1.0
    least = 1e-9 * (spans[-1][1] - spans[0][0])
    density = [
        sum(own) / total / max(high - low, least)
        for own, (low, high) in zip(weights, spans, strict=True)
    ]
    order = sorted(density)
    # A narrow level that holds many rows must not flatten all the others.
    top = min(order[-1], 3 * order[len(order) // 2]) or 1.0
    up = Scale(0, top, _HEAD + _PLOT, _HEAD + 6)
    bottom, parts = _HEAD + _PLOT, []
    for own, (low, high), dense, name in zip(
        weights, spans, density, column["levels"], strict=False
    ):
        x, width = across(low), across(high) - across(low)
        whole, y = bottom - up(min(dense, top)), bottom
        for place in range(min(len(own), HUES)):
            height = whole * own[place] / (sum(own) or 1.0)
            y -= height
            words = f"{name}: {own[place]:,.0f} rows of {classes[place]}"
            if height > 0.05:
                parts.append(rect(x, y, width, height, f"c{place}", words))
    parts += [line(across(low), _HEAD + 2, across(low), bottom, "axis") for low, _ in spans[1:]]
    parts += [line(across(own), bottom, across(own), bottom - 7, "grid") for own in column["start"]]
    return [*parts, *_axis(across, bottom)]


def _axis(across: Scale, y: float) -> list[str]:
    parts = [line(4, y, PANEL - 4, y, "axis")]
    marks, end = ticks(across.low, across.high, 5), -10.0
    for mark, words in zip(marks, tick_words(marks), strict=True):
        half = width_of(words, 11) / 2
        x = min(max(across(mark), half), PANEL - half)
        parts.append(line(across(mark), y, across(mark), y + 4, "axis"))
        if x - half >= end + 6:
            parts.append(label(x, y + 17, words, size=11, anchor="middle", classes="soft"))
            end = x + half
    return parts


def _bars(column: Mapping[str, Any], classes: Sequence[str]) -> list[str]:
    """Words: one bar a level, as high as it is frequent, stacked by class."""
    weights, names = column["weights"], column["levels"]
    most = max(map(sum, weights)) or 1.0
    step = (PANEL - 8) / len(weights)
    bottom, parts = _HEAD + _PLOT, []
    for at, (own, name) in enumerate(zip(weights, names, strict=True)):
        x, y = 4 + at * step, bottom
        for place in range(min(len(own), HUES)):
            height = (_PLOT - 6) * own[place] / most
            y -= height
            words = f"{name}: {own[place]:,.0f} rows of {classes[place]}"
            if height > 0.05:
                parts.append(rect(x + 1, y, max(step - 2, 0.5), height, f"c{place}", words))
        if step > 26:
            middle = x + step / 2
            parts.append(
                label(
                    middle,
                    bottom + 15,
                    name,
                    room=step - 4,
                    size=11,
                    anchor="middle",
                    classes="soft",
                )
            )
    return [*parts, line(4, bottom, PANEL - 4, bottom, "axis")]


def search_figure(steps: Sequence[Mapping[str, Any]], width: float = 680) -> str:
    """Draw the expected gain over the steps of a search, in training and in validation."""
    checked = any(step["validation"] is not None for step in steps)
    keys = ["train", "validation"] if checked else ["train"]
    names, high = legend(["training rows", "validation rows"][: len(keys)], width)
    values = [step[key] for step in steps for key in keys if step[key] is not None]
    low, most = min(values), max(values)
    pad = 0.06 * (most - low) or 0.05
    marks = ticks(low - pad, most + pad, 5)
    words = tick_words(marks)
    left, top = max(width_of(own, 11) for own in words) + 10, high + 12
    bottom = top + 200
    up = Scale(low - pad, most + pad, bottom, top)
    across = Scale(0, max(len(steps) - 1, 1), left + 24, width - 24)
    parts = [names]
    for mark, written in zip(marks, words, strict=True):
        parts.append(line(left, up(mark), width - 8, up(mark), "grid"))
        parts.append(label(left - 6, up(mark) + 4, written, size=11, anchor="end", classes="soft"))
    for place, key in enumerate(keys):
        points = [
            (across(at), up(step[key])) for at, step in enumerate(steps) if step[key] is not None
        ]
        parts.append(path(points, f"s{place}"))
        parts += [circle(x, y, 3, f"c{place}") for x, y in points]
    parts += _stages(steps, across, bottom, left, width)
    last = steps[-1]
    described = f"Expected gain from {steps[0]['train']:.4g} to {last['train']:.4g} in training."
    return drawing(width, bottom + 44, "Expected gain over the search", described, *parts)


def _stages(
    steps: Sequence[Mapping[str, Any]], across: Scale, y: float, left: float, width: float
) -> list[str]:
    """Name each stage below where it begins, and the seconds at its end."""
    parts, end, before = [line(left, y, width - 8, y, "axis")], left - 20, ""
    for at, step in enumerate(steps):
        if step["stage"] == before:
            continue
        before, x = step["stage"], across(at)
        parts.append(line(x, y, x, y + 4, "axis"))
        half = width_of(before, 11) / 2
        if x - half > end + 8:
            parts.append(label(x, y + 17, before, size=11, anchor="middle", classes="soft"))
            end = x + half
    words = f"steps of the search, {steps[-1]['seconds']:.2g} seconds in all"
    parts.append(label(left, y + 36, words, size=11, classes="soft"))
    return parts


def slice_figure(facts: Mapping[str, Any]) -> str:
    """Draw the decisions of two columns' levels, the other columns held where most rows are."""
    names, high = legend(facts["labels"][:HUES], _SIDE + 60)
    left, top = 58.0 if facts["up"]["spans"] is not None else 130.0, high + 12
    x_edges = _edges(facts["across"], left, left + _SIDE)
    y_edges = _edges(facts["up"], top + _SIDE, top)
    parts = [names]
    for i, row in enumerate(facts["decisions"]):
        for j, decision in enumerate(row):
            x, y = x_edges[i], y_edges[j + 1]
            sure = facts["surest"][i][j]
            told = (
                f"{facts['across']['levels'][i]} and {facts['up']['levels'][j]}: "
                f"{facts['labels'][decision]}, posterior {sure:.3f}, "
                f"{facts['rows'][i][j]:,.0f} rows"
            )
            parts.append(
                element(
                    "g",
                    rect(x, y, x_edges[i + 1] - x, y_edges[j] - y, f"c{decision % HUES}", told),
                    opacity=round(0.25 + 0.75 * max(min((sure - 0.5) * 2, 1.0), 0.0), 3)
                    if facts["rows"][i][j] > 0
                    else 0.12,
                )
            )
    parts += _frame(facts, x_edges, y_edges, left, top)
    fixed = ", ".join(f"{name} {level}" for name, level in facts["fixed"].items())
    under = f"the others where most rows are: {fixed}" if fixed else "there are no other columns"
    lines = wrapped(under, _SIDE, 11)
    parts += [
        label(left, top + _SIDE + 54 + 15 * at, own, size=11, classes="soft")
        for at, own in enumerate(lines)
    ]
    height = top + _SIDE + 48 + 15 * len(lines)
    title = f"Decisions over {facts['across']['name']} and {facts['up']['name']}"
    return drawing(left + _SIDE + 12, height, title, f"{title}; {under}.", *parts)


def _edges(column: Mapping[str, Any], start: float, stop: float) -> list[float]:
    """Where levels begin and end: to scale for numbers (missing apart), else evenly."""
    number, spans = len(column["levels"]), column["spans"]
    if spans is None:
        return [start + (stop - start) * at / number for at in range(number + 1)]
    end = stop if number == len(spans) else start + (stop - start) * 0.9
    scale = Scale(spans[0][0], spans[-1][1], start, end)
    made = [scale(low) for low, _ in spans] + [end]
    return made if number == len(spans) else [*made, stop]


def _frame(
    facts: Mapping[str, Any],
    x_edges: Sequence[float],
    y_edges: Sequence[float],
    left: float,
    top: float,
) -> list[str]:
    bottom = top + _SIDE
    parts = [line(x, top, x, bottom, "grid") for x in x_edges]
    parts += [line(left, y, left + _SIDE, y, "grid") for y in y_edges]
    spans = facts["across"]["spans"]
    if spans is not None:
        scale = Scale(spans[0][0], spans[-1][1], x_edges[0], x_edges[len(spans)])
        marks = ticks(scale.low, scale.high, 5)
        for mark, words in zip(marks, tick_words(marks), strict=True):
            parts.append(
                label(scale(mark), bottom + 16, words, size=11, anchor="middle", classes="soft")
            )
    else:
        for name, low, high in zip(facts["across"]["levels"], x_edges, x_edges[1:], strict=False):
            room, at = high - low - 4, (low + high) / 2
            parts.append(
                label(at, bottom + 16, name, room=room, size=11, anchor="middle", classes="soft")
            )
    spans = facts["up"]["spans"]
    if spans is None:
        for name, low, high in zip(facts["up"]["levels"], y_edges, y_edges[1:], strict=False):
            parts.append(
                label(
                    left - 6,
                    (low + high) / 2 + 4,
                    name,
                    room=left - 34,
                    size=11,
                    anchor="end",
                    classes="soft",
                )
            )
    if spans is not None:
        scale = Scale(spans[0][0], spans[-1][1], y_edges[0], y_edges[len(spans)])
        marks = ticks(scale.low, scale.high, 5)
        for mark, words in zip(marks, tick_words(marks), strict=True):
            parts.append(
                label(left - 6, scale(mark) + 4, words, size=11, anchor="end", classes="soft")
            )
    middle = left + _SIDE / 2
    across, up = facts["across"]["name"], facts["up"]["name"]
    parts.append(
        label(middle, bottom + 34, across, room=_SIDE, size=12, anchor="middle", bold=True)
    )
    parts.append(
        label(
            14, top + _SIDE / 2, up, room=_SIDE, size=12, anchor="middle", upright=True, bold=True
        )
    )
    return parts
