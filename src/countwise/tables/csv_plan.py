"""How Arrow is told to read a delimited file, and what is done when the file does not comply."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from countwise.errors import TableError
from countwise.tables.cells import COMMA, NUMBER, WHOLE, looks_comma
from countwise.tables.dialect import Dialect
from countwise.tables.reading import Reading
from countwise.tables.source import Source

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
