"""``countwise compare``: rank models on rows they have not seen."""

from __future__ import annotations

import math
import shlex
import sys
from time import monotonic
from typing import TYPE_CHECKING, Any

import click

from countwise.cli.app import Command
from countwise.cli.options import (
    best_model,
    build_models,
    chosen_names,
    comparison_options,
    models_option,
    notable,
    output_options,
    read_rule,
    read_source,
    repeats_option,
    rule_option,
)

if TYPE_CHECKING:
    from countwise.cli.output import Output
    from countwise.decisions.gain_matrix import GainMatrix
    from countwise.tables.read_options import ReadOptions


@click.command(
    "compare",
    cls=Command,
    examples=(
        "countwise compare sample:votes",
        "countwise compare sample:credit-g --gain sample --report credit.html",
        "countwise compare data.csv -t class -m all --max-seconds 60",
        "countwise compare data.csv -t class -m naive-bayes,forest --holdout 0.3 --repeats 10",
        "countwise compare sample:iris -m naive-bayes,neighbors --rule roulette",
    ),
)
@click.argument("file", metavar="FILE")
@models_option
@click.option(
    "--folds",
    type=click.IntRange(min=2),
    metavar="N",
    help="Number of cross-validation folds. Default: 10.",
)
@repeats_option("1, or 10 with --holdout")
@click.option(
    "--holdout",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    metavar="FRACTION",
    help="Test on this fraction of the rows (e.g. 0.3) instead of cross-validating.",
)
@click.option(
    "--leave-one-out", is_flag=True, help="Test every row with a model trained on all others."
)
@click.option(
    "--max-seconds",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Time limit; models that would exceed it are left out. Default: none.",
)
@rule_option
@comparison_options("HTML page to write, with the ranking, the data and the best model.")
@output_options("File to write: .csv for the ranking, .json for everything.", ".csv", ".json")
def command(
    file: str,
    models: str | None,
    folds: int | None,
    repeats: int | None,
    holdout: float | None,
    leave_one_out: bool,
    max_seconds: float | None,
    rule: str | None,
    gain: GainMatrix | None,
    reading: ReadOptions,
    seed: int,
    jobs: int,
    report: str | None,
    out: Output,
) -> None:
    """Rank models on rows of FILE that they have not seen, and test the differences.

    The default is ten-fold cross-validation. Confidence intervals allow for the overlap of the
    training sets.
    Training and prediction are timed separately. With --gain every model also decides by the gain
    matrix, and the models are ranked by gain per row. With --rule roulette every model also draws
    its decisions. Models of scikit-learn are yardsticks: they are shown below the ranking because
    they cannot be saved. The command that trains and saves the best model is printed at the end.
    """
    from countwise.evaluation.evaluate import evaluate
    from countwise.models.registry import COMPARED

    names = chosen_names(models)
    protocol = _protocol(folds, repeats, holdout, leave_one_out)
    wheel = read_rule(rule, None, seed)
    read = read_source(reading, file, "compare")
    table = read.table
    started = monotonic()
    if "folds" in protocol and protocol["folds"] is None:
        protocol["folds"] = max(min(10, len(table)), 2)
    compared = build_models(read, names, COMPARED, seed)
    if wheel is not None:
        from countwise.decisions.decide import Decide

        # Over the very same models: they are trained once.
        drawn = {f"{name} by roulette": Decide(model, wheel) for name, model in compared.items()}
        compared |= drawn
    with out.progress() as tell:
        trials = evaluate(
            compared,
            table,
            gain=gain,
            random_state=seed,
            n_jobs=jobs,
            max_seconds=max_seconds,
            progress=tell,
            **protocol,
        )
    notes = [*read.remarks, *notable(trials.notes)]
    keep = _keep_command(trials, file)
    if report is not None:
        left = math.inf if max_seconds is None else max_seconds - (monotonic() - started)
        notes += _write_report(table, trials, file, seed, report, out, left)
    title = (
        f"{table.target_column.name} from {file}: {len(table):,} rows, "
        f"{len(table.schema.attributes)} columns, {len(table.classes)} classes"
    )
    out.finish(
        {"command": "compare", "source": file, "keep": keep, **trials.to_dict()},
        lambda screen: screen.ranking(trials, title, keep),
        records=trials.summary(),
        notes=notes,
        written={"Ranking": out.path, "Report": report},
    )


def _keep_command(trials: Any, file: str) -> str | None:
    """Return the command that trains and saves the best model, with the options of this one."""
    from countwise.cli.fit import command as fit
    from countwise.models.registry import COMMANDS

    name = best_model(trials)
    if name is None or not COMMANDS[name].can_be_saved:
        return None
    context = click.get_current_context()
    shared = {parameter.name: parameter for parameter in fit.params}
    words = ["countwise", "fit", file, "--model", name]
    for parameter in context.command.params:
        given = context.get_parameter_source(parameter.name or "")
        if parameter.name in ("file", "output", "as_json", "quiet") or parameter.name not in shared:
            continue
        if given is not click.core.ParameterSource.COMMANDLINE:
            continue
        value, option = context.params[parameter.name], max(parameter.opts, key=len)
        if isinstance(value, tuple):
            words += [word for each in value for word in (option, each)]
        else:
            words += [option] if value is True else [option, str(value)]
    return shlex.join([*words, "-o", f"{name}.cw"])


def _protocol(
    folds: int | None, repeats: int | None, holdout: float | None, leave_one_out: bool
) -> dict[str, Any]:
    if leave_one_out:
        if folds or repeats or holdout is not None:
            raise click.UsageError(
                "--leave-one-out tests every row once; omit --folds, --repeats and --holdout"
            )
        return {"leave_one_out": True}
    if holdout is not None:
        if folds:
            raise click.UsageError("--folds and --holdout are different protocols; choose one")
        return {"holdout": holdout, "repeats": repeats or 10}
    return {"folds": folds, "repeats": repeats or 1}


def _write_report(
    table: Any, trials: Any, file: str, seed: int, path: str, out: Output, left: float
) -> list[str]:
    """Write the page; return a note if its curve would take more than the seconds `left`."""
    from countwise.evaluation.learning_curve import learning_curve
    from countwise.models.registry import COMMANDS, DEFAULT
    from countwise.reports.report import report

    name = best_model(trials) or DEFAULT
    model = COMMANDS[name].build(seed)
    curve, notes = None, []
    if _curve_seconds(trials, name, hasattr(model, "fit_counts")) <= left:
        with out.progress() as tell:
            curve = learning_curve(
                {name: model}, table, random_state=seed, gain=trials.gain, progress=tell
            )
    else:
        notes = [f"The page has no learning curve: {name} would need more time for one."]
    model.fit(table)
    command = shlex.join(["countwise", *sys.argv[1:]])
    report(trials, path, table, model=model, name=name, curve=curve, source=file, command=command)
    return notes


def _curve_seconds(trials: Any, name: str, counted: bool) -> float:
    """Estimate the time of a learning curve of ten repeats from that of one fold."""
    times = trials.times.get(name)
    if times is None:
        return 0.0
    fold = sum(sum(seconds) for seconds in times.values()) / len(trials.folds)
    return fold * (10 if counted else 100)
