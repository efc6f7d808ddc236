"""k-nearest-neighbor regression: the mean, or weighted mean, of the most similar rows."""

from __future__ import annotations

import numpy as np

from countwise._typing import FloatArray
from countwise.models.neighbors.base import StoredRowsRegressor
from countwise.models.neighbors.votes import SCHEMES, Scheme, Voters
from countwise.params import derived, function, one_of, parameter, whole
from countwise.tables.table import Table


class NeighborsRegressor(StoredRowsRegressor):
    """Predict a number by the mean, perhaps weighted, of the k most similar training rows.

    Distances, votes, ties and weights are those of `Neighbors`, without the metrics that need
    classes.

    Examples
    --------
    >>> import countwise as cw
    >>> rows = {"size": [1.0, 2.0, 3.0, 10.0], "sort": ["a", "a", "b", "b"]}
    >>> model = cw.NeighborsRegressor(n_neighbors=2).fit(rows, [10.0, 20.0, 30.0, 100.0])
    >>> model.predict({"size": [1.4], "sort": ["a"]}).tolist()
    [15.0]
    """

    n_neighbors: int = parameter(whole(at_least=1), "number of neighbors", default=5, kw_only=False)
    weights: Scheme = parameter(
        one_of(*SCHEMES) | function(),
        "weights of the neighbors in the mean: 'uniform', 'distance' (1/d), 'squared' (1/d²), "
        "'rank', 'kernel', or a function of the array of distances",
        default="uniform",
    )
    _mean: float = derived()

    @property
    def k_and_weights(self) -> tuple[int, Scheme]:
        """How many neighbors count, and by which weights."""
        return self.n_neighbors, self.weights

    def _make_voters(self) -> Voters:
        voters, weight = super()._make_voters(), self._row_weight
        # Sums around zero lose no digits to a large mean.
        self._mean = float(self._targets.mean())
        ballots = np.stack([weight * (self._targets - self._mean), weight], axis=1)
        return Voters(ballots, voters.places)

    def _predict_scaled(self, table: Table) -> FloatArray:
        sums = self._index.sum_votes(table, *self.k_and_weights)
        return np.asarray(self._mean + sums[:, 0] / sums[:, 1])
