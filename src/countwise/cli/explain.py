"""``countwise explain``: explain the predictions of a saved model, row by row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from countwise.cli.app import Command
from countwise.cli.options import (
    NumberList,
    gain_options,
    output_options,
    reading_options,
    say_gains,
)
from countwise.errors import ParameterError

if TYPE_CHECKING:
    from countwise.cli.output import Output
    from countwise.decisions.gain_matrix import GainMatrix


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
@gain_options
@reading_options("missing", "missing_only", "separator", "no_header", "skip_lines", "sheet")
@output_options("File to write the explanations to: .csv or .json.", ".csv", ".json")
def command(
    model: str,
    file: str,
    row: int | None,
    rows: list[int] | None,
    label: str | None,
    against: str | None,
    most: int,
    gain: GainMatrix | None,
    reading: dict[str, Any],
    out: Output,
) -> None:
    """Show what each attribute added to the prediction of MODEL for rows of FILE.

    The numbers are log-odds of one class against another, by default the most probable class
    against the next. The prior and the contributions of the attributes add up to the total. If
    the decision is made by gain, its expected gain is shown, too. For a model that predicts a
    number, the contributions show how each attribute changes the number, starting from the mean.
    """
    if row is not None and rows is not None:
        raise click.UsageError("--row and --rows exclude each other; choose one")
    numbers = rows or [row or 1]
    from countwise.prediction.predict_file import load_model, locate
    from countwise.prediction.scorer import scorer_of

    scorer = scorer_of(load_model(model, "explain"), gain)
    say_gains(scorer.gain, out.quiet)
    if not hasattr(scorer.model, "explain"):
        raise ParameterError(f"explain: a {type(scorer.model).__name__} cannot be explained.")
    table, tally = scorer.read_rows(locate(file), scorer.read_options(**reading), numbers)
    explanation = scorer.model.explain(table)
    if scorer.classes:
        found = _compare(explanation, numbers, label, against)
    else:
        if label is not None or against is not None:
            raise click.UsageError("--class and --against are for models that predict a class")
        found = [{"row": row, **explanation.to_dict(at)} for at, row in enumerate(numbers)]
    if scorer.gain is not None:
        for one, posterior in zip(found, scorer.decide.predict_proba(table), strict=True):
            one["decision"] = scorer.gain.weigh(posterior)

    def show(screen: Any) -> None:
        for place, one in enumerate(found):
            if place:
                screen.say()
            (screen.explanation if scorer.classes else screen.number)(one, one["row"], most)

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
    """Return one record an attribute, the prior or the mean first."""
    records = []
    for one in found:
        if "mean" in one:
            mean = {"attribute": "(mean)", "value": "", "change": one["mean"]}
            records += [{"row": one["row"]} | part for part in (mean, *one["parts"])]
            continue
        head = {"row": one["row"], "class": one["class"], "against": one["against"]}
        prior = {"attribute": "(prior)", "value": "", "log_odds": one["prior_log_odds"]}
        records += [head | part for part in (prior, *one["parts"])]
    return records
