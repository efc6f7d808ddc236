"""Every public name is typed: the stub is written from the list of names, and a program checks."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

import countwise

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "tests" / "project" / "user_program.py"


def mypy(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=ROOT,
    )


def test_stub_and_reference_are_those_the_script_writes():
    path = ROOT / "scripts" / "write_public_names.py"
    spec = importlib.util.spec_from_file_location("write_public_names", path)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    assert script.STUB.read_text(encoding="utf-8") == script.stub()
    assert script.REFERENCE.read_text(encoding="utf-8") == script.reference()


def test_a_user_program_passes_strict_type_checks_and_runs(tmp_path):
    done = mypy(PROGRAM)
    assert done.returncode == 0, done.stdout
    subprocess.run([sys.executable, str(PROGRAM), str(tmp_path)], check=True, timeout=120)


@pytest.mark.slow
def test_no_public_name_is_any(tmp_path):
    program = tmp_path / "names.py"
    names = [name for name in countwise.__all__ if name != "__version__"]
    lines = [f"reveal_type(countwise.{name})" for name in names]
    program.write_text("\n".join(["import countwise", *lines]), encoding="utf-8")
    done = mypy(program)
    revealed = [line for line in done.stdout.splitlines() if "Revealed type" in line]
    assert len(revealed) == len(names), done.stdout
    assert not [line for line in revealed if 'is "Any"' in line]


def test_a_star_import_brings_the_public_names():
    code = "from countwise import *; print(len([NaiveBayes, evaluate, read]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.stdout == "3\n", done.stderr
