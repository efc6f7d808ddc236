"""Write what follows from the list of public names: the stub, and the reference's models.

``src/countwise/__init__.pyi`` types every public name by the module it lives in;
``docs/reference.md`` lists the models of the registry.
"""

from __future__ import annotations

from pathlib import Path

import countwise
from countwise.models.registry import models

ROOT = Path(__file__).resolve().parents[1]
STUB = ROOT / "src" / "countwise" / "__init__.pyi"
REFERENCE = ROOT / "docs" / "reference.md"
HEADING, NEXT = "## Models\n", "\n## "


def stub() -> str:
    """Return the text of the stub."""
    pairs = sorted((module, name) for name, module in countwise._homes().items())
    lines = [f"from {module} import {name} as {name}" for module, name in pairs]
    return "\n".join([*lines, "", "__version__: str", ""])


def reference() -> str:
    """Return the reference with the section of models written anew."""
    before, _, rest = REFERENCE.read_text(encoding="utf-8").partition(HEADING)
    _, _, after = rest.partition(NEXT)
    lines = ["", "| name | on the command line | what it is |", "|---|---|---|"]
    for entry in models():
        commands = ", ".join(f"`{command.name}`" for command in entry.commands)
        lines.append(f"| `{entry.name}` | {commands} | {entry.about} |")
    return before + HEADING + "\n".join(lines) + "\n" + NEXT + after


if __name__ == "__main__":
    STUB.write_text(stub(), encoding="utf-8")
    REFERENCE.write_text(reference(), encoding="utf-8")
