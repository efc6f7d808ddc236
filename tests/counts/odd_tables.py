"""Tables of odd cells, as databases hold them: marks, blanks, case, NaN, dates, decimals."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from io import BytesIO
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st

import countwise as cw
from countwise.errors import CountwiseError

ZONE = timezone(timedelta(hours=2))
TEXTS = ["a", "A", "a ", " a", "", " ", "?", "NA", "nan", "é", "e\u0301", "ß", "yes", "b", None]
LIKE_NUMBERS = ["1", "2.5", "-", "?", "1,5", "$7", "12%", "2021-03-04", "x", None]
CELLS: dict[str, tuple[list, pa.DataType]] = {
    "texts": (TEXTS, pa.string()),
    "like numbers": (LIKE_NUMBERS, pa.string()),
    "flags": ([True, False, None], pa.bool_()),
    "codes": ([0, 1, 2, 7, -999, None], pa.int64()),
    "large": ([2**53 + 3, 2**53, -(2**60), None], pa.int64()),
    "numbers": ([1.5, -0.0, 0.0, float("nan"), 1e9, 1e9 + 1e-6, -3.0, None], pa.float64()),
    "decimals": (
        [Decimal("1.25"), Decimal("-3.50"), Decimal("100.00"), None],
        pa.decimal128(9, 2),
    ),
    "times": (
        [
            datetime(2021, 1, 1, 0, 30, tzinfo=ZONE),
            datetime(2021, 6, 1, 12, tzinfo=UTC),
            datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC),
            None,
        ],
        pa.timestamp("us", "UTC"),
    ),
    "days": ([date(2020, 2, 29), date(2021, 1, 1), date(2023, 7, 5), None], pa.date32()),
    "no texts": ([None], pa.string()),
    "no numbers": ([None], pa.float64()),
}
CLASSES: list[tuple[list, pa.DataType]] = [
    (["yes", "no", "?", "", None], pa.string()),
    ([True, False, None], pa.bool_()),
    ([0, 1, 5, None], pa.int64()),
]
OPTIONS: list[dict] = [
    {},
    {"nominal": ["codes"]},
    {"missing": [-999, "b"]},
    {"when_missing": "value"},
    {"when_missing": {"texts": "drop"}},
    {"fold_case": True},
    {"identifiers": "keep", "nominal": ["numbers"]},
    {"drop": ["texts"], "numeric": ["codes"]},
]


def fixed_table(seed: int) -> tuple[pa.Table, dict]:
    """Return one of a series of tables and options, the same every time."""
    random = Random(seed)
    rows = random.choice([1, 2, 9, 60, 300])
    names = sorted({*random.sample(sorted(CELLS), 5), "texts", "codes", "numbers"})
    data = {
        name: pa.array(random.choices(CELLS[name][0], k=rows), CELLS[name][1]) for name in names
    }
    cells, kind = CLASSES[seed % len(CLASSES)]
    data["y"] = pa.array(random.choices(cells, k=rows), kind)
    data["w"] = pa.array(random.choices(range(10), k=rows), pa.int32())
    return pa.table(data), OPTIONS[seed % len(OPTIONS)]


@st.composite
def odd_tables(draw: st.DrawFn) -> tuple[pa.Table, dict]:
    """Draw a table and options of `read` for it."""
    rows = draw(st.integers(1, 40))
    names = draw(st.lists(st.sampled_from(sorted(CELLS)), min_size=1, max_size=6, unique=True))
    names = sorted({*names, "texts", "codes", "numbers"})

    def column(cells: list, kind: pa.DataType) -> pa.Array:
        return pa.array(draw(st.lists(st.sampled_from(cells), min_size=rows, max_size=rows)), kind)

    data = {name: column(*CELLS[name]) for name in names}
    data["y"] = column(*draw(st.sampled_from(CLASSES)))
    data["w"] = column(list(range(10)), draw(st.sampled_from([pa.int32(), pa.float64()])))
    return pa.table(data), draw(st.sampled_from(OPTIONS))


def singles(schema: cw.Schema) -> cw.Plan:
    """Plan every column by itself."""
    return cw.Plan.each(schema, "both")


def plans(schema: cw.Schema) -> cw.Plan:
    """Plan everything that can be counted of a table."""
    return singles(schema) | cw.Plan.pairs(schema)


def check_like_read(source, given: pa.Table, options: dict, **places) -> None:
    """Check that a source counts like the same rows in memory, by either engine.

    Column `w` holds whole numbers, which are left out and then taken as weights.
    """
    # A frame in memory judges kinds before marks are made missing; a file judges them after that,
    # as do all sources outside memory.
    with BytesIO() as file:
        pq.write_table(given, file)
        content = file.getvalue()
    options = dict(options)
    drop = ["w", *options.pop("drop", [])]
    try:
        known = cw.read(BytesIO(content), target="y", drop=drop, **options)
    except CountwiseError:
        for engine in ("pushdown", "stream"):
            try:
                cw.count(cw.scan(source, "y", drop=drop, **places, **options), engine=engine)
            except CountwiseError:
                continue
            raise AssertionError("read refuses these rows, and scan does not") from None
        return
    for plan_of, engine in ((singles, None), (plans, None), (plans, "stream")):
        rows = cw.scan(source, target="y", drop=drop, **places, **options)
        counts = cw.count(rows, plan_of, engine=engine)
        assert rows.schema == known.schema
        assert len(rows) == len(known)
        assert counts == cw.count(known, plan_of(known.schema))
        assert {n.code for n in rows.notes} - {"S01"} == {n.code for n in known.notes}
    # What is certain is counted column by column, too.
    rows.memo.clear()
    assert cw.count(rows, singles) == cw.count(known, singles(known.schema))
    options["numeric"] = ["w", *options.get("numeric", [])]
    weight = cw.read(BytesIO(content), target="y", drop=drop[1:], **options).values("w")
    options["numeric"] = options["numeric"][1:]
    for engine in (None, "stream"):
        rows = cw.scan(source, target="y", weight="w", drop=drop[1:], **places, **options)
        counts = cw.count(rows, plans, engine=engine)
        assert counts == cw.count(known, plans(known.schema), sample_weight=weight)
