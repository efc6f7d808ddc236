"""Train the models of all folds and sizes side by side on rows outside memory.

What is counted of rows that are the same for all models is counted once for each fold and each
slice of a curve. The training counts of a fold are the sum of the other folds, those of a size the
sum of the slices so far.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from countwise._typing import FloatArray
from countwise.counts.count_rows import count
from countwise.counts.counts import Counts
from countwise.counts.engines.stream import PlanOf
from countwise.counts.plan import Plan
from countwise.counts.side_by_side import Request, SideBySide
from countwise.discretize.cut_points import collapse_cuts, cut_table
from countwise.discretize.rare_levels import MOST_PAIR_CELLS, width_limit
from countwise.errors import TableError
from countwise.evaluation.folds import Part, sum_training
from countwise.evaluation.scan_folds import Dealing, Dealt, Place
from countwise.progress import Progress
from countwise.tables.scan import Block, Scan
from countwise.tables.scan_pass import add_by_key
from countwise.tables.scan_sample import hash_seed
from countwise.tables.sources.query_source import QuerySource
from countwise.tables.table import Table

Change = Callable[[Table], Table] | None


@dataclass(eq=False)
class _Group:
    """Counting requests of several places that are served by counting each row once."""

    change: Change
    requests: list[Request] = field(default_factory=list)
    #: The cut points of all places together, where each place has its own.
    fine: Mapping[str, FloatArray] | None = None
    add: Callable[[Any, Any], Any] = operator.add
    engine: str | None = None

    @cached_property
    def plan(self) -> Plan:
        """What all requests need together."""
        plan = Plan()
        for request in self.requests:
            assert request.plan is not None
            plan |= request.plan
        return plan

    def parts(
        self, passes: SideBySide, block: Block, dealt: Dealt
    ) -> Iterator[tuple[Any, Block, Plan]]:
        """Yield the parts of a block that are counted, by a key, and what is counted of them.

        That is all of it on the fine cuts, and what a place leaves out on its own cuts; the latter
        is taken off the total. The key is then the number of the request.
        """
        if self.change is not None:
            block = replace(block, table=self.change(block.table))
        if self.fine is None:
            for place, rows in dealt.parts(self._places):
                yield place, block.take(rows), self.plan
            return
        yield "all", replace(block, table=cut_table(block.table, self.fine)), self.plan
        for number, request in enumerate(self.requests):
            assert request.scan.cuts is not None
            assert request.plan is not None
            left_out = block.take(~dealt.trains(request.place))
            cut = replace(left_out, table=cut_table(left_out.table, request.scan.cuts))
            yield number, cut, request.plan

    @property
    def _places(self) -> list[Place]:
        return [request.place for request in self.requests]

    def answer(self, counted: dict[Any, Counts]) -> None:
        """Give every request the counts of the rows that its place trains on."""
        training = sum_others(counted, self._places) if self.fine is None else {}
        for number, request in enumerate(self.requests):
            assert request.plan is not None
            if self.fine is None:
                request.result = training[request.place].restricted(request.plan)
                continue
            scan = request.scan
            assert scan.cuts is not None
            total = collapse_cuts(counted["all"], self.fine, scan.cuts, scan.schema)
            total = total.restricted(request.plan)
            request.result = total - counted.pop(number) if number in counted else total


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
            asked = [p for p in sorted(places) if (p.repeat, p.slice) == (repeat, size)]
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
        self.dealing = dealing
        #: Whether the rows of a fold are selected and grouped where they are.
        self.selects = (
            dealing.is_plain
            and isinstance(scan.source, QuerySource)
            and scan.source.hashes_rows
            and scan.engine != "stream"
        )

    def count_training(self, plan_of: PlanOf) -> dict[Place, Counts]:
        """Count every fold and slice once; return what each place trains on."""
        dealing = self.dealing
        places = dealing.places
        if self.selects:
            counted = self._count_selected(plan_of)
        else:
            counted = self.count_first(
                plan_of,
                lambda block: (
                    (p, block.take(rows)) for p, rows in dealing.deal(block).parts(places)
                ),
            )
        self.first = sum_others(counted, places) if counted else {}
        return self.first

    def score(self, place: Place, fold: Callable[[Block], Any]) -> Any:
        """Wait until a pass has folded the rows that a place is tested on; add them up by key."""
        return self.wait(Request(self.scan, place, None, fold, add_by_key, tests=True))

    def _count_selected(self, plan_of: PlanOf) -> dict[Place, Counts]:
        """Count the rows of each fold, of all columns, where they are."""
        source = self.scan.source
        assert isinstance(source, QuerySource)
        rows = count(self.scan, Plan(), progress=self._progress).rows
        counted = {
            place: count(self.scan.only(self.select(place)), plan_of, progress=self._progress)
            for place in self.dealing.tested_folds
        }
        if sum(counts.rows for counts in counted.values()) != rows * self.dealing.repeats:
            source.refuse_missing_keys()
            raise TableError(
                f"scan: the rows of {source.what} changed while they were counted.",
                hint="Evaluate a copy",
            )
        return counted

    def select(self, place: Place, others: bool = False) -> QuerySource:
        """Return the rows of a fold, or those of all other folds, by a source of their own."""
        source, dealing = self.scan.source, self.dealing
        assert isinstance(source, QuerySource)
        (piece, *_) = source.pieces()
        seed = hash_seed(dealing.seed + place.repeat, piece)
        return source.rows_of_fold(seed, place.fold, dealing.folds, others)

    def rows_of(self, place: Any) -> Scan:
        """Return the rows of a place, as a scan whose passes are shared."""
        rows = super().rows_of(place)
        rows.selected = self.select(place, others=True) if self.selects else None
        return rows

    def look(self, block: Block) -> Dealt:
        """Return the folds and slices of the rows of a block."""
        return self.dealing.deal(block)

    def rows_for(self, request: Request, block: Block, seen: Dealt) -> Block:
        """Return the rows of a block that the model of a place is tested on, or trained on."""
        if request.tests:
            return block.take(self.dealing.tests(block, seen, request.place))
        return block.take(np.flatnonzero(seen.trains(request.place)))

    def serve(self, requests: Sequence[Request]) -> None:
        """Answer all requests by one scan of the rows."""
        groups, single = self._group([one for one in requests if one.plan is not None])
        self.do_all([*groups, *single, *(one for one in requests if one.plan is None)])

    def _group(self, requests: Sequence[Request]) -> tuple[list[_Group], list[Request]]:
        """Put requests together that counting each row once can serve; return the others, too."""
        groups: list[_Group] = []
        single: list[Request] = []
        for request in requests:
            is_cut = request.scan.cuts is not None
            if self.is_tight:
                single.append(request)  # sums of parts would take more memory than its own rows
                continue
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
