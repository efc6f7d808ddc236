"""A neural network, with its training curve and early stopping."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import has_fit_parameter

from countwise.errors import ParameterError
from countwise.models import views
from countwise.models.linear.base import Layer, MatrixModel, Rows, to_layer
from countwise.numeric import log_softmax
from countwise.params import Constraint, fitted, number, one_of, parameter, seed, whole

if TYPE_CHECKING:
    from sklearn.neural_network import MLPClassifier

    from countwise.models.views import View

#: Called with epochs done, epochs at most, and a text.
Progress = Callable[[int, int, str], None]

#: Fewer held-out rows than this cannot decide when to stop.
_LEAST_HELD_OUT = 10


@dataclass(frozen=True)
class Epoch:
    """One pass over the rows: the loss on them and the error on held-out rows (NaN without)."""

    number: int
    loss: float
    error: float


def _sizes() -> Constraint:
    """Sizes of hidden layers."""

    def admits(value: Any) -> bool:
        if isinstance(value, str | bytes) or not isinstance(value, list | tuple | np.ndarray):
            return False
        one = whole(at_least=1)
        return all(one.admits(size) for size in value)

    return Constraint(
        "a list of whole numbers of at least 1", admits, good=((), (8, 4)), bad=((0,), "ten", 7)
    )


class NeuralNet(MatrixModel):
    """Learn a network of neurons: scikit-learn's `MLPClassifier` behind our tables.

    It goes through the rows epoch by epoch; some rows are held out, and the weights of the epoch
    that erred least on them are kept.

    Examples
    --------
    >>> import countwise as cw
    >>> from countwise.models.linear.neural_net import NeuralNet
    >>> model = NeuralNet(hidden_layer_sizes=(8,), max_iter=60).fit(cw.read("sample:iris"))
    >>> 1 <= model.best_epoch_ <= len(model.curve_) <= 60
    True
    """

    hidden_layer_sizes: Any = parameter(
        _sizes(),
        "sizes of the hidden layers; '()' means no hidden layer",
        default=(32,),
        kw_only=False,
    )
    activation: str = parameter(
        one_of("relu", "tanh", "logistic"),
        "activation function of the hidden layers",
        default="relu",
    )
    max_iter: int = parameter(
        whole(at_least=1), "largest number of epochs (passes over the training rows)", default=300
    )
    n_iter_no_change: int = parameter(
        whole(at_least=1), "training stops after this many epochs without improvement", default=20
    )
    validation_fraction: float = parameter(
        number(at_least=0, at_most=1),
        "fraction of the rows that is held out to decide when to stop; if these are fewer than "
        "ten rows, the loss on the training rows decides",
        default=0.15,
    )
    alpha: float = parameter(
        number(at_least=0), "strength of the L2 penalty on weights", default=0.001
    )
    learning_rate_init: float = parameter(number(above=0), "initial learning rate", default=0.005)
    random_state: Any = parameter(
        seed(), "random seed of the initial weights and the order of the rows", default=0
    )
    curve_: tuple[Epoch, ...] = fitted(
        "an Epoch for each epoch: its loss, and the error on the held-out rows"
    )
    n_iter_: int = fitted("how many passes over the rows were made")
    best_epoch_: int = fitted("the epoch whose weights were kept")

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Learn from rows and their classes, epoch by epoch.

        `progress` is called after each epoch with epochs done, epochs at most, and a text.
        """
        self._progress = progress
        self.curve_, self.best_epoch_, self.n_iter_ = (), 0, 0
        try:
            return super().fit(X, y, sample_weight)
        finally:
            del self._progress

    def _solve(self, rows: Rows) -> tuple[tuple[Layer, ...], float]:
        place = (rows.keys % np.uint64(1 << 20)).astype(np.float64) / (1 << 20)
        out = place < self.validation_fraction
        if out.sum() < _LEAST_HELD_OUT or len(np.unique(rows.y[~out])) < len(self.classes_):
            out[:] = False
        training, tested = np.flatnonzero(~out), np.flatnonzero(out)
        net = self._net(len(training))
        options: dict[str, Any] = {"classes": np.arange(len(self.classes_))}
        if rows.weight is not None:
            if not has_fit_parameter(net, "sample_weight"):
                raise ParameterError(
                    "NeuralNet: sample_weight must be whole numbers before scikit-learn 1.7",
                    hint="upgrade scikit-learn",
                )
            options["sample_weight"] = rows.weight[training]
        X, y = rows.X[training], rows.y[training]
        curve: list[Epoch] = []
        best, since = np.inf, 0
        kept: tuple[Layer, ...] = ()
        for epoch in range(1, self.max_iter + 1):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                net.partial_fit(X, y, **options)
            layers = _layers(net)
            loss, error = self._judge(layers, rows, tested, float(net.loss_))
            curve.append(Epoch(epoch, float(net.loss_), error))
            if loss < best - 1e-5:
                best, kept, since, self.best_epoch_ = loss, layers, 0, epoch
            else:
                since += 1
            if self._progress is not None:
                self._progress(epoch, self.max_iter, f"epoch {epoch}, loss {net.loss_:.4f}")
            if since >= self.n_iter_no_change:
                break
        self.curve_ = tuple(curve)
        self.n_iter_ = len(curve)
        return kept, 1.0

    def _net(self, rows: int) -> MLPClassifier:
        from sklearn.neural_network import (
            MLPClassifier,  # slow to import, and only training needs it
        )

        return MLPClassifier(
            tuple(int(size) for size in self.hidden_layer_sizes),
            activation=self.activation,
            alpha=float(self.alpha),
            batch_size=max(1, min(200, rows)),
            learning_rate_init=float(self.learning_rate_init),
            random_state=self._seed,
        )

    def _judge(
        self, layers: tuple[Layer, ...], rows: Rows, tested: NDArray[np.intp], loss: float
    ) -> tuple[float, float]:
        """Return the log loss that decides when to stop, and the error on held-out rows."""
        if not len(tested):
            return loss, float("nan")
        self.layers_ = layers
        scores = self._outputs(rows.X[tested])
        truth, weight = rows.y[tested], rows.weights[tested]
        logs = log_softmax(scores)[np.arange(len(tested)), truth]
        error = float(np.average(scores.argmax(axis=1) != truth, weights=weight))
        return float(-np.average(logs, weights=weight)), error

    def views(self) -> Sequence[View]:
        """Return the training curve, and the coefficients if there is no hidden layer."""
        return (*super().views(), _training_curve(self))


def _layers(net: MLPClassifier) -> tuple[Layer, ...]:
    """Return the weights as they are now, with one output a class."""
    layers = [
        Layer(weights.astype(np.float64), bias.astype(np.float64))
        for weights, bias in zip(net.coefs_, net.intercepts_, strict=True)
    ]
    layers[-1] = to_layer(net.coefs_[-1].T, net.intercepts_[-1])
    return tuple(layers)


def _training_curve(model: NeuralNet) -> views.TrainingCurve:
    """Return the loss and the error of a network by epoch."""
    sizes = [layer.weights.shape[1] for layer in model.layers_[:-1]]
    # A model from a file has the weights alone.
    epochs = tuple(
        views.Epoch(epoch.number, epoch.loss, None if epoch.error != epoch.error else epoch.error)
        for epoch in getattr(model, "curve_", ())
    )
    best_epoch = getattr(model, "best_epoch_", 0)
    hidden = f"{' and '.join(map(str, sizes))} hidden neurons" if sizes else "no hidden layer"
    note = f"A network of {len(model.features_.names)} inputs and {hidden}."
    if epochs:
        note += f" The weights are those of epoch {best_epoch} of {len(epochs)}."
    return views.TrainingCurve(epochs, best_epoch, note)
