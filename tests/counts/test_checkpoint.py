"""Checkpoints: counting goes on after a kill with the same bits, and refuses what has changed."""

from __future__ import annotations

import gzip
import os
import random
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import countwise as cw
from countwise.counts import checkpoint as checkpoint_module
from countwise.counts.counts_file import from_bytes, to_bytes
from countwise.errors import CountsError, CountwiseError
from countwise.tables import scan as scan_module
from countwise.tables.sources import files as files_module

#: Counts a file with a checkpoint, and kills itself after so many pieces (0: never).
PROGRAM = """
import os, signal, sys
import countwise as cw
from countwise.counts import checkpoint
from countwise.counts.counts_file import to_bytes
from countwise.tables import scan
from countwise.tables.sources import files
files.SEGMENT, files.HEAD_BYTES, scan.HEAD_ROWS, checkpoint._PAUSE = 3000, 1000, 50, 0
path, kept, kill, output = sys.argv[1:]
pieces = 0
write = checkpoint.Checkpoint.end
def counted(self, state):
    global pieces
    write(self, state)
    pieces += 1
    if pieces == int(kill):
        os.kill(os.getpid(), signal.SIGKILL)
checkpoint.Checkpoint.end = counted
rows = cw.scan(path, target="y", checkpoint=kept)
model = cw.TAN().fit(rows)
with open(output, "wb") as file:
    file.write(to_bytes(model.counts_))
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    drawn = random.Random(0)
    lines = [
        f"{drawn.choice('xyz')},{drawn.random():.4f},{drawn.randint(0, 9)},{drawn.choice('uv')}\n"
        for _ in range(900)
    ]
    (tmp_path / "rows.csv").write_text("a,b,c,y\n" + "".join(lines))
    return tmp_path / "rows.csv"


@pytest.mark.slow
def test_a_killed_count_goes_on_with_the_same_bits(path, tmp_path):
    def run(kept: Path, kill: int, output: Path) -> int:
        command = [sys.executable, "-c", PROGRAM, str(path), str(kept), str(kill), str(output)]
        return subprocess.run(command, check=False).returncode

    whole = tmp_path / "whole"
    assert run(tmp_path / "never killed", 0, whole) == 0
    for kill in range(1, 12):
        output = tmp_path / f"output {kill}"
        kept = tmp_path / f"kept {kill}"
        killed = run(kept, kill, output)
        assert killed in (0, -signal.SIGKILL)
        assert run(kept, 0, output) == 0
        assert output.read_bytes() == whole.read_bytes()
        if killed == 0:
            break
    else:
        assert kill > 8  # both passes of TAN were killed at each of their pieces


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(files_module, "SEGMENT", 3000)
    monkeypatch.setattr(files_module, "HEAD_BYTES", 1000)
    monkeypatch.setattr(checkpoint_module, "_PAUSE", 0)
    monkeypatch.setattr(scan_module, "HEAD_ROWS", 50)


def stop_after(pieces: int, monkeypatch) -> None:
    """Let counting fail after so many pieces."""
    write = checkpoint_module.Checkpoint.end
    done = []

    def keep(self, state):
        write(self, state)
        done.append(state)
        if len(done) == pieces:
            raise KeyboardInterrupt

    monkeypatch.setattr(checkpoint_module.Checkpoint, "end", keep)


def test_an_interrupt_leaves_a_checkpoint_no_draft_and_no_thread(
    path, tmp_path, monkeypatch, small
):
    import threading

    before = threading.active_count()
    kept = tmp_path / "run.counts"
    with monkeypatch.context() as patch:
        stop_after(2, patch)
        with pytest.raises(KeyboardInterrupt):
            cw.count(cw.scan(path, target="y"), checkpoint=kept)
    assert sorted(os.listdir(tmp_path)) == ["rows.csv", "run.counts"]
    assert threading.active_count() == before
    counts = cw.count(cw.scan(path, target="y"), checkpoint=kept)
    assert counts == cw.count(cw.read(path, target="y"))


def test_another_plan_and_changed_rows_are_refused(path, tmp_path, monkeypatch, small):
    kept = tmp_path / "run.counts"
    cw.count(cw.scan(path, target="y"), checkpoint=kept)
    rows = cw.scan(path, target="y")
    with pytest.raises(CountsError, match="same columns, options and plan"):
        cw.count(rows, lambda schema: cw.Plan.each(schema, "grid"), checkpoint=kept)
    path.write_text(path.read_text() + "x,0.5,3,u\n")
    with pytest.raises(CountsError, match="has changed since"):
        cw.count(cw.scan(path, target="y"), checkpoint=kept)


def test_a_truncated_checkpoint_is_refused(path, tmp_path, small):
    kept = tmp_path / "run.counts"
    cw.count(cw.scan(path, target="y"), checkpoint=kept)
    content = kept.read_bytes()
    kept.write_bytes(content[: len(content) // 2])
    with pytest.raises(CountsError, match="damaged or something else"):
        cw.count(cw.scan(path, target="y"), checkpoint=kept)


def test_counts_travel_as_bytes():
    for name in ("weather", "iris", "credit-g"):
        table = cw.read(f"sample:{name}")
        counts = cw.count(table, cw.Plan.each(table.schema, "both") | cw.Plan.pairs(table.schema))
        back, more = from_bytes(to_bytes(counts, {"a": 1}))
        assert back == counts
        assert back.schema == counts.schema
        assert more == {"a": 1}
    texts = cw.read({"t": ["to be or not", "to be", None], "y": list("aba")}, target="y", text="t")
    assert from_bytes(to_bytes(cw.count(texts)))[0] == cw.count(texts)


def test_a_damaged_piece_is_refused_or_skipped(tmp_path, small):
    path = tmp_path / "rows.csv"
    good = "".join(f"{n % 3}.5,{'uv'[n % 2]}\n" for n in range(2000))
    path.write_text("x,y\n" + good + "1,2,3,4\n" + good)
    with pytest.raises(CountwiseError, match=r"rows\.csv.*row 2001"):
        cw.count(cw.scan(path, target="y"))
    rows = cw.scan(path, target="y", on_bad="skip")
    counts = cw.count(rows)
    assert 2000 < counts.rows < 4000
    (note,) = [note for note in rows.notes if note.code == "S03"]
    assert "rows.csv" in note.text


@pytest.fixture
def parquet_folder(tmp_path: Path) -> Path:
    """Three compressed files of a numeric key, a number and a nominal column."""
    folder = tmp_path / "data"
    folder.mkdir()
    draw = np.random.default_rng(0)
    for file in range(3):
        columns = {
            "id": np.arange(file * 3000, (file + 1) * 3000) * 7 + 3,
            "n": draw.normal(size=3000),
            "long": np.array(["a long level " * 20, "another level " * 20])[
                draw.integers(0, 2, 3000)
            ],
            "y": np.array(["p", "q"])[draw.integers(0, 2, 3000)],
        }
        pq.write_table(
            pa.table(columns), folder / f"{file}.parquet", row_group_size=1000, use_dictionary=False
        )
    return folder


def damage(path: Path, column: int) -> None:
    """Overwrite the second page of a column."""
    place = pq.ParquetFile(path).metadata.row_group(1).column(column).data_page_offset
    content = bytearray(path.read_bytes())
    content[place : place + 100] = b"\xff" * 100
    path.write_bytes(content)


def test_what_the_survey_skips_is_skipped_by_all_scans(parquet_folder):
    # Later scans do not read the key, so they would not meet the damage.
    damage(parquet_folder / "2.parquet", 0)
    rows = cw.scan(parquet_folder, target="y", on_bad="skip")
    model = cw.TAN().fit(rows)
    assert model.schema_["id"].kind == "id"
    assert model.counts_.rows == len(rows) == 6000


@pytest.mark.parametrize("name", ["0.parquet", "2.parquet", "2.csv.gz"])
def test_a_file_that_was_cut_off_is_refused_or_skipped(parquet_folder, name):
    path = parquet_folder / name
    if name.endswith(".gz"):
        path.write_bytes(gzip.compress(b"id,n,long,y\n" + b"1,2.5,u,p\n" * 30_000)[:100])
    else:
        path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(CountwiseError, match=name):
        cw.scan(parquet_folder, target="y")
    rows = cw.scan(parquet_folder, target="y", on_bad="skip")
    whole = [file for file in sorted(parquet_folder.glob("*.parquet")) if file != path]
    assert cw.count(rows) == cw.count(cw.scan(whole, target="y"))
    (note,) = [note for note in rows.notes if note.code == "S03"]
    assert name in note.text
    with pytest.raises(CountwiseError, match=name):
        cw.scan(path, target="y", on_bad="skip")


def test_progress_is_in_bytes_of_files_and_goes_on_where_it_was(parquet_folder, monkeypatch):
    monkeypatch.setattr(files_module, "PIECE_ROWS", 1000)
    monkeypatch.setattr(checkpoint_module, "_PAUSE", 0)
    size = sum(path.stat().st_size for path in parquet_folder.iterdir())
    steps: list[tuple[float, float, str]] = []

    def report(done: float, total: float, text: str) -> None:
        steps.append((done, total, text))
        if len(steps) == 4:
            raise KeyboardInterrupt

    kept = str(parquet_folder.parent / "run.counts")
    rows = cw.scan(parquet_folder, target="y", checkpoint=kept, progress=report)
    with pytest.raises(KeyboardInterrupt):
        cw.TAN().fit(rows)
    cw.TAN().fit(cw.scan(parquet_folder, target="y", checkpoint=kept, progress=report))
    assert {total for _, total, _ in steps} == {size}
    # The first scan was interrupted after four of nine pieces, the second one has nine.
    done = [step[0] for step in steps]
    assert done[:9] == sorted(done[:9])
    assert done[3] == pytest.approx(4 / 9 * size, rel=0.01)
    assert done[8] == done[-1] == pytest.approx(size, rel=0.001)
    assert [text for *_, text in steps[8:]] == ["9,000 rows"] * (len(steps) - 8)


def test_estimated_keys_are_no_more_than_rows(parquet_folder):
    for seed in range(3):
        files = sorted(parquet_folder.glob("*.parquet"))[seed:]
        (note,) = [n for n in cw.scan(files, target="y").notes if n.column == "id"]
        told = [int(word) for word in re.findall(r"\d+", note.text)]
        assert told[0] <= told[1]
