"""Rows of PySpark DataFrames, on a cluster of two workers that the tests start on loopback."""

from __future__ import annotations

import json
import os
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from io import BytesIO
from pathlib import Path

import numpy as np
import polars
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from tests.counts.odd_tables import fixed_table

import countwise as cw
from countwise.cli.app import app
from countwise.counts.engines.stream import BlockCounter, finish
from countwise.errors import CountwiseError, MissingColumnWarning
from countwise.models.additive import additive, prepare
from countwise.models.discrete_bayes import discrete_bayes
from countwise.tables.scan_pass import PartAdder, RemotePass, run_pass
from countwise.tables.scan_sample import hash_rows
from countwise.tables.sources.row_source import Piece
from countwise.tables.sources.spark import _RESULT, _merge, _merge_steps, _reason, _to_row

pytest.importorskip("pyspark", reason="needs pyspark")
ROOT = Path(__file__).parents[2]
pytestmark = [
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java"),
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    pytest.mark.xdist_group("spark"),  # one process starts one cluster
]
SETTINGS = {
    "spark.driver.host": "localhost",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "1",  # one task merges
    # Times with a zone mean the same whatever the zone of the session.
    "spark.sql.session.timeZone": "America/New_York",
    "spark.task.maxFailures": "3",
    # Spark runs a slow task again on another host only, so in one test only.
    "spark.speculation": "true",
    "spark.speculation.minTaskRuntime": "1s",
    "spark.speculation.multiplier": "1.1",
    "spark.speculation.quantile": "0.5",
}


@pytest.fixture(scope="session")
def session(tmp_path_factory) -> Iterator:
    """Start a cluster of two worker processes; stop it at the end."""
    from pyspark.sql import SparkSession

    names = {
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_HOSTNAME": "localhost",
        "PYSPARK_PYTHON": sys.executable,
    }
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(names)
    path = os.pathsep.join([str(Path(cw.__file__).parents[1]), str(ROOT)])
    folder = tmp_path_factory.mktemp("spark")
    builder = SparkSession.builder.master("local-cluster[2,1,1024]").appName("countwise tests")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    builder = builder.config("spark.executorEnv.PYTHONPATH", path)
    builder = builder.config("spark.local.dir", str(folder))
    started = builder.config("spark.sql.warehouse.dir", str(folder / "tables")).getOrCreate()
    started.sparkContext.setLogLevel("OFF")
    yield started
    started.stop()
    for name, value in before.items():
        os.environ.pop(name) if value is None else os.environ.update({name: value})


@pytest.fixture(scope="session")
def credit(session, tmp_path_factory):
    """Give 600 rows with a key as a Parquet file, as a frame of it, and as a table in memory."""
    path = str(tmp_path_factory.mktemp("credit") / "credit.parquet")
    table = cw.read("sample:credit-g")
    cells = {
        name: column if table.schema[name].kind == "numeric" else [c and str(c) for c in column]
        for name, column in table.to_dict().items()
    }
    rows = pa.table({**cells, "customer": range(1000)}).slice(0, 600)
    pq.write_table(rows, path)
    return (
        path,
        session.read.parquet(path).repartition(3),
        cw.read(path, target="class", drop=["customer"]),
    )


@pytest.fixture(scope="session")
def weighted(session, credit, tmp_path_factory):
    """Give two scans of the same rows with weights, by Spark and by polars here."""
    given = pq.read_table(credit[0])
    given = given.append_column("often", pa.array(np.arange(600) * 7 % 4))
    path = str(tmp_path_factory.mktemp("weighted") / "credit.parquet")
    pq.write_table(given, path)
    frame = session.read.parquet(path).repartition(3)

    def scan(**options):
        options = {"target": "class", "key": "customer", "weight": "often"} | options
        here = cw.scan(polars.scan_parquet(path), **options)
        here.engine = "stream"
        return cw.scan(frame, **options), here

    return scan


@pytest.fixture
def small_samples(monkeypatch):
    monkeypatch.setattr(discrete_bayes, "SEARCHED_ROWS", 200)
    monkeypatch.setattr(prepare, "SAMPLE_ROWS", 150)


def everything(schema: cw.Schema) -> cw.Plan:
    return cw.Plan.each(schema, "both") | cw.Plan.pairs(schema)


GAINS = {"good": {"good": 0, "bad": -1}, "bad": {"good": -5, "bad": 0}}


def count_together(session, tables: dict[int, tuple[pa.Table, cw.Scan]]) -> dict[int, object]:
    """Count many tables in one job: a worker folds the rows of each by the pass of its scan.

    Scans that must be scanned again are so together. A refusal stands for the counts.
    """
    rows = [
        given.rename_columns({"y": f"y {given.schema.field('y').type}"}).append_column(
            "table", pa.array([number] * len(given), pa.int32())
        )
        for number, (given, _) in tables.items()
    ]
    frame = session.createDataFrame(pa.concat_tables(rows, promote_options="default"))
    frame = frame.repartition(4)
    counters = {number: BlockCounter(scan, everything) for number, (_, scan) in tables.items()}
    counts: dict[int, object] = {}
    while len(counts) < len(tables):
        passes, names = {}, {}
        for number in tables.keys() - counts.keys():
            scan, counter = tables[number][1], counters[number]
            decision = scan.decision
            passes[number] = RemotePass(scan, counter.fold, counter.add, decision.reading_schema)
            names[number] = scan.source.columns_read(decision.reading(scan.options, False))[0]

        def fold(batches, passes=passes, names=names):
            held = pa.Table.from_batches(list(batches))
            for number in set(held["table"].to_pylist()) & passes.keys():
                some = held.filter(pc.equal(held["table"], number))
                y = f"y {passes[number].scan.source.schema.field('y').type}"
                part = some.rename_columns({y: "y"}).select(names[number])
                passes[number].scan.source.here = iter(part.to_batches())
                yield _to_row(number, 1, passes[number].fold(Piece("rows", "rows")))

        found = frame.mapInArrow(fold, _RESULT).toArrow()
        for number, work in passes.items():
            of_table = found.filter(pc.equal(found["part"], number))
            part = _merge(PartAdder(work.adder, work.scan.max_levels).add, of_table)
            try:
                if part.refusal is not None:
                    raise part.refusal
                if not work.scan.settle(part.survey):
                    counts[number] = finish(work.scan, part.folded, everything)
            except CountwiseError as refusal:
                counts[number] = refusal
    return counts


def test_odd_tables_count_like_rows_in_memory(session):
    tables, known, refused, unscanned = {}, {}, {}, {}
    for seed in range(40):
        given, options = fixed_table(seed)
        with BytesIO() as file:
            pq.write_table(given, file)
            content = file.getvalue()
        try:
            known[seed] = cw.read(BytesIO(content), target="y", **options)
        except CountwiseError as refusal:
            refused[seed] = str(refusal)
        try:
            tables[seed] = given, cw.scan(session.createDataFrame(given), target="y", **options)
        except CountwiseError as refusal:
            unscanned[seed] = str(refusal)
    assert len(known) > 30
    assert unscanned.items() <= refused.items()
    counts = count_together(session, tables)
    for seed, (_, rows) in tables.items():
        if seed in refused:
            assert str(counts[seed]) == refused[seed]
            continue
        table = known[seed]
        assert rows.schema == table.schema
        assert len(rows) == len(table)
        assert counts[seed] == cw.count(table, everything(table.schema))
        assert {note.code for note in rows.notes} == {note.code for note in table.notes}


def test_many_levels_and_a_level_of_the_last_partition(session):
    size = 30_000
    texts = [f"level {number % 10_000}" for number in range(size)]
    given = pa.table({"t": texts, "x": np.arange(size) / 7, "y": ["a", "b"] * (size // 2)})
    given = pa.concat_tables([given, pa.table({"t": ["rare"], "x": [1e9], "y": ["c"]})])
    frame = session.createDataFrame(given).repartition(5)
    known = cw.read(given, target="y")
    rows = cw.scan(frame, target="y", memory="1MB")
    assert cw.count(rows, everything) == cw.count(known, everything(known.schema))
    assert "engine spark (by the workers of Spark, in 5 parts)" in str(rows.notes[-1])
    assert rows.source.parts == 5
    folded = cw.scan(frame, target="y", max_levels=100)
    counts = cw.count(folded)
    assert counts.tables["t",].sum() == size + 1
    assert "S02" in {note.code for note in folded.notes}
    again = cw.count(cw.scan(frame, target="y", max_levels=100), engine="stream")
    assert counts.rows == again.rows
    assert counts.moments == again.moments


def test_models_are_those_of_rows_in_memory(credit, weighted, monkeypatch):
    _, frame, table = credit
    rows, (rows_with_weights, _) = cw.scan(frame, target="class", key="customer"), weighted()
    weights = np.arange(600) * 7 % 4
    for model, given, weight in (
        (cw.NaiveBayes(), rows_with_weights, weights),
        (cw.NaiveBayes(numeric="gaussian"), rows, None),
        (cw.TAN(), rows_with_weights, weights),
        (cw.AODE(), rows, None),
        (cw.KDB(), rows, None),
        (cw.KDB(selective=True), rows_with_weights, weights),
    ):
        found = type(model)(**model.get_params()).fit(given)
        known = model.fit(table, sample_weight=weight)
        assert found.counts_ == known.counts_
        np.testing.assert_allclose(
            found.predict_proba(table), known.predict_proba(table), rtol=1e-9
        )
    tree = cw.ID3(max_depth=3)
    found = tree.fit(rows).predict_proba(table)
    assert np.array_equal(found, cw.ID3(max_depth=3).fit(table).predict_proba(table))
    monkeypatch.setattr(discrete_bayes, "SEARCHED_ROWS", 200)
    cells = cw.DiscreteBayes(random_state=0).fit(rows)
    assert cells.cells_.total == len(table)
    assert "S04" in {note.code for note in cells.notes_}
    here = cw.scan(frame, target="class", key="customer")
    here.engine = "stream"
    same = cw.DiscreteBayes(random_state=0).fit(here)
    assert np.array_equal(cells.predict_proba(table), same.predict_proba(table))


def test_folds_by_a_key_give_the_scores_of_rows_in_memory(credit):
    _, frame, table = credit
    models = {"cuts": cw.NaiveBayes(numeric="cuts"), "tan": cw.TAN(), "id3": cw.ID3(max_depth=2)}
    rows = cw.scan(frame, target="class", key="customer")
    found = cw.evaluate(models, rows, folds=3)
    folds = np.empty(600, int)
    for block in rows.blocks(next(rows.pieces())):
        folds[block.numbers] = hash_rows(block, 0) % np.uint64(3)
    known = cw.evaluate(models, table, folds=folds)
    assert found.names == known.names
    for name in found.names:
        assert np.array_equal(found.confusion(name).counts, known.confusion(name).counts)
        for what in ("accuracy", "log_loss", "brier"):
            values = known.score(what, name).values
            assert found.score(what, name).values == pytest.approx(values, rel=1e-12)
    grouped = cw.evaluate(cw.NaiveBayes(), rows, folds=2, groups="purpose")
    assert grouped.names[0] == "NaiveBayes"


def assert_same_scores(found, known):
    assert found.names == known.names
    for name in found.names:
        assert np.array_equal(found.confusion(name).counts, known.confusion(name).counts)
        rel = 1e-6 if name == "additive" else 1e-12
        for what in ("log_loss", "brier"):
            expected = known.score(what, name).values
            assert found.score(what, name).values == pytest.approx(expected, rel=rel)


@pytest.mark.parametrize("kept", [0.5, 0.0], ids=["memory", "file"])
def test_models_of_all_folds_are_trained_by_the_workers(weighted, small_samples, monkeypatch, kept):
    """Codes that go to a file are made here, whoever else waits for the scan."""
    monkeypatch.setattr(additive, "KEPT_SHARE", kept)
    models = {"additive": cw.Additive(pairs=0), "bag": cw.Bagging(cw.TAN(), n_estimators=2)}
    if kept:
        models |= {
            "discrete": cw.DiscreteBayes(random_state=0),
            "kdb": cw.KDB(selective=True),
            "decide": cw.Decide(cw.ID3(max_depth=2), GAINS),
            "neighbors": cw.Neighbors(),
        }
    there, here = (cw.evaluate(models, rows, folds=2, groups="age") for rows in weighted())
    assert_same_scores(there, here)
    assert len(there.names) == (6 if kept else 3)  # all but neighbors, and the baseline


def test_curves_members_and_sampled_fits_are_those_of_rows_without_spark(weighted, small_samples):
    models = {"bayes": cw.NaiveBayes(), "tan": cw.TAN()}
    curves = [cw.learning_curve(models, rows, points=[0.3, 1.0]) for rows in weighted()]
    assert curves[0].sizes == curves[1].sizes
    for there, here in zip(*(curve.trials for curve in curves), strict=True):
        assert_same_scores(there, here)
    there, here = (
        cw.Bagging(cw.NaiveBayes(numeric="gaussian"), n_estimators=3, oob_score=True).fit(rows)
        for rows in weighted()
    )
    for one, other in zip(there.members_, here.members_, strict=True):
        assert one.counts_ == other.counts_
    assert there.out_of_bag_.to_dict() == pytest.approx(here.out_of_bag_.to_dict(), rel=1e-12)
    one, other = (cw.Additive(pairs=1, max_seconds=1e-6).fit(rows) for rows in weighted())
    table = weighted()[1].sample(600)
    np.testing.assert_allclose(one.predict_proba(table), other.predict_proba(table), rtol=1e-9)
    assert {"A01", "A02", "A03"} <= {note.code for note in one.notes_}


def test_progress_tells_the_tasks_that_are_done(credit, monkeypatch):
    monkeypatch.setattr("countwise.tables.sources.spark._LOOK", 0.01)
    steps: list[tuple[float, float, str]] = []
    rows = cw.scan(credit[1], target="class", key="customer", progress=lambda *a: steps.append(a))
    cw.NaiveBayes(calibrate=None).fit(rows)
    told = [step for step in steps if step[2].endswith(" tasks")]
    assert told
    assert all(0 <= done <= total for done, total, _ in told)
    assert not [thread for thread in threading.enumerate() if thread.name == "Spark's tasks"]


def test_rows_of_files_need_no_key_and_others_do(session, credit):
    path, frame, _ = credit
    of_file = [cw.scan(session.read.parquet(path), target="class") for _ in range(2)]
    one, two = (rows.sample(50) for rows in of_file)
    assert one.to_dict() == two.to_dict()
    assert len(one) == 50
    ordered = session.read.parquet(path).repartition(4)
    with pytest.raises(CountwiseError, match=r"need a column that identifies them.*key="):
        cw.scan(session.createDataFrame(pa.table({"x": [1, 2], "y": ["a", "b"]})), "y").sample(1)
    by_key = [cw.scan(f, target="class", key="customer").sample(9) for f in (frame, ordered)]
    assert by_key[0].to_dict() == by_key[1].to_dict()


def test_a_frame_is_never_collected_unasked(credit):
    _, frame, _ = credit
    sentence = r"got a PySpark DataFrame, which may hold more than fits.*cw\.scan"
    for refused in (
        lambda: cw.read(frame, target="class"),
        lambda: cw.count(frame, target="class"),
        lambda: cw.NaiveBayes().fit(frame, "class"),
        lambda: cw.NaiveBayes().fit(frame, ["a"] * 600),
    ):
        with pytest.raises(CountwiseError, match=sentence):
            refused()


def test_answers_are_frames(session, credit):
    _, frame, table = credit
    model = cw.TAN().fit(table)
    proba, labels = model.predict_proba(table), model.predict(table)
    some = frame.select("customer", *[c for c in frame.columns if c not in ("customer", "class")])
    answers = model.predict(model.predict_proba(some))
    assert answers.columns[-3:] == ["p_bad", "p_good", "class"]
    found = answers.select("customer", "p_bad", "p_good", "class").toArrow().sort_by("customer")
    assert np.array_equal(np.stack([found["p_bad"], found["p_good"]], axis=1), proba)
    assert found["class"].to_pylist() == labels.tolist()
    # The answer takes the place of a column with its name.
    assert model.predict(frame).columns.count("class") == 1
    why = model.explain(some).select("customer", "class", "log_odds", "parts")
    first = next(row for row in why.limit(600).collect() if row.customer == 0)
    known = model.explain(table.take([0])).to_dict()
    assert (first["class"], first.log_odds) == (known["class"], known["log_odds"])
    assert [part.asDict() for part in first.parts] == known["parts"]
    decide = cw.Decide(cw.TAN(), GAINS).fit(table)
    decided = decide.predict(some).select("customer", "decision").toArrow().sort_by("customer")
    assert decided["decision"].to_pylist() == decide.predict(table).tolist()
    with pytest.warns(MissingColumnWarning, match="age"):
        model.predict(some.drop("age"))
    with pytest.raises(CountwiseError, match="must have columns of the model"):
        model.predict(session.range(3))
    with pytest.raises(CountwiseError, match="draws"):
        cw.Decide(cw.TAN(), "roulette").fit(table).predict(some)


@pytest.mark.filterwarnings("ignore::countwise.errors.MissingColumnWarning")
@pytest.mark.filterwarnings("ignore::countwise.errors.UnseenLevelWarning")
def test_models_answer_rows_with_new_levels_and_without_a_column(credit):
    from pyspark.sql.functions import expr

    _, frame, table = credit
    unlike = expr("CASE WHEN customer % 3 = 0 THEN 'moon trip' ELSE purpose END")
    odd = frame.drop("class", "age").withColumn("purpose", unlike)
    models = {
        "bag": cw.Bagging(cw.NaiveBayes(), n_estimators=3),
        "additive": cw.Additive(pairs=0),
        "discrete": cw.DiscreteBayes(random_state=0),
        "decide": cw.Decide(cw.TAN(), GAINS),
    }
    here = odd.toArrow().sort_by("customer")
    for name, model in models.items():
        model.fit(table)
        # One after the other, so that the same Python processes answer.
        found = model.predict_proba(odd).toArrow().sort_by("customer")
        proba = np.stack([found["p_bad"], found["p_good"]], axis=1)
        assert np.array_equal(proba, model.predict_proba(here))
        word = "decision" if name == "decide" else "class"
        found = model.predict(odd).toArrow().sort_by("customer")
        assert found[word].to_pylist() == model.predict(here).tolist()
    first, row = odd.where("customer = 0"), here.slice(0, 1)
    told = models["additive"].explain(first).collect()[0]
    assert [part.asDict() for part in told.parts] == models["additive"].explain(row).to_dict()[
        "parts"
    ]
    regressor = cw.NeighborsRegressor().fit(table.to_pandas().drop(columns="class"), "age")
    told, why = regressor.explain(first).collect()[0], regressor.explain(row).to_dict()
    assert (told["prediction"], told["mean"]) == (why["prediction"], why["mean"])
    assert [part.asDict() for part in told["parts"]] == why["parts"]
    strict = cw.NaiveBayes(unseen="error").fit(table)
    with pytest.raises(Exception, match="every level must be known from training"):
        strict.predict(first).toArrow()


def test_marks_are_missing_in_rows_to_predict(session, tmp_path):
    given = pa.table(
        {"t": ["a", "b", "?", "NA", "a", None], "n": [1.0, 2, 3, 1, 2, None], "y": list("ppqqpq")}
    )
    path = str(tmp_path / "rows.parquet")
    pq.write_table(given, path)
    model = cw.NaiveBayes().fit(cw.read(path, target="y"))
    found = model.predict_proba(session.read.parquet(path).coalesce(1)).toArrow()
    cw.predict_file(model, path, str(tmp_path / "answers.parquet"))
    known = pq.read_table(tmp_path / "answers.parquet")
    assert [name for name in found.column_names if name.startswith("p_")] == ["p_p", "p_q"]
    assert found["p_p"].to_pylist() == known["p_p"].to_pylist()


def kill_executor(marker: str) -> None:
    """Kill the process of Spark that runs this task, once; on the driver do nothing."""
    from pyspark import TaskContext

    if TaskContext.get() is None:
        return
    try:
        Path(marker).touch(exist_ok=False)
    except FileExistsError:
        return
    # A task runs in a child of PySpark's daemon, which is a child of the executor.
    state = Path(f"/proc/{os.getppid()}/stat").read_text()
    executor = int(state.rpartition(")")[2].split()[1])
    assert b"CoarseGrainedExecutorBackend" in Path(f"/proc/{executor}/cmdline").read_bytes()
    os.kill(executor, 9)


@pytest.fixture(scope="module")
def numbers():
    size = 20_000
    random = np.random.default_rng(0)
    cells = {f"n{at}": random.integers(0, 9, size).astype(str) for at in range(4)}
    return pa.table(
        {**cells, "x": random.normal(1e6, 1e-3, size), "y": random.integers(0, 3, size).astype(str)}
    )


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs /proc to find an executor")
@pytest.mark.parametrize("stage", ["counting", "merging"])
def test_a_killed_executor_loses_nothing_and_doubles_nothing(session, numbers, tmp_path, stage):
    known = cw.read(numbers, target="y")
    session.conf.set("spark.sql.shuffle.partitions", "3")
    rows = cw.scan(session.createDataFrame(numbers).repartition(6), target="y")
    marker = str(tmp_path / "killed")
    counter = BlockCounter(rows, everything)

    def fold(block):
        if stage == "counting":
            kill_executor(marker)
        return counter.fold(block)

    def add(left, right):
        # Each partition is one block, so that only the merging stage adds.
        kill_executor(marker)
        return counter.add(left, right)

    counts = finish(rows, run_pass(rows, fold, add), everything)
    session.conf.set("spark.sql.shuffle.partitions", "1")
    assert Path(marker).exists()
    assert counts == cw.count(known, everything(known.schema))


def test_a_repeated_task_counts_once(session, numbers):
    def fail_twice(schema):
        from pyspark import TaskContext

        context = TaskContext.get()
        if context is not None and context.partitionId() == 1 and context.attemptNumber() < 2:
            raise RuntimeError("not yet")
        return everything(schema)

    known = cw.read(numbers, target="y")
    rows = cw.scan(session.createDataFrame(numbers).repartition(3), target="y")
    assert cw.count(rows, fail_twice) == cw.count(known, everything(known.schema))


def test_faults_are_said_in_one_sentence(session, numbers):
    frame = session.createDataFrame(numbers)

    def lack(schema):
        from pyspark import TaskContext

        if TaskContext.get() is not None:
            import countwise_elsewhere  # noqa: F401
        return everything(schema)

    with pytest.raises(CountwiseError) as refusal:
        cw.count(cw.scan(frame, target="y"), lack)
    sentence = str(refusal.value)
    assert "the workers of Spark lack the package countwise_elsewhere. Install it" in sentence
    assert "spark.archives" in sentence
    assert "\n" not in sentence
    rows = cw.scan(frame, target="y")
    with pytest.raises(CountwiseError, match="Spark repeats what fails"):
        cw.count(rows, checkpoint="run.counts")
    with pytest.raises(CountwiseError, match="'pushdown' counts rows of a database"):
        cw.count(rows, engine="pushdown")
    with pytest.raises(CountwiseError, match="'spark' counts rows of a PySpark DataFrame"):
        cw.count(cw.scan("sample:weather"), engine="spark")
    with pytest.raises(CountwiseError, match=r"`?nowhere`? cannot be found") as refusal:
        cw.scan("spark:nowhere", target="y")
    assert "\n" not in str(refusal.value)
    with pytest.raises(CountwiseError, match="spark:TABLE"):
        cw.scan("spark:", target="y")
    with pytest.raises(CountwiseError, match="must not be the class"):
        cw.scan(frame, target="y", key="y")


def test_reasons_are_short():
    trace = "An exception was thrown:\nTraceback (most recent call last):\n  File x\nValueError: no"
    assert _reason(trace) == "ValueError: no"
    java = "An error occurred while calling o1.x.\n: java.io.IOException: full\n\tat y"
    assert _reason(java) == "java.io.IOException: full"
    aborted = (
        "Exception thrown in awaitResult:\n\tat x\nCaused by: a.BException: no space left\n\tat"
    )
    assert _reason(aborted) == "no space left"
    assert _merge_steps(16, None) == [1]
    assert _merge_steps(200, None) == [13, 1]
    assert _merge_steps(4000, None) == [250, 16, 1]


def test_the_command_line_reaches_tables_of_the_session(session, credit, tmp_path):
    path, frame, table = credit
    frame.createOrReplaceTempView("credit")
    model = str(tmp_path / "credit.cw")
    counts = str(tmp_path / "credit.counts")
    runner = CliRunner()

    def run(*words: str):
        done = runner.invoke(app, list(words))
        assert done.exit_code == 0, done.output
        return done

    done = run(
        "fit",
        "spark:credit",
        "--target",
        "class",
        "--drop",
        "customer",
        "--model",
        "naive-bayes",
        "-o",
        model,
    )
    assert "600 rows of table credit of Spark were counted by the engine spark" in done.stderr
    assert cw.load(model).counts_ == cw.NaiveBayes().fit(table).counts_
    query = "SELECT * FROM credit WHERE customer < 100"
    run("count", "spark:", "--query", query, "--target", "class", "-o", counts)
    assert cw.load_counts(counts).rows == 100
    assert "600" in run("inspect", f"spark:parquet.`{path}`", "--target", "class").output
    done = run("predict", model, "spark:credit", "--keep", "customer")
    assert len(done.stdout.splitlines()) == 601
    assert done.stdout.startswith("customer,class,p_bad,p_good,decision")
    words = ["--key", "customer", "--target", "class", "-m", "naive-bayes", "--folds", "2"]
    assert "naive-bayes" in run("compare", "spark:credit", *words).output
    words = ["--key", "customer", "--target", "class", "--group", "age", "--points", "2"]
    done = run("curve", "spark:credit", *words, "--models", "naive-bayes")
    assert "groups of age kept together" in done.output
    done = run("explain", model, "spark:credit", "--row", "2")
    assert done.output.startswith("row 2:")


@pytest.fixture
def other_host(session, tmp_path):
    """Let a worker with another loopback name join the cluster, for a test."""
    java, deploy = session.sparkContext._jvm, session.sparkContext._jvm.org.apache.spark.deploy
    cluster = getattr(getattr(deploy, "LocalSparkCluster$"), "MODULE$").get().get()
    masters = session.sparkContext._gateway.new_array(java.java.lang.String, 1)
    with closing(HTTPConnection("localhost", cluster.masterWebUIPort())) as connection:
        connection.request("GET", "/json/")
        masters[0] = json.load(connection.getresponse())["url"]
    none, settings = java.scala.Option.empty(), session.sparkContext._jsc.sc().conf()
    worker = deploy.worker.Worker.startRpcEnvAndEndpoint(
        "127.0.0.2", 0, 0, 1, 1024, masters, str(tmp_path), none, settings, none
    )
    tracker = session.sparkContext._jsc.sc().statusTracker()
    until = time.monotonic() + 120
    while all(one.host() != "127.0.0.2" for one in tracker.getExecutorInfos()):
        if time.monotonic() > until:
            worker.shutdown()
            pytest.skip("no executor was started on a second host within two minutes")
        time.sleep(0.1)
    yield
    worker.shutdown()


def test_a_slow_task_that_is_run_twice_counts_once(session, numbers, other_host, tmp_path):
    folder = str(tmp_path)

    def wait_for_another(schema):
        from pyspark import TaskContext

        context = TaskContext.get()
        if context is not None and context.partitionId() == 1:
            (Path(folder) / f"attempt {context.attemptNumber()}").touch()
            until = time.monotonic() + 180
            while time.monotonic() < until and not (Path(folder) / "attempt 1").exists():
                time.sleep(0.1)
        return everything(schema)

    known = cw.read(numbers, target="y")
    rows = cw.scan(session.createDataFrame(numbers).repartition(4), target="y")
    assert cw.count(rows, wait_for_another) == cw.count(known, everything(known.schema))
    if not (tmp_path / "attempt 1").exists():
        pytest.skip("Spark ran no second attempt of a task that waited for three minutes")
