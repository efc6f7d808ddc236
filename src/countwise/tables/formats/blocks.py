"""Read a file in blocks: parsed in parallel, returned in file order, within bounded memory.

A delimited file without quotes is cut at line ends into segments of a few megabytes; each is read
and parsed on a thread of its own, by a compiled reader where its lines are plain. Every other file
comes block by block from one reader. `run_overlapped` runs a function over the pieces on threads
and yields the results in order, with few pieces in flight.
"""

from __future__ import annotations

import io
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, BinaryIO, TypeVar, cast

from countwise.errors import TableError
from countwise.parallel import threads
from countwise.tables.formats import csv, detect
from countwise.tables.formats.csv_dialect import Dialect, sniff
from countwise.tables.formats.csv_fast import PlainRows
from countwise.tables.formats.source import Scan, Source, scan
from countwise.tables.raw_columns import RawTable
from countwise.tables.read_options import ReadOptions

#: Rows a block from a single reader holds.
BLOCK_ROWS = 50_000
#: Bytes of a segment; with a few in flight this bounds the memory.
SEGMENT = 8 << 20
#: More threads than this would need more memory than a small machine has.
MOST_THREADS = 8
_FEW_THREADS = 4

Result = TypeVar("Result")
Piece = Callable[[], Iterator[RawTable]]


@dataclass(frozen=True)
class Segment(Source):
    """Whole lines of a delimited file in memory, read like a file without a header."""

    content: bytes = field(default=b"", repr=False)

    def open(self) -> BinaryIO:
        """Return the bytes as a Python file."""
        return cast(BinaryIO, io.BytesIO(self.content))

    def arrow(self, start: int = 0) -> Any:
        """Return the bytes from `start` on as an Arrow file."""
        import pyarrow as pa

        file = pa.BufferReader(self.content)
        file.seek(start)
        return file


def pieces_of(
    path: str, options: ReadOptions, look: Callable[[Source, str, int], Scan] = scan
) -> Iterator[tuple[Piece, int]]:
    """Yield what parses the next piece of a file, and how many bytes of it are then done."""
    if detect.is_delimited(path):
        source = Source.at(path)
        if not source.gzipped:
            dialect = sniff(source, options, look)
            if _is_plain(source, dialect):
                yield from _segments(source, dialect, options)
                return
    for block in detect.blocks(path, options, BLOCK_ROWS):
        yield partial(iter, (block,)), 0


def _is_plain(source: Source, dialect: Dialect) -> bool:
    """Return whether every line end ends a row, so that the file may be cut at any of them."""
    with source.open() as file:
        quotes = file.read(dialect.start).count(b'"')
        lines = b"\n" in file.read(SEGMENT)
    unquoted = dialect.encoding == "utf-8" and dialect.scan.quotes == quotes
    return unquoted and lines and len(dialect.names) > 1


def _segments(
    source: Source, dialect: Dialect, options: ReadOptions
) -> Iterator[tuple[Piece, int]]:
    part = replace(dialect, start=0, scan=replace(dialect.scan, quotes=0))
    parser = _Parser(source, part, options, PlainRows(part, options))
    size = SEGMENT if threads() <= _FEW_THREADS else max(SEGMENT // 2, 1)
    start = dialect.start
    with source.open() as file:
        end = file.seek(0, io.SEEK_END)
        while start < end:
            file.seek(min(start + size, end))
            file.readline()
            stop = file.tell()
            yield partial(parser.parse, start, stop), stop
            start = stop


@dataclass(frozen=True)
class _Parser:
    """Reads a part of a plain file from the disk and parses it, on whatever thread."""

    source: Source
    dialect: Dialect
    options: ReadOptions
    plain: PlainRows

    def parse(self, start: int, stop: int) -> Iterator[RawTable]:
        with self.source.open() as file:
            file.seek(start)
            content = file.read(stop - start)
        if content.isspace():
            return
        quick = self.plain.read(content)
        if quick is not None:
            yield quick
            return
        segment = Segment(self.source.path, False, content)
        try:
            every = SEGMENT  # rows: all of it at once
            yield from csv.blocks(segment, self.options, every, self.dialect)
        except TableError:
            # Rows were numbered from the segment's start; the whole file gives the right number.
            for _ in detect.blocks(self.source.path, self.options, BLOCK_ROWS):
                pass
            raise


def run_overlapped(
    pieces: Iterator[tuple[Piece, int]], work: Callable[[Iterator[RawTable]], Result]
) -> Iterator[tuple[Result, int]]:
    """Run `work` on the pieces in threads and yield the results in order."""
    workers = min(threads(), MOST_THREADS)
    waiting: deque[tuple[Future[Result], int]] = deque()

    def one(piece: Piece) -> Result:
        return work(piece())

    with ThreadPoolExecutor(workers) as pool:
        try:
            for piece, done in pieces:
                waiting.append((pool.submit(one, piece), done))
                if len(waiting) > workers:
                    first, at = waiting.popleft()
                    yield first.result(), at
            while waiting:
                first, at = waiting.popleft()
                yield first.result(), at
        finally:
            for left, _ in waiting:
                left.cancel()
