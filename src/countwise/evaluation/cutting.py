"""Count once where numbers are cut anew for every test part.

The cuts of each part are learned from fine counts of its training rows, merged from those of the
other parts. Pairs of columns are then counted once, on the cut points of all parts together: every
part's own intervals are unions of those, so its counts are sums of cells, from which the tested
rows are taken away. For whole weights that is exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from countwise.counts import folding
from countwise.counts.count import count
from countwise.counts.counts import Counts
from countwise.counts.cuts import collapse_cuts, cut_points, cut_table
from countwise.counts.folding import width_limit
from countwise.counts.plan import Plan
from countwise.evaluation.entrants import Learner
from countwise.evaluation.folds import Deal
from countwise.evaluation.outcomes import Said
from countwise.evaluation.passes import Pass, Tick, asked, side_by_side
from countwise.tables.table import Table

Doubles = NDArray[np.float64]
Points = dict[str, Doubles]
#: How numbers are cut: the method and the number of intervals.
Way = tuple[str, int]


class TooFineError(Exception):
    """Counting once does not pay or is not exact, for the reason given; refit instead."""


@dataclass(frozen=True)
class _Cutting:
    """The rows of all parts counted on all cut points, and the cut points of each part."""

    made: Pass
    total: Counts
    fine: Points
    points: dict[Way, list[Points]]

    def training(self, way: Way, part: int) -> Counts:
        """The counts of the rows outside a part, in the intervals learned from them."""
        own = self.points[way][part]
        block = cut_table(self.made.blocks[part], own)
        tested = count(block, Plan.pairs(block.schema), weight=self.made.weights[part])
        return collapse_cuts(self.total, self.fine, own) - tested


def cut_said(
    table: Table,
    deal: Deal,
    made: Pass,
    learners: Sequence[Learner],
    weight: Doubles | None,
    tick: Tick,
) -> dict[str, list[Said]]:
    """Train and ask models that count pairs of cut columns, for each part of a deal.

    `made` holds the fine counts of the numeric columns. Raises `TooFineError` if the models had
    better be refitted.
    """
    started = perf_counter()
    if weight is not None and np.any(weight != np.floor(weight)):
        raise TooFineError("weights are not whole numbers, of which sums are exact")
    ways: dict[Way, list[Learner]] = {}
    for learner in learners:
        ways.setdefault((learner.model.cuts, int(learner.model.bins)), []).append(learner)
    cutting = _cut(table, deal, made, tuple(ways), weight)
    shared = made.seconds + (perf_counter() - started) / (deal.parts * len(learners))
    jobs = [(way, part) for way in ways for part in range(deal.parts)]

    def answered(job: tuple[Way, int]) -> list[Said]:
        way, part = job
        begun = perf_counter()
        training = cutting.training(way, part)
        own = shared + (perf_counter() - begun) / len(ways[way])
        points, block = cutting.points[way][part], made.blocks[part]
        return [
            asked(
                lambda model: model.fit_cut(training, points, table),
                learner.model,
                training,
                block,
                own,
            )
            for learner in ways[way]
        ]

    said: dict[str, list[Said]] = {learner.name: [] for learner in learners}
    with side_by_side(made.rows) as mapped:
        for (way, part), answers in zip(jobs, mapped(answered, jobs), strict=True):
            for learner, answer in zip(ways[way], answers, strict=True):
                said[learner.name].append(answer)
                tick(f"{learner.name}, part {part + 1} of {deal.parts}")
    return said


def _cut(
    table: Table, deal: Deal, made: Pass, ways: Sequence[Way], weight: Doubles | None
) -> _Cutting:
    numeric = tuple(column.name for column in table.schema.numeric)

    def cut(job: tuple[Way, int]) -> Points:
        way, part = job
        grids = made.trained[part].grids
        return {name: cut_points(grids[name], *way) for name in numeric}

    jobs = [(way, part) for way in ways for part in range(deal.parts)]
    with side_by_side(made.rows) as mapped:
        every = list(mapped(cut, jobs))
    fine = {n: np.unique(np.concatenate([own[n] for own in every])) for n in numeric}
    _refuse_large(table, [*every, fine])
    order = deal.order
    if len(order) < len(table):
        table, weight = table.take(order), None if weight is None else weight[order]
    whole = cut_table(table, fine)
    total = count(whole, Plan.pairs(whole.schema), weight=weight)
    points = {way: every[at * deal.parts : (at + 1) * deal.parts] for at, way in enumerate(ways)}
    return _Cutting(made, total, fine, points)


def _refuse_large(table: Table, cuts: Sequence[Points]) -> None:
    """Refuse cuts whose tables would not fit, of one part or of all together."""
    nominal = [column.width for column in table.schema.nominal]
    classes = table.target_column.width
    most = folding.MOST_PAIR_CELLS
    for place, own in enumerate(cuts):
        last = place == len(cuts) - 1
        widths = nominal + [len(points) + 1 for points in own.values()]
        if width_limit(widths, classes, most // 2 if last else most) is not None:
            raise TooFineError("the cut points of all parts together make tables too large")
