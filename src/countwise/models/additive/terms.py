"""The fitted terms of an additive model: a table for each column and for some pairs of columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.errors import TableError
from countwise.models.additive._passes import Layout
from countwise.models.additive.basis import Design, Groups, starts_of
from countwise.models.additive.bins import Codes, ColumnBins
from countwise.models.additive.fit import score_rows

#: Larger figures cannot come from a fit, and their sums would overflow.
_LARGEST = 1e100


@dataclass(frozen=True, eq=False)
class ColumnTerm:
    """A column: its bins, what each of them adds to the scores, and the standard error of that.

    There are no errors (None) where there was one fold only. ``group`` is the group of each bin in
    tables of pairs.
    """

    bins: ColumnBins
    table: FloatArray
    errors: FloatArray | None
    group: NDArray[np.uint16]

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return int(self.group.max(initial=0)) + 1


@dataclass(frozen=True, eq=False)
class PairTerm:
    """A pair of columns, by their positions: what each pair of groups adds to the scores.

    The means over either column are zero.
    """

    first: int
    second: int
    table: FloatArray
    counts: FloatArray

    def renumber(self, new: Mapping[int, int]) -> PairTerm:
        """Return the pair with new positions of its columns; the lower one is the first."""
        one, two = new[self.first], new[self.second]
        if one < two:
            return PairTerm(one, two, self.table, self.counts)
        table = np.ascontiguousarray(self.table.swapaxes(0, 1))
        return PairTerm(two, one, table, np.ascontiguousarray(self.counts.T))


@dataclass(frozen=True, eq=False)
class Terms:
    """Scores of the average row, and the terms that are added to them.

    Two classes have one score: the log-odds of the second.
    """

    base: FloatArray
    columns: tuple[ColumnTerm, ...]
    pairs: tuple[PairTerm, ...]

    def check(self) -> None:
        """Refuse terms that do not fit each other."""
        scores = len(self.base)
        sound = scores > 0
        for column in self.columns:
            sound &= column.table.shape == (column.bins.width + 2, scores)
            sound &= column.errors is None or column.errors.shape == column.table.shape
            sound &= len(column.group) == len(column.table)
        for pair in self.pairs:
            sound &= 0 <= pair.first < len(self.columns) > pair.second >= 0
            if not sound:
                break
            widths = tuple(self.columns[at].groups for at in (pair.first, pair.second))
            sound &= pair.table.shape == (*widths, scores) and pair.counts.shape == widths
        if not sound or not all(map(_is_bounded, self._figures())):
            raise TableError("Additive: its terms must be finite and fit each other.")

    def _figures(self) -> Iterator[FloatArray]:
        """Yield all arrays of numbers."""
        yield self.base
        for column in self.columns:
            yield from (column.table, column.bins.counts)
            if column.errors is not None:
                yield column.errors
        for pair in self.pairs:
            yield from (pair.table, pair.counts)

    def layout(self) -> tuple[Layout, FloatArray]:
        """Return where rows find their cells, and all tables behind each other."""
        scores = len(self.base)
        tables = [column.table for column in self.columns]
        sizes = [len(table) for table in tables]
        groups = [column.group for column in self.columns]
        tables += [pair.table.reshape(-1, scores) for pair in self.pairs]
        shape = [(pair.first, pair.second, pair.table.shape[1]) for pair in self.pairs]
        cells = np.asarray([len(table) for table in tables], dtype=np.int64)
        layout = Layout(
            starts_of(cells),
            np.concatenate([*groups, np.zeros(1, np.uint16)]),
            starts_of(np.asarray(sizes, dtype=np.int64)),
            np.asarray(shape, np.int32).reshape(-1, 3),
            int(cells.sum()),
        )
        return layout, np.concatenate([*tables, np.zeros((1, scores))])

    def scores(self, codes: Codes) -> FloatArray:
        """Return the scores of coded rows."""
        layout, tables = self.layout()
        return score_rows(layout, codes, tables, np.ascontiguousarray(self.base))

    def parts(self, codes: Codes) -> FloatArray:
        """Return what each term adds for coded rows, rows × terms × scores."""
        coded = list(zip(self.columns, codes, strict=True))
        parts = [column.table[code] for column, code in coded]
        grouped = [column.group[code] for column, code in coded] if self.pairs else []
        parts += [pair.table[grouped[pair.first], grouped[pair.second]] for pair in self.pairs]
        if not parts:
            return np.zeros((codes.shape[1], 0, len(self.base)))
        return np.stack(parts, axis=1)

    def in_order(self, names: Sequence[str]) -> Terms:
        """Return the same terms with the columns in the order of their names, words last."""
        places = {name: place for place, name in enumerate(names)}

        def place_of(at: int) -> tuple[bool, int]:
            bins = self.columns[at].bins
            return bins.word is not None, places[bins.name]

        order = sorted(range(len(self.columns)), key=place_of)
        new = {old: place for place, old in enumerate(order)}
        columns = tuple(self.columns[old] for old in order)
        return Terms(self.base, columns, tuple(pair.renumber(new) for pair in self.pairs))

    def strengths(self) -> FloatArray:
        """Return the mean absolute score that each term adds, over training rows."""
        found = []
        for column in self.columns:
            found.append(_mean_absolute(column.table, column.bins.counts))
        for pair in self.pairs:
            found.append(
                _mean_absolute(pair.table.reshape(-1, len(self.base)), pair.counts.ravel())
            )
        return np.asarray(found)


def _is_bounded(figures: FloatArray) -> bool:
    """Return whether figures are finite, and small enough that their sums are."""
    return bool(np.all(np.abs(figures) <= _LARGEST))


def _mean_absolute(table: FloatArray, counts: FloatArray) -> float:
    by_cell = np.abs(table).mean(axis=1)
    return float(counts @ by_cell / (counts.sum() or 1.0))


def gather_terms(
    design: Design,
    bins: Sequence[ColumnBins],
    groups: Sequence[Groups],
    cell_counts: FloatArray,
    tables: FloatArray,
    biases: FloatArray,
    fold_tables: Sequence[FloatArray],
    temperature: float,
) -> Terms:
    """Return the tables as terms: pairs without what their columns explain alone, all centered.

    The means of a pair's table over each of its columns move into the columns' tables (functional
    analysis of variance), the mean of every table into the base: no row's sum changes. What
    training never met adds nothing. `cell_counts` are the weights of the training rows in the cells
    of all tables.
    """
    tables, base = tables * temperature, biases * temperature
    starts = [*design.first_cell.tolist(), design.basis.cells]
    by_column = [tables[starts[j] : starts[j + 1]].copy() for j in range(len(bins))]
    pairs = []
    for place, (a, b) in enumerate(design.pairs, start=len(bins)):
        one, two = groups[a], groups[b]
        table = tables[starts[place] : starts[place + 1]].reshape(one.cells, two.cells, -1).copy()
        first, second = _shares(one.counts), _shares(two.counts)
        rows, columns = np.tensordot(table, second, (1, 0)), np.tensordot(first, table, 1)
        mean = first @ rows
        table += mean - rows[:, None] - columns[None]
        by_column[a] += (rows - mean)[one.group]
        by_column[b] += (columns - mean)[two.group]
        base = base + mean
        table[one.counts <= 0], table[:, two.counts <= 0] = 0.0, 0.0
        counts = cell_counts[starts[place] : starts[place + 1]]
        pairs.append(PairTerm(a, b, table, counts.reshape(one.cells, two.cells)))
    terms = []
    for place, (column, table) in enumerate(zip(bins, by_column, strict=True)):
        column = replace(column, counts=cell_counts[starts[place] : starts[place + 1]])
        mean = _shares(column.counts) @ table
        base, table = base + mean, table - mean
        table[column.counts <= 0] = 0.0
        part = slice(starts[place], starts[place + 1])
        errors = _errors([each[part] * temperature for each in fold_tables], column.counts)
        if errors is not None:
            errors[column.counts <= 0] = 0.0
        terms.append(ColumnTerm(column, table, errors, groups[place].group))
    return Terms(base, tuple(terms), tuple(pairs))


def _shares(counts: FloatArray) -> FloatArray:
    return np.asarray(counts / (counts.sum() or 1.0))


def _errors(tables: Sequence[FloatArray], counts: FloatArray) -> FloatArray | None:
    """Return standard errors from fits without a fold each (the jackknife of groups)."""
    if len(tables) < 2:
        return None
    centered = np.asarray([table - _shares(counts) @ table for table in tables])
    centered -= centered.mean(axis=0)
    factor = (len(tables) - 1) / len(tables)
    return np.asarray(np.sqrt(factor * (centered**2).sum(axis=0)))
