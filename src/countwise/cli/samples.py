"""``countwise samples``: the data sets that can be had by name."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from countwise.cli.app import Command
from countwise.cli.options import output_options


@click.command(
    "samples",
    cls=Command,
    examples=(
        "countwise samples",
        "countwise samples credit-g",
    ),
)
@click.argument("name", metavar="[NAME]", required=False)
@output_options("Write the list as .csv or .json.")
def command(name: str | None, output: str | None, as_json: bool, quiet: bool) -> None:
    """List the data sets, or say all about one; use them as sample:NAME.

    Sets that are not bundled are looked for in the folder COUNTWISE_DATA, then at OpenML.
    """
    from countwise.atomic_write import check_writable
    from countwise.cli.output import print_json, remark, write_records
    from countwise.tables.datasets import all_samples, find

    check_writable(output, "-o", (".csv", ".json"))
    if name is None:
        found = [_line(own) for own in all_samples()]
    else:
        found = [_details(find(name.removeprefix("sample:")))]
    if output is not None:
        write_records(output, found, found, "samples")
    if as_json:
        print_json(found if name is None else found[0])
    elif output is None:
        _show_one(found[0]) if name is not None else _show(found)
    remark([f"List written to {output}."] if output else [], quiet)


def _where(sample: Any) -> str:
    if sample.bundled:
        return "bundled"
    folder = os.environ.get("COUNTWISE_DATA")
    if folder and os.path.isfile(os.path.join(folder, sample.file)):
        return "COUNTWISE_DATA"
    return "not here" if sample.openml is None else f"OpenML {sample.openml}"


def _line(sample: Any) -> dict[str, Any]:
    target = next(column for column in sample.columns if column["name"] == sample.target)
    return {
        "name": sample.name,
        "rows": sample.rows,
        "columns": len(sample.columns) - 1,
        "classes": len(target.get("values") or ()) or None,
        "where": _where(sample),
        "licence": sample.licence,
    }


def _details(sample: Any) -> dict[str, Any]:
    return _line(sample) | {
        "title": sample.title,
        "target": sample.target,
        "attributes": [c["name"] for c in sample.columns if c["name"] != sample.target],
        "missing": sample.missing,
        "aliases": list(sample.aliases),
        "origin": sample.origin,
        "package": sample.package,
        "changes": sample.changes,
        "gain": sample.gain,
        "ledger": list(sample.ledger),
    }


def _show(found: list[dict[str, Any]]) -> None:
    from countwise.reports.terminal import Screen, grid

    screen = Screen(sys.stdout)
    table = grid("name", "rows", "columns", "classes", "where", "licence", right=(1, 2, 3))
    for at in (0, 4):
        table.columns[at].no_wrap = True
    for own in found:
        classes = "–" if own["classes"] is None else str(own["classes"])
        short = str(own["licence"]).split(";")[0].split(" (")[0]
        table.add_row(
            own["name"], f"{own['rows']:,}", str(own["columns"]), classes, own["where"], short
        )
    screen.show(table)


def _show_one(own: dict[str, Any]) -> None:
    from countwise.reports.terminal import Screen, grid

    screen = Screen(sys.stdout)
    screen.say(f"sample:{own['name']}", "bold")
    screen.say(str(own["title"]))
    table = grid("", "", show_header=False)
    for key, value in own.items():
        if key in ("name", "title") or value in (None, "", [], 0):
            continue
        if key == "gain":
            value = "; ".join(_gains(value))
        table.add_row(key, ", ".join(map(str, value)) if isinstance(value, list) else str(value))
    screen.show(table)


def _gains(gain: dict[str, Any]) -> list[str]:
    labels = gain["labels"]
    return [
        f"{true} called {label} {number:+g}"
        for true, row in zip(labels, gain["values"], strict=True)
        for label, number in zip(labels, row, strict=True)
    ]
