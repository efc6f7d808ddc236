"""Predicting a file of any size against DuckDB's scan of it; COUNTWISE_BENCH_GB sets the size."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.bench_reading import frame
from benchmarks.timing import row

SCAN = """
import sys, duckdb
columns = duckdb.sql(f"describe select * from read_csv('{sys.argv[1]}')").fetchall()
wanted = ", ".join(f'max("{name}")' for name, *_ in columns)
duckdb.sql(f"select {wanted} from read_csv('{sys.argv[1]}')").fetchall()
"""

RUN = """
import sys
from pathlib import Path
from countwise.cli.app import main
sys.argv[0] = "countwise"
try:
    main()
finally:
    # The peak of this program alone: getrusage would hand down that of whoever started it.
    lines = Path("/proc/self/status").read_text().splitlines()
    print(next(line.split()[1] for line in lines if line.startswith("VmHWM")), file=sys.stderr)
"""


def seconds(words: list[str]) -> tuple[float, str]:
    """Run a program and return its seconds and what it said on standard error."""
    started = time.perf_counter()
    done = subprocess.run([sys.executable, *words], check=True, capture_output=True, text=True)
    return time.perf_counter() - started, done.stderr


def run(quick: bool) -> list[dict[str, Any]]:
    """Measure; both programs' start-up is included."""
    gigabytes = float(os.environ.get("COUNTWISE_BENCH_GB", "0.05" if quick else "0.5"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        train, large, model = folder / "train.csv", folder / "large.csv", folder / "model.cw"
        made = frame(100_000)
        made.write_csv(train)
        body = train.read_bytes().split(b"\n", 1)[1]
        with large.open("wb") as file:
            file.write(train.read_bytes())
            while file.tell() < gigabytes * 1e9:
                file.write(body)
        size = large.stat().st_size / 1e6
        seconds(["-c", RUN, "fit", str(train), "--target", "class", "-o", str(model), "-q"])
        words = ["predict", str(model), str(large), "-o", str(folder / "answers.csv"), "-q"]
        ours, said = seconds(["-c", RUN, *words])
        peer, _ = seconds(["-c", SCAN, str(large)])
    peak = int(said.split()[-1]) / 1000
    return [
        row(
            f"predict a CSV of {size:,.0f} MB, peak memory {peak:,.0f} MB",
            ours,
            "DuckDB scan of all columns",
            peer,
            ">= 0.5x",
        )
    ]
