"""``countwise neighbors``: scores of nearest neighbors for every k and p."""

from __future__ import annotations

import math
import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from countwise.cli.app import Command
from countwise.cli.options import (
    PICTURES,
    NumberList,
    check_picture,
    output_options,
    read_source,
    reading_options,
    seed_option,
)
from countwise.errors import did_you_mean

if TYPE_CHECKING:
    from countwise.cli.output import Output
    from countwise.tables.read_options import ReadOptions


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
@click.option(
    "--neighbors",
    "-k",
    "k",
    type=NumberList(),
    default="1-20",
    show_default=True,
    metavar="1-20",
    help="Numbers of neighbors to try, such as 1-20 or 1,3,5.",
)
@click.option(
    "--power",
    "-p",
    "p",
    type=NumberList(decimals=True),
    metavar="1-9",
    help="Exponents of vdm or minkowski to try, such as 1,1.5,maximum. Default: 1-9.",
)
@click.option(
    "--metric",
    metavar="NAME",
    default="vdm",
    show_default=True,
    help="Distance: vdm or minkowski, which have an exponent, or euclidean, manhattan, maximum, "
    "mahalanobis, overlap, hvdm, heom or gower.",
)
@click.option(
    "--weights",
    metavar="NAME",
    default="uniform",
    show_default=True,
    help="Weights of the votes: uniform, distance, squared, rank or kernel.",
)
@click.option(
    "--scale",
    metavar="NAME",
    default="range",
    show_default=True,
    help="Scaling of numeric columns: range, z (standard deviation) or none.",
)
@click.option(
    "--smoothing",
    type=float,
    metavar="N",
    default=1.0,
    show_default=True,
    help="Imagined votes, spread like the class frequencies, that are added to those of the "
    "neighbors.",
)
@click.option(
    "--folds", metavar="N", help="Number of cross-validation folds, or leave-one-out. Default: 10."
)
@click.option(
    "--leave-one-out",
    is_flag=True,
    help="Test every row against all others instead of using folds.",
)
@reading_options()
@seed_option
@click.option(
    "--picture", metavar="PATH", help="File to write the map to: .svg, .html, .png or .pdf."
)
@output_options(
    "File to write: .csv for the grid, .json for everything; .svg, .html, .png, .pdf for the map.",
    ".csv",
    ".json",
    *PICTURES,
)
def command(
    files: tuple[str, ...],
    k: list[int],
    p: list[float] | None,
    metric: str,
    weights: str,
    scale: str,
    smoothing: float,
    folds: str | None,
    leave_one_out: bool,
    reading: ReadOptions,
    seed: int,
    picture: str | None,
    out: Output,
) -> None:
    """Score nearest neighbors on FILE for every number k and exponent p of the distance.

    Every row is tested by a model that has not seen it. With several files, the mean over the files
    is shown, too. Options apply to all files, so --target must name a column that all of them have.
    """
    from countwise.evaluation.neighbor_grid import NeighborGrid
    from countwise.models.neighbors.metrics import SCALES
    from countwise.models.neighbors.votes import SCHEMES

    if out.path is not None and out.path.lower().endswith(PICTURES):
        if picture is not None:
            raise click.UsageError("-o and --picture both name a picture; name one")
        out, picture = replace(out, path=None), out.path
    check_picture(picture)
    _check_word("--weights", weights, SCHEMES)
    _check_word("--scale", scale, (*SCALES, "none"))
    _check_powers(p, metric)
    grids, notes, first = _grids(
        files,
        reading,
        out,
        k=k,
        p=p or [float(power) for power in range(1, 10)],
        metric=metric,
        weights=weights,
        scale=None if scale == "none" else scale,
        smoothing=smoothing,
        folds=_folds(folds, leave_one_out),
        random_state=seed,
    )
    facts: dict[str, Any] = {"command": "neighbors", "grids": [grid.to_dict() for grid in grids]}
    if len(grids) == 1:
        last = grids[0]
        notes.append(f"To train the best: {_fit_command(last, reading, weights, scale, smoothing)}")
    else:
        last = NeighborGrid.mean(grids)
        facts["mean"] = last.to_dict()
        grids.append(last)
    if picture is not None:
        from countwise.reports.draw import draw

        draw(last).save(picture)
    out.finish(
        facts,
        lambda screen: click.echo("\n".join(grid.describe() for grid in grids)),
        records=_records(grids),
        first=first,
        notes=notes,
        written={"Grid": out.path, "Map": picture},
    )


def _fit_command(
    grid: Any, reading: ReadOptions, weights: str, scale: str, smoothing: float
) -> str:
    """Return what to type to train the best model; defaults are left out."""
    words = ["countwise", "fit", grid.data]
    words += [] if reading.target is None else ["--target", str(reading.target)]
    words += ["--model", "neighbors", "--param", f"n_neighbors={grid.best['k']}"]
    words += ["--param", f"metric={grid.metric}"]
    if grid.metric in ("vdm", "minkowski"):
        words += ["--param", f"p={grid.best['p']:g}"]
    if weights != "uniform":
        words += ["--param", f"weights={weights}"]
    if scale != "range":
        words += ["--param", f"scale={scale}"]
    words += ["--param", f"smoothing={smoothing:g}"]
    return shlex.join(words)


def _grids(
    files: tuple[str, ...], reading: ReadOptions, out: Output, **settings: Any
) -> tuple[list[Any], list[Any], list[str]]:
    """Return the grid of each file, notes and remarks; of several files these name the file."""
    from countwise.evaluation.neighbor_grid import neighbor_grid
    from countwise.models import registry
    from countwise.models.base import leave_out_text

    model = registry.ENTRIES["Neighbors"].load()()
    grids: list[Any] = []
    notes: list[Any] = []
    remarks: list[str] = []
    with out.progress() as tell:
        for place, file in enumerate(files):
            read = read_source(reading, file, "neighbors")
            head = f"{file}: " if len(files) > 1 else ""
            remarks += [f"{head}{remark}" for remark in read.remarks]
            table = leave_out_text(model, read.table)
            notes += [replace(note, text=f"{head}{note.text}") for note in table.notes]
            step = None if tell is None else _part_of(tell, place, len(files), file)
            grids.append(replace(neighbor_grid(table, progress=step, **settings), data=file))
    return grids, notes, remarks


def _part_of(tell: Any, place: int, files: int, file: str) -> Any:
    """Return a function that shows the progress of one file as a part of all files."""
    return lambda done, total, text: tell(place + done / total, files, f"{file}, {text}")


def _check_word(option: str, word: str, known: tuple[str, ...]) -> None:
    if word not in known:
        near = did_you_mean(word, known)
        raise click.UsageError(f"{option} must be one of {', '.join(known)}; got {word!r}.{near}")


def _folds(folds: str | None, leave_one_out: bool) -> int | str:
    if leave_one_out and folds not in (None, "leave-one-out"):
        raise click.UsageError("--leave-one-out tests every row once; omit --folds")
    folds = folds or "10"
    if leave_one_out or folds == "leave-one-out":
        return "leave-one-out"
    if not folds.isdigit() or int(folds) < 2:
        raise click.UsageError(f"--folds must be at least 2 or leave-one-out; got {folds!r}")
    return int(folds)


def _check_powers(powers: list[float] | None, metric: str) -> None:
    """Refuse exponents for a metric that has a fixed one."""
    from countwise.models.neighbors.metrics import POWERS

    if powers is not None and metric in POWERS:
        fixed = POWERS[metric]
        words = "the largest difference" if math.isinf(fixed) else f"the exponent {fixed:g}"
        raise click.UsageError(
            f"-p is for the metrics minkowski and vdm; {metric} always has {words}. Omit -p, or "
            "choose --metric minkowski"
        )


def _records(grids: list[Any]) -> list[dict[str, Any]]:
    return [
        {
            "data": grid.data,
            "k": k,
            "p": p if math.isfinite(p) else "maximum",
            "accuracy": float(grid.accuracy[row, column]),
            "spread": float(grid.spread[row, column]),
            "expected_accuracy": float(grid.expected_accuracy[row, column]),
        }
        for grid in grids
        for row, k in enumerate(grid.k)
        for column, p in enumerate(grid.p)
    ]
