"""A table that is not in memory: read piece by piece, as often as it is needed."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.errors import ParameterError, TableError
from countwise.notes import Note
from countwise.tables.schema import Column, Level, Schema
from countwise.tables.table import Table
from countwise.tables.weights import of_weights

if TYPE_CHECKING:
    from countwise.progress import Progress
    from countwise.tables.raw_columns import Numbers, Raw, RawTable
    from countwise.tables.read_options import ReadOptions
    from countwise.tables.scan_sample import RowSample
    from countwise.tables.sources.row_source import Piece, RowSource
    from countwise.tables.survey import Survey
    from countwise.tables.survey_decisions import Decision

#: Rows that are looked at before the first scan.
HEAD_ROWS = 20_000
#: Levels of a column that are told apart; the rows of all others are counted together.
MAX_LEVELS = 100_000
#: Bytes that a scan may hold beside what it counts.
MEMORY = 512 << 20
#: What takes the place of a scan where rows must be in memory, as messages say it.
SOME_ROWS = "some of its rows, rows.sample(100_000) (on the command line --sample 100000)"
_MOST_ROWS = 1 << 17
_FEWEST_ROWS = 1 << 10
#: What a cell of a block takes while it is read, coded and counted.
_CELL_BYTES = 32
_SIZES = {"": 1, "kb": 1 << 10, "mb": 1 << 20, "gb": 1 << 30}


@dataclass(frozen=True)
class Block:
    """Some rows of a piece, and their numbers in it."""

    piece: Piece
    table: Table
    #: Row `i` of the table is row ``numbers[i]`` of what the key of the piece names.
    numbers: NDArray[np.int64]
    #: The weight of each row, if the scan has weights.
    weight: FloatArray | None = None

    def take(self, rows: NDArray[Any]) -> Block:
        """Return some of the rows, by number or by a mask."""
        weight = None if self.weight is None else self.weight[rows]
        return Block(self.piece, self.table.take(rows), self.numbers[rows], weight)


class RawBlock(NamedTuple):
    """Some rows of a piece that are not coded yet, after so many others of it."""

    piece: Piece
    numbers: NDArray[np.int64]
    columns: dict[str, Raw]
    rows: int
    start: int
    weight: FloatArray | None = None


def scan(
    source: Any,
    target: Any = None,
    *,
    memory: int | str = MEMORY,
    max_levels: int = MAX_LEVELS,
    on_bad: str = "refuse",
    table: str | None = None,
    query: str | None = None,
    key: str | None = None,
    weight: str | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Scan:
    """Return a table that stays where it is: it is read in pieces, whenever rows are needed.

    Parameters
    ----------
    source
        A file (CSV, TSV, JSON lines, ARFF, Parquet), a list of files, a folder or a pattern such as
        ``data/*.parquet``, a pyarrow data set, a RecordBatchReader (which can be read once), a
        DuckDB relation, a polars LazyFrame, an Ibis table, a PySpark DataFrame, or an address:
        ``duckdb:FILE``, ``postgresql://host/database`` or ``spark:TABLE``. Folders named
        ``key=value`` give a column.
    target
        The class: the name or position of a column.
    memory
        The memory that a scan may use beside what it counts, in bytes or as ``"512MB"``.
    max_levels
        Levels of a column that are told apart. If a column has more, the most frequent ones are
        found, and the rows of all others are counted as one level, with a note.
    on_bad
        ``refuse`` a piece that cannot be read, or ``skip`` it with a note.
    table, query
        For an address: the table to read, or the SELECT statement whose rows are read. A password
        belongs in the environment (``PGPASSWORD``) or a service file; one in the address is never
        shown.
    key
        For a database or a lazy frame: the column that identifies rows. Folds and samples need it,
        because the order of rows may change; models do not see it.
    weight
        The column that holds the weight of each row; models do not see it. A whole weight equals
        repeating the row, to the last bit; sums of fractions are rounded, and a note says so.
    checkpoint
        A file to which counts are written on the way, so that a model whose training was killed
        goes on where it was; a second pass over the rows writes to the name with ``.2``.
    progress
        Called with bytes done, bytes in all and a text, in every scan of the rows.
    options
        Options of `read`.

    Examples
    --------
    >>> import countwise as cw
    >>> rows = cw.scan("sample:weather")
    >>> rows.classes, len(rows)
    (('no', 'yes'), 14)
    >>> cw.NaiveBayes().fit(rows).counts_ == cw.NaiveBayes().fit(cw.read("sample:weather")).counts_
    True
    """
    from countwise.tables.read_options import ReadOptions, is_name

    if target is not None and not is_name(target):
        raise ParameterError("scan", "target", "the name or position of a column", target)
    for name in options:
        if name == "keep_rows" or name not in _read_names():
            raise ParameterError(f"scan: there is no option {name!r}.")
    if weight is not None and not isinstance(weight, str):
        raise ParameterError("scan", "weight", "the name of a column", weight)
    given = replace(ReadOptions.of(target, **options), weight=weight)
    if table is not None or query is not None or key is not None:
        from countwise.tables.sources.query_source import Query

        source = Query(source, table, query, key)
    return scan_with(source, given, memory, max_levels, on_bad, checkpoint, progress)


def scan_with(
    source: Any,
    given: ReadOptions,
    memory: int | str = MEMORY,
    max_levels: int = MAX_LEVELS,
    on_bad: str = "refuse",
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Scan:
    """Return rows outside memory, by options that are gathered already."""
    from countwise.tables import sources

    if on_bad not in ("refuse", "skip"):
        raise ParameterError("scan", "on_bad", "'refuse' or 'skip'", on_bad)
    if isinstance(max_levels, bool) or not isinstance(max_levels, int) or max_levels < 1:
        raise ParameterError("scan", "max_levels", "a whole number from 1", max_levels)
    found, given = sources.open_source(source, given, on_bad=on_bad)
    rows = Scan(found, given, read_memory(memory), max_levels, on_bad)
    rows.skipped |= {repr(path): say_why(error) for path, error in found.damaged.items()}
    rows.checkpoint = None if checkpoint is None else os.fspath(checkpoint)
    rows.progress = progress
    return rows


def _read_names() -> list[str]:
    import inspect

    from countwise.tables.read import read

    return list(inspect.signature(read).parameters)[1:]


def read_memory(given: int | str) -> int:
    """Return bytes from a number or a text such as 512MB."""
    text = str(given).strip().lower().replace("_", "")
    found = re.fullmatch(r"(\d+(?:\.\d+)?) ?(kb|mb|gb|)", text)
    size = int(float(found[1]) * _SIZES[found[2]]) if found else 0
    if size < 1 << 20 or isinstance(given, bool):
        raise ParameterError("scan", "memory", "at least 1MB, such as 512MB or 2GB", given)
    return size


class Scan:
    """Rows outside memory, coded by a schema; made by `scan`.

    It takes the place of a `Table` wherever rows are counted. `schema`, `notes` and ``len`` scan
    all rows once, unless counting has done so before.
    """

    def __init__(
        self,
        source: RowSource,
        options: ReadOptions,
        memory: int = MEMORY,
        max_levels: int = MAX_LEVELS,
        on_bad: str = "refuse",
    ) -> None:
        from countwise.tables.read import decide_columns
        from countwise.tables.survey_decisions import first_schema

        self.source, self.memory, self.max_levels, self.on_bad = source, memory, max_levels, on_bad
        raw, options = source.head(options, HEAD_ROWS)
        columns, self.options, decided, notes = decide_columns(raw, options)
        self.decision = first_schema(columns, decided, self.options, notes, raw.notes, source)
        self._survey: Survey | None = None
        #: What counting remembers of this scan.
        self.memo: dict[Any, Any] = {}
        #: How blocks are changed after they were coded. Of a change that ends in cutting numbers,
        #: `cuts` are the cut points, and `before_cuts` is what comes before them.
        self.change: Callable[[Table], Table] | None = None
        self.before_cuts: Callable[[Table], Table] | None = None
        self.cuts: Mapping[str, NDArray[np.float64]] | None = None
        self._changed_schema: Schema | None = None
        #: Who runs the passes if they are shared with other scans, and for which rows.
        self.shared: Any = None
        self.place: Any = None
        #: What yields those rows alone, if the source of all rows can select them.
        self.selected: RowSource | None = None
        self.skipped: dict[str, str] = {}
        self.checkpoint: str | None = None
        self.passes = [0]
        self.progress: Progress | None = None
        #: Whether some weights are fractions, as far as rows were read.
        self.fractions = [False]
        #: Rows that the first scan is to draw on its way; see `expect_sample`.
        self.expected: RowSample | None = None
        #: The engine that counts the rows, if not the one that suits the source.
        self.engine: str | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return what travels to where the rows are: no counts, and nothing that only runs here."""
        gone: dict[str, Any] = {"memo": {}, "shared": None, "progress": None, "expected": None}
        return {**self.__dict__, **gone}

    def __repr__(self) -> str:
        rows = "rows not counted yet" if self._survey is None else f"{self._survey.rows} rows"
        return f"<Scan of {self.source.what}: {rows}, {len(self.decision.schema)} columns>"

    @property
    def is_certain(self) -> bool:
        """Whether all rows were scanned, so that the schema will not change."""
        return self._survey is not None

    @property
    def first_schema(self) -> Schema:
        """The schema as the first rows suggest it, or the certain one."""
        if self._changed_schema is not None:
            return self._changed_schema
        return self.decision.schema

    @property
    def reading_schema(self) -> Schema:
        """The schema by which the next pass codes rows."""
        return self.decision.schema if self.is_certain else self.decision.reading_schema

    @property
    def schema(self) -> Schema:
        """What the columns are, made certain by one scan of all rows."""
        self.make_certain()
        return self.first_schema

    @property
    def notes(self) -> tuple[Note, ...]:
        """What was assumed, dropped or found odd."""
        self.make_certain()
        notes = self.decision.notes
        if not self.fractions[0] or any(note.code == "S07" for note in notes):
            return notes
        return (*notes, Note.of("S07", self.weight))

    def add_note(self, note: Note) -> None:
        """Add a note, once."""
        if note not in self.decision.notes:
            self.decision = replace(self.decision, notes=(*self.decision.notes, note))

    def __len__(self) -> int:
        """Return the number of rows that can be used."""
        self.make_certain()
        assert self._survey is not None
        return self._survey.rows - sum(self._survey.dropped.values())

    @property
    def survey(self) -> Survey:
        """What a scan of all rows found out about the columns."""
        self.make_certain()
        assert self._survey is not None
        return self._survey

    @property
    def weight(self) -> str | None:
        """The column of weights, if there is one."""
        return self.options.weight

    @property
    def labelled(self) -> bool:
        """Whether the rows have a class."""
        return self.first_schema.target is not None

    @property
    def target_column(self) -> Column:
        """The class column."""
        target = self.schema.target
        if target is None:
            raise TableError(
                "Scan: a class column is needed here; this one has none.",
                hint="Name it with `target=`.",
            )
        return target

    @property
    def classes(self) -> tuple[Level, ...]:
        """The class labels in code order (sorted)."""
        return self.target_column.levels

    def make_certain(self) -> None:
        """Scan all rows once, if that was not done before."""
        if self._survey is None:
            from countwise.tables.scan_pass import run_pass

            run_pass(self, None, progress=self.progress)

    def map(
        self,
        change: Callable[[Table], Table],
        schema: Schema,
        cuts: Mapping[str, NDArray[np.float64]] | None = None,
    ) -> Scan:
        """Return the same rows with each block changed; `cuts` if that only cuts numbers."""
        self.make_certain()
        before = self.change
        return self._with(
            change=change if before is None else lambda table: change(before(table)),
            before_cuts=before,
            cuts=cuts,
            _changed_schema=schema,
            memo={},
        )

    def _with(self, **changes: Any) -> Scan:
        """Return the same scan but for these of its attributes."""
        other = object.__new__(Scan)
        other.__dict__.update(self.__dict__, **changes)
        return other

    def shared_by(self, passes: Any, place: Any, parts: int = 1) -> Scan:
        """Return a scan of some of the rows, those of a place, whose passes are run by `passes`.

        They scan this one, so their blocks are changed already. It may hold one of so many parts
        of the memory.
        """
        self.make_certain()
        plain: dict[str, Any] = dict.fromkeys(("change", "before_cuts", "cuts"))
        memory = self.memory // parts
        return self._with(**plain, memo={}, shared=passes, place=place, memory=memory)

    def turn(self) -> AbstractContextManager[Any]:
        """Give the turn to work that needs much memory, where fits run side by side."""
        return nullcontext() if self.shared is None else self.shared.turn

    def only(self, source: RowSource) -> Scan:
        """Return those of the rows that another source yields."""
        return self._with(source=source, memo={})

    def alone(self) -> Scan:
        """Return the same rows, selected by their source instead of sharing passes."""
        assert self.selected is not None, "its source selects no rows"
        return self._with(source=self.selected, shared=None, selected=None)

    def part(self, names: Collection[str]) -> ScanPart:
        """Return the same rows with the class and some columns only."""
        part = object.__new__(ScanPart)
        part.__dict__.update(self.__dict__)
        part.decision, part.memo = self.decision.restricted(names), {}
        part.expected = None
        return part

    def without_weight(self) -> Scan:
        """Return the same rows, each counted once."""
        if self.weight is None:
            return self
        self.make_certain()
        return self._with(options=replace(self.options, weight=None), memo={})

    def without_text(self) -> Scan:
        """Return the same rows without their texts, as models see them that count no words."""
        if not self.schema.text:
            return self
        other = self.map(Table.without_text, self.schema.without_text())
        other.memo = self.memo  # what was counted of the other columns stays true
        return other

    def with_notes(self, notes: Any) -> Scan:
        """Return the same rows with these notes instead."""
        return self._with(decision=replace(self.decision, notes=tuple(notes)))

    def pieces(self) -> Iterator[Piece]:
        """Yield the pieces in a fixed order."""
        return self.source.pieces()

    @property
    def block_rows(self) -> int:
        """How many rows a block may have, so that those in flight fit in memory."""
        from countwise.parallel import threads
        from countwise.tables.formats.blocks import MOST_THREADS

        flight = min(threads(), MOST_THREADS) + 1
        width = max(len(self.decision.schema), 1)
        rows = self.memory // (flight * width * _CELL_BYTES)
        return int(min(max(rows, _FEWEST_ROWS), _MOST_ROWS))

    def blocks(self, piece: Piece, rows: int | None = None) -> Iterator[Block]:
        """Yield the usable rows of a piece, coded by the certain schema, and their numbers."""
        from countwise.tables.code_levels import usable_rows

        self.make_certain()
        for raw in self.raw_blocks(piece, self.decision, rows):
            table = self.code_block(raw, self.decision.schema)
            keep, _ = usable_rows(table)
            block = Block(piece, table, raw.numbers, raw.weight)
            yield self.changed(block if keep.all() else block.take(keep))

    def changed(self, block: Block) -> Block:
        """Return a block as those see it who changed the scan."""
        return block if self.change is None else replace(block, table=self.change(block.table))

    def code(self, columns: Mapping[str, Raw], schema: Schema, rows: int) -> Table:
        """Code a block by a schema; levels that may still come are added to it."""
        from countwise.tables.read import code_columns

        now = self.decision
        return now.fold_rest(code_columns(columns, schema, rows, (), now.growing, now.given))

    def code_block(self, block: RawBlock, schema: Schema) -> Table:
        """Code a block by a schema; what is refused is named by its row in the source."""
        try:
            return self.code(block.columns, schema, block.rows)
        except TableError as error:

            def renumber(found: re.Match[str]) -> str:
                return f"row {self.source.number_of(block.piece, block.start + int(found[1]) - 1)}"

            text = re.sub(r"\brow (\d+)\b", renumber, error.message, count=1)
            raise _with_place(type(error)(text, hint=error.hint), block.piece) from None

    def raw_blocks(
        self, piece: Piece, decision: Decision, rows: int | None = None
    ) -> Iterator[RawBlock]:
        """Yield blocks of a piece, not coded yet."""
        options = decision.reading(self.options, self.source.open_ended)
        start = piece.first_row
        try:
            for raw in self.source.blocks(piece, options, rows or self.block_rows):
                count = len(raw)
                if count:
                    numbers = raw.numbers
                    numbers = np.arange(start, start + count) if numbers is None else numbers
                    columns = self._complete(raw, decision, piece, count)
                    block = RawBlock(piece, numbers, columns, count, start - piece.first_row)
                    yield block if self.weight is None else self._weighted(block, self.weight)
                start += count
        except TableError as error:
            raise _with_place(of_weights(error, self.weight), piece) from None

    def _complete(
        self, raw: RawTable, decision: Decision, piece: Piece, rows: int
    ) -> dict[str, Raw]:
        """Return the columns of a block, with those that it lacks as missing."""
        from countwise.tables.raw_columns import missing_numbers, missing_words

        columns = dict(raw.columns)
        if self.source.open_ended and not self.options.is_schema:
            for name in columns:
                if name not in decision.schema:
                    raise TableError(
                        f"scan: every column must occur in the first rows; got {name!r} first in "
                        f"{piece.name}.",
                        hint=f"Leave it out with `drop=[{name!r}]`, or pass a `schema=`",
                    )
        for column in decision.schema:
            name = column.name
            if name in columns or column.left_out or column.part_of:
                continue
            is_word = column.coded or column.kind == "text"
            columns[name] = missing_words(rows) if is_word else missing_numbers(rows)
        return columns

    def _weighted(self, block: RawBlock, name: str) -> RawBlock:
        """Take the weights of a block out of its columns; refuse what is none."""
        from countwise.tables.raw_columns import missing_numbers
        from countwise.tables.weights import bad_weight, is_weight

        found = {name: block.columns.pop(name, None) or missing_numbers(block.rows)}
        schema = Schema((Column(name, "numeric"),))
        weight = self.code_block(block._replace(columns=found), schema).values(name)
        wrong = ~is_weight(weight)
        if wrong.any():
            at = int(np.argmax(wrong))
            row = self.source.number_of(block.piece, block.start + at)
            raise bad_weight("scan", name, weight[at], f"row {row} of {block.piece.file}")
        self.fractions[0] |= bool(np.any(weight % 1))
        return block._replace(weight=weight)

    def survey_block(
        self,
        table: Table,
        raw: Mapping[str, Raw],
        dropped: Mapping[str, int],
        weight: NDArray[np.int64] | None = None,
    ) -> Survey:
        """Survey a block of rows; with a weight, each stands for so many, and none has numbers."""
        from countwise.tables.raw_columns import Numbers, Words
        from countwise.tables.survey import ColumnSurvey, Survey

        parts, limit, sketched = self.decision.with_parts, self.max_levels, self.decision.sketched
        columns = {}
        for name in table.names:
            column, found = table.schema[name], raw.get(name)
            marks, rounded = ({}, None)
            if isinstance(found, Numbers) and column.kind == "numeric":
                marks, rounded = dict(found.marks), self._rounded(found, column)
            columns[name] = ColumnSurvey.of(
                column, table, name in parts, limit, marks, rounded, weight, name in sketched
            )
        for name, held in raw.items():
            if name in columns and isinstance(held, Words) and held.marked:
                columns[name] = replace(columns[name], marked=True)
        rows = len(table) if weight is None else int(weight.sum())
        return Survey(rows, columns, dropped)

    def _rounded(self, raw: Numbers, column: Column) -> int | None:
        """Return a whole number that became inexact as a double; text files show it by its size."""
        from countwise.tables.text_values import is_marked

        if raw.rounded is not None or self.source.typed or is_marked(column):
            return raw.rounded
        if self.decision.suggested.get(column.name) is False:
            return None  # the first rows write them with a point or an exponent
        largest = float(np.fmax.reduce(np.abs(raw.values), initial=0.0))
        return int(largest) if 2.0**53 < largest < 1e300 else None

    def without_many_levels(self, schema: Schema) -> Schema:
        """Return the schema without the levels of columns that have too many to be told apart."""
        many = [c for c in schema if c.coded and c.width > 2 * self.max_levels]
        if any(column.kind == "target" for column in many):
            raise TableError(
                f"scan: column {schema.target.name!r} must be a class; it has more than "  # type: ignore[union-attr]
                f"{self.max_levels} different values.",
                hint="Name another `target=`.",
            )
        return schema.with_columns(column.with_levels(()) for column in many)

    def skip(self, piece: Piece, error: TableError) -> None:
        """Remember that a piece could not be read."""
        self.skipped[piece.name] = say_why(error)

    def settle(self, survey: Survey) -> bool:
        """Decide by a survey of all rows; return whether they must be scanned again."""
        from countwise.tables.survey_decisions import decide

        decision = decide(self.decision, survey, self.options, self.source, self.max_levels)
        again = decision.scan_again
        if again and self.source.once:
            raise TableError(
                f"scan: {self.source.what} can be read once, and {decision.why_again}, which needs "
                "a second scan.",
                hint=("pass a `schema=`", "scan a data set or files"),
            )
        self.decision = decision
        if not again:
            from countwise.tables.code_levels import check_attributes

            for name, reason in self.skipped.items():
                self.add_note(Note.of("S03", piece=name, reason=reason))
            check_attributes(decision.schema)
            self._survey = survey
        return again

    def expect_sample(self, rows: int, random_state: int = 0) -> None:
        """Let the first scan of all rows draw those that `sample` will be asked for."""
        from countwise.tables.scan_sample import RowSample

        if not self.is_certain and self.source.stable_rows:
            self.expected = RowSample(rows, random_state)

    def sample(self, rows: int, random_state: int = 0) -> Table:
        """Return so many rows as a table, drawn by their numbers: the same ones every time."""
        return self.sample_with_weights(rows, random_state)[0]

    def sample_with_weights(
        self, rows: int, random_state: int = 0
    ) -> tuple[Table, FloatArray | None]:
        """Return so many rows as `sample` does, and their weights if the scan has some."""
        from countwise.tables.scan_sample import draw

        table, weight = draw(self, rows, random_state)
        if len(table) < len(self):
            note = Note.of("S06", sample=len(table), rows=len(self))
            table = table.with_notes([*table.notes, note])
        return table, weight


class ScanPart(Scan):
    """Some columns of a scan; what is found out about them is for the whole scan to decide."""

    def settle(self, survey: Survey) -> bool:
        """Keep a survey of all rows."""
        self._survey = survey
        return False


def say_why(error: TableError) -> str:
    """Return why a piece could not be read, as the note on it says."""
    return error.message.removeprefix(f"{error.who}: ")


def _with_place(error: TableError, piece: Piece) -> TableError:
    """Return the error with the piece it occurred in, if it does not name the file."""
    if piece.file in error.message:
        return error
    text = re.sub(r"^(Table|scan): ", "", error.message)
    return type(error)(f"scan: in {piece.file}: {text}", hint=error.hint)
