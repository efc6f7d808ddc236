"""Classify the rows of a file of any size: read, predict and write block by block."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter
from typing import Any, BinaryIO, Protocol

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.atomic_write import atomic_write, check_writable
from countwise.decisions.decide import Decide
from countwise.decisions.expected_gain import earned_by_row
from countwise.decisions.gain_matrix import GainMatrix
from countwise.decisions.rules import Argmax
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
from countwise.tables.formats import detect
from countwise.tables.formats.blocks import pieces_of, run_overlapped
from countwise.tables.formats.source import STDIN, Content, LookAhead, Source, scan
from countwise.tables.formats.write_workbook import ExcelSheet, OpenDocumentSheet
from countwise.tables.raw_columns import Numbers, Raw, RawTable, Words
from countwise.tables.read import code_columns, complete, load_columns
from countwise.tables.read_options import Marks, ReadOptions
from countwise.tables.schema import Column, Schema
from countwise.tables.table import Table

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

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data."""
        return {name: value for name, value in vars(self).items() if name != "notes"}

    def sentences(self) -> list[str]:
        """Return how good the predictions are, where the class is known."""
        found = []
        if self.accuracy is not None:
            found.append(
                f"Accuracy {self.accuracy:.4f} on the {self.labelled_rows} rows whose class is "
                "known."
            )
        if self.gain_per_row is not None:
            found.append(f"The decisions earn {self.gain_per_row:.4g} a row on them.")
        return found

    def __str__(self) -> str:
        return "\n".join(
            [f"{self.rows} rows were classified.", *self.sentences(), *map(str, self.notes)]
        )


def predict_file(
    model: Any,
    source: Any,
    target: Pathlike | BinaryIO,
    *,
    gain: Any = None,
    keep: Sequence[str] = (),
    strict: bool = False,
    missing: Marks | None = None,
    missing_only: Marks | None = None,
    header: bool = True,
    separator: str | None = None,
    skip_lines: int | None = None,
    progress: Progress | None = None,
) -> PredictionSummary:
    """Classify the rows of a file that may be larger than memory, and write the answers.

    A line is written for each row, in file order: the most probable class, the probability of each
    class (six digits in CSV, 16 in Excel, exact in Parquet), and the decision, which differs from
    the class where gains say so. A file is written whole or not at all.

    Parameters
    ----------
    model
        A fitted model with a schema (or a `Decide` over one), or the path of a saved one.
    source
        A file in any format that `read` knows, ``sample:name``, ``-`` for standard input, a file
        object, or a data frame.
    target
        Path of a ``.csv``, ``.parquet``, ``.xlsx`` or ``.ods`` file, or a binary stream that takes
        CSV.
    gain
        Gains to decide by, in any form that `GainMatrix.of` reads.
    keep
        Columns of `source` to carry over.
    strict
        Refuse rows that lack a column of the model, which otherwise is taken as missing, with a
        note.
    missing, missing_only
        Marks that mean *missing*, beside those of the model or instead of them.
    header, separator, skip_lines
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
    look = LookAhead(path) if path and detect.is_delimited(path) else scan
    scorer = Scorer(load_model(model, "predict"), gain, keep, strict)
    options = scorer.read_options(header, separator, missing, missing_only, skip_lines)
    if isinstance(place, str | Source):
        scorer.source_names = partial(detect.names, place, options)
    started = perf_counter()
    total = Tally()
    size = os.path.getsize(path) if os.path.isfile(path) else 0
    with _open_writer(target, scorer.names) as writer:

        def predict(blocks: Iterator[RawTable]) -> tuple[Tally, list[tuple[Any, Predictions]]]:
            tally, rendered = Tally(), []
            for block in blocks:
                predictions = scorer.predict(block, tally)
                rendered.append((writer.render(predictions), predictions))
            return tally, rendered

        try:
            for (tally, parts), done in run_overlapped(_pieces(place, options, look), predict):
                total.add(tally)
                for part, predictions in parts:
                    writer.write(part, predictions)
                if progress is not None and done:
                    progress(done, size, f"{total.rows:,} rows")
        except InfiniteNumberError as error:
            raise error.after(total.rows) from None
    return scorer.summarize(total, perf_counter() - started)


def locate(source: Any) -> Any:
    """Return the path of a file, or of the file of ``sample:name``; or what is held in memory."""
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


def _pieces(place: Any, options: ReadOptions, look: Any) -> Iterator[tuple[Any, int]]:
    """Yield the pieces of a file, or the rows of a frame as one piece."""
    if isinstance(place, str | Source):
        yield from pieces_of(place, options, look)
    else:
        block, _ = load_columns(place, options)
        yield partial(iter, (block,)), 0


def load_model(model: Any, who: str) -> Any:
    """Return a model, loaded if it is a path; refuse what cannot predict."""
    loaded = load(model) if isinstance(model, str | os.PathLike) else model
    if not hasattr(loaded, "predict_proba"):
        raise StoreError(
            f"{who}: {model!r} must hold a model; it holds a {type(loaded).__name__}.",
            hint="Train a model with countwise fit.",
        )
    return loaded


@dataclass(frozen=True)
class Predictions:
    """Predictions for a block of rows: kept columns, classes, posteriors, decisions."""

    #: Codes and the values they stand for; code -1 is a missing cell.
    kept: dict[str, tuple[NDArray[Any], Sequence[Any]]]
    classes: Sequence[Any]
    best: NDArray[Any]
    posteriors: FloatArray
    decisions: Sequence[Any]
    decided: NDArray[Any]


def output_names(keep: Sequence[str], classes: Sequence[Any]) -> list[str]:
    """Return the names of the columns of the output."""
    return [*keep, "class", *(f"p_{label}" for label in classes), "decision"]


class Writer(Protocol):
    """Writes blocks of predictions: `render` may run on any thread, `write` is called in order."""

    def render(self, predictions: Predictions) -> Any:
        """Bring a block to the form that is written."""

    def write(self, rendered: Any, predictions: Predictions) -> None:
        """Write what `render` returned."""


class _CsvWriter:
    """Writes lines of CSV to a binary stream."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._started = False

    def render(self, predictions: Predictions) -> bytes:
        """Return the lines of a block."""
        return csv_lines(to_arrow(predictions, as_text=True))

    def write(self, rendered: bytes, predictions: Predictions) -> None:
        """Write the header first, then the lines."""
        import pyarrow as pa

        if not self._started:
            names = output_names(list(predictions.kept), predictions.classes)
            self._write_all(csv_lines(pa.table({name: [name] for name in names})))
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

    def render(self, predictions: Predictions) -> Any:
        """Return a block as an Arrow table."""
        return to_arrow(predictions)

    def write(self, rendered: Any, predictions: Predictions) -> None:
        """Write one row group."""
        import pyarrow.parquet as pq

        if self._writer is None:
            self._writer = pq.ParquetWriter(self._path, rendered.schema)
        self._writer.write_table(rendered)

    def close(self) -> None:
        """Write the footer."""
        if self._writer is not None:
            self._writer.close()


class _SheetWriter:
    """Writes rows to a workbook."""

    def __init__(self, sheet: ExcelSheet | OpenDocumentSheet, names: Sequence[str]) -> None:
        self._sheet = sheet
        sheet.write([names])

    def render(self, predictions: Predictions) -> list[tuple[Any, ...]]:
        """Return the rows of a block."""
        columns = to_arrow(predictions).columns
        return list(zip(*(column.to_pylist() for column in columns), strict=True))

    def write(self, rendered: list[tuple[Any, ...]], predictions: Predictions) -> None:
        """Add the rows to the sheet."""
        self._sheet.write(rendered)


def to_arrow(predictions: Predictions, as_text: bool = False) -> Any:
    """Return predictions as an Arrow table; `as_text` rounds probabilities to six digits."""
    import pyarrow as pa

    columns = [_decode(*cells, as_text) for cells in predictions.kept.values()]
    columns.append(_decode(predictions.best, predictions.classes, as_text))
    for column in predictions.posteriors.T:
        columns.append(_decimals(column) if as_text else pa.array(np.ascontiguousarray(column)))
    columns.append(_decode(predictions.decided, predictions.decisions, as_text))
    names = output_names(list(predictions.kept), predictions.classes)
    return pa.table(dict(zip(names, columns, strict=True)))


def _decode(codes: NDArray[Any], levels: Sequence[Any], as_text: bool) -> Any:
    import pyarrow as pa

    mixed = as_text or len({type(level) for level in levels}) != 1
    values = list(levels)
    if mixed:
        values = [str(level).encode("utf-8", "replace").decode() for level in levels]
    indices = pa.array(codes.astype(np.int32), mask=np.asarray(codes) < 0)
    dictionary = pa.array(values, pa.string() if mixed else None)
    return pa.DictionaryArray.from_arrays(indices, dictionary).dictionary_decode()


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
class Tally:
    """Counts over rows: right answers, what they earned, levels never seen."""

    rows: int = 0
    labelled: int = 0
    right: int = 0
    decided_right: int = 0
    earned: float = 0.0
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


class Scorer:
    """A fitted model, ready for the raw columns of any number of blocks."""

    def __init__(
        self, model: Any, gain: Any = None, keep: Sequence[str] = (), strict: bool = False
    ) -> None:
        self.strict = strict
        #: Returns the names of all columns of the source, to find a misspelt one.
        self.source_names: Callable[[], Sequence[str]] | None = None
        self.decide: Any = model if isinstance(model, Decide) else Decide.over(model)
        if gain is not None:
            self.decide = Decide.over(self.decide, gain)
        inner = self.decide
        while isinstance(inner, Decide):
            inner = inner.model_
        self.model = inner
        self.schema: Schema = inner.schema_
        self.keep = (keep,) if isinstance(keep, str) else tuple(keep)
        self.classes: list[Any] = self.decide.classes_.tolist()
        self.decisions: list[Any] = self.decide.decisions_.tolist()
        rule_gain = getattr(self.decide.rule_, "gain", None)
        self.gain: GainMatrix | None = rule_gain if isinstance(rule_gain, GainMatrix) else None

    @property
    def names(self) -> list[str]:
        """The names of the columns of the output."""
        return output_names(self.keep, self.classes)

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
    ) -> ReadOptions:
        """Return how to read rows: the columns the model needs, the class, and those to keep."""
        used = [column for column in self.schema if not column.left_out]
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
        )

    def predict(self, block: RawTable, tally: Tally) -> Predictions:
        """Classify a block of rows and count what was met."""
        columns = self._complete(block, tally)
        _check_finite(columns, self.schema, tally.rows)
        table = code_columns(columns, self.schema, len(block))
        posteriors = self.decide.predict_proba(table)
        best = np.argmax(posteriors, axis=1)
        by_class = isinstance(self.decide.rule_, Argmax)
        decided = best if by_class else self.decide.rule_.choose(posteriors)
        self._count(table, best, decided, tally)
        kept = {name: _to_codes(columns[name]) for name in self.keep}
        return Predictions(kept, self.classes, best, posteriors, self.decisions, decided)

    def read_rows(
        self, path: str, options: ReadOptions, wanted: Sequence[int]
    ) -> tuple[Table, Tally]:
        """Return some rows of a file, by number from 1, reading no further than needed."""
        parts: dict[int, Table] = {}
        tally, done = Tally(), 0
        for block in detect.blocks(path, options, 10_000):
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
                f"explain: row {absent[0]} does not exist; {path!r} has {done} rows."
            )
        schema = self.schema.without_target()
        data = {
            column.name: np.concatenate([parts[row].raw_array(column.name) for row in wanted])
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


def _check_finite(columns: Mapping[str, Raw], schema: Schema, before: int) -> None:
    for column in schema.numeric:
        raw = columns.get(column.name)
        if isinstance(raw, Numbers) and np.isinf(raw.values).any():
            at = int(np.argmax(np.isinf(raw.values)))
            raise InfiniteNumberError(column.name, at + 1 + before, float(raw.values[at]))


def _to_codes(raw: Raw) -> tuple[NDArray[Any], Sequence[Any]]:
    """Return a column as codes and the values they stand for."""
    if isinstance(raw, Words):
        return raw.codes, raw.distinct
    known = ~np.isnan(raw.values)
    distinct, codes = np.unique(raw.values[known], return_inverse=True)
    every = np.full(len(raw), -1, dtype=np.int64)
    every[known] = codes
    whole = raw.whole or bool(np.all(distinct == np.trunc(distinct)))
    return every, [int(value) for value in distinct] if whole else distinct.tolist()


def _take(raw: Raw, places: Sequence[int]) -> Raw:
    if isinstance(raw, Words):
        return Words(raw.codes[list(places)], raw.distinct, raw.declared)
    return replace(raw, values=raw.values[list(places)])
