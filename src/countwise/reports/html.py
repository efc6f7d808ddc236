"""One self-contained page from facts: a section is a set of facts, a template and its figures."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

from countwise.atomic_write import atomic_write
from countwise.errors import ParameterError
from countwise.reports.comparison_facts import FORMAT, VERSION
from countwise.reports.figures.bar_chart import (
    balance_figure,
    coefficient_figure,
    error_figure,
    information_figure,
    member_figure,
)
from countwise.reports.figures.cell_grid import (
    agreement_figure,
    coefficient_grid,
    confusion_figure,
    gain_figure,
)
from countwise.reports.figures.decision_tree import decision_tree_figure
from countwise.reports.figures.dependency_graph import dependency_figure
from countwise.reports.figures.legend import legend_figure
from countwise.reports.figures.line_plot import curve_figure, search_figure, training_figure
from countwise.reports.figures.neighbors import neighbor_figure
from countwise.reports.figures.palette import DARK, LIGHT, STEPS, dark_ink, page_css, variables
from countwise.reports.figures.panels import cut_table_figure, density_panel, probability_panel
from countwise.reports.figures.ranking import ranking_figure
from countwise.reports.figures.regions import slice_figure
from countwise.reports.model_facts import has_weights
from countwise.reports.sentences import (
    brief,
    counted,
    cut_points_words,
    data_sentence,
    join,
    lead_sentence,
    measured_sentence,
    score_words,
    seconds,
    short,
    signed,
    tiles_of,
)

_WIDE, _MIDDLE, _HALF, _NARROW = 1040.0, 720.0, 480.0, 356.0
#: Bars that a chart of classes or attributes has at most.
_BARS = 60

Facts = Mapping[str, Any]
#: A figure, or several panels, by the name a template knows them by.
Figures = dict[str, Any]


def _both(draw: Callable[[float], str], wide: float) -> str:
    """Draw a figure wide and narrow; the style sheet shows the one that fits the screen."""
    return _classed(draw(wide), "wide") + _classed(draw(_NARROW), "narrow")


def _classed(svg: str, name: str) -> str:
    return svg.replace('class="cw"', f'class="cw {name}"', 1)


def _ranking(ranking: Facts) -> Figures:
    return {"ranking": _both(lambda width: ranking_figure(ranking, width=width), _WIDE)}


def _gain(gain: Facts) -> Figures:
    if not gain["values"]:
        return {"gain": "", "contributions": ""}
    return {
        "gain": _both(lambda width: gain_figure(gain, "values", width), _HALF),
        "contributions": _both(lambda width: gain_figure(gain, "contributions", width), _HALF),
    }


def _confusion(confusion: Facts) -> Figures:
    wide = _WIDE if len(confusion["classes"]) > 8 else _HALF
    return {"confusion": _both(lambda width: confusion_figure(confusion, width), wide)}


def _curve(curve: Facts) -> Figures:
    return {"curve": _both(lambda width: curve_figure(curve, width), _WIDE)}


def _data(data: Facts) -> Figures:
    if not data["balance"]:
        return {"balance": ""}
    shown = sorted(data["balance"], key=lambda line: -line["rows"])[:_BARS]
    return {"balance": _both(lambda width: balance_figure(shown, width), _MIDDLE)}


def _no_figures(facts: Facts) -> Figures:
    return {}


def _probability_tables(view: Facts) -> Figures:
    tables = view["tables"]
    bars = _both(lambda width: information_figure(tables, width), _MIDDLE)
    return {
        # The page says what a cell holds by script, from the facts.
        "panels": [probability_panel(table, view["classes"], tips=False) for table in tables],
        "information": bars if len(tables) > 1 else "",
    }


def _densities(view: Facts) -> Figures:
    return {
        "legend": _both(lambda width: legend_figure(view["classes"], width), _WIDE),
        "panels": [density_panel(column, view["classes"]) for column in view["columns"]],
    }


def _dependency_graph(view: Facts) -> Figures:
    return {"graph": _both(lambda width: dependency_figure(view, width), _WIDE)}


def _decision_tree(view: Facts) -> Figures:
    return {"tree": _both(lambda width: decision_tree_figure(view, width), _WIDE)}


def _cell_grid(view: Facts) -> Figures:
    columns = [column for column in view["columns"] if column["weights"]]
    figures: Figures = {"cuts": "", "search": "", "slice": ""}
    if columns:
        figures["cuts"] = _both(
            lambda width: cut_table_figure(columns, view["classes"], 1 if width < _HALF else 3),
            _WIDE,
        )
    if view["steps"]:
        figures["search"] = _both(lambda width: search_figure(view["steps"], width), _MIDDLE)
    if view["slice"]:
        figures["slice"] = slice_figure(view["slice"])
    return figures


def _coefficients(view: Facts) -> Figures:
    draw = coefficient_figure if len(view["classes"]) == 1 else coefficient_grid
    return {
        "terms": _both(lambda width: draw(view, width), _MIDDLE) if view["terms"] else "",
    }


def _training_curve(view: Facts) -> Figures:
    drawn = _both(lambda width: training_figure(view, width), _MIDDLE) if view["epochs"] else ""
    return {"epochs": drawn}


def _neighbor_sample(view: Facts) -> Figures:
    return {"neighbors": _both(lambda width: neighbor_figure(view, width), _MIDDLE)}


def _member_list(view: Facts) -> Figures:
    figures: Figures = {"members": "", "agreement": "", "errors": ""}
    if has_weights(view):
        figures["members"] = _both(lambda width: member_figure(view["members"], width), _MIDDLE)
    if view["agreement"]:
        figures["agreement"] = _both(lambda width: agreement_figure(view, width), _HALF)
    if view["errors"]:
        figures["errors"] = _both(lambda width: error_figure(view["errors"], width), _MIDDLE)
    return figures


#: The figures of every kind of view. Its template is named like its class.
_VIEWS: dict[str, Callable[[Facts], Figures]] = {
    "ProbabilityTables": _probability_tables,
    "Densities": _densities,
    "DependencyGraph": _dependency_graph,
    "DecisionTree": _decision_tree,
    "CellGrid": _cell_grid,
    "Coefficients": _coefficients,
    "TrainingCurve": _training_curve,
    "NeighborSample": _neighbor_sample,
    "MemberList": _member_list,
}


def _why(model: Facts) -> Figures:
    views = [view for view in model["views"] if view["kind"] in _VIEWS]
    return {
        "views": [
            {
                "facts": view,
                "figures": _marked(_VIEWS[view["kind"]](view)),
                "template": re.sub(r"(?<!^)(?=[A-Z])", "_", view["kind"]).lower() + ".html",
            }
            for view in views
        ]
    }


@dataclass(frozen=True)
class _Section:
    """A section of the page: the key of its facts, its names, and its figures.

    Its template is named like it.
    """

    id: str
    key: str
    name: str
    title: str
    draw: Callable[[Facts], Figures]


_SECTIONS = (
    _Section("ranking", "ranking", "Ranking", "Ranking", _ranking),
    _Section("gain", "gain", "Gain", "Expected gain", _gain),
    _Section("confusion", "confusion", "Confusion", "Confusion matrix", _confusion),
    _Section("why", "model", "Model", "", _why),
    _Section("curve", "curve", "Learning curve", "Learning curve", _curve),
    _Section("data", "data", "Data", "Data", _data),
    _Section("measured", "protocol", "Method", "Method", _no_figures),
)


def sections_of(facts: Facts) -> list[dict[str, Any]]:
    """Return the sections that the facts can fill, with their figures."""
    return [
        {
            "id": section.id,
            "name": section.name,
            "title": section.title or _title(facts[section.key]),
            "template": f"{section.id}.html",
            "figures": _marked(section.draw(facts[section.key])),
        }
        for section in _SECTIONS
        if facts.get(section.key)
    ]


def _title(model: Facts) -> str:
    """Name what the model shows: "Dependency graph and probability tables"."""
    titles = [view["title"] for view in model["views"] if view["kind"] in _VIEWS]
    return join([*titles[:1], *(title[:1].lower() + title[1:] for title in titles[1:])])


def _marked(figures: Figures) -> Figures:
    return {name: marked(figure) if name != "views" else figure for name, figure in figures.items()}


_HOME = "countwise.reports"


def filled(template: str, facts: Facts, home: str = _HOME, **more: Any) -> str:
    """Fill a template of a package with facts; the page also holds them as JSON."""
    import jinja2
    from markupsafe import Markup

    folders = list(dict.fromkeys((home, _HOME)))
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader(
            [jinja2.PackageLoader(folder, "templates") for folder in folders]
        ),
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
        "cut_points": cut_points_words,
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


def marked(figure: str | list[str]) -> Any:
    """Mark a figure, or several, as safe to insert into a page."""
    from markupsafe import Markup

    return Markup(figure) if isinstance(figure, str) else [Markup(svg) for svg in figure]


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


def _embedded(facts: Facts) -> str:
    """Return JSON that cannot end the element it stands in."""
    text = json.dumps(facts, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def render(facts: Facts) -> str:
    """Return the page as text."""
    _check(facts)
    comparison = facts["kind"] == "comparison"
    data = facts["data"]
    return filled(
        "page.html",
        facts,
        sections=sections_of(facts),
        tiles=tiles_of(facts),
        lead=lead_sentence(facts),
        data_lead=data_sentence(data) if data else "",
        measured=measured_sentence(facts["protocol"]) if comparison else "",
        ranked_words=score_words(facts["ranking"]["ranked_by"]) if comparison else "",
        many=comparison and len(facts["confusion"]["classes"]) > 8,
        balance_more=max(len(data["balance"]) - _BARS, 0) if data else 0,
        steps=[
            {
                "words": f"{step:g}".lstrip("0") or "0",
                "ink": "low" if dark_ink(f"q{at}") else "high",
            }
            for at, step in enumerate(STEPS)
        ],
    )


def write(facts: Facts, path: str | os.PathLike[str]) -> None:
    """Write the page to a file, whole or not at all."""
    page = render(facts)
    with atomic_write(path, "report") as temporary:
        temporary.write_text(page, encoding="utf-8", errors="replace")


def _check(facts: Facts) -> None:
    found = (facts.get("format"), facts.get("version")) if isinstance(facts, Mapping) else facts
    if found != (FORMAT, VERSION):
        raise ParameterError(
            "render",
            "facts",
            f"of format {FORMAT!r}, version {VERSION}",
            found,
            "Get them from comparison_facts or inspect_facts.",
        )
