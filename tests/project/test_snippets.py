"""Every Python snippet in the Markdown pages runs, and the reference names every public name."""

import doctest
import re
import sys
from pathlib import Path

import pytest

import countwise

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("**/*.md")])
FENCE = re.compile(r"^```(?:python|pycon)\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_snippets(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    for number, block in enumerate(FENCE.findall(page.read_text(encoding="utf-8"))):
        if ">>>" in block:
            test = doctest.DocTestParser().get_doctest(
                block, names, f"{page.name}[{number}]", None, 0
            )
            report: list[str] = []
            runner.run(test, out=report.append, clear_globs=False)
            names.update(test.globs)
            assert not report, "".join(report)
        else:
            exec(compile(block, f"{page.name}[{number}]", "exec"), names)  # our own pages


def test_the_reference_names_every_public_name():
    text = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    lost = [name for name in countwise.__all__ if f"`{name}" not in text and name != "__version__"]
    assert not lost


def test_the_pages_name_no_machine():
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        assert "/home/" not in text
        assert "/root/" not in text
        assert "/tmp/" not in text


def test_version_is_said_once():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f'version = "{countwise.__version__}"' in text
    assert sys.version_info >= (3, 11)
