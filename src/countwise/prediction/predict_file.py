"""Classify the rows of a file of any size: read, predict and write block by block."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from time import perf_counter
from typing import Any, BinaryIO

from countwise.atomic_write import check_writable
from countwise.errors import StoreError
from countwise.prediction.answers import Numbered, Predictions
from countwise.prediction.scorer import InfiniteNumberError, scorer_of
from countwise.prediction.summary import PredictionSummary, Tally
from countwise.prediction.writers import EXTENSIONS, open_writer
from countwise.progress import Progress
from countwise.store.files import load
from countwise.tables import datasets
from countwise.tables.formats import detect
from countwise.tables.formats.blocks import BLOCK_ROWS, Piece, pieces_of, run_overlapped
from countwise.tables.formats.source import (
    STDIN,
    Content,
    LookAhead,
    Source,
    is_outside,
    look_through,
)
from countwise.tables.read import load_columns
from countwise.tables.read_options import Marks, ReadOptions
from countwise.tables.scan import Scan
from countwise.tables.sources import open_source
from countwise.tables.sources.query_source import Query
from countwise.tables.sources.row_source import RowSource

Pathlike = str | os.PathLike[str]


def predict_file(
    model: Any,
    source: Any,
    target: Pathlike | BinaryIO,
    *,
    gain: Any = None,
    rule: Any = None,
    keep: Sequence[str] = (),
    strict: bool = False,
    missing: Marks | None = None,
    missing_only: Marks | None = None,
    header: bool = True,
    separator: str | None = None,
    skip_lines: int | None = None,
    sheet: str | int | None = None,
    progress: Progress | None = None,
) -> PredictionSummary:
    """Classify the rows of a file that may be larger than memory, and write the answers.

    A line is written for each row, in file order: the most probable class, the probability of each
    class (six digits in CSV, 16 in Excel, exact in Parquet), and the decision. With a gain matrix
    the decision may differ from the class, and the expected gain (or cost) of each follows. For a
    model that predicts a number the line has that number. A file is written whole or not at all.

    Parameters
    ----------
    model
        A fitted model with a schema (or a `Decide` over one), or the path of a saved one.
    source
        A file in any format that `read` knows, ``sample:name``, ``-`` for standard input, a file
        object, a data frame, a `Scan`, a folder or a pattern such as ``new/*.parquet``.
    target
        Path of a ``.csv``, ``.parquet``, ``.xlsx`` or ``.ods`` file, or a binary stream that takes
        CSV.
    gain
        Gains to decide by, in any form that `GainMatrix.of` reads.
    rule
        Another rule to decide by, such as ``RouletteWheel(random_state=0)``; not with `gain`.
    keep
        Columns of `source` to carry over; ``"all"`` for all but those with a name of the output.
    strict
        Refuse rows that lack a column of the model, which otherwise is taken as missing, with a
        note.
    missing, missing_only
        Marks that mean *missing*, beside those of the model or instead of them.
    header, separator, skip_lines, sheet
        As in `read`.
    progress
        Called with the bytes done, the bytes in all and a text, after each block.

    Returns
    -------
    PredictionSummary
        Number of rows, unseen levels and, where the class is known, the accuracy.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import countwise as cw
    >>> model = cw.NaiveBayes().fit(cw.read("sample:weather"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     answers = Path(folder) / "answers.csv"
    ...     summary = cw.predict_file(model, "sample:weather", answers)
    ...     print(answers.read_text().splitlines()[0])
    class,p_no,p_yes,decision
    >>> print(summary)
    14 rows were classified.
    Accuracy 0.9286 on the 14 rows whose class is known.
    """
    place = locate(source)
    path = place if isinstance(place, str) else ""
    if isinstance(target, str | os.PathLike):
        check_writable(os.fspath(target), "target", EXTENSIONS, path, *getattr(place, "paths", ()))
    # The scan of the file begins while the model is loaded.
    look = LookAhead(path) if path and detect.is_delimited(path) else look_through
    scorer = scorer_of(load_model(model, "predict"), gain if rule is None else rule, keep)
    scorer.strict = strict
    arguments = (header, separator, missing, missing_only, skip_lines, sheet)
    if scorer.keep == ("all",):
        scorer.keep = ()
        names = _source_names(place, scorer.read_options(*arguments))
        scorer.keep = tuple(name for name in names if name not in scorer.names)
    options = scorer.read_options(*arguments)
    if isinstance(place, str | Source):
        scorer.source_names = partial(detect.names, place, options)
    started = perf_counter()
    total = Tally()
    size = os.path.getsize(path) if os.path.isfile(path) else getattr(place, "size", 0)
    with open_writer(target, scorer.names) as writer:

        def predict(piece: Piece) -> tuple[Tally, list[tuple[Any, Predictions | Numbered]]]:
            tally = Tally()
            rendered: list[tuple[Any, Predictions | Numbered]] = []
            for block in piece():
                predictions = scorer.predict(block, tally)
                rendered.append((writer.render(predictions), predictions))
            return tally, rendered

        try:
            pieces = _pieces(place, options, look)
            run = run_in_turn if scorer.draws else run_overlapped
            for (tally, parts), done in run(pieces, predict):
                total.add(tally)
                for part, predictions in parts:
                    writer.write(part, predictions)
                if progress is not None and done:
                    progress(done, size, f"{total.rows:,} rows")
        except InfiniteNumberError as error:
            raise error.after(total.rows) from None
    return scorer.summarize(total, perf_counter() - started)


def locate(source: Any) -> Any:
    """Return the path of a file, a source of many pieces, or what is held in memory."""
    if isinstance(source, Scan):
        return source.source
    if isinstance(source, Query) or is_outside(source):
        return open_source(source, ReadOptions())[0]
    if callable(getattr(source, "read", None)):
        return Content.of_file(source)
    if not isinstance(source, str | os.PathLike):
        return source
    path = os.fspath(source)
    if path == STDIN:
        return Source.at(path)
    if not path.startswith("sample:"):
        return path
    return str(datasets.find(path.removeprefix("sample:")).locate())


def _source_names(place: Any, options: ReadOptions) -> list[str]:
    """Return the names of all columns of a file or a frame."""
    if isinstance(place, str | Source):
        return detect.names(place, options)
    if isinstance(place, RowSource):
        return list(place.head(ReadOptions(), 1)[0].columns)
    return list(load_columns(place, ReadOptions())[0].columns)


def _pieces(place: Any, options: ReadOptions, look: Any) -> Iterator[tuple[Any, int]]:
    """Yield the pieces of a file, or the rows of a frame as one piece."""
    if isinstance(place, RowSource):
        done = 0
        for piece in place.pieces():
            done += piece.size
            yield partial(place.blocks, piece, options, BLOCK_ROWS), done
    elif isinstance(place, str | Source):
        yield from pieces_of(place, options, look)
    else:
        block, _ = load_columns(place, options)
        yield partial(iter, (block,)), 0


def load_model(model: Any, who: str) -> Any:
    """Return a model, loaded if it is a path; refuse what cannot predict."""
    loaded = load(model) if isinstance(model, str | os.PathLike) else model
    if not hasattr(loaded, "predict"):
        raise StoreError(
            f"{who}: {model!r} must hold a model; it holds a {type(loaded).__name__}.",
            hint="Train a model with countwise fit.",
        )
    if hasattr(loaded, "steps"):
        raise StoreError(
            f"{who}: {model!r} must hold a model that reads files; it holds a Pipeline, whose "
            "first step takes arrays.",
            hint="Use it in Python: cw.load(path).predict(X).",
        )
    return loaded


def run_in_turn(
    pieces: Iterator[tuple[Piece, int]], work: Callable[[Piece], Any]
) -> Iterator[tuple[Any, int]]:
    """Run `work` on one piece after the other, where the order of rows matters."""
    for piece, done in pieces:
        yield work(piece), done
