"""A reproduction as one HTML page, and as one Markdown page per paper."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from countwise.atomic_write import atomic_write
from countwise.reports.draw import Picture
from countwise.reports.html import filled, marked
from countwise.reports.sentences import seconds
from countwise_papers.claims import LEDGER, PAPERS
from countwise_papers.findings import VERDICTS, Finding, summarize
from countwise_papers.reproduce import Reproduction, Result

#: The style class of each verdict, and its mark in a Markdown table; an addition has none.
_LOOK = dict(
    zip((*VERDICTS, None), ("same", "near", "apart", "wrong", "other", "not-run", ""), strict=True)
)
_MARKS = dict(zip((*VERDICTS, None), ("✓", "≈", "≠", "!", "○", "–", ""), strict=True))


def render(found: Reproduction) -> str:
    """Return the HTML page as text."""
    plain = found.to_dict()
    facts = {**plain, "parts": [{**part, "pictures": []} for part in plain["parts"]]}
    papers = [_paper_facts(found, name) for name in _papers_run(found)]
    return filled("papers.html", facts, "countwise_papers", papers=papers, look=_LOOK)


def write(found: Reproduction, path: str | os.PathLike[str]) -> None:
    """Write the HTML page to a file, whole or not at all."""
    page = render(found)
    with atomic_write(path, "write") as draft:
        draft.write_text(page, encoding="utf-8", errors="replace")


def page_of(found: Reproduction, paper: str, images: Sequence[str] = ()) -> str:
    """Return the Markdown page of one paper; `images` are links to put under its parts."""
    import jinja2

    environment = jinja2.Environment(
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {
        "seconds": seconds,
        "remark": describe_addition,
        "cell": lambda text: str(text).replace("|", "\\|").replace("\n", " "),
    }
    folder = resources.files("countwise_papers").joinpath("templates")
    template = environment.from_string(folder.joinpath("paper.md").read_text(encoding="utf-8"))
    text = template.render(
        paper=_paper_facts(found, paper), quick=found.quick, images=images, marks=_MARKS
    )
    return "\n".join(line.rstrip() for line in text.splitlines()).strip() + "\n"


def write_pages(found: Reproduction, folder: str | os.PathLike[str]) -> list[Path]:
    """Write one Markdown page for each paper that was run, with its pictures beside it."""
    base = Path(folder)
    base.mkdir(parents=True, exist_ok=True)
    written = []
    for paper in _papers_run(found):
        images = []
        for part in _paper_facts(found, paper)["parts"]:
            for picture in part["pictures"]:
                Picture(str(picture["svg"]), picture["title"]).save(base / picture["file"])
                images.append(picture["file"])
        path = base / f"{paper}.md"
        with atomic_write(path, "reproduce") as draft:
            draft.write_text(page_of(found, paper, images), encoding="utf-8")
        written.append(path)
    return written


def describe_addition(finding: Finding) -> str:
    """Return the remark on an addition of ours, which has no verdict."""
    return (
        f"This does not hold. {finding.reason}".strip()
        if finding.holds is False
        else finding.reason
    )


def _papers_run(found: Reproduction) -> list[str]:
    run = {result.part.paper for result in found.results}
    return [paper for paper in PAPERS if paper in run]


def _paper_facts(found: Reproduction, name: str) -> dict[str, Any]:
    """Return what both pages say of one paper."""
    results = [result for result in found.results if result.part.paper == name]
    return {
        "id": name,
        "title": PAPERS[name].title,
        "authors": PAPERS[name].authors,
        "summary": summarize(f for result in results for f in found.findings_of(result)),
        "spent": sum(result.seconds for result in results),
        "parts": [_part_facts(result, found.findings_of(result)) for result in results],
    }


def _part_facts(result: Result, findings: Sequence[Finding]) -> dict[str, Any]:
    part = result.part
    tables = dict.fromkeys(f.table for f in findings if f.table and f.column)
    single = [f for f in findings if not (f.table and f.column)]
    return {
        "name": part.name,
        "title": part.title,
        "protocol": part.protocol,
        "seed": part.seed,
        "home": part.home,
        "code": part.code,
        "ids": [{"name": name, "words": LEDGER[name]} for name in part.ledger],
        "data": result.key["data"],
        "version": result.key["code"],
        "seconds": result.seconds,
        "grids": [_grid_facts(name, [f for f in findings if f.table == name]) for name in tables],
        "judged": [f for f in single if f.verdict],
        "additions": [f for f in single if not f.verdict],
        "pictures": [
            {
                "title": picture.title,
                "words": picture.words,
                "svg": marked(picture.svg),
                "file": f"{part.name}-{place}.svg",
            }
            for place, picture in enumerate(result.outcome.pictures, 1)
        ],
        "remarks": result.outcome.remarks,
        "summary": summarize(findings),
    }


def _grid_facts(name: str, findings: Sequence[Finding]) -> dict[str, Any]:
    """Return a table laid out as the paper prints it: lines, columns, a finding in each cell."""
    columns = list(dict.fromkeys(f.column for f in findings))
    cells = {(f.row, f.column): f for f in findings}
    return {
        "name": name,
        "judged": any(f.verdict for f in findings),
        "columns": columns,
        "lines": [
            {"name": row, "cells": [cells.get((row, column)) for column in columns]}
            for row in dict.fromkeys(f.row for f in findings)
        ],
    }
