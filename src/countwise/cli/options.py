"""The options that several commands share, in the same words everywhere."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import click

from countwise.cli.asked import Asked

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

_READING: tuple[tuple[tuple[str, ...], dict[str, Any]], ...] = (
    (("--target", "-t"), {"metavar": "COLUMN", "help": "The class column."}),
    (("--nominal",), {"metavar": "A,B", "help": "Columns to take as nominal; 'all' for all."}),
    (("--numeric",), {"metavar": "A,B", "help": "Columns to take as numeric."}),
    (("--drop",), {"metavar": "A,B", "help": "Columns to leave out."}),
    (("--missing",), {"metavar": "'?,NA'", "help": "Marks that mean missing."}),
    (
        ("--when-missing",),
        {
            "metavar": "WORD",
            "multiple": True,
            "help": "A missing cell: omit it, a value of its own, or drop the row; or COLUMN=WORD.",
        },
    ),
    (("--schema",), {"metavar": "JSON", "help": "A schema to read by, as inspect writes it."}),
    (("--separator",), {"metavar": "CHAR", "help": "What stands between cells ('tab' for a tab)."}),
    (("--no-header",), {"is_flag": True, "help": "The first line is a row; columns are x1, x2, …"}),
    (("--keep-identifiers",), {"is_flag": True, "help": "Keep columns that identify rows."}),
)


def reading_options(function: Decorated) -> Decorated:
    """Add the options about reading; the command gets them together, as ``asked``."""

    @functools.wraps(function)
    def gathered(*args: Any, **options: Any) -> Any:
        fields = Asked.__dataclass_fields__
        own = {name: options.pop(name) for name in fields if name in options}
        return function(*args, asked=Asked(**own), **options)

    made: Any = gathered
    for names, settings in reversed(_READING):
        made = click.option(*names, **settings)(made)
    result: Decorated = made
    return result


def output_options(what: str) -> Callable[[Decorated], Decorated]:
    """Add ``--json``, ``-o`` and ``--quiet``; `what` says what ``-o`` writes."""

    def add(function: Decorated) -> Decorated:
        made: Any = function
        made = click.option("--quiet", "-q", is_flag=True, help="No remarks, no progress.")(made)
        made = click.option(
            "--json", "as_json", is_flag=True, help="Print JSON to stdout and nothing else."
        )(made)
        made = click.option("--output", "-o", metavar="PATH", help=what)(made)
        result: Decorated = made
        return result

    return add


def gain_option(function: Decorated) -> Decorated:
    """Add ``--gain``."""
    return click.option(
        "--gain",
        metavar="CSV",
        help="Gains to decide by: true classes in rows, decisions in columns; 'sample' for the "
        "matrix a sample brings along.",
    )(function)


def seed_option(function: Decorated) -> Decorated:
    """Add ``--seed``."""
    return click.option(
        "--seed",
        type=click.IntRange(min=0),
        default=0,
        show_default=True,
        help="Where the random numbers start.",
    )(function)


def models_option(function: Decorated) -> Decorated:
    """Add ``--models``."""
    return click.option(
        "--models", "-m", metavar="A,B", help="Which models (see countwise models), or all."
    )(function)


def repeats_option(function: Decorated) -> Decorated:
    """Add ``--repeats``."""
    return click.option(
        "--repeats", type=click.IntRange(min=1), help="How often rows are dealt anew."
    )(function)


def contest_options(page: str) -> Callable[[Decorated], Decorated]:
    """Add what commands share that let models enter; `page` says what ``--report`` writes."""

    def add(function: Decorated) -> Decorated:
        made: Any = click.option("--report", metavar="HTML", help=page)(function)
        made = click.option(
            "--jobs", type=int, default=1, help="Processes that refit scikit-learn's models."
        )(made)
        result: Decorated = gain_option(reading_options(seed_option(made)))
        return result

    return add
