"""A command imports what it needs, and scikit-learn without what it seldom uses."""

import json
import subprocess
import sys

import pytest

#: Run a command as a shell does, and print the modules that are imported at its end.
_COMMAND = """
import atexit, json, sys
atexit.register(lambda: sys.stderr.write("\\n" + json.dumps(sorted(sys.modules))))
from countwise.cli.app import main
sys.argv = ["countwise", *sys.argv[1:]]
main()
"""
_SELDOM = ("pandas", "scipy.stats", "scipy.special", "scipy.optimize", "numpy.testing", "asyncio")


def run(code, *args, cwd=None):
    return subprocess.run(
        [sys.executable, "-c", code, *args], capture_output=True, text=True, cwd=cwd, timeout=120
    )


def modules_of(*args, cwd):
    done = run(_COMMAND, *args, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stderr.splitlines()[-1]))


def imported(modules, *packages):
    """Return which of these packages, or parts of them, are imported."""
    return {
        name for name in modules for package in packages if f"{name}.".startswith(f"{package}.")
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("quick")
    rows = "".join(f"{'ab'[at % 2]},{at % 7},{'ny'[at % 3 == 0]}\n" for at in range(40))
    (folder / "rows.csv").write_text("letter,number,class\n" + rows)
    done = run(_COMMAND, "fit", "rows.csv", "--model", "naive-bayes", "-o", "m.cw", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize(
    ("args", "without"),
    [
        (["inspect", "rows.csv"], ["sklearn", "scipy", "narwhals", "joblib", "countwise.store"]),
        (["models"], ["sklearn", "scipy", "narwhals", "pyarrow", "countwise.store"]),
        (["show", "m.cw"], ["pyarrow", "countwise.prediction"]),
        (["predict", "m.cw", "rows.csv", "-o", "out.csv"], ["rich", "countwise.reports"]),
        (["explain", "m.cw", "rows.csv"], []),
        (["draw", "m.cw", "-o", "picture.svg"], ["pyarrow"]),
        (["fit", "rows.csv", "--model", "naive-bayes", "-o", "new.cw"], []),
    ],
    ids=lambda value: value[0] if value and value[-1] != "countwise.store" else None,
)
def test_a_command_imports_no_more_than_it_needs(folder, args, without):
    modules = modules_of(*args, cwd=folder)
    assert not imported(modules, *without)
    assert not imported(modules, "countwise.evaluation", "countwise.testing", "jinja2", *_SELDOM)
    assert "countwise.models.tree.id3" not in modules
    assert len(modules) < (450 if args[0] in ("inspect", "models") else 900)


def test_a_saved_model_that_scikit_learn_trained_is_shown_without_its_trainer(folder):
    done = run(_COMMAND, "fit", "rows.csv", "--model", "logistic", "-o", "l.cw", cwd=folder)
    assert done.returncode == 0, done.stderr
    modules = modules_of("show", "l.cw", cwd=folder)
    assert not imported(modules, "sklearn.linear_model", "sklearn.metrics", *_SELDOM)


def test_a_deferred_module_is_the_real_one_when_it_is_used():
    code = """
import sys
from countwise.cli.quick_start import start_quickly
start_quickly()
import sklearn.base
deferred = [name for name in ("pandas", "scipy.stats", "scipy.special") if name in sys.modules]
import numpy as np, pandas, scipy.special, scipy.stats
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import check_array
model = LogisticRegression().fit(pandas.DataFrame({"x": [0.0, 1.0, 2.0, 3.0]}), [0, 0, 1, 1])
print(deferred, type(pandas).__name__, scipy.stats.norm.cdf(0.0), scipy.special.expit(0.0),
      model.feature_names_in_.tolist(), type(sklearn.__spec__.loader).__name__)
"""
    done = run(code)
    assert done.stdout.strip() == "[] module 0.5 0.5 ['x'] SourceFileLoader", done.stderr


def test_several_threads_may_use_a_deferred_module_first():
    code = """
import sys
from concurrent.futures import ThreadPoolExecutor
from countwise.cli.quick_start import _Deferral
deferral = _Deferral(["sqlite3"])
sys.meta_path.insert(0, deferral)
import sqlite3
assert type(sqlite3).__name__ == "_Deferred"
with ThreadPoolExecutor(8) as pool:
    found = set(pool.map(lambda _: sqlite3.connect, range(64)))
print(len(found), type(sys.modules["sqlite3"]).__name__)
"""
    done = run(code)
    assert done.stdout.strip() == "1 module", done.stderr


def test_arrow_finds_no_pandas_but_a_program_does():
    code = """
import sys
from countwise.cli.quick_start import start_quickly
start_quickly()
import pyarrow
found = "pandas" in sys.modules
import pandas
print(found, pyarrow.array([1, None]).to_pylist(), pandas.DataFrame({"x": [1]}).shape)
"""
    done = run(code)
    assert done.stdout.strip() == "False [1, None] (1, 1)", done.stderr
