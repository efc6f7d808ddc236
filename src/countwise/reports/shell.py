"""What every page is made with: templates, style, script, and a policy that lets nothing else run.

A template gets facts and figures; whatever comes from data is escaped by Jinja or, in figures, by
`figures.svg`. The content security policy admits the page's own script by its hash and nothing
else, so that no text of the data could run even if it got through.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from importlib import resources
from typing import Any

from countwise.reports.figures.palette import DARK, LIGHT, page_css, variables
from countwise.reports.wording import brief, counted, seconds, short, signed

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
