"""``countwise compare``: rank models on rows they have not seen."""

from __future__ import annotations

import math
from time import monotonic
from typing import TYPE_CHECKING, Any

import click

from countwise.cli.app import Command
from countwise.cli.options import (
    build_models,
    chosen_names,
    comparison_options,
    drawable,
    models_option,
    notable,
    output_options,
    read_gains,
    read_source,
    repeats_option,
)

if TYPE_CHECKING:
    from countwise.cli.output import Output
    from countwise.tables.read_options import ReadOptions


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
    gain: str | None,
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
    matrix, and the models are ranked by gain per row.
    """
    from countwise.evaluation.evaluate import evaluate
    from countwise.models.registry import COMPARED

    names = chosen_names(models)
    protocol = _protocol(folds, repeats, holdout, leave_one_out)
    gains = read_gains(gain, file)
    read = read_source(reading, file, "compare")
    table = read.table
    started = monotonic()
    if "folds" in protocol and protocol["folds"] is None:
        protocol["folds"] = max(min(10, len(table)), 2)
    with out.progress() as tell:
        trials = evaluate(
            build_models(read, names, COMPARED, seed),
            table,
            gain=gains,
            random_state=seed,
            n_jobs=jobs,
            max_seconds=max_seconds,
            progress=tell,
            **protocol,
        )
    notes = [*read.remarks, *notable(trials.notes)]
    if report is not None:
        left = math.inf if max_seconds is None else max_seconds - (monotonic() - started)
        notes += _write_report(table, trials, file, seed, report, out, left)
    title = (
        f"{table.target_column.name} from {file}: {len(table):,} rows, "
        f"{len(table.schema.attributes)} columns, {len(table.classes)} classes"
    )
    out.finish(
        {"command": "compare", "source": file, **trials.to_dict()},
        lambda screen: screen.ranking(trials, title),
        records=trials.summary(),
        notes=notes,
        written={"Ranking": out.path, "Report": report},
    )


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
    from countwise.models.registry import COMMANDS
    from countwise.reports.report import report

    name = drawable(trials.entries[line["model"]].model for line in trials.summary())
    model = COMMANDS[name].build(seed)
    curve, notes = None, []
    if _curve_seconds(trials, name, hasattr(model, "fit_counts")) <= left:
        with out.progress() as tell:
            curve = learning_curve(
                {name: model}, table, random_state=seed, gain=trials.gain, progress=tell
            )
    else:
        notes = [f"The page has no learning curve: {name} would need more time for one."]
    report(trials, path, table, model=model.fit(table), name=name, curve=curve, source=file)
    return notes


def _curve_seconds(trials: Any, name: str, counted: bool) -> float:
    """Estimate the time of a learning curve of ten repeats from that of one fold."""
    times = trials.times.get(name)
    if times is None:
        return 0.0
    fold = sum(sum(seconds) for seconds in times.values()) / len(trials.folds)
    return fold * (10 if counted else 100)
