"""Rosenblatt's perceptron."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from countwise.models.linear.base import (
    Layer,
    MatrixModel,
    Rows,
    calibrate,
    class_weight_parameter,
    class_weights,
    fit_plane,
    to_layer,
)
from countwise.models.linear.encoder import Features
from countwise.params import boolean, fitted, number, parameter, seed, whole
from countwise.tables.read import read


class Perceptron(MatrixModel):
    """Learn a separating plane from mistakes: Rosenblatt's perceptron.

    scikit-learn's perceptron (`SGDClassifier` with that loss) behind our tables. It has no
    posteriors: these come from a sigmoid (for several classes a softmax) whose slope is fitted to
    cross-validated margins. The plane stays where it is, so that calibration never changes the
    label.

    Examples
    --------
    Stefanowski's perceptron, Y = I(0.3 X1 + 0.3 X2 + 0.3 X3 - 0.4 > 0), says whether at least two
    of three inputs are 1; so does one that has learned from his eight rows.

    >>> import itertools
    >>> from countwise.models.linear.perceptron import Perceptron
    >>> rows = list(itertools.product([0, 1], repeat=3))
    >>> given = Perceptron.of({"X1": 0.3, "X2": 0.3, "X3": 0.3}, -0.4, classes=(0, 1))
    >>> inputs = {f"X{at + 1}": [row[at] for row in rows] for at in range(3)}
    >>> given.predict(inputs).tolist()
    [0, 0, 0, 1, 0, 1, 1, 1]
    >>> Perceptron().fit(rows, given.predict(inputs)).predict(rows).tolist()
    [0, 0, 0, 1, 0, 1, 1, 1]
    """

    n_iter_: int = fitted("how many steps were taken")
    max_iter: int = parameter(
        whole(at_least=1),
        "largest number of epochs (passes over the training rows)",
        default=1000,
        kw_only=False,
    )
    alpha: float = parameter(
        number(at_least=0), "strength of the L2 penalty; 0 means no penalty", default=0.0
    )
    average: bool = parameter(
        boolean(),
        "whether to average the coefficients of all steps, which is more stable than using the "
        "last ones (Freund & Schapire 1999)",
        default=True,
    )
    class_weight: Any = class_weight_parameter()
    random_state: Any = parameter(seed(), "random seed of the order of the rows", default=0)

    @classmethod
    def of(cls, weights: Mapping[str, float], bias: float, classes: tuple[Any, Any]) -> Self:
        """Make a perceptron of given weights: the second class where Σ w x + bias > 0."""
        model = cls()
        rows = {**{name: [0.0, 1.0] for name in weights}, "class": list(classes)}
        table = read(rows, target="class", numeric=list(weights), identifiers="keep")
        model.schema_, model.notes_ = table.schema, ()
        model.classes_ = np.asarray(classes)
        model.features_ = Features.plain(table.schema)
        model._seed = model.n_iter_ = 0
        slopes = np.asarray([weights[name] for name in model.features_.parts], dtype=np.float64)
        model.layers_ = (to_layer(slopes[None, :], np.asarray([float(bias)])),)
        model.scale_ = 1.0
        return model

    def _solve(self, rows: Rows) -> tuple[tuple[Layer, ...], float]:
        from sklearn import linear_model  # slow to import, and only training needs it

        def plane(part: Rows) -> Layer:
            model = linear_model.SGDClassifier(
                loss="perceptron",
                learning_rate="constant",
                eta0=1.0,
                penalty="l2" if self.alpha else None,
                alpha=float(self.alpha) or 1e-4,
                max_iter=self.max_iter,
                tol=1e-4,
                average=bool(self.average),
                random_state=self._seed,
            )
            layer = fit_plane(model, part, class_weights(self, part))
            self.n_iter_ = int(model.n_iter_)
            return layer

        return calibrate(plane, rows, len(self.classes_))
