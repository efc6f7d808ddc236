"""``countwise compare``: rank models on rows they have not seen."""

from __future__ import annotations

import math
import shlex
from dataclasses import replace
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any

import click

from countwise.cli.app import Command, command_line
from countwise.cli.options import (
    Read,
    Scanning,
    add_rule,
    best_model,
    build_models,
    chosen_names,
    comparison_options,
    models_option,
    notable,
    output_options,
    read_or_scan,
    read_rule,
    refuse_checkpoint,
    repeats_option,
    rule_option,
    say_gains,
    scan_options,
    take_gains,
    weight_option,
)

if TYPE_CHECKING:
    from countwise.cli.output import Output
    from countwise.decisions.gain_matrix import GainMatrix
    from countwise.tables.read_options import ReadOptions

#: The page's curve of a model that is fitted anew for every point.
_REFITTED_CURVE: dict[str, Any] = {"points": 5, "repeats": 2}


@click.command(
    "compare",
    cls=Command,
    examples=(
        "countwise compare sample:votes",
        "countwise compare sample:credit-g --gain sample --report credit.html",
        "countwise compare sample:credit-g --score auc",
        "countwise compare iris.csv votes.arff glass.csv -m naive-bayes,tan,id3 -o table.tex",
        "countwise compare visits.csv -t outcome --group patient --folds 5",
        "countwise compare sales.csv -t returned --time date --folds 5",
        "countwise compare data.csv -t class -m all --max-seconds 60",
        'countwise compare "data/*.parquet" -t class -m naive-bayes,tan',
        "countwise compare duckdb:warehouse.db --table sales -t class",
        "countwise compare spark:shop.sales -t class --key customer",
        "countwise compare data.csv -t class -m naive-bayes,forest --holdout 0.3 --repeats 10",
        "countwise compare sample:iris -m naive-bayes,neighbors --rule roulette",
    ),
)
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
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
    "--group",
    metavar="COLUMN",
    help="Column of groups, such as patients: no group is divided between training and test.",
)
@click.option(
    "--time",
    metavar="COLUMN",
    help="Column of dates or numbers: train on earlier rows and test on later ones.",
)
@click.option(
    "--fold",
    metavar="COLUMN",
    help="Column of fold numbers or names; rows with a negative or missing number are never "
    "tested.",
)
@click.option(
    "--score",
    metavar="NAME",
    help="Score to rank by: accuracy, balanced_accuracy, auc, auc_weighted, auc_hand_till, f1, "
    "f1_weighted, precision, recall, kappa, mcc, top_2, log_loss, brier, expected_gain or "
    "expected_cost. Default: accuracy; with --gain expected_gain, with --cost expected_cost.",
)
@click.option(
    "--baseline",
    metavar="MODEL",
    help="With several files: the model that the others are compared with. Default: the first.",
)
@click.option(
    "--max-seconds",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Time limit; models that would exceed it are left out. Default: none.",
)
@rule_option
@scan_options("checkpoint")
@comparison_options("HTML page to write, with the ranking, the data and the best model.")
@weight_option
@output_options(
    "File to write: .csv or .tex (LaTeX) for the table, .json for everything.",
    ".csv",
    ".json",
    ".tex",
)
def command(
    files: tuple[str, ...],
    models: str | None,
    folds: int | None,
    repeats: int | None,
    holdout: float | None,
    leave_one_out: bool,
    group: str | None,
    time: str | None,
    fold: str | None,
    score: str | None,
    baseline: str | None,
    max_seconds: float | None,
    rule: str | None,
    gain: GainMatrix | None,
    reading: ReadOptions,
    scanning: Scanning,
    seed: int,
    jobs: int,
    report: str | None,
    out: Output,
) -> None:
    """Rank models on rows of FILE that they have not seen, and test the differences.

    With several FILEs the result is a table of data sets and models. It marks scores that are
    significantly better (v) or worse (*) than those of the first model, and shows wins and mean
    ranks.

    FILE may also be a folder or a pattern such as "data/*.parquet", or a database. Such rows, and
    large files, stay where they are: models made from counts are trained and tested in a few scans,
    and they are the standard models then; name additive with --models to fit it to each fold.

    The default is ten-fold cross-validation. Confidence intervals allow for the overlap of the
    training sets. Training and prediction are timed separately. With --gain, every model is also
    tested with decisions by the gain matrix, from its probabilities as it gives them (those of our
    models are smoothed or calibrated), and the models are ranked by gain per row. With --rule
    roulette, every model is also tested with decisions drawn at random. Models of scikit-learn
    cannot be saved, so they are shown below the ranking. The command that trains and saves the best
    model is printed at the end.
    """
    from countwise.evaluation.evaluate import evaluate
    from countwise.evaluation.experiment import Experiment
    from countwise.evaluation.scores import find_score
    from countwise.models.registry import COMPARED
    from countwise.tables.scan import Scan

    refuse_checkpoint(scanning, "compare")
    names = chosen_names(models)
    protocol = _protocol(folds, repeats, holdout, leave_one_out, fold, time)
    ranked_by = None if score is None else score.replace("-", "_")
    if ranked_by is not None:
        find_score("compare", ranked_by, gain is not None)
    wheel = read_rule(rule, None, seed)
    columns = {"groups": group, "time": time, "folds": fold}
    named = {name: column for name, column in columns.items() if column is not None}
    options: dict[str, Any] = {"score": ranked_by, "n_jobs": jobs, "max_seconds": max_seconds}
    if len(files) > 1:
        from countwise.cli.compare_sets import compare_sets

        say_gains(gain, out.quiet)
        _say_probabilities(gain, out.quiet)
        read_rows = partial(_read_rows, reading, named, scanning=scanning)
        options |= {"baseline": baseline, "gain": gain}
        compare_sets(files, read_rows, protocol, names, seed, wheel, options, report, out)
        return
    if baseline is not None:
        raise click.UsageError("--baseline is for several data sets; name more than one FILE")
    [file] = files
    read = _read_rows(reading, named, file, protocol, scanning=scanning)
    table = read.table
    gain = take_gains(gain, table, out.quiet)
    _say_probabilities(gain, out.quiet)
    started = monotonic()
    chosen = build_models(read, names, COMPARED, seed)
    compared = add_rule(chosen, wheel)
    with out.progress() as tell:
        trials = evaluate(
            compared,
            table,
            gain=gain,
            random_state=seed,
            progress=tell,
            **options,
            **protocol,
        )
    notes: list[Any] = [*notable(trials.notes)]
    keep = _keep_command(trials, file, list(named.values()))
    if report is not None:
        left = math.inf if max_seconds is None else max_seconds - (monotonic() - started)
        left = -math.inf if named or isinstance(table, Scan) else left
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
        first=read.remarks,
        written={"Ranking": out.path, "Report": report},
        latex=Experiment({file: trials}, trials.names[0]).to_latex,
    )


def _read_rows(
    reading: ReadOptions,
    named: dict[str, str],
    file: str,
    protocol: dict[str, Any],
    *,
    scanning: Scanning,
) -> Read:
    """Read the table; the columns that say how to test it become part of the protocol."""
    from countwise.errors import ParameterError
    from countwise.evaluation.column_folds import take_columns
    from countwise.tables.scan import Scan

    roles = {"fold" if name == "folds" else name: column for name, column in named.items()}
    reading = reading.with_roles("compare", roles)
    read = read_or_scan(reading, file, "compare", scanning)
    values: dict[str, Any] = {}
    if isinstance(read.table, Scan):
        if "folds" in named:
            raise ParameterError("compare: --fold needs rows in memory; got rows outside memory.")
        protocol |= {"folds": protocol.get("folds") or 10, **named}
        return read
    if named:
        table, values = take_columns("compare", read.table, named)
        read = replace(read, table=table)
    if read.weight is not None:
        values["sample_weight"] = read.weight
    protocol |= values
    if "folds" in protocol and protocol["folds"] is None:
        most = len(set(values["groups"].tolist())) if "groups" in values else len(read.table)
        protocol["folds"] = max(min(10, most), 2)
    return read


def _keep_command(trials: Any, file: str, unused: list[str]) -> str | None:
    """Return the command that trains and saves the best model, with the options of this one.

    It drops the `unused` columns, which said how to test and were no attributes.
    """
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
        if parameter.name in ("output", "as_json", "quiet") or parameter.name not in shared:
            continue
        if given is not click.core.ParameterSource.COMMANDLINE:
            continue
        value, option = context.params[parameter.name], max(parameter.opts, key=len)
        if parameter.name == "drop":
            value, unused = ",".join([value, *unused]), []
        if isinstance(value, tuple):
            words += [word for each in value for word in (option, each)]
        else:
            words += [option] if value is True else [option, str(value)]
    dropped = ["--drop", ",".join(unused)] if unused else []
    return shlex.join([*words, *dropped, "-o", f"{name}.cw"])


def _say_probabilities(gain: GainMatrix | None, quiet: bool) -> None:
    """Print on stderr which probabilities the decisions by gain come from."""
    if gain is None:
        return
    from countwise.cli.output import remark

    what = "costs" if gain.costs else "gains"
    remark(
        [
            f"Decisions by expected {what} use the probabilities that each model gives by default: "
            "those of our models are calibrated or smoothed."
        ],
        quiet,
    )


def _protocol(
    folds: int | None,
    repeats: int | None,
    holdout: float | None,
    leave_one_out: bool,
    fold: str | None,
    time: str | None,
) -> dict[str, Any]:
    if fold is not None:
        if folds or repeats or holdout is not None or leave_one_out:
            raise click.UsageError(
                "--fold names the tested rows; omit --folds, --repeats, --holdout and "
                "--leave-one-out"
            )
        return {}
    if leave_one_out:
        if folds or repeats or holdout is not None:
            raise click.UsageError(
                "--leave-one-out tests every row once; omit --folds, --repeats and --holdout"
            )
        return {"leave_one_out": True}
    if holdout is not None:
        if folds:
            raise click.UsageError("--folds and --holdout are different protocols; choose one")
        return {"holdout": holdout, "repeats": repeats or (1 if time else 10)}
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
    size: dict[str, Any] = {} if hasattr(model, "fit_counts") else _REFITTED_CURVE
    if _curve_seconds(trials, name, size) <= left:
        with out.progress() as tell:
            curve = learning_curve(
                {name: model}, table, random_state=seed, gain=trials.gain, progress=tell, **size
            )
    else:
        why = f"{name} would need more time for one"
        if left == -math.inf:
            why = "a curve deals rows in memory at random"
        if trials.is_scan:
            why = "it needs further scans; countwise curve draws it"
        notes = [f"The page has no learning curve: {why}."]
    model.fit(table)
    command = command_line()
    report(trials, path, table, model=model, name=name, curve=curve, source=file, command=command)
    return notes


def _curve_seconds(trials: Any, name: str, size: dict[str, Any]) -> float:
    """Estimate the time of a learning curve from that of one fold."""
    times = trials.times.get(name)
    if times is None:
        return 0.0
    fold = sum(sum(seconds) for seconds in times.values()) / len(trials.folds)
    return fold * (size["points"] * size["repeats"] / 2 if size else 10)
