"""Fits of small tables in dual form: a coefficient for each row and score."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.models.additive._dual import solve
from countwise.models.additive.basis import (
    CELL,
    KINDS,
    LEVEL,
    LINE,
    MISSING,
    STEP,
    SURFACE,
    Pair,
    line_and_steps,
)
from countwise.models.additive.fit import (
    LOSS_LIMIT,
    MAX_STEPS,
    SLOPE_LIMIT,
    LastWatch,
    Rows,
    TrainingRows,
    to_probabilities,
)
from countwise.models.additive.folds import FoldFit, Pairs, Validated
from countwise.models.additive.pairs import MAX_PAIRS
from countwise.models.additive.space import Space

Places = NDArray[np.intp]

#: The bias has a prior, too, with a variance that is as good as none.
_BIAS = 1e4
#: The dual form is for no more rows than these.
_MOST_ROWS = 500
#: What a step costs for each parameter of a pair, next to what it costs for each kernel.
_PARAMETER_COST = 20
#: With one score, what is done once for all scores costs as much again as so many steps.
_ONE_SCORE = 4


def is_dual_cheaper(rows: Rows, space: Space) -> bool:
    """Return whether the dual form suits: few rows, many parameters of pairs."""
    if len(rows) > _MOST_ROWS or any(space.directions):
        return False
    sizes = np.asarray([space.groups[at].basis.size for at in space.paired], dtype=np.float64)
    pairs = len(sizes) * (len(sizes) - 1) / 2
    parameters = (sizes.sum() ** 2 - (sizes**2).sum()) / 2 * min(1.0, MAX_PAIRS / max(pairs, 1.0))
    plain = len(rows) * min(pairs, MAX_PAIRS) + _PARAMETER_COST * float(parameters)
    return len(rows) ** 2 * (_ONE_SCORE if rows.scores == 1 else 1) < plain


class DualFits:
    """Fits whose coefficients are minus the residuals of the training rows.

    The score of a row is the sum of its kernels with the training rows times their coefficients.
    The kernel of two rows is the sum, over all parameters, of the product of what they contribute,
    divided by the penalty. So a step costs the same however many pairs there are.
    """

    def __init__(self, rows: Rows, space: Space) -> None:
        self.rows, self.space = rows, space
        self._grouped = [
            part.group[code].astype(np.intp)
            for part, code in zip(space.groups, rows.codes, strict=True)
        ]
        # With one score for two classes, its square is twice the sum of squares of both.
        self._share = (0.5 if rows.scores == 1 else 1.0) * rows.unit
        self._bias = _BIAS / rows.unit
        self._columns = np.zeros((KINDS, len(rows), len(rows)))
        for place, codes in enumerate(rows.codes):
            for kind, factors in self._factors(place):
                found = factors[codes]
                self._columns[kind] += found @ found.T
        self._pairs: dict[Pairs, tuple[NDArray[np.uint16], FloatArray | None]] = {}
        self._last: tuple[Pairs, FloatArray, FloatArray] | None = None

    def _factors(self, place: int) -> Iterable[tuple[int, FloatArray]]:
        """Yield kinds of parameters of a column, and what each contributes to each bin."""
        bins = self.space.bins[place]
        width = bins.width
        every = np.eye(width + 2)
        if bins.numeric:
            basis = np.zeros((width + 2, len(self.space.knots[place]) + 1 if width > 1 else 0))
            basis[:width] = line_and_steps(
                bins.counts[:-2], bins.centers, self.space.knots[place], 1.0
            )
            yield LINE, basis[:, :1]
            yield STEP, basis[:, 1:]
        else:
            yield LEVEL, every[:, :width]
        yield MISSING, every[:, width : width + 1]

    def _line(self, place: int) -> FloatArray | None:
        """Return the standardized numbers of the groups of a column."""
        line = self.space.groups[place].line
        return None if line is None or line.matrix is None else line.matrix[:, 0]

    def _pair_grams(self, pairs: Pairs) -> tuple[NDArray[np.uint16], FloatArray | None]:
        """Return how many cells two rows share, and the sum of the products of their lines.

        Every fold has pairs of its own, so the small numbers of cells are kept in two bytes.
        """
        known = self._pairs.get(pairs)
        if known is not None:
            return known
        size = len(self.rows)
        shared, products = np.zeros((size, size), np.uint16), []
        for a, b in pairs:
            cells = self._cells_of((a, b))
            shared += cells[:, None] == cells
            one, two = self._line(a), self._line(b)
            if one is not None and two is not None:
                products.append(one[self._grouped[a]] * two[self._grouped[b]])
        lines = np.asarray(products)
        self._pairs[pairs] = shared, lines.T @ lines if products else None
        return self._pairs[pairs]

    def _cells_of(self, pair: Pair) -> Places:
        """Return the cell of each row in the table of a pair."""
        a, b = pair
        return np.asarray(self._grouped[a] * self.space.groups[b].cells + self._grouped[b])

    def most_pairs(self) -> int:
        """Return as many as a model may have: a step costs the same with all of them."""
        return MAX_PAIRS

    def gram(self, pairs: Pairs, penalties: FloatArray) -> FloatArray:
        """Return the kernels of all rows; folds with the same pairs share them."""
        last = self._last
        if last is not None and last[0] == pairs and np.array_equal(last[1], penalties):
            return last[2]
        gram = np.full((len(self.rows), len(self.rows)), self._bias)
        for kind in (LINE, STEP, LEVEL, MISSING):
            gram += self._columns[kind] / (penalties[kind] * self._share)
        if pairs:
            cells, lines = self._pair_grams(pairs)
            gram += cells / (penalties[CELL] * self._share)
            if lines is not None:
                gram += lines / (penalties[SURFACE] * self._share)
        self._last = pairs, penalties, gram
        return gram

    def _training(self, fold: int) -> Places:
        first, last = self.rows.bounds[fold : fold + 2].tolist()
        return np.concatenate([np.arange(first), np.arange(last, len(self.rows))])

    def fit_fold(
        self,
        fold: int,
        pairs: Pairs,
        penalties: FloatArray,
        start: FoldFit | None,
        spread: FloatArray | None,
    ) -> tuple[FloatArray, FloatArray]:
        """Fit all rows but those of a fold; return coefficients and the fold's probabilities."""
        rows = self.rows
        train = self._training(fold)
        gram = self.gram(pairs, penalties)
        weight = rows.weight[train]
        begin = np.zeros((rows.scores, len(train)))
        if start is not None:
            begin = start.coefficients * float((start.penalties / penalties)[STEP] ** -0.5)
        found, _ = solve(
            np.ascontiguousarray(gram[np.ix_(train, train)]),
            rows.y[train],
            weight,
            begin,
            LOSS_LIMIT * float(weight.sum()),
            0.0,
            MAX_STEPS,
        )
        first, last = rows.bounds[fold : fold + 2].tolist()
        return found, to_probabilities(gram[first:last][:, train] @ found.T)

    def tables_of(self, fold: int, fit: FoldFit) -> FloatArray:
        """Return the tables of a fold's fit, behind each other."""
        return self._tables(self._training(fold), fit.pairs, fit.penalties, fit.coefficients.T)

    def _tables(
        self, train: Places, pairs: Pairs, penalties: FloatArray, coefficients: FloatArray
    ) -> FloatArray:
        """Return the tables that coefficients of training rows amount to."""
        tables, penalties = [], penalties * self._share
        for place, codes in enumerate(self.rows.codes):
            sums = _sum_cells(codes[train], len(self.space.bins[place].counts), coefficients)
            parts = [
                factors @ (factors.T @ sums) / penalties[kind]
                for kind, factors in self._factors(place)
            ]
            tables.append(np.sum(parts, axis=0))
        for pair in pairs:
            tables.append(self._pair_table(train, pair, penalties, coefficients))
        return np.concatenate(tables)

    def _pair_table(
        self, train: Places, pair: Pair, penalties: FloatArray, coefficients: FloatArray
    ) -> FloatArray:
        a, b = pair
        one, two = self.space.groups[a].cells, self.space.groups[b].cells
        sums = _sum_cells(self._cells_of(pair)[train], one * two, coefficients)
        table = sums / penalties[CELL]
        left, right = self._line(a), self._line(b)
        if left is not None and right is not None:
            line = np.outer(left, right).ravel()
            table += np.outer(line, line @ sums) / penalties[SURFACE]
        return np.asarray(table)

    def fit_all(
        self,
        rows: TrainingRows,
        pairs: Pairs,
        best: Validated,
        scale: float,
        watch: LastWatch | None = None,
    ) -> tuple[FloatArray, FloatArray]:
        """Fit all rows, which are those of the folds; return tables and biases."""
        assert scale == 1.0, "the dual form is for rows that are all in the folds"
        known = self.rows
        found, _ = solve(
            self.gram(pairs, best.penalties),
            known.y,
            known.weight,
            np.zeros((known.scores, len(known))),
            -1.0,
            SLOPE_LIMIT,
            MAX_STEPS,
        )
        tables = self._tables(np.arange(len(known)), pairs, best.penalties, found.T)
        return tables, self._bias * found.sum(axis=1)


def _sum_cells(cells: NDArray[Any], width: int, coefficients: FloatArray) -> FloatArray:
    """Return the sums of coefficients in each cell."""
    sums = np.zeros((width, coefficients.shape[1]))
    np.add.at(sums, cells, coefficients)
    return sums
