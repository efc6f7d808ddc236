"""``countwise models``: the models that can be named."""

from __future__ import annotations

import sys
from typing import Any

import click

from countwise.cli.app import Command
from countwise.cli.options import output_options


@click.command(
    "models",
    cls=Command,
    examples=(
        "countwise models",
        "countwise models naive-bayes",
    ),
)
@click.argument("name", metavar="[NAME]", required=False)
@output_options("Write the list as .csv or .json.")
def command(name: str | None, output: str | None, as_json: bool, quiet: bool) -> None:
    """List the models, or the parameters of one."""
    from countwise.atomic_write import check_writable
    from countwise.cli.output import print_json, remark, write_records
    from countwise.models.registry import CATALOGUE, listed

    check_writable(output, "-o", (".csv", ".json"))
    if name is None:
        found: Any = [own.to_dict() for own in CATALOGUE.values()]
    else:
        own = listed(name)
        found = own.to_dict() | {"parameters": _parameters(own.make(0))}
    if output is not None:
        write_records(output, found if name is None else [found], found, "models")
    if as_json:
        print_json(found)
    elif output is None:
        _show(found) if name is None else _show_one(found)
    remark([f"List written to {output}."] if output else [], quiet)


def _parameters(model: Any) -> list[dict[str, Any]]:
    rules = getattr(model, "PARAMETERS", {})
    return [
        {
            "name": key,
            "default": repr(value),
            "help": rules[key].help if key in rules else "",
        }
        for key, value in model.get_params(deep=False).items()
    ]


def _show(found: list[dict[str, Any]]) -> None:
    from countwise.reports.terminal import Screen, grid

    screen = Screen(sys.stdout)
    table = grid("model", "what it is", "from", "saved", "compared")
    table.columns[0].no_wrap = True
    for own in found:
        family = "countwise" if own["can_be_saved"] else own["family"]
        saved = "yes" if own["can_be_saved"] else ""
        usual = "always" if own["family"] == "baseline" else ""
        usual = "by default" if own["compared_by_default"] else usual
        table.add_row(own["name"], own["words"], family, saved, usual)
    screen.show(table)


def _show_one(own: dict[str, Any]) -> None:
    from countwise.reports.terminal import Screen, grid

    screen = Screen(sys.stdout)
    screen.say(f"{own['name']}: {own['words']}", "bold")
    table = grid("parameter", "default", "what it is for")
    for each in own["parameters"]:
        table.add_row(each["name"], each["default"], each["help"])
    screen.show(table)
