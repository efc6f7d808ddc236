"""The page of a reproduction: printed and ours side by side, coloured by verdict."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from countwise.papers.findings import VERDICTS, Finding, said, tally
from countwise.papers.ledger import LEDGER, PAPERS
from countwise.papers.run import Reproduction, Result
from countwise.reports.shell import filled, marked
from countwise.store.atomic import atomic_write

#: The style class of each verdict.
_LOOK = dict(zip(VERDICTS, ("same", "near", "apart", "wrong", "not-run"), strict=True))


def render(found: Reproduction) -> str:
    """Return the page as text."""
    plain = found.to_dict()
    facts = {**plain, "parts": [{**part, "pictures": []} for part in plain["parts"]]}
    papers = [
        {
            "id": paper.name,
            "title": f"{paper.name.upper()} — {paper.authors}: {paper.title}",
            "verdicts": said(tally(own for r in results for own in r.outcome.findings)),
            "parts": [_part(result, found) for result in results],
        }
        for paper in PAPERS.values()
        if (results := [own for own in found.results if own.part.paper == paper.name])
    ]
    return filled(
        "papers.html",
        facts,
        "countwise.papers",
        papers=papers,
        look=_LOOK,
        tally=[{"verdict": name, "number": own} for name, own in found.tally().items()],
        spent=sum(own.seconds for own in found.results),
        figures=len(found.findings),
    )


def write(found: Reproduction, path: str | os.PathLike[str]) -> None:
    """Write the page to a file, whole or not at all."""
    page = render(found)
    with atomic_write(path, "write") as temporary:
        temporary.write_text(page, encoding="utf-8", errors="replace")


def _part(result: Result, found: Reproduction) -> dict[str, Any]:
    every = [
        own for own in result.outcome.findings if found.only is None or own.ledger in found.only
    ]
    names = list(dict.fromkeys(own.table for own in every if own.table and own.column))
    placed = [_grid(name, [own for own in every if own.table == name]) for name in names]
    return {
        "part": result.part,
        "ids": [{"name": name, "words": LEDGER[name]} for name in result.part.ledger],
        "data": result.key["data"],
        "code": result.part.code,
        "version": result.key["code"],
        "seconds": result.seconds,
        "grids": placed,
        "findings": [own for own in every if not (own.table and own.column)],
        "pictures": [
            {"title": own.title, "words": own.words, "svg": marked(own.svg)}
            for own in result.outcome.pictures
        ],
        "remarks": result.outcome.remarks,
        "verdicts": said(tally(every)),
    }


def _grid(name: str, findings: Sequence[Finding]) -> dict[str, Any]:
    """A printed table laid out as it was: lines, columns, and a finding in each cell."""
    columns = list(dict.fromkeys(own.column for own in findings))
    lines: dict[str, Mapping[str, Finding]] = {}
    for own in findings:
        lines[own.row] = {**lines.get(own.row, {}), own.column: own}
    return {
        "name": name,
        "columns": columns,
        "lines": [
            {"name": row, "cells": [cells.get(column) for column in columns]}
            for row, cells in lines.items()
        ],
    }
