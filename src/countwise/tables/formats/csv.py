"""How Arrow is told to read a delimited file, and what is done when the file does not comply."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from countwise.errors import TableError
from countwise.notes import Note
from countwise.tables.formats.csv_dialect import Dialect, sniff
from countwise.tables.formats.source import Source
from countwise.tables.raw_columns import Numbers, Raw, Words, from_arrow
from countwise.tables.read_options import Parsed, Reading
from countwise.tables.text_values import COMMA, NUMBER, WHOLE, looks_comma, settle

_CONVERSION = re.compile(
    r"In CSV column #(\d+):.*?conversion error to (\w+): invalid value '(.*)'", re.DOTALL
)
_BLOCK = 1 << 20
_LARGEST_BLOCK = (1 << 31) - 1
_PATIENCE = 3
_PLAIN_WHOLE = re.compile(r"-?\d{1,18}", re.ASCII)


@dataclass(frozen=True)
class Plan:
    """How Arrow is to read the file: a type per column (whole, float, comma or text)."""

    source: Source
    dialect: Dialect
    reading: Reading
    types: tuple[str, ...]
    nulls: frozenset[str]
    columns: tuple[int, ...]
    block: int = _BLOCK

    @property
    def point(self) -> str:
        """The decimal sign that Arrow is told."""
        return "," if "comma" in self.types else "."

    def with_text(self, columns: Sequence[int]) -> Plan:
        """Return the plan with these columns read as text."""
        chosen = set(columns)
        types = tuple("text" if at in chosen else kind for at, kind in enumerate(self.types))
        return replace(self, types=types)


def plan_reading(
    source: Source, dialect: Dialect, reading: Reading, columns: Sequence[int]
) -> Plan:
    """Settle how each column is read, from the first records and what the caller declares."""
    marks = {at: reading.marks_of(dialect.names[at]) for at in columns}
    nulls = Counter(marks.values()).most_common(1)[0][0]
    whole = [record for record in dialect.records if len(record) == len(dialect.names)]
    types = ["text"] * len(dialect.names)
    for at in columns:
        if marks[at] == nulls and not reading.skips(dialect.names[at]):
            cells = {record[at].strip() for record in whole} - marks[at]
            types[at] = _kind(dialect.names[at], cells, dialect, reading)
    if "comma" in types and "float" in types:
        # Arrow knows one decimal sign at a time; the rarer way is read as text.
        types = ["text" if kind == "comma" else kind for kind in types]
    longest = max((sum(map(len, record)) for record in dialect.records), default=0)
    block = max(_BLOCK, min(longest * 32, 1 << 26))
    return Plan(source, dialect, reading, tuple(types), nulls, tuple(columns), block)


def _kind(name: str, cells: set[str], dialect: Dialect, reading: Reading) -> str:
    if name in reading.text or name in reading.dates:
        return "text"
    if not cells and name not in reading.number:
        return "text"
    if all(WHOLE.fullmatch(cell) for cell in cells):
        # Arrow takes 0x1F for a whole number and +1 for none, so such are not left to it.
        plain = all(_PLAIN_WHOLE.fullmatch(cell) for cell in cells)
        return "whole" if plain and not dialect.scan.hexadecimal else "text"
    sign = reading.decimal.get(name)
    if sign != "," and all(NUMBER.fullmatch(cell) for cell in cells):
        return "float"
    comma = sign == "," or (sign is None and looks_comma(list(cells), dialect.separator))
    return "comma" if comma and all(COMMA.fullmatch(cell) for cell in cells) else "text"


def _is_blank(row: Any) -> bool:
    # A line of tabs has nothing but blanks too, but it has cells.
    return row.actual_columns == 1 and not row.text.strip()


def options(plan: Plan, threads: bool, skipped: list[Any]) -> dict[str, Any]:
    """Return the options of Arrow's reader; rows it finds odd are added to `skipped`."""
    import pyarrow as pa
    import pyarrow.csv as arrow_csv

    def blank(row: Any) -> str:
        skipped.append(row)
        return "skip" if _is_blank(row) else "error"

    made = {
        "whole": pa.int64(),
        "float": pa.float64(),
        "comma": pa.float64(),
        "text": pa.dictionary(pa.int32(), pa.string()),
    }
    return {
        "read_options": arrow_csv.ReadOptions(
            column_names=[str(at) for at in range(len(plan.types))],
            block_size=plan.block,
            use_threads=threads,
            encoding=plan.dialect.encoding,
        ),
        "parse_options": arrow_csv.ParseOptions(
            delimiter=plan.dialect.separator,
            newlines_in_values=plan.dialect.scan.quotes > 0,
            invalid_row_handler=blank,
        ),
        "convert_options": arrow_csv.ConvertOptions(
            column_types={str(at): made[plan.types[at]] for at in plan.columns},
            include_columns=[str(at) for at in plan.columns],
            null_values=sorted(plan.nulls),
            decimal_point=plan.point,
            strings_can_be_null=False,
        ),
    }


def loosened(plan: Plan, why: Exception, attempt: int) -> Plan:
    """Return a plan that gets past the error, or raise what the file is to be blamed for."""
    text = str(why)
    found = _CONVERSION.search(text)
    if found:
        at, kind, value = int(found[1]), found[2], found[3]
        types = list(plan.types)
        fraction = NUMBER.fullmatch(value) is not None and not WHOLE.fullmatch(value)
        pointed = plan.point == "." == plan.reading.decimal.get(plan.dialect.names[at], ".")
        types[at] = "float" if kind == "int64" and fraction and pointed else "text"
        if types[at] == plan.types[at]:
            raise TableError(f"Table: {plan.source.path!r} cannot be read ({text}).") from None
        if attempt >= _PATIENCE:
            types = ["text"] * len(types)
        return replace(plan, types=tuple(types))
    if "straddl" in text and plan.block < _LARGEST_BLOCK:
        return replace(plan, block=min(plan.block * 16, _LARGEST_BLOCK))
    _refuse_ragged(plan)
    raise TableError(
        f"Table: {plan.source.path!r} cannot be read ({text.splitlines()[0]}). Check the file."
    ) from None


def _refuse_ragged(plan: Plan) -> None:
    """Read once more on one thread, which counts the rows, and name the first ragged one."""
    import pyarrow as pa
    import pyarrow.csv as arrow_csv

    odd: list[Any] = []
    text = replace(plan, types=("text",) * len(plan.types), columns=plan.columns[:1])
    try:
        with plan.source.arrow(plan.dialect.start) as file:
            for _ in arrow_csv.open_csv(file, **options(text, False, odd)):
                pass
    except pa.ArrowInvalid:
        pass
    if not odd or _is_blank(odd[-1]):
        return
    row = odd[-1]
    number = row.number - (len(odd) - 1)
    shown = row.text if len(row.text) <= 60 else row.text[:57] + "..."
    raise TableError(
        f"Table: every row of {plan.source.path!r} must hold {row.expected_columns} cells, but row "
        f"{number} holds {row.actual_columns} ({shown!r}). Mend that row, or pass separator= if "
        f"{plan.dialect.separator!r} is not what separates the cells."
    ) from None


_EXACT = 2.0**53


def parse_delimited(source: Source, reading: Reading, usual: str = ",") -> Parsed:
    """Read a whole delimited file; `usual` is the separator its extension promises."""
    dialect = sniff(source, reading, usual)
    looked = [at for at, name in enumerate(dialect.names) if not reading.skips(name)]
    # One column at least is read, because the rows must be counted.
    plan = plan_reading(source, dialect, reading, looked or [0])
    plan, table = _read(plan)
    if not len(table):
        raise TableError(
            f"Table: {source.path!r} must hold rows, but there are none below its header."
        )
    doubtful = _doubtful(plan, table)
    again = None
    if doubtful:
        plan = plan.with_text(doubtful)
        _, again = _read(replace(plan, columns=doubtful))
    columns, decimal = dict[str, Raw](), dict[str, str]()
    for at, name in enumerate(dialect.names):
        if reading.skips(name):
            columns[name] = _left_out(table)
            continue
        held = again if again is not None and at in doubtful else table
        columns[name], comma = _column(plan, at, held.column(str(at)))
        if comma:
            decimal[name] = ","
    return Parsed(columns, _with_comma(dialect, decimal), {}, decimal)


def parse_delimited_blocks(
    source: Source, reading: Reading, rows: int, usual: str = ",", dialect: Dialect | None = None
) -> Iterator[Parsed]:
    """Read a delimited file block by block; the kinds of the columns never change on the way.

    If the caller declares columns, only those are read. If none is declared, all are, and the
    first records decide what they hold. A caller that knows the dialect hands it over.
    """
    dialect = dialect or sniff(source, reading, usual)
    notes, decimal = dialect.notes, dict[str, str]()
    place = {name: at for at, name in enumerate(dialect.names) if reading.wants(name)}
    looked = [at for name, at in place.items() if not reading.skips(name)]
    if not reading.declared:
        reading, decimal = _declare(dialect, reading)
        notes = _with_comma(dialect, decimal)
    plan, done = plan_reading(source, dialect, reading, looked or [0]), 0
    while True:
        try:
            for table in _rebatch(_stream(plan), rows, done):
                doubtful = _doubtful(plan, table)
                if doubtful:
                    plan = plan.with_text(doubtful)
                    break
                columns = {
                    name: _left_out(table)
                    if reading.skips(name)
                    else _column(plan, at, table.column(str(at)), done)[0]
                    for name, at in place.items()
                }
                done += len(table)
                yield Parsed(columns, notes, {}, decimal)
            else:
                return
        except _arrow_invalid() as why:
            plan = loosened(plan, why, 0)


def _left_out(table: Any) -> Numbers:
    return Numbers(np.full(len(table), np.nan))


def _arrow_invalid() -> type[Exception]:
    import pyarrow as pa

    invalid: type[Exception] = pa.ArrowInvalid
    return invalid


def _read(plan: Plan) -> tuple[Plan, Any]:
    import pyarrow as pa
    import pyarrow.csv as arrow_csv

    attempt = 0
    while True:
        try:
            with plan.source.arrow(plan.dialect.start) as file:
                return plan, arrow_csv.read_csv(file, **options(plan, True, []))
        except pa.ArrowInvalid as why:
            plan = loosened(plan, why, attempt)
            attempt += 1


def _stream(plan: Plan) -> Iterator[Any]:
    import pyarrow.csv as arrow_csv

    with (
        plan.source.arrow(plan.dialect.start) as file,
        arrow_csv.open_csv(file, **options(plan, True, [])) as batches,
    ):
        yield from batches


def _doubtful(plan: Plan, table: Any) -> tuple[int, ...]:
    """Return the columns that must be looked at as text after all.

    Arrow takes ``NAN`` for a number, rounds large integers, and does not see a missing mark such
    as -999 if blanks surround it.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    marks = [
        float(m.replace(",", ".")) for m in plan.nulls if NUMBER.fullmatch(m.replace(",", "."))
    ]
    found = []
    for at in plan.columns:
        column = table.column(str(at))
        if plan.types[at] == "text":
            continue
        ends = pc.min_max(column).as_py().values()
        large = any(end is not None and _EXACT <= abs(end) < np.inf for end in ends)
        fraction = plan.types[at] != "whole"
        if (fraction and (large or pc.any(pc.is_nan(column)).as_py())) or (
            marks
            and pc.any(
                pc.is_in(pc.cast(column, pa.float64(), safe=False), pa.array(marks, pa.float64()))
            ).as_py()
        ):
            found.append(at)
    return tuple(found)


def _column(plan: Plan, at: int, column: Any, offset: int = 0) -> tuple[Raw, bool]:
    name, kind = plan.dialect.names[at], plan.types[at]
    if kind == "whole":
        return from_arrow(name, column), False
    if kind == "text":
        words = from_arrow(name, column)
        assert isinstance(words, Words)
        return settle(name, words, plan.reading, plan.dialect.separator, offset)
    values = np.ascontiguousarray(column.to_numpy(), dtype=np.float64)
    return Numbers(values), kind == "comma" and name not in plan.reading.decimal


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


def _declare(dialect: Dialect, reading: Reading) -> tuple[Reading, dict[str, str]]:
    """Declare every column as what its first cells are."""
    text, number, dates = set[str](), set[str](), set[str]()
    decimal = dict[str, str]()
    whole = [record for record in dialect.records if len(record) == len(dialect.names)]
    for at, name in enumerate(dialect.names):
        if reading.skips(name):
            continue
        place: dict[str, int] = {}
        codes = [place.setdefault(record[at], len(place)) for record in whole]
        words = Words(np.asarray(codes, np.int64), tuple(place))
        raw, comma = settle(name, words, reading, dialect.separator)
        if isinstance(raw, Words):
            text.add(name)
        else:
            (dates if raw.dates else number).add(name)
        if comma:
            decimal[name] = ","
    pinned = replace(
        reading,
        text=frozenset(text),
        number=frozenset(number),
        dates=frozenset(dates),
        decimal={**reading.decimal, **decimal},
    )
    return pinned, decimal


def _with_comma(dialect: Dialect, decimal: dict[str, str]) -> tuple[Note, ...]:
    if not decimal:
        return dialect.notes
    words = " and decimal comma were"
    assumed = Note.of("F01", separator=dialect.separator, decimal=words)
    return (assumed, *(note for note in dialect.notes if note.code != "F01"))
