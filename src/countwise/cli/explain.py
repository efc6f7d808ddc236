"""``countwise explain``: explain the predictions of a saved model, row by row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from countwise.cli.app import Command
from countwise.cli.options import NumberList, output_options, reading_options
from countwise.errors import ParameterError

if TYPE_CHECKING:
    from countwise.cli.output import Output


@click.command(
    "explain",
    cls=Command,
    examples=(
        "countwise explain model.cw new.csv --row 3",
        "countwise explain model.cw new.csv --rows 1-5 --class good --against bad --json",
    ),
)
@click.argument("model", metavar="MODEL")
@click.argument("file", metavar="FILE")
@click.option(
    "--row", type=click.IntRange(min=1), metavar="N", help="Row to explain. Default: 1, the first."
)
@click.option(
    "--rows",
    type=NumberList(highest=1_000_000_000, most=1000),
    metavar="1-5",
    help="Rows to explain, such as 1-5 or 1,4,7.",
)
@click.option(
    "--class",
    "label",
    metavar="LABEL",
    help="Class to explain. Default: the most probable class of each row.",
)
@click.option(
    "--against",
    metavar="LABEL",
    help="Class to compare it with. Default: the next most probable class.",
)
@click.option(
    "--most",
    type=click.IntRange(min=1),
    metavar="N",
    default=20,
    show_default=True,
    help="Largest number of attributes to show.",
)
@reading_options("missing", "missing_only", "separator", "no_header", "skip_lines")
@output_options("File to write the explanations to: .csv or .json.", ".csv", ".json")
def command(
    model: str,
    file: str,
    row: int | None,
    rows: list[int] | None,
    label: str | None,
    against: str | None,
    most: int,
    reading: dict[str, Any],
    out: Output,
) -> None:
    """Show what each attribute added to the prediction of MODEL for rows of FILE.

    The numbers are log-odds of one class against another, by default the most probable class
    against the next. The prior and the contributions of the attributes add up to the total.
    """
    if row is not None and rows is not None:
        raise click.UsageError("--row and --rows exclude each other; choose one")
    numbers = rows or [row or 1]
    from countwise.predict_files import Scorer, load_model, locate

    scorer = Scorer(load_model(model, "explain"))
    if not hasattr(scorer.model, "explain"):
        raise ParameterError(f"explain: a {type(scorer.model).__name__} cannot be explained.")
    table, tally = scorer.read_rows(locate(file), scorer.read_options(**reading), numbers)
    explanation = scorer.model.explain(table)
    found = _compare(explanation, numbers, label, against)

    def show(screen: Any) -> None:
        for place, one in enumerate(found):
            if place:
                screen.say()
            screen.explanation(one, one["row"], most)

    out.finish(
        {"model": model, "file": file, "rows": found},
        None if out.path else show,
        records=_records(found),
        notes=tally.notes(scorer.unseen_treatment),
        written={"Explanations": out.path},
    )


def _compare(
    explanation: Any, rows: list[int], label: str | None, against: str | None
) -> list[dict[str, Any]]:
    """Return the explanation of each row as plain data, one class against another."""
    # An unknown class is left to the explanation to refuse.
    named: dict[str | None, Any] = {str(name): name for name in explanation.classes}
    one, two = (named.get(text, text) for text in (label, against))
    if one is not None and one == two:
        raise click.UsageError(f"--class and --against must differ; both are {label!r}")
    found = []
    for place, row in enumerate(rows):
        chosen = one
        if one is None and two is not None:
            ranked = explanation.rivals(place)
            chosen = ranked[0] if ranked[0] != two else ranked[1]
        found.append({"row": row, **explanation.to_dict(place, chosen, two)})
    return found


def _records(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one record an attribute, the prior first."""
    records = []
    for one in found:
        head = {"row": one["row"], "class": one["class"], "against": one["against"]}
        prior = {"attribute": "(prior)", "value": "", "log_odds": one["prior_log_odds"]}
        records += [head | part for part in (prior, *one["parts"])]
    return records
