"""The time limit of a search, and its history."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from countwise.progress import Progress

#: The stages of a search, in their order; not every search has all of them.
STAGES = ("start", "squares", "gain", "information", "merit", "paper", "all rows")


class EnoughError(Exception):
    """The time is over; what was found so far counts."""


class SearchClock:
    """The history of a search: it reports progress, and ends the search when time is over."""

    def __init__(self, max_seconds: float | None, progress: Progress | None) -> None:
        self._start = time.perf_counter()
        self._max_seconds = max_seconds
        self._progress = progress
        self.history: list[dict[str, Any]] = []
        self.stopped: str | None = None

    def _seconds(self) -> float:
        return time.perf_counter() - self._start

    def check(self) -> None:
        """End the search if its time is over."""
        if self._max_seconds is not None and self._seconds() > self._max_seconds:
            raise EnoughError

    def note(self, stage: str, **facts: Any) -> None:
        """Keep a step, and report it."""
        self.history.append({"stage": stage, **facts, "seconds": self._seconds()})
        if self._progress is not None:
            gains = (("training", facts.get("train")), ("validation", facts.get("validation")))
            words = [f"{part} gain {gain:.4f}" for part, gain in gains if gain is not None]
            text = f"{stage}: {', '.join(words)}" if words else stage
            self._progress(STAGES.index(stage), len(STAGES), text)

    @contextmanager
    def until_enough(self) -> Iterator[None]:
        """Search inside; when the time is over, or on an interrupt, go on behind."""
        try:
            yield
        except EnoughError:
            self.stopped = "time"
        except KeyboardInterrupt:
            self.stopped = "interrupt"
