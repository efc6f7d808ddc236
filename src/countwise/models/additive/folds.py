"""Validate penalties and pairs on folds: each fold is predicted by a fit to all others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from countwise._typing import FloatArray
from countwise.models.additive.basis import Design, Pair
from countwise.models.additive.fit import (
    LastWatch,
    Rows,
    TrainingRows,
    fit_parameters,
    losses,
    predict_range,
    scores_of,
    spread_of,
)
from countwise.models.additive.pairs import MAX_PAIRS
from countwise.models.additive.space import Space
from countwise.parallel import in_threads

if TYPE_CHECKING:
    from countwise.models.additive.dual import DualFits

#: A path of penalties stops when the loss is worse than the best one by this factor.
_WORSE = 1.005
#: A path is tried on half of the folds; they leave out at least, and need not leave out more than,
#: so many rows.
_FEW_ROWS, _ENOUGH_ROWS = 150, 500
#: A step of all folds may read so many entries of pairs, but those of so many pairs in any case.
_STEP_ENTRIES, _LEAST_PAIRS = 7_500_000, 100

Pairs = tuple[Pair, ...]


@dataclass(frozen=True, eq=False)
class FoldFit:
    """A fit to the rows outside a fold: its pairs and penalties, and what the search found."""

    pairs: Pairs
    penalties: FloatArray
    coefficients: FloatArray


@dataclass(frozen=True, eq=False)
class Validated:
    """Fits of all folds under the same penalties, and the probabilities of the rows left out."""

    loss: float
    penalties: FloatArray
    probabilities: FloatArray
    folds: tuple[FoldFit, ...]

    @property
    def pairs(self) -> list[Pairs]:
        """The pairs of each fold."""
        return [fold.pairs for fold in self.folds]


#: How the tables of a space are fitted to rows.
Fits: TypeAlias = "TableFits | DualFits"


class TableFits:
    """Fits whose coefficients are the parameters of the tables: for any number of rows."""

    def __init__(self, rows: Rows, space: Space) -> None:
        self.rows, self.space, self._unit = rows, space, rows.unit

    def most_pairs(self) -> int:
        """Return how many pairs a step may read, so that a fit does not take too long."""
        entries = len(self.rows) * self.rows.scores * self.rows.folds
        return min(max(_STEP_ENTRIES // entries, _LEAST_PAIRS), MAX_PAIRS)

    def fit_fold(
        self,
        fold: int,
        pairs: Pairs,
        penalties: FloatArray,
        start: FoldFit | None,
        spread: FloatArray | None,
    ) -> tuple[FloatArray, FloatArray]:
        """Fit all rows but those of a fold; return parameters and the fold's probabilities."""
        rows, design = self.rows, self.space.design(pairs, penalties)
        begin = None
        if start is not None:
            begin = self.space.carry(start.coefficients, start.penalties, penalties)
            more = design.basis.parameters + 1 - len(begin)
            begin = np.concatenate([begin, np.zeros((more, rows.scores))])
        parameters = fit_parameters(
            rows.part(fold), design, penalties * self._unit, begin, spread=spread
        )
        first, last = rows.bounds[fold : fold + 2].tolist()
        return parameters, predict_range(rows, design, parameters, first, last)

    def tables_of(self, fold: int, fit: FoldFit) -> FloatArray:
        """Return the tables of a fold's fit, behind each other."""
        design = self.space.design(fit.pairs, fit.penalties)
        return design.basis.tables_of(np.ascontiguousarray(fit.coefficients[1:]))

    def fit_all(
        self,
        rows: TrainingRows,
        pairs: Pairs,
        best: Validated,
        scale: float,
        watch: LastWatch | None = None,
    ) -> tuple[FloatArray, FloatArray]:
        """Fit all rows until the gradient is next to nothing, from the mean of the folds on.

        There are `scale` times as many rows as the folds had. `watch` may end a long fit. Returns
        the tables behind each other, and the biases.
        """
        design = self.space.design(pairs, best.penalties)
        start = np.zeros((design.basis.parameters + 1, scores_of(rows.classes)))
        number = len(self.space.bins)
        columns = sum(basis.size for basis in self.space.columns(best.penalties)) + 1
        start[:columns] = np.mean([fold.coefficients[:columns] for fold in best.folds], axis=0)
        designs = [self.space.design(each, best.penalties) for each in best.pairs]
        for place, pair in enumerate(pairs, start=number):
            known = [
                _part(design_, fold.coefficients, fold.pairs.index(pair) + number)
                for design_, fold in zip(designs, best.folds, strict=True)
                if pair in fold.pairs
            ]
            if known:
                _part(design, start, place)[:] = np.mean(known, axis=0)
        parameters = fit_parameters(
            rows,
            replace(design, norms=design.norms * scale),
            best.penalties * self._unit,
            start,
            spread=spread_of(best.probabilities),
            tight=True,
            watch=watch,
        )
        return design.basis.tables_of(np.ascontiguousarray(parameters[1:])), parameters[0]


def _part(design: Design, parameters: FloatArray, place: int) -> FloatArray:
    """Return the parameters of one table."""
    starts = [*design.first_parameter.tolist(), design.basis.parameters]
    return parameters[1 + starts[place] : 1 + starts[place + 1]]


def is_better(rows: Rows, new: Validated, old: Validated, errors: float) -> bool:
    """Return whether the loss is lower by more than so many standard errors of the difference."""
    part = rows.validated
    y, weight = rows.y[part], rows.weight[part]
    gain = losses(old.probabilities, y) - losses(new.probabilities, y)
    shares = weight / weight.sum()
    mean = float(shares @ gain)
    # The standard error of a weighted mean; with equal weights, deviation / √rows.
    error = np.sqrt(float(shares @ (gain - mean) ** 2) * float(shares @ shares))
    return bool(mean > errors * error)


def validate(
    fits: Fits,
    pairs: Sequence[Pairs],
    path: Iterable[FloatArray],
    starts: Validated | None = None,
    rival: Validated | None = None,
) -> Validated | None:
    """Fit folds along a path of penalties and return the best; stop where it gets worse.

    The path is tried on the first folds, the best penalties on all. None if they are not better
    than a `rival` on the first folds.
    """
    rows = fits.rows
    first = _first_folds(rows)
    begin: list[FoldFit | None] = [None] * rows.folds
    spread = None
    if starts is not None:
        begin, spread = list(starts.folds), spread_of(starts.probabilities)
    best: tuple[float, FloatArray, FloatArray, list[FoldFit | None]] | None = None
    for penalties in path:
        found = _fit_folds(fits, range(first), pairs, penalties, begin, spread)
        spread, loss = spread_of(found), _mean_loss(rows, found)
        if best is None or loss < best[0]:
            best = loss, penalties, found, begin.copy()
        elif loss > best[0] * _WORSE:
            break
    if best is None:
        return None
    loss, penalties, found, begin = best
    if rival is not None and loss >= _mean_loss(rows, rival.probabilities[: len(found)]):
        return None
    rest = range(first, rows.folds)
    more = _fit_folds(fits, rest, pairs, penalties, begin, spread_of(found)) if rest else found[:0]
    probabilities = np.concatenate([found, more])
    folds = tuple(fold for fold in begin if fold is not None)
    return Validated(_mean_loss(rows, probabilities), penalties, probabilities, folds)


def _first_folds(rows: Rows) -> int:
    """Return on how many folds a path of penalties is tried."""
    few, enough = np.searchsorted(rows.bounds, (_FEW_ROWS, _ENOUGH_ROWS)).tolist()
    return int(min(max(min((rows.folds + 1) // 2, enough), few), rows.folds))


def _fit_folds(
    fits: Fits,
    which: Sequence[int],
    pairs: Sequence[Pairs],
    penalties: FloatArray,
    begin: list[FoldFit | None],
    spread: FloatArray | None,
) -> FloatArray:
    """Fit some folds in threads, and return the probabilities of the rows that they leave out.

    The fits replace those in `begin`, where they started.
    """

    def fit_fold(fold: int) -> FloatArray:
        coefficients, probabilities = fits.fit_fold(
            fold, pairs[fold], penalties, begin[fold], spread
        )
        begin[fold] = FoldFit(pairs[fold], penalties, coefficients)
        return probabilities

    return np.concatenate(in_threads(fit_fold, which))


def _mean_loss(rows: Rows, probabilities: FloatArray) -> float:
    """Return the mean loss of the first rows, as many as have probabilities."""
    part = slice(0, len(probabilities))
    weight = rows.weight[part]
    return float(weight @ losses(probabilities, rows.y[part]) / (weight.sum() or 1.0))
