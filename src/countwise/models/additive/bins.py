"""Fine bins of columns: a bin for each level or interval, one for missing and one for unseen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.discretize.cut_points import equal_frequency, interval_codes, mdl_cuts
from countwise.errors import TableError
from countwise.tables.table import Table

#: From so many rows on, cut points by MDL join those of equal frequency.
MDL_ROWS = 1000
#: MDL looks at no more single values of a column than these.
_MDL_VALUES = 2000
#: Levels of a column that a code can tell apart.
MAX_LEVELS = 2**16 - 2

Codes = NDArray[np.uint16]


@dataclass(frozen=True, eq=False)
class ColumnBins:
    """The bins of a column, and the weight of the training rows in each.

    The last two bins are those of missing cells and of unseen levels. ``centers`` are the means of
    the standardized numbers in the bins. With a ``word``, the bins are those of texts without it
    and with it.
    """

    name: str
    numeric: bool
    cuts: FloatArray
    counts: FloatArray
    centers: FloatArray
    word: str | None = None

    @property
    def label(self) -> str:
        """The name for people."""
        return self.name if self.word is None else f"{self.name}: '{self.word}'"

    @property
    def width(self) -> int:
        """How many bins hold values."""
        return len(self.counts) - 2

    def code(self, table: Table) -> Codes:
        """Return the bin of each row."""
        if not self.numeric:
            return table.codes(self.name).astype(np.uint16)
        return interval_codes(self.cuts, table.values(self.name)).astype(np.uint16)

    def check(self) -> None:
        """Refuse parts that do not fit each other."""
        fits = len(self.centers) == self.width and (
            not self.numeric or len(self.cuts) == self.width - 1
        )
        if not fits or not (np.diff(self.cuts) > 0).all():
            raise TableError(f"Additive: the bins of column {self.name!r} must fit each other.")


def learn_bins(
    table: Table, name: str, y: NDArray[np.int32], weight: FloatArray, classes: int, max_bins: int
) -> ColumnBins:
    """Learn the bins of one column from training rows."""
    column = table.schema[name]
    if column.coded:
        if column.width > MAX_LEVELS:
            raise TableError(
                f"Additive: a nominal column may have up to {MAX_LEVELS} levels; column {name!r} "
                f"has {column.width}.",
                hint="Drop it with `drop=`.",
            )
        counts = sum_weights(table.codes(name), weight, column.width + 2)
        return ColumnBins(name, False, np.empty(0), counts, np.zeros(column.width))
    values = table.values(name)
    present = ~np.isnan(values)
    missing = float(weight[~present].sum())
    known, y, weight = values[present], y[present], weight[present]
    unique, place = np.unique(known, return_inverse=True)
    by_value = sum_weights(place, weight, len(unique))
    before = np.arange(1, len(unique))
    if len(unique) > max_bins:
        before = equal_frequency(
            np.arange(len(unique)), max_bins, np.cumsum(cap_counts(by_value, max_bins))
        )
        if len(known) >= MDL_ROWS:
            mdl = _mdl_before(by_value, place, y, weight / weight.mean(), classes, before)
            before = np.union1d(before, mdl).astype(np.intp)
    cuts = _between(unique, before)
    codes = interval_codes(cuts, known)
    counts = sum_weights(codes, weight, len(cuts) + 3)
    counts[-2] = missing
    return ColumnBins(name, True, cuts, counts, _centers(known, weight, codes, counts))


def cap_counts(counts: FloatArray, bins: int) -> FloatArray:
    """Cap counts at an even share of the bins: one heavy value may not use up several of them."""
    capped = counts
    for _ in range(5):
        capped = np.minimum(counts, capped.sum() / bins)
    return np.asarray(capped)


def _between(unique: FloatArray, before: NDArray[np.intp]) -> FloatArray:
    """Return cut points half-way between values; of two that touch, the lower one."""
    low, high = unique[before - 1], unique[before]
    middle = low / 2 + high / 2
    return np.where((low <= middle) & (middle < high), middle, low)


def _mdl_before(
    by_value: FloatArray,
    place: NDArray[np.intp],
    y: NDArray[np.int32],
    weight: FloatArray,
    classes: int,
    before: NDArray[np.intp],
) -> NDArray[np.intp]:
    """Return before which values MDL cuts; of many values it may cut only before some."""
    allowed = np.arange(1, len(by_value))
    if len(by_value) > _MDL_VALUES:
        even = equal_frequency(np.arange(len(by_value)), _MDL_VALUES, np.cumsum(by_value))
        allowed = np.union1d(even, before).astype(np.intp)
    cell = np.searchsorted(allowed, place, side="right")
    return allowed[mdl_cuts(class_counts(cell, y, weight, len(allowed) + 1, classes))]


def sum_weights(cells: NDArray[Any], weight: FloatArray, width: int) -> FloatArray:
    """Return the weight of the rows in each cell."""
    return np.asarray(np.bincount(cells, weight, minlength=width), dtype=np.float64)


def class_counts(
    cells: NDArray[np.intp], y: NDArray[np.int32], weight: FloatArray, width: int, classes: int
) -> FloatArray:
    """Return the weight of rows by class and cell."""
    counts = sum_weights(y.astype(np.intp) * width + cells, weight, classes * width)
    return counts.reshape(classes, width)


def _centers(
    known: FloatArray, weight: FloatArray, codes: NDArray[np.intp], counts: FloatArray
) -> FloatArray:
    """Return the mean of the standardized numbers in each bin; they are clipped at ±5."""
    width = len(counts) - 2
    total = weight.sum() or 1.0
    mean = float(weight @ known) / total
    deviation = np.sqrt(float(weight @ (known - mean) ** 2) / total)
    standard = np.clip((known - mean) / (deviation or 1.0), -5, 5)
    sums = np.bincount(codes, weight * standard, minlength=width)[:width]
    return np.asarray(sums / np.where(counts[:width] > 0, counts[:width], 1.0))
