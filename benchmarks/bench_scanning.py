"""Training on rows outside memory against a plain DuckDB pass over the same columns.

Additive, whose last fit runs from coded rows, is measured against AODE on the same Parquet file.

CPU seconds are compared, so that other work on the machine matters less: the best of several runs
in turns. COUNTWISE_BENCH_ROWS sets the rows of the Parquet file (1 million in a quick run, else 20
million), or several numbers of rows with commas between them; a CSV file has a quarter of the
rows, 5 million at most.
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
from pyarrow import csv

from benchmarks.timing import row

LEVELS = (3, 5, 8, 12, 20, 50, 100, 200, 500, 1000)
NUMBERS = 10
_BLOCK = 1 << 19
#: Rows up to which runs are repeated.
_MANY = 30_000_000
_MOST_LINES = 5_000_000

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


def write_lines(path: Path, parquet: Path, rows: int) -> None:
    """Write the first rows of a Parquet file as CSV, without quotes."""
    file = pq.ParquetFile(parquet)
    options = csv.WriteOptions(quoting_style="none")
    with csv.CSVWriter(path, file.schema_arrow, write_options=options) as writer:
        for batch in file.iter_batches(batch_size=_BLOCK):
            writer.write_batch(batch.slice(0, rows))
            rows -= min(len(batch), rows)
            if not rows:
                break


def answer(program: str, *words: str) -> list[float]:
    """Run a program and return the numbers it prints."""
    command = [sys.executable, "-c", program, *words]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return [float(word) for word in done.stdout.split()]


def measure(path: Path, what: str, times: int) -> list[dict[str, Any]]:
    """Measure naive Bayes (one scan) and TAN (two scans) on a file."""
    scans = {"NaiveBayes": 1, "TAN": 2}
    peer = float("inf")
    ours, peak = dict.fromkeys(scans, float("inf")), dict.fromkeys(scans, 0.0)
    for _ in range(times):
        peer = min(peer, *answer(PEER, str(path)))
        for name in scans:
            seconds, memory = answer(OURS, str(path), name)
            ours[name], peak[name] = min(ours[name], seconds), max(peak[name], memory)
    return [
        row(
            f"{name} on {what}, CPU a scan, peak {peak[name] / 1000:,.0f} MB",
            ours[name] / scans[name],
            "DuckDB pass, CPU",
            peer,
            ">= 0.5x",
        )
        for name in scans
    ]


def measure_additive(path: Path, what: str) -> dict[str, Any]:
    """Measure Additive: three scans, then the steps of its last fit over coded rows."""
    peer, _ = answer(OURS, str(path), "AODE")
    ours, peak, *steps = answer(OURS, str(path), "Additive")
    passes = f"{steps[0]:.0f} passes over codes" if steps else "rows in memory"
    name = f"Additive on {what}, CPU, {passes}, peak {peak / 1000:,.0f} MB"
    return row(name, ours, "AODE, CPU", peer, ">= 0.1x")


def run(quick: bool) -> list[dict[str, Any]]:
    """Measure Parquet and CSV files."""
    sizes = os.environ.get("COUNTWISE_BENCH_ROWS", "1000000" if quick else "20000000")
    lines = []
    for rows in map(int, sizes.split(",")):
        times = 3 if rows <= _MANY else 1
        with tempfile.TemporaryDirectory() as folder:
            path, text = Path(folder) / "rows.parquet", Path(folder) / "rows.csv"
            write(path, rows)
            lines += measure(path, f"{rows / 1e6:g} M rows of Parquet", times)
            lines.append(measure_additive(path, f"{rows / 1e6:g} M rows of Parquet"))
            fewer = min(rows // 4, _MOST_LINES)
            write_lines(text, path, fewer)
            path.unlink()
            lines += measure(text, f"{fewer / 1e6:g} M rows of CSV", times)
    return lines
