"""``countwise curve``: how the models improve with more rows."""

from __future__ import annotations

import sys
from typing import Any

import click

from countwise.cli.app import Command
from countwise.cli.asked import Asked, split_names
from countwise.cli.compare import FOR_THE_RECORD, entrants
from countwise.cli.options import gain_option, output_options, reading_options, seed_option

__all__ = ["command"]


@click.command(
    "curve",
    cls=Command,
    examples=(
        "countwise curve sample:votes",
        "countwise curve data.csv --target class -m naive-bayes,tree --points 20 -o curve.csv",
    ),
)
@click.argument("file", metavar="FILE")
@click.option("--models", "-m", metavar="A,B", help="Which models (see countwise models), or all.")
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
@click.option("--repeats", type=click.IntRange(min=1), help="How often rows are dealt anew.")
@gain_option
@reading_options
@seed_option
@click.option("--jobs", type=int, default=1, help="Processes that refit scikit-learn's models.")
@click.option("--report", metavar="HTML", help="Write a page with the curve and the ranking.")
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
    from countwise.cli.decisions import gain_of
    from countwise.cli.output import check_writable, print_json, remark, write_records
    from countwise.posteriors.catalogue import GROWN, select

    check_writable(output, "-o", (".csv", ".json"), file)
    check_writable(report, "--report", (".html", ".htm"))
    if not 0 < holdout < 1:
        raise click.UsageError(
            f"--holdout must be a share between 0 and 1, such as 0.3, but {holdout:g} came"
        )
    names = None if models is None else list(split_names(models))
    select(names)
    matrix = gain_of(gain, file)
    found = asked.read(file, "curve")
    curve = _curve(
        entrants(found, names, GROWN, seed),
        found.table,
        quiet,
        points=points,
        holdout=holdout,
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
    notes = [note.text for note in curve.notes if note.code not in FOR_THE_RECORD]
    written = [
        f"{what} written to {path}."
        for what, path in (("Points", output), ("Report", report))
        if path
    ]
    remark([*found.remarks, *notes, *written], quiet)


def _curve(models: Any, table: Any, quiet: bool, **settings: Any) -> Any:
    from countwise.cli.progress import progress
    from countwise.evaluation.curves import learning_curve

    with progress(quiet) as tell:
        return learning_curve(models, table, progress=tell, **settings)


def _flat(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: own for key, own in record.items() if key != "values"} for record in records]


def _report(table: Any, curve: Any, file: str, path: str) -> None:
    """Write a page; its ranking is the one at the full size."""
    from countwise.posteriors.catalogue import CATALOGUE, DEFAULT, made
    from countwise.reports.facts import comparison_facts
    from countwise.reports.html import write

    own = [name for name in curve.names if name in CATALOGUE and CATALOGUE[name].own]
    name = own[0] if own else DEFAULT
    model = made(CATALOGUE[name]).fit(table)
    trials = curve.trials[-1]
    facts = comparison_facts(table, trials, model=model, model_name=name, curve=curve, source=file)
    write(facts, path)
