"""``countwise bayes-error`` and ``ensemble-error``: errors that are known without a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from countwise.cli.app import Command
from countwise.cli.options import output_options, read_source, reading_options, seed_option

if TYPE_CHECKING:
    from countwise.cli.output import Output
    from countwise.tables.read_options import ReadOptions


@click.command(
    "bayes-error",
    cls=Command,
    examples=(
        "countwise bayes-error sample:iris",
        "countwise bayes-error data.csv --target class --json",
    ),
)
@click.argument("file", metavar="FILE")
@reading_options()
@seed_option
@output_options("File to write the figures to: .csv or .json.", ".csv", ".json")
def bayes_error(file: str, reading: ReadOptions, seed: int, out: Output) -> None:
    """Estimate bounds for the least error that any model can reach on rows like those of FILE.

    Each row is classified by its nearest other row. With many rows, this rule errs at most twice as
    often as the best possible model (Cover and Hart, 1967). So its error, with a 95 % interval,
    bounds the least error from both sides. Above 20,000 rows a random sample is tested.
    """
    from countwise.evaluation.bayes_error import bayes_error_bound

    read = read_source(reading, file, "bayes-error")
    with out.progress() as tell:
        found = bayes_error_bound(read.table, random_state=seed, progress=tell)
    facts = {
        "command": "bayes-error",
        "source": file,
        "rows": len(read.table),
        "classes": list(read.table.classes),
        **found.to_dict(),
    }
    records = [{name: facts[name] for name in ("source", "rows", "error", "low", "high")}]
    out.finish(
        facts,
        lambda screen: screen.say(found.describe().splitlines()[0]),
        records=records,
        notes=[*read.table.notes, *found.notes],
        first=read.remarks,
        written={"Figures": out.path},
    )


@click.command(
    "ensemble-error",
    cls=Command,
    examples=("countwise ensemble-error 25 0.35", "countwise ensemble-error 101 0.45 --json"),
)
@click.argument("members", metavar="MEMBERS", type=int)
@click.argument("error", metavar="ERROR", type=float)
@output_options("File to write the figures to: .csv or .json.", ".csv", ".json")
def ensemble_error(members: int, error: float, out: Output) -> None:
    """Compute the error of a majority vote of MEMBERS models that each err with rate ERROR.

    The models are assumed to err independently of each other. Real models rarely do, so their vote
    errs more often. A tie counts as half an error.
    """
    from countwise.models.ensembles.vote import ensemble_error

    together = ensemble_error(members, error)
    facts = {"members": members, "error": error, "ensemble_error": together}
    text = (
        f"{members:,} independent models that each err on {error:.4g} of the rows err together on "
        f"{together:.4g} of them."
    )
    out.finish(
        {"command": "ensemble-error", **facts},
        lambda screen: screen.say(text),
        records=[facts],
        written={"Figures": out.path},
    )
