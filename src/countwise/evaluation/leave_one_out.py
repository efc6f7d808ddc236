"""Total minus one row, for all rows together.

Taking away a row of class c with value v changes the table of that attribute in one cell. So a
naive Bayes model of all rows but one needs, for each attribute, no more different terms than there
are pairs (c, v), whatever the number of rows; each comes from the model's own code, on counts of
that one attribute. Moments without one value follow for all rows at once. Other counted models
learn from total minus row, row by row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from countwise.counts.count import count
from countwise.counts.counts import Counts
from countwise.counts.grid import Grid, keys_of
from countwise.counts.moments import Moments
from countwise.evaluation.outcomes import Said
from countwise.evaluation.passes import said_by
from countwise.posteriors.base import normalised
from countwise.posteriors.densities import KernelDensity
from countwise.posteriors.naive_bayes import LEAST_VARIANCE, NaiveBayes
from countwise.posteriors.terms import LOWEST, ZERO
from countwise.tables.schema import Column, Schema
from countwise.tables.table import Table

Doubles = NDArray[np.float64]


def without_each_row(model: Any, table: Table, weight: Doubles | None = None) -> Said:
    """Return the posteriors of every row by the model of all other rows."""
    started = perf_counter()
    counts = count(table, model.plan(table.schema), weight=weight)
    if type(model) is NaiveBayes and _separable(model, table) and weight is None:
        posteriors, shares = _naive_bayes(model, table, counts)
    else:
        posteriors, shares = _row_by_row(model, table, counts, weight, range(len(table)))
    return Said(posteriors, shares, perf_counter() - started, 0.0)


def _separable(model: NaiveBayes, table: Table) -> bool:
    """Whether taking one row away changes each attribute's term for itself."""
    cut = any(model._estimate(column.name) == "cuts" for column in table.schema.numeric)
    return model.combine == "bayes" and not cut


def majority(table: Table, weight: Doubles | None) -> Said:
    """The class shares of all other rows, for every row."""
    given = np.ones(len(table)) if weight is None else weight
    counts = np.bincount(table.target, given, minlength=len(table.classes))
    lines: Doubles = np.tile(counts.astype(np.float64), (len(table), 1))
    lines[np.arange(len(table)), table.target] -= given
    lines /= lines.sum(axis=1, keepdims=True)
    return Said(lines, lines, 0.0, 0.0)


def together(answers: Sequence[Said]) -> Said:
    """Put the answers for single rows below each other."""
    decided = [own.decided for own in answers if own.decided is not None]
    return Said(
        np.concatenate([own.posteriors for own in answers]),
        np.stack([own.training for own in answers]),
        sum(own.fit_seconds for own in answers),
        sum(own.predict_seconds for own in answers),
        np.concatenate(decided) if decided else None,
        answers[0].certain,
    )


def _row_by_row(
    model: Any, table: Table, counts: Counts, weight: Doubles | None, rows: Iterable[int]
) -> tuple[Doubles, Doubles]:
    said = []
    for row in rows:
        one = table.take(slice(row, row + 1))
        own = None if weight is None else weight[row : row + 1]
        said.append(said_by(model, counts - count(one, counts.plan, weight=own), one, 0.0))
    none = np.zeros((0, len(table.classes)))
    posteriors = np.concatenate([none, *(own.posteriors for own in said)])
    return posteriors, np.concatenate([none, *(own.training[None, :] for own in said)])


def _naive_bayes(model: NaiveBayes, table: Table, counts: Counts) -> tuple[Doubles, Doubles]:
    present = np.flatnonzero(counts.weight[:-1] > 0)
    less = _Less(model, table, counts)
    scores = less.prior()
    shares = np.zeros((len(table), len(table.classes)))
    shares[:, present] = np.exp(scores)
    for column in table.schema.attributes:
        if column.coded:
            scores += less.nominal(column)
        elif model._estimate(column.name) == "kernel":
            scores += less.kernel(column)
        else:
            scores += less.gaussian(column)
    alone = counts.weight[table.target] == 1
    hard = np.flatnonzero(alone | (scores.max(axis=1) <= ZERO / 2))
    scores[scores <= ZERO / 2] = -np.inf
    scores[hard] = 0.0
    posteriors = np.zeros((len(table), len(table.classes)))
    posteriors[:, present] = normalised(scores)
    # The only row of a class, and rows no class allows, are left to the model itself.
    posteriors[hard], shares[hard] = _row_by_row(model, table, counts, None, hard.tolist())
    return posteriors, shares


class _Less:
    """Terms of a naive Bayes model for every row, each from the counts without that row."""

    def __init__(self, model: NaiveBayes, table: Table, counts: Counts) -> None:
        self.model, self.table, self.counts = model, table, counts
        self.target = table.target_column
        self.truth = table.target.astype(np.intp)
        self.classes = np.flatnonzero(counts.weight[:-1] > 0)
        self.place = np.full(len(counts.weight), -1)
        self.place[self.classes] = np.arange(len(self.classes))

    def _fitted(self, code: int, columns: tuple[Column, ...], **parts: Any) -> Any:
        """The model of some columns, without one row of a class."""
        weight = self.counts.weight.copy()
        # A class of one row would vanish; such rows are not asked about here.
        weight[code] = max(weight[code] - 1, 1)
        schema = Schema((*columns, self.target))
        plan = self.model.plan(schema)
        empty: dict[str, Any] = {"tables": {}, "moments": {}, "grids": {}}
        counts = Counts(schema, plan, self.counts.rows - 1, weight, **{**empty, **parts})
        return clone(self.model).fit_counts(counts)

    def prior(self) -> Doubles:
        """The log of the prior without a row of each class."""
        figures = np.zeros((len(self.counts.weight), len(self.classes)))
        for code in self.classes.tolist():
            figures[code] = self._fitted(code, ())._model.base
        return np.asarray(figures[self.truth])

    def nominal(self, column: Column) -> Doubles:
        """The term of a nominal column: one for each pair of class and value that occurs."""
        name, width = column.name, column.width
        codes = np.minimum(self.table.codes(name).astype(np.intp), width)
        pairs, place = np.unique(self.truth * (width + 1) + codes, return_inverse=True)
        figures = np.zeros((len(pairs), len(self.classes)))
        whole = self.counts.table(name)
        for at, pair in enumerate(pairs.tolist()):
            code, value = divmod(pair, width + 1)
            table = whole.copy()
            table[code, value] -= 1
            fitted = self._fitted(code, (column,), tables={(name,): table})
            figures[at] = fitted._model.terms[0].figures[value]
        return np.asarray(figures[place.ravel()])

    def kernel(self, column: Column) -> Doubles:
        """The term of a kernel estimate: one for each pair of class and number that occurs."""
        name = column.name
        values = self.table.values(name)
        keys = np.stack([self.truth, keys_of(np.nan_to_num(values)), np.isnan(values)], axis=1)
        _, first, place = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        figures = np.zeros((len(first), len(self.classes)))
        for at, row in enumerate(first.tolist()):
            code = int(self.truth[row])
            moments, grid = self._single(code, float(values[row]))
            parts: dict[str, Any] = {"grids": {name: self.counts.grids[name] - grid}}
            if name in self.counts.moments:
                parts["moments"] = {name: self.counts.moments[name] - moments}
            term = self._fitted(code, (column,), **parts)._model.terms[0]
            figures[at] = term.missing
            if not np.isnan(values[row]):
                logs = [_log_density(density, values[row]) for density in term.densities]
                figures[at] = np.maximum(term.weight + np.asarray(logs), LOWEST)
        return np.asarray(figures[place.ravel()])

    def _single(self, code: int, value: float) -> tuple[Moments, Grid]:
        """The counts of one number of one class."""
        slots = len(self.counts.weight)
        one, zero = np.zeros(slots), np.zeros(slots)
        one[code] = 1.0
        if np.isnan(value):
            return Moments(zero, zero, zero, one), replace(Grid.zero(slots), missing=one)
        grid = Grid(0, keys_of(np.asarray([value])), one[:, None], zero)
        return Moments(one, one * value, zero, zero), grid

    def gaussian(self, column: Column) -> Doubles:
        """The term of a normal density, for all rows at once."""
        values = self.table.values(column.name)
        gap = np.isnan(values)
        present, absent = self._presence(column)
        mean, variance = self._normal(column.name, np.where(gap, 0.0, values), ~gap)
        away = np.where(gap, 0.0, values)[:, None] - mean
        density = present[self.truth] - 0.5 * np.log(2 * np.pi * variance)
        density -= 0.5 / variance * away * away
        return np.where(gap[:, None], absent[self.truth], np.maximum(density, LOWEST))

    def _presence(self, column: Column) -> tuple[Doubles, Doubles]:
        """What being there, and being missing, says without such a row of each class."""
        name = column.name
        own = self.counts.moments[name]
        shape = (len(self.counts.weight), len(self.classes))
        present, absent = np.zeros(shape), np.zeros(shape)
        for code in self.classes.tolist():
            for missing in (False, True):
                field = "missing" if missing else "weight"
                changed = getattr(own, field).copy()
                changed[code] = max(changed[code] - 1, 0)
                moments = replace(own, **{field: changed})
                term = self._fitted(code, (column,), moments={name: moments})._model.terms[0]
                if missing:
                    absent[code] = term.missing
                else:
                    present[code] = term.weight
        return present, absent

    def _normal(
        self, name: str, values: Doubles, there: NDArray[np.bool_]
    ) -> tuple[Doubles, Doubles]:
        """Means and variances by class without each value, as `NaiveBayes` takes them."""
        own = self.counts.moments[name]
        truth = self.truth
        zero = np.zeros(len(values))
        whole = Moments(own.weight[truth], own.mean[truth], own.square[truth], zero)
        less = whole - Moments(there.astype(np.float64), values, zero, zero)
        at = (np.arange(len(values)), self.place[truth])
        weight, mean, square = (
            np.tile(array[self.classes], (len(values), 1))
            for array in (own.weight, own.mean, own.square)
        )
        weight[at], mean[at], square[at] = less.weight, less.mean, less.square
        total, middle, spread = _pooled(weight, mean, square)
        overall = np.where(total > 1, spread / np.maximum(total - 1, 1), 0.0)
        free = total - np.count_nonzero(weight > 0, axis=1)
        within = square.sum(axis=1)
        shared = (free > 0) & (within > 0)
        pooled = np.where(shared, within / np.where(free > 0, free, 1), overall)
        least = LEAST_VARIANCE * np.where(overall > 0, overall, 1.0)
        sample = self.model.variance == "sample"
        divisor = weight - 1.0 if sample else weight
        variance = np.where(divisor > 0, square / np.where(divisor > 0, divisor, 1.0), 0.0)
        few = weight <= 1 if sample else weight <= 0
        variance = np.where(few, np.where(pooled > 0, pooled, 1.0)[:, None], variance)
        return (
            np.where(weight > 0, mean, middle[:, None]),
            np.maximum(variance, least[:, None]),
        )


def _log_density(density: KernelDensity, value: float) -> float:
    """The log density at one value, summed over the points: cheaper than boxes for one value."""
    away = (value - density.points) / density.bandwidth
    with np.errstate(divide="ignore", over="ignore"):
        logs = np.log(density.weights) - 0.5 * away * away
    top = float(logs.max())
    if not np.isfinite(top):
        return LOWEST
    rest = float(np.log(np.exp(logs - top).sum()))
    return top + rest - float(np.log(density.bandwidth * np.sqrt(2 * np.pi)))


def _pooled(weight: Doubles, mean: Doubles, square: Doubles) -> tuple[Doubles, Doubles, Doubles]:
    """Weight, mean and squared deviation of all classes together, line by line."""
    zero = np.zeros(len(weight))
    merged = Moments(zero, zero, zero, zero)
    for column in range(weight.shape[1]):
        merged += Moments(weight[:, column], mean[:, column], square[:, column], zero)
    return merged.weight, merged.mean, merged.square
