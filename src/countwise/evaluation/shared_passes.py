"""Train the models of all folds and sizes side by side on rows outside memory.

What is counted of rows that are the same for all models is counted once for each fold and each
slice of a curve. The training counts of a fold are the sum of the other folds, those of a size the
sum of the slices so far.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from countwise._typing import FloatArray
from countwise.counts.counts import Counts
from countwise.counts.engines import memory
from countwise.counts.engines.stream import PlanOf
from countwise.counts.plan import Plan
from countwise.counts.side_by_side import Request, SideBySide
from countwise.discretize.cut_points import collapse_cuts, cut_table
from countwise.discretize.rare_levels import MOST_PAIR_CELLS, width_limit
from countwise.evaluation.folds import Part, sum_training
from countwise.evaluation.scan_folds import Dealing, Dealt, Place
from countwise.progress import Progress
from countwise.tables.scan import Block, Scan
from countwise.tables.scan_pass import add_by_key
from countwise.tables.table import Table

Change = Callable[[Table], Table] | None


@dataclass(eq=False)
class _Group:
    """Counting requests of several places that are served by counting each row once."""

    change: Change
    requests: list[Request] = field(default_factory=list)
    #: The cut points of all places together, where each place has its own.
    fine: Mapping[str, FloatArray] | None = None

    @cached_property
    def plan(self) -> Plan:
        """What all requests need together."""
        plan = Plan()
        for request in self.requests:
            assert request.plan is not None
            plan |= request.plan
        return plan

    def fold(self, block: Block, dealt: Dealt) -> dict[Any, Counts]:
        """Count a block: all of it on the fine cuts, and what a place leaves out on its own.

        The counts of a request have its number.
        """
        if self.change is not None:
            block = replace(block, table=self.change(block.table))
        if self.fine is None:
            return {place: _count(block.take(rows), self.plan) for place, rows in dealt.parts()}
        # What a place leaves out is counted by its own cuts, and taken off the total.
        found: dict[Any, Counts] = {"all": _count(block, self.plan, self.fine)}
        for number, request in enumerate(self.requests):
            assert request.scan.cuts is not None
            assert request.plan is not None
            left_out = block.take(~dealt.trains(request.place))
            found[number] = _count(left_out, request.plan, request.scan.cuts)
        return found

    def answer(self, counted: dict[Any, Counts]) -> None:
        """Give every request the counts of the rows that its place trains on."""
        places = [request.place for request in self.requests]
        training = sum_others(counted, places) if self.fine is None else {}
        for number, request in enumerate(self.requests):
            assert request.plan is not None
            if self.fine is None:
                request.result = training[request.place].restricted(request.plan)
                continue
            assert request.scan.cuts is not None
            total = collapse_cuts(counted["all"], self.fine, request.scan.cuts)
            request.result = total.restricted(request.plan) - counted[number]


def _count(block: Block, plan: Plan, cuts: Mapping[str, FloatArray] | None = None) -> Counts:
    """Count a block of rows, its numbers cut at these points."""
    table = block.table if cuts is None else cut_table(block.table, cuts)
    return memory.fold(table, plan, block.weight)


def sum_others(counted: Mapping[Place, Counts], places: Sequence[Place]) -> dict[Place, Counts]:
    """Return for each place the sum of the other folds of its repeat, up to its slice."""
    training: dict[Place, Counts] = {}
    nothing = next(iter(counted.values()))
    nothing = nothing - nothing
    folds = 1 + max(place.fold for place in [*counted, *places])
    for repeat in {place.repeat for place in places}:
        of_fold: dict[int, Counts] = {}
        for size in range(1 + max(place.slice for place in places)):
            fresh = {p.fold: c for p, c in counted.items() if (p.repeat, p.slice) == (repeat, size)}
            of_fold = add_by_key(of_fold, fresh)
            asked = [p for p in places if (p.repeat, p.slice) == (repeat, size)]
            if asked:
                parts = [Part(place.fold, place.fold + 1, place.fold) for place in asked]
                sums = sum_training(of_fold, parts, folds)
                training |= {
                    place: nothing if found is None else found
                    for place, found in zip(asked, sums, strict=True)
                }
    return training


class SharedPasses(SideBySide):
    """Serves the passes of the models of all folds and sizes."""

    def __init__(self, scan: Scan, dealing: Dealing, progress: Progress | None) -> None:
        super().__init__(scan, progress, expected=4)
        self._dealing = dealing

    def count_training(self, plan_of: PlanOf) -> dict[Place, Counts]:
        """Count every fold and slice once; return what each place trains on."""
        dealing = self._dealing
        counted = self.count_first(
            plan_of,
            lambda block: ((p, block.take(rows)) for p, rows in dealing.deal(block).parts()),
        )
        self.first = sum_others(counted, self._dealing.places) if counted else {}
        return self.first

    def serve(self, requests: Sequence[Request]) -> None:
        """Answer all requests by one scan of the rows."""
        groups, single = self._group([one for one in requests if one.plan is not None])
        single += [request for request in requests if request.plan is None]

        # The scan may run elsewhere, so results are found by number, not by who waits for them.
        adders: dict[tuple[str, int], Any] = {
            **{("group", number): add_by_key for number in range(len(groups))},
            **{("single", number): request.add for number, request in enumerate(single)},
        }
        dealing = self._dealing

        def fold(block: Block) -> dict[tuple[str, int], Any]:
            dealt = dealing.deal(block)
            found: dict[tuple[str, int], Any] = {
                ("group", number): group.fold(block, dealt) for number, group in enumerate(groups)
            }
            for number, request in enumerate(single):
                rows = np.flatnonzero(dealt.trains(request.place))
                if len(rows):
                    part = request.scan.changed(block.take(rows))
                    found["single", number] = _fold_single(request, part)
            return found

        def add(left: Mapping[Any, Any], right: Mapping[Any, Any]) -> dict[Any, Any]:
            return add_by_key(left, right, adders.__getitem__)

        total = self.run_scan(fold, add)
        for number, group in enumerate(groups):
            group.answer(total["group", number])
        for number, request in enumerate(single):
            request.result = total["single", number]

    def _group(self, requests: Sequence[Request]) -> tuple[list[_Group], list[Request]]:
        """Put requests together that counting each row once can serve; return the others, too."""
        groups: list[_Group] = []
        single: list[Request] = []
        for request in requests:
            is_cut = request.scan.cuts is not None
            if is_cut and 2 * self.first[request.place].rows < len(self.scan):
                single.append(request)  # it leaves out more rows than it trains on
                continue
            change = request.scan.before_cuts if is_cut else request.scan.change
            group = next(
                (g for g in groups if g.change == change and (g.fine is not None) == is_cut), None
            )
            if group is None:
                group = _Group(change, [], {} if is_cut else None)
                groups.append(group)
            group.requests.append(request)
        for group in list(groups):
            if group.fine is not None:
                group.fine = _unite([request.scan.cuts or {} for request in group.requests])
            if len(group.requests) == 1 or _too_fine(group):
                groups.remove(group)
                single += group.requests
        return groups, single


def _fold_single(request: Request, part: Block) -> Any:
    if request.plan is not None:
        return _count(part, request.plan)
    assert request.fold is not None
    return request.fold(part)


def _unite(cuts: Sequence[Mapping[str, FloatArray]]) -> dict[str, FloatArray]:
    names = dict.fromkeys(name for points in cuts for name in points)
    return {
        name: np.unique(np.concatenate([points[name] for points in cuts if name in points]))
        for name in names
    }


def _too_fine(group: _Group) -> bool:
    """Whether the tables of all cut points together would be too large to be worth it."""
    if group.fine is None:
        return False
    schema = group.requests[0].scan.schema
    assert schema.target is not None
    widths = [
        len(group.fine[column.name]) + 1 if column.name in group.fine else column.width
        for column in schema.nominal
    ]
    pairs = any(len(names) > 1 for names in group.plan.tables)
    most = MOST_PAIR_CELLS // 2
    return pairs and width_limit(widths, schema.target.width, most) is not None
