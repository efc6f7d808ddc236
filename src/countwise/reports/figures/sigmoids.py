"""Two ways to one sigmoid: the posterior of a generative model and of a discriminative one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from countwise.reports.figures.legend import legend
from countwise.reports.figures.plot import bottom_axis, left_axis
from countwise.reports.figures.scales import Scale
from countwise.reports.figures.svg import drawing, group, label, line, path

_PLOT, _LEFT, _RUG = 220.0, 44.0, 9.0


def sigmoid_figure(
    x: Sequence[float],
    curves: Mapping[str, Sequence[float]],
    rows: Mapping[str, Sequence[float]],
    label_of: str,
    axis: str,
    width: float = 640,
) -> str:
    """Draw posteriors of one class over one column, and the rows of both classes as ticks."""
    swatches, high = legend(list(curves), width)
    top = high + 38
    across = Scale(x[0], x[-1], _LEFT, width - 8)
    up = Scale(0.0, 1.0, top + _PLOT, top)
    parts = [group(swatches), left_axis(up, _LEFT, width - 8, 4)]
    for place, own in enumerate(curves.values()):
        points = [(across(at), up(figure)) for at, figure in zip(x, own, strict=True)]
        parts.append(path(points, f"s{place}"))
    ends = [(top - 16, "c2"), (top + _PLOT + 4, "c3")]
    for (y, hue), (name, values) in zip(ends, rows.items(), strict=False):
        parts += [line(across(value), y, across(value), y + _RUG, f"rug {hue}") for value in values]
        above = y < top
        words = f"{name}, each row a tick"
        parts.append(
            label(width - 8, y - 4 if above else y + 22, words, size=11, anchor="end",
                  classes="soft")
        )  # fmt: skip
    parts.append(label(_LEFT, top - 20, f"P({label_of} | {axis})", size=12, bold=True))
    parts.append(group(bottom_axis(across, top + _PLOT + 34, axis)))
    described = f"Posterior of {label_of} over {axis}: {', '.join(curves)}."
    return drawing(width, top + _PLOT + 78, f"P({label_of} | {axis})", described, *parts)
