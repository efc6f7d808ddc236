"""``countwise version``: which countwise this is, and what it runs on."""

from __future__ import annotations

import platform
import sys
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as version_of

import click

from countwise import __version__
from countwise.cli.app import Command

_BESIDE = ("numpy", "scikit-learn", "pyarrow", "narwhals", "click", "rich")


@click.command(
    "version",
    cls=Command,
    examples=("countwise version --json",),
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON to stdout and nothing else.")
def command(as_json: bool) -> None:
    """Say which countwise this is, and what it runs on."""
    found = {"countwise": __version__, "python": platform.python_version()}
    for name in _BESIDE:
        try:
            found[name] = version_of(name)
        except PackageNotFoundError:
            continue
    if as_json:
        from countwise.cli.output import print_json

        print_json(found)
        return
    sys.stdout.write("".join(f"{name} {number}\n" for name, number in found.items()))
