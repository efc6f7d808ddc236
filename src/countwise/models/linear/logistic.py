"""Linear models behind our tables: logistic regression, discriminant, perceptron, linear SVM.

Words become one column a level, numbers are scaled, gaps and unseen levels have their place, all
learned from the training rows; see `countwise.models.linear.encoder`.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from sklearn import linear_model
from sklearn.exceptions import ConvergenceWarning

from countwise.models.linear.base import (
    CLASS_WEIGHT,
    NOMINAL,
    Layer,
    MatrixModel,
    Rows,
    class_weights,
    two_sided,
)
from countwise.params import (
    Parameter,
    number,
    whole,
)


class Logistic(MatrixModel):
    """Fit log-odds that are linear in the columns: logistic regression, for any number of classes.

    scikit-learn's multinomial `LogisticRegression` with an L2 penalty, behind our tables.

    Parameters
    ----------
    penalty
        Strength of the L2 penalty on coefficients of scaled columns; 0 is none.
    class_weight
        ``balanced`` lets rare classes weigh as much as frequent ones; a mapping gives a factor for
        each label; None counts rows.
    max_iter
        How many steps the search may take.
    nominal
        Number columns of frames and arrays that are codes.

    Attributes
    ----------
    coefficients_
        What a unit of a column, or a level, adds to the log-odds: (label, column, level, value).

    Examples
    --------
    >>> import countwise as cw
    >>> from countwise.models.linear.logistic import Logistic
    >>> model = Logistic().fit(cw.read("sample:weather"))
    >>> own = {(c.column, c.level): round(c.value, 2) for c in model.coefficients_}
    >>> own["outlook", "overcast"] > own["outlook", "sunny"]
    True
    """

    PARAMETERS: ClassVar[Mapping[str, Parameter]] = {
        "penalty": Parameter(number(at_least=0), "strength of the L2 penalty"),
        "class_weight": CLASS_WEIGHT,
        "max_iter": Parameter(whole(at_least=1), "steps the search may take"),
        "nominal": NOMINAL,
    }

    def __init__(
        self,
        penalty: float = 1.0,
        class_weight: Any = None,
        *,
        max_iter: int = 1000,
        nominal: Any = (),
    ) -> None:
        self.penalty = penalty
        self.class_weight = class_weight
        self.max_iter = max_iter
        self.nominal = nominal

    def _learn(self, rows: Rows) -> tuple[tuple[Layer, ...], float]:
        model = linear_model.LogisticRegression(
            C=1 / self.penalty if self.penalty else np.inf,
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
