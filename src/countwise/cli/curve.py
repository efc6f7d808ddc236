"""``countwise curve``: how the models improve with more rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from countwise.cli.app import Command
from countwise.cli.options import (
    best_model,
    build_models,
    chosen_names,
    comparison_options,
    models_option,
    notable,
    output_options,
    read_source,
    repeats_option,
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
@repeats_option("10, fewer above 20,000 rows")
@comparison_options("HTML page to write, with the curve and the ranking.")
@output_options("File to write: .csv for the points, .json for everything.", ".csv", ".json")
def command(
    file: str,
    models: str | None,
    points: int,
    holdout: float,
    repeats: int | None,
    gain: GainMatrix | None,
    reading: ReadOptions,
    seed: int,
    jobs: int,
    report: str | None,
    out: Output,
) -> None:
    """Show how models improve with the number of training rows of FILE."""
    from countwise.evaluation.learning_curve import learning_curve
    from countwise.models.registry import DRAWN

    names = chosen_names(models)
    read = read_source(reading, file, "curve")
    table = read.table
    gain = take_gains(gain, table, out.quiet)
    with out.progress() as tell:
        curve = learning_curve(
            build_models(read, names, DRAWN, seed),
            table,
            points=points,
            holdout=holdout,
            repeats=repeats,
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
    from countwise.models.registry import COMMANDS, DEFAULT
    from countwise.reports.report import report

    name = best_model(curve.trials[-1]) or DEFAULT
    model = COMMANDS[name].build().fit(table)
    report(curve.trials[-1], path, table, model=model, name=name, curve=curve, source=file)
