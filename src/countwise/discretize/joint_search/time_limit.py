"""When to stop searching, and whom to tell how it goes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


class EnoughError(Exception):
    """The time is over; what was found so far counts."""


class SearchClock:
    """Keeps the history of a search, tells its progress, and ends it when the time is over."""

    def __init__(
        self, max_seconds: float | None, progress: Callable[[dict[str, Any]], None] | None
    ) -> None:
        self._begun = time.perf_counter()
        self._most = max_seconds
        self._progress = progress
        self.history: list[dict[str, Any]] = []
        self.stopped: str | None = None

    def check(self) -> None:
        """End the search if its time is over."""
        if self._most is not None and time.perf_counter() - self._begun > self._most:
            raise EnoughError

    def note(self, stage: str, **facts: Any) -> None:
        """Remember a step, and tell it."""
        step = {"stage": stage, **facts, "seconds": time.perf_counter() - self._begun}
        self.history.append(step)
        if self._progress is not None:
            self._progress(dict(step))

    @contextmanager
    def until_enough(self) -> Iterator[None]:
        """Search inside; when the time is over, or on an interrupt, go on behind."""
        try:
            yield
        except EnoughError:
            self.stopped = "time"
        except KeyboardInterrupt:
            self.stopped = "interrupt"
