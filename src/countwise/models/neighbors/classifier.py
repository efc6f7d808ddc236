"""k nearest neighbors: the training rows most similar to a new row vote on its class."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from countwise.models.neighbors.attribute_weights import learn_weighted_space
from countwise.models.neighbors.base import StoredRowsClassifier
from countwise.models.neighbors.votes import SCHEMES, Scheme
from countwise.notes import Note
from countwise.params import function, one_of, parameter, whole


class Neighbors(StoredRowsClassifier):
    """Classify a row by the votes of the k most similar training rows, of numbers and levels alike.

    The scales, class probabilities, covariance and attribute weights of a metric are learned in
    `fit`. The search is exact. Equally far rows share the last of the k places (see
    `neighbors.votes`), so that the order of the rows never decides; between classes with equal
    votes the first of ``classes_`` wins. A row of integer weight w counts as w rows. With every
    attribute missing all rows are equally far, and the class frequencies are predicted (except by
    ``mahalanobis``, where missing numbers are taken as the mean).

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

    n_neighbors: int = parameter(whole(at_least=1), "number of neighbors", default=5, kw_only=False)
    weights: Scheme = parameter(
        one_of(*SCHEMES) | function(),
        "weights of the votes: 'uniform', 'distance' (1/d), 'squared' (1/d²; in both, rows at "
        "distance 0 vote alone), 'rank' (k, k - 1, …, 1), 'kernel' (Gaussian, as wide as the "
        "distance of the k-th neighbor), or a function of the array of distances",
        default="uniform",
    )

    def fit(
        self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Store the rows and learn the space in which they are compared."""
        rows, weight, places, _ = self._training(X, y, sample_weight)
        space, relevance, notes = learn_weighted_space(self, rows, weight)
        available = len(rows) if weight is None else float(np.maximum(weight, 1.0).sum())
        if self.n_neighbors > available:
            notes = (*notes, Note.of("N05", n_neighbors=self.n_neighbors, rows=available))
        self.notes_ = (*self.notes_, *notes)
        return self.store_rows(rows, weight, space, relevance, None, places)

    @property
    def k_and_weights(self) -> tuple[int, Scheme]:
        """How many neighbors vote, and by which weights."""
        return self.n_neighbors, self.weights
