"""Prediction from cells: the posterior of a row is that of the cell it falls into."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from countwise.counts.count import weights_of
from countwise.errors import CountsError, TableError
from countwise.posteriors.base import Classifier, class_labels
from countwise.posteriors.bin_smoothing import BinSmoothing
from countwise.posteriors.cell_table import CellTable
from countwise.posteriors.row_blocks import BLOCK, Part, in_threads
from countwise.posteriors.training_rows import (
    UNKNOWN,
    Labelled,
    columns_of,
    from_array,
    from_table,
    is_plain,
)
from countwise.tables.read import read
from countwise.tables.schema import level_key
from countwise.tables.table import Table

__all__ = ["CellClassifier"]

Doubles = NDArray[np.float64]
Columns = tuple[NDArray[Any], ...]


class CellClassifier(Classifier):
    """A classifier that answers by the class weights of cells; a model finds the grid in `fit`."""

    nominal: Any
    smooth_by: str

    cells_: CellTable
    boundaries_: list[Doubles]
    levels_: list[int]
    smoothing_: float
    class_prior_: Doubles
    gain_matrix_: Doubles
    decisions_: tuple[Any, ...]
    kept_levels_: dict[str, tuple[Any, ...]]
    dropped_: tuple[str, ...]

    def _brought(self, X: Any, y: ArrayLike | None) -> Labelled:
        """Bring training rows; an array of numbers is not copied."""
        if not isinstance(y, str | None) and is_plain(X, self.nominal):
            X = self._shaped(X, reset=True)
            labels = class_labels(y)
            check_consistent_length(X, labels)
            return from_array(X, labels)
        return from_table(self._labelled(X, y, nominal=self.nominal, identifiers="keep"))

    def _judging(self, given: Any) -> Part:
        """Bring rows to judge by, coded as the training rows are."""
        who = type(self).__name__
        if isinstance(given, Table):
            if not given.labelled:
                raise TableError(f"{who}: validation rows need classes, but the table has none.")
            rows, labels = given, given.labels
        elif isinstance(given, tuple) and len(given) == 2:
            rows, labels = given[0], class_labels(given[1])
        else:
            raise TableError(
                f"{who}: validation must be rows and their labels, (X, y), or a Table with "
                f"classes, but a {type(given).__name__} came."
            )
        columns, number = self._columns(rows)
        if number != len(labels):
            raise TableError(
                f"{who}: there must be one label for each of the {number} validation rows, but "
                f"{len(labels)} came."
            )
        known = {level_key(label): at for at, label in enumerate(self.classes_.tolist())}
        distinct, place = np.unique(labels, return_inverse=True)
        codes = [known.get(level_key(label), UNKNOWN) for label in distinct.tolist()]
        target = np.asarray(codes, np.uint16)[place.reshape(-1)]
        if (target == UNKNOWN).any():
            kept = target != UNKNOWN
            columns, target = tuple(own[kept] for own in columns), target[kept]
        return Part(columns, target, None, True)

    def _columns(self, X: Any) -> tuple[Columns, int]:
        """The columns of rows to be answered, coded by the schema of training."""
        if is_plain(X, self.nominal) and not self.schema_.nominal:
            X = self._shaped(X, reset=False)
            if X.shape[1] == len(self.schema_.attributes):
                return tuple(X[:, at] for at in range(X.shape[1])), len(X)
        table = self._rows(X)
        ordered = [table.raw_array(column.name) for column in self.schema_.attributes]
        return tuple(ordered), len(table)

    def _keep(self, table: CellTable) -> None:
        """Take over the cells, and make their posteriors ready."""
        self.cells_ = table
        axes = table.grid.axes
        self.boundaries_ = [axis.edges for axis in axes if axis.edges is not None]
        self.levels_ = [axis.width for axis in axes]
        self._smoother = BinSmoothing(table, self.smoothing_, self.smooth_by)
        self._posteriors = self._shares(self._smoother.weights(table.levels))

    def _factor(self, by_class: Doubles) -> Doubles:
        """By how much the prior outweighs each class's share of the counted rows."""
        share = by_class / by_class.sum()
        return np.divide(self.class_prior_, share, out=np.zeros(len(share)), where=share > 0)

    def _shares(self, weights: Doubles) -> Doubles:
        """Posteriors of class weights; where the prior leaves nothing, the prior."""
        made = weights * self._factor(self.cells_.by_class)
        total = made.sum(axis=1, keepdims=True)
        made = np.where(total > 0, made, self.class_prior_)
        return np.asarray(made / made.sum(axis=1, keepdims=True))

    def _answers(self, columns: Columns, rows: int, lines: Doubles, answer: Any) -> NDArray[Any]:
        """What belongs to each row: a line of its occupied cell, or of posteriors made for it."""
        grid = self.cells_.grid
        made = np.empty((rows, *lines.shape[1:]), lines.dtype)

        def work(start: int) -> None:
            own = slice(start, min(start + BLOCK, rows))
            part = [_real(column[own]) for column in columns]
            size = own.stop - own.start
            if grid.direct:
                address = grid.addresses(part, size)
                lost = address < 0
                place = self.cells_.find(np.where(lost, 0, address))
                place[lost] = -1
            else:
                levels = grid.levels(part, size)
                place = self.cells_.find(grid.address_of(levels))
                place[(levels < 0).any(axis=1)] = -1
            block = lines[place]
            empty = np.flatnonzero(place < 0)
            if len(empty):
                some = grid.levels([column[empty] for column in part], len(empty))
                block[empty] = answer(self._shares(self._smoother.weights(some)))
            made[own] = block

        in_threads(work, range(0, rows, BLOCK))
        return made

    def predict_proba(self, X: Any) -> Doubles:
        """Return the posterior of each class (columns, in the order of ``classes_``)."""
        check_is_fitted(self, "cells_")
        columns, rows = self._columns(X)
        return self._answers(columns, rows, self._posteriors, lambda shares: shares)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class with the largest posterior; of equal ones the first."""
        check_is_fitted(self, "cells_")
        columns, rows = self._columns(X)
        best = self._answers(
            columns, rows, self._posteriors.argmax(axis=1), lambda shares: shares.argmax(axis=1)
        )
        return np.asarray(self.classes_[best])

    def decide(self, X: Any) -> NDArray[Any]:
        """Return the decision that earns most by the model's gain, one a row."""
        check_is_fitted(self, "cells_")
        columns, rows = self._columns(X)
        best = self._answers(
            columns,
            rows,
            (self._posteriors @ self.gain_matrix_).argmax(axis=1),
            lambda shares: (shares @ self.gain_matrix_).argmax(axis=1),
        )
        return np.asarray(np.asarray(self.decisions_)[best])

    def _scores(self, table: Table) -> Doubles:
        ordered = tuple(table.raw_array(column.name) for column in self.schema_.attributes)
        made = self._answers(ordered, len(table), self._posteriors, lambda shares: shares)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(made))


def _real(column: NDArray[Any]) -> NDArray[Any]:
    if column.dtype.kind != "f" or column.dtype in (np.float32, np.float64):
        return column
    return column.astype(np.float64)
