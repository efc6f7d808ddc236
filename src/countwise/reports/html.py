"""All figures of a page: wide ones, and narrow ones for small screens."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Callable, Mapping
from importlib import resources
from typing import Any

from countwise.atomic_write import atomic_write
from countwise.errors import ParameterError
from countwise.reports.comparison_facts import FORMAT, VERSION
from countwise.reports.figures.bar_chart import balance_figure, information_figure
from countwise.reports.figures.cell_grid import confusion_figure, gain_figure
from countwise.reports.figures.decision_tree import decision_tree_figure
from countwise.reports.figures.dependency_graph import attribute_tree_figure
from countwise.reports.figures.legend import legend_figure
from countwise.reports.figures.line_plot import curve_figure, search_figure
from countwise.reports.figures.palette import DARK, LIGHT, STEPS, dark_ink, page_css, variables
from countwise.reports.figures.panels import cut_table_figure, density_panel, probability_panel
from countwise.reports.figures.ranking import ranking_figure
from countwise.reports.figures.regions import slice_figure
from countwise.reports.sentences import (
    brief,
    counted,
    data_sentence,
    lead_sentence,
    measured_sentence,
    score_words,
    seconds,
    sections_of,
    short,
    signed,
    tiles_of,
)

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


_HOME = "countwise.reports"


def filled(template: str, facts: Mapping[str, Any], home: str = _HOME, **more: Any) -> str:
    """Fill a template of a package with facts; the page holds them as JSON, too."""
    import jinja2
    from markupsafe import Markup

    folders = list(dict.fromkeys((home, _HOME)))
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader([jinja2.PackageLoader(own, "templates") for own in folders]),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {
        "short": short,
        "signed": signed,
        "seconds": seconds,
        "counted": counted,
        "brief": brief,
    }
    script = _asset("script.js")
    page = environment.get_template(template).render(
        facts=facts,
        style=Markup(_style()),
        script=Markup(script),
        policy=_policy(script),
        json=Markup(_embedded(facts)),
        **more,
    )
    return page.lstrip()


def marked(own: str | list[str]) -> Any:
    """Say of a figure, or of several, that it is markup already."""
    from markupsafe import Markup

    return Markup(own) if isinstance(own, str) else [Markup(svg) for svg in own]


def _asset(name: str) -> str:
    folder = resources.files(_HOME).joinpath("templates")
    return folder.joinpath(name).read_text(encoding="utf-8")


def _style() -> str:
    light, dark = variables(LIGHT), variables(DARK)
    # Dark only on a screen: print is always light.
    schemes = [
        f":root{{{light}}}",
        f"@media screen and (prefers-color-scheme:dark){{:root:not([data-theme=light]){{{dark}}}}}",
        f"@media screen{{:root[data-theme=dark]{{{dark}}}}}",
    ]
    return "\n".join([*schemes, page_css(), _asset("style.css")])


def _policy(script: str) -> str:
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"


def _embedded(facts: Mapping[str, Any]) -> str:
    """JSON that no HTML parser can be led out of."""
    text = json.dumps(facts, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def render(facts: Mapping[str, Any]) -> str:
    """Return the page as text."""
    _check(facts)
    comparison = facts["kind"] == "comparison"
    drawn = figures_of(facts)
    return filled(
        "page.html",
        facts,
        figures={name: marked(own) for name, own in drawn.items()},
        sections=sections_of(facts),
        tiles=tiles_of(facts),
        lead=lead_sentence(facts),
        data_lead=data_sentence(facts["data"]),
        measured=measured_sentence(facts["protocol"]) if comparison else "",
        ranked_words=score_words(facts["ranking"]["ranked_by"]) if comparison else "",
        many=comparison and len(facts["confusion"]["classes"]) > 8,
        balance_more=max(len(facts["data"]["balance"]) - 60, 0),
        steps=[
            {
                "words": f"{step:g}".lstrip("0") or "0",
                "ink": "low" if dark_ink(f"q{at}") else "high",
            }
            for at, step in enumerate(STEPS)
        ],
    )


def write(facts: Mapping[str, Any], path: str | os.PathLike[str]) -> None:
    """Write the page to a file, whole or not at all."""
    page = render(facts)
    with atomic_write(path, "write") as temporary:
        temporary.write_text(page, encoding="utf-8", errors="replace")


def _check(facts: Mapping[str, Any]) -> None:
    found = (facts.get("format"), facts.get("version")) if isinstance(facts, Mapping) else facts
    if found != (FORMAT, VERSION):
        raise ParameterError(
            f"render: facts must be of format {FORMAT!r}, version {VERSION}, but {found!r} came. "
            "Make them with comparison_facts or inspect_facts."
        )
