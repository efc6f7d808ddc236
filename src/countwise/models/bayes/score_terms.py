"""The score of a row: a sum of terms, one for each column or group of columns.

A model is a prior and a list of terms; prediction, explanation and export all read this one list.
Terms of nominal columns are tables; several of them are joined into larger tables, so that a row
needs one look-up for several columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from countwise._typing import FloatArray
from countwise.counts.engines import _kernels
from countwise.counts.moments import Moments, freedom
from countwise.counts.smoothing import Smoothing
from countwise.errors import CountsError
from countwise.models.bayes import _score_terms
from countwise.numeric import logs_of
from countwise.parallel import in_chunks
from countwise.tables.table import Table

if TYPE_CHECKING:
    from countwise.models.bayes.kernel_density import KernelDensity


#: The log of zero: far below any log density, yet thousands of them still add up to a number.
ZERO = -1e280
#: No log density is let below this, so that a value beyond all measure still leaves a posterior.
LOWEST = -1e250

#: A class whose values do not vary keeps this share of the column's variance.
LEAST_VARIANCE = 1e-9
#: Values near the largest double have squares that no double holds; their variance stops here.
MOST_VARIANCE = 1e300

_CHUNK = 1 << 16
_JOINT_DOUBLES = 1 << 14


class Term(Protocol):
    """Adds one figure a class to the scores of rows."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns the term reads; the first one gives it its name."""

    def add(self, table: Table, start: int, stop: int, scores: FloatArray) -> None:
        """Add the term's figures for rows `start` to `stop` to `scores`."""


@dataclass(frozen=True)
class TableTerm:
    """A table of figures: one line a cell of its columns' codes (missing and unseen included)."""

    columns: tuple[str, ...]
    figures: FloatArray  # one axis a column (width + 2), then the classes

    def add(self, table: Table, start: int, stop: int, scores: FloatArray) -> None:
        """Look the rows up."""
        strides, lines = self._lines
        codes = []
        for axis, name in enumerate(self.columns):
            if table.schema[name].width + 2 != self.figures.shape[axis]:
                raise CountsError(
                    f"Counts: the table of {name!r} does not fit the levels of its column. "
                    "Count the rows again."
                )
            codes.append(table.codes(name))
        _score_terms.add_tables(_kernels.Axes(codes, strides), start, stop, lines, scores)

    @cached_property
    def _lines(self) -> tuple[list[int], FloatArray]:
        shape = self.figures.shape[:-1]
        strides = [prod(shape[axis + 1 :]) for axis in range(len(shape))]
        return strides, self.figures.reshape(-1, self.figures.shape[-1])


@dataclass(frozen=True)
class GaussianTerm:
    """The log of a normal density in each class; a missing number adds `missing`."""

    columns: tuple[str, ...]
    mean: FloatArray
    variance: FloatArray
    weight: (
        FloatArray  # log weight: share of present values, or the prior where terms are posteriors
    )
    missing: FloatArray
    normalize: bool = False

    def add(self, table: Table, start: int, stop: int, scores: FloatArray) -> None:
        """Evaluate the densities."""
        precision, constant = self.constants
        _score_terms.add_gaussians(
            table.values(self.columns[0]),
            start,
            stop,
            self.mean,
            precision,
            constant,
            self.missing,
            self.normalize,
            LOWEST,
            scores,
        )

    @cached_property
    def constants(self) -> tuple[FloatArray, FloatArray]:
        """By class, what the squared distance from the mean is multiplied by, and what is left."""
        return 0.5 / self.variance, self.weight - 0.5 * np.log(2 * np.pi * self.variance)


@dataclass(frozen=True)
class KernelTerm:
    """The log of a kernel density in each class; a missing number adds `missing`."""

    columns: tuple[str, ...]
    densities: tuple[KernelDensity, ...]
    weight: FloatArray
    missing: FloatArray
    normalize: bool = False

    def add(self, table: Table, start: int, stop: int, scores: FloatArray) -> None:
        """Evaluate the densities."""
        _score_terms.add_kernels(
            table.values(self.columns[0]),
            start,
            stop,
            [d.arrays for d in self.densities],
            self.weight,
            self.missing,
            self.normalize,
            LOWEST,
            scores,
        )


class ScoreTerms:
    """The prior and the terms of a model, ready to score rows."""

    def __init__(self, base: FloatArray, terms: Sequence[Term], join: bool = True) -> None:
        self.base = base
        self.terms = tuple(terms)
        tables = [term for term in terms if isinstance(term, TableTerm)]
        self._fast: list[Term] = [
            *(_join(tables) if join else tables),
            *(t for t in terms if not isinstance(t, TableTerm)),
        ]

    def scores(self, table: Table) -> FloatArray:
        """Return base and terms added up: one line a row, one figure a class."""
        out = np.empty((len(table), len(self.base)))
        self._chunks(table, lambda start, stop, scores: None, out)
        return out

    def best(self, table: Table) -> tuple[NDArray[np.int64], FloatArray]:
        """Return position and score of each row's best class, without keeping the others."""
        best = np.empty(len(table), dtype=np.int64)
        top = np.empty(len(table))

        def keep(start: int, stop: int, scores: FloatArray) -> None:
            _score_terms.best_class(scores, stop - start, best[start:stop], top[start:stop])

        self._chunks(table, keep, None)
        return best, top

    def _chunks(
        self, table: Table, then: Callable[[int, int, FloatArray], None], out: FloatArray | None
    ) -> None:
        def one(start: int, stop: int) -> None:
            scores = np.empty((stop - start, len(self.base))) if out is None else out[start:stop]
            self.fill(table, start, stop, scores)
            then(start, stop, scores)

        in_chunks(len(table), min(_CHUNK, max(256, 2 * _CHUNK // max(len(self.base), 1))), one)

    def fill(self, table: Table, start: int, stop: int, scores: FloatArray) -> None:
        """Write base and terms added up for rows `start` to `stop`."""
        scores[:] = self.base
        for term in self._fast:
            term.add(table, start, stop, scores)

    def parts(self, table: Table) -> FloatArray:
        """Return what each term adds for each row and class: rows × terms × classes."""
        parts = np.zeros((len(table), len(self.terms), len(self.base)))
        for place, term in enumerate(self.terms):
            part = np.zeros((len(table), len(self.base)))
            term.add(table, 0, len(table), part)
            parts[:, place] = part
        return parts


def _join(tables: Sequence[TableTerm]) -> list[Term]:
    """Join neighboring tables into larger ones that still fit in the nearest cache.

    The joined table is over all their columns; a row needs one look-up for all of them.
    """
    joined: list[Term] = []
    group: list[TableTerm] = []
    widths: dict[str, int] = {}
    for term in tables:
        axes = dict(zip(term.columns, term.figures.shape[:-1], strict=True))
        both = {**widths, **axes}
        if group and prod(both.values()) * term.figures.shape[-1] > _JOINT_DOUBLES:
            joined.append(_one_table(group, widths))
            group, both = [], axes
        group.append(term)
        widths = both
    if group:
        joined.append(_one_table(group, widths))
    return joined


def _one_table(group: Sequence[TableTerm], widths: dict[str, int]) -> TableTerm:
    """Return the sum of some tables, over all their columns."""
    if len(group) == 1:
        return group[0]
    names = tuple(widths)
    classes = group[0].figures.shape[-1]
    total = np.zeros((*widths.values(), classes))
    for term in group:
        axes = [names.index(name) for name in term.columns]
        order = sorted(range(len(axes)), key=axes.__getitem__)
        shape = [widths[name] if name in term.columns else 1 for name in names]
        total += term.figures.transpose(*order, len(axes)).reshape(*shape, classes)
    return TableTerm(names, total)


def estimate_normal(
    moments: Moments,
    present: NDArray[np.intp],
    kind: str,
    min_deviation: float | FloatArray = 0.0,
) -> tuple[FloatArray, FloatArray]:
    """Return mean and variance by class; where a class has too few values, those of the column.

    No variance is below the square of `min_deviation`, or a small share of the column's variance.
    Axes after that of the classes are alternatives, such as the moments without each row.
    """
    total, middle, square = moments.pooled()
    weight, within = moments.weight[present], moments.square[present]
    free = np.maximum(total - np.count_nonzero(weight > 0, axis=0), np.minimum(total, 1.0))
    spread = within.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        overall = np.where(total > 0, np.minimum(square / freedom(total), MOST_VARIANCE), 0.0)
        pooled = np.where(spread > 0, spread / free, overall)
    # A variance below 1e-300 has no inverse.
    floor = np.maximum(np.minimum(min_deviation, 1e150) ** 2, 1e-300)
    least = np.maximum(LEAST_VARIANCE * np.where(overall > 0, overall, 1.0), floor)
    variance = moments.variance(sample=kind == "sample")[present]
    # One row alone has no spread of its own.
    few = (weight <= 0) | ((weight < 2) & (within <= 0))
    few |= kind == "shared"
    variance = np.where(few, np.where(pooled > 0, pooled, 1.0), variance)
    mean = np.where(weight > 0, moments.mean[present], middle)
    variance = np.nan_to_num(variance, nan=MOST_VARIANCE, posinf=MOST_VARIANCE)
    return mean, np.clip(variance, least, MOST_VARIANCE)


def floored_logs(shares: FloatArray) -> FloatArray:
    """Return logs; that of zero is `ZERO`, which is still a number."""
    return np.maximum(logs_of(shares), ZERO)


def presence_logs(
    seen: FloatArray, missing: FloatArray, rule: Smoothing
) -> tuple[FloatArray, FloatArray]:
    """Return log shares of present and of missing cells; classes first, then alternatives."""
    logs = floored_logs(rule.shares(np.stack([seen, missing], axis=1)))
    present, absent = logs[:, 0].copy(), logs[:, 1].copy()
    # What no class was ever seen with says nothing.
    return present, np.where((absent <= ZERO).all(axis=0), 0.0, absent)


#: How many imagined rows each step of the back-off spreads by the shares of the step before it.
BACK_OFF = 5.0


def prior_logs(weight: FloatArray) -> FloatArray:
    """Return logs of the class shares; a class never counted has the log of zero."""
    return floored_logs(weight / weight.sum())


def backed_off(counts: FloatArray, total: FloatArray, wider: FloatArray) -> FloatArray:
    """Return shares among `total` rows, drawn to `wider` shares where rows are few.

    (counts + s wider) / (total + s): the shares of s imagined rows are those of a wider group, as
    Friedman, Geiger & Goldszmidt (1997) proposed.
    """
    return np.asarray((counts + BACK_OFF * wider) / (total + BACK_OFF))


def share_of_column(counts: FloatArray, total: FloatArray, levels: int) -> FloatArray:
    """Return shares of levels in all rows, each level imagined once more."""
    return np.asarray((counts + 1.0) / (total + levels))


def _family_shares(figures: FloatArray, known: FloatArray, parents: int) -> FloatArray:
    """Return shares of a child given its parents, backed off to the class, then to the column.

    `figures` has classes, child, parents; `known` two slots for missing and unseen parents more.
    Axes behind the parents are other children, each by itself.
    """
    axes = tuple(range(2, 2 + parents))
    by_class = figures.sum(axis=axes, keepdims=True)
    every = by_class.sum(axis=0, keepdims=True)
    column = share_of_column(every, every.sum(axis=1, keepdims=True), figures.shape[1])
    given_class = backed_off(by_class, by_class.sum(axis=1, keepdims=True), column)
    if not axes:
        return given_class
    shares = backed_off(known, known.sum(axis=1, keepdims=True), given_class)
    # Where no parent is known, the class is all there is.
    shares[(slice(None), slice(None), *[slice(-2, None)] * parents)] = given_class
    return shares


class BackOff:
    """Shares of values in each class, drawn to those in all rows where rows are few."""

    def shares(self, counts: FloatArray) -> FloatArray:
        """Return the shares of a table of classes × values."""
        return _family_shares(counts, counts, 0)


def sum_out_missing(figures: FloatArray, parents: int, slots: int) -> FloatArray:
    """Return counts of a child by its parents, where a missing parent takes all its values.

    `figures` has classes, child, parents; each parent then has so many slots for a missing one.
    """
    for axis in range(2, 2 + parents):
        every = figures.sum(axis=axis, keepdims=True)
        seen = np.take(figures, range(figures.shape[axis] - 1), axis=axis)
        figures = np.concatenate([seen, *[every] * slots], axis=axis)
    return figures


def child_figures(
    table: FloatArray, rule: Smoothing | str, parents: int | None = None
) -> FloatArray:
    """Return log shares of a child by its code, its parents' codes and the class, ready to look up.

    `table` has the classes first, then the child, then its parents, each with a missing slot; the
    figures have the child first, a further slot for unseen levels on every axis, and the classes
    last. A missing or unseen child says nothing. Where a parent is missing or unseen the child's
    share among all its values is taken, which keeps to what is known. Axes after those of the
    parents, if their number is stated, are tables of further children of the same width.
    """
    parents = table.ndim - 2 if parents is None else parents
    figures = table[:, :-1]
    known = sum_out_missing(figures, parents, 2)
    shares = (
        _family_shares(figures, known, parents) if isinstance(rule, str) else rule.shares(known)
    )
    logs = floored_logs(shares)
    # A family no class was ever seen with says nothing when nothing is added to the counts.
    logs[:, (logs <= ZERO).all(axis=0)] = 0.0
    blank = np.zeros((logs.shape[0], 2, *logs.shape[2:]))
    return np.ascontiguousarray(np.moveaxis(np.concatenate([logs, blank], axis=1), 0, -1))
