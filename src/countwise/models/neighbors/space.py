"""A metric as a change of space: how far apart two cells are, as learned from training rows.

A `Space` turns each attribute into one or more axes, each with its own way to compare cells, so
that the distance of two rows is one sum over axes for every metric:

    distance = (Σ over axes (stretch · gap)^p)^(1/p), and the largest term for p = ∞

Numbers differ by their gap, levels by 0 or 1 (overlap) or by how much their class probabilities
differ (VDM, Stanfill & Waltz 1986). Mahalanobis distance is Euclidean distance after whitening.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.notes import Note
from countwise.tables.schema import Column
from countwise.tables.table import Table

#: With a larger exponent, powers of gaps leave the range of doubles too soon: distances are then
#: kept as they are, and powers are taken of fractions of the largest gap.
STEEP = 16.0
#: Figures of a whitening are smaller: their products with numbers of a table are finite.
_LARGEST_FIGURE = 1e160


@dataclass(frozen=True, eq=False)
class Axis:
    """One axis of a space: the attribute it comes from and how two cells compare on it.

    ``number`` axes hold figures whose gap counts, ``differs`` axes codes that are equal or not,
    ``table`` axes codes with a table of distances (`figures`). Code `width` is missing, the next
    one unseen. A missing cell is `far` from any other, or is ignored; `mass` is the weight of the
    axis when other axes are ignored.
    """

    attribute: int
    kind: str
    stretch: float = 1.0
    far: float = 1.0
    mass: float = 1.0
    center: float = 0.0
    width: int = 0
    figures: FloatArray | None = field(default=None, repr=False)
    whitened: int | None = None

    def check_column(self, column: Column, numbers: int) -> None:
        """Refuse figures that do not fit the column; `numbers` is how many columns are numeric."""
        shape = None if self.figures is None else self.figures.shape
        coded = column.kind == "nominal"
        fits = {
            "number": shape == ((column.width + 2,) if coded else None)
            and self.width in (0, column.width),
            "differs": self.width == column.width if coded else shape == (self.width,),
            "table": coded and self.width == column.width and shape == (self.width + 2,) * 2,
        }
        sizes = np.array([self.stretch, self.far, self.mass, self.center], dtype=np.float64)
        whitened = self.whitened is None or (0 <= self.whitened < numbers and not coded)
        sound = fits.get(self.kind) and whitened and self.width >= 0
        if not (sound and np.isfinite(sizes).all() and sizes[:3].min() >= 0):
            raise ValueError(f"the axis of {column.name[:40]!r} must fit its column")
        figures = self.figures if self.kind == "table" else None
        if figures is not None and not np.all((figures >= 0) & (figures < 1e300)):
            raise ValueError(f"the table of {column.name[:40]!r} must hold distances")


@dataclass(frozen=True, eq=False)
class Space:
    """Where rows are compared: axes, an exponent, and what a missing cell means.

    Examples
    --------
    >>> import countwise as cw
    >>> from countwise.models.neighbors.metrics import learn_space
    >>> space = learn_space(cw.read("sample:iris"))
    >>> len(space.axes), space.p, round(space.axes[0].stretch, 3)
    (4, 2.0, 0.278)
    """

    attributes: tuple[Column, ...]
    axes: tuple[Axis, ...]
    p: float
    ignore: bool
    divisor: float = 1.0
    weights: FloatArray = field(default_factory=lambda: np.ones(0))
    whitening: FloatArray | None = None
    middle: FloatArray | None = None
    notes: tuple[Note, ...] = ()

    @property
    def steep(self) -> bool:
        """Whether distances are kept as they are instead of their powers."""
        return self.p > STEEP

    @property
    def total(self) -> float:
        """The mass of all axes."""
        return float(sum(axis.mass for axis in self.axes))

    def cells(self, table: Table) -> list[NDArray[Any]]:
        """Return what the rows hold on each axis: doubles, or codes."""
        white = self._whiten(table)
        cells: list[NDArray[Any]] = []
        for axis in self.axes:
            column = self.attributes[axis.attribute]
            if axis.whitened is not None and white is not None:
                cells.append(white[axis.whitened])
            elif column.kind == "numeric":
                values = table.values(column.name)
                cells.append(values if axis.kind == "number" else _code_numbers(axis, values))
            elif axis.kind == "number" and axis.figures is not None:
                cells.append(axis.figures[table.codes(column.name)])
            else:
                cells.append(table.codes(column.name))
        return cells

    def _whiten(self, table: Table) -> FloatArray | None:
        if self.whitening is None or self.middle is None:
            return None
        names = [column.name for column in self.attributes if column.kind == "numeric"]
        rows = np.stack([table.values(name) for name in names])
        gap = rows - self.middle[:, None]
        gap[np.isnan(gap)] = 0.0
        # Column by column, so that a row has the same sums alone and among others: neither BLAS nor
        # a sum over an axis promises that.
        white = np.zeros_like(gap)
        for factors, sums in zip(self.whitening, white, strict=True):
            for factor, column in zip(factors, gap, strict=True):
                sums += factor * column
        return white

    def to_distances(self, powers: FloatArray) -> FloatArray:
        """Turn sums of p-th powers into distances."""
        distances = from_sums(powers, self.p)
        return np.asarray(distances / self.divisor if self.divisor != 1.0 else distances)

    def check(self) -> None:
        """Refuse axes that would lead a search astray."""
        if any(not 0 <= axis.attribute < len(self.attributes) for axis in self.axes):
            raise ValueError("every axis must belong to an attribute")
        numbers = sum(column.kind == "numeric" for column in self.attributes)
        for axis in self.axes:
            axis.check_column(self.attributes[axis.attribute], numbers)
        figures = [array for array in (self.whitening, self.middle) if array is not None]
        sound = (
            self.p >= 1
            and self.axes
            and 0 < self.divisor < math.inf
            and self.weights.shape == (len(self.attributes),)
            and [array.shape for array in figures] in ([], [(numbers, numbers), (numbers,)])
            and all(np.all(np.abs(array) < _LARGEST_FIGURE) for array in figures)
            and (self.whitening is not None or all(axis.whitened is None for axis in self.axes))
        )
        if not sound:
            raise ValueError("the figures of a space must fit each other")

    def _powers(self, stored: list[NDArray[Any]], queries: list[NDArray[Any]]) -> FloatArray:
        """Return what each attribute adds: a p-th power, or the gap where p is steep."""
        shape = stored[0].shape if stored else ()
        parts = np.zeros((*shape, len(self.attributes)))
        present = np.zeros(shape)
        for axis, one, two in zip(self.axes, stored, queries, strict=True):
            gap, known = axis_gap(axis, one, two)
            if self.ignore:
                present += np.where(known, axis.mass, 0.0)
            part = parts[..., axis.attribute]
            part[...] = add_gap(part, np.where(known, gap, 0.0) if self.ignore else gap, self.p)
        if self.ignore and not math.isinf(self.p):
            with np.errstate(divide="ignore", invalid="ignore"):
                more = np.where(present > 0, self.total / present, 0.0)[..., None]
            parts *= more ** (1.0 / self.p) if self.steep else more
        return parts

    def parts(self, stored: list[NDArray[Any]], queries: list[NDArray[Any]]) -> FloatArray:
        """Return what each attribute adds to the p-th power of the distance of pairs of cells."""
        # Parts sum to that power times the divisor; for the maximum the largest one is the
        # distance, for another steep exponent they sum to the distance itself.
        parts = self._powers(stored, queries)
        if not self.steep or math.isinf(self.p):
            return parts
        top = parts.max(axis=-1, keepdims=True, initial=0.0)
        fraction = np.divide(parts, top, out=np.zeros_like(parts), where=top > 0) ** self.p
        total = fraction.sum(axis=-1, keepdims=True)
        return np.asarray(
            fraction / np.where(total > 0, total, 1.0) * top * total ** (1.0 / self.p)
        )

    def gaps(self, stored: list[NDArray[Any]], queries: list[NDArray[Any]]) -> FloatArray:
        """Return how far apart pairs of rows are in each attribute alone."""
        return from_sums(self._powers(stored, queries), self.p)


@np.errstate(over="ignore")
def add_gap(sums: FloatArray, gap: FloatArray, p: float) -> FloatArray:
    """Add a gap to sums of p-th powers; to the distances themselves where p is steep."""
    if p <= STEEP:
        return np.asarray(sums + gap**p)
    top = np.maximum(sums, gap)
    if math.isinf(p):
        return np.asarray(top)
    fraction = np.divide(np.minimum(sums, gap), top, out=np.zeros_like(top), where=top > 0)
    return np.asarray(top * (1.0 + fraction**p) ** (1.0 / p))


def from_sums(sums: FloatArray, p: float) -> FloatArray:
    """Turn the sums of `add_gap` into distances."""
    if p > STEEP or p == 1:
        return sums
    return np.sqrt(sums) if p == 2 else np.asarray(sums ** (1.0 / p))


@np.errstate(over="ignore")
def axis_gap(axis: Axis, one: NDArray[Any], two: NDArray[Any]) -> tuple[FloatArray, NDArray[Any]]:
    """Return the stretched gap of cells on one axis, and which pairs are known."""
    if axis.kind == "number":
        gap = np.abs(one - two) * axis.stretch
        known = ~np.isnan(gap)
        return np.where(known, gap, axis.far), known
    known = (one != axis.width) & (two != axis.width)
    if axis.kind == "differs":
        same = known & (one == two) & (one < axis.width)
        return np.where(same, 0.0, axis.stretch), known
    figures = np.zeros((0, 0)) if axis.figures is None else axis.figures
    return figures[two.astype(np.intp), one.astype(np.intp)], known


def _code_numbers(axis: Axis, values: FloatArray) -> NDArray[np.int64]:
    """Code numbers by the values known from training."""
    known = np.zeros(0) if axis.figures is None else axis.figures
    place = np.searchsorted(known, values)
    found = place < len(known)
    found[found] = known[place[found]] == values[found]
    return np.where(np.isnan(values), axis.width, np.where(found, place, axis.width + 1))
