"""Output of a command: results, JSON, notes on stderr, files and progress."""

from __future__ import annotations

import csv
import io
import json
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from countwise.cli.errors import spelling
from countwise.notes import Note

if TYPE_CHECKING:
    from countwise.progress import Progress


def progress(quiet: bool) -> AbstractContextManager[Progress | None]:
    """Give a function that shows steps on stderr, or None where nobody would see them."""
    from countwise.progress import open_progress

    return open_progress("countwise", not quiet)


def plain(value: Any) -> Any:
    """Convert a value to what JSON can hold; NaN and infinity become null."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    if hasattr(value, "tolist") and not isinstance(value, str | bytes):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def as_json(value: Any, ascii_only: bool = False) -> str:
    """Return JSON, indented for people."""
    return json.dumps(plain(value), indent=2, ensure_ascii=ascii_only, allow_nan=False) + "\n"


def print_json(value: Any) -> None:
    """Print JSON to stdout, in characters it can show."""
    encoding = (getattr(sys.stdout, "encoding", None) or "ascii").lower().replace("-", "")
    sys.stdout.write(as_json(value, ascii_only=not encoding.startswith("utf")))
    sys.stdout.flush()


def remark(lines: Iterable[object], quiet: bool) -> None:
    """Print notes on stderr, each once, with parameters spelled as options of the command."""
    if quiet:
        return
    spell = spelling(click.get_current_context(silent=True))
    texts = (line.spelled(spell) if isinstance(line, Note) else str(line) for line in lines)
    for text in dict.fromkeys(" ".join(text.split()) for text in texts):
        sys.stderr.write(f"note: {text}\n")
    sys.stderr.flush()


def write_records(
    path: str,
    records: Sequence[Mapping[str, Any]],
    whole: Any,
    who: str,
    latex: Callable[[], str] = str,
) -> None:
    """Write CSV, LaTeX, or `whole` as JSON, as the extension says; the file whole or not."""
    from countwise.atomic_write import atomic_write

    if path.lower().endswith(".json"):
        text = as_json(whole)
    elif path.lower().endswith(".tex"):
        text = latex()
    else:
        lines = io.StringIO()
        names = dict.fromkeys(name for record in records for name in record)
        writer = csv.DictWriter(lines, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(plain(record) for record in records)
        text = lines.getvalue()
    with atomic_write(path, who) as draft:
        draft.write_text(text, encoding="utf-8", newline="")


@dataclass(frozen=True)
class Output:
    """The options about output: a file, JSON instead of text, no notes and no progress."""

    path: str | None = None
    as_json: bool = False
    quiet: bool = False

    def progress(self) -> AbstractContextManager[Progress | None]:
        """Give a function that shows progress, or None."""
        return progress(self.quiet)

    def finish(
        self,
        facts: Any,
        show: Callable[[Any], None] | None = None,
        *,
        records: Sequence[Mapping[str, Any]] | None = None,
        notes: Iterable[object] = (),
        written: Mapping[str, str | None] | None = None,
        first: Iterable[str] = (),
        latex: Callable[[], str] = str,
    ) -> None:
        """Write `records` to ``-o`` (as JSON: `facts`), then print JSON, or results and notes.

        Results begin with the lines `first`; where none are printed, these are notes.
        """
        if self.path is not None and records is not None:
            who = click.get_current_context().info_name or ""
            write_records(self.path, records, facts, who, latex)
        if self.as_json:
            print_json(facts)
            return
        if show is not None:
            from countwise.reports.terminal import Screen

            screen = Screen(sys.stdout)
            for line in first:
                screen.say(line)
            show(screen)
            sys.stdout.flush()
        files = [f"{what} written to {path}." for what, path in (written or {}).items() if path]
        remark([*(first if show is None else ()), *notes, *files], self.quiet)
