"""A table as the matrix that linear models, networks and other libraries' classifiers take.

Learned from the training rows alone: a number is centred and scaled to unit spread, a missing one
is put at the mean and flagged in a column of its own; a nominal column becomes one column a level,
missing among them. What training never saw, a level or a gap, is a row of noughts: it says nothing.
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
from countwise.discretize.rare_levels import OTHER, most_frequent
from countwise.notes import Note
from countwise.tables.schema import Level, Schema
from countwise.tables.table import Table

#: A column keeps so many levels of its own, the most frequent ones; the rest share one.
MOST_LEVELS = 500
#: No scaled number is let beyond this, so that a value beyond all measure leaves a posterior.
FARTHEST = 1e6

_MISSING = "(missing)"


@dataclass(frozen=True)
class Feature:
    """A column of the matrix: the table's column it comes from and, of a nominal one, the level."""

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
    """Which column of the matrix each level of a nominal column has.

    `place` is that of each code, missing and unseen included, or -1; `others` levels share one.
    """

    place: NDArray[np.int64]
    levels: tuple[Level | None, ...]
    others: int


@dataclass(frozen=True, eq=False)
class Features:
    """How tables of a schema become rows of a matrix.

    Examples
    --------
    >>> import countwise as cw
    >>> weather = cw.read("sample:weather")
    >>> features = Features.learn(weather)
    >>> [str(own) for own in features.names][:3]
    ['outlook = sunny', 'outlook = overcast', 'outlook = rainy']
    >>> features.matrix(weather).shape
    (14, 10)
    """

    schema: Schema
    parts: Mapping[str, Scale | Places]

    @cached_property
    def names(self) -> tuple[Feature, ...]:
        """The columns of the matrix."""
        return tuple(self._named())

    def check(self) -> None:
        """Refuse parts that do not fit the columns of the schema."""
        columns = {column.name: column for column in self.schema.attributes}
        if set(columns) != set(self.parts):
            raise ValueError("there must be a feature for each column of the schema")
        for name, part in self.parts.items():
            if isinstance(part, Scale) == columns[name].coded:
                raise ValueError(f"the features of {name[:40]!r} must be those of its kind")
            if isinstance(part, Places):
                again = _places(columns[name].levels, part.place, part.others)
                if again.levels != part.levels:
                    raise ValueError(f"the features of {name[:40]!r} must be those of its levels")

    @classmethod
    def learn(cls, table: Table, weight: FloatArray | None = None) -> Features:
        """Learn scales, levels and gaps from training rows."""
        parts: dict[str, Scale | Places] = {}
        for column in table.schema.attributes:
            if column.coded:
                parts[column.name] = _learn_places(table, column.name, weight)
            else:
                parts[column.name] = _learn_scale(table.values(column.name), weight)
        return cls(table.schema, parts)

    @classmethod
    def plain(cls, schema: Schema) -> Features:
        """Return the features of numeric columns as they are, neither centred nor scaled."""
        return cls(schema, {own.name: Scale(0.0, 1.0, False) for own in schema.attributes})

    def _named(self) -> Iterator[Feature]:
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
        """Remarks on columns of which rare levels share a place."""
        return tuple(
            Note.of("P01", name, levels=MOST_LEVELS, why="")
            for name, part in self.parts.items()
            if isinstance(part, Places) and part.others
        )

    def matrix(self, table: Table, sparse: bool = False) -> Any:
        """Return the rows as a matrix of doubles, dense or by its filled cells."""
        return self._sparse(table) if sparse else self._dense(table)

    @property
    def sparse_pays(self) -> bool:
        """Whether most cells of the matrix are nought."""
        return len(self.names) > 4 * max(len(self.parts), 8)

    def _dense(self, table: Table) -> FloatArray:
        made = np.zeros((len(table), len(self.names)))
        at = 0
        for name, part in self.parts.items():
            if isinstance(part, Scale):
                values, gap = _scaled(part, table.values(name))
                made[:, at] = values
                if part.flagged:
                    made[gap, at + 1] = 1.0
                at += 1 + part.flagged
                continue
            place = part.place[table.codes(name)]
            rows = np.flatnonzero(place >= 0)
            made[rows, at + place[rows]] = 1.0
            at += _width(part)
        return made

    def _sparse(self, table: Table) -> Any:
        rows = np.arange(len(table))
        row, column, cell = [], [], []
        at = 0
        for name, part in self.parts.items():
            if isinstance(part, Scale):
                values, gap = _scaled(part, table.values(name))
                pieces = [(rows, at, values)]
                if part.flagged:
                    pieces.append((rows[gap], at + 1, np.ones(np.count_nonzero(gap))))
                for index, place, own in pieces:
                    row.append(index)
                    column.append(np.full(len(index), place))
                    cell.append(own)
                at += 1 + part.flagged
                continue
            taken = part.place[table.codes(name)]
            known = np.flatnonzero(taken >= 0)
            row.append(known)
            column.append(at + taken[known])
            cell.append(np.ones(len(known)))
            at += _width(part)
        data = (np.concatenate(cell), (np.concatenate(row), np.concatenate(column)))
        return csr_matrix(data, shape=(len(table), len(self.names)))

    def unscaled(self, feature: int, coefficient: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return a coefficient per unit of the column itself, and what its centre adds."""
        own = self.names[feature]
        part = self.parts[own.column]
        if not isinstance(part, Scale) or own.level is not None:
            return coefficient, np.zeros_like(coefficient)
        return coefficient / part.spread, -coefficient * (part.mean / part.spread)


def _width(part: Places) -> int:
    return len(part.levels) + (part.others > 0)


def _scaled(part: Scale, values: FloatArray) -> tuple[FloatArray, NDArray[np.bool_]]:
    gap = np.isnan(values)
    with np.errstate(over="ignore"):
        scaled = (np.where(gap, part.mean, values) - part.mean) / part.spread
    return np.clip(scaled, -FARTHEST, FARTHEST), gap


def _learn_scale(values: FloatArray, weight: FloatArray | None) -> Scale:
    known = ~np.isnan(values)
    own = values[known]
    given = np.ones(len(own)) if weight is None else weight[known]
    if not len(own) or given.sum() <= 0:
        return Scale(0.0, 1.0, bool(len(values)))
    # Of equal values the spread must be nought, which the rounding of a mean would spoil.
    if own.min() == own.max():
        return Scale(float(own[0]), 1.0, not known.all())
    most = float(np.abs(own).max())
    mean = float(np.average(own / most, weights=given)) * most
    spread = float(np.sqrt(np.average(((own - mean) / most) ** 2, weights=given))) * most
    return Scale(mean, spread if spread > 0 and np.isfinite(spread) else 1.0, not known.all())


def _learn_places(table: Table, name: str, weight: FloatArray | None) -> Places:
    levels = table.schema[name].levels
    often = np.bincount(table.codes(name), weight, minlength=len(levels) + 2)
    place = np.full(len(levels) + 2, -1, dtype=np.int64)
    seen = np.flatnonzero(often[:-1] > 0)
    kept, others = seen, 0
    if len(seen) > MOST_LEVELS:
        kept = most_frequent(often[:-1], MOST_LEVELS - 1)
        others = len(seen) - len(kept)
        place[seen] = len(kept)
    place[kept] = np.arange(len(kept))
    return _places(levels, place, others)


def _places(levels: tuple[Level, ...], place: NDArray[np.int64], others: int) -> Places:
    if place.shape != (len(levels) + 2,) or others < 0:
        raise ValueError("the places of levels")
    width = int(place.max(initial=-1)) + 1 - (others > 0)
    if width > len(place):
        raise ValueError("the places of levels")
    kept: list[Level | None] = []
    for at in range(width):
        code = np.flatnonzero(place == at)
        if len(code) != 1 or code[0] > len(levels):
            raise ValueError("the places of levels")
        kept.append(None if code[0] == len(levels) else levels[int(code[0])])
    return Places(place, tuple(kept), others)
