"""Fisher's linear discriminant: normal distributions with a common covariance matrix."""

from __future__ import annotations

import numpy as np
from scipy.linalg import pinvh

from countwise.decisions.class_prior import PRIOR_CONSTRAINT, PRIOR_HELP, Prior, prior_of
from countwise.models.linear.base import Layer, MatrixModel, Rows, calibrate
from countwise.params import nothing, number, one_of, parameter

#: The least variance of columns that are scaled to unit variance.
LEAST_VARIANCE = 1e-9
#: A probability whose log is still finite.
LEAST_PRIOR = 1e-300


class LinearDiscriminant(MatrixModel):
    """Separate classes by their means and one covariance: Fisher's linear discriminant.

    Bayes' rule for normal classes that share a covariance. From weighted moments in closed form, so
    that a weight is a repeated row, which scikit-learn's does not offer; without weights, shrinkage
    and calibration both give the same posteriors.

    Examples
    --------
    >>> import countwise as cw
    >>> from countwise.models.linear.discriminant import LinearDiscriminant
    >>> round(LinearDiscriminant().fit(cw.read("sample:iris")).score(cw.read("sample:iris")), 2)
    0.98
    """

    shrinkage: float = parameter(
        number(at_least=0, at_most=1),
        "shrinkage of the covariance matrix towards equal variances without correlation, from 0 "
        "(none) to 1 (complete). Needed if columns are many or nearly repeat each other",
        default=0.02,
        kw_only=False,
    )
    prior: Prior = parameter(PRIOR_CONSTRAINT, PRIOR_HELP, default="empirical")
    calibrate: str | None = parameter(
        one_of("auto") | nothing(),
        "'auto' multiplies the scores by one factor, learned from rows that are left out of five "
        "fits: densities of many columns are too sure. Decisions stay the same. None, or another "
        "prior than 'empirical', leaves the posteriors as they are",
        default="auto",
    )

    @property
    def _sparse(self) -> bool:
        return False

    def _solve(self, rows: Rows) -> tuple[tuple[Layer, ...], float]:
        if self.calibrate is None or not isinstance(self.prior, str) or self.prior != "empirical":
            return (self._plane(rows),), 1.0
        return calibrate(self._plane, rows, len(self.classes_))

    def _plane(self, rows: Rows) -> Layer:
        weight, width, present = rows.weights, rows.X.shape[1], np.unique(rows.y)
        total = np.bincount(rows.y, weight)[present].astype(np.float64)
        mean, scatter = np.zeros((len(present), width)), np.zeros((width, width))
        for place, label in enumerate(present.tolist()):
            members, row_weight = rows.X[rows.y == label], weight[rows.y == label]
            mean[place] = row_weight @ members / total[place]
            gaps = (members - mean[place]) * np.sqrt(row_weight)[:, None]
            scatter += gaps.T @ gaps
        covariance = scatter / total.sum()
        even = np.trace(covariance) / max(width, 1)
        covariance *= 1 - self.shrinkage
        # Classes without any spread are far apart, not undefined.
        covariance[np.diag_indices(width)] += self.shrinkage * even + LEAST_VARIANCE
        weights = pinvh(covariance) @ mean.T if width else np.zeros((0, len(present)))
        prior = prior_of(self.prior, total, self.classes_[present], "LinearDiscriminant")
        bias = np.log(np.maximum(prior, LEAST_PRIOR)) - 0.5 * (mean * weights.T).sum(axis=1)
        return Layer(np.ascontiguousarray(weights), bias)
