"""A reproduction as Markdown: one page a paper, from the same facts as the HTML page."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from countwise.atomic_write import atomic_write
from countwise.reports.draw import Picture
from countwise.reports.html import filled, marked
from countwise.reports.sentences import seconds
from countwise_papers.claims import LEDGER, PAPERS
from countwise_papers.findings import VERDICTS, Finding, said, tally
from countwise_papers.reproduce import Reproduction, Result


def page_of(found: Reproduction, paper: str, images: Sequence[str] = ()) -> str:
    """Return the page of one paper; `images` are links to put under its parts."""
    own = PAPERS[paper]
    results = [result for result in found.results if result.part.paper == paper]
    every = [one for result in results for one in result.outcome.findings]
    lines = [
        f"# {paper.upper()}: {own.title} ({own.authors})",
        "",
        f"{len(every)} figures: {said(tally(every))}. Made by `countwise reproduce {paper}`"
        f"{' --quick' if found.quick else ''} in {seconds(sum(r.seconds for r in results))}.",
    ]
    for result in results:
        lines += ["", *_part_markdown(result, images)]
    return "\n".join(lines) + "\n"


def write_pages(found: Reproduction, folder: str | os.PathLike[str]) -> list[Path]:
    """Write one page for each paper that was run, with its pictures beside it."""
    base = Path(folder)
    base.mkdir(parents=True, exist_ok=True)
    written = []
    for paper in PAPERS:
        if not any(result.part.paper == paper for result in found.results):
            continue
        links = []
        for result in found.results:
            if result.part.paper == paper:
                for at, own in enumerate(result.outcome.pictures):
                    path = base / f"{result.part.name}-{at + 1}.svg"
                    Picture(own.svg, own.title).save(path)
                    links.append(path.name)
        path = base / f"{paper}.md"
        with atomic_write(path, "reproduce") as draft:
            draft.write_text(page_of(found, paper, links), encoding="utf-8")
        written.append(path)
    return written


def _part_markdown(result: Result, images: Sequence[str]) -> list[str]:
    part, every = result.part, result.outcome.findings
    ids = "; ".join(f"{name} {LEDGER[name]}" for name in part.ledger)
    lines = [f"## {part.title}", "", f"*{ids}.* {part.protocol}", ""]
    lines += [line for remark in result.outcome.remarks for line in (remark, "")]
    for name in dict.fromkeys(own.table for own in every if own.table and own.column):
        lines += [*_grid_markdown(name, [own for own in every if own.table == name]), ""]
    single = [own for own in every if not (own.table and own.column)]
    if single:
        lines += [
            "| id | figure | printed | ours | verdict |",
            "|---|---|---|---|---|",
            *(_row(own) for own in single),
            "",
        ]
    for at, shown in enumerate(result.outcome.pictures):
        link = f"{part.name}-{at + 1}.svg"
        if link in images:
            lines += [f"![{shown.title}]({link})", ""]
    hashes = ", ".join(f"{name} `{own}`" for name, own in result.key["data"].items())
    lines.append(
        f"Seed {part.seed}; {seconds(result.seconds)}; code `{part.home}`"
        + (f"; data {hashes}." if hashes else ".")
        + f" Alone: `countwise reproduce --only {part.name}`."
    )
    return lines


def _row(own: Finding) -> str:
    judged = own.verdict + (f": {own.reason}" if own.reason else "")
    return _cells([own.ledger, own.what, own.printed, own.ours, judged])


def _grid_markdown(name: str, findings: Sequence[Finding]) -> list[str]:
    """A printed table: ours, the printed figure in brackets, a mark for the verdict."""
    marks = {
        "agrees": "✓",
        "agrees within the interval": "≈",
        "differs": "≠",
        "printed figure is wrong": "!",
        "cannot be run": "–",
    }
    columns = list(dict.fromkeys(own.column for own in findings))
    cells = {(own.row, own.column): own for own in findings}
    lines = [
        f"{name}: ours, in brackets the printed figure, and ✓ agrees, ≈ within the interval, "
        "≠ differs, – cannot be run.",
        "",
        _cells(["", *columns]),
        "|" + "---|" * (len(columns) + 1),
    ]
    for row in dict.fromkeys(own.row for own in findings):
        line = [row]
        for column in columns:
            own = cells.get((row, column))
            if own is None:
                line.append("")
                continue
            printed = f" [{own.printed}]" if own.printed else ""
            line.append(f"{own.ours}{printed} {marks[own.verdict]}".strip())
        lines.append(_cells(line))
    return lines


def _cells(texts: Iterable[str]) -> str:
    return "| " + " | ".join(text.replace("|", "\\|").replace("\n", " ") for text in texts) + " |"


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
        "countwise_papers",
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
