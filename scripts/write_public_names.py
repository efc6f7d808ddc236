"""Write what follows from the library's lists: the stub, and sections of the reference.

``src/countwise/__init__.pyi`` types every public name by the module it lives in;
``docs/reference.md`` lists the models of the registry and the codes of notes.
"""

from __future__ import annotations

from pathlib import Path

import countwise
from countwise.models.registry import models
from countwise.notes import NOTES

ROOT = Path(__file__).resolve().parents[1]
STUB = ROOT / "src" / "countwise" / "__init__.pyi"
REFERENCE = ROOT / "docs" / "reference.md"


def stub() -> str:
    """Return the text of the stub."""
    pairs = sorted((module, name) for name, module in countwise._homes().items())
    lines = [f"from {module} import {name} as {name}" for module, name in pairs]
    return "\n".join([*lines, "", "__version__: str", ""])


def reference() -> str:
    """Return the reference with the sections of models and notes written anew."""
    table = ["| name | on the command line | what it is |", "|---|---|---|"]
    for entry in models():
        commands = ", ".join(f"`{command.name}`" for command in entry.commands)
        table.append(f"| `{entry.name}` | {commands} | {entry.about} |")
    notes = ["| code | title | severity | explanation |", "|---|---|---|---|"]
    for code, kind in sorted(NOTES.items()):
        notes.append(f"| `{code}` | {kind.title} | {kind.severity} | {kind.explanation} |")
    text = REFERENCE.read_text(encoding="utf-8")
    return _with_section(_with_section(text, "Models", table), "Note codes", notes)


def _with_section(text: str, heading: str, lines: list[str]) -> str:
    before, mark, rest = text.partition(f"## {heading}\n")
    _, following, after = rest.partition("\n## ")
    return "\n".join([f"{before}{mark}", *lines, f"{following}{after}"])


if __name__ == "__main__":
    STUB.write_text(stub(), encoding="utf-8")
    REFERENCE.write_text(reference(), encoding="utf-8")
