"""Train the models of all folds side by side on rows outside memory: one scan serves them all.

Each model of each fold is fitted in a thread of its own, by the code that fits any scan. A fit that
needs a pass over its rows waits; once all of them wait or are done, one scan of the rows serves
every pass that was asked for. What is counted of rows that are the same in all folds is counted
once for each fold, and the training counts of a fold are the total minus its own.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from threading import Condition, Lock, Thread
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.counts.counts import Counts
from countwise.counts.engines import memory
from countwise.counts.engines.stream import BlockCounter, finish
from countwise.counts.plan import Plan
from countwise.discretize.cut_points import collapse_cuts, cut_table
from countwise.discretize.rare_levels import MOST_PAIR_CELLS, width_limit
from countwise.tables.scan import Block, Scan
from countwise.tables.scan_pass import run_pass
from countwise.tables.schema import Schema
from countwise.tables.table import Table

#: Returns the fold of each row of a block, one column a repeat.
FoldOf = Callable[[Block], NDArray[np.intp]]
Key = TypeVar("Key", bound=Hashable)
Change = Callable[[Table], Table] | None


class Place(NamedTuple):
    """A fold of a repeat, by their numbers."""

    repeat: int
    fold: int


def rows_of_places(folds: NDArray[np.intp]) -> Iterator[tuple[Place, NDArray[np.intp]]]:
    """Yield the rows of each fold that a block has rows of."""
    for repeat in range(folds.shape[1]):
        for fold in np.unique(folds[:, repeat]).tolist():
            yield Place(repeat, fold), np.flatnonzero(folds[:, repeat] == fold)


@dataclass(eq=False)
class Request:
    """A pass that a fit waits for: either what to count, or a fold over blocks and how to add."""

    scan: Scan
    place: Place
    plan: Plan | None = None
    fold: Callable[[Block], Any] | None = None
    add: Callable[[Any, Any], Any] | None = None
    result: Any = None
    is_done: bool = False


@dataclass(eq=False)
class _Group:
    """Counting requests of several folds that are served by counting each row once."""

    change: Change
    requests: list[Request] = field(default_factory=list)
    #: The cut points of all folds together, where each fold has its own.
    fine: Mapping[str, FloatArray] | None = None

    @cached_property
    def plan(self) -> Plan:
        """What all requests need together."""
        plan = Plan()
        for request in self.requests:
            assert request.plan is not None
            plan |= request.plan
        return plan

    def fold(self, block: Block, folds: NDArray[np.intp]) -> dict[Any, Counts]:
        """Count a block: all of it on the fine cuts, and each fold by itself on its own."""
        table = block.table if self.change is None else self.change(block.table)
        if self.fine is None:
            return {
                place: memory.fold(table.take(rows), self.plan)
                for place, rows in rows_of_places(folds)
            }
        # Each fold counts the rows it leaves out by its own cuts, and they are taken off the total.
        found: dict[Any, Counts] = {"all": memory.fold(cut_table(table, self.fine), self.plan)}
        for request in self.requests:
            rows = folds[:, request.place.repeat] == request.place.fold
            assert request.scan.cuts is not None
            assert request.plan is not None
            part = cut_table(table.take(rows), request.scan.cuts)
            found[request] = memory.fold(part, request.plan)
        return found

    def answer(self, counted: dict[Any, Counts]) -> None:
        """Give every request the counts of the rows that its fold trains on."""
        places = [request.place for request in self.requests]
        training = sum_training(counted, places) if self.fine is None else {}
        for request in self.requests:
            assert request.plan is not None
            if self.fine is None:
                request.result = training[request.place].restricted(request.plan)
                continue
            assert request.scan.cuts is not None
            total = collapse_cuts(counted["all"], self.fine, request.scan.cuts)
            request.result = total.restricted(request.plan) - counted[request]


def sum_training(counted: Mapping[Place, Counts], places: Sequence[Place]) -> dict[Place, Counts]:
    """Return for each of these folds the sum of the other folds of its repeat."""
    training: dict[Place, Counts] = {}
    for repeat in {place.repeat for place in places}:
        present = sorted(place for place in counted if place.repeat == repeat)
        parts = [counted[place] for place in present]
        before = list(accumulate(parts))
        behind = list(accumulate(reversed(parts)))[::-1]
        for place in (place for place in places if place.repeat == repeat):
            if place not in present:  # a fold without rows
                training[place] = before[-1]
                continue
            at = present.index(place)
            rest = [*before[:at][-1:], *behind[at + 1 :][:1]]
            training[place] = sum(rest[1:], start=rest[0]) if rest else parts[at] - parts[at]
    return training


class SharedPasses:
    """Serves the passes of fits that run side by side; see the module."""

    def __init__(self, scan: Scan, fold_of: FoldOf, step: Callable[[str], None]) -> None:
        self._scan, self._fold_of, self._step = scan, fold_of, step
        #: What the first scan counted of each fold, and the sums of the other folds.
        self._first: dict[Place, Counts] = {}
        self._training: dict[Place, Counts] = {}
        self._condition = Condition()
        self._waiting: list[Request] = []
        self._busy = self._jobs = 0
        self._is_over = False
        self.scans = 0
        #: Held by a fit that needs much memory, and never while it waits for a pass.
        self.turn = Lock()

    def count_first(self, plan_of: Callable[[Schema], Plan]) -> None:
        """Count every fold while finding out what the columns are, if that is not known yet."""
        counter = BlockCounter(self._scan, plan_of)

        def fold(block: Block) -> dict[Place, Counts | None]:
            return {
                place: counter.fold(Block(block.piece, block.table.take(rows), block.numbers[rows]))
                for place, rows in rows_of_places(self._fold_of(block))
            }

        def add(left: dict[Place, Any], right: dict[Place, Any]) -> dict[Place, Any]:
            both = {key: counter.add(left[key], right[key]) for key in left.keys() & right.keys()}
            return {**left, **right, **both}

        counted = run_pass(self._scan, fold, add) or {}
        self._first = {
            place: finish(self._scan, counts, plan_of) for place, counts in counted.items()
        }
        self.scans += 1
        self._step("scan 1")

    def weigh(self, places: Sequence[Place]) -> dict[Place, FloatArray]:
        """Return the class weights of the rows that each fold trains on."""
        self._training = sum_training(self._first, places)
        return {place: counts.weight[:-1] for place, counts in self._training.items()}

    def rows_of(self, place: Place) -> Scan:
        """Return the rows that a fold trains on, as a scan whose passes are shared."""
        return self._scan.shared_by(self, place, max(self._jobs, 1))

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
        self._busy, self._jobs, self._is_over = len(workers), len(workers), False
        for worker in workers:
            worker.start()
        requests: list[Request] = []
        try:
            while True:
                with self._condition:
                    self._condition.wait_for(lambda: self._busy == 0)
                    requests, self._waiting = self._waiting, []
                if failed or not requests:
                    break
                self._serve(requests)
        finally:
            self._release(requests)
        if failed:
            raise failed[0]
        return results

    def count(self, scan: Scan, plan: Plan) -> Counts:
        """Wait until a pass has counted the rows of a scan that shares passes."""
        known = self._training.get(scan.place) if scan.change is None else None
        if known is not None and plan in known.plan:
            return known.restricted(plan)
        counts: Counts = self._wait(Request(scan, scan.place, plan))
        return counts

    def run(self, scan: Scan, fold: Callable[[Block], Any], add: Any) -> Any:
        """Wait until a pass has folded the rows of a scan that shares passes."""
        return self._wait(Request(scan, scan.place, None, fold, add))

    def _wait(self, request: Request) -> Any:
        with self._condition:
            if self._is_over:
                raise _StopError
            self._waiting.append(request)
            self._busy -= 1
            self._condition.notify_all()
            self._condition.wait_for(lambda: request.is_done)
        if isinstance(request.result, _StopError):
            raise request.result
        return request.result

    def _release(self, requests: Sequence[Request]) -> None:
        """Let fits that still wait end, because another one failed or all were interrupted."""
        with self._condition:
            self._is_over = True
            left = [one for one in (*requests, *self._waiting) if not one.is_done]
            for request in left:
                request.result, request.is_done = _StopError(), True
            self._busy += len(left)
            self._condition.notify_all()

    def _serve(self, requests: Sequence[Request]) -> None:
        """Answer all requests by one scan of the rows."""
        groups, single = _group([one for one in requests if one.plan is not None])
        single += [request for request in requests if request.plan is None]

        def fold(block: Block) -> dict[Any, Any]:
            folds = self._fold_of(block)
            found: dict[Any, Any] = {group: group.fold(block, folds) for group in groups}
            for request in single:
                rows = folds[:, request.place.repeat] != request.place.fold
                if rows.any():
                    table = request.scan.changed(block.table.take(rows))
                    part = Block(block.piece, table, block.numbers[rows])
                    found[request] = _fold_single(request, part)
            return found

        total = run_pass(self._scan, fold, _add)
        self.scans += 1
        for group in groups:
            group.answer(total[group])
        with self._condition:
            for request in requests:
                request.result = total[request] if request in single else request.result
                request.is_done = True
            self._busy += len(requests)
            self._condition.notify_all()
        self._step(f"scan {self.scans}")


class _StopError(Exception):
    """Ends a fit because another one failed or all were interrupted."""


def _fold_single(request: Request, part: Block) -> Any:
    if request.plan is not None:
        return memory.fold(part.table, request.plan)
    assert request.fold is not None
    return request.fold(part)


def _add(left: dict[Any, Any], right: dict[Any, Any]) -> dict[Any, Any]:
    """Add what two parts of the rows gave, request by request."""
    both = dict(left)
    for key, part in right.items():
        if key not in both:
            both[key] = part
        elif isinstance(part, dict):
            both[key] = _add(both[key], part)
        else:
            add = getattr(key, "add", None)
            both[key] = both[key] + part if add is None else add(both[key], part)
    return both


def _group(requests: Sequence[Request]) -> tuple[list[_Group], list[Request]]:
    """Put requests together that counting each row once can serve; return the others, too."""
    groups: list[_Group] = []
    single: list[Request] = []
    for request in requests:
        is_cut = request.scan.cuts is not None
        change = request.scan.before_cuts if is_cut else request.scan.change
        group = next(
            (g for g in groups if g.change == change and (g.fine is not None) == is_cut), None
        )
        if group is None:
            group = _Group(change, [], {} if is_cut else None)
            groups.append(group)
        group.requests.append(request)
    for group in list(groups):
        if group.fine is None:
            continue
        group.fine = _unite([request.scan.cuts or {} for request in group.requests])
        if _too_fine(group):
            groups.remove(group)
            single += group.requests
    return groups, single


def _unite(cuts: Sequence[Mapping[str, FloatArray]]) -> dict[str, FloatArray]:
    names = dict.fromkeys(name for points in cuts for name in points)
    return {
        name: np.unique(np.concatenate([points[name] for points in cuts if name in points]))
        for name in names
    }


def _too_fine(group: _Group) -> bool:
    """Whether the tables of all cut points together would be too large to be worth it."""
    schema = group.requests[0].scan.schema
    assert schema.target is not None
    assert group.fine is not None
    widths = [
        len(group.fine[column.name]) + 1 if column.name in group.fine else column.width
        for column in schema.nominal
    ]
    pairs = any(len(names) > 1 for names in group.plan.tables)
    most = MOST_PAIR_CELLS // 2
    return pairs and width_limit(widths, schema.target.width, most) is not None
