"""``countwise fit``: train a model on a file and save it."""

from __future__ import annotations

import sys
from pathlib import Path
from time import perf_counter
from typing import Any

import click

from countwise.cli.app import Command
from countwise.cli.options import Asked, gain_option, reading_options, seed_option


@click.command(
    "fit",
    cls=Command,
    examples=(
        "countwise fit train.csv --target class -o model.cw",
        "countwise fit data.parquet --target y --model discrete-bayes --budget 10000",
        "countwise fit sample:credit-g --gain sample --param smoothing=0.5 -o credit.cw",
    ),
)
@click.argument("file", metavar="FILE")
@click.option(
    "--output",
    "-o",
    metavar="MODEL",
    help="Where to save, as model.cw; if not given, a new file here, called as FILE is.",
)
@click.option("--model", "name", default="naive-bayes", show_default=True, help="Which model.")
@click.option(
    "--param",
    "pairs",
    metavar="NAME=VALUE",
    multiple=True,
    help="A parameter of the model, such as smoothing=0.5; may be repeated.",
)
@click.option(
    "--budget",
    type=click.FloatRange(min=1),
    metavar="CELLS",
    help="How many cells a discrete-bayes may have.",
)
@gain_option
@reading_options
@seed_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON to stdout and nothing else.")
@click.option("--quiet", "-q", is_flag=True, help="Print nothing.")
def command(
    file: str,
    output: str | None,
    name: str,
    pairs: tuple[str, ...],
    budget: float | None,
    gain: str | None,
    asked: Asked,
    seed: int,
    as_json: bool,
    quiet: bool,
) -> None:
    """Train a model on FILE and save it; predict and explain use it.

    The file holds counts, schema and parameters, no code. With --gain the model decides by these
    gains wherever it is used.
    """
    from countwise.atomic_write import check_writable
    from countwise.cli.options import gain_of
    from countwise.cli.output import print_json, remark

    output = _beside(file) if output is None else output
    check_writable(output, "-o", (".cw",))
    if budget is not None:
        pairs = (*pairs, f"budget={budget:.0f}")
    model = _model(name, pairs, seed)
    matrix = gain_of(gain, file)
    found = asked.read(file, "fit")
    started = perf_counter()
    if matrix is not None and "gain" in model.get_params():
        # A model that searches by gain learns by what it will decide by.
        model.set_params(gain=matrix)
    if not quiet and "progress" in model.get_params() and sys.stderr.isatty():
        model.set_params(progress=_told)
    if matrix is not None:
        from countwise.decisions.decide import Decide

        model = Decide(model, matrix)
    model.fit(found.table)
    took = perf_counter() - started
    from countwise.store.files import save

    save(model, output, notes={"source": file, "command": "countwise fit"})
    facts = _facts(found.table, model, name, file, output, took)
    if as_json:
        print_json(facts)
        return
    if not quiet:
        _show(facts)
    notes = [note.text for note in _notes(found.table, model)]
    remark([*found.remarks, *notes], quiet)


def _notes(table: Any, model: Any) -> list[Any]:
    """What is to be said about the rows, then what the model has to say, each once."""
    own = getattr(getattr(model, "model_", model), "notes_", ())
    return list(dict.fromkeys((*table.notes, *own)))


def _beside(file: str) -> str:
    """The name of a model that was given none; nothing is overwritten unasked."""
    stem = Path(file.removeprefix("sample:")).stem or "model"
    path = Path(f"{stem}.cw")
    if path.exists():
        raise click.UsageError(
            f"{path} is already there; name it with -o to replace it, or choose another name"
        )
    return str(path)


def _model(name: str, pairs: tuple[str, ...], seed: int) -> Any:
    from countwise.errors import ParameterError
    from countwise.models.registry import COMMANDS, find, parse_parameters

    chosen = find(name)
    if not chosen.can_be_saved:
        able = [model.name for model in COMMANDS.values() if model.can_be_saved]
        raise ParameterError(
            f"fit: {chosen.name!r} is here to be compared with and cannot be saved. Models "
            f"that can: {', '.join(able)}."
        )
    parameters = parse_parameters(pairs)
    if "nominal" in parameters:
        raise ParameterError("fit: nominal columns are named by --nominal, not by --param.")
    return chosen.build(seed, parameters)


def _told(step: dict[str, Any]) -> None:
    """Say on stderr how a search goes."""
    gains = [step.get(part) for part in ("train", "validation")]
    words = ", ".join(
        f"{part} gain {own:.4f}"
        for part, own in zip(("training", "validation"), gains, strict=True)
        if own is not None
    )
    click.echo(f"{step['seconds']:6.1f} s  {step['stage']:<10} {words}", err=True)


def _facts(
    table: Any, model: Any, name: str, file: str, output: str, took: float
) -> dict[str, Any]:
    inner = getattr(model, "model_", model)
    earned = getattr(inner, "gain_", None)
    schema = table.schema
    return {
        "model": name,
        "kind": type(inner).__name__,
        "decides_by": "gain" if inner is not model else "argmax",
        "file": file,
        "output": output,
        "rows": len(table),
        "target": schema.target.name,
        "classes": inner.classes_.tolist(),
        "nominal": [column.name for column in schema.nominal],
        "numeric": [column.name for column in schema.numeric],
        "left_out": [column.name for column in schema if column.kind in ("id", "drop")],
        "parameters": {key: repr(own) for key, own in inner.get_params(deep=False).items()},
        **({} if earned is None else {"levels": inner.levels_, "gain": earned}),
        "seconds": took,
        "notes": [note.to_dict() for note in _notes(table, model)],
    }


def _show(facts: dict[str, Any]) -> None:
    from countwise.errors import listing
    from countwise.reports.sentences import seconds
    from countwise.reports.terminal import Screen

    screen = Screen(sys.stdout)
    screen.say(
        f"{facts['model']} trained on {facts['rows']:,} rows of {facts['file']} in "
        f"{seconds(facts['seconds'])}: "
        f"class {facts['target']!r} with {len(facts['classes'])} classes "
        f"({listing(facts['classes'])}), {len(facts['nominal'])} nominal and "
        f"{len(facts['numeric'])} numeric columns."
    )
    if "gain" in facts:
        earned = facts["gain"]
        checked = earned["validation"]
        told = "" if checked is None else f", {checked:.4f} in validation"
        screen.say(f"Its decisions earn {earned['train']:.4f} a row in training{told}.")
    by_gain = " It decides by gain." if facts["decides_by"] == "gain" else ""
    screen.say(f"Saved as {facts['output']}.{by_gain}")
