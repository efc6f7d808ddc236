"""The tables that a model may have: of columns, and of pairs of columns in coarser groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.models.additive.basis import (
    LINE,
    STEP,
    Design,
    Groups,
    Pair,
    Product,
    TermBasis,
    column_basis,
    group_column,
    lay_out,
)
from countwise.models.additive.bins import ColumnBins

#: A column has this many groups when pairs are compared, and in the tables of few rows.
GROUPS = 8
#: From so many rows on, tables of two numeric columns are smooth, with so many groups.
_SMOOTH_GROUPS = ((2_000, 32), (1_000, 16), (500, 8))


@dataclass(frozen=True, eq=False)
class Space:
    """The tables that a model may have: bins, knots and directions of columns, groups of pairs."""

    bins: Sequence[ColumnBins]
    knots: Sequence[NDArray[np.intp]]
    directions: Sequence[int]
    coarse: Sequence[Groups]
    groups: Sequence[Groups]
    _bases: dict[float, list[TermBasis]] = field(default_factory=dict)
    _products: dict[Pair, Product] = field(default_factory=dict)
    _designs: dict[tuple[float, tuple[Pair, ...]], Design] = field(default_factory=dict)

    @classmethod
    def learn(
        cls,
        bins: Sequence[ColumnBins],
        knots: Sequence[NDArray[np.intp]],
        directions: Sequence[int],
        rows: float,
    ) -> Space:
        """Return the tables for so many rows, two classes' worth of them."""
        numbers = next((many for least, many in _SMOOTH_GROUPS if rows >= least), 0)
        coarse = [group_column(column, GROUPS, GROUPS, smooth=False) for column in bins]
        groups = coarse
        if numbers:
            groups = [group_column(column, numbers, GROUPS, smooth=True) for column in bins]
        return cls(bins, knots, directions, coarse, groups)

    @property
    def paired(self) -> list[int]:
        """The columns that may be part of a pair: neither monotone nor words."""
        return [
            place
            for place, (column, sign) in enumerate(zip(self.bins, self.directions, strict=True))
            if not sign and column.word is None
        ]

    def columns(self, penalties: FloatArray) -> list[TermBasis]:
        """Return the basis of each column, given the penalties of lines and of steps."""
        line = _line_of(penalties)
        if line not in self._bases:
            self._bases[line] = [
                column_basis(column, knots, line, direction)
                for column, knots, direction in zip(
                    self.bins, self.knots, self.directions, strict=True
                )
            ]
        return self._bases[line]

    def design(self, pairs: Sequence[Pair], penalties: FloatArray) -> Design:
        """Return the tables of all columns and of these pairs; they are laid out once."""
        key = _line_of(penalties), tuple(pairs)
        if key not in self._designs:
            self._designs[key] = lay_out(
                self.columns(penalties), self.groups if pairs else (), pairs, self._products
            )
        return self._designs[key]

    def carry(self, parameters: FloatArray, old: FloatArray, new: FloatArray) -> FloatArray:
        """Return parameters under the penalties `old` for the bases under the penalties `new`."""
        before, after = self.columns(old), self.columns(new)
        if before is after:
            return parameters
        carried, place = parameters.copy(), 1
        for column, one, two in zip(self.bins, before, after, strict=True):
            if one.matrix is not None and two.matrix is not None and not two.bounded.any():
                part = slice(place, place + one.size)
                table = one.matrix @ parameters[part]
                shares = two.matrix.T * column.counts
                carried[part] = (shares @ table) / np.where(two.norms > 0, two.norms, 1.0)[:, None]
            place += one.size
        return carried


def _line_of(penalties: FloatArray) -> float:
    """Return the penalty of lines relative to that of steps."""
    return round(float(penalties[LINE] / penalties[STEP]), 9)
