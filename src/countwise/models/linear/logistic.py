"""Logistic regression."""

from __future__ import annotations

from typing import Any

import numpy as np

from countwise.models.linear.base import (
    Layer,
    MatrixModel,
    Rows,
    class_weight_parameter,
    class_weights,
    fit_plane,
)
from countwise.params import fitted, infinity, number, parameter, whole


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
    >>> by_level = {(c.column, c.level): round(c.value, 2) for c in model.coefficients_}
    >>> by_level["outlook", "overcast"] > by_level["outlook", "sunny"]
    True
    """

    C: float = parameter(
        number(above=0) | infinity(),
        "inverse strength of the L2 penalty on the coefficients of scaled columns; infinity means "
        "no penalty",
        default=1.0,
        kw_only=False,
    )
    class_weight: Any = class_weight_parameter()
    n_iter_: int = fitted("how many steps were taken")
    max_iter: int = parameter(whole(at_least=1), "largest number of iterations", default=1000)

    def _solve(self, rows: Rows) -> tuple[tuple[Layer, ...], float]:
        from sklearn import linear_model  # slow to import, and only training needs it

        model = linear_model.LogisticRegression(
            C=float(self.C), solver="newton-cg", max_iter=self.max_iter, tol=1e-6
        )
        layer = fit_plane(model, rows, class_weights(self, rows))
        self.n_iter_ = int(np.max(model.n_iter_))
        return (layer,), 1.0
