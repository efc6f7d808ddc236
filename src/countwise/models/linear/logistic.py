"""Linear models behind our tables: logistic regression, discriminant, perceptron, linear SVM.

Words become one column a level, numbers are scaled, gaps and unseen levels have their place, all
learned from the training rows; see `countwise.models.linear.encoder`.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn import linear_model
from sklearn.exceptions import ConvergenceWarning

from countwise.models.linear.base import (
    CLASS_WEIGHT,
    Layer,
    MatrixModel,
    Rows,
    class_weights,
    two_sided,
)
from countwise.params import (
    fitted,
    infinity,
    number,
    parameter,
    whole,
)


class Logistic(MatrixModel):
    """Fit log-odds that are linear in the columns: logistic regression, for any number of classes.

    scikit-learn's multinomial `LogisticRegression` with an L2 penalty, behind our tables.

    Attributes
    ----------
    coefficients_
        What a unit of a column, or a level, adds to the log-odds: (label, column, level,
        value).

    Examples
    --------
    >>> import countwise as cw
    >>> from countwise.models.linear.logistic import Logistic
    >>> model = Logistic().fit(cw.read("sample:weather"))
    >>> own = {(c.column, c.level): round(c.value, 2) for c in model.coefficients_}
    >>> own["outlook", "overcast"] > own["outlook", "sunny"]
    True
    """

    C: float = parameter(
        number(above=0) | infinity(),
        "inverse strength of the L2 penalty on coefficients of scaled columns; infinity is none",
        default=1.0,
        kw_only=False,
    )
    class_weight: Any = parameter(
        CLASS_WEIGHT,
        "'balanced' lets rare classes weigh as much as frequent ones; a mapping gives a factor "
        "for each label; None counts rows",
        default=None,
    )
    n_iter_: int = fitted("how many steps were taken")
    max_iter: int = parameter(whole(at_least=1), "how many steps the search may take", default=1000)

    def _learn(self, rows: Rows) -> tuple[tuple[Layer, ...], float]:
        model = linear_model.LogisticRegression(
            C=float(self.C),
            solver="newton-cg",
            max_iter=self.max_iter,
            tol=1e-6,
        )
        weight = class_weights(self, rows)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(rows.X, rows.y, sample_weight=weight)
        self.n_iter_ = int(np.max(model.n_iter_))
        return (two_sided(model.coef_, model.intercept_),), 1.0
