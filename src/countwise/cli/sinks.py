"""Where predictions go: stdout or a CSV file as bytes, or a Parquet file."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from countwise.cli.lines import csv_lines, quoted, share_cells, text_cells
from countwise.cli.output import check_writable
from countwise.errors import ParameterError

_CSV = (".csv",)
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


def check_output(path: str | None, source: str) -> None:
    """Refuse an output that cannot be, before any work is done."""
    check_writable(path, "-o", (*_CSV, *_PARQUET), source)


@contextmanager
def sink_for(path: str | None, names: Sequence[str]) -> Iterator[Sink]:
    """Open a sink; a file takes its place only when everything went well."""
    twice = {name for name in names if list(names).count(name) > 1}
    if twice:
        raise ParameterError(
            f"predict: columns of the output must differ, but {sorted(twice)[0]!r} would stand "
            "there twice. Leave it out of --keep."
        )
    if path is None:
        yield _Csv(sys.stdout.buffer)
        return
    from countwise.store.atomic import atomic_write

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
