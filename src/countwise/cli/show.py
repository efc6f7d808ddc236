"""``countwise show``: print what a saved model learned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from countwise.cli.app import Command
from countwise.cli.errors import spelling
from countwise.cli.options import output_options
from countwise.errors import spell_parameters

if TYPE_CHECKING:
    from countwise.cli.output import Output


@click.command(
    "show",
    cls=Command,
    examples=(
        "countwise show model.cw",
        "countwise show model.cw --most 5",
        "countwise show bayes.cw --as logistic",
        "countwise show model.cw --json",
    ),
)
@click.argument("file", metavar="MODEL")
@click.option(
    "--as",
    "form",
    type=click.Choice(["logistic"]),
    help="Show naive Bayes as the equivalent logistic regression. If columns are numeric, the "
    "model must be trained with --model naive-bayes-gaussian --param variance=shared.",
)
@click.option(
    "--most",
    type=click.IntRange(min=1),
    metavar="N",
    default=20,
    show_default=True,
    help="Largest number of lines in a table; trees and graphs may have three times as many.",
)
@output_options("File to write everything to: .json.", ".json")
def command(file: str, form: str | None, most: int, out: Output) -> None:
    """Print what MODEL learned: its tree, tables, graph, coefficients or stored rows.

    The data it was trained on, how it decides, and its parameters are printed first. --json prints
    all of it, without limits.
    """
    from countwise.cli.fit import command as fit
    from countwise.reports.describe import model_file_facts

    facts = model_file_facts(file, form)
    out.finish(
        facts,
        None if out.path else lambda screen: _show(screen, facts, most),
        records=[],
        notes=[spell_parameters(text, spelling(click.Context(fit))) for text in facts["notes"]],
        written={"Model": out.path},
    )


def _show(screen: Any, facts: dict[str, Any], most: int) -> None:
    from countwise.reports.terminal import grid, to_cells
    from countwise.reports.terminal_views import show_view

    screen.say(f"{facts['kind']} in {facts['file']}, saved {facts['created']}", "bold")
    for line in facts["about"]:
        screen.say(line)
    screen.say()
    table = grid("parameter", "value", "")
    for name, value in facts["parameters"].items():
        usual = "" if value["default"] else "changed"
        table.add_row(*to_cells(name, value["value"], usual))
    screen.show(table)
    for view in facts["views"]:
        show_view(screen, view, most)
