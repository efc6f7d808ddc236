"""CSV and its relatives: one pass of Arrow's reader, with types settled beforehand.

The types of the columns are decided on the first records and the whole file is read with them, so
that the fast path never looks at a row in Python. If a later cell does not fit, the file is read
again with that column as text, and the whole column decides. Blanks around a cell never count.
Lines that are empty are passed over.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from countwise.errors import TableError
from countwise.tables.cells import NUMBER, settle
from countwise.tables.csv_plan import Plan, loosened, options, plan_reading
from countwise.tables.dialect import Dialect, sniff
from countwise.tables.notes import Note
from countwise.tables.raw import Numbers, Raw, Words, from_arrow
from countwise.tables.reading import Parsed, Reading
from countwise.tables.source import Source

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
    text = f"Separator {dialect.separator!r} and decimal comma were assumed."
    return (Note("F01", None, text), *(note for note in dialect.notes if note.code != "F01"))
