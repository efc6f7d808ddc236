"""``countwise reproduce``: reproduce and judge the figures of five papers."""

from __future__ import annotations

import sys
from typing import Any

import click

from countwise.cli.app import Command

#: An id with more figures than these is summarized.
MAX_LISTED = 12


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
@click.option(
    "--only", metavar="ID,…", help="Ids of figures, such as P1.10, or parts, such as p1-table-1."
)
@click.option("--quick", is_flag=True, help="Quick run with fewer repeats and rows.")
@click.option(
    "--fresh", is_flag=True, help="Run all parts again, including those that are finished."
)
@click.option("--every", is_flag=True, help="List every figure, including those of large tables.")
@click.option("--parts", "list_parts", is_flag=True, help="List the parts without running them.")
@click.option(
    "--report", metavar="HTML", help="HTML page to write, with the printed figures and ours."
)
@click.option("-o", "--output", metavar="PATH", help="File to write the figures to: .csv or .json.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON to stdout and nothing else.")
@click.option("--quiet", "-q", is_flag=True, help="Print no notes and no progress.")
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
    """Reproduce the figures of five papers: printed value, our value with an interval, verdict.

    Figures that the papers do not print are our additions and have no verdict. Data sets are
    bundled, read from the folder COUNTWISE_DATA, or fetched from OpenML. If a data set is not
    available, its figures get the verdict 'cannot be run'; the last lines name these figures and
    the files to put into that folder. Finished parts are kept in COUNTWISE_CACHE or the user's
    cache folder, so that an interrupted run can be resumed.
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
    with progress(quiet) as report_progress:
        found = reproduce(
            papers or ("all",),
            only=() if only is None else list(split_names(only)),
            quick=quick,
            use_cache=not fresh,
            progress=report_progress,
        )
    whole = {"command": "reproduce", **found.to_dict()}
    if output is not None:
        write_records(output, [finding.to_dict() for finding in found.findings], whole, "reproduce")
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
    """Print one block a paper: short ids figure by figure, long ones summarized."""
    from countwise.reports.sentences import seconds
    from countwise.reports.terminal import Screen, grid
    from countwise_papers.claims import LEDGER, PAPERS, paper_of
    from countwise_papers.findings import summarize

    screen = Screen(sys.stdout)
    by_id = found.by_id()
    for paper in PAPERS.values():
        ids = {name: figures for name, figures in by_id.items() if paper_of(name) == paper}
        if not ids:
            continue
        spent = sum(r.seconds for r in found.results if r.part.paper == paper.name)
        screen.say(
            f"{paper.name.upper()}  {paper.authors}: {paper.title} ({seconds(spent)})", "bold"
        )
        table = grid("id", "figure", "printed", "ours", "verdict")
        table.columns[0].no_wrap = True
        for name, figures in ids.items():
            if every or len(figures) <= MAX_LISTED:
                for at, one in enumerate(figures):
                    table.add_row(
                        name if at == 0 else "",
                        one.what,
                        one.printed,
                        one.ours,
                        _verdict_words(one),
                    )
            else:
                table.add_row(name, LEDGER[name], "", "", summarize(figures))
        screen.show(table)
    screen.say(f"{summarize(found.findings)}.", "bold")
    if left_out := found.describe_left_out():
        screen.say(left_out)


def _verdict_words(one: Any) -> str:
    if one.verdict is None:
        return "(addition)" if one.holds is not False else "(addition: does not hold)"
    if one.reason and one.verdict != "agrees":
        return f"{one.verdict}: {one.reason}"
    return str(one.verdict)
