"""``countwise explain``: why a saved model answers as it does."""

from __future__ import annotations

import re
import sys
from typing import Any

import click

from countwise.cli.app import Command
from countwise.cli.options import output_options, split_names

#: So many rows are explained at most; each is a table to read.
MOST_ROWS = 1000


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
@click.option("--row", type=click.IntRange(min=1), help="The row to explain; the first is 1.")
@click.option("--rows", metavar="1-5", help="Several rows, as 1-5 or 1,4,7.")
@click.option("--class", "label", metavar="LABEL", help="The class to speak for.")
@click.option("--against", metavar="LABEL", help="The class to speak against.")
@click.option(
    "--most",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="How many attributes are shown.",
)
@click.option("--missing", metavar="'?,NA'", help="Marks that mean missing, if not the model's.")
@click.option("--separator", metavar="CHAR", help="What stands between cells ('tab' for a tab).")
@click.option("--no-header", is_flag=True, help="The first line is a row; columns are x1, x2, …")
@output_options("Write the explanations as .csv or .json.")
def command(
    model: str,
    file: str,
    row: int | None,
    rows: str | None,
    label: str | None,
    against: str | None,
    most: int,
    missing: str | None,
    separator: str | None,
    no_header: bool,
    output: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Say what each attribute added to the answer of MODEL for rows of FILE.

    Figures are log-odds of one class against another, by default the most probable against the
    next; prior and parts add up to the sum.
    """
    from countwise.atomic_write import check_writable
    from countwise.cli.options import Asked
    from countwise.cli.output import print_json, remark, write_records

    check_writable(output, "-o", (".csv", ".json"), file)
    if row is not None and rows is not None:
        raise click.UsageError("--row and --rows say the same; choose one")
    wanted = numbers_of(rows) if rows is not None else [row or 1]
    asked = Asked(missing=missing, separator=separator, no_header=no_header)
    why, remarks = _explained(model, file, asked, wanted)
    found = _found(why, wanted, label, against)
    if output is not None:
        write_records(
            output, _flat(found), {"model": model, "file": file, "rows": found}, "explain"
        )
    if as_json:
        print_json({"model": model, "file": file, "rows": found})
        return
    if output is None:
        from countwise.reports.terminal import Screen

        screen = Screen(sys.stdout)
        for place, own in enumerate(found):
            if place:
                screen.say()
            screen.explanation(own, own["row"], most)
    remark([*remarks, *([f"Explanations written to {output}."] if output else [])], quiet)


def numbers_of(text: str) -> list[int]:
    """Read ``1-5`` or ``1,4,7``."""
    found: list[int] = []
    for part in split_names(text):
        match = re.fullmatch(r"(\d+)(?:\s*-\s*(\d+))?", part)
        first = int(match[1]) if match else 0
        last = int(match[2]) if match and match[2] else first
        if not 1 <= first <= last or last - first >= MOST_ROWS:
            raise click.UsageError(
                f"--rows must name up to {MOST_ROWS} rows as 1-5 or 1,4,7, but {text!r} came"
            )
        found += range(first, last + 1)
    return list(dict.fromkeys(found))


def _explained(model: str, file: str, asked: Any, wanted: list[int]) -> tuple[Any, list[str]]:
    """Read just the rows that are asked for, and ask the model."""
    from countwise.cli.options import load_model
    from countwise.cli.predict import path_of
    from countwise.errors import ParameterError
    from countwise.predict_file import Scorer

    scorer = Scorer(load_model(model, "explain"), None, ())
    if not hasattr(scorer.model, "explain"):
        raise ParameterError(f"explain: a {type(scorer.model).__name__} cannot be explained.")
    marks = None if asked.missing is None else split_names(asked.missing)
    reading = scorer.reading(not asked.no_header, asked.mark, marks)
    table, unseen = scorer.rows(path_of(file), reading, wanted)
    return scorer.model.explain(table), list(unseen.remarks(scorer.done_with_unseen))


def _found(
    why: Any, wanted: list[int], label: str | None, against: str | None
) -> list[dict[str, Any]]:
    one, two = (_class_of(why.classes, own) for own in (label, against))
    if one is not None and one == two:
        raise click.UsageError(f"--class and --against must differ, but both are {label!r}")
    found = []
    for place, row in enumerate(wanted):
        speaks, other = one, two
        if speaks is None and other is not None:
            ranked = why.rivals(place)
            speaks = ranked[0] if ranked[0] != other else ranked[1]
        found.append({"row": row, **why.to_dict(place, speaks, other)})
    return found


def _class_of(classes: tuple[Any, ...], text: str | None) -> Any:
    """Match a class given as text; what is not there is left to the explanation to refuse."""
    if text is None:
        return None
    return next((label for label in classes if str(label) == text), text)


def _flat(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One record an attribute, the prior first."""
    lines = []
    for own in found:
        head = {"row": own["row"], "class": own["class"], "against": own["against"]}
        prior = {"attribute": "(prior)", "value": "", "log_odds": own["prior_log_odds"]}
        lines += [head | part for part in (prior, *own["parts"])]
    return lines
