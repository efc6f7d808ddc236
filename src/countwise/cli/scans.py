"""Rows outside memory on the command line: when files are scanned, and ``count`` and ``merge``."""

from __future__ import annotations

import functools
import os
from dataclasses import dataclass, fields, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

import click

from countwise.cli.app import Command
from countwise.cli.options import (
    OTHER_TARGETS,
    USUAL_TARGETS,
    Decorated,
    Read,
    add_options,
    output_options,
    read_source,
    reading_options,
    seed_option,
)
from countwise.errors import ParameterError, TableError, listing

if TYPE_CHECKING:
    from countwise.cli.output import Output
    from countwise.tables.read_options import ReadOptions
    from countwise.tables.scan import Scan

#: Larger files are counted piece by piece: megabytes by extension, and of all others.
_LARGE = {".parquet": 64, ".pq": 64, ".gz": 64}
_LARGE_TEXT = 256

#: What to read from a database.
TABLE_OPTIONS = (
    click.option(
        "--table",
        metavar="NAME",
        help="Table of a database to read, such as sales or archive.sales.",
    ),
    click.option(
        "--query",
        metavar="SQL",
        help="SELECT statement to read from a database, instead of --table.",
    ),
)


@dataclass(frozen=True)
class Scanning:
    """The options about rows outside memory."""

    engine: str | None = None
    memory: str | None = None
    checkpoint: str | None = None
    max_levels: int | None = None
    on_bad: str | None = None
    table: str | None = None
    query: str | None = None
    key: str | None = None

    @property
    def is_asked(self) -> bool:
        """Whether some option says that the rows shall be scanned."""
        return any(value is not None for value in vars(self).values())


def scan_options(function: Decorated) -> Decorated:
    """Add the options about rows outside memory, as ``scanning``."""

    def gather(function: Any) -> Any:
        @functools.wraps(function)
        def gathered(*args: Any, **options: Any) -> Any:
            given = {field.name: options.pop(field.name) for field in fields(Scanning)}
            return function(*args, scanning=Scanning(**given), **options)

        return gathered

    return add_options(
        click.option(
            "--engine",
            metavar="NAME",
            help="Engine that counts rows outside memory. Default: the one that suits the source.",
        ),
        click.option(
            "--memory",
            metavar="SIZE",
            help="Memory for rows outside memory, such as 512MB (the default).",
        ),
        click.option(
            "--checkpoint",
            metavar="PATH",
            help="File for counts on the way; a command that was killed goes on from it.",
        ),
        click.option(
            "--max-levels",
            metavar="N",
            type=int,
            help="Levels of a column to tell apart in rows outside memory. Default: 100000.",
        ),
        click.option(
            "--on-bad",
            type=click.Choice(["refuse", "skip"]),
            help="What to do with a damaged piece of a source. Default: refuse.",
        ),
        *TABLE_OPTIONS,
        click.option(
            "--key",
            metavar="COLUMN",
            help="Column that identifies the rows of a database, which folds and samples need.",
        ),
        gather,
    )(function)


def read_or_scan(
    reading: ReadOptions,
    source: str,
    who: str,
    scanning: Scanning,
    *,
    can_scan: bool = True,
    need_target: bool = True,
) -> Read:
    """Read a file, or scan what is larger than memory, a folder or a pattern."""
    must = stays_outside(source, scanning)
    if not must and not (can_scan and _is_large(source)):
        return read_source(reading, source, who, need_target)
    rows, remarks = _open(reading, source, who, scanning, need_target)
    if not must:
        size = os.path.getsize(source) >> 20
        remarks += (f"The file has {size} MB, so it is counted piece by piece.",)
    return Read(rows, remarks)


def stays_outside(source: str, scanning: Scanning) -> bool:
    """Return whether rows are scanned whatever their size: a folder, a pattern, or as asked."""
    from countwise.tables.sources import is_outside

    return is_outside(source) or scanning.is_asked


def _is_large(source: str) -> bool:
    if not os.path.isfile(source):
        return False
    most = _LARGE.get(os.path.splitext(source)[1].lower(), _LARGE_TEXT)
    return os.path.getsize(source) > most << 20


def _open(
    reading: ReadOptions, source: str, who: str, scanning: Scanning, need_target: bool
) -> tuple[Scan, tuple[str, ...]]:
    """Return a scan; if no class is named, a column with a usual name is the class."""
    from countwise.tables.scan import scan_with
    from countwise.tables.sources.query_source import Query

    place = ("table", "query", "key")
    given = {
        name: value
        for name, value in vars(scanning).items()
        if value is not None and name not in ("engine", *place)
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
        if len(found) > 1 and need_target:
            raise TableError(
                f"{who}: the class column must be named; {listing(found, 9)} could be it.",
                hint=f"Add `target={found[0]!r}`, or another of them",
            )
        if len(found) == 1 and found[0].lower() in USUAL_TARGETS:
            remarks = (
                f"Column {found[0]!r} is taken as the class. To choose another, use --target.",
            )
            rows = scan_with(rows_of, replace(reading, target=found[0]), **given)
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
    ),
)
@click.argument("file", metavar="SOURCE")
@click.option("--pairs", is_flag=True, help="Also count every two nominal columns (TAN, AODE).")
@reading_options()
@scan_options
@output_options("File of counts to write: .counts.", ".counts", quiet="Print nothing.")
def count(file: str, pairs: bool, reading: ReadOptions, scanning: Scanning, out: Output) -> None:
    """Count the rows of SOURCE by class and save the counts, which countwise merge adds up.

    SOURCE is a file, a folder or a pattern such as "data/*.parquet". Counts hold no rows: sites can
    exchange them instead of their data.
    """
    from countwise.counts.count_rows import count as count_rows
    from countwise.counts.counts_file import save_counts
    from countwise.counts.plan import Plan

    if out.path is None:
        raise click.UsageError("a file for the counts is needed; name it with -o")
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
    from countwise.counts.counts import Counts
    from countwise.counts.counts_file import load_counts, save_counts
    from countwise.models.registry import find, parse_parameters
    from countwise.store.files import save

    if out.path is None:
        raise click.UsageError("a file to write is needed; name it with -o")
    total = Counts.sum([load_counts(path) for path in files])
    facts = {"files": list(files), "rows": total.rows, "output": out.path}
    if out.path.endswith(".counts"):
        save_counts(total, out.path)
    else:
        chosen = find(name)
        model = chosen.build(seed, parse_parameters(pairs))
        if not hasattr(model, "fit_counts"):
            raise ParameterError(f"merge: {name!r} does not learn from counts.")
        model.fit_counts(total)
        save(model, out.path, notes={"command": "countwise merge"})
        facts["model"] = chosen.name

    def show(screen: Any) -> None:
        screen.say(f"Counts of {total.rows:,} rows in {len(files)} files were added up.")
        screen.say(f"Saved as {out.path}.")

    out.finish(facts, None if out.quiet else show)


def remove_checkpoints(scanning: Scanning) -> None:
    """Remove the files of a checkpoint once the work is done."""
    if scanning.checkpoint is None:
        return
    number, path = 1, scanning.checkpoint
    while os.path.exists(path):
        os.remove(path)
        number += 1
        path = f"{scanning.checkpoint}.{number}"
