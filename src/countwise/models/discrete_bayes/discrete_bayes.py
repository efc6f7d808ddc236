"""The discrete Bayes rule: class frequencies in cells that are cut to maximize the gain."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from countwise._typing import FloatArray
from countwise.counts.counts import merge_schemas
from countwise.decisions.class_prior import PRIOR_CONSTRAINT, PRIOR_HELP, prior_of
from countwise.decisions.gain_matrix import GAIN_CONSTRAINT, GainMatrix
from countwise.discretize.joint_search.cell_counts import CellTable
from countwise.discretize.joint_search.cell_grid import CellGrid
from countwise.discretize.joint_search.rows import (
    Labelled,
    Part,
    SearchTask,
    as_kernel_column,
    from_array,
    from_table,
    is_plain,
    keep_weighted,
    ranges_of,
)
from countwise.discretize.joint_search.search import SearchParameters, nominal_axis, quantize
from countwise.discretize.joint_search.sweep import GAIN, Aim
from countwise.discretize.joint_search.time_limit import check_history
from countwise.errors import CountsError, ParameterError, TableError, listing, shorten
from countwise.models.base import Classifier, check_scan, leave_out_text
from countwise.models.discrete_bayes.bin_smoothing import BinSmoothing, Levels, candidates
from countwise.models.discrete_bayes.cell_model import CellModel, Columns, prior_factor
from countwise.models.discrete_bayes.explanation import CellStory, describe_cells, level_names
from countwise.models.explanation import Explanation
from countwise.notes import Note
from countwise.numeric import logs_of
from countwise.params import boolean, derived, fitted, infinity, nothing, number, one_of, parameter
from countwise.progress import Progress, open_progress
from countwise.tables.estimator import check_class_labels
from countwise.tables.labels import positions
from countwise.tables.scan import Block, Scan
from countwise.tables.schema import Column, Level, Schema, labels_array, level_key
from countwise.tables.table import Table
from countwise.tables.weights import read_weights

if TYPE_CHECKING:
    from countwise.models.views import View

#: With so many occupied cells at most a row can be judged by the others.
MOST_ALONE = 5000
#: A cell that weighs much less counts as empty, so that forgetting leaves nothing behind.
LEAST_WEIGHT = 1e-6
#: The probability that an explanation shows for a class that a cell rules out.
LEAST_PROBABILITY = 1e-9


#: Rows outside memory that are drawn to find the boundaries on.
SEARCHED_ROWS = 200_000


class _Counted(NamedTuple):
    """Rows counted in cells, and the columns and classes that these are of."""

    schema: Schema
    cells: CellTable
    classes: Sequence[Level]


class DiscreteBayes(SearchParameters, Classifier):
    """Classify by the cell a row falls into: columns cut together, where it earns most.

    Panda and Garg's discrete Bayes rule: numeric columns are cut into levels, the levels of all
    columns make cells, at most `budget` of them, and the class weights in a cell, with one imagined
    row that has the class probabilities of the prior, are its posterior.
    What they searched for in 73 hours is found in seconds: a boundary is walked once through the
    sorted rows, which tells the gain at every place; boundaries are lifted and put where they earn
    most, until none earns more. Large tables are searched on a sample, then all rows near the
    boundaries say exactly where they are.

    `predict` takes the most probable class, as every model here; ``Decide(model, gain)`` takes the
    decision that earns most.

    Attributes
    ----------
    boundaries_
        One sorted array a numeric column, in the order of the columns.
    levels_
        How many levels each column has, missing values not counted.

    Examples
    --------
    >>> import numpy as np
    >>> import countwise as cw
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((2000, 2)).round(3)
    >>> y = (X[:, 0] > 0.3) ^ (X[:, 1] > 0.8)
    >>> model = cw.DiscreteBayes(budget=4, random_state=0).fit(X, y)
    >>> [edges.round(2).tolist() for edges in model.boundaries_]
    [[0.3], [0.8]]
    >>> model.score(X, y)
    1.0
    """

    takes_scans = True
    budget: float | None = parameter(
        number(at_least=1) | infinity() | nothing(),
        "largest number of cells. None or infinity: every value is a level, and nothing is "
        "searched",
        default=10000,
        kw_only=False,
    )
    gain: Any = parameter(
        nothing() | GAIN_CONSTRAINT,
        "gain matrix that the boundaries maximize, as an array with true classes in rows and "
        "decisions in columns, nested mappings, or a GainMatrix. None: a correct decision gains 1",
        default=None,
    )
    prior: str | Mapping[Any, float] | ArrayLike = parameter(
        PRIOR_CONSTRAINT, PRIOR_HELP, default="empirical"
    )
    smoothing: float = parameter(
        number(at_least=0),
        "number of imagined rows, with the class probabilities of the prior, that are added to "
        "each cell, so that no class gets probability 0; 0 gives the plain class fractions of the "
        "cells",
        default=1.0,
    )
    bin_smoothing: str | float | None = parameter(
        one_of("validation") | number(at_least=0) | nothing(),
        "bin smoothing (eq. 16 to 20): a cell with fewer than k rows is combined with its nearest "
        "cells. Give k, None for no smoothing, or 'validation' to choose k by the gain on the "
        "validation rows (by leave-one-out if there are none). The values tried are those of the "
        "paper, or values from 0 to 100 if those of the paper are all below 1. Empty cells always "
        "use their nearest cells",
        default="validation",
    )
    smooth_by: str = parameter(
        one_of("rows", "class"),
        "'rows' combines cells until they have k rows of any class; 'class' does so for each "
        "class by itself and divides by the volume, as printed in the paper",
        default="rows",
    )
    equal_volumes: bool = parameter(
        boolean(),
        "with smooth_by='class': take all cells as equally large, as the paper's appendix does",
        default=False,
    )
    cells_: CellTable = fitted("the class weights of every cell that holds rows")
    bin_smoothing_: float = fitted("the k of bin smoothing that is used")
    bin_smoothing_table_: list[dict[str, float]] = fitted(
        "expected gain and accuracy on the validation rows for every k tried"
    )
    kept_levels_: dict[str, tuple[Level, ...]] = fitted(
        "by column with too many levels, those that are kept apart"
    )
    dropped_: tuple[str, ...] = fitted("columns that got a single level and are not used")
    start_boundaries_: list[FloatArray] = fitted("where the search began")
    gain_: dict[str, float | None] = fitted(
        "expected gain in 'train' and 'validation' (None without), training rows deciding"
    )
    history_: list[dict[str, Any]] = fitted("the steps of the search")
    _named: tuple[Level, ...] = fitted()
    class_prior_: FloatArray = derived()
    gain_matrix_: FloatArray = derived()
    decisions_: tuple[Any, ...] = derived()
    _cell_model: CellModel = derived()

    @property
    def boundaries_(self) -> list[FloatArray]:
        """One sorted array a numeric column, in the order of the columns."""
        return [axis.edges for axis in self.cells_.grid.axes if axis.edges is not None]

    @property
    def levels_(self) -> list[int]:
        """How many levels each column has, missing values not counted."""
        return [axis.width for axis in self.cells_.grid.axes]

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        validation: Any = None,
        progress: Progress | bool | None = None,
    ) -> Self:
        """Find the boundaries and count the cells.

        An array of single-precision numbers is not converted. Rows to judge by come as
        `validation`, a pair of X and y or a `Table`; levels and the boundaries to begin with then
        come from the training rows alone. Without it a fraction of the rows is held out.
        `progress` is called after each step of the search with stages done, stages in all, and a
        text; True shows a bar on stderr.
        """
        self.check_parameters()
        if isinstance(X, Scan):
            return self._fit_scan(X, y, sample_weight, validation, progress)
        with open_progress("DiscreteBayes", progress) as report:
            rows, weight = self._read_labelled_rows(X, y, sample_weight)
            judge = None if validation is None else self._read_validation(validation)
            self._search_and_count(rows, weight, judge, report)
        return self

    def _fit_scan(
        self, scan: Scan, y: Any, sample_weight: Any, validation: Any, progress: Any
    ) -> Self:
        """Find the boundaries on a sample of rows outside memory, and count the cells of all."""
        from countwise.tables.scan_pass import run_pass
        from countwise.tables.scan_sample import draw

        check_scan(self, scan, y, sample_weight)
        scan.expect_sample(SEARCHED_ROWS)
        rows = leave_out_text(self, scan)
        some, weight = draw(rows, min(len(rows), SEARCHED_ROWS))
        self.fit(some, sample_weight=weight, validation=validation, progress=progress)
        if len(some) == len(rows):
            return self
        notes = (*rows.notes, *(note for note in self.notes_ if note not in rows.notes))
        sampled = self._count(some, None, weight)

        def count_block(block: Block) -> _Counted:
            return self._count(block.table, None, block.weight)

        self._add(run_pass(rows, count_block, self._join, progress=scan.progress))
        self._add(sampled, sign=-1.0)
        purpose = "find the boundaries and the smoothing; the cells hold all rows"
        self.notes_ = (
            *notes,
            Note.of("S04", sample=len(some), rows=len(rows), purpose=purpose),
        )
        return self

    def _read_labelled_rows(
        self, X: Any, y: ArrayLike | None, sample_weight: ArrayLike | None
    ) -> tuple[Labelled, FloatArray | None]:
        """Read the rows, an array of numbers without a copy, and number the classes that occur."""
        if not isinstance(y, str | None) and is_plain(X, self.nominal):
            X = self._check_shape(X, reset=True)
            labels = check_class_labels(y)
            check_consistent_length(X, labels)
            rows = from_array(X, labels)
        else:
            rows = from_table(self._read_training(X, y))
        weight = read_weights(sample_weight, len(rows), "DiscreteBayes")
        rows, weight = keep_weighted(rows, weight)
        if not len(rows):
            raise ParameterError(
                "DiscreteBayes: the sample weights must not all be zero; got zeros only."
            )
        if weight is not None and weight.min() < LEAST_WEIGHT:
            raise ParameterError(
                f"DiscreteBayes: sample_weight must be 0 or at least {LEAST_WEIGHT:g}; got "
                f"{weight.min():g}.",
                hint="Multiply all weights by one number",
            )
        target = _target_of(rows.schema)
        present = np.flatnonzero(np.bincount(rows.target, minlength=target.width))
        self.schema_ = rows.schema
        self.classes_ = labels_array([target.levels[place] for place in present])
        if len(present) < target.width:
            place = np.zeros(target.width, np.uint16)
            place[present] = np.arange(len(present))
            rows = replace(rows, target=place[rows.target])
        return rows, weight

    def _read_validation(self, validation: Any) -> Part:
        """Read rows to judge by, coded as the training rows are; those of other classes go."""
        if isinstance(validation, Table) and validation.labelled:
            X, labels = validation, validation.labels
        elif isinstance(validation, tuple) and len(validation) == 2:
            X, labels = validation[0], check_class_labels(validation[1])
        else:
            raise TableError(
                "DiscreteBayes: validation must be rows and their labels, (X, y), or a Table with "
                f"classes; got a {type(validation).__name__}."
            )
        columns, rows = self._read_columns(X)
        if rows != len(labels):
            raise TableError(
                f"DiscreteBayes: there must be one label for each of the {rows} validation rows; "
                f"got {len(labels)}."
            )
        place = positions(labels, self.classes_, "DiscreteBayes")
        if (place < 0).any():
            columns = tuple(column[place >= 0] for column in columns)
        return Part(columns, place[place >= 0].astype(np.uint16), None, True)

    def _read_columns(self, X: Any) -> tuple[Columns, int]:
        """Return the columns of rows, coded by the schema of training, and how many rows."""
        check_is_fitted(self, "schema_")
        if is_plain(X, self.nominal) and not self.schema_.nominal:
            X = self._check_shape(X, reset=False)
            if X.shape[1] == len(self.schema_.attributes):
                return tuple(X.T), len(X)
        return self._columns_of(self._rows(X))

    def _columns_of(self, table: Table) -> tuple[Columns, int]:
        return tuple(table.raw_array(c.name) for c in self.schema_.attributes), len(table)

    def _search_and_count(
        self,
        rows: Labelled,
        weight: FloatArray | None,
        judge: Part | None,
        report: Progress | None,
    ) -> None:
        searched = self.search is not None and bool(rows.schema.numeric)
        judged = searched or self.bin_smoothing == "validation"
        part, columns = Part(rows.columns, rows.target, weight), rows.schema.attributes
        task = SearchTask(self, part, columns, len(self.classes_), judged, judge, report)
        self._learn_stakes(task.by_class.sum(axis=0) if judge is None else task.by_class[0])
        aim = self._aim(task.by_class)
        budget = np.inf if self.budget is None else float(self.budget)
        found = quantize(task, budget, aim)
        self.kept_levels_, self.dropped_, self._named = found.kept, found.dropped, ()
        self.start_boundaries_ = [axis.edges for axis in found.start if axis.edges is not None]
        self.history_ = task.clock.history
        self.notes_ = (*rows.notes, *found.notes, *_stopped(task.clock.stopped))
        grid = CellGrid(found.axes)
        both = CellTable.count(grid, task.parts, task.classes, checking=True)
        self._choose_smoothing(both, aim, task.totals)
        train = both.counts[:, ::2]
        counts = train + both.counts[:, 1::2] if judge is None else train
        self._keep(CellTable.of(grid, both.levels, counts))

    def _learn_stakes(self, by_class: FloatArray) -> None:
        """Learn prior and gains for the present classes."""
        self.class_prior_ = prior_of(self.prior, by_class, self.classes_, "DiscreteBayes")
        matrix = GainMatrix.of(self.gain, self.classes_.tolist())
        self.gain_matrix_, self.decisions_ = matrix.values.copy(), matrix.decisions

    def _keep(self, cells: CellTable) -> None:
        """Answer by these cells from now on."""
        self._learn_stakes(cells.by_class)
        self.cells_ = cells
        smoothing = self._smoothing(cells, self.bin_smoothing_)
        self._cell_model = CellModel(self.class_prior_, smoothing, float(self.smoothing))

    @property
    def _imagined(self) -> FloatArray:
        """The imagined rows of each class that are added to a cell."""
        return np.asarray(float(self.smoothing) * self.class_prior_)

    def _smoothing(self, cells: CellTable, k: float) -> BinSmoothing:
        return BinSmoothing(cells, k, self.smooth_by, self.equal_volumes)

    def _aim(self, by_class: FloatArray) -> Aim:
        """Scale the gains so that their sum over rows is what the prior's fractions earn."""
        train = check = self.gain_matrix_
        if not (isinstance(self.prior, str) and self.prior == "empirical"):
            train, check = (
                np.ascontiguousarray(
                    self.gain_matrix_ * prior_factor(self.class_prior_, weight)[:, None]
                )
                for weight in by_class
            )
        fallback = int((self.class_prior_ @ self.gain_matrix_).argmax())
        return Aim(GAIN, train, check, 0.0, fallback)

    def _choose_smoothing(self, both: CellTable, aim: Aim, totals: tuple[float, float]) -> None:
        """Take the k that earns most, the smaller of equal ones.

        Validation rows judge; where there are none, each training row is judged by the others.
        """
        train, check = (
            CellTable.of(both.grid, both.levels, both.counts[:, at::2]) for at in (0, 1)
        )
        factor = prior_factor(self.class_prior_, train.by_class)
        chosen = isinstance(self.bin_smoothing, str)
        tried = [0.0] if chosen else [float(self.bin_smoothing or 0.0)]
        bounded = self.budget is not None and np.isfinite(self.budget)  # else rows are looked up
        alone = bounded and self.smooth_by == "rows" and len(train) <= MOST_ALONE
        if chosen and (totals[1] > 0 or alone):
            tried = candidates(totals[0], both.grid.cells)
        judged: list[tuple[float, float]] = []
        if totals[1] > 0:
            judged = [self._earned(train, check, k, factor, aim.check, totals[1]) for k in tried]
        elif len(tried) > 1:
            judged = [self._earned_alone(train, k, factor, aim.train) for k in tried]
        self.bin_smoothing_table_ = [
            {"k": k, "gain": earned, "accuracy": hits}
            for k, (earned, hits) in zip(tried, judged, strict=False)
        ]
        best, self.bin_smoothing_ = -np.inf, tried[0]
        for line in self.bin_smoothing_table_:
            if line["gain"] > best + 1e-12:
                best, self.bin_smoothing_ = line["gain"], line["k"]
        k = self.bin_smoothing_
        train_gain, _ = self._earned(train, train, k, factor, aim.train, totals[0])
        self.gain_ = {"train": train_gain, "validation": best if totals[1] > 0 else None}

    def _earned(
        self,
        train: CellTable,
        check: CellTable,
        k: float,
        factor: FloatArray,
        gains: FloatArray,
        total: float,
    ) -> tuple[float, float]:
        """Return expected gain and accuracy on rows in cells, the training rows deciding."""
        weights = self._smoothing(train, k).weights(check.levels) * factor + self._imagined
        chosen = (weights @ self.gain_matrix_).argmax(axis=1)
        every = np.arange(len(chosen))
        right = chosen < len(self.classes_)
        hits = float(check.counts[every[right], chosen[right]].sum())
        return float((check.counts @ gains)[every, chosen].sum()) / total, hits / total

    def _earned_alone(
        self, train: CellTable, k: float, factor: FloatArray, gains: FloatArray
    ) -> tuple[float, float]:
        """Return both when each row is left out: k others are k + 1 rows with itself."""
        around = [BinSmoothing(train, k + more).weights(train.levels) for more in (1.0, 2.0)]
        earned = hits = 0.0
        for place in range(train.counts.shape[1]):
            cells = np.flatnonzero(train.counts[:, place] > 0)
            left, wider = (weights[cells] for weights in around)
            for weights in (left, wider):
                weights[:, place] = np.maximum(weights[:, place] - 1.0, 0.0)
            empty = left.sum(axis=1) <= 0  # no other row in the cell: its neighbors answer
            left[empty] = wider[empty]
            chosen = ((left * factor + self._imagined) @ self.gain_matrix_).argmax(axis=1)
            weight = train.counts[cells, place]
            earned += float(weight @ gains[place, chosen])
            hits += float(weight @ (chosen == place))
        return earned / train.total, hits / train.total

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the posterior of each class (columns, in the order of ``classes_``)."""
        columns, rows = self._read_columns(X)
        return self._cell_model.look_up(columns, rows)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class with the largest posterior; of equal ones the first."""
        columns, rows = self._read_columns(X)
        return np.asarray(self.classes_[self._cell_model.look_up(columns, rows, best=True)])

    def _scores(self, table: Table) -> FloatArray:
        return logs_of(self._cell_model.look_up(*self._columns_of(table)))

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
        levels, names = self._levels_of(X), self._level_names()
        return describe_cells(self._cell_model.smoothing, levels, names, self.classes_.tolist())

    def _levels_of(self, X: Any) -> Levels:
        columns, rows = self._read_columns(X)
        return self.cells_.grid.levels([as_kernel_column(column) for column in columns], rows)

    def _level_names(self) -> list[tuple[str, ...]]:
        return [
            level_names(axis, column, self.kept_levels_.get(axis.name))
            for axis, column in zip(self.cells_.grid.axes, self.schema_.attributes, strict=True)
        ]

    def explain(self, X: Any) -> Explanation:
        """Return what each column changes in the log posterior as it becomes known; it adds up.

        The columns are taken in their order; `cells_of` tells the cell itself.

        Examples
        --------
        >>> import countwise as cw
        >>> weather = cw.read("sample:weather").select(["outlook", "windy"])
        >>> model = cw.DiscreteBayes().fit(weather)
        >>> print(model.explain(weather.take([0])).describe())
        no (posterior 0.589) against yes: log-odds +0.361
            -0.588  before any evidence
            +0.827  outlook = sunny
            +0.122  windy = FALSE
        """
        levels, names = self._levels_of(X), self._level_names()
        axes = [at for at, axis in enumerate(self.cells_.grid.axes) if axis.size > 1]
        # A class that no row of a cell is of would be infinitely unlikely.
        logs = np.log(
            np.maximum(self._cell_model.posteriors_by_step(levels, axes), LEAST_PROBABILITY)
        )
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
        columns = shorten(shown, 8) or "no column is used"
        validation = self.gain_["validation"]
        checked = "" if validation is None else f", {validation:.3f} in validation"
        return (
            f"{grid.cells:,} cells, {len(self.cells_):,} of them with rows: {columns}.\n"
            f"The rows in them earn {self.gain_['train']:.3f} each in training{checked}."
        )

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
            self.check_parameters()
            self._add(self._count(X, y, sample_weight))
        if classes is not None:
            self._name_classes(np.unique(np.asarray(classes)).tolist())
        return self

    def forget(
        self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Take rows away again; they must have been counted before. The boundaries stay."""
        check_is_fitted(self, "cells_")
        self._add(self._count(X, y, sample_weight), sign=-1.0)
        return self

    def merge(self, other: DiscreteBayes) -> Self:
        """Add the cells of another model with the same boundaries, as if its rows had come here."""
        check_is_fitted(self, "cells_")
        if type(other) is not type(self):
            raise CountsError(
                f"DiscreteBayes: only models of one kind merge; got a {type(other).__name__}."
            )
        check_is_fitted(other, "cells_")
        if self._cuts() != other._cuts():
            raise CountsError(
                "DiscreteBayes: only models with the same boundaries merge; got others. Fit one "
                "of them, and let the other begin as its copy with partial_fit."
            )
        self._add(_Counted(other.schema_, other.cells_, other.classes_.tolist()))
        return self

    def __add__(self, other: object) -> Self:
        """Return a new model of the rows of both."""
        return copy(self).merge(other) if isinstance(other, DiscreteBayes) else NotImplemented

    def _cuts(self) -> tuple[Any, ...]:
        """Return how columns are cut and folded; models merge where this is equal."""
        edges = [
            (axis.name, None if axis.edges is None else axis.edges.tolist())
            for axis in self.cells_.grid.axes
        ]
        return edges, self.kept_levels_, self.dropped_

    def _count(self, X: Any, y: ArrayLike | None, sample_weight: ArrayLike | None) -> _Counted:
        """Count rows in the cells; new levels and classes stand behind the known ones."""
        table = self._read_training(X, y, known=self.schema_)
        weight = read_weights(sample_weight, len(table), "DiscreteBayes")
        rows, weight = keep_weighted(from_table(table), weight)
        part, schema = Part(rows.columns, rows.target, weight), rows.schema
        blanks = [found.blank for found in ranges_of([part], schema.attributes)]
        classes = _target_of(schema).levels
        cells = CellTable.count(self._extend_grid(schema, blanks), [part], len(classes))
        return _Counted(schema, cells, classes)

    def _extend_grid(self, schema: Schema, blanks: Sequence[bool]) -> CellGrid:
        """Return the grid with room for new levels, and for missing values where they occur."""
        axes = []
        for axis, column, blank in zip(
            self.cells_.grid.axes, schema.attributes, blanks, strict=True
        ):
            if axis.name in self.dropped_:
                lookup = None if axis.numeric else np.zeros(column.width + 2, np.int64)
                axes.append(replace(axis, lookup=lookup))
            elif axis.numeric:
                axes.append(replace(axis, blank=axis.blank or blank))
            else:
                kept = self.kept_levels_.get(axis.name)
                axes.append(nominal_axis(column, kept, axis.blank or blank))
        return CellGrid(tuple(axes))

    def _join(self, left: _Counted, right: _Counted, sign: float = 1.0) -> _Counted:
        """Add cells, or take them away, on a grid and with classes that hold both."""
        schema = merge_schemas(left.schema, right.schema)
        axes = zip(left.cells.grid.axes, right.cells.grid.axes, strict=True)
        grid = self._extend_grid(schema, [one.blank or two.blank for one, two in axes])
        target = _target_of(schema)
        mine, counts = _move(left.cells, grid, target, left.classes)
        theirs, more = _move(right.cells, grid, target, right.classes)
        cells = CellTable.of(
            grid, np.concatenate([mine, theirs]), np.concatenate([counts, sign * more])
        )
        return _Counted(schema, cells, target.levels)

    def _add(self, counted: _Counted, sign: float = 1.0) -> None:
        """Add what was counted to the cells of the model, or take it away."""
        known = _Counted(self.schema_, self.cells_, self.classes_.tolist())
        schema, both, _ = self._join(known, counted, sign)
        target = _target_of(schema)
        if both.total <= 0 or not len(both):
            raise CountsError("DiscreteBayes: at least one row must stay; got all to forget.")
        if sign < 0 and float(both.counts.min()) < -1e-6:
            raise CountsError(
                "DiscreteBayes: only rows that were counted can be forgotten; got others."
            )
        named = {level_key(label) for label in self._named}
        present = [
            at
            for at, level in enumerate(target.levels)
            if both.by_class[at] > 1e-9 or level_key(level) in named
        ]
        self.schema_ = schema
        self.classes_ = labels_array([target.levels[at] for at in present])
        self._keep(replace(both, counts=np.ascontiguousarray(both.counts[:, present])))

    def _name_classes(self, labels: list[Any]) -> None:
        """Let classes be known that no row has shown yet."""
        known = {level_key(label) for label in labels}
        others = [label for label in self.classes_.tolist() if level_key(label) not in known]
        if others:
            raise ParameterError(
                f"partial_fit: y may hold only the labels in classes; got also {listing(others)}."
            )
        target, grid = _target_of(self.schema_).with_levels(labels), self.cells_.grid
        levels, counts = _move(self.cells_, grid, target, self.classes_.tolist())
        self.schema_, self._named = self.schema_.with_columns([target]), tuple(labels)
        self.classes_ = labels_array(labels)
        self._keep(CellTable.of(grid, levels, counts))

    def parameters_to_save(self) -> dict[str, Any]:
        """Return the parameters as a file holds them."""
        seed, gain = self.random_state, self.gain
        if isinstance(gain, str | os.PathLike):
            gain = GainMatrix.of(gain, self.classes_.tolist())
        kept = seed if isinstance(seed, int | np.integer) else None
        return {**super().parameters_to_save(), "random_state": kept, "gain": gain}

    def after_load(self) -> None:
        """Check the loaded parts and make the rest from them."""
        if isinstance(self.gain, str):  # never the path of another file to read
            raise ParameterError("DiscreteBayes", "gain", "a gain matrix", self.gain)
        self._check_classes()
        axes, columns = self.cells_.grid.axes, self.schema_.attributes
        if [axis.name for axis in axes] != [column.name for column in columns]:
            raise TableError("Cells: there must be an axis for each column of the schema.")
        again = self._extend_grid(self.schema_, [False] * len(axes)).axes
        for axis, other, column in zip(axes, again, columns, strict=True):
            fits = axis.numeric == (column.kind == "numeric")
            if axis.lookup is not None and other.lookup is not None:
                fits = fits and np.array_equal(axis.lookup, other.lookup)
            dropped = axis.name in self.dropped_
            if not fits or axis.width != other.width or (dropped and axis.size != 1):
                raise TableError(f"Cells: the axis of {axis.name[:40]!r} must fit its column.")
        if self.cells_.counts.shape[1] != len(self.classes_) or not (
            0 <= self.bin_smoothing_ < 1e300
        ):
            raise TableError("Cells: each cell must have a weight of each class.")
        self._check_search()
        self._keep(self.cells_)

    def _check_search(self) -> None:
        """Refuse a history of the search that cannot be shown."""
        check_history(self.history_)
        if any(edges.ndim != 1 or not np.isfinite(edges).all() for edges in self.start_boundaries_):
            raise TableError("Cells: the search must have begun with finite boundaries.")
        lines = [{"train", "validation"} == set(self.gain_)]
        lines += [{"k", "gain", "accuracy"} == set(line) for line in self.bin_smoothing_table_]
        if not all(lines):
            raise TableError("Cells: the gains must be those of a search.")

    def file_summary(self) -> dict[str, Any]:
        """Return what `describe` shows of a saved model."""
        cells = {"cells": len(self.cells_), "levels": self.levels_}
        return {**self._class_summary(self.cells_.by_class), **cells}

    def views(self) -> Sequence[View]:
        """Return the grid of cells: cut points, the search, the decisions."""
        from countwise.models.discrete_bayes.explanation import cell_grid

        check_is_fitted(self, "cells_")
        return (cell_grid(self),)


def _target_of(schema: Schema) -> Column:
    assert schema.target is not None  # training rows have classes
    return schema.target


def _move(
    cells: CellTable, grid: CellGrid, target: Column, classes: Sequence[Level]
) -> tuple[Levels, FloatArray]:
    """Return levels and class weights of cells on a wider grid, with the classes of a target."""
    levels = cells.levels.copy()
    for at, (old, new) in enumerate(zip(cells.grid.axes, grid.axes, strict=True)):
        if old.blank:  # missing values stay behind the levels
            levels[cells.levels[:, at] == old.width, at] = new.width
    counts = np.zeros((len(cells), target.width))
    counts[:, [target.place(label) for label in classes]] = cells.counts
    return levels, counts


def _stopped(why: str | None) -> tuple[Note, ...]:
    if why is None:
        return ()
    return (Note.of("P12", why="when its time was over" if why == "time" else "by an interrupt"),)
