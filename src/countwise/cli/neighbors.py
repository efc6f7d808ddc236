"""``countwise neighbors``: how many neighbours, and by which exponent, at a glance."""

from __future__ import annotations

import math
import re
import shlex
import sys
from typing import Any

import click

from countwise.cli.app import Command
from countwise.cli.options import Asked, output_options, reading_options, seed_option
from countwise.errors import did_you_mean


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
    "--neighbors", "-k", "k", default="1-20", show_default=True, help="Which k: 1-20 or 1,3,5."
)
@click.option(
    "--power", "-p", "p", help="Which p of vdm and minkowski: 1,1.5,maximum.  [default: 1-9]"
)
@click.option(
    "--metric",
    default="vdm",
    show_default=True,
    help="vdm or minkowski, which have a p, or euclidean, manhattan, maximum, mahalanobis, "
    "overlap, hvdm, heom, gower.",
)
@click.option(
    "--weights",
    default="uniform",
    show_default=True,
    help="How much a neighbour's vote weighs: uniform, distance, squared, rank, kernel.",
)
@click.option(
    "--scale",
    default="range",
    show_default=True,
    help="What numbers are divided by: range, z or none.",
)
@click.option("--folds", help="How many, or leave-one-out.  [default: 10]")
@click.option("--leave-one-out", is_flag=True, help="Test every row by all others.")
@reading_options
@seed_option
@click.option("--picture", metavar="PATH", help="Write the map as .svg or .html.")
@output_options("Write the grid as .csv or everything as .json; .svg or .html for the map.")
def command(
    files: tuple[str, ...],
    k: str,
    p: str | None,
    metric: str,
    weights: str,
    scale: str,
    folds: str | None,
    leave_one_out: bool,
    asked: Asked,
    seed: int,
    picture: str | None,
    output: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Measure neighbours of FILE at every k and p; of several files, also the mean.

    Every row is tested by a model that has not seen it, and every k is read off one list of
    neighbours. Several files share all options: name --target where they call the class the same.
    """
    from countwise.atomic_write import check_writable
    from countwise.cli.output import print_json, remark, write_records
    from countwise.evaluation.neighbor_grid import NeighborGrid
    from countwise.models.neighbors.metrics import SCALES
    from countwise.models.neighbors.votes import SCHEMES

    check_writable(output, "-o", (".csv", ".json", ".svg", ".html"), *files)
    check_writable(picture, "--picture", (".svg", ".html"), *files)
    if output is not None and output.lower().endswith((".svg", ".html")):
        if picture is not None:
            raise click.UsageError("-o and --picture both name a picture; name one")
        output, picture = None, output
    _check_word("--weights", weights, SCHEMES)
    _check_word("--scale", scale, (*SCALES, "none"))
    grids, remarks = _grids(
        files,
        asked,
        quiet,
        k=[int(own) for own in numbers_of("-k", k)],
        p=_powers(p, metric),
        metric=metric,
        weights=weights,
        scale=None if scale == "none" else scale,
        folds=_folds(folds, leave_one_out),
        random_state=seed,
    )
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
    fitting = [_fitting(shown, asked, weights, scale)] if len(grids) == 1 else []
    remark([*remarks, *written, *fitting], quiet)


def _fitting(grid: Any, asked: Asked, weights: str, scale: str) -> str:
    """What to type to train what was found best; what the models do by themselves is left out."""
    best = grid.best
    wishes = {"n_neighbors": str(best["k"]), "metric": grid.metric}
    if grid.metric in ("vdm", "minkowski"):
        wishes["p"] = f"{best['p']:g}"
    if weights != "uniform":
        wishes["weights"] = weights
    if scale != "range":
        wishes["scale"] = scale
    words = ["countwise", "fit", grid.data]
    words += [] if asked.target is None else ["--target", asked.target]
    words += ["--model", "neighbors"]
    for name, value in wishes.items():
        words += ["--param", f"{name}={value}"]
    return f"The best of them is trained by: {shlex.join(words)}"


def _grids(
    files: tuple[str, ...], asked: Asked, quiet: bool, **wishes: Any
) -> tuple[list[Any], list[str]]:
    """The grid of each file, and what is to be remarked on, with the file where there are more."""
    from dataclasses import replace

    from countwise.cli.output import progress
    from countwise.evaluation.neighbor_grid import neighbor_grid

    grids: list[Any] = []
    remarks: list[str] = []
    with progress(quiet) as tell:
        for place, file in enumerate(files):
            found = asked.read(file, "neighbors")
            said = [note.text for note in found.table.notes]
            head = f"{file}: " if len(files) > 1 else ""
            remarks += [head + own for own in (*found.remarks, *said)]
            step = None if tell is None else _stepping(tell, place, len(files), file)
            grids.append(replace(neighbor_grid(found.table, progress=step, **wishes), data=file))
    return grids, remarks


def _stepping(tell: Any, place: int, files: int, file: str) -> Any:
    """Tell how far the grid of one file is as a part of all files."""
    return lambda done, total, text: tell(place + done / total, files, f"{file}, {text}")


def _check_word(option: str, word: str, known: tuple[str, ...]) -> None:
    if word not in known:
        raise click.UsageError(
            f"{option} must be one of {', '.join(known)}, but {word!r} came."
            f"{did_you_mean(word, known)}"
        )


def _folds(folds: str | None, leave_one_out: bool) -> int | str:
    if leave_one_out and folds not in (None, "leave-one-out"):
        raise click.UsageError("--leave-one-out tests every row once; leave --folds out")
    folds = folds or "10"
    if leave_one_out or folds == "leave-one-out":
        return "leave-one-out"
    if not folds.isdigit() or int(folds) < 2:
        raise click.UsageError(
            f"--folds must be a number of at least 2 or leave-one-out, but {folds!r} came"
        )
    return int(folds)


def _powers(text: str | None, metric: str) -> list[float]:
    """The exponents that were asked for; a metric with one of its own takes no other."""
    from countwise.models.neighbors.metrics import POWERS

    if text is not None and metric in POWERS:
        own = POWERS[metric]
        told = "the largest gap" if math.isinf(own) else f"the exponent {own:g}"
        raise click.UsageError(
            f"-p is for the metrics minkowski and vdm, but {metric} always has {told}; leave -p "
            "out, or choose --metric minkowski"
        )
    return numbers_of("-p", text or "1-9")


#: None beyond this is worth asking for; a larger p is the maximum, but for rounding.
MOST = {"-k": 10_000, "-p": 10_000}
ENDLESS = ("maximum", "max", "inf", "infinity")


def numbers_of(option: str, text: str) -> list[float]:
    """Read ``1-20`` or ``1,3,5``; of p also ``1.5`` and ``maximum``."""
    also = ", 1.5 or maximum" if option == "-p" else ""
    wrong = click.UsageError(f"{option} must be numbers as 1-20 or 1,3,5{also}, but {text!r} came")
    found: list[float] = []
    for part in (own.strip() for own in text.split(",")):
        first, between, last = (own.strip() for own in part.partition("-"))
        if option == "-p" and part.lower() in ENDLESS:
            found.append(math.inf)
        elif option == "-p" and re.fullmatch(r"\d+\.\d+", part):
            found.append(float(part))
        elif first.isdigit() and (last.isdigit() if between else True):
            ends = int(first), int(last or first)
            if ends[0] > ends[1]:
                raise wrong
            _check_range(option, text, *ends)
            found += map(float, range(ends[0], ends[1] + 1))
        else:
            raise wrong
    for own in found:
        if own != math.inf:
            _check_range(option, text, own, own)
    return found


def _check_range(option: str, text: str, low: float, high: float) -> None:
    if low < 1 or high > MOST[option]:
        raise click.UsageError(
            f"{option} must be numbers from 1 to {MOST[option]:,}, but {text!r} came"
        )


def _records(grids: list[Any]) -> list[dict[str, Any]]:
    return [
        {
            "data": grid.data,
            "k": k,
            "p": p if math.isfinite(p) else "maximum",
            "accuracy": float(grid.accuracy[at, by]),
            "spread": float(grid.spread[at, by]),
            "expected_accuracy": float(grid.expected_accuracy[at, by]),
        }
        for grid in grids
        for at, k in enumerate(grid.k)
        for by, p in enumerate(grid.p)
    ]
