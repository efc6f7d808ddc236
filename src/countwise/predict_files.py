"""Classify the rows of a file of any size: read, predict and write block by block."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from time import perf_counter
from typing import Any, BinaryIO, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.atomic_write import atomic_write, check_writable
from countwise.decisions.decide import Decide
from countwise.decisions.expected_gain import earned_by_row
from countwise.decisions.gain_matrix import GainMatrix
from countwise.decisions.rules import Argmax, RouletteWheel, Rule
from countwise.errors import (
    ParameterError,
    StoreError,
    TableError,
    did_you_mean,
    listing,
)
from countwise.notes import Note
from countwise.store.files import load
from countwise.tables import datasets
from countwise.tables.cell_forms import date_text, moment_text, to_moment
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
from countwise.tables.formats.write_workbook import ExcelSheet, OpenDocumentSheet
from countwise.tables.raw_columns import Numbers, Raw, RawTable, Words
from countwise.tables.read import code_columns, complete, load_columns
from countwise.tables.read_options import Marks, ReadOptions
from countwise.tables.scan import Scan
from countwise.tables.schema import Column, Schema
from countwise.tables.sources import open_source
from countwise.tables.sources.query_source import Query
from countwise.tables.sources.row_source import RowSource
from countwise.tables.table import Table
from countwise.tables.words import join_cells

Pathlike = str | os.PathLike[str]
Progress = Callable[[int, int, str], None]

#: Digits after the point of a probability in CSV.
DIGITS = 6
#: Levels never seen before that are remembered by name.
_MAX_NAMED = 1000
_CSV = (".csv",)
_PARQUET = (".parquet", ".pq")
_SHEETS: dict[str, type[ExcelSheet] | type[OpenDocumentSheet]] = {
    ".xlsx": ExcelSheet,
    ".ods": OpenDocumentSheet,
}
#: Extensions of files that answers can be written to.
EXTENSIONS = (*_CSV, *_PARQUET, *_SHEETS)


@dataclass(frozen=True)
class PredictionSummary:
    """What `predict_file` met on the way.

    Attributes
    ----------
    rows
        Number of rows.
    classes, decisions
        The classes, and what a decision may be.
    labelled_rows
        Number of rows whose class is known.
    accuracy, decision_accuracy
        Fraction of them in which the most probable class, or the decision, is right; None without
        such rows.
    gain_per_row
        Mean gain of the decisions on them; None without a gain matrix.
    unseen
        Counts of levels that training never saw, by column, the most frequent first.
    notes
        What was assumed about the file, columns that it lacks, and unseen levels in sentences.
    seconds
        The time it took.
    unit
        The unit of the gain, if the matrix has one.
    costs
        Whether the matrix was given as costs; the sentences then speak of costs.
    r2, mean_absolute_error, root_mean_squared_error
        How good predicted numbers are on the labelled rows; None for a model that predicts classes.
    """

    rows: int
    classes: tuple[Any, ...]
    decisions: tuple[Any, ...]
    labelled_rows: int
    accuracy: float | None
    decision_accuracy: float | None
    gain_per_row: float | None
    unseen: dict[str, dict[Any, int]]
    notes: tuple[Note | str, ...]
    seconds: float
    unit: str = ""
    costs: bool = False
    r2: float | None = None
    mean_absolute_error: float | None = None
    root_mean_squared_error: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data; those of the other kind of model are left out."""
        numbers = ("r2", "mean_absolute_error", "root_mean_squared_error")
        classes = ("classes", "decisions", "accuracy", "decision_accuracy", "gain_per_row")
        hidden = ("notes", *(numbers if self.classes else classes))
        return {name: value for name, value in vars(self).items() if name not in hidden}

    def sentences(self) -> list[str]:
        """Return how good the predictions are, where the class is known."""
        if self.mean_absolute_error is not None:
            r2 = "" if self.r2 is None else f"R² {self.r2:.4f}, "
            return [
                f"{r2}mean absolute error {self.mean_absolute_error:.4g}, root mean squared error "
                f"{self.root_mean_squared_error:.4g} on the {self.labelled_rows:,} rows whose "
                "value is known."
            ]
        if self.accuracy is None or self.decision_accuracy is None:
            return []
        rows = f"on the {self.labelled_rows:,} rows whose class is known"
        if self.gain_per_row is None:
            return [f"Accuracy {self.accuracy:.4f} {rows}."]
        unit = self.unit and f" {self.unit}"
        losing = "cost" if self.costs else "lose"
        verb = losing if self.gain_per_row < 0 else "earn"
        return [
            f"Accuracy of the most probable class {self.accuracy:.4f}, of the decision "
            f"{self.decision_accuracy:.4f} {rows}.",
            f"The decisions {verb} {abs(self.gain_per_row):.4g}{unit} per row on them.",
        ]

    def __str__(self) -> str:
        done = "classified" if self.classes else "predicted"
        head = f"{self.rows:,} rows were {done}."
        return "\n".join([head, *self.sentences(), *map(str, self.notes)])


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
        check_writable(os.fspath(target), "target", EXTENSIONS, path)
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
    with _open_writer(target, scorer.names) as writer:

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


def _blocks(place: Any, options: ReadOptions, rows: int) -> Iterator[RawTable]:
    """Yield the rows of a file or of a source of many pieces, in order."""
    if not isinstance(place, RowSource):
        return detect.blocks(place, options, rows)
    return (block for piece in place.pieces() for block in place.blocks(piece, options, rows))


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


class Kept(NamedTuple):
    """A column to copy: codes and the values they stand for; code -1 is a missing cell.

    ``kind`` names the type that Arrow has for it in every block; None: the one of its values.
    """

    codes: NDArray[Any]
    values: Sequence[Any]
    kind: str | None = None


@dataclass(frozen=True)
class Predictions:
    """Predictions for a block of rows: kept columns, classes, posteriors, decisions."""

    kept: dict[str, Kept]
    classes: Sequence[Any]
    best: NDArray[Any]
    posteriors: FloatArray
    decisions: Sequence[Any]
    decided: NDArray[Any]
    #: Expected gain, or cost, of each decision, if a gain matrix decides.
    gains: FloatArray | None = None
    word: str = "gain"

    @property
    def names(self) -> list[str]:
        """The names of the columns of the output."""
        decisions = () if self.gains is None else self.decisions
        return output_names(list(self.kept), self.classes, decisions, self.word)

    def columns(self, as_text: bool) -> list[Any]:
        """Return the columns behind the kept ones as Arrow arrays."""
        import pyarrow as pa

        columns = [_decode(Kept(self.best, self.classes), as_text)]
        for column in self.posteriors.T:
            columns.append(_decimals(column) if as_text else pa.array(np.ascontiguousarray(column)))
        columns.append(_decode(Kept(self.decided, self.decisions), as_text))
        if self.gains is not None:
            gains = self.gains.round(DIGITS) + 0.0 if as_text else self.gains
            columns += [pa.array(np.ascontiguousarray(column)) for column in gains.T]
        return columns


@dataclass(frozen=True)
class Numbered:
    """Predicted numbers for a block of rows, and the kept columns."""

    kept: dict[str, Kept]
    numbers: FloatArray

    @property
    def names(self) -> list[str]:
        """The names of the columns of the output."""
        return [*self.kept, "prediction"]

    def columns(self, as_text: bool) -> list[Any]:
        """Return the column behind the kept ones as an Arrow array."""
        import pyarrow as pa

        texts = [f"{figure:.10g}" for figure in self.numbers.tolist()]
        return [pa.array(texts) if as_text else pa.array(self.numbers)]


def output_names(
    keep: Sequence[str], classes: Sequence[Any], decisions: Sequence[Any] = (), word: str = "gain"
) -> list[str]:
    """Return the names of the columns of the output; `decisions` are those with expected gains."""
    gains = (f"{word}_{label}" for label in decisions)
    return [*keep, "class", *(f"p_{label}" for label in classes), "decision", *gains]


class Writer(Protocol):
    """Writes blocks of predictions: `render` may run on any thread, `write` is called in order."""

    def render(self, predictions: Predictions | Numbered) -> Any:
        """Bring a block to the form that is written."""

    def write(self, rendered: Any, predictions: Predictions | Numbered) -> None:
        """Write what `render` returned."""


class _CsvWriter:
    """Writes lines of CSV to a binary stream."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._started = False

    def render(self, predictions: Predictions | Numbered) -> bytes:
        """Return the lines of a block."""
        return csv_lines(to_arrow(predictions, as_text=True))

    def write(self, rendered: bytes, predictions: Predictions | Numbered) -> None:
        """Write the header first, then the lines."""
        import pyarrow as pa

        if not self._started:
            self._write_all(csv_lines(pa.table({name: [name] for name in predictions.names})))
            self._started = True
        self._write_all(rendered)

    def _write_all(self, content: bytes) -> None:
        # An unbuffered stdout (PYTHONUNBUFFERED) may take a part and leave the rest to us.
        left = memoryview(content)
        while len(left):
            left = left[self._stream.write(left) or 0 :]


class _ParquetWriter:
    """Writes row groups to a Parquet file."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._writer: Any = None

    def render(self, predictions: Predictions | Numbered) -> Any:
        """Return a block as an Arrow table."""
        return to_arrow(predictions)

    def write(self, rendered: Any, predictions: Predictions | Numbered) -> None:
        """Write one row group."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        if self._writer is None:
            self._writer = pq.ParquetWriter(self._path, rendered.schema)
        try:
            # A block without any value of a column does not know its type.
            self._writer.write_table(rendered.cast(self._writer.schema))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise TableError(
                "predict: a kept column must hold values of one type to be written to Parquet; "
                f"later rows hold others ({error}).",
                hint="Write a .csv file.",
            ) from None

    def close(self) -> None:
        """Write the footer."""
        if self._writer is not None:
            self._writer.close()


class _SheetWriter:
    """Writes rows to a workbook."""

    def __init__(self, sheet: ExcelSheet | OpenDocumentSheet, names: Sequence[str]) -> None:
        self._sheet = sheet
        sheet.write([names])

    def render(self, predictions: Predictions | Numbered) -> list[tuple[Any, ...]]:
        """Return the rows of a block."""
        columns = to_arrow(predictions).columns
        return list(zip(*(column.to_pylist() for column in columns), strict=True))

    def write(self, rendered: list[tuple[Any, ...]], predictions: Predictions | Numbered) -> None:
        """Add the rows to the sheet."""
        self._sheet.write(rendered)


def to_arrow(predictions: Predictions | Numbered, as_text: bool = False) -> Any:
    """Return predictions as an Arrow table; `as_text` rounds probabilities to six digits."""
    import pyarrow as pa

    columns = [_decode(column, as_text) for column in predictions.kept.values()]
    columns += predictions.columns(as_text)
    return pa.table(dict(zip(predictions.names, columns, strict=True)))


def _decode(column: Kept, as_text: bool) -> Any:
    import pyarrow as pa

    codes, values, kind = column.codes, list(column.values), column.kind
    if as_text or (kind is None and len({type(value) for value in values}) != 1):
        values, kind = [_write(value) for value in values], "string"
    indices = pa.array(codes.astype(np.int32), mask=np.asarray(codes) < 0)
    dictionary = pa.array(values, None if kind is None else pa.type_for_alias(kind))
    return pa.DictionaryArray.from_arrays(indices, dictionary).dictionary_decode()


def _write(value: Any) -> str:
    if isinstance(value, datetime):
        return moment_text(value)
    return str(value).encode("utf-8", "replace").decode()


def _decimals(shares: FloatArray) -> Any:
    """Return probabilities as decimals, which CSV writes with all their digits."""
    import pyarrow as pa

    words = np.zeros((len(shares), 2), dtype=np.int64)  # the low and the high half of 128 bits
    words[:, 0] = np.rint(shares * 10**DIGITS)
    kind = pa.decimal128(DIGITS + 1, DIGITS)
    return pa.Array.from_buffers(kind, len(shares), [None, pa.py_buffer(words)])


def csv_lines(table: Any) -> bytes:
    """Return an Arrow table as lines of CSV without a header, quoted only if a cell needs it."""
    import pyarrow as pa
    import pyarrow.csv as arrow_csv

    def render(quoting: str) -> bytes:
        stream = pa.BufferOutputStream()
        options = arrow_csv.WriteOptions(include_header=False, quoting_style=quoting)
        arrow_csv.write_csv(table, stream, options)
        return bytes(stream.getvalue().to_pybytes())

    try:
        return render("none")
    except pa.ArrowInvalid:
        return render("needed")


@contextmanager
def _open_writer(target: Pathlike | BinaryIO, names: Sequence[str]) -> Iterator[Writer]:
    """Open a writer; a file takes its place only when everything went well."""
    twice = sorted(name for name, times in Counter(names).items() if times > 1)
    if twice:
        raise ParameterError(
            f"predict: columns of the output must differ; got {twice[0]!r} twice.",
            hint="Leave it out of `keep=`.",
        )
    if not isinstance(target, str | os.PathLike):
        yield _CsvWriter(target)
        return
    with atomic_write(target, "predict") as draft:
        extension = os.path.splitext(os.fspath(target))[1].lower()
        if extension in _SHEETS:
            sheet = _SHEETS[extension](str(draft))
            try:
                yield _SheetWriter(sheet, names)
            finally:
                sheet.close()
        elif extension in _PARQUET:
            writer = _ParquetWriter(str(draft))
            try:
                yield writer
            finally:
                writer.close()
        else:
            with open(draft, "wb", buffering=1 << 20) as stream:
                yield _CsvWriter(stream)


class InfiniteNumberError(TableError):
    """A cell holds an infinite number; `row` counts from the block it was found in."""

    def __init__(self, column: str, row: int, value: float) -> None:
        self.column, self.row, self.value = column, row, value
        super().__init__(
            f"Table: column {column!r} must hold finite numbers; row {row} holds {value}.",
            hint=("remove the row", "mark the cell as missing"),
        )

    def after(self, rows: int) -> InfiniteNumberError:
        """Return the same error with rows counted from the start of the file."""
        return InfiniteNumberError(self.column, self.row + rows, self.value)


@dataclass
class Errors:
    """Sums over rows by which predicted numbers are judged; they merge like counts."""

    rows: int = 0
    absolute: float = 0.0
    squared: float = 0.0
    mean: float = 0.0
    #: The squared deviations of the true numbers from their mean.
    spread: float = 0.0

    @classmethod
    def of(cls, truth: FloatArray, predicted: FloatArray) -> Errors:
        """Return the sums over some rows."""
        if not len(truth):
            return cls()
        missed, mean = truth - predicted, float(truth.mean())
        return cls(
            len(truth),
            float(np.abs(missed).sum()),
            float((missed**2).sum()),
            mean,
            float(((truth - mean) ** 2).sum()),
        )

    def add(self, other: Errors) -> None:
        """Add the sums over other rows."""
        rows = self.rows + other.rows
        if not rows:
            return
        gap = other.mean - self.mean
        self.spread += other.spread + gap**2 * self.rows * other.rows / rows
        self.mean += gap * other.rows / rows
        self.rows = rows
        self.absolute += other.absolute
        self.squared += other.squared

    @property
    def r2(self) -> float | None:
        """The fraction of the spread that the predictions explain; None if there is none."""
        return 1 - self.squared / self.spread if self.spread > 0 else None


@dataclass
class Tally:
    """Counts over rows: right answers, what they earned, levels never seen."""

    rows: int = 0
    labelled: int = 0
    right: int = 0
    decided_right: int = 0
    earned: float = 0.0
    errors: Errors = field(default_factory=Errors)
    unseen: dict[str, Counter[Any]] = field(default_factory=dict)
    #: Cells with levels beyond those remembered by name.
    others: Counter[str] = field(default_factory=Counter)
    #: Remarks on the file and its columns, each once.
    remarks: dict[Note, None] = field(default_factory=dict)
    #: Texts among numbers that were taken for missing, by column.
    marks: dict[str, Counter[str]] = field(default_factory=dict)

    def add(self, other: Tally) -> None:
        """Add the counts over other rows."""
        self.rows += other.rows
        self.labelled += other.labelled
        self.right += other.right
        self.decided_right += other.decided_right
        self.earned += other.earned
        self.errors.add(other.errors)
        self.others.update(other.others)
        self.remarks.update(other.remarks)
        for name, marks in other.marks.items():
            self.marks.setdefault(name, Counter()).update(marks)
        for name, levels in other.unseen.items():
            self.add_unseen(name, levels)

    def add_unseen(self, name: str, levels: Mapping[Any, int]) -> None:
        """Add counts of levels of a column that training never saw."""
        known = self.unseen.setdefault(name, Counter())
        for level, times in levels.items():
            if level in known or len(known) < _MAX_NAMED:
                known[level] += times
            else:
                self.others[name] += times

    def notes(self, treatment: str) -> Iterator[Note | str]:
        """Yield remarks, and a sentence for each column with unseen levels and what was done."""
        yield from self.remarks
        for name, marks in self.marks.items():
            cells = sum(marks.values())
            yield Note.of("T21", name, marks=listing(marks), cells=cells)
        for name, levels in self.unseen.items():
            cells = sum(levels.values()) + self.others[name]
            shown = listing([level for level, _ in levels.most_common()], 3)
            hold, were = (
                ("cell holds a level", "it was")
                if cells == 1
                else ("cells hold levels", "they were")
            )
            more = " at least" if self.others[name] else ""
            yield (
                f"Column {name!r}: {cells} {hold} that training never saw ({shown}{more}); "
                f"{were} {treatment}."
            )


def gains_of(model: Any) -> GainMatrix | None:
    """Return the gains that a fitted model, or a rule, decides by; None without any."""
    rule = model if isinstance(model, Rule) else getattr(model, "rule_", None)
    gain = getattr(rule, "gain", None)
    return gain if isinstance(gain, GainMatrix) else None


class Scorer:
    """A fitted model, ready for the raw columns of any number of blocks."""

    #: Whether a column that the rows lack is refused.
    strict = False
    #: Returns the names of all columns of the source, to find a misspelt one.
    source_names: Callable[[], Sequence[str]] | None = None
    #: Columns that are read beside those of the model.
    extra: Sequence[Column] = ()

    def __init__(self, model: Any, rule: Any = None, keep: Sequence[str] = ()) -> None:
        self.decide: Any = model if isinstance(model, Decide) else Decide.over(model)
        if rule is not None:
            self.decide = Decide.over(self.decide, rule)
        self.rule: Any = self.decide.rule_
        self.draws = isinstance(self.rule, RouletteWheel)
        if self.draws:
            # One stream of draws for all blocks: a seed would repeat its draws in each of them.
            seed = self.rule.random_state
            stream = (
                seed if isinstance(seed, np.random.RandomState) else np.random.default_rng(seed)
            )
            self.rule = RouletteWheel(stream)
        inner = self.decide
        while isinstance(inner, Decide):
            inner = inner.model_
        self.model = inner
        self.schema: Schema = inner.schema_
        self.keep = (keep,) if isinstance(keep, str) else tuple(keep)
        self.classes: list[Any] = self.decide.classes_.tolist()
        self.decisions: list[Any] = self.decide.decisions_.tolist()
        self.gain = gains_of(self.rule)

    @property
    def names(self) -> list[str]:
        """The names of the columns of the output."""
        if self.gain is None:
            return output_names(self.keep, self.classes)
        return output_names(self.keep, self.classes, self.decisions, self.gain.word)

    @property
    def unseen_treatment(self) -> str:
        """What the model does with levels it never saw, in words."""
        if hasattr(self.model, "rows_"):
            return "compared as unlike any other"
        return "smoothed" if getattr(self.model, "unseen", "") == "smooth" else "left out"

    def read_options(
        self,
        header: bool = True,
        separator: str | None = None,
        missing: Marks | None = None,
        missing_only: Marks | None = None,
        skip_lines: int | None = None,
        sheet: str | int | None = None,
    ) -> ReadOptions:
        """Return how to read rows: the columns the model needs, the class, and those to keep."""
        used = [*(column for column in self.schema if not column.left_out), *self.extra]
        names = {column.name for column in used}
        kept = [Column(name, "nominal") for name in self.keep if name not in names]
        schema = Schema((*used, *kept))
        return ReadOptions.of(
            schema=schema,
            missing=missing,
            missing_only=missing_only,
            header=header,
            separator=separator,
            skip_lines=skip_lines,
            sheet=sheet,
        )

    def predict(self, block: RawTable, tally: Tally) -> Predictions | Numbered:
        """Classify a block of rows and count what was met."""
        columns = self._complete(block, tally)
        _check_finite(columns, self.schema, tally.rows)
        table = code_columns(columns, self.schema, len(block))
        posteriors = self.decide.predict_proba(table)
        best = np.argmax(posteriors, axis=1)
        decided = best if isinstance(self.rule, Argmax) else self.rule.choose(posteriors)
        self._count(table, best, decided, tally)
        kept = self._keep(columns)
        found = (kept, self.classes, best, posteriors, self.decisions, decided)
        if self.gain is None:
            return Predictions(*found)
        gains = posteriors @ (self.gain.sign * self.gain.values) + 0.0
        return Predictions(*found, gains, self.gain.word)

    def _keep(self, columns: Mapping[str, Raw]) -> dict[str, Kept]:
        """Return the columns to copy; the schema knows of dates even if a block has none."""
        dates = {column.name for column in self.schema if column.dates}
        return {name: _to_kept(columns[name], name in dates) for name in self.keep}

    def read_rows(
        self, place: Any, options: ReadOptions, wanted: Sequence[int]
    ) -> tuple[Table, Tally]:
        """Return some rows of a source, by number from 1, reading no further than needed."""
        parts: dict[int, Table] = {}
        tally, done = Tally(), 0
        what = place.what if isinstance(place, RowSource) else repr(place)
        for block in _blocks(place, options, 10_000):
            columns = self._complete(block, tally)
            _check_finite(columns, self.schema, done)
            found = [row for row in wanted if done < row <= done + len(block)]
            if found:
                places = [row - 1 - done for row in found]
                cells = {name: _take(raw, places) for name, raw in columns.items()}
                table = code_columns(cells, self.schema, len(found))
                parts |= {row: table.take([at]) for at, row in enumerate(found)}
                self._count_unseen(table, tally)
            done += len(block)
            if done >= max(wanted):
                break
        absent = [row for row in wanted if row not in parts]
        if absent:
            raise ParameterError(
                f"explain: row {absent[0]} does not exist; {what} has {done} rows."
            )
        schema = self.schema.without_target()
        data = {
            column.name: join_cells([parts[row].raw_array(column.name) for row in wanted])
            for column in schema.attributes
        }
        return Table(schema, data, rows=len(wanted)), tally

    def summarize(self, tally: Tally, seconds: float) -> PredictionSummary:
        """Return the summary of all rows."""
        known = tally.labelled
        return PredictionSummary(
            rows=tally.rows,
            classes=tuple(self.classes),
            decisions=tuple(self.decisions),
            labelled_rows=known,
            accuracy=tally.right / known if known else None,
            decision_accuracy=tally.decided_right / known if known else None,
            gain_per_row=tally.earned / known if known and self.gain is not None else None,
            unseen={name: dict(levels.most_common(20)) for name, levels in tally.unseen.items()},
            notes=tuple(tally.notes(self.unseen_treatment)),
            seconds=seconds,
            unit="" if self.gain is None else self.gain.unit,
            costs=self.gain is not None and self.gain.costs,
        )

    def _complete(self, block: RawTable, tally: Tally) -> dict[str, Raw]:
        """Return the columns of a block with those that it lacks, and count what was met."""
        columns, notes = complete(
            block.columns, self.schema, len(block), self.strict, self.source_names
        )
        tally.remarks.update(dict.fromkeys((*block.notes, *notes)))
        for name, raw in columns.items():
            known = self.schema[name].missing if name in self.schema else ()
            new = {mark: n for mark, n in getattr(raw, "marks", {}).items() if mark not in known}
            if new:
                tally.marks.setdefault(name, Counter()).update(new)
        for name in self.keep:
            if name not in columns:
                raise ParameterError(
                    f"predict: `keep=` names a column {name!r} that the file lacks."
                    f"{did_you_mean(name, columns)}"
                )
        return columns

    def _count_unseen(self, table: Table, tally: Tally) -> None:
        names = {column.name for column in self.schema.attributes}
        for name, levels in table.unseen.items():
            if name in names:
                tally.add_unseen(name, levels)

    def _count(self, table: Table, best: NDArray[Any], decided: NDArray[Any], tally: Tally) -> None:
        tally.rows += len(table)
        target = self.schema.target
        self._count_unseen(table, tally)
        if target is None or not table.labelled:
            return
        place = np.full(target.width + 2, -1)
        for at, label in enumerate(target.levels):
            if label in self.classes:
                place[at] = self.classes.index(label)
        truth = place[table.target]
        known = truth >= 0
        tally.labelled += int(known.sum())
        tally.right += int(np.count_nonzero(best[known] == truth[known]))
        tally.decided_right += int(np.count_nonzero(decided[known] == truth[known]))
        if self.gain is not None:
            earned = earned_by_row(self.gain.values, truth[known], decided[known])
            tally.earned += float(earned.sum())


class NumberScorer(Scorer):
    """A fitted model that predicts a number, ready for the raw columns of any number of blocks."""

    def __init__(self, model: Any, rule: Any = None, keep: Sequence[str] = ()) -> None:
        if rule is not None:
            raise ParameterError(
                f"predict: a {type(model).__name__} predicts a number, so there is no decision for "
                "a gain matrix or a rule.",
                hint="Leave it out.",
            )
        self.model, self.draws, self.gain = model, False, None
        self.schema = model.schema_
        self.keep = (keep,) if isinstance(keep, str) else tuple(keep)
        self.classes = self.decisions = []
        self.target: str | None = model.target_name_
        self.extra = () if self.target is None else (Column(self.target, "numeric"),)

    @property
    def names(self) -> list[str]:
        """The names of the columns of the output."""
        return [*self.keep, "prediction"]

    def predict(self, block: RawTable, tally: Tally) -> Numbered:
        """Predict the numbers of a block of rows and count what was met."""
        columns = self._complete(block, tally)
        _check_finite(columns, self.schema, tally.rows)
        table = code_columns(columns, self.schema, len(block))
        numbers = self.model.predict(table)
        tally.rows += len(table)
        self._count_unseen(table, tally)
        truth = columns.get(self.target or "")
        if isinstance(truth, Numbers):
            known = np.isfinite(truth.values)
            tally.errors.add(Errors.of(truth.values[known], numbers[known]))
        kept = self._keep(columns)
        return Numbered(kept, numbers)

    def summarize(self, tally: Tally, seconds: float) -> PredictionSummary:
        """Return the summary of all rows."""
        errors = tally.errors
        return PredictionSummary(
            rows=tally.rows,
            classes=(),
            decisions=(),
            labelled_rows=errors.rows,
            accuracy=None,
            decision_accuracy=None,
            gain_per_row=None,
            unseen={name: dict(levels.most_common(20)) for name, levels in tally.unseen.items()},
            notes=tuple(tally.notes(self.unseen_treatment)),
            seconds=seconds,
            r2=errors.r2,
            mean_absolute_error=errors.absolute / errors.rows if errors.rows else None,
            root_mean_squared_error=(errors.squared / errors.rows) ** 0.5 if errors.rows else None,
        )


def scorer_of(model: Any, rule: Any = None, keep: Sequence[str] = ()) -> Scorer:
    """Return what predicts blocks of rows: for a model of classes, or for one of numbers."""
    kind = Scorer if hasattr(model, "predict_proba") else NumberScorer
    return kind(model, rule, keep)


def run_in_turn(
    pieces: Iterator[tuple[Piece, int]], work: Callable[[Piece], Any]
) -> Iterator[tuple[Any, int]]:
    """Run `work` on one piece after the other, where the order of rows matters."""
    for piece, done in pieces:
        yield work(piece), done


def _check_finite(columns: Mapping[str, Raw], schema: Schema, before: int) -> None:
    for column in schema.numeric:
        raw = columns.get(column.name)
        if isinstance(raw, Numbers) and np.isinf(raw.values).any():
            at = int(np.argmax(np.isinf(raw.values)))
            raise InfiniteNumberError(column.name, at + 1 + before, float(raw.values[at]))


def _to_kept(raw: Raw, dates: bool) -> Kept:
    """Return a column as codes and the values they stand for."""
    if isinstance(raw, Words):
        return Kept(raw.codes, raw.distinct)
    known = ~np.isnan(raw.values)
    distinct, codes = np.unique(raw.values[known], return_inverse=True)
    every = np.full(len(raw), -1, dtype=np.int64)
    every[known] = codes
    if dates or raw.dates:
        moments = [to_moment(value) for value in distinct.tolist()]
        if raw.written.get("date_order") != "time" and None not in moments:
            return Kept(every, moments, "timestamp[us]")
        return Kept(every, [date_text(value) for value in distinct.tolist()])
    whole = raw.whole or bool(np.all(distinct == np.trunc(distinct)))
    # A later block may hold fractions, so a file has one type for all numbers.
    return Kept(every, [int(value) for value in distinct] if whole else distinct.tolist(), "double")


def _take(raw: Raw, places: Sequence[int]) -> Raw:
    if isinstance(raw, Words):
        return Words(raw.codes[list(places)], raw.distinct, raw.declared)
    return replace(raw, values=raw.values[list(places)])
