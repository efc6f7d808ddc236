"""Fit models side by side on rows outside memory: one scan serves every fit that waits.

Each fit runs in a thread of its own, by the code that fits any scan. A fit that needs a pass over
its rows waits; once all of them wait or are done, one scan of the rows serves every pass that was
asked for. Which rows a fit learns from is said by its place: the fold that it leaves out, or the
member of an ensemble that it is.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from threading import Condition, Lock, Thread
from typing import Any

from countwise.counts.counts import Counts
from countwise.counts.engines.stream import BlockCounter, PlanOf, finish
from countwise.counts.plan import Plan
from countwise.progress import Progress
from countwise.tables.scan import Block, Scan
from countwise.tables.scan_pass import Key, add_by_key, run_pass


@dataclass(eq=False)
class Request:
    """A pass that a fit waits for: either what to count, or a fold over blocks and how to add."""

    scan: Scan
    place: Any
    plan: Plan | None = None
    fold: Callable[[Block], Any] | None = None
    add: Callable[[Any, Any], Any] = operator.add
    result: Any = None
    is_done: bool = False


class _StopError(Exception):
    """Ends a fit because another one failed."""


class SideBySide:
    """Serves the passes of fits that run side by side; see the module."""

    def __init__(self, scan: Scan, progress: Progress | None, expected: int) -> None:
        self.scan, self.scans = scan, 0
        self._progress, self._expected = progress, expected
        #: What the first scan counted of the rows of each place.
        self.first: dict[Any, Counts] = {}
        self._condition = Condition()
        self._waiting: list[Request] = []
        self._busy = self._jobs = 0
        self._stopped = False
        #: Held by a fit that needs much memory, and never while it waits for a pass.
        self.turn = Lock()

    def __getstate__(self) -> dict[str, Any]:
        """Return what travels to where the rows are: nothing of those who wait here."""
        gone: dict[str, Any] = {"first": {}, "_waiting": [], "_progress": None}
        gone |= {"_condition": None, "turn": None}
        return {**self.__dict__, **gone}

    def serve(self, requests: Sequence[Request]) -> None:
        """Answer all requests by one scan of the rows."""
        raise NotImplementedError

    def run_scan(self, fold: Callable[[Block], Any], add: Callable[[Any, Any], Any]) -> Any:
        """Scan all rows once, and say how far it is."""
        total = max(self._expected, self.scans + 1)

        def report(read: float, size: float, text: str) -> None:
            if self._progress is not None:
                done = self.scans + min(read / max(size, 1), 1.0)
                self._progress(done, total, f"scan {self.scans + 1}")

        found = run_pass(self.scan, fold, add, progress=report)
        report(1, 1, "")
        self.scans += 1
        return found

    def count_first(
        self, plan_of: PlanOf, parts_of: Callable[[Block], Iterable[tuple[Key, Block]]]
    ) -> dict[Key, Counts]:
        """Count parts of the rows while finding out what the columns are, if that is not known."""
        counter = BlockCounter(self.scan, plan_of)

        def fold(block: Block) -> dict[Key, Counts | None]:
            return {key: counter.fold(part) for key, part in parts_of(block)}

        def add(left: Any, right: Any) -> dict[Key, Counts | None]:
            return add_by_key(left, right, lambda key: counter.add)

        counted = self.run_scan(fold, add) or {}
        return {key: finish(self.scan, counts, plan_of) for key, counts in counted.items()}

    def rows_of(self, place: Any) -> Scan:
        """Return the rows of a place, as a scan whose passes are shared."""
        return self.scan.shared_by(self, place, max(self._jobs, 1))

    def fit_all(self, jobs: Mapping[Key, Callable[[], Any]]) -> dict[Key, Any]:
        """Run the jobs side by side until all are done; return what each returned."""
        results: dict[Key, Any] = {}
        failed: list[BaseException] = []

        def run(key: Key, job: Callable[[], Any]) -> None:
            try:
                results[key] = job()
            except BaseException as error:
                failed.append(error)
            finally:
                with self._condition:
                    self._busy -= 1
                    self._condition.notify_all()

        workers = [Thread(target=run, args=item, daemon=True) for item in jobs.items()]
        self._busy, self._jobs, self._stopped = len(workers), len(workers), False
        for worker in workers:
            worker.start()
        try:
            while True:
                with self._condition:
                    self._condition.wait_for(lambda: self._busy == 0)
                    requests, self._waiting = self._waiting, []
                if failed or not requests:
                    break
                self.serve(requests)
                self._release(requests)
        finally:
            # Fits that still wait end, because another one failed or the user stopped all.
            with self._condition:
                self._stopped = True
                self._condition.notify_all()
            for worker in workers:
                worker.join()
        if failed:
            raise failed[0]
        return results

    def count(self, scan: Scan, plan: Plan) -> Counts:
        """Wait until a pass has counted the rows of a scan that shares passes."""
        known = self.first.get(scan.place) if scan.change is None else None
        if known is not None and plan in known.plan:
            return known.restricted(plan)
        counts: Counts = self._wait(Request(scan, scan.place, plan))
        return counts

    def run(self, scan: Scan, fold: Callable[[Block], Any], add: Any) -> Any:
        """Wait until a pass has folded the rows of a scan that shares passes."""
        return self._wait(Request(scan, scan.place, None, fold, add or operator.add))

    def _wait(self, request: Request) -> Any:
        with self._condition:
            if self._stopped:
                raise _StopError
            self._waiting.append(request)
            self._busy -= 1
            self._condition.notify_all()
            self._condition.wait_for(lambda: request.is_done or self._stopped)
        if not request.is_done:
            raise _StopError
        return request.result

    def _release(self, requests: Sequence[Request]) -> None:
        """Let the fits go on that wait for these requests."""
        with self._condition:
            for request in requests:
                request.is_done = True
            self._busy += len(requests)
            self._condition.notify_all()
