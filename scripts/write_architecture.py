"""Write the tree of modules in docs/architecture.md from the first docstring line of each module.

python scripts/write_architecture.py

Packages stand in the order of the import contract in ``pyproject.toml``.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SRC = ROOT / "src"
PAGE = ROOT / "docs" / "architecture.md"
BEGIN = "<!-- tree: written by scripts/write_architecture.py -->"
END = "<!-- end of tree -->"

_DOCSTRING = re.compile(r'^r?"""(.*?)(?:"""|\n)', re.MULTILINE)


def page() -> str:
    """Return the page with the tree written anew between the two markers."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    return "\n".join([f"{before}{BEGIN}", *_tree(), f"{END}{after}"])


def _tree() -> list[str]:
    """Return a table of the single modules and one for each package, the lowest layer first."""
    layers = _layers()
    homes = [path for path in SRC.glob("countwise/*") if path.suffix == ".py" or _is_package(path)]
    homes += [path for path in SRC.iterdir() if _is_package(path) and path.name != "countwise"]
    homes.sort(key=lambda path: (layers.get(_module_name(path), len(layers)), path.name))
    lines = _section("countwise", [path for path in homes if path.is_file()])
    for home in filter(Path.is_dir, homes):
        for folder in [home, *sorted(filter(_is_package, home.rglob("*")))]:
            lines += _section(str(folder.relative_to(SRC)), _modules(folder))
    return [*lines, ""]


def _layers() -> dict[str, int]:
    """Return the place of each package and module in the import contract, the lowest first."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = reversed(settings["tool"]["importlinter"]["contracts"][0]["layers"])
    return {name: place for place, layer in enumerate(layers) for name in layer.split(" | ")}


def _module_name(path: Path) -> str:
    return ".".join(path.relative_to(SRC).with_suffix("").parts)


def _modules(folder: Path) -> list[Path]:
    """Return the modules of a folder, each compiled one after its namesake."""
    found = [path for path in folder.iterdir() if path.suffix in (".py", ".pyx")]
    return sorted(found, key=lambda path: (path.stem.strip("_"), path.suffix))


def _is_package(folder: Path) -> bool:
    return (folder / "__init__.py").exists()


def _section(title: str, modules: list[Path]) -> list[str]:
    """Return a heading, the line of the package, and a table of its modules."""
    package = next(path for path in modules if path.name == "__init__.py")
    lines = ["", f"### {title.replace('/', ' / ')}"]
    if about := _first_line(package):
        lines += ["", about]
    table = [
        f"| [{path.name}](../{path.relative_to(ROOT).as_posix()}) | {_first_line(path)} |"
        for path in modules
        if path != package
    ]
    return [*lines, "", "| module | contents |", "|---|---|", *table] if table else lines


def _first_line(path: Path) -> str:
    """Return the first line of the docstring of a module, as Markdown."""
    found = _DOCSTRING.search(path.read_text(encoding="utf-8"))
    line = "" if found is None else found[1].strip()
    return "" if line == "." else line.replace("``", "`").replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
