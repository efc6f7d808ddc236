"""One pass over the pieces of a scan: blocks are coded, surveyed and folded.

That happens in threads here, or where the rows are if their source can run it there.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, NamedTuple, Protocol, TypeVar

from countwise.errors import ChangedSourceError, CountwiseError, TableError
from countwise.progress import Progress
from countwise.tables.code_levels import usable_rows
from countwise.tables.formats.blocks import run_overlapped
from countwise.tables.scan import Block, Scan, say_why
from countwise.tables.scan_sample import Drawn, RowSample
from countwise.tables.schema import Schema
from countwise.tables.sources.row_source import Add, Piece
from countwise.tables.survey import Survey

#: A survey may overturn a head, folded levels need one scan more, and so do parts of dates.
_MOST_SCANS = 6

Fold = Callable[[Block], Any]
Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class State(NamedTuple):
    """What a pass has reached: the survey and the folded rows of the pieces that are done."""

    survey: Survey
    folded: Any
    schema: Schema
    done: tuple[tuple[Any, ...], ...] = ()


class Keeper(Protocol):
    """Keeps what a pass has reached, for one that goes on later."""

    def begin(self) -> State | None:
        """Return what was reached before, at the start of a pass."""

    def keep(self, state: State) -> None:
        """Take what is reached after a piece."""

    def end(self, state: State) -> None:
        """Take what is reached at the end of a pass."""


def run_pass(
    scan: Scan,
    fold: Fold | None,
    add: Add | None = None,
    *,
    keeper: Keeper | None = None,
    progress: Progress | None = None,
    engine: str | None = None,
) -> Any:
    """Fold the blocks of all pieces and add up the results in order; survey them, if need be.

    A scan whose schema is not certain yet is surveyed on the way, and its blocks get levels as they
    come; if the survey overturns the schema, all is done once more. The `keeper` is told what is
    reached after each piece, and may know what an earlier pass had reached. If the pass runs where
    the rows are, `fold` and `add` and all they refer to are pickled, and a `fold` returns what it
    finds; the `engine` stream makes it run here.
    """
    if scan.shared is not None:
        return scan.shared.run(scan, fold, add, engine)
    is_remote = scan.source.is_remote and (engine or scan.engine) != "stream"
    for _ in range(_MOST_SCANS):
        if is_remote:
            state = _run_remotely(scan, fold, add, progress)
        else:
            state = _run_once(scan, fold, add, keeper, progress)
        if scan.is_certain or not scan.settle(state.survey):
            return state.folded
    raise TableError(
        f"scan: what the columns are could not be settled: {scan.decision.why_again}.",
        hint="Declare these columns, or pass a `schema=`",
    )


def _run_once(
    scan: Scan,
    fold: Fold | None,
    add: Add | None,
    keeper: Keeper | None,
    progress: Progress | None,
) -> State:
    is_certain = scan.is_certain
    begin = None if keeper is None else keeper.begin()
    state = State(Survey(), None, scan.reading_schema) if begin is None else begin
    known = [state.schema]
    # A pass that goes on from a checkpoint does not see all rows.
    sample = scan.expected if keeper is None and not is_certain else None
    drawn: list[Drawn] = []
    if sample is not None:
        sample.begin()

    reached = _Reached(scan, progress, 0 if is_certain else state.survey.rows)

    def work(piece: Piece) -> tuple[Survey, Any, Schema, list[Drawn]] | TableError:
        try:
            return _fold_piece(scan, piece, fold, add, known[0], sample, reached)
        except TableError as error:
            if scan.on_bad == "skip" and not isinstance(error, ChangedSourceError):
                return error
            raise

    todo = _pieces_left(scan, set(state.done))
    for (piece, found), size in run_overlapped(todo, lambda piece: (piece, work(piece))):
        if isinstance(found, TableError):
            scan.skip(piece, found)
            continue
        scan.skipped.pop(piece.name, None)  # before a kill it could not be read
        survey, folded, schema, some = found
        folded = _add_folded(add, state.folded, folded)
        survey = state.survey if is_certain else state.survey.add(survey, scan.max_levels)
        # Later blocks begin with the levels so far, so that most of them add none.
        schema = _unite_levels(state.schema, schema)
        known[0] = schema
        if sample is not None:
            drawn = sample.add(drawn, some)
        state = State(survey, folded, schema, (*state.done, piece.identity))
        if keeper is not None:
            keeper.keep(state)
        reached.end_piece(size)
    if keeper is not None:
        keeper.end(state)
    if sample is not None:
        sample.drawn = drawn
    return state


class _Reached:
    """What a pass has reached: the sizes of the pieces that are done, and all rows that were read.

    Threads report the rows of a piece of several blocks as they come: it may be a large file.
    """

    def __init__(self, scan: Scan, progress: Progress | None, rows: int) -> None:
        self._progress, self._whole = progress, scan.source.size
        self._all_rows = scan.survey.rows if scan.is_certain else 0
        self._done, self._rows, self._lock = 0.0, rows, Lock()

    def add_rows(self, rows: int, is_first: bool) -> None:
        """Add the rows of a block, and report them unless the piece may end with them."""
        with self._lock:
            self._rows += rows
            if not is_first:
                self._report(self._whole * min(self._rows / (self._all_rows or math.inf), 1.0))

    def end_piece(self, size: int) -> None:
        """Report that a piece is done, and with it all of this size."""
        with self._lock:
            self._report(size)

    def _report(self, done: float) -> None:
        self._done = max(self._done, done)
        if self._progress is not None:
            whole = max(self._whole, self._done, 1)
            self._progress(self._done, whole, f"{self._all_rows or self._rows:,} rows")


def add_by_key(
    left: Mapping[Key, Value],
    right: Mapping[Key, Value],
    add_of: Callable[[Key], Callable[[Value, Value], Value]] = lambda key: operator.add,
) -> dict[Key, Value]:
    """Return what two parts of the rows gave, added up key by key."""
    both = dict(left)
    for key, part in right.items():
        both[key] = add_of(key)(both[key], part) if key in both else part
    return both


@dataclass(frozen=True)
class RemotePass:
    """A pass as it travels to where the rows are."""

    scan: Scan
    folder: Fold | None
    adder: Add | None
    schema: Schema

    def fold(self, piece: Piece) -> RemotePart:
        """Fold one piece."""
        try:
            survey, folded, *_ = _fold_piece(
                self.scan, piece, self.folder, self.adder, self.schema, None
            )
        except CountwiseError as error:
            # As a result it reaches the user in its own words, and nobody tries again.
            refusal = TableError(error.message, hint=error.hint)
            if self.scan.on_bad == "skip" and isinstance(error, TableError):
                return RemotePart(skipped={piece.name: say_why(error)})
            return RemotePart(refusal=refusal)
        return RemotePart(survey, folded, fractions=self.scan.fractions[0])


@dataclass(frozen=True)
class RemotePart:
    """What a pass found in one or more pieces."""

    survey: Survey = field(default_factory=Survey)
    folded: Any = None
    skipped: Mapping[str, str] = field(default_factory=dict)
    refusal: TableError | None = None
    fractions: bool = False


@dataclass(frozen=True)
class PartAdder:
    """Adds what a pass found in two parts of the rows."""

    adder: Add | None
    max_levels: int

    def add(self, left: RemotePart, right: RemotePart) -> RemotePart:
        """Return what was found in both parts."""
        return RemotePart(
            left.survey.add(right.survey, self.max_levels),
            _add_folded(self.adder, left.folded, right.folded),
            {**left.skipped, **right.skipped},
            left.refusal or right.refusal,
            left.fractions or right.fractions,
        )


def _run_remotely(
    scan: Scan, fold: Fold | None, add: Add | None, progress: Progress | None
) -> State:
    """Run a pass where the rows are."""
    schema = scan.reading_schema
    work = RemotePass(scan, fold, add, schema)
    options = scan.decision.reading(scan.options, scan.source.open_ended)
    adder = PartAdder(add, scan.max_levels)
    found: RemotePart = scan.source.run_remotely(work.fold, adder.add, options, progress)
    if found.refusal is not None:
        raise found.refusal
    scan.skipped.update(found.skipped)
    scan.fractions[0] |= found.fractions
    if progress is not None:
        progress(1, 1, "rows folded")
    return State(found.survey, found.folded, schema)


def _pieces_left(scan: Scan, done: set[tuple[Any, ...]]) -> Iterator[tuple[Piece, int]]:
    """Yield the pieces that are left, each with what is reached when it is done.

    What the survey could not read is left out of all later passes, which may not look at the
    columns that are damaged.
    """
    reached = 0
    for piece in scan.pieces():
        reached += piece.size
        is_left_out = scan.is_certain and piece.name in scan.skipped
        if piece.identity not in done and not is_left_out:
            yield piece, reached


def _fold_piece(
    scan: Scan,
    piece: Piece,
    fold: Fold | None,
    add: Add | None,
    schema: Schema,
    sample: RowSample | None,
    reached: _Reached | None = None,
) -> tuple[Survey, Any, Schema, list[Drawn]]:
    survey, total, drawn = Survey(), None, list[Drawn]()
    is_certain, decision, is_first = scan.is_certain, scan.decision, True
    for raw in scan.raw_blocks(piece, decision):
        table = scan.code_block(raw, schema)
        schema = table.schema
        if reached is not None:
            reached.add_rows(len(table), is_first)
            is_first = False
        keep, dropped = usable_rows(table)
        if not is_certain:
            survey = survey.add(scan.survey_block(table, raw.columns, dropped), scan.max_levels)
            schema = scan.without_many_levels(schema)
        if fold is None and sample is None:
            continue
        block = Block(piece, decision.outside(table, table.schema), raw.numbers, raw.weight)
        block = scan.changed(block if keep.all() else block.take(keep))
        if sample is not None:
            drawn = sample.add(drawn, sample.draw(block))
        if fold is not None:
            part = fold(block)
            total = part if total is None or add is None else add(total, part)
    return survey, total, schema, drawn


def _add_folded(add: Add | None, left: Any, right: Any) -> Any:
    """Add up what two parts of the rows gave; None stands for nothing."""
    if left is None or right is None or add is None:
        return left if right is None else right
    return add(left, right)


def _unite_levels(left: Schema, right: Schema) -> Schema:
    """Return the schema that knows more levels of each column."""
    return left.with_columns(
        column if column.width >= left[column.name].width else left[column.name]
        for column in right
        if column.coded
    )
