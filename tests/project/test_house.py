"""The end conditions of the design, measured: tree, imports, names, private access, loading."""

import ast
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from countwise.models import registry

SRC = Path(__file__).parents[2] / "src"
PACKAGE = SRC / "countwise"
MODULES = {path: ast.parse(path.read_text("utf-8")) for path in sorted(SRC.rglob("*.py"))}

#: Names that say nothing about what they hold.
EMPTY_NAMES = {"own", "made", "told", "said", "lost", "strange", "there", "came", "brought"}
#: Doors that may name model classes: the registry, and the papers, which are users of the library.
MODEL_CLASSES = {entry.name for entry in registry.models()} | {
    "Classifier",
    "CountedModel",
    "MatrixModel",
    "StoredRowsModel",
    "Ensemble",
}


def room_of(path: Path) -> str:
    """Return the top-level package or module below countwise, or the name of the second package."""
    parts = path.relative_to(SRC).with_suffix("").parts
    return parts[0] if parts[0] != "countwise" or len(parts) == 1 else parts[1]


def outside_models() -> list[Path]:
    rooms = ("models", "countwise_papers", "testing")
    return [path for path in MODULES if room_of(path) not in rooms]


def test_no_folder_has_more_than_twenty_files():
    files = Counter(path.parent for path in SRC.rglob("*.py*") if path.suffix in (".py", ".pyx"))
    assert not (PACKAGE / "posteriors").exists()
    assert {str(folder): size for folder, size in files.items() if size > 21} == {}


def test_no_module_outside_models_asks_for_a_model_class():
    asked = []
    for path in outside_models():
        for node in ast.walk(MODULES[path]):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "isinstance":
                names = {part.id for part in ast.walk(node.args[1]) if isinstance(part, ast.Name)}
                asked += [f"{path.relative_to(SRC)}:{node.lineno}" for _ in names & MODEL_CLASSES]
    assert asked == []


def test_no_module_outside_models_names_a_model_class():
    named = []
    for path in outside_models():
        for node in ast.walk(MODULES[path]):
            if isinstance(node, ast.ImportFrom) and node.module is not None:
                found = {alias.name for alias in node.names} & MODEL_CLASSES
                named += [f"{path.relative_to(SRC)}:{node.lineno} {name}" for name in found]
    assert named == []


def test_no_private_access_across_packages():
    homes: dict[str, set[str]] = {}
    for path, tree in MODULES.items():
        for node in ast.walk(tree):
            names = []
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                names = [node.name]
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                names = [node.attr]
            elif isinstance(node, ast.AnnAssign | ast.Assign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                names = [target.id for target in targets if isinstance(target, ast.Name)]
            for name in names:
                homes.setdefault(name, set()).add(room_of(path))
    crossed = []
    for path, tree in MODULES.items():
        for node in ast.walk(tree):
            if not isinstance(node, ast.Attribute) or not node.attr.startswith("_"):
                continue
            dunder = node.attr.startswith("__")
            if dunder or getattr(node.value, "id", "") in ("self", "cls"):
                continue
            rooms = homes.get(node.attr, set())
            if rooms and room_of(path) not in rooms:
                crossed.append(f"{path.relative_to(SRC)}:{node.lineno} {node.attr}")
    assert crossed == []


def test_names_say_what_they_hold():
    empty = []
    for path, tree in MODULES.items():
        for node in ast.walk(tree):
            name = None
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                name = node.id
            elif isinstance(node, ast.arg):
                name = node.arg
            elif isinstance(node, ast.FunctionDef | ast.ClassDef):
                name = node.name
            if name is not None and name.strip("_") in EMPTY_NAMES:
                empty.append(f"{path.relative_to(SRC)}:{node.lineno} {name}")
    assert empty == []


def loaded(code: str) -> int:
    """Run code in a fresh interpreter and count the modules of countwise it loads."""
    ask = "import sys; print(len([m for m in sys.modules if m.split('.')[0] == 'countwise']))"
    run = subprocess.run(
        [sys.executable, "-c", f"{code}\n{ask}"], capture_output=True, text=True, check=True
    )
    return int(run.stdout.splitlines()[-1])


def test_a_model_loads_only_what_it_needs(tmp_path):
    assert loaded("import countwise as cw; cw.NaiveBayes") < 40
    path = str(tmp_path / "model.cw")
    fit = "import countwise as cw; m = cw.NaiveBayes().fit(cw.read('sample:weather'))"
    loaded(f"{fit}; cw.save(m, {path!r})")
    assert loaded(f"import countwise as cw; cw.load({path!r})") < 60


TRACE = """
import sys, threading
files = set()
importing = 0
def note(frame, event, arg):
    global importing
    if frame.f_code.co_name == '<module>':
        importing += (event == 'call') - (event == 'return')
    elif event == 'call' and importing <= 0:
        files.add(frame.f_code.co_filename)
threading.setprofile(note)
sys.setprofile(note)
from countwise.cli.app import main
sys.argv = ['countwise', *sys.argv[1:]]
try:
    main()
except SystemExit:
    pass
sys.setprofile(None)
print(len([name for name in files if ROOT in name and name.endswith('.py')]))
"""


@pytest.mark.slow
def test_a_comparison_passes_through_few_files(tmp_path, iris_csv):
    run = subprocess.run(
        [sys.executable, "-c", f"ROOT = {str(SRC)!r}\n{TRACE}",
         "compare", iris_csv, "--target", "class",
         "-m", "naive-bayes,naive-bayes-kernel,aode,logistic,sklearn-forest",
         "--report", str(tmp_path / "r.html")],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert int(run.stdout.splitlines()[-1]) < 80


@pytest.fixture
def iris_csv(tmp_path):
    path = tmp_path / "iris.csv"
    path.write_bytes((PACKAGE / "tables" / "datasets" / "iris.csv").read_bytes())
    return str(path)
