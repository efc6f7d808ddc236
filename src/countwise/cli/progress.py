"""How far a command is: on stderr, on a terminal only, and not before two seconds have passed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any

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
