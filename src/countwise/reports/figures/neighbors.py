"""A few rows and their nearest rows: a line for each row, a mark for each neighbor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from countwise.reports.figures.axes import Scale, bottom_axis, mark, mark_legend
from countwise.reports.figures.svg import drawing, label, line, width_of
from countwise.reports.sentences import brief

_PITCH = 30.0


def neighbor_figure(view: Mapping[str, Any], width: float = 680) -> str:
    """Draw each sampled row as a line, with its neighbors as marks of their classes."""
    samples = view["samples"]
    shown = {near["label"] for sample in samples for near in sample["neighbors"]}
    classes = [name for name in view["classes"] if name in shown]
    swatches, top = mark_legend(classes, width) if classes else ("", 0.0)
    names = [f"row {sample['row']}: {sample['label']}" for sample in samples]
    left = min(max((width_of(name, 12) for name in names), default=0.0) + 14, 0.42 * width)
    distances = [near["distance"] for sample in samples for near in sample["neighbors"]]
    scale = Scale(0.0, max(distances, default=0.0) or 1.0, left + 6, width - 14)
    bottom = top + 8 + _PITCH * len(samples)
    parts = [swatches]
    for place, (name, sample) in enumerate(zip(names, samples, strict=True)):
        y = top + 8 + _PITCH * (place + 0.5)
        parts.append(label(left - 6, y + 4, name, room=left - 8, anchor="end"))
        parts.append(line(scale.start, y, scale.stop, y, "grid"))
        parts += _marks(sample, classes, scale, y)
    parts.append(bottom_axis(scale, bottom, "distance", width=width))
    description = "; ".join(
        f"{name}: {', '.join(_words(near) for near in sample['neighbors'])}"
        for name, sample in zip(names, samples, strict=True)
    )
    title = f"The nearest rows of {len(samples)} rows"
    return drawing(width, bottom + 42, title, description, *parts)


def _marks(sample: Mapping[str, Any], classes: Sequence[str], scale: Scale, y: float) -> list[str]:
    """The farthest neighbor first, so that the nearest lies on top."""
    place = {name: at for at, name in enumerate(classes)}
    return [
        mark(scale(near["distance"]), y, place.get(near["label"], 0), _words(near))
        for near in reversed(sample["neighbors"])
    ]


def _words(near: Mapping[str, Any]) -> str:
    return f"row {near['row']}, {near['label']}, distance {brief(near['distance'])}"
