"""The grid of cells formed by cut and nominal columns, and the cell of each row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.discretize.joint_search._sweep import add_levels

#: The level of a row whose value says nothing about its level.
ANY = -1
#: So many cells get a table with a line for each; of more, only those that occur are kept.
DIRECT = 1 << 22
#: Addresses of more cells than this do not fit in a number: they are hashed.
_EXACT = 1 << 62


@dataclass(frozen=True)
class Axis:
    """One column of the grid: intervals between edges, or the levels of a nominal column."""

    name: str
    edges: FloatArray | None
    lookup: NDArray[np.int64] | None
    width: int
    blank: bool = False
    low: float = 0.0
    high: float = 0.0

    def check(self) -> None:
        """Refuse edges and levels that no value could be placed by."""
        if not np.isfinite([self.low, self.high]).all() or self.width < 1:
            raise ValueError(f"the range of {self.name[:40]!r} must be finite and have a level")
        if (self.edges is None) == (self.lookup is None):
            raise ValueError(f"{self.name[:40]!r} must have either edges or levels")
        if self.edges is not None and (
            self.edges.shape != (self.width - 1,)
            or not np.isfinite(self.edges).all()
            or np.any(np.diff(self.edges) <= 0)
        ):
            raise ValueError(f"{self.name[:40]!r} must be cut at rising points")
        if self.lookup is not None and (
            self.lookup.ndim != 1
            or self.lookup.min(initial=ANY) < ANY
            or self.lookup.max(initial=ANY) >= self.size
        ):
            raise ValueError(f"the levels of {self.name[:40]!r} must lie on its axis")

    @property
    def numeric(self) -> bool:
        """Whether the column holds numbers."""
        return self.edges is not None

    @property
    def size(self) -> int:
        """How many levels there are, the slot of missing values included."""
        return self.width + self.blank

    @cached_property
    def spans(self) -> tuple[FloatArray, FloatArray]:
        """Where the levels of a numeric column begin and end, within the range of training."""
        edges = self.edges if self.edges is not None else np.empty(0)
        inner = np.clip(edges, self.low, self.high)
        return np.concatenate([[self.low], inner]), np.concatenate([inner, [self.high]])

    def levels(self, column: NDArray[Any]) -> NDArray[np.int64]:
        """Return the level of every value; `ANY` where it has none."""
        if self.lookup is not None and self.size > 1:
            return np.asarray(self.lookup[column])
        levels = np.zeros(len(column), np.int64)
        self.add(column, 1, levels)
        return levels

    def add(
        self, column: NDArray[Any], stride: int, address: NDArray[np.int64], no_level: int = ANY
    ) -> None:
        """Add stride times the level to the address of every row, `no_level` where it has none.

        A column with one level tells nothing, whatever its value is.
        """
        if self.size == 1:
            return
        if self.edges is None:
            assert self.lookup is not None
            lookup = np.where(self.lookup < 0, no_level, self.lookup)
            address += lookup[column] * np.int64(stride)
            return
        if column.dtype not in (np.float32, np.float64):
            column = column.astype(np.float64)
        add_levels(column, self.edges, stride, self.width if self.blank else no_level, address)


@dataclass(frozen=True)
class CellGrid:
    """The grid of all columns: a cell is one level of each."""

    axes: tuple[Axis, ...]
    strides: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        """Number the cells, the last column running fastest; hash them where they are too many."""
        if self.cells >= _EXACT:
            rng = np.random.default_rng(20_261_116)
            odd = rng.integers(0, 1 << 62, len(self.axes), dtype=np.int64) * 2 + 1
            strides = odd.tolist()
        else:
            sizes = [axis.size for axis in self.axes]
            strides = [prod(sizes[place + 1 :]) for place in range(len(sizes))]
        object.__setattr__(self, "strides", tuple(strides))

    @cached_property
    def cells(self) -> int:
        """How many cells there are."""
        return prod(axis.size for axis in self.axes)

    @property
    def direct(self) -> bool:
        """Whether a table with a line a cell fits in memory."""
        return self.cells <= DIRECT

    @property
    def no_cell(self) -> int:
        """A level so low that it makes every address negative: that of rows without a cell."""
        return -self.cells - 1

    def addresses(self, columns: Sequence[NDArray[Any]], rows: int) -> NDArray[np.int64]:
        """Return the address of every row of a direct grid, negative where a value has no level."""
        address = np.zeros(rows, np.int64)
        for axis, stride, column in zip(self.axes, self.strides, columns, strict=True):
            axis.add(column, stride, address, self.no_cell)
        return address

    def levels(self, columns: Sequence[NDArray[Any]], rows: int) -> NDArray[np.int32]:
        """Return the level of every row on every axis; `ANY` where it has none."""
        levels = np.empty((rows, len(self.axes)), np.int32)
        for place, (axis, column) in enumerate(zip(self.axes, columns, strict=True)):
            levels[:, place] = axis.levels(column)
        return levels

    def address_of(self, levels: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return the address of cells given by their levels."""
        address = np.zeros(len(levels), np.int64)
        with np.errstate(over="ignore"):
            for place, stride in enumerate(self.strides):
                address += levels[:, place].astype(np.int64) * np.int64(stride)
        return address

    def levels_at(self, address: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the levels of cells given by their addresses, which must not be hashed."""
        levels = np.empty((len(address), len(self.axes)), np.int32)
        for place in reversed(range(len(self.axes))):
            address, levels[:, place] = np.divmod(address, self.axes[place].size)
        return levels
