"""Linear models behind our tables: logistic regression, discriminant, perceptron, linear SVM.

Words become one column a level, numbers are scaled, gaps and unseen levels have their place, all
learned from the training rows; see `countwise.models.linear.encoder`.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import pinvh

from countwise.decisions.class_prior import PRIOR_CONSTRAINT, Prior, prior_of
from countwise.models.linear.base import (
    LEAST_PRIOR,
    LEAST_VARIANCE,
    Layer,
    MatrixModel,
    Rows,
    share,
)
from countwise.params import (
    parameter,
)


class LinearDiscriminant(MatrixModel):
    """Separate classes by their means and one covariance: Fisher's linear discriminant.

    Bayes' rule for normal classes that share a covariance. From weighted moments in closed form, so
    that a weight is a repeated row, which scikit-learn's does not offer; without weights and
    shrinkage both give the same posteriors.

    Examples
    --------
    >>> import countwise as cw
    >>> from countwise.models.linear.discriminant import LinearDiscriminant
    >>> round(LinearDiscriminant().fit(cw.read("sample:iris")).score(cw.read("sample:iris")), 2)
    0.98
    """

    shrinkage: float = parameter(
        share(),
        "share of the covariance that is replaced by equal variances without correlation: 0 "
        "none, 1 all of it. Some is needed where columns are many or repeat each other",
        default=0.02,
        kw_only=False,
    )
    prior: Prior = parameter(
        PRIOR_CONSTRAINT,
        "'empirical' class shares, 'uniform', a mapping from class to share, or an array of "
        "shares in class order",
        default="empirical",
    )

    @property
    def _sparse(self) -> bool:
        return False

    def _learn(self, rows: Rows) -> tuple[tuple[Layer, ...], float]:
        weight = np.ones(len(rows.y)) if rows.weight is None else rows.weight
        number = len(self.classes_)
        total = np.bincount(rows.y, weight, minlength=number).astype(np.float64)
        width = rows.X.shape[1]
        mean, scatter = np.zeros((number, width)), np.zeros((width, width))
        for place in range(number):
            own, given = rows.X[rows.y == place], weight[rows.y == place]
            mean[place] = given @ own / total[place]
            apart = (own - mean[place]) * np.sqrt(given)[:, None]
            scatter += apart.T @ apart
        covariance = scatter / total.sum()
        even = np.trace(covariance) / max(width, 1)
        covariance *= 1 - self.shrinkage
        # Classes without any spread within are apart by far, not without an answer.
        covariance[np.diag_indices(width)] += self.shrinkage * even + LEAST_VARIANCE
        weights = pinvh(covariance) @ mean.T if width else np.zeros((0, number))
        prior = prior_of(self.prior, total, self.classes_, "LinearDiscriminant")
        bias = np.log(np.maximum(prior, LEAST_PRIOR)) - 0.5 * (mean * weights.T).sum(axis=1)
        return (Layer(np.ascontiguousarray(weights), bias),), 1.0
