"""Posteriors and labels as lines of CSV: whole columns of bytes, no loop over rows."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from countwise.decisions.decide import Decide
from countwise.decisions.expected_gain import earned_by_row
from countwise.decisions.gain_matrix import GainMatrix
from countwise.decisions.rules import Argmax
from countwise.errors import ParameterError, SchemaError, TableError, did_you_mean, listing
from countwise.tables.formats.detect import parse_blocks
from countwise.tables.raw_columns import Numbers, Raw, Words
from countwise.tables.read import code_columns
from countwise.tables.read_options import Parsed, Reading
from countwise.tables.schema import MISSING_MARKS, Column, Schema
from countwise.tables.table import Table

Bytes = NDArray[np.uint8]

#: Digits after the point of a probability in CSV.
DIGITS = 6
_MILLION = 10**DIGITS
_THOUSAND = np.uint32(1000)


def _words(pattern: str, numbers: int) -> NDArray[np.uint64]:
    """Return eight bytes a number, to be put together with others by *or*."""
    texts = [pattern.format(number).replace("-", "\0").encode() for number in range(numbers)]
    return np.frombuffer(b"".join(texts), dtype=np.uint64)


_ONES = _words("{:01d}.------", 2)
_UPPER = _words("--{:03d}---", 1000)
_LOWER = _words("-----{:03d}", 1000)


def quoted(text: str) -> bytes:
    """Return a cell of CSV, in quotes where it needs them."""
    cell = text.replace("\0", "")
    if any(sign in cell for sign in ',"\r\n') or cell != cell.strip():
        cell = '"' + cell.replace('"', '""') + '"'
    return cell.encode("utf-8", "replace")


def text_cells(codes: NDArray[Any], levels: Sequence[Any]) -> Bytes:
    """Return one cell a row, padded with zero bytes; code -1 is an empty cell."""
    cells = np.array([*(quoted(str(level)) for level in levels), b""])
    width = max(cells.dtype.itemsize, 1)
    chosen = cells.astype(f"S{width}")[codes]
    padded: Bytes = chosen.view(np.uint8).reshape(len(codes), width)
    return padded


def share_cells(shares: NDArray[np.float64]) -> Bytes:
    """Return one cell a row, ``0.123457``."""
    whole = np.rint(shares * _MILLION).astype(np.uint32)
    thousands = whole // _THOUSAND
    ones = thousands // _THOUSAND
    words = _ONES[ones]
    words |= _UPPER[thousands - ones * _THOUSAND]
    words |= _LOWER[whole - thousands * _THOUSAND]
    cells: Bytes = words.view(np.uint8).reshape(-1, 2 + DIGITS)
    return cells


def csv_lines(columns: Sequence[Bytes]) -> bytes:
    """Put cells side by side, commas between them, and leave the padding out."""
    fields: list[tuple[str, str]] = []
    for place, column in enumerate(columns):
        fields += [(f"cell {place}", f"V{column.shape[1]}"), (f"sign {place}", "u1")]
    lines = np.empty(len(columns[0]), dtype=fields)
    for place, column in enumerate(columns):
        cells = np.ascontiguousarray(column)
        lines[f"cell {place}"] = cells.view(f"V{column.shape[1]}").ravel()
        lines[f"sign {place}"] = ord("\n") if place == len(columns) - 1 else ord(",")
    flat = lines.view(np.uint8)
    return bytes(flat[flat != 0].tobytes())


_PARQUET = (".parquet", ".pq")


@dataclass(frozen=True)
class Answers:
    """What a model said about a block of rows: kept columns, classes, posteriors, decisions.

    A kept column is codes and the texts they stand for.
    """

    kept: dict[str, tuple[NDArray[Any], Sequence[Any]]]
    classes: Sequence[Any]
    best: NDArray[Any]
    posteriors: NDArray[np.float64]
    decisions: Sequence[Any]
    decided: NDArray[Any]

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [*self.kept, "class", *(f"p_{label}" for label in self.classes), "decision"]


class Sink(Protocol):
    """Takes blocks of answers: `render` may run on any thread, `write` is called in order."""

    def render(self, answers: Answers) -> Any:
        """Bring a block to the form that is written."""

    def write(self, rendered: Any, answers: Answers) -> None:
        """Write what `render` made."""


class _Csv:
    """Writes lines of CSV to a binary stream."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._started = False

    def render(self, answers: Answers) -> bytes:
        """Return the lines of a block."""
        columns = [text_cells(codes, levels) for codes, levels in answers.kept.values()]
        columns.append(text_cells(answers.best, answers.classes))
        columns += [share_cells(own) for own in answers.posteriors.T]
        columns.append(text_cells(answers.decided, answers.decisions))
        return csv_lines(columns)

    def write(self, rendered: bytes, answers: Answers) -> None:
        """Write the header first, then the lines."""
        if not self._started:
            self._all(b",".join(map(quoted, answers.names)) + b"\n")
            self._started = True
        self._all(rendered)

    def _all(self, content: bytes) -> None:
        # An unbuffered stdout (PYTHONUNBUFFERED) may take a part and leave the rest to us.
        left = memoryview(content)
        while len(left):
            left = left[self._stream.write(left) or 0 :]


class _Parquet:
    """Writes row groups to a Parquet file."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._writer: Any = None

    def render(self, answers: Answers) -> Any:
        """Return a block as an Arrow table."""
        import pyarrow as pa

        columns = [_dictionary(*held) for held in answers.kept.values()]
        columns.append(_dictionary(answers.best, answers.classes))
        columns += [pa.array(np.ascontiguousarray(own)) for own in answers.posteriors.T]
        columns.append(_dictionary(answers.decided, answers.decisions))
        return pa.table(dict(zip(answers.names, columns, strict=True)))

    def write(self, rendered: Any, answers: Answers) -> None:
        """Write one row group."""
        import pyarrow.parquet as pq

        if self._writer is None:
            self._writer = pq.ParquetWriter(self._path, rendered.schema)
        self._writer.write_table(rendered)

    def close(self) -> None:
        """Write the footer."""
        if self._writer is not None:
            self._writer.close()


def _dictionary(codes: NDArray[Any], levels: Sequence[Any]) -> Any:
    import pyarrow as pa

    kinds = {type(level) for level in levels}
    words = list(levels) if len(kinds) == 1 else [str(level) for level in levels]
    indices = pa.array(codes.astype(np.int32), mask=np.asarray(codes) < 0)
    return pa.DictionaryArray.from_arrays(indices, pa.array(words)).dictionary_decode()


@contextmanager
def sink_for(path: str | None, names: Sequence[str]) -> Iterator[Sink]:
    """Open a sink; a file takes its place only when everything went well."""
    twice = {name for name in names if list(names).count(name) > 1}
    if twice:
        raise ParameterError(
            f"predict: columns of the output must differ; {sorted(twice)[0]!r} would stand there "
            "twice.",
            hint="Leave it out of `keep=`.",
        )
    if path is None:
        yield _Csv(sys.stdout.buffer)
        return
    from countwise.atomic_write import atomic_write

    with atomic_write(path, "predict") as draft:
        if os.path.splitext(path)[1].lower() in _PARQUET:
            sink = _Parquet(str(draft))
            try:
                yield sink
            finally:
                sink.close()
        else:
            with open(draft, "wb", buffering=1 << 20) as stream:
                yield _Csv(stream)


#: Levels never seen before that are remembered by name.
_MOST_NAMED = 1000


class EndlessError(TableError):
    """A cell holds an infinite number; `row` counts from the piece it was found in."""

    def __init__(self, column: str, row: int, value: float, before: int = 0) -> None:
        self.column, self.row, self.value = column, row, value
        super().__init__(
            f"Table: column {column!r} must hold finite numbers; row {row + before} holds {value}.",
            hint=("remove the row", "mark the cell as missing"),
        )

    def after(self, rows: int) -> EndlessError:
        """Return the same with rows counted from the start of the file."""
        return EndlessError(self.column, self.row, self.value, rows)


@dataclass
class Tally:
    """What was met on the way: rows, right answers, what they earned, levels never seen."""

    rows: int = 0
    labelled: int = 0
    right: int = 0
    decided_right: int = 0
    earned: float = 0.0
    unseen: dict[str, Counter[Any]] = field(default_factory=dict)
    #: Cells with levels beyond those remembered by name.
    others: Counter[str] = field(default_factory=Counter)

    def add(self, other: Tally) -> None:
        """Add what another part of the rows met."""
        self.rows += other.rows
        self.labelled += other.labelled
        self.right += other.right
        self.decided_right += other.decided_right
        self.earned += other.earned
        self.others.update(other.others)
        for name, levels in other.unseen.items():
            self.meet(name, levels)

    def meet(self, name: str, levels: Mapping[Any, int]) -> None:
        """Note how often levels of a column were met that training never saw."""
        known = self.unseen.setdefault(name, Counter())
        for level, times in levels.items():
            if level in known or len(known) < _MOST_NAMED:
                known[level] += times
            else:
                self.others[name] += times

    def remarks(self, done: str) -> Iterator[str]:
        """Say once what was never seen in training."""
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
                f"{were} {done}."
            )


class Scorer:
    """A saved model, ready for the raw columns of any number of blocks."""

    def __init__(self, model: Any, gain: GainMatrix | None, keep: Sequence[str]) -> None:
        self.decide: Any = model if isinstance(model, Decide) else Decide.over(model)
        if gain is not None:
            self.decide = Decide.over(self.decide, gain)
        inner = self.decide
        while isinstance(inner, Decide):
            inner = inner.model_
        self.model = inner
        self.schema: Schema = inner.schema_
        self.keep = tuple(keep)
        self.classes: list[Any] = self.decide.classes_.tolist()
        self.decisions: list[Any] = self.decide.decisions_.tolist()
        rule_gain = getattr(self.decide.rule_, "gain", None)
        self.gain: GainMatrix | None = rule_gain if isinstance(rule_gain, GainMatrix) else None

    @property
    def names(self) -> list[str]:
        """The names of the columns of the output."""
        return [*self.keep, "class", *(f"p_{label}" for label in self.classes), "decision"]

    @property
    def done_with_unseen(self) -> str:
        """What the model does with levels it never saw, in words."""
        if hasattr(self.model, "rows_"):
            return "compared as unlike any other"
        return "smoothed" if getattr(self.model, "unseen", "") == "smooth" else "left out"

    def reading(
        self, header: bool, separator: str | None, missing: tuple[str, ...] | None
    ) -> Reading:
        """What the reader is told: the columns the model needs, the class, and those to keep."""
        used = [c for c in self.schema if c.kind in ("nominal", "numeric", "target")]
        marks = {c.name: c.missing for c in used if c.missing != MISSING_MARKS}
        names = {c.name for c in used}
        return Reading(
            marks=marks if missing is None else {},
            all_marks=MISSING_MARKS if missing is None else missing,
            text=frozenset(c.name for c in used if c.coded) | (set(self.keep) - names),
            number=frozenset(c.name for c in used if c.kind == "numeric" and not c.dates),
            dates=frozenset(c.name for c in used if c.dates),
            decimal={c.name: c.decimal for c in used if c.decimal != "."},
            header=header,
            separator=separator,
        )

    def answer(self, block: Parsed, tally: Tally) -> Answers:
        """Classify a block of rows and note what was met."""
        columns = block.columns
        self._check(columns)
        _finite(columns, self.schema, tally.rows)
        rows = len(block)
        table = code_columns(columns, self.schema, rows, (), extend=False)
        posteriors = self.decide.predict_proba(table)
        best = np.argmax(posteriors, axis=1)
        by_class = isinstance(self.decide.rule_, Argmax)
        decided = best if by_class else self.decide.rule_.choose(posteriors)
        self._note(table, best, decided, tally)
        kept = {name: _cells(columns[name]) for name in self.keep}
        return Answers(kept, self.classes, best, posteriors, self.decisions, decided)

    def rows(self, path: str, reading: Reading, wanted: Sequence[int]) -> tuple[Table, Tally]:
        """Return some rows of a file, by number from 1, reading no further than needed."""
        parts: dict[int, Table] = {}
        tally, done = Tally(), 0
        for block in parse_blocks(path, reading, 10_000):
            self._check(block.columns)
            _finite(block.columns, self.schema, done)
            mine = [row for row in wanted if done < row <= done + len(block)]
            if mine:
                places = [row - 1 - done for row in mine]
                held = {name: _taken(raw, places) for name, raw in block.columns.items()}
                table = code_columns(held, self.schema, len(mine), (), extend=False)
                parts |= {row: table.take([at]) for at, row in enumerate(mine)}
                self._meet(table, tally)
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
            column.name: np.concatenate([_array(parts[row], column) for row in wanted])
            for column in schema.attributes
        }
        return Table(schema, data, rows=len(wanted)), tally

    def _meet(self, table: Table, tally: Tally) -> None:
        names = {column.name for column in self.schema.attributes}
        for name, levels in table.unseen.items():
            if name in names:
                tally.meet(name, levels)

    def _check(self, columns: dict[str, Raw]) -> None:
        for column in self.schema.attributes:
            if column.name not in columns:
                raise SchemaError(
                    f"Table: the model needs a column {column.name!r}, which the file lacks."
                    f"{did_you_mean(column.name, columns)}",
                    hint="The model uses "
                    f"{listing([each.name for each in self.schema.attributes], 12)}.",
                )
        for name in self.keep:
            if name not in columns:
                raise ParameterError(
                    f"predict: `keep=` names a column {name!r} that the file lacks."
                    f"{did_you_mean(name, columns)}"
                )

    def _note(self, table: Table, best: NDArray[Any], decided: NDArray[Any], tally: Tally) -> None:
        tally.rows += len(table)
        target = self.schema.target
        self._meet(table, tally)
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


def _finite(columns: Mapping[str, Raw], schema: Schema, before: int) -> None:
    for column in schema.numeric:
        raw = columns[column.name]
        if isinstance(raw, Numbers) and np.isinf(raw.values).any():
            at = int(np.argmax(np.isinf(raw.values)))
            raise EndlessError(column.name, at + 1 + before, float(raw.values[at]))


def _cells(raw: Raw) -> tuple[NDArray[Any], Sequence[Any]]:
    if isinstance(raw, Words):
        return raw.codes, raw.distinct
    assert isinstance(raw, Numbers)
    known = ~np.isnan(raw.values)
    distinct, codes = np.unique(raw.values[known], return_inverse=True)
    every = np.full(len(raw), -1, dtype=np.int64)
    every[known] = codes
    whole = raw.whole or bool(np.all(distinct == np.trunc(distinct)))
    return every, [int(own) for own in distinct] if whole else distinct.tolist()


def _taken(raw: Raw, places: Sequence[int]) -> Raw:
    if isinstance(raw, Words):
        return Words(raw.codes[list(places)], raw.distinct, raw.declared)
    return replace(raw, values=raw.values[list(places)])


def _array(table: Table, column: Column) -> NDArray[Any]:
    return table.codes(column.name) if column.coded else table.values(column.name)
