"""``countwise curve``: how the models improve with more rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from countwise.cli.app import Command
from countwise.cli.options import (
    Scanning,
    best_model,
    build_models,
    chosen_names,
    comparison_options,
    models_option,
    notable,
    output_options,
    read_or_scan,
    refuse_checkpoint,
    repeats_option,
    scan_options,
    take_gains,
)

if TYPE_CHECKING:
    from countwise.cli.output import Output
    from countwise.decisions.gain_matrix import GainMatrix
    from countwise.tables.read_options import ReadOptions


@click.command(
    "curve",
    cls=Command,
    examples=(
        "countwise curve sample:votes",
        "countwise curve data.csv --target class -m naive-bayes,tree --points 20 -o curve.csv",
        'countwise curve "data/*.parquet" --target class -m naive-bayes,tan --report page.html',
        "countwise curve duckdb:warehouse.db --table sales --target class",
    ),
)
@click.argument("file", metavar="FILE")
@models_option
@click.option(
    "--points",
    type=click.IntRange(min=2),
    metavar="N",
    default=12,
    show_default=True,
    help="Number of training sizes.",
)
@click.option(
    "--holdout",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    metavar="FRACTION",
    default=0.3,
    show_default=True,
    help="Fraction of the rows to test on.",
)
@repeats_option("10, fewer above 20,000 rows, 1 for rows outside memory")
@click.option(
    "--group",
    metavar="COLUMN",
    help="For rows outside memory: column of groups, such as patients, which stay together.",
)
@scan_options("checkpoint")
@comparison_options("HTML page to write, with the curve and the ranking.")
@output_options("File to write: .csv for the points, .json for everything.", ".csv", ".json")
def command(
    file: str,
    models: str | None,
    points: int,
    holdout: float,
    repeats: int | None,
    group: str | None,
    gain: GainMatrix | None,
    reading: ReadOptions,
    scanning: Scanning,
    seed: int,
    jobs: int,
    report: str | None,
    out: Output,
) -> None:
    """Show how models improve with the number of training rows of FILE.

    FILE may also be a folder or a pattern such as "data/*.parquet", or a database. Such rows, and
    large files, stay where they are: models made from counts are trained on all sizes and tested in
    a few scans. The sizes are then fractions of the rows, from a thousandth on.
    """
    from countwise.evaluation.learning_curve import learning_curve
    from countwise.models.registry import DRAWN, SCANNED
    from countwise.tables.scan import Scan

    names = chosen_names(models)
    refuse_checkpoint(scanning, "curve")
    if group is not None:
        reading = reading.with_roles("curve", {"groups": group})
    read = read_or_scan(reading, file, "curve", scanning)
    table = read.table
    usual = (*DRAWN, SCANNED) if isinstance(table, Scan) else DRAWN
    gain = take_gains(gain, table, out.quiet)
    with out.progress() as tell:
        curve = learning_curve(
            build_models(read, names, usual, seed),
            table,
            points=points,
            holdout=holdout,
            repeats=repeats,
            groups=group,
            gain=gain,
            random_state=seed,
            n_jobs=jobs,
            progress=tell,
        )
    if report is not None:
        _write_report(table, curve, file, report)
    title = f"{table.target_column.name} from {file}: {len(table):,} rows"
    out.finish(
        {"command": "curve", "source": file, **curve.to_dict()},
        lambda screen: screen.curve(curve, title),
        records=[
            {name: value for name, value in record.items() if name != "values"}
            for record in curve.records()
        ],
        notes=notable(curve.notes),
        first=read.remarks,
        written={"Points": out.path, "Report": report},
    )


def _write_report(table: Any, curve: Any, file: str, path: str) -> None:
    """Write a page; its ranking is the one at the full size."""
    from countwise.models.registry import COMMANDS, DEFAULT, SCANNED
    from countwise.reports.report import report

    trials = curve.trials[-1]
    name = best_model(trials) or (SCANNED if trials.is_scan else DEFAULT)
    model = COMMANDS[name].build().fit(table)
    report(trials, path, table, model=model, name=name, curve=curve, source=file)
