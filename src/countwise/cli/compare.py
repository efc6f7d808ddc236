"""``countwise compare``: rank models on rows they have not seen."""

from __future__ import annotations

import math
import sys
from time import monotonic
from typing import Any

import click

from countwise.cli.app import Command
from countwise.cli.options import (
    Asked,
    Read,
    chosen_names,
    closing,
    contest_options,
    entrants,
    models_option,
    output_options,
    repeats_option,
    share,
)


@click.command(
    "compare",
    cls=Command,
    examples=(
        "countwise compare sample:votes",
        "countwise compare sample:credit-g --gain sample --report credit.html",
        "countwise compare data.csv -t class -m all --max-seconds 60",
        "countwise compare data.csv -t class -m naive-bayes,forest --holdout 0.3 --repeats 10",
    ),
)
@click.argument("file", metavar="FILE")
@models_option
@click.option("--folds", type=click.IntRange(min=2), help="Cross-validation in so many folds [10].")
@repeats_option
@click.option("--holdout", type=float, metavar="SHARE", help="Set this share aside instead, 0.3.")
@click.option("--leave-one-out", is_flag=True, help="Test every row with a model of all others.")
@click.option(
    "--max-seconds",
    type=click.FloatRange(min=0, min_open=True),
    help="Leave out models that would not finish within this time.",
)
@contest_options("Write a page with all that was found.")
@output_options("Write the ranking as .csv or everything as .json.")
def command(
    file: str,
    models: str | None,
    folds: int | None,
    repeats: int | None,
    holdout: float | None,
    leave_one_out: bool,
    gain: str | None,
    asked: Asked,
    seed: int,
    jobs: int,
    max_seconds: float | None,
    report: str | None,
    output: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Rank models on rows of FILE they have not seen, and say what the data support.

    Ten-fold cross-validation unless told otherwise; intervals are corrected for shared training
    rows. Fitting and predicting are timed apart. With --gain every model also decides by the gains,
    and the ranking is by what a row earns.
    """
    from countwise.atomic_write import check_writable
    from countwise.cli.output import print_json, write_records

    check_writable(output, "-o", (".csv", ".json"), file)
    check_writable(report, "--report", (".html", ".htm"))
    chosen = chosen_names(models)
    protocol = _protocol(folds, repeats, holdout, leave_one_out)
    from countwise.cli.options import gain_of

    matrix = gain_of(gain, file)
    found = asked.read(file, "compare")
    limits = {"n_jobs": jobs, "max_seconds": max_seconds}
    started = monotonic()
    trials = _trials(found, chosen, protocol, matrix, seed, limits, quiet)
    whole = {"command": "compare", "source": file, **trials.to_dict()}
    if output is not None:
        write_records(output, trials.summary(), whole, "compare")
    if report is not None:
        left = math.inf if max_seconds is None else max_seconds - (monotonic() - started)
        _report(found, trials, file, seed, report, quiet, left)
    if as_json:
        print_json(whole)
        return
    from countwise.reports.terminal import Screen

    Screen(sys.stdout).ranking(trials, _title(found, file))
    closing(found, trials.notes, (("Ranking", output), ("Report", report)), quiet)


def _protocol(
    folds: int | None, repeats: int | None, holdout: float | None, leave_one_out: bool
) -> dict[str, Any]:
    if leave_one_out:
        if folds or repeats or holdout is not None:
            raise click.UsageError(
                "--leave-one-out tests every row once; leave --folds, --repeats and --holdout out"
            )
        return {"leave_one_out": True}
    if holdout is not None:
        if folds:
            raise click.UsageError("--folds and --holdout are two protocols; choose one")
        return {"holdout": share(holdout), "repeats": repeats or 10}
    return {"folds": folds, "repeats": repeats or 1}


def _trials(
    found: Read,
    names: list[str] | None,
    protocol: dict[str, Any],
    gain: Any,
    seed: int,
    limits: dict[str, Any],
    quiet: bool,
) -> Any:
    from countwise.cli.output import progress
    from countwise.evaluation.evaluate import evaluate
    from countwise.models.registry import COMPARED

    table = found.table
    if "folds" in protocol and protocol["folds"] is None:
        protocol = protocol | {"folds": max(min(10, len(table)), 2)}
    with progress(quiet) as tell:
        return evaluate(
            entrants(found, names, COMPARED, seed),
            table,
            gain=gain,
            random_state=seed,
            progress=tell,
            **limits,
            **protocol,
        )


def _report(
    found: Read, trials: Any, file: str, seed: int, path: str, quiet: bool, left: float
) -> None:
    """Write the page: with the tables of the best model that has some, and its learning curve.

    The curve is left out where the seconds that are left would not do for it.
    """
    from countwise.cli.output import remark
    from countwise.models.registry import COMMANDS, DEFAULT
    from countwise.reports.comparison_facts import comparison_facts
    from countwise.reports.html import write

    ranked = [trials.entries[line["model"]].model for line in trials.summary()]
    drawable = [name for name in ranked if name in COMMANDS and COMMANDS[name].can_be_saved]
    name = drawable[0] if drawable else DEFAULT
    model = COMMANDS[name].build(seed)
    curve = None
    if _curve_seconds(trials, name, hasattr(model, "fit_counts")) <= left:
        curve = _curve(name, model, found, trials, seed, quiet)
    else:
        remark([f"The page has no learning curve: {name} would need more time for one."], quiet)
    facts = comparison_facts(
        found.table, trials, model=model.fit(found.table), model_name=name, curve=curve, source=file
    )
    write(facts, path)


def _curve_seconds(trials: Any, name: str, counted: bool) -> float:
    """Roughly what a learning curve of ten repeats costs, from what one fold did."""
    times = trials.times.get(name)
    if times is None:
        return 0.0
    fold = sum(sum(own) for own in times.values()) / len(trials.parts)
    return fold * (10 if counted else 100)


def _curve(name: str, model: Any, found: Read, trials: Any, seed: int, quiet: bool) -> Any:
    from countwise.cli.output import progress
    from countwise.evaluation.learning_curve import learning_curve

    with progress(quiet) as tell:
        return learning_curve(
            {name: model}, found.table, random_state=seed, gain=trials.gain, progress=tell
        )


def _title(found: Read, file: str) -> str:
    table = found.table
    return (
        f"{table.target_column.name} from {file}: {len(table):,} rows, "
        f"{len(table.schema.attributes)} columns, {len(table.classes)} classes"
    )
