"""Linear models behind our tables: logistic regression, discriminant, perceptron, linear SVM.

Words become one column a level, numbers are scaled, gaps and unseen levels have their place, all
learned from the training rows; see `countwise.models.linear.encoder`.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, ClassVar

from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from countwise.models.linear.base import (
    CLASS_WEIGHT,
    NOMINAL,
    SEED,
    Layer,
    MatrixModel,
    Rows,
    calibrated,
    class_weights,
    two_sided,
)
from countwise.params import (
    Parameter,
    number,
)


class LinearSVM(MatrixModel):
    """Separate classes by the plane with the widest margin: a linear support vector machine.

    scikit-learn's `LinearSVC` behind our tables, with posteriors from margins as in `Perceptron`.

    Parameters
    ----------
    penalty
        Strength of the L2 penalty: the larger, the wider the margin and the more rows within it.
    class_weight
        As in `Logistic`.
    nominal
        Number columns of frames and arrays that are codes.
    random_state
        The order in which rows come.

    Examples
    --------
    >>> import countwise as cw
    >>> from countwise.models.linear.svm import LinearSVM
    >>> LinearSVM().fit(cw.read("sample:weather")).predict(cw.read("sample:weather"))[:2].tolist()
    ['no', 'no']
    """

    PARAMETERS: ClassVar[Mapping[str, Parameter]] = {
        "penalty": Parameter(number(above=0), "strength of the L2 penalty"),
        "class_weight": CLASS_WEIGHT,
        "nominal": NOMINAL,
        "random_state": SEED,
    }

    def __init__(
        self,
        penalty: float = 1.0,
        class_weight: Any = None,
        *,
        nominal: Any = (),
        random_state: Any = 0,
    ) -> None:
        self.penalty = penalty
        self.class_weight = class_weight
        self.nominal = nominal
        self.random_state = random_state

    def _learn(self, rows: Rows) -> tuple[tuple[Layer, ...], float]:
        def plane(part: Rows) -> Layer:
            model = LinearSVC(
                C=1 / self.penalty, dual="auto", max_iter=10_000, random_state=self._seed
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                model.fit(part.X, part.y, sample_weight=class_weights(self, part))
            return two_sided(model.coef_, model.intercept_)

        return calibrated(plane, rows, len(self.classes_))
