"""Faults of the machine: kills at any moment, full disks, files that change, interrupts."""

from __future__ import annotations

import os
import random
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import countwise as cw
from countwise.counts import checkpoint as checkpoint_module
from countwise.errors import ChangedSourceError, CountwiseError
from countwise.tables import scan as scan_module
from countwise.tables.sources import files as files_module

#: Looks at few rows first, cuts files into small pieces and keeps what is reached after each.
SETTINGS = """
import os, signal, sys, time
from countwise.counts import checkpoint
from countwise.tables import scan
from countwise.tables.sources import files
files.SEGMENT, files.HEAD_BYTES, scan.HEAD_ROWS, checkpoint._PAUSE = 3000, 1000, 50, 0
os.fsync = lambda file: None  # a process that is killed loses nothing that it has written
"""
#: Fits in a child, which is killed at some moment, and then in one that goes on; again and again.
KILLS = (
    SETTINGS
    + """
import random
import countwise as cw
import countwise.models.bayes.tan, countwise.counts.engines.stream, countwise.cli.fit
import countwise.cli.scans, countwise.store.files, countwise.evaluation.evaluate
from countwise.cli.app import main
from countwise.counts.counts_file import to_bytes

path, way, times = sys.argv[1], sys.argv[2], int(sys.argv[3])

def work(name):
    if way == "python":
        model = cw.TAN().fit(cw.scan(path, target="y", weight="w", checkpoint=f"{name}.counts"))
        with open(f"{name}.whole", "wb") as file:
            file.write(to_bytes(model.counts_))
        return
    words = ["fit", path, "--target", "y", "--model", "tan", "--weight", "w", "--quiet"]
    sys.argv = ["countwise", *words, "--checkpoint", f"{name}.counts", "-o", f"{name}.cw"]
    main()

def child(name):
    process = os.fork()
    if not process:
        try:
            work(name)
        except SystemExit as leave:
            os._exit(leave.code or 0)
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    return process

def result(name):
    if way == "python":
        return open(f"{name}.whole", "rb").read()
    return to_bytes(cw.load(f"{name}.cw").counts_)

started = time.monotonic()
assert os.waitpid(child("never"), 0)[1] == 0
lasts = time.monotonic() - started
drawn, killed = random.Random(0), 0
for number in range(times):
    name = f"kept{number}"
    process = child(name)
    time.sleep(drawn.random() * lasts)
    os.kill(process, signal.SIGKILL)
    killed += os.WIFSIGNALED(os.waitpid(process, 0)[1])
    assert os.waitpid(child(name), 0)[1] == 0, number
    assert os.path.exists(f"{name}.cw") == (way != "python")
# A child of this one must not have begun threads before, so results are read at the end.
whole = result("never")
for number in range(times):
    assert result(f"kept{number}") == whole, number
print(killed)
"""
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    drawn = random.Random(0)
    lines = [
        f"{drawn.choice('xyz')},{drawn.random():.4f},{drawn.randint(0, 9)},{drawn.randint(0, 3)},"
        f"{drawn.choice('uv')}\n"
        for _ in range(900)
    ]
    (tmp_path / "rows.csv").write_text("a,b,c,w,y\n" + "".join(lines))
    return tmp_path / "rows.csv"


def run_program(program: str, folder: Path, *words: str, **options) -> subprocess.CompletedProcess:
    command = [sys.executable, "-c", program, *words]
    return subprocess.run(
        command, check=False, cwd=folder, capture_output=True, text=True, **options
    )


@pytest.mark.slow
@pytest.mark.parametrize("way", ["python", "command line"])
def test_a_kill_at_any_moment_loses_and_doubles_nothing(way, path, tmp_path):
    done = run_program(KILLS, tmp_path, str(path), way, "50")
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout.split()[-1]) > 0, "no child was killed before it was done"
    if way != "python":  # the command removes checkpoints and drafts once the model is saved
        assert {name.rsplit(".")[-1] for name in os.listdir(tmp_path)} == {"csv", "cw"}


#: Runs a command with the settings above.
COMMAND = SETTINGS + "from countwise.cli.app import main\nmain()"


def limit_files(size: int) -> Callable[[], None]:
    """Return what lets writes fail beyond a size, as they do on a full disk."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


@pytest.mark.parametrize(
    ("words", "output"),
    [
        (("fit", "rows.csv", "-t", "y", "--model", "tan", "-o", "new.cw"), "new.cw"),
        (("fit", "rows.csv", "-t", "y", "--model", "tan", "--checkpoint", "run.counts", "-o",
          "new.cw"), "run.counts"),
        (("count", "rows.csv", "-t", "y", "-o", "new.counts"), "new.counts"),
        (("predict", "model.cw", "rows.csv", "-o", "new.csv"), "new.csv"),
        (("predict", "model.cw", "rows.csv", "-o", "new.parquet"), "new.parquet"),
        (("compare", "rows.csv", "-t", "y", "-m", "tan", "--report", "new.html"), "new.html"),
    ],
    ids=["model", "checkpoint", "counts", "predictions", "parquet", "report"],
)  # fmt: skip
def test_a_full_disk_is_one_sentence_and_leaves_nothing(words, output, path, tmp_path):
    cw.save(cw.TAN().fit(cw.read(path, target="y")), tmp_path / "model.cw")
    before = sorted(os.listdir(tmp_path))
    done = run_program(COMMAND, tmp_path, *words, preexec_fn=limit_files(500))
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert f"'{output}' cannot be written" in done.stderr
    assert sorted(os.listdir(tmp_path)) == before


def test_the_last_checkpoint_survives_a_full_disk(path, tmp_path, small, monkeypatch):
    kept = tmp_path / "run.counts"
    write, times = Path.write_bytes, []

    def fill_up(self: Path, data: bytes) -> int:
        times.append(self)
        if len(times) == 3:
            write(self, data[: len(data) // 2])
            raise OSError(28, "No space left on device")
        return write(self, data)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", fill_up)
        with pytest.raises(CountwiseError, match=r"run\.counts' cannot be written \(No space"):
            cw.TAN().fit(cw.scan(path, target="y", checkpoint=kept))
    assert sorted(os.listdir(tmp_path)) == ["rows.csv", "run.counts"]
    model = cw.TAN().fit(cw.scan(path, target="y", checkpoint=kept))
    assert model.counts_ == cw.TAN().fit(cw.read(path, target="y")).counts_


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(files_module, "SEGMENT", 3000)
    monkeypatch.setattr(files_module, "HEAD_BYTES", 1000)
    monkeypatch.setattr(files_module, "PIECE_ROWS", 200)
    monkeypatch.setattr(checkpoint_module, "_PAUSE", 0)
    monkeypatch.setattr(scan_module, "HEAD_ROWS", 50)
    monkeypatch.setenv("COUNTWISE_THREADS", "1")


def change(path: Path) -> None:
    os.utime(path, ns=(0, path.stat().st_mtime_ns + 1))


def append(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"x,0.5,3,1,u\n")


@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize("fault", [change, append, Path.unlink, lambda path: path.write_bytes(b"")])
@pytest.mark.parametrize("on_bad", ["refuse", "skip"])
def test_a_file_that_changes_between_pieces_is_refused(
    form, fault, on_bad, path, monkeypatch, small
):
    if form == "parquet":
        table = cw.read(path, target="y").to_arrow()
        path = path.with_suffix(".parquet")
        pq.write_table(table, path, row_group_size=200)
    rows = cw.scan(path, target="y", on_bad=on_bad)
    read, times = files_module.FileSource.blocks, []

    def fail_at_third(self, *args):
        times.append(args)
        if len(times) == 3:
            fault(path)
        return read(self, *args)

    monkeypatch.setattr(files_module.FileSource, "blocks", fail_at_third)
    with pytest.raises(ChangedSourceError, match=rf"rows\.{form}' must stay") as refusal:
        cw.count(rows)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("fault", [change, append, Path.unlink, lambda path: path.write_bytes(b"")])
def test_a_file_that_changes_between_passes_is_refused(fault, path, small):
    rows = cw.scan(path, target="y")
    cw.count(rows)
    fault(path)
    with pytest.raises(ChangedSourceError, match=r"rows\.csv' must stay"):
        cw.TAN().fit(rows)


def test_a_changed_file_of_a_folder_refuses_its_checkpoint(path, tmp_path, small):
    folder = tmp_path / "parts"
    folder.mkdir()
    for name in "ab":
        (folder / f"{name}.csv").write_bytes(path.read_bytes())
    kept = tmp_path / "run.counts"
    cw.count(cw.scan(folder, target="y"), checkpoint=kept)
    (folder / "b.csv").unlink()
    with pytest.raises(CountwiseError, match=r"'b\.csv.*has changed since"):
        cw.count(cw.scan(folder, target="y"), checkpoint=kept)
    (folder / "b.csv").write_bytes(path.read_bytes())
    with pytest.raises(CountwiseError, match=r"'b\.csv.*has changed since"):
        cw.count(cw.scan(folder, target="y"), checkpoint=kept)
    with pytest.raises(CountwiseError, match="same columns, options and plan"):
        cw.count(cw.scan(folder, target="y", weight="w"), checkpoint=kept)


@pytest.mark.parametrize("size", [0, 1, 100, -1])
def test_a_truncated_checkpoint_is_refused(size, path, tmp_path, small):
    kept = tmp_path / "run.counts"
    cw.count(cw.scan(path, target="y"), checkpoint=kept)
    kept.write_bytes(kept.read_bytes()[:size])
    with pytest.raises(CountwiseError, match="damaged or something else") as refusal:
        cw.TAN().fit(cw.scan(path, target="y", checkpoint=kept))
    assert "\n" not in str(refusal.value)


class Interrupt:
    """Interrupts the main thread when a scan has read a few pieces."""

    def __init__(self, pieces: int) -> None:
        self.left = pieces

    def __call__(self, done: float, total: float, text: str) -> None:
        self.left -= 1
        if self.left == 0:
            signal.raise_signal(signal.SIGINT)


@pytest.fixture
def interruptible():
    """Let Ctrl-C interrupt, whatever Spark has made of it in this process."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("pieces", [1, 4, 8])
def test_an_interrupt_of_a_fit_leaves_no_thread(pieces, path, small, monkeypatch):
    monkeypatch.setenv("COUNTWISE_THREADS", "4")
    before = set(threading.enumerate())
    with pytest.raises(KeyboardInterrupt):
        cw.TAN().fit(cw.scan(path, target="y", progress=Interrupt(pieces)))
    assert set(threading.enumerate()) <= before


@pytest.mark.parametrize("blocks", [3, 9, 15, 24])
def test_an_interrupt_of_an_evaluation_leaves_no_thread(blocks, path, small, monkeypatch):
    rows = cw.scan(path, target="y")
    before, left = set(threading.enumerate()), [blocks]
    change_block = scan_module.Scan.changed

    def interrupt(self, block):
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt
        return change_block(self, block)

    monkeypatch.setattr(scan_module.Scan, "changed", interrupt)
    models = {"tan": cw.TAN(), "bayes": cw.NaiveBayes(), "kdb": cw.KDB(selective=True)}
    with pytest.raises(KeyboardInterrupt):
        cw.evaluate(models, rows, folds=3)
    assert set(threading.enumerate()) <= before


#: Sends itself Ctrl-C after a few pieces; what is done then is up to the command.
INTERRUPTED = (
    SETTINGS
    + """
from countwise.tables.sources.files import FileSource
blocks, pieces = FileSource.blocks, 0
def count(self, *args):
    global pieces
    pieces += 1
    if pieces == 4:
        os.kill(os.getpid(), signal.SIGINT)
    return blocks(self, *args)
FileSource.blocks = count
from countwise.cli.app import main
main()
"""
)


@pytest.mark.parametrize(
    "words",
    [
        (
            "fit",
            "rows.csv",
            "-t",
            "y",
            "--model",
            "tan",
            "--checkpoint",
            "run.counts",
            "-o",
            "n.cw",
        ),
        ("count", "rows.csv", "-t", "y", "-o", "n.counts"),
        ("compare", "rows.csv", "-t", "y", "-m", "tan", "--engine", "stream", "-o", "n.json"),
    ],
    ids=["fit", "count", "compare"],
)
def test_ctrl_c_ends_a_command_without_a_half_file(words, path, tmp_path):
    done = run_program(INTERRUPTED, tmp_path, *words, timeout=300)
    assert done.returncode == 130, done.stderr
    assert done.stderr.splitlines()[-1] == "countwise: stopped before it was done."
    assert {*os.listdir(tmp_path)} <= {"rows.csv", "run.counts"}
