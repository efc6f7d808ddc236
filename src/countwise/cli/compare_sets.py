"""Compare models on several files: one table of data sets and models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import click

from countwise.cli.app import command_line
from countwise.cli.errors import RefusedError, describe
from countwise.cli.options import add_rule, build_models
from countwise.errors import CountwiseError

if TYPE_CHECKING:
    from countwise.cli.options import Read
    from countwise.cli.output import Output


def compare_sets(
    files: Sequence[str],
    read_rows: Callable[[str, dict[str, Any]], Read],
    protocol: dict[str, Any],
    names: list[str] | None,
    seed: int,
    rule: Any,
    options: dict[str, Any],
    report: str | None,
    out: Output,
) -> None:
    """Compare on every file; those that fail are named at the end, with exit code 2.

    `read_rows` reads a file and adds to a copy of the protocol what holds for that file only.
    """
    from countwise.evaluation.evaluate import evaluate
    from countwise.models.registry import COMPARED
    from countwise.reports.report import report as write_page

    reads: dict[str, Read] = {}
    failures: dict[str, str] = {}
    by_set: dict[str, dict[str, Any]] = {}
    for name, file in name_sets(files).items():
        rules = dict(protocol)
        try:
            reads[name] = read_rows(file, rules)
        except CountwiseError as why:
            failures[name] = describe(why, click.get_current_context())
            continue
        for key, value in rules.items():
            by_set.setdefault(key, {})[name] = value
    if not reads:
        raise RefusedError(_list_failures(failures, len(files)))
    shared = {key: by_set.pop(key)[next(iter(reads))] for key in protocol if key != "folds"}
    some = next((read for read in reads.values() if read.table.schema.numeric), None)
    models = add_rule(build_models(some or next(iter(reads.values())), names, COMPARED, seed), rule)
    with out.progress() as tell:
        experiment = evaluate(
            models,
            {name: read.table for name, read in reads.items()},
            random_state=seed,
            progress=tell,
            **options,
            **shared,
            **by_set,
        )
    experiment = replace(experiment, failures={**failures, **experiment.failures})
    if report is not None:
        write_page(experiment, report, command=command_line())
    title = f"{len(experiment.models)} models on {len(experiment.trials)} data sets"
    out.finish(
        {"command": "compare", "sources": list(files), **experiment.to_dict()},
        lambda screen: screen.experiment(experiment, title),
        records=experiment.records(),
        notes=[f"{name}: {text}" for name, read in reads.items() for text in read.remarks],
        written={"Table": out.path, "Report": report},
        latex=experiment.to_latex,
    )
    if experiment.failures:
        raise RefusedError(_list_failures(experiment.failures, len(files)))


def _list_failures(failures: dict[str, str], files: int) -> str:
    reasons = " ".join(f"{name}: {why}" for name, why in failures.items())
    return f"compare: {len(failures)} of {files} data sets could not be evaluated. {reasons}"


def name_sets(files: Sequence[str]) -> dict[str, str]:
    """Name data sets by their files without folder and extension; as given where that is not one.

    >>> name_sets(["a/iris.csv", "sample:votes", "b/x.csv", "c/x.csv"])
    {'iris': 'a/iris.csv', 'votes': 'sample:votes', 'b/x.csv': 'b/x.csv', 'c/x.csv': 'c/x.csv'}
    """
    short = {
        file: "" if set("*?[") & set(file) else PurePath(file.removeprefix("sample:")).name
        for file in files
    }
    short = {file: name.split(".")[0] for file, name in short.items()}
    every = list(short.values())
    return {name if name and every.count(name) == 1 else file: file for file, name in short.items()}
