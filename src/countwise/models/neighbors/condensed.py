"""Condensed neighbours: the few rows that are enough to get all training rows right."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from countwise._typing import FloatArray
from countwise.errors import TableError
from countwise.models.neighbors.base import RowVoter
from countwise.models.neighbors.explanation import Neighborhood
from countwise.models.neighbors.fit_space import Wanted, learned_space
from countwise.models.neighbors.search import Search
from countwise.models.neighbors.space import Space
from countwise.models.neighbors.votes import SAME
from countwise.notes import Note
from countwise.params import fitted, one_of, parameter, seed
from countwise.params import whole as whole_number
from countwise.tables.table import Table

Rows = NDArray[np.int64]


class CondensedNeighbors(RowVoter):
    """Keep the rows that get every training row right by their nearest, and classify by them.

    Hart's rule (1968) goes through the rows and keeps each one that the rows kept so far get wrong,
    pass after pass, until a pass keeps none. The result is consistent: it classifies its own
    training rows without error, but for equal rows of different classes (``conflicts_``; a missing
    cell is far even from itself, so such a row may be no nearer to itself than to others). It
    depends on the order of the rows; with ``orders`` above 1 several are tried, the smallest set is
    kept, and ``sizes_`` tells how much the order mattered. ``method="fast"`` is Angiulli's rule
    (2005), which asks the order among equally near rows alone and often keeps fewer.

    Examples
    --------
    >>> import countwise as cw
    >>> iris = cw.read("sample:iris")
    >>> model = cw.CondensedNeighbors().fit(iris)
    >>> model.n_rows_, round(model.reduction_, 2), model.score(iris)
    (24, 0.84, 1.0)
    """

    method: str = parameter(
        one_of("hart", "fast"), "'hart' or 'fast'", default="hart", kw_only=False
    )
    orders: int = parameter(
        whole_number(at_least=1),
        "how many orders of the rows Hart's rule tries: first as they stand, then shuffled",
        default=1,
    )
    random_state: int | None = parameter(seed(), "the seed of the shuffles", default=0)
    kept_: Rows = fitted()
    reduction_: float = fitted()
    prior_: FloatArray = fitted()
    passes_: int = fitted()
    sizes_: tuple[int, ...] = fitted()
    conflicts_: int = fitted()

    def fit(self, X: Any, y: ArrayLike | None = None) -> Self:  # type: ignore[override]
        """Learn the space from all rows, and keep the rows that are enough.

        There is no sample_weight: Hart's rule goes by the order of the rows, which no weight says
        anything about.
        """
        table, _, known, _ = self._training(X, y, None)
        space, relevance, notes = learned_space(Wanted.of(self), table, None)
        chosen, self.passes_, self.sizes_, clash = self._chosen(space, table)
        chosen = np.sort(chosen)
        self.kept_ = chosen if known is None else known[chosen].astype(np.int64)
        self.reduction_ = 1.0 - len(chosen) / len(table)
        self.notes_ = (*self.notes_, *notes)
        count = np.bincount(table.target, minlength=len(table.classes))
        self.prior_ = count[count > 0] / len(table)
        self.keep(table.take(chosen), None, space, relevance, None, self.kept_)
        # All others are right by construction; kept ones are unless they clash with each other.
        self.conflicts_ = self._wrong(self.rows_) if clash or _holes(table) else 0
        if self.conflicts_:
            self.notes_ += (_conflict(self.conflicts_),)
        return self

    def _chosen(self, space: Space, table: Table) -> tuple[Rows, int, tuple[int, ...], int]:
        search = Search(space, table)
        label = table.target.astype(np.int64)
        same = SAME * (1.0 if space.steep else space.p)
        if self.method == "fast":
            seeds = _middles(search, table)
            chosen, rounds, clash = search.condense_fast(table, seeds, label, same)
            return chosen, rounds, (len(chosen),), clash
        rng = np.random.default_rng(self.random_state)
        order = np.arange(len(table), dtype=np.int64)
        best, passes, clash = search.condense(table, order, label, same)
        sizes = [len(best)]
        for _ in range(self.orders - 1):
            other, own, clashes = search.condense(table, rng.permutation(order), label, same)
            sizes.append(len(other))
            if len(other) < len(best):
                best, passes, clash = other, own, clashes
        return best, passes, tuple(sizes), clash

    def _shares(self, table: Table) -> FloatArray:
        """Vote shares; a row that tells nothing gets the class shares of all training rows."""
        made = super()._shares(table)
        blank = np.ones(len(table), dtype=bool)
        for column in table.schema.attributes:
            blank &= table.missing(column.name)
        made[blank] = self.prior_
        return made

    def _wrong(self, rows: Table) -> int:
        """How many of the kept rows are got wrong by the kept rows."""
        places = np.searchsorted(
            [rows.target_column.place(label) for label in self.classes_.tolist()], rows.target
        )
        return int(np.count_nonzero(self._shares(rows).argmax(axis=1) != places))

    def _after_load(self) -> None:
        super()._after_load()
        if self.places_ is None or not np.array_equal(self.kept_, self.places_):
            raise TableError("Rows: those that were kept must be those that are stored.")
        if self.prior_.shape != self.classes_.shape or abs(self.prior_.sum() - 1.0) > 1e-9:
            raise TableError("Rows: the class probabilities must sum to one.")
        if not np.all(self.prior_ > 0) or not 0 <= self.reduction_ < 1:
            raise TableError("Rows: the class probabilities must be above zero.")

    @property
    def votes_by(self) -> tuple[int, Any]:
        """How many neighbours vote, and by which weights."""
        return 1, "uniform"

    def neighbors(self, X: Any, k: int = 1) -> Neighborhood:
        """Say which kept rows are nearest; they go by the numbers they came with (``kept_``)."""
        check_is_fitted(self, "rows_")
        return self.neighborhood(self._rows(X), k)

    def fit_resample(self, X: Any, y: Any = None) -> tuple[Any, Any]:
        """Return the kept rows of X and y: the reducer that samplers of pipelines call.

        Rows come back as they were given, labels too where they are a series of pandas and as an
        array otherwise; a `Table` brings its labels along.

        Examples
        --------
        >>> import countwise as cw
        >>> import numpy as np
        >>> X = np.array([[0.0], [1.0], [2.0], [10.0], [11.0]])
        >>> cw.CondensedNeighbors().fit_resample(X, ["a", "a", "a", "b", "b"])
        (array([[ 0.],
               [10.]]), array(['a', 'b'], dtype='<U1'))
        """
        if isinstance(y, str):
            raise TableError(
                f"CondensedNeighbors: fit_resample needs one label a row, but {y!r} came. Pass "
                "the column itself, and the rows without it."
            )
        if type(X).__name__ == "LazyFrame":
            X = X.collect()
        self.fit(X, y)
        kept = self.kept_
        if isinstance(X, Table):
            return X.take(kept), np.asarray(X.labels)[kept]
        labels = y.iloc[kept] if hasattr(y, "iloc") else np.asarray(y)[kept]
        if hasattr(X, "iloc"):
            return X.iloc[kept], labels
        if isinstance(X, Mapping):
            return {name: np.asarray(cells)[kept] for name, cells in X.items()}, labels
        if hasattr(X, "column_names"):
            return X.take(kept), labels
        if hasattr(X, "columns"):
            return X[kept.tolist()], labels
        if isinstance(X, list):
            return [X[at] for at in kept], labels
        return np.asarray(X)[kept], labels

    def describe(self) -> str:
        """Say in a few sentences how far the rows could be reduced.

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
            lines.append(str(_conflict(self.conflicts_)))
        return "\n".join(lines)


def _conflict(number: int) -> Note:
    return Note.of("N03", rows=number)


def _holes(table: Table) -> bool:
    """Whether cells are missing or unseen: then a row may be far from itself."""
    return any(
        bool(np.any(table.codes(c.name) >= c.width))
        if c.coded
        else bool(np.isnan(table.values(c.name)).any())
        for c in table.schema.attributes
    )


def _middles(search: Search, table: Table) -> Rows:
    """For each class the row nearest to its middle: means of numbers, most frequent words."""
    seeds = []
    for label in np.unique(table.target):
        members = np.flatnonzero(table.target == label)
        own = table.take(members)
        data: dict[str, NDArray[Any]] = {}
        for column in table.schema.attributes:
            if column.kind == "numeric":
                values = own.values(column.name)
                known = values[~np.isnan(values)]
                data[column.name] = np.array([known.mean() if known.size else np.nan])
            else:
                codes = own.codes(column.name)
                often = np.bincount(codes[codes < column.width], minlength=1).argmax()
                data[column.name] = np.array([often], dtype=codes.dtype)
        middle = Table(table.schema.without_target(), data)
        who, _ = Search(search.space, own).nearest(middle, 1)
        seeds.append(int(members[who[0, 0]]))
    return np.array(sorted(seeds), dtype=np.int64)
