"""``countwise samples``, ``models`` and ``version``: lists of what is available."""

from __future__ import annotations

import json
import os
from functools import partial
from importlib import resources
from typing import TYPE_CHECKING, Any

import click

from countwise.cli.app import Command
from countwise.cli.options import output_options

if TYPE_CHECKING:
    from countwise.cli.output import Output

_PACKAGES = ("numpy", "scikit-learn", "pyarrow", "narwhals", "click", "rich")


@click.command("samples", cls=Command, examples=("countwise samples", "countwise samples credit-g"))
@click.argument("name", metavar="[NAME]", required=False)
@output_options("File to write the list to: .csv or .json.", ".csv", ".json")
def samples(name: str | None, out: Output) -> None:
    """List the available data sets, or describe one. Use a data set as sample:NAME.

    Data sets that are not bundled are read from the folder COUNTWISE_DATA or fetched from OpenML.
    """
    from countwise.tables.datasets import all_samples, find

    if name is None:
        facts: Any = [_sample_facts(sample) for sample in all_samples()]
        _finish(out, facts, facts, _show_samples)
    else:
        sample = find(name.removeprefix("sample:"))
        facts = _sample_facts(sample) | {
            "title": sample.title,
            "target": sample.target,
            "attributes": [c["name"] for c in sample.columns if c["name"] != sample.target],
            "missing": sample.missing,
            "aliases": list(sample.aliases),
            "origin": sample.origin,
            "package": sample.package,
            "changes": sample.changes,
            "gain": sample.gain,
            "ledger": list(sample.ledger),
        }
        _finish(out, facts, [facts], _show_sample)


@click.command("models", cls=Command, examples=("countwise models", "countwise models naive-bayes"))
@click.argument("name", metavar="[NAME]", required=False)
@output_options("File to write the list to: .csv or .json.", ".csv", ".json")
def models(name: str | None, out: Output) -> None:
    """List the available models, or the parameters of one.

    Accuracy and log loss are means over UCI data sets, measured on rows that the model has not
    seen; the page docs/accuracy.md has all figures.
    """
    from countwise.models.registry import COMMANDS, find

    if name is None:
        none = {"accuracy": None, "log_loss": None}
        figures = _read_figures()["models"]
        facts: Any = [
            model.to_dict() | figures.get(model.name, none) for model in COMMANDS.values()
        ]
        _finish(out, facts, facts, _show_models)
    else:
        model = find(name)
        estimator = model.build()
        rules = getattr(estimator, "PARAMETERS", {})
        parameters = [
            {"name": key, "default": repr(value), "help": rules[key].help if key in rules else ""}
            for key, value in estimator.get_params(deep=False).items()
        ]
        facts = model.to_dict() | {"parameters": parameters}
        _finish(out, facts, [facts], _show_model)


@click.command("version", cls=Command, examples=("countwise version --json",))
@click.option("--json", "as_json", is_flag=True, help="Print JSON to stdout and nothing else.")
def version(as_json: bool) -> None:
    """Show the version of countwise, Python and the packages it uses."""
    import platform
    from importlib import metadata

    from countwise import __version__
    from countwise.cli.output import print_json

    found = {"countwise": __version__, "python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    if as_json:
        print_json(found)
    else:
        click.echo("\n".join(f"{name} {number}" for name, number in found.items()))


def _finish(out: Output, facts: Any, records: list[dict[str, Any]], show: Any) -> None:
    shown = None if out.path else partial(show, facts=facts)
    out.finish(facts, shown, records=records, written={"List": out.path})


def _sample_facts(sample: Any) -> dict[str, Any]:
    target = next(column for column in sample.columns if column["name"] == sample.target)
    folder = os.environ.get("COUNTWISE_DATA")
    place = "not here" if sample.openml is None else f"OpenML {sample.openml}"
    if sample.bundled:
        place = "bundled"
    elif folder and os.path.isfile(os.path.join(folder, sample.file)):
        place = "COUNTWISE_DATA"
    return {
        "name": sample.name,
        "rows": sample.rows,
        "columns": len(sample.columns) - 1,
        "classes": len(target.get("values") or ()) or None,
        "where": place,
        "license": sample.license,
    }


def _show_samples(screen: Any, facts: list[dict[str, Any]]) -> None:
    from countwise.reports.terminal import grid

    table = grid("name", "rows", "columns", "classes", "where", "license", right=(1, 2, 3))
    for place in (0, 4):
        table.columns[place].no_wrap = True
    for sample in facts:
        classes = "–" if sample["classes"] is None else str(sample["classes"])
        license = str(sample["license"]).split(";")[0].split(" (")[0]
        rows, columns = f"{sample['rows']:,}", str(sample["columns"])
        table.add_row(sample["name"], rows, columns, classes, sample["where"], license)
    screen.show(table)


def _show_sample(screen: Any, facts: dict[str, Any]) -> None:
    from countwise.reports.terminal import grid

    screen.say(f"sample:{facts['name']}", "bold")
    screen.say(str(facts["title"]))
    table = grid("", "", show_header=False)
    for key, value in facts.items():
        if key in ("name", "title") or value in (None, "", [], 0):
            continue
        if key == "gain":
            labels = value["labels"]
            value = "; ".join(
                f"{true} called {label} {number:+g}"
                for true, row in zip(labels, value["values"], strict=True)
                for label, number in zip(labels, row, strict=True)
            )
        table.add_row(key, ", ".join(map(str, value)) if isinstance(value, list) else str(value))
    screen.show(table)


def _read_figures() -> dict[str, Any]:
    """Return the accuracy and log loss of models, which `make accuracy` measured."""
    text = resources.files("countwise.models").joinpath("measured.json").read_text("utf-8")
    figures: dict[str, Any] = json.loads(text)
    return figures


def _show_models(screen: Any, facts: list[dict[str, Any]]) -> None:
    from countwise.reports.terminal import grid

    table = grid("", "model", "description", "accuracy", "log loss", right=(3, 4))
    for place in (1, 3, 4):
        table.columns[place].no_wrap = True
    for model in facts:
        usual = model["compared_by_default"] or model["from"] == "baseline"
        about = model["about"]
        if model["from"] not in ("countwise", "scikit-learn", "baseline"):
            about += f" (from {model['from']})"
        figures = ("", "")
        if model["accuracy"] is not None:
            figures = (f"{100 * model['accuracy']:.1f} %", f"{model['log_loss']:.3f}")
        table.add_row("*" if usual else "", model["name"], about, *figures)
    screen.show(table)
    sets = _read_figures()["sets"]
    measured = [m for m in facts if m["from"] == "countwise" and m["log_loss"] is not None]
    best = min(measured, key=lambda model: model["log_loss"])["name"]
    screen.say(
        "* compared by default. The models sklearn-… come from scikit-learn and cannot be saved; "
        f"the others can. Accuracy and log loss are means over {sets} UCI data sets, with default "
        f"settings. {best} has the lowest log loss of ours, so try it first; docs/models.md says "
        "when to take another."
    )


def _show_model(screen: Any, facts: dict[str, Any]) -> None:
    from countwise.reports.terminal import grid

    screen.say(f"{facts['name']}: {facts['about']}", "bold")
    table = grid("parameter", "default", "description")
    for parameter in facts["parameters"]:
        table.add_row(parameter["name"], parameter["default"], parameter["help"])
    screen.show(table)
