"""Output of a command: results, JSON, notes on stderr, files and progress."""

from __future__ import annotations

import csv
import io
import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from time import monotonic
from typing import Any

import click

from countwise.cli.errors import spelling
from countwise.notes import Note

#: Seconds before a progress bar is shown.
PATIENCE = 2.0

Tell = Callable[[float, float, str], None]


class _Bar:
    """A progress bar that opens when it is first needed."""

    def __init__(self) -> None:
        self._started = monotonic()
        self._bar: Any = None
        self._task: Any = None

    def tell(self, done: float, total: float, text: str) -> None:
        """Show `done` steps out of `total`."""
        if self._bar is None:
            if monotonic() - self._started < PATIENCE or done >= total:
                return
            self._open(total)
        self._bar.update(self._task, completed=done, total=total, description=text[:40])

    def _open(self, total: float) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
        from rich.progress import TimeRemainingColumn as Left

        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TaskProgressColumn(),
            Left(),
            console=Console(stderr=True),
            transient=True,
        )
        self._bar.start()
        self._task = self._bar.add_task("", total=total)

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.stop()


@contextmanager
def progress(quiet: bool) -> Iterator[Tell | None]:
    """Give a function that shows steps on stderr, or None where nobody would see them."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    bar = _Bar()
    try:
        yield bar.tell
    finally:
        bar.close()


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


def write_text(path: str, text: str, who: str) -> None:
    """Write a file whole or not at all."""
    from countwise.atomic_write import atomic_write

    with atomic_write(path, who) as draft:
        draft.write_text(text, encoding="utf-8", newline="")


def write_records(path: str, records: Sequence[Mapping[str, Any]], whole: Any, who: str) -> None:
    """Write records as CSV, or `whole` as JSON, as the extension says."""
    if path.lower().endswith(".json"):
        write_text(path, as_json(whole), who)
        return
    lines = io.StringIO()
    names = list(dict.fromkeys(name for record in records for name in record))
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([_cell(record.get(name)) for name in names] for record in records)
    write_text(path, lines.getvalue(), who)


def _cell(value: Any) -> Any:
    value = plain(value)
    return "" if value is None else value


@dataclass(frozen=True)
class Output:
    """The options about output: a file, JSON instead of text, no notes and no progress."""

    path: str | None = None
    as_json: bool = False
    quiet: bool = False

    def progress(self) -> AbstractContextManager[Tell | None]:
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
    ) -> None:
        """Write `records` to ``-o`` (as JSON: `facts`), then print JSON, or the result and notes.

        `show` gets the screen to print the result on. `written` are files by what they hold.
        """
        if self.path is not None and records is not None:
            who = click.get_current_context().info_name or ""
            write_records(self.path, records, facts, who)
        if self.as_json:
            print_json(facts)
            return
        if show is not None:
            from countwise.reports.terminal import Screen

            show(Screen(sys.stdout))
            sys.stdout.flush()
        files = [f"{what} written to {path}." for what, path in (written or {}).items() if path]
        remark([*notes, *files], self.quiet)
