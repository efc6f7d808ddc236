"""Rows outside memory: chosen on a sample, then fitted as if all of them were in memory."""

from __future__ import annotations

import errno
import random
import tempfile
import threading

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import countwise as cw
from countwise.errors import TableError, UnseenLevelWarning
from countwise.models.additive import additive, prepare, scan_rows
from countwise.tables import scan as scan_module
from countwise.tables import scan_sample
from countwise.tables.scan import Block

ROWS, SAMPLE = 3000, 800
WORDS = ["alpha", "beta", "gamma", "delta", "eta", "theta"]


def columns(rows: int = ROWS, classes: int = 3, text: bool = False) -> dict[str, list]:
    drawn = random.Random(classes)
    labels = [drawn.randrange(classes) for _ in range(rows)]
    k = [drawn.choice("xyz") + str(label * (drawn.random() < 0.4)) for label in labels]
    u = [None if drawn.random() < 0.1 else round(drawn.gauss(label, 1.5), 2) for label in labels]
    data: dict[str, list] = {
        "k": k,
        "m": [drawn.choice(["p", "q", None]) for _ in labels],
        "many": [f"l{int(300 * drawn.random() ** 3)}" for _ in labels],
        "u": u,
        "v": [
            drawn.random() + (cell[0] == "x") * label for cell, label in zip(k, labels, strict=True)
        ],
    }
    if text:
        data["body"] = [
            None
            if drawn.random() < 0.05
            else f"{drawn.choice(WORDS)} {drawn.choice(WORDS[label:])}"
            for label in labels
        ]
    return {**data, "y": [f"c{label}" for label in labels]}


@pytest.fixture
def small_sample(monkeypatch):
    monkeypatch.setattr(prepare, "SAMPLE_ROWS", SAMPLE)


def write(folder, data, parts: int = 3):
    table = pa.table(data)
    size = -(-len(table) // parts)
    for number in range(parts):
        part = table.slice(number * size, size)
        pq.write_table(part, folder / f"{number}.parquet", row_group_size=250)
    return sorted(folder.glob("*.parquet"))


def losses(trials):
    return trials.score("log_loss", "additive").values


def note_of(model, code):
    (note,) = [note for note in model.notes_ if note.code == code]
    return note.text


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("text", [False, True], ids=["columns", "words"])
def test_the_fit_is_that_of_rows_in_memory_at_the_same_choice(
    tmp_path, monkeypatch, small_sample, classes, text
):
    data = columns(classes=classes, text=text)
    paths = write(tmp_path, data)
    chosen = []

    def choose(*args, **options):
        chosen.append(prepare.prepare(*args, **options))
        return chosen[-1]

    monkeypatch.setattr(additive, "prepare", choose)
    model = cw.Additive(pairs=2).fit(cw.scan(paths, target="y"))
    assert f"{len(chosen[0].rows)} of {ROWS} rows" in note_of(model, "A01")
    monkeypatch.setattr(additive, "prepare", lambda *args, **options: chosen[0])
    table = cw.read(pa.table(data), target="y")
    wanted = cw.Additive(pairs=2).fit(table)
    np.testing.assert_allclose(model.predict_proba(table), wanted.predict_proba(table), atol=1e-6)
    for found, expected in zip(model.terms_.columns, wanted.terms_.columns, strict=True):
        assert np.array_equal(found.bins.counts, expected.bins.counts)
    for found, expected in zip(model.terms_.pairs, wanted.terms_.pairs, strict=True):
        assert np.array_equal(found.counts, expected.counts)


def test_blocks_threads_files_and_where_rows_are_kept_change_no_bit(
    tmp_path, monkeypatch, small_sample
):
    paths = write(tmp_path, columns())
    table = cw.read(pa.table(columns()), target="y")
    plain = cw.Additive(pairs=2).fit(cw.scan(paths, target="y"))
    expected = plain.predict_proba(table)
    assert "kept in memory" in note_of(plain, "A02")
    turned = cw.Additive(pairs=2).fit(cw.scan(paths[::-1], target="y"))
    assert np.array_equal(turned.predict_proba(table), expected)
    monkeypatch.setenv("COUNTWISE_THREADS", "3")
    assert np.array_equal(
        cw.Additive(pairs=2).fit(cw.scan(paths, target="y")).predict_proba(table), expected
    )
    monkeypatch.setattr(scan_module, "_MOST_ROWS", 77)
    monkeypatch.setattr(scan_module, "_FEWEST_ROWS", 10)
    monkeypatch.setattr(additive, "KEPT_SHARE", 0.0)
    spilled = cw.Additive(pairs=2).fit(cw.scan(paths, target="y"))
    assert np.array_equal(spilled.predict_proba(table), expected)
    assert "kept in a temporary file" in note_of(spilled, "A02")


@pytest.mark.parametrize(
    ("rows", "rare", "options", "scans"),
    [
        (ROWS, 0, {}, 2),
        (ROWS, 0, {"weight": "often"}, 3),  # rows are counted, too
        (ROWS, 5, {}, 3),  # the first scan draws no row of some rare class
        (ROWS, 0, {"memory": "1MB"}, 3),  # too little for twice the sample
        (SAMPLE - 100, 0, {}, 1),
    ],
)
def test_the_first_scan_draws_the_sample(
    tmp_path, monkeypatch, small_sample, rows, rare, options, scans
):
    """Classes come one after the other, and levels only with the last rows."""
    data = columns(rows)
    data["y"] = sorted(data["y"])
    data["y"][rows - rare :] = [f"rare {number}" for number in range(rare)]
    data["many"] = [f"{'a' * (place > 0.9 * rows)}{x}" for place, x in enumerate(data["many"])]
    data["often"] = [place % 3 for place in range(rows)]
    monkeypatch.setattr(prepare, "_SAMPLED_CELL_BYTES", 100)
    paths = write(tmp_path, data)
    drawn, begun = [], []

    def draw(*args):
        drawn.append(scan_sample.draw_by_class(*args))
        return drawn[-1]

    monkeypatch.setattr(additive, "draw_by_class", draw)
    table = cw.read(pa.table(data), target="y")
    models = []
    for is_known in (False, True):
        given = cw.scan(paths, target="y", **options)
        if is_known:
            given.make_certain()
        inner = given.source.pieces
        given.source.pieces = lambda inner=inner: begun.append(1) or inner()
        models.append(cw.Additive(pairs=1).fit(given))
        assert given.expected is None
        if not is_known:
            assert len(begun) == scans
    (one, weight), (other, weights) = drawn
    assert one.to_dict() == other.to_dict()
    assert np.array_equal(weight, weights) if "weight" in options else weight is None
    assert np.array_equal(*(model.predict_proba(table) for model in models))


def test_few_rows_give_the_model_of_memory(tmp_path):
    data = columns(700)
    table = cw.read(pa.table(data), target="y")
    model = cw.Additive().fit(cw.scan(write(tmp_path, data), target="y"))
    assert np.array_equal(model.predict_proba(table), cw.Additive().fit(table).predict_proba(table))


def test_a_full_disk_is_noted_and_the_source_read_instead(tmp_path, monkeypatch, small_sample):
    paths = write(tmp_path, columns(1200))
    table = cw.read(pa.table(columns(1200)), target="y")
    expected = cw.Additive(pairs=1).fit(cw.scan(paths, target="y")).predict_proba(table)

    def refuse(self, lines):
        raise scan_rows.SpillError("No space left on device")

    monkeypatch.setattr(additive, "KEPT_SHARE", 0.0)
    monkeypatch.setattr(scan_rows.SpillFile, "write", refuse)
    model = cw.Additive(pairs=1).fit(cw.scan(paths, target="y"))
    np.testing.assert_allclose(model.predict_proba(table), expected, atol=1e-6)
    assert "each a scan, because no temporary file could be written (No space" in note_of(
        model, "A02"
    )


def test_a_temporary_file_that_cannot_be_written_says_why(monkeypatch):
    spill = scan_rows.SpillFile()

    class Full:
        def seek(self, place):
            return place

        def write(self, content):
            raise OSError(errno.ENOSPC, "No space left on device")

    spill.close()
    monkeypatch.setattr(spill, "_file", Full())
    with pytest.raises(scan_rows.SpillError, match="No space left"):
        spill.write(np.zeros((2, 3), np.uint8))

    def refuse(**options):
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory")

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    with pytest.raises(scan_rows.SpillError, match="No usable"):
        scan_rows.SpillFile()


def test_an_interruption_leaves_no_thread_and_no_file(tmp_path, monkeypatch, small_sample):
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setattr(additive, "KEPT_SHARE", 0.0)
    paths, files = write(tmp_path, columns()), []

    class Spill(scan_rows.SpillFile):
        def __init__(self):
            super().__init__()
            files.append(self)

    monkeypatch.setattr(additive, "SpillFile", Spill)

    def interrupt(done, total, text):
        if text.startswith("step 3"):
            raise KeyboardInterrupt

    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        cw.Additive(pairs=0).fit(cw.scan(paths, target="y"), progress=interrupt)
    assert threading.active_count() == before
    assert not list(folder.iterdir())
    assert files[0]._file.closed


@pytest.mark.parametrize("outside", [True, False])
def test_max_seconds_ends_the_last_fit_with_what_it_has(tmp_path, small_sample, outside):
    data = columns()
    table = cw.read(pa.table(data), target="y")
    rows = cw.scan(write(tmp_path, data), target="y") if outside else table
    model = cw.Additive(pairs=2, max_seconds=1e-6).fit(rows)
    assert "was stopped by `max_seconds=` after 1 step" in note_of(model, "A03")
    assert model.score(table) > 0.6
    patient = cw.Additive(pairs=2, max_seconds=600).fit(rows)
    assert not [note for note in patient.notes_ if note.code == "A03"]


def test_progress_is_reported_to_the_end(tmp_path, small_sample):
    seen = []
    rows = cw.scan(write(tmp_path, columns()), target="y")
    cw.Additive(pairs=0).fit(rows, progress=lambda *step: seen.append(step))
    shares = [done / total for done, total, _ in seen]
    assert shares == sorted(shares)
    assert shares[0] < 0.15
    assert shares[-1] > 0.9
    assert any(text.startswith("step ") for _, _, text in seen)


def test_one_class_and_levels_that_the_sample_lacks(tmp_path, monkeypatch, small_sample):
    data = columns()
    data["many"][-1], data["m"] = "only here", ["p"] * (ROWS - 5) + [None] * 5
    table = cw.read(pa.table(data), target="y")
    model = cw.Additive(pairs=0).fit(cw.scan(write(tmp_path, data), target="y"))
    assert np.isfinite(model.predict_proba(table)).all()
    column = next(c for c in model.terms_.columns if c.bins.name == "many")
    place = table.schema["many"].place("only here")
    assert column.bins.counts[place] == 1
    new = {**{name: ["new"] for name in ("k", "m", "many")}, "u": [0.0], "v": [0.1]}
    with pytest.warns(UnseenLevelWarning):
        assert model.predict_proba(new).sum() == pytest.approx(1.0)
    same = {**data, "y": ["c0"] * ROWS}
    one = cw.Additive().fit(cw.scan(write(tmp_path, same), target="y"))
    assert one.predict_proba(table).tolist() == [[1.0]] * ROWS


def test_rows_that_change_between_scans_are_refused(tmp_path, monkeypatch, small_sample):
    paths = write(tmp_path, columns())
    keep = additive.keep_rows

    def lose_a_row(scan, coder, weights, rows, *rest):
        return keep(scan, coder, weights, rows + 1, *rest)

    monkeypatch.setattr(additive, "keep_rows", lose_a_row)
    with pytest.raises(TableError, match="every scan must find the same rows; one found 3001"):
        cw.Additive(pairs=0).fit(cw.scan(paths, target="y"))


def test_a_reader_that_can_be_read_once_is_refused(small_sample):
    table = pa.table(columns())
    reader = pa.RecordBatchReader.from_batches(table.schema, table.to_batches(500))
    with pytest.raises(TableError, match=r"can be read once, and this needs a second scan\."):
        cw.Additive().fit(cw.scan(reader, target="y"))


def test_labels_and_weights_beside_a_scan_are_refused(tmp_path):
    rows = cw.scan(write(tmp_path, columns(300)), target="y")
    with pytest.raises(TableError, match="brings its classes"):
        cw.Additive().fit(rows, sample_weight=np.ones(300))


def test_all_folds_are_fitted_side_by_side_within_the_memory(tmp_path, monkeypatch, small_sample):
    from countwise.tables.scan_sample import hash_rows

    data = columns()
    rows = cw.scan(write(tmp_path, data), target="y")
    models = {"additive": cw.Additive(pairs=0), "bayes": cw.NaiveBayes()}
    kept = []
    keep = additive.keep_rows

    def watch(scan, *rest):
        kept.append(scan.memory)
        return keep(scan, *rest)

    monkeypatch.setattr(additive, "keep_rows", watch)
    trials = cw.evaluate(models, rows, folds=3)
    assert len(kept) == 3
    assert sum(kept) <= rows.memory
    table = cw.read(pa.table(data), target="y")
    folds = np.concatenate(
        [
            hash_rows(block, 0) % np.uint64(3)
            for piece in rows.pieces()
            for block in rows.blocks(piece)
        ]
    ).astype(int)
    # The samples differ, so this is no equality; with all rows as the sample it is one.
    expected = cw.evaluate(models, table, folds=folds)
    assert losses(trials) == pytest.approx(losses(expected), rel=0.1)
    monkeypatch.setattr(prepare, "SAMPLE_ROWS", ROWS)
    trials = cw.evaluate(models, cw.scan(sorted(tmp_path.glob("*.parquet")), target="y"), folds=3)
    expected = cw.evaluate(models, table, folds=folds)
    assert losses(trials) == pytest.approx(losses(expected), rel=1e-12)


def test_columns_of_many_bins_take_two_bytes():
    table = cw.read(pa.table(columns()), target="y")
    bins = [
        prepare.learn_bins(table, name, np.zeros(ROWS, np.int32), np.ones(ROWS), 1, 64)
        for name in ("k", "many", "u")
    ]
    coder = scan_rows.Coder(bins, np.arange(3))
    assert coder.bytes_per_row == 5
    weight = np.linspace(0.1, 2.0, ROWS)
    block = Block(None, table, np.arange(ROWS), weight)
    heavy = scan_rows.Coder(bins, np.arange(3), weighted=True)
    expected = heavy.code(block)
    assert expected.codes.max() > 255
    for each in (coder, heavy):
        found = each.unpack(each.pack(block)[:, :100])
        assert np.array_equal(found.codes, expected.codes[:, :100])
        assert np.array_equal(found.target, expected.target[:100])
    assert np.array_equal(found.weight, weight[:100])


def test_rows_of_a_database_without_a_key_are_drawn_in_any_order(small_sample):
    duckdb = pytest.importorskip("duckdb")
    rows = pa.table(columns())
    found = cw.Additive(pairs=0).fit(cw.scan(duckdb.from_arrow(rows), target="y"))
    assert "no fixed order" in note_of(found, "A04")
    table = cw.read(rows, target="y")
    keyed = rows.append_column("id", pa.array(range(ROWS)))
    named = cw.Additive(pairs=0).fit(cw.scan(duckdb.from_arrow(keyed), target="y", key="id"))
    assert not [note for note in named.notes_ if note.code == "A04"]
    assert found.score(table) == pytest.approx(named.score(table), abs=0.02)


def test_weights_count_as_in_memory_at_the_same_choice(tmp_path, monkeypatch, small_sample):
    drawn = random.Random(5)
    data = {**columns(), "w": [drawn.choice([0.5, 1.0, 2.25]) for _ in range(ROWS)]}
    weight = np.asarray(data["w"])
    chosen = []

    def choose(*args, **options):
        chosen.append(prepare.prepare(*args, **options))
        return chosen[-1]

    monkeypatch.setattr(additive, "prepare", choose)
    rows = cw.scan(write(tmp_path, data), target="y", weight="w")
    model = cw.Additive(pairs=1).fit(rows)
    monkeypatch.setattr(additive, "prepare", lambda *args, **options: chosen[0])
    table = cw.read(pa.table(columns()), target="y")
    wanted = cw.Additive(pairs=1).fit(table, sample_weight=weight)
    np.testing.assert_allclose(model.predict_proba(table), wanted.predict_proba(table), atol=1e-6)
    assert model.terms_.columns[0].bins.counts.sum() == pytest.approx(weight.sum())
    monkeypatch.setattr(additive, "KEPT_SHARE", 0.0)
    monkeypatch.setattr(additive, "prepare", lambda *args, **options: chosen[0])
    spilled = cw.Additive(pairs=1).fit(rows)
    assert np.array_equal(spilled.predict_proba(table), model.predict_proba(table))
