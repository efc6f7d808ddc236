"""Answers for a block of rows, and their columns in the output."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.tables.cell_forms import date_text, moment_text, to_moment
from countwise.tables.raw_columns import Raw, Words

#: Digits after the point of a probability in CSV.
DIGITS = 6


class Kept(NamedTuple):
    """A column to copy: codes and the values they stand for; code -1 is a missing cell.

    ``kind`` names the type that Arrow has for it in every block; None: the one of its values.
    """

    codes: NDArray[Any]
    values: Sequence[Any]
    kind: str | None = None


def to_kept(raw: Raw, dates: bool) -> Kept:
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
