"""A write is whole or not there: after an error, a full disk, or a kill at any moment."""

import os
import random
import signal
import stat
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

import countwise as cw
from countwise.atomic_write import atomic_write
from countwise.errors import StoreError
from countwise.store.files import load, save


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_the_new_file_appears_when_the_block_ends(tmp_path):
    target = tmp_path / "out.csv"
    target.write_text("old")
    with atomic_write(target) as temporary:
        assert temporary.parent == tmp_path
        assert temporary.suffix == ".csv"
        temporary.write_text("new")
        assert target.read_text() == "old"
    assert target.read_text() == "new"
    assert names(tmp_path) == ["out.csv"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_an_error_leaves_the_old_file_alone(tmp_path, error):
    target = tmp_path / "out.csv"
    target.write_text("old")

    def fail():
        with atomic_write(target) as temporary:
            temporary.write_text("half")
            raise error

    with pytest.raises(error):
        fail()
    assert target.read_text() == "old"
    assert names(tmp_path) == ["out.csv"]


@pytest.mark.parametrize("step", ["fsync", "replace", "open"])
def test_a_system_that_fails_leaves_the_old_file_alone(tmp_path, monkeypatch, model, step):
    save(model, tmp_path / "m.cw")
    before = (tmp_path / "m.cw").read_bytes()

    def fail(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(f"countwise.atomic_write.os.{step}", fail)
    with pytest.raises(StoreError, match=r"cannot be written \(No space left on device\)"):
        save(model, tmp_path / "m.cw")
    monkeypatch.undo()
    assert (tmp_path / "m.cw").read_bytes() == before
    assert names(tmp_path) == ["m.cw"]


@pytest.mark.parametrize("after", range(0, 12, 2))
def test_a_disk_that_fills_up_while_packing(tmp_path, monkeypatch, model, after):
    monkeypatch.setattr("countwise.store.codec.MAX_INLINE", 0)
    save(model, tmp_path / "m.cw")
    before = (tmp_path / "m.cw").read_bytes()
    opened, really = [], zipfile.ZipFile.open

    def fail(self, name, mode="r", **options):
        opened.append(name)
        if len(opened) > after:
            raise OSError(28, "No space left on device")
        return really(self, name, mode, **options)

    monkeypatch.setattr(zipfile.ZipFile, "open", fail)
    with pytest.raises(StoreError, match="No space left"):
        save(model, tmp_path / "m.cw")
    monkeypatch.undo()
    assert (tmp_path / "m.cw").read_bytes() == before
    assert names(tmp_path) == ["m.cw"]


def test_places_that_cannot_be_written(tmp_path, model):
    with pytest.raises(StoreError, match="there is no directory"):
        save(model, tmp_path / "no" / "m.cw")
    with pytest.raises(StoreError, match="it is a directory"):
        save(model, tmp_path)
    with pytest.raises(StoreError, match="a device or a pipe"):
        save(model, os.devnull)
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be written"):
        save(model, tmp_path / "file" / "m.cw")
    for odd in ("a\0b", tmp_path / ("x" * 300), 3.5):
        with pytest.raises(StoreError, match="cannot be written"):
            save(model, odd)


def test_links_are_followed_and_permissions_kept(tmp_path, model):
    real = tmp_path / "real.cw"
    real.write_text("old")
    real.chmod(0o640)
    link = tmp_path / "link.cw"
    link.symlink_to(real)
    save(model, link)
    assert link.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert load(link).classes_.tolist() == ["no", "perhaps", "yes"]


def test_new_files_get_the_usual_permissions(tmp_path, model):
    (tmp_path / "usual").write_text("")
    save(model, tmp_path / "m.cw")
    assert (tmp_path / "m.cw").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_a_name_as_long_as_names_can_be(tmp_path, model):
    path = tmp_path / ("ä" * 125 + ".cw")
    save(model, path)
    assert names(tmp_path) == [path.name]
    load(path)


SAVER = """
import sys, countwise as cw
from countwise.store.files import save
weather = cw.read("sample:weather")
models = [cw.NaiveBayes(smoothing=s).fit(weather) for s in (1.0, 2.0)]
save(models[0], sys.argv[1])
print("ready", flush=True)
while True:
    for model in models:
        save(model, sys.argv[1])
"""


@pytest.mark.parametrize("seed", range(4))
def test_a_kill_at_any_moment_leaves_a_whole_file(tmp_path, seed):
    path, weather = tmp_path / "m.cw", cw.read("sample:weather")
    known = [cw.NaiveBayes(smoothing=s).fit(weather).predict_proba(weather) for s in (1.0, 2.0)]
    stream = random.Random(seed)
    command = [sys.executable, "-c", SAVER, str(path)]
    source = str(Path(cw.__file__).parents[1])
    places = os.pathsep.join(filter(None, [source, os.environ.get("PYTHONPATH")]))
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": places}
    ) as saver:
        try:
            assert saver.stdout.readline() == "ready\n"
            for _ in range(20):
                time.sleep(stream.uniform(0, 0.02))
                # Stopped in the midst of a save, then killed there at last: always a whole file.
                os.kill(saver.pid, signal.SIGSTOP)
                found = load(path).predict_proba(weather)
                assert any((found == one).all() for one in known)
                os.kill(saver.pid, signal.SIGCONT)
            time.sleep(stream.uniform(0, 0.02))
        finally:
            os.kill(saver.pid, signal.SIGKILL)
    found = load(path).predict_proba(weather)
    assert any((found == one).all() for one in known)


def test_a_signal_right_after_the_draft_was_made_leaves_nothing(tmp_path, monkeypatch):
    real = os.open

    def stopped(path, *rest, **more):
        os.close(real(path, *rest, **more))
        raise SystemExit(143)

    monkeypatch.setattr(os, "open", stopped)
    with pytest.raises(SystemExit), atomic_write(tmp_path / "a.csv"):
        raise AssertionError("nothing may be written")
    assert list(tmp_path.iterdir()) == []
