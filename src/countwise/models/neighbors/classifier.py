"""k nearest neighbours: rows of the past that are most like a new one vote on its class."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from countwise._typing import FloatArray
from countwise.models.neighbors.base import RowVoter
from countwise.models.neighbors.explanation import Neighborhood
from countwise.models.neighbors.fit_space import Wanted, learned_space
from countwise.models.neighbors.metrics import METRICS, SCALES
from countwise.models.neighbors.votes import SCHEMES
from countwise.notes import Note
from countwise.params import (
    Parameter,
    array,
    function,
    infinity,
    mapping,
    names,
    nothing,
    number,
    one_of,
)
from countwise.params import whole as whole_number
from countwise.tables.table import Table

#: Any exponent of a distance; of an infinite one the largest gap alone is left.
POWER = number(at_least=1) | infinity()
#: What decides how far rows are apart, in every model of neighbours.
METRIC_PARAMETERS: Mapping[str, Parameter] = {
    "metric": Parameter(one_of(*METRICS), "how far apart rows are"),
    "p": Parameter(POWER, "exponent of minkowski and vdm"),
    "scale": Parameter(one_of(*SCALES) | nothing(), "what a number is divided by"),
    "missing": Parameter(one_of("far", "ignore") | nothing(), "what a missing cell does"),
    "attribute_weights": Parameter(
        one_of("information", "relief") | mapping() | array() | nothing(),
        "how axes are stretched",
    ),
    "drop_least": Parameter(number(at_least=0), "how many attributes to leave out, or what share"),
}


class Neighbors(RowVoter):
    """Classify a row by the votes of the k most similar training rows, numbers and words together.

    The scales, class shares, covariance and attribute weights of a metric are learned in `fit`.
    The search is exact. Rows that are equally far share the places that are left among the k
    (see `neighbors.votes`), so that the order of the rows never decides; between classes
    with equal votes the first of ``classes_`` wins. A row of integer weight w counts as w rows.
    With every attribute missing all rows are equally far, and the answer is the class shares
    (except by ``mahalanobis``, where missing numbers stand at the mean).

    Parameters
    ----------
    k
        How many neighbours vote.
    metric
        ``euclidean``, ``manhattan``, ``maximum``, ``minkowski``, ``mahalanobis``, ``overlap``,
        ``vdm``, ``hvdm``, ``heom`` or ``gower``; see `neighbors.metrics.learn_space`.
    weights
        ``uniform`` votes; by ``distance`` 1/d or ``squared`` 1/d² (rows at distance 0 then vote
        alone); by ``rank`` k, k - 1, …, 1; by a Gaussian ``kernel`` as wide as the k-th neighbour
        is far; or a function of the array of distances.
    p
        The exponent of ``minkowski`` and ``vdm``, at least 1; ``float("inf")`` takes the largest
        gap alone.
    scale
        Numbers are divided by their ``range`` or by their standard deviation (``z``), or left.
    missing
        A missing cell is as ``far`` as its column reaches, or is ``ignore``d and the others
        rescaled. None: far, but ignored by ``gower``.
    attribute_weights
        Factors by which axes are stretched: given (one an attribute, or by name), or learned:
        ``information`` (bits about the class) or ``relief`` (nearest misses against hits).
    drop_least
        Leave out so many of the least relevant attributes (below 1: that share of them), by the
        learned weights or by their bits about the class.
    nominal
        Columns of frames and arrays to take as nominal although they hold numbers.

    Examples
    --------
    >>> import countwise as cw
    >>> weather = cw.read("sample:weather")
    >>> model = cw.Neighbors(k=3, metric="vdm").fit(weather)
    >>> day = {"outlook": ["sunny"], "temperature": ["cool"], "humidity": ["high"],
    ...        "windy": ["TRUE"]}
    >>> model.predict(day).tolist(), model.predict_proba(day).round(3).tolist()
    (['no'], [[1.0, 0.0]])
    """

    PARAMETERS: ClassVar[Mapping[str, Parameter]] = {
        "k": Parameter(whole_number(at_least=1), "how many neighbours vote"),
        "weights": Parameter(one_of(*SCHEMES) | function(), "how much a vote weighs"),
        **METRIC_PARAMETERS,
        "nominal": Parameter(one_of("all") | names(), "number columns that are codes"),
    }

    def __init__(
        self,
        k: int = 5,
        metric: str = "euclidean",
        weights: str | Callable[[FloatArray], FloatArray] = "uniform",
        *,
        p: float = 2.0,
        scale: str | None = "range",
        missing: str | None = None,
        attribute_weights: str | Mapping[str, float] | ArrayLike | None = None,
        drop_least: float = 0,
        nominal: Any = (),
    ) -> None:
        self.k = k
        self.metric = metric
        self.weights = weights
        self.p = p
        self.scale = scale
        self.missing = missing
        self.attribute_weights = attribute_weights
        self.drop_least = drop_least
        self.nominal = nominal

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
        if self.k <= there:
            return ()
        words = f"k = {self.k} is more than there are training rows, {there:g}: all of them vote."
        return (Note("N05", None, words),)

    @property
    def votes_by(self) -> tuple[int, Any]:
        """How many neighbours vote, and by which weights."""
        return self.k, self.weights

    def neighbors(self, X: Any, k: int | None = None) -> Neighborhood:
        """Say who the nearest rows are, how far, and what each attribute adds to that.

        Equally far rows come in the order of their numbers.

        Examples
        --------
        >>> import countwise as cw
        >>> iris = cw.read("sample:iris")
        >>> near = cw.Neighbors(k=2).fit(iris).neighbors(iris.take([0]))
        >>> near.rows.tolist(), near.labels.tolist()
        ([[0, 27]], [['Iris-setosa', 'Iris-setosa']])
        >>> bool(np.allclose(near.parts.sum(axis=2), near.distances**2))
        True
        """
        check_is_fitted(self, "rows_")
        return self.neighborhood(self._rows(X), self.k if k is None else k)
