"""The pages agree with the tree: generated parts are current, and local links lead to files."""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
LINK = re.compile(r"\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]*))?\)")


def anchors(page: Path) -> set[str]:
    """Return the anchors of the headings of a page, as GitHub forms them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in headings}


def test_the_tree_is_the_one_the_script_writes():
    path = ROOT / "scripts" / "write_architecture.py"
    spec = importlib.util.spec_from_file_location("write_architecture", path)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    current = script.PAGE.read_text(encoding="utf-8") == script.page()
    assert current, "run python scripts/write_architecture.py"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_local_links_lead_to_files(page):
    broken = []
    for target, anchor in LINK.findall(page.read_text(encoding="utf-8")):
        path = page.parent / target if target else page
        if not path.exists() or (anchor and anchor not in anchors(path)):
            broken.append(f"{target}#{anchor}")
    assert not broken
