"""Choose penalties, pairs of columns and the temperature by validation within the training rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from countwise._typing import FloatArray
from countwise.models.additive.basis import CELL, KINDS, LINE, MISSING, STEP, SURFACE, Pair
from countwise.models.additive.dual import DualFits, is_dual_cheaper
from countwise.models.additive.fit import Rows, losses, predict_range
from countwise.models.additive.folds import (
    Fits,
    Pairs,
    TableFits,
    Validated,
    is_better,
    validate,
)
from countwise.models.additive.pairs import MAX_PAIRS, rank_pairs
from countwise.models.additive.space import Space

#: Penalties of columns, strong to weak; those of pairs relative to them.
PENALTIES = (100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003)
_PAIR_FACTORS = (16.0, 4.0, 1.0, 0.3)
_STRONG_FACTORS = (64.0, 256.0)
#: Where columns want a weak penalty, pairs may still want one as strong as this.
_STRONG_PENALTY = 3000.0
#: Numbers of pairs that are tried beside none and all.
_FEW_PAIRS = (1, 3, 10, 30)
#: A loss below this part of the best one is better, however much single rows differ.
_CLEARLY = 0.97
#: Temperatures to try on the scores of rows that were left out.
_TEMPERATURES = np.exp(np.linspace(-0.7, 0.5, 25))

Report = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class Choice:
    """What was chosen: pairs, penalties (those of the best fits of the folds), the temperature.

    ``fold_tables`` are the tables of the columns in each fold.
    """

    fits: Fits
    best: Validated
    pairs: Pairs
    temperature: float
    fold_tables: tuple[FloatArray, ...]


class _Search:
    """The steps of the choice; `best` holds the fits of all folds so far."""

    def __init__(self, rows: Rows, space: Space, report: Report, sampled: bool) -> None:
        self.rows, self.space, self.report = rows, space, report
        # The coefficients of the dual form belong to the rows, so it cannot go on to other rows.
        in_dual_form = not sampled and is_dual_cheaper(rows, space)
        self.fits: Fits = (DualFits if in_dual_form else TableFits)(rows, space)
        self.lists: list[list[Pair]] = [[]] * (rows.folds + 1)
        self.count = 0
        report("penalty")
        path = [np.full(KINDS, penalty) for penalty in PENALTIES]
        best = validate(self.fits, [()] * rows.folds, path)
        assert best is not None
        self.best = best

    def rank(self) -> None:
        """Rank the pairs by what the columns alone leave unexplained."""
        self.report("pairs")
        rows, best = self.rows, self.best
        probabilities = best.probabilities
        if len(probabilities) < len(rows):
            design = self.space.design((), best.penalties)
            found = best.folds[0].coefficients
            rest = predict_range(rows, design, found, len(probabilities), len(rows))
            probabilities = np.concatenate([probabilities, rest])
        ridge = max(float(best.penalties[0]), 1.0)
        self.lists = rank_pairs(rows, self.space.coarse, probabilities, self.space.paired, ridge)

    def with_pairs(
        self, count: int, rival: Validated | None, strongest: float = _PAIR_FACTORS[0]
    ) -> Validated | None:
        """Fit the columns with the first pairs of each fold's list, along a path of penalties."""
        self.report(f"{count} pairs")
        pairs = [tuple(each[:count]) for each in self.lists[:-1]]
        factors = [factor for factor in _PAIR_FACTORS if factor <= strongest]
        while factors[-1] * self.best.penalties[0] > 0.3:
            factors.append(factors[-1] * 0.3)
        tried = validate(self.fits, pairs, self._pair_path(factors), self.best, rival)
        first = self._pair_path(factors[:1])[0][CELL]
        if tried is None or tried.penalties[CELL] < first or strongest < _PAIR_FACTORS[0]:
            return tried
        factors = list(_STRONG_FACTORS)
        while 4 * factors[-1] * self.best.penalties[0] <= _STRONG_PENALTY:
            factors.append(4 * factors[-1])
        stronger = validate(self.fits, pairs, self._pair_path(factors), tried, rival)
        return tried if stronger is None or stronger.loss >= tried.loss else stronger

    def _pair_path(self, factors: Sequence[float]) -> list[FloatArray]:
        """Return penalties with those of pairs so many times as large."""
        path = [self.best.penalties.copy() for _ in factors]
        for penalties, factor in zip(path, factors, strict=True):
            penalties[[CELL, SURFACE]] *= factor
        return path

    def choose_pairs(self, wanted: int | str) -> None:
        """Choose how many pairs get a table: those asked for, or what validation says."""
        self.rank()
        full = min(max(map(len, self.lists[:-1]), default=0), self.fits.most_pairs())
        if not full:
            return
        if not isinstance(wanted, str):
            self.count = min(wanted, MAX_PAIRS)
            self.best = self.with_pairs(self.count, None) or self.best
            return
        columns = self.best
        everything = self.with_pairs(full, None)
        rival, strongest = columns, _PAIR_FACTORS[-2]
        if everything is not None:
            # Few pairs want penalties that are weaker than those of many.
            strongest = max(float(everything.penalties[CELL] / columns.penalties[CELL]), strongest)
            rival = min(columns, everything, key=lambda each: each.loss)
        some = [
            (tried, count)
            for count in _FEW_PAIRS
            if count < full and (tried := self.with_pairs(count, rival, strongest))
        ]
        if everything is not None and is_better(self.rows, everything, columns, 1.0):
            self.best, self.count = everything, full
        if some:
            tried, count = min(some, key=lambda each: each[0].loss)
            if is_better(self.rows, tried, self.best, 2.0):
                self.best, self.count = tried, count

    def rescale(self, kinds: Sequence[int], times: int, errors: float) -> None:
        """Divide the penalties of some kinds by about 3 while that helps, or else multiply them.

        A step helps if the loss falls by so many standard errors, or by three percent.
        """
        for factor in (0.3, 3.0):
            improved = False
            for _ in range(times):
                penalties = self.best.penalties.copy()
                penalties[list(kinds)] *= factor
                if len(kinds) == KINDS and not 0.0025 < penalties[0] < 400:
                    break
                best = self.best
                tried = validate(self.fits, best.pairs, [penalties], best, best)
                if tried is None or tried.loss >= best.loss * (1 - 0.001 * errors):
                    break
                clear = tried.loss < best.loss * _CLEARLY
                if not clear and not is_better(self.rows, tried, best, errors):
                    break
                self.best, improved = tried, True
            if improved:
                break

    def finish(self) -> Choice:
        """Return what was found, with the pairs for all rows."""
        tables = [self.fits.tables_of(place, fold) for place, fold in enumerate(self.best.folds)]
        chosen = tuple(self.lists[-1][: self.count])
        return Choice(self.fits, self.best, chosen, self._temperature(), tuple(tables))

    def kinds(self) -> list[int]:
        """Return the kinds of parameters whose penalties may differ."""
        found: set[int] = set()
        for pairs in set(self.best.pairs):
            found |= set(np.unique(self.space.design(pairs, self.best.penalties).kinds).tolist())
        return sorted((found | {LINE} if STEP in found else found) - {MISSING})

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


def choose(
    rows: Rows, space: Space, pairs: int | str, report: Report, sampled: bool = False
) -> Choice:
    """Choose penalties, pairs and temperature for these rows, or those they are sampled from."""
    search = _Search(rows, space, report, sampled)
    if pairs != 0 and len(space.bins) > 1:
        search.choose_pairs(pairs)
    report("penalties")
    search.rescale(range(KINDS), 3, 0.0)
    kinds = search.kinds()
    if len(kinds) > 1:
        for kind in kinds:
            search.rescale([kind], 2, 1.0)
    report("last fit")
    return search.finish()
