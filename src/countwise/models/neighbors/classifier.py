"""k nearest neighbours: rows of the past that are most like a new one vote on its class."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from countwise._typing import FloatArray
from countwise.models.neighbors.base import RowVoter
from countwise.models.neighbors.explanation import Neighborhood
from countwise.models.neighbors.fit_space import Wanted, learned_space
from countwise.models.neighbors.votes import SCHEMES
from countwise.notes import Note
from countwise.params import (
    function,
    one_of,
    parameter,
)
from countwise.params import whole as whole_number
from countwise.tables.table import Table


class Neighbors(RowVoter):
    """Classify a row by the votes of the k most similar training rows, numbers and words together.

    The scales, class shares, covariance and attribute weights of a metric are learned in `fit`.
    The search is exact. Rows that are equally far share the places that are left among the k
    (see `neighbors.votes`), so that the order of the rows never decides; between classes
    with equal votes the first of ``classes_`` wins. A row of integer weight w counts as w rows.
    With every attribute missing all rows are equally far, and the answer is the class shares
    (except by ``mahalanobis``, where missing numbers stand at the mean).

    Examples
    --------
    >>> import countwise as cw
    >>> weather = cw.read("sample:weather")
    >>> model = cw.Neighbors(n_neighbors=3, metric="vdm").fit(weather)
    >>> day = {"outlook": ["sunny"], "temperature": ["cool"], "humidity": ["high"],
    ...        "windy": ["TRUE"]}
    >>> model.predict(day).tolist(), model.predict_proba(day).round(3).tolist()
    (['no'], [[1.0, 0.0]])
    """

    n_neighbors: int = parameter(
        whole_number(at_least=1), "how many neighbours vote", default=5, kw_only=False
    )
    weights: str | Callable[[FloatArray], FloatArray] = parameter(
        one_of(*SCHEMES) | function(),
        "'uniform' votes; by 'distance' 1/d or 'squared' 1/d² (rows at distance 0 then vote "
        "alone); by 'rank' k, k - 1, …, 1; by a Gaussian 'kernel' as wide as the k-th neighbour "
        "is far; or a function of the array of distances",
        default="uniform",
    )

    def fit(
        self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Keep the rows and learn the space they are compared in."""
        rows, weight, places, _ = self._training(X, y, sample_weight)
        space, relevance, notes = learned_space(Wanted.of(self), rows, weight)
        self.notes_ = (*self.notes_, *notes, *self._everybody(rows, weight))
        return self.keep(rows, weight, space, relevance, None, places)

    def _everybody(self, rows: Table, weight: FloatArray | None) -> tuple[Note, ...]:
        """Say so where more neighbours are asked for than there are."""
        there = len(rows) if weight is None else float(np.maximum(weight, 1.0).sum())
        if self.n_neighbors <= there:
            return ()
        return (Note.of("N05", n_neighbors=self.n_neighbors, rows=there),)

    @property
    def votes_by(self) -> tuple[int, Any]:
        """How many neighbours vote, and by which weights."""
        return self.n_neighbors, self.weights

    def neighbors(self, X: Any, k: int | None = None) -> Neighborhood:
        """Say who the nearest rows are, how far, and what each attribute adds to that.

        Equally far rows come in the order of their numbers.

        Examples
        --------
        >>> import countwise as cw
        >>> iris = cw.read("sample:iris")
        >>> near = cw.Neighbors(n_neighbors=2).fit(iris).neighbors(iris.take([0]))
        >>> near.rows.tolist(), near.labels.tolist()
        ([[0, 27]], [['Iris-setosa', 'Iris-setosa']])
        >>> bool(np.allclose(near.parts.sum(axis=2), near.distances**2))
        True
        """
        check_is_fitted(self, "rows_")
        return self.neighborhood(self._rows(X), self.n_neighbors if k is None else k)
