"""``countwise predict``: classify the rows of a file, of any size, with a saved model."""

from __future__ import annotations

import os
from time import perf_counter
from typing import TYPE_CHECKING, Any

import click

from countwise.cli.app import Command
from countwise.cli.options import (
    Asked,
    gain_option,
    load_model,
    output_options,
    read_gains,
    reading_options,
    split_names,
)

if TYPE_CHECKING:
    from countwise.cli.output import Output
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
@gain_option
@click.option("--keep", metavar="A,B", help="Columns of FILE to copy to the output.")
@reading_options("missing", "separator", "no_header")
@output_options(
    "File to write the predictions to: .csv or .parquet. Default: CSV on stdout.",
    ".csv",
    ".parquet",
    ".pq",
    json="Print a summary as JSON (needs -o).",
)
def command(
    model: str, file: str, gain: str | None, keep: str | None, reading: Asked, out: Output
) -> None:
    """Classify the rows of FILE with the saved MODEL.

    The output has a line for each row of FILE, in the same order: the most probable class, the
    probability of each class (six digits in CSV, exact in Parquet), and the decision, which
    differs from the class if a gain matrix says so. FILE may be larger than memory. If it has the
    class column, the accuracy is printed to stderr.
    """
    if out.as_json and out.path is None:
        raise click.UsageError("--json prints a summary and needs -o for the rows")
    path = path_of(file)
    scan = _begin_scan(path)
    from countwise.predict_file import Scorer

    scorer = Scorer(load_model(model, "predict"), read_gains(gain, file), split_names(keep))
    started = perf_counter()
    tally = _run(scorer, path, reading, out, scan)
    facts = {
        "model": model,
        "file": file,
        "output": out.path,
        **_facts(scorer, tally),
        "seconds": perf_counter() - started,
    }
    out.finish(facts, notes=[*tally.remarks(scorer.done_with_unseen), *_sentences(facts)])


def path_of(file: str) -> str:
    """Return the path of a file or of a sample."""
    if not file.startswith("sample:"):
        return file
    from countwise.tables import datasets

    return str(datasets.find(file.removeprefix("sample:")).locate())


def parse_options(scorer: Scorer, reading: Asked) -> Any:
    """Return how to parse a file for a model."""
    marks = None if reading.missing is None else split_names(reading.missing)
    return scorer.reading(not reading.no_header, reading.mark, marks)


def _begin_scan(path: str) -> Any:
    """Begin to scan a CSV file while the model is loaded."""
    from countwise.tables.formats.detect import is_delimited
    from countwise.tables.formats.source import LookAhead, scan

    return LookAhead(path) if is_delimited(path) else scan


def _run(scorer: Scorer, path: str, reading: Asked, out: Output, scan: Any) -> Tally:
    """Read, classify and write block by block."""
    from countwise.predict_file import EndlessError, Tally, sink_for
    from countwise.tables.formats.blocks import overlapped, pieces_of

    total = Tally()
    size = os.path.getsize(path) if os.path.isfile(path) else 0
    with out.progress() as tell, sink_for(out.path, scorer.names) as sink:

        def work(blocks: Any) -> tuple[Tally, list[tuple[Any, Any]]]:
            tally, rendered = Tally(), []
            for block in blocks:
                answers = scorer.answer(block, tally)
                rendered.append((sink.render(answers), answers))
            return tally, rendered

        try:
            pieces = pieces_of(path, parse_options(scorer, reading), scan)
            for (tally, rendered), done in overlapped(pieces, work):
                total.add(tally)
                for content, answers in rendered:
                    sink.write(content, answers)
                if tell is not None and done:
                    tell(done, size, f"{total.rows:,} rows")
        except EndlessError as error:
            raise error.after(total.rows) from None
    return total


def _facts(scorer: Scorer, tally: Tally) -> dict[str, Any]:
    rows = tally.labelled
    return {
        "rows": tally.rows,
        "classes": scorer.classes,
        "decisions": scorer.decisions,
        "labelled_rows": rows,
        "accuracy": tally.right / rows if rows else None,
        "decision_accuracy": tally.decided_right / rows if rows else None,
        "gain_per_row": tally.earned / rows if rows and scorer.gain is not None else None,
        "unseen": {name: dict(levels.most_common(20)) for name, levels in tally.unseen.items()},
    }


def _sentences(facts: dict[str, Any]) -> list[str]:
    sentences = []
    if facts["accuracy"] is not None:
        sentences.append(
            f"Accuracy {facts['accuracy']:.4f} on the {facts['labelled_rows']} rows whose class is "
            "known."
        )
    if facts["gain_per_row"] is not None:
        sentences.append(f"The decisions earn {facts['gain_per_row']:.4g} a row on them.")
    if facts["output"] is not None:
        sentences.append(f"{facts['rows']} rows written to {facts['output']}.")
    return sentences
