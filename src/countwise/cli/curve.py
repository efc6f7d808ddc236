"""``countwise curve``: how the models improve with more rows."""

from __future__ import annotations

import sys
from typing import Any

import click

from countwise.cli.app import Command
from countwise.cli.options import (
    Asked,
    chosen_names,
    closing,
    contest_options,
    entrants,
    models_option,
    output_options,
    repeats_option,
    share,
)


@click.command(
    "curve",
    cls=Command,
    examples=(
        "countwise curve sample:votes",
        "countwise curve data.csv --target class -m naive-bayes,tree --points 20 -o curve.csv",
    ),
)
@click.argument("file", metavar="FILE")
@models_option
@click.option(
    "--points",
    type=click.IntRange(min=2),
    default=12,
    show_default=True,
    help="How many numbers of training rows.",
)
@click.option(
    "--holdout", type=float, default=0.3, show_default=True, help="The share of rows to test on."
)
@repeats_option
@contest_options("Write a page with the curve and the ranking.")
@output_options("Write the points as .csv or everything as .json.")
def command(
    file: str,
    models: str | None,
    points: int,
    holdout: float,
    repeats: int | None,
    gain: str | None,
    asked: Asked,
    seed: int,
    jobs: int,
    report: str | None,
    output: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Show how scores grow with the number of training rows of FILE."""
    from countwise.atomic_write import check_writable
    from countwise.cli.options import gain_of
    from countwise.cli.output import print_json, write_records
    from countwise.models.registry import DRAWN

    check_writable(output, "-o", (".csv", ".json"), file)
    check_writable(report, "--report", (".html", ".htm"))
    aside, names = share(holdout), chosen_names(models)
    matrix = gain_of(gain, file)
    found = asked.read(file, "curve")
    curve = _curve(
        entrants(found, names, DRAWN, seed),
        found.table,
        quiet,
        points=points,
        holdout=aside,
        repeats=repeats,
        gain=matrix,
        random_state=seed,
        n_jobs=jobs,
    )
    whole = {"command": "curve", "source": file, **curve.to_dict()}
    if output is not None:
        write_records(output, _flat(curve.records()), whole, "curve")
    if report is not None:
        _report(found.table, curve, file, report)
    if as_json:
        print_json(whole)
        return
    from countwise.reports.terminal import Screen

    title = f"{found.table.target_column.name} from {file}: {len(found.table):,} rows"
    Screen(sys.stdout).curve(curve, title)
    closing(found, curve.notes, (("Points", output), ("Report", report)), quiet)


def _curve(models: Any, table: Any, quiet: bool, **settings: Any) -> Any:
    from countwise.cli.output import progress
    from countwise.evaluation.learning_curve import learning_curve

    with progress(quiet) as tell:
        return learning_curve(models, table, progress=tell, **settings)


def _flat(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: own for key, own in record.items() if key != "values"} for record in records]


def _report(table: Any, curve: Any, file: str, path: str) -> None:
    """Write a page; its ranking is the one at the full size."""
    from countwise.models.registry import COMMANDS, DEFAULT
    from countwise.reports.comparison_facts import comparison_facts
    from countwise.reports.html import write

    drawable = [name for name in curve.names if name in COMMANDS and COMMANDS[name].can_be_saved]
    name = drawable[0] if drawable else DEFAULT
    model = COMMANDS[name].build().fit(table)
    trials = curve.trials[-1]
    facts = comparison_facts(table, trials, model=model, model_name=name, curve=curve, source=file)
    write(facts, path)
