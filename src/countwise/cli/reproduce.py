"""``countwise reproduce``: the figures of five papers, re-made and judged."""

from __future__ import annotations

import sys
from typing import Any

import click

from countwise.cli.app import Command

#: With no more figures than these an id is listed figure by figure.
FEW = 12


@click.command(
    "reproduce",
    cls=Command,
    examples=(
        "countwise reproduce all --report papers.html",
        "countwise reproduce p1 --only P1.10",
        "countwise reproduce p3 --quick",
    ),
)
@click.argument("papers", metavar="[p0 … p4 | all]", nargs=-1)
@click.option("--only", metavar="ID,…", help="Ids such as P1.10, or parts such as p1-table-1.")
@click.option("--quick", is_flag=True, help="A smoke run: fewer repeats and rows.")
@click.option("--fresh", is_flag=True, help="Run again what an earlier run has finished.")
@click.option("--every", is_flag=True, help="List every figure, also of large tables.")
@click.option("--parts", "list_parts", is_flag=True, help="List the parts, and run nothing.")
@click.option("--report", metavar="HTML", help="Write a page: printed and ours side by side.")
@click.option("-o", "--output", metavar="FILE", help="Write the figures as .csv or .json.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--quiet", "-q", is_flag=True, help="No remarks, no progress.")
def command(
    papers: tuple[str, ...],
    only: str | None,
    quick: bool,
    fresh: bool,
    every: bool,
    list_parts: bool,
    report: str | None,
    output: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Re-make the figures of five papers, each with ours, an interval and a verdict.

    Data are found as samples are: bundled, in the folder COUNTWISE_DATA, or at OpenML. A set that
    is out of reach makes its figures 'cannot be run'; the last lines say which, and which files to
    put into that folder. Finished parts are kept in COUNTWISE_CACHE (or the user's cache folder)
    by code version and data hash, so that a run can be taken up again.
    """
    from countwise.atomic_write import check_writable
    from countwise.cli.options import split_names
    from countwise.cli.output import print_json, progress, remark, write_records
    from countwise_papers.reproduce import reproduce

    check_writable(output, "-o", (".csv", ".json"))
    check_writable(report, "--report", (".html", ".htm"))
    if list_parts:
        _list(as_json)
        return
    with progress(quiet) as tell:
        found = reproduce(
            papers or ("all",),
            only=() if only is None else list(split_names(only)),
            quick=quick,
            use_cache=not fresh,
            progress=tell,
        )
    whole = {"command": "reproduce", **found.to_dict()}
    if output is not None:
        write_records(output, [own.to_dict() for own in found.findings], whole, "reproduce")
    if report is not None:
        from countwise_papers.pages import write

        write(found, report)
    if as_json:
        print_json(_without_pictures(whole))
    else:
        _show(found, every or only is not None)
    written = [
        f"{what} written to {path}."
        for what, path in (("Figures", output), ("Report", report))
        if path
    ]
    remark(written, quiet)


def _without_pictures(whole: dict[str, Any]) -> dict[str, Any]:
    parts = [
        {**part, "pictures": [p["title"] for p in part["pictures"]]} for part in whole["parts"]
    ]
    return {**whole, "parts": parts}


def _list(as_json: bool) -> None:
    from countwise.cli.output import print_json
    from countwise.reports.terminal import Screen, grid
    from countwise_papers.reproduce import parts

    found = [
        {"name": p.name, "ledger": list(p.ledger), "title": p.title, "data": list(p.data)}
        for p in parts()
    ]
    if as_json:
        print_json(found)
        return
    table = grid("part", "ids", "what")
    table.columns[0].no_wrap = True
    for part in parts():
        table.add_row(part.name, ", ".join(part.ledger), part.title)
    Screen(sys.stdout).show(table)


def _show(found: Any, every: bool) -> None:
    """Print one block a paper: short ids figure by figure, long ones as a count of verdicts."""
    from countwise.reports.sentences import seconds
    from countwise.reports.terminal import Screen, grid
    from countwise_papers.claims import LEDGER, PAPERS, paper_of
    from countwise_papers.findings import said, tally

    screen = Screen(sys.stdout)
    by_id = found.by_id()
    for paper in PAPERS.values():
        own = {name: figures for name, figures in by_id.items() if paper_of(name) == paper}
        if not own:
            continue
        spent = sum(r.seconds for r in found.results if r.part.paper == paper.name)
        screen.say(
            f"{paper.name.upper()}  {paper.authors}: {paper.title} ({seconds(spent)})", "bold"
        )
        table = grid("id", "figure", "printed", "ours", "verdict")
        table.columns[0].no_wrap = True
        for name, figures in own.items():
            if every or len(figures) <= FEW:
                for at, one in enumerate(figures):
                    table.add_row(
                        name if at == 0 else "", one.what, one.printed, one.ours, _judged(one)
                    )
            else:
                words = f"{LEDGER[name]}: {len(figures)} figures"
                table.add_row(name, words, "", "", said(tally(figures)))
        screen.show(table)
    screen.say(f"{len(found.findings)} figures: {said(found.tally())}.", "bold")
    if left_out := found.describe_left_out():
        screen.say(left_out)


def _judged(one: Any) -> str:
    if one.reason and one.verdict != "agrees":
        return f"{one.verdict}: {one.reason}"
    return str(one.verdict)
