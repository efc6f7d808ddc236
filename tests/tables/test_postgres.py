"""Rows of a PostgreSQL database, which the tests start on the loopback address."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from time import monotonic, sleep

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from sklearn.base import clone
from tests.counts.odd_tables import check_like_read, fixed_table

import countwise as cw
from countwise.cli.app import app
from countwise.counts.engines.pushdown import group_rows
from countwise.errors import CountwiseError
from countwise.evaluation import scanned
from countwise.evaluation.shared_passes import SharedPasses
from countwise.tables.sources import postgres
from countwise.tables.sources.postgres import PostgresSource, hash_numbers, hide_password

dbapi = pytest.importorskip("adbc_driver_postgresql.dbapi", reason="needs adbc-driver-postgresql")


def find_program(name: str) -> str | None:
    """Return where a program of the newest PostgreSQL is; Debian keeps them off the path."""
    found = [str(path) for path in sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))]
    return shutil.which(name) or (found[-1] if found else None)


@pytest.fixture(scope="session")
def server(tmp_path_factory) -> Iterator[str]:
    """Start a server as an unprivileged user; return its address, and stop it at the end."""
    init, serve = find_program("initdb"), find_program("postgres")
    if init is None or serve is None:
        pytest.skip("needs the programs of PostgreSQL")
    folder = tmp_path_factory.mktemp("postgres")
    as_user: list[str] = []
    if os.getuid() == 0:  # PostgreSQL refuses to run as root
        if shutil.which("runuser") is None:
            pytest.skip("needs runuser to start PostgreSQL as another user than root")
        as_user = ["runuser", "-u", "nobody", "--"]
        folder = Path(subprocess.run(["mktemp", "-d"], capture_output=True, text=True).stdout[:-1])
        shutil.chown(folder, "nobody")
    data = folder / "data"
    locale = ["--encoding=UTF8", "--locale=C.UTF-8"]
    command = [*as_user, init, "-D", str(data), "-U", "tester", "-A", "trust", "-N", *locale]
    subprocess.run(command, check=True, capture_output=True, cwd="/")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = ["listen_addresses=127.0.0.1", f"unix_socket_directories={folder}", "fsync=off"]
    options = [word for setting in settings for word in ("-c", setting)]
    process = subprocess.Popen(
        [*as_user, serve, "-D", str(data), "-p", str(port), *options],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
    )
    address = f"postgresql://tester:open%20sesame@127.0.0.1:{port}/postgres"
    try:
        wait_for(address)
        yield address
    finally:
        process.terminate()
        process.wait(30)
        shutil.rmtree(folder, ignore_errors=True)


def wait_for(address: str) -> None:
    end = monotonic() + 60
    while True:
        try:
            dbapi.connect(address).close()
            return
        except dbapi.Error:
            if monotonic() > end:
                raise
            sleep(0.1)


def run(address: str, *statements: str) -> None:
    with dbapi.connect(address, autocommit=True) as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def store(address: str, name: str, table: pa.Table) -> None:
    with dbapi.connect(address) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest(name, table, mode="replace")
        connection.commit()


@pytest.mark.parametrize("seed", range(32))
def test_odd_tables_count_like_rows_in_memory(server, seed):
    table, options = fixed_table(seed)
    store(server, f"odd {seed}", table)
    check_like_read(server, table, options, table=f"odd {seed}")


def test_types_that_arrow_lacks_become_numbers_and_texts(server):
    run(
        server,
        "CREATE TYPE mood AS ENUM ('sad', 'glad')",
        "CREATE TABLE kinds AS SELECT 1.5::numeric AS n, 'glad'::mood AS e, 'ab'::char(4) AS c, "
        "gen_random_uuid() AS u, 'k'::name AS k, 3::money AS m, '{}'::jsonb AS j, 'NaN'::numeric "
        "AS nan, 5::oid AS o, ARRAY[1] AS a, (i % 2 = 0) AS y FROM generate_series(1, 4) i",
    )
    rows = cw.scan(server, target="y", table="kinds", drop=["a"])
    counts = cw.count(rows)
    assert {column.name: column.kind for column in rows.schema.attributes} == {
        **dict.fromkeys("nmo", "numeric"),
        "nan": "numeric",
        **dict.fromkeys("ecukj", "nominal"),
    }
    assert counts.levels("e") == ("glad",)
    assert counts.levels("c") == ("ab",)
    assert counts.moments["n"].mean.tolist()[:2] == [1.5, 1.5]
    assert counts.moments["m"].mean.tolist()[:2] == [3.0, 3.0]
    with pytest.raises(CountwiseError, match="'a' must hold plain values"):
        cw.scan(server, target="y", table="kinds")


def test_texts_are_equal_only_if_each_character_is(server):
    run(
        server,
        "CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', "
        "deterministic = false)",
        "CREATE TABLE cases (t text COLLATE loose, y boolean)",
        "INSERT INTO cases VALUES ('a', true), ('A', true), ('a', false), ('b', false)",
    )
    counts = cw.count(cw.scan(server, target="y", table="cases"))
    assert counts.levels("t") == ("A", "a", "b")


#: Numbers that are easy to get wrong: of many exponents and signs, tiny, large, NaN, NULL, -0.
MIXED = (
    "SELECT i AS id, (i % 3)::text AS a, i % 5 = 0 AS b, i * 7919 % 1000003 AS amount, "
    "(i * 31 % 1013)::float4 / 7 AS f, (i % 12 / 4.0)::float8 AS few, "
    "sin(i) * exp((i % 61)::float8 - 30) AS wide, "
    "CASE i % 40 WHEN 0 THEN NULL WHEN 1 THEN 'NaN' WHEN 2 THEN '-0' WHEN 3 THEN -999 "
    "WHEN 4 THEN '5e-324' WHEN 5 THEN '-1e-310' ELSE ln(i) - 9 + i % 4 END::float8 AS x, "
    "i % 4 AS w, CASE i % 50 WHEN 0 THEN NULL ELSE i % 4 / 3 END AS y "
    "FROM generate_series(1, {}) i"
)
MODELS = [
    cw.NaiveBayes(),
    cw.NaiveBayes(numeric="gaussian"),
    cw.TAN(),
    cw.AODE(),
    cw.KDB(selective=False),
]


@pytest.fixture(scope="session")
def mixed(server) -> pa.Table:
    """Make a table of numbers, texts and booleans; return its rows."""
    run(server, f"CREATE TABLE mixed AS {MIXED.format(50_000)}")
    with dbapi.connect(server) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT * FROM mixed")
        return cursor.fetch_arrow_table()


@pytest.fixture
def moved(monkeypatch) -> list[int]:
    """Watch how many rows each statement brings."""
    batches, rows = PostgresSource._batches, []

    def watch(self, statement, size):
        rows.append(0)
        for batch in batches(self, statement, size):
            rows[-1] += len(batch)
            yield batch

    monkeypatch.setattr(PostgresSource, "_batches", watch)
    return rows


@pytest.fixture
def read(monkeypatch) -> list[int]:
    """Watch how many rows are read that are no groups."""
    read_rows, rows = PostgresSource.read_rows, []

    def watch(self, names, size):
        rows.append(0)
        for batch in read_rows(self, names, size):
            rows[-1] += len(batch)
            yield batch

    monkeypatch.setattr(PostgresSource, "read_rows", watch)
    return rows


@pytest.mark.parametrize("weight", [None, "w"])
def test_numbers_are_counted_exactly_without_moving_them(server, mixed, moved, weight):
    drop = ["w"] if weight is None else []
    rows = cw.scan(server, "y", table="mixed", weight=weight, drop=drop, missing=[-999])
    counts = cw.count(rows, lambda schema: cw.Plan.each(schema, "both"))
    assert "columns by GROUP BY: 8)" in str(rows.notes[-1])
    assert moved[0] == 20_000, "the head"
    assert max(moved[1:]) < 40_000, "cells by class, of up to four columns"
    file = BytesIO()
    pq.write_table(mixed, file)
    known = cw.read(BytesIO(file.getvalue()), target="y", drop=["w"], missing=[-999])
    sizes = None
    if weight is not None:
        used = mixed.column("y").is_valid()
        sizes = mixed.filter(used).column("w").to_numpy()
    assert counts == cw.count(known, cw.Plan.each(known.schema, "both"), sample_weight=sizes)
    assert rows.schema == known.schema
    assert {n.code for n in rows.notes} - {"S01"} == {n.code for n in known.notes}
    # Equal grids may still be of different fineness, from which other cuts would follow.
    again = cw.scan(server, "y", table="mixed", weight=weight, drop=drop, missing=[-999])
    read = cw.count(again, lambda schema: cw.Plan.each(schema, "both"), engine="stream")
    for name, grid in counts.grids.items():
        assert grid.shift == read.grids[name].shift
        assert counts.moments[name].exact == read.moments[name].exact
    for name, found in rows.survey.columns.items():
        other = again.survey.columns[name]
        for fact in ("rows", "missing", "low", "high", "is_whole", "distinct", "is_two_valued"):
            assert getattr(found, fact) == getattr(other, fact), (name, fact)


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_models_are_fitted_without_moving_rows(server, mixed, moved, read, model):
    model.fit(cw.scan(server, "y", table="mixed", drop=["w"], missing=[-999]))
    assert model.counts_.rows == 49_000
    assert read == [20_000], "the head"
    assert moved[0] == 20_000, "the head"
    assert max(moved[1:]) < 40_000, "cells by class, of up to four columns"
    read = cw.scan(server, "y", table="mixed", drop=["w"], missing=[-999])
    read.engine = "stream"
    assert clone(model).fit(read).counts_ == model.counts_
    some = cw.read(mixed.slice(0, 1000), target="y", drop=["w"], missing=[-999])
    assert model.predict_proba(some).tolist() == clone(model).fit(read).predict_proba(some).tolist()


def test_pairs_of_many_columns_are_grouped_a_few_at_a_time(server, moved):
    columns = ", ".join(f"(i * {7 + 2 * place} % 1009 % 6)::text AS c{place}" for place in range(7))
    run(
        server,
        f"CREATE TABLE pairs AS SELECT {columns}, i % 11 / 2.0 AS x, i % 2 AS y "
        "FROM generate_series(1, 150000) i",
    )
    rows = cw.scan(server, "y", table="pairs", nominal=["x"])
    counts = cw.count(rows, cw.Plan.pairs)
    assert "columns by GROUP BY: 8)" in str(rows.notes[-1])
    assert moved[0] == 20_000, "the head"
    assert max(moved[1:]) < 100_000
    read = cw.scan(server, "y", table="pairs", nominal=["x"])
    assert counts == cw.count(read, cw.Plan.pairs, engine="stream")


def test_a_head_that_misleads_changes_no_count(server, moved):
    # The first rows hold one value, few values, a small range, and whole numbers only.
    run(
        server,
        "CREATE TABLE late AS SELECT i, i > 20000 AS late, "
        "CASE WHEN i > 20000 THEN sqrt(i::float8) ELSE 1 END AS one, "
        "CASE WHEN i > 20000 THEN i / 7.0 ELSE i % 9 END::float8 AS few, "
        "CASE WHEN i > 20000 THEN exp(i / 3e3) ELSE i / 1e9 END AS narrow, "
        "CASE WHEN i > 20000 THEN i % 50 / 3.0 ELSE i END::float8 AS whole, "
        "CASE WHEN i > 20000 THEN (i % 5)::text END AS y FROM generate_series(1, 170000) i",
    )
    plan_of = lambda schema: cw.Plan.each(schema, "both")  # noqa: E731
    rows = cw.scan(server, "y", table="late")
    counts = cw.count(rows, plan_of)
    read = cw.scan(server, "y", table="late")
    assert counts == cw.count(read, plan_of, engine="stream")
    assert rows.schema == read.schema
    for name, grid in counts.grids.items():
        assert grid.shift == cw.count(read, plan_of, engine="stream").grids[name].shift
    assert cw.count(rows, plan_of) == counts


def test_numbers_that_are_refused_are_named_by_their_row(server):
    for name, x in (("endless", "'inf'"), ("huge", "1e141")):
        for few in (5, 20_000):
            run(
                server,
                f"CREATE TABLE {name}{few} AS SELECT CASE WHEN i = 29999 THEN {x} ELSE "
                f"sqrt(i % {few}) END::float8 AS x, i % 2 AS y FROM generate_series(1, 30000) i",
            )
            for engine in (None, "stream"):
                with pytest.raises(CountwiseError, match=r"finite.*; row 29999 holds"):
                    cw.count(cw.scan(server, "y", table=f"{name}{few}"), engine=engine)


def test_numbers_that_may_identify_rows_are_read(server):
    run(
        server,
        "CREATE TABLE named AS SELECT i * 7 AS customer_id, i + 9007199254740993 AS large, "
        "i % 2 AS y FROM generate_series(1, 30000) i",
    )
    for options in ({}, {"identifiers": "keep"}):
        rows, read = (cw.scan(server, "y", table="named", **options) for _ in range(2))
        assert cw.count(rows) == cw.count(read, engine="stream")
        assert rows.schema == read.schema
        assert [str(n) for n in rows.notes[:-1]] == [str(n) for n in read.notes[:-1]]


def test_a_query_and_a_key(server):
    run(
        server,
        "CREATE TABLE buyers AS SELECT i, i % 7 AS x, i % 2 AS y FROM generate_series(1, 900) i",
    )
    query = "SELECT * FROM buyers WHERE i > 100 ORDER BY {} -- the rest"
    up, down = (
        cw.scan(server, target="y", query=query.format(order), key="i") for order in ("i", "-i")
    )
    assert len(up) == 800
    assert sorted(up.sample(50).values("x")) == sorted(down.sample(50).values("x"))
    assert "i" not in [column.name for column in up.schema.attributes]
    with pytest.raises(CountwiseError, match="key="):
        cw.scan(server, target="y", table="buyers").sample(5)


def test_a_terminated_backend_gives_one_sentence(server):
    query = (
        "SELECT i, CASE WHEN i = 50000 THEN pg_terminate_backend(pg_backend_pid())::text ELSE 'a' "
        "END AS x, i % 2 = 0 AS y FROM generate_series(1, 100000) i"
    )
    rows = cw.scan(server, target="y", query=query)
    for engine in ("pushdown", "stream"):
        with pytest.raises(CountwiseError, match=r"terminating connection|closed") as refusal:
            cw.count(rows, engine=engine)
        assert "\n" not in str(refusal.value)


def test_a_backend_terminated_from_outside_ends_a_fit_in_one_sentence(server, monkeypatch):
    run(
        server,
        "CREATE TABLE doomed AS SELECT i % 7 / 2.0 AS x, (i % 3)::text AS k, i % 2 AS y "
        "FROM generate_series(1, 200000) i",
    )
    rows = cw.scan(server, target="y", table="doomed")
    batches, times = PostgresSource._batches, []

    def terminate(self, statement, size):
        for batch in batches(self, statement, 1000):
            times.append(statement)
            if len(times) == 25:
                run(
                    server,
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE pid <> pg_backend_pid() AND query LIKE '%doomed%'",
                )
            yield batch

    monkeypatch.setattr(PostgresSource, "_batches", terminate)
    rows.engine = "stream"
    with pytest.raises(CountwiseError, match=r"doomed.* cannot be read") as refusal:
        cw.TAN().fit(rows)
    assert "\n" not in str(refusal.value)
    assert "sesame" not in str(refusal.value)
    monkeypatch.undo()
    assert cw.TAN().fit(rows).counts_.rows == 200_000


@pytest.mark.parametrize("seed", [0, 1, 2**63 + 5, 2**64 - 1])
def test_keys_are_hashed_as_the_server_does(server, seed):
    signed = seed - 2**64 if seed >> 63 else seed
    with dbapi.connect(server) as connection, connection.cursor() as cursor:
        cursor.execute(
            f"SELECT k, hashint8extended(k, '{signed}'::bigint) AS h FROM "
            "(SELECT i::bigint * i * i * 1234567 - 500000 AS k FROM generate_series(0, 999) i) g"
        )
        found = cursor.fetch_arrow_table()
    keys, hashes = (found.column(name).to_numpy() for name in "kh")
    assert hash_numbers(keys, seed).tolist() == hashes.view(np.uint64).tolist()


def test_samples_and_temperatures_move_only_the_rows_drawn(server, mixed, read):
    drop = ["w", "wide"]
    rows = cw.scan(server, "y", table="mixed", drop=drop, key="id", missing=[-999])
    model = cw.NaiveBayes(numeric="gaussian").fit(rows)
    assert read[0] == 20_000, "the head"
    assert 5000 <= read[1] < 7500
    assert len(read) == 2
    known = cw.scan(server, "y", table="mixed", drop=drop, key="id", missing=[-999])
    known.engine = "stream"
    assert model.temperature_ == clone(model).fit(known).temperature_ != 1.0
    for size in (1, 700, 40_000):
        assert rows.sample(size) == known.sample(size)


@pytest.mark.parametrize("repeats", [1, 2])
def test_models_are_evaluated_without_moving_rows(server, mixed, read, repeats):
    models = {
        "bayes": cw.NaiveBayes(),
        "by gain": cw.Decide(cw.NaiveBayes(), cw.ExpectedGain([[1, 0], [0, 3]])),
        "tan": cw.TAN(calibrate=None),
        "aode": cw.AODE(calibrate=None),
    }
    drop, found = ["w", "wide", "amount", "f"], []
    for engine in (None, "stream"):
        read.clear()
        rows = cw.scan(server, "y", table="mixed", drop=drop, key="id", missing=[-999])
        rows.engine = engine
        found.append(cw.evaluate(models, rows, folds=3, repeats=repeats))
        if engine is None:
            assert read[0] == 20_000, "the head"
            assert all(5000 <= rows < 7500 for rows in read[1:]), "for temperatures"
            assert len(read) == 1 + 2 * 3 * repeats
    one, two = found
    assert "0 scans read rows" in str([note for note in one.notes if note.code == "S15"])
    assert "S08" in {note.code for note in two.notes}
    for name in models:
        assert len(one.entries[name].tallies) == 3 * repeats
        for tally, other in zip(one.entries[name].tallies, two.entries[name].tallies, strict=True):
            assert tally.cells.tolist() == other.cells.tolist()
            assert (tally.rows, tally.squares) == (other.rows, other.squares)
            assert tally.posteriors.cells.tolist() == other.posteriors.cells.tolist()
            for score, sums in tally.sums.items():
                assert sums == pytest.approx(other.sums[score], rel=1e-9)
    assert [fold.trained for fold in one.folds] == [fold.trained for fold in two.folds]


ODD = (
    "SELECT i AS id, CASE i % 7 WHEN 0 THEN 'it''s' WHEN 1 THEN '\\ \"q\"' WHEN 2 THEN '?' "
    "WHEN 3 THEN NULL ELSE 'é' || i % 4 END AS t, i % 3 = 0 AS b, (i % 5 / 2.0)::float4 AS n, "
    "CASE WHEN i % 11 = 0 THEN NULL WHEN i % 13 = 0 THEN 'NaN' ELSE sin(i) * 9 + i % 3 END AS x, "
    "CASE WHEN i % 17 = 0 THEN -1e-200 ELSE exp(i % 90)::float8 - i % 3 END AS z, "
    "CASE i % 19 WHEN 0 THEN NULL WHEN 1 THEN '?' ELSE 'c''' || i % 3 END AS y "
    "FROM generate_series(1, 30000) i"
)


@pytest.mark.parametrize(
    "model",
    [
        cw.NaiveBayes(),
        cw.NaiveBayes(calibrate=None, when_missing="value", unseen="smooth"),
        cw.NaiveBayes(numeric="gaussian", min_deviation=0.5),
        cw.NaiveBayes(numeric={"x": "gaussian", "z": "gaussian"}, variance="shared"),
        cw.Decide(cw.NaiveBayes(), cw.ExpectedGain([[1, 0, -2], [0, 3, 0], [-1, 0, 1]])),
        cw.TAN(),
        cw.KDB(selective=False),
    ],
    ids=repr,
)
def test_rows_are_scored_by_the_server(server, read, monkeypatch, model):
    run(server, f"CREATE TABLE IF NOT EXISTS odd_classes AS {ODD}")

    def no_groups(scan, cuts):
        return None if len(scan.decision.schema) > 1 else group_rows(scan, cuts)

    monkeypatch.setattr(scanned, "group_rows", no_groups)
    trials = []
    for engine in (None, "stream"):
        read.clear()
        rows = cw.scan(server, "y", table="odd_classes", key="id", nominal=["n"])
        rows.engine = engine
        trials.append(cw.evaluate({"model": model}, rows, folds=3))
        if engine is None:
            assert "0 scans read rows" in str(trials[0].notes)
            assert read[0] == 20_000, "the head"
            assert all(5000 <= rows < 7500 for rows in read[1:]), "for temperatures"
    one, two = trials
    for name, entry in one.entries.items():
        for tally, other in zip(entry.tallies, two.entries[name].tallies, strict=True):
            assert tally.cells.tolist() == other.cells.tolist()
            assert (tally.rows, tally.squares) == (other.rows, other.squares)
            for score, sums in tally.sums.items():
                assert sums == pytest.approx(other.sums[score], rel=1e-9)
            assert tally.posteriors.cells.tolist() == other.posteriors.cells.tolist()
            for end in ("least", "most"):
                ends = (getattr(found.posteriors, end) for found in (tally, other))
                np.testing.assert_allclose(*ends, rtol=1e-9, atol=1e-70)


def test_what_cannot_be_grouped_by_fold_is_read(server, mixed, moved):
    trials = []
    for engine in (None, "stream"):
        moved.clear()
        rows = cw.scan(server, "y", table="mixed", key="id", missing=[-999], weight="w")
        rows.engine = engine
        models = {"bayes": cw.NaiveBayes(numeric="gaussian"), "id3": cw.ID3(max_depth=2)}
        trials.append(cw.evaluate(models, rows, folds=2))
    one, two = trials
    for name in models:
        assert one.confusion(name).counts.tolist() == two.confusion(name).counts.tolist()


def test_rows_with_a_key_are_evaluated_where_they_are(server, tmp_path):
    run(
        server,
        "CREATE TABLE judged AS SELECT i, (i * 7 % 11)::text AS k, i % 13 / 4.0 AS x, i % 3 AS w, "
        "CASE WHEN i * 7 % 11 > 5 THEN 'a' ELSE 'b' END AS y FROM generate_series(1, 3000) i",
    )
    models = {"bayes": cw.NaiveBayes(), "tan": cw.TAN()}
    found = [
        cw.evaluate(models, cw.scan(server, "y", query=query, key="i", weight="w"), folds=3)
        for query in ("SELECT * FROM judged ORDER BY i", "SELECT * FROM judged ORDER BY -i")
    ]
    for name in ("bayes", "tan"):
        one, two = (trials.confusion(name).counts for trials in found)
        assert one.tolist() == two.tolist()
        assert one.sum() == 3000
    with pytest.raises(CountwiseError, match="key="):
        cw.evaluate(models, cw.scan(server, "y", table="judged"), folds=3)


def test_a_password_is_shown_nowhere(server, tmp_path):
    rows = cw.scan(server, target="y", query="SELECT 1 AS x, 'a' AS z, 'b' AS y")
    model = cw.NaiveBayes().fit(rows)
    cw.save(model, tmp_path / "model.cw")
    shown = [repr(rows), *map(str, rows.notes), *map(str, model.notes_)]
    for place in (server.replace("/postgres", "/none"), server.replace("postgresql:", "pg:")):
        with pytest.raises(CountwiseError) as refusal:
            cw.scan(place, table="t")
        shown.append(str(refusal.value))
    with pytest.raises(CountwiseError, match=r"relation .*nowhere.* does not exist") as refusal:
        cw.scan(server, table="nowhere")
    shown.append(str(refusal.value))
    content = (tmp_path / "model.cw").read_bytes()
    assert not any("sesame" in text for text in shown)
    assert b"sesame" not in content


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("postgresql://host/db", "postgresql://host/db"),
        ("postgresql://me:secret@host:1/db?a=b", "postgresql://me@host:1/db?a=b"),
        ("postgresql://me:se@cr/et?@host/db", "postgresql://me@host/db"),
        ("postgresql://host/db?user=me&password=secret", "postgresql://host/db?user=me"),
        ("postgres://?service=shop", "postgres://?service=shop"),
    ],
)
def test_addresses_are_shown_without_password(address, shown):
    assert hide_password(address)[0] == shown


def test_what_a_database_needs_is_said(server):
    with pytest.raises(CountwiseError, match="table= or query=; got neither"):
        cw.scan(server, target="y")
    with pytest.raises(CountwiseError, match="got both"):
        cw.scan(server, table="t", query="SELECT 1")


def test_rows_that_change_between_folds_are_refused(server, monkeypatch):
    run(
        server,
        "CREATE TABLE growing AS SELECT i AS id, i % 3 AS n, i % 2 AS y "
        "FROM generate_series(1, 500) i",
    )
    select = SharedPasses.select

    def grow(self, place, others=False):
        run(server, "INSERT INTO growing SELECT max(id) + 1, 1, 1 FROM growing")
        return select(self, place, others)

    monkeypatch.setattr(SharedPasses, "select", grow)
    rows = cw.scan(server, "y", table="growing", key="id", nominal=["n"])
    with pytest.raises(CountwiseError, match="changed while they were counted"):
        cw.evaluate(cw.NaiveBayes(), rows, folds=5)


def test_numbers_that_differ_in_their_last_bits_are_counted_in_the_end(server):
    # By values there are too many groups, and no cells of several are few and fine enough.
    run(
        server,
        "CREATE TABLE close AS SELECT 1 + i % 1024 / 1024.0::float8 + i / 1024 % 8 * 2 ^ -52 AS x, "
        "i / 8192 % 30 AS y FROM generate_series(0, 250000) i",
    )
    rows, read = (cw.scan(server, "y", table="close", nominal=["y"]) for _ in range(2))
    plan_of = lambda schema: cw.Plan.each(schema, "both")  # noqa: E731
    assert cw.count(rows, plan_of) == cw.count(read, plan_of, engine="stream")


@pytest.mark.parametrize("classes", [20, 40])
def test_rows_of_many_classes_are_scored(server, classes):
    run(
        server,
        "CREATE TABLE IF NOT EXISTS crowd AS SELECT i AS id, sin(i) * 9 + i % 40 AS x, i % 40 AS n "
        "FROM generate_series(1, 10000) i",
    )
    query, trials = f"SELECT id, x, n % {classes} AS y FROM crowd", []
    for engine in (None, "stream"):
        rows = cw.scan(server, "y", query=query, key="id", nominal=["y"])
        rows.engine = engine
        models = {"bayes": cw.NaiveBayes(numeric="gaussian", calibrate=None)}
        trials.append(cw.evaluate(models, rows, folds=2))
    one, two = trials
    assert f"{int(classes > 20)} scans read rows" in str(one.notes)
    assert one.confusion("bayes").counts.tolist() == two.confusion("bayes").counts.tolist()


def test_a_key_that_is_missing_is_refused(server):
    run(
        server,
        "CREATE TABLE nameless AS SELECT nullif(i, 7000) AS id, sin(i) AS x, i % 2 AS y "
        "FROM generate_series(1, 20000) i",
    )
    rows = cw.scan(server, "y", table="nameless", key="id")
    with pytest.raises(CountwiseError, match="identify every row; column 'id' is missing in some"):
        cw.evaluate(cw.NaiveBayes(), rows, folds=3)
    with pytest.raises(CountwiseError, match="identify every row; column 'id' is missing in some"):
        cw.NaiveBayes().fit(rows)


def test_a_model_of_many_figures_is_not_written_down(server, monkeypatch):
    run(
        server,
        "CREATE TABLE fine AS SELECT i AS id, 'a' || i * 31 % 700 AS a, 'b' || i * 17 % 600 AS b, "
        "i % 3 AS y FROM generate_series(1, 20000) i",
    )
    write, lengths = postgres.write_statement, []

    def watch(*given):
        lengths.append(len(write(*given)))
        return write(*given)

    monkeypatch.setattr(postgres, "write_statement", watch)
    trials = []
    for engine in (None, "stream"):
        rows = cw.scan(server, "y", table="fine", key="id")
        rows.engine = engine
        models = {"bayes": cw.NaiveBayes(calibrate=None), "tan": cw.TAN(calibrate=None)}
        trials.append(cw.evaluate(models, rows, folds=2))
    assert len(lengths) == 2, "those of naive Bayes"
    assert max(lengths) < 1 << 20
    for name in models:
        one, two = (found.confusion(name).counts.tolist() for found in trials)
        assert one == two


@pytest.mark.parametrize("others", [(), ("sample:weather",)])
def test_no_page_shows_the_password_of_an_address(server, tmp_path, monkeypatch, others):
    monkeypatch.setenv("PGPASSWORD", "")
    run(
        server,
        "CREATE TABLE IF NOT EXISTS shown AS SELECT i AS id, 'a' || i * 31 % 7 AS a, i % 2 AS y "
        "FROM generate_series(1, 2000) i",
    )
    words = ["compare", server, *others, "--table", "shown", "-t", "y", "--key", "id"]
    if others:
        words = ["compare", *others, server, "-t", "y", "--query", "SELECT a, y FROM shown"]
    page = tmp_path / "page.html"
    done = CliRunner().invoke(app, [*words, "-m", "naive-bayes", "--report", str(page)])
    assert "sesame" not in done.output + done.stderr
    if not others:
        assert done.exit_code == 0, done.output
        assert "countwise compare postgresql://tester@127.0.0.1" in page.read_text()
    for path in tmp_path.iterdir():
        assert b"sesame" not in path.read_bytes()
