"""Fit models side by side on rows outside memory: one scan serves every fit that waits.

Each fit runs in a thread of its own, by the code that fits any scan. A fit that needs a pass over
its rows waits; once all of them wait or are done, one scan of the rows serves every pass that was
asked for, as far as the counts fit in memory; the first fits go first. Which rows a fit learns from
is said by its place: the fold that it leaves out, or the member of an ensemble that it is.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Condition, Lock, Thread, current_thread
from typing import Any, Protocol

from countwise.counts.counts import Counts
from countwise.counts.engines import memory
from countwise.counts.engines.memory import RunningCounts
from countwise.counts.engines.stream import BlockCounter, PlanOf, adds_in_place, finish
from countwise.counts.plan import Plan
from countwise.counts.room import no_room, room_of, size_of
from countwise.errors import CountsError
from countwise.progress import Progress
from countwise.tables.scan import Block, Scan
from countwise.tables.scan_pass import Key, add_by_key, run_pass

#: Counts take so many times their size: meanwhile as parts of the rows and sums of them, and later
#: with what a model makes of them.
_COPIES = 3


Fold = Callable[[Block], Any]


class Job(Protocol):
    """What a scan of all rows does for one request, or for several of them together."""

    @property
    def add(self) -> Callable[[Any, Any], Any]:
        """What adds up the results of two parts of the rows."""

    @property
    def engine(self) -> str | None:
        """The engine that the pass needs, if not the one that suits the source."""

    def parts(
        self, passes: SideBySide, block: Block, seen: Any
    ) -> Iterator[tuple[Any, Block, Plan | Fold]]:
        """Yield parts of a block, each by a key, and what is counted of them or folds them."""

    def answer(self, found: dict[Any, Any]) -> None:
        """Take what was found of all rows, by key."""


@dataclass(eq=False)
class Request:
    """A pass that a fit waits for: either what to count, or a fold over blocks and how to add.

    A fold is over the rows of its place, or over those that the place is tested on.
    """

    scan: Scan
    place: Any
    plan: Plan | None = None
    fold: Fold | None = None
    add: Callable[[Any, Any], Any] = operator.add
    #: The engine that the pass needs, if not the one that suits the source.
    engine: str | None = None
    tests: bool = False
    result: Any = None
    is_done: bool = False
    refusal: CountsError | None = None
    fit: Thread = field(default_factory=current_thread)

    def __getstate__(self) -> dict[str, Any]:
        """Return what travels to where the rows are."""
        return {**self.__dict__, "result": None, "fit": None}

    @property
    def size(self) -> int:
        """How many bytes it may take to count."""
        return 0 if self.plan is None else size_of(self.plan, self.scan.schema)

    def parts(
        self, passes: SideBySide, block: Block, seen: Any
    ) -> Iterator[tuple[None, Block, Plan | Fold]]:
        """Yield the rows of its place, if a block has some."""
        part = passes.rows_for(self, block, seen)
        what = self.fold if self.plan is None else self.plan
        assert what is not None
        if len(part.numbers):
            yield None, self.scan.changed(part), what

    def answer(self, found: dict[Any, Any]) -> None:
        """Take the counts, or what was folded; None if it had no rows."""
        self.result = found.get(None)


class CountsByKey:
    """Counts of parts of the rows by key, added up block by block: in place, if that is possible.

    Otherwise blocks are counted by themselves, and those who fold them add up. So are fractional
    weights, whose sums depend on the order.
    """

    def __init__(self, scan: Scan) -> None:
        self._in_place = adds_in_place(scan) and not scan.fractions[0]
        self._running: dict[Any, RunningCounts] = {}

    def add(self, key: Any, block: Block, plan: Plan) -> dict[Any, Counts]:
        """Count a block; return the counts that are not added in place."""
        if not self._in_place:
            return {key: memory.fold(block.table, plan, block.weight)}
        if len(block.table):
            running = self._running.setdefault(key, RunningCounts(plan, most_joint=0))
            running.add(block.table, block.weight)
        return {}

    def collect(self) -> dict[Any, Counts]:
        """Return all that was added in place, and forget it."""
        running, self._running = self._running, {}
        return {key: running.pop(key).counts() for key in list(running)}


class _StopError(Exception):
    """Ends a fit because another one failed."""


class SideBySide:
    """Serves the passes of fits that run side by side; see the module.

    `keeps_counts` names models that keep their counts when they are fitted, so that all of them
    must fit in memory together.
    """

    keeps_counts: str = ""

    def __init__(self, scan: Scan, progress: Progress | None, expected: int) -> None:
        self.scan, self.scans = scan, 0
        self._progress, self._expected = progress, expected
        #: What the first scan counted of the rows of each place.
        self.first: dict[Any, Counts] = {}
        self._condition = Condition()
        self._waiting: list[Request] = []
        self._busy, self.jobs = 0, 1
        self._stopped = False
        #: Bytes of the counts that the first scan left, and those of each fit, the first one first.
        self._held_by_all = 0
        self._held: dict[Thread, int] = {}
        #: Whether fits had to wait for others, because their counts did not fit in memory together.
        self.took_turns = False
        #: Whether what is counted next has no room for more than the counts themselves.
        self.is_tight = False
        #: Held by a fit that needs much memory, and never while it waits for a pass.
        self.turn = Lock()

    def __getstate__(self) -> dict[str, Any]:
        """Return what travels to where the rows are: nothing of those who wait here."""
        gone: dict[str, Any] = {"first": {}, "_waiting": [], "_progress": None}
        gone |= {"_condition": None, "turn": None, "_held": {}}
        return {**self.__dict__, **gone}

    def look(self, block: Block) -> Any:
        """Return what says where each row of a block goes, found once for all requests."""
        return None

    def rows_for(self, request: Request, block: Block, seen: Any) -> Block:
        """Return the rows of a block that a request is about."""
        raise NotImplementedError

    def serve(self, requests: Sequence[Request]) -> None:
        """Answer all requests by one scan of the rows."""
        self.do_all(requests)

    def do_all(self, jobs: Sequence[Job]) -> None:
        """Do all jobs by one scan of the rows.

        The scan may run elsewhere, so results are found by the number of a job.
        """
        counted = CountsByKey(self.scan)
        adders = [job.add for job in jobs]

        def fold(block: Block) -> dict[tuple[int, Any], Any]:
            found, seen = dict[tuple[int, Any], Any](), self.look(block)
            for at, job in enumerate(jobs):
                for key, part, what in job.parts(self, block, seen):
                    if isinstance(what, Plan):
                        found |= counted.add((at, key), part, what)
                    else:
                        found[at, key] = what(part)
            return found

        def add(left: Any, right: Any) -> dict[tuple[int, Any], Any]:
            return add_by_key(left, right, lambda key: adders[key[0]])

        # All rows are scanned by the engine that one of the jobs needs.
        engine = next((job.engine for job in jobs if job.engine is not None), None)
        total = (self.run_scan(fold, add, engine) or {}) | counted.collect()
        for at, job in enumerate(jobs):
            job.answer({key: total.pop((one, key)) for one, key in list(total) if one == at})

    def run_scan(
        self,
        fold: Callable[[Block], Any],
        add: Callable[[Any, Any], Any],
        engine: str | None = None,
    ) -> Any:
        """Scan all rows once, and say how far it is."""
        total = max(self._expected, self.scans + 1)

        def report(read: float, size: float, text: str) -> None:
            if self._progress is not None:
                done = self.scans + min(read / max(size, 1), 1.0)
                self._progress(done, total, f"scan {self.scans + 1}")

        found = run_pass(self.scan, fold, add, progress=report, engine=engine)
        report(1, 1, "")
        self.scans += 1
        return found

    def count_first(
        self, plan_of: PlanOf, parts_of: Callable[[Block], Iterable[tuple[Key, Block]]]
    ) -> dict[Key, Counts]:
        """Count parts of the rows while finding out what the columns are, if that is not known.

        If all parts together would not fit in memory, their classes alone are counted.
        """
        counter = BlockCounter(self.scan, plan_of)

        def fold(block: Block) -> dict[Key, Counts | None]:
            found = {}
            for number, (key, part) in enumerate(parts_of(block), start=1):
                counter.parts = max(counter.parts, number)
                found[key] = counter.fold(part)
            return found

        def add(left: Any, right: Any) -> dict[Key, Counts | None]:
            return add_by_key(left, right, lambda key: counter.add)

        counted = self.run_scan(fold, add) or {}
        found = {key: finish(self.scan, counts, plan_of) for key, counts in counted.items()}
        if any(plan_of(self.scan.schema) not in counts.plan for counts in found.values()):
            self.took_turns = True
            return {key: counts.restricted(Plan()) for key, counts in found.items()}
        return found

    def rows_of(self, place: Any) -> Scan:
        """Return the rows of a place, as a scan whose passes are shared."""
        return self.scan.shared_by(self, place, self.jobs)

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
                    if not self.keeps_counts:
                        del self._held[current_thread()]
                    self._condition.notify_all()

        workers = [Thread(target=run, args=item, daemon=True) for item in jobs.items()]
        self._held = dict.fromkeys(workers, 0)
        self._held_by_all = sum(size_of(one.plan, one.schema) for one in self.first.values())
        self._busy, self.jobs, self._stopped = len(workers), max(len(workers), 1), False
        for worker in workers:
            worker.start()
        try:
            while True:
                with self._condition:
                    self._condition.wait_for(lambda: self._busy == 0)
                    requests = self._admit()
                if failed or not requests:
                    break
                served = [request for request in requests if request.refusal is None]
                if served:
                    self.serve(served)
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

    def _admit(self) -> list[Request]:
        """Return the requests to serve next: all who wait, or the first of them if memory is short.

        Requests that would not fit even alone are refused.
        """
        place = {worker: number for number, worker in enumerate(self._held)}
        waiting = sorted(self._waiting, key=lambda request: place[request.fit])
        most = room_of(self.scan) - self._held_by_all
        room, wanted = most - sum(self._held.values()), sum(one.size for one in waiting)
        self.is_tight = _COPIES * wanted > room
        what = self.keeps_counts or "those of a model"
        if self._held_by_all and not self.keeps_counts:
            what += " and of the first scan"
        admitted, are_counted = list[Request](), False
        for request in waiting:
            needed = wanted if self.keeps_counts else request.size
            if request.size and needed > most:
                request.refusal = no_room(self.scan, needed + self._held_by_all, what)
            elif request.size:
                if are_counted and not self.keeps_counts and _COPIES * request.size > room:
                    room, self.took_turns = 0, True
                    continue
                room, are_counted = room - _COPIES * request.size, True
                self._held[request.fit] += _COPIES * request.size
            admitted.append(request)
        self._waiting = [request for request in waiting if request not in admitted]
        return admitted

    def forget(self) -> None:
        """Hear from a fit that it does not need any more what was counted for it."""
        self._held[current_thread()] = 0

    def find(self, scan: Scan, plan: Plan) -> Counts | None:
        """Return what the first scan counted of these rows, if it holds what a plan names."""
        known = self.first.get(scan.place) if scan.change is None else None
        return known.restricted(plan) if known is not None and plan in known.plan else None

    def count(self, scan: Scan, plan: Plan) -> Counts:
        """Wait until a pass has counted the rows of a scan that shares passes."""
        known = self.find(scan, plan)
        if known is not None:
            return known
        counts: Counts = self.wait(Request(scan, scan.place, plan))
        return counts

    def run(self, scan: Scan, fold: Fold, add: Any, engine: str | None) -> Any:
        """Wait until a pass has folded the rows of a scan that shares passes."""
        return self.wait(Request(scan, scan.place, None, fold, add or operator.add, engine))

    def wait(self, request: Request) -> Any:
        """Wait until a pass has answered a request."""
        with self._condition:
            if self._stopped:
                raise _StopError
            self._waiting.append(request)
            self._busy -= 1
            self._condition.notify_all()
            self._condition.wait_for(lambda: request.is_done or self._stopped)
        if not request.is_done:
            raise _StopError
        if request.refusal is not None:
            raise request.refusal
        return request.result

    def _release(self, requests: Sequence[Request]) -> None:
        """Let the fits go on that wait for these requests."""
        with self._condition:
            for request in requests:
                request.is_done = True
            self._busy += len(requests)
            self._condition.notify_all()
