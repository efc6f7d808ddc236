"""Linear models behind our tables: logistic regression, discriminant, perceptron, linear SVM.

Words become one column a level, numbers are scaled, gaps and unseen levels have their place, all
learned from the training rows; see `countwise.models.linear.encoder`.
"""

from __future__ import annotations

import warnings
from typing import Any

from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from countwise.models.linear.base import (
    CLASS_WEIGHT,
    Layer,
    MatrixModel,
    Rows,
    calibrated,
    class_weights,
    two_sided,
)
from countwise.params import (
    number,
    parameter,
    seed,
)


class LinearSVM(MatrixModel):
    """Separate classes by the plane with the widest margin: a linear support vector machine.

    scikit-learn's `LinearSVC` behind our tables, with posteriors from margins as in `Perceptron`.

    Examples
    --------
    >>> import countwise as cw
    >>> from countwise.models.linear.svm import LinearSVM
    >>> LinearSVM().fit(cw.read("sample:weather")).predict(cw.read("sample:weather"))[:2].tolist()
    ['no', 'no']
    """

    C: float = parameter(
        number(above=0),
        "inverse strength of the L2 penalty: the smaller, the wider the margin and the more rows "
        "within it",
        default=1.0,
        kw_only=False,
    )
    class_weight: Any = parameter(
        CLASS_WEIGHT,
        "'balanced' lets rare classes weigh as much as frequent ones; a mapping gives a factor "
        "for each label; None counts rows",
        default=None,
    )
    random_state: Any = parameter(seed(), "the order in which rows come", default=0)

    def _learn(self, rows: Rows) -> tuple[tuple[Layer, ...], float]:
        def plane(part: Rows) -> Layer:
            model = LinearSVC(
                C=float(self.C), dual="auto", max_iter=10_000, random_state=self._seed
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                model.fit(part.X, part.y, sample_weight=class_weights(self, part))
            return two_sided(model.coef_, model.intercept_)

        return calibrated(plane, rows, len(self.classes_))
