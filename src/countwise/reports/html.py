"""One self-contained page: each section has facts, a template and figures."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping
from importlib import resources
from typing import Any

from countwise.atomic_write import atomic_write
from countwise.errors import ParameterError
from countwise.reports.data_facts import FORMAT, VERSION
from countwise.reports.figures.axes import legend_figure
from countwise.reports.figures.bar_chart import (
    balance_figure,
    coefficient_figure,
    error_figure,
    importance_figure,
    information_figure,
    member_figure,
    strength_figure,
    word_figure,
)
from countwise.reports.figures.cell_grid import (
    agreement_figure,
    coefficient_grid,
    confusion_figure,
    gain_figure,
    pair_figure,
)
from countwise.reports.figures.decision_tree import decision_tree_figure
from countwise.reports.figures.dependency_graph import dependency_figure
from countwise.reports.figures.line_plot import curve_figure, search_figure, training_figure
from countwise.reports.figures.neighbors import neighbor_figure
from countwise.reports.figures.palette import DARK, LIGHT, STEPS, dark_ink, page_css, variables
from countwise.reports.figures.panels import (
    cut_table_figure,
    density_panel,
    prior_panel,
    probability_panel,
    with_priors,
)
from countwise.reports.figures.ranking import ranking_figure
from countwise.reports.figures.regions import slice_figure
from countwise.reports.figures.shapes import single_shape
from countwise.reports.model_facts import has_weights
from countwise.reports.sentences import (
    brief,
    counted,
    cut_points_words,
    data_sentence,
    join,
    lead_sentence,
    lower_is_better,
    measured_sentence,
    recommendation,
    score_text,
    score_words,
    seconds,
    short,
    signed,
    tiles_of,
)
from countwise.tables.cell_forms import date_text

_WIDE, _MIDDLE, _HALF, _NARROW = 1040.0, 720.0, 480.0, 356.0
#: Bars that a chart of classes or attributes has at most, and one of coefficients.
_BARS, _TERMS = 60, 15

Facts = Mapping[str, Any]
#: A figure, or several panels, by the name a template knows them by.
Figures = dict[str, Any]


def _both(draw: Callable[..., str], wide: float, *facts: Any) -> str:
    """Draw a figure wide and narrow; the style sheet shows the one that fits the screen."""
    return "".join(
        draw(*facts, width=width).replace('class="cw"', f'class="cw {name}"', 1)
        for width, name in ((wide, "wide"), (_NARROW, "narrow"))
    )


def _ranking(ranking: Facts) -> Figures:
    return {"ranking": _both(ranking_figure, _WIDE, ranking)}


def _curve(curve: Facts) -> Figures:
    return {"curve": _both(curve_figure, _WIDE, curve)}


def _gain(gain: Facts) -> Figures:
    parts = {"gain": "values", "contributions": "contributions"}
    return {
        name: _both(gain_figure, _HALF, gain, part) if gain["values"] else ""
        for name, part in parts.items()
    }


def _confusion(confusion: Facts) -> Figures:
    wide = _WIDE if len(confusion["classes"]) > 8 else _HALF
    return {"confusion": _both(confusion_figure, wide, confusion)}


def _data(data: Facts) -> Figures:
    shown = sorted(data["balance"], key=lambda line: -line["rows"])[:_BARS]
    return {"balance": _both(balance_figure, _MIDDLE, shown) if shown else ""}


def _probability_tables(view: Facts) -> Figures:
    tables = view["tables"]
    return {
        "prior": prior_panel(view) if tables else "",
        # The page says what a cell holds by script, from the facts.
        "panels": [probability_panel(table, view["classes"], tips=False) for table in tables],
        "information": _both(information_figure, _MIDDLE, tables) if len(tables) > 1 else "",
    }


def _densities(view: Facts) -> Figures:
    return {
        "legend": _both(legend_figure, _WIDE, with_priors(view)),
        "panels": [density_panel(column, view["classes"]) for column in view["columns"]],
    }


def _cell_grid(view: Facts) -> Figures:
    columns = [column for column in view["columns"] if column["weights"]]

    def draw_cuts(width: float) -> str:
        return cut_table_figure(columns, view["classes"], 1 if width < _HALF else 3)

    return {
        "cuts": _both(draw_cuts, _WIDE) if columns else "",
        "search": _both(search_figure, _MIDDLE, view["steps"]) if view["steps"] else "",
        "slice": slice_figure(view["slice"]) if view["slice"] else "",
    }


def _coefficients(view: Facts) -> Figures:
    draw = coefficient_figure if len(view["classes"]) == 1 else coefficient_grid
    shown = {**view, "terms": view["terms"][:_TERMS]}
    return {"terms": _both(draw, _MIDDLE, shown) if view["terms"] else ""}


def _shapes(view: Facts) -> Figures:
    classes, columns = view["classes"], view["columns"]
    return {
        "strengths": _both(strength_figure, _MIDDLE, view) if len(columns) > 1 else "",
        "legend": _both(legend_figure, _WIDE, classes) if len(classes) > 1 else "",
        "panels": [single_shape(shape, classes) for shape in columns],
    }


def _pair_shapes(view: Facts) -> Figures:
    return {"panels": [_both(pair_figure, _HALF, pair) for pair in view["pairs"]]}


def _member_list(view: Facts) -> Figures:
    members, errors = view["members"], view["errors"]
    return {
        "members": _both(member_figure, _MIDDLE, members) if has_weights(view) else "",
        "agreement": _both(agreement_figure, _HALF, view) if view["agreement"] else "",
        "errors": _both(error_figure, _MIDDLE, errors) if errors else "",
    }


#: The figures of every kind of view. Its template is named like its class.
_VIEWS: dict[str, Callable[[Facts], Figures]] = {
    "ProbabilityTables": _probability_tables,
    "Densities": _densities,
    "TopWords": lambda view: {
        "words": [
            _both(word_figure, _MIDDLE, column, view["classes"]) for column in view["columns"]
        ]
    },
    "DependencyGraph": lambda view: {"graph": _both(dependency_figure, _WIDE, view)},
    "DecisionTree": lambda view: {"tree": _both(decision_tree_figure, _WIDE, view)},
    "CellGrid": _cell_grid,
    "Coefficients": _coefficients,
    "Shapes": _shapes,
    "PairShapes": _pair_shapes,
    "TrainingCurve": lambda view: {
        "epochs": _both(training_figure, _MIDDLE, view) if view["epochs"] else ""
    },
    "NeighborSample": lambda view: {"neighbors": _both(neighbor_figure, _MIDDLE, view)},
    "MemberList": _member_list,
    "Importances": lambda view: {
        "importance": _both(importance_figure, _MIDDLE, view["columns"]) if view["columns"] else ""
    },
}


def _why(model: Facts) -> Figures:
    return {
        "views": [
            {
                "facts": view,
                "figures": _marked(_VIEWS[view["kind"]](view)),
                "template": re.sub(r"(?<!^)(?=[A-Z])", "_", view["kind"]).lower() + ".html",
            }
            for view in model["views"]
            if view["kind"] in _VIEWS
        ]
    }


#: The sections of the page: their ids, the keys of their facts, names, titles and figures.
_SECTIONS: tuple[tuple[str, str, str, str, Callable[[Facts], Figures]], ...] = (
    ("experiment", "experiment", "Data sets", "Models on all data sets", lambda experiment: {}),
    ("ranking", "ranking", "Ranking", "Ranking", _ranking),
    ("gain", "gain", "", "", _gain),
    ("confusion", "confusion", "Confusion", "Confusion matrix", _confusion),
    ("why", "model", "Model", "", _why),
    ("curve", "curve", "Learning curve", "Learning curve", _curve),
    ("data", "data", "Data", "Data", _data),
    ("measured", "protocol", "Method", "Method", lambda protocol: {}),
)


def sections_of(facts: Facts) -> list[dict[str, Any]]:
    """Return the sections that the facts can fill, with their figures."""
    return [
        {
            "id": section,
            "name": name or facts[key]["word"].capitalize(),
            "title": title or _title(facts[key]),
            "template": f"{section}.html",
            "figures": _marked(draw(facts[key])),
        }
        for section, key, name, title, draw in _SECTIONS
        if facts.get(key)
    ]


def _title(model: Facts) -> str:
    """Name what the model shows, or what decisions are measured by.

    "Dependency graph and probability tables", or "Expected gain".
    """
    if "word" in model:
        return f"Expected {model['word']}"
    titles = [view["title"] for view in model["views"] if view["kind"] in _VIEWS]
    return join([*titles[:1], *(title[:1].lower() + title[1:] for title in titles[1:])])


def _marked(figures: Figures) -> Figures:
    return {name: marked(figure) if name != "views" else figure for name, figure in figures.items()}


_HOME = "countwise.reports"


def filled(template: str, facts: Facts, home: str = _HOME, **more: Any) -> str:
    """Fill a template of a package with facts; the page also holds them as JSON."""
    import jinja2
    from markupsafe import Markup

    folders = dict.fromkeys((home, _HOME))
    loaders = [jinja2.PackageLoader(folder, "templates") for folder in folders]
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader(loaders),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {
        "short": short,
        "scored": score_text,
        "signed": signed,
        "seconds": seconds,
        "counted": counted,
        "brief": brief,
        "date": date_text,
        "cut_points": cut_points_words,
    }
    script = _asset("script.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    page = environment.get_template(template).render(
        facts=facts,
        style=Markup(_style()),
        script=Markup(script),
        policy=f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'",
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


def _embedded(facts: Facts) -> str:
    """Return JSON that cannot end the element it stands in."""
    text = json.dumps(facts, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def render(facts: Facts) -> str:
    """Return the page as text."""
    found = (facts.get("format"), facts.get("version")) if isinstance(facts, Mapping) else facts
    if found != (FORMAT, VERSION):
        rule = f"of format {FORMAT!r}, version {VERSION}"
        hint = "Get them from comparison_facts or inspect_facts."
        raise ParameterError("render", "facts", rule, found, hint)
    comparison = facts["kind"] == "comparison"
    data = facts["data"]
    return filled(
        "page.html",
        facts,
        sections=sections_of(facts),
        tiles=tiles_of(facts),
        lead=lead_sentence(facts),
        recommendation=recommendation(facts) if comparison else "",
        data_lead=data_sentence(data) if data else "",
        measured=measured_sentence(facts["protocol"]) if comparison else "",
        ranked_words=score_words(facts["ranking"]["ranked_by"]) if comparison else "",
        lower_is_better=bool(facts.get("curve")) and lower_is_better(facts["curve"]["score"]),
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
