"""PySpark DataFrames as a source of rows: passes over them run on the workers of Spark.

Only the DataFrame API is used, which Spark Connect has, too. Rows reach Python as Arrow batches
(`mapInArrow`). A worker folds those of a partition and returns the result as compact bytes, and
the workers merge these in a tree.
"""

from __future__ import annotations

import math
import os
import pickle
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from threading import Event, Thread
from typing import Any

from countwise.errors import CountwiseError, TableError
from countwise.progress import Progress
from countwise.tables.answer_frames import to_spark
from countwise.tables.formats.frames import refuse_duplicates
from countwise.tables.read_options import ReadOptions
from countwise.tables.sources.query_source import KeyedSource, Query, one_sentence
from countwise.tables.sources.row_source import Add, Piece, RowSource

_PREFIX = "spark:"
#: Results that are merged by one task.
FAN_IN = 16
#: A result as a row: its number, how many partitions it is of, and its bytes.
_RESULT = "part int, parts int, content binary"
_ROW_NUMBER = "countwise row number"
#: Seconds between two looks at what Spark has done.
_LOOK = 0.5
_LOGGERS = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")
_NO_PACKAGE = (
    "the workers of Spark lack the package {}. Install it there: as a library of the cluster, by "
    "%pip in a notebook, or packed with your environment by venv-pack and named in spark.archives"
)


def open_source(given: Any, options: ReadOptions) -> tuple[RowSource, ReadOptions] | None:
    """Return the source of a DataFrame, or of a table that the session of Spark knows."""
    query = Query.of(given)
    if query.is_of(_PREFIX):
        return _open_address(query), options
    frame = to_spark(query.source)
    if frame is None:
        return None
    query.refuse_table()
    return SparkSource(frame, key=query.key), options


def _open_address(query: Query) -> SparkSource:
    named = [query.source.removeprefix(_PREFIX), query.table, query.query]
    if sum(map(bool, named)) != 1:
        raise TableError(
            "scan: rows of Spark come from spark:TABLE, or from spark: with `table=` or `query=`; "
            f"got {'none' if not any(named) else 'several'} of these.",
            hint="Name one of them",
        )
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise TableError(
            f"scan: {query.source} needs the package pyspark. Install countwise[spark]."
        ) from None
    table = named[0] or named[1]
    what = f"table {table} of Spark" if table else "a query of Spark"
    with spark_sentence(what):
        session = SparkSession.builder.getOrCreate()
        frame = session.sql(f"SELECT * FROM {table}" if table else str(query.query))
        return SparkSource(frame, what, query.key)


class SparkSource(KeyedSource):
    """The rows of a PySpark DataFrame.

    Attributes
    ----------
    frame
        The DataFrame; None in the copy that a worker has.
    here
        The batches of the partition that a worker has.
    parts
        How many partitions the last pass had, once there was one.
    """

    engine = "spark"
    why_engine = "by the workers of Spark"
    is_remote = True
    here: Iterator[Any] | None = None
    parts: int | None = None

    def __init__(self, frame: Any, what: str = "a PySpark DataFrame", key: str | None = None):
        self.what = what
        with spark_sentence(what):
            refuse_duplicates(frame.columns, "scan", f" in {what}")
            numbered = None if key is not None else _number_by_file(frame)
            self.frame = frame if numbered is None else numbered
            self.schema = frame.limit(0).toArrow().schema
        if numbered is None:
            self.use_key(key)
        else:
            self.key, self.key_is_hidden = _ROW_NUMBER, True

    def __getstate__(self) -> dict[str, Any]:
        """Return what a worker needs."""
        return {**self.__dict__, "frame": None}

    def read_rows(self, names: Sequence[str], rows: int) -> Iterator[Any]:
        """Yield columns as Arrow batches: of a partition to a worker, of all of them to others."""
        if self.here is not None:
            yield from gather(self.here, rows)
            return
        with spark_sentence(self.what):
            frame = self._select(names)
            if self.row_limit is not None:
                yield from frame.limit(self.row_limit).toArrow().to_batches()
                return
            # One partition at a time is brought here.
            packed = frame.mapInArrow(partial(_pack_rows, rows), "content binary")
            for row in packed.toLocalIterator():
                yield _unpack_rows(row.content)

    def run_remotely(
        self,
        fold: Callable[[Piece], Any],
        add: Add,
        options: ReadOptions,
        progress: Progress | None = None,
    ) -> Any:
        """Fold the partitions on the workers, and merge what they found."""
        with spark_sentence(self.what):
            frame = self._select(self.columns_read(options)[1])
            results = frame.mapInArrow(partial(_fold_partition, self, fold), _RESULT)
            for number in _merge_steps(self.parts, frame.sparkSession):
                # The order is that of the partitions, so that sums of fractions are the same again.
                results = results.repartition(number, "part").sortWithinPartitions("part")
                results = results.mapInArrow(partial(_merge_results, add), _RESULT)
            with reporting_tasks(frame.sparkSession, progress):
                found = results.toArrow()
        self.parts = sum(found.column("parts").to_pylist())
        self.why_engine = f"by the workers of Spark, in {self.parts} parts"
        return _merge(add, found)

    def _select(self, names: Sequence[str]) -> Any:
        return self.frame.select(*map(quote_column, names))


def quote_column(name: str) -> str:
    """Return the name of a column so that Spark finds no field or pattern in it."""
    return "`" + name.replace("`", "``") + "`"


def _number_by_file(frame: Any) -> Any:
    """Return the frame with a number for each row, by its file and its place there.

    None if Spark does not know these, as of a join or of CSV files.
    """
    from pyspark.errors import AnalysisException
    from pyspark.sql import functions

    if "_metadata" in frame.columns:
        return None
    place = functions.xxhash64("_metadata.file_path", "_metadata.row_index")
    try:
        numbered = frame.select("*", place.alias(_ROW_NUMBER))
        # Spark Connect looks for columns only now.
        return numbered if numbered.columns else None
    except AnalysisException:
        return None


@contextmanager
def reporting_tasks(session: Any, progress: Progress | None) -> Iterator[None]:
    """Report the tasks that are done while Spark works; Spark Connect does not tell them."""
    tracker = None if progress is None else _find_tracker(session)
    if tracker is None or progress is None:
        yield
        return
    others, ended, failed = set(tracker.getActiveStageIds()), Event(), list[BaseException]()

    def look() -> None:
        tasks: dict[int, tuple[int, int]] = {}
        while not ended.wait(_LOOK):
            active = {stage: tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()}
            known = {stage: info for stage, info in active.items() if info and stage not in others}
            tasks = {stage: (total, total) for stage, (_, total) in tasks.items()}
            tasks |= {at: (info.numCompletedTasks, info.numTasks) for at, info in known.items()}
            done, total = map(sum, zip(*tasks.values(), strict=True)) if tasks else (0, 0)
            try:
                if total:
                    progress(done, total, f"{done:,} of {total:,} tasks")
            except BaseException as error:
                failed.append(error)
                return

    looking = Thread(target=look, name="Spark's tasks", daemon=True)
    looking.start()
    try:
        yield
    finally:
        ended.set()
        looking.join()
    if failed:
        raise failed[0]


def _find_tracker(session: Any) -> Any:
    """Return what knows the tasks of a session; None through Spark Connect."""
    from pyspark.errors import PySparkException

    try:
        return session.sparkContext.statusTracker()
    except (PySparkException, AttributeError):
        return None


def _merge_steps(parts: int | None, session: Any) -> list[int]:
    """Return in how many tasks results are merged, step by step; in the last one it is one task.

    Spark can repeat a last step of one task at any time. Of several tasks, some of which are done,
    it cannot if results come in another order than before.
    """
    if parts is None:
        usual = session.conf.get("spark.sql.shuffle.partitions")
        steps = [min(FAN_IN, int(usual)) if usual.isdigit() else FAN_IN]
    else:
        steps = [math.ceil(parts / FAN_IN)]
    while steps[-1] > 1:
        steps.append(math.ceil(steps[-1] / FAN_IN))
    return steps


def gather(batches: Iterator[Any], rows: int) -> Iterator[Any]:
    """Yield the small batches of Spark put together, until each has so many rows."""
    import pyarrow as pa

    held, number = list[Any](), 0
    for batch in batches:
        held.append(batch)
        number += len(batch)
        if number >= rows:
            yield pa.Table.from_batches(held)
            held, number = [], 0
    if number:
        yield pa.Table.from_batches(held)


def _pack_rows(rows: int, batches: Iterator[Any]) -> Iterator[Any]:
    """Put the rows of a partition into cells, which Spark brings to the driver."""
    import pyarrow as pa

    for table in gather(batches, rows):
        stream = pa.BufferOutputStream()
        with pa.ipc.new_stream(stream, table.schema) as writer:
            writer.write_table(table)
        content = pa.array([stream.getvalue().to_pybytes()], pa.binary())
        yield pa.RecordBatch.from_pydict({"content": content})


def _unpack_rows(content: bytes) -> Any:
    import pyarrow as pa

    with pa.ipc.open_stream(content) as reader:
        return reader.read_all()


def _fold_partition(
    source: SparkSource, fold: Callable[[Piece], Any], batches: Iterator[Any]
) -> Iterator[Any]:
    """Fold the rows of a partition, on a worker."""
    number = _begin_task()
    source.here = batches
    name = f"partition {number} of {source.what}"
    found = fold(Piece(name, "rows", stable_rows=source.stable_rows))
    yield _to_row(number, 1, found)


def _merge_results(add: Add, batches: Iterator[Any]) -> Iterator[Any]:
    """Merge results, on a worker."""
    number, parts, total = _begin_task(), 0, None
    for batch in batches:
        found = _merge(add, batch)
        total = found if total is None else add(total, found)
        parts += sum(batch.column("parts").to_pylist())
    if total is not None:
        yield _to_row(number, parts, total)


def _begin_task() -> int:
    """Use the one thread that Spark counts on; return the number of the partition."""
    from pyspark import TaskContext

    os.environ.setdefault("COUNTWISE_THREADS", "1")
    context = TaskContext.get()
    return 0 if context is None else int(context.partitionId())


def _merge(add: Add, results: Any) -> Any:
    total = None
    for content in results.column("content"):
        found = pickle.loads(zlib.decompress(content.as_buffer()))
        total = found if total is None else add(total, found)
    return total


def _to_row(number: int, parts: int, found: Any) -> Any:
    import pyarrow as pa

    # Counts are mostly zeros and small numbers: a pickle of them shrinks to a tenth.
    content = zlib.compress(pickle.dumps(found, protocol=5), 1)
    return pa.RecordBatch.from_pydict(
        {
            "part": pa.array([number], pa.int32()),
            "parts": pa.array([parts], pa.int32()),
            "content": pa.array([content], pa.binary()),
        }
    )


@contextmanager
def spark_sentence(what: str) -> Iterator[None]:
    """Turn what Spark raises, with the traces of two languages, into one sentence."""
    with one_sentence(what), _without_traces():
        try:
            yield
        except CountwiseError:
            raise
        except Exception as error:
            raise RuntimeError(_reason(str(error))) from None


@contextmanager
def _without_traces() -> Iterator[None]:
    """Keep PySpark from printing the trace of each refused query."""
    from pyspark.logger import PySparkLogger

    loggers = [PySparkLogger.getLogger(name) for name in _LOGGERS]
    before = [logger.disabled for logger in loggers]
    try:
        for logger in loggers:
            logger.disabled = True
        yield
    finally:
        for logger, is_disabled in zip(loggers, before, strict=True):
            logger.disabled = is_disabled


def _reason(text: str) -> str:
    """Return what went wrong, without traces."""
    lacking = re.search(r"No module named '(\w+)", text)
    if lacking:
        return _NO_PACKAGE.format(lacking[1])
    raised = re.findall(r"^(?:\w+\.)*\w*(?:Error|Exception|Interrupt)\b.*$", text, re.MULTILINE)
    if "Traceback" in text and raised:
        return str(raised[-1])
    caused = re.findall(r"^Caused by: (?:[\w.$]+: )?(.*)$", text, re.MULTILINE)
    if caused:
        return str(caused[-1])
    lines = [line.strip(" :") for line in text.splitlines() if line.strip()]
    if len(lines) > 1 and lines[0].startswith("An error occurred while calling"):
        del lines[0]
    return re.split(r" (?:SQLSTATE|JVM stacktrace):", lines[0])[0] if lines else ""
