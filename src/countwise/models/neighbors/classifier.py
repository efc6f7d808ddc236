"""k nearest neighbors: the training rows most similar to a new row vote on its class."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from countwise.errors import TableError
from countwise.models.choose_smoothing import FEWEST_ROWS
from countwise.models.neighbors.attribute_weights import learn_weighted_space
from countwise.models.neighbors.base import StoredRowsClassifier
from countwise.models.neighbors.choose_votes import choose_votes
from countwise.models.neighbors.votes import SCHEMES, Scheme
from countwise.notes import Note
from countwise.params import fitted, function, nothing, one_of, parameter, whole


class Neighbors(StoredRowsClassifier):
    """Classify a row by the votes of the k most similar training rows, of numbers and levels alike.

    The scales, class probabilities, covariance and attribute weights of a metric are learned in
    `fit`. The search is exact. Equally far rows share the last of the k places (see
    `neighbors.votes`), so that the order of the rows never decides. A row of whole weight w counts
    as w rows. Imagined votes, spread like the class frequencies, keep every class possible; where
    neighbors tell little, many of them are chosen. The first one also breaks ties between equal
    votes, for the more frequent class (then the first of ``classes_``). With whole votes it changes
    no other decision; with weighted votes, or where rows at equal distance share places, it may
    change one that hangs on less than one vote. Further ones change none. With every attribute
    missing all rows are equally far, and the class frequencies are predicted (except by
    ``mahalanobis``, where missing numbers are taken as the mean).

    Examples
    --------
    >>> import countwise as cw
    >>> weather = cw.read("sample:weather")
    >>> model = cw.Neighbors(n_neighbors=3, metric="vdm").fit(weather)
    >>> day = {"outlook": ["sunny"], "temperature": ["cool"], "humidity": ["high"],
    ...        "windy": ["TRUE"]}
    >>> model.predict(day).tolist(), model.predict_proba(day).round(3).tolist()
    (['no'], [[0.839, 0.161]])
    >>> cw.Neighbors(n_neighbors=3, metric="vdm", smoothing=0).fit(weather).predict_proba(day)
    array([[1., 0.]])
    """

    n_neighbors: int | str = parameter(
        whole(at_least=1) | one_of("auto"),
        "number of neighbors; 'auto' takes the number, up to 40, with the least log loss when each "
        "training row is classified by the others",
        default=5,
        kw_only=False,
    )
    weights: Scheme | None = parameter(
        one_of(*SCHEMES) | function() | nothing(),
        "weights of the votes: 'uniform', 'distance' (1/d), 'squared' (1/d²; in both, rows at "
        "distance 0 vote alone), 'rank' (k, k - 1, …, 1), 'kernel' (Gaussian, as wide as the "
        "distance of the k-th neighbor), or a function of the array of distances. None: 'uniform', "
        "or with n_neighbors='auto' those with the least log loss",
        default=None,
    )
    n_neighbors_: int = fitted("how many neighbors vote")
    chosen_weights_: str | None = fitted("with 'n_neighbors=\"auto\"' the weights that were chosen")

    def fit(
        self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Store the rows and learn the space in which they are compared."""
        rows, weight, places, _ = self._training(X, y, sample_weight)
        space, relevance, notes = learn_weighted_space(self, rows, weight)
        available = len(rows) if weight is None else float(np.maximum(weight, 1.0).sum())
        self.n_neighbors_, scheme, self.smoothing_ = choose_votes(self, rows, weight, space)
        chosen = self.n_neighbors == "auto" and isinstance(scheme, str)
        self.chosen_weights_ = str(scheme) if chosen else None
        if self.n_neighbors_ > available:
            notes = (*notes, Note.of("N05", n_neighbors=self.n_neighbors, rows=available))
        self.notes_ = (*self.notes_, *notes)
        return self.store_rows(rows, weight, space, relevance, None, places)

    @property
    def k_and_weights(self) -> tuple[int, Scheme]:
        """How many neighbors vote, and by which weights."""
        return self.n_neighbors_, self.chosen_weights_ or self.weights or "uniform"

    def after_load(self) -> None:
        """Make again what is not saved; refuse fields that do not fit each other."""
        chosen = self.chosen_weights_
        if self.n_neighbors_ < 1 or self.n_neighbors not in ("auto", self.n_neighbors_):
            raise TableError("Neighbors: the number of neighbors must be that of the parameters.")
        if chosen is not None and (chosen not in SCHEMES or self.n_neighbors != "auto"):
            raise TableError("Neighbors: the chosen weights must be known.")
        super().after_load()

    def describe_training(self) -> list[str]:
        """Return what was chosen, in a sentence."""
        k, weights = self.k_and_weights
        chosen = []
        if self.n_neighbors == "auto":
            words = f"weights {weights!r}" if isinstance(weights, str) else "the given weights"
            chosen.append(f"{k} neighbors vote, with {words}")
        if self.smoothing == "auto" and self.n_rows_ >= FEWEST_ROWS:
            votes = "vote is" if self.amount == 1 else "votes are"
            chosen.append(f"{self.amount:g} imagined {votes} added")
        return [f"By leave-one-out log loss, {', and '.join(chosen)}."] if chosen else []
