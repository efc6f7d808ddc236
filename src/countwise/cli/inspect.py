"""``countwise inspect``: describe a file before any model sees it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from countwise.cli.app import Command
from countwise.cli.errors import spelling
from countwise.cli.options import (
    Scanning,
    check_checkpoint,
    output_options,
    read_or_scan,
    reading_options,
    remove_checkpoints,
    scan_options,
)
from countwise.errors import shorten

if TYPE_CHECKING:
    from countwise.cli.output import Output
    from countwise.notes import Note
    from countwise.tables.read_options import ReadOptions


@click.command(
    "inspect",
    cls=Command,
    examples=(
        "countwise inspect sample:glass",
        'countwise inspect "data/*.parquet" --target y',
        "countwise inspect postgresql://host/shop --table sales --target y",
        "countwise inspect data.csv --target class --write-schema schema.json",
    ),
)
@click.argument("file", metavar="FILE")
@reading_options()
@scan_options()
@click.option("--write-schema", metavar="JSON", help="File to write the schema to.")
@output_options("File to write the description to: .json.", ".json")
def command(
    file: str, reading: ReadOptions, scanning: Scanning, write_schema: str | None, out: Output
) -> None:
    """Describe FILE: column kinds, levels, missing values, identifiers, class balance.

    FILE is a table, a folder or a pattern such as "data/*.parquet", a database (duckdb:FILE or
    postgresql://HOST/NAME, with --table or --query), spark:TABLE, sample:NAME, or a saved model
    (.cw).
    """
    from countwise.reports.describe import is_model_file

    if is_model_file(file):
        from countwise.prediction.predict_file import load_model
        from countwise.store.files import describe

        facts, first = describe(file), tuple[str, ...]()
        model = None if write_schema is None else load_model(file, "inspect")
        schema: Any = getattr(getattr(model, "model_", model), "schema_", None)
        show = partial(_show_model, file=file, facts=facts)
    else:
        from countwise.reports.data_facts import inspect_facts
        from countwise.tables.scan import Scan

        check_checkpoint(scanning, out.path)
        read = read_or_scan(reading, file, "inspect", scanning, need_target=False)
        with out.progress() as tell:
            if isinstance(read.table, Scan):
                read.table.progress = tell
            inspected = inspect_facts(read.table, file)
        facts, first, schema = inspected, read.remarks, read.table.schema
        show = partial(_show_data, file=file, data=facts["data"], notes=read.table.notes)
    if write_schema is not None:
        from countwise.atomic_write import atomic_write

        with atomic_write(write_schema, "inspect") as draft:
            schema.write(draft)
    remove_checkpoints(scanning)
    out.finish(
        facts,
        None if out.path else show,
        records=(),
        first=first,
        written={"Schema": write_schema, "Description": out.path},
    )


def _show_data(screen: Any, file: str, data: dict[str, Any], notes: Iterable[Note]) -> None:
    """Show a table; its notes name options of the command."""
    spell = spelling(click.get_current_context())
    texts = {str(note): note.spelled(spell) for note in notes}
    dropped = [line | {"why": texts.get(line["why"], line["why"])} for line in data["dropped"]]
    spelled = [line | {"text": texts[line["text"]]} for line in data["notes"]]
    screen.inspection({**data, "dropped": dropped, "notes": spelled}, file)


def _show_model(screen: Any, file: str, facts: dict[str, Any]) -> None:
    from countwise.reports.terminal import grid

    summary = facts["summary"]
    over = f" over {summary['over']}" if "over" in summary else ""
    screen.say(f"{file}: {facts['kind']}{over}", "bold")
    classes = [str(label) for label in summary.get("classes") or []]
    if shares := summary.get("class_shares"):
        pairs = zip(classes, shares, strict=False)
        classes = [f"{label} {100 * share:.1f} %" for label, share in pairs]
    parameters = []
    for name, value in (facts.get("parameters") or {}).items():
        shown = value.get("items", value) if isinstance(value, dict) else value
        if shown != []:
            parameters.append(f"{name}={shown}")
    lines: dict[str, Any] = {
        "saved": f"{facts['created']} by countwise {facts['library_version']}",
        "size": f"{facts['bytes']:,} bytes, {facts['unpacked_bytes']:,} unpacked",
        "rows": summary.get("rows"),
        "class": summary.get("target"),
        "columns": shorten(summary.get("columns") or [], 12),
        "classes": shorten(classes, 12),
        "parameters": ", ".join(parameters),
        "notes": (facts.get("notes") or {}).get("saved_with"),
    }
    table = grid("", "", show_header=False)
    for name, value in lines.items():
        if value not in (None, ""):
            table.add_row(name, str(value))
    screen.show(table)
