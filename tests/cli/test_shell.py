"""The command in a real shell: what it imports, its exit codes, pipes, signals, encodings."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import countwise
from countwise.cli.app import COMMANDS

from .conftest import rows_of, write_csv

HEAVY = {"numpy", "scipy", "sklearn", "pyarrow", "pandas", "duckdb", "rich", "narwhals", "joblib"}
SOURCE = str(Path(countwise.__file__).resolve().parents[1])


def shell(*args, **settings):
    given = {"PYTHONPATH": SOURCE, **settings.pop("env", {})}
    environment = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "COUNTWISE_DEBUG")}
    return subprocess.run(
        [sys.executable, "-m", "countwise", *map(str, args)],
        capture_output=True,
        timeout=120,
        env=environment | given,
        **settings,
    )


@pytest.mark.parametrize("args", [["--help"], ["--version"], [], ["version"], ["explan"]])
def test_the_way_in_imports_nothing_heavy(args):
    code = (
        "import sys, json\nfrom countwise.cli.app import app\n"
        f"try:\n    app.main({args!r})\nexcept SystemExit:\n    pass\n"
        "sys.stderr.write('|' + json.dumps([m.split('.')[0] for m in sys.modules]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
        env={**os.environ, "PYTHONPATH": SOURCE},
    )
    assert not set(json.loads(done.stderr.rsplit("|", 1)[1])) & HEAVY


def test_help_of_every_command_has_an_example_and_imports_nothing_heavy():
    code = (
        "import sys, json\nfrom countwise.cli.app import app, COMMANDS\n"
        "for name in COMMANDS:\n"
        "    try:\n        app.main([name, '--help'])\n    except SystemExit:\n        pass\n"
        "sys.stderr.write(json.dumps([m.split('.')[0] for m in sys.modules]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
        env={**os.environ, "PYTHONPATH": SOURCE},
    )
    assert done.stdout.count("Examples:\n  countwise ") == len(COMMANDS)
    assert not set(json.loads(done.stderr)) & HEAVY


def test_every_command_is_listed_as_it_describes_itself():
    text = shell("--help").stdout.decode()
    assert all(f"\n  {name}" in text for name in COMMANDS)


def test_bad_input_has_a_traceback_only_when_asked_for(tmp_path):
    done = shell("inspect", tmp_path / "no.csv")
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr
    done = shell("inspect", tmp_path / "no.csv", env={"COUNTWISE_DEBUG": "1"})
    assert done.returncode == 2
    assert b"Traceback" in done.stderr


def test_a_fault_of_ours_is_one_sentence_and_exit_code_1(run, monkeypatch, folder):
    def broken(*args, **settings):
        raise RuntimeError("a cog\nbroke")

    monkeypatch.setattr("countwise.tables.read.read_with", broken)
    done = run("inspect", "good.csv")
    assert done.exit_code == 1
    assert done.stderr.count("\n") == 1
    assert "RuntimeError: a cog broke" in done.stderr
    assert "report it" in done.stderr


def test_a_reader_that_leaves_is_no_error(tmp_path):
    write_csv(tmp_path / "train.csv", rows_of(2000))
    write_csv(tmp_path / "long.csv", rows_of(200_000))
    assert shell("fit", "train.csv", "-o", "m.cw", cwd=tmp_path).returncode == 0
    with subprocess.Popen(
        [sys.executable, "-m", "countwise", "predict", "m.cw", "long.csv"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": SOURCE},
    ) as process:
        assert process.stdout.readline() == b"class,p_no,p_yes,decision\n"
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 0


@pytest.mark.parametrize("command", ["models", "samples"])
def test_a_reader_that_leaves_a_table_is_no_error(command):
    with subprocess.Popen(
        [sys.executable, "-m", "countwise", command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": SOURCE},
    ) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 0


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_is_said(tmp_path):
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "countwise", "samples", "--json"],
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=300,
            check=False,
            env={**os.environ, "PYTHONPATH": SOURCE},
        )
    assert done.returncode == 2
    assert b"No space left" in done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.skipif(os.name == "nt", reason="signals are sent the POSIX way")
@pytest.mark.parametrize(("sign", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_stopped_command_leaves_nothing_behind(tmp_path, sign, code):
    write_csv(tmp_path / "train.csv", rows_of(2000))
    assert shell("fit", "train.csv", "-o", "m.cw", cwd=tmp_path).returncode == 0
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "answers.csv").write_text("as it was")
    with open(tmp_path / "long.csv", "w") as file:
        file.write((tmp_path / "train.csv").read_text())
        body = (tmp_path / "train.csv").read_text().split("\n", 1)[1]
        file.writelines(body for _ in range(1500))
    process = subprocess.Popen(
        [sys.executable, "-m", "countwise", "predict", "m.cw", "long.csv", "-o", "out/answers.csv"],
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": SOURCE},
    )
    waited = 0.0
    while len(os.listdir(tmp_path / "out")) < 2 and process.poll() is None and waited < 60:
        time.sleep(0.02)  # until the draft is there, so that the signal meets it half-written
        waited += 0.02
    process.send_signal(sign)
    errors = process.communicate(timeout=300)[1]
    assert process.returncode == code
    assert os.listdir(tmp_path / "out") == ["answers.csv"]
    assert (tmp_path / "out" / "answers.csv").read_text() == "as it was"
    assert b"Traceback" not in errors


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_output_fits_the_encoding(tmp_path, encoding):
    rows = [(row[0], row[1], "größer ≥" if row[2] == "yes" else "kleiner") for row in rows_of()]
    write_csv(tmp_path / "umlaut.csv", rows)
    for args in (
        ["inspect", "umlaut.csv"],
        ["compare", "umlaut.csv", "-m", "naive-bayes"],
        ["inspect", "umlaut.csv", "--json"],
        ["fit", "umlaut.csv", "-o", "m.cw"],
        ["explain", "m.cw", "umlaut.csv"],
        ["inspect", "größer.csv"],
    ):
        done = shell(*args, cwd=tmp_path, env={"PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"})
        done.stdout.decode(encoding)
        assert b"Traceback" not in done.stderr
        assert done.returncode == (2 if args[1] == "größer.csv" else 0), done.stderr
    found = json.loads(shell("inspect", "umlaut.csv", "--json", cwd=tmp_path).stdout)
    assert {line["class"] for line in found["data"]["balance"]} == {"größer ≥", "kleiner"}


def test_rows_are_utf_8_whatever_the_terminal(tmp_path):
    rows = [(row[0], row[1], "größer" if row[2] == "yes" else "kleiner") for row in rows_of()]
    write_csv(tmp_path / "umlaut.csv", rows)
    shell("fit", "umlaut.csv", "-o", "m.cw", cwd=tmp_path)
    done = shell("predict", "m.cw", "umlaut.csv", cwd=tmp_path, env={"PYTHONIOENCODING": "ascii"})
    assert "p_größer" in done.stdout.decode("utf-8")


def test_warnings_as_errors_are_met_by_no_command(tmp_path):
    write_csv(tmp_path / "good.csv", rows_of())
    for args in (
        ["fit", "good.csv", "-o", "m.cw"],
        ["predict", "m.cw", "good.csv"],
        ["compare", "good.csv", "--folds", "3"],
    ):
        done = shell(*args, cwd=tmp_path, env={"PYTHONWARNINGS": "error"})
        assert done.returncode == 0, done.stderr
