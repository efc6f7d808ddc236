"""Read a file in blocks: parsed in parallel, returned in file order, within bounded memory.

A delimited file without quotes is cut at line ends into segments of a few megabytes; each is read
and parsed on a thread of its own, by a compiled reader where its lines are plain. Every other file
comes block by block from one reader. `run_overlapped` runs a function over the pieces on threads
and yields the results in order, with few pieces in flight.
"""

from __future__ import annotations

import io
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from countwise.errors import TableError
from countwise.parallel import threads
from countwise.tables.formats import csv, detect
from countwise.tables.formats.csv_dialect import Dialect, sniff
from countwise.tables.formats.csv_fast import PlainRows
from countwise.tables.formats.source import ByteFacts, Content, Source, look_through
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
Item = TypeVar("Item")
Piece = Callable[[], Iterator[RawTable]]
Look = Callable[[Source, str, int], ByteFacts]


def pieces_of(
    path: str | Source, options: ReadOptions, look: Look = look_through
) -> Iterator[tuple[Piece, int]]:
    """Yield what parses the next piece of a file, and how many bytes of it are then done."""
    if isinstance(path, str) and detect.is_delimited(path):
        source = Source.at(path)
        dialect = plain_dialect(source, options, look)
        if dialect is not None:
            parser = Parser.of(source, dialect, options)
            size = SEGMENT if threads() <= _FEW_THREADS else max(SEGMENT // 2, 1)
            for start, stop in segments(source, dialect.start, size):
                yield partial(parser.parse, start, stop), stop
            return
    for block in detect.blocks(path, options, BLOCK_ROWS):
        yield partial(iter, (block,)), 0


def plain_dialect(
    source: Source, options: ReadOptions, look: Look = look_through
) -> Dialect | None:
    """Return the dialect of a file in which every line end ends a row; None for any other."""
    if source.gzipped or type(source) is not Source:
        return None
    dialect = sniff(source, options, look)
    with source.open() as file:
        quotes = file.read(dialect.start).count(b'"')
        lines = b"\n" in file.read(SEGMENT)
    unquoted = dialect.encoding == "utf-8" and dialect.scan.quotes == quotes
    return dialect if unquoted and lines and len(dialect.names) > 1 else None


def segments(
    source: Source, start: int, size: int, stop: int | None = None
) -> Iterator[tuple[int, int]]:
    """Cut a plain file, or the part up to `stop`, at line ends into segments of about that size."""
    with source.open() as file:
        end = file.seek(0, io.SEEK_END) if stop is None else stop
        while start < end:
            file.seek(min(start + size, end - 1))
            # A file that has become shorter ends here, and is refused when it is looked at again.
            reached = file.tell() if file.readline() else end
            yield start, reached
            start = reached


@dataclass(frozen=True)
class Parser:
    """Reads a part of a plain file from the disk and parses it, on whatever thread."""

    source: Source
    dialect: Dialect
    options: ReadOptions
    plain: PlainRows

    @classmethod
    def of(cls, source: Source, dialect: Dialect, options: ReadOptions) -> Parser:
        """Return the parser of a plain file."""
        part = replace(dialect, start=0, scan=replace(dialect.scan, quotes=0))
        return cls(source, part, options, PlainRows(part, options))

    def parse(self, start: int, stop: int) -> Iterator[RawTable]:
        """Yield the rows between two line ends."""
        with self.source.open() as file:
            file.seek(start)
            content = file.read(stop - start)
        if content.isspace():
            return
        quick = self.plain.read(content)
        if quick is not None:
            yield quick
            return
        segment = Content(self.source.path, False, content)
        try:
            every = SEGMENT  # rows: all of it at once
            yield from csv.blocks(segment, self.options, every, self.dialect)
        except TableError:
            # Rows were numbered from the segment's start; the whole file gives the right number.
            for _ in detect.blocks(self.source.path, self.options, BLOCK_ROWS):
                pass
            raise


def run_overlapped(
    items: Iterable[tuple[Item, int]], work: Callable[[Item], Result]
) -> Iterator[tuple[Result, int]]:
    """Run `work` on the items in threads and yield the results in order."""
    workers = min(threads(), MOST_THREADS)
    waiting: deque[tuple[Future[Result], int]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        try:
            for item, done in items:
                waiting.append((pool.submit(work, item), done))
                if len(waiting) > workers:
                    first, at = waiting.popleft()
                    yield first.result(), at
            while waiting:
                first, at = waiting.popleft()
                yield first.result(), at
        finally:
            for left, _ in waiting:
                left.cancel()
