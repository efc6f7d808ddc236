"""Naive Bayes on the workers of Spark, against MLlib's StringIndexer and NaiveBayes.

Both learn from one Parquet frame of ten nominal and ten numeric columns without a missing cell,
which MLlib does not take. Processor seconds of this process, the Java machine and the Python
workers together, from Linux's /proc; of three runs the least, because Java gets faster.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb

import countwise as cw
from benchmarks.timing import row

LEVELS = (3, 4, 5, 8, 12, 20, 50, 100, 300, 1000)
NOMINAL = [f"n{place}" for place in range(len(LEVELS))]
NUMERIC = [f"x{place}" for place in range(10)]


def run(quick: bool) -> list[dict[str, Any]]:
    """Measure training on all columns, on the nominal ones, and prediction."""
    rows = 100_000 if quick else 1_000_000
    with TemporaryDirectory() as folder:
        path = f"{folder}/rows.parquet"
        make_file(path, rows)
        session = start(folder)
        try:
            frame = session.read.parquet(path)
            lines = []
            for what, names in (("20 columns", NOMINAL + NUMERIC), ("10 nominal columns", NOMINAL)):
                some = frame.select(*names, "y")
                ours, model = processor_seconds(lambda some=some: fit(some))
                peer, theirs = processor_seconds(
                    lambda some=some, names=names: fit_mllib(some, names)
                )
                assert model.counts_.rows == rows
                name = f"naive Bayes, {what}, {rows:,} rows of Spark"
                lines.append(row(name, ours, "MLlib", peer, "> 1 ×"))
            ours, _ = processor_seconds(lambda: use(model.predict_proba(some)))
            peer, _ = processor_seconds(lambda: use(theirs.transform(some)))
            lines.append(row(f"posteriors, {rows:,} rows of Spark", ours, "MLlib", peer, "stated"))
        finally:
            session.stop()
    return lines


def make_file(path: str, rows: int) -> None:
    """Write the rows as Parquet, in groups that Spark reads as partitions."""
    columns = [
        *(
            f"'level ' || (floor(random() * {number}))::int AS {name}"
            for name, number in zip(NOMINAL, LEVELS, strict=True)
        ),
        *(f"random() * 100 AS {name}" for name in NUMERIC),
        "'class ' || (floor(random() * 3))::int AS y",
    ]
    duckdb.sql(f"COPY (SELECT {', '.join(columns)} FROM range({rows})) TO '{path}'")


def start(folder: str) -> Any:
    """Start Spark with two threads on loopback."""
    from pyspark.sql import SparkSession

    os.environ.update(
        SPARK_LOCAL_IP="127.0.0.1", SPARK_LOCAL_HOSTNAME="localhost", PYSPARK_PYTHON=sys.executable
    )
    settings = {
        "spark.driver.host": "localhost",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "2g",
        "spark.local.dir": folder,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
    }
    builder = SparkSession.builder.master("local[2]").appName("countwise benchmark")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def fit(frame: Any) -> Any:
    """Train ours: normal densities, which need one scan."""
    model = cw.NaiveBayes(numeric="gaussian", calibrate=None)
    return model.fit(cw.scan(frame, target="y"))


def fit_mllib(frame: Any, names: list[str]) -> Any:
    """Train MLlib's: one distribution for all columns, levels as their numbers."""
    from pyspark.ml import Pipeline
    from pyspark.ml.classification import NaiveBayes
    from pyspark.ml.feature import StringIndexer, VectorAssembler

    texts = [name for name in names if name in NOMINAL]
    numbered = [f"{name} number" for name in texts]
    steps = [
        StringIndexer(inputCols=[*texts, "y"], outputCols=[*numbered, "label"]),
        VectorAssembler(
            inputCols=[*numbered, *(name for name in names if name in NUMERIC)],
            outputCol="features",
        ),
        NaiveBayes(modelType="gaussian" if len(names) > len(texts) else "multinomial"),
    ]
    return Pipeline(stages=steps).fit(frame)


def use(frame: Any) -> None:
    """Compute all columns of a frame and keep none."""
    frame.write.format("noop").mode("overwrite").save()


def processor_seconds(job: Callable[[], Any]) -> tuple[float, Any]:
    """Return the least of three runs, and what the last one returned."""
    seconds = []
    for _ in range(3):
        start_seconds = seconds_so_far()
        result = job()
        seconds.append(seconds_so_far() - start_seconds)
    return min(seconds), result


#: Ticks of each process at the last look; those of one that has ended stay.
_TICKS: dict[int, int] = {}


def seconds_so_far() -> float:
    """Return the processor seconds of this process and all that it has started."""
    parent, used = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended meanwhile
            continue
        number = int(path.parent.name)
        parent[number] = int(fields[1])
        used[number] = int(fields[11]) + int(fields[12])

    def is_ours(number: int) -> bool:
        while number and number != os.getpid():
            number = parent.get(number, 0)
        return bool(number)

    _TICKS.update({number: ticks for number, ticks in used.items() if is_ours(number)})
    return sum(_TICKS.values()) / os.sysconf("SC_CLK_TCK")
