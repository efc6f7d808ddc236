"""How numbers are counted where they are: by their values, or by the leading bits of these.

Numbers whose bits agree but for the last `shift` ones fall into one cell of a fine grid. A grid
that needs a larger shift, to have few enough cells, follows from these cells exactly. The numbers
of a cell share sign and exponent, so sums of their last bits, which a database adds up as whole
numbers, give the exact sums of the numbers and of their squares.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.counts.counts import Counts
from countwise.counts.moments import ExactSums, Moments
from countwise.counts.plan import Plan
from countwise.tables.code_levels import LARGEST
from countwise.tables.infer_schema import has_id_name
from countwise.tables.scan import Scan
from countwise.tables.schema import Column
from countwise.tables.sources.query_source import MOST_SHIFT, Cells, Extremes, QuerySource
from countwise.tables.survey import ColumnSurvey
from countwise.tables.text_values import numbers_among

if TYPE_CHECKING:
    from countwise.counts.engines.pushdown import GroupCounter, Roads

#: A column with more values by class is not grouped by them.
MOST_NUMBERS = 1 << 17
#: The shift for columns that seemed to have few values: 512 cells an exponent.
_COARSE = 43
#: By how much the shift falls if there are so few cells that a finer grid may be wanted.
_STEP = 4
#: Whole numbers beyond this are rounded as doubles.
_EXACT = 2.0**53
_FRACTION, _HIDDEN = (1 << 52) - 1, 1 << 52
#: The value of a double is a whole number times 2 to the power of (its exponent field - _BIAS).
_BIAS = 1075
_WORD = 32


@dataclass
class NumberRoads:
    """What is known of the columns of numbers of a scan by which they are grouped."""

    shifts: dict[str, int] = field(default_factory=dict)
    #: Columns whose rows must be read.
    travel: set[str] = field(default_factory=set)
    extremes: dict[str, Extremes] = field(default_factory=dict)

    def cells(
        self,
        scan: Scan,
        source: QuerySource,
        plan: Plan,
        columns: Sequence[Column],
        cuts: Mapping[str, FloatArray],
    ) -> dict[str, Cells]:
        """Return how columns of numbers are grouped, without those that must be read."""
        if not source.counts_numbers:
            return {}
        marks = _marks(scan)
        cells: dict[str, Cells] = {}
        for column in columns:
            name = column.name
            if column.part_of or name in self.travel or not source.is_number(name):
                continue
            if name in cuts:
                cells[name] = Cells(0, np.asarray(cuts[name], np.float64), marks[name])
                continue
            # One bit finer than seems needed: other rows may leave fewer cells.
            shift = self.shifts.get(name, max(source.seen[name].shift - 1, 0))
            shift = shift if name in plan.grids or not shift else MOST_SHIFT
            cells[name] = Cells(shift, None, marks[name], bool(shift) and name in plan.moments)
        return cells

    def look(self, scan: Scan, source: QuerySource, roads: Roads) -> bool:
        """Ask for the extremes of columns with many values; return whether some must be read."""
        new = [name for name in roads.extremes if name not in self.extremes]
        if not new:
            return False
        self.extremes |= source.extremes(new, _marks(scan))
        read = {name for name in new if self._must_be_read(scan, source, name)}
        self.travel |= read
        return bool(read)

    def _must_be_read(self, scan: Scan, source: QuerySource, name: str) -> bool:
        """Return whether only its rows tell if a column may identify rows, or what is wrong."""
        found = self.extremes[name]
        largest = max(abs(found.low), abs(found.high))
        if largest > LARGEST or (largest > _EXACT and source.is_whole(name)):
            return True
        may_identify = has_id_name(name) or name in scan.decision.sketched
        return found.is_whole and may_identify and not found.may_number_rows

    def is_exact(self, counter: GroupCounter) -> bool:
        """Return whether groups give exact counts; if not, find another road for their column."""
        name = counter.number
        if name is None:
            return True
        cell = counter.totals.cells.get(name, Cells())
        if counter.is_refused:
            # Coarse cells are tried once: finer ones may end at the values, which are too many.
            is_new = name not in self.shifts
            if is_new and counter.groups > MOST_NUMBERS and cell.holds_values:
                self.shifts[name] = _COARSE
            else:
                self.travel.add(name)
            return False
        if cell.holds_values or counter.counts is None or name not in counter.plan.grids:
            return True
        if counter.counts.grids[name].shift > cell.shift:
            return True
        self.shifts[name] = max(cell.shift - _STEP, 0)
        return False

    def surveys(self, source: QuerySource, roads: Roads) -> dict[str, ColumnSurvey]:
        """Return what is known of columns whose values were not listed."""
        return {
            name: ColumnSurvey(
                True,
                found.rows,
                low=found.low,
                high=found.high,
                is_whole=found.is_whole,
                sums=tuple(number % 2**64 for number in found.sums),
                few=frozenset({found.low, source.seen[name].middle, found.high}),
            )
            for name in roads.extremes
            for found in [self.extremes[name]]
        }


def _marks(scan: Scan) -> Mapping[str, frozenset[float]]:
    options = scan.decision.reading(scan.options, False)
    return {
        column.name: numbers_among(options.marks(column.name))
        for column in scan.decision.reading_schema
        if column.kind == "numeric"
    }


def moments_of_cells(
    target: NDArray[Any],
    numbers: FloatArray,
    weight: FloatArray,
    shift: int,
    sums: Sequence[Sequence[int]],
    counts: Counts,
) -> Moments:
    """Return the moments of numbers that are grouped by class and by all but their last bits.

    Of each group: the code of its class, the number without these bits, the weight, the weighted
    sum of the bits, and those of the products of their halves.
    """
    slots = len(counts.weight)
    known = ~np.isnan(numbers) & (weight > 0)
    label = np.minimum(target, slots - 1).astype(np.int64)
    missing, present = (
        np.bincount(label[some], weight[some], slots).astype(np.float64) for some in (~known, known)
    )
    bits = (numbers + 0.0).view(np.int64)
    exponents = np.maximum((bits >> 52) & 2047, 1)
    low = int(exponents[known].min()) - _BIAS if known.any() else 0
    low -= low % _WORD
    plain, squares = [0] * slots, [0] * slots
    for at in np.flatnonzero(known).tolist():
        pattern, field_ = int(bits[at]), int(exponents[at])
        first = (pattern & _FRACTION) | (_HIDDEN if (pattern >> 52) & 2047 else 0)
        rows, last, high, both, rest = int(weight[at]), *(column[at] for column in sums)
        total = rows * first + last
        square = rows * first * first + 2 * first * last
        square += (high << 52) + (both << 27) + rest
        up, slot = field_ - _BIAS - low, int(label[at])
        plain[slot] += (total if pattern >= 0 else -total) << up
        squares[slot] += square << 2 * up
    return Moments.summed(present, missing, ExactSums.of(low, plain, squares))
