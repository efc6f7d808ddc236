"""k nearest neighbours for a number: the mean, or weighted mean, of the most similar rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from countwise._typing import FloatArray
from countwise.models.neighbors.base import KeptRegressor
from countwise.models.neighbors.explanation import Neighborhood
from countwise.models.neighbors.index import Kept
from countwise.models.neighbors.votes import SCHEMES, Electorate
from countwise.params import function, one_of, parameter
from countwise.params import whole as whole_number
from countwise.tables.table import Table


class NeighborsRegressor(KeptRegressor):
    """Predict a number by the mean of the k most similar training rows, weighted if asked.

    Distances, votes, ties and weights are those of `Neighbors` (the metrics that need classes are
    not there).

    Examples
    --------
    >>> import countwise as cw
    >>> rows = {"size": [1.0, 2.0, 3.0, 10.0], "sort": ["a", "a", "b", "b"]}
    >>> model = cw.NeighborsRegressor(n_neighbors=2).fit(rows, [10.0, 20.0, 30.0, 100.0])
    >>> model.predict({"size": [1.4], "sort": ["a"]}).tolist()
    [15.0]
    """

    n_neighbors: int = parameter(
        whole_number(at_least=1), "how many neighbours count", default=5, kw_only=False
    )
    weights: str | Callable[[FloatArray], FloatArray] = parameter(
        one_of(*SCHEMES) | function(),
        "'uniform' for the mean; 'distance' (1/d), 'squared' (1/d²), 'rank', 'kernel' or a "
        "function of the distances for weighted means",
        default="uniform",
    )

    def _settle(self) -> None:
        target = self._small_targets()
        own = np.ones(len(target)) if self.sample_weight_ is None else self.sample_weight_
        self.schema_ = self.rows_.schema
        # Means of what lies about nought lose no digits to a large common part.
        self._middle = float(target.mean())
        ballots = np.stack([own * (target - self._middle), own], axis=1)
        self._kept = Kept(self.space_, self.rows_, Electorate(ballots, np.maximum(own, 1.0)))

    def _answers(self, table: Table) -> FloatArray:
        sums = self._kept.votes(table, self.n_neighbors, self.weights)
        silent = np.flatnonzero(~(sums[:, 1] > 0))
        if len(silent):
            sums[silent] = self._kept.votes(table.take(silent), self.n_neighbors)
        return np.asarray(self._middle + sums[:, 0] / sums[:, 1])

    def neighbors(self, X: Any, k: int | None = None) -> Neighborhood:
        """Say who the nearest rows are, how far, and what each attribute adds to that."""
        check_is_fitted(self, "rows_")
        return self.neighborhood(self._rows(X), self.n_neighbors if k is None else k)
