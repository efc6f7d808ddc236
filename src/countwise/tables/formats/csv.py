"""CSV and other delimited files, read by Arrow with a type for each column."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from countwise.errors import TableError
from countwise.notes import Note
from countwise.numeric import COMMA_NUMBER, NUMBER, WHOLE
from countwise.tables.formats.csv_dialect import Dialect, header_names, sniff
from countwise.tables.formats.source import Source
from countwise.tables.infer_schema import plain_kind
from countwise.tables.raw_columns import Numbers, Raw, RawTable, Words, from_arrow, missing_numbers
from countwise.tables.read_options import ReadOptions
from countwise.tables.text_values import has_commas, is_marked, numbers_among, settle

_CONVERSION = re.compile(
    r"In CSV column #(\d+):.*?conversion error to (\w+): invalid value '(.*)'", re.DOTALL
)
_BLOCK = 1 << 20
_LARGEST_BLOCK = (1 << 31) - 1
_MAX_ATTEMPTS = 3
_PLAIN_WHOLE = re.compile(r"-?\d{1,18}", re.ASCII)
_EXACT = 2.0**53


def names(source: Source, options: ReadOptions) -> list[str]:
    """Return the names of the columns, from the header."""
    return list(header_names(source, options))


def read(source: Source, options: ReadOptions) -> RawTable:
    """Read a whole delimited file."""
    dialect = sniff(source, options)
    wanted = [at for at, name in enumerate(dialect.names) if not options.column(name).left_out]
    reader = _Reader(source, dialect, options, wanted)
    table = reader.read()
    if not len(table):
        raise TableError(f"Table: {source.path!r} must hold rows; there are none below its header.")
    doubtful = reader.find_doubtful(table)
    again = reader.read(doubtful) if doubtful else None
    columns = dict[str, Raw]()
    for at, name in enumerate(dialect.names):
        if options.column(name).left_out:
            columns[name] = missing_numbers(len(table))
        else:
            cells = table if again is None or at not in doubtful else again
            columns[name] = reader.convert(at, cells.column(str(at)))
    raw = RawTable(columns, dialect.notes)
    return replace(raw, notes=_with_comma(dialect, bool(raw.decimal)))


def blocks(
    source: Source, options: ReadOptions, rows: int, dialect: Dialect | None = None
) -> Iterator[RawTable]:
    """Read a delimited file block by block; its first records decide the kinds to be inferred."""
    dialect = dialect or sniff(source, options)
    needed = {name: at for at, name in enumerate(dialect.names) if options.is_needed(name)}
    wanted = [at for name, at in needed.items() if not options.column(name).left_out]
    notes = dialect.notes
    if any(options.column(name).kind == "infer" for name in needed):
        options, comma = _declare(dialect, options)
        notes = _with_comma(dialect, comma)
    reader, done = _Reader(source, dialect, options, wanted), 0
    while True:
        try:
            for table in _rebatch(reader.stream(), rows, done):
                if reader.find_doubtful(table):
                    break
                columns = {
                    name: missing_numbers(len(table))
                    if options.column(name).left_out
                    else reader.convert(at, table.column(str(at)), done)
                    for name, at in needed.items()
                }
                done += len(table)
                yield RawTable(columns, notes)
            else:
                return
        except _arrow_invalid() as error:
            reader.loosen(error)


class _Reader:
    """Reads a file by Arrow, again with a looser type when a cell does not comply with its own."""

    def __init__(
        self, source: Source, dialect: Dialect, options: ReadOptions, columns: Sequence[int]
    ) -> None:
        self._source, self._dialect, self._options = source, dialect, options
        # One column at least is read, because the rows must be counted.
        self._columns = list(columns) or [0]
        marks = {at: options.marks(dialect.names[at]) for at in self._columns}
        self._nulls = Counter(marks.values()).most_common(1)[0][0]
        whole = [record for record in dialect.records if len(record) == len(dialect.names)]
        self._types = ["text"] * len(dialect.names)
        for at in columns:
            if marks[at] == self._nulls:
                cells = {record[at].strip() for record in whole} - marks[at]
                self._types[at] = self._type_of(at, cells)
        if "comma" in self._types and "float" in self._types:
            # Arrow knows one decimal sign at a time; the rarer way is read as text.
            self._types = ["text" if kind == "comma" else kind for kind in self._types]
        longest = max((sum(map(len, record)) for record in dialect.records), default=0)
        self._block = max(_BLOCK, min(longest * 32, 1 << 26))
        self._attempts = 0

    def _type_of(self, at: int, cells: set[str]) -> str:
        name = self._dialect.names[at]
        column = self._options.column(name)
        if column.coded or is_marked(column) or not (cells or column.kind == "numeric"):
            return "text"
        is_inferred = column.kind == "infer" or self._options.inferred.get(name)
        if is_inferred and at in self._dialect.zeros:
            return "text"  # codes, perhaps, which numbers would not show
        if all(WHOLE.fullmatch(cell) for cell in cells):
            # Arrow takes 0x1F for a whole number and +1 for none, so such are not left to it.
            plain = all(_PLAIN_WHOLE.fullmatch(cell) for cell in cells)
            return "whole" if plain and not self._dialect.scan.hexadecimal else "text"
        if column.decimal != "," and all(NUMBER.fullmatch(cell) for cell in cells):
            return "float"
        comma = column.decimal == "," or (
            column.decimal is None
            and name not in self._options.inferred
            and has_commas(list(cells), self._dialect.separator)
        )
        return "comma" if comma and all(COMMA_NUMBER.fullmatch(cell) for cell in cells) else "text"

    def read(self, columns: Sequence[int] | None = None) -> Any:
        """Return the columns as an Arrow table."""
        import pyarrow.csv as arrow_csv

        while True:
            try:
                with self._source.arrow(self._dialect.start) as file:
                    return arrow_csv.read_csv(file, **self._arrow_options(columns))
            except _arrow_invalid() as error:
                self.loosen(error)
                self._attempts += 1

    def stream(self) -> Iterator[Any]:
        """Yield the columns as Arrow batches."""
        import pyarrow.csv as arrow_csv

        with (
            self._source.arrow(self._dialect.start) as file,
            arrow_csv.open_csv(file, **self._arrow_options()) as batches,
        ):
            yield from batches

    def _arrow_options(
        self,
        columns: Sequence[int] | None = None,
        types: Sequence[str] | None = None,
        skipped: list[Any] | None = None,
    ) -> dict[str, Any]:
        """Return the options of Arrow's reader; rows it finds odd are added to `skipped`."""
        import pyarrow as pa
        import pyarrow.csv as arrow_csv

        columns, types = columns or self._columns, types or self._types

        def skip_blank(row: Any) -> str:
            if skipped is not None:
                skipped.append(row)
            return "skip" if _is_blank(row) else "error"

        arrow_types = {
            "whole": pa.int64(),
            "float": pa.float64(),
            "comma": pa.float64(),
            "text": pa.dictionary(pa.int32(), pa.string()),
        }
        return {
            "read_options": arrow_csv.ReadOptions(
                column_names=[str(at) for at in range(len(types))],
                block_size=self._block,
                # One block leaves nothing to do for other threads.
                use_threads=skipped is None and self._dialect.scan.size > self._block,
                encoding=self._dialect.encoding,
            ),
            "parse_options": arrow_csv.ParseOptions(
                delimiter=self._dialect.separator,
                newlines_in_values=self._dialect.scan.quotes > 0,
                invalid_row_handler=skip_blank,
            ),
            "convert_options": arrow_csv.ConvertOptions(
                column_types={str(at): arrow_types[types[at]] for at in columns},
                include_columns=[str(at) for at in columns],
                null_values=sorted(self._nulls),
                decimal_point="," if "comma" in types else ".",
                strings_can_be_null=False,
            ),
        }

    def loosen(self, error: Exception) -> None:
        """Change the types so that the next attempt gets past the error, or refuse the file."""
        text = str(error)
        found = _CONVERSION.search(text)
        if found:
            at, kind, value = int(found[1]), found[2], found[3]
            fraction = NUMBER.fullmatch(value) is not None and not WHOLE.fullmatch(value)
            decimal = self._options.column(self._dialect.names[at]).decimal
            pointed = "comma" not in self._types and decimal != ","
            looser = "float" if kind == "int64" and fraction and pointed else "text"
            if looser == self._types[at]:
                raise TableError(f"Table: {self._source.path!r} cannot be read ({text}).") from None
            self._types[at] = looser
            if self._attempts >= _MAX_ATTEMPTS:
                self._types = ["text"] * len(self._types)
            return
        if "straddl" in text and self._block < _LARGEST_BLOCK:
            self._block = min(self._block * 16, _LARGEST_BLOCK)
            return
        self._refuse_ragged()
        raise TableError(
            f"Table: {self._source.path!r} cannot be read ({text.splitlines()[0]}). Check the file."
        ) from None

    def _refuse_ragged(self) -> None:
        """Read once more on one thread, which counts the rows, and name the first ragged one."""
        import pyarrow.csv as arrow_csv

        odd: list[Any] = []
        options = self._arrow_options(self._columns[:1], ["text"] * len(self._types), odd)
        try:
            with self._source.arrow(self._dialect.start) as file:
                for _ in arrow_csv.open_csv(file, **options):
                    pass
        except _arrow_invalid():
            pass
        if not odd or _is_blank(odd[-1]):
            return
        row = odd[-1]
        number = row.number - (len(odd) - 1)
        shown = row.text if len(row.text) <= 60 else row.text[:57] + "..."
        separator = self._dialect.separator
        raise TableError(
            f"Table: every row of {self._source.path!r} must hold {row.expected_columns} cells; "
            f"row {number} holds {row.actual_columns} ({shown!r}).",
            hint=(
                "correct that row",
                f"pass `separator=` if cells are not separated by {separator!r}",
            ),
        ) from None

    def find_doubtful(self, table: Any) -> list[int]:
        """Return the columns that must be read as text after all, which they are from now on."""
        import pyarrow as pa
        import pyarrow.compute as pc

        # Arrow takes NAN for a number, rounds large integers, and misses the mark " -999".
        marks = pa.array(sorted(numbers_among(self._nulls, comma=True)), pa.float64())
        found = []
        for at in self._columns:
            if self._types[at] == "text":
                continue
            column = table.column(str(at))
            ends = pc.min_max(column).as_py().values()
            large = any(end is not None and _EXACT <= abs(end) < np.inf for end in ends)
            fraction = self._types[at] != "whole"
            if (fraction and (large or pc.any(pc.is_nan(column)).as_py())) or (
                len(marks)
                and pc.any(pc.is_in(pc.cast(column, pa.float64(), safe=False), marks)).as_py()
            ):
                found.append(at)
        for at in found:
            self._types[at] = "text"
        return found

    def convert(self, at: int, column: Any, offset: int = 0) -> Raw:
        """Turn an Arrow column into a raw one."""
        name, kind = self._dialect.names[at], self._types[at]
        if kind == "whole":
            return from_arrow(name, column)
        if kind == "text":
            words = from_arrow(name, column)
            assert isinstance(words, Words)
            return settle(name, words, self._options, self._dialect.separator, offset)
        values = np.ascontiguousarray(column.to_numpy(), dtype=np.float64)
        found_comma = kind == "comma" and self._options.column(name).decimal is None
        return Numbers(values, written={"decimal": ","} if found_comma else {})


def _is_blank(row: Any) -> bool:
    # A line of tabs has nothing but blanks too, but it has cells. A comment is as good as blank.
    return (row.actual_columns == 1 and not row.text.strip()) or row.text.startswith("#")


def _arrow_invalid() -> type[Exception]:
    import pyarrow as pa

    invalid: type[Exception] = pa.ArrowInvalid
    return invalid


def _rebatch(batches: Iterator[Any], rows: int, skip: int) -> Iterator[Any]:
    """Yield tables of `rows` rows from batches of any size, after passing over `skip` rows."""
    import pyarrow as pa

    kept: list[Any] = []
    held = 0
    for batch in batches:
        if skip >= len(batch):
            skip -= len(batch)
            continue
        kept.append(batch.slice(skip))
        held, skip = held + len(batch) - skip, 0
        if held < rows:
            continue
        table = pa.Table.from_batches(kept)
        for start in range(0, held - held % rows, rows):
            yield table.slice(start, rows)
        kept = table.slice(held - held % rows).to_batches()
        held %= rows
    if held:
        yield pa.Table.from_batches(kept)


def _declare(dialect: Dialect, options: ReadOptions) -> tuple[ReadOptions, bool]:
    """Declare every column as what its first cells are; say whether a decimal comma was found."""
    columns: dict[str | int, Any] = {}
    comma = False
    whole = [record for record in dialect.records if len(record) == len(dialect.names)]
    for at, name in enumerate(dialect.names):
        column = options.column(name)
        if not column.left_out:
            place: dict[str, int] = {}
            codes = [place.setdefault(record[at], len(place)) for record in whole]
            words = Words(np.asarray(codes, np.int64), tuple(place))
            raw = settle(name, words, options, dialect.separator)
            kind = "text" if column.kind == "text" else plain_kind(raw)
            column = options.settle(name, kind, raw)
            comma = comma or getattr(raw, "written", {}) == {"decimal": ","}
        columns[name] = column
    return replace(options, columns=columns, target=None), comma


def _with_comma(dialect: Dialect, comma: bool) -> tuple[Note, ...]:
    if not comma:
        return dialect.notes
    words = " and decimal comma were"
    assumed = Note.of("F01", separator=dialect.separator, decimal=words)
    return (assumed, *(note for note in dialect.notes if note.code != "F01"))
