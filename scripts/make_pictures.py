"""Make the README's pictures from the real program: the terminal as SVG, the page as PNG.

python scripts/make_pictures.py   (needs Chromium for the page)
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
WIDTH = 100


def terminal() -> None:
    """Run a comparison as on a terminal and keep what it shows."""
    words = ["compare", "sample:credit-g", "--gain", "sample", "--quiet"]
    shown = subprocess.run(
        [sys.executable, "-m", "countwise", *words],
        env={**os.environ, "COLUMNS": str(WIDTH), "FORCE_COLOR": "1"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    console = Console(record=True, width=WIDTH, file=open(os.devnull, "w"), force_terminal=True)  # noqa: SIM115
    console.print(Text(f"$ countwise {' '.join(words[:-1])}\n", style="bold"))
    console.print(Text.from_ansi(shown))
    drawn = console.export_svg(title="countwise compare")
    drawn = re.sub(r"@font-face \{.*?\}", "", drawn, flags=re.DOTALL)  # no font from elsewhere
    (IMAGES / "terminal.svg").write_text(drawn, encoding="utf-8")


def page() -> None:
    """Write the report of the same comparison and take its picture."""
    chromium = next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome")))
    )
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.html"
        words = [
            "compare",
            "sample:credit-g",
            "--gain",
            "sample",
            "--report",
            str(report),
            "--quiet",
        ]
        subprocess.run(
            [sys.executable, "-m", "countwise", *words], check=True, stdout=subprocess.DEVNULL
        )
        flags = (
            "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --hide-scrollbars"
        )
        flags += " --disable-background-networking --disable-component-update --disable-sync"
        subprocess.run(
            [
                str(chromium),
                *flags.split(),
                f"--user-data-dir={folder}/profile",
                "--window-size=1100,1000",
                f"--screenshot={IMAGES / 'report.png'}",
                report.as_uri(),
            ],
            check=True,
            capture_output=True,
        )


if __name__ == "__main__":
    IMAGES.mkdir(exist_ok=True)
    terminal()
    page()
    print("written:", ", ".join(sorted(path.name for path in IMAGES.iterdir())))
