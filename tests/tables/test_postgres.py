"""Rows of a PostgreSQL database, which the tests start on the loopback address."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep

import pyarrow as pa
import pytest
from tests.counts.odd_tables import check_like_read, fixed_table

import countwise as cw
from countwise.errors import CountwiseError
from countwise.tables.sources.postgres import PostgresSource, hide_password

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
        "AS nan, ARRAY[1] AS a, (i % 2 = 0) AS y FROM generate_series(1, 4) i",
    )
    rows = cw.scan(server, target="y", table="kinds", drop=["a"])
    counts = cw.count(rows)
    assert {column.name: column.kind for column in rows.schema.attributes} == {
        **dict.fromkeys("nm", "numeric"),
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


def test_nominal_rows_are_counted_without_moving_them(server, monkeypatch):
    run(
        server,
        "CREATE TABLE plain AS SELECT (i % 3)::text AS a, (i % 5 = 0) AS b, (i % 2)::text AS y "
        "FROM generate_series(1, 50000) i",
    )
    limits = []
    read_rows = PostgresSource.read_rows

    def watch(self, names, rows):
        limits.append(self.row_limit)
        return read_rows(self, names, rows)

    monkeypatch.setattr(PostgresSource, "read_rows", watch)
    for model in (cw.NaiveBayes(), cw.TAN()):
        limits.clear()
        model.fit(cw.scan(server, target="y", table="plain"))
        assert model.counts_.rows == 50000
        assert limits == [20_000], "only the head is read"


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
            if len(times) == 5:
                run(
                    server,
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE pid <> pg_backend_pid() AND query LIKE '%doomed%'",
                )
            yield batch

    monkeypatch.setattr(PostgresSource, "_batches", terminate)
    with pytest.raises(CountwiseError, match=r"doomed.* cannot be read") as refusal:
        cw.TAN().fit(rows)
    assert "\n" not in str(refusal.value)
    assert "sesame" not in str(refusal.value)
    monkeypatch.undo()
    assert cw.TAN().fit(rows).counts_.rows == 200_000


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
