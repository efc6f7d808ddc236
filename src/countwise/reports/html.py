"""One self-contained page from the facts: no network, light and dark, printable.

The template gets facts, figures and a few sentences; `shell` fills it in.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from countwise.errors import ParameterError
from countwise.reports.drawn import figures_of
from countwise.reports.facts import FORMAT, VERSION
from countwise.reports.figures.palette import STEPS, dark_ink
from countwise.reports.sentences import (
    data_sentence,
    lead_sentence,
    measured_sentence,
    sections_of,
    tiles_of,
)
from countwise.reports.shell import filled, marked
from countwise.reports.wording import score_words
from countwise.store.atomic import atomic_write


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
