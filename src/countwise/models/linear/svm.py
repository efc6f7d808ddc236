"""A linear support vector machine."""

from __future__ import annotations

from typing import Any

from countwise.models.linear.base import (
    Layer,
    MatrixModel,
    Rows,
    calibrate,
    class_weight_parameter,
    class_weights,
    fit_plane,
)
from countwise.params import number, parameter, seed


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
        "inverse strength of the L2 penalty; a smaller C gives a wider margin with more rows "
        "inside it",
        default=1.0,
        kw_only=False,
    )
    class_weight: Any = class_weight_parameter()
    random_state: Any = parameter(seed(), "random seed of the order of the rows", default=0)

    def _solve(self, rows: Rows) -> tuple[tuple[Layer, ...], float]:
        from sklearn.svm import LinearSVC  # slow to import, and only training needs it

        def plane(part: Rows) -> Layer:
            model = LinearSVC(
                C=float(self.C), dual="auto", max_iter=10_000, random_state=self._seed
            )
            return fit_plane(model, part, class_weights(self, part))

        return calibrate(plane, rows, len(self.classes_))
