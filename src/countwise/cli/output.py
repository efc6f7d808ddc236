"""How far a command is: on stderr, on a terminal only, and not before two seconds have passed."""

from __future__ import annotations

import csv
import io
import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import Any

from countwise.cli.errors import worded

#: Seconds before a bar is worth showing.
PATIENCE = 2.0

Tell = Callable[[float, float, str], None]


class _Bar:
    """A bar that comes to be when it is first needed."""

    def __init__(self) -> None:
        self._started = monotonic()
        self._bar: Any = None
        self._task: Any = None

    def tell(self, done: float, total: float, text: str) -> None:
        """Take note of `done` steps out of `total`."""
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
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()


@contextmanager
def progress(quiet: bool) -> Iterator[Tell | None]:
    """Give a function to tell steps to, or None where nobody would see it."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    bar = _Bar()
    try:
        yield bar.tell
    finally:
        bar.close()


def settle_streams() -> None:
    """Let no character that a terminal cannot show stop a command."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


def plain(value: Any) -> Any:
    """Return what JSON can hold: NumPy scalars as numbers, what is no number as null."""
    if isinstance(value, Mapping):
        return {str(key): plain(own) for key, own in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(own) for own in value]
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
    """Say a few sentences on stderr, each once."""
    if quiet:
        return
    for line in dict.fromkeys(worded(str(line)) for line in lines):
        sys.stderr.write(f"note: {line}\n")
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
