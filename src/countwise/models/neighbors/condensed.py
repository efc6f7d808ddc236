"""Condensed neighbors: a small set of rows that classifies every training row correctly."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from countwise._typing import FloatArray
from countwise.errors import TableError
from countwise.models.choose_smoothing import add_in_order, an_amount
from countwise.models.neighbors.attribute_weights import learn_weighted_space
from countwise.models.neighbors.base import StoredRowsClassifier
from countwise.models.neighbors.explanation import Neighborhood
from countwise.models.neighbors.search import Search
from countwise.models.neighbors.space import Space
from countwise.models.neighbors.votes import SAME, Scheme
from countwise.notes import Note
from countwise.params import fitted, one_of, parameter, seed, whole
from countwise.tables.table import Table

Rows = NDArray[np.int64]


class CondensedNeighbors(StoredRowsClassifier):
    """Keep the rows whose nearest classifies every training row right, and classify by them.

    Hart's rule (1968) goes through the rows and keeps each one that the rows kept so far classify
    wrong, pass after pass, until a pass keeps none. The result is consistent: it classifies its
    training rows without error, except equal rows of different classes (``conflicts_``; a missing
    cell is far even from itself, so such a row may be no nearer to itself than to others). It
    depends on the order of the rows: with ``orders`` above 1 several are tried, the smallest set is
    kept, and ``sizes_`` holds the sizes. ``method="fast"`` is Angiulli's rule (2005), which depends
    on the order only among equally near rows and often keeps fewer.

    Examples
    --------
    >>> import countwise as cw
    >>> iris = cw.read("sample:iris")
    >>> model = cw.CondensedNeighbors().fit(iris)
    >>> model.n_rows_, round(model.reduction_, 2), model.score(iris)
    (24, 0.84, 1.0)
    """

    method: str = parameter(
        one_of("hart", "fast"),
        "'hart' (Hart 1968) or 'fast' (Angiulli 2005)",
        default="hart",
        kw_only=False,
    )
    orders: int = parameter(
        whole(at_least=1),
        "number of row orders that 'hart' tries: first the given order, then shuffled ones; the "
        "smallest set is kept",
        default=1,
    )
    random_state: int | None = parameter(seed(), "random seed of the shuffled orders", default=0)
    smoothing: float | str = parameter(
        an_amount(),
        "number of imagined votes, spread like the class frequencies of the training rows, that "
        "are added to the one vote of the nearest row; they never outvote it; 0 gives the plain "
        "vote. 'auto' takes the number, up to 50, with the least log loss in five-fold "
        "cross-validation on the training rows (of more than 20,000 rows about so many count), or "
        "1 for fewer than 50 rows",
        default="auto",
    )
    kept_: Rows = fitted()
    reduction_: float = fitted()
    prior_: FloatArray = fitted()
    passes_: int = fitted()
    sizes_: tuple[int, ...] = fitted()
    conflicts_: int = fitted()

    def fit(
        self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn the space from all rows, and store the rows that are enough.

        Weights count for the space and for the class frequencies; which rows are stored follows
        from their distances.
        """
        table, weight, known, _ = self._training(X, y, sample_weight)
        space, relevance, notes = learn_weighted_space(self, table, weight)
        chosen, self.passes_, self.sizes_, clash = self._choose_rows(space, table, weight)
        chosen = np.sort(chosen)
        self.kept_ = chosen if known is None else known[chosen].astype(np.int64)
        self.reduction_ = 1.0 - len(chosen) / len(table)
        self.notes_ = (*self.notes_, *notes)
        total = np.bincount(table.target, weight, minlength=len(table.classes))
        self.prior_ = total[total > 0] / total.sum()
        self.store_rows(table.take(chosen), None, space, relevance, None, self.kept_)
        # All others are right by construction; chosen ones are unless they clash with each other.
        self.conflicts_ = self._count_errors() if clash or _has_missing(table) else 0
        self._set_smoothing(table, weight)
        if self.conflicts_:
            self.notes_ += (_conflict_note(self.conflicts_),)
        return self

    def _choose_rows(
        self, space: Space, table: Table, weight: FloatArray | None
    ) -> tuple[Rows, int, tuple[int, ...], int]:
        """Return the chosen rows, the number of passes, the sizes by order, and the conflicts."""
        search = Search(space, table)
        label = table.target.astype(np.int64)
        same = SAME * (1.0 if space.steep else space.p)
        if self.method == "fast":
            seeds = _central_rows(space, table, weight)
            chosen, rounds, clash = search.condense_fast(table, seeds, label, same)
            return chosen, rounds, (len(chosen),), clash
        rng = np.random.default_rng(self.random_state)
        order = np.arange(len(table), dtype=np.int64)
        best = search.condense(table, order, label, same)
        sizes = [len(best[0])]
        for _ in range(self.orders - 1):
            other = search.condense(table, rng.permutation(order), label, same)
            sizes.append(len(other[0]))
            best = other if len(other[0]) < len(best[0]) else best
        chosen, passes, clash = best
        return chosen, passes, tuple(sizes), clash

    @property
    def class_shares(self) -> FloatArray:
        """The class frequencies of all training rows, not only of the stored ones."""
        return self.prior_

    def smooth(self, fractions: FloatArray, imagined: float) -> FloatArray:
        """Return the posteriors that belong to fractions of the votes; no decision changes."""
        if not imagined:
            return fractions
        added = np.broadcast_to(imagined * self.prior_, fractions.shape)
        total = add_in_order(fractions, added)
        return np.asarray(total / total.sum(axis=1, keepdims=True))

    def vote_fractions(self, table: Table) -> FloatArray:
        """Return the fractions of the votes; the class frequencies where every cell is missing."""
        fractions = super().vote_fractions(table)
        blank = np.ones(len(table), dtype=bool)
        for column in table.schema.attributes:
            blank &= table.missing(column.name)
        fractions[blank] = self.prior_
        return fractions

    def _count_errors(self) -> int:
        """Count the stored rows that their nearest stored row classifies wrong."""
        column = self.rows_.target_column
        places = [column.place(label) for label in self.classes_.tolist()]
        best = self.vote_fractions(self.rows_).argmax(axis=1)
        return int(np.count_nonzero(best != np.searchsorted(places, self.rows_.target)))

    def after_load(self) -> None:
        """Make again what is not saved; refuse fields that do not fit each other."""
        super().after_load()
        if self.places_ is None or not np.array_equal(self.kept_, self.places_):
            raise TableError("Rows: those that were kept must be those that are stored.")
        if self.prior_.shape != self.classes_.shape or abs(self.prior_.sum() - 1.0) > 1e-9:
            raise TableError("Rows: the class probabilities must sum to one.")
        if not np.all(self.prior_ > 0) or not 0 <= self.reduction_ < 1:
            raise TableError("Rows: the class probabilities must be above zero.")

    def file_summary(self) -> dict[str, Any]:
        """Return what `describe` tells of a saved model first."""
        return {**super().file_summary(), "reduction": self.reduction_}

    def describe_training(self) -> list[str]:
        """Return how far the rows were reduced, in sentences."""
        return self.describe().splitlines()[: 2 if len(self.sizes_) > 1 else 1]

    @property
    def k_and_weights(self) -> tuple[int, Scheme]:
        """One neighbor votes."""
        return 1, "uniform"

    def neighbors(self, X: Any, k: Any = 1) -> Neighborhood:
        """Return the nearest kept rows, as `Neighbors.neighbors` does; by default the nearest."""
        check_is_fitted(self, "rows_")
        return self.find_neighbors(self._rows(X), k)

    def describe(self) -> str:
        """Describe in a few sentences how far the rows were reduced.

        Examples
        --------
        >>> import countwise as cw
        >>> print(cw.CondensedNeighbors(orders=5).fit(cw.read("sample:iris")).describe())
        21 of 150 rows are kept: 86 % less, in 3 passes.
        In 5 orders of the rows it took 21 to 24.
        """
        check_is_fitted(self, "rows_")
        every = round(self.n_rows_ / (1.0 - self.reduction_))
        step = "passes" if self.method == "hart" else "rounds"
        lines = [
            f"{self.n_rows_} of {every} rows are kept: {100 * self.reduction_:.0f} % less, in "
            f"{self.passes_} {step}."
        ]
        if len(self.sizes_) > 1:
            lines.append(
                f"In {len(self.sizes_)} orders of the rows it took {min(self.sizes_)} to "
                f"{max(self.sizes_)}."
            )
        if self.conflicts_:
            lines.append(str(_conflict_note(self.conflicts_)))
        return "\n".join(lines)


def _conflict_note(number: int) -> Note:
    return Note.of("N03", rows=number)


def _has_missing(table: Table) -> bool:
    """Return whether cells are missing or unseen: then a row may be far from itself."""
    return any(
        bool(np.any(table.codes(column.name) >= column.width))
        if column.coded
        else bool(np.isnan(table.values(column.name)).any())
        for column in table.schema.attributes
    )


def _central_rows(space: Space, table: Table, weight: FloatArray | None) -> Rows:
    """Return for each class the row nearest to its means and most frequent levels."""
    seeds = []
    for label in np.unique(table.target):
        members = np.flatnonzero(table.target == label)
        rows = table.take(members)
        counts = None if weight is None else weight[members]
        data: dict[str, NDArray[Any]] = {}
        for column in table.schema.attributes:
            if column.kind == "numeric":
                values = rows.values(column.name)
                known = ~np.isnan(values)
                some = None if counts is None else counts[known]
                mean = np.average(values[known], weights=some) if known.any() else np.nan
                data[column.name] = np.array([mean])
            else:
                codes = rows.codes(column.name)
                often = np.bincount(codes, counts, column.width + 2)[: column.width or 1].argmax()
                data[column.name] = np.array([often], dtype=codes.dtype)
        center = Table(table.schema.without_target(), data)
        who, _ = Search(space, rows).nearest(center, 1)
        seeds.append(int(members[who[0, 0]]))
    return np.array(sorted(seeds), dtype=np.int64)
