"""Rows outside memory on the command line: scans of files, ``count`` and ``merge``."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

import click

from countwise.cli.app import Command
from countwise.cli.options import (
    OTHER_TARGETS,
    USUAL_TARGETS,
    Scanning,
    check_checkpoint,
    guess_target,
    output_options,
    read_or_scan,
    reading_options,
    remove_checkpoints,
    scan_options,
    seed_option,
    weight_option,
)
from countwise.errors import CountsError, ParameterError, TableError, listing

if TYPE_CHECKING:
    from countwise.cli.output import Output
    from countwise.counts.counts import Counts
    from countwise.tables.read_options import ReadOptions
    from countwise.tables.scan import Scan


def open_scan(
    reading: ReadOptions, source: str, who: str, scanning: Scanning, need_target: bool
) -> tuple[Scan, tuple[str, ...]]:
    """Return a scan; if no class is named, a column with a usual name is the class."""
    from countwise.tables.scan import scan_with
    from countwise.tables.sources.query_source import Query

    place = ("table", "query", "key")
    given = {
        name: value
        for name, value in vars(scanning).items()
        if value is not None and name not in ("engine", "sample", *place)
    }
    asked = {name: getattr(scanning, name) for name in place}
    rows_of = Query(source, **asked) if any(asked.values()) else source
    rows = scan_with(rows_of, reading, **given)
    remarks: tuple[str, ...] = ()
    if not rows.labelled:
        names = [column.name for column in rows.first_schema]
        words = (*USUAL_TARGETS, *OTHER_TARGETS)
        found = sorted(
            (n for n in names if n.lower() in words), key=lambda n: words.index(n.lower())
        )
        target, remarks = guess_target(who, found, need_target)
        if target is not None:
            rows = scan_with(rows_of, replace(reading, target=target), **given)
        elif need_target:
            raise TableError(
                f"{who}: a class column is needed; none is named, and none is called class, "
                "target, label or y.",
                hint=f"Name it with `target=`; the columns are {listing(names, 12)}.",
            )
    rows.engine = scanning.engine
    return rows, remarks


@click.command(
    "count",
    cls=Command,
    examples=(
        'countwise count "mon/*.csv" --target y -o mon.counts',
        "countwise count data.parquet --target y --pairs -o data.counts",
        "countwise count postgresql://host/shop --table sales --target y -o shop.counts",
    ),
)
@click.argument("file", metavar="SOURCE")
@click.option("--pairs", is_flag=True, help="Also count every two nominal columns (TAN, AODE).")
@reading_options()
@weight_option
@scan_options("sample")
@output_options("File of counts to write: .counts.", ".counts", quiet="Print nothing.")
def count(file: str, pairs: bool, reading: ReadOptions, scanning: Scanning, out: Output) -> None:
    """Count the rows of SOURCE by class and save the counts, which countwise merge adds up.

    SOURCE is a file, a folder, a pattern such as "data/*.parquet", a database or spark:TABLE.
    Counts hold no rows: sites can exchange them instead of their data.
    """
    from countwise.counts.count_rows import count as count_rows
    from countwise.counts.counts_file import save_counts
    from countwise.counts.plan import Plan

    if out.path is None:
        raise click.UsageError("a file for the counts is needed; name it with -o")
    if scanning.sample is not None:
        raise click.UsageError("--sample is for models; counts are those of all rows")
    check_checkpoint(scanning, out.path)
    started = perf_counter()
    asked = scanning if scanning.is_asked else replace(scanning, on_bad="refuse")
    read = read_or_scan(reading, file, "count", asked)

    def plan_of(schema: Any) -> Plan:
        plan = Plan.each(schema, "both")
        return plan | Plan.pairs(schema) if pairs else plan

    with out.progress() as tell:
        read.table.progress = tell
        counts = count_rows(read.table, plan_of)
    save_counts(counts, out.path)
    remove_checkpoints(scanning)
    facts = {
        "source": file,
        "rows": counts.rows,
        "classes": list(counts.classes),
        "output": out.path,
        "seconds": perf_counter() - started,
        "notes": [note.to_dict() for note in read.table.notes],
    }

    def show(screen: Any) -> None:
        screen.say(f"{counts.rows:,} rows of {file} counted: {listing(counts.classes)}.")
        screen.say(f"Saved as {out.path}.")

    out.finish(facts, None if out.quiet else show, notes=read.table.notes, first=read.remarks)


@click.command(
    "merge",
    cls=Command,
    examples=(
        "countwise merge mon.counts tue.counts -o model.cw --model naive-bayes",
        "countwise merge mon.counts tue.counts -o both.counts",
        "countwise merge pairs1.counts pairs2.counts -o model.cw --model tan",
    ),
)
@click.argument("files", metavar="COUNTS...", nargs=-1, required=True)
@click.option(
    "--model",
    "name",
    metavar="NAME",
    default="naive-bayes",
    show_default=True,
    help="Model to learn from the counts (see countwise models).",
)
@click.option(
    "--param",
    "pairs",
    metavar="NAME=VALUE",
    multiple=True,
    help="Parameter of the model, such as smoothing=0.5; may be repeated.",
)
@seed_option
@output_options(
    "File to write: a model (.cw) or the counts of all files (.counts).",
    ".cw",
    ".counts",
    quiet="Print nothing.",
)
def merge(
    files: tuple[str, ...], name: str, pairs: tuple[str, ...], seed: int, out: Output
) -> None:
    """Add up the counts in files that countwise count has written, and learn a model from them.

    The model is the one that all rows together would give.
    """
    from countwise.counts.counts_file import save_counts
    from countwise.models.registry import COMMANDS, find, parse_parameters
    from countwise.store.files import save

    if out.path is None:
        raise click.UsageError("a file to write is needed; name it with -o")
    twice = next((path for path in files if files.count(path) > 1), None)
    if twice is not None:
        raise click.UsageError(f"{twice} is named twice, so its rows would count twice")
    total = _add_up(files)
    facts = {"files": list(files), "rows": total.rows, "output": out.path}
    if out.path.endswith(".counts"):
        save_counts(total, out.path)
    else:
        chosen = find(name)
        model = chosen.build(seed, parse_parameters(pairs))
        if not hasattr(model, "fit_counts"):
            able = [one for one in COMMANDS if hasattr(find(one).build(seed), "fit_counts")]
            raise ParameterError(
                f"merge: {name!r} does not learn from counts.",
                hint=f"Models that do: {', '.join(able)}",
            )
        classes = total.classes
        if len(classes) < 2:
            raise CountsError(
                f"merge: counts must be of at least two classes; got only {listing(classes)}."
            )
        model.fit_counts(total)
        save(model, out.path, notes={"command": "countwise merge"})
        facts["model"] = chosen.name

    def show(screen: Any) -> None:
        if len(files) > 1:
            screen.say(f"Counts of {total.rows:,} rows in {len(files)} files were added up.")
        screen.say(f"Saved as {out.path}.")

    out.finish(facts, None if out.quiet else show)


def _add_up(files: tuple[str, ...]) -> Counts:
    """Return the sum of the counts in files; one that does not fit the first is named."""
    from countwise.counts.counts import Counts
    from countwise.counts.counts_file import load_counts

    parts = [load_counts(path) for path in files]
    try:
        return Counts.sum(parts)
    except CountsError:
        for path, part in zip(files, parts, strict=True):
            try:
                Counts.sum([parts[0], part])
            except CountsError as error:
                why = error.message.removeprefix("Counts: ")
                raise CountsError(
                    f"merge: {path!r} cannot be added to {files[0]!r}: {why}", hint=error.hint
                ) from None
        raise
