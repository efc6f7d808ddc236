"""A file in blocks of raw columns, several parsed at once, in bounded memory and in file order.

A delimited file without quotes is cut at line ends into segments of a few megabytes; each is parsed
by the same reader, under the header of the file, on a thread of its own. Every other file comes
block by block from one reader. `overlapped` runs a function over the pieces on threads and hands
over what it made in order, with few pieces in flight.
"""

from __future__ import annotations

import io
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, BinaryIO, TypeVar, cast

from countwise.counts.engines.memory import threads
from countwise.errors import TableError
from countwise.tables.delimited import parse_delimited_blocks
from countwise.tables.dialect import Dialect, sniff
from countwise.tables.files import Parsed, Reading, parse_blocks
from countwise.tables.source import Source

__all__ = ["BLOCK_ROWS", "SEGMENT", "Segment", "overlapped", "pieces_of"]

#: Rows a block from a single reader holds.
BLOCK_ROWS = 50_000
#: Bytes of a segment; with a few in flight this bounds the memory.
SEGMENT = 8 << 20
#: More threads than this would need more memory than a small machine has.
MOST_THREADS = 8
_FEW_THREADS = 4

_HEAD = 1 << 14
_DELIMITED = (".csv", ".tsv", ".txt", ".tab", ".data")
Made = TypeVar("Made")
Piece = Callable[[], Iterator[Parsed]]


@dataclass(frozen=True)
class Segment(Source):
    """A part of a delimited file in memory, under the file's header, read like a file."""

    content: bytes = field(default=b"", repr=False)
    signs: bytes = b""

    def open(self) -> BinaryIO:
        """Return the bytes as a Python file."""
        return cast(BinaryIO, io.BytesIO(self.content))

    def head(self, size: int) -> bytes:
        """Return the first lines; the dialect is known, so a few of them will do."""
        if len(self.content) <= _HEAD:
            return self.content[:size]
        return self.content[: self.content.rfind(b"\n", 0, min(size, _HEAD)) + 1 or size]

    def chunks(self, start: int = 0) -> Iterator[bytes]:
        """Yield the signs that a look through the whole file has found; it needs no second one."""
        yield self.signs

    def arrow(self, start: int = 0) -> Any:
        """Return the bytes from `start` on as an Arrow file."""
        import pyarrow as pa

        file = pa.BufferReader(self.content)
        file.seek(start)
        return file


def pieces_of(path: str, reading: Reading) -> Iterator[tuple[Piece, int]]:
    """Yield what parses the next piece of a file, and how many bytes of it are then done."""
    if path.lower().endswith(_DELIMITED):
        source = Source.at(path)
        usual = "\t" if path.lower().endswith((".tsv", ".tab")) else ","
        if not source.gzipped:
            dialect = sniff(source, reading, usual)
            head = _header(source, dialect, reading)
            if head is not None:
                yield from _segments(source, dialect, reading, head)
                return
    for block in parse_blocks(path, reading, BLOCK_ROWS):
        yield partial(iter, (block,)), 0


def _header(source: Source, dialect: Dialect, reading: Reading) -> bytes | None:
    """Return the line to put above a segment, or None where line ends may lie within cells."""
    with source.open() as file:
        quotes = file.read(dialect.start).count(b'"')
        lines = b"\n" in file.read(SEGMENT)
    if dialect.encoding != "utf-8" or dialect.scan.quotes != quotes:
        return None
    if not lines or len(dialect.names) < 2:
        return None
    if not reading.header:
        return b""
    line = dialect.separator.join(dialect.names)
    plain = not any(sign in line for sign in '"\r\n')
    alone = line.count(dialect.separator) == len(dialect.names) - 1
    return line.encode() + b"\n" if plain and alone else None


def _segments(
    source: Source, dialect: Dialect, reading: Reading, head: bytes
) -> Iterator[tuple[Piece, int]]:
    told = replace(reading, separator=dialect.separator)
    signs = b"0x" if dialect.scan.hexadecimal else b""
    size = SEGMENT if threads() <= _FEW_THREADS else max(SEGMENT // 2, 1)
    with source.open() as file:
        file.seek(dialect.start)
        while chunk := file.read(size):
            chunk += file.readline()
            if chunk.strip():
                segment = Segment(source.path, False, head + chunk, signs)
                yield partial(_parsed, segment, told), file.tell()


def _parsed(segment: Segment, reading: Reading) -> Iterator[Parsed]:
    try:
        yield from parse_delimited_blocks(segment, reading, SEGMENT)  # all of it at once
    except TableError:
        # Rows were numbered from the segment's start; the whole file gives the right number.
        for _ in parse_blocks(segment.path, reading, BLOCK_ROWS):
            pass
        raise


def overlapped(
    pieces: Iterator[tuple[Piece, int]], work: Callable[[Iterator[Parsed]], Made]
) -> Iterator[tuple[Made, int]]:
    """Run `work` on the pieces in threads and yield what it made in their order."""
    workers = min(threads(), MOST_THREADS)
    waiting: deque[tuple[Future[Made], int]] = deque()

    def one(piece: Piece) -> Made:
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
