"""Checkpoints: counting goes on after a kill with the same bits, and refuses what has changed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

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
