"""What the tests of the command line share: a runner, small files, a trained model."""

import random
from pathlib import Path

import pytest
from click.testing import CliRunner

from countwise.cli.app import app

HEADER = ("a", "x", "class")


def rows_of(count=60, seed=1):
    draw = random.Random(seed)
    return [
        (draw.choice("abc"), f"{draw.gauss(0, 1):.3f}", draw.choice(["yes", "no"]))
        for _ in range(count)
    ]


def write_csv(path, rows, header=HEADER, mark=""):
    lines = [",".join(header), *(",".join(row) for row in rows)]
    Path(path).write_text(mark + "\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


@pytest.fixture
def run():
    """Run a command as a shell would; stdout, stderr and the exit code come back."""

    def call(*args, **settings):
        return CliRunner().invoke(app, [str(arg) for arg in args], **settings)

    return call


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder to work in, with ``good.csv`` and naive Bayes of it, ``m.cw``."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.delenv("COUNTWISE_DEBUG", raising=False)
    write_csv(tmp_path / "good.csv", rows_of())
    done = CliRunner().invoke(
        app, ["fit", "good.csv", "--model", "naive-bayes", "-o", "m.cw", "-q"]
    )
    assert done.exit_code == 0, done.stderr
    return tmp_path


def refused(done):
    """Exit 2, one line on stderr, nothing on stdout."""
    assert done.exit_code == 2, (done.exit_code, done.stdout, done.stderr)
    assert done.stdout == ""
    assert done.stderr.startswith("countwise: ")
    assert done.stderr.count("\n") == 1
    assert done.stderr.endswith("\n")
    return done.stderr
