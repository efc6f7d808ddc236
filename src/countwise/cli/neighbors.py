"""``countwise neighbors``: how many neighbours, and by which exponent, at a glance."""

from __future__ import annotations

import sys
from typing import Any

import click

from countwise.cli.app import Command
from countwise.cli.asked import Asked
from countwise.cli.options import output_options, reading_options, seed_option

__all__ = ["command"]


@click.command(
    "neighbors",
    cls=Command,
    examples=(
        "countwise neighbors sample:glass -o glass.svg",
        "countwise neighbors sample:iris sample:glass sample:votes --picture mean.svg",
        "countwise neighbors data.csv --target class --metric minkowski -k 1-30 -p 1,2,3",
    ),
)
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("--neighbors", "-k", "k", default="1-20", show_default=True, help="Which k: 1-20.")
@click.option("--power", "-p", "p", default="1-9", show_default=True, help="Which p: 1-9 or 1,2.")
@click.option("--metric", default="vdm", show_default=True, help="minkowski, vdm or another.")
@click.option("--weights", default="uniform", show_default=True, help="uniform, distance, …")
@click.option("--scale", default="range", show_default=True, help="range, z or none.")
@click.option("--folds", default="10", show_default=True, help="How many, or leave-one-out.")
@reading_options
@seed_option
@click.option("--picture", metavar="SVG", help="Write the map as .svg or .html.")
@output_options("Write the grid as .csv or everything as .json; .svg or .html for the map.")
def command(
    files: tuple[str, ...],
    k: str,
    p: str,
    metric: str,
    weights: str,
    scale: str,
    folds: str,
    asked: Asked,
    seed: int,
    picture: str | None,
    output: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Measure neighbours of FILE at every k and p; of several files, also the mean."""
    from countwise.cli.output import check_writable, print_json, remark, write_records
    from countwise.evaluation.neighbor_grid import NeighborGrid

    check_writable(output, "-o", (".csv", ".json", ".svg", ".html"), files[0])
    check_writable(picture, "--picture", (".svg", ".html"))
    if output is not None and output.lower().endswith((".svg", ".html")):
        output, picture = None, output
    grids, remarks = _grids(files, k, p, metric, weights, scale, folds, asked, seed)
    shown = grids[0] if len(grids) == 1 else NeighborGrid.mean(grids)
    every = grids if len(grids) == 1 else [*grids, shown]
    whole: dict[str, Any] = {"command": "neighbors", "grids": [own.to_dict() for own in grids]}
    if len(grids) > 1:
        whole["mean"] = shown.to_dict()
    if output is not None:
        write_records(output, _records(every), whole, "neighbors")
    if picture is not None:
        from countwise.reports.draw import draw

        draw(shown).save(picture)
    if as_json:
        print_json(whole)
        return
    for own in every:
        sys.stdout.write(own.describe() + "\n")
    sys.stdout.flush()
    written = [f"Written to {path}." for path in (output, picture) if path]
    remark([*remarks, *written], quiet)


def _grids(
    files: tuple[str, ...],
    k: str,
    p: str,
    metric: str,
    weights: str,
    scale: str,
    folds: str,
    asked: Asked,
    seed: int,
) -> tuple[list[Any], list[str]]:
    from dataclasses import replace

    from countwise.evaluation.neighbor_grid import neighbor_grid

    if folds != "leave-one-out" and not folds.isdigit():
        raise click.UsageError(f"--folds must be a number or leave-one-out, but {folds!r} came")
    grids: list[Any] = []
    remarks: list[str] = []
    for file in files:
        found = asked.read(file, "neighbors")
        remarks += found.remarks
        grid = neighbor_grid(
            found.table,
            numbers_of("-k", k),
            numbers_of("-p", p),
            metric=metric,
            weights=weights,
            scale=None if scale == "none" else scale,
            folds=folds if folds == "leave-one-out" else int(folds),
            random_state=seed,
        )
        grids.append(replace(grid, data=file))
    return grids, remarks


#: No k or p beyond this is worth asking for.
MOST = 10_000


def numbers_of(option: str, text: str) -> list[int]:
    """Read ``1-20`` or ``1,3,5``.

    Examples
    --------
    >>> numbers_of("-k", "1-3,7")
    [1, 2, 3, 7]
    """
    found: list[int] = []
    for part in text.split(","):
        first, between, last = part.strip().partition("-")
        ends = (first, last if between else first)
        if not all(own.strip().isdigit() for own in ends) or int(ends[0]) > int(ends[1]):
            raise click.UsageError(f"{option} must be numbers as 1-20 or 1,3,5, but {text!r} came")
        if int(ends[1]) > MOST:
            raise click.UsageError(f"{option} may be {MOST:,} at most, but {text!r} came")
        found += range(int(ends[0]), int(ends[1]) + 1)
    return found


def _records(grids: list[Any]) -> list[dict[str, Any]]:
    return [
        {
            "data": grid.data,
            "k": k,
            "p": p,
            "accuracy": float(grid.accuracy[at, by]),
            "spread": float(grid.spread[at, by]),
            "expected_accuracy": float(grid.expected_accuracy[at, by]),
        }
        for grid in grids
        for at, k in enumerate(grid.k)
        for by, p in enumerate(grid.p)
    ]
