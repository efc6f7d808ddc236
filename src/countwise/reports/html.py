"""One self-contained page from the facts: no network, light and dark, printable.

The template gets facts, figures and a few sentences; whatever comes from the data is escaped by
Jinja or, in figures, by `figures.svg`. A content security policy admits the page's own script by
its hash and nothing else, so that no text of the data could run even if it got through.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Mapping
from importlib import resources
from typing import Any

from countwise.errors import ParameterError
from countwise.reports.drawn import figures_of
from countwise.reports.facts import FORMAT, VERSION
from countwise.reports.figures.palette import DARK, LIGHT, STEPS, dark_ink, page_css, variables
from countwise.reports.sentences import (
    data_sentence,
    lead_sentence,
    measured_sentence,
    sections_of,
    tiles_of,
)
from countwise.reports.wording import brief, counted, score_words, seconds, short, signed
from countwise.store.atomic import atomic_write

__all__ = ["render", "write"]


def render(facts: Mapping[str, Any]) -> str:
    """Return the page as text.

    Parameters
    ----------
    facts
        What `comparison_facts` or `inspect_facts` returned, perhaps read back from JSON.

    Examples
    --------
    >>> import countwise as cw
    >>> from countwise.reports.facts import inspect_facts
    >>> page = render(inspect_facts(cw.read("sample:weather"), "sample:weather"))
    >>> page.startswith("<!DOCTYPE html>"), "sample:weather: predicting play" in page
    (True, True)
    """
    import jinja2
    from markupsafe import Markup

    _check(facts)
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("countwise.reports", "templates"),
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
    comparison = facts["kind"] == "comparison"
    drawn = figures_of(facts)
    page = environment.get_template("page.html").render(
        facts=facts,
        figures={name: _marked(own) for name, own in drawn.items()},
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
        style=Markup(_style()),
        script=Markup(script),
        policy=_policy(script),
        json=Markup(_embedded(facts)),
    )
    return page.lstrip()


def write(facts: Mapping[str, Any], path: str | os.PathLike[str]) -> None:
    """Write the page to a file, whole or not at all.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import countwise as cw
    >>> from countwise.reports.facts import inspect_facts
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(inspect_facts(cw.read("sample:weather")), Path(folder) / "weather.html")
    ...     [path.name for path in Path(folder).iterdir()]
    ['weather.html']
    """
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


def _marked(own: str | list[str]) -> Any:
    from markupsafe import Markup

    return Markup(own) if isinstance(own, str) else [Markup(svg) for svg in own]


def _asset(name: str) -> str:
    folder = resources.files("countwise.reports").joinpath("templates")
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
