"""Databases and lazy frames count like rows in memory (law 4), wherever the rows are grouped."""

from __future__ import annotations

import duckdb
import ibis
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from tests.counts.odd_tables import check_like_read, odd_tables

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
@given(drawn=odd_tables())
def test_odd_tables_count_like_rows_in_memory(system, drawn):
    table, options = drawn
    check_like_read(SYSTEMS[system](table), table, options)
