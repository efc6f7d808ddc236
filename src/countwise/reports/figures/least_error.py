"""Densities of classes times their priors, with the least possible error shaded below them."""

from __future__ import annotations

from collections.abc import Sequence

from countwise.reports.figures.legend import legend
from countwise.reports.figures.palette import HUES
from countwise.reports.figures.plot import bottom_axis, left_axis
from countwise.reports.figures.scales import Scale
from countwise.reports.figures.svg import drawing, group, label, line, path

_PLOT, _LEFT = 230.0, 44.0


def least_error_figure(
    x: Sequence[float],
    joint: Sequence[Sequence[float]],
    names: Sequence[str],
    cuts: Sequence[float],
    error: float,
    axis: str = "x",
    width: float = 640,
) -> str:
    """Draw prior × density of each class, where the best changes, and the error no rule avoids."""
    swatches, high = legend(names, width)
    top = high + 30
    peak = max(max(own) for own in joint) or 1.0
    across = Scale(x[0], x[-1], _LEFT, width - 8)
    up = Scale(0.0, 1.06 * peak, top + _PLOT, top)
    rest = [sum(column) - max(column) for column in zip(*joint, strict=True)]
    shaded = [(across(at), up(own)) for at, own in zip(x, rest, strict=True)]
    parts = [group(swatches), left_axis(up, _LEFT, width - 8, 4)]
    areas, lines = [], []
    for place, own in enumerate(joint):
        points = [(across(at), up(figure)) for at, figure in zip(x, own, strict=True)]
        closed = [(across(x[0]), up(0)), *points, (across(x[-1]), up(0))]
        areas.append(path(closed, f"a{place % HUES}", closed=True))
        lines.append(path(points, f"s{place % HUES}"))
    floor = [(across(x[0]), up(0)), *shaded, (across(x[-1]), up(0))]
    parts += [*areas, path(floor, "soft", closed=True), *lines]
    for cut in cuts:
        parts.append(line(across(cut), up(0), across(cut), top - 6, "twig"))
    parts.append(label(_LEFT, top - 12, f"least possible error {error:.2%}, shaded", size=12))
    if cuts:
        told = ", ".join(f"{cut:.4g}" for cut in list(cuts)[:3])
        more = " …" if len(cuts) > 3 else ""
        words = f"best class changes at {told}{more}"
        parts.append(label(width - 8, top - 12, words, size=12, anchor="end", classes="soft"))
    parts.append(bottom_axis(across, top + _PLOT, axis))
    title = "Densities and the least possible error"
    described = f"{', '.join(names)}: the shaded area is {error:.4f}."
    return drawing(width, top + _PLOT + 44, title, described, *parts)
