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
    from countwise.models.registry import COMMANDS, find

    check_writable(output, "-o", (".csv", ".json"))
    if name is None:
        facts: Any = [model.to_dict() for model in COMMANDS.values()]
    else:
        model = find(name)
        facts = model.to_dict() | {"parameters": _parameters(model.build())}
    if output is not None:
        write_records(output, facts if name is None else [facts], facts, "models")
    if as_json:
        print_json(facts)
    elif output is None:
        _show(facts) if name is None else _show_one(facts)
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


def _show(models: list[dict[str, Any]]) -> None:
    from countwise.reports.terminal import Screen, grid

    screen = Screen(sys.stdout)
    table = grid("model", "what it is", "from", "saved", "compared")
    table.columns[0].no_wrap = True
    for model in models:
        saved = "yes" if model["can_be_saved"] else ""
        usual = "always" if model["from"] == "baseline" else ""
        usual = "by default" if model["compared_by_default"] else usual
        table.add_row(model["name"], model["about"], model["from"], saved, usual)
    screen.show(table)


def _show_one(model: dict[str, Any]) -> None:
    from countwise.reports.terminal import Screen, grid

    screen = Screen(sys.stdout)
    screen.say(f"{model['name']}: {model['about']}", "bold")
    table = grid("parameter", "default", "what it is for")
    for parameter in model["parameters"]:
        table.add_row(parameter["name"], parameter["default"], parameter["help"])
    screen.show(table)
