"""Databases on the command line."""

from __future__ import annotations

import os

import duckdb
import pytest

import countwise as cw


@pytest.fixture
def shop(tmp_path):
    path = tmp_path / "shop.db"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE TABLE sales AS SELECT 'plan ' || i % 3 AS plan, i % 7 * 1.5 AS price, "
            "i % 2 = 0 AS y FROM range(200) r(i)"
        )
        connection.execute("CREATE TABLE other AS SELECT 1 AS x")
    return f"duckdb:{path}"


def test_fit_inspect_and_count_take_a_table_or_a_query(shop, tmp_path, run):
    model = tmp_path / "sales.cw"
    done = run("fit", shop, "--table", "sales", "--target", "y", "-o", str(model))
    assert done.exit_code == 0, done.output
    assert "trained on 200 rows" in done.output
    assert "columns by GROUP BY: 1; as Arrow batches: 1" in done.stderr
    query = "SELECT * FROM sales WHERE price > 4"
    words = ("--query", query, "--target", "y", "--engine", "stream", "--model", "aode")
    done = run("fit", shop, *words, "-o", str(model))
    assert "engine stream (as requested)" in done.stderr
    assert cw.load(model).counts_.rows == cw.count(cw.scan(shop, target="y", query=query)).rows
    done = run("inspect", shop, "--table", "sales", "--target", "y")
    assert "plan 0, plan 1, plan 2" in done.output
    counts = str(tmp_path / "sales.counts")
    assert run("count", shop, "--table", "sales", "--target", "y", "-o", counts).exit_code == 0


def test_predict_takes_a_table_or_a_query(shop, tmp_path, run):
    model = str(tmp_path / "sales.cw")
    assert run("fit", shop, "--table", "sales", "--target", "y", "-o", model).exit_code == 0
    for words in (["--table", "sales"], ["--query", "SELECT * FROM sales"]):
        done = run("predict", model, shop, *words, "--keep", "price")
        assert done.exit_code == 0, done.output
        lines = done.stdout.splitlines()
        assert lines[0].startswith("price,")
        assert len(lines) == 201
        assert [float(line.split(",")[0]) for line in lines[1:4]] == [0.0, 1.5, 3.0]
    assert run("predict", model, shop).exit_code == 2
    assert run("predict", model, shop, "--table", "none").exit_code == 2


def test_bad_places_are_refused_in_one_sentence(shop, tmp_path, run):
    for words in (
        ["fit", shop, "--target", "y"],
        ["fit", shop, "--table", "none", "--target", "y"],
        ["fit", "sample:weather", "--table", "sales"],
        ["inspect", f"duckdb:{tmp_path}/none.db", "--table", "sales"],
    ):
        done = run(*words)
        assert done.exit_code == 2
        assert len(done.stderr.strip().splitlines()) == 1
    assert not list(tmp_path.glob("*.cw"))


def test_a_password_is_moved_to_the_environment(monkeypatch, run):
    monkeypatch.setenv("PGPASSWORD", "")
    done = run("fit", "postgresql://me:open%20sesame@127.0.0.1:1/shop", "--table", "sales")
    assert done.exit_code == 2
    assert "sesame" not in done.output + done.stderr
    assert "postgresql://me@127.0.0.1:1/shop" in done.stderr
    assert os.environ["PGPASSWORD"] == "open sesame"
