"""The discrete Bayes rule: cells within a budget, cut where it earns most."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from countwise._typing import FloatArray
from countwise.decisions.class_prior import PRIOR_CONSTRAINT, prior_of
from countwise.decisions.gain_matrix import GAIN_CONSTRAINT, GainMatrix
from countwise.discretize.joint_search.cell_counts import CellTable
from countwise.discretize.joint_search.cell_grid import CellGrid
from countwise.discretize.joint_search.parameters import SearchParameters
from countwise.discretize.joint_search.rows import (
    Labelled,
    Part,
    SearchTask,
    keep_weighted,
)
from countwise.discretize.joint_search.search import SearchOptions, quantize
from countwise.discretize.joint_search.sweep import GAIN, Aim
from countwise.errors import ParameterError
from countwise.models.discrete_bayes.bin_smoothing import BinSmoothing, candidates
from countwise.models.discrete_bayes.cell_model import CellClassifier
from countwise.notes import Note
from countwise.params import (
    Constraint,
    fitted,
    nothing,
    number,
    one_of,
    parameter,
)
from countwise.tables.schema import labels_array
from countwise.tables.weights import read_weights

if TYPE_CHECKING:
    from countwise.models.views import View

#: With so many occupied cells at most a row can be judged by the others.
MOST_ALONE = 5000
#: A cell that weighs much less counts as empty, so that forgetting leaves nothing behind.
LEAST_WEIGHT = 1e-6


def _budget() -> Constraint:
    least = number(at_least=1)
    return Constraint(
        "a number of cells, at least 1 (infinite: every value is a level)",
        lambda value: least.admits(value) or (isinstance(value, float) and value == np.inf),
        good=(1, 10_000, float("inf")),
        bad=(0, -3, float("nan"), "many"),
    )


def _called() -> Constraint:
    return Constraint("a function", callable, bad=(7.5,))


class DiscreteBayes(SearchParameters, CellClassifier):
    """Classify by the cell a row falls into: columns cut together, where it earns most.

    Panda and Garg's discrete Bayes rule: numeric columns are cut into levels, the levels of all
    columns make cells, at most `budget` of them, and the class weights in a cell are its posterior.
    What they searched for in 73 hours is found in seconds: a boundary is walked once through the
    sorted rows, which tells the gain at every place; boundaries are lifted and put where they earn
    most, until none earns more. Large tables are searched on a sample, then all rows near the
    boundaries say exactly where they are.

    `predict` takes the most probable class, as every model here; `decide` takes the decision that
    earns most by `gain`, as ``Decide(model, gain)`` does.

    Attributes
    ----------
    boundaries_
        One sorted array a numeric column, in the order of the columns.
    levels_
        How many levels each column has, missing values not counted.
    cells_
        The occupied cells with their class weights, a `CellTable`.
    smoothing_
        The k that is used.

    Examples
    --------
    >>> import numpy as np
    >>> import countwise as cw
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((2000, 2)).round(3)
    >>> y = (X[:, 0] > 0.3) ^ (X[:, 1] > 0.8)
    >>> model = cw.DiscreteBayes(budget=4, random_state=0).fit(X, y)
    >>> [own.round(2).tolist() for own in model.boundaries_]
    [[0.3], [0.8]]
    >>> model.score(X, y)
    1.0
    """

    budget: float | None = parameter(
        _budget() | nothing(),
        "how many cells there may be. None or infinite: every value is a level, nothing is "
        "searched",
        default=10000,
        kw_only=False,
    )
    gain: Any = parameter(
        nothing() | GAIN_CONSTRAINT,
        "what the boundaries are to earn: gains by true class (rows) and assigned class "
        "(columns) as an array in the order of the classes, nested mappings, or a GainMatrix. "
        "None: one for every right answer",
        default=None,
    )
    prior: str | Mapping[Any, float] | ArrayLike = parameter(
        PRIOR_CONSTRAINT,
        "'empirical' class shares, 'uniform', or given as array or mapping",
        default="empirical",
    )
    smoothing: str | float | None = parameter(
        one_of("validation") | number(at_least=0) | nothing(),
        "bin smoothing (eq. 16 to 20): how many rows k a cell and its nearest neighbours must "
        "hold, 'validation' to take the k that earns most on the validation rows (without any, "
        "on each training row by the others) of the paper's list or, where that ends below one "
        "row, of 1 to 100; or None. Cells without any row always ask their neighbours",
        default="validation",
    )
    progress: Callable[[dict[str, Any]], None] | None = parameter(
        nothing() | _called(),
        "called with a mapping after every step of the search: stage, gains, seconds",
        default=None,
    )
    start_boundaries_: list[FloatArray] = fitted("where the search began")
    gain_: dict[str, float | None] = fitted(
        "expected gain in 'train' and 'validation' (None without), training rows deciding"
    )
    history_: list[dict[str, Any]] = fitted("the steps of the search")
    smoothing_table_: list[dict[str, float]] = fitted(
        "expected gain and accuracy on the validation rows for every k tried"
    )

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        validation: Any = None,
    ) -> Self:
        """Find the boundaries and count the cells.

        An array of single-precision numbers is not converted. Rows to judge by come as
        `validation`, a pair of X and y or a `Table`; without it a share of the rows is held out.
        """
        self._check_parameters()
        rows = self._brought(X, y)
        weight = read_weights(sample_weight, len(rows), "DiscreteBayes")
        rows, weight = keep_weighted(rows, weight)
        if not len(rows):
            raise ParameterError(
                "DiscreteBayes: the sample weights must not all be zero, but they are."
            )
        if weight is not None and weight.min() < LEAST_WEIGHT:
            raise ParameterError(
                f"DiscreteBayes: sample weights must be 0 or at least {LEAST_WEIGHT:g}, but "
                f"{weight.min():g} came. Multiply them all by one number."
            )
        rows = self._numbered_classes(rows)
        self.schema_ = rows.schema
        judge = None if validation is None else self._judging(validation)
        self._search_and_count(rows, weight, judge)
        return self

    def _numbered_classes(self, rows: Labelled) -> Labelled:
        """Keep the classes that occur, numbered from 0."""
        target = rows.schema.target
        assert target is not None
        present = np.flatnonzero(np.bincount(rows.target, minlength=target.width))
        self.classes_ = labels_array([target.levels[place] for place in present])
        self._class_places = present
        if len(present) == target.width:
            return rows
        place = np.zeros(target.width, np.uint16)
        place[present] = np.arange(len(present))
        return Labelled(rows.schema, rows.columns, place[rows.target], rows.notes)

    def _search_and_count(
        self, rows: Labelled, weight: FloatArray | None, judge: Part | None
    ) -> None:
        searched = self.search is not None and bool(rows.schema.numeric)
        judged = searched or self.smoothing == "validation"
        task = SearchTask(
            Part(rows.columns, rows.target, weight),
            rows.schema.attributes,
            len(self.classes_),
            judge=judge,
            validation=self.validation if judged else 0.0,
            random_state=self.random_state,
            max_seconds=self.max_seconds,
            progress=self.progress,
        )
        self.gain_matrix_, self.decisions_ = self._gains()
        counted = task.by_class.sum(axis=0) if judge is None else task.by_class[0]
        self.class_prior_ = self._prior(counted)
        aim = self._aim(task.by_class)
        budget = np.inf if self.budget is None else float(self.budget)
        options = SearchOptions(budget, self.levels, self.correction, self.search)
        found = quantize(task, options, aim, "DiscreteBayes")
        self.kept_levels_, self.dropped_, self._named = found.kept, found.dropped, ()
        self.start_boundaries_ = [a.edges for a in found.start if a.edges is not None]
        self.history_ = task.clock.history
        self.notes_ = (*rows.notes, *found.notes, *_stopped(task.clock.stopped))
        grid = CellGrid(found.axes)
        both = CellTable.count(grid, task.parts, task.classes, checking=True)
        self._choose_smoothing(both, aim, task.totals)
        train = both.counts[:, ::2]
        counts = train + both.counts[:, 1::2] if judge is None else train
        self._settle(CellTable.of(grid, both.levels, counts))

    def _parameters_to_save(self) -> dict[str, Any]:
        seed, gain = self.random_state, self.gain
        if isinstance(gain, str | os.PathLike):
            gain = GainMatrix.of(gain, self.classes_.tolist())
        kept = seed if isinstance(seed, int | np.integer) else None
        return {
            **super()._parameters_to_save(),
            "progress": None,
            "random_state": kept,
            "gain": gain,
        }

    def _after_load(self) -> None:
        if isinstance(self.gain, str):  # never the path of another file to read
            raise ParameterError("DiscreteBayes", "gain", "a gain matrix", self.gain)
        super()._after_load()

    def _gains(self) -> tuple[FloatArray, tuple[Any, ...]]:
        matrix = GainMatrix.of(self.gain, self.classes_.tolist())
        return matrix.values.copy(), matrix.decisions

    def _prior(self, by_class: FloatArray) -> FloatArray:
        return prior_of(self.prior, by_class, self.classes_, "DiscreteBayes")

    def _aim(self, by_class: FloatArray) -> Aim:
        """Gains scaled so that their sum over rows is what the prior's shares earn."""
        scaled = []
        for own in by_class:
            share = own / own.sum() if own.sum() > 0 else np.ones(len(own))
            factor = np.ones(len(own))
            if not (isinstance(self.prior, str) and self.prior == "empirical"):
                factor = np.divide(self.class_prior_, share, out=np.zeros(len(own)), where=own > 0)
            scaled.append(np.ascontiguousarray(self.gain_matrix_ * factor[:, None]))
        fallback = int((self.class_prior_ @ self.gain_matrix_).argmax())
        return Aim(GAIN, scaled[0], scaled[1], 0.0, fallback)

    def _choose_smoothing(self, both: CellTable, aim: Aim, totals: tuple[float, float]) -> None:
        """Take the k that earns most, the smaller of equal ones.

        Validation rows judge; where there are none, each training row is judged by the others.
        """
        grid, counts = both.grid, both.counts
        train = CellTable.of(grid, both.levels, counts[:, ::2])
        factor = self._factor(train.by_class)
        chosen_here = isinstance(self.smoothing, str)
        tried = [0.0] if chosen_here else [float(self.smoothing or 0.0)]
        bounded = self.budget is not None and np.isfinite(self.budget)  # else rows are looked up
        alone = bounded and self.smooth_by == "rows" and len(train) <= MOST_ALONE
        if chosen_here and (totals[1] > 0 or alone):
            tried = candidates(totals[0], grid.cells)
        judged: list[tuple[float, float]] = []
        if totals[1] > 0:
            check = CellTable.of(grid, both.levels, counts[:, 1::2])
            judged = [self._earned(train, check, k, factor, aim, totals[1]) for k in tried]
        elif len(tried) > 1:
            judged = [self._earned_alone(train, k, factor, aim) for k in tried]
        self.smoothing_table_ = [
            {"k": k, "gain": earned, "accuracy": hits}
            for k, (earned, hits) in zip(tried, judged, strict=False)
        ]
        best, self.smoothing_ = -np.inf, tried[0]
        for line in self.smoothing_table_:
            if line["gain"] > best + 1e-12:
                best, self.smoothing_ = line["gain"], line["k"]
        train_gain, _ = self._earned(train, train, self.smoothing_, factor, aim, totals[0])
        self.gain_ = {"train": train_gain, "validation": best if totals[1] > 0 else None}

    def _earned(
        self,
        train: CellTable,
        check: CellTable,
        k: float,
        factor: FloatArray,
        aim: Aim,
        total: float,
    ) -> tuple[float, float]:
        """Expected gain and accuracy on rows in cells, the training rows deciding."""
        asked = check.counts.sum(axis=1) > 0
        rows = check.counts[asked]
        weights = BinSmoothing(train, k, self.smooth_by).weights(check.levels[asked]) * factor
        chosen = (weights @ self.gain_matrix_).argmax(axis=1)
        every = np.arange(len(chosen))
        earns = aim.train if check is train else aim.check
        right = chosen < len(self.classes_)
        hits = float(rows[every[right], chosen[right]].sum())
        return float((rows @ earns)[every, chosen].sum()) / total, hits / total

    def _earned_alone(
        self, train: CellTable, k: float, factor: FloatArray, aim: Aim
    ) -> tuple[float, float]:
        """Expected gain and accuracy when each row is left out: k others are k + 1 with itself."""
        around = [BinSmoothing(train, k + more).weights(train.levels) for more in (1.0, 2.0)]
        earned = hits = 0.0
        for own in range(train.counts.shape[1]):
            rows = np.flatnonzero(train.counts[:, own] > 0)
            left, wider = (near[rows].copy() for near in around)
            for near in (left, wider):
                near[:, own] = np.maximum(near[:, own] - 1.0, 0.0)
            lost = left.sum(axis=1) <= 0  # nobody else in the cell: its neighbours answer
            left[lost] = wider[lost]
            chosen = (left * factor @ self.gain_matrix_).argmax(axis=1)
            number = train.counts[rows, own]
            earned += float(number @ aim.train[own, chosen])
            hits += float(number @ (chosen == own))
        total = train.by_class.sum()
        return earned / total, hits / total

    def views(self) -> Sequence[View]:
        """Return the grid of cells: cut points, the search, the decisions."""
        from countwise.models.discrete_bayes.views import cell_grid

        check_is_fitted(self, "cells_")
        return (cell_grid(self),)


def _stopped(why: str | None) -> tuple[Note, ...]:
    if why is None:
        return ()
    words = "when its time was over" if why == "time" else "by an interrupt"
    return (Note.of("P12", why=words),)
