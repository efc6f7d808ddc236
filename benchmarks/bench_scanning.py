"""Training on Parquet rows outside memory against a plain DuckDB pass over the same columns.

Additive, whose last fit runs from coded rows, is measured against AODE on the same file.

CPU seconds are compared, so that other work on the machine matters less. COUNTWISE_BENCH_ROWS sets
the number of rows: 1 million in a quick run, 20 million otherwise.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.timing import row

LEVELS = (3, 5, 8, 12, 20, 50, 100, 200, 500, 1000)
NUMBERS = 10
_BLOCK = 1 << 19

PEER = """
import sys, time, duckdb
path = sys.argv[1]
columns = duckdb.sql(f"describe select * from '{path}'").fetchall()
sums = {"DOUBLE": "sum"}
wanted = ", ".join(f'{sums.get(kind, "max")}("{name}")' for name, kind, *_ in columns)
duckdb.sql("set enable_progress_bar = false")
started = time.process_time()
duckdb.sql(f"select {wanted} from '{path}'").fetchall()
print(time.process_time() - started)
"""

OURS = """
import sys, time
from pathlib import Path
import countwise as cw
path, name = sys.argv[1:]
cw.scan(path, target="y")
model = getattr(cw, name)()
started = time.process_time()
model.fit(cw.scan(path, target="y"))
print(time.process_time() - started)
steps = [note.text.split()[4] for note in model.notes_ if note.code == "A02"]
lines = Path("/proc/self/status").read_text().splitlines()
print(next(line.split()[1] for line in lines if line.startswith("VmHWM")), *steps)
"""


def write(path: Path, rows: int) -> None:
    """Write ten nominal and ten numeric columns and a class of three, 5 % of the cells missing."""
    drawn = np.random.default_rng(0)
    writer: pq.ParquetWriter | None = None
    for start in range(0, rows, _BLOCK):
        number = min(_BLOCK, rows - start)
        classes = drawn.integers(0, 3, number)
        columns: dict[str, Any] = {}
        for place, levels in enumerate(LEVELS):
            codes = (drawn.integers(0, levels, number) + classes) % levels
            names = pa.array([f"level {level}" for level in range(levels)])
            indices = pa.array(codes, mask=drawn.random(number) < 0.05)
            columns[f"n{place}"] = pa.DictionaryArray.from_arrays(indices, names).cast(pa.string())
        for place in range(NUMBERS):
            values = drawn.normal(classes, 1 + place, number)
            columns[f"x{place}"] = pa.array(values, mask=drawn.random(number) < 0.05)
        columns["y"] = pa.array(np.array(["a", "b", "c"])[classes])
        table = pa.table(columns)
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table, row_group_size=1 << 17)
    if writer is not None:
        writer.close()


def answer(program: str, *words: str) -> list[float]:
    """Run a program and return the numbers it prints."""
    command = [sys.executable, "-c", program, *words]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return [float(word) for word in done.stdout.split()]


def run(quick: bool) -> list[dict[str, Any]]:
    """Measure naive Bayes (one scan), TAN (two scans), and Additive (three, and its steps)."""
    rows = int(os.environ.get("COUNTWISE_BENCH_ROWS", "1000000" if quick else "20000000"))
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        write(path, rows)
        for name, scans in (("NaiveBayes", 1), ("TAN", 2)):
            (peer,) = answer(PEER, str(path))
            ours, peak = answer(OURS, str(path), name)
            size = f"{rows / 1e6:g} M rows of Parquet"
            what = f"{name} on {size}, CPU a scan, peak {peak / 1000:,.0f} MB"
            lines.append(row(what, ours / scans, "DuckDB pass, CPU", peer, ">= 0.5x"))
        peer, _ = answer(OURS, str(path), "AODE")
        ours, peak, *steps = answer(OURS, str(path), "Additive")
        passes = f"{steps[0]:.0f} passes over codes" if steps else "rows in memory"
        what = f"Additive on {size}, CPU, {passes}, peak {peak / 1000:,.0f} MB"
        lines.append(row(what, ours, "AODE, CPU", peer, ">= 0.1x"))
    return lines
