"""A table as the matrix that linear models, networks and other libraries' classifiers take.

Learned from the training rows alone: a number is centred and scaled to unit spread, a missing one
is put at the mean and flagged in a column of its own; a nominal column becomes one column a level,
missing among them. What training never saw, a level or a gap, is a row of noughts: it says nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
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
class _Number:
    mean: float
    spread: float
    flagged: bool


@dataclass(frozen=True, eq=False)
class _Words:
    place: NDArray[np.int64]  # of each code (missing and unseen too); -1: none
    levels: tuple[Level | None, ...]
    others: int  # how many levels share a place


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

    def __init__(self, schema: Schema, parts: Mapping[str, _Number | _Words]) -> None:
        self.schema = schema
        self.parts = dict(parts)
        self.names = tuple(self._named())

    @classmethod
    def learn(cls, table: Table, weight: FloatArray | None = None) -> Features:
        """Learn scales, levels and gaps from training rows."""
        parts: dict[str, _Number | _Words] = {}
        for column in table.schema.attributes:
            if column.coded:
                parts[column.name] = _words(table, column.name, weight)
            else:
                parts[column.name] = _number(table.values(column.name), weight)
        return cls(table.schema, parts)

    @classmethod
    def plain(cls, schema: Schema) -> Features:
        """Return the features of numeric columns as they are, neither centred nor scaled."""
        return cls(schema, {own.name: _Number(0.0, 1.0, False) for own in schema.attributes})

    def _named(self) -> Iterator[Feature]:
        for name, part in self.parts.items():
            if isinstance(part, _Number):
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
            if isinstance(part, _Words) and part.others
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
            if isinstance(part, _Number):
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
            if isinstance(part, _Number):
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

    def state(self) -> dict[str, Any]:
        """Return what was learned as plain data."""
        return {
            name: {"mean": part.mean, "spread": part.spread, "flagged": part.flagged}
            if isinstance(part, _Number)
            else {"place": part.place.tolist(), "others": part.others}
            for name, part in self.parts.items()
        }

    @classmethod
    def restored(cls, schema: Schema, state: Mapping[str, Any]) -> Features:
        """Read features back from plain data.

        Raises
        ------
        ValueError
            The data do not fit the columns of the schema.
        """
        parts: dict[str, _Number | _Words] = {}
        for column in schema.attributes:
            own = state[column.name]
            if column.coded:
                place = np.asarray(own["place"], dtype=np.int64)
                parts[column.name] = _restored(column.levels, place, int(own["others"]))
                continue
            number = _Number(float(own["mean"]), float(own["spread"]), bool(own["flagged"]))
            if not number.spread > 0 or not np.isfinite([number.mean, number.spread]).all():
                raise ValueError(f"the scale of {column.name!r}")
            parts[column.name] = number
        return cls(schema, parts)

    def unscaled(self, feature: int, coefficient: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return a coefficient per unit of the column itself, and what its centre adds."""
        own = self.names[feature]
        part = self.parts[own.column]
        if not isinstance(part, _Number) or own.level is not None:
            return coefficient, np.zeros_like(coefficient)
        return coefficient / part.spread, -coefficient * (part.mean / part.spread)


def _width(part: _Words) -> int:
    return len(part.levels) + (part.others > 0)


def _scaled(part: _Number, values: FloatArray) -> tuple[FloatArray, NDArray[np.bool_]]:
    gap = np.isnan(values)
    with np.errstate(over="ignore"):
        scaled = (np.where(gap, part.mean, values) - part.mean) / part.spread
    return np.clip(scaled, -FARTHEST, FARTHEST), gap


def _number(values: FloatArray, weight: FloatArray | None) -> _Number:
    known = ~np.isnan(values)
    own = values[known]
    given = np.ones(len(own)) if weight is None else weight[known]
    if not len(own) or given.sum() <= 0:
        return _Number(0.0, 1.0, bool(len(values)))
    # Of equal values the spread must be nought, which the rounding of a mean would spoil.
    if own.min() == own.max():
        return _Number(float(own[0]), 1.0, not known.all())
    most = float(np.abs(own).max())
    mean = float(np.average(own / most, weights=given)) * most
    spread = float(np.sqrt(np.average(((own - mean) / most) ** 2, weights=given))) * most
    return _Number(mean, spread if spread > 0 and np.isfinite(spread) else 1.0, not known.all())


def _words(table: Table, name: str, weight: FloatArray | None) -> _Words:
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
    return _restored(levels, place, others)


def _restored(levels: tuple[Level, ...], place: NDArray[np.int64], others: int) -> _Words:
    if place.shape != (len(levels) + 2,) or others < 0:
        raise ValueError("the places of levels")
    width = int(place.max(initial=-1)) + 1 - (others > 0)
    kept: list[Level | None] = []
    for at in range(width):
        code = np.flatnonzero(place == at)
        if len(code) != 1 or code[0] > len(levels):
            raise ValueError("the places of levels")
        kept.append(None if code[0] == len(levels) else levels[int(code[0])])
    return _Words(place, tuple(kept), others)
