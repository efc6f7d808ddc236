"""What commands share that let several models enter: which ones, and what is said at the end."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import click

from countwise.cli.asked import Read, split_names

#: Remarks that are for the record: they stand in the JSON and on the page.
FOR_THE_RECORD = ("E05", "E06", "E07", "E12", "E14")


def chosen_names(models: str | None) -> list[str] | None:
    """Return the names of the models asked for, checked before anything is read."""
    from countwise.posteriors.catalogue import select

    names = None if models is None else list(split_names(models))
    select(names)
    return names


def share(holdout: float) -> float:
    """Return a share of rows to set aside, or say what it must be."""
    if not 0 < holdout < 1:
        raise click.UsageError(
            f"--holdout must be a share between 0 and 1, such as 0.3, but {holdout:g} came"
        )
    return holdout


def entrants(found: Read, names: list[str] | None, usual: tuple[str, ...], seed: int) -> Any:
    """Make the models that enter; the majority enters by itself."""
    from countwise.posteriors.catalogue import made, select

    chosen = select(names, usual, numeric=bool(found.table.schema.numeric))
    return {own.name: made(own, seed) for own in chosen if own.family != "baseline"} or {
        own.name: made(own, seed) for own in chosen
    }


def closing(
    found: Read, notes: Iterable[Any], written: Iterable[tuple[str, str | None]], quiet: bool
) -> None:
    """Say what is to be remarked on, and which files were written."""
    from countwise.cli.output import remark

    said = [note.text for note in notes if note.code not in FOR_THE_RECORD]
    files = [f"{what} written to {path}." for what, path in written if path]
    remark([*found.remarks, *said, *files], quiet)
