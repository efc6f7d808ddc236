"""``countwise inspect``: say what a file holds before any model sees it."""

from __future__ import annotations

import sys
from typing import Any

import click

from countwise.cli.app import Command
from countwise.cli.options import Asked, output_options, reading_options


@click.command(
    "inspect",
    cls=Command,
    examples=(
        "countwise inspect sample:glass",
        "countwise inspect data.csv --target class --write-schema schema.json",
    ),
)
@click.argument("file", metavar="FILE")
@reading_options
@click.option("--write-schema", metavar="JSON", help="Write the schema, to be edited and reused.")
@output_options("Write the findings as JSON.")
def command(
    file: str,
    asked: Asked,
    write_schema: str | None,
    output: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Say what FILE holds: kinds, levels, gaps, identifiers, class balance, what is left out.

    FILE is a table, sample:NAME, or a saved model (.cw).
    """
    from countwise.atomic_write import check_writable
    from countwise.cli.output import as_json as text_of
    from countwise.cli.output import print_json, remark, write_text

    check_writable(output, "-o", (".json",), file)
    check_writable(write_schema, "--write-schema", (".json",), file)
    if is_model(file):
        _inspect_model(file, output, as_json, write_schema)
        return
    found = asked.read(file, "inspect", need_target=False)
    from countwise.reports.comparison_facts import inspect_facts

    facts = inspect_facts(found.table, file)
    if write_schema is not None:
        _write_schema(write_schema, found.table.schema)
    if output is not None:
        write_text(output, text_of(facts), "inspect")
    if as_json:
        print_json(facts)
        return
    if output is None:
        from countwise.reports.terminal import Screen

        Screen(sys.stdout).inspection(_worded(facts["data"]), file)
    written = [f"Schema written to {write_schema}."] if write_schema else []
    written += [f"Findings written to {output}."] if output else []
    remark([*found.remarks, *written], quiet)


def _worded(data: dict[str, Any]) -> dict[str, Any]:
    """Put what the remarks say in the words of the command line."""
    from countwise.cli.errors import worded

    return {
        **data,
        "dropped": [own | {"why": worded(own["why"])} for own in data["dropped"]],
        "notes": [own | {"text": worded(own["text"])} for own in data["notes"]],
    }


def is_model(path: str) -> bool:
    """Whether a path names a saved model: a zip, or called .cw."""
    if path.lower().endswith(".cw"):
        return True
    try:
        with open(path, "rb") as file:
            return file.read(4) == b"PK\x03\x04" and not path.lower().endswith((".xlsx", ".ods"))
    except OSError:
        return False


def _write_schema(path: str, schema: Any) -> None:
    from countwise.atomic_write import atomic_write

    with atomic_write(path, "inspect") as draft:
        schema.write(draft)


def _inspect_model(file: str, output: str | None, as_json: bool, write_schema: str | None) -> None:
    from countwise.cli.output import as_json as text_of
    from countwise.cli.output import print_json, write_text
    from countwise.store.files import describe

    seen = describe(file)
    if write_schema is not None:
        from countwise.cli.options import load_model

        model = load_model(file, "inspect")
        _write_schema(write_schema, getattr(model, "model_", model).schema_)
    if output is not None:
        write_text(output, text_of(seen), "inspect")
    if as_json:
        print_json(seen)
    elif output is None:
        _show_model(file, seen)


def _show_model(file: str, seen: dict[str, Any]) -> None:
    from countwise.reports.terminal import Screen, grid

    screen = Screen(sys.stdout)
    summary = seen["summary"]
    over = f" over {summary['over']}" if "over" in summary else ""
    screen.say(f"{file}: {seen['kind']}{over}", "bold")
    lines: dict[str, Any] = {
        "saved": f"{seen['created']} by countwise {seen['library_version']}",
        "size": f"{seen['bytes']:,} bytes, {seen['unpacked_bytes']:,} unpacked",
        "rows": summary.get("rows"),
        "class": summary.get("target"),
        "columns": _few(summary.get("columns")),
        "classes": _shares(summary),
        "parameters": _parameters(seen),
        "notes": (seen.get("notes") or {}).get("saved_with"),
    }
    table = grid("", "", show_header=False)
    for name, value in lines.items():
        if value not in (None, ""):
            table.add_row(name, str(value))
    screen.show(table)


def _few(names: list[str] | None, most: int = 12) -> str:
    if not names:
        return ""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


def _shares(summary: dict[str, Any]) -> str:
    labels, shares = summary.get("classes") or [], summary.get("class_shares") or []
    pairs = [f"{label} {100 * share:.1f} %" for label, share in zip(labels, shares, strict=False)]
    return _few(pairs or [str(label) for label in labels])


def _parameters(seen: dict[str, Any]) -> str:
    given = (seen.get("parameters") or {}).get("parameters") or {}
    plain = {
        name: value["items"] if isinstance(value, dict) and "items" in value else value
        for name, value in given.items()
    }
    return ", ".join(f"{name}={value}" for name, value in plain.items() if value != [])
