"""``countwise predict``: classify the rows of a file, of any size, with a saved model."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from countwise.cli.app import Command
from countwise.cli.options import (
    TABLE_OPTIONS,
    add_options,
    gain_options,
    output_options,
    read_rule,
    reading_options,
    rule_option,
    say_gains,
    seed_option,
    split_names,
)

if TYPE_CHECKING:
    from countwise.cli.output import Output
    from countwise.decisions.gain_matrix import GainMatrix


@click.command(
    "predict",
    cls=Command,
    examples=(
        "countwise predict model.cw new.csv -o answers.csv",
        "countwise predict model.cw new.xlsx --sheet January --keep all -o answers.xlsx",
        "countwise predict model.cw new.csv --gain gain.csv --keep customer | head",
        "countwise predict model.cw new.csv --rule roulette --seed 1 -o drawn.csv",
        'countwise predict model.cw "new/*.parquet" -o answers.parquet',
        "countwise predict model.cw duckdb:shop.db --table visitors --keep id -o answers.parquet",
    ),
)
@click.argument("model", metavar="MODEL")
@click.argument("file", metavar="FILE")
@gain_options
@rule_option
@seed_option
@click.option("--keep", metavar="A,B", help="Columns of FILE to copy to the output, or 'all'.")
@click.option("--strict", is_flag=True, help="Refuse a FILE that lacks a column of the model.")
@add_options(*TABLE_OPTIONS)
@reading_options("missing", "missing_only", "separator", "no_header", "skip_lines", "sheet")
@output_options(
    "File to write the predictions to: .csv, .parquet, .xlsx or .ods. Default: CSV on stdout.",
    ".csv",
    ".parquet",
    ".pq",
    ".xlsx",
    ".ods",
    json="Print a summary as JSON (needs -o).",
)
def command(
    model: str,
    file: str,
    gain: GainMatrix | None,
    rule: str | None,
    seed: int,
    keep: str | None,
    strict: bool,
    table: str | None,
    query: str | None,
    reading: dict[str, Any],
    out: Output,
) -> None:
    """Classify the rows of FILE with the saved MODEL.

    The output has a line for each row of FILE, in the same order: the most probable class, the
    probability of each class (six digits in CSV, 16 in Excel, exact in Parquet), and the decision.
    With a gain matrix or --rule the decision may differ from the class; a gain matrix also adds the
    expected gain of each decision. A model that predicts a number writes the number. FILE may be
    larger than memory, a folder, a pattern such as "new/*.parquet", a database (duckdb:FILE or
    postgresql://HOST/NAME, with --table or --query) or spark:TABLE; - is standard input. If FILE
    lacks a column of the model, the column is taken as missing, and a note says so. If FILE has the
    true classes or numbers, the accuracy or the errors are printed to stderr.
    """
    if out.as_json and out.path is None:
        raise click.UsageError("--json prints a summary and needs -o for the rows")
    from countwise.prediction.predict_file import load_model, predict_file
    from countwise.prediction.scorer import scorer_of

    source: Any = file
    if table is not None or query is not None:
        from countwise.tables.sources.query_source import Query

        source = Query(file, table, query)
    wheel = read_rule(rule, gain, seed)
    loaded = load_model(model, "predict")
    say_gains(scorer_of(loaded, gain or wheel).gain, out.quiet)
    with out.progress() as tell:
        summary = predict_file(
            loaded,
            source,
            sys.stdout.buffer if out.path is None else out.path,
            gain=gain,
            rule=wheel,
            keep=split_names(keep),
            strict=strict,
            progress=tell,
            **reading,
        )
    written = [] if out.path is None else [f"{summary.rows:,} rows written to {out.path}."]
    out.finish(
        {"model": model, "file": file, "output": out.path, **summary.to_dict()},
        notes=[*summary.notes, *summary.sentences(), *written],
    )
