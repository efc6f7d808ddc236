"""Weka's classifiers on our tables: the jar of python-weka-wrapper3, and a jar that has AODE."""

from __future__ import annotations

import atexit
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.accuracy.measure import Answer
from countwise.evaluation.folds import Fold
from countwise.tables.table import Table

#: Names a jar of Weka 3.6, which still holds AODE; later versions do not.
ENVIRONMENT = "COUNTWISE_WEKA_JAR"
_ROOT = Path(__file__).resolve().parents[2]


def newest_jar() -> Path | None:
    """Return the jar that the package python-weka-wrapper3 carries."""
    package = find_spec("weka")
    if package is None or not package.submodule_search_locations:
        return None
    jar = Path(package.submodule_search_locations[0]) / "lib" / "weka.jar"
    return jar if jar.is_file() else None


def aode_jar() -> Path | None:
    """Return the jar that the environment names for AODE."""
    named = os.environ.get(ENVIRONMENT)
    return Path(named) if named and Path(named).is_file() else None


def has_java() -> bool:
    """Return whether Java and the package that starts it are there."""
    return shutil.which("java") is not None and find_spec("jpype") is not None


def jar_version(jar: Path) -> str:
    """Return the version that a jar states, such as 3.9.6."""
    with zipfile.ZipFile(jar) as files:
        text = files.read("weka/core/version.txt").decode()
    found = re.search(r"\d+(?:[.-]\d+)*", text)
    return found[0].replace("-", ".") if found else "unknown"


class WekaProcess:
    """A process with one jar, started when it is first asked."""

    def __init__(self, jar: Path) -> None:
        command = [sys.executable, "-m", "benchmarks.accuracy.weka_process", str(jar)]
        paths = [str(_ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        )
        atexit.register(self.close)

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Send a request and return the answer."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps(request), file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("Weka's process ended; Java may lack memory")
        answer: dict[str, Any] = json.loads(line)
        if "failed" in answer:
            raise RuntimeError(answer["failed"])
        return answer

    def close(self) -> None:
        """End the process."""
        if self.process.poll() is None:
            assert self.process.stdin is not None
            self.process.stdin.close()
            self.process.wait(10)


@cache
def process_of(jar: Path) -> WekaProcess:
    """Return the process of a jar."""
    return WekaProcess(jar)


def fit_weka(jar: Path, classifier: str, options: tuple[str, ...], t: Table, fold: Fold) -> Answer:
    """Train a classifier of Weka on the training rows of a fold and predict the others."""
    with tempfile.TemporaryDirectory() as folder:
        files = {name: str(Path(folder) / f"{name}.arff") for name in ("train", "test")}
        for name, path in files.items():
            Path(path).write_text(to_arff(t.take(getattr(fold, name))), encoding="ascii")
        request = {"classifier": classifier, "options": list(options), **files}
        answer = process_of(jar).ask(request)
    return Answer(np.asarray(answer["posteriors"]), answer["fit"], answer["predict"])


def to_arff(table: Table) -> str:
    """Return the rows as ARFF text; columns and levels are numbered, so that none needs quotes."""
    target = table.target_column
    columns = [*table.schema.attributes, target]
    heads, cells = [], []
    for place, column in enumerate(columns):
        values = table.raw_array(column.name)
        if column.coded or column is target:
            kind = "{" + ",".join(f"v{code}" for code in range(column.width)) + "}"
            texts = [f"v{int(code)}" if code < column.width else "?" for code in values]
        else:
            kind = "numeric"
            texts = ["?" if np.isnan(value) else repr(float(value)) for value in values]
        heads.append(f"@attribute a{place} {kind}")
        cells.append(texts)
    rows = [",".join(row) for row in zip(*cells, strict=True)]
    return "\n".join(["@relation rows", *heads, "@data", *rows, ""])
