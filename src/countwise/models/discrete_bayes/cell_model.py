"""Prediction from cells: the posterior of a row is that of the cell it falls into."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from countwise._typing import FloatArray
from countwise.counts.counts import merge_schemas
from countwise.decisions.confusion import count_cells
from countwise.decisions.expected_gain import earned_by_cells
from countwise.discretize.joint_search.cell_counts import CellTable
from countwise.discretize.joint_search.cell_grid import Axis, CellGrid
from countwise.discretize.joint_search.rows import (
    BLOCK,
    UNKNOWN,
    Labelled,
    Part,
    as_kernel_column,
    from_array,
    from_table,
    is_plain,
    keep_weighted,
)
from countwise.discretize.joint_search.search import nominal_axis
from countwise.errors import CountsError, ParameterError, TableError, listing
from countwise.models.base import Classifier
from countwise.models.discrete_bayes.bin_smoothing import BinSmoothing
from countwise.models.discrete_bayes.explanation import CellStory, level_names, stepwise, stories
from countwise.models.explanation import Explanation
from countwise.parallel import in_threads
from countwise.params import derived, fitted, one_of, parameter
from countwise.tables.estimator import check_class_labels
from countwise.tables.schema import Column, Level, Schema, labels_array, level_key
from countwise.tables.table import Table
from countwise.tables.weights import read_weights

Columns = tuple[NDArray[Any], ...]

#: What an explanation shows of a class that a cell rules out.
LEAST_SHARE = 1e-9


class CellClassifier(Classifier):
    """A classifier that answers by the class weights of cells; a model finds the grid in `fit`."""

    smooth_by: str = parameter(
        one_of("rows", "class"),
        "'rows': k rows of all classes together; 'class': k rows of each class by itself, over "
        "their volume, as printed",
        default="rows",
    )
    cells_: CellTable = fitted("the class weights of every cell that holds rows")
    smoothing_: float = fitted("the k of bin smoothing that is used")
    kept_levels_: dict[str, tuple[Level, ...]] = fitted(
        "by column with too many levels, those that are told apart"
    )
    dropped_: tuple[str, ...] = fitted("columns that got a single level and say nothing")
    _named: tuple[Level, ...] = fitted()
    class_prior_: FloatArray = derived()
    gain_matrix_: FloatArray = derived()
    decisions_: tuple[Any, ...] = derived()
    _smoother: BinSmoothing = derived()
    _posteriors: FloatArray = derived()

    @property
    def boundaries_(self) -> list[FloatArray]:
        """One sorted array a numeric column, in the order of the columns."""
        return [axis.edges for axis in self.cells_.grid.axes if axis.edges is not None]

    @property
    def levels_(self) -> list[int]:
        """How many levels each column has, missing values not counted."""
        return [axis.width for axis in self.cells_.grid.axes]

    def _brought(self, X: Any, y: ArrayLike | None) -> Labelled:
        """Bring training rows; an array of numbers is not copied."""
        if not isinstance(y, str | None) and is_plain(X, self.nominal):
            X = self._check_shape(X, reset=True)
            labels = check_class_labels(y)
            check_consistent_length(X, labels)
            return from_array(X, labels)
        return from_table(self._labelled(X, y))

    def _judging(self, given: Any) -> Part:
        """Bring rows to judge by, coded as the training rows are."""
        who = type(self).__name__
        if isinstance(given, Table):
            if not given.labelled:
                raise TableError(f"{who}: validation rows need classes, but the table has none.")
            rows, labels = given, given.labels
        elif isinstance(given, tuple) and len(given) == 2:
            rows, labels = given[0], check_class_labels(given[1])
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
            X = self._check_shape(X, reset=False)
            if X.shape[1] == len(self.schema_.attributes):
                return tuple(X[:, at] for at in range(X.shape[1])), len(X)
        table = self._rows(X)
        ordered = [table.raw_array(column.name) for column in self.schema_.attributes]
        return tuple(ordered), len(table)

    def _keep(self, table: CellTable) -> None:
        """Take over the cells, and make their posteriors ready."""
        self.cells_ = table
        self._smoother = BinSmoothing(table, self.smoothing_, self.smooth_by)
        self._posteriors = self._shares(self._smoother.weights(table.levels))

    def _factor(self, by_class: FloatArray) -> FloatArray:
        """By how much the prior outweighs each class's share of the counted rows."""
        share = by_class / by_class.sum()
        ratio = np.zeros(len(share))
        np.divide(self.class_prior_, share, out=ratio, where=share > 0)
        return ratio

    def _shares(self, weights: FloatArray) -> FloatArray:
        """Posteriors of class weights; where the prior leaves nothing, the prior."""
        made = weights * self._factor(self.cells_.by_class)
        total = made.sum(axis=1, keepdims=True)
        made = np.where(total > 0, made, self.class_prior_)
        return np.asarray(made / made.sum(axis=1, keepdims=True))

    def _answers(self, columns: Columns, rows: int, lines: FloatArray, answer: Any) -> NDArray[Any]:
        """What belongs to each row: a line of its occupied cell, or of posteriors made for it."""
        grid = self.cells_.grid
        made = np.empty((rows, *lines.shape[1:]), lines.dtype)

        def work(start: int) -> None:
            own = slice(start, min(start + BLOCK, rows))
            part = [as_kernel_column(column[own]) for column in columns]
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

    def predict_proba(self, X: Any) -> FloatArray:
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
        return np.asarray(np.asarray(self.decisions_)[self._decided(X)])

    def _decided(self, X: Any) -> NDArray[Any]:
        """The position of each row's decision among `decisions_`."""
        check_is_fitted(self, "cells_")
        columns, rows = self._columns(X)
        return self._answers(
            columns,
            rows,
            (self._posteriors @ self.gain_matrix_).argmax(axis=1),
            lambda shares: (shares @ self.gain_matrix_).argmax(axis=1),
        )

    def expected_gain(
        self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return what `decide` earns a row by the model's gain (eq. 7); a `Table` brings classes.

        With a given prior the rows of each class are weighted so that their shares are the prior's.
        """
        rows, labels = (X, X.labels) if y is None and isinstance(X, Table) else (X, y)
        if labels is None:
            raise TableError(
                f"{type(self).__name__}: gain is earned on rows with classes, but none came. "
                "Give y, or a Table with classes."
            )
        decided, true = self._decided(rows), check_class_labels(labels)
        check_consistent_length(decided, true)
        weight = read_weights(sample_weight, len(true), type(self).__name__)
        at = np.full(len(true), -1)
        for place, label in enumerate(self.classes_.tolist()):
            at[true == label] = place
        known = at >= 0
        kept = None if weight is None else weight[known]
        table = count_cells(at[known], decided[known], self.gain_matrix_.shape, kept)
        if not self._empirical:
            table *= self._factor(np.maximum(table.sum(axis=1), 1e-300))[:, None]
        return earned_by_cells(self.gain_matrix_, table) / float(table.sum())

    def cells_of(self, X: Any) -> list[CellStory]:
        """Return the cell of each row: its levels, its class weights, and what it answers by.

        Examples
        --------
        >>> import countwise as cw
        >>> weather = cw.read("sample:weather").select(["outlook", "windy"])
        >>> model = cw.DiscreteBayes().fit(weather)
        >>> print(model.cells_of(weather.take([0]))[0].describe())
        The cell outlook sunny, windy FALSE holds 2 rows of no and 1 row of yes.
        """
        check_is_fitted(self, "cells_")
        levels = self._levels_of(X)
        return stories(self._smoother, levels, self._level_names(), self.classes_.tolist())

    def _levels_of(self, X: Any) -> NDArray[np.int32]:
        columns, rows = self._columns(X)
        return self.cells_.grid.levels([as_kernel_column(column) for column in columns], rows)

    def _level_names(self) -> list[tuple[str, ...]]:
        return [
            level_names(axis, column, self.kept_levels_.get(axis.name))
            for axis, column in zip(self.cells_.grid.axes, self.schema_.attributes, strict=True)
        ]

    def explain(self, X: Any) -> Explanation:
        """Say what each column changes in the log posterior as it becomes known; it adds up.

        The columns are taken in their order; `cells_of` tells the cell itself.

        Examples
        --------
        >>> import countwise as cw
        >>> weather = cw.read("sample:weather").select(["outlook", "windy"])
        >>> model = cw.DiscreteBayes().fit(weather)
        >>> print(model.explain(weather.take([0])).describe())
        no (posterior 0.667) against yes: log-odds +0.693
            -0.588  before any evidence
            +0.993  outlook = sunny
            +0.288  windy = FALSE
        """
        check_is_fitted(self, "cells_")
        levels, names = self._levels_of(X), self._level_names()
        axes = [at for at, axis in enumerate(self.cells_.grid.axes) if axis.size > 1]
        factor = self._factor(self.cells_.by_class)
        steps = stepwise(self.cells_, levels, axes, factor)
        if axes:
            steps[:, -1] = self._shares(self._smoother.weights(levels))
        with np.errstate(divide="ignore"):
            # A class that no row of a cell is of would be infinitely unlikely.
            logs = np.log(np.maximum(steps, LEAST_SHARE))
        return Explanation(
            classes=tuple(self.classes_.tolist()),
            attributes=tuple(self.cells_.grid.axes[at].name for at in axes),
            values=tuple(
                tuple(names[at][row[at]] if row[at] >= 0 else "never seen" for at in axes)
                for row in levels
            ),
            base=logs[0, 0] if len(logs) else np.log(self.class_prior_),
            parts=np.diff(logs, axis=1),
            joint=logs[:, -1],
        )

    def describe(self) -> str:
        """Return a few sentences about the grid and what it earns.

        Examples
        --------
        >>> import countwise as cw
        >>> weather = cw.read("sample:weather").select(["outlook", "windy"])
        >>> print(cw.DiscreteBayes().fit(weather).describe())
        6 cells, 6 of them with rows: outlook has 3 levels, windy has 2 levels.
        The rows in them earn 0.857 each in training.
        """
        check_is_fitted(self, "cells_")
        grid = self.cells_.grid
        shown = [f"{axis.name} has {axis.width} levels" for axis in grid.axes if axis.size > 1]
        more = f" and {len(shown) - 8} more" if len(shown) > 8 else ""
        earned = self.gain_
        lines = [
            f"{grid.cells:,} cells, {len(self.cells_):,} of them with rows: "
            f"{', '.join(shown[:8]) or 'no column is used'}{more}."
        ]
        if earned.get("train") is not None:
            told = f"The rows in them earn {earned['train']:.3f} each in training"
            if earned.get("validation") is not None:
                told += f", {earned['validation']:.3f} in validation"
            lines.append(f"{told}.")
        return "\n".join(lines)

    @property
    def _empirical(self) -> bool:
        return isinstance(self.prior, str) and self.prior == "empirical"

    def partial_fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Add rows to the cells; the first rows find the boundaries, later ones keep them.

        New levels and classes may appear at any time. `classes` may name classes still to come.
        """
        if not hasattr(self, "cells_"):
            self.fit(X, y, sample_weight)
        else:
            self._check_parameters()
            self._merge_counts(*self._more(X, y, sample_weight), 1.0)
        if classes is not None:
            self._name_classes(np.unique(np.asarray(classes)).tolist())
        return self

    def forget(
        self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Take rows away again; they must have been counted before. The boundaries stay."""
        check_is_fitted(self, "cells_")
        schema, table = self._more(X, y, sample_weight)
        self._merge_counts(schema, table, -1.0)
        return self

    def merge(self, other: CellClassifier) -> Self:
        """Add the cells of another model with the same boundaries, as if its rows had come here."""
        check_is_fitted(self, "cells_")
        who = type(self).__name__
        if type(other) is not type(self):
            raise CountsError(
                f"{who}: only models of one kind merge, but a {type(other).__name__} came."
            )
        check_is_fitted(other, "cells_")
        if not same_cuts(self, other):
            raise CountsError(
                f"{who}: only models with the same boundaries merge. Fit one of them, and let the "
                "other begin as its copy with partial_fit."
            )
        self._merge_counts(other.schema_, other.cells_, 1.0, other.classes_.tolist())
        return self

    def __add__(self, other: object) -> Self:
        """Return a new model of the rows of both."""
        if not isinstance(other, CellClassifier):
            return NotImplemented
        return copy(self).merge(other)

    def _more(
        self, X: Any, y: ArrayLike | None, sample_weight: ArrayLike | None
    ) -> tuple[Schema, CellTable]:
        """Count more rows in the cells there are; what is new gets levels behind the known."""
        table = self._labelled(X, y, known=self.schema_)
        weight = read_weights(sample_weight, len(table), type(self).__name__)
        rows, weight = keep_weighted(from_table(table), weight)
        grid = self._grid_for(rows.schema, rows.columns)
        target = rows.schema.target
        assert target is not None
        part = Part(rows.columns, rows.target, weight)
        return rows.schema, CellTable.count(grid, [part], target.width)

    def _grid_for(self, schema: Schema, columns: Columns | None) -> CellGrid:
        """The grid, with room for new levels and for missing values in these columns."""
        axes = []
        for at, (axis, column) in enumerate(
            zip(self.cells_.grid.axes, schema.attributes, strict=True)
        ):
            if axis.name in self.dropped_:
                axes.append(
                    axis if axis.numeric else replace(axis, lookup=np.zeros(column.width + 2, int))
                )
                continue
            if axis.numeric:
                gaps = columns is not None and bool(np.isnan(columns[at]).any())
                axes.append(replace(axis, blank=axis.blank or gaps))
                continue
            gaps = columns is not None and bool((columns[at] == column.width).any())
            axes.append(nominal_axis(column, self.kept_levels_.get(axis.name), axis.blank or gaps))
        return CellGrid(tuple(axes))

    def _merge_counts(
        self, schema: Schema, table: CellTable, sign: float, labels: list[Any] | None = None
    ) -> None:
        """Bring both tables to one grid and one list of classes, and add or subtract."""
        who = type(self).__name__
        schema = merge_schemas(self.schema_, schema)
        target = schema.target
        assert target is not None
        blanks = [
            one.blank or two.blank
            for one, two in zip(self.cells_.grid.axes, table.grid.axes, strict=True)
        ]
        wide = self._grid_for(schema, None)
        grid = CellGrid(
            tuple(
                replace(a, blank=b, lookup=_with_blank(a, b))
                for a, b in zip(wide.axes, blanks, strict=True)
            )
        )
        mine = _moved(self.cells_, grid, self._places_in(target, self.classes_.tolist()), target)
        given = labels if labels is not None else list(target.levels[: table.counts.shape[1]])
        theirs = _moved(table, grid, self._places_in(target, given), target)
        both = mine + theirs if sign > 0 else mine - theirs
        if both.total <= 0 or not len(both):
            raise CountsError(f"{who}: at least one row must stay, but all were to be forgotten.")
        if sign < 0 and float(both.counts.min()) < -1e-6:
            raise CountsError(
                f"{who}: only rows that were counted can be forgotten, but some were not."
            )
        named = {level_key(own) for own in self._named}
        weight = both.by_class
        present = [
            at
            for at, level in enumerate(target.levels)
            if weight[at] > 1e-9 or level_key(level) in named
        ]
        self.schema_ = schema
        self.classes_ = labels_array([target.levels[at] for at in present])
        self._settle(
            CellTable(
                grid, both.address, both.levels, np.ascontiguousarray(both.counts[:, present])
            )
        )

    @staticmethod
    def _places_in(target: Column, labels: list[Any]) -> NDArray[np.intp]:
        return np.asarray([target.place(label) for label in labels], np.intp)

    def _name_classes(self, labels: list[Any]) -> None:
        """Let classes be known that no row has shown yet."""
        known = {level_key(own) for own in labels}
        lost = [own for own in self.classes_.tolist() if level_key(own) not in known]
        if lost:
            raise ParameterError(
                f"partial_fit: y may hold only the labels in classes, but {listing(lost)} came too."
            )
        target = self.schema_.target
        assert target is not None
        self._named = tuple(labels)
        wide = target.with_levels(labels)
        places = self._places_in(wide, self.classes_.tolist())
        self.schema_ = self.schema_.with_columns([wide])
        self.classes_ = labels_array(labels)
        self._settle(_moved(self.cells_, self.cells_.grid, places, wide))

    def _after_load(self) -> None:
        self._check_classes()
        grid, columns = self.cells_.grid, self.schema_.attributes
        if [axis.name for axis in grid.axes] != [column.name for column in columns]:
            raise TableError("Cells: there must be an axis for each column of the schema.")
        again = self._grid_for(self.schema_, None)
        for axis, other, column in zip(grid.axes, again.axes, columns, strict=True):
            fits = axis.numeric == (column.kind == "numeric")
            places = np.zeros(0) if other.lookup is None else other.lookup
            same = axis.lookup is None or np.array_equal(axis.lookup, places)
            if not fits or not same:
                raise TableError(f"Cells: the axis of {axis.name[:40]!r} must fit its column.")
            if axis.width != other.width or (axis.name in self.dropped_ and axis.size != 1):
                raise TableError(f"Cells: the axis of {axis.name[:40]!r} must fit its levels.")
        if self.cells_.counts.shape[1] != len(self.classes_) or not 0 <= self.smoothing_ < 1e300:
            raise TableError("Cells: each cell must have a weight of each class.")
        self._settle(self.cells_)

    def _summary(self) -> dict[str, Any]:
        cells = {"cells": len(self.cells_), "levels": self.levels_}
        return {**self._class_summary(self.cells_.by_class), **cells}

    def _settle(self, table: CellTable) -> None:
        """Learn prior and gains anew for the classes there are now."""
        self.class_prior_ = self._prior(table.by_class)
        self.gain_matrix_, self.decisions_ = self._gains()
        self._keep(table)

    def _prior(self, by_class: FloatArray) -> FloatArray:
        raise NotImplementedError

    def _gains(self) -> tuple[FloatArray, tuple[Any, ...]]:
        raise NotImplementedError

    def _scores(self, table: Table) -> FloatArray:
        ordered = tuple(table.raw_array(column.name) for column in self.schema_.attributes)
        made = self._answers(ordered, len(table), self._posteriors, lambda shares: shares)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(made))


def same_cuts(one: CellClassifier, other: CellClassifier) -> bool:
    """Whether two models cut and fold their columns alike."""
    mine, theirs = one.cells_.grid.axes, other.cells_.grid.axes
    return (
        [axis.name for axis in mine] == [axis.name for axis in theirs]
        and one.kept_levels_ == other.kept_levels_
        and one.dropped_ == other.dropped_
        and all(
            np.array_equal(a.edges, b.edges)
            for a, b in zip(mine, theirs, strict=True)
            if a.edges is not None and b.edges is not None
        )
    )


def _with_blank(axis: Axis, blank: bool) -> NDArray[np.int64] | None:
    if axis.lookup is None or not blank or axis.blank:
        return axis.lookup
    lookup = axis.lookup.copy()
    lookup[-2] = axis.width
    return lookup


def _moved(table: CellTable, grid: CellGrid, places: NDArray[np.intp], target: Column) -> CellTable:
    """The same cells on another grid: slots of missing values stay behind the levels."""
    levels = table.levels.copy()
    for at, (old, new) in enumerate(zip(table.grid.axes, grid.axes, strict=True)):
        if old.blank and old.width != new.width:
            levels[table.levels[:, at] == old.width, at] = new.width
    counts = np.zeros((len(table), target.width))
    counts[:, places] = table.counts
    return CellTable.of(grid, levels, counts)
