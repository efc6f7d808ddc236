"""``countwise fit``: train a model on a file and save it."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import click

from countwise.cli.app import Command
from countwise.cli.options import (
    Read,
    Scanning,
    best_model,
    check_checkpoint,
    check_trainable,
    gain_options,
    output_options,
    params_option,
    read_numbers,
    read_or_scan,
    read_rule,
    reading_options,
    remove_checkpoints,
    rule_option,
    scan_options,
    seed_option,
    take_gains,
    weight_option,
)
from countwise.errors import ParameterError, listing
from countwise.models.registry import DEFAULT

if TYPE_CHECKING:
    from countwise.cli.output import Output
    from countwise.decisions.gain_matrix import GainMatrix
    from countwise.tables.read_options import ReadOptions


#: The word of ``--model`` that lets a comparison choose.
BEST = "best"


@click.command(
    "fit",
    cls=Command,
    examples=(
        "countwise fit train.csv --target class -o model.cw",
        "countwise fit data.parquet --target y --model discrete-bayes --param budget=10000",
        "countwise fit sample:credit-g --gain sample --param pairs=0 -o credit.cw",
        "countwise fit data.csv --target class --model best",
        "countwise fit sample:weather --model naive-bayes --param smoothing=0.5 -o weather.cw",
        'countwise fit "data/*.parquet" --target y --param max_seconds=600',
        'countwise fit "data/*.parquet" --target y --model tan --checkpoint run.counts',
        "countwise fit duckdb:warehouse.db --table sales --target y -o sales.cw",
        'countwise fit postgresql://host/shop --query "SELECT * FROM sales" --target y',
        "countwise fit spark:shop.sales --target y --model tan -o sales.cw",
        "countwise fit houses.csv --target price --model local-regression -o price.cw",
    ),
)
@click.argument("file", metavar="FILE")
@click.option(
    "--model",
    "name",
    metavar="NAME",
    help="Model to train (see countwise models), or 'best': the standard models are compared by "
    f"cross-validation and the best is trained. Default: {DEFAULT}.",
)
@params_option
@gain_options
@rule_option
@reading_options()
@weight_option
@scan_options()
@seed_option
@output_options(
    "Model file to write. Default: the name of FILE with the extension .cw.",
    ".cw",
    quiet="Print nothing.",
)
def command(
    file: str,
    name: str | None,
    pairs: tuple[str, ...],
    gain: GainMatrix | None,
    rule: str | None,
    reading: ReadOptions,
    scanning: Scanning,
    seed: int,
    out: Output,
) -> None:
    """Train a model on FILE and save it for predict, explain, show and draw.

    FILE may also be a folder, a pattern such as "data/*.parquet", a database (duckdb:FILE or
    postgresql://HOST/NAME with --table or --query) or spark:TABLE of the session of Spark. Such
    rows, and large files, stay where they are if the model is made from counts or is additive. The
    rows are coded for additive, a byte a cell, in memory or in a temporary file; --param
    max_seconds=600 ends its last fit after ten minutes.

    The model file holds data only, no code. With --gain the saved model decides by the gain
    matrix; with --rule roulette it draws its decisions at random. neighbors-regressor and
    local-regression predict a number, so --target must name a numeric column for them.
    """
    from sklearn.base import is_regressor
    from sklearn.utils.validation import has_fit_parameter

    from countwise.store.files import save
    from countwise.tables.scan import Scan

    path = out.path or _default_path(file)
    check_checkpoint(scanning, path)
    name = name or DEFAULT
    wheel = read_rule(rule, gain, seed)
    if name != BEST:
        model = _build(name, pairs, seed)
    elif pairs:
        raise click.UsageError("--param needs one model; name it with --model instead of 'best'")
    numbers = name != BEST and is_regressor(model)
    if numbers and (gain is not None or wheel is not None):
        raise click.UsageError(f"{name} predicts a number; --gain and --rule are for classes")
    if numbers and reading.weight is not None:
        raise click.UsageError(f"{name} predicts a number; --weight is for classes")
    if numbers:
        read, target = read_numbers(reading, file, "fit")
    else:
        can_scan = name == BEST or getattr(model, "takes_scans", False)
        read = read_or_scan(reading, file, "fit", scanning, can_scan=can_scan)
        target = None
        gain = take_gains(gain, read.table, out.quiet)
    chosen = None
    if name == BEST:
        name, chosen = _compare(read, gain, seed, out)
        model = _build(name, (), seed)
    started = perf_counter()
    if gain is not None and "gain" in model.get_params():
        # A model that searches by gain learns by what it will decide by.
        model.set_params(gain=gain)
    fitting: dict[str, Any] = {}
    if read.weight is not None:
        if not has_fit_parameter(model, "sample_weight"):
            raise ParameterError(f"fit: {name!r} does not use weights; leave out --weight.")
        fitting["sample_weight"] = read.weight
    reports = has_fit_parameter(model, "progress")
    if gain is not None or wheel is not None:
        from countwise.decisions.decide import Decide

        model = Decide(model, wheel if gain is None else gain)
    with out.progress() as tell:
        if isinstance(read.table, Scan):
            read.table.progress = tell
        labels = () if target is None or read.table.labelled else (target,)
        model.fit(read.table, *labels, **fitting, **({"progress": tell} if reports else {}))
    seconds = perf_counter() - started
    if isinstance(read.table, Scan):
        check_trainable("fit", read.table)
    # A file name need not be text that can be written.
    source = file.encode("utf-8", "replace").decode()
    save(model, path, notes={"source": source, "command": "countwise fit"})
    remove_checkpoints(scanning)
    inner = getattr(model, "model_", model)
    notes = list(dict.fromkeys((*(() if numbers else read.table.notes), *inner.notes_)))
    by = "argmax" if inner is model else "gain" if gain is not None else "roulette"
    facts = _facts(read.table, inner, name, target) | {
        **({} if chosen is None else {"chosen": chosen}),
        **({} if numbers else {"decides_by": by}),
        **({} if gain is None else {"measure": gain.word}),
        "file": file,
        "output": path,
        "seconds": seconds,
        "notes": [note.to_dict() for note in notes],
    }
    show = None if out.quiet else lambda screen: _show(screen, facts)
    out.finish(facts, show, notes=notes, first=read.remarks)


def _compare(read: Read, gain: GainMatrix | None, seed: int, out: Output) -> tuple[str, str]:
    """Return the best standard model that can be saved, and why it was chosen."""
    from countwise.evaluation.evaluate import evaluate
    from countwise.models.registry import COMPARED, select
    from countwise.tables.scan import Scan

    table = read.table
    chosen = select(None, COMPARED, numeric=bool(table.schema.numeric))
    models = {model.name: model.build(seed) for model in chosen if model.can_be_saved}
    if isinstance(table, Scan):
        models = {name: model for name, model in models.items() if hasattr(model, "fit_counts")}
    with out.progress() as tell:
        trials = evaluate(
            models,
            table,
            folds=max(min(10, len(table)), 2),
            gain=gain,
            random_state=seed,
            progress=tell,
            sample_weight=read.weight,
        )
    return best_model(trials) or DEFAULT, f"Compared {len(models)} models: {trials.verdict()}"


def _default_path(file: str) -> str:
    """Return the path of a model without ``-o``; nothing is overwritten."""
    from countwise.atomic_write import check_writable
    from countwise.tables.formats.source import is_outside

    if is_outside(file) and not Path(file).is_dir():
        file = "model"
    path = Path(f"{Path(file.removeprefix('sample:')).stem or 'model'}.cw")
    if path.exists():
        raise click.UsageError(
            f"{path} is already there; name it with -o to replace it, or choose another name"
        )
    check_writable(str(path), "-o", (".cw",))
    return str(path)


def _build(name: str, pairs: tuple[str, ...], seed: int) -> Any:
    from countwise.models.registry import COMMANDS, find, parse_parameters

    chosen = find(name)
    if not chosen.can_be_saved:
        able = [model.name for model in COMMANDS.values() if model.can_be_saved]
        raise ParameterError(
            f"fit: {chosen.name!r} is only for comparison and cannot be saved.",
            hint=f"Models that can: {', '.join(able)}.",
        )
    parameters = parse_parameters(pairs)
    if "nominal" in parameters:
        raise ParameterError("fit: nominal columns are named by --nominal, not by --param.")
    return chosen.build(seed, parameters)


def _facts(table: Any, model: Any, name: str, target: str | None) -> dict[str, Any]:
    """Return what to tell of a fitted model; `target` is the column of a model of numbers."""
    gain = getattr(model, "gain_", None)
    schema = table.schema
    classes = {"classes": model.classes_.tolist()} if target is None else {}
    return {
        "model": name,
        "kind": type(model).__name__,
        "rows": len(table),
        "target": schema.target.name if target is None else target,
        **classes,
        "nominal": [column.name for column in model.schema_.nominal],
        "numeric": [column.name for column in model.schema_.numeric],
        "text": [column.name for column in model.schema_.text],
        "left_out": [column.name for column in schema if column.kind in ("id", "drop")],
        "parameters": {key: repr(value) for key, value in model.get_params(deep=False).items()},
        "summary": model.file_summary(),
        "found": model.describe_training(),
        **({} if gain is None else {"levels": model.levels_, "gain": gain}),
    }


def _show(screen: Any, facts: dict[str, Any]) -> None:
    from countwise.reports.sentences import kind_words, seconds

    kinds = {kind: len(facts[kind]) for kind in ("nominal", "numeric", "text")}
    word = facts.get("measure", "gain")
    if "chosen" in facts:
        screen.say(facts["chosen"])
    target = f"number {facts['target']!r}"
    if "classes" in facts:
        classes = facts["classes"]
        target = f"class {facts['target']!r} with {len(classes)} classes ({listing(classes)})"
    screen.say(
        f"{facts['model']} trained on {facts['rows']:,} rows of {facts['file']} in "
        f"{seconds(facts['seconds'])}: {target}, {kind_words(kinds)} columns."
    )
    for line in facts["found"]:
        screen.say(line)
    if "gain" in facts:
        train, validation = facts["gain"]["train"], facts["gain"]["validation"]
        verb, sign = ("cost", -1) if word == "cost" else ("earn", 1)
        checked = "" if validation is None else f", {sign * validation:.4f} in validation"
        screen.say(f"Its decisions {verb} {sign * train:.4f} a row in training{checked}.")
    ways = {"gain": f" It decides by {word}.", "roulette": " It draws its decisions."}
    screen.say(f"Saved as {facts['output']}.{ways.get(facts.get('decides_by', ''), '')}")
