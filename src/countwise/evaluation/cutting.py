"""Count once where numbers are cut anew for every test part.

The cuts of each part are learned from fine counts of its training rows, merged from those of the
other parts. Pairs of columns are then counted once, on the cut points of all parts together: every
part's own intervals are unions of those, so its counts are sums of cells, from which the tested
rows are taken away. For whole weights that is exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
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
from countwise.evaluation.passes import Tick, asked, side_by_side, without_each
from countwise.tables.table import Table

__all__ = ["TooFineError", "cut_said"]

Doubles = NDArray[np.float64]
Points = dict[str, Doubles]
#: How numbers are cut: the method and the number of intervals.
Way = tuple[str, int]


class TooFineError(Exception):
    """Counting once does not pay or is not exact, for the reason given; refit instead."""


@dataclass(frozen=True)
class _Cutting:
    """The rows of all parts counted on all cut points, and the cut points of each part."""

    total: Counts
    fine: Points
    points: dict[Way, list[Points]]
    blocks: Sequence[Table]
    weights: Sequence[Doubles | None]

    def training(self, way: Way, part: int) -> Counts:
        """The counts of the rows outside a part, in the intervals learned from them."""
        own = self.points[way][part]
        block = cut_table(self.blocks[part], own)
        tested = count(block, Plan.pairs(block.schema), weight=self.weights[part])
        return collapse_cuts(self.total, self.fine, own) - tested


def cut_said(
    table: Table, deal: Deal, learners: Sequence[Learner], weight: Doubles | None, tick: Tick
) -> dict[str, list[Said]]:
    """Train and ask models that count pairs of cut columns, for each part of a deal.

    Raises `TooFineError` if they had better be refitted.
    """
    started = perf_counter()
    if weight is not None and np.any(weight != np.floor(weight)):
        raise TooFineError("weights are not whole numbers, of which sums are exact")
    ways: dict[Way, list[Learner]] = {}
    for learner in learners:
        ways.setdefault((learner.model.cuts, int(learner.model.bins)), []).append(learner)
    cutting = _cut(table, deal, tuple(ways), weight)
    shared = (perf_counter() - started) / (deal.parts * len(learners))
    said: dict[str, list[Said]] = {learner.name: [] for learner in learners}
    jobs = [(way, part) for way in ways for part in range(deal.parts)]

    def answered(job: tuple[Way, int]) -> list[Said]:
        way, part = job
        begun = perf_counter()
        training = cutting.training(way, part)
        own = shared + (perf_counter() - begun) / len(ways[way])
        points, block = cutting.points[way][part], cutting.blocks[part]
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

    with side_by_side(len(table) // max(deal.parts, 1)) as mapped:
        for (way, part), answers in zip(jobs, mapped(answered, jobs), strict=True):
            for learner, answer in zip(ways[way], answers, strict=True):
                said[learner.name].append(answer)
                tick(f"{learner.name}, part {part + 1} of {deal.parts}")
    return said


def _cut(table: Table, deal: Deal, ways: Sequence[Way], weight: Doubles | None) -> _Cutting:
    numeric = tuple(column.name for column in table.schema.numeric)
    order = deal.order
    pieces = [order[a:b] for a, b in pairwise(deal.edges.tolist()) if b > a]
    blocks = [table.take(piece) for piece in pieces]
    weights = [None if weight is None else weight[piece] for piece in pieces]
    grids = Plan(grids=numeric)
    with side_by_side(len(order) // len(pieces)) as mapped:
        counts = list(mapped(lambda own: count(own[0], grids, weight=own[1]),
                             list(zip(blocks, weights, strict=True))))  # fmt: skip
        trained = without_each(counts, deal.parts)
        points = {
            way: list(
                mapped(
                    lambda own, way=way: {n: cut_points(own.grids[n], *way) for n in numeric},
                    trained,
                )
            )
            for way in ways
        }
    every = [own for parts in points.values() for own in parts]
    fine = {n: np.unique(np.concatenate([own[n] for own in every])) for n in numeric}
    _refuse_large(table, [*every, fine])
    if len(order) < len(table):
        table, weight = table.take(order), None if weight is None else weight[order]
    whole = cut_table(table, fine)
    total = count(whole, Plan.pairs(whole.schema), weight=weight)
    return _Cutting(total, fine, points, blocks, weights)


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
