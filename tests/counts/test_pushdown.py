"""Databases and lazy frames count like rows in memory (law 4), wherever the rows are grouped."""

from __future__ import annotations

import duckdb
import ibis
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.counts.odd_tables import check_like_read, odd_tables

import countwise as cw
from countwise.errors import CountwiseError
from countwise.tables import scan as scan_module

CONNECTION = duckdb.connect()
IBIS = ibis.duckdb.from_connection(CONNECTION)


def relation(table: pa.Table):
    return CONNECTION.from_arrow(table)


def lazy_frame(table: pa.Table):
    return pl.from_arrow(table).lazy()


def ibis_table(table: pa.Table):
    return ibis.memtable(table)


SYSTEMS = {"duckdb": relation, "polars": lazy_frame, "ibis": ibis_table}


@pytest.mark.parametrize("system", SYSTEMS)
@settings(max_examples=25)
@given(
    drawn=odd_tables(),
    block=st.sampled_from([1, 2, 7, 1 << 18]) | st.integers(1, 1 << 18),
    threads=st.integers(1, 9),
)
def test_odd_tables_count_like_rows_in_memory(system, drawn, block, threads):
    table, options = drawn
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scan_module.Scan, "block_rows", block)
        patch.setenv("COUNTWISE_THREADS", str(threads))
        check_like_read(SYSTEMS[system](table), table, options)


def nominal_rows(rows: int = 600) -> pa.Table:
    return pa.table(
        {
            "a": [f"a{i % 3}" for i in range(rows)],
            "b": [f"b{i % 5}" for i in range(rows)],
            "x": [float(i % 11) for i in range(rows)],
            "y": [f"y{i * i % 4}" for i in range(rows)],
        }
    )


def engine_note(rows: cw.Scan) -> str:
    return next(str(note) for note in rows.notes if note.code == "S01")


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_note_says_which_columns_were_grouped(system):
    source = SYSTEMS[system](nominal_rows())
    rows = cw.scan(source, target="y")
    cw.count(rows)
    assert "pushdown (columns by GROUP BY: 2; as Arrow batches: 1)" in engine_note(rows)
    rows = cw.scan(source, target="y")
    cw.count(rows, engine="stream")
    assert "stream (as requested)" in engine_note(rows)


def test_small_joint_tables_are_grouped_and_large_ones_read():
    table = nominal_rows().drop_columns("x")
    rows = cw.scan(relation(table), target="y")
    counts = cw.count(rows, cw.Plan.pairs)
    assert "columns by GROUP BY: 2)" in engine_note(rows)
    wide = table.append_column("c", pa.array([f"c{i % 300}" for i in range(600)]))
    wide = wide.append_column("d", pa.array([f"d{i % 299}" for i in range(600)]))
    rows = cw.scan(relation(wide), target="y", identifiers="keep")
    assert cw.count(rows, cw.Plan.pairs).table("a", "b").tolist() == counts.table("a", "b").tolist()
    assert "too many groups for pairs" in engine_note(rows)


@pytest.mark.parametrize("model", [cw.NaiveBayes(), cw.TAN(), cw.AODE(), cw.KDB()], ids=repr)
@pytest.mark.parametrize("system", SYSTEMS)
def test_models_are_those_of_rows_in_memory(system, model):
    table = nominal_rows()
    known = cw.read(table, target="y")
    rows = cw.scan(SYSTEMS[system](table), target="y")
    posterior = model.fit(rows).predict_proba(known)
    assert posterior.tolist() == model.fit(known).predict_proba(known).tolist()


def test_levels_that_the_head_does_not_show():
    # The first 20 000 rows hold one level; the others 5 frequent ones and 10 000 rare ones.
    frequent, rare = [f"often {i % 5}" for i in range(10_000)], [f"rare {i}" for i in range(10_000)]
    table = pa.table({"late": ["same"] * 20_000 + frequent + rare, "y": ["u", "v"] * 20_000})
    known = cw.count(cw.read(table, target="y"))
    assert cw.count(cw.scan(relation(table), target="y")) == known
    for engine in ("pushdown", "stream"):
        counts = cw.count(cw.scan(relation(table), target="y", max_levels=50), engine=engine)
        assert len(counts.levels("late")) <= 51
        rows = dict(zip(counts.levels("late"), counts.table("late").sum(axis=0), strict=False))
        assert rows["same"] == 20_000
        assert [rows[f"often {i}"] for i in range(5)] == [2000] * 5
        assert sum(rows.values()) == 40_000


def test_texts_are_equal_only_if_each_character_is():
    CONNECTION.sql("CREATE OR REPLACE TABLE cases (t VARCHAR COLLATE NOCASE, y BOOLEAN)")
    CONNECTION.sql("INSERT INTO cases VALUES ('a', true), ('A', true), ('a', false)")
    counts = cw.count(cw.scan(CONNECTION.table("cases"), target="y"))
    assert counts.levels("t") == ("A", "a")


def test_weights_are_summed_by_the_database_only_if_that_is_exact():
    table = nominal_rows()
    known = cw.read(table, target="y")
    for kind, largest, said in (
        (pa.int64(), 9, "columns by GROUP BY: 2"),
        (pa.uint8(), 9, "columns by GROUP BY: 2"),
        (pa.float64(), 9, "because weights may be fractions"),
        (pa.int64(), 2**53, "because of their weights"),
    ):
        weight = [largest if i == 7 else i % 5 for i in range(600)]
        given = table.append_column("w", pa.array(weight, kind))
        for make in SYSTEMS.values():
            rows = cw.scan(make(given), target="y", weight="w")
            assert cw.count(rows) == cw.count(known, sample_weight=weight)
            assert said in engine_note(rows)


def test_a_database_with_a_bad_weight_is_refused():
    for weight in (-1, None):
        column = pa.array([weight, *[1] * 599], pa.int64())
        rows = cw.scan(relation(nominal_rows().append_column("w", column)), "y", weight="w")
        with pytest.raises(CountwiseError, match="row 1 of a DuckDB relation holds"):
            cw.count(rows)


def test_duckdb_counts_within_its_memory_limit(tmp_path):
    path = tmp_path / "rows.db"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE TABLE rows AS SELECT 'l' || i % 50 AS k, i % 977 / 4 AS x, "
            "i * 7 % 1000003 AS z, 'y' || i % 3 AS y FROM range(3000000) r(i)"
        )
        connection.execute("SET memory_limit = '200MB'")
        connection.execute(f"SET temp_directory = '{tmp_path}/spilled'")
        rows = cw.scan(connection.table("rows"), target="y")
        counts = cw.NaiveBayes(numeric="gaussian").fit(rows).counts_
        assert counts.rows == 3_000_000
        known = connection.execute("SELECT avg(x), count(*) FROM rows WHERE y = 'y1'").fetchone()
        assert counts.moments["x"].mean[1] == pytest.approx(known[0], rel=1e-12)
        assert counts.weight[1] == known[1]


def test_ibis_tables_of_another_system():
    table = nominal_rows()
    connection = ibis.polars.connect({"given": pl.from_arrow(table)})
    rows = cw.scan(connection.table("given"), target="y")
    assert cw.count(rows) == cw.count(cw.read(table, target="y"))
    assert "columns by GROUP BY: 2" in engine_note(rows)


def test_names_that_sql_must_quote():
    table = pa.table({'say "hi"': ["a", "b"] * 9, "rows": ["c"] * 18, "rows of": [1.5] * 18})
    table = table.append_column("group by", pa.array(["u", "v", "v"] * 6))
    known = cw.count(cw.read(table, target="group by"))
    for make in SYSTEMS.values():
        assert cw.count(cw.scan(make(table), target="group by")) == known


def test_an_engine_for_databases_refuses_files(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("x,y\n" + "1,a\n2,b\n" * 9)
    with pytest.raises(CountwiseError, match="engine 'pushdown' counts rows of a database"):
        cw.count(cw.scan(path, target="y"), engine="pushdown")


def test_rows_that_change_while_they_are_counted_are_refused():
    CONNECTION.sql("CREATE OR REPLACE TABLE moving AS SELECT 'a' AS t, 1.5 AS x, 'u' AS y")
    rows = cw.scan(CONNECTION.table("moving"), target="y")
    groups = rows.source.groups

    def insert_then_group(*args):
        yield from list(groups(*args))
        CONNECTION.sql("INSERT INTO moving VALUES ('b', 2.5, 'u')")

    rows.source.groups = insert_then_group
    with pytest.raises(CountwiseError, match="changed while they were counted"):
        cw.count(rows)


def test_categories_of_a_lazy_frame_count_like_texts():
    for kind in (pl.Categorical, pl.Enum(["a", "b"])):
        frame = pl.DataFrame({"k": ["a", "b", None] * 4}, schema={"k": kind})
        frame = frame.with_columns(y=pl.Series(["u", "v"] * 6, dtype=pl.Categorical))
        for engine in ("pushdown", "stream"):
            counts = cw.count(cw.scan(frame.lazy(), "y"), engine=engine)
            assert counts == cw.count(cw.read(frame, target="y"))


def test_the_note_of_classes_alone_says_how_they_were_counted():
    relation = duckdb.sql("SELECT i % 2 AS y, 'a' || i % 3 AS a FROM range(100) r(i)")
    rows = cw.scan(relation, target="y")
    cw.count(rows)
    rows.memo.clear()
    cw.count(rows, cw.Plan())
    assert all("()" not in note.text for note in rows.notes)
