"""Leave-one-out from counts: predict each row from the counts of all other rows.

The temperature of a model is found so, too. Naive Bayes and its relatives count shared evidence
twice, and are too sure of themselves. Divided by one number, the temperature, their scores keep
their order, and the probabilities become honest. Every row is scored by the counts without it; cuts
and structure of the model stay as they are, and nothing is fitted again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from countwise._typing import FloatArray
from countwise.counts.counts import Counts
from countwise.counts.histogram import Grid, keys_of
from countwise.counts.moments import Moments
from countwise.counts.smoothing import Smoothing, share_in_all, smoothing_of
from countwise.decisions.class_prior import prior_of
from countwise.discretize._mdl import find_intervals_without
from countwise.discretize.cut_points import margin_of, mdl_cuts
from countwise.models.bayes._leave_one_out import multiply_shares
from countwise.models.bayes.kernel_density import KernelDensity
from countwise.models.bayes.score_terms import (
    BACK_OFF,
    LOWEST,
    ZERO,
    backed_off,
    estimate_normal,
    floored_logs,
    presence_logs,
    share_of_column,
    sum_out_missing,
)
from countwise.numeric import limit_behind, log_softmax, logs_of, softmax
from countwise.tables.scan import Scan
from countwise.tables.schema import Column, Schema
from countwise.tables.table import Table

_BLOCK = 1 << 16


def best_prefix(
    table: Table | Scan,
    counts: Counts,
    families: Sequence[Family],
    rule: Smoothing | str,
    weight: FloatArray | None = None,
) -> int:
    """Return how many families, in order, give the least leave-one-out loss, or the fewest."""
    return int(np.argmin(np.round(prefix_losses(table, counts, families, rule, weight), 12)))


def prefix_losses(
    table: Table | Scan,
    counts: Counts,
    families: Sequence[Family],
    rule: Smoothing | str,
    weight: FloatArray | None = None,
) -> FloatArray:
    """Return the mean squared loss 1 - P(true class) after none, one, two … families.

    A row is taken out of the counts of its own class only where it stands: in its cell and in the
    totals of its parents' values. A row of weight 3 stands for three rows, of which one is left
    out. One pass over the rows serves all prefixes.
    """
    if isinstance(table, Scan):
        from countwise.tables.scan_pass import run_pass

        summed = run_pass(
            table,
            lambda part: _summed_losses(part.table, counts, families, rule, part.weight),
            lambda left, right: (left[0] + right[0], left[1] + right[1]),
        )
    else:
        summed = _summed_losses(table, counts, families, rule, weight)
    losses: FloatArray = summed[0] / max(summed[1], 1e-300)
    return losses


def _summed_losses(
    table: Table,
    counts: Counts,
    families: Sequence[Family],
    rule: Smoothing | str,
    weight: FloatArray | None,
) -> tuple[FloatArray, float]:
    """Return the summed losses of rows, and their weight."""
    losses = np.zeros(len(families) + 1)
    total = 0.0
    for start in range(0, len(table), _BLOCK):
        rows = table.take(slice(start, start + _BLOCK))
        block = np.ones(len(rows)) if weight is None else weight[start : start + _BLOCK]
        keep = (rows.target < rows.target_column.width) & (block > 0)
        rows, block = rows.take(keep), block[keep]
        left_out = LeftOut(rows, counts, np.minimum(block, 1.0))
        losses += _losses(left_out, families, rule, block)
        total += float(block.sum())
    return losses, total


def _losses(
    left_out: LeftOut, families: Sequence[Family], rule: Smoothing | str, weight: FloatArray
) -> FloatArray:
    """Return the summed loss after none, one, two … families."""
    scores = logs_of(left_out.class_weights())
    losses = [_loss(left_out, scores, weight)]
    for family in families:
        scores += left_out.log_shares(family, rule)
        losses.append(_loss(left_out, scores, weight))
    return np.asarray(losses)


def _loss(left_out: LeftOut, scores: FloatArray, weight: FloatArray) -> float:
    top = scores.max(axis=0)
    shares = np.exp(scores - np.where(np.isfinite(top), top, 0.0))
    whole = shares.sum(axis=0)
    true = shares[left_out.truth, left_out.every]
    sure = np.divide(true, whole, out=np.zeros_like(whole), where=whole > 0)
    return float((weight * (1.0 - sure) ** 2).sum())


Codes = NDArray[np.intp]
Family = tuple[str, ...]


def take_away(amounts: FloatArray, taken: FloatArray) -> FloatArray:
    """Return what is left; what rounding leaves of fractional weights is nothing."""
    less = amounts - taken
    return np.where(less <= 1e-12 * amounts, 0.0, less)


class LeftOut:
    """Rows of a table, each taken out of the counts; figures are classes × rows.

    `weight` is how much of each row is taken out.
    """

    def __init__(self, table: Table, counts: Counts, weight: FloatArray) -> None:
        self.table, self.counts, self.weight = table, counts, weight
        self.present = np.flatnonzero(counts.weight[:-1] > 0)
        self.truth = np.searchsorted(self.present, table.target)
        self.every = np.arange(len(table))

    def subtract(self, figures: FloatArray, rows: Codes) -> None:
        """Take rows out of figures of their own class, in place."""
        at = (self.truth[rows], np.arange(len(rows)))
        figures[at] = take_away(figures[at], self.weight[rows])

    def class_weights(self) -> FloatArray:
        """Return the weight of each class without each row."""
        weight = np.repeat(self.counts.weight[self.present, None], len(self.table), axis=1)
        self.subtract(weight, self.every)
        return weight

    def part(self, start: int, stop: int) -> LeftOut:
        """Return some of the rows."""
        rows = slice(start, stop)
        return LeftOut(self.table.take(rows), self.counts, self.weight[rows])

    def log_shares(
        self, family: Family, rule: Smoothing | str, missing_is_a_level: bool = False
    ) -> FloatArray:
        """Return log shares of the rows' values given their parents' values.

        Parents that a row lacks are summed out; a row that lacks the value itself adds nothing,
        unless missing is a level like others.
        """
        child, *parents = family
        cells = self.counts.table(*family)
        cells = sum_out_missing(cells if missing_is_a_level else cells[:, :-1], len(parents), 1)
        place = np.zeros(len(self.table), dtype=np.intp)
        for name in parents:
            place = place * (self.counts.schema[name].width + 1) + self.codes(name)
        logs = LogProducts((1, len(self.table), len(self.present)))
        cells = cells.reshape(*cells.shape[:2], prod(cells.shape[2:]))
        self.multiply_shares(child, [cells], [place], rule, logs)
        return np.transpose(logs.sums()[0])

    def multiply_shares(
        self,
        child: str,
        tables: list[FloatArray],
        parents: list[Codes],
        rule: Smoothing | str,
        logs: LogProducts,
    ) -> None:
        """Multiply the shares of a child given its parents in each of some families.

        Tables are classes × child × parents, and the rows are at these places of the parents. The
        last place, where none is known, holds sums over the others; the back-off does not read it.
        """
        codes, levels = self.codes(child), tables[0].shape[1]
        shape = logs.product.shape
        imagined: float | FloatArray
        whole: Any = BACK_OFF
        if isinstance(rule, str):
            imagined = BACK_OFF * self._shares_in_class(child, codes, levels)
        else:
            imagined, whole = rule.imagined(
                levels, shape[2], lambda: self._shares_in_all(tables, codes, parents)
            )
        each = np.shape(imagined)[:-2]
        imagined = np.array(np.broadcast_to(imagined, (*each, *shape[1:])), dtype=float, order="C")
        logs.make_room(float(imagined.min(initial=whole)) / (self.counts.total + whole))
        multiply_shares(
            tables,
            parents,
            self.present,
            codes,
            np.broadcast_to(imagined, shape),
            whole,
            1 / max(levels, 1),
            isinstance(rule, str),
            self.truth,
            self.weight,
            logs.product,
        )

    def _shares_in_class(self, child: str, codes: Codes, levels: int) -> FloatArray:
        """Return shares of the rows' values in each class, drawn to those in all rows."""
        cells = self.counts.table(child)[self.present, :levels]
        known = np.flatnonzero(codes < levels)
        inside = cells[:, codes[known]]
        whole = np.repeat(cells.sum(axis=1)[:, None], len(known), axis=1)
        less = self.weight[known]
        every = np.maximum(inside.sum(axis=0) - less, 0.0)
        column = share_of_column(every, cells.sum() - less, levels)
        self.subtract(inside, known)
        self.subtract(whole, known)
        shares = np.ones((len(codes), len(cells)))
        shares[known] = backed_off(inside, whole, column).T
        return shares

    def _shares_in_all(
        self, tables: list[FloatArray], codes: Codes, parents: list[Codes]
    ) -> FloatArray:
        """Return shares of the rows' values in all rows with these parents: families × rows."""
        levels = tables[0].shape[1]
        known = np.flatnonzero(codes < levels)
        shares = np.ones((len(tables), len(codes), 1))
        for line, cells, places in zip(shares, tables, parents, strict=True):
            place = places[known] if cells.shape[2] > 1 else 0 * known
            inside = cells[:, codes[known], place][self.present]
            whole = cells.sum(axis=1)[:, place][self.present]
            self.subtract(inside, known)
            self.subtract(whole, known)
            line[known, 0] = share_in_all(inside, whole, levels)[0]
        return shares

    def log_shares_of(
        self, count: FloatArray, total: FloatArray, rows: Codes, rule: Smoothing, levels: FloatArray
    ) -> FloatArray:
        """Return log shares of some rows' values with these counts, before the row is left out."""
        shares = np.ones_like(total)
        inside, whole = count[:, rows], total[:, rows]
        self.subtract(inside, rows)
        self.subtract(whole, rows)
        shares[:, rows] = rule.share(inside, whole, levels[rows])
        known = np.zeros(len(self.table), dtype=bool)
        known[rows] = True
        return _logs(shares, known)

    def codes(self, name: str) -> Codes:
        """Return codes in which unseen levels are missing, as they are in the counts."""
        codes = self.table.codes(name).astype(np.intp)
        return np.minimum(codes, self.table.schema[name].width)

    def moments(self, name: str) -> Moments:
        """Return the moments of a numeric column without each row: class slots × rows."""
        values = self.table.values(name)
        gap = np.isnan(values)
        zero = np.zeros(len(values))
        slot = self.present[self.truth]
        whole = self.counts.moments[name]
        less = Moments(*(figures[slot] for figures in whole.arrays())) - Moments(
            np.where(gap, 0.0, self.weight),
            np.where(gap, 0.0, values),
            zero,
            np.where(gap, self.weight, 0.0),
        )
        every = [np.repeat(figures[:, None], len(values), axis=1) for figures in whole.arrays()]
        for figures, changed in zip(every, less.arrays(), strict=True):
            figures[slot, self.every] = changed
        return Moments(*every)


class LogProducts:
    """Logs of products of shares, taken only before a product could become too small."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.product, self._logs = np.ones(shape), np.zeros(shape)
        self._least = 1.0

    def make_room(self, least: float) -> None:
        """Take the logs so far if factors that may be as small as this could go too far."""
        if self._least * least < 1e-290:
            self.sums()
        self._least *= least

    def sums(self) -> FloatArray:
        """Return the logs of the products so far."""
        with np.errstate(divide="ignore"):
            self._logs += np.log(self.product, out=self.product)
        self.product.fill(1.0)
        self._least = 1.0
        return self._logs


def _logs(shares: FloatArray, known: NDArray[np.bool_]) -> FloatArray:
    """Return logs of shares; what no class was ever seen with says nothing, as in the model."""
    with np.errstate(divide="ignore"):
        logs = np.log(shares, out=np.zeros_like(shares), where=known)
    logs[:, ~np.isfinite(logs).any(axis=0)] = 0.0
    return logs


def posteriors_without_each_row(
    model: Any, table: Table, weight: FloatArray | None
) -> tuple[FloatArray, Codes]:
    """Return the posteriors of every row by the naive Bayes model of all others, and unsure rows.

    `model` is fitted to the counts of all rows. Unsure are the only row of a class and rows that no
    class allows: there the model itself must be fitted without the row.
    """
    taken = np.ones(len(table)) if weight is None else weight
    left_out = LeftOut(table, model.counts_, taken)
    scores = _add_terms(_NaiveBayesLeftOut(model, left_out))
    alone = left_out.class_weights()[left_out.truth, left_out.every] <= 0
    unsure = np.flatnonzero(alone | (scores.max(axis=0) <= ZERO / 2))
    scores[scores <= ZERO / 2] = -np.inf
    scores[:, unsure] = 0.0
    posteriors = np.zeros((len(table), len(table.classes)))
    posteriors[:, left_out.present] = softmax(np.ascontiguousarray(scores.T))
    return posteriors, unsure


def naive_bayes_scores(model: Any, left_out: LeftOut) -> FloatArray:
    """Return the scores of rows (classes × rows), each without itself, cuts and widths held."""
    scores = _add_terms(_NaiveBayesHeld(model, left_out))
    scores[scores <= ZERO / 2] = -np.inf
    return scores


def _add_terms(rows: _NaiveBayesLeftOut) -> FloatArray:
    scores = floored_logs(rows.prior())
    for column in rows.table.schema.attributes:
        scores += rows.term(column)
    return scores


class _NaiveBayesLeftOut:
    """Prior and terms of a naive Bayes model for every row, without that row: classes × rows."""

    def __init__(self, model: Any, left_out: LeftOut) -> None:
        self.model, self.left_out = model, left_out
        self.table, self.counts = left_out.table, left_out.counts

    def prior(self) -> FloatArray:
        """Return the prior."""
        classes = self.model.classes_
        return prior_of(self.model.prior, self.left_out.class_weights(), classes, "NaiveBayes")

    def term(self, column: Column) -> FloatArray:
        """Return what a column adds to the scores."""
        if column.coded:
            rule = smoothing_of(self.model.smoothing)
            as_level = self.model.when_missing == "value"
            return np.maximum(self.left_out.log_shares((column.name,), rule, as_level), ZERO)
        if column.kind == "text":
            from countwise.models.bayes.words_left_out import WordsLeftOut

            vocabulary = self.model._vocabularies[column.name]
            return WordsLeftOut(self.model, self.left_out, vocabulary).term()
        estimate = self.model.estimate(column.name)
        if estimate == "cuts":
            return self._cuts(column.name)
        return self._kernel(column) if estimate == "kernel" else self._gaussian(column.name)

    def _cuts(self, name: str) -> FloatArray:
        """Cut the column anew without each row; equal rows are left out once."""
        grid, values = self.counts.grids[name], self.table.values(name)
        full = grid.table[:-1].sum(axis=0) > 0
        cells = np.ascontiguousarray(grid.table[:-1, full].T)
        gap = np.isnan(values)
        place = np.searchsorted(grid.keys[full], keys_of(np.where(gap, 0.0, values)) >> grid.shift)
        slots, truth, weight = self.left_out.present, self.left_out.truth, self.left_out.weight
        margin = margin_of(self.model.cuts)
        number = np.full(len(values), len(mdl_cuts(cells.T, margin)) + 1)
        low, high = np.zeros(len(values), np.intp), np.zeros(len(values), np.intp)
        rows = np.flatnonzero(~gap)
        keys = np.stack([place[rows], truth[rows], weight[rows].view(np.int64)], axis=1)
        _, first, back = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        chosen = rows[first]
        labels = slots[truth[chosen]]
        found = find_intervals_without(
            cells, grid.points[full], grid.exact, place[chosen], labels, weight[chosen], margin
        )
        for figures, fresh in zip((low, high, number), found, strict=True):
            figures[rows] = fresh[back.ravel()]
        reached = np.concatenate([np.zeros((1, len(slots))), np.cumsum(cells[:, slots], axis=0)])
        inside = (reached[high] - reached[low]).T
        total = np.repeat(reached[-1][:, None], len(values), axis=1)
        missing = grid.missing[slots][:, None]
        rule = smoothing_of(self.model.smoothing)
        if self.model.when_missing == "value":
            inside, total, number = np.where(gap, missing, inside), total + missing, number + 1
            rows = self.left_out.every
        return self.left_out.log_shares_of(inside, total, rows, rule, number.astype(float))

    def _gaussian(self, name: str) -> FloatArray:
        values = self.table.values(name)
        gap = np.isnan(values)
        moments = self.left_out.moments(name)
        slots = self.left_out.present
        least = self._least_deviation(name)
        mean, variance = estimate_normal(moments, slots, self.model.variance, least)
        present = absent = np.zeros_like(mean)
        if self.model.when_missing == "value":
            rule = smoothing_of(self.model.smoothing)
            present, absent = presence_logs(moments.weight[slots], moments.missing[slots], rule)
        away = np.where(gap, 0.0, values) - mean
        density = present - 0.5 * np.log(2 * np.pi * variance)
        density -= 0.5 / variance * away * away
        return np.where(gap, absent, np.maximum(density, LOWEST))

    def _least_deviation(self, name: str) -> FloatArray:
        """Return the least deviation of a column without each row: a value may leave with it."""
        least: Callable[..., FloatArray] = self.model.least_deviation
        if name not in self.counts.grids:
            return least(0.0, 1)
        grid, values = self.counts.grids[name], self.table.values(name)
        amount = grid.table[:-1].sum(axis=0)
        full = np.flatnonzero(amount > 0)
        points, amount = grid.points[full], amount[full]
        gap = np.isnan(values)
        if len(points) < 2:
            return least(0.0, len(points))
        cell = keys_of(np.where(gap, points[0], values)) >> grid.shift
        place = np.searchsorted(grid.keys[full], cell)
        left = amount[place] - self.left_out.weight
        gone = ~gap & (left <= 1e-12 * max(float(amount.sum()), 1.0))
        low = np.where(gone & (place == 0), points[1], points[0])
        high = np.where(gone & (place == len(points) - 1), points[-2], points[-1])
        return least(high - low, len(points) - gone)

    def _kernel(self, column: Column) -> FloatArray:
        """Fit one density for each triple of class, number and weight that occurs."""
        values, truth = self.table.values(column.name), self.left_out.truth
        number = keys_of(np.nan_to_num(values))
        weight = self.left_out.weight.view(np.int64)
        keys = np.stack([truth, number, np.isnan(values), weight], axis=1)
        _, first, place = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        figures = np.zeros((len(self.left_out.present), len(first)))
        for at, row in enumerate(first.tolist()):
            term = self._term_without(column, row)
            figures[:, at] = term.missing
            if not np.isnan(values[row]):
                logs = [_log_density(density, values[row]) for density in term.densities]
                figures[:, at] = np.maximum(term.weight + np.asarray(logs), LOWEST)
        return figures[:, place.ravel()]

    def _term_without(self, column: Column, row: int) -> Any:
        """Return the term of the model of one numeric column, fitted without one row."""
        name, slot = column.name, int(self.left_out.present[self.left_out.truth[row]])
        single = self._single(slot, float(self.table.values(name)[row]), self.left_out.weight[row])
        weight = self.counts.weight.copy()
        # A class of one row would vanish; such rows are left open.
        less = weight[slot] - self.left_out.weight[row]
        weight[slot] = less if less > 1e-12 * weight[slot] else weight[slot]
        schema = Schema((column, self.table.target_column))
        grids = {name: self.counts.grids[name] - single}
        plan = self.model.counts_needed(schema)
        counts = Counts(schema, plan, self.counts.rows - 1, weight, {}, {}, grids)
        return clone(self.model).fit_counts(counts)._model.terms[0]

    def _single(self, slot: int, value: float, weight: float) -> Grid:
        """Return the grid of one number of one class."""
        one, zero = np.zeros(len(self.counts.weight)), np.zeros(len(self.counts.weight))
        one[slot] = weight
        if np.isnan(value):
            return replace(Grid.zero(len(one)), missing=one)
        return Grid(0, keys_of(np.asarray([value])), one[:, None], zero)


class _NaiveBayesHeld(_NaiveBayesLeftOut):
    """The same for rows as the model sees them: cut at its cut points, bandwidths as they are."""

    def _kernel(self, column: Column) -> FloatArray:
        """Take the bump of each row out of the density of its class."""
        term = next(t for t in self.model._model.terms if t.columns == (column.name,))
        figures = np.zeros((len(self.table), len(self.left_out.present)))
        term.add(self.table, 0, len(self.table), figures)
        figures, weight, truth = figures.T, self.left_out.weight, self.left_out.truth
        rows = np.flatnonzero(~np.isnan(self.table.values(column.name)))
        grid = self.counts.grids[column.name]
        total = grid.table[self.left_out.present].sum(axis=1)[truth[rows]]
        width = np.array([density.bandwidth for density in term.densities])[truth[rows]]
        at = truth[rows], rows
        bump = weight[rows] / (width * np.sqrt(2 * np.pi))
        left = total * np.exp(figures[at] - term.weight[truth[rows]]) - bump
        rest = total - weight[rows]
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(np.maximum(left, 0.0)) - np.log(rest)
        # Beyond what the bump of the row itself hides, nothing is known: the tail of the others.
        figures[at] = np.where(
            (rest > 0) & (left > 1e-6 * bump), logs, np.log(1e-6 * bump / np.maximum(rest, 1.0))
        ) + term.weight[truth[rows]]  # fmt: skip
        return np.ascontiguousarray(figures)


def _log_density(density: KernelDensity, value: float) -> float:
    """Return the log density at one value, summed over the points: cheaper than boxes for one."""
    away = (value - density.points) / density.bandwidth
    with np.errstate(divide="ignore", over="ignore"):
        logs = np.log(density.weights) - 0.5 * away * away
    top = float(logs.max())
    if not np.isfinite(top):
        return LOWEST
    rest = float(np.log(np.exp(logs - top).sum()))
    return top + rest - float(np.log(density.bandwidth * np.sqrt(2 * np.pi)))


#: From larger tables so many rows are taken, evenly spaced: one number needs no more.
MOST_ROWS = 5_000
#: The log loss of all rows must fall by more than this; by chance it falls by a half.
LEAST_GAIN = 2.0
#: Temperatures outside of this range are not looked for.
_COLDEST, _HOTTEST = 0.2, 50.0
_STEPS = 60
#: A step of Newton's method that changes less than this is the last: it was right to its square.
_CLOSE = 1e-9


def sample_rows(
    table: Table, weight: FloatArray | None, rows: NDArray[np.intp] | None
) -> tuple[Table, FloatArray]:
    """Return rows with a class and a weight, evenly spaced if there are many, and their weights."""
    useful = table.target < table.target_column.width
    if weight is not None:
        useful &= weight > 0
    if rows is None:
        rows = np.flatnonzero(useful)
    elif not useful.all():
        rows = rows[useful[rows]]
    if len(rows) > MOST_ROWS:
        rows = rows[np.linspace(0, len(rows) - 1, MOST_ROWS).astype(np.intp)]
    given = np.ones(len(rows)) if weight is None else weight[rows]
    return (table if len(rows) == len(table) else table.take(rows)), given


def find_temperature(scores: FloatArray, truth: NDArray[np.intp], weight: FloatArray) -> float:
    """Return the temperature with the least log loss of these scores, or 1 if it gains too little.

    `scores` (rows × classes) are log probabilities of rows left out. Rows of a class that is
    impossible without them say nothing about the temperature.

    Examples
    --------
    >>> scores = np.log([[0.999, 0.001], [0.001, 0.999]] * 50)
    >>> truth = np.array([0, 1] * 40 + [1, 0] * 10)
    >>> round(find_temperature(scores, truth, np.ones(100)), 2)
    4.98
    """
    possible = np.isfinite(scores[np.arange(len(scores)), truth])
    scores, truth, weight = scores[possible], truth[possible], weight[possible]
    if not len(scores):
        return 1.0
    # Weights may be shares that sum to one: there are at least as many rows as lines.
    weight = weight * max(1.0, len(weight) / float(weight.sum()))
    behind = limit_behind(scores)
    true = behind[np.arange(len(truth)), truth]

    def slopes(share: float) -> tuple[float, float]:
        shares = softmax(behind * share)
        expected = (shares * behind).sum(axis=1)
        spread = (shares * behind * behind).sum(axis=1) - expected * expected
        return float((weight * (expected - true)).sum()), float((weight * spread).sum())

    # The loss is convex in one over the temperature: its slope rises, and changes sign once.
    least, most = 1 / _HOTTEST, 1 / _COLDEST
    low, high, best = 0.0, np.inf, 1.0
    for _ in range(_STEPS):
        slope, curve = slopes(best)
        if slope == 0:
            break
        low, high = (best, high) if slope < 0 else (low, best)
        step = min(max(best - slope / curve, least), most) if curve > 0 else 0.0
        before, best = best, step
        if abs(best - before) <= _CLOSE * best:
            break
        if not low < best < high:
            best = (max(low, least) * min(high, most)) ** 0.5
    loss = [-(weight * log_softmax(behind * share)[np.arange(len(truth)), truth]).sum()
            for share in (1.0, best)]  # fmt: skip
    return float(1 / best) if loss[0] - loss[1] > LEAST_GAIN else 1.0
