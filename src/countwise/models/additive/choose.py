"""Choose penalties, pairs of columns and the temperature by validation within the training rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.models.additive.basis import (
    CELL,
    KINDS,
    LINE,
    MISSING,
    STEP,
    SURFACE,
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
from countwise.models.additive.fit import (
    Rows,
    Validated,
    fit_parameters,
    is_better,
    losses,
    predict_range,
    spread_of,
    validate,
)
from countwise.models.additive.pairs import MAX_PAIRS, rank_pairs

#: Penalties of columns, strong to weak; those of pairs relative to them.
PENALTIES = (100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003)
_PAIR_FACTORS = (16.0, 4.0, 1.0, 0.3)
_STRONG_FACTORS = (64.0, 256.0)
#: Numbers of pairs that are tried beside none and all.
_FEW_PAIRS = (1, 3, 10, 30)
#: All pairs means as many as have so many parameters a row, but at least so many pairs.
_PARAMETERS_PER_ROW, _LEAST_FULL = 15, 40
#: A column has this many groups when pairs are compared; from so many rows on, more in its tables.
_GROUPS = 8
_MORE_GROUPS = ((4_000, 32), (1_500, 16))
#: Temperatures to try on the scores of rows that were left out.
_TEMPERATURES = np.exp(np.linspace(-0.7, 0.5, 25))

Report = Callable[[str], None]


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

    @classmethod
    def learn(
        cls,
        bins: Sequence[ColumnBins],
        knots: Sequence[NDArray[np.intp]],
        directions: Sequence[int],
        rows: float,
    ) -> Space:
        """Return the tables for so many rows, two classes' worth of them."""
        numbers = next((many for least, many in _MORE_GROUPS if rows >= least), _GROUPS)
        coarse = [group_column(column, _GROUPS, _GROUPS) for column in bins]
        groups = coarse
        if numbers > _GROUPS:
            groups = [group_column(column, numbers, _GROUPS) for column in bins]
        return cls(bins, knots, directions, coarse, groups)

    def columns(self, penalties: FloatArray) -> list[TermBasis]:
        """Return the basis of each column, given the penalties of lines and of steps."""
        line = float(penalties[LINE] / penalties[STEP])
        if line not in self._bases:
            self._bases[line] = [
                column_basis(column, knots, line, direction)
                for column, knots, direction in zip(
                    self.bins, self.knots, self.directions, strict=True
                )
            ]
        return self._bases[line]

    def design(self, pairs: Sequence[Pair], penalties: FloatArray) -> Design:
        """Return the tables of all columns and of these pairs."""
        return lay_out(self.columns(penalties), self.groups if pairs else (), pairs, self._products)

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


@dataclass(frozen=True, eq=False)
class Choice:
    """What was chosen: the tables, their penalties, where to start the last fit, the temperature.

    ``fold_tables`` are the tables of the columns in each fold.
    """

    design: Design
    penalties: FloatArray
    start: FloatArray
    temperature: float
    loss: float
    fold_tables: tuple[FloatArray, ...]
    spread: FloatArray


class _Search:
    """The steps of the choice; `best` holds the fits of all folds so far."""

    def __init__(self, rows: Rows, space: Space, report: Report) -> None:
        self.rows, self.space, self.report = rows, space, report
        self.lists: list[list[Pair]] = [[]] * (rows.folds + 1)
        self.count = 0
        path = [np.full(KINDS, penalty) for penalty in PENALTIES]
        designs = [space.design((), path[0])] * rows.folds
        report("penalty")
        self.best = validate(rows, designs, path, [None] * rows.folds)
        self.designs: Sequence[Design] = designs

    def rank(self) -> None:
        """Rank the pairs by what the columns alone leave unexplained."""
        self.report("pairs")
        rows, best = self.rows, self.best
        probabilities = best.probabilities
        if len(probabilities) < len(rows):
            start = len(probabilities)
            rest = predict_range(rows, self.designs[0], best.parameters[0], start, len(rows))
            probabilities = np.concatenate([probabilities, rest])
        free = [place for place, sign in enumerate(self.space.directions) if not sign]
        ridge = max(float(best.penalties[0]), 1.0)
        self.lists = rank_pairs(rows, self.space.coarse, probabilities, free, ridge)

    def with_pairs(
        self, count: int, strongest: float = _PAIR_FACTORS[0]
    ) -> tuple[Validated, Sequence[Design], int]:
        """Fit the columns with the first pairs of each fold's list, along a path of penalties."""
        rows, best = self.rows, self.best
        self.report(f"{count} pairs")
        designs = [self.space.design(pairs[:count], best.penalties) for pairs in self.lists[:-1]]
        starts = [
            np.concatenate(
                [start, np.zeros((design.basis.parameters + 1 - len(start), rows.scores))]
            )
            for start, design in zip(best.parameters, designs, strict=True)
        ]
        factors = [factor for factor in _PAIR_FACTORS if factor <= strongest]
        while factors[-1] * best.penalties[0] > 0.3:
            factors.append(factors[-1] * 0.3)
        spread = spread_of(best.probabilities)
        tried = validate(rows, designs, self._pair_path(factors), starts, spread)
        if tried.penalties[CELL] == self._pair_path(factors[:1])[0][CELL] and strongest >= 16:
            path = self._pair_path(_STRONG_FACTORS)
            stronger = validate(rows, designs, path, tried.parameters, spread)
            tried = min(tried, stronger, key=lambda each: each.loss)
        return tried, designs, count

    def _pair_path(self, factors: Sequence[float]) -> list[FloatArray]:
        """Return penalties with those of pairs so many times as large."""
        path = [self.best.penalties.copy() for _ in factors]
        for penalties, factor in zip(path, factors, strict=True):
            penalties[[CELL, SURFACE]] *= factor
        return path

    def _affordable(self) -> int:
        """Return how many pairs may be tried: their parameters are limited by the rows."""
        sizes = [
            self.space.groups[a].basis.size * self.space.groups[b].basis.size * self.rows.scores
            for a, b in self.lists[-1]
        ]
        room = _PARAMETERS_PER_ROW * len(self.rows)
        return max(int(np.searchsorted(np.cumsum(sizes), room)), _LEAST_FULL)

    def choose_pairs(self, wanted: int | str) -> None:
        """Choose how many pairs get a table: those asked for, or what validation says."""
        self.rank()
        full = min(max(map(len, self.lists[:-1]), default=0), self._affordable())
        if not full:
            return
        if not isinstance(wanted, str):
            self.best, self.designs, self.count = self.with_pairs(min(wanted, MAX_PAIRS))
            return
        columns = self.best
        tried = self.with_pairs(full)
        # Few pairs want penalties that are weaker than those of many.
        strongest = max(float(tried[0].penalties[CELL] / columns.penalties[CELL]), 1.0)
        some = [self.with_pairs(count, strongest) for count in _FEW_PAIRS if count < full]
        if is_better(self.rows, tried[0], columns, 1.0):
            self.best, self.designs, self.count = tried
        if some:
            tried = min(some, key=lambda each: each[0].loss)
            if is_better(self.rows, tried[0], self.best, 2.0):
                self.best, self.designs, self.count = tried

    def rescale(self, kinds: Sequence[int], times: int, errors: float) -> None:
        """Divide the penalties of some kinds by about 3 while that helps, or else multiply them."""
        for factor in (0.3, 3.0):
            improved = False
            for _ in range(times):
                penalties = self.best.penalties.copy()
                penalties[list(kinds)] *= factor
                if len(kinds) == KINDS and not 0.0025 < penalties[0] < 400:
                    break
                pairs = [design.pairs for design in self.designs]
                old = self.best.penalties
                designs = [self.space.design(each, penalties) for each in pairs]
                starts = [self.space.carry(each, old, penalties) for each in self.best.parameters]
                spread = spread_of(self.best.probabilities)
                tried = validate(self.rows, designs, [penalties], starts, spread)
                if tried.loss >= self.best.loss * (1 - 0.001 * errors):
                    break
                if not is_better(self.rows, tried, self.best, errors):
                    break
                self.best, self.designs, improved = tried, designs, True
            if improved:
                break

    def finish(self) -> Choice:
        """Return the tables for all rows, and where their fit starts."""
        best, designs = self.best, self.designs
        chosen = self.lists[-1][: self.count]
        design = self.space.design(chosen, best.penalties)
        start = np.zeros((design.basis.parameters + 1, self.rows.scores))
        columns = sum(basis.size for basis in self.space.columns(best.penalties)) + 1
        start[:columns] = np.mean([each[:columns] for each in best.parameters], axis=0)
        for place, pair in enumerate(chosen, start=len(self.space.bins)):
            known = [
                _part(fold, parameters, fold.pairs.index(pair) + len(self.space.bins))
                for fold, parameters in zip(designs, best.parameters, strict=True)
                if pair in fold.pairs
            ]
            if known:
                _part(design, start, place)[:] = np.mean(known, axis=0)
        return Choice(
            design,
            best.penalties,
            start,
            self._temperature(),
            best.loss,
            tuple(
                fold.basis.tables_of(np.ascontiguousarray(parameters[1:]))
                for fold, parameters in zip(designs, best.parameters, strict=True)
            ),
            spread_of(best.probabilities),
        )

    def _temperature(self) -> float:
        """Return the square root of the best temperature on the rows that were left out."""
        part = self.rows.validated
        y, weight = self.rows.y[part], self.rows.weight[part]
        logs = np.log(np.maximum(self.best.probabilities, 1e-12))

        def loss(temperature: float) -> float:
            powers = np.exp(logs * temperature)
            return float(weight @ losses(powers / powers.sum(axis=1, keepdims=True), y))

        found = min(_TEMPERATURES.tolist(), key=loss)
        return float(np.sqrt(found))


def _part(design: Design, parameters: FloatArray, place: int) -> FloatArray:
    """Return the parameters of one table."""
    starts = [*design.first_parameter.tolist(), design.basis.parameters]
    return parameters[1 + starts[place] : 1 + starts[place + 1]]


def choose(rows: Rows, space: Space, pairs: int | str, report: Report) -> Choice:
    """Choose penalties, pairs and temperature for these rows."""
    search = _Search(rows, space, report)
    if pairs != 0 and len(space.bins) > 1:
        search.choose_pairs(pairs)
    report("penalties")
    search.rescale(range(KINDS), 3, 0.0)
    used = {int(kind) for design in search.designs for kind in np.unique(design.kinds)} - {MISSING}
    if STEP in used:
        used |= {LINE}
    if len(used) > 1:
        for kind in sorted(used):
            search.rescale([kind], 2, 1.0)
    report("last fit")
    return search.finish()


def fit_last(rows: Rows, choice: Choice, scale: float = 1.0) -> FloatArray:
    """Fit the chosen tables to all rows, `scale` times as many as those of the choice."""
    design = choice.design
    if scale != 1.0:
        design = replace(design, norms=design.norms * scale)
    return fit_parameters(
        rows, design, choice.penalties, choice.start, spread=choice.spread, tight=True
    )
