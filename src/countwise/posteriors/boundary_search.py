"""Find the boundaries that earn most: on a sample first, then on all rows near them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.counts.measures import partition_gain
from countwise.posteriors.cell_grid import Axis, CellGrid
from countwise.posteriors.cut_search import CutSearch
from countwise.posteriors.level_merit import by_merit
from countwise.posteriors.perturbing import perturb
from countwise.posteriors.refining import Nearby, count_parts
from countwise.posteriors.row_blocks import NONE, Part
from countwise.posteriors.search_clock import SearchClock
from countwise.posteriors.sweeping import GAIN, Aim
from countwise.tables.notes import Note

Doubles = NDArray[np.float64]
Cuts = list[list[int]]

#: Rows of a sample: enough for twenty rows a cell of a usual budget.
SAMPLE = 200_000
_MOST_SAMPLE = 2_000_000
#: How many sampled rows on either side of a boundary are looked at again, of all rows.
_BAND = 128
_WIDENINGS = 4
_PASSES = 100
#: So much more does the checking part weigh where it judges alone.
JUDGE = 1000.0


def sampled(parts: Sequence[Part], most: int, rng: np.random.Generator) -> tuple[Part, bool]:
    """Up to so many rows of all parts, copied into one, and whether these are all there are."""
    total = sum(len(part) for part in parts)
    taken = []
    for part in parts:
        rows = np.arange(len(part))
        if total > most:
            wanted = max(int(most * len(part) / total), 1)
            rows = np.unique(rng.integers(0, len(part), wanted))
        own = part.take(rows)
        checking = np.broadcast_to(np.asarray(own.checking, np.uint8), len(rows))
        taken.append(replace(own, checking=np.ascontiguousarray(checking)))
    weighted = any(part.weight is not None for part in taken)
    whole = Part(
        tuple(
            np.concatenate([part.columns[at] for part in taken])
            for at in range(len(taken[0].columns))
        ),
        np.concatenate([part.target for part in taken]),
        np.concatenate([_weight(part) for part in taken]) if weighted else None,
        np.concatenate([np.asarray(part.checking, np.uint8) for part in taken]),
    )
    return whole, total <= most


def _weight(part: Part) -> Doubles:
    return np.ones(len(part)) if part.weight is None else part.weight


class BoundarySearch:
    """Boundaries of the numeric axes of a grid, by a method, within a time."""

    def __init__(
        self,
        parts: Sequence[Part],
        axes: Sequence[Axis],
        classes: int,
        aim: Aim,
        totals: tuple[float, float],
        shares: Doubles,
        clock: SearchClock,
        rng: np.random.Generator,
    ) -> None:
        self.parts, self.axes, self.classes = parts, tuple(axes), classes
        self.aim, self.totals, self.clock, self.rng = aim, totals, clock, rng
        self.moving = [at for at, axis in enumerate(axes) if axis.numeric and axis.width > 1]
        cells = CellGrid(self.axes).cells
        most = int(min(max(SAMPLE, 20 * cells), _MOST_SAMPLE))
        self.sample, self.whole = sampled(parts, most, rng)
        still = [at for at, axis in enumerate(axes) if not axis.numeric and axis.size > 1]
        self.search = CutSearch(
            [self.sample.columns[at] for at in self.moving],
            [(self._still(at), self.axes[at].size) for at in still],
            self.sample.label(slice(None)),
            NONE if self.sample.weight is None else self.sample.weight,
            classes,
        )
        self.squares = Aim.squares(shares)
        self._free = False
        self.start = [
            line.quantiles(self.axes[at].width)
            for at, line in zip(self.moving, self.search.lines, strict=True)
        ]
        self.search.put_all(self.start)

    def _still(self, at: int) -> NDArray[np.int64]:
        return np.maximum(self.axes[at].levels(self.sample.columns[at]), 0)

    def cut(self, boundaries: Sequence[Doubles]) -> tuple[Axis, ...]:
        """The axes cut at these boundaries, one array a moving axis."""
        axes = list(self.axes)
        for at, own in zip(self.moving, boundaries, strict=True):
            axes[at] = replace(axes[at], edges=own, width=len(own) + 1)
        return tuple(axes)

    def run(self, method: str | None, budget: float | None = None) -> tuple[Axis, ...]:
        """Search, and return the axes; what was found counts also where time runs out.

        With a `budget` the levels are free: as many a column as earn most within it.
        """
        self._tell("start")
        self._best = self.search.kept()
        axes: tuple[Axis, ...] | None = None
        if method is not None and self.moving:
            with self.clock.until_enough():
                if method == "sweep":
                    self._sweep(budget)
                else:
                    perturb(
                        self.search, self._judging(), self._sample_totals(), self.clock, self.rng
                    )
                    self._best = self.search.kept()
                axes = self._refined(method)
        if axes is None:
            self.search.put_all(self._stopped_at(budget))
            axes = self.cut(self.search.boundaries())
        return axes

    def _stopped_at(self, budget: float | None) -> Cuts:
        """The better of the last finished stage and of where the search was ended."""
        if self.clock.stopped is None or (budget is not None and self.search.cells() > budget):
            return self._best
        return self._chosen([self._best, self.search.kept()])

    def notes(self) -> tuple[Note, ...]:
        """What must be said about rows that were not looked at."""
        if CellGrid(self.axes).direct and self.aim.kind == GAIN:
            return ()
        return (
            Note(
                "P11",
                None,
                f"The boundaries were found on {len(self.sample):,} rows drawn from all of them; "
                "the cells are counted on all rows.",
            ),
        )

    def _judging(self) -> Aim:
        return self.aim.leaning(JUDGE if self.totals[1] > 0 else 0.0)

    def _tell(self, stage: str, **facts: Any) -> None:
        if self.aim.kind == GAIN:
            value, check = self.search.worth(self.aim)
            facts |= _gains(value, check, self._sample_totals())
        self.clock.note(stage, cells=self.search.cells(), levels=self.search.levels(), **facts)

    def _sample_totals(self) -> tuple[float, float]:
        checking = np.asarray(self.sample.checking, bool)
        weight = _weight(self.sample)
        return float(weight[~checking].sum()), float(weight[checking].sum())

    def _sweep(self, budget: float | None) -> None:
        """Tell the classes apart first; then earn the most, the checking rows being the judge."""
        found: list[Cuts] = []
        self._passes(self.squares, "squares")
        found.append(self.search.kept())
        self._best = found[-1]
        if self.aim.kind == GAIN:
            self._passes(self._judging(), "gain")
            found.append(self.search.kept())
        else:
            self._passes(self.aim, "information")
            found = [self.search.kept()]
        if budget is not None:
            self.search.put_all(found[0])
            for own in by_merit(self.search, self.squares, self._judging(), budget, self.clock):
                found.append(own)
        self._free = budget is not None
        self._best = self._chosen(found)

    def _passes(self, aim: Aim, stage: str) -> None:
        """Visit columns in turn until none of them moves any more."""
        quiet, columns = 0, len(self.moving)
        for visit in range(_PASSES * columns):
            at = visit % columns
            moves = self.search.moves
            quiet = 0 if self.search.visit(at, aim) else quiet + 1
            if at == columns - 1 or quiet >= columns:
                name = self.axes[self.moving[at]].name
                self._tell(stage, column=name, moves=self.search.moves - moves)
            if quiet >= columns:
                break
            self.clock.check()

    def _chosen(self, found: Sequence[Cuts]) -> Cuts:
        """The cuts that earn most on the checking rows, of all rows where there are more."""
        distinct = [own for at, own in enumerate(found) if own not in found[:at]]
        if len(distinct) == 1:
            return distinct[0]
        return max(distinct, key=self._earned)

    def _earned(self, cuts: Cuts) -> tuple[float, float]:
        self.search.put_all(cuts)
        grid = CellGrid(self.cut(self.search.boundaries()))
        if self.whole or not grid.direct or self.aim.kind != GAIN:
            value, check = self.search.worth(self.aim)
        else:
            value, check = expected_gain_of(count_parts(grid, self.parts, self.classes), self.aim)
        if self.totals[1] > 0:
            return check, value
        # Rows that judge themselves would always vote for more levels.
        return (self.search.worth(self.squares)[0] if self._free else value), value

    def _refined(self, method: str) -> tuple[Axis, ...] | None:
        """Let all rows say where the boundaries are; they were found on a sample."""
        self.search.put_all(self._best)
        axes = self.cut(self.search.boundaries())
        if self.whole or self.aim.kind != GAIN or method != "sweep" or not CellGrid(axes).direct:
            return axes
        aim = self.aim.leaning(1.0 if self.totals[1] > 0 else 0.0)
        width = _BAND
        for _ in range(_WIDENINGS):
            nearby = Nearby(CellGrid(axes), self.parts, self.classes, self._bands(axes, width))
            for _ in range(_PASSES):
                moved = nearby.improve(aim)
                axes = nearby.grid.axes
                if not moved:
                    break
            value, check = expected_gain_of(nearby.table, self.aim)
            self.clock.note(
                "all rows",
                moves=nearby.moves,
                near=nearby.near,
                **_gains(value, check, self.totals),
            )
            if not nearby.at_the_edge():
                break
            width *= 4
        return axes

    def _bands(self, axes: Sequence[Axis], width: int) -> dict[int, Doubles]:
        """Around every boundary as many sampled rows as `width`, halfway to the next at most."""
        bands = {}
        for at, line in zip(self.moving, self.search.lines, strict=True):
            edges = axes[at].edges
            assert edges is not None
            places = [line.place(float(edge)) for edge in edges]
            if not places:
                continue
            ends = []
            for one, place in enumerate(places):
                before = places[one - 1] if one else -place
                after = places[one + 1] if one + 1 < len(places) else 2 * len(line) - place
                low = max(place - width, (before + place) // 2, 0)
                high = min(place + width, (place + after) // 2, len(line) - 1)
                first = -np.inf if low == 0 else line.values[low]
                ends += [first, max(line.values[high], float(edges[one]), first)]
            bands[at] = np.maximum.accumulate(np.asarray(ends, np.float64))
        return bands


def expected_gain_of(table: Doubles, aim: Aim) -> tuple[float, float]:
    """What cells × (class, part) are worth in training and in checking, training deciding."""
    return partition_gain(table[:, ::2], aim.train, table[:, 1::2], aim.check, aim.fallback)


def _gains(value: float, check: float, totals: tuple[float, float]) -> dict[str, float | None]:
    return {
        "train": value / totals[0] if totals[0] > 0 else None,
        "validation": check / totals[1] if totals[1] > 0 else None,
    }
