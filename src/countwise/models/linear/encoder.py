"""A table as a matrix, for linear models, networks and classifiers of other libraries.

Learned from the training rows alone: a number is centered and scaled to unit spread, a missing one
becomes the mean and is flagged in a column of its own; a nominal column becomes one column a level,
missing among them. Levels and missing cells that training never saw become zeros.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from countwise._typing import FloatArray
from countwise.discretize.rare_levels import most_frequent
from countwise.notes import Note
from countwise.tables.schema import OTHER, Level, Schema
from countwise.tables.table import Table

#: A column keeps so many levels, the most frequent ones; the rest share one.
MOST_LEVELS = 500
#: Scaled numbers are clipped here, so that an extreme value still leaves a posterior.
FARTHEST = 1e6
#: No coefficient is shown as more than this.
_STEEPEST = 1e150

_MISSING = "(missing)"


@dataclass(frozen=True)
class Feature:
    """A column of the matrix: the column of the table, and the level of a nominal one."""

    column: str
    level: str | None = None

    def __str__(self) -> str:
        return self.column if self.level is None else f"{self.column} = {self.level}"


@dataclass(frozen=True, eq=False)
class Scale:
    """How a numeric column is centered and scaled, and whether missing cells are flagged."""

    mean: float
    spread: float
    flagged: bool

    def check(self) -> None:
        """Refuse a scale that leaves no finite numbers."""
        if not np.isfinite([self.mean, self.spread]).all() or not self.spread > 0:
            raise ValueError("a column must be scaled by a positive number")


@dataclass(frozen=True, eq=False)
class Places:
    """Which column of the matrix each level of a nominal column has."""

    place: NDArray[np.int64]  # of each code, missing and unseen included, or -1
    levels: tuple[Level | None, ...]
    others: int  # how many levels share the last column


@dataclass(frozen=True, eq=False)
class Features:
    """A recipe by which tables of a schema become matrices.

    Examples
    --------
    >>> import countwise as cw
    >>> weather = cw.read("sample:weather")
    >>> features = Features.learn(weather)
    >>> [str(feature) for feature in features.names][:3]
    ['outlook = sunny', 'outlook = overcast', 'outlook = rainy']
    >>> features.matrix(weather).shape
    (14, 10)
    """

    schema: Schema
    parts: Mapping[str, Scale | Places]

    @cached_property
    def names(self) -> tuple[Feature, ...]:
        """The columns of the matrix."""
        return tuple(self._name_features())

    def check(self) -> None:
        """Refuse parts that do not fit the columns of the schema."""
        columns = {column.name: column for column in self.schema.attributes}
        if set(columns) != set(self.parts):
            raise ValueError("there must be a feature for each column of the schema")
        for name, part in self.parts.items():
            if isinstance(part, Scale) == columns[name].coded:
                raise ValueError(f"the features of {name[:40]!r} must be those of its kind")
            if isinstance(part, Places):
                again = _place_levels(columns[name].levels, part.place, part.others)
                if again.levels != part.levels:
                    raise ValueError(f"the features of {name[:40]!r} must be those of its levels")

    @classmethod
    def learn(cls, table: Table, weight: FloatArray | None = None) -> Features:
        """Learn scales, levels and missing cells from training rows; texts are left out."""
        table = table.without_text()
        parts: dict[str, Scale | Places] = {}
        for column in table.schema.attributes:
            if column.coded:
                parts[column.name] = _learn_levels(table, column.name, weight)
            else:
                parts[column.name] = _learn_scale(table.values(column.name), weight)
        return cls(table.schema, parts)

    @classmethod
    def plain(cls, schema: Schema) -> Features:
        """Return the features of numeric columns as they are, neither centered nor scaled."""
        same = Scale(0.0, 1.0, False)
        return cls(schema, {column.name: same for column in schema.attributes})

    def _name_features(self) -> Iterator[Feature]:
        for name, part in self.parts.items():
            if isinstance(part, Scale):
                yield Feature(name)
                if part.flagged:
                    yield Feature(name, _MISSING)
                continue
            for level in part.levels:
                yield Feature(name, _MISSING if level is None else str(level))
            if part.others:
                yield Feature(name, OTHER)

    @property
    def notes(self) -> tuple[Note, ...]:
        """Notes on columns whose rare levels share a place."""
        return tuple(
            Note.of("P01", name, levels=MOST_LEVELS, why="")
            for name, part in self.parts.items()
            if isinstance(part, Places) and part.others
        )

    def matrix(self, table: Table, sparse: bool = False) -> Any:
        """Return the rows as a matrix of doubles, dense or sparse."""
        shape = (len(table), len(self.names))
        if not sparse:
            dense = np.zeros(shape)
            for rows, columns, values in self._cells(table):
                dense[rows, columns] = values
            return dense
        every, triples = np.arange(len(table)), []
        for rows, columns, values in self._cells(table):
            row = every[rows]
            triples.append(
                (row, np.broadcast_to(columns, row.shape), np.broadcast_to(values, row.shape))
            )
        row, column, cell = (np.concatenate(pieces) for pieces in zip(*triples, strict=True))
        return csr_matrix((cell, (row, column)), shape=shape)

    @property
    def sparse_pays(self) -> bool:
        """Whether most cells of the matrix are zero."""
        return len(self.names) > 4 * max(len(self.parts), 8)

    def _cells(self, table: Table) -> Iterator[tuple[Any, Any, FloatArray | float]]:
        """Yield rows, columns and values of the filled cells, part by part."""
        at = 0
        for name, part in self.parts.items():
            if isinstance(part, Scale):
                values = table.values(name)
                missing = np.isnan(values)
                with np.errstate(over="ignore"):
                    scaled = (np.where(missing, part.mean, values) - part.mean) / part.spread
                yield slice(None), at, np.clip(scaled, -FARTHEST, FARTHEST)
                if part.flagged:
                    yield np.flatnonzero(missing), at + 1, 1.0
                at += 1 + part.flagged
            else:
                place = part.place[table.codes(name)]
                rows = np.flatnonzero(place >= 0)
                yield rows, at + place[rows], 1.0
                at += len(part.levels) + (part.others > 0)

    def unscale(self, place: int, coefficient: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return a coefficient per unit of the column itself, and what its mean adds."""
        feature = self.names[place]
        part = self.parts[feature.column]
        if not isinstance(part, Scale) or feature.level is not None:
            return coefficient, np.zeros_like(coefficient)
        with np.errstate(over="ignore", invalid="ignore"):
            slope, added = coefficient / part.spread, -coefficient * (part.mean / part.spread)
        # A column that varies by next to nothing has slopes beyond the range of doubles.
        return np.clip(slope, -_STEEPEST, _STEEPEST), np.nan_to_num(
            np.clip(added, -_STEEPEST, _STEEPEST)
        )


def _learn_scale(values: FloatArray, weight: FloatArray | None) -> Scale:
    known = ~np.isnan(values)
    present = values[known]
    weights = np.ones(len(present)) if weight is None else weight[known]
    if not len(present) or weights.sum() <= 0:
        return Scale(0.0, 1.0, bool(len(values)))
    # The spread of equal values must be zero, which the rounding of a mean would spoil.
    if present.min() == present.max():
        return Scale(float(present[0]), 1.0, not known.all())
    most = float(np.abs(present).max())
    mean = float(np.average(present / most, weights=weights)) * most
    spread = float(np.sqrt(np.average(((present - mean) / most) ** 2, weights=weights))) * most
    return Scale(mean, spread if spread > 0 and np.isfinite(spread) else 1.0, not known.all())


def _learn_levels(table: Table, name: str, weight: FloatArray | None) -> Places:
    levels = table.schema[name].levels
    frequency = np.bincount(table.codes(name), weight, minlength=len(levels) + 2)
    place = np.full(len(levels) + 2, -1, dtype=np.int64)
    seen = np.flatnonzero(frequency[:-1] > 0)
    kept, others = seen, 0
    if len(seen) > MOST_LEVELS:
        kept = most_frequent(frequency[:-1], MOST_LEVELS - 1)
        others = len(seen) - len(kept)
        place[seen] = len(kept)
    place[kept] = np.arange(len(kept))
    return _place_levels(levels, place, others)


def _place_levels(levels: tuple[Level, ...], place: NDArray[np.int64], others: int) -> Places:
    if place.shape != (len(levels) + 2,) or others < 0:
        raise ValueError("the places of levels")
    width = int(place.max(initial=-1)) + 1 - (others > 0)
    kept: list[Level | None] = []
    for at in range(width):
        code = np.flatnonzero(place == at)
        if len(code) != 1 or code[0] > len(levels):
            raise ValueError("the places of levels")
        kept.append(None if code[0] == len(levels) else levels[int(code[0])])
    return Places(place, tuple(kept), others)
