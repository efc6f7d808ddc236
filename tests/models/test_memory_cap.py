"""Every model on every source under a memory cap that the rows themselves would exceed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq
import pytest

import countwise as cw
from countwise.models import registry

ROWS, COLUMNS, CAP = 1_000_000, 12, 200 << 20
SOURCES = ["csv", "parquet", "folder", "dataset", "duckdb", "polars"]
#: polars itself takes 150 MB more than the cap, however few rows countwise asks for at a time. With
#: so much more all rows would fit, so for polars this bounds memory, but not below the rows.
POLARS = 200 << 20
#: Fits every model in turn, with no more memory than the cap beside what the packages take.
PROGRAM = """
import json, os, resource, sys, threading
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
threading.stack_size(1 << 20)  # stacks are reserved, not used, and would count
import duckdb
import polars, pyarrow.dataset
import countwise as cw
from countwise.models import registry
from countwise.models.discrete_bayes import discrete_bayes
from countwise.tables.sources import files

form, cap = sys.argv[1], int(sys.argv[2])
files.SEGMENT, discrete_bayes.SEARCHED_ROWS = 4 << 20, 20_000

def rows():
    options = {"target": "y", "memory": "16MB"}
    if form == "duckdb":
        return cw.scan("duckdb:rows.db", table="rows", key="row", **options)
    if form == "polars":
        return cw.scan(polars.scan_parquet("rows.parquet"), key="row", **options)
    place = {"csv": "rows.csv", "folder": "parts"}.get(form, "rows.parquet")
    place = pyarrow.dataset.dataset(place) if form == "dataset" else place
    return cw.scan(place, drop=["row"], **options)

entries = registry.models()
few = cw.read("few.csv", target="y", drop=["row"])
for entry in entries:  # all that is imported once is part of the baseline
    try:
        entry.build(entry.examples[0]).fit(few)
    except cw.CountwiseError:
        pass
cw.TAN().fit(cw.scan("few.csv", target="y"))
with open("/proc/self/status") as file:
    base = next(int(line.split()[1]) for line in file if line.startswith("VmData")) << 10
resource.setrlimit(resource.RLIMIT_DATA, (base + cap, base + cap))
if form == "read":
    cw.read("rows.csv", target="y", drop=["row"])
    sys.exit(0)
found = {}
for entry in entries:
    model = entry.build(entry.examples[0])
    try:
        model.fit(rows())
    except cw.CountwiseError as error:
        found[entry.name] = {"refused": str(error)}
        continue
    found[entry.name] = {
        "sampled": [str(note) for note in model.notes_ if note.code in ("A01", "S04", "S12")],
        "posteriors": model.predict_proba(few).tolist() if hasattr(model, "predict_proba") else [],
    }
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """Write the rows in all forms; their classes follow from two columns."""
    folder = tmp_path_factory.mktemp("capped")
    pytest.importorskip("duckdb")
    drawn = np.random.default_rng(0)
    words = np.array(["a", "b", "c", "d"])
    data = {f"k{at}": words[drawn.integers(0, 4, ROWS)] for at in range(4)}
    data |= {f"x{at}": drawn.integers(0, 200, ROWS) / 8 for at in range(COLUMNS)}
    classes = (data["x0"] > 12).astype(int) + (data["k0"] == "a")
    data |= {"y": np.array(["u", "v", "w"])[classes], "row": np.arange(ROWS)}
    table = pa.table(data)
    plain = arrow_csv.WriteOptions(quoting_style="none")
    pq.write_table(table, folder / "rows.parquet", row_group_size=50_000, compression="zstd")
    arrow_csv.write_csv(table, folder / "rows.csv", plain)
    arrow_csv.write_csv(table.slice(0, 50), folder / "few.csv", plain)
    (folder / "parts").mkdir()
    for start in range(0, ROWS, ROWS // 4):
        part = table.slice(start, ROWS // 4)
        pq.write_table(part, folder / f"parts/{start:07}.parquet", row_group_size=30_000)
    import duckdb

    with duckdb.connect(str(folder / "rows.db")) as connection:
        connection.execute(f"CREATE TABLE rows AS SELECT * FROM '{folder}/rows.parquet'")
    return folder


@pytest.fixture(scope="module")
def known(place) -> dict[str, np.ndarray]:
    """The posteriors by models of all rows in memory, of models that take rows outside it."""
    table = cw.read(place / "rows.parquet", target="y", drop=["row"])
    few = cw.read(place / "few.csv", target="y", drop=["row"])
    found = {}
    for entry in registry.models():
        model = entry.build(entry.examples[0])
        if getattr(model, "takes_scans", False):
            # A model that draws rows of a scan says so and is not compared.
            draws = hasattr(model, "budget") or hasattr(model, "n_estimators")
            rows = table.take(slice(0, 20_000)) if draws else table
            found[entry.name] = model.fit(rows).predict_proba(few)
    return found


def run(form: str, place: Path) -> subprocess.CompletedProcess:
    """Run the program in a process of its own, with few threads."""
    settings = {
        "COUNTWISE_THREADS": "2",
        "MALLOC_ARENA_MAX": "2",
        "ARROW_DEFAULT_MEMORY_POOL": "system",
        "POLARS_MAX_THREADS": "2",
    }  # fmt: skip
    # DuckDB keeps the blocks of its file that it has read.
    kept = {"duckdb": (place / "rows.db").stat().st_size, "polars": POLARS}.get(form, 0)
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, form, str(CAP + kept)],
        cwd=place,
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the cap is one of Linux")
def test_the_rows_do_not_fit_under_the_cap(place):
    assert run("read", place).returncode != 0


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the cap is one of Linux")
@pytest.mark.parametrize("form", SOURCES)
def test_equal_to_memory_a_noted_sample_or_a_refusal_under_a_cap(form, place, known):
    done = run(form, place)
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert set(found) == {entry.name for entry in registry.models()}
    for entry in registry.models():
        told = found[entry.name]
        assert ("refused" in told) == (entry.name not in known)
        if "refused" in told:
            assert "in memory" in told["refused"], told
            continue
        if told["sampled"]:
            assert "draw" in told["sampled"][0]
            continue
        assert np.allclose(told["posteriors"], known[entry.name], rtol=1e-12, atol=0)
        if entry.name != "ID3":
            assert np.array_equal(told["posteriors"], known[entry.name])
