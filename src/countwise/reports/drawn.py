"""All figures of a page: wide ones, and narrow ones for small screens."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from countwise.reports.figures.attribute_tree import attribute_tree_figure
from countwise.reports.figures.balance import balance_figure
from countwise.reports.figures.confusion import confusion_figure
from countwise.reports.figures.curves import curve_figure
from countwise.reports.figures.decision_tree import svg as decision_tree_figure
from countwise.reports.figures.densities import density_panel
from countwise.reports.figures.gain import gain_figure
from countwise.reports.figures.grids import cut_table_figure, search_figure, slice_figure
from countwise.reports.figures.information import information_figure
from countwise.reports.figures.legend import legend_figure
from countwise.reports.figures.probabilities import probability_panel
from countwise.reports.figures.ranking import ranking_figure

_WIDE, _HALF, _NARROW = 1040.0, 480.0, 356.0
_BARS = 60


def figures_of(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Draw every figure the facts hold, by name; panels are lists."""
    drawn: dict[str, Any] = {}
    if facts["data"]["balance"]:
        shown = sorted(facts["data"]["balance"], key=lambda own: -own["rows"])[:_BARS]
        drawn["balance"] = _both(lambda width: balance_figure(shown, width), 720)
    if facts["kind"] != "comparison":
        return drawn
    drawn["ranking"] = _both(lambda width: ranking_figure(facts["ranking"], width=width), _WIDE)
    confusion = facts["confusion"]
    many = len(confusion["classes"]) > 8
    wide = _WIDE if many else _HALF
    drawn["confusion"] = _both(lambda width: confusion_figure(confusion, width), wide)
    drawn |= _gain(facts["gain"], _HALF)
    drawn |= _model(facts["model"])
    if facts["curve"] is not None:
        drawn["curve"] = _both(lambda width: curve_figure(facts["curve"], width), _WIDE)
    return drawn


def _both(draw: Callable[[float], str], wide: float) -> str:
    """A wide figure and a narrow one, of which the style sheet shows one."""
    return _classed(draw(wide), "wide") + _classed(draw(_NARROW), "narrow")


def _classed(svg: str, name: str) -> str:
    return svg.replace('class="cw"', f'class="cw {name}"', 1)


def _gain(gain: Mapping[str, Any] | None, width: float) -> dict[str, Any]:
    if gain is None or not gain["values"]:
        return {"gain": "", "contributions": ""}
    return {
        part: _both(lambda own, part=key: gain_figure(gain, part, own), width)  # type: ignore[misc]
        for part, key in (("gain", "values"), ("contributions", "contributions"))
    }


def _model(model: Mapping[str, Any] | None) -> dict[str, Any]:
    if model is None:
        return {
            "panels": [],
            "densities": [],
            "legend": "",
            "structure": "",
            "telling": "",
            "tree": "",
            "cuts": "",
            "search": "",
            "slice": "",
        }
    structure, telling, tree = (model.get(key) for key in ("structure", "telling", "tree"))
    return {
        # The page tells what a cell holds by script, from the facts.
        "panels": [
            probability_panel(own, model["classes"], tips=False) for own in model["nominal"]
        ],
        "densities": [density_panel(own, model["drawn"]) for own in model["numeric"]],
        "legend": _both(lambda width: legend_figure(model["drawn"], width), _WIDE)
        if model["numeric"]
        else "",
        "structure": _both(lambda width: attribute_tree_figure(structure, width), _WIDE)
        if structure
        else "",
        "telling": _both(lambda width: information_figure(telling[:_BARS], width), 720)
        if telling
        else "",
        "tree": _both(lambda width: decision_tree_figure(tree, width), _WIDE) if tree else "",
        **_cells(model.get("cells")),
    }


def _cells(cells: Mapping[str, Any] | None) -> dict[str, str]:
    """Cuts by column, gain over the search, and a slice of two columns."""
    if cells is None:
        return {"cuts": "", "search": "", "slice": ""}
    columns, steps, drawn = cells["columns"], cells["steps"], cells["drawn"]
    return {
        "cuts": _both(
            lambda width: cut_table_figure(columns, drawn, 1 if width < _HALF else 3), _WIDE
        )
        if columns
        else "",
        "search": _both(lambda width: search_figure(steps, width), 720) if steps else "",
        "slice": slice_figure(cells["slice"]) if cells["slice"] else "",
    }
