"""Train the members of a bagging ensemble side by side on rows outside memory.

How often a member draws a row is a Poisson number from a hash of where the row is, the member and
the seed. A row that is drawn three times counts as three rows of its weight.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.counts.plan import Plan
from countwise.counts.resampling import draws_by_hash
from countwise.counts.side_by_side import Request, SideBySide
from countwise.errors import TableError
from countwise.models.bayes.counted import CountedModel
from countwise.models.ensembles.members import set_seed
from countwise.tables.scan import Block, Scan
from countwise.tables.scan_sample import hash_rows

#: The place of the model of all rows; members are numbered from 0.
ALL = -1


class MemberPasses(SideBySide):
    """Serves the passes of the members, each over the rows it draws."""

    keeps_counts = "those of all members"

    def __init__(self, scan: Scan, seed: int, members: int, fraction: float, again: bool) -> None:
        super().__init__(scan, scan.progress, expected=2)
        self._seed, self._members = seed, members
        self._fraction, self._again = fraction, again

    def draw(self, block: Block, member: int) -> NDArray[np.intp]:
        """Return how often a member draws each row of a block."""
        if member == ALL:
            return np.ones(len(block.numbers), dtype=np.intp)
        hashes = hash_rows(block, f"{self._seed} member {member}")
        return draws_by_hash(hashes, self._fraction, self._again)

    def _weigh(self, block: Block, member: int) -> Block:
        """Return the rows that a member draws, each with its weight times its draws."""
        if member == ALL:
            return block
        times = self.draw(block, member)
        rows = np.flatnonzero(times)
        part, weight = block.take(rows), times[rows].astype(np.float64)
        return replace(part, weight=weight if part.weight is None else weight * part.weight)

    def begin(self, base: Any) -> FloatArray:
        """Count what members learn from in a first scan; return the weights of the classes."""
        is_counted = isinstance(base, CountedModel)
        places = [*range(self._members), ALL] if is_counted else [ALL]

        def parts_of(block: Block) -> Iterator[tuple[int, Block]]:
            for place in places:
                yield place, self._weigh(block, place)

        plan_of = base._first_plan if is_counted else lambda schema: Plan()
        self.first = self.count_first(plan_of, parts_of)
        if any(place not in self.first or not self.first[place].weight.any() for place in places):
            raise TableError(
                f"Bagging: every member must draw a row; {len(self.scan)} rows are too few.",
                hint="Read the rows with `read`",
            )
        return self.first[ALL].weight[:-1]

    def fit(self, base: Any, whole: Any | None) -> tuple[list[Any], Any]:
        """Train a model for every member, and another one on all rows, if there is one."""
        jobs = {
            place: partial(set_seed(base, self._seed + place).fit, self.rows_of(place))
            for place in range(self._members)
        }
        if whole is not None:
            jobs[ALL] = partial(whole.fit, self.rows_of(ALL))
        models = self.fit_all(jobs)
        return [models[place] for place in range(self._members)], models.get(ALL)

    def rows_for(self, request: Request, block: Block, seen: None) -> Block:
        """Return the rows that a member draws: once with their weights to be counted, or repeated.

        What folds rows sees a row as often as the member draws it.
        """
        if request.plan is not None:
            return self._weigh(block, request.place)
        times = self.draw(block, request.place)
        return block.take(np.repeat(np.arange(len(times)), times))
