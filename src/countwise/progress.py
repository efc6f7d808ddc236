"""Progress of long work: a function that is called for every step, or a bar on the terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from time import monotonic
from typing import Any

from countwise.params import Parameter, boolean, check, function, nothing

#: Called with steps done, steps in all, and a text; ``float`` where steps take unequal time.
Progress = Callable[[float, float, str], None]

#: The parameter `progress` of functions and models.
PROGRESS = Parameter(
    boolean() | function() | nothing(),
    "called with steps done, steps in all and a text; True shows a bar on stderr",
)

#: Seconds before a bar is worth showing.
PATIENCE = 2.0


class Bar:
    """A bar on stderr that appears once work has taken a while.

    The time left is that of the steps left at the mean pace so far, shown after two units of work:
    a unit is the number of steps after which the same kinds of steps come again.
    """

    def __init__(self) -> None:
        self._started = self._since = monotonic()
        self._bar: Any = None
        self._task: Any = None
        self._done = self._before = 0.0
        self._unit, self._units, self._pace = 1.0, 1.0, 0.0

    def new_pace(self, unit: float) -> None:
        """Measure the pace anew, because steps of another kind follow, so many in a unit."""
        self._since, self._before = monotonic(), self._done
        self._unit, self._units = unit, 1.0

    def __call__(self, done: float, total: float, text: str) -> None:
        """Show that `done` of `total` steps are done."""
        self._done = done
        if self._bar is None:
            if monotonic() - self._started < PATIENCE or done >= total:
                return
            self._open(total)
        left = self._time_left(total)
        self._bar.update(self._task, completed=done, total=total, description=text[:40], left=left)

    def _time_left(self, total: float) -> str:
        measured = self._done - self._before
        if measured // self._unit > self._units:  # the pace is known anew after a whole unit
            self._units = measured // self._unit
            self._pace = (monotonic() - self._since) / measured
        if self._units < 2:
            return ""
        left = self._pace * (total - self._done)
        if left < 100:
            return f"about {max(left, 1):.0f} s left"
        return (
            f"about {left / 60:.0f} min left" if left < 6000 else f"about {left / 3600:.0f} h left"
        )

    def _open(self, total: float) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TaskProgressColumn, TextColumn
        from rich.progress import Progress as RichProgress

        self._bar = RichProgress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("{task.fields[left]}", markup=False),
            console=Console(stderr=True),
            transient=True,
        )
        self._bar.start()
        self._task = self._bar.add_task("", total=total, left="")

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.stop()


@contextmanager
def open_progress(who: str, progress: Progress | bool | None) -> Iterator[Progress | None]:
    """Give the function to report steps to, or None; a bar is removed at the end.

    A bar is shown on a terminal only.
    """
    check(who, {"progress": PROGRESS}, {"progress": progress})
    if callable(progress) or not progress or not sys.stderr.isatty():
        yield progress if callable(progress) else None
        return
    bar = Bar()
    try:
        yield bar
    finally:
        bar.close()


def report_part(report: Progress | None, first: float, last: float) -> Progress | None:
    """Return a function that reports a part of the work, between two fractions of the whole."""
    if report is None:
        return None

    def tell(done: float, total: float, text: str) -> None:
        report(first + (last - first) * min(done / max(total, 1e-9), 1.0), 1.0, text)

    return tell


class Steps:
    """Count steps that several threads may take, and report each of them."""

    def __init__(self, report: Progress | None, total: int) -> None:
        self.report, self.total, self.done = report, total, 0
        self._lock = Lock()

    def new_pace(self, unit: int) -> None:
        """Tell a bar that steps of another kind follow, so many until they come again."""
        if isinstance(self.report, Bar):
            self.report.new_pace(unit)

    def advance(self, text: str) -> None:
        """Report that one more step is done."""
        with self._lock:
            self.done += 1
            if self.report is not None:
                self.report(self.done, self.total, text)
