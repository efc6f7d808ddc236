"""``countwise predict``: classify the rows of a file, of any size, with a saved model."""

from __future__ import annotations

import os
from time import perf_counter
from typing import TYPE_CHECKING, Any

import click

from countwise.cli.app import Command
from countwise.cli.options import Asked, gain_option, split_names

if TYPE_CHECKING:
    from countwise.predict_file import Scorer, Tally


@click.command(
    "predict",
    cls=Command,
    examples=(
        "countwise predict model.cw new.csv -o answers.csv",
        "countwise predict model.cw new.csv --gain gain.csv --keep customer | head",
    ),
)
@click.argument("model", metavar="MODEL")
@click.argument("file", metavar="FILE")
@click.option("--output", "-o", metavar="PATH", help="Write .csv or .parquet; stdout without it.")
@gain_option
@click.option("--keep", metavar="A,B", help="Columns of FILE to carry over to the output.")
@click.option("--missing", metavar="'?,NA'", help="Marks that mean missing, if not the model's.")
@click.option("--separator", metavar="CHAR", help="What stands between cells ('tab' for a tab).")
@click.option("--no-header", is_flag=True, help="The first line is a row; columns are x1, x2, …")
@click.option("--json", "as_json", is_flag=True, help="Print a summary as JSON (needs -o).")
@click.option("--quiet", "-q", is_flag=True, help="No remarks, no progress.")
def command(
    model: str,
    file: str,
    output: str | None,
    gain: str | None,
    keep: str | None,
    missing: str | None,
    separator: str | None,
    no_header: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Classify the rows of FILE with the saved MODEL.

    A line for each row of FILE, in its order: the most probable class, the probability of each
    class (six digits in CSV, exact in Parquet), and the decision, which differs from the class
    where gains say so. FILE may be larger than memory. If it has the class column, the accuracy is
    reported to stderr.
    """
    if as_json and output is None:
        raise click.UsageError("--json prints a summary and needs -o for the rows")
    from countwise.cli.output import print_json, remark
    from countwise.predict_file import check_output

    check_output(output, file)
    path = path_of(file)
    look = _look(path)
    asked = Asked(missing=missing, separator=separator, no_header=no_header)
    scorer = _scorer(model, file, gain, split_names(keep))
    started = perf_counter()
    tally = _run(scorer, path, asked, output, quiet, look)
    facts = _facts(scorer, tally, perf_counter() - started, model, file, output)
    if as_json:
        print_json(facts)
        return
    remark(tally.remarks(scorer.done_with_unseen), quiet)
    remark(_sentences(facts), quiet)


def _scorer(model: str, file: str, gain: str | None, keep: tuple[str, ...]) -> Scorer:
    from countwise.cli.options import gain_of, load_model
    from countwise.predict_file import Scorer

    return Scorer(load_model(model, "predict"), gain_of(gain, file), keep)


def path_of(file: str) -> str:
    """Return the file that is meant: itself, or that of a sample."""
    if not file.startswith("sample:"):
        return file
    from countwise.tables import datasets

    return str(datasets.find(file.removeprefix("sample:")).locate())


def _look(path: str) -> Any:
    """Begin to look through a CSV file while the model and what it needs are loaded."""
    from countwise.tables.formats.detect import is_delimited
    from countwise.tables.formats.source import LookAhead, scan

    return LookAhead(path) if is_delimited(path) else scan


def _run(
    scorer: Scorer, path: str, asked: Asked, output: str | None, quiet: bool, look: Any
) -> Tally:
    """Read, classify and write, block by block."""
    from countwise.cli.output import progress
    from countwise.predict_file import EndlessError, Tally, sink_for
    from countwise.tables.formats.blocks import overlapped, pieces_of

    marks = None if asked.missing is None else split_names(asked.missing)
    reading = scorer.reading(not asked.no_header, asked.mark, marks)
    total = Tally()
    size = os.path.getsize(path) if os.path.isfile(path) else 0
    with progress(quiet) as tell, sink_for(output, scorer.names) as sink:

        def work(blocks: Any) -> tuple[Tally, list[tuple[Any, Any]]]:
            tally, made = Tally(), []
            for block in blocks:
                answers = scorer.answer(block, tally)
                made.append((sink.render(answers), answers))
            return tally, made

        try:
            for (tally, made), done in overlapped(pieces_of(path, reading, look), work):
                total.add(tally)
                for rendered, answers in made:
                    sink.write(rendered, answers)
                if tell is not None and done:
                    tell(done, size, f"{total.rows:,} rows")
        except EndlessError as why:
            raise why.after(total.rows) from None
    return total


def _facts(
    scorer: Scorer, tally: Tally, seconds: float, model: str, file: str, output: str | None
) -> dict[str, Any]:
    share = tally.right / tally.labelled if tally.labelled else None
    decided = tally.decided_right / tally.labelled if tally.labelled else None
    earned = scorer.gain is not None and tally.labelled > 0
    return {
        "model": model,
        "file": file,
        "output": output,
        "rows": tally.rows,
        "classes": scorer.classes,
        "decisions": scorer.decisions,
        "labelled_rows": tally.labelled,
        "accuracy": share,
        "decision_accuracy": decided,
        "gain_per_row": tally.earned / tally.labelled if earned else None,
        "unseen": {name: dict(own.most_common(20)) for name, own in tally.unseen.items()},
        "seconds": seconds,
    }


def _sentences(facts: dict[str, Any]) -> list[str]:
    said = []
    if facts["accuracy"] is not None:
        said.append(
            f"Accuracy {facts['accuracy']:.4f} on the {facts['labelled_rows']} rows whose class is "
            "known."
        )
    if facts["gain_per_row"] is not None:
        said.append(f"The decisions earn {facts['gain_per_row']:.4g} a row on them.")
    if facts["output"] is not None:
        said.append(f"{facts['rows']} rows written to {facts['output']}.")
    return said
