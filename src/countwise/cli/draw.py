"""``countwise draw``: a picture of a saved model, or of models trained on a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from countwise.cli.app import Command
from countwise.cli.options import (
    PICTURES,
    build_models,
    check_picture,
    chosen_names,
    models_option,
    notable,
    output_options,
    params_option,
    read_source,
    reading_options,
    seed_option,
    split_names,
)

if TYPE_CHECKING:
    from countwise.cli.output import Output
    from countwise.tables.read_options import ReadOptions

#: What can be drawn from rows; a model file is always drawn as its model.
_KINDS = ("model", "ranking", "roc", "confusion", "curve", "grid")


@click.command(
    "draw",
    cls=Command,
    examples=(
        "countwise draw model.cw -o tree.svg",
        "countwise draw model.cw --attribute age -o age.png",
        "countwise draw sample:weather -m id3 -o tree.pdf",
        "countwise draw data.csv -m tree --param max_depth=3 -o tree.png",
        "countwise draw data.csv -t class --what roc -m naive-bayes,logistic -o roc.png --dark",
        "countwise draw sample:iris --what grid -o map.svg",
    ),
)
@click.argument("file", metavar="MODEL|FILE")
@click.option(
    "--what",
    type=click.Choice(_KINDS),
    help="What to draw from the rows of FILE: a model trained on them (the default), the ranking, "
    "the ROC curves or the confusion matrix of a cross-validation, the learning curve, or the "
    "accuracy of nearest neighbors by k and p.",
)
@click.option(
    "--attribute",
    metavar="A[,B]",
    help="Attribute to draw alone. With discrete-bayes also two attributes: the decision for each "
    "combination of their values is drawn.",
)
@models_option
@params_option
@click.option("--dark/--light", default=None, help="Background of the picture.")
@reading_options()
@seed_option
@output_options("Picture to write: .svg, .html, .png or .pdf.", *PICTURES)
def command(
    file: str,
    what: str | None,
    attribute: str | None,
    models: str | None,
    pairs: tuple[str, ...],
    dark: bool | None,
    reading: ReadOptions,
    seed: int,
    out: Output,
) -> None:
    """Draw a saved MODEL, or train models on FILE and draw the result.

    PNG and PDF files need pip install 'countwise[pictures]'. By default PNG and PDF files are
    light, and SVG and HTML files follow the light or dark mode of the screen.
    """
    if out.path is None:
        raise click.UsageError("-o must name the picture to write, such as -o picture.svg")
    check_picture(out.path)
    from countwise.reports.describe import is_model_file
    from countwise.reports.draw import draw

    drawn: Any
    part: Any
    notes: list[Any] = []
    if pairs and (models is None or "," in models):
        raise click.UsageError("--param needs one model; name it with -m")
    if is_model_file(file):
        drawn, part = _load(file, what, models), _attribute(attribute)
    else:
        if attribute is not None and what not in (None, "model"):
            raise click.UsageError("--attribute is for the picture of a model")
        drawn, notes = _make(file, what or "model", models, pairs, reading, seed, out)
        part = _attribute(attribute) if what in (None, "model") else None
        part = what if what in ("roc", "confusion") else part
    picture = draw(drawn, part)
    picture.save(out.path, dark)
    facts = {"command": "draw", "source": file, "title": picture.title, "output": out.path}
    out.finish(
        facts,
        None if out.quiet else lambda screen: screen.say(picture.title),
        notes=notes,
        written={"Picture": out.path},
    )


def _attribute(given: str | None) -> Any:
    names = split_names(given)
    return None if given is None else names[0] if len(names) == 1 else names


def _load(file: str, what: str | None, models: str | None) -> Any:
    from countwise.prediction.predict_file import load_model

    if what not in (None, "model") or models is not None:
        option = "--models" if models is not None else f"--what {what}"
        raise click.UsageError(f"{option} needs rows; {file} is a model. Name a data file")
    return load_model(file, "draw")


def _make(
    file: str,
    what: str,
    models: str | None,
    pairs: tuple[str, ...],
    reading: ReadOptions,
    seed: int,
    out: Output,
) -> tuple[Any, list[Any]]:
    """Train, compare or search by the rows of a file; return what is drawn, and notes."""
    from countwise.models.registry import COMPARED, DEFAULT, DRAWN, parse_parameters

    parameters = parse_parameters(pairs)
    names = chosen_names(models)
    if what == "model" and names is not None and len(names) > 1:
        raise click.UsageError(
            "-m must name one model to be drawn; --what ranking compares several"
        )
    if what == "grid" and names is not None:
        raise click.UsageError("-m is not for --what grid, which draws nearest neighbors")
    read = read_source(reading, file, "draw")
    table = read.table
    notes: list[Any] = [*read.remarks, *table.notes]
    if what == "model":
        (model,) = build_models(read, names or [DEFAULT], COMPARED, seed, parameters).values()
        if not hasattr(model, "views"):
            raise click.UsageError(f"{models} is only for comparison and cannot be drawn")
        return model.fit(table), notes
    with out.progress() as tell:
        if what == "grid":
            from countwise.evaluation.neighbor_grid import neighbor_grid

            return neighbor_grid(table, random_state=seed, progress=tell), notes
        if what == "curve":
            from countwise.evaluation.learning_curve import learning_curve

            chosen = build_models(read, names, DRAWN, seed, parameters)
            curve = learning_curve(chosen, table, random_state=seed, progress=tell)
            return curve, [*read.remarks, *notable(curve.notes)]
        from countwise.evaluation.evaluate import evaluate

        chosen = build_models(read, names, COMPARED, seed, parameters)
        folds = max(min(10, len(table)), 2)
        trials = evaluate(chosen, table, folds=folds, random_state=seed, progress=tell)
        return trials, [*read.remarks, *notable(trials.notes)]
