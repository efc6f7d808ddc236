"""Coded rows of a scan: kept in memory or in a temporary file, or read anew for every step."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import add
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.errors import TableError
from countwise.models.additive._passes import Layout, Solver, count_cells
from countwise.models.additive.bins import Codes, ColumnBins
from countwise.models.additive.fit import Watch, cut_ranges, run_search
from countwise.models.additive.words import code_columns
from countwise.parallel import blocks, in_threads
from countwise.progress import Progress
from countwise.tables.scan import Block, Scan
from countwise.tables.scan_pass import run_pass

#: Rows that are unpacked at a time; they should fit into the cache of a processor.
_UNPACKED = 1 << 14
_ONES = np.ones(_UNPACKED)

Lines = NDArray[np.uint8]


class CodedBlock(NamedTuple):
    """Rows as the compiled passes take them."""

    codes: Codes
    target: NDArray[np.int32]
    weight: FloatArray


class Part(NamedTuple):
    """Some coded rows: what orders them, how many, and their bytes or where these are in a file."""

    key: tuple[str, int, int]
    rows: int
    place: Any


@dataclass(frozen=True, eq=False)
class Coder:
    """Codes rows by the bins of columns and the classes that occur, a byte a cell.

    A line of bytes holds a column, the next one the class; columns of more than 256 bins have a
    second line, for the higher byte, and weights have eight lines.
    """

    bins: Sequence[ColumnBins]
    present: NDArray[np.intp]
    weighted: bool = False

    @cached_property
    def wide(self) -> NDArray[np.intp]:
        """The lines that need a second byte."""
        widths = [*(column.width + 2 for column in self.bins), len(self.present)]
        return np.flatnonzero(np.asarray(widths) > 256)

    @property
    def bytes_per_row(self) -> int:
        """How many bytes a row takes."""
        return len(self.bins) + 1 + len(self.wide) + 8 * self.weighted

    def code(self, block: Block) -> CodedBlock:
        """Return the bins, the classes and the weights of rows."""
        table, weight = block.table, block.weight
        target = np.searchsorted(self.present, table.target).astype(np.int32)
        weight = np.ones(len(table)) if weight is None else weight
        return CodedBlock(code_columns(self.bins, table), target, weight)

    def pack(self, block: Block) -> Lines:
        """Return rows as lines of bytes."""
        codes, target, weight = self.code(block)
        lines = np.empty((self.bytes_per_row, len(target)), np.uint8)
        lines[: len(codes)], lines[len(codes)] = codes & 255, target & 255
        for at, place in enumerate(self.wide.tolist(), start=len(codes) + 1):
            lines[at] = (target if place == len(codes) else codes[place]) >> 8
        if self.weighted:
            whole = np.ascontiguousarray(weight, dtype=np.float64)
            lines[-8:] = whole.view(np.uint8).reshape(-1, 8).T
        return lines

    def unpack(self, lines: Lines) -> CodedBlock:
        """Return packed rows."""
        number = len(self.bins) + 1
        codes = lines[:number].astype(np.uint16)
        for at, place in enumerate(self.wide.tolist(), start=number):
            codes[place] |= lines[at].astype(np.uint16) << 8
        weight = _ONES[: lines.shape[1]]
        if self.weighted:
            weight = np.ascontiguousarray(lines[-8:].T).view(np.float64)[:, 0]
        return CodedBlock(codes[:-1], codes[-1].astype(np.int32), weight)


class SpillError(Exception):
    """A temporary file could not be written."""


class SpillFile:
    """A temporary file of packed rows; it has no name, so nothing is left if the process ends."""

    def __init__(self) -> None:
        self._lock, self._end = Lock(), 0
        try:
            self._file = tempfile.TemporaryFile(prefix="countwise-")  # noqa: SIM115
        except OSError as error:
            raise SpillError(error.strerror or str(error)) from error

    def write(self, lines: Lines) -> int:
        """Append lines and return where they are."""
        with self._lock:
            try:
                self._file.seek(self._end)
                self._file.write(lines.tobytes())
                self._file.flush()
            except OSError as error:
                raise SpillError(error.strerror or str(error)) from error
            place, self._end = self._end, self._end + lines.size
        return place

    def read(self, place: int, lines: int, rows: int) -> Lines:
        """Return lines that were written."""
        found = np.empty((lines, rows), np.uint8)
        with self._lock:
            self._file.seek(place)
            self._file.readinto(found.data)
        return found

    def close(self) -> None:
        """Remove the file."""
        self._file.close()


class _ScanRows:
    """What is known of all rows of a scan, whichever way they are read."""

    def __init__(self, coder: Coder, weights: FloatArray) -> None:
        self.coder, self._weights = coder, weights
        self._counted: tuple[Layout, FloatArray] | None = None

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return len(self._weights)

    def class_weights(self) -> FloatArray:
        """Return the weight of the rows of each class."""
        return self._weights

    def total(self) -> float:
        """Return the weight of the rows."""
        return float(self._weights.sum())

    def count_cells(self, layout: Layout) -> FloatArray:
        """Return the weight of the rows in each cell of all tables; they are counted once."""
        if self._counted is None or self._counted[0] is not layout:
            self._counted = layout, self._count(layout)
        return self._counted[1]

    def _count(self, layout: Layout) -> FloatArray:
        raise NotImplementedError


class KeptRows(_ScanRows):
    """All rows of a scan, coded once; they are in the order of their files and numbers there.

    Sums are formed over fixed ranges of rows, so they do not depend on the size of blocks, the
    order of files, the number of threads, or where the rows are kept.
    """

    def __init__(
        self,
        coder: Coder,
        weights: FloatArray,
        rows: int,
        parts: Sequence[Part],
        spill: SpillFile | None = None,
    ) -> None:
        super().__init__(coder, weights)
        self.spill = spill
        self._parts = sorted(parts, key=lambda part: part.key)
        ends = np.cumsum([part.rows for part in self._parts])
        self._starts = np.concatenate([[0], ends]).astype(np.int64)
        self._ranges = cut_ranges([(0, int(self._starts[-1]))])
        if self._starts[-1] != rows:
            raise TableError(
                f"Additive: every scan must find the same rows; one found {rows}, the next "
                f"{self._starts[-1]}.",
                hint="Train again when the source no longer changes",
            )

    @property
    def slots(self) -> int:
        """In how many slots a pass sums up."""
        return len(self._ranges)

    def _blocks(self, start: int, stop: int) -> Iterator[CodedBlock]:
        """Yield the rows of a range, few at a time."""
        first = int(np.searchsorted(self._starts, start, side="right")) - 1
        for number in range(first, len(self._parts)):
            begin = int(self._starts[number])
            if begin >= stop:
                break
            part = self._parts[number]
            lines = part.place
            if self.spill is not None:
                lines = self.spill.read(part.place, self.coder.bytes_per_row, part.rows)
            low, high = max(start - begin, 0), min(stop - begin, part.rows)
            for block in blocks(high - low, _UNPACKED):
                yield self.coder.unpack(lines[:, low + block.start : low + block.stop])

    def search(self, solver: Solver, watch: Watch | None) -> None:
        """Search to the end, one pass over the kept rows a step."""

        def add_slot(slot: int) -> None:
            for codes, target, weight in self._blocks(*self._ranges[slot].tolist()):
                solver.add_rows(slot, codes, target, weight, 0, len(target))

        slots = range(self.slots)
        run_search(solver, lambda: in_threads(add_slot, slots), watch)

    def _count(self, layout: Layout) -> FloatArray:
        def count_slot(slot: int) -> FloatArray:
            counts = np.zeros(layout.cells)
            for codes, target, weight in self._blocks(*self._ranges[slot].tolist()):
                count_cells(layout, codes, weight, 0, len(target), counts)
            return counts

        return np.asarray(np.sum(in_threads(count_slot, range(self.slots)), axis=0))


class SourceRows(_ScanRows):
    """All rows of a scan, read and coded anew for every step.

    Blocks are added up in their order, so another size of blocks may change the last digits.
    """

    slots = 1

    def __init__(self, scan: Scan, coder: Coder, weights: FloatArray) -> None:
        super().__init__(coder, weights)
        self._scan = scan

    def search(self, solver: Solver, watch: Watch | None) -> None:
        """Search to the end, one scan a step."""

        def sum_block(block: Block) -> FloatArray:
            return solver.sum_rows(*self.coder.code(block))

        def add_scan() -> None:
            solver.put_sums(run_pass(self._scan, sum_block, add, engine="stream"))

        run_search(solver, add_scan, watch)

    def _count(self, layout: Layout) -> FloatArray:
        def count_block(block: Block) -> FloatArray:
            counts = np.zeros(layout.cells)
            codes, target, weight = self.coder.code(block)
            count_cells(layout, codes, weight, 0, len(target), counts)
            return counts

        return np.asarray(run_pass(self._scan, count_block, add, engine="stream"))


def keep_rows(
    scan: Scan,
    coder: Coder,
    weights: FloatArray,
    rows: int,
    spill: SpillFile | None,
    progress: Progress | None,
) -> KeptRows:
    """Code all rows of a scan in one pass and keep them, in memory or in a file."""

    def code_block(block: Block) -> list[Part]:
        if not len(block.table):
            return []
        lines = coder.pack(block)
        key = (block.piece.key, block.piece.first_row, int(block.numbers[0]))
        return [Part(key, len(block.table), lines if spill is None else spill.write(lines))]

    # A file is written here, so a cluster cannot run the pass where the rows are.
    engine = None if spill is None else "stream"
    parts = run_pass(scan, code_block, add, progress=progress, engine=engine) or []
    return KeptRows(coder, weights, rows, parts, spill)
